//! Kernel machines under Lipschitz losses.

use dsokr_basis::{Basis, Features, SketchOptions};
use dsokr_machines::{Machine, Offset, OutputMatrix, Prepared, Problem, Stop, Targets};
use tracing::info;

use super::solver::Answered;
use crate::config::RidgeConfig;
use crate::judge::Judge;
use crate::run::Answers;
use crate::{Error, Recipe};
use dsokr_data::SplitName;

/// What a machine is fitted to.
pub(super) struct Fitting<'a> {
    pub settings: &'a RidgeConfig,
    /// The training inputs.
    pub rows: &'a Features,
    pub targets: Targets,
    pub output: OutputMatrix,
    pub offset: Offset,
}

impl<'a> Fitting<'a> {
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
    pub(super) fn best<R: Recipe>(
        &self,
        judge: &Judge<R>,
        validation: &Features,
    ) -> Result<Answered, Error> {
        let Self { settings, rows, targets, output, offset } = self;
        let (Some(loss), Some(sketch)) = (&settings.loss, &settings.sketch) else {
            return Err(RidgeConfig::no_sketch());
        };
        let (kernel, seed) = (settings.kernel.clone(), judge.config().seed);
        let options = SketchOptions::new(&sketch.method, sketch.size).with_seed(seed);
        let inputs = Basis::fit(kernel, *rows, &options)?;
        let prepared = Prepared::new(inputs, *rows)?;
        let metric = judge.config().training.metric;
        let mut best: Option<(f64, Machine, Vec<f32>)> = None;
        for lambda in settings.every_lambda() {
            let (loss, output, offset) = (loss.clone(), output.clone(), *offset);
            let problem = Problem { loss, output, lambda, offset };
            let machine = prepared.fit(targets, &problem, &Stop::default())?;
            let z = machine.predict(validation)?;
            let scores = judge.evaluate(SplitName::Validation, &z)?.scores;
            let (score, value) = (metric.score(&scores), metric.value(&scores));
            info!(lambda, metric = %metric, value, "{}", machine.summary());
            if best.as_ref().is_none_or(|(least, ..)| score > *least) {
                best = Some((score, machine, z));
            }
        }
        match best {
            Some((_, machine, z)) => {
                Ok(Answered { model: Answers::Lipschitz(machine), z, corrected: None })
            }
            None => Err(RidgeConfig::no_lambda()),
        }
    }
}
