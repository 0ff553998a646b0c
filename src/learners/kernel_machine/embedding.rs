//! Learned embeddings of the outputs: the targets of a machine in a space that the validation split chooses.

use std::sync::Arc;

use dsokr_machines::{KernelModel, OutputEmbedding, OutputSpace as MachineSpace, Targets};
use tracing::info;

use super::lambda::{LambdaSearch, no_lambda};
use super::prepared::PreparedMachine;
use super::rows::MachineRows;
use super::scaling::scaled_inputs;
use crate::config::{EmbeddingConfig, Lambda};
use crate::decoding::evaluator::Evaluator;
use crate::error::Error;
use crate::learners::choice::{Best, Choice};
use crate::learners::learner::Fitted;
use crate::run_dir::{EmbeddingCurve, EmbeddingPoint, OUTPUTS};
use crate::targets::{OutputSpace, OutputTargets, Problem, TargetValues};

impl PreparedMachine<'_> {
    /// Returns the targets in the space of a learned embedding: the one that a resumed run has chosen, or the best on the
    /// validation split of those that the settings name.
    pub(super) fn embedded(
        &mut self,
        embedding: &EmbeddingConfig,
        problem: &Problem,
        space: MachineSpace,
        values: Targets,
    ) -> Result<OutputTargets, Error> {
        if let Some(run) = &problem.saved
            && let Some(curve) = EmbeddingCurve::read(run.path())?
            && let Some(file) = KernelModel::open(run.path())?
        {
            let outputs = run.path().join(OUTPUTS);
            let space = MachineSpace::load(&outputs, space.as_basis().cloned())?;
            self.embedded = Some((Arc::new(self.inputs.model(&file)?), curve));
            return Ok(OutputTargets::in_machine_space(space, values));
        }
        problem.budget.afford(&[self.machine_need(space.dimension())])?;
        embedding.ranks_in(space.dimension())?;
        let unlabelled = match space.as_basis() {
            Some(basis) if embedding.is_mixed() => {
                basis.project_shared(&problem.ranks, &problem.unlabelled()?)?.into_coordinates()
            }
            Some(_) | None => Vec::new(),
        };
        let whole = OutputTargets::in_machine_space(space, values);
        let (OutputSpace::Machine(space), TargetValues::Points(values)) =
            (&whole.space, &whole.values)
        else {
            return Err(whole.unexpected());
        };
        let candidates = whole.space.candidates(&problem.dataset.outputs, &problem.ranks)?;
        let candidates = candidates.joined(&problem.ranks)?;
        let evaluator = Evaluator::new(problem, &whole.space, &candidates)?;
        let evaluator = evaluator.shared_by(&problem.ranks);
        let inputs = self.rows.training();
        let n = self.rows.len();
        let seed = problem.config.seed;
        let scaled = &self.settings.scale(&inputs, values, n, seed, &problem.ranks)?;
        let inputs = scaled_inputs(inputs, scaled);
        let search = EmbeddingSearch {
            machines: self.search(&inputs, scaled, values, &evaluator, None)?,
            settings: embedding,
            training: &self.rows,
            unlabelled: &unlabelled,
        };
        let BestEmbedding { model, embedding, curve } = search.best()?;
        let (space, values) = space.embedded(&embedding, values)?;
        self.embedded = Some((Arc::new(model), curve));
        Ok(OutputTargets::in_machine_space(space, values))
    }

    /// Returns the model of a chosen embedding.
    pub(super) fn fitted_embedding(
        &self,
        model: Arc<KernelModel>,
        curve: EmbeddingCurve,
        targets: &OutputTargets,
    ) -> Fitted {
        let chosen = curve.chosen;
        let most = curve.points.iter().map(|point| point.rank).max();
        let tried: Vec<f64> = curve.points.iter().map(|point| point.rank as f64).collect();
        let rank = Choice::new("encoder.predictions.ranks", chosen.rank as f64, &tried);
        let bounds = [1.0, most.unwrap_or_default() as f64];
        let mut choices = vec![Choice { bounds, ..rank }];
        choices.push(Choice::new("encoder.lambda", chosen.lambda, self.settings.lambda.values()));
        let first = self.settings.embedding().and_then(|embedding| embedding.lambda.as_ref());
        if let Some(tried) = first
            && let Some(lambda) = chosen.embedding_lambda
        {
            choices.push(Choice::new("encoder.predictions.lambda", lambda, tried.values()));
        }
        Fitted { choices, ..self.fitted(model, Some(curve), targets) }
    }
}

