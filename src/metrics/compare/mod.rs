//! Runs on the same queries, or on the same parts: all metrics with intervals, and paired differences from the first run.

mod checks;
mod render;

use std::borrow::Cow;
use std::collections::HashSet;

use dsokr_decode::{IndependentQueries, percentile_interval, resampled, sign_flip_p};
use serde::Serialize;

pub(crate) use self::checks::check_compared;
pub use self::render::Format;
use crate::error::Error;
use crate::metrics::evaluation::{Evaluation, connected_groups};
use crate::metrics::exchange::ExchangedAnswers;
use crate::metrics::metric::{Metric, Summary, known_draws};

/// A run's evaluation on queries.
#[derive(derive_more::Debug)]
#[debug("EvaluatedRun({name:?}, {evaluation:?})")]
pub struct EvaluatedRun<'a> {
    /// The run's name in tables.
    pub name: String,
    /// The ids of the queries.
    pub queries: &'a [String],
    /// The evaluation.
    pub evaluation: Evaluation,
}

/// Runs, or cross-validations, compared on the same queries or parts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunComparison {
    /// The values that are compared.
    #[serde(flatten)]
    pub compared: Compared,
    /// Every metric that some run has.
    pub metrics: Vec<MetricComparison>,
    /// Why the metrics of a run are too good, or say less about new queries, with its name; none where nothing is chosen on the
    /// queries, and none of a file has the input of a training pair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caution: Option<String>,
}

/// The values that runs are compared on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Compared {
    /// Queries, by a paired bootstrap, the signs of their differences, and exchanges of answers.
    Queries {
        /// Their number.
        queries: usize,
        /// The number of their groups, which are drawn whole and have one sign; none where each query is by itself.
        #[serde(skip_serializing_if = "Option::is_none")]
        groups: Option<usize>,
        /// Resamples of the bootstrap.
        resamples: usize,
    },
    /// Parts of cross-validations, by the corrected resampled t-test.
    Parts {
        /// Their number, of all divisions.
        parts: usize,
        /// Their number in each division.
        folds: usize,
    },
}

/// A metric of several runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricComparison {
    /// Its name.
    pub metric: &'static str,
    /// Whether a larger value is a better one.
    pub larger_is_better: bool,
    /// The runs that have it, in the order given.
    pub runs: Vec<RunValue>,
}

impl MetricComparison {
    /// Creates the comparison of runs, and corrects their p-values for their number; none for no runs.
    pub(crate) fn from_runs(metric: Metric, mut runs: Vec<RunValue>) -> Option<Self> {
        let differences = || runs.iter().filter_map(|run| run.difference);
        let corrected = holm(&differences().map(|difference| difference.p).collect::<Vec<f64>>());
        let differences = runs.iter_mut().filter_map(|run| run.difference.as_mut());
        differences.zip(corrected).for_each(|(difference, p)| difference.p_holm = p);
        let larger_is_better = metric.larger_is_better();
        (!runs.is_empty()).then_some(Self { metric: metric.name(), larger_is_better, runs })
    }
}

/// A metric of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunValue {
    /// The run.
    pub run: String,
    /// The metric.
    pub value: f64,
    /// Its 95 % interval, low and high; none if it reaches infinity, and where too few draws of queries have the metric.
    pub ci95: Option<[f64; 2]>,
    /// The difference from the first run; none of the first run itself, where the first run does not have the metric, and
    /// where too few draws of queries have it.
    pub difference: Option<PairedDifference>,
}

/// The difference of a metric from that of the first run, on the same queries.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PairedDifference {
    /// The run's metric minus the first run's.
    pub difference: f64,
    /// Its 95 % interval, low and high; none where the differences of all parts of cross-validations are equal, of which few say
    /// nothing about others.
    pub ci95: Option<[f64; 2]>,
    /// Two-sided p-value of the hypothesis that there is no difference.
    pub p: f64,
    /// The p-value after Holm's correction over the runs that are compared by this metric; the same for
    /// a single one.
    pub p_holm: f64,
}

