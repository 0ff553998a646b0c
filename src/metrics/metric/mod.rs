//! The metrics of an evaluation; `evaluation.metric` names the one that a configuration chooses by.

mod definitions;

use std::borrow::Cow;
use std::collections::BTreeMap;

use dsokr_data::Truth;
use dsokr_decode::{RankMetric, percentile_interval, resampled};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smart_default::SmartDefault;

use crate::error::Error;
use crate::metrics::areas::ScoredLabels;
use crate::metrics::classes::PredictedClasses;
use crate::metrics::labels::label_rows;
use crate::metrics::regression::{PredictedNumbers, PredictedTarget};
use crate::metrics::scores::{Evaluation, Scores};
use definitions::METRICS;

/// The definition of a metric. Its value is the number of its name in the JSON of [`Scores`].
struct Definition {
    /// Its name in configurations and reports.
    name: &'static str,
    /// Its name in figures and texts.
    title: &'static str,
    /// Its definition.
    meaning: &'static str,
    /// Whether a larger figure is a better one.
    larger_is_better: bool,
    /// The data that it needs.
    needs: Needs,
    /// The values that it summarises.
    over: Over,
    /// Its heading in tables; none of a metric that they leave out.
    heading: Option<&'static str>,
    /// Decimal places in tables.
    places: usize,
    /// The least width of its column in tables.
    width: usize,
}

/// The values of single queries that a metric summarises.
enum Over {
    /// The mean of those that the evaluation keeps by the name of the metric.
    Kept,
    /// A metric of ranks.
    Ranks(&'static RankMetric),
    /// The mean of F1.
    F1,
    /// The mean of the share of labels that differ.
    HammingLoss,
    /// F1 of all labels of all queries together.
    MicroF1,
    /// The mean over labels of the F1 of a label, those in no set of the queries left out: none of them is predicted
    /// wrongly or rightly.
    MacroF1,
    /// The mean over targets of a metric of some queries' numbers.
    Numbers(fn(&PredictedTarget, &[usize]) -> f64),
    /// A metric of some queries' classes.
    Classes(fn(&PredictedClasses, &[usize]) -> f64),
    /// The area under a curve of the scores of labels of some queries; none where all or none of them have a label.
    Area(fn(&ScoredLabels, &[usize]) -> Option<f64>),
}

/// A metric of the queries at some positions, at least one; a position may occur repeatedly.
pub(crate) type Summary = Box<dyn Fn(&[usize]) -> f64 + Send + Sync>;

/// The data that a metric needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Ranks.
    Ranks,
    /// Ranks, and a gold candidate for each query: without it the figure is infinite.
    FiniteRanks,
    /// Outputs that are graphs.
    Graphs,
    /// Outputs that are sets of labels.
    Labels,
    /// Outputs that are classes.
    Classes,
    /// Outputs that are sets of labels or classes.
    LabelsOrClasses,
    /// Outputs that are rankings.
    Rankings,
    /// Numbers that are predicted as they are, or by their median.
    Numbers,
    /// Outputs that are graphs or rankings.
    GraphsOrRankings,
    /// The outputs in the kernel's feature space.
    FeatureSpace,
    /// One kernel of outputs.
    ComparedOutputs,
    /// Answers that are quantiles.
    Quantiles,
    /// An option of the evaluation that asks for it; trainings do not compute it.
    Asked,
}

