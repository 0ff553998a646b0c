//! Fitting a kernel machine in closed form.

use std::borrow::Cow;
use std::time::Instant;

use dsokr_basis::{Features, OutputKernel, RowSource};
use dsokr_decode::{CandidateBlocks, Candidates, Hubs, Queries};
use dsokr_ridge::{
    LeaveOut, Model, OutputSpace, Points, Scaling, Spectrum, Targets, fit, fit_sketched,
};
use tracing::info;

use super::embedding::Choice;
use super::{Job, Trained, candidates_at, fingerprint};
use crate::config::{EmbeddingConfig, HubConfig, InputScaling, RidgeConfig, SplitName};
use crate::data::Selected;
use crate::judge::Judge;
use crate::run::{Prepared, machine};
use crate::trainer::{Event, Observer};
use crate::{Error, Preparation, Recipe};

pub(super) fn run<R: Recipe>(
    job: Job<R>,
    settings: &RidgeConfig,
    observer: &mut dyn Observer,
) -> Result<Trained, Error> {
    let outputs = job.training_outputs();
    let Job { request, config, dataset, path, resumed } = &job;
    let training_outputs = Selected::new(dataset.outputs.rows.as_ref(), &outputs);
    let started = Instant::now();
    let (space, targets) = match config.sketch.full {
        true => OutputSpace::training(config.output.kernel.clone(), &training_outputs)?,
        false => {
            let mut sketched = outputs.clone();
            if settings.embedding.as_ref().is_some_and(EmbeddingConfig::is_mixed) {
                sketched.extend(job.unlabelled()?);
            }
            let basis = job.basis(&Selected::new(dataset.outputs.rows.as_ref(), &sketched))?;
            OutputSpace::basis(basis, None, &training_outputs)?
        }
    };
    let candidates = candidates_at(&dataset.outputs, |rows| {
        let Points { rank, coordinates, constants } = space.points(rows)?;
        Ok((rank, coordinates, constants))
    })?;
    info!(
        kernel = space.kernel().name(),
        rank = space.rank(),
        sketched = !config.sketch.full,
        candidates = candidates.len(),
        distinct = candidates.distinct(),
        seconds = started.elapsed().as_secs_f64(),
        "outputs placed"
    );
    let origin = machine::origin(&space);
    let judge =
        Judge::new(config, request.root, dataset, space.as_basis(), (&candidates, &origin))?;
    let preparation = match resumed {
        true => Preparation::load_of_ridge(settings, path)?,
        false => Preparation::of_ridge(settings, &dataset.train)?,
    };
    let rows = preparation.rows(&dataset.train)?;
    settings.kernel.validate(rows.kind())?;

    let data = fingerprint(dataset, &[], &candidates);
    let prepared = Prepared::of(&preparation)?;
    let name = space.fingerprint();
    let folder = job.folder(&candidates, &prepared, name.clone(), &data, |here| {
        space.save(&here.join(machine::OUTPUTS))?;
        match space.as_basis() {
            Some(basis) => Ok(basis.save(&here.join(machine::BASIS))?),
            None => Ok(()),
        }
    })?;
    if let Some(report) = folder.report()? {
        info!(path = %path.display(), "the run is complete");
        return Ok(Trained { path: path.clone(), report });
    }
    let started = Instant::now();
    let (pairs, unknowns) = (rows.len(), settings.sketch.as_ref().map_or(rows.len(), |s| s.size));
    observer.event(&Event::Solving { pairs, unknowns, coordinates: space.rank() });
    let solver = Solver::new(settings, &rows, &targets, config.seed)?;
    let validation = preparation.rows(&dataset.validation)?;
    let (model, held_out) = match (&settings.embedding, space.as_basis()) {
        (Some(embedding), Some(basis)) => {
            let unlabelled = match embedding.is_mixed() {
                true => {
                    let outputs = job.unlabelled()?;
                    let rows = dataset.outputs.rows.as_ref();
                    basis.project(&Selected::new(rows, &outputs))?.coordinates
                }
                false => Vec::new(),
            };
            let choice = Choice { settings: embedding, judge: &judge, unlabelled: &unlabelled };
            let lambdas = settings.lambda.as_slice().iter().chain(&settings.lambdas).copied();
            let answers = |model: &Model| Ok([model.predict(&rows)?, model.predict(&validation)?]);
            let solve = |lambda| Ok(solver.solve(lambda, false)?.0);
            let lambdas: Vec<f64> = lambdas.collect();
            let (model, curve) = choice.best(&lambdas, solve, answers)?;
            curve.save(path)?;
            (model, None)
        }
        _ => solver.solve(solver.lambda(&space)?, config.decoding.hubs.is_some())?,
    };
    machine::save(path, &name, &prepared, &model)?;
    let z = model.predict(&validation)?;
    let corrected = match (&config.decoding.hubs, held_out) {
        (Some(hubs), Some(held_out)) => Some(correct(hubs, &judge, &candidates, &held_out, &z)?),
        _ => None,
    };
    let judge = match &corrected {
        Some(corrected) => {
            folder.replace_candidates(corrected, &data)?;
            Judge::new(config, request.root, dataset, space.as_basis(), (corrected, &origin))?
        }
        None => judge,
    };
    let validation = judge.evaluate(SplitName::Validation, &z)?.scores;
    observer.event(&Event::Solved {
        summary: model.summary(),
        metrics: &validation,
        took: started.elapsed(),
    });
    let z = match config.evaluation.split {
        SplitName::Validation => z,
        SplitName::Test => model.predict(&preparation.rows(judge.reported())?)?,
    };
    let report = folder.report_on(&judge, &z)?;
    Ok(Trained { path: path.clone(), report })
}

