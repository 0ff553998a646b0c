//! The learner of `examples/learner_in_steps.rs`: it is interrupted, goes on from its checkpoint, and is shared by processes.

use std::path::Path;

use dsokr::core::processes::threads;
use dsokr::{Cancellation, Config, Error, Event, Observer, Request, RunDir, Trained, register};

use self::program::{CONFIG, GradientDescent};
use crate::Folder;
use crate::ranks::apart;

#[path = "../../examples/learner_in_steps.rs"]
mod program;

/// Keeps the steps at which a fit starts and ends, and cancels the fit at a checkpoint.
struct Watch {
    started: Option<u64>,
    ended: Option<u64>,
    cancel_at: Option<u64>,
    cancellation: Cancellation,
}

impl Observer for Watch {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Start { step, .. } => self.started = Some(*step),
            Event::End { step } => self.ended = Some(*step),
            Event::Checkpoint { step } if self.cancel_at == Some(*step) => {
                self.cancellation.cancel();
            }
            _ => {}
        }
    }
}

/// Trains with so many processes, and returns what each of them returns, and the step at which its fit starts.
fn train(
    size: usize,
    out: &Path,
    resume: bool,
    cancel_at: Option<u64>,
) -> Vec<(Result<Trained, Error>, Option<u64>)> {
    register::<GradientDescent>("gradient-descent").unwrap();
    let config = Config::parse(CONFIG, &[]).unwrap();
    let ended = threads(size, |processes| {
        let cancellation = Cancellation::default();
        let request = Request { out: Some(out.into()), resume, ..Request::new(&config)? };
        let cancellation_of_watch = cancellation.clone();
        let mut watch =
            Watch { started: None, ended: None, cancel_at, cancellation: cancellation_of_watch };
        let trained = cancellation.scope(|| request.run_shared(processes, &mut watch));
        // who shows the progress is told of the end of each fit, which has 45 steps
        let is_complete = trained.is_ok() && watch.started.is_some();
        assert_eq!(watch.ended, is_complete.then_some(45));
        Ok::<_, Error>((trained, watch.started))
    });
    ended.into_iter().map(|rank| rank.unwrap()).collect()
}

#[test]
fn the_program_trains() {
    program::main().unwrap();
}

#[test]
fn a_learner_in_steps_goes_on_from_its_checkpoint() {
    let folder = Folder::new();
    let whole = folder.path("whole");
    let (trained, started) = train(1, &whole, false, None).remove(0);
    assert_eq!(started, Some(0));
    let report = trained.unwrap().report;

    let parts = folder.path("parts");
    let (interrupted, _) = train(1, &parts, false, Some(20)).remove(0);
    assert!(interrupted.unwrap_err().is_cancelled());
    let model = "linear-map.safetensors";
    assert!(parts.join("checkpoint/learner.safetensors").exists() && !parts.join(model).exists());
    let (trained, started) = train(1, &parts, true, None).remove(0);
    assert_eq!(started, Some(20));
    assert_eq!(trained.unwrap().report, report);
    let bytes = |run: &Path| std::fs::read(run.join(model)).unwrap();
    assert!(bytes(&parts) == bytes(&whole));

    // a complete run is not fitted again
    let (trained, started) = train(1, &parts, true, None).remove(0);
    assert_eq!((trained.unwrap().report, started), (report, None));
}

#[test]
fn processes_share_a_learner_in_steps() {
    let folder = Folder::new();
    let one = folder.path("one");
    train(1, &one, false, None).remove(0).0.unwrap();
    let shared = folder.path("shared");
    for (rank, (interrupted, _)) in train(3, &shared, false, Some(30)).into_iter().enumerate() {
        let error = interrupted.unwrap_err();
        assert_eq!(error.is_cancelled(), rank == 0, "rank {rank}: {error}");
    }
    for (trained, started) in train(3, &shared, true, None) {
        trained.unwrap();
        assert_eq!(started, Some(30));
    }
    let apart = apart(&one, &shared);
    assert!(apart < 1e-5, "{apart}");
}

#[test]
fn files_of_a_learner_have_names_of_their_own_and_are_of_their_run() {
    let folder = Folder::new();
    let run = RunDir::at(folder.path("run"));
    assert!(run.read_checkpoint().unwrap().is_none());
    assert!(run.read_tensors("model.safetensors").unwrap_err().is_not_found());
    for name in ["model.json", "candidates.safetensors", "../model.safetensors"] {
        let error = run.write_tensors(name, &(), &[]).unwrap_err().to_string();
        assert!(error.starts_with(name), "{error}");
    }

    // a model that is copied from a run in another space
    let out = folder.path("one");
    train(1, &out, false, None).remove(0).0.unwrap();
    let error = RunDir::at(&out).read_tensors("linear-map.safetensors").unwrap_err().to_string();
    assert!(error.contains("it belongs to the basis"), "{error}");
}
