//! Metrics of any queries of an evaluation: what intervals and comparisons are drawn from.

use std::collections::BTreeMap;

use dsokr_data::Truth;
use dsokr_decode::{IndependentQueries, f1, percentile_interval, resampled, wilson_interval};

use super::{Metric, Over};
use crate::error::Error;
use crate::metrics::areas::DRAWN;
use crate::metrics::classes::PredictedClasses;
use crate::metrics::evaluation::Evaluation;
use crate::metrics::labels::{all_labels, label_rows};
use crate::metrics::regression::PredictedNumbers;

/// A metric of the queries at some positions, at least one; a position may occur repeatedly. It is NaN where these queries
/// do not have it.
pub(crate) type Summary = Box<dyn Fn(&[usize]) -> f64 + Send + Sync>;

impl Metric {
    /// Returns the metric as a function of a resample of the queries; none where the metric was not measured or cannot be
    /// computed from a resample, and for areas of too many scores.
    pub(crate) fn of_resamples(self, evaluation: &Evaluation) -> Option<Summary> {
        self.measured(&evaluation.scores)?;
        let compares_classes = evaluation.compares_classes();
        match self.0.over {
            Over::F1 if compares_classes => of_classes(evaluation, PredictedClasses::f1_of_draw),
            Over::MacroF1 if compares_classes => {
                of_classes(evaluation, PredictedClasses::macro_f1_of_draw)
            }
            Over::MacroF1 => {
                let counts = LabelCounts::from_evaluation(evaluation)?;
                let all: Vec<usize> = (0..counts.queries.len()).collect();
                let of_all: Vec<f64> = counts.each_f1(&all).into_iter().flatten().collect();
                Some(Box::new(move |drawn| counts.macro_f1_of_draw(drawn, &of_all)))
            }
            Over::Area(_) if !evaluation.scored.as_ref()?.are_few() => None,
            Over::Kept
            | Over::Ranks(_)
            | Over::F1
            | Over::HammingLoss
            | Over::MicroF1
            | Over::Numbers(_)
            | Over::Classes(_)
            | Over::Area(_) => self.of_queries(evaluation),
        }
    }

    /// Returns whether the answers at two positions of an evaluation are known to be one to the metric, so that an exchange does
    /// not change it.
    pub(crate) fn has_equal_answers(self, evaluation: &Evaluation, a: usize, b: usize) -> bool {
        let are_equal = |outputs: &Truth| match outputs {
            Truth::Labels(sets) => sets[a] == sets[b],
            Truth::Classes(classes) => classes[a] == classes[b],
            Truth::Numbers(rows) => rows[a] == rows[b],
            Truth::Molecules(_) | Truth::Graphs(_) | Truth::Rankings(_) => false,
        };
        match self.0.over {
            Over::Ranks(_) => evaluation.ranks[a] == evaluation.ranks[b],
            Over::F1
            | Over::HammingLoss
            | Over::MicroF1
            | Over::MacroF1
            | Over::Numbers(_)
            | Over::Classes(_) => evaluation
                .outputs
                .as_ref()
                .is_some_and(|(truth, predicted)| are_equal(truth) && are_equal(predicted)),
            Over::Kept | Over::Area(_) => false,
        }
    }

    /// Returns the metric of any of the queries, as if they were all; none where the evaluation lacks what it summarises.
    pub(crate) fn of_queries(self, evaluation: &Evaluation) -> Option<Summary> {
        let labels = || LabelCounts::from_evaluation(evaluation);
        let compares_classes = evaluation.compares_classes();
        Some(match self.0.over {
            Over::Kept => mean(evaluation.queries.get(self.0.name)?.clone()),
            Over::Ranks(metric) => {
                let ranks = evaluation.ranks.iter();
                let values: Vec<f64> = ranks.map(|rank| metric.of(rank.as_ref())).collect();
                Box::new(move |drawn| {
                    metric.summarise(drawn.iter().map(|&query| values[query]).collect())
                })
            }
            Over::F1 if compares_classes => of_classes(evaluation, PredictedClasses::f1)?,
            Over::F1 => mean(labels()?.each(|(common, all), _| f1(common, all))),
            Over::HammingLoss => {
                mean(labels()?.each(|(common, all), labels| (all - 2 * common) as f64 / labels))
            }
            Over::MicroF1 => {
                let counts = labels()?;
                Box::new(move |drawn| counts.micro_f1(drawn))
            }
            Over::MacroF1 if compares_classes => {
                of_classes(evaluation, PredictedClasses::macro_f1)?
            }
            Over::MacroF1 => {
                let counts = labels()?;
                Box::new(move |drawn| counts.macro_f1(drawn))
            }
            Over::Numbers(value) => of_numbers(evaluation, value)?,
            Over::Classes(value) => of_classes(evaluation, value)?,
            Over::Area(value) => {
                let scored = evaluation.scored.clone()?;
                // labels that all or none of the queries have are left out; without any other label there is no area
                Box::new(move |drawn| value(&scored, drawn).unwrap_or(f64::NAN))
            }
        })
    }
}

