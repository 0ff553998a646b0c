//! Closed forms on the rows of a training split.

use std::borrow::Cow;

use dsokr_basis::{Features, RowSource};
use dsokr_decode::Candidates;
use dsokr_machines::ridge::{
    LeaveOut, Model, OutputSpace, Points, Scaling, Spectrum, Targets, fit, fit_gram, fit_sketched,
};
use dsokr_machines::{Offset, OutputMatrix};
use faer::Mat;
use tracing::info;

use super::candidates_at;
use super::hubs::correct;
use super::lipschitz::Fitting;
use crate::config::{InputScaling, RidgeConfig};
use crate::judge::Judge;
use crate::prepare::square;
use crate::run::Answers;
use crate::{Error, Recipe};
use dsokr_data::Outputs;

/// Candidates as points of a space.
pub(crate) fn candidates(space: &OutputSpace, outputs: &Outputs) -> Result<Candidates, Error> {
    candidates_at(outputs, |rows| {
        let Points { rank, coordinates, constants } = space.points(rows)?;
        Ok((rank, coordinates, constants))
    })
}

/// The training rows and targets of a kernel machine.
pub(crate) struct Solver<'a> {
    settings: &'a RidgeConfig,
    scaling: Option<Scaling>,
    /// Scaled.
    rows: Cow<'a, Features>,
    targets: &'a Targets,
    seed: u64,
}

/// A model's answers to the validation split.
pub(crate) struct Answered {
    pub model: Answers,
    /// Their coordinates.
    pub z: Vec<f32>,
    /// The candidates corrected for hubs, where the configuration asks for that.
    pub corrected: Option<Candidates>,
}

impl<'a> Solver<'a> {
    pub(crate) fn new(
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

    /// The model of the configuration, and what it answers to the validation inputs.
    pub(crate) fn answer<R: Recipe>(
        &self,
        space: &OutputSpace,
        judge: &Judge<R>,
        candidates: &Candidates,
        validation: &Features,
    ) -> Result<Answered, Error> {
        let Self { settings, rows, .. } = self;
        if settings.loss.is_some()
            && let Some(projection) = judge.training_targets()?
        {
            let targets = dsokr_machines::Targets::projected(&projection)?;
            let (output, offset) = (OutputMatrix::identity(space.rank())?, Offset::Zero);
            let fitting = Fitting { settings, rows, targets, output, offset };
            return fitting.best(judge, validation);
        }
        let hubs = &judge.config().decoding.hubs;
        let (model, held_out) = self.solve(self.lambda(space)?, hubs.is_some())?;
        let z = model.predict(validation)?;
        let corrected = match (hubs, held_out) {
            (Some(hubs), Some(held_out)) => Some(correct(hubs, judge, candidates, &held_out, &z)?),
            _ => None,
        };
        Ok(Answered { model: Answers::Ridge(model), z, corrected })
    }

    /// The rows as a Gram matrix, where that is what they are.
    fn gram(&self) -> Option<Mat<f64>> {
        self.settings.kernels.map(|_| square(&self.rows, 0, self.rows.len()))
    }

    /// λ as it is given, or the one with the least leave-one-out error.
    fn lambda(&self, space: &OutputSpace) -> Result<f64, Error> {
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
                let (kernel, method) = (kernel.clone(), &sketch.method);
                Spectrum::sketched(kernel, rows, targets, method, sketch.size, *seed)?
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
    ) -> Result<(Model, Option<Vec<f32>>), Error> {
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
                let (method, size) = (&sketch.method, sketch.size);
                let fitted = fit_sketched(kernel, rows, targets, method, size, *seed, lambda)?;
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
