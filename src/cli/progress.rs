//! The progress of trainings.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dsokr_train::{Event, Observer};
use indicatif::HumanDuration;
use tracing::info;

use super::output::{BAR, QUIET, SILENT, bar, say_that_work_goes_on};
use super::signals::{self, Response};

/// Whether a thread says that work goes on.
static SPEAKING: AtomicBool = AtomicBool::new(false);

/// Shows the progress of a training on standard error. While it trains, a signal ends it once its state is saved.
pub struct Progress {
    quiet: bool,
}

impl Progress {
    pub fn new() -> Self {
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
            Event::Step { step, epoch, loss } => {
                if let Some(bar) = BAR.get() {
                    bar.set_position(*step);
                    bar.set_message(format!("epoch {epoch:.1}, loss {loss:.4}"));
                }
            }
            Event::Evaluation { left, .. } => info!("{event}; {} left", whole_seconds(left)),
            Event::Estimate { left } => {
                info!("about {} of training, evaluations not counted", whole_seconds(left));
            }
            Event::End { .. } => signals::respond(Response::End),
            Event::EarlyStop { .. } | Event::Solving { .. } | Event::Solved { .. } => {
                info!("{event}");
            }
            _ => {}
        }
    }
}