/// Resamples of the bootstrap in reports.
pub const RESAMPLES: usize = 10_000;

/// Returns 95 % confidence intervals, `[low, high]`, of every metric that is known, by its name.
///
/// Percentile bootstrap over queries: of the values that a metric takes on `resamples` draws of as many queries, with
/// replacement, the interval reaches from the 2.5th to the 97.5th percentile. Where queries have groups, whose queries are not
/// independent of one another, groups are drawn whole, as many as there are ([`resampled`]); fewer than three groups have no
/// intervals, and those of fewer than ten are too short. All metrics are computed on the same draws, which depend only on
/// `seed`, the number of queries and their groups.
///
/// A label or class that is neither true nor predicted for the queries of a resample counts in its macro F1 with the F1 of all
/// queries. An area under a curve leaves out labels that all or none of its queries have. Where there is no other label, the
/// resample has no area, and without the positive class it has no F1; a metric that more than 5 % of the resamples do not have
/// has no interval. A share of 0 or 1, as of classes that are all right, is that of every resample, and has Wilson's interval
/// ([`wilson_interval`](dsokr_decode::wilson_interval)). An F1, an area or a metric of numbers of which resamples have one value
/// has no interval, nor has any other metric but a share of one query, nor one of ranks that candidates are too few to change, as
/// Hits@10 of ten. That of a macro F1 is too short where few queries have a class: of a class of which a model finds 30 %, it
/// holds the true value in 66 % of all cases with three queries, in 82 % with five, in 94 % with ten. An interval that reaches
/// infinity is left out, and so are those of areas where more than 50,000 scores of labels are known, and those of numbers where
/// queries and targets have more than 50,000.
///
/// # Errors
/// [`dsokr_core::Error::TooFew`] for no queries and for less than 40 resamples.
pub fn intervals(
    evaluation: &Evaluation,
    resamples: usize,
    seed: u64,
) -> Result<BTreeMap<String, [f64; 2]>, Error> {
    let queries = evaluation.ranks.len();
    let units = IndependentQueries::new(queries, &evaluation.groups)?;
    if !units.have_intervals() {
        return Ok(BTreeMap::new());
    }
    let units = units.count();
    let numbers: usize = match &evaluation.outputs {
        Some((Truth::Numbers(rows), _)) => rows.iter().map(Vec::len).sum(),
        Some(_) | None => 0,
    };
    // draws of more would take longer than many a training
    let is_drawn = |metric: &Metric| numbers <= DRAWN || !matches!(metric.0.over, Over::Numbers(_));
    let measured: Vec<(Metric, Summary)> = Metric::all()
        .filter(is_drawn)
        .filter_map(|metric| Some((metric, metric.of_resamples(evaluation)?)))
        .collect();
    let drawn = resampled(queries, &evaluation.groups, resamples, seed, |queries| {
        let queries: Vec<usize> = queries.collect();
        measured.iter().map(|(_, summary)| summary(&queries)).collect::<Vec<f64>>()
    })?;
    let interval = |(at, (metric, _)): (usize, &(Metric, Summary))| {
        let of_metric = drawn.iter().map(|values| values[at]).collect();
        let value = metric.measured(&evaluation.scores)?;
        let ends = metric.interval(value, evaluation, units, of_metric)?;
        Some((metric.name().to_owned(), ends))
    };
    Ok(measured.iter().enumerate().filter_map(interval).collect())
}

/// Returns the 95 % interval of a metric of this value and of these values on draws of so many independent queries or groups.
/// A share of 0 or 1 has Wilson's interval, since all of its draws are equal. So are the draws of one query, whose other metrics have
/// no interval.
pub(crate) fn interval_of(
    value: f64,
    is_share: bool,
    units: usize,
    drawn: Vec<f64>,
) -> Option<[f64; 2]> {
    if is_share && (value == 0.0 || value == 1.0) {
        return Some(wilson_interval(value, units));
    }
    if units == 1 {
        return None;
    }
    drawn_interval(drawn)
}

/// Returns the 95 % interval of the values of a metric, or of a difference, on draws; none where it reaches infinity, and where
/// [too few draws](known_draws) have a value.
fn drawn_interval(values: Vec<f64>) -> Option<[f64; 2]> {
    let ends = percentile_interval(known_draws(values)?);
    Some(ends).filter(|ends| ends.iter().all(|end| end.is_finite()))
}

/// Returns the values on draws that are not NaN; none where more than 5 % are.
pub(crate) fn known_draws(mut values: Vec<f64>) -> Option<Vec<f64>> {
    let draws = values.len();
    values.retain(|value| !value.is_nan());
    let unknown = draws - values.len();
    (20 * unknown <= draws && !values.is_empty()).then_some(values)
}

