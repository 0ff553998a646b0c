//! Closed forms on the rows of a training split.

use std::borrow::Cow;

use dsokr_machines::{
    LeaveOut, OutputSpace, RidgeModel, RidgeProblem, Scaling, Spectrum, Targets, fit, fit_gram,
    fit_sketched,
};
use tracing::info;

use super::inputs::MachineRows;
use crate::Error;
use crate::config::{InputScaling, RidgeConfig};

/// The training rows and targets of a kernel machine.
pub(super) struct Solver<'a> {
    settings: &'a RidgeConfig,
    scaling: Option<Scaling>,
    /// Scaled.
    rows: Cow<'a, MachineRows<'a>>,
    targets: &'a Targets,
    seed: u64,
}

impl<'a> Solver<'a> {
    pub(super) fn new(
        settings: &'a RidgeConfig,
        rows: &'a MachineRows<'a>,
        targets: &'a Targets,
        seed: u64,
    ) -> Result<Self, Error> {
        let scaling = match settings.scaling {
            InputScaling::None => None,
            InputScaling::Deviation => Some(Scaling::fit(rows.features()?, false)?),
            InputScaling::Standard => Some(Scaling::fit(rows.features()?, true)?),
        };
        let rows = match &scaling {
            Some(scaling) => {
                let scaled = scaling.rows(rows.features()?)?;
                Cow::Owned(MachineRows::Features(Cow::Owned(scaled)))
            }
            None => Cow::Borrowed(rows),
        };
        Ok(Self { settings, scaling, rows, targets, seed })
    }

    /// λ as it is given, or the one with the least leave-one-out error.
    pub(super) fn lambda(&self, space: &OutputSpace) -> Result<f64, Error> {
        let Self { settings, rows, targets, seed, .. } = self;
        let targets: &Targets = targets;
        if let Some(lambda) = settings.lambda {
            return Ok(lambda);
        }
        let kernel = &settings.kernel;
        let spectrum = match (&settings.sketch, rows.as_ref()) {
            (_, MachineRows::Gram(gram)) => Spectrum::of_gram(gram.as_ref(), targets)?,
            (None, MachineRows::Features(rows)) => Spectrum::full(kernel, rows.as_ref(), targets)?,
            (Some(sketch), MachineRows::Features(rows)) => {
                Spectrum::sketched(kernel.clone(), rows.as_ref(), targets, sketch, *seed)?
            }
        };
        let errors = spectrum.errors(&settings.lambdas, &LeaveOut::One, space)?;
        let mut best = (f64::INFINITY, f64::NAN);
        for (&lambda, error) in settings.lambdas.iter().zip(errors) {
            info!(lambda, error, "leave-one-out");
            if error < best.0 {
                best = (error, lambda);
            }
        }
        Ok(best.1)
    }

    /// The model; and if asked for, its answers to each training row had it been fitted on the others.
    pub(super) fn solve(
        &self,
        lambda: f64,
        held_out: bool,
    ) -> Result<(RidgeModel, Option<Vec<f32>>), Error> {
        let Self { settings, rows, targets, seed, .. } = self;
        let targets: &Targets = targets;
        let kernel = settings.kernel.clone();
        let (model, held_out) = match &settings.sketch {
            None => {
                let precision = settings.precision;
                let fitted = match rows.as_ref() {
                    MachineRows::Gram(gram) => fit_gram(gram.as_ref(), targets, lambda, precision)?,
                    MachineRows::Features(rows) => {
                        fit(kernel, rows.as_ref(), targets, lambda, precision)?
                    }
                };
                let left_out = held_out.then(|| fitted.leave_one_out(targets)).transpose()?;
                (fitted.model, left_out)
            }
            Some(sketch) => {
                let rows = rows.features()?;
                let problem = RidgeProblem { kernel, rows, targets, lambda, seed: *seed };
                let fitted = fit_sketched(problem, sketch)?;
                let left_out = held_out.then(|| fitted.leave_one_out(rows, targets)).transpose()?;
                (fitted.model, left_out)
            }
        };
        let model = match &self.scaling {
            Some(scaling) => model.with_scaling(scaling.clone())?,
            None => model,
        };
        Ok((model, held_out))
    }
}
