//! Fitting a kernel machine in closed form.

use std::time::Instant;

use dsokr_basis::RowSource;
use dsokr_machines::ridge::OutputSpace;
use tracing::info;

use super::embedding::Choice;
use super::hubs;
use super::lipschitz::Fitting;
use super::placed::Placed;
use super::solver::{Answered, Solver};
use super::{Job, Trained, fingerprint};
use crate::config::{EmbeddingConfig, RidgeConfig};
use crate::judge::Judge;
use crate::prepare::Outputs;
use crate::run::{Prepared, machine};
use crate::trainer::{Event, Observer};
use crate::{Error, Preparation, Recipe};
use dsokr_data::Selected;
use dsokr_data::SplitName;

pub(super) fn run<R: Recipe>(
    job: Job<R>,
    settings: &RidgeConfig,
    observer: &mut dyn Observer,
) -> Result<Trained, Error> {
    let outputs = job.training_outputs();
    let unlabelled = match settings.embedding.as_ref().is_some_and(EmbeddingConfig::is_mixed) {
        true => job.unlabelled()?,
        false => Vec::new(),
    };
    let Job { request, config, dataset, path, resumed } = &job;
    let training_outputs = Selected::new(dataset.outputs.rows.as_ref(), &outputs);
    let started = Instant::now();
    let placed = match (settings.levels(), config.sketch.full) {
        (Some(levels), _) => Placed::numbers(levels, &training_outputs)?,
        (None, full) => {
            let (space, targets) = match full {
                true => OutputSpace::training(config.output.kernel.clone(), &training_outputs)?,
                false => {
                    let sketched = [&outputs[..], &unlabelled].concat();
                    let sketched = Selected::new(dataset.outputs.rows.as_ref(), &sketched);
                    OutputSpace::basis(job.basis(&sketched)?, settings.rank, &training_outputs)?
                }
            };
            Placed::Points { space, targets }
        }
    };
    if let Some(hubs) = &config.decoding.hubs {
        hubs::check(hubs, outputs.len())?;
    }
    if let Some(embedding) = &settings.embedding {
        embedding.ranks_in(placed.width())?;
    }
    let candidates = placed.candidates(&dataset.outputs)?;
    info!(
        kernel = config.output.kernel.name(),
        rank = placed.width(),
        sketched = placed.as_basis().is_some(),
        candidates = candidates.len(),
        distinct = candidates.distinct(),
        seconds = started.elapsed().as_secs_f64(),
        "outputs placed"
    );
    let origin = placed.origin();
    let judge =
        Judge::new(config, request.root, dataset, placed.as_basis(), (&candidates, &origin))?;
    let preparation = match resumed {
        true => Preparation::load_of_ridge(settings, path)?,
        false => {
            let outputs = Outputs::of(config, &training_outputs);
            Preparation::of_ridge(settings, &dataset.train, Some(outputs))?
        }
    };
    let rows = preparation.rows(&dataset.train)?;
    settings.accepts(rows.kind())?;

    let data = fingerprint(dataset, &[], &candidates);
    let prepared = Prepared::of(&preparation)?;
    let name = placed.fingerprint();
    let folder =
        job.folder(&candidates, &prepared, name.clone(), &data, |here| placed.save(here))?;
    if let Some(report) = folder.report()? {
        info!(path = %path.display(), "the run is complete");
        return Ok(Trained { path: path.clone(), report });
    }
    let started = Instant::now();
    let (pairs, unknowns) = (rows.len(), settings.sketch.as_ref().map_or(rows.len(), |s| s.size));
    observer.event(&Event::Solving { pairs, unknowns, coordinates: placed.width() });
    let validation = preparation.rows(&dataset.validation)?;
    let Answered { model, z, corrected } = match &placed {
        Placed::Numbers { levels, observed } => {
            Fitting::quantiles(settings, &rows, levels, observed)?.best(&judge, &validation)?
        }
        Placed::Points { space, targets } => {
            let solver = Solver::new(settings, &rows, targets, config.seed)?;
            match (&settings.embedding, space.as_basis()) {
                (Some(embedding), Some(basis)) => {
                    let unlabelled = Selected::new(dataset.outputs.rows.as_ref(), &unlabelled);
                    let unlabelled = basis.project(&unlabelled)?.coordinates;
                    let choice = Choice {
                        settings: embedding,
                        judge: &judge,
                        solver: &solver,
                        training: &rows,
                        validation: &validation,
                        unlabelled: &unlabelled,
                    };
                    let (answered, curve) = choice.best(settings.every_lambda())?;
                    curve.save(path)?;
                    answered
                }
                _ => solver.answer(space, &judge, &candidates, &validation)?,
            }
        }
    };
    machine::save(path, &name, &prepared, &model)?;
    let judge = match &corrected {
        Some(corrected) => {
            folder.replace_candidates(corrected, &data)?;
            judge.among(corrected)
        }
        None => judge,
    };
    let validation = judge.evaluate(SplitName::Validation, &z)?.scores;
    observer.event(&Event::Solved {
        summary: &model.summary(),
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
