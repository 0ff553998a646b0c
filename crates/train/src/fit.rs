//! From a configuration to a trained run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use dsokr_basis::features::distinct;
use dsokr_basis::store::{self, Tensor};
use dsokr_basis::{Basis, Projection};
use dsokr_decode::Candidates;
use dsokr_nn::{Model, parameters};
use tracing::info;

use crate::config::{Checked, EncoderConfig, SplitName};
use crate::data::{DataRoot, Dataset, Outputs, Selected};
use crate::device::Processor;
use crate::judge::Judge;
use crate::run::{Folder, Prepared, Report, new_model};
use crate::trainer::{Observer, Task, embed, train};
use crate::{Error, Prepare, Recipe};

/// Where a run goes, and whether it goes on.
#[derive(Clone, Debug)]
pub struct Request<'a, R = EncoderConfig> {
    /// The configuration.
    pub config: &'a Checked<R>,
    /// Where its data lie.
    pub root: &'a DataRoot,
    /// The run directory, or where under `runs/` one is made.
    pub out: Option<&'a Path>,
    /// Go on with the run that is there; a run that is not there is started.
    pub resume: bool,
    /// Where the model is trained.
    pub processor: Processor,
}

impl<'a, R> Request<'a, R> {
    /// A new run under `runs/`, trained on the CPU.
    pub fn new(config: &'a Checked<R>, root: &'a DataRoot) -> Self {
        Self { config, root, out: None, resume: false, processor: Processor::Cpu }
    }
}

/// A trained run's directory and its final report.
pub struct Trained {
    /// The run directory.
    pub path: PathBuf,
    /// Metrics, chance and ceiling.
    pub report: Report,
}

