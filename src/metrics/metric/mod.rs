//! The metrics of an evaluation; `evaluation.metric` names the one that a configuration chooses by.

mod definitions;
mod further;
mod summary;

use std::borrow::Cow;

use dsokr_decode::RankMetric;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smart_default::SmartDefault;

use crate::metrics::areas::ScoredLabels;
use crate::metrics::classes::PredictedClasses;
use crate::metrics::evaluation::Evaluation;
use crate::metrics::regression::PredictedNumbers;
use crate::metrics::scores::Scores;
use crate::metrics::table;
use definitions::METRICS;
pub(crate) use further::further_metrics;
pub use summary::{RESAMPLES, intervals};
pub(crate) use summary::{Summary, interval_of, known_draws};

/// The definition of a metric. Its value is the number of its name in the JSON of [`Scores`].
struct Definition {
    /// Its name in configurations and reports.
    name: &'static str,
    /// Its name in figures and texts.
    title: &'static str,
    /// Its definition.
    meaning: &'static str,
    /// Whether a larger value is a better one.
    larger_is_better: bool,
    /// The data that it needs.
    needs: Needs,
    /// The values that it summarises.
    over: Over,
    /// Whether it is the mean of its values of single queries; F1 is that of sets of labels, and not of classes.
    is_mean: bool,
    /// Whether these are 0 or 1, but for ties, so that it is a share of the queries.
    is_share: bool,
    /// The least and the largest value that it may have.
    range: [f64; 2],
    /// Its heading in tables; none of a metric that they leave out.
    heading: Option<&'static str>,
    /// Decimal places in tables.
    places: usize,
    /// Whether it is an error, of which tables show four digits.
    is_error: bool,
    /// Whether it is an error in the unit of the outputs, and so of any size.
    is_in_units: bool,
    /// The least width of its column in tables.
    width: usize,
}

/// The values of single queries that a metric summarises.
enum Over {
    /// The mean of the values that the evaluation keeps by the name of the metric.
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
    Numbers(fn(&PredictedNumbers, &[usize]) -> Vec<f64>),
    /// A metric of some queries' classes.
    Classes(fn(&PredictedClasses, &[usize]) -> f64),
    /// The area under a curve of the scores of labels of some queries; none where all or none of them have a label.
    Area(fn(&ScoredLabels, &[usize]) -> Option<f64>),
}

