//! The metrics of an evaluation; `evaluation.metric` names the one that a configuration chooses by.

mod definitions;

use std::borrow::Cow;
use std::collections::BTreeMap;

use dsokr_data::Truth;
use dsokr_decode::{percentile_interval, resampled};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::labels::label_rows;
use crate::{Error, Evaluation, Scores};
use definitions::METRICS;

/// The definition of a metric.
struct Definition {
    /// Its name in configurations and reports.
    name: &'static str,
    /// Its name in figures and texts.
    title: &'static str,
    /// What it is.
    meaning: &'static str,
    /// Whether a larger figure is a better one.
    larger_is_better: bool,
    /// What it needs to be known.
    needs: Needs,
    /// The figure; none where it is not known.
    value: fn(&Scores) -> Option<f64>,
    /// What it summarises, for its interval; none for a mean of values that the evaluation keeps.
    samples: Option<fn(&Evaluation) -> Option<Samples>>,
}

/// What a figure needs to be known.
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
    /// Outputs that are rankings.
    Rankings,
    /// Numbers that are predicted as they are.
    Numbers,
    /// Outputs that are graphs or rankings.
    GraphsOrRankings,
    /// The outputs in the kernel's feature space.
    FeatureSpace,
    /// One kernel of outputs.
    ComparedOutputs,
    /// Answers that are quantiles.
    Quantiles,
    /// That an evaluation is asked for it; trainings do not compute it.
    Asked,
}

/// A metric of an evaluation.
#[derive(Clone, Copy, derive_more::Debug, derive_more::Display)]
#[debug("{:?}", _0.name)]
#[display("{}", _0.name)]
pub struct Metric(&'static Definition);

impl Metric {
    /// Every metric, in the order of reports.
    pub fn all() -> impl Iterator<Item = Self> {
        METRICS.iter().map(Self)
    }

    /// Every metric that is [known](Self::known), with its value.
    pub fn known_of(scores: &Scores) -> impl Iterator<Item = (Self, f64)> {
        Self::all().filter_map(|metric| Some((metric, metric.known(scores)?)))
    }

    /// Its name in configurations and reports.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Its name in figures and texts.
    pub fn title(self) -> &'static str {
        self.0.title
    }

    /// The metric; none where it is not known or not finite. Those of ranks are known where
    /// [`Scores::has_ranks`].
    pub fn known(self, scores: &Scores) -> Option<f64> {
        let of_ranks = matches!(self.0.needs, Needs::Ranks | Needs::FiniteRanks);
        let value = (self.0.value)(scores)?;
        (value.is_finite() && (!of_ranks || scores.has_ranks())).then_some(value)
    }

    /// What the metric summarises; none where it is not known.
    pub(crate) fn samples(self, evaluation: &Evaluation) -> Option<Samples> {
        self.known(&evaluation.scores)?;
        match self.0.samples {
            Some(samples) => samples(evaluation),
            None => evaluation.queries.get(self.0.name).cloned().map(Samples::Mean),
        }
    }

    /// The figure of this name.
    pub fn find(name: &str) -> Option<Self> {
        METRICS.iter().find(|metric| metric.name == name).map(Self)
    }

    /// What it needs to be known.
    pub fn needs(self) -> Needs {
        self.0.needs
    }

    /// Whether a larger figure is a better one.
    pub fn larger_is_better(self) -> bool {
        self.0.larger_is_better
    }

    /// The figure; where it is not known, the worst there is.
    pub fn value(self, scores: &Scores) -> f64 {
        let worst = if self.0.larger_is_better { f64::NEG_INFINITY } else { f64::INFINITY };
        (self.0.value)(scores).unwrap_or(worst)
    }

    /// The figure, negated where smaller is better, so that larger always is.
    pub fn score(self, scores: &Scores) -> f64 {
        let value = self.value(scores);
        if self.0.larger_is_better { value } else { -value }
    }
}

dsokr_basis::defaults!(Metric = Self(&METRICS[0]));

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
        let choice = |Definition { name, meaning, .. }: &Definition| serde_json::json!({ "type": "string", "const": name, "description": meaning });
        let choices: Vec<_> = METRICS.iter().map(choice).collect();
        json_schema!({
            "description": "A figure of the validation split; it says itself whether larger is better.",
            "oneOf": choices,
        })
    }
}

/// Resamples of the bootstrap in reports.
pub const RESAMPLES: usize = 10_000;