/// Compares the runs with the first one by a paired bootstrap over queries.
///
/// On each of `resamples` draws of the queries, or of their groups, with replacement, every metric of every run is computed; the
/// Hamming loss is of the labels that any of the runs knows. Intervals reach from the 2.5th to the 97.5th percentile. The
/// p-value of a metric that is a mean over queries is that of the signs of their differences, or of those of groups
/// ([`sign_flip_p`]). For other metrics the answers of both runs to the same queries, or groups, are exchanged, and the metric is
/// computed of what either has then ([`exchange_p`](dsokr_decode::exchange_p)); for areas the ranks of scores among the
/// queries of a run are exchanged. Metrics are not corrected for multiple comparisons. Queries that any of the runs keeps together
/// are one group. Fewer than three groups of several queries have no intervals and no differences.
///
/// # Errors
/// [`dsokr_core::Error::Value`] for fewer than two runs, for runs whose queries differ, for queries that were ranked among
/// the candidates of two rules, and for ranks among other candidates;
/// [`dsokr_core::Error::TooFew`] for less than 40 resamples.
pub fn compare(runs: &[EvaluatedRun], resamples: usize, seed: u64) -> Result<RunComparison, Error> {
    let Some((first, others)) = runs.split_first().filter(|(_, others)| !others.is_empty()) else {
        let count = format!("{} runs", runs.len());
        return Err(Error::value("compare", count, "at least two runs"));
    };
    for other in others {
        check_compared("compare", first, other)?;
    }
    let drawn = DrawnRuns::draw(runs, resamples, seed)?;
    let mut metrics: Vec<MetricComparison> = Vec::new();
    for (at, &metric) in drawn.metrics.iter().enumerate() {
        let mut values = Vec::new();
        for (run, evaluated) in runs.iter().enumerate() {
            let Some(value) = drawn.value(run, at) else { continue };
            let ci95 = drawn.interval(run, at);
            let difference = if run == 0 { None } else { drawn.difference(run, at)? };
            values.push(RunValue { run: evaluated.name.clone(), value, ci95, difference });
        }
        metrics.extend(MetricComparison::from_runs(metric, values));
    }
    let queries = first.queries.len();
    let groups = (drawn.units.count() < queries).then_some(drawn.units.count());
    let compared = Compared::Queries { queries, groups, resamples };
    Ok(RunComparison { compared, metrics, caution: None })
}

/// Evaluations of several runs on the same queries, with all metrics on draws of these. Runs and metrics are known by their
/// places.
struct DrawnRuns<'r> {
    evaluations: Vec<Cow<'r, Evaluation>>,
    metrics: Vec<Metric>,
    /// What resamples say of each metric of each run; none where the run does not have it.
    summaries: Vec<Vec<Option<Summary>>>,
    /// For each draw the value of each metric of each run, NaN where the run does not have it.
    draws: Vec<Vec<f64>>,
    /// The queries, or their groups, that are independent of one another.
    units: IndependentQueries,
    /// The answers of each run but the first, exchanged with those of the first.
    exchanged: Vec<ExchangedAnswers>,
    resamples: usize,
    seed: u64,
}

impl<'r> DrawnRuns<'r> {
    /// Computes every metric of at least one run on draws of the queries, or of their groups.
    fn draw(runs: &'r [EvaluatedRun], resamples: usize, seed: u64) -> Result<Self, Error> {
        let evaluations = with_common_labels(runs)?;
        let metrics: Vec<Metric> = Metric::all().collect();
        let summaries: Vec<Vec<Option<Summary>>> = evaluations
            .iter()
            .map(|evaluation| {
                metrics.iter().map(|metric| metric.of_resamples(evaluation)).collect()
            })
            .collect();
        // the same queries, which not every run's configuration divides alike
        let groups = &connected_groups(runs.iter().map(|run| run.evaluation.groups.as_slice()));
        let queries = runs[0].queries.len();
        let draws = resampled(queries, groups, resamples, seed, |queries| {
            let queries: Vec<usize> = queries.collect();
            let value = |summary: &Option<Summary>| {
                summary.as_ref().map_or(f64::NAN, |summary| summary(&queries))
            };
            summaries.iter().flatten().map(value).collect::<Vec<f64>>()
        })?;
        let units = IndependentQueries::new(queries, groups)?;
        let first = &evaluations[0];
        let others = evaluations.iter().skip(1);
        let exchanged = others.map(|other| ExchangedAnswers::new(first, other)).collect();
        Ok(Self { evaluations, metrics, summaries, draws, units, exchanged, resamples, seed })
    }

