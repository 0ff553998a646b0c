//! The end of a fit: predictions, the report on them, and advice.

use std::time::{Duration, Instant};

use dsokr_data::SplitName;
use dsokr_train::{Event, Observer};
use tracing::{info, warn};

use super::advice::{Findings, advice};
use super::decoding::Decoding;
use super::predictions::Predictions;
use crate::decoding::beyond::BeyondSearch;
use crate::decoding::evaluator::Evaluator;
use crate::error::Error;
use crate::learners::learner::Fitted;
use crate::run_dir::{EXAMPLES, HeldOut, Report, RunDir, SolvedLine, write_text};
use crate::targets::{OutputTargets, Problem};

/// Logs that targets and candidates have been made.
pub(super) fn log_targets(targets: &OutputTargets, evaluator: &Evaluator, started: Instant) {
    let candidates = evaluator.candidates();
    info!(
        kernel = evaluator.config().output.kernel_name(),
        rank = targets.space.width(),
        sketched = targets.space.basis().is_some(),
        candidates = candidates.len(),
        distinct = candidates.distinct(),
        seconds = started.elapsed().as_secs_f64(),
        "targets made"
    );
}

/// The most characters of a text that is shown as an example.
const SHORT: usize = 160;

/// A short validation text, of one line where there is one.
pub(super) fn example(problem: &Problem) -> Option<String> {
    if problem.config.encoder.abilities().spectra {
        return None;
    }
    let texts = problem.dataset.validation.inputs.texts().ok()?;
    let is_short = |text: &&String| !text.trim().is_empty() && text.chars().count() <= SHORT;
    let is_short_line = |text: &&String| is_short(text) && !text.contains('\n');
    texts.iter().find(is_short_line).or_else(|| texts.iter().find(is_short)).cloned()
}

/// Tells the observer and the log of a model without steps what its metrics are on the validation split, and how long its fit
/// `took`.
pub(super) fn tell_validation(
    fitted: &Fitted,
    predictions: &Predictions,
    evaluator: &Evaluator,
    took: Duration,
    run: &mut RunDir,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    let Some(summary) = &fitted.solved_summary(evaluator.config()) else { return Ok(()) };
    let Some(z) = &predictions.validation else { return Ok(()) };
    let metrics = &evaluator.evaluate(SplitName::Validation, z)?.scores;
    observer.event(&Event::Solved { summary, metrics, scores: metrics, took });
    run.log_solved(&SolvedLine::new(took.as_secs_f64(), metrics.clone()))
}

/// The report of a fit, with the predictions that it is about.
pub(super) struct Reported {
    pub report: Report,
    predictions: Vec<f32>,
}

/// Evaluates the model on the split that the configuration names, and draws examples into the run.
pub(super) fn report(
    evaluator: &Evaluator,
    fitted: &Fitted,
    predictions: Predictions,
    held_out: Option<&HeldOut>,
    run: &RunDir,
) -> Result<Reported, Error> {
    let config = evaluator.config();
    let predictions = predictions.of_report(evaluator, fitted)?;
    let features = &evaluator.problem.dataset.outputs.features;
    let held_out = held_out.map(|held_out| held_out.predictions.as_slice());
    let search = match &config.decoding.beyond {
        Some(settings) => {
            let candidates = evaluator.candidates();
            Some(BeyondSearch::of_training(settings, config, candidates, features, held_out)?)
        }
        None => None,
    };
    let (report, drawings) = evaluator.report(&predictions, search.as_ref())?;
    if let Some(svg) = drawings {
        write_text(&run.path().join(EXAMPLES), &svg)?;
    }
    Ok(Reported { report, predictions })
}

impl Reported {
    /// Lines of advice on the configuration, the data and the settings of the learner.
    pub fn advice(
        &self,
        evaluator: &Evaluator,
        fitted: &Fitted,
        decoding: &Decoding,
        run: &RunDir,
    ) -> Result<Vec<String>, Error> {
        let log = run.log()?.unwrap_or_default();
        let findings = Findings {
            problem: evaluator.problem,
            report: &self.report,
            choices: &[fitted.choices.as_slice(), &decoding.choices].concat(),
            reranked: decoding.reranked,
            log: &log,
            evaluator,
            predictions: &self.predictions,
        };
        let mut lines = advice(&findings).unwrap_or_else(|error| {
            warn!("no advice: {error}");
            Vec::new()
        });
        lines.extend(fitted.advice.iter().cloned());
        Ok(lines)
    }
}