/// 95 % confidence intervals, `[low, high]`, of every metric that is known, by its name.
///
/// Percentile bootstrap over queries: of the values that a metric takes on `resamples` draws of as
/// many queries, with replacement, the interval reaches from the 2.5th to the 97.5th percentile.
/// All metrics are computed on the same draws, which depend on `seed` and the number of queries
/// alone. The macro F1 of a resample leaves out labels that are in none of its sets. An interval that reaches
/// infinity is left out.
///
/// # Errors
/// [`dsokr_basis::Error::Shape`] for no queries and for less than 40 resamples.
pub fn intervals(
    evaluation: &Evaluation,
    resamples: usize,
    seed: u64,
) -> Result<BTreeMap<String, [f64; 2]>, Error> {
    let known: Vec<(Metric, Samples)> =
        Metric::all().filter_map(|metric| Some((metric, metric.samples(evaluation)?))).collect();
    let drawn = resampled(evaluation.ranks.len(), resamples, seed, |queries| {
        let queries: Vec<usize> = queries.collect();
        known.iter().map(|(_, samples)| samples.value(&queries)).collect::<Vec<f64>>()
    })?;
    let interval = |(at, (metric, _)): (usize, &(Metric, Samples))| {
        let values = drawn.iter().map(|values| values[at]).collect();
        (metric.name().to_owned(), percentile_interval(values))
    };
    let finite = |(_, ends): &(String, [f64; 2])| ends.iter().all(|end| end.is_finite());
    Ok(known.iter().enumerate().map(interval).filter(finite).collect())
}

/// The values of each query that a metric summarises, so that it can be computed on a resample.
pub(crate) enum Samples {
    /// Its mean.
    Mean(Vec<f64>),
    /// Its median, the mean of the two in the middle for an even number.
    Median(Vec<f64>),
    /// F1 of all labels of all queries together.
    MicroF1(LabelCounts),
    /// The mean over labels of the F1 of a label, those in no set of the queries left out: none of them is predicted
    /// wrongly or rightly.
    MacroF1(LabelCounts),
}

impl Samples {
    /// The metric of the queries at these positions, at least one; a position may occur repeatedly.
    pub fn value(&self, drawn: &[usize]) -> f64 {
        match self {
            Self::Mean(values) => {
                drawn.iter().map(|&query| values[query]).sum::<f64>() / drawn.len() as f64
            }
            Self::Median(values) => {
                let mut values: Vec<f64> = drawn.iter().map(|&query| values[query]).collect();
                let (below, middle, _) =
                    values.select_nth_unstable_by(drawn.len() / 2, f64::total_cmp);
                let upper = *middle;
                let lower = match drawn.len() % 2 {
                    0 => below.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                    _ => upper,
                };
                (lower + upper) / 2.0
            }
            Self::MicroF1(counts) => {
                let counts = drawn.iter().flat_map(|&query| &counts.queries[query]);
                let (common, all) = counts.fold((0, 0), add);
                f1(common, all)
            }
            Self::MacroF1(counts) => {
                let mut sums = vec![(0, 0); counts.columns];
                for count in drawn.iter().flat_map(|&query| &counts.queries[query]) {
                    sums[count.0] = add(sums[count.0], count);
                }
                sums.retain(|&(_, all)| all > 0);
                let sum: f64 = sums.iter().map(|&(common, all)| f1(common, all)).sum();
                if sums.is_empty() { 1.0 } else { sum / sums.len() as f64 }
            }
        }
    }
}

/// The labels of the true and the predicted set of each query.
pub(crate) struct LabelCounts {
    /// Number of columns of [`label_rows`].
    pub columns: usize,
    /// Those that are in either set, for each query.
    pub queries: Vec<Vec<LabelCount>>,
}

/// A label that is in one of the two sets or in both, and in how many.
type LabelCount = (usize, u64);

/// Common labels and labels of both sets together, with one more label.
fn add((common, all): (u64, u64), &(_, sets): &LabelCount) -> (u64, u64) {
    (common + u64::from(sets == 2), all + sets)
}

impl LabelCounts {
    /// Those of an evaluation, if outputs are sets of labels.
    pub fn of(evaluation: &Evaluation) -> Option<Self> {
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

    /// Common labels, and labels of both sets together, of each query.
    pub fn sums(&self) -> impl Iterator<Item = (u64, u64)> {
        self.queries.iter().map(|counts| counts.iter().fold((0, 0), add))
    }
}

/// `2c / (t + q)` of c common labels and t + q labels of both sets; 1 for none.
fn f1(common: u64, all: u64) -> f64 {
    if all == 0 { 1.0 } else { 2.0 * common as f64 / all as f64 }
}
