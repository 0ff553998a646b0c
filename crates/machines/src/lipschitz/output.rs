//! The constants that the outputs of a machine start from, and measures of predicted quantiles.

use crate::loss::{Loss, check_levels};
use crate::{Error, Targets};

/// The constant b of `f(x) = b + h(x)`, which is not regularised, nor fitted further.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Offset {
    /// 0, as in the thesis.
    #[default]
    Zero,
    /// A constant for each output: its empirical τ-quantile with the pinball loss, its mean with the
    /// square loss, its median with the others.
    Constant,
}

impl Offset {
    /// b of the given loss and targets, d numbers.
    pub(crate) fn of(self, loss: &Loss, targets: &Targets) -> Result<Vec<f64>, Error> {
        let (n, d, values) = (targets.len(), targets.width(), targets.values()?);
        let column = |j: usize| values.iter().skip(j).step_by(d).copied();
        let offset = |j: usize| match self {
            Self::Zero => 0.0,
            Self::Constant if loss.is_fitted_by_mean() => column(j).sum::<f64>() / n as f64,
            Self::Constant => quantile(column(j), loss.levels().map_or(0.5, |levels| levels[j])),
        };
        Ok((0..d).map(offset).collect())
    }
}

/// The τ-quantile `inf {z : F(z) ≥ τ}` of the empirical distribution F.
fn quantile(values: impl Iterator<Item = f64>, level: f64) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_unstable_by(f64::total_cmp);
    // the first k with k/n ≥ τ; the product τ n is rounded and may be above the k that it stands for
    let count = sorted.len() as f64;
    let most = (level * count).ceil();
    let at = if (most - 1.0) / count >= level { most - 1.0 } else { most };
    sorted.get((at as usize).saturating_sub(1)).copied().unwrap_or(0.0)
}

/// The mean pinball loss, summed over the levels, of predicted quantiles (n × d row-major) of n
/// numbers.
///
/// # Errors
/// [`Error::Value`] for bad levels, [`Error::Shape`] unless there are d predictions for each number.
pub fn pinball_loss(levels: &[f64], predictions: &[f32], observed: &[f64]) -> Result<f64, Error> {
    check(levels, predictions, observed.len())?;
    let loss = Loss::pinball(levels);
    let losses = predictions.chunks_exact(levels.len()).zip(observed).map(|(row, &y)| {
        let row: Vec<f64> = row.iter().map(|&value| value.into()).collect();
        loss.value(&row, &vec![y; row.len()], 0.0)
    });
    Ok(losses.sum::<f64>() / observed.len() as f64)
}

/// The crossing loss `(1/n) Σ_i Σ_j max(0, f_j(x_i) − f_{j+1}(x_i))` of predicted quantiles, n × d
/// row-major with increasing levels: 0 where no two neighbours cross (Sangnier et al. 2016).
///
/// # Errors
/// [`Error::Value`] for no levels or no rows, [`Error::Shape`] for values that are not whole rows.
///
/// ```
/// // The first row is in order, in the second the upper quantile is 0.5 below the lower one.
/// let crossing = dsokr_machines::crossing_loss(2, &[0.0, 1.0, 1.0, 0.5])?;
/// assert_eq!(crossing, 0.25);
/// # Ok::<(), dsokr_machines::Error>(())
/// ```
pub fn crossing_loss(levels: usize, predictions: &[f32]) -> Result<f64, Error> {
    Error::check_count("quantile levels", levels)?;
    Error::check_count("predictions", predictions.len())?;
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
    let share = |j: usize| {
        let quantiles = predictions.iter().skip(j).step_by(levels.len());
        let covered = quantiles.zip(observed).filter(|(quantile, y)| **y <= f64::from(**quantile));
        covered.count() as f64 / observed.len() as f64
    };
    Ok((0..levels.len()).map(share).collect())
}

fn check(levels: &[f64], predictions: &[f32], n: usize) -> Result<(), Error> {
    check_levels(levels)?;
    Error::check_count("quantile levels", levels.len())?;
    Error::check_count("observed numbers", n)?;
    Error::check_length("predictions", predictions.len(), n.saturating_mul(levels.len()))
}
