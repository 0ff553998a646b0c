//! Learned embeddings of the outputs: the targets of a machine in a space that the validation split chooses.

use std::sync::Arc;

use dsokr_machines::{KernelModel, OutputSpace, Targets};

use super::PreparedMachine;
use super::solver::scaled_inputs;
use crate::config::EmbeddingConfig;
use crate::decoding::evaluator::Evaluator;
use crate::error::Error;
use crate::learners::choice::Choice;
use crate::learners::learner::Fitted;
use crate::run_dir::{EmbeddingCurve, OUTPUTS};
use crate::targets::{OutputSpace as TargetSpace, OutputTargets, Problem, TargetValues};

impl PreparedMachine<'_> {
    /// Returns the targets in the space of a learned embedding: the one that a resumed run has chosen, or the best on the
    /// validation split of those that the settings name.
    pub(super) fn embedded(
        &mut self,
        embedding: &EmbeddingConfig,
        problem: &Problem,
        (space, values): (OutputSpace, Targets),
    ) -> Result<OutputTargets, Error> {
        if let Some(run) = &problem.saved
            && let Some(curve) = EmbeddingCurve::read(run.path())?
            && let Some(file) = KernelModel::open(run.path())?
        {
            let outputs = run.path().join(OUTPUTS);
            let space = OutputSpace::load(&outputs, space.as_basis().cloned())?;
            self.embedded = Some((Arc::new(self.inputs.model(&file)?), curve));
            return Ok(OutputTargets::points((space, values)));
        }
        problem.budget.afford(&[self.machine_need(space.dimension())])?;
        embedding.ranks_in(space.dimension())?;
        let unlabelled = match space.as_basis() {
            Some(basis) if embedding.is_mixed() => {
                basis.project_shared(&problem.ranks, &problem.unlabelled()?)?.into_coordinates()
            }
            Some(_) | None => Vec::new(),
        };
        let whole = OutputTargets::points((space, values));
        let (TargetSpace::Machine(space), TargetValues::Points(values)) =
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
        let search = self.search(&inputs, scaled, values, &evaluator, None)?;
        let (model, embedding, curve) =
            search.best_embedding(embedding, &self.rows, &unlabelled)?;
        let embedded = OutputTargets::points(space.embedded(&embedding, values)?);
        self.embedded = Some((Arc::new(model), curve));
        Ok(embedded)
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
