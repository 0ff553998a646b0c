//! From a configuration to a trained run.

mod ensemble;
mod finish;
mod plan;
mod resume;
mod second_look;

use std::path::{Path, PathBuf};
use std::time::Instant;

use burn::tensor::Device;
use dsokr_basis::Processes;
use dsokr_decode::Candidates;
use dsokr_machines::{LastSystem, Scaling};
use tracing::info;

use crate::config::Checked;
use crate::decoder::{Decoder, ExactDecoder, label_names};
use crate::device::Processor;
use crate::evaluator::Evaluator;
use crate::learner::Task;
use crate::run_dir::{Folder, Report, save_data_folder};
use crate::targets::{OutputTargets, TrainingOutputs};
use crate::{Error, hubs, memory, scaling};
use dsokr_data::{DataRoot, Dataset};
use dsokr_train::Observer;
use serde::Serialize;
use serde::de::DeserializeOwned;

use finish::finish;
pub use plan::Plan;
use resume::{Resumed, fingerprint};
use second_look::{PairWords, words_need};

/// The configuration to fit, its run directory and its device.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The configuration.
    pub config: &'a Checked,
    /// The data root.
    pub root: DataRoot,
    /// The run directory (default: a new one under `runs/`).
    pub out: Option<PathBuf>,
    /// Whether to resume the run; a run that does not exist is started.
    pub resume: bool,
    /// The device on which the model is trained.
    pub processor: Processor,
    /// Whether it is started although the estimate of its memory is more than there is.
    pub force: bool,
}

/// A trained run's directory and its final report.
pub struct Trained {
    /// The run directory.
    pub path: PathBuf,
    /// Metrics, chance and perfect h.
    pub report: Report,
    /// Advice on the configuration and the data, a line each, where some applies; none for a run that
    /// was complete before.
    pub advice: Vec<String>,
}

/// Fits the learner of a configuration to its data, writes the run directory `out`, and evaluates it.
///
/// # Errors
/// Everything in [`Error`]. Nothing is written before data, basis and inputs have been accepted.
pub fn fit(config: &Checked, out: impl Into<PathBuf>) -> Result<Trained, Error> {
    Request { out: Some(out.into()), ..Request::new(config)? }.run(&mut ())
}

impl<'a> Request<'a> {
    /// A new run under `runs/`, trained on the CPU, with the default data root.
    ///
    /// # Errors
    /// As [`Checked::data_root`].
    pub fn new(config: &'a Checked) -> Result<Self, Error> {
        let root = config.data_root(None)?;
        Ok(Self { config, root, out: None, resume: false, processor: Processor::Cpu, force: false })
    }

    /// Runs it; `observer` is called on every event.
    ///
    /// The [`Processes`] of the scope share the training of one neural encoder or kernel machine
    /// ([`Abilities::shares_training`](crate::Abilities::shares_training)): all of them call this function with
    /// the same configuration and the same data, rank 0 alone writes the run directory, and all return its
    /// report. The run directory must be on a file system that all of them read.
    ///
    /// # Errors
    /// As [`fit`].
    pub fn run(&self, observer: &mut dyn Observer) -> Result<Trained, Error> {
        let ranks = Processes::current();
        // what is not given to them by name, each rank does alone
        Processes::default().scope(|| {
            if ranks.size() > 1 {
                check_shared(self.config, &ranks)?;
            }
            match &self.config.ensemble {
                Some(settings) => ensemble::run(self, settings, observer),
                None => run_as(self, &ranks, None, observer),
            }
        })
    }
}

/// Fits one model; `shared` keeps the factored system for the next member of an ensemble.
fn run_as(
    request: &Request,
    ranks: &Processes,
    shared: Option<&LastSystem>,
    observer: &mut dyn Observer,
) -> Result<Trained, Error> {
    let &Request { config, ref root, ref out, resume, processor, force } = request;
    let (path, exists) = of_first(ranks, || {
        let path = place(&config.name, out.as_deref(), resume)?;
        let exists = path.exists();
        Ok((path, exists))
    })?;
    let resumed = (resume && exists).then_some(path.as_path());
    let locked = resumed.filter(|_| ranks.is_first()).map(|path| Resumed::lock(path, config));
    let locked = ranks.agree(locked.transpose())?.unwrap_or_default();
    let device = open_device(config, processor)?;
    let (dataset, scaling) = load(config, root, force)?;

    let started = Instant::now();
    let own = LastSystem::default();
    let systems = shared.unwrap_or(&own).clone();
    let outputs = TrainingOutputs::new(config, &dataset, resumed, systems);
    check_counts(config, outputs.len())?;
    let prepared = config.encoder.learner().prepare(&outputs)?;
    let mut needs = memory::of_outputs(config, &dataset);
    if outputs.lacks_weights() {
        needs.extend(prepared.needs(memory::coordinates(config, &dataset)));
    }
    memory::check(&needs, force)?;
    let targets = ranks.scope(|| prepared.targets(&outputs))?;
    let candidates = ranks.scope(|| targets.space.candidates(&dataset.outputs))?;
    announce(config, &targets, &candidates, started.elapsed().as_secs_f64());

    let words = match &config.decoding.second_look {
        Some(look) => PairWords::read(look, root, &dataset, &candidates)?,
        None => None,
    };
    let labels = label_names(config, &dataset.outputs)?;
    let exact = ExactDecoder::new(config, &targets.space, &labels)?;
    let (space, exact) = (Some(&targets.space), exact.as_ref());
    let decoder = Decoder { candidates: &candidates, look: None, space, config, exact };
    let evaluator = Evaluator::new(root, &dataset, decoder)?;
    let lexicon = words.as_ref().map(PairWords::lexicon);
    let data = fingerprint(&dataset, targets.coordinates(), &candidates, lexicon)?;
    ranks.check_same("fingerprint of the data and the targets", &data)?;
    if resumed.is_some() {
        let report = of_first(ranks, || {
            Folder::check_data(&path, &data)?;
            locked.record(&path, config, Some(&targets.space.fingerprint()))?;
            save_data_folder(&path, root)?;
            Folder::finished(&path)
        })?;
        if let Some(report) = report {
            info!(path = %path.display(), "the run is complete");
            return Ok(Trained { path: path.clone(), report, advice: Vec::new() });
        }
    }

    let started = Instant::now();
    let task = &mut Task {
        config,
        dataset: &dataset,
        targets: &targets,
        evaluator: &evaluator,
        device: &device,
        observer,
        force,
        ranks,
        path: &path,
        resumed: resumed.is_some(),
        root,
        scaling: scaling.as_ref(),
        candidates: &candidates,
        labels: &labels,
        data: &data,
        folder: None,
    };
    let fitted = prepared.fit(task)?;
    own.clear();
    let mut advice = Vec::new();
    let report = of_first(ranks, || {
        let (report, lines) = finish(prepared.as_ref(), task, fitted, words.as_ref(), started)?;
        advice = lines;
        Ok(report)
    })?;
    Ok(Trained { path: path.clone(), report, advice })
}