/// The data that a metric needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Ranks.
    Ranks,
    /// Ranks, and a gold candidate for each query: without it the value is infinite.
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
    /// Returns every metric, in the order of reports.
    pub fn all() -> impl Iterator<Item = Self> {
        METRICS.iter().map(Self)
    }

    /// Returns every metric that was [measured](Self::measured), with its value.
    pub fn measured_in(scores: &Scores) -> impl Iterator<Item = (Self, f64)> {
        Self::all().filter_map(|metric| Some((metric, metric.measured(scores)?)))
    }

    /// Returns its name in configurations and reports.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Returns its name in figures and texts.
    pub fn title(self) -> &'static str {
        self.0.title
    }

    /// Returns the value of the metric; `None` where it was not measured or is not finite. Metrics of ranks are measured where
    /// [`Scores::has_ranks`].
    pub fn measured(self, scores: &Scores) -> Option<f64> {
        self.read(scores).filter(|_| !self.is_of_ranks() || scores.has_ranks())
    }

    /// Returns whether it is computed from ranks among candidates.
    pub(crate) fn is_of_ranks(self) -> bool {
        matches!(self.0.needs, Needs::Ranks | Needs::FiniteRanks)
    }

    /// Returns the metric of this name; none where there is none.
    pub fn find(name: &str) -> Option<Self> {
        METRICS.iter().find(|metric| metric.name == name).map(Self)
    }

    /// Returns the data that it needs.
    pub fn needs(self) -> Needs {
        self.0.needs
    }

    /// Returns its heading in tables; none of a metric that they leave out.
    pub(crate) fn heading(self) -> Option<&'static str> {
        self.0.heading
    }

    /// Returns the least width of its column in tables.
    pub(crate) fn width(self) -> usize {
        self.0.width
    }

    /// Returns the decimal places of a value in tables. Of errors four digits count, of very small ones in the unit of the
    /// outputs three.
    pub(crate) fn places(self, value: f64) -> usize {
        let Definition { places, is_error, is_in_units, .. } = *self.0;
        if is_in_units {
            table::places_of_error(value)
        } else if is_error {
            table::places_of_four_digits(value)
        } else {
            places
        }
    }

    /// Returns whether it is computed from the scores of all labels or classes, for which candidates are ranked once more.
    pub(crate) fn needs_label_scores(self) -> bool {
        matches!(self.0.over, Over::Area(_))
    }

    /// Returns whether it is the mean of its values of single queries.
    pub(crate) fn is_mean(self, evaluation: &Evaluation) -> bool {
        let is_of_classes = matches!(self.0.over, Over::F1) && evaluation.compares_classes();
        self.0.is_mean && !is_of_classes
    }

    /// Returns the 95 % interval, as [`interval_of`] has it, of its value on an evaluation. Draws of an F1, an area or a metric of
    /// numbers that are all equal say nothing of other queries, as where a rare class is never predicted, or one number always; it
    /// has no interval then.
    pub(crate) fn interval(
        self,
        value: f64,
        evaluation: &Evaluation,
        units: usize,
        drawn: Vec<f64>,
    ) -> Option<[f64; 2]> {
        let needs_length = match self.0.over {
            Over::Ranks(metric) if metric.is_fixed(&evaluation.ranks) => return None,
            Over::F1 | Over::MicroF1 | Over::MacroF1 | Over::Numbers(_) | Over::Area(_) => true,
            Over::Kept | Over::Ranks(_) | Over::HammingLoss | Over::Classes(_) => false,
        };
        let ends = interval_of(value, self.0.is_share, units, drawn);
        ends.filter(|[low, high]| !needs_length || low < high)
    }

    /// Returns an interval, low and high, without what lies beyond the values that the metric may have.
    pub(crate) fn within_range(self, ends: [f64; 2]) -> [f64; 2] {
        let [least, most] = self.0.range;
        ends.map(|end| end.clamp(least, most))
    }

    /// Returns an interval of a difference, low and high, without what lies beyond the differences that there are.
    pub(crate) fn difference_within_range(self, ends: [f64; 2]) -> [f64; 2] {
        let [least, most] = self.0.range;
        let largest = most - least;
        ends.map(|end| end.clamp(-largest, largest))
    }

    /// Returns whether a larger value is a better one.
    pub fn larger_is_better(self) -> bool {
        self.0.larger_is_better
    }

    /// Returns its value; where that is not known, the worst there is.
    pub fn value(self, scores: &Scores) -> f64 {
        let worst = if self.0.larger_is_better { f64::NEG_INFINITY } else { f64::INFINITY };
        self.read(scores).unwrap_or(worst)
    }

    /// Returns its value for what a search has found beyond the candidates, where it compares that; else
    /// [`value`](Self::value).
    pub(crate) fn value_beyond(self, scores: &Scores) -> f64 {
        let beyond = scores.beyond_candidates().and_then(|beyond| self.measured(&beyond));
        beyond.unwrap_or_else(|| self.value(scores))
    }

    /// Returns its value; none where that is not known or not finite.
    fn read(self, scores: &Scores) -> Option<f64> {
        scores.number(self.0.name)
    }

    /// Returns its value, negated where smaller is better, so that larger always is.
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

#[cfg(test)]
mod tests {
    use dsokr_data::Truth;
    use dsokr_decode::{Metrics, Rank};

    use super::{Metric, further_metrics, intervals};
    use crate::metrics::areas::ScoredLabels;
    use crate::metrics::evaluation::Evaluation;
    use crate::metrics::rankings::RankingScores;
    use crate::metrics::regression::RegressionScores;
    use crate::metrics::scores::{OutputScores, Scores};

