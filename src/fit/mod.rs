//! From a configuration to a trained run.

mod advice;
mod decoding;
mod ensemble;
pub(crate) mod held_out;
pub(crate) mod hubs;
mod job;
mod pace;
mod plan;
mod report;
mod reranker;
mod resume;
mod validation;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use burn::tensor::Device;
use dsokr_core::Processes;
use dsokr_data::{DataRoot, Split};
use dsokr_machines::LastSystem;
use dsokr_nn::Processor;
use dsokr_train::Observer;

use self::decoding::{Corrections, FittedModel};
use self::job::{Begun, Job, check_shared};
use self::validation::ValidationPredictions;
use crate::config::Checked;
use crate::decoding::evaluator::{Evaluator, SplitLists};
use crate::error::{Error, ensure_run};
use crate::run::{Run, ensemble_of};
use crate::run_dir::{Report, RunDir, RunLock, check_output, reserve};

pub use plan::Plan;

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
    /// Start even if the estimated memory exceeds what is available.
    pub force: bool,
}

/// A trained run and its final report.
#[derive(Debug)]
pub struct Trained {
    /// The run: it searches, and evaluates other queries.
    pub run: Run,
    /// Metrics, chance and perfect h.
    pub report: Report,
    /// Advice on the configuration and the data, a line each, where some applies; none for a run that
    /// was complete before.
    pub advice: Vec<String>,
    /// A short text of the data for a first search, or the beginning of a long one; none where inputs are not plain texts, and
    /// for an ensemble that was complete before, whose data are not read.
    pub example: Option<String>,
}

/// Fits the learner of a configuration to its data, writes the run directory `out`, and evaluates it.
///
/// # Errors
/// Everything in [`Error`]. Nothing is written before data, basis and inputs have been accepted.
pub fn fit(config: &Checked, out: impl Into<PathBuf>) -> Result<Trained, Error> {
    Request { out: Some(out.into()), ..Request::new(config)? }.run(&mut ())
}

impl<'a> Request<'a> {
    /// Requests a new run under `runs/`, trained on the CPU, with the default data root.
    ///
    /// # Errors
    /// As [`Checked::data_root`].
    pub fn new(config: &'a Checked) -> Result<Self, Error> {
        let root = config.data_root(None)?;
        Ok(Self { config, root, out: None, resume: false, processor: Processor::Cpu, force: false })
    }

    /// Finds the run directory that it makes or resumes, for [`processes`](Self::run_shared) that share the training.
    ///
    /// That is [`out`](Self::out), else `runs/<name>`, or the first free one of `runs/<name>-2`, `-3`, …; to resume, the last one
    /// that exists. The place of a new run is then taken: no other process makes a run there.
    ///
    /// # Errors
    /// [`Error::RunExists`] for a folder that exists, unless it is to be resumed; [`dsokr_core::Error::Value`] for a new one in
    /// the run directory of another run; [`dsokr_core::Error::File`] for a member of a complete ensemble, and for a run that
    /// another process makes; what several processes cannot share; a place in which nothing can be written.
    pub fn reserve(&self, processes: &Processes) -> Result<Reserved<'a>, Error> {
        check_shared(self.config, processes)?;
        let mut lock = None;
        let out = processes.of_first(|| {
            self.check_out()?;
            let (out, taken) = reserve(&self.config.name, self.out.as_deref(), self.resume)?;
            lock = taken.map(Arc::new);
            Ok::<_, Error>(out)
        })?;
        let request = Self { out: Some(out.clone()), ..self.clone() };
        Ok(Reserved { request, out, processes: processes.clone(), lock })
    }

    /// Refuses a new run in the run directory of another, whose archive would hold it, and a member of a complete ensemble, whose
    /// weights and metrics are those of the member as it is.
    fn check_out(&self) -> Result<(), Error> {
        let Some(out) = &self.out else { return Ok(()) };
        if !out.exists() {
            return check_output("out", out);
        }
        let Some(ensemble) = ensemble_of(out)? else { return Ok(()) };
        let message = format_args!(
            "a member of the ensemble {}, which is complete: its weights and metrics are those of the member as it is; train a \
             copy of the member, or the ensemble",
            ensemble.display()
        );
        ensure_run(RunDir::at(&ensemble).report()?.is_none(), out, message)
    }

    /// Runs it; `observer` is called on every event.
    ///
    /// # Errors
    /// As [`fit`].
    pub fn run(&self, observer: &mut dyn Observer) -> Result<Trained, Error> {
        self.run_shared(&Processes::default(), observer)
    }

    /// Runs it for several processes, which share the training of one neural encoder or kernel machine
    /// ([`Abilities::shares_training`](crate::Abilities::shares_training)).
    ///
    /// All of them call this function with the same configuration and the same data. Rank 0 alone writes the run directory,
    /// which must be on a file system that all of them read, and all return its report.
    ///
    /// # Errors
    /// As [`fit`].
    pub fn run_shared(
        &self,
        processes: &Processes,
        observer: &mut dyn Observer,
    ) -> Result<Trained, Error> {
        self.reserve(processes)?.run(observer)
    }
}