/// The device of the request: one that does not exist is reported before data are read.
fn open_device(config: &Checked, processor: Processor) -> Result<Device, Error> {
    let device = processor.open()?;
    if config.encoder.abilities().closed_form && processor != Processor::Cpu {
        let (device, message) = (processor.to_string(), "kernel machines need the CPU");
        return Err(Error::Device { device, message: message.into() });
    }
    Ok(device)
}

/// The data, and how the features of outputs are standardised.
fn load(
    config: &Checked,
    root: &DataRoot,
    force: bool,
) -> Result<(Dataset, Option<Scaling>), Error> {
    memory::check(&memory::of_data(config, root), force)?;
    let mut dataset = config.read_data(root)?;
    let scaling = scaling::standardise(config, &mut dataset, None)?;
    info!(
        train = dataset.train.ids.len(),
        validation = dataset.validation.ids.len(),
        outputs = dataset.outputs.ids.len(),
        candidates = dataset.outputs.candidates.len(),
        "data loaded"
    );
    Ok((dataset, scaling))
}

/// Logs what was made of the outputs.
fn announce(config: &Checked, targets: &OutputTargets, candidates: &Candidates, seconds: f64) {
    info!(
        kernel = config.output.kernel_name(),
        rank = targets.space.width(),
        sketched = targets.space.basis().is_some(),
        candidates = candidates.len(),
        distinct = candidates.distinct(),
        seconds,
        "targets made"
    );
}

/// Checks settings that depend on the number of training pairs.
fn check_counts(config: &Checked, pairs: usize) -> Result<(), Error> {
    if let Some(hubs) = &config.decoding.hubs {
        hubs::check(hubs, pairs)?;
    }
    match &config.decoding.second_look {
        Some(look) => second_look::check(look, pairs),
        None => Ok(()),
    }
}

/// Refuses what several processes cannot share, and ranks whose configuration or version differ.
fn check_shared(config: &Checked, ranks: &Processes) -> Result<(), Error> {
    ranks.check_same("version", env!("CARGO_PKG_VERSION"))?;
    ranks.check_same("configuration's fingerprint", &config.fingerprint()?)?;
    let found = ranks.size();
    if config.ensemble.is_some() {
        let allowed = "1 for an ensemble; each of its members may have several";
        return Err(Error::value("number of processes", found, allowed));
    }
    if !config.encoder.abilities().shares_training {
        let allowed = "1 for this encoder; neural encoders share their training, and kernel machines \
                       with encoder.solver.name = \"sketched\", \"conjugate-gradients\" or \
                       \"averaged\" their fit";
        return Err(Error::value("number of processes", found, allowed));
    }
    Ok(())
}

/// A result of rank 0, on all ranks; `work` makes it there, and an error of it is that of all.
fn of_first<T: Serialize + DeserializeOwned>(
    ranks: &Processes,
    work: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    if ranks.size() == 1 {
        return work();
    }
    let made = || {
        let own = ranks.is_first().then(work).transpose()?;
        let text = own.as_ref().map_or(Ok(Vec::new()), serde_json::to_vec)?;
        Ok((own, text))
    };
    let (own, text) = ranks.agree::<_, Error>(made())?;
    let text = ranks.broadcast(|| text)?;
    own.map_or_else(|| Ok(serde_json::from_slice(&text)?), Ok)
}

/// The run directory: `--out`, else `runs/<name>`, else the first free one of `runs/<name>-2`,
/// `-3`, …; to resume, the last one that exists.
fn place(name: &str, out: Option<&Path>, resume: bool) -> Result<PathBuf, Error> {
    if let Some(out) = out {
        return match out.exists() && !resume {
            true => Err(Error::RunExists { path: out.into() }),
            false => Ok(out.into()),
        };
    }
    let numbered = |i: usize| match i {
        1 => PathBuf::from("runs").join(name),
        _ => PathBuf::from("runs").join(format!("{name}-{i}")),
    };
    let free = (1..).find(|&i| !numbered(i).exists()).unwrap_or(1);
    Ok(numbered(if resume { (free - 1).max(1) } else { free }))
}
