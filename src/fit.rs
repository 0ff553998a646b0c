//! From a configuration to a trained run.

mod changes;
mod ensemble;
mod fingerprint;
mod plan;
mod processes;
mod second_look;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use dsokr_basis::Ranks;
use dsokr_decode::Candidates;
use dsokr_machines::LastSystem;
use tracing::{info, warn};

use crate::advice::{Evidence, advice, larger_sketch};
use crate::config::Checked;
use crate::decoder::Decoder;
use crate::device::Processor;
use crate::evaluator::Evaluator;
use crate::exact::{ExactDecoder, label_names, save_labels};
use crate::hubs::correct;
use crate::learner::{Fitted, Task};
use crate::run_dir::candidates::with_added;
use crate::run_dir::{
    Folder, PreparationFiles, Report, RunLock, save_data_folder, validation_scalars,
};
use crate::run_files::FEATURES;
use crate::targets::TrainingOutputs;
use crate::{Error, hubs, memory, scaling};
use dsokr_data::{DataRoot, SplitName};
use dsokr_train::{Event, Observer};

use fingerprint::fingerprint;
pub use plan::Plan;
use processes::{check_shared, of_first};
use second_look::PairWords;
pub(crate) use second_look::need as second_look_need;
use second_look::words_need;

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
    /// The [`Ranks`] of the scope share the training of one neural encoder or kernel machine
    /// ([`Learner::shares_training`](crate::Learner::shares_training)): all of them call this function with
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
    let ranks = Ranks::current();
    Ranks::alone().scope(|| run_as(request, &ranks, shared, observer))
}

fn run_as(
    request: &Request,
    ranks: &Ranks,
    shared: Option<&LastSystem>,
    observer: &mut dyn Observer,
) -> Result<Trained, Error> {
    let config = request.config;
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
    // a new run is locked when its folder is made
    let locked = resumed.filter(|_| ranks.is_first()).map(|path| {
        let locked = (changes::changes(path, config)?, RunLock::take(path)?);
        // a complete run too: what was left when it was being finished
        Folder::tidy(path);
        Ok::<_, Error>(locked)
    });
    let (changes, _lock) = ranks.agree(locked.transpose())?.unwrap_or_default();
    let learner = config.encoder.learner()?;
    // a device that does not exist is reported before data are read
    let device = request.processor.open()?;
    if learner.needs_cpu() && request.processor != Processor::Cpu {
        let (device, message) = (request.processor.to_string(), "kernel machines need the CPU");
        return Err(Error::Device { device, message: message.into() });
    }
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
    let started = Instant::now();
    let own = LastSystem::default();
    let systems = shared.unwrap_or(&own);
    let outputs = TrainingOutputs::new(config, &dataset, resumed, systems.clone());
    if let Some(hubs) = &config.decoding.hubs {
        hubs::check(hubs, outputs.len())?;
    }
    if let Some(look) = &config.decoding.second_look {
        second_look::check(look, outputs.len())?;
    }
    let mut needs = memory::of_outputs(config, &dataset);
    if outputs.lacks_weights() {
        let coordinates = memory::coordinates(config, &dataset);
        needs.extend(learner.needs(config, &dataset, coordinates)?);
    }
    memory::check(&needs, request.force)?;
    let targets = ranks.scope(|| learner.targets(&outputs))?;
    let candidates = ranks.scope(|| targets.candidates(&dataset.outputs))?;
    info!(
        kernel = config.output.kernel_name(),
        rank = targets.width(),
        sketched = targets.as_basis().is_some(),
        candidates = candidates.len(),
        distinct = candidates.distinct(),
        seconds = started.elapsed().as_secs_f64(),
        "targets made"
    );
    let words = match &config.decoding.second_look {
        Some(look) => PairWords::read(look, &request.root, &dataset, &candidates)?,
        None => None,
    };
    let origin = targets.origin();
    let basis = targets.as_basis();
    let labels = label_names(config, &dataset.outputs)?;
    let exact = match targets.answer_space() {
        Some(space) => ExactDecoder::new(config, space, &labels)?,
        None => None,
    };
    let decoder = Decoder { candidates: &candidates, origin: &origin, exact: exact.as_ref() };
    let evaluator = Evaluator::new(config, &request.root, &dataset, basis, decoder)?;
    let space = targets.fingerprint();
    let lexicon = words.as_ref().map(PairWords::lexicon);
    let data = fingerprint(&dataset, targets.coordinates(), &candidates, lexicon)?;
    ranks.check_same("fingerprint of the data and the targets", &data)?;
    if resumed.is_some() {
        let first = || -> Result<Option<Report>, Error> {
            Folder::check_data(&path, &data)?;
            changes::record(&path, config, &changes, &space)?;
            save_data_folder(&path, &request.root)?;
            Folder::finished(&path)
        };
        if let Some(report) = of_first(ranks, first)? {
            info!(path = %path.display(), "the run is complete");
            return Ok(Trained { path, report, advice: Vec::new() });
        }
    }
    let opener = |files: &PreparationFiles| match resumed {
        _ if !ranks.is_first() => Ok(Folder::open(&path, space.clone(), files)),
        None => {
            let save = |here: &Path| {
                targets.save(here)?;
                dataset.outputs.features.save(&here.join(FEATURES))?;
                scaling::save(scaling.as_ref(), here)?;
                save_data_folder(here, &request.root)?;
                save_labels(here, &labels)
            };
            let folder =
                Folder::create(&path, config, &candidates, files, space.clone(), &data, save)?;
            Ok(folder.logging(&config.logging))
        }
        Some(path) => Ok(Folder::open(path, space.clone(), files).logging(&config.logging)),
    };
    let started = Instant::now();
    let task = &mut Task {
        config,
        dataset: &dataset,
        targets: &targets,
        evaluator: &evaluator,
        device: &device,
        observer,
        force: request.force,
        systems,
        ranks,
        opener: &opener,
        resumed,
        folder: None,
    };
    let fitted = learner.fit(task)?;
    own.clear();
    let mut advice = Vec::new();
    let report = of_first(ranks, || {
        let (report, lines) =
            finish(request, task, fitted, &candidates, words.as_ref(), &data, started)?;
        advice = lines;
        Ok(report)
    })?;
    Ok(Trained { path, report, advice })
}

