//! The answers of two runs, exchanged query by query: a test of metrics that are no means over queries.

use dsokr_data::Truth;
use dsokr_decode::{IndependentQueries, exchange_p};

use crate::error::Error;
use crate::metrics::areas::ScoredLabels;
use crate::metrics::evaluation::Evaluation;
use crate::metrics::metric::Metric;

/// The answers of two runs to the same queries.
pub(crate) struct ExchangedAnswers {
    /// Two evaluations of twice as many queries, the answers of the other run behind those of the first: one with what the first
    /// run knows of outputs, such as their means, one with what the other run knows.
    both: [Evaluation; 2],
    /// Number of the queries.
    queries: usize,
}

impl ExchangedAnswers {
    /// Puts the answers of another run behind those of the first; both are evaluations of the same queries.
    pub fn new(first: &Evaluation, other: &Evaluation) -> Self {
        let ranks = [first.ranks.as_slice(), &other.ranks].concat();
        let outputs = first.outputs.as_ref().zip(other.outputs.as_ref());
        let outputs = outputs.and_then(|((truth, predicted), (other_truth, other_predicted))| {
            Some((joined(truth, other_truth)?, joined(predicted, other_predicted)?))
        });
        let scored = first.scored.as_ref().zip(other.scored.as_ref());
        let scored = scored.and_then(|(first, other)| ScoredLabels::joined(first, other));
        let both = [first, other].map(|run| Evaluation {
            outputs: outputs.clone(),
            scored: scored.clone(),
            facts: run.facts.clone(),
            ..Evaluation::new(run.scores.clone(), ranks.clone())
        });
        Self { both, queries: first.ranks.len() }
    }

    /// Returns the p-value of the hypothesis that the answers to the queries of each unit may be exchanged, by [`exchange_p`];
    /// none where the metric was not measured on the answers of both runs.
    ///
    /// # Errors
    /// No draws.
    pub fn p(
        &self,
        metric: Metric,
        units: &IndependentQueries,
        draws: usize,
        seed: u64,
    ) -> Result<Option<f64>, Error> {
        let [by_first, by_other] = &self.both;
        let Some(metric_of_first) = metric.of_queries(by_first) else { return Ok(None) };
        let Some(metric_of_other) = metric.of_queries(by_other) else { return Ok(None) };
        let mut units = match units {
            IndependentQueries::Alone(queries) => (0..*queries).map(|query| vec![query]).collect(),
            IndependentQueries::Groups(groups) => groups.clone(),
        };
        // an exchange of equal answers changes nothing
        let differs =
            |&query: &usize| !metric.has_equal_answers(by_first, query, self.queries + query);
        units.retain(|unit| unit.iter().any(differs));
        let p = exchange_p(units.len(), draws, seed, |exchanged| {
            let mut of_first: Vec<usize> = (0..self.queries).collect();
            let mut of_other: Vec<usize> = (self.queries..2 * self.queries).collect();
            for (unit, _) in units.iter().zip(exchanged).filter(|&(_, &exchanged)| exchanged) {
                for &query in unit {
                    std::mem::swap(&mut of_first[query], &mut of_other[query]);
                }
            }
            [metric_of_first(&of_first), metric_of_other(&of_other)]
        })?;
        Ok(Some(p))
    }
}

