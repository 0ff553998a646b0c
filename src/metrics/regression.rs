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
    /// Coefficient of determination, `1 − Σ (y − ŷ)² / Σ (y − ȳ)²`, ȳ the mean of the true numbers of the queries. Where
    /// these are all equal, it is 1 for exact predictions and 0 for others.
    pub r2: f64,
    /// Spearman's rank correlation: Pearson's correlation of the ranks, those of equal numbers averaged; 0 where the true or
    /// the predicted numbers are all equal.
    pub spearman: f64,
    /// `√(Σ (y − ŷ)² / Σ (y − μ)²)`, μ the mean of the training numbers: aRRMSE (Spyromitros-Xioufis et al. 2016; thesis,
    /// table 3.4). 1 for the training mean itself; none where it is not known or all true numbers are it.
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
    /// Compares predicted rows with the true ones, one with one; with the means of the training numbers and the names of the
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
        let mae = all.mae(&queries);
        let rmse = all.rmse(&queries);
        let r2 = all.r2(&queries);
        let spearman = all.spearman(&queries);
        let known_rrmse = all.known_rrmse(&queries);
        let one = |(at, rrmse): (usize, Option<f64>)| TargetScores {
            name: names.get(at).cloned(),
            scores: NumberScores {
                mae: mae[at],
                rmse: rmse[at],
                r2: r2[at],
                spearman: spearman[at],
                rrmse,
            },
        };
        let targets: Vec<TargetScores> = known_rrmse.into_iter().enumerate().map(one).collect();
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

    /// Returns the metrics of predicting constants: the medians for the absolute error, the means for the others.
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

/// True and predicted numbers, of which metrics of any queries are computed, one for each target. Queries may occur
/// repeatedly.
///
/// All values of a query are beside each other, so that those of all targets are added at once.
pub(crate) struct PredictedNumbers {
    /// Number of targets.
    width: usize,
    truth: Vec<f64>,
    /// `|y − ŷ|`.
    absolute: Vec<f64>,
    /// `(y − ŷ)²`.
    squared: Vec<f64>,
    /// `(y − μ)²`, where the means of the training numbers are known.
    from_mean: Option<Vec<f64>>,
    /// Whether some true number of each target is not the training mean, so that the target has a relative error.
    leave_mean: Vec<bool>,
    /// The places of the true and of the predicted numbers of each target.
    places: Vec<[Places; 2]>,
    /// Number of queries.
    queries: usize,
}