/// What rank 0 does after the fit: it completes the run directory, and makes the report and the advice.
fn finish(
    request: &Request,
    task: &mut Task,
    fitted: Fitted,
    candidates: &Candidates,
    words: Option<&PairWords>,
    data: &str,
    started: Instant,
) -> Result<(Report, Vec<String>), Error> {
    let Task { config, dataset, evaluator, resumed, .. } = *task;
    let added = match resumed {
        Some(path) => with_added(path)?,
        None => None,
    };
    let Fitted { predictor, saved, held_out, summary, mut choices, advice: own } = fitted;
    let mut folder = match task.folder.take() {
        Some(folder) => folder,
        None => (task.opener)(&PreparationFiles::new(predictor.preparation()?)?)?,
    };
    if !saved {
        predictor.save(&mut folder)?;
    }
    let split = config.evaluation.split;
    match &held_out {
        // hubs of candidates that are added are computed from these too, for which 16 bits are enough
        Some(held_out) if config.decoding.held_out || config.decoding.hubs.is_some() => {
            folder.save_held_out(held_out, &dataset.train.ids, config.decoding.held_out)?;
        }
        None if config.decoding.held_out => {
            let allowed =
                "false: this encoder gives no answers to training inputs that it has not seen";
            return Err(Error::value("decoding.held_out", true, allowed));
        }
        Some(_) | None => {}
    }
    let hubs = config.decoding.hubs.as_ref().zip(held_out.as_ref());
    // predictions for the validation split are needed for hubs, for the log and often for the
    // report
    let validation = match hubs.is_some() || summary.is_some() || split == SplitName::Validation {
        true => Some(predictor.predict(&dataset.validation)?),
        false => None,
    };
    let corrected = match (hubs, &validation) {
        (Some((hubs, held_out)), Some(z)) => {
            let (corrected, chosen) = correct(hubs, evaluator, candidates, &held_out.answers, z)?;
            choices.extend(chosen);
            if added.is_none() {
                folder.replace_candidates(&corrected, data)?;
            }
            Some(corrected)
        }
        _ => None,
    };
    let candidates: Cow<Candidates> = match corrected {
        Some(corrected) => Cow::Owned(corrected),
        None => Cow::Borrowed(candidates),
    };
    let look = match (&config.decoding.second_look, &held_out) {
        (Some(settings), Some(held_out)) => {
            let (look, part) = second_look::fit(settings, words, task, &candidates, held_out)?;
            folder.save_second_look(&look)?;
            if let Some(part) = part {
                folder.save_held_part(&part, &dataset.train.ids)?;
            }
            Some(look)
        }
        _ => None,
    };
    // everything is chosen and fitted without candidates that were added to the run, as it was before
    let candidates = match added {
        Some(added) => {
            let answers = held_out.as_ref().map(|held_out| held_out.answers.as_slice());
            let all = hubs::of_all(added, &candidates, answers)?;
            folder.replace_candidates(&all, data)?;
            Cow::Owned(all)
        }
        None => candidates,
    };
    let candidates = match look {
        Some(look) => Cow::Owned(candidates.into_owned().with_second_look(look)?),
        None => candidates,
    };
    let evaluator = &evaluator.among(&candidates)?;
    if let (Some(summary), Some(z)) = (&summary, &validation) {
        let metrics = &evaluator.evaluate(SplitName::Validation, z)?.scores;
        task.observer.event(&Event::Solved { summary, metrics, took: started.elapsed() });
        folder.scalars(0, &validation_scalars(metrics).collect::<Vec<_>>())?;
    }
    let z = match (split, validation) {
        (SplitName::Validation, Some(z)) => z,
        _ => predictor.predict(evaluator.reported())?,
    };
    let (report, drawings) = evaluator.report(&z)?;
    if let Some(svg) = drawings {
        folder.save_examples(&svg)?;
    }
    Folder::finish(folder.path(), config, &report)?;
    let evidence = Evidence {
        config,
        dataset,
        report: &report,
        choices: &choices,
        log: &folder.log_lines()?,
        predictions: &|| evaluator.predictions(&z),
        larger_sketch: &|| larger_sketch(config, &request.root, dataset),
    };
    let mut advice = advice(&evidence).unwrap_or_else(|error| {
        warn!("no advice: {error}");
        Vec::new()
    });
    advice.extend(own);
    Ok((report, advice))
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
