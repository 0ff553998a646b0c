//! From a configuration to a trained run.

mod changes;
mod ensemble;
mod fingerprint;
mod finish;
mod plan;
mod processes;
mod second_look;

use std::path::{Path, PathBuf};
use std::time::Instant;

use burn::tensor::Device;
use dsokr_basis::Processes;
use dsokr_decode::Candidates;
use dsokr_machines::{LastSystem, Scaling};
use tracing::info;

use crate::config::Checked;
use crate::decoder::Decoder;
use crate::device::Processor;
use crate::evaluator::Evaluator;
use crate::exact::{ExactDecoder, label_names};
use crate::learner::Task;
use crate::run_dir::{Draft, Folder, Report, RunLock, save_data_folder};
use crate::targets::{OutputTargets, TrainingOutputs};
use crate::{Error, hubs, memory, scaling};
use dsokr_data::{DataRoot, Dataset};
use dsokr_train::Observer;

use changes::Change;
use fingerprint::fingerprint;
use finish::finish;
pub use plan::Plan;
use processes::{check_shared, of_first};
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
        run(self, None, observer)
    }
}

/// `shared` keeps the factored system for the next member of an ensemble.
fn run(
    request: &Request,
    shared: Option<&LastSystem>,
    observer: &mut dyn Observer,
) -> Result<Trained, Error> {
    // what is not given to them by name, each rank does alone
    let ranks = Processes::current();
    Processes::alone().scope(|| run_as(request, &ranks, shared, observer))
}

fn run_as(
    request: &Request,
    ranks: &Processes,
    shared: Option<&LastSystem>,
    observer: &mut dyn Observer,
) -> Result<Trained, Error> {
    let (config, root) = (request.config, &request.root);
    if ranks.size() > 1 {
        check_shared(config, ranks)?;
    }
    let (path, exists) = of_first(ranks, || {
        let path = place(request)?;
        let exists = path.exists();
        Ok((path, exists))
    })?;
    if let Some(settings) = &config.ensemble {
        return ensemble::run(request, settings, path, observer);
    }
    let resumed = (request.resume && exists).then_some(path.as_path());
    let (changes, _lock) = lock(resumed, config, ranks)?;
    let device = open_device(request)?;
    let (dataset, scaling) = load(request)?;

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
    memory::check(&needs, request.force)?;
    let targets = ranks.scope(|| prepared.targets(&outputs))?;
    let candidates = ranks.scope(|| targets.space.candidates(&dataset.outputs))?;
    let seconds = started.elapsed().as_secs_f64();
    announce(config, &targets, &candidates, seconds);

    let words = match &config.decoding.second_look {
        Some(look) => PairWords::read(look, root, &dataset, &candidates)?,
        None => None,
    };
    let labels = label_names(config, &dataset.outputs)?;
    let exact = ExactDecoder::new(config, &targets.space, &labels)?;
    let decoder = Decoder {
        candidates: &candidates,
        look: None,
        space: Some(&targets.space),
        config,
        exact: exact.as_ref(),
    };
    let evaluator = Evaluator::new(config, root, &dataset, decoder)?;
    let lexicon = words.as_ref().map(PairWords::lexicon);
    let data = &fingerprint(&dataset, targets.coordinates(), &candidates, lexicon)?;
    ranks.check_same("fingerprint of the data and the targets", data)?;
    let draft = &Draft {
        path: &path,
        resumed: resumed.is_some(),
        writes: ranks.is_first(),
        config,
        root,
        dataset: &dataset,
        scaling: scaling.as_ref(),
        targets: &targets,
        candidates: &candidates,
        labels: &labels,
        data,
    };
    if draft.resumed
        && let Some(report) = of_first(ranks, || resume(draft, &changes))?
    {
        info!(path = %path.display(), "the run is complete");
        return Ok(Trained { path, report, advice: Vec::new() });
    }

    let started = Instant::now();
    let task = &mut Task {
        config,
        dataset: &dataset,
        targets: &targets,
        evaluator: &evaluator,
        device: &device,
        observer,
        force: request.force,
        ranks,
        draft,
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
    Ok(Trained { path, report, advice })
}

/// Locks a run that is resumed, and finds what is changed in its configuration. A new run is locked when its
/// folder is made.
fn lock(
    resumed: Option<&Path>,
    config: &Checked,
    ranks: &Processes,
) -> Result<(Vec<Change>, Option<RunLock>), Error> {
    let locked = resumed.filter(|_| ranks.is_first()).map(|path| {
        let locked = (changes::changes(path, config)?, RunLock::take(path)?);
        // a complete run too: what was left when it was being finished
        Folder::tidy(path);
        Ok::<_, Error>(locked)
    });
    Ok(ranks.agree(locked.transpose())?.unwrap_or_default())
}

/// The device of the request: one that does not exist is reported before data are read.
fn open_device(request: &Request) -> Result<Device, Error> {
    let device = request.processor.open()?;
    if request.config.encoder.abilities().closed_form && request.processor != Processor::Cpu {
        let (device, message) = (request.processor.to_string(), "kernel machines need the CPU");
        return Err(Error::Device { device, message: message.into() });
    }
    Ok(device)
}

/// The data, and how the features of outputs are standardised.
fn load(request: &Request) -> Result<(Dataset, Option<Scaling>), Error> {
    let config = request.config;
    memory::check(&memory::of_data(config, &request.root), request.force)?;
    let mut dataset = config.read_data(&request.root)?;
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

/// Records what is changed in a resumed run; its report if it is complete.
fn resume(draft: &Draft, changes: &[Change]) -> Result<Option<Report>, Error> {
    Folder::check_data(draft.path, draft.data)?;
    changes::record(draft.path, draft.config, changes, &draft.targets.space.fingerprint())?;
    save_data_folder(draft.path, draft.root)?;
    Folder::finished(draft.path)
}

/// The run directory: `--out`, else `runs/<name>`, else the first free one of `runs/<name>-2`,
/// `-3`, …; to resume, the last one that exists.
fn place(request: &Request) -> Result<PathBuf, Error> {
    let taken = |path: &Path| path.exists();
    if let Some(out) = &request.out {
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
