//! Evaluations of a training: of coordinates on the splits of its data set.

use std::sync::Arc;

use dsokr_basis::features::Selected;
use dsokr_core::Processes;
use dsokr_data::config::OutputFeatures;
use dsokr_data::{Outputs, Split, SplitName};
use dsokr_decode::{CandidateBlocks, CandidateParts, Candidates, PerQuery, Pool, Reranker};
use dsokr_train::Validation;

use crate::config::masses::CandidateMasses;
use crate::config::{Checked, Search};
use crate::decoding::beyond::{BeyondSearch, Restrictions};
use crate::decoding::decoder::Decoder;
use crate::decoding::evaluation::{
    Models, has_gold, lists_fingerprint, measured_on, report, shared_candidates,
};
use crate::error::{Error, ensure};
use crate::metrics::evaluation::Evaluation;
use crate::metrics::metric::Needs;
use crate::metrics::molecules::{EXAMPLES, drawing};
use crate::metrics::scores::Scores;
use crate::run_dir::{MeasuredOn, Report};
use crate::targets::{OutputSpace, Problem};

/// Per-query candidate lists of the evaluated splits, where the configuration names a file or a rule of them. Clones share them.
#[derive(Clone)]
pub(crate) struct SplitLists(Arc<[(SplitName, PerQuery)]>);

impl SplitLists {
    /// Makes the lists of a training run, of candidates in a space, and refuses what cannot be evaluated among them: it is
    /// reported before training.
    ///
    /// # Errors
    /// Lists that cannot be read; right outputs that are no candidates; outputs without an exact search.
    pub(crate) fn checked(
        problem: &Problem,
        space: &OutputSpace,
        candidates: &Candidates,
    ) -> Result<Self, Error> {
        let decoder = decoder(problem, space, candidates);
        if problem.config.decoding.search == Search::Exact {
            decoder.exact()?;
        }
        Self::from_decoder(problem, decoder)
    }

    /// Makes the lists of the candidates of a decoder.
    fn from_decoder(problem: &Problem, decoder: Decoder) -> Result<Self, Error> {
        let candidates = decoder.candidates;
        let mut lists = Vec::new();
        let settings = &problem.config.evaluation;
        let masses = CandidateMasses::default();
        let polarities = problem.polarities()?;
        let test = (settings.split == SplitName::Test).then_some(SplitName::Test);
        for name in [SplitName::Validation].into_iter().chain(test) {
            let Some(split) = problem.dataset.split(name) else { continue };
            let mut of_split = None;
            if let Some(rule) = &settings.candidates {
                let rule = rule.inside(&problem.root);
                of_split = rule.lists(split, candidates, &masses, polarities.assumed())?;
            }
            // a missing gold is reported before training, not after the first epoch
            let missing = Models::one(decoder, None).missing(split);
            let pool = of_split.as_ref().map_or(Pool::Shared, Pool::PerQuery);
            let has_gold = has_gold(split, candidates, pool, missing)?;
            let finite =
                matches!(settings.metric.needs(), Needs::FiniteRanks | Needs::FeatureSpace);
            let lacks = finite && name == SplitName::Validation && has_gold.contains(&false);
            let allowed = "mrr, hits or a metric of predicted outputs, since right outputs of validation queries are not candidates";
            ensure(!lacks, "evaluation.metric", format_args!("{:?}", settings.metric), allowed)?;
            lists.extend(of_split.map(|of_split| (name, of_split)));
        }
        Ok(Self(lists.into()))
    }

    /// Returns the candidates of the queries of a split.
    fn pool(&self, name: SplitName) -> Pool<'_> {
        let lists = self.0.iter().find(|(split, _)| *split == name);
        lists.map_or(Pool::Shared, |(_, lists)| Pool::PerQuery(lists))
    }

    /// Returns a number that tells the candidates of validation queries from others; none where they share all candidates.
    pub(crate) fn fingerprint_of_validation(&self, candidates: &Candidates) -> Option<u64> {
        match self.pool(SplitName::Validation) {
            Pool::PerQuery(lists) => Some(lists_fingerprint(lists, candidates)),
            Pool::Shared => None,
        }
    }
}

/// Evaluates predictions for the splits of a problem, and knows their chance level and perfect h.
#[derive(derive_more::Debug)]
#[debug("Evaluator({problem:?})")]
pub struct Evaluator<'a> {
    /// The problem.
    pub problem: &'a Problem,
    decoder: Decoder<'a>,
    /// The processes that rank the candidates together; in a fit each evaluation is the work of one.
    processes: Processes,
    lists: SplitLists,
}

