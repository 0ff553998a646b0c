//! Training the members of an ensemble.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use dsokr_core::{Cancellation, Processes};
use dsokr_machines::LastSystem;
use rayon::ThreadPoolBuilder;
use tracing::info;

use super::report::card_example;
use super::resume::{Resumed, are_settings};
use super::{Request, Trained, fit_one};
use crate::config::{Checked, EnsembleConfig, MemberWeights};
use crate::decoding::evaluation::report;
use crate::error::Error;
use crate::fit::advice::{AdvisedMember, ensemble_advice};
use crate::run::{Member, PredictedQueries, QueryRequest, Run, SplitUse};
use crate::run_dir::candidates::settle;
use crate::run_dir::{
    LearnedFrom, MEMBERS, RULE, Record, Report, RunDir, RunLock, inner, place_of, replace_json,
};
use dsokr_data::SplitName;
use dsokr_train::{Event, Observer};

/// Trains the members of an ensemble, each in a run directory of its own, and evaluates them together.
pub(super) fn run(
    request: &Request,
    settings: &EnsembleConfig,
    lock: Option<Arc<RunLock>>,
    observer: &mut dyn Observer,
) -> Result<Trained, Error> {
    // 1. open: the place of the run, its lock, and what a resumed run may change
    let job = EnsembleJob::open(request, lock)?;

    // 2. members: each is fitted as a run by itself, unless it is complete already
    let trained = job.train_members(settings.parallel, observer)?;
    let device = request.processor.open()?;
    let example = trained.iter().find_map(|member| member.example.clone());
    if job.run.report()?.is_some() {
        if job.run.path().join(RULE).exists() {
            let trained = Trained::open(&job.run, &device, Vec::new(), example)?;
            trained.complete_card(&job.run, request.config, None)?;
            return Ok(trained);
        }
        // without its rule it is combined and evaluated again
        job.run.reopen()?;
    }

    // 3. combine: the rule, with its weights
    let mut ensemble = Run::open_members(job.run.path(), request.config, &request.root, &device)?;
    ensemble.rule = settings.combination.clone();
    let queries = predict(&ensemble, request.config.evaluation.split)?;
    fit_weights(&mut ensemble, request.config, settings, &queries)?;
    replace_json(job.run.path(), RULE, &ensemble.rule)?;

    // 4. evaluate
    let report = evaluate(&ensemble, request.config, &queries, &trained)?;
    let measured_on = queries.measured_on(&ensemble)?;
    let learned_from = learned_from(&job)?;

    // 5. report: the files of the run, an example for its card, and advice
    job.run.finish(request.config, &report, measured_on, learned_from)?;
    if let Some(shown) = card_example(&ensemble, example.as_deref(), None) {
        job.run.show_example(request.config, &report, &shown)?;
    }
    let members = trained.iter().map(|member| AdvisedMember {
        name: &member.name,
        metrics: &member.report.metrics,
        advice: &member.advice,
    });
    let advice = ensemble_advice(request.config, &report, &members.collect::<Vec<_>>());
    Ok(Trained { run: ensemble, report, advice, example })
}

/// The job of training an ensemble: its members, and the place of its run, which nothing else writes meanwhile.
struct EnsembleJob<'a> {
    request: &'a Request<'a>,
    members: Vec<Checked>,
    run: RunDir,
    _lock: Option<Arc<RunLock>>,
    /// The factored system, for members with the same inputs.
    systems: LastSystem,
}

/// What is kept of the training of a member.
struct TrainedMember {
    name: String,
    report: Report,
    advice: Vec<String>,
    example: Option<String>,
}

impl<'a> EnsembleJob<'a> {
    /// Makes the run directory of an ensemble, or locks that of a resumed one and records what is changed in its configuration.
    /// `lock` is the right to make it, where that has been taken.
    fn open(request: &'a Request, lock: Option<Arc<RunLock>>) -> Result<Self, Error> {
        let config = request.config;
        let path = place_of(&config.name, request.out.as_deref(), request.resume)?;
        let members = config.members()?;
        let run = RunDir::at(&path).reserved(lock);
        let lock = if request.resume && path.exists() {
            let resumed = Resumed::lock(&run, config)?;
            settle(&path, &inner(&path, config)?)?;
            resumed.record_of_ensemble(&run, config)?;
            resumed.lock.map(Arc::new)
        } else {
            run.create_ensemble(config)?
        };
        Ok(Self { request, members, run, _lock: lock, systems: LastSystem::default() })
    }

    /// Trains the members, `parallel` of them at a time, and returns those that were not complete before, in the order of the
    /// configuration.
    fn train_members(
        &self,
        parallel: usize,
        observer: &mut dyn Observer,
    ) -> Result<Vec<TrainedMember>, Error> {
        let count = self.members.len();
        let trained: Vec<OnceLock<TrainedMember>> = (0..count).map(|_| OnceLock::new()).collect();
        let train = |at: usize, observer: &mut dyn Observer| {
            if let Some(member) = self.train_member(&self.members[at], observer)? {
                // each number comes once
                let _ = trained[at].set(member);
            }
            Ok(())
        };
        match parallel {
            1 => (0..count).try_for_each(|at| train(at, observer))?,
            threads => train_in_parallel(count, threads, observer, train)?,
        }
        Ok(trained.into_iter().filter_map(OnceLock::into_inner).collect())
    }

