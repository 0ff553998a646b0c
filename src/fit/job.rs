//! The job of a fit: the processes that share it, the place of its run, and what a resumed run may change.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use dsokr_core::{Cancellation, Processes};
use dsokr_decode::Candidates;
use dsokr_machines::{LastSystem, Solver};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing::info;

use super::Request;
use super::decoding::Corrections;
use super::pace::Pace;
use super::plan::seconds_of;
use super::resume::Resumed;
use crate::config::Checked;
use crate::decoding::evaluator::SplitLists;
use crate::error::{Error, ensure};
use crate::learners::learner::Fit;
use crate::run_dir::{
    CANDIDATES, FEATURES, Report, RunDir, RunLock, named, place_of, save_constants,
    save_data_folder, save_input_columns, save_polarities, save_scaling,
};
use crate::targets::memory::{Budget, Need};
use crate::targets::{OutputTargets, Problem};

/// The job of a fit. Nothing else in a fit knows which process it is, whether the run is a resumed one, and where it
/// lies.
pub(super) struct Job {
    ranks: Processes,
    run: RunDir,
    /// Whether the run exists and is resumed.
    resumes: bool,
    /// The right to write the resumed run, and what is changed in its configuration; on the first rank alone.
    resumed: Option<Resumed>,
    budget: Budget,
    begun: Instant,
}

/// A run directory that a job has begun.
pub(super) enum Begun {
    /// The fit is still to be made.
    Unfinished(Box<RunDir>),
    /// The resumed run is complete.
    Complete,
}

impl Job {
    /// Finds the place of the run, for the processes that share the fit; `lock` is the right to make it, where that has been
    /// taken.
    ///
    /// # Errors
    /// [`Error::RunExists`] for a run that is not to be resumed.
    pub fn open(
        request: &Request,
        ranks: &Processes,
        lock: Option<Arc<RunLock>>,
    ) -> Result<Self, Error> {
        let (path, exists) = ranks.of_first(|| {
            let path = place_of(&request.config.name, request.out.as_deref(), request.resume)?;
            let exists = path.exists();
            Ok::<_, Error>((path, exists))
        })?;
        Ok(Self {
            ranks: ranks.clone(),
            run: RunDir::at(path).reserved(lock),
            resumes: request.resume && exists,
            resumed: None,
            budget: Budget { force: request.force },
            begun: Instant::now(),
        })
    }

    /// Reads the problem of the request, for these processes and this run; `shared` keeps the factored system for others.
    ///
    /// # Errors
    /// As [`Problem::load`].
    pub fn load(
        &mut self,
        request: &Request,
        shared: Option<&LastSystem>,
    ) -> Result<Problem, Error> {
        let Request { config, ref root, processor, .. } = *request;
        let saved = self.resumes.then(|| self.run.clone());
        let problem = self
            .stage("data", || Problem::load(&self.ranks, config, root, processor, self.budget))?;
        self.run = self.run.clone().learning_from(problem.tables.as_ref().clone());
        Ok(problem.resuming(saved).sharing(shared.cloned().unwrap_or_default()))
    }

    /// Takes the right to write a resumed run, whose configuration may differ from this one in a few settings.
    ///
    /// # Errors
    /// [`Error::Changed`] for other differences; a run that another process writes.
    pub fn lock(&mut self, config: &Checked) -> Result<(), Error> {
        let locks = self.resumes && self.ranks.is_first();
        let resumed = locks.then(|| Resumed::lock(&self.run, config)).transpose();
        self.resumed = self.ranks.agree(resumed)?;
        Ok(())
    }

    /// Returns whether this process is the one that writes the run.
    pub fn is_first(&self) -> bool {
        self.ranks.is_first()
    }

    /// Returns the run directory, which need not exist.
    pub fn run(&self) -> &RunDir {
        &self.run
    }

    /// Refuses needs that exceed the memory that is available.
    ///
    /// # Errors
    /// [`Error::Memory`], unless the request forces the fit.
    pub fn afford(&self, needs: &[Need]) -> Result<(), Error> {
        self.budget.afford(needs)
    }

    /// Watches the fit on the first process, which says once if it takes longer than these needs of what is left of it take at
    /// the speeds measured now. Nothing is said of short fits, nor of those on a GPU.
    pub fn pace(&self, needs: &[Need]) -> Option<Pace> {
        if !self.ranks.is_first() {
            return None;
        }
        let seconds = seconds_of(needs)?;
        Pace::watch(self.begun, self.begun.elapsed().as_secs_f64() + seconds)
    }

    /// Gives the memory of the factored system back, which no later member of an ensemble shares.
    pub fn release(&self, problem: &Problem, shared: Option<&LastSystem>) {
        if shared.is_none() {
            problem.factors.clear();
        }
    }

    /// Does a part of the fit as a stage of that name, which is shown while it runs.
    pub fn stage<T>(&self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let _stage = Cancellation::current().stage(name, 0);
        work()
    }