/// A search for the λ and the embedding of outputs that are best on the validation split.
struct EmbeddingSearch<'a> {
    /// The machines of each λ.
    machines: LambdaSearch<'a>,
    settings: &'a EmbeddingConfig,
    /// The training inputs: embeddings are learned from the predictions for them.
    training: &'a MachineRows<'a>,
    /// The coordinates of outputs without pairs.
    unlabelled: &'a [f32],
}

/// An embedding of the predictions of a machine, of as many coordinates as they have.
struct LearnedEmbedding {
    /// The λ of that machine, where embeddings have a λ of their own (`encoder.predictions.lambda`).
    lambda: Option<f64>,
    /// The weight c of the outputs with a pair.
    supervised: f64,
    embedding: OutputEmbedding,
}

/// The best embedding, with the model that predicts in it.
struct BestEmbedding {
    model: KernelModel,
    embedding: OutputEmbedding,
    curve: EmbeddingCurve,
}

impl EmbeddingSearch<'_> {
    /// Returns the best of the models of each λ, each embedded in every way, and the curve of all.
    fn best(&self) -> Result<BestEmbedding, Error> {
        let metric = self.machines.evaluator.config().evaluation.metric;
        let with_own_lambda = self.with_own_lambda()?;
        let mut points = Vec::new();
        let mut best = Best::new();
        let mut failed = None;
        for &lambda in self.machines.settings.lambda.values() {
            let model = match self.machines.fit_one_of_several(lambda)? {
                Ok(model) => model,
                Err(error) => {
                    failed.get_or_insert(error);
                    continue;
                }
            };
            let ranks = self.machines.ranks;
            let validation = self.machines.validation.shared_predictions(&model, ranks)?;
            let of_model =
                if with_own_lambda.is_empty() { self.learned(&model, None)? } else { Vec::new() };
            for learned in with_own_lambda.iter().chain(&of_model) {
                let LearnedEmbedding { lambda: embedding_lambda, supervised, .. } = *learned;
                for rank in self.settings.ranks_in(model.width())? {
                    let embedding = learned.embedding.truncate(rank)?;
                    let z = embedding.restore(&embedding.project(&validation)?)?;
                    let (score, value) = self.machines.score(&z)?;
                    info!(lambda, embedding_lambda, supervised, rank, metric = %metric, value, "embedding");
                    let point =
                        EmbeddingPoint { lambda, embedding_lambda, supervised, rank, value };
                    points.push(point);
                    best.offer(score, || (point, model.clone(), embedding));
                }
            }
        }
        let tie = best.tie("embeddings", metric);
        let Some((chosen, model, embedding)) = best.value() else {
            return Err(failed.unwrap_or_else(no_lambda));
        };
        if let Some(line) = tie {
            info!("{line}");
        }
        let larger_is_better = metric.larger_is_better();
        let metric = metric.to_string();
        let curve = EmbeddingCurve { metric, larger_is_better, points, chosen };
        let model = model.mapped(embedding.directions().transpose())?;
        Ok(BestEmbedding { model, embedding, curve })
    }

    /// Returns the embeddings of the machines with a λ of the embedding's own; none where the configuration names no such λ.
    fn with_own_lambda(&self) -> Result<Vec<LearnedEmbedding>, Error> {
        let mut embeddings = Vec::new();
        for &lambda in self.settings.lambda.as_ref().map_or(&[][..], Lambda::values) {
            let (model, _) = self.machines.fit(lambda, false)?;
            embeddings.extend(self.learned(&model, Some(lambda))?);
        }
        Ok(embeddings)
    }

    /// Returns an embedding for every c, from the predictions of a model.
    fn learned(
        &self,
        model: &KernelModel,
        lambda: Option<f64>,
    ) -> Result<Vec<LearnedEmbedding>, Error> {
        let predictions = self.training.predictions(model)?;
        let width = model.width();
        let weights = self.machines.targets.weights();
        let mut embeddings = Vec::new();
        for &supervised in &self.settings.supervised {
            let unlabelled = if supervised < 1.0 { self.unlabelled } else { &[] };
            let embedding = OutputEmbedding::learn_weighted(
                width,
                &predictions,
                weights,
                unlabelled,
                supervised,
                width,
            )?;
            embeddings.push(LearnedEmbedding { lambda, supervised, embedding });
        }
        Ok(embeddings)
    }
}
