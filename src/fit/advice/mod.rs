//! Advice after a training: what the data, the metrics and the log say about the configuration.

mod data;
mod ensemble;

use std::collections::{BTreeMap, HashMap};

use dsokr_basis::features::Spread;
use dsokr_data::canonical;
use dsokr_decode::{RANK_METRICS, Rank};
use dsokr_train::{LogLine, TrainingConfig};
use rayon::prelude::*;
use tracing::info;

use self::data::{
    columns_in_other_units, constant_columns, duplicate_candidates, empty_texts, one_class,
    packed_bits, shared_between_splits,
};
pub(crate) use self::ensemble::{AdvisedMember, ensemble_advice};
use crate::config::Checked;
use crate::decoding::evaluator::Evaluator;
use crate::decoding::perfect::{DrawnSketch, smallest_good_size};
use crate::error::Error;
use crate::fit::decoding::Reranked;
use crate::learners::choice::Choice;
use crate::metrics::metric::{Metric, Needs};
use crate::metrics::scores::Scores;
use crate::metrics::table::places;
use crate::run_dir::{KNOWS_ALL, Report};
use crate::targets::Problem;

/// What a training has found, on which advice is given.
pub(crate) struct Findings<'a> {
    pub problem: &'a Problem,
    pub report: &'a Report,
    /// The values that the fit chose from lists.
    pub choices: &'a [Choice],
    /// What the reranker changes on the validation split.
    pub reranked: Option<Reranked>,
    /// Whether the run keeps held-out predictions, but no reranker that has not seen some of their pairs.
    pub lacks_unseen: bool,
    /// The evaluations of a training by steps.
    pub log: &'a [LogLine<Scores>],
    pub evaluator: &'a Evaluator<'a>,
    /// The predictions for the queries of the report.
    pub predictions: &'a [f32],
}

/// A line of advice; none if it does not apply.
type Rule = fn(&Findings) -> Result<Option<String>, Error>;

/// All rules, in the order of their lines.
const RULES: [Rule; 15] = [
    one_output_or_worse_than_chance,
    low_ceiling,
    far_from_zero,
    edge_of_grid,
    reranker_that_loses,
    reranker_that_knows_all,
    still_learning,
    training_without_steps,
    shared_between_splits,
    one_class,
    empty_texts,
    packed_bits,
    columns_in_other_units,
    constant_columns,
    duplicate_candidates,
];

/// Returns the advice that applies, a line each.
pub(crate) fn advice(findings: &Findings) -> Result<Vec<String>, Error> {
    RULES.iter().filter_map(|rule| rule(findings).transpose()).collect()
}

/// Perfect h below this share of the best possible metric is low.
const LOW: f64 = 0.9;

/// The loss still falls if it falls by this share between the last two evaluations.
const FALLS: f64 = 0.02;

/// Returns the metric that chooses, if it is known of both; else the first one that is.
fn comparable(a: &Scores, b: &Scores, metric: Metric) -> Option<(Metric, f64, f64)> {
    let of_both = |metric: Metric| Some((metric, metric.measured(a)?, metric.measured(b)?));
    of_both(metric).or_else(|| Metric::all().find_map(of_both))
}

/// Advises where most predictions are one output, else where they are worse than chance. Predicted label sets are always
/// compared; other outputs only where the model is worse than chance, for it takes another pass over the candidates.
fn one_output_or_worse_than_chance(findings: &Findings) -> Result<Option<String>, Error> {
    let config = &findings.problem.config;
    let trains = config.encoder.abilities().trains_in_steps;
    let settings = if trains { "the learning rate" } else { "λ" };
    let below = below_chance("the model", settings, config, findings.report);
    let features = &config.output.features;
    let compared = features.are_labels() || features.are_classes();
    if features.are_numbers() || (below.is_none() && !compared) {
        return Ok(below);
    }
    let split = findings.report.split.to_string();
    let predictions = findings.evaluator.predictions(findings.predictions)?;
    Ok(one_output(&split, &predictions, trains, !config.weighs_outputs()).or(below))
}

/// Advises where most predictions are one output, and most of these are wrong; `trains` where the learner has epochs, and
/// `have_length` where predictions can be scaled to unit length.
fn one_output(
    split: &str,
    predictions: &[(String, String)],
    trains: bool,
    have_length: bool,
) -> Option<String> {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (predicted, truth) in predictions {
        let (count, right) = counts.entry(predicted).or_default();
        *count += 1;
        *right += usize::from(predicted == truth);
    }
    let (output, (count, right)) = counts.into_iter().max_by_key(|(_, (count, _))| *count)?;
    let all = predictions.len();
    if 2 * count <= all || 2 * right >= count || all <= 1 {
        return None;
    }
    let name = if output.is_empty() { "the empty set" } else { output };
    let scaled = if have_length {
        ", and under a kernel that is not normalised decoding.normalise = true"
    } else {
        ""
    };
    let remedy = if trains {
        "more epochs or a higher learning rate"
    } else {
        "a smaller λ, or a kernel, γ or scaling of the inputs under which they differ and are not all unlike"
    };
    Some(format!(
        "{count} of {all} {split} predictions are the same output, {name} (correct for {right}): try \
         {remedy}{scaled}"
    ))
}

