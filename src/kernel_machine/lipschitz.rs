//! Kernel machines under Lipschitz losses.

use dsokr_basis::{Basis, Features, RowSource, SketchOptions};
use dsokr_machines::{
    InputFeatures, KernelModel, LipschitzModel, Offset, OutputMatrix, OutputSpace, Stop, Targets,
};
use tracing::info;

use crate::Error;
use crate::config::RidgeConfig;
use crate::evaluator::Evaluator;
use dsokr_data::SplitName;

/// What a machine is fitted to.
pub(super) struct LipschitzProblem<'a> {
    settings: &'a RidgeConfig,
    /// The training inputs.
    rows: &'a Features,
    targets: Targets,
    output: OutputMatrix,
    offset: Offset,
}

impl<'a> LipschitzProblem<'a> {
    /// Points in the basis of a space, with the part of each output that lies outside of it.
    pub(super) fn points(
        settings: &'a RidgeConfig,
        rows: &'a Features,
        space: &OutputSpace,
        outputs: &dyn RowSource,
    ) -> Result<Self, Error> {
        let Some(basis) = space.as_basis() else { return Err(RidgeConfig::no_sketch()) };
        let targets = Targets::from_projection(&basis.project(outputs)?)?;
        let output = OutputMatrix::identity(space.rank())?;
        Ok(Self { settings, rows, targets, output, offset: Offset::Zero })
    }

    /// Quantiles of numbers.
    pub(super) fn quantiles(
        settings: &'a RidgeConfig,
        rows: &'a Features,
        levels: &[f64],
        observed: &[f32],
    ) -> Result<Self, Error> {
        let observed: Vec<f64> = observed.iter().copied().map(f64::from).collect();
        let targets = Targets::repeated(levels.len(), &observed)?;
        let output = OutputMatrix::quantiles(levels, settings.coupling())?;
        Ok(Self { settings, rows, targets, output, offset: Offset::Constant })
    }

    /// The machine with the λ that is best on the validation split.
    pub(super) fn best(
        &self,
        evaluator: &Evaluator,
        validation: &Features,
    ) -> Result<KernelModel, Error> {
        let Self { settings, rows, targets, output, offset } = self;
        let (Some(loss), Some(sketch)) = (&settings.loss, &settings.sketch) else {
            return Err(RidgeConfig::no_sketch());
        };
        let (kernel, seed) = (settings.kernel.clone(), evaluator.config().seed);
        let options = SketchOptions::new(&sketch.method, sketch.size).with_seed(seed);
        let inputs = Basis::fit(kernel, *rows, &options)?;
        let prepared = InputFeatures::new(inputs, *rows)?;
        let metric = evaluator.config().evaluation.metric;
        let mut best: Option<(f64, LipschitzModel)> = None;
        for lambda in settings.every_lambda() {
            let (loss, output, offset) = (loss.clone(), output.clone(), *offset);
            let problem = dsokr_machines::LipschitzProblem { loss, output, lambda, offset };
            let machine = prepared.fit(targets, &problem, &Stop::default())?;
            let z = machine.predict(validation)?;
            let scores = evaluator.evaluate(SplitName::Validation, &z)?.scores;
            let (score, value) = (metric.score(&scores), metric.value(&scores));
            info!(lambda, metric = %metric, value, "{}", machine.summary());
            if best.as_ref().is_none_or(|(least, ..)| score > *least) {
                best = Some((score, machine));
            }
        }
        match best {
            Some((_, machine)) => Ok(machine.into()),
            None => Err(RidgeConfig::no_lambda()),
        }
    }
}
