//! The progress of trainings.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dsokr_core::StageReport;
use dsokr_train::{Event, Observer};
use indicatif::HumanDuration;
use tracing::info;

use super::output::{BAR, QUIET, SILENT, SPOKE, bar, milliseconds};
use super::signals::{self, INTERRUPT, Response};
use crate::config::Config;

/// Whether a thread says that work goes on.
static SPEAKING: AtomicBool = AtomicBool::new(false);

/// How long the log of a training is silent at most, in milliseconds: less than five seconds.
const SILENCE: u64 = 4_500;

/// Shows the progress of a training on standard error. While it trains, a signal ends it once its state is saved.
pub struct Progress {
    quiet: bool,
}

impl Progress {
    /// Creates the progress of trainings of a configuration.
    pub fn of(config: &Config) -> Self {
        if config.ensemble.as_ref().is_some_and(|ensemble| ensemble.parallel > 1) {
            // of members that are trained at the same time nobody hears when one starts or ends
            signals::respond(Response::Cancel);
        }
        let quiet = QUIET.load(Ordering::Relaxed) || SILENT.load(Ordering::Relaxed);
        if !quiet && !SPEAKING.swap(true, Ordering::Relaxed) {
            say_that_work_goes_on();
        }
        Self { quiet }
    }
}

fn whole_seconds(left: &Duration) -> HumanDuration {
    HumanDuration(Duration::from_secs(left.as_secs()))
}

impl Observer for Progress {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Start { step, total } => {
                signals::respond(Response::Cancel);
                info!(step, steps = total, "training");
                if !self.quiet {
                    let style = "{bar:30} {pos}/{len} steps, {elapsed} elapsed, {eta} left, {msg}";
                    // the bar may be that of the previous member of an ensemble
                    let bar = BAR.get_or_init(|| bar(style));
                    bar.set_length(*total);
                    bar.set_position(*step);
                    bar.reset_eta();
                }
            }
            Event::Step { step, epoch, loss, .. } => {
                if let Some(bar) = BAR.get() {
                    bar.set_position(*step);
                    bar.set_message(format!("epoch {epoch:.1}, loss {loss:.4}"));
                }
            }
            Event::Evaluation { left, .. } => info!("{event}; {} left", whole_seconds(left)),
            Event::Estimate { left } => {
                info!("about {} of training, evaluations not counted", whole_seconds(left));
            }
            Event::End { step } => {
                signals::respond(Response::End);
                if let Some(bar) = BAR.get() {
                    // a training that has stopped early has no steps before it
                    bar.set_length(*step);
                    bar.set_position(*step);
                }
            }
            Event::EarlyStop { .. } | Event::Solving { .. } | Event::Solved { .. } => {
                info!("{event}");
            }
            // files are written often, and are all that a program's learner says of its steps
            Event::Checkpoint { step } => {
                if let Some(bar) = BAR.get() {
                    bar.set_position(*step);
                }
            }
            // events of later versions
            _ => {}
        }
    }
}

/// Says that work goes on whenever the log is silent, and where it is: at a step, or in which stage and how far.
fn say_that_work_goes_on() {
    let speak = || {
        loop {
            std::thread::sleep(Duration::from_millis(250));
            let spoke = SPOKE.load(Ordering::Relaxed);
            let now = milliseconds();
            let bar = BAR.get().filter(|bar| !bar.is_finished());
            // a visible bar says it
            let visible = bar.is_some() && io::stderr().is_terminal();
            if visible || now - spoke.min(now) < SILENCE {
                continue;
            }
            match bar.and_then(|bar| bar.length().map(|all| (bar.position(), all))) {
                Some((step, all)) if step < all => info!("at step {step} of {all}"),
                _ => info!("{}", at_work(&INTERRUPT.stages())),
            }
        }
    };
    // nobody waits for it
    drop(std::thread::Builder::new().name("progress".into()).spawn(speak));
}

/// Returns what is done now: the names of the stages, each with its share that is done, and the time that the last one has taken.
fn at_work(stages: &[StageReport]) -> String {
    let Some(innermost) = stages.last() else {
        return "at work between two stages".into();
    };
    let names: Vec<String> = stages.iter().map(StageReport::to_string).collect();
    format!("at work on {}, for {:.0} s", names.join(": "), innermost.elapsed.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_move_the_bar_and_the_end_completes_it() {
        let mut progress = Progress { quiet: false };
        let mut after = |event: Event| {
            progress.event(&event);
            let bar = BAR.get().unwrap();
            (bar.position(), bar.length())
        };
        assert_eq!(after(Event::Start { step: 0, total: 45 }), (0, Some(45)));
        assert_eq!(after(Event::Checkpoint { step: 20 }), (20, Some(45)));
        // an early stop
        assert_eq!(after(Event::End { step: 30 }), (30, Some(30)));
        // the next member of an ensemble
        assert_eq!(after(Event::Start { step: 10, total: 45 }), (10, Some(45)));
        assert_eq!(after(Event::End { step: 45 }), (45, Some(45)));
    }

    #[test]
    fn a_line_names_the_stages_and_how_much_is_done() {
        let stage = |name: &str, done, parts, seconds| StageReport {
            name: name.into(),
            done,
            parts,
            elapsed: Duration::from_secs(seconds),
        };
        let fit = stage("fit", 0, 0, 40);
        let equations = stage("normal equations", 430, 1000, 12);
        let line = at_work(&[fit, equations]);
        assert_eq!(line, "at work on fit: normal equations 43 %, for 12 s");
        // several threads may count a part before it is done
        let line = at_work(&[stage("projection", 11, 10, 1)]);
        assert_eq!(line, "at work on projection 100 %, for 1 s");
        assert_eq!(at_work(&[]), "at work between two stages");
    }
}
