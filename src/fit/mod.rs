//! From a configuration to a trained run.

mod adapted;
mod advice;
mod ensemble;
pub(crate) mod hubs;
mod plan;
mod resume;
mod second_look;

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Instant;

use burn::tensor::Device;
use dsokr_core::Processes;
use dsokr_data::{DataRoot, Dataset, SplitName};
use dsokr_machines::{LastSystem, Scaling};
use dsokr_nn::Processor;
use dsokr_train::{Event, Observer};
use tracing::{info, warn};

use crate::config::Checked;
use crate::decoding::beyond::BeyondSearch;
use crate::decoding::evaluator::Evaluator;
use crate::error::{Error, ensure};
use crate::fit::advice::{Evidence, advice};
use crate::learners::learner::{Fit, Fitted, Task};
use crate::learners::memory;
use crate::metrics::constants::Constants;
use crate::run_dir::candidates::with_added;
use crate::run_dir::{
    EXAMPLES, Folder, HELD_OUT, HELD_OUT_PART, HeldOut, Report, SECOND_LOOK, SECOND_LOOK_PART,
    SolvedLine, StoredAnswers, place_of, save_data_folder, validation_scalars, write_text,
};
use crate::targets::TrainingOutputs;
use adapted::adapted;
pub use plan::Plan;
use resume::Resumed;
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

    /// The run directory that it makes or resumes: [`out`](Self::out), else `runs/<name>`, or the first free one of
    /// `runs/<name>-2`, `-3`, …; to resume, the last one that exists.
    ///
    /// # Errors
    /// [`Error::RunExists`] for a folder that exists, unless it is to be resumed.
    pub fn place(&self) -> Result<PathBuf, Error> {
        place_of(&self.config.name, self.out.as_deref(), self.resume)
    }

    /// Runs it; `observer` is called on every event.
    ///
    /// The [`Processes`] of the scope share the training of one neural encoder or kernel machine
    /// ([`Abilities::shares_training`](crate::Abilities::shares_training)): all of them call this function with
    /// the same configuration and the same data, only rank 0 writes the run directory, and all return its
    /// report. The run directory must be on a file system that all of them read.
    ///
    /// # Errors
    /// As [`fit`].
    pub fn run(&self, observer: &mut dyn Observer) -> Result<Trained, Error> {
        let ranks = Processes::current();
        // work that does not get them as an argument is done by each rank for itself
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

/// Refuses what several processes cannot share, and ranks whose configuration or version differ.
fn check_shared(config: &Checked, ranks: &Processes) -> Result<(), Error> {
    ranks.check_same("version", env!("CARGO_PKG_VERSION"))?;
    ranks.check_same("configuration's fingerprint", &config.fingerprint()?)?;
    let key = "number of processes";
    let found = ranks.size();
    let allowed = "1 for an ensemble; each of its members may have several";
    ensure(config.ensemble.is_none(), key, found, allowed)?;
    let allowed = "1 for this encoder; neural encoders share their training, and kernel machines \
                   with encoder.solver.name = \"sketched\", \"conjugate-gradients\" or \
                   \"averaged\" their fit";
    ensure(config.encoder.abilities().shares_training, key, found, allowed)
}

/// Fits one model; `shared` keeps the factored system for the next member of an ensemble.
fn run_as(
    request: &Request,
    ranks: &Processes,
    shared: Option<&LastSystem>,
    observer: &mut dyn Observer,
) -> Result<Trained, Error> {
    let &Request { config, ref root, ref out, resume, processor, force } = request;
    let (path, exists) = ranks.of_first(|| {
        let path = place_of(&config.name, out.as_deref(), resume)?;
        let exists = path.exists();
        Ok::<_, Error>((path, exists))
    })?;
    let resumed = (resume && exists).then_some(path.as_path());
    let device = open_device(config, processor)?;
    let read = load(config, root, force)?;
    let config = &adapted(config, &read.0)?;
    let (dataset, scaling) =
        if config.output == request.config.output { read } else { load(config, root, force)? };
    let locked = resumed.filter(|_| ranks.is_first()).map(|path| Resumed::lock(path, config));
    let locked = ranks.agree(locked.transpose())?;

    let constants = Constants::fit(&dataset, config.encoder.abilities().levels);

    let started = Instant::now();
    let own = LastSystem::default();
    let systems = shared.unwrap_or(&own).clone();
    let outputs = TrainingOutputs::new(config, (&dataset, root), resumed, systems);
    let decoding = &config.decoding;
    let n = outputs.len();
    decoding.hubs.iter().try_for_each(|hubs| hubs::check(hubs, n))?;
    decoding.second_look.iter().try_for_each(|look| second_look::check(look, n))?;
    let mut prepared = config.encoder.learner().prepare(&outputs)?;
    let mut needs = memory::of_outputs(config, &dataset);
    if outputs.lacks_weights() {
        needs.extend(prepared.needs(memory::coordinates(config, &dataset), &device));
    }
    memory::check(&needs, force)?;
    let mut targets = ranks.scope(|| prepared.targets(&outputs))?;
    loop {
        let candidates = ranks.scope(|| targets.space.candidates(&dataset.outputs))?;
        let data = (root, &dataset);
        let space = &targets.space;
        let scaling = scaling.as_ref();
        let constants = constants.as_ref();
        let evaluator = Evaluator::new(config, data, space, &candidates, scaling, constants)?;
        if let Some(refined) =
            ranks.scope(|| prepared.refined_targets(&targets, &evaluator, force))?
        {
            targets = refined;
            continue;
        }
        info!(
            kernel = config.output.kernel_name(),
            rank = targets.space.width(),
            sketched = targets.space.basis().is_some(),
            candidates = candidates.len(),
            distinct = candidates.distinct(),
            seconds = started.elapsed().as_secs_f64(),
            "targets made"
        );
        let words = match &config.decoding.second_look {
            Some(look) => PairWords::read(look, root, &dataset, &candidates)?,
            None => None,
        };
        let lexicon = words.as_ref().map(PairWords::lexicon);
        let data = targets.fingerprint(&dataset, &candidates, lexicon)?;
        ranks.check_same("fingerprint of the data and the targets", &data)?;
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
            data: &data,
            folder: None,
        };
        return trained(prepared.as_ref(), task, locked.as_ref(), words.as_ref(), &own);
    }
}

