//! Advice on the model.

use std::collections::BTreeMap;

use super::{Evidence, LargerSketch};
use crate::config::Checked;
use crate::metric::{Metric, Needs};
use crate::run_dir::Report;
use crate::table::places;
use crate::{Error, Scores};

/// Perfect h below this share of the best possible metric is low.
const LOW: f64 = 0.9;

/// The loss still falls if it falls by this share between the last two evaluations.
const FALLS: f64 = 0.02;

/// The metric that chooses, if it is known of both; else the first one that is.
pub(super) fn comparable(a: &Scores, b: &Scores, metric: Metric) -> Option<(Metric, f64, f64)> {
    let known = |metric: Metric| Some((metric, metric.known(a)?, metric.known(b)?));
    known(metric).or_else(|| Metric::all().find_map(known))
}

/// That most predictions are one output, else that they are worse than chance. Predicted label sets are always
/// compared; other outputs only where the model is worse than chance, for it takes another pass over the candidates.
pub(super) fn one_output_or_worse_than_chance(
    evidence: &Evidence,
) -> Result<Option<String>, Error> {
    let below = below_chance("the model", evidence.config, evidence.report);
    let features = &evidence.config.output.features;
    if features.are_numbers() || (below.is_none() && !features.are_labels()) {
        return Ok(below);
    }
    let split = evidence.report.split.to_string();
    Ok(one_output(&split, &(evidence.predictions)()?).or(below))
}

/// Whether most predictions are one output, and most of these are wrong.
fn one_output(split: &str, predictions: &[(String, String)]) -> Option<String> {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (predicted, truth) in predictions {
        let (count, right) = counts.entry(predicted).or_default();
        *count += 1;
        *right += usize::from(predicted == truth);
    }
    let (output, (count, right)) = counts.into_iter().max_by_key(|(_, (count, _))| *count)?;
    let all = predictions.len();
    let name = if output.is_empty() { "the empty set" } else { output };
    let line = || {
        format!(
            "{count} of {all} {split} predictions are one output, {name}, and right for {right} of them: try a \
             smaller λ or more epochs, and under a kernel that is not normalised decoding.normalise = true"
        )
    };
    (2 * count > all && 2 * right < count && all > 1).then(line)
}

pub(super) fn below_chance(subject: &str, config: &Checked, report: &Report) -> Option<String> {
    let (metric, model, chance) =
        comparable(&report.metrics, &report.chance, config.evaluation.metric)?;
    let worse = if metric.larger_is_better() { model < chance } else { model > chance };
    let places = places(model.min(chance));
    let line = || {
        format!(
            "{subject} is worse than chance ({metric} {model:.places$}, chance {chance:.places$}): \
             check that the ids of pairs name the right outputs, and the learning rate or λ"
        )
    };
    worse.then(line)
}

pub(super) fn low_ceiling(evidence: &Evidence) -> Result<Option<String>, Error> {
    let Some(perfect) = &evidence.report.perfect_h else { return Ok(None) };
    // shares, of which 1 is the best
    let share = |metric: &Metric| match metric.needs() {
        Needs::Ranks | Needs::Labels | Needs::Rankings => metric.larger_is_better(),
        Needs::FiniteRanks
        | Needs::Graphs
        | Needs::GraphsOrRankings
        | Needs::FeatureSpace
        | Needs::Quantiles => false,
    };
    let chosen = std::iter::once(evidence.config.evaluation.metric).chain(Metric::all());
    let known = |metric: Metric| Some((metric, metric.known(perfect)?));
    let Some((metric, value)) = chosen.filter(share).find_map(known) else { return Ok(None) };
    if value >= LOW {
        return Ok(None);
    }
    let size = evidence.config.sketch.size;
    let found = format!("perfect h has {metric} {value:.4} only, with sketch.size = {size}");
    let compared = metric == evidence.config.evaluation.metric;
    let larger = if compared { (evidence.larger_sketch)()? } else { None };
    let line = match larger {
        Some(LargerSketch { size: larger, perfect_h }) => {
            format!("{found}: a sketch of size {larger} reaches {perfect_h:.4} on validation")
        }
        None if size >= evidence.dataset.train.ids.len() => {
            format!("{found}, as large as the training data: try another kernel or other features")
        }
        None => format!(
            "{found}: compare sizes and powers by `dsokr sketch`, or try another kernel or other features"
        ),
    };
    Ok(Some(line))
}

pub(super) fn edge_of_grid(evidence: &Evidence) -> Result<Option<String>, Error> {
    let lines = evidence.choices.iter().filter_map(|choice| {
        let (end, beyond) = choice.edge()?;
        let (key, chosen, count) = (&choice.key, choice.chosen, choice.tried.len());
        Some(format!(
            "{key} = {chosen} is the {end} of the {count} values tried: try {beyond} ones"
        ))
    });
    let lines: Vec<String> = lines.collect();
    Ok((!lines.is_empty()).then(|| lines.join("; ")))
}

pub(super) fn still_learning(evidence: &Evidence) -> Result<Option<String>, Error> {
    let [.., before, last] = evidence.log else { return Ok(None) };
    let epochs = evidence.config.training.epochs;
    let falls = last.loss < (1.0 - FALLS) * before.loss;
    let whole = last.epoch == epochs as u64;
    let line = || {
        format!(
            "the loss still falls at the last epoch (from {:.4} to {:.4}), and the model is the best there: \
             raise training.epochs above {epochs}",
            before.loss, last.loss
        )
    };
    Ok((falls && whole && last.best).then(line))
}