impl<'a> Evaluator<'a> {
    /// Creates the evaluator of a training run, of candidates in a space.
    pub(crate) fn new(
        problem: &'a Problem,
        space: &'a OutputSpace,
        candidates: &'a Candidates,
    ) -> Result<Self, Error> {
        let lists = SplitLists::checked(problem, space, candidates)?;
        Ok(Self::with_lists(problem, space, candidates, lists))
    }

    /// Creates the evaluator of candidates whose lists have been made and checked.
    pub(crate) fn with_lists(
        problem: &'a Problem,
        space: &'a OutputSpace,
        candidates: &'a Candidates,
        lists: SplitLists,
    ) -> Self {
        let decoder = decoder(problem, space, candidates);
        Self { problem, decoder, processes: Processes::default(), lists }
    }

    /// Returns the fingerprints of what the report is measured on.
    pub(crate) fn measured_on(&self) -> Result<MeasuredOn, Error> {
        let config = self.config();
        let pool = self.pool(config.evaluation.split);
        let candidates = self.decoder.candidates;
        let shared = shared_candidates(candidates, config.output.label.as_deref());
        measured_on(self.reported(), pool, candidates, Some(shared))
    }

    /// Returns the evaluator for several processes, which rank the candidates together: all of them evaluate the same.
    pub(crate) fn shared_by(&self, processes: &Processes) -> Self {
        let Self { problem, decoder, .. } = *self;
        Self { problem, decoder, processes: processes.clone(), lists: self.lists.clone() }
    }