    /// As of concentrations in mol/l, of which four decimal places show nothing.
    #[test]
    fn four_digits_of_errors_are_shown_and_three_of_very_small_ones_in_the_unit_of_outputs() {
        let shown = |name: &str, value: f64| {
            format!("{value:.0$}", Metric::find(name).unwrap().places(value))
        };
        for (name, value, expected) in [
            ("mae", 2.294e-7, "0.000000229"),
            ("rmse", 1.5e-12, "0.00000000000150"),
            ("rmse", 0.0034567, "0.003457"),
            ("mae", 0.0, "0.0000"),
            ("mae", 345.26, "345.3"),
            ("rmse", 12345.6, "12346"),
            ("squared_error", 0.489728, "0.4897"),
            ("squared_error", 1.0454, "1.045"),
            ("squared_error", 0.0, "0.0000"),
            ("squared_error", 6e-7, "0.000001"),
            ("pinball", 0.00002, "0.0000200"),
            ("r2", 2.294e-7, "0.0000"),
            // errors of rounding are shown as 0 is
            ("mae", 1e-17, "0.0000"),
            ("kernel_loss", 1e-9, "0.0000"),
            ("squared_error", 2.4e-8, "0.0000"),
        ] {
            assert_eq!(shown(name, value), expected, "{name}");
        }
    }

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
        assert_eq!(stored["crossing"], 0.375);
        let read: Scores = serde_json::from_value(stored).unwrap();
        for scores in [&evaluation.scores, &read] {
            assert_eq!(crossing.measured(scores), Some(0.375));
            assert!(Metric::measured_in(scores).any(|(metric, _)| metric == crossing));
        }
        let [low, high] = intervals(&evaluation, 100, 0).unwrap()["crossing"];
        assert!(low <= 0.375 && 0.375 <= high);
    }

    fn ranked(queries: usize, rank_of: impl Fn(usize) -> u64) -> Evaluation {
        let ranks: Vec<Option<Rank>> =
            (0..queries).map(|query| Rank::new(rank_of(query), 1, 10).ok()).collect();
        let metrics = Metrics::from_ranks(&ranks, 10, 0).unwrap();
        Evaluation::new(metrics.into(), ranks)
    }

    #[test]
    fn intervals_end_where_values_do() {
        for (name, expected) in [
            ("hits@1", [0.0, 1.0]),
            ("mean_rank", [1.0, 1.9]),
            ("mae", [0.0, 1.9]),
            ("r2", [-1.75, 1.0]),
            ("spearman", [-1.0, 1.0]),
        ] {
            let metric = Metric::find(name).unwrap();
            assert_eq!(metric.within_range([-1.75, 1.9]), expected, "{name}");
        }
        let accuracy = Metric::find("accuracy").unwrap();
        assert_eq!(accuracy.difference_within_range([-1.75, 0.9]), [-1.0, 0.9]);
    }

    /// Four queries of one text say no more than one of them.
    #[test]
    fn groups_of_queries_are_drawn_whole() {
        let one = ranked(30, |query| query as u64 % 7);
        let mut four = ranked(120, |query| (query / 4) as u64 % 7);
        four.groups = (0..120).map(|query| (query / 4).to_string()).collect();
        let expected = intervals(&one, 200, 0).unwrap();
        let found = intervals(&four, 200, 0).unwrap();
        for (name, ends) in &expected {
            let close = found[name].iter().zip(ends).all(|(a, b)| (a - b).abs() < 1e-12);
            assert!(close, "{name}: {:?} {ends:?}", found[name]);
        }
        // groups of one query are queries, and one group says nothing
        let mut single = one.clone();
        single.groups = (0..30).map(|query| query.to_string()).collect();
        assert_eq!(intervals(&single, 200, 0).unwrap(), expected);
        for groups in 1..=3 {
            single.groups = (0..30).map(|query| (query % groups).to_string()).collect();
            assert_eq!(intervals(&single, 200, 0).unwrap().is_empty(), groups < 3, "{groups}");
        }
    }

    /// Equal rankings tie, so that the first one is right far more often than Hits@1 says.
    #[test]
    fn rankings_some_of_which_are_equal_have_no_ranks() {
        let evaluation_of = |duplicates: usize| {
            let ranks = vec![Rank::new(0, 4, 10).ok(), Rank::new(1, 1, 10).ok()];
            let metrics = Metrics::from_ranks(&ranks, 10, duplicates).unwrap();
            let mut evaluation = Evaluation::new(metrics.into(), ranks);
            let scores = RankingScores { kendall_tau: 0.5, exact: 0.5 };
            evaluation.scores.outputs = Some(OutputScores::Rankings(scores));
            evaluation
        };
        let names = |evaluation: &Evaluation| -> Vec<&'static str> {
            Metric::measured_in(&evaluation.scores).map(|(metric, _)| metric.name()).collect()
        };
        assert_eq!(names(&evaluation_of(3)), ["kendall_tau", "exact"]);
        assert!(names(&evaluation_of(0)).contains(&"mrr"));
    }

    /// All draws of such a share are equal.
    #[test]
    fn shares_of_0_and_1_have_intervals_of_a_length() {
        let mut evaluation = ranked(200, |query| query as u64 % 2 + 1);
        let found = intervals(&evaluation, 100, 0).unwrap();
        let [low, high] = found["hits@5"];
        assert!((low - 0.9812).abs() < 1e-4 && high == 1.0, "{low} {high}");
        let [low, high] = found["hits@1"];
        assert!(low == 0.0 && (high - 0.0188).abs() < 1e-4, "{low} {high}");
        // no mean of reciprocals is a share
        let all = intervals(&ranked(200, |_| 0), 100, 0).unwrap();
        assert_eq!((all["mrr"], all["mean_rank"]), ([1.0; 2], [1.0; 2]));
        // fifty texts, four times each
        evaluation.groups = (0..200).map(|query| (query / 4).to_string()).collect();
        let [low, _] = intervals(&evaluation, 100, 0).unwrap()["hits@5"];
        assert!((low - 0.9287).abs() < 1e-4, "{low}");
    }

    /// Hits@10 of ten candidates is 1 whatever their order.
    #[test]
    fn hits_that_candidates_are_too_few_to_miss_have_no_interval() {
        let found = intervals(&ranked(30, |query| query as u64 % 3), 100, 0).unwrap();
        assert!(!found.contains_key("hits@10") && !found.contains_key("hits@20"), "{found:?}");
        assert!(found.contains_key("hits@5") && found.contains_key("mrr"), "{found:?}");
    }

    /// Of 100 queries 3 have the class that is never predicted; 5 % of the draws have none of them.
    #[test]
    fn a_class_that_is_never_predicted_counts_in_every_draw() {
        let mut evaluation = ranked(100, |_| 0);
        evaluation.facts.positive = Some("rare".to_owned());
        let truth = |query: usize| if query < 3 { "rare" } else { "common" }.to_owned();
        let outputs = ((0..100).map(truth).collect(), vec!["common".to_owned(); 100]);
        evaluation.compare((Truth::Classes(outputs.0), Truth::Classes(outputs.1))).unwrap();
        let scores: Vec<Vec<(&str, f64)>> =
            (0..100).map(|query| vec![("rare", f64::from(u8::from(query < 3)))]).collect();
        let truth: Vec<Vec<&str>> =
            (0..100).map(|query| if query < 3 { vec!["rare"] } else { Vec::new() }).collect();
        evaluation.add_areas(ScoredLabels::new(&truth, scores, None));
        let found = intervals(&evaluation, 2000, 0).unwrap();
        let [low, high] = found["macro_f1"];
        assert!((low - 0.482).abs() < 0.003 && (high - 0.5).abs() < 1e-12, "{low} {high}");
        // all draws of these are equal
        for name in ["f1", "roc_auc", "pr_auc"] {
            assert!(Metric::find(name).unwrap().measured(&evaluation.scores).is_some(), "{name}");
            assert_eq!(found.get(name), None, "{name}");
        }
    }

    /// Draws without the one query that has the label have no area, and are 37 % of all.
    #[test]
    fn areas_of_too_few_positives_have_no_interval() {
        let areas_of = |positives: usize| {
            let truth: Vec<Vec<&str>> = (0..60)
                .map(|query| if query < positives { vec!["yes"] } else { Vec::new() })
                .collect();
            let scores = (0..60).map(|query| vec![("yes", f64::from(query * 7 % 60))]);
            let mut evaluation = ranked(60, |_| 0);
            evaluation.add_areas(ScoredLabels::new(&truth, scores, None));
            let intervals = intervals(&evaluation, 400, 0).unwrap();
            ["roc_auc", "pr_auc"].map(|name| {
                assert!(Metric::find(name).unwrap().measured(&evaluation.scores).is_some());
                intervals.get(name).copied()
            })
        };
        assert_eq!(areas_of(1), [None, None]);
        for [low, high] in areas_of(12).map(Option::unwrap) {
            assert!(low < high, "{low} {high}");
        }
    }

    #[test]
    fn draws_of_numbers_that_are_all_equal_have_no_interval() {
        let intervals_of = |truth: &[f64], predicted: &[f64]| {
            let rows = |numbers: &[f64]| -> Vec<Vec<f64>> {
                numbers.iter().map(|&number| vec![number]).collect()
            };
            let mut evaluation = ranked(truth.len(), |query| query as u64);
            evaluation
                .compare((Truth::Numbers(rows(truth)), Truth::Numbers(rows(predicted))))
                .unwrap();
            intervals(&evaluation, 200, 0).unwrap()
        };
        // a share of one query has Wilson's
        let one = intervals_of(&[1.0], &[1.5]);
        assert!(one.keys().eq(["hits@1", "hits@5"]), "{one:?}");
        // the same number is predicted for all queries
        let constant = intervals_of(&[1.0, 2.0, 4.0, 3.0], &[2.5; 4]);
        assert!(!constant.contains_key("spearman"), "{constant:?}");
        assert!(["mae", "rmse", "r2"].iter().all(|name| constant.contains_key(*name)));
        let equal = intervals_of(&[2.0; 4], &[2.5, 2.0, 1.0, 3.0]);
        assert!(!equal.contains_key("r2") && equal.contains_key("mae"), "{equal:?}");
    }

    #[test]
    fn more_than_50_000_numbers_have_no_intervals() {
        let intervals_of = |targets: usize| {
            let ranks = vec![Rank::new(0, 1, 10).ok(); 2];
            let metrics = Metrics::from_ranks(&ranks, 10, 0).unwrap();
            let mut evaluation = Evaluation::new(metrics.into(), ranks);
            let truth = vec![vec![1.0; targets], vec![2.0; targets]];
            let predicted = vec![vec![1.5; targets], vec![3.0; targets]];
            let scores = RegressionScores::from_rows(&truth, &predicted, None, &[]).unwrap();
            evaluation.scores.outputs = Some(OutputScores::Numbers(scores));
            evaluation.outputs = Some((Truth::Numbers(truth), Truth::Numbers(predicted)));
            evaluation.mean("crossing", vec![0.5, 0.25]);
            evaluation.scores.further = further_metrics(&evaluation);
            intervals(&evaluation, 40, 0).unwrap()
        };
        let mut few = intervals_of(25_000);
        for name in ["mae", "rmse", "r2", "spearman"] {
            assert!(few.remove(name).is_some(), "{name}");
        }
        assert!(few.contains_key("crossing"), "{few:?}");
        assert_eq!(intervals_of(25_001), few);
    }
}