    /// Returns a metric of a run; none where the run does not have it, or nothing is known of resamples.
    fn value(&self, run: usize, metric: usize) -> Option<f64> {
        self.summaries[run][metric].as_ref()?;
        self.metrics[metric].measured(&self.evaluations[run].scores)
    }

    /// Returns a metric of a run on each draw.
    fn values(&self, run: usize, metric: usize) -> Vec<f64> {
        let at = run * self.metrics.len() + metric;
        self.draws.iter().map(|values| values[at]).collect()
    }

    /// Returns the 95 % interval of a metric of a run; none where there is none.
    fn interval(&self, run: usize, metric: usize) -> Option<[f64; 2]> {
        if !self.units.have_intervals() {
            return None;
        }
        let value = self.value(run, metric)?;
        let evaluation = &self.evaluations[run];
        let drawn = self.values(run, metric);
        self.metrics[metric].interval(value, evaluation, self.units.count(), drawn)
    }

    /// Returns the difference of a metric of a run, which is not the first one, from that of the first one; none where one of the
    /// two does not have it, and where too little is known of resamples.
    fn difference(&self, run: usize, metric: usize) -> Result<Option<PairedDifference>, Error> {
        let Some((value, first)) = self.value(run, metric).zip(self.value(0, metric)) else {
            return Ok(None);
        };
        if !self.units.have_intervals() {
            return Ok(None);
        }
        let Some(p) = self.p(run, metric)? else { return Ok(None) };
        Ok(paired(value - first, [self.values(run, metric), self.values(0, metric)], p))
    }

    /// Returns the p-value of the hypothesis that a metric of a run does not differ from that of the first run; none where the metric
    /// was not measured on the answers of both. The run is not the first one.
    fn p(&self, run: usize, metric: usize) -> Result<Option<f64>, Error> {
        let both = [run, 0];
        let is_mean =
            both.into_iter().all(|run| self.metrics[metric].is_mean(&self.evaluations[run]));
        if let [Some(ours), Some(theirs)] = both.map(|run| self.summaries[run][metric].as_ref())
            && is_mean
        {
            let differences = differences([ours, theirs], &self.units);
            // a metric that is infinite for a query has no differences
            if finite(&differences) {
                return Ok(Some(sign_flip_p(&differences, self.resamples, self.seed)?));
            }
        }
        let exchanged = &self.exchanged[run - 1];
        exchanged.p(self.metrics[metric], &self.units, self.resamples, self.seed)
    }
}

/// Returns the differences of a mean of two runs on the queries of each unit, added.
fn differences([ours, theirs]: [&Summary; 2], units: &IndependentQueries) -> Vec<f64> {
    let of_query = |query: usize| ours(&[query]) - theirs(&[query]);
    match units {
        IndependentQueries::Alone(queries) => (0..*queries).map(of_query).collect(),
        IndependentQueries::Groups(groups) => {
            let of_group =
                |group: &Vec<usize>| group.iter().map(|&query| of_query(query)).sum::<f64>();
            groups.iter().map(of_group).collect()
        }
    }
}

/// Returns the evaluations of runs. Runs that know different labels would divide by different numbers of decisions, so that each
/// gets the labels of all of them.
fn with_common_labels<'r>(runs: &'r [EvaluatedRun]) -> Result<Vec<Cow<'r, Evaluation>>, Error> {
    let of_runs: Vec<HashSet<&str>> = runs.iter().map(|run| run.evaluation.labels()).collect();
    let all: HashSet<&str> = of_runs.iter().flatten().copied().collect();
    let mut evaluations = Vec::with_capacity(runs.len());
    for (run, own) in runs.iter().zip(&of_runs) {
        if own.is_empty() || own.len() == all.len() {
            evaluations.push(Cow::Borrowed(&run.evaluation));
            continue;
        }
        let mut evaluation = run.evaluation.clone();
        evaluation.facts.names = all.iter().map(|&label| label.to_owned()).collect();
        if let Some(outputs) = evaluation.outputs.take() {
            evaluation.compare(outputs)?;
        }
        evaluations.push(Cow::Owned(evaluation));
    }
    Ok(evaluations)
}