/// The run of a task; `own` is the factored system that nothing needs after the fit.
fn trained(
    prepared: &dyn Fit,
    task: &mut Task,
    locked: Option<&Resumed>,
    words: Option<&PairWords>,
    own: &LastSystem,
) -> Result<Trained, Error> {
    let Task { config, ranks, data, path, .. } = *task;
    if task.resumed {
        let report = ranks.of_first(|| {
            Folder::check_data(path, data)?;
            if let Some(locked) = locked {
                locked.record(path, config, Some(&task.targets.space.fingerprint()))?;
            }
            save_data_folder(path, task.evaluator.root)?;
            Folder::finished(path)
        })?;
        if let Some(report) = report {
            info!(path = %path.display(), "the run is complete");
            return Ok(Trained { path: path.into(), report, advice: Vec::new() });
        }
    }
    let started = Instant::now();
    let fitted = prepared.fit(task)?;
    own.clear();
    let done = || finish(prepared, task, fitted, words, started);
    let (report, advice) = ranks.of_first(done)?;
    Ok(Trained { path: path.into(), report, advice })
}

/// Completes the run directory of a fitted model; the report, and lines of advice.
fn finish(
    prepared: &dyn Fit,
    task: &mut Task,
    fitted: Fitted,
    words: Option<&PairWords>,
    started: Instant,
) -> Result<(Report, Vec<String>), Error> {
    let Task { config, dataset, evaluator, data, path, resumed, .. } = *task;
    let root = evaluator.root;
    let made = evaluator.decoder.candidates;
    let added = if resumed { with_added(path)? } else { None };
    let Fitted { predictor, saved, held_out, left_out, summary, mut choices, advice: own } = fitted;
    let mut folder = match task.folder.take() {
        Some(folder) => folder,
        None => task.begin(predictor.preparation()?)?.clone(),
    };
    if !saved {
        predictor.save(&mut folder)?;
    }
    let held_out = held_out.map(|own| StoredAnswers::new(own, &dataset.train.ids, None));
    save_held_out(task, &folder, held_out.as_ref())?;
    let split = config.evaluation.split;
    let hubs = config.decoding.hubs.is_some() && held_out.is_some();
    // predictions for the validation split are needed for hubs, for the log and often for the
    // report
    let needed = hubs || summary.is_some() || split == SplitName::Validation;
    let validation = if needed && !dataset.validation.ids.is_empty() {
        Some(predictor.predict(&dataset.validation)?)
    } else {
        None
    };
    let held_out = held_out.map(|stored| stored.held_out);
    let candidates = match (&config.decoding.hubs, &held_out, &validation) {
        (Some(hubs), Some(HeldOut { answers, .. }), Some(z)) => {
            let (corrected, chosen) = hubs::correct(hubs, evaluator, made, answers, z)?;
            choices.extend(chosen);
            if added.is_none() {
                folder.replace_candidates(&corrected, data)?;
            }
            Cow::Owned(corrected)
        }
        _ => Cow::Borrowed(made),
    };
    let look = match (&config.decoding.second_look, &held_out) {
        (Some(settings), Some(held_out)) => {
            let parts = second_look::answered(settings, prepared, task, left_out)?;
            let (look, part) =
                second_look::fit(settings, words, &parts, task, &candidates, held_out)?;
            folder.save_second_look(SECOND_LOOK, &look)?;
            if let Some((answers, look)) = part {
                folder.save_second_look(SECOND_LOOK_PART, &look)?;
                answers.save(&folder.path().join(HELD_OUT_PART), true)?;
            }
            Some(look)
        }
        _ => None,
    };
    let answers = held_out.as_ref().map(|held_out| held_out.answers.as_slice());
    // everything is chosen and fitted without candidates that were added to the run, as it was before
    let candidates = match added {
        Some(added) => {
            let all = hubs::of_all(added, &candidates, answers)?;
            folder.replace_candidates(&all, data)?;
            Cow::Owned(all)
        }
        None => candidates,
    };
    let look = look.map(|look| look.among(&candidates)).transpose()?;
    let evaluator = &evaluator.among(&candidates, look.as_ref())?;
    if let Some(summary) = &summary
        && let Some(z) = &validation
    {
        let metrics = &evaluator.evaluate(SplitName::Validation, z)?.scores;
        let took = started.elapsed();
        task.observer.event(&Event::Solved { summary, metrics, scores: metrics, took });
        folder.log_solved(&SolvedLine::new(took.as_secs_f64(), metrics.clone()))?;
        folder.scalars(0, &validation_scalars(metrics).collect::<Vec<_>>())?;
    }
    let z = match (split, validation) {
        (SplitName::Validation, Some(z)) => z,
        _ => predictor.predict(evaluator.reported())?,
    };
    let features = &dataset.outputs.features;
    let search =
        |settings| BeyondSearch::of_training(settings, config, &candidates, features, answers);
    let search = config.decoding.beyond.as_ref().map(search).transpose()?;
    let (report, drawings) = evaluator.report(&z, search.as_ref())?;
    if let Some(svg) = drawings {
        write_text(&folder.path().join(EXAMPLES), &svg)?;
    }
    Folder::finish(folder.path(), config, &report)?;
    let evidence = Evidence {
        config,
        root,
        dataset,
        report: &report,
        choices: &choices,
        log: &Folder::log(folder.path())?.unwrap_or_default(),
        evaluator,
        z: &z,
    };
    let mut advice = advice(&evidence).unwrap_or_else(|error| {
        warn!("no advice: {error}");
        Vec::new()
    });
    advice.extend(own);
    Ok((report, advice))
}

