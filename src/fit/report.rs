//! The end of a fit: predictions, the report on them, and advice.

use std::time::{Duration, Instant};

use dsokr_core::Processes;
use dsokr_data::{Split, SplitName};
use dsokr_decode::Candidates;
use dsokr_train::{Event, Observer};
use tracing::{info, warn};

use super::advice::{Findings, advice};
use super::decoding::Decoding;
use super::validation::ValidationPredictions;
use crate::decoding::beyond::BeyondSearch;
use crate::decoding::decoder::PredictedOutput;
use crate::decoding::evaluator::Evaluator;
use crate::error::Error;
use crate::learners::learner::Fitted;
use crate::run::{Answer, Hit, Member, Quantile, Run};
use crate::run_dir::{
    CardAnswer, CardAnswers, CardExample, CardQuery, EXAMPLES, HeldOut, Report, RunDir, SolvedLine,
    write_text,
};
use crate::targets::{OutputTargets, Problem};

/// Logs that targets and candidates have been made.
pub(super) fn log_targets(
    problem: &Problem,
    targets: &OutputTargets,
    candidates: &Candidates,
    started: Instant,
) {
    info!(
        kernel = problem.config.output.kernel_name(),
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

/// The fewest characters of first sentences: what ends sooner may be an abbreviation.
const SENTENCE: usize = 20;

/// Number of answers to an example that the card of a run shows.
const SHOWN: usize = 3;

/// Returns a short validation text, of one line where there is one, else the beginning of the shortest one. Without validation
/// pairs, a text for the test or of the training; none where inputs are not plain texts.
pub(super) fn example(problem: &Problem) -> Option<String> {
    if problem.config.encoder.abilities().spectra {
        return None;
    }
    let dataset = &problem.dataset;
    let splits = [Some(&dataset.validation), dataset.test.as_ref(), Some(&dataset.train)];
    splits.into_iter().flatten().find_map(|split| short_text(split.inputs.texts().ok()?))
}

fn short_text(texts: &[String]) -> Option<String> {
    let is_shown = |text: &&String| !text.trim().is_empty();
    let is_short = |text: &&String| is_shown(text) && text.chars().count() <= SHORT;
    let is_short_line = |text: &&String| is_short(text) && !text.contains('\n');
    let short = texts.iter().find(is_short_line).or_else(|| texts.iter().find(is_short));
    short.cloned().or_else(|| {
        let shortest = texts.iter().filter(is_shown).min_by_key(|text| text.chars().count())?;
        Some(beginning(shortest.trim()).to_owned())
    })
}

/// Returns the first sentences of a text that is longer than an example, else its first words. A text without blanks, such as a
/// SMILES or a sequence, stays whole: a part of it may be none.
fn beginning(text: &str) -> &str {
    let head = match text.char_indices().nth(SHORT) {
        Some((end, _)) => &text[..end],
        None => text,
    };
    let is_end = |&(at, letter): &(usize, char)| {
        matches!(letter, '.' | '!' | '?') && text[at + 1..].starts_with(char::is_whitespace)
    };
    let sentences = head.char_indices().rfind(is_end).map(|(at, _)| at + 1);
    let words = head.rfind(char::is_whitespace);
    let end = sentences.filter(|&end| end >= SENTENCE).or(words).unwrap_or(text.len());
    text[..end].trim_end()
}

/// Returns what a model answers to the example text, or, where inputs are not plain texts, to the first validation query.
/// None where there is neither; that it cannot be answered is no error of the training.
pub(super) fn card_example(
    run: &Run,
    text: Option<&str>,
    validation: Option<&Split>,
) -> Option<CardExample> {
    let first = validation.filter(|split| !split.ids.is_empty());
    let answered = match (text, first) {
        (Some(text), _) => {
            answer_to(run, CardQuery::Text(text.to_owned()), |member| member.texts(&[text]))
        }
        (None, Some(split)) => {
            let query = CardQuery::Named(split.names()[0].clone());
            answer_to(run, query, |_| Ok(split.select(&[0])?))
        }
        (None, None) => return None,
    };
    answered.unwrap_or_else(|error| {
        warn!("the card has no example: {error}");
        None
    })
}

fn answer_to(
    run: &Run,
    query: CardQuery,
    read: impl Fn(&Member) -> Result<Split, Error>,
) -> Result<Option<CardExample>, Error> {
    let among = run.rule_of_search(None)?;
    let answers = run.answer_queries(&Processes::default(), read, among.as_ref(), None, SHOWN)?;
    let Some(answer) = answers.into_iter().next() else { return Ok(None) };
    if !answer.quantiles.is_empty() {
        let quantile =
            |Quantile { level, value }: &Quantile| [level.to_string(), value.to_string()];
        let quantiles = answer.quantiles.iter().map(quantile).collect();
        return Ok(Some(CardExample { query, answers: CardAnswers::Quantiles(quantiles) }));
    }
    let answers = listed(answer);
    if answers.is_empty() {
        return Ok(None);
    }
    Ok(Some(CardExample { query, answers: CardAnswers::Listed(answers) }))
}

/// Returns the first lines of an answer as a search lists them: the best of all outputs, molecules beyond the candidates,
/// candidates.
fn listed(answer: Answer) -> Vec<CardAnswer> {
    let of_all = |PredictedOutput { label, score, .. }: PredictedOutput| CardAnswer {
        rank: "all".to_owned(),
        score,
        id: String::new(),
        label,
    };
    let of_search = |PredictedOutput { label, score, search }: PredictedOutput| {
        let candidate = search.filter(|facts| facts.in_table);
        let id = candidate.map(|facts| facts.nearest).unwrap_or_default();
        CardAnswer { rank: "new".to_owned(), score, id, label }
    };
    let of_hit = |Hit { rank, score, id, label, .. }: Hit| CardAnswer {
        rank: rank.to_string(),
        score: f64::from(score),
        id,
        label,
    };
    let best_of_all = answer.exact.into_iter().map(of_all);
    let new_molecules = answer.beyond.into_iter().map(of_search);
    let candidates = answer.hits.into_iter().map(of_hit);
    best_of_all.chain(new_molecules).chain(candidates).take(SHOWN).collect()
}

/// Tells the observer and the log of a model without steps what its metrics are on the validation split, and the time of its fit.
pub(super) fn tell_validation(
    fitted: &Fitted,
    validation: &ValidationPredictions,
    evaluator: &Evaluator,
    fit_time: Duration,
    run: &mut RunDir,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    let Some(summary) = &fitted.solved_summary(evaluator.config()) else { return Ok(()) };
    let Some(z) = &validation.z else { return Ok(()) };
    let metrics = &evaluator.evaluate(SplitName::Validation, z)?.scores;
    observer.event(&Event::Solved { summary, metrics, scores: metrics, took: fit_time });
    run.log_solved(&SolvedLine::new(fit_time.as_secs_f64(), metrics.clone()))
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
    validation: ValidationPredictions,
    held_out: Option<&HeldOut>,
    run: &RunDir,
) -> Result<Reported, Error> {
    let config = evaluator.config();
    let predictions = validation.into_reported(evaluator, fitted)?;
    let features = &evaluator.problem.dataset.outputs.features;
    let held_out = held_out.map(|held_out| held_out.predictions.as_slice());
    let search = match &config.decoding.beyond {
        Some(settings) => {
            let candidates = evaluator.candidates();
            Some(BeyondSearch::for_training(settings, config, candidates, features, held_out)?)
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
    /// Returns lines of advice on the configuration, the data and the settings of the learner.
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
            lacks_unseen: decoding.lacks_unseen,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_of_long_texts_is_the_first_sentences_or_words_of_the_shortest() {
        let long = |first: &str| format!("{first} {}", "It has many more atoms. ".repeat(20));
        let texts = [long("A steroid with two rings of six atoms."), long("E. coli makes it")];
        let example = short_text(&texts).unwrap();
        assert!(example.starts_with("E. coli makes it It has"), "{example}");
        assert!(example.ends_with("atoms.") && example.chars().count() <= SHORT, "{example}");
        let words = "atoms ".repeat(60);
        assert_eq!(short_text(&[words]).unwrap(), "atoms ".repeat(26).trim_end());
        let chain = "C".repeat(400);
        assert_eq!(short_text(&[chain.clone(), chain.clone() + "C"]), Some(chain));
        assert_eq!(short_text(&[" ".to_owned(), "a text".to_owned()]).unwrap(), "a text");
        assert_eq!(short_text(&[" ".to_owned()]), None);
    }
}
