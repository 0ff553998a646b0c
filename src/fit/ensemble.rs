//! Training the members of an ensemble.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

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
use crate::fit::advice::{AdvisedMember, of_ensemble};
use crate::run::{Member, QueryRequest, Run, SplitUse};
use crate::run_dir::candidates::settle;
use crate::run_dir::{
    MEMBERS, MeasuredOn, RULE, Record, Report, RunDir, inner, place_of, replace_json,
};
use dsokr_data::SplitName;
use dsokr_train::{Event, Observer};

pub(super) fn run(
    request: &Request,
    settings: &EnsembleConfig,
    observer: &mut dyn Observer,
) -> Result<Trained, Error> {
    let path = place_of(&request.config.name, request.out.as_deref(), request.resume)?;
    let members = request.config.members()?;
    let trained: Vec<OnceLock<TrainedMember>> = members.iter().map(|_| OnceLock::new()).collect();
    let run = RunDir::at(&path);
    let _lock = if request.resume && path.exists() {
        let resumed = Resumed::lock(&run, request.config)?;
        settle(&path, &inner(&path, request.config)?)?;
        resumed.record_of_ensemble(&run, request.config)?;
        resumed.lock
    } else {
        run.create_ensemble(request.config)?
    };
    let systems = LastSystem::default();
    let train = |at: usize, observer: &mut dyn Observer| {
        let member = &members[at];
        if Cancellation::current().is_cancelled() {
            return Err(Error::Interrupted { step: 0 });
        }
        info!("member {}", member.name);
        let out = path.join(MEMBERS).join(&member.name);
        // what is changed now holds for the members that go on
        let before = RunDir::at(&out);
        if out.exists() && before.report()?.is_some() && are_settings(&before, member)? {
            return Ok(());
        }
        let request = Request { config: member, out: Some(out), resume: true, ..request.clone() };
        let done = fit_one(&request, &Processes::default(), Some(&systems), observer);
        let done = done.map_err(|error| of_member(member, error))?;
        let Trained { report, advice, example, .. } = done;
        let _ = trained[at].set(TrainedMember { report, advice, example });
        Ok(())
    };
    match settings.parallel {
        1 => (0..members.len()).try_for_each(|at| train(at, observer))?,
        threads => train_in_parallel(members.len(), threads, observer, train)?,
    }
    if run.report()?.is_some() {
        return Trained::open(&run, &request.processor.open()?, Vec::new(), None);
    }
    let (ensemble, mut report, measured_on) = evaluate(request, settings, &path)?;
    let trained = members.iter().zip(&trained);
    let trained: Vec<_> =
        trained.filter_map(|(member, done)| Some((member, done.get()?))).collect();
    let skipped = trained.iter().flat_map(|(_, done)| done.report.skipped_rows.clone());
    report.skipped_rows = skipped.collect();
    let example = trained.iter().find_map(|(_, done)| done.example.clone());
    run.finish(request.config, &report, measured_on)?;
    if let Some(shown) = card_example(&ensemble, example.as_deref(), None) {
        run.show_example(request.config, &report, &shown)?;
    }
    let members = trained.iter().map(|(member, done)| AdvisedMember {
        name: &member.name,
        metrics: &done.report.metrics,
        advice: &done.advice,
    });
    let advice = of_ensemble(request.config, &report, &members.collect::<Vec<_>>());
    Ok(Trained { run: ensemble, report, advice, example })
}

/// What is kept of the training of a member.
struct TrainedMember {
    report: Report,
    advice: Vec<String>,
    example: Option<String>,
}

/// Returns the error of a member's training, with the member's name where its configuration is to be changed.
fn of_member(member: &Checked, error: Error) -> Error {
    if error.is_request() {
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

/// Fits the weights, if the configuration asks for it, and evaluates the ensemble; also returns the fingerprints of what it
/// is measured on.
fn evaluate(
    request: &Request,
    settings: &EnsembleConfig,
    path: &Path,
) -> Result<(Run, Report, MeasuredOn), Error> {
    let device = request.processor.open()?;
    let mut run = Run::open_members(path, request.config, &request.root, &device)?;
    run.rule = settings.combination.clone();
    let predict = |run: &Run, name| {
        let split_use = SplitUse::Other;
        let request = QueryRequest { split: Some(name), split_use, ..QueryRequest::default() };
        request.predict(&Processes::default(), run, Member::coordinates)
    };
    let name = request.config.evaluation.split;
    let queries = predict(&run, name)?;
    match settings.weights {
        None => {}
        Some(MemberWeights::HeldOut) => run.weigh_held_out()?,
        Some(MemberWeights::Validation) if name == SplitName::Validation => {
            run.fit_weights(&queries)?;
        }
        Some(MemberWeights::Validation) => {
            let validation = predict(&run, SplitName::Validation)?;
            run.fit_weights(&validation)?;
        }
    }
    if settings.weights.is_some() {
        for (name, weight) in run.names().iter().zip(run.rule.weights().into_iter().flatten()) {
            info!("weight {weight:.3} of {name}");
        }
    }
    replace_json(path, RULE, &run.rule)?;
    let (evaluation, _) = run.evaluate(&queries)?;
    evaluation.warn_of_few_groups();
    let report = report(name, evaluation, run.config().seed)?;
    let report = Report { caution: request.config.caution_about(name), ..report };
    let mut measured_on = queries.measured_on(&run)?;
    // as they were when each member learned from them
    for member in inner(path, request.config)? {
        let record = Record::read(&member)?;
        measured_on
            .tables
            .extend(record.map(|record| record.measured_on.tables).unwrap_or_default());
    }
    Ok((run, report, measured_on))
}
