//! Measures of predicted quantiles.

use crate::Error;
use crate::loss::{Loss, check_levels};

/// The mean pinball loss, summed over the levels, of predicted quantiles (n × d row-major) of n
/// numbers.
///
/// # Errors
/// [`Error::Value`] for bad levels, [`Error::Length`] unless there are d predictions for each number.
pub fn pinball_loss(levels: &[f64], predictions: &[f32], observed: &[f64]) -> Result<f64, Error> {
    check(levels, predictions, observed.len())?;
    let loss = Loss::pinball(levels);
    let d = levels.len();
    let mut total = 0.0;
    for (row, &y) in predictions.chunks_exact(d).zip(observed) {
        let row: Vec<f64> = row.iter().map(|&value| value.into()).collect();
        total += loss.value(&row, &vec![y; d], 0.0);
    }
    Ok(total / observed.len() as f64)
}

/// The crossing loss `(1/n) Σ_i Σ_j max(0, f_j(x_i) − f_{j+1}(x_i))` of predicted quantiles, n × d
/// row-major with increasing levels: 0 where no two neighbours cross (Sangnier et al. 2016).
///
/// # Errors
/// [`Error::Value`] for no levels or no rows, [`Error::Length`] for values that are not whole rows.
///
/// ```
/// // The first row is in order, in the second the upper quantile is 0.5 below the lower one.
/// let crossing = dsokr_machines::crossing_loss(2, &[0.0, 1.0, 1.0, 0.5])?;
/// assert_eq!(crossing, 0.25);
/// # Ok::<(), dsokr_machines::Error>(())
/// ```
pub fn crossing_loss(levels: usize, predictions: &[f32]) -> Result<f64, Error> {
    if levels == 0 || predictions.is_empty() {
        let what = if levels == 0 { "quantile levels" } else { "predictions" };
        return Err(Error::none(what));
    }
    let expected = predictions.len().next_multiple_of(levels);
    Error::check_length("predictions", predictions.len(), expected)?;
    let rows = predictions.chunks_exact(levels);
    let crossed =
        rows.flat_map(|row| row.windows(2)).map(|pair| f64::from((pair[0] - pair[1]).max(0.0)));
    Ok(crossed.sum::<f64>() / (predictions.len() / levels) as f64)
}

/// The share of observed numbers that are at most the predicted quantile, for each level: τ_j for
/// calibrated quantiles.
///
/// # Errors
/// As [`pinball_loss`].
pub fn coverage(levels: &[f64], predictions: &[f32], observed: &[f64]) -> Result<Vec<f64>, Error> {
    check(levels, predictions, observed.len())?;
    let d = levels.len();
    let mut counts = vec![0usize; d];
    for (row, &y) in predictions.chunks_exact(d).zip(observed) {
        for (count, &quantile) in counts.iter_mut().zip(row) {
            *count += usize::from(y <= f64::from(quantile));
        }
    }
    Ok(counts.into_iter().map(|count| count as f64 / observed.len() as f64).collect())
}

fn check(levels: &[f64], predictions: &[f32], n: usize) -> Result<(), Error> {
    check_levels(levels)?;
    if levels.is_empty() || n == 0 {
        let what = if levels.is_empty() { "quantile levels" } else { "observed numbers" };
        return Err(Error::none(what));
    }
    Error::check_length("predictions", predictions.len(), n.saturating_mul(levels.len()))
}
