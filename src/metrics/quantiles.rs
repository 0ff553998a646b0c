//! Predicted quantiles of numbers: their metrics, and numbers as candidates for them.

use dsokr_data::Truth;
use dsokr_decode::Candidates;
use dsokr_machines::{coverage, crossing_loss, pinball_loss};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The values whose means both metrics are, by their names.
type Values = [(&'static str, Vec<f64>); 2];

/// Metrics of predicted quantiles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuantileScores {
    /// Mean pinball loss, summed over the levels (thesis, section 2.5.3).
    pub pinball: f64,
    /// Mean of how far quantiles lie below those of the level before, summed; 0 where none cross
    /// (Sangnier et al. 2016).
    pub crossing: f64,
    /// The share of numbers at most equal to their quantile, for each level.
    pub coverage: Vec<Coverage>,
}

/// The share of numbers at most equal to their quantile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Coverage {
    /// The level τ.
    pub level: f64,
    /// The share of the numbers, τ for calibrated quantiles.
    pub share: f64,
}

impl QuantileScores {
    /// Returns the metrics of predictions z `[queries × levels]` for these numbers.
    fn from_numbers(levels: &[f64], z: &[f32], numbers: &[f64]) -> Result<Self, Error> {
        let shares = coverage(levels, z, numbers)?;
        let coverage = levels.iter().zip(shares).map(|(&level, share)| Coverage { level, share });
        Ok(Self {
            pinball: pinball_loss(levels, z, numbers)?,
            crossing: crossing_loss(levels.len(), z)?,
            coverage: coverage.collect(),
        })
    }

    /// Returns the metrics of constant quantiles of the same levels for rows of one number each; none for a different number of
    /// quantiles.
    pub(crate) fn of_constants(
        &self,
        quantiles: &[f64],
        truth: &[Vec<f64>],
    ) -> Result<Option<Self>, Error> {
        let levels: Vec<f64> = self.coverage.iter().map(|coverage| coverage.level).collect();
        if quantiles.len() != levels.len() {
            return Ok(None);
        }
        let row: Vec<f32> = quantiles.iter().map(|&quantile| quantile as f32).collect();
        Ok(Some(Self::from_numbers(&levels, &row.repeat(truth.len()), &truth.concat())?))
    }

    /// Returns the metrics of predictions z `[queries × levels]` for these numbers, and the losses of each query, pinball and
    /// crossing.
    pub(crate) fn with_queries(
        levels: &[f64],
        z: &[f32],
        numbers: &[f64],
    ) -> Result<(Self, Values), Error> {
        let scores = Self::from_numbers(levels, z, numbers)?;
        let rows = || z.chunks_exact(levels.len());
        let pinball =
            rows().zip(numbers).map(|(row, &number)| pinball_loss(levels, row, &[number]));
        let crossing = rows().map(|row| crossing_loss(levels.len(), row));
        let pinball = ("pinball", pinball.collect::<Result<_, _>>()?);
        let crossing = ("crossing", crossing.collect::<Result<_, _>>()?);
        Ok((scores, [pinball, crossing]))
    }
}

/// Returns the numbers of the gold candidates of queries, as candidates of quantiles hold them; none if a query has no gold.
pub(crate) fn gold_numbers(
    levels: &[f64],
    golds: &[Option<u32>],
    candidates: &Candidates,
) -> Result<Option<Truth>, Error> {
    let Some(classes) = golds.iter().copied().collect::<Option<Vec<u32>>>() else {
        return Ok(None);
    };
    let row = |class| number(levels, candidates, class).map(|number| vec![f64::from(number)]);
    Ok(Some(Truth::Numbers(classes.into_iter().map(row).collect::<Result<_, Error>>()?)))
}

/// Returns the coordinates and the constants of numbers as candidates for quantiles: each at its value along the median, with
/// the constant `−y²/2`, so that the nearest to the median comes first.
pub(crate) fn median_candidates(levels: &[f64], numbers: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let width = levels.len();
    let at = median(levels);
    let mut coordinates = vec![0.0; width * numbers.len()];
    for (row, &number) in coordinates.chunks_exact_mut(width).zip(numbers) {
        row[at] = number;
    }
    (coordinates, numbers.iter().map(|number| -0.5 * number * number).collect())
}

/// Returns the number of the candidates of a class.
pub(crate) fn number(levels: &[f64], candidates: &Candidates, class: u32) -> Result<f32, Error> {
    Ok(candidates.point(class as usize)?[median(levels)])
}

/// Returns the predicted medians of predictions z `[queries × levels]`, rows of one number each; none where one half is no level.
pub(crate) fn medians(levels: &[f64], z: &[f32]) -> Option<Vec<Vec<f64>>> {
    let at = levels.iter().position(|&level| level == 0.5)?;
    Some(z.chunks_exact(levels.len()).map(|row| vec![f64::from(row[at])]).collect())
}

/// Returns the place of the level nearest to one half.
fn median(levels: &[f64]) -> usize {
    let from = |at: &usize| (levels[*at] - 0.5).abs();
    (0..levels.len()).min_by(|a, b| from(a).total_cmp(&from(b))).unwrap_or(0)
}