/// Candidates corrected for hubs, by the weight and the number of neighbours that are best on the
/// validation split; `held_out` are leave-one-out answers to the training inputs.
fn correct<R: Recipe>(
    hubs: &HubConfig,
    judge: &Judge<R>,
    candidates: &Candidates,
    held_out: &[f32],
    z: &[f32],
) -> Result<Candidates, Error> {
    let metric = judge.config().training.metric;
    let unit = Queries::new(candidates.dim(), held_out)?.normalised();
    let unit = Queries::new(candidates.dim(), &unit)?;
    let mut best: Option<(f64, Hubs, f32)> = None;
    let mut corrected = candidates.clone();
    for &neighbours in &hubs.neighbours {
        let found = Hubs::of(&unit, candidates, neighbours)?;
        for &weight in &hubs.weights {
            corrected = corrected.with_hubs(found.clone(), weight)?;
            let scores = judge.evaluate_among(SplitName::Validation, z, &corrected)?.scores;
            let score = metric.score(&scores);
            info!(neighbours, weight, metric = %metric, value = metric.value(&scores), "hubs");
            if best.as_ref().is_none_or(|(least, ..)| score > *least) {
                best = Some((score, found.clone(), weight));
            }
        }
    }
    match best {
        Some((_, hubs, weight)) => Ok(corrected.with_hubs(hubs, weight)?),
        None => Ok(corrected),
    }
}

/// The training rows and targets of a kernel machine.
struct Solver<'a> {
    settings: &'a RidgeConfig,
    scaling: Option<Scaling>,
    /// Scaled.
    rows: Cow<'a, Features>,
    targets: &'a Targets,
    seed: u64,
}

impl<'a> Solver<'a> {
    fn new(
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

    /// λ as it is given, or the one with the least leave-one-out error.
    fn lambda(&self, space: &OutputSpace) -> Result<f64, Error> {
        let Self { settings, rows, targets, seed, .. } = self;
        let targets: &Targets = targets;
        if let Some(lambda) = settings.lambda {
            return Ok(lambda);
        }
        let (kernel, rows) = (&settings.kernel, rows.as_ref());
        let spectrum = match &settings.sketch {
            None => Spectrum::full(kernel, rows, targets)?,
            Some(sketch) => {
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
    fn solve(&self, lambda: f64, held_out: bool) -> Result<(Model, Option<Vec<f32>>), Error> {
        let Self { settings, rows, targets, seed, .. } = self;
        let targets: &Targets = targets;
        let (kernel, rows) = (settings.kernel.clone(), rows.as_ref());
        let (model, held_out) = match &settings.sketch {
            None => {
                let fitted = fit(kernel, rows, targets, lambda, settings.precision)?;
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