/// Writes answers to training inputs that were held out, where the configuration or hubs need them.
fn save_held_out(
    task: &Task,
    folder: &Folder,
    held_out: Option<&StoredAnswers>,
) -> Result<(), Error> {
    let decoding = &task.config.decoding;
    match held_out {
        // hubs of candidates that are added are computed from these too, for which 16 bits are enough
        Some(held_out) if decoding.held_out || decoding.hubs.is_some() => {
            held_out.save(&folder.path().join(HELD_OUT), decoding.held_out)
        }
        Some(_) => Ok(()),
        None => {
            let allowed =
                "false: this encoder gives no answers to training inputs that it has not seen";
            ensure(!decoding.held_out, "decoding.held_out", true, allowed)
        }
    }
}

/// The device of the request: one that does not exist is reported before data are read.
fn open_device(config: &Checked, processor: Processor) -> Result<Device, Error> {
    let device = processor.open()?;
    if config.encoder.abilities().closed_form && processor != Processor::Cpu {
        let device = processor.to_string();
        let message = "kernel machines need the CPU";
        return Err(dsokr_nn::Error::Device { device, message: message.into() }.into());
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
    let (dataset, scaling) = config.load_data(root)?;
    info!(
        train = dataset.train.ids.len(),
        validation = dataset.validation.ids.len(),
        outputs = dataset.outputs.ids.len(),
        candidates = dataset.outputs.candidates.len(),
        "data loaded"
    );
    Ok((dataset, scaling))
}
