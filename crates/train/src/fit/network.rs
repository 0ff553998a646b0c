//! Training an encoder.

use std::time::Instant;

use burn::tensor::Device;
use dsokr_nn::{Model, parameters};
use tracing::info;

use super::hubs::{CrossFit, correct, folds};
use super::{Job, Trained, candidates, fingerprint};
use crate::config::Checked;
use crate::device::Processor;
use crate::judge::Judge;
use crate::run::{BASIS, Folder, Prepared, new_model};
use crate::scores::Origin;
use crate::trainer::{Observer, Task, embed, train};
use crate::{Error, Prepare, Recipe};
use dsokr_data::Selected;
use dsokr_data::SplitName;

pub(super) fn run<R: Recipe>(
    job: Job<R>,
    device: Device,
    observer: &mut dyn Observer,
) -> Result<Trained, Error> {
    let mut device = device.autodiff();
    if job.config.encoder.recomputes() && job.request.processor != Processor::Cpu {
        device = device.gradient_checkpointing();
    }
    let rows = job.training_outputs();
    let Job { request, config, dataset, path, resumed } = &job;
    let training_outputs = Selected::new(dataset.outputs.rows.as_ref(), &rows);
    let started = Instant::now();
    let basis = job.basis(&training_outputs)?;
    let targets = basis.project(&training_outputs)?;
    let candidates = candidates(&basis, &dataset.outputs)?;
    info!(
        kernel = basis.kernel().name(),
        m = basis.sketch_size(),
        rank = basis.rank(),
        residual = mean(&targets.residuals),
        candidates = candidates.len(),
        distinct = candidates.distinct(),
        seconds = started.elapsed().as_secs_f64(),
        "basis fitted"
    );
    let judge =
        Judge::new(config, request.root, dataset, Some(&basis), (&candidates, &Origin::Zero))?;
    let folds = match &config.decoding.hubs {
        Some(hubs) => folds(hubs, rows.len(), config.seed)?,
        None => Vec::new(),
    };
    let settings = config.encoder.preparation();
    let preparation = if *resumed {
        R::Preparation::load(settings, path)?
    } else {
        R::Preparation::fit(settings, &dataset.train)?
    };
    let inputs = preparation.inputs(&dataset.train)?;
    let restored = *resumed && Folder::has_checkpoint(path);
    let offset = targets.mean();
    let model = new_model(config, &basis, &preparation, &offset, &device, restored)?;
    check_groups(config, &model)?;
    info!(parameters = burn::module::Module::num_params(&model.encoder), "model made");

    let data = fingerprint(dataset, &targets.coordinates, &candidates);
    let prepared = Prepared::of(&preparation)?;
    let space = basis.fingerprint();
    let mut folder = job
        .folder(&candidates, &prepared, space, &data, |here| Ok(basis.save(&here.join(BASIS))?))?;
    if let Some(report) = folder.report()? {
        info!(path = %path.display(), "the run is complete");
        return Ok(Trained { path: path.clone(), report });
    }
    let start = folder.checkpoint()?;
    folder.rewind_log(start.as_ref().map_or(0, |c| c.step))?;
    let validation = preparation.inputs(&dataset.validation)?;
    let validate = |model: &Model<R::Encoder>| {
        let z = embed(model, &validation, config.evaluation.batch);
        Ok(judge.evaluate(SplitName::Validation, &z)?.scores)
    };
    let task = Task {
        config: &config.training,
        seed: config.seed,
        device: &device,
        inputs: &inputs,
        targets: &targets.coordinates,
        residuals: &targets.residuals,
        validate: &validate,
    };
    let outcome = train(&task, model, start, &mut folder, observer)?;
    let best = match outcome.best {
        Some(best) => best,
        None => folder.best()?,
    };
    let model = parameters::restore(outcome.model, &best)?;
    let corrected = match &config.decoding.hubs {
        Some(hubs) => {
            let cross = CrossFit {
                judge: &judge,
                dataset,
                basis: &basis,
                targets: &targets,
                preparation: &preparation,
                device: &device,
                validate: &validate,
            };
            let held_out = cross.answers(&folds, observer)?;
            let z = embed(&model, &validation, config.evaluation.batch);
            let corrected = correct(hubs, &judge, &candidates, &held_out, &z)?;
            folder.replace_candidates(&corrected, &data)?;
            Some(corrected)
        }
        None => None,
    };
    let judge = match &corrected {
        Some(corrected) => judge.among(corrected),
        None => judge,
    };
    let inputs = preparation.inputs(judge.reported())?;
    let report = folder.report_on(&judge, &embed(&model, &inputs, config.evaluation.batch))?;
    Ok(Trained { path: path.clone(), report })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// A group that holds no parameter is a spelling mistake.
fn check_groups<R: Recipe>(config: &Checked<R>, model: &Model<R::Encoder>) -> Result<(), Error> {
    let names: Vec<String> = parameters::names(model);
    for group in &config.training.groups {
        if !names.iter().any(|name| name.contains(&group.parameters)) {
            return Err(Error::Value {
                key: "training.groups.parameters".into(),
                found: format!("{:?}", group.parameters),
                allowed: format!("a part of one of {}", names.join(", ")),
            });
        }
    }
    Ok(())
}
