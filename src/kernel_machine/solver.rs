//! Closed forms on the rows of a training split.

use std::borrow::Cow;

use dsokr_basis::{Features, RowSource};
use dsokr_machines::{
    LeaveOut, OutputSpace, RidgeModel, RidgeProblem, Scaling, Spectrum, Targets, fit, fit_gram,
    fit_sketched,
};
use faer::Mat;
use tracing::info;

use super::inputs::gram_block;
use crate::Error;
use crate::config::{InputScaling, RidgeConfig};

/// The training rows and targets of a kernel machine.
pub(super) struct Solver<'a> {
    settings: &'a RidgeConfig,
    scaling: Option<Scaling>,
    /// Scaled.
    rows: Cow<'a, Features>,
    targets: &'a Targets,
    seed: u64,
}

impl<'a> Solver<'a> {
    pub(super) fn new(
        settings: &'a RidgeConfig,
        rows: &'a Features,
        targets: &'a Targets,
        seed: u64,
    ) -> Result<Self, Error> {
        let scaling = match settings.scaling {
            InputScaling::None => None,
            InputScaling::Deviation => Some(Scaling::fit(rows, false)?),
            InputScaling::Standard => Some(Scaling::fit(rows, true)?),
        };
        let rows = match &scaling {
            Some(scaling) => Cow::Owned(scaling.rows(rows)?),
            None => Cow::Borrowed(rows),
        };
        Ok(Self { settings, scaling, rows, targets, seed })
    }

    /// The rows as a Gram matrix, where that is what they are.
    fn gram(&self) -> Option<Mat<f64>> {
        self.settings.kernels.map(|_| gram_block(&self.rows, 0, self.rows.len()))
    }

    /// λ as it is given, or the one with the least leave-one-out error.
    pub(super) fn lambda(&self, space: &OutputSpace) -> Result<f64, Error> {
        let Self { settings, rows, targets, seed, .. } = self;
        let targets: &Targets = targets;
        if let Some(lambda) = settings.lambda {
            return Ok(lambda);
        }
        let (kernel, rows) = (&settings.kernel, rows.as_ref());
        let spectrum = match (&settings.sketch, self.gram()) {
            (_, Some(gram)) => Spectrum::of_gram(gram.as_ref(), targets)?,
            (None, None) => Spectrum::full(kernel, rows, targets)?,
            (Some(sketch), None) => {
                Spectrum::sketched(kernel.clone(), rows, targets, sketch, *seed)?
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
        let (kernel, rows) = (settings.kernel.clone(), rows.as_ref());
        let (model, held_out) = match &settings.sketch {
            None => {
                let precision = settings.precision;
                let fitted = match self.gram() {
                    Some(gram) => fit_gram(gram.as_ref(), targets, lambda, precision)?,
                    None => fit(kernel, rows, targets, lambda, precision)?,
                };
                let left_out = held_out.then(|| fitted.leave_one_out(targets)).transpose()?;
                (fitted.model, left_out)
            }
            Some(sketch) => {
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