/// A metric of an evaluation.
#[derive(Clone, Copy, derive_more::Debug, derive_more::Display, SmartDefault)]
#[debug("{:?}", _0.name)]
#[display("{}", _0.name)]
pub struct Metric(#[default(&METRICS[0])] &'static Definition);

impl Metric {
    /// Every metric, in the order of reports.
    pub fn all() -> impl Iterator<Item = Self> {
        METRICS.iter().map(Self)
    }

    /// Every metric that was [measured](Self::measured), with its value.
    pub fn measured_in(scores: &Scores) -> impl Iterator<Item = (Self, f64)> {
        Self::all().filter_map(|metric| Some((metric, metric.measured(scores)?)))
    }

    /// Its name in configurations and reports.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Its name in figures and texts.
    pub fn title(self) -> &'static str {
        self.0.title
    }

    /// The value of the metric; `None` where it was not measured or is not finite. Metrics of ranks are measured where
    /// [`Scores::has_ranks`].
    pub fn measured(self, scores: &Scores) -> Option<f64> {
        let of_ranks = matches!(self.0.needs, Needs::Ranks | Needs::FiniteRanks);
        self.read(scores).filter(|_| !of_ranks || scores.has_ranks())
    }

    /// The metric of any of the queries; none where it is not known.
    pub(crate) fn summary(self, evaluation: &Evaluation) -> Option<Summary> {
        self.measured(&evaluation.scores)?;
        self.of_drawn(evaluation)
    }

    /// The metric of any of the queries; none where the evaluation lacks what it summarises.
    fn of_drawn(self, evaluation: &Evaluation) -> Option<Summary> {
        let labels = || LabelCounts::from_evaluation(evaluation);
        Some(match self.0.over {
            Over::Kept => mean(evaluation.queries.get(self.0.name)?.clone()),
            Over::Ranks(metric) => {
                let ranks = evaluation.ranks.iter();
                let values: Vec<f64> = ranks.map(|rank| metric.of(rank.as_ref())).collect();
                Box::new(move |drawn| {
                    metric.summarise(drawn.iter().map(|&query| values[query]).collect())
                })
            }
            Over::F1 if matches!(evaluation.outputs, Some((Truth::Classes(_), _))) => {
                of_classes(evaluation, PredictedClasses::f1)?
            }
            Over::F1 => mean(labels()?.each(|(common, all), _| f1(common, all))),
            Over::HammingLoss => {
                mean(labels()?.each(|(common, all), columns| (all - 2 * common) as f64 / columns))
            }
            Over::MicroF1 => {
                let counts = labels()?;
                Box::new(move |drawn| counts.micro_f1(drawn))
            }
            Over::MacroF1 if matches!(evaluation.outputs, Some((Truth::Classes(_), _))) => {
                of_classes(evaluation, PredictedClasses::macro_f1)?
            }
            Over::MacroF1 => {
                let counts = labels()?;
                Box::new(move |drawn| counts.macro_f1(drawn))
            }
            Over::Numbers(value) => of_numbers(evaluation, value)?,
            Over::Classes(value) => of_classes(evaluation, value)?,
            Over::Area(value) => {
                let scored = evaluation.scored.clone().filter(ScoredLabels::are_few)?;
                // labels that all or none of a draw have are left out, as they are of all queries
                Box::new(move |drawn| value(&scored, drawn).unwrap_or(0.5))
            }
        })
    }

    /// The figure of this name.
    pub fn find(name: &str) -> Option<Self> {
        METRICS.iter().find(|metric| metric.name == name).map(Self)
    }

    /// The data that it needs.
    pub fn needs(self) -> Needs {
        self.0.needs
    }

    /// Its heading in tables; none of a metric that they leave out.
    pub(crate) fn heading(self) -> Option<&'static str> {
        self.0.heading
    }

    /// The least width of its column in tables.
    pub(crate) fn width(self) -> usize {
        self.0.width
    }

    /// Decimal places in tables.
    pub(crate) fn places(self) -> usize {
        self.0.places
    }

    /// Whether it is an area under a curve of the scores of labels.
    pub(crate) fn is_area(self) -> bool {
        matches!(self.0.over, Over::Area(_))
    }

    /// Whether a larger figure is a better one.
    pub fn larger_is_better(self) -> bool {
        self.0.larger_is_better
    }

    /// The figure; where it is not known, the worst there is.
    pub fn value(self, scores: &Scores) -> f64 {
        let worst = if self.0.larger_is_better { f64::NEG_INFINITY } else { f64::INFINITY };
        self.read(scores).unwrap_or(worst)
    }

    /// The figure; none where it is not known or not finite.
    fn read(self, scores: &Scores) -> Option<f64> {
        scores.number(self.0.name)
    }

    /// The figure, negated where smaller is better, so that larger always is.
    pub fn score(self, scores: &Scores) -> f64 {
        let value = self.value(scores);
        if self.0.larger_is_better { value } else { -value }
    }
}

impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name)
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::find(&name).ok_or_else(|| {
            let names: Vec<String> =
                METRICS.iter().map(|metric| format!("`{}`", metric.name)).collect();
            D::Error::custom(format!(
                "unknown metric `{name}`, expected one of {}",
                names.join(", ")
            ))
        })
    }
}

impl JsonSchema for Metric {
    fn schema_name() -> Cow<'static, str> {
        "Metric".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let choice = |definition: &Definition| {
            let better = if definition.larger_is_better { "larger" } else { "smaller" };
            let meaning = format!("{}, {better} is better.", definition.meaning);
            serde_json::json!({ "type": "string", "const": definition.name, "description": meaning })
        };
        let choices: Vec<_> = METRICS.iter().map(choice).collect();
        json_schema!({
            "description": "A figure of the validation split; it says itself whether larger is better.",
            "oneOf": choices,
        })
    }
}

/// The metrics of an evaluation that its scores have no field for, by name.
pub(crate) fn further_metrics(evaluation: &Evaluation) -> BTreeMap<String, f64> {
    let queries: Vec<usize> = (0..evaluation.ranks.len()).collect();
    let value = |metric: Metric| match metric.0.over {
        Over::Area(area) => area(evaluation.scored.as_ref()?, &queries),
        Over::Kept
        | Over::Ranks(_)
        | Over::F1
        | Over::HammingLoss
        | Over::MicroF1
        | Over::MacroF1
        | Over::Numbers(_)
        | Over::Classes(_) => Some(metric.of_drawn(evaluation)?(&queries)),
    };
    let lacking = Metric::all().filter(|metric| metric.read(&evaluation.scores).is_none());
    let further = lacking.filter_map(|metric| Some((metric.name().to_owned(), value(metric)?)));
    further.filter(|(_, value)| value.is_finite()).collect()
}

/// Resamples of the bootstrap in reports.
pub const RESAMPLES: usize = 10_000;

/// 95 % confidence intervals, `[low, high]`, of every metric that is known, by its name.
///
/// Percentile bootstrap over queries: of the values that a metric takes on `resamples` draws of as
/// many queries, with replacement, the interval reaches from the 2.5th to the 97.5th percentile.
/// All metrics are computed on the same draws, which depend only on `seed` and the number of
/// queries. The macro F1 of a resample leaves out labels that are in none of its sets, and an area under a curve those
/// that all or none of its queries have. An interval that reaches infinity is left out, and those of areas where more than
/// 50,000 scores of labels are known.
///
/// # Errors
/// [`dsokr_core::Error::TooFew`] for no queries and for less than 40 resamples.
pub fn intervals(
    evaluation: &Evaluation,
    resamples: usize,
    seed: u64,
) -> Result<BTreeMap<String, [f64; 2]>, Error> {
    let measured: Vec<(Metric, Summary)> =
        Metric::all().filter_map(|metric| Some((metric, metric.summary(evaluation)?))).collect();
    let drawn = resampled(evaluation.ranks.len(), resamples, seed, |queries| {
        let queries: Vec<usize> = queries.collect();
        measured.iter().map(|(_, summary)| summary(&queries)).collect::<Vec<f64>>()
    })?;
    let interval = |(at, (metric, _)): (usize, &(Metric, Summary))| {
        let values = drawn.iter().map(|values| values[at]).collect();
        (metric.name().to_owned(), percentile_interval(values))
    };
    let finite = |(_, ends): &(String, [f64; 2])| ends.iter().all(|end| end.is_finite());
    Ok(measured.iter().enumerate().map(interval).filter(finite).collect())
}

/// The mean of values.
fn mean(values: Vec<f64>) -> Summary {
    Box::new(move |drawn| {
        drawn.iter().map(|&query| values[query]).sum::<f64>() / drawn.len() as f64
    })
}

/// The mean over targets of a metric of numbers; none where the evaluation has no predicted numbers.
fn of_numbers(
    evaluation: &Evaluation,
    value: fn(&PredictedTarget, &[usize]) -> f64,
) -> Option<Summary> {
    let Some((Truth::Numbers(truth), Truth::Numbers(predicted))) = &evaluation.outputs else {
        return None;
    };
    let numbers = PredictedNumbers::new(truth, predicted, evaluation.facts.means()).ok()?;
    Some(Box::new(move |drawn| {
        let targets = &numbers.targets;
        targets.iter().map(|target| value(target, drawn)).sum::<f64>() / targets.len() as f64
    }))
}