/// Returns the mean of values.
fn mean(values: Vec<f64>) -> Summary {
    Box::new(move |drawn| {
        drawn.iter().map(|&query| values[query]).sum::<f64>() / drawn.len() as f64
    })
}

/// Returns the mean over targets of a metric of numbers; none where the evaluation has no predicted numbers.
fn of_numbers(
    evaluation: &Evaluation,
    value: fn(&PredictedNumbers, &[usize]) -> Vec<f64>,
) -> Option<Summary> {
    let Some((Truth::Numbers(truth), Truth::Numbers(predicted))) = &evaluation.outputs else {
        return None;
    };
    let numbers = PredictedNumbers::new(truth, predicted, evaluation.facts.means()).ok()?;
    Some(Box::new(move |drawn| {
        let targets = value(&numbers, drawn);
        targets.iter().sum::<f64>() / targets.len() as f64
    }))
}

/// Returns a metric of classes; none where the evaluation has no predicted classes.
fn of_classes(
    evaluation: &Evaluation,
    value: fn(&PredictedClasses, &[usize]) -> f64,
) -> Option<Summary> {
    let Some((Truth::Classes(truth), Truth::Classes(predicted))) = &evaluation.outputs else {
        return None;
    };
    let positive = evaluation.facts.positive.as_deref();
    let classes = PredictedClasses::new(truth, predicted, positive).ok()?;
    Some(Box::new(move |drawn| value(&classes, drawn)))
}

/// The labels of the true and the predicted set of each query.
struct LabelCounts {
    /// Number of columns of [`label_rows`].
    columns: usize,
    /// Number of [`all_labels`], at least 1.
    labels: usize,
    /// The labels that are in either set, for each query.
    queries: Vec<Vec<LabelCount>>,
}

/// A label that is in one of the two sets or in both, and in how many.
type LabelCount = (usize, u64);

/// Adds a label to common labels and labels of both sets together.
fn add((common, all): (u64, u64), &(_, sets): &LabelCount) -> (u64, u64) {
    (common + u64::from(sets == 2), all + sets)
}

impl LabelCounts {
    /// Returns the label sets of an evaluation, if outputs are sets of labels.
    fn from_evaluation(evaluation: &Evaluation) -> Option<Self> {
        let Some((Truth::Labels(truth), Truth::Labels(predicted))) = &evaluation.outputs else {
            return None;
        };
        let labels = all_labels(&evaluation.facts.names, [truth, predicted]).len().max(1);
        let [truth, predicted] = label_rows(truth, predicted).ok()?;
        let queries = (0..truth.len()).map(|query| {
            let mut sets = vec![0; truth.width()];
            let ones = truth.ones(query).chain(predicted.ones(query));
            ones.for_each(|label| sets[label] += 1);
            let either = sets.into_iter().enumerate().filter(|&(_, sets)| sets > 0);
            either.collect()
        });
        Some(Self { columns: truth.width(), labels, queries: queries.collect() })
    }

    /// Returns a value of common labels and labels of both sets together, and of the number of all labels, for each query.
    fn each(&self, value: impl Fn((u64, u64), f64) -> f64) -> Vec<f64> {
        let sums = self.queries.iter().map(|counts| counts.iter().fold((0, 0), add));
        sums.map(|sum| value(sum, self.labels as f64)).collect()
    }

    fn micro_f1(&self, drawn: &[usize]) -> f64 {
        let counts = drawn.iter().flat_map(|&query| &self.queries[query]);
        let (common, all) = counts.fold((0, 0), add);
        f1(common, all)
    }

    /// Returns the F1 of each label; none of one that is in no set of the queries.
    fn each_f1(&self, queries: &[usize]) -> Vec<Option<f64>> {
        let mut sums = vec![(0, 0); self.columns];
        for count in queries.iter().flat_map(|&query| &self.queries[query]) {
            sums[count.0] = add(sums[count.0], count);
        }
        sums.into_iter().map(|(common, all)| (all > 0).then(|| f1(common, all))).collect()
    }

    fn macro_f1(&self, queries: &[usize]) -> f64 {
        let each: Vec<f64> = self.each_f1(queries).into_iter().flatten().collect();
        mean_f1(&each)
    }

    /// Returns the macro F1 of queries that are drawn of all. A label in none of their sets counts with its F1 of all queries.
    fn macro_f1_of_draw(&self, drawn: &[usize], of_all: &[f64]) -> f64 {
        let each = self.each_f1(drawn).into_iter().zip(of_all);
        let each: Vec<f64> = each.map(|(drawn, &of_all)| drawn.unwrap_or(of_all)).collect();
        mean_f1(&each)
    }
}

/// Returns the mean of the F1 of labels; 1 where there are none.
fn mean_f1(each: &[f64]) -> f64 {
    if each.is_empty() { 1.0 } else { each.iter().sum::<f64>() / each.len() as f64 }
}