/// Advises where `subject` is worse than chance; `settings` are those that say how closely it follows the training pairs.
fn below_chance(
    subject: &str,
    settings: &str,
    config: &Checked,
    report: &Report,
) -> Option<String> {
    let (metric, model, chance) =
        comparable(&report.metrics, &report.chance, config.evaluation.metric)?;
    // few queries say little: chance may be within what another draw of them gives
    let interval = report.intervals.get(metric.name());
    let is_within = interval.is_some_and(|&[low, high]| low <= chance && chance <= high);
    let is_below = if metric.larger_is_better() { model < chance } else { model > chance };
    if !is_below || is_within {
        return None;
    }
    let places = places(model.min(chance));
    Some(format!(
        "{subject} is worse than chance ({metric} {model:.places$}, chance {chance:.places$}): \
         check that the ids of pairs name the right outputs, and {settings}"
    ))
}

/// Advises where perfect h is low, so that a larger sketch or another kernel may do better.
fn low_ceiling(findings: &Findings) -> Result<Option<String>, Error> {
    let Some(perfect) = &findings.report.perfect_h else { return Ok(None) };
    // shares: 1 is the best
    let share = |metric: &Metric| match metric.needs() {
        Needs::Ranks
        | Needs::Labels
        | Needs::Classes
        | Needs::LabelsOrClasses
        | Needs::Rankings => metric.larger_is_better(),
        Needs::FiniteRanks
        | Needs::Graphs
        | Needs::GraphsOrRankings
        | Needs::Numbers
        | Needs::FeatureSpace
        | Needs::ComparedOutputs
        | Needs::Asked
        | Needs::Quantiles => false,
    };
    let chosen = std::iter::once(findings.problem.config.evaluation.metric).chain(Metric::all());
    let reached = |metric: Metric| Some((metric, metric.measured(perfect)?));
    let Some((metric, value)) = chosen.filter(share).find_map(reached) else { return Ok(None) };
    if value >= LOW || value >= LOW * best_possible(findings, metric) {
        return Ok(None);
    }
    let size = findings.problem.config.sketch.size;
    let ceiling = format!("perfect h has only {metric} {value:.4}, with sketch.size = {size}");
    let compared = metric == findings.problem.config.evaluation.metric;
    let larger = if compared { larger_sketch(findings)? } else { None };
    let line = match larger {
        Some((larger, perfect_h)) => {
            format!("{ceiling}: a sketch of size {larger} reaches {perfect_h:.4} on validation")
        }
        None if size >= findings.problem.dataset.train.ids.len() => {
            format!("{ceiling}, as large as the training data: try a different kernel or features")
        }
        None => format!(
            "{ceiling}: compare sizes and powers by `dsokr sketch`, or try a different kernel or features"
        ),
    };
    Ok(Some(line))
}

/// Returns the metric of a search that puts no other output above a gold one. It is below 1 where several candidates are the gold
/// output of a query, such as two rows of a table with one molecule, since their order is that of chance.
fn best_possible(findings: &Findings, metric: Metric) -> f64 {
    let dataset = &findings.problem.dataset;
    let rank_metric = RANK_METRICS.iter().find(|of_ranks| of_ranks.name == metric.name());
    let (Some(rank_metric), Some(split)) = (rank_metric, dataset.split(findings.report.split))
    else {
        return 1.0;
    };
    let outputs = &dataset.outputs;
    let name = |&output: &usize| match outputs.labels[output].as_str() {
        "" => outputs.ids[output].clone(),
        label => canonical(label),
    };
    let names: Vec<String> = outputs.candidates.par_iter().map(name).collect();
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for name in &names {
        *counts.entry(name).or_default() += 1;
    }
    let pool = names.len() as u64;
    let first = |gold: &Option<usize>| {
        let gold = gold.as_ref().map(name)?;
        let same = *counts.get(gold.as_str())?;
        Rank::new(0, same, pool).ok()
    };
    let ranks: Vec<Option<Rank>> = split.outputs.iter().map(first).collect();
    if ranks.is_empty() { 1.0 } else { rank_metric.of_ranks(&ranks).unwrap_or(1.0) }
}

/// Advises where the training outputs are so far from zero that scores lose digits.
fn far_from_zero(findings: &Findings) -> Result<Option<String>, Error> {
    let Some(spread) = findings.problem.spread()? else { return Ok(None) };
    let offset = spread.offset();
    let is_far = offset * offset > Spread::LARGE;
    if !is_far {
        return Ok(None);
    }
    let remedy = findings.problem.far_from_zero_remedy();
    Ok(Some(format!(
        "the mean of the training outputs is {offset:.0} times as far from zero as they are from it, which costs \
         scores digits: set {remedy}"
    )))
}