impl PredictedNumbers {
    /// Computes the errors of each query, and the places of its numbers among those of all.
    ///
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
        let values = |value: fn(f64, f64) -> f64| -> Vec<f64> {
            let of_row = |(truth, predicted): (&Vec<f64>, &Vec<f64>)| -> Vec<f64> {
                truth.iter().zip(predicted).map(|(&y, &predicted)| value(y, predicted)).collect()
            };
            truth.iter().zip(predicted).flat_map(of_row).collect()
        };
        let from_mean = |means: &[f64]| -> Vec<f64> {
            let of_row = |row: &Vec<f64>| -> Vec<f64> {
                row.iter().zip(means).map(|(y, mean)| (y - mean).powi(2)).collect()
            };
            truth.iter().flat_map(of_row).collect()
        };
        let from_mean = means.map(from_mean);
        let leaves_mean = |target: usize| {
            let mut squares =
                from_mean.iter().flat_map(|all| all.iter().skip(target).step_by(width));
            squares.any(|&square| square > 0.0)
        };
        let leave_mean = (0..width).map(leaves_mean).collect();
        let places = |target: usize| {
            [truth, predicted].map(|rows| {
                let column: Vec<f64> = rows.iter().map(|row| row[target]).collect();
                Places::of(&column)
            })
        };
        Ok(Self {
            width,
            truth: truth.concat(),
            absolute: values(|y, predicted| (y - predicted).abs()),
            squared: values(|y, predicted| (y - predicted).powi(2)),
            from_mean,
            leave_mean,
            places: (0..width).map(places).collect(),
            queries: truth.len(),
        })
    }

    /// Returns the values of a query, one of each target.
    fn row<'v>(&self, values: &'v [f64], query: usize) -> &'v [f64] {
        &values[query * self.width..][..self.width]
    }

    /// Returns the sum of values over queries, which are added in their order.
    fn sums(&self, values: &[f64], queries: &[usize]) -> Vec<f64> {
        let mut sums: Vec<f64> = vec![0.0; self.width];
        for &query in queries {
            let row = self.row(values, query);
            sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        sums
    }

    /// Returns the mean of values over queries.
    fn means(&self, values: &[f64], queries: &[usize]) -> Vec<f64> {
        let mut means = self.sums(values, queries);
        means.iter_mut().for_each(|sum| *sum /= queries.len() as f64);
        means
    }

    pub fn mae(&self, queries: &[usize]) -> Vec<f64> {
        self.means(&self.absolute, queries)
    }

    pub fn rmse(&self, queries: &[usize]) -> Vec<f64> {
        self.means(&self.squared, queries).into_iter().map(f64::sqrt).collect()
    }

    pub fn r2(&self, queries: &[usize]) -> Vec<f64> {
        let means = self.means(&self.truth, queries);
        let mut spreads: Vec<f64> = vec![0.0; self.width];
        for &query in queries {
            let row = self.row(&self.truth, query);
            for ((spread, y), mean) in spreads.iter_mut().zip(row).zip(&means) {
                *spread += (y - mean).powi(2);
            }
        }
        // the mean of equal numbers may be rounded to another one
        for (target, spread) in spreads.iter_mut().enumerate() {
            let mut numbers = queries.iter().map(|&query| self.row(&self.truth, query)[target]);
            let first = numbers.next();
            if numbers.all(|number| Some(number) == first) {
                *spread = 0.0;
            }
        }
        let r2 = |(error, spread): (f64, f64)| {
            if spread > 0.0 { 1.0 - error / spread } else { f64::from(u8::from(error == 0.0)) }
        };
        self.sums(&self.squared, queries).into_iter().zip(spreads).map(r2).collect()
    }

    /// Returns the relative root mean squared error of each target; none where the training mean is not known, or all true
    /// numbers are equal to it.
    fn known_rrmse(&self, queries: &[usize]) -> Vec<Option<f64>> {
        let Some(from_mean) = &self.from_mean else { return vec![None; self.width] };
        let rrmse = |(error, spread): (f64, f64)| (spread > 0.0).then(|| (error / spread).sqrt());
        let spreads = self.sums(from_mean, queries);
        self.sums(&self.squared, queries).into_iter().zip(spreads).map(rrmse).collect()
    }

    /// Returns the relative root mean squared error of each target that has one for all queries; infinite where those of the true
    /// numbers that are drawn are all the training mean.
    pub fn rrmse(&self, queries: &[usize]) -> Vec<f64> {
        let of_targets = self.known_rrmse(queries).into_iter().zip(&self.leave_mean);
        let known = of_targets.filter(|&(_, &leaves_mean)| leaves_mean);
        known.map(|(rrmse, _)| rrmse.unwrap_or(f64::INFINITY)).collect()
    }

    /// Returns Pearson's correlation of the ranks of each target; 0 where one of the two does not vary.
    pub fn spearman(&self, queries: &[usize]) -> Vec<f64> {
        let mut times: Vec<f64> = vec![0.0; self.queries];
        queries.iter().for_each(|&query| times[query] += 1.0);
        let drawn: Vec<(usize, f64)> =
            times.into_iter().enumerate().filter(|&(_, times)| times > 0.0).collect();
        let correlation = |[truth, predicted]: &[Places; 2]| {
            let [(a, a_squares), (b, b_squares)] =
                [truth, predicted].map(|places| places.deviations(&drawn, queries.len()));
            let products = drawn
                .iter()
                .map(|&(query, times)| times * a[truth.place[query]] * b[predicted.place[query]]);
            let common: f64 = products.sum();
            let squares: f64 = a_squares * b_squares;
            if squares > 0.0 { common / squares.sqrt() } else { 0.0 }
        };
        self.places.iter().map(correlation).collect()
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

    /// Returns the deviation of the rank of each distinct number from the mean rank, and the sum of their squares, over
    /// queries that are drawn so many times, `count` in all. Equal numbers share the mean of their ranks.
    ///
    /// Ranks are halves of whole numbers, so that their sums are exact in every order below 300,000 queries.
    fn deviations(&self, drawn: &[(usize, f64)], count: usize) -> (Vec<f64>, f64) {
        let mut counts: Vec<f64> = vec![0.0; self.distinct];
        drawn.iter().for_each(|&(query, times)| counts[self.place[query]] += times);
        let mean = (count as f64 + 1.0) / 2.0;
        let mut below: f64 = 0.0;
        let mut squares: f64 = 0.0;
        let deviation = |count: f64| {
            let deviation = below + (count + 1.0) / 2.0 - mean;
            below += count;
            squares += count * deviation * deviation;
            deviation
        };
        let deviations = counts.into_iter().map(deviation).collect();
        (deviations, squares)
    }
}

#[cfg(test)]
mod tests {
    use super::{PredictedNumbers, RegressionScores};

    /// Returns the metrics of one target as they are defined, of pairs of a true and a predicted number.
    fn defined(pairs: &[(f64, f64)], training_mean: f64) -> [f64; 5] {
        let n = pairs.len() as f64;
        let sum = |value: &dyn Fn(f64, f64) -> f64| -> f64 {
            pairs.iter().map(|&(y, predicted)| value(y, predicted)).sum()
        };
        let error = sum(&|y, predicted| (y - predicted).powi(2));
        let mean = sum(&|y, _| y) / n;
        let rank = |all: &dyn Fn(usize) -> f64, at: usize| -> f64 {
            let of = |holds: &dyn Fn(f64) -> bool| {
                (0..pairs.len()).filter(|&other| holds(all(other))).count() as f64
            };
            of(&|other| other < all(at)) + (of(&|other| other == all(at)) + 1.0) / 2.0
        };
        let deviation = |all: &dyn Fn(usize) -> f64, at: usize| rank(all, at) - (n + 1.0) / 2.0;
        let truth = |at: usize| pairs[at].0;
        let predicted = |at: usize| pairs[at].1;
        let products = |a: &dyn Fn(usize) -> f64, b: &dyn Fn(usize) -> f64| -> f64 {
            (0..pairs.len()).map(|at| deviation(a, at) * deviation(b, at)).sum()
        };
        [
            sum(&|y, predicted| (y - predicted).abs()) / n,
            (error / n).sqrt(),
            1.0 - error / sum(&|y, _| (y - mean).powi(2)),
            (error / sum(&|y, _| (y - training_mean).powi(2))).sqrt(),
            products(&truth, &predicted)
                / (products(&truth, &truth) * products(&predicted, &predicted)).sqrt(),
        ]
    }

    /// The mean of three times 0.1 is not 0.1.
    #[test]
    fn r2_of_equal_true_numbers_is_1_for_exact_predictions_and_0_for_others() {
        for count in [1, 3, 6] {
            let truth = vec![vec![0.1, 0.1]; count];
            let predicted = vec![vec![0.1, 0.2]; count];
            let all = PredictedNumbers::new(&truth, &predicted, None).unwrap();
            let queries: Vec<usize> = (0..count).collect();
            assert_eq!(all.r2(&queries), [1.0, 0.0], "{count}");
        }
    }

    /// As the means over targets leave it out.
    #[test]
    fn a_target_whose_numbers_are_all_the_training_mean_has_no_relative_error() {
        let truth = [[1.0, 3.0], [1.0, 5.0], [1.0, 4.0]].map(Vec::from);
        let predicted = [[1.5, 3.0], [1.0, 4.0], [1.0, 4.0]].map(Vec::from);
        let scores =
            RegressionScores::from_rows(&truth, &predicted, Some(&[1.0, 4.0]), &[]).unwrap();
        let each: Vec<Option<f64>> = scores.targets.iter().map(|target| target.rrmse).collect();
        assert_eq!(each, [None, Some(0.5_f64.sqrt())]);
        assert_eq!(scores.rrmse, each[1]);
        let all = PredictedNumbers::new(&truth, &predicted, Some(&[1.0, 4.0])).unwrap();
        assert_eq!(all.rrmse(&[0, 1, 2]), [0.5_f64.sqrt()]);
        // the one number that is drawn is the mean
        assert_eq!(all.rrmse(&[2, 2, 2]), [f64::INFINITY]);
    }

    /// To the last bit.
    #[test]
    fn metrics_of_all_targets_are_those_of_each() {
        let number = |query: usize, target: usize| ((query * 37 + target * 11) % 17) as f64 / 7.0;
        let rows = |shift: usize| -> Vec<Vec<f64>> {
            let row =
                |query: usize| (0..5).map(move |target| number(query + shift * target, target));
            (0..40).map(|query| row(query).collect()).collect()
        };
        let truth = rows(1);
        let predicted = rows(3);
        let means = [0.5, 1.0, 1.5, 0.25, 2.0];
        let all = PredictedNumbers::new(&truth, &predicted, Some(&means)).unwrap();
        let once: Vec<usize> = (0..40).collect();
        let drawn: Vec<usize> = (0..40).map(|at| at * at % 23).collect();
        for queries in [once, drawn] {
            let actual = [
                all.mae(&queries),
                all.rmse(&queries),
                all.r2(&queries),
                all.rrmse(&queries),
                all.spearman(&queries),
            ];
            for target in 0..5 {
                let pairs = queries.iter().map(|&at| (truth[at][target], predicted[at][target]));
                let expected = defined(&pairs.collect::<Vec<_>>(), means[target]);
                assert_eq!(actual.each_ref().map(|values| values[target]), expected, "{target}");
            }
        }
    }
}