/// Fits the basis, trains, and evaluates the best checkpoint.
///
/// # Errors
/// Everything in [`Error`]. Nothing is written before data, basis and inputs have been accepted.
pub fn run<R: Recipe>(request: &Request<R>, observer: &mut dyn Observer) -> Result<Trained, Error> {
    let config = request.config;
    let path = place(request)?;
    let mut device = request.processor.open()?.autodiff();
    if config.encoder.recomputes() && request.processor != Processor::Cpu {
        device = device.gradient_checkpointing();
    }
    let resumed = request.resume && path.exists();
    if resumed {
        unchanged(&path, config)?;
    }
    let dataset = Dataset::load(config, request.root)?;
    info!(
        train = dataset.train.ids.len(),
        validation = dataset.validation.ids.len(),
        outputs = dataset.outputs.ids.len(),
        candidates = dataset.outputs.candidates.len(),
        "data loaded"
    );
    let rows: Vec<usize> = dataset.train.outputs.iter().flatten().copied().collect();
    let training_outputs = Selected::new(dataset.outputs.rows.as_ref(), &rows);
    let started = Instant::now();
    let sketch = &config.sketch;
    let basis = if resumed {
        Basis::load(&path.join("basis.safetensors"))?
    } else {
        let kernel = config.output.kernel.clone();
        Basis::fit(
            kernel,
            &training_outputs,
            &sketch.method,
            sketch.size,
            config.seed,
            sketch.tolerance,
        )?
    };
    let targets = basis.project(&training_outputs)?;
    let candidates = candidates(&basis, &dataset.outputs)?;
    info!(
        kernel = basis.kernel().name(),
        m = sketch.size,
        rank = basis.rank(),
        residual = mean(&targets.residuals),
        candidates = candidates.len(),
        distinct = candidates.distinct(),
        seconds = started.elapsed().as_secs_f64(),
        "basis fitted"
    );
    let judge = Judge::new(config, request.root, &dataset, &basis, &candidates)?;
    let settings = config.encoder.preparation();
    let preparation = if resumed {
        R::Preparation::load(settings, &path)?
    } else {
        R::Preparation::fit(settings, &dataset.train)?
    };
    let inputs = preparation.inputs(&dataset.train)?;
    let restored = resumed && Folder::has_checkpoint(&path);
    let mean = targets.mean();
    let model = new_model(config, &basis, &preparation, &mean, &device, restored)?;
    check_groups(config, &model)?;
    info!(parameters = burn::module::Module::num_params(&model), "model made");

    let data = fingerprint(&dataset, &targets, &candidates);
    let prepared = Prepared::of(&preparation)?;
    let mut folder = if resumed {
        let folder = Folder::open(&path, &basis, &prepared);
        folder.check_data(&data)?;
        folder.tidy();
        folder
    } else {
        Folder::create(&path, config, &basis, &candidates, &prepared, &data)?
    };
    if let Some(report) = folder.report()? {
        info!(path = %path.display(), "the run is complete");
        return Ok(Trained { path, report });
    }
    let start = folder.checkpoint()?;
    folder.rewind_log(start.as_ref().map_or(0, |c| c.step))?;
    let validation = preparation.inputs(&dataset.validation)?;
    let validate = |model: &Model<R::Encoder>| {
        let z = embed(model, &validation, config.evaluation.batch);
        judge.scores(SplitName::Validation, &z)
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
    let (report, drawings) = judge.report(&model, &preparation)?;
    if let Some(svg) = drawings {
        folder.draw(&svg)?;
    }
    folder.finish(&report)?;
    Ok(Trained { path, report })
}

/// The run directory: `--out`, else `runs/<name>`, else with the first free number behind it; to
/// resume, the last one that exists.
fn place<R>(request: &Request<R>) -> Result<PathBuf, Error> {
    let taken = |path: &Path| path.exists();
    if let Some(out) = request.out {
        if taken(out) && !request.resume {
            return Err(Error::RunExists { path: out.into() });
        }
        return Ok(out.into());
    }
    let name = &request.config.name;
    let numbered = |i: usize| match i {
        1 => PathBuf::from("runs").join(name),
        _ => PathBuf::from("runs").join(format!("{name}-{i}")),
    };
    let free = (1..).find(|&i| !taken(&numbered(i))).unwrap_or(1);
    Ok(numbered(if request.resume { (free - 1).max(1) } else { free }))
}

/// A run goes on only under the configuration that it was started with.
fn unchanged<R: Recipe>(path: &Path, config: &Checked<R>) -> Result<(), Error> {
    let before = Folder::config(path)?;
    let table = |config: &Checked<R>| -> Result<toml::Table, Error> {
        let text = config.to_toml()?;
        text.parse().map_err(|e: toml::de::Error| Error::Serialise(e.to_string()))
    };
    let (before, now) = (table(&before)?, table(config)?);
    match difference("", &before, &now) {
        None => Ok(()),
        Some((key, found, given)) => {
            Err(Error::Changed { path: path.join("config.toml"), key, found, given })
        }
    }
}

fn difference(
    prefix: &str,
    before: &toml::Table,
    now: &toml::Table,
) -> Option<(String, String, String)> {
    let show = |v: Option<&toml::Value>| v.map_or("absent".to_string(), ToString::to_string);
    let mut keys: Vec<&String> = before.keys().chain(now.keys()).collect();
    keys.sort();
    keys.dedup();
    keys.into_iter().find_map(|key| {
        let full = format!("{prefix}{key}");
        match (before.get(key), now.get(key)) {
            (Some(toml::Value::Table(a)), Some(toml::Value::Table(b))) => {
                difference(&format!("{full}."), a, b)
            }
            (a, b) if a == b => None,
            (a, b) => Some((full, show(a), show(b))),
        }
    })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// What tells these data from any others: a run is resumed on those it was started with.
fn fingerprint(dataset: &Dataset, targets: &Projection, candidates: &Candidates) -> String {
    let splits = [&dataset.train, &dataset.validation];
    let texts = splits.map(|split| [split.ids.join("\0"), split.texts.join("\0")].join("\0"));
    let vectors = splits.map(|split| split.vectors.concat());
    let ids = candidates.ids().join("\0");
    let tensors = [
        Tensor::u8("train texts", &[texts[0].len()], texts[0].as_bytes()),
        Tensor::u8("validation texts", &[texts[1].len()], texts[1].as_bytes()),
        Tensor::u8("ids", &[ids.len()], ids.as_bytes()),
        Tensor::f32("train vectors", &[vectors[0].len()], &vectors[0]),
        Tensor::f32("validation vectors", &[vectors[1].len()], &vectors[1]),
        Tensor::f32("targets", &[targets.coordinates.len()], &targets.coordinates),
        Tensor::f32("candidates", &[candidates.coordinates().len()], candidates.coordinates()),
    ];
    store::checksum("data", 1, &BTreeMap::new(), &tensors)
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

/// Projects each distinct candidate once, with the constants `b(c) = −½ k(c, c)` of decoding,
/// shifted by ½ for normalised kernels, where they then vanish (except for a zero row, which has
/// k(c, c) = 0).
///
/// # Errors
/// Rows that the basis does not project; outputs without a candidate.
pub fn candidates(basis: &Basis, outputs: &Outputs) -> Result<Candidates, Error> {
    let pool = Selected::new(outputs.rows.as_ref(), &outputs.candidates);
    let groups = distinct(&pool)?;
    let chosen: Vec<usize> = groups.representative.iter().map(|&i| outputs.candidates[i]).collect();
    let projected = basis.project(&Selected::new(outputs.rows.as_ref(), &chosen))?;
    let shift = if basis.kernel().is_normalised() { 0.5 } else { 0.0 };
    let constants = projected.squared_norms.iter().map(|k| (shift - 0.5 * k) as f32).collect();
    let pick = |all: &[String]| outputs.candidates.iter().map(|&i| all[i].clone()).collect();
    let (ids, labels) = (pick(&outputs.ids), pick(&outputs.labels));
    Ok(Candidates::new(ids, labels, groups.class, basis.rank(), projected.coordinates, constants)?)
}