    /// Does a stage of the fit that makes something of the data. Where the run is resumed, rows that do not fit those that it
    /// holds are of other data.
    ///
    /// # Errors
    /// An error of `work`; [`Error::DataChanged`] in the place of rows that do not fit.
    pub fn data_stage<T>(
        &self,
        name: &'static str,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.stage(name, work).map_err(|error| match error {
            Error::Core(dsokr_core::Error::Shape(_)) if self.resumes => {
                self.run.data_changed().unwrap_or_else(|error| error)
            }
            other => other,
        })
    }

    /// Does a stage of the fit on the first process alone. `work` returns a result that all processes share, and one that the
    /// first keeps; the others have none of it.
    ///
    /// # Errors
    /// An error of `work`, on all processes.
    pub fn first<Shared: Serialize + DeserializeOwned, Kept>(
        &self,
        name: &'static str,
        work: impl FnOnce() -> Result<(Shared, Kept), Error>,
    ) -> Result<(Shared, Option<Kept>), Error> {
        let mut kept = None;
        let shared = self.stage(name, || {
            self.ranks.of_first(|| {
                let (shared, kept_by_first) = work()?;
                kept = Some(kept_by_first);
                Ok::<_, Error>(shared)
            })
        })?;
        Ok((shared, kept))
    }

    /// Opens the run directory: a new one with the files of the preparation, the space and the candidates, or that of a resumed
    /// run.
    ///
    /// A resumed run must have the same data, lexicon of the reranker's words and `lists` of candidates of validation queries,
    /// and its training must start from the same weights.
    ///
    /// # Errors
    /// [`Error::DataChanged`]; errors of the file system.
    pub fn begin(
        &self,
        problem: &Problem,
        targets: &OutputTargets,
        candidates: &Candidates,
        corrections: &Corrections,
        lists: &SplitLists,
        learner: &dyn Fit,
    ) -> Result<Begun, Error> {
        let files = learner.files()?;
        let lexicon = corrections.lexicon();
        let lists = lists.fingerprint_of_validation(candidates);
        let data =
            targets.fingerprint(&problem.dataset, candidates, lexicon, lists, &self.ranks)?;
        self.ranks.check_same("fingerprint of the data and the targets", &data)?;
        let run = self.run.clone().of_data(&data).in_space(&targets.space.fingerprint());
        let run = run.prepared(&files)?.starting_from(learner.initial_weights());
        if self.resumes {
            let report: Option<Report> =
                self.ranks.of_first(|| self.resume(problem, &run, candidates))?;
            if report.is_some() {
                info!(path = %run.path().display(), "the run is complete");
                return Ok(Begun::Complete);
            }
            let run = if self.ranks.is_first() { run.writing(&problem.config) } else { run };
            return Ok(Begun::Unfinished(Box::new(run)));
        }
        let created = candidates.written(&self.ranks, |writer| {
            run.create(&problem.config, &files, |here| {
                save_problem(here, problem, targets)?;
                let fingerprints = named([("basis", run.space()), ("data", &data)]);
                Ok(writer.save(&here.join(CANDIDATES), &fingerprints)?)
            })
        })?;
        // the other processes only read it
        let run = created.map_or(run, |created| created.writing(&problem.config));
        Ok(Begun::Unfinished(Box::new(run)))
    }

    /// Returns the candidates with the coordinates that lie in the run directory, so that no process holds those of its part. All
    /// processes call this.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn stored(&self, run: &RunDir, candidates: Candidates) -> Result<Candidates, Error> {
        self.ranks.agree(run.stored(candidates))
    }

    /// Writes what is changed into a resumed run, and returns its report, if it is complete.
    fn resume(
        &self,
        problem: &Problem,
        run: &RunDir,
        candidates: &Candidates,
    ) -> Result<Option<Report>, Error> {
        run.check_data()?;
        run.check_initial_weights(run.initial_weights())?;
        if let Some(resumed) = &self.resumed {
            resumed.record(run, &problem.config)?;
        }
        save_data_folder(run.path(), &problem.root)?;
        let report = run.report()?;
        if report.is_none() {
            run.describe_candidates(candidates)?;
        } else {
            // a kill may have come between the report and their removal
            run.forget_fits()?;
        }
        Ok(report)
    }
}

/// Writes what a new run keeps of its problem.
fn save_problem(folder: &Path, problem: &Problem, targets: &OutputTargets) -> Result<(), Error> {
    targets.space.save(folder)?;
    problem.dataset.outputs.features.save(&folder.join(FEATURES))?;
    save_scaling(problem.scaling.as_ref(), folder)?;
    save_constants(problem.constants.as_ref(), folder)?;
    save_data_folder(folder, &problem.root)?;
    save_input_columns(problem.dataset.input_columns.as_ref(), folder)?;
    if problem.config.encoder.abilities().spectra {
        save_polarities(&problem.polarities()?, folder)?;
    }
    Ok(())
}

/// Refuses what several processes cannot share, and ranks whose configuration or version differ.
pub(super) fn check_shared(config: &Checked, ranks: &Processes) -> Result<(), Error> {
    if ranks.size() == 1 {
        return Ok(());
    }
    ranks.check_same("version", env!("CARGO_PKG_VERSION"))?;
    ranks.check_same("configuration's fingerprint", &config.fingerprint()?)?;
    let key = "number of processes";
    let found = ranks.size();
    let allowed = "1 for an ensemble; each of its members may have several";
    ensure(config.ensemble.is_none(), key, found, allowed)?;
    let solvers = Solver::names(|abilities| abilities.shared);
    let allowed = format_args!(
        "1 for this encoder; neural encoders share their training, and kernel machines with encoder.solver.name = {solvers} \
         their fit"
    );
    ensure(config.encoder.abilities().shares_training, key, found, allowed)
}