    /// Returns an evaluator of the same problem among candidates with different constants, or among more candidates, with a
    /// reranker.
    ///
    /// # Errors
    /// Lists of candidates that cannot be read again.
    pub(crate) fn among<'b>(
        &'b self,
        candidates: &'b Candidates,
        reranker: Option<&'b Reranker>,
    ) -> Result<Evaluator<'b>, Error> {
        let problem = self.problem;
        let decoder = Decoder { candidates, reranker, ..self.decoder };
        let lists = if candidates.len() == self.decoder.candidates.len() {
            self.lists.clone()
        } else {
            SplitLists::from_decoder(problem, decoder)?
        };
        Ok(Evaluator { problem, decoder, processes: self.processes.clone(), lists })
    }

    /// Returns the configuration.
    pub fn config(&self) -> &'a Checked {
        &self.problem.config
    }

    /// Returns the candidates that are ranked.
    pub fn candidates(&self) -> &'a Candidates {
        self.decoder.candidates
    }

    pub(crate) fn pool(&self, name: SplitName) -> Pool<'_> {
        self.lists.pool(name)
    }

    fn split(&self, name: SplitName) -> &Split {
        self.problem.dataset.split(name).unwrap_or(&self.problem.dataset.validation)
    }

    /// Evaluates coordinates `z` `[queries × p]` on a split.
    ///
    /// # Errors
    /// Coordinates that are not finite, or whose rows are not one for each query.
    pub fn evaluate(&self, name: SplitName, z: &[f32]) -> Result<Evaluation, Error> {
        self.evaluate_by(name, z, Models::one(self.decoder, None))
    }

    /// Evaluates coordinates on the validation split, to choose by its metrics. Outputs are compared by the kernel only where
    /// that is the metric that chooses.
    pub(crate) fn validation(&self, z: &[f32]) -> Result<Validation<Scores>, Error> {
        let compares = self.config().evaluation.compares();
        let fitted = self.decoder.fitted.filter(|_| compares);
        let held = self.decoder.held.filter(|_| compares);
        let decoder = Decoder { fitted, held, ..self.decoder };
        let metric = self.config().evaluation.metric;
        let label_scores = metric.needs_label_scores();
        let models = Models { label_scores, chance: false, ..Models::one(decoder, None) };
        let metrics = self.evaluate_by(SplitName::Validation, z, models)?.scores;
        let score = metric.score(&metrics);
        Ok(Validation { metrics, score, loss: None })
    }

    fn evaluate_by(&self, name: SplitName, z: &[f32], models: Models) -> Result<Evaluation, Error> {
        let z = self.config().decoding.scaled(z, models.decoder().candidates.dim())?;
        let restrictions = match (models.search, &self.config().evaluation.candidates) {
            (Some(_), Some(rule)) => {
                let polarity = self.problem.polarities()?.assumed();
                let rules = rule.molecules(self.split(name), polarity)?;
                Restrictions { rules, filter: None }
            }
            (Some(_), None) | (None, _) => Restrictions::default(),
        };
        let models = Models { processes: self.processes.clone(), restrictions, ..models };
        Ok(models.evaluate(self.split(name), &[z], self.pool(name))?.0)
    }

    /// Returns the scores of perfect h, which predicts ψ̃(y) itself, and of what a search finds for these predictions; a query
    /// without output has rank ∞. None if outputs are not sketched.
    pub(crate) fn perfect(
        &self,
        name: SplitName,
        search: Option<&BeyondSearch>,
    ) -> Result<Option<Scores>, Error> {
        let Some(space) = self.decoder.space else { return Ok(None) };
        let Some(origin) = space.origin() else { return Ok(None) };
        let split = self.split(name);
        let rows: Vec<usize> = split.outputs.iter().flatten().copied().collect();
        let outputs = Selected::new(self.problem.dataset.outputs.rows.as_ref(), &rows);
        let CandidateParts { dim, coordinates, .. } =
            space.place(&outputs, &Processes::default())?;
        let mut rows = coordinates.chunks_exact(dim);
        let mut z = vec![0.0; split.ids.len() * dim];
        for (z, output) in z.chunks_exact_mut(dim).zip(&split.outputs) {
            if let Some(row) = output.and_then(|_| rows.next()) {
                let from = row.iter().zip(&*origin);
                z.iter_mut().zip(from).for_each(|(z, (&at, from))| {
                    *z = (f64::from(at) + from) as f32;
                });
            }
        }
        let models = Models { chance: false, ..Models::one(self.decoder, search) };
        Ok(Some(self.evaluate_by(name, &z, models)?.scores))
    }

    /// Returns the report on the coordinates of the evaluated split, with what a search finds, and drawings of the first queries
    /// if outputs are molecules or graphs.
    pub(crate) fn report(
        &self,
        z: &[f32],
        search: Option<&BeyondSearch>,
    ) -> Result<(Report, Option<String>), Error> {
        let name = self.config().evaluation.split;
        let models = Models::one(self.decoder, search);
        let evaluation = self.evaluate_by(name, z, models)?;
        evaluation.warn_of_few_groups();
        let inputs = &self.reported().inputs;
        let drawn = match &evaluation.outputs {
            Some((truth, predicted)) => drawing(inputs, truth, predicted, EXAMPLES)?,
            None => None,
        };
        let report = report(name, evaluation, self.config().seed)?;
        let perfect_h = self.perfect(name, search)?;
        let skipped_rows = self.problem.dataset.skipped.clone();
        let caution = self.config().caution_about(name);
        Ok((Report { perfect_h, caution, skipped_rows, ..report }, drawn))
    }

    /// Returns the predicted and the true output of each query of the report, as they are shown: the label, else the id.
    /// Label sets are in one order.
    pub(crate) fn predictions(&self, z: &[f32]) -> Result<Vec<(String, String)>, Error> {
        let split = self.reported();
        let candidates = self.decoder.candidates;
        let pool = self.pool(self.config().evaluation.split);
        let z = [self.config().decoding.scaled(z, candidates.dim())?];
        let models = Models::one(self.decoder, None);
        let ensemble = models.ensemble(split, &z)?;
        let outputs = &self.problem.dataset.outputs;
        let labelled = outputs.labels.iter().any(|label| !label.is_empty());
        let shown = |label: &str, id: &str| match (&self.config().output.features, labelled) {
            (_, false) => id.to_owned(),
            (OutputFeatures::Labels(features), true) => {
                let mut labels = features.set(label);
                labels.sort_unstable();
                features.cell(&labels)
            }
            (_, true) => label.to_owned(),
        };
        let queries = &ensemble.members()[0].queries;
        let best = self.decoder.best_outputs(ensemble.processes(), queries, pool)?;
        let predicted: Vec<String> = match best {
            Some(best) => best.iter().map(|output| shown(&output.label, &output.label)).collect(),
            None => {
                let hits = ensemble.top_k(pool, &models.rule, 1)?.into_iter().flatten();
                let first = hits.map(|hit| hit.candidate);
                first.map(|at| shown(candidates.label(at), candidates.id(at))).collect()
            }
        };
        let truth = split.ids.iter().zip(&split.outputs).map(|(id, output)| {
            let label = output.map_or("", |output| outputs.labels[output].as_str());
            shown(label, id)
        });
        Ok(predicted.into_iter().zip(truth).collect())
    }

    /// Returns the pairs of the report.
    pub(crate) fn reported(&self) -> &Split {
        self.split(self.config().evaluation.split)
    }
}

/// Returns the decoder of a training run, of candidates in a space.
fn decoder<'a>(
    problem: &'a Problem,
    space: &'a OutputSpace,
    candidates: &'a Candidates,
) -> Decoder<'a> {
    let config: &Checked = &problem.config;
    let outputs: &Outputs = &problem.dataset.outputs;
    let fitted = config.output.compares_molecules().then_some(&outputs.features);
    let held = (fitted.is_some() || config.evaluation.compares()).then_some(outputs);
    Decoder {
        candidates,
        reranker: None,
        space: Some(space),
        config,
        labels: outputs.features.terms(),
        scaling: problem.scaling.as_ref(),
        constants: problem.constants.as_ref(),
        fitted,
        held,
    }
}