/// Returns the difference of a metric, whose values on the same draws are `ours` and `theirs`, with its p-value; none if a value
/// is infinite, and where too few draws have both.
fn paired(difference: f64, [ours, theirs]: [Vec<f64>; 2], p: f64) -> Option<PairedDifference> {
    let drawn = ours.into_iter().zip(theirs).map(|(ours, theirs)| ours - theirs).collect();
    let drawn = known_draws(drawn)?;
    let ci95 = finite(&drawn).then(|| percentile_interval(drawn))?;
    Some(PairedDifference { difference, ci95: Some(ci95), p, p_holm: p })
}

fn finite(values: &[f64]) -> bool {
    values.iter().all(|value| value.is_finite())
}

/// Corrects p-values for their number k by Holm's step-down method, and returns them in the order given (Holm 1979).
///
/// Sorted ascending, the i-th becomes `min(1, max_{j ≤ i} (k − j + 1) p_j)`. The probability of
/// rejecting any true hypothesis at level α is at most α, whatever their dependence.
///
/// ```
/// assert_eq!(dsokr::compare::holm(&[0.5, 0.25, 0.0625]), [0.5, 0.5, 0.1875]);
/// ```
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut corrected = vec![0.0; p.len()];
    let mut largest: f64 = 0.0;
    for (rank, &at) in order.iter().enumerate() {
        largest = largest.max((p.len() - rank) as f64 * p[at]).min(1.0);
        corrected[at] = largest;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use dsokr_data::{LabelSet, Truth};
    use dsokr_decode::{Metrics, Rank};

    use super::{Compared, EvaluatedRun, Evaluation, Format, compare};

    /// Returns the evaluation of a run whose right outputs are first or second, with the group of each query.
    fn answered(name: &str, right: &[bool], groups: &[usize]) -> Evaluation {
        let ranks: Vec<Option<Rank>> =
            right.iter().map(|&right| Rank::new(u64::from(!right), 1, 10).ok()).collect();
        let metrics = Metrics::from_ranks(&ranks, 10, 0).unwrap();
        let mut evaluation = Evaluation::new(metrics.into(), ranks);
        evaluation.groups = groups.iter().map(|group| format!("{name} {group}")).collect();
        evaluation
    }

    /// Returns the p-value of a metric of a run that is right from one that is wrong, with so many queries, four of each group
    /// or one.
    fn p_of(metric: &str, queries: usize, size: usize) -> Option<f64> {
        let names: Vec<String> = (0..queries).map(|query| query.to_string()).collect();
        let groups: Vec<usize> = (0..queries).map(|query| query / size).collect();
        let run = |name: &str, right: bool| EvaluatedRun {
            name: name.to_owned(),
            queries: &names,
            evaluation: answered(name, &vec![right; queries], &groups),
        };
        let compared = compare(&[run("a", false), run("b", true)], 200, 0).unwrap();
        let found = compared.metrics.iter().find(|found| found.metric == metric).unwrap();
        found.runs[1].difference.map(|paired| paired.p)
    }

    #[test]
    fn few_queries_are_no_proof() {
        for (queries, expected) in [(1, 1.0), (2, 0.5), (3, 0.25), (4, 0.125), (12, 1.0 / 2048.0)] {
            assert_eq!(p_of("hits@1", queries, 1), Some(expected), "{queries} queries");
        }
        assert_eq!(p_of("hits@1", 40, 1), Some(1.0 / 201.0), "signs are drawn");
        // any exchange but of two queries leaves medians that are as far apart
        assert_eq!(p_of("median_rank", 4, 1), Some(0.625), "no mean");
        // four queries of one text are one
        assert_eq!(p_of("hits@1", 12, 4), Some(0.25));
        assert_eq!(p_of("hits@1", 4, 4), None);
        assert_eq!(p_of("hits@1", 8, 4), None, "two groups");
    }

    /// The first run keeps no two queries together, the second pairs of them, and the third pairs of others.
    #[test]
    fn groups_of_all_runs_are_connected() {
        let names: Vec<String> = (0..16).map(|query| query.to_string()).collect();
        let run = |name: &str, right: bool, group_of: &dyn Fn(usize) -> usize| {
            let groups: Vec<usize> = (0..16).map(group_of).collect();
            let evaluation = answered(name, &[right; 16], &groups);
            EvaluatedRun { name: name.to_owned(), queries: &names, evaluation }
        };
        let alone = || run("alone", false, &|query| query);
        let pairs = || run("pairs", true, &|query| query / 2);
        let fours = || run("fours", true, &|query| query % 2 + query / 4 * 2);
        let p = |runs: &[EvaluatedRun]| {
            let compared = compare(runs, 200, 0).unwrap();
            let mut metrics = compared.metrics.iter();
            let hits = metrics.find(|metric| metric.metric == "hits@1").unwrap();
            let p = hits.runs[1].difference.map(|paired| paired.p);
            (compared.compared, p.unwrap())
        };
        let of_groups =
            |groups| Compared::Queries { queries: 16, groups: Some(groups), resamples: 200 };
        assert_eq!(p(&[alone(), pairs()]), (of_groups(8), 1.0 / 128.0));
        assert_eq!(p(&[pairs(), alone()]), (of_groups(8), 1.0 / 128.0));
        assert_eq!(p(&[alone(), pairs(), fours()]), (of_groups(4), 0.125));
        let text = compare(&[alone(), pairs()], 200, 0).unwrap().render(Format::Text).unwrap();
        assert!(
            text.starts_with("16 queries in 8 groups, 200 bootstrap resamples of groups"),
            "{text}"
        );
    }

    /// Four groups of each run connect to two, of which nothing is known.
    #[test]
    fn a_comparison_of_two_groups_says_that_they_are_too_few() {
        let names: Vec<String> = (0..8).map(|query| query.to_string()).collect();
        let run = |name: &str, groups: &[usize]| EvaluatedRun {
            name: name.to_owned(),
            queries: &names,
            evaluation: answered(name, &[true; 8], groups),
        };
        let pairs = run("pairs", &[0, 0, 1, 1, 2, 2, 3, 3]);
        let others = run("others", &[0, 1, 1, 0, 2, 3, 3, 2]);
        let compared = compare(&[pairs, others], 200, 0).unwrap();
        let of_two_groups = Compared::Queries { queries: 8, groups: Some(2), resamples: 200 };
        assert_eq!(compared.compared, of_two_groups);
        let mut values = compared.metrics.iter().flat_map(|metric| &metric.runs);
        assert!(values.all(|value| value.ci95.is_none() && value.difference.is_none()));
        let text = compared.render(Format::Text).unwrap();
        let says = "8 queries in 2 groups: fewer than 3 have no intervals and no differences.\n";
        assert!(text.starts_with(says) && !text.contains("p-values"), "{text}");
    }

    /// Each model names a wrong label and not the right one. Of four labels these are 2 of 4 decisions, whichever run knows all
    /// four.
    #[test]
    fn runs_that_know_different_labels_are_compared_by_the_labels_of_both() {
        let queries = ["q".to_owned(), "r".to_owned()];
        let run = |name: &str, known: &str| {
            let ranks = vec![Rank::new(0, 1, 10).ok(); 2];
            let metrics = Metrics::from_ranks(&ranks, 10, 0).unwrap();
            let mut evaluation = Evaluation::new(metrics.into(), ranks);
            evaluation.facts.names = known.split(' ').map(str::to_owned).collect();
            let sets = |label: &str| Truth::Labels(vec![LabelSet::from([label.to_owned()]); 2]);
            evaluation.compare((sets("a"), sets("b"))).unwrap();
            EvaluatedRun { name: name.to_owned(), queries: &queries, evaluation }
        };
        let runs = [run("two", "a b"), run("four", "a b c d")];
        let alone = runs.each_ref().map(|run| run.evaluation.scores.number("hamming_loss"));
        assert_eq!(alone, [Some(1.0), Some(0.5)]);
        let compared = compare(&runs, 40, 0).unwrap();
        let loss = compared.metrics.iter().find(|metric| metric.metric == "hamming_loss").unwrap();
        for run in &loss.runs {
            assert_eq!((run.value, run.ci95), (0.5, Some([0.5, 0.5])), "{}", run.run);
        }
        assert_eq!(loss.runs[1].difference.map(|paired| paired.difference), Some(0.0));
    }
}