/// A metric of classes; none where the evaluation has no predicted classes.
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
    /// The labels that are in either set, for each query.
    queries: Vec<Vec<LabelCount>>,
}

/// A label that is in one of the two sets or in both, and in how many.
type LabelCount = (usize, u64);

/// Common labels and labels of both sets together, with one more label.
fn add((common, all): (u64, u64), &(_, sets): &LabelCount) -> (u64, u64) {
    (common + u64::from(sets == 2), all + sets)
}

impl LabelCounts {
    /// The label sets of an evaluation, if outputs are sets of labels.
    fn from_evaluation(evaluation: &Evaluation) -> Option<Self> {
        let Some((Truth::Labels(truth), Truth::Labels(predicted))) = &evaluation.outputs else {
            return None;
        };
        let [truth, predicted] = label_rows(truth, predicted).ok()?;
        let queries = (0..truth.len()).map(|query| {
            let mut sets = vec![0; truth.width()];
            let ones = truth.ones(query).chain(predicted.ones(query));
            ones.for_each(|label| sets[label] += 1);
            let either = sets.into_iter().enumerate().filter(|&(_, sets)| sets > 0);
            either.collect()
        });
        Some(Self { columns: truth.width(), queries: queries.collect() })
    }

    /// A value of common labels and labels of both sets together, of so many columns, for each query.
    fn each(&self, value: impl Fn((u64, u64), f64) -> f64) -> Vec<f64> {
        let sums = self.queries.iter().map(|counts| counts.iter().fold((0, 0), add));
        sums.map(|sum| value(sum, self.columns as f64)).collect()
    }

    fn micro_f1(&self, drawn: &[usize]) -> f64 {
        let counts = drawn.iter().flat_map(|&query| &self.queries[query]);
        let (common, all) = counts.fold((0, 0), add);
        f1(common, all)
    }

    fn macro_f1(&self, drawn: &[usize]) -> f64 {
        let mut sums = vec![(0, 0); self.columns];
        for count in drawn.iter().flat_map(|&query| &self.queries[query]) {
            sums[count.0] = add(sums[count.0], count);
        }
        sums.retain(|&(_, all)| all > 0);
        let sum: f64 = sums.iter().map(|&(common, all)| f1(common, all)).sum();
        if sums.is_empty() { 1.0 } else { sum / sums.len() as f64 }
    }
}

/// `2c / (t + q)` of c common labels and t + q labels of both sets; 1 for none.
fn f1(common: u64, all: u64) -> f64 {
    if all == 0 { 1.0 } else { 2.0 * common as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use dsokr_decode::{Metrics, Rank};

    use super::{Metric, further_metrics};
    use crate::metrics::scores::{Evaluation, Scores};

    /// The scores have a field for it only where quantiles are predicted, as they have none for a metric that is new.
    #[test]
    fn a_metric_without_a_field_is_known_by_the_values_of_queries() {
        let ranks = vec![Rank::new(0, 1, 10).ok(), Rank::new(1, 2, 10).ok()];
        let metrics = Metrics::from_ranks(&ranks, 10, 0).unwrap();
        let mut evaluation = Evaluation::new(metrics.into(), ranks);
        let crossing = Metric::find("crossing").unwrap();
        assert_eq!(crossing.measured(&evaluation.scores), None);
        evaluation.mean("crossing", vec![0.5, 0.25]);
        evaluation.scores.further = further_metrics(&evaluation);
        assert_eq!(evaluation.scores.further.len(), 1);
        let stored = serde_json::to_value(&evaluation.scores).unwrap();
        let read: Scores = serde_json::from_value(stored).unwrap();
        for scores in [&evaluation.scores, &read] {
            assert_eq!(crossing.measured(scores), Some(0.375));
            assert!(Metric::measured_in(scores).any(|(metric, _)| metric == crossing));
        }
        let [low, high] = super::intervals(&evaluation, 100, 0).unwrap()["crossing"];
        assert!(low <= 0.375 && 0.375 <= high);
    }
}