    /// Trains a member, or resumes its training; none where it is complete.
    fn train_member(
        &self,
        member: &Checked,
        observer: &mut dyn Observer,
    ) -> Result<Option<TrainedMember>, Error> {
        if Cancellation::current().is_cancelled() {
            return Err(Error::Interrupted { step: 0 });
        }
        info!("member {}", member.name);
        let out = self.run.path().join(MEMBERS).join(&member.name);
        // what is changed now holds for the members that go on
        let before = RunDir::at(&out);
        if out.exists() && before.report()?.is_some() && are_settings(&before, member)? {
            return Ok(None);
        }
        let request =
            Request { config: member, out: Some(out), resume: true, ..self.request.clone() };
        let trained = fit_one(&request, &Processes::default(), None, Some(&self.systems), observer);
        let Trained { report, advice, example, .. } =
            trained.map_err(|error| member_error(member, error))?;
        Ok(Some(TrainedMember { name: member.name.clone(), report, advice, example }))
    }
}

/// Returns the error of a member's training, with the member's name where its configuration is to be changed, or its steps are
/// told.
fn member_error(member: &Checked, error: Error) -> Error {
    if error.is_request() || matches!(error, Error::Interrupted { .. }) {
        Error::Member { name: member.name.clone(), source: Box::new(error) }
    } else {
        error
    }
}

/// Trains several members at a time, each on its share of the threads.
fn train_in_parallel(
    members: usize,
    threads: usize,
    observer: &mut dyn Observer,
    train: impl Fn(usize, &mut dyn Observer) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let next = AtomicUsize::new(0);
    let shared = Mutex::new(observer);
    let threads_each = rayon::current_num_threads().div_ceil(threads.max(1));
    let cancellation = Cancellation::current();
    let work = || {
        let numbers = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        numbers.take_while(|&at| at < members).try_for_each(|at| {
            // after an error the next member is past the last one, so the others take no further one
            train(at, &mut Shared(&shared)).inspect_err(|_| next.store(members, Ordering::Relaxed))
        })
    };
    // pools of their own: a process that forks has no threads of a pool that all share
    let in_pool = || {
        let pool = ThreadPoolBuilder::new().num_threads(threads_each).build().map_err(|error| {
            let allowed = format!("as many as the system starts: {error}");
            Error::value("ensemble.parallel", threads, allowed)
        })?;
        pool.install(|| cancellation.scope(work))
    };
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads.min(members)).map(|_| scope.spawn(in_pool)).collect();
        let ended = started.into_iter().map(|thread| match thread.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect::<Vec<_>>().into_iter().collect()
    })
}

/// Passes the events of one of several trainings on, except those of single steps.
struct Shared<'a, 'o>(&'a Mutex<&'o mut dyn Observer>);

impl Observer for Shared<'_, '_> {
    fn event(&mut self, event: &Event) {
        if matches!(event, Event::Start { .. } | Event::Step { .. } | Event::End { .. }) {
            return;
        }
        // the trainings beside one that panics are still observed
        self.0.lock().unwrap_or_else(PoisonError::into_inner).event(event);
    }
}

/// Predicts a split of the data by the members of an ensemble.
fn predict(ensemble: &Run, split: SplitName) -> Result<PredictedQueries, Error> {
    let split_use = SplitUse::Other;
    let request = QueryRequest { split: Some(split), split_use, ..QueryRequest::default() };
    request.predict(&Processes::default(), ensemble, Member::coordinates)
}

/// Fits the weights of the members, if the configuration asks for it. `queries` are those of the evaluated split.
fn fit_weights(
    ensemble: &mut Run,
    config: &Checked,
    settings: &EnsembleConfig,
    queries: &PredictedQueries,
) -> Result<(), Error> {
    match settings.weights {
        None => return Ok(()),
        Some(MemberWeights::HeldOut) => ensemble.weigh_held_out()?,
        Some(MemberWeights::Validation) => {
            if config.evaluation.split == SplitName::Validation {
                ensemble.fit_weights(queries)?;
            } else {
                let validation = predict(ensemble, SplitName::Validation)?;
                ensemble.fit_weights(&validation)?;
            }
        }
    }
    for (name, weight) in ensemble.names().iter().zip(ensemble.rule.weights().into_iter().flatten())
    {
        info!("weight {weight:.3} of {name}");
    }
    Ok(())
}

/// Evaluates an ensemble on the queries of the evaluated split, and returns the report, with the rows that the training of its
/// members skipped.
fn evaluate(
    ensemble: &Run,
    config: &Checked,
    queries: &PredictedQueries,
    trained: &[TrainedMember],
) -> Result<Report, Error> {
    let (evaluation, _) = ensemble.evaluate(queries)?;
    evaluation.warn_of_few_groups();
    let split = config.evaluation.split;
    let report = report(split, evaluation, ensemble.config().seed)?;
    let caution = config.caution_about(split);
    let skipped = trained.iter().flat_map(|member| member.report.skipped_rows.clone());
    Ok(Report { caution, skipped_rows: skipped.collect(), ..report })
}

/// Returns what the members of an ensemble have learned from: the fewest pairs, and the tables as they were when each learned
/// from them.
fn learned_from(job: &EnsembleJob) -> Result<LearnedFrom, Error> {
    let mut fewest = usize::MAX;
    let mut tables = BTreeMap::new();
    for member in inner(job.run.path(), job.request.config)? {
        let record = Record::read(&member)?;
        let learned = record.ok_or_else(|| Error::run(&member, "the member is not complete"))?;
        fewest = fewest.min(learned.learned_from.pairs);
        tables.extend(learned.learned_from.tables);
    }
    Ok(LearnedFrom { pairs: fewest, tables })
}