/// Advises where a value that was chosen from a list is the first or the last of it, and values beyond may be better.
fn edge_of_grid(findings: &Findings) -> Result<Option<String>, Error> {
    let lines = findings.choices.iter().filter_map(|choice| {
        let (end, beyond) = choice.edge()?;
        let key = &choice.key;
        let chosen = choice.chosen;
        let count = choice.tried.len();
        Some(format!(
            "{key} = {chosen} is the {end} of the {count} values tried: try {beyond} ones"
        ))
    });
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        return Ok(None);
    }
    Ok(Some(lines.join("; ")))
}

/// Advises where the validation metric is better without the reranker.
fn reranker_that_loses(findings: &Findings) -> Result<Option<String>, Error> {
    let Some(Reranked { with, without }) = findings.reranked else { return Ok(None) };
    let metric = findings.problem.config.evaluation.metric;
    let loses = if metric.larger_is_better() { with < without } else { with > without };
    if !loses {
        return Ok(None);
    }
    let places = places(with.min(without));
    Ok(Some(format!(
        "the validation {metric} is {with:.places$} with the reranker and {without:.places$} without it: remove \
         decoding.reranker"
    )))
}

/// Advises where the reranker has learned from all pairs of its folds together, so that nothing can be calibrated or weighed on
/// held-out predictions.
fn reranker_that_knows_all(findings: &Findings) -> Result<Option<String>, Error> {
    if !findings.lacks_unseen {
        return Ok(None);
    }
    Ok(Some(format!(
        "held-out predictions calibrate no sets and give no weights: {KNOWS_ALL}; raise \
         decoding.reranker.held_out_folds"
    )))
}

/// Advises where the loss still falls at the last epoch, whose model is the best.
fn still_learning(findings: &Findings) -> Result<Option<String>, Error> {
    let [.., before, last] = findings.log else { return Ok(None) };
    let epochs = findings.problem.config.training.epochs;
    let falls = last.loss < (1.0 - FALLS) * before.loss;
    let whole = last.epoch == epochs as f64;
    if !falls || !whole || !last.best {
        return Ok(None);
    }
    Ok(Some(format!(
        "the loss still falls at the last epoch (from {:.4} to {:.4}), and the model is the best there: \
         raise training.epochs above {epochs}",
        before.loss, last.loss
    )))
}

/// Advises where settings of gradient descent are given for a learner without steps.
fn training_without_steps(findings: &Findings) -> Result<Option<String>, Error> {
    let config = &findings.problem.config;
    let trains = config.encoder.abilities().trains_in_steps;
    let given = config.training.clone().resolved();
    let is_ignored = !trains && given != TrainingConfig::default().resolved();
    if !is_ignored {
        return Ok(None);
    }
    let kind = config.encoder.kind();
    Ok(Some(format!("[training] has no effect: encoder.kind = {kind:?} is not trained in steps")))
}

/// Sizes that are tried, as multiples of the configuration's.
const MULTIPLES: [usize; 3] = [1, 2, 4];

/// The most kernel values of outputs with anchors that are worth a line of advice: some seconds.
const MOST: usize = 50_000_000;

/// Returns the smallest good size of a sketch among 1, 2 and 4 times the configuration's, if it is a larger one, and perfect h of
/// it on the validation split. None where large sets of outputs have many kernel values, and for learners without steps:
/// `dsokr sketch` fits these for each size.
fn larger_sketch(findings: &Findings) -> Result<Option<(usize, f64)>, Error> {
    let problem = findings.problem;
    let config = &problem.config;
    let size = config.sketch.size;
    let rows = problem.len() + problem.dataset.outputs.candidates.len();
    let is_small = |&size: &usize| size <= problem.len() && size.saturating_mul(rows) <= MOST;
    let multiples = MULTIPLES.iter().map(|multiple| size.saturating_mul(*multiple));
    let sizes: Vec<usize> = multiples.filter(is_small).collect();
    let several = !config.output.kernels.is_empty();
    let trains = config.encoder.abilities().trains_in_steps;
    if sizes.len() < 2 || !trains || config.sketch.full || several {
        return Ok(None);
    }
    info!(?sizes, "perfect h of larger sketches, for advice");
    // only the first process gives advice
    let problem = &problem.alone();
    let metric = config.evaluation.metric;
    let mut figures = Vec::new();
    let mut length = 0.0;
    for size in sizes {
        let drawn = DrawnSketch::draw(problem, size, config.seed)?;
        length = drawn.targets.squared_norms().iter().sum::<f64>() / problem.len() as f64;
        let Some(scores) = drawn.perfect(&problem.ranks, problem)? else { return Ok(None) };
        figures.push((size, metric.value_beyond(&scores)));
    }
    let nothing = if metric.needs() == Needs::FeatureSpace { length } else { 0.0 };
    let good = smallest_good_size(&figures, metric.larger_is_better(), nothing);
    Ok(figures.into_iter().find(|(tried, _)| *tried == good && good > size))
}
