//! Reduced rank regression and output embedding learning on top of a kernel machine.

use dsokr_machines::{OutputEmbedding, RidgeModel};
use tracing::info;

use super::inputs::MachineRows;
use super::solver::LambdaSearch;
use crate::Error;
use crate::config::EmbeddingConfig;
use crate::run_dir::{EmbeddingCurve, EmbeddingPoint};
use dsokr_data::SplitName;

/// The data from which embeddings are learned, and the evaluator that chooses one.
pub(super) struct EmbeddingSearch<'a> {
    pub settings: &'a EmbeddingConfig,
    pub solver: &'a LambdaSearch<'a>,
    /// The training inputs.
    pub training: &'a MachineRows<'a>,
    /// Coordinates of outputs without pairs.
    pub unlabelled: &'a [f32],
}

impl EmbeddingSearch<'_> {
    /// The best model of those of several λ, each embedded in every way, and the curve.
    pub(super) fn best(&self, lambdas: &[f64]) -> Result<(RidgeModel, EmbeddingCurve), Error> {
        let metric = self.solver.evaluator.config().evaluation.metric;
        let mut points = Vec::new();
        let mut best: Option<(f64, EmbeddingPoint, RidgeModel, OutputEmbedding)> = None;
        for &lambda in lambdas {
            let model = self.solver.fit_ridge(lambda)?;
            let width = model.width();
            let training = self.training.predictions(&model)?;
            let validation = self.solver.validation.predictions(&model)?;
            for &supervised in &self.settings.supervised {
                let unlabelled = if supervised < 1.0 { self.unlabelled } else { &[] };
                let whole =
                    OutputEmbedding::learn(width, &training, unlabelled, supervised, width)?;
                for rank in self.settings.ranks_in(width)? {
                    let embedding = whole.truncate(rank)?;
                    let z = embedding.restore(&embedding.project(&validation)?)?;
                    let scores = self.solver.evaluator.evaluate(SplitName::Validation, &z)?.scores;
                    let value = metric.value(&scores);
                    info!(lambda, supervised, rank, metric = %metric, value, "embedding");
                    let point = EmbeddingPoint { lambda, supervised, rank, value };
                    points.push(point);
                    let score = metric.score(&scores);
                    if best.as_ref().is_none_or(|(least, ..)| score > *least) {
                        best = Some((score, point, model.clone(), embedding));
                    }
                }
            }
        }
        let (metric, larger_is_better) = (metric.to_string(), metric.larger_is_better());
        match best {
            Some((_, chosen, model, embedding)) => {
                let model = model.mapped(embedding.projector().as_ref())?;
                Ok((model, EmbeddingCurve { metric, larger_is_better, points, chosen }))
            }
            None => Err(Error::value("encoder.lambda", "[]", "at least one number above 0")),
        }
    }
}
