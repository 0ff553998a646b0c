//! Predicted numbers compared with the true ones.

use serde::{Deserialize, Serialize};

use crate::error::{Error, ensure};
use crate::metrics::queries::check_queries;

/// How far predicted numbers are from the true ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NumberScores {
    /// Mean absolute error, `(1/n) Σ |y − ŷ|`.
    pub mae: f64,
    /// Root of the mean squared error, `√((1/n) Σ (y − ŷ)²)`.
    pub rmse: f64,
    /// Coefficient of determination, `1 − Σ (y − ŷ)² / Σ (y − ȳ)²`, ȳ the mean of the true numbers of the queries, as
    /// scikit-learn has it: where these are all equal, 1 for exact predictions and 0 for others.
    pub r2: f64,
    /// Spearman's rank correlation: Pearson's correlation of the ranks, those of equal numbers averaged; 0 where the true or
    /// the predicted numbers are all equal.
    pub spearman: f64,
    /// `√(Σ (y − ŷ)² / Σ (y − μ)²)`, μ the mean of the training numbers: aRRMSE (Spyromitros-Xioufis et al. 2016; thesis,
    /// table 3.4). 1 for the training mean itself; none where it is not known or all numbers are it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rrmse: Option<f64>,
}

/// The metrics of predicted rows of numbers: the means over their targets, and those of each target.
#[derive(Clone, Debug, derive_more::Deref, PartialEq, Serialize, Deserialize)]
pub struct RegressionScores {
    /// The means over targets; of `rrmse` over those where it is known.
    #[deref]
    #[serde(flatten)]
    pub means: NumberScores,
    /// The metrics of each target.
    pub targets: Vec<TargetScores>,
}

/// The metrics of one of the numbers that a row has.
#[derive(Clone, Debug, derive_more::Deref, PartialEq, Serialize, Deserialize)]
pub struct TargetScores {
    /// The column that the number is of; none where one column holds all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its metrics.
    #[deref]
    #[serde(flatten)]
    pub scores: NumberScores,
}

impl RegressionScores {
    /// The metrics of true and predicted rows, one with one, with the means of the training numbers and the names of the
    /// targets where these are known.
    ///
    /// # Errors
    /// [`dsokr_core::Error::TooFew`] for no rows; [`dsokr_core::Error::Value`] for rows of different lengths.
    pub fn from_rows(
        truth: &[Vec<f64>],
        predicted: &[Vec<f64>],
        means: Option<&[f64]>,
        names: &[String],
    ) -> Result<Self, Error> {
        let all = PredictedNumbers::new(truth, predicted, means)?;
        let queries: Vec<usize> = (0..truth.len()).collect();
        let one = |(at, target): (usize, &PredictedTarget)| TargetScores {
            name: names.get(at).cloned(),
            scores: target.scores(&queries),
        };
        let targets: Vec<TargetScores> = all.targets.iter().enumerate().map(one).collect();
        let mean = |value: fn(&TargetScores) -> f64| {
            targets.iter().map(value).sum::<f64>() / targets.len() as f64
        };
        let each_rrmse: Vec<f64> = targets.iter().filter_map(|target| target.rrmse).collect();
        let rrmse = each_rrmse.iter().sum::<f64>() / each_rrmse.len() as f64;
        let means = NumberScores {
            mae: mean(|target| target.mae),
            rmse: mean(|target| target.rmse),
            r2: mean(|target| target.r2),
            spearman: mean(|target| target.spearman),
            rrmse: (!each_rrmse.is_empty()).then_some(rrmse),
        };
        Ok(Self { means, targets })
    }

    /// The metrics of predicting constants: the medians for the absolute error, the means for the others.
    ///
    /// # Errors
    /// As [`from_rows`](Self::from_rows).
    pub(crate) fn of_constants(
        truth: &[Vec<f64>],
        means: &[f64],
        medians: &[f64],
        names: &[String],
    ) -> Result<Self, Error> {
        let repeated = |row: &[f64]| vec![row.to_vec(); truth.len()];
        let mut scores = Self::from_rows(truth, &repeated(means), Some(means), names)?;
        let absolute = Self::from_rows(truth, &repeated(medians), Some(means), names)?;
        scores.means.mae = absolute.mae;
        for (target, absolute) in scores.targets.iter_mut().zip(absolute.targets) {
            target.scores.mae = absolute.mae;
        }
        Ok(scores)
    }
}

/// True and predicted numbers, of which metrics of any queries are computed.
pub(crate) struct PredictedNumbers {
    pub targets: Vec<PredictedTarget>,
}

/// The numbers of one target. Queries of its metrics may occur repeatedly.
pub(crate) struct PredictedTarget {
    truth: Vec<f64>,
    predicted: Vec<f64>,
    /// The mean of the training numbers.
    mean: Option<f64>,
    true_places: Places,
    predicted_places: Places,
}

