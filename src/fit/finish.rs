//! What follows a fit: the run directory is completed, and the report and the advice are made.

use std::borrow::Cow;
use std::time::Instant;

use dsokr_decode::Candidates;
use tracing::warn;

use super::second_look::{self, PairWords};
use crate::advice::{Evidence, advice, larger_sketch};
use crate::hubs::{self, correct};
use crate::learner::{Fit, Fitted, Task};
use crate::run_dir::candidates::with_added;
use crate::run_dir::{
    EXAMPLES, HELD_OUT, HELD_OUT_PART, SECOND_LOOK, SECOND_LOOK_PART, write_text,
};
use crate::run_dir::{Folder, HeldOut, HeldPart, Report, validation_scalars};
use crate::{Choice, Error};
use dsokr_data::SplitName;
use dsokr_train::Event;

/// Completes the run directory of a fitted model; the report, and lines of advice.
pub(super) fn finish(
    prepared: &dyn Fit,
    task: &mut Task,
    fitted: Fitted,
    words: Option<&PairWords>,
    started: Instant,
) -> Result<(Report, Vec<String>), Error> {
    let Task { config, dataset, evaluator, root, data, path, resumed, .. } = *task;
    let added = if resumed { with_added(path)? } else { None };
    let Fitted { predictor, saved, held_out, summary, mut choices, advice: own } = fitted;
    let mut folder = match task.folder.take() {
        Some(folder) => folder,
        None => task.begin(predictor.preparation()?)?.clone(),
    };
    if !saved {
        predictor.save(&mut folder)?;
    }
    save_held_out(task, &folder, held_out.as_ref())?;
    let split = config.evaluation.split;
    let hubs = config.decoding.hubs.is_some() && held_out.is_some();
    // predictions for the validation split are needed for hubs, for the log and often for the
    // report
    let validation = match hubs || summary.is_some() || split == SplitName::Validation {
        true => Some(predictor.predict(&dataset.validation)?),
        false => None,
    };
    let corrected = corrected(task, held_out.as_ref(), validation.as_deref())?;
    let candidates = match corrected {
        Some((corrected, chosen)) => {
            choices.extend(chosen);
            if added.is_none() {
                folder.replace_candidates(&corrected, data)?;
            }
            Cow::Owned(corrected)
        }
        None => Cow::Borrowed(task.candidates),
    };
    let look = match (&config.decoding.second_look, &held_out) {
        (Some(settings), Some(held_out)) => {
            let (look, part) =
                second_look::fit(settings, words, prepared, task, &candidates, held_out)?;
            folder.save_second_look(SECOND_LOOK, &look)?;
            if let Some(HeldPart { answers, texts, look }) = part {
                folder.save_second_look(SECOND_LOOK_PART, &look)?;
                let file = folder.path().join(HELD_OUT_PART);
                answers.save(&file, &dataset.train.ids, texts.as_deref(), true)?;
            }
            Some(look)
        }
        _ => None,
    };
    // everything is chosen and fitted without candidates that were added to the run, as it was before
    let candidates = match added {
        Some(added) => {
            let answers = held_out.as_ref().map(|held_out| held_out.answers.as_slice());
            let all = hubs::of_all(added, &candidates, answers)?;
            folder.replace_candidates(&all, data)?;
            Cow::Owned(all)
        }
        None => candidates,
    };
    let look = look.map(|look| look.among(&candidates)).transpose()?;
    let evaluator = &evaluator.among(&candidates, look.as_ref())?;
    if let (Some(summary), Some(z)) = (&summary, &validation) {
        let metrics = &evaluator.evaluate(SplitName::Validation, z)?.scores;
        task.observer.event(&Event::Solved { summary, metrics, took: started.elapsed() });
        folder.scalars(0, &validation_scalars(metrics).collect::<Vec<_>>())?;
    }
    let z = match (split, validation) {
        (SplitName::Validation, Some(z)) => z,
        _ => predictor.predict(evaluator.reported())?,
    };
    let (report, drawings) = evaluator.report(&z)?;
    if let Some(svg) = drawings {
        write_text(&folder.path().join(EXAMPLES), &svg)?;
    }
    Folder::finish(folder.path(), config, &report)?;
    let evidence = Evidence {
        config,
        dataset,
        report: &report,
        choices: &choices,
        log: &Folder::log(folder.path())?.unwrap_or_default(),
        predictions: &|| evaluator.predictions(&z),
        larger_sketch: &|| larger_sketch(config, root, dataset),
    };
    let mut advice = advice(&evidence).unwrap_or_else(|error| {
        warn!("no advice: {error}");
        Vec::new()
    });
    advice.extend(own);
    Ok((report, advice))
}

/// Writes answers to training inputs that were held out, where the configuration or hubs need them.
fn save_held_out(task: &Task, folder: &Folder, held_out: Option<&HeldOut>) -> Result<(), Error> {
    let decoding = &task.config.decoding;
    match held_out {
        // hubs of candidates that are added are computed from these too, for which 16 bits are enough
        Some(held_out) if decoding.held_out || decoding.hubs.is_some() => {
            let (file, ids) = (folder.path().join(HELD_OUT), &task.dataset.train.ids);
            held_out.save(&file, ids, None, decoding.held_out)
        }
        None if decoding.held_out => {
            let allowed =
                "false: this encoder gives no answers to training inputs that it has not seen";
            Err(Error::value("decoding.held_out", true, allowed))
        }
        Some(_) | None => Ok(()),
    }
}

/// The candidates corrected for hubs, where the configuration asks for it, and what was chosen for it.
fn corrected(
    task: &Task,
    held_out: Option<&HeldOut>,
    validation: Option<&[f32]>,
) -> Result<Option<(Candidates, Vec<Choice>)>, Error> {
    match (&task.config.decoding.hubs, held_out, validation) {
        (Some(hubs), Some(held_out), Some(z)) => {
            let answers = &held_out.answers;
            correct(hubs, task.evaluator, task.candidates, answers, z).map(Some)
        }
        _ => Ok(None),
    }
}
