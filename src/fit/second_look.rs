//! The second look at the first candidates of a query, learned from training pairs.

use dsokr_data::Dataset;
use dsokr_decode::{
    CandidateBlocks, Candidates, Hubs, LookExamples, Neighbourhood, Queries, SecondLook,
};
use dsokr_machines::Cost;
use tracing::info;

use super::hubs::{folds, rest};
use crate::config::{Checked, SecondLookConfig};
use crate::learner::{HeldPart, Task};
use crate::memory::Need;
use crate::targets::OutputTargets;
use crate::{Error, HeldOut};

/// Checks the settings against the number n of training pairs.
pub(super) fn check(settings: &SecondLookConfig, n: usize) -> Result<(), Error> {
    let rest = n - n.div_ceil(settings.folds).min(n);
    match settings.neighbours <= rest {
        true => Ok(()),
        false => Err(Error::value(
            "decoding.second_look.neighbours",
            settings.neighbours,
            format!("1 to {rest}, the number of training pairs without a part"),
        )),
    }
}

/// What the second look needs, for p coordinates: fits without each part of the pairs, of which `fit` says the
/// cost for a number of pairs, and what is found of the pairs that they answer. All is taken beside what the fit
/// of the machine itself needs.
pub(crate) fn need(
    settings: &SecondLookConfig,
    config: &Checked,
    dataset: &Dataset,
    p: usize,
    fit: impl Fn(usize) -> Cost,
) -> Need {
    let SecondLookConfig { candidates: size, neighbours, folds, answered } = *settings;
    let n = dataset.train.ids.len();
    let part = n.div_ceil(folds.max(1)).min(n);
    let Cost { bytes, multiplications } = fit(n - part);
    let [n, part, p, size, parts, neighbours] =
        [n, part, p, size, answered, neighbours].map(|count| count as f64);
    let candidates = dataset.outputs.candidates.len() as f64;
    let (queries, rest) = (parts * part, n - part);
    let hubs = if config.decoding.hubs.is_some() { rest * candidates * p } else { 0.0 };
    let [examples, network] = SecondLook::cost(queries, size);
    // scores of all candidates and pairs, and those of the first ones with their neighbours' outputs
    let found = queries * p * (candidates + rest + size * neighbours);
    // answers of all fits, the outputs and what is compared with them, and the candidates again
    let held = 4.0 * p * (parts * n + 4.0 * n + candidates);
    Need {
        multiplications: parts * (multiplications + hubs) + found + network,
        ..Need::memory("decoding.second_look", "the second look", bytes + held + examples)
    }
}

/// The second look at candidates that are corrected for hubs as the configuration says; `held_out` are
/// leave-one-out answers to all training pairs. The part beside it is there if the run keeps held-out answers.
///
/// A training pair shows what the first candidates of an unseen query look like if nothing has seen its output: neither
/// the model, nor the hub constants, nor the answers that it is compared with. So they are made
/// anew without each part of the pairs.
pub(super) fn fit(
    settings: &SecondLookConfig,
    task: &Task,
    candidates: &Candidates,
    held_out: &HeldOut,
) -> Result<(SecondLook, Option<HeldPart>), Error> {
    let (p, ids) = (candidates.dim(), &task.dataset.train.ids);
    let OutputTargets::Points { targets, .. } = task.targets else {
        return Err(task.targets.unexpected());
    };
    let outputs: Vec<f32> = targets.values()?.iter().map(|&value| value as f32).collect();
    let key = "decoding.second_look.folds";
    let mut held = folds(key, settings.folds, ids.len(), task.config.seed)?;
    held.truncate(settings.answered);
    let refused = |allowed| Err(Error::value("decoding.second_look", "given", allowed));
    let Some(parts) = task.config.encoder.cross_fit(task, &held)? else {
        return refused("absent: this encoder gives no answers without a part of the pairs");
    };
    let mut examples = LookExamples::new(settings.candidates);
    let mut first: Option<(usize, HeldOut, Neighbourhood)> = None;
    for (held, part) in held.iter().zip(parts) {
        let left_out = Queries::new(p, &part.left_out)?.normalised();
        let seen = Queries::new(p, &left_out)?;
        let among = match candidates.hubs() {
            Some((hubs, weight)) => {
                let neighbours = hubs.neighbours().min(seen.len());
                let hubs = Hubs::of(&seen, candidates, neighbours)?;
                candidates.clone().with_hubs(hubs, weight)?
            }
            None => candidates.clone(),
        };
        let rest = rest(held, ids.len()).into_iter();
        let rest: Vec<f32> = rest.flat_map(|pair| &outputs[pair * p..][..p]).copied().collect();
        let neighbourhood = Neighbourhood::new(p, left_out, rest, settings.neighbours)?;
        let answers = Queries::new(p, &part.answers)?.normalised();
        let row = |&pair: &usize| among.find(&ids[pair]).map(|at| among.class_of(at));
        let gold: Vec<Option<u32>> = held.iter().map(row).collect();
        examples.add(&Queries::new(p, &answers)?, &gold, &among, &neighbourhood)?;
        if first.is_none() && task.config.decoding.held_out {
            let held_out = HeldOut { pairs: held.clone(), answers };
            first = Some((examples.len(), held_out, neighbourhood));
        }
    }
    if examples.is_empty() {
        return refused("absent: no output of a training pair is among its first candidates");
    }
    let answers = Queries::new(p, &held_out.answers)?.normalised();
    let neighbourhood = Neighbourhood::new(p, answers, outputs, settings.neighbours)?;
    info!(queries = examples.len(), "second look fitted");
    let part = match first {
        Some((count, answers, neighbourhood)) => {
            let others = examples.without_first(count);
            // a single part has no others
            let others = if others.is_empty() { &examples } else { &others };
            let look = SecondLook::fit(others, neighbourhood, task.config.seed)?;
            Some(HeldPart { answers, look })
        }
        None => None,
    };
    Ok((SecondLook::fit(&examples, neighbourhood, task.config.seed)?, part))
}