/// Returns outputs of two runs behind each other; none of two kinds, and of kinds that all metrics are means of.
fn joined(first: &Truth, other: &Truth) -> Option<Truth> {
    match first {
        Truth::Labels(first) => {
            let Truth::Labels(other) = other else { return None };
            Some(Truth::Labels([first.as_slice(), other].concat()))
        }
        Truth::Classes(first) => {
            let Truth::Classes(other) = other else { return None };
            Some(Truth::Classes([first.as_slice(), other].concat()))
        }
        Truth::Numbers(first) => {
            let Truth::Numbers(other) = other else { return None };
            Some(Truth::Numbers([first.as_slice(), other].concat()))
        }
        Truth::Molecules(_) | Truth::Graphs(_) | Truth::Rankings(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use dsokr_core::random::{below, generator};
    use dsokr_data::Truth;
    use dsokr_decode::{IndependentQueries, Metrics, Rank};

    use super::ExchangedAnswers;
    use crate::metrics::areas::ScoredLabels;
    use crate::metrics::evaluation::Evaluation;
    use crate::metrics::metric::Metric;

    fn evaluation(queries: usize) -> Evaluation {
        let ranks = vec![Rank::new(0, 1, 10).ok(); queries];
        let metrics = Metrics::from_ranks(&ranks, 10, 0).unwrap();
        Evaluation::new(metrics.into(), ranks)
    }

    fn p(name: &str, first: &Evaluation, other: &Evaluation) -> f64 {
        let units = IndependentQueries::Alone(first.ranks.len());
        let metric = Metric::find(name).unwrap();
        ExchangedAnswers::new(first, other).p(metric, &units, 400, 0).unwrap().unwrap()
    }

    /// Errors of two models that are equally good, some of them large. The bootstrap of differences had 9 % where n is 20.
    #[test]
    fn equal_models_differ_in_5_percent_of_all_cases() {
        const CASES: u64 = 400;
        for (name, queries) in [("rmse", 10), ("r2", 10), ("rmse", 20)] {
            let is_small = |case: &u64| {
                let mut random = generator(*case, "errors", queries as u64);
                let mut number = || {
                    let uniform = (below(&mut random, 1 << 20) as f64 + 0.5) / f64::from(1 << 20);
                    (uniform / (1.0 - uniform)).ln().powi(3)
                };
                let truth: Vec<Vec<f64>> = (0..queries).map(|_| vec![number()]).collect();
                let mut run = || {
                    let mut run = evaluation(queries);
                    let predicted = truth.iter().map(|row| vec![row[0] + number()]).collect();
                    run.compare((Truth::Numbers(truth.clone()), Truth::Numbers(predicted)))
                        .unwrap();
                    run
                };
                let [first, other] = [run(), run()];
                p(name, &first, &other) <= 0.05
            };
            let share = (0..CASES).filter(is_small).count() as f64 / CASES as f64;
            assert!((0.02..0.08).contains(&share), "{name} of {queries}: {share}");
        }
    }

    /// Two queries of twenty differ, each of which may be exchanged.
    #[test]
    fn classes_that_both_runs_predict_are_not_exchanged() {
        let run = |wrong: &[usize]| {
            let mut run = evaluation(20);
            let class = |is_rare: bool| if is_rare { "rare" } else { "common" }.to_owned();
            let truth = (0..20).map(|query| class(query < 4)).collect();
            let predicted = (0..20).map(|query| class((query < 4) != wrong.contains(&query)));
            run.compare((Truth::Classes(truth), Truth::Classes(predicted.collect()))).unwrap();
            run
        };
        assert_eq!(p("macro_f1", &run(&[]), &run(&[1, 2])), 0.5);
        assert_eq!(p("macro_f1", &run(&[1, 2]), &run(&[1, 2])), 1.0);
    }

    #[test]
    fn areas_of_runs_on_two_scales_are_compared_by_ranks() {
        let run = |noise: u32, scale: f64| {
            let mut run = evaluation(60);
            let is_positive = |query: u32| query.is_multiple_of(4);
            let labels = |query: u32| if is_positive(query) { vec!["yes"] } else { Vec::new() };
            let truth: Vec<Vec<&str>> = (0..60).map(labels).collect();
            let score = |query: u32| {
                let part = f64::from(query * noise % 59) / 59.0;
                let lead = if is_positive(query) { 0.5 } else { 0.0 };
                vec![("yes", scale * (part + lead))]
            };
            run.add_areas(ScoredLabels::new(&truth, (0..60).map(score), None));
            run
        };
        for name in ["roc_auc", "pr_auc"] {
            let expected = p(name, &run(7, 1.0), &run(23, 1.0));
            assert_eq!(p(name, &run(7, 1.0), &run(23, 100.0)), expected, "{name}");
            assert_eq!(p(name, &run(7, 1.0), &run(7, 100.0)), 1.0, "{name}");
        }
    }

    /// Scores of labels that a model does not know are missing, so that they are the lowest of both models.
    #[test]
    fn areas_of_two_models_stay_the_same_behind_each_other() {
        let truth: Vec<Vec<&str>> = (0..30).map(|query| vec![["a", "b", "c"][query % 3]]).collect();
        let run = |step: usize| {
            let scores = |query: usize| {
                let score = |label: &&str| ((query * step + label.len()) % 7) as f64;
                let scored = ["a", "b", "c"].into_iter().skip(query * step % 4);
                scored.map(|label| (label, score(&label))).collect::<Vec<_>>()
            };
            ScoredLabels::new(&truth, (0..30).map(scores), None)
        };
        let [first, other] = [run(5), run(11)];
        let both = first.joined(&other).unwrap();
        let all: Vec<usize> = (0..30).collect();
        let behind: Vec<usize> = (30..60).collect();
        assert_ne!(first.roc_auc(&all), other.roc_auc(&all));
        assert_eq!(both.roc_auc(&all), first.roc_auc(&all));
        assert_eq!(both.roc_auc(&behind), other.roc_auc(&all));
        assert_eq!(both.pr_auc(&all), first.pr_auc(&all));
        assert_eq!(both.pr_auc(&behind), other.pr_auc(&all));
        let only = |label| ScoredLabels::new(&truth, vec![vec![(label, 1.0)]; 30], Some(label));
        assert!(only("a").joined(&only("b")).is_none());
    }
}