impl PredictedNumbers {
    /// # Errors
    /// As [`RegressionScores::from_rows`].
    pub fn new(
        truth: &[Vec<f64>],
        predicted: &[Vec<f64>],
        means: Option<&[f64]>,
    ) -> Result<Self, Error> {
        check_queries(truth)?;
        let width = truth[0].len();
        let allowed = format_args!("{width}, as the first one");
        for row in truth.iter().chain(predicted) {
            let found = format_args!("a row of {} numbers", row.len());
            ensure(row.len() == width, "outputs", found, allowed)?;
        }
        let rows = predicted.len();
        ensure(rows == truth.len(), "predicted outputs", rows, truth.len())?;
        let means = means.filter(|means| means.len() == width);
        let target = |at: usize| {
            let column =
                |rows: &[Vec<f64>]| -> Vec<f64> { rows.iter().map(|row| row[at]).collect() };
            let truth = column(truth);
            let predicted = column(predicted);
            PredictedTarget {
                true_places: Places::of(&truth),
                predicted_places: Places::of(&predicted),
                truth,
                predicted,
                mean: means.map(|means| means[at]),
            }
        };
        Ok(Self { targets: (0..width).map(target).collect() })
    }
}

impl PredictedTarget {
    /// All metrics of some queries.
    fn scores(&self, queries: &[usize]) -> NumberScores {
        NumberScores {
            mae: self.mae(queries),
            rmse: self.rmse(queries),
            r2: self.r2(queries),
            spearman: self.spearman(queries),
            rrmse: self.known_rrmse(queries),
        }
    }

    /// The sum over queries of a value of the true and the predicted number.
    fn sum(&self, queries: &[usize], value: impl Fn(f64, f64) -> f64) -> f64 {
        queries.iter().map(|&query| value(self.truth[query], self.predicted[query])).sum()
    }

    pub fn mae(&self, queries: &[usize]) -> f64 {
        self.sum(queries, |truth, predicted| (truth - predicted).abs()) / queries.len() as f64
    }

    fn squared_error(&self, queries: &[usize]) -> f64 {
        self.sum(queries, |truth, predicted| (truth - predicted).powi(2))
    }

    pub fn rmse(&self, queries: &[usize]) -> f64 {
        (self.squared_error(queries) / queries.len() as f64).sqrt()
    }

    pub fn r2(&self, queries: &[usize]) -> f64 {
        let mean = self.sum(queries, |truth, _| truth) / queries.len() as f64;
        let spread = self.sum(queries, |truth, _| (truth - mean).powi(2));
        let error = self.squared_error(queries);
        if spread > 0.0 { 1.0 - error / spread } else { f64::from(u8::from(error == 0.0)) }
    }

    /// None where the training mean is not known, or all true numbers are it.
    fn known_rrmse(&self, queries: &[usize]) -> Option<f64> {
        let mean = self.mean?;
        let spread = self.sum(queries, |truth, _| (truth - mean).powi(2));
        (spread > 0.0).then(|| (self.squared_error(queries) / spread).sqrt())
    }

    /// Infinite where it is not known.
    pub fn rrmse(&self, queries: &[usize]) -> f64 {
        self.known_rrmse(queries).unwrap_or(f64::INFINITY)
    }

    pub fn spearman(&self, queries: &[usize]) -> f64 {
        correlation(&self.true_places.ranks(queries), &self.predicted_places.ranks(queries))
    }
}

/// Where each query's number is among the distinct numbers in their order.
struct Places {
    place: Vec<usize>,
    distinct: usize,
}

impl Places {
    fn of(numbers: &[f64]) -> Self {
        let mut distinct = numbers.to_vec();
        distinct.sort_unstable_by(f64::total_cmp);
        distinct.dedup_by(|a, b| a == b);
        let place = |number: &f64| distinct.partition_point(|other| other < number);
        Self { place: numbers.iter().map(place).collect(), distinct: distinct.len() }
    }

    /// The ranks of the numbers of queries among each other, from 1; equal numbers share the mean of their ranks.
    fn ranks(&self, queries: &[usize]) -> Vec<f64> {
        let mut counts = vec![0usize; self.distinct];
        for &query in queries {
            counts[self.place[query]] += 1;
        }
        let mut below = 0;
        let rank = |count: usize| {
            let rank = below as f64 + (count as f64 + 1.0) / 2.0;
            below += count;
            rank
        };
        let ranks: Vec<f64> = counts.into_iter().map(rank).collect();
        queries.iter().map(|&query| ranks[self.place[query]]).collect()
    }
}

/// Pearson's correlation; 0 where one of the two does not vary.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let mean_a = mean(a);
    let mean_b = mean(b);
    let pairs = || a.iter().zip(b).map(|(a, b)| (a - mean_a, b - mean_b));
    let common: f64 = pairs().map(|(a, b)| a * b).sum();
    let squares: f64 =
        pairs().map(|(a, _)| a * a).sum::<f64>() * pairs().map(|(_, b)| b * b).sum::<f64>();
    if squares > 0.0 { common / squares.sqrt() } else { 0.0 }
}