/// A [`Request`] whose place is known. That of a new run is taken for it.
#[derive(Clone, Debug)]
pub struct Reserved<'a> {
    request: Request<'a>,
    out: PathBuf,
    processes: Processes,
    lock: Option<Arc<RunLock>>,
}

impl Reserved<'_> {
    /// Returns the run directory that it makes or resumes.
    pub fn path(&self) -> &Path {
        &self.out
    }

    /// Runs the request, as [`Request::run_shared`] does.
    ///
    /// # Errors
    /// As [`fit`].
    pub fn run(self, observer: &mut dyn Observer) -> Result<Trained, Error> {
        let Self { request, processes, lock, .. } = self;
        match &request.config.ensemble {
            Some(settings) => ensemble::run(&request, settings, lock, observer),
            None => fit_one(&request, &processes, lock, None, observer),
        }
    }
}

/// Fits one model. Everything that can be refused is refused before stage 5 writes anything; stage 4 may read
/// pretrained weights. `lock` is the right to make the run, where that has been taken; `shared` keeps the factored system for
/// the next member of an ensemble.
fn fit_one(
    request: &Request,
    ranks: &Processes,
    lock: Option<Arc<RunLock>>,
    shared: Option<&LastSystem>,
    observer: &mut dyn Observer,
) -> Result<Trained, Error> {
    let mut job = Job::open(request, ranks, lock)?;

    // 1. load: pairs, outputs, device
    let problem = job.load(request, shared)?;
    job.lock(&problem.config)?;
    let corrections = Corrections::plan(&problem)?;

    // 2. prepare: the learner reads the training inputs once, without those that its model is to predict unseen
    let started = Instant::now();
    let learned = corrections.further.problem_of_model(&problem)?;
    let mut learner =
        job.data_stage("inputs", || learned.config.encoder.learner().prepare(&learned))?;
    job.afford(&plan::needs_of_targets(&problem, &*learner))?;

    // 3. targets: where outputs lie, and every candidate with them
    let targets = job.data_stage("targets", || learner.targets(&problem))?;
    let placed = job.data_stage("candidates", || {
        targets.space.candidates(&problem.dataset.outputs, &problem.ranks)
    })?;
    let lists = SplitLists::checked(&problem, &targets.space, &placed)?;
    let corrections = job.stage("texts", || corrections.with_texts(&placed))?;
    report::log_targets(&problem, &targets, &placed, started);
    let example = report::example(&problem);

    // 4. model: where the fit starts from
    let needs = plan::needs_of_fit(&problem, &corrections, &*learner, targets.space.width());
    job.afford(&needs)?;
    let _pace = job.pace(&[needs.as_slice(), &problem.needs(1.0)].concat());
    let learned_targets = corrections.further.targets_of_model(&targets)?;
    learner.start(&learned_targets)?;

    // 5. the run directory: new, or that of the same data, or complete already; candidates are read from it
    let begun = job.begin(&problem, &targets, &placed, &corrections, &lists, &*learner)?;
    let Begun::Unfinished(run) = begun else {
        let trained = Trained::open(job.run(), &problem.device, Vec::new(), example)?;
        if job.is_first() {
            trained.complete_card(job.run(), &problem.config, Some(&problem.dataset.validation))?;
        }
        return Ok(trained);
    };
    let mut run = *run;
    let candidates = job.stored(&run, placed)?;
    let evaluator = Evaluator::with_lists(&problem, &targets.space, &candidates, lists);

    // 6. fit
    let started = Instant::now();
    let mut fitted =
        job.stage("fit", || learner.fit(&learned_targets, &evaluator, Some(&mut run), observer))?;
    let fit_time = started.elapsed();
    job.release(&problem, shared);

    // by the first process, for all
    let ((report, advice), decoding) = job.first("decoding and report", || {
        // 7. decoding: held-out predictions, hubs, the reranker and added candidates
        let mut run = fitted.save(run.clone())?;
        let further = &corrections.further;
        let held_out =
            further.predict_held_out(&targets, &evaluator, &mut fitted, Some(&run), observer)?;
        let validation = ValidationPredictions::new(&evaluator, &fitted)?;
        let decoding = corrections.fit(&FittedModel {
            learner: &*learner,
            targets: &targets,
            evaluator: &evaluator,
            held_out: &held_out,
            validation: &validation,
            run: &run,
        })?;

        // 8. report: on what is predicted with all of these
        let evaluator = decoding.evaluator(&evaluator)?;
        report::tell_validation(&fitted, &validation, &evaluator, fit_time, &mut run, observer)?;
        let held_out = held_out.pairs.as_ref();
        let reported = report::report(&evaluator, &fitted, validation, held_out, &run)?;
        let measured_on = evaluator.measured_on()?;
        run.finish(&problem.config, &reported.report, measured_on, problem.learned_from())?;
        let advice = reported.advice(&evaluator, &fitted, &decoding, &run)?;
        Ok(((reported.report, advice), decoding))
    })?;
    let Some(decoding) = decoding else {
        return Trained::open(&run, &problem.device, advice, example);
    };
    let model = decoding.into_run(&problem, &run, targets, candidates, fitted)?;
    let validation = Some(&problem.dataset.validation);
    if let Some(shown) = report::card_example(&model, example.as_deref(), validation) {
        run.show_example(&problem.config, &report, &shown)?;
    }
    Ok(Trained { run: model, report, advice, example })
}

impl Trained {
    /// Reads a trained run from its directory.
    fn open(
        run: &RunDir,
        device: &Device,
        advice: Vec<String>,
        example: Option<String>,
    ) -> Result<Self, Error> {
        let path = run.path();
        let report = run.report()?.ok_or_else(|| Error::run(path, "the run is not complete"))?;
        let run = Run::open_all(&[path.to_path_buf()], device)?;
        Ok(Self { run, report, advice, example })
    }

    /// Writes an example into the card of a run that was complete before, if a process was killed before it did.
    fn complete_card(
        &self,
        run: &RunDir,
        config: &Checked,
        validation: Option<&Split>,
    ) -> Result<(), Error> {
        if !run.lacks_example(config, &self.report)? {
            return Ok(());
        }
        match report::card_example(&self.run, self.example.as_deref(), validation) {
            Some(shown) => run.show_example(config, &self.report, &shown),
            None => Ok(()),
        }
    }

    /// Returns the run directory.
    pub fn path(&self) -> &Path {
        self.run.path().unwrap_or(Path::new("."))
    }
}
