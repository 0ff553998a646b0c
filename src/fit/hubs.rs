//! The correction of candidates for hubs, and the choice of its weight.

use dsokr_decode::{CandidateBlocks, Candidates, Hubs, Queries};
use tracing::info;

use crate::config::HubConfig;
use crate::decoding::evaluator::Evaluator;
use crate::error::{Error, ensure};
use crate::learners::choice::{Best, Choice};
use crate::run_dir::HeldOut;

/// Checks the settings against the number of the n training pairs that have held-out predictions.
pub(crate) fn check(hubs: &HubConfig, held_out: usize, n: usize) -> Result<(), Error> {
    let pairs = if held_out < n { "training pairs that are held out" } else { "training pairs" };
    let allowed = format!("1 to {held_out}, the number of {pairs}");
    let check =
        |&count| ensure(count <= held_out, "decoding.hubs.neighbours", count, allowed.as_str());
    hubs.neighbours.iter().try_for_each(check)
}

/// Returns the candidates of an evaluator corrected for hubs, with the weight and the number of neighbours that are best on the
/// `validation` split, by predictions for it, and these choices. None where the configuration corrects none, or without such
/// predictions or held-out ones.
pub(crate) fn corrected(
    evaluator: &Evaluator,
    held_out: Option<&HeldOut>,
    validation: Option<&[f32]>,
) -> Result<Option<(Candidates, Vec<Choice>)>, Error> {
    let hubs = evaluator.config().decoding.hubs.as_ref();
    let (Some(hubs), Some(held_out), Some(z)) = (hubs, held_out, validation) else {
        return Ok(None);
    };
    let candidates = evaluator.candidates();
    let metric = evaluator.config().evaluation.metric;
    let unit = Queries::new(candidates.dim(), &held_out.predictions)?.normalised();
    let unit = Queries::new(candidates.dim(), &unit)?;
    let mut best = Best::new();
    let mut corrected = candidates.clone();
    for &neighbours in &hubs.neighbours {
        let means = Hubs::fit(&unit, candidates, neighbours)?;
        for &weight in &hubs.weights {
            corrected = corrected.with_hubs(means.clone(), weight)?;
            let validation = evaluator.among(&corrected, None)?.validation(z)?;
            let score = validation.score;
            let value = metric.value(&validation.metrics);
            info!(neighbours, weight = decimal(weight), metric = %metric, value, "hubs");
            best.offer(score, || (means.clone(), weight, neighbours));
        }
    }
    if let Some(line) = best.tie("corrections for hubs", metric) {
        info!("{line}");
    }
    let Some((means, weight, neighbours)) = best.value() else { return Ok(None) };
    let weights: Vec<f64> = hubs.weights.iter().copied().map(decimal).collect();
    let counts: Vec<f64> = hubs.neighbours.iter().map(|&count| count as f64).collect();
    let chosen = Choice::new("decoding.hubs.neighbours", neighbours as f64, &counts);
    let bounds = [1.0, unit.len() as f64];
    let choices = vec![
        Choice::new("decoding.hubs.weights", decimal(weight), &weights),
        Choice { bounds, ..chosen },
    ];
    Ok(Some((corrected.with_hubs(means, weight)?, choices)))
}

/// Returns the candidates of a run to which some were added, corrected for hubs as the others are: by the same number of
/// neighbours and the same weight.
pub(crate) fn correct_as(
    all: Candidates,
    others: &Candidates,
    held_out: Option<&[f32]>,
) -> Result<Candidates, Error> {
    // as they are where the model is: those that were added to a run are corrected by predictions in 16 bits
    if all.constants().starts_with(others.constants()) {
        return Ok(all);
    }
    let all = all.without_hubs();
    let Some(held_out) = held_out else { return Ok(all) };
    let unit = Queries::new(all.dim(), held_out)?.normalised();
    Ok(all.with_hubs_like(others, &unit)?)
}

/// Returns the number in double precision that is written as this one: 0.2, not what 0.2 in single precision is.
fn decimal(weight: f32) -> f64 {
    weight.to_string().parse().unwrap_or(f64::from(weight))
}
