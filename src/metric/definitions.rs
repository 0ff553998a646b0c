use dsokr_decode::{MultiLabelMetrics, Rank};

use super::{Definition, LabelCounts, Needs, Samples, f1};
use crate::{Evaluation, MoleculeScores, OutputScores, RankingScores, RegressionScores, Scores};

const LARGER: bool = true;
const SMALLER: bool = false;

/// All metrics, in the order of reports; the first is the default.
pub(super) static METRICS: [Definition; 21] = [
    metric(
        ["mrr", "MRR"],
        "Mean reciprocal rank, larger is better.",
        (LARGER, Needs::Ranks),
        |scores| Some(scores.mrr),
        |evaluation| of_ranks(evaluation, 0.0, Rank::expected_reciprocal),
    ),
    metric(
        ["hits@1", "Hits@1"],
        "Share of queries whose gold is first, larger is better.",
        (LARGER, Needs::Ranks),
        |scores| Some(scores.hits_1),
        |evaluation| of_ranks(evaluation, 0.0, |rank| rank.expected_hit(1)),
    ),
    metric(
        ["hits@5", "Hits@5"],
        "Share with the gold among the first five, larger is better.",
        (LARGER, Needs::Ranks),
        |scores| Some(scores.hits_5),
        |evaluation| of_ranks(evaluation, 0.0, |rank| rank.expected_hit(5)),
    ),
    metric(
        ["hits@10", "Hits@10"],
        "Share with the gold among the first ten, larger is better.",
        (LARGER, Needs::Ranks),
        |scores| Some(scores.hits_10),
        |evaluation| of_ranks(evaluation, 0.0, |rank| rank.expected_hit(10)),
    ),
    metric(
        ["hits@20", "Hits@20"],
        "Share with the gold among the first twenty, larger is better.",
        (LARGER, Needs::Ranks),
        |scores| scores.hits_20,
        |evaluation| of_ranks(evaluation, 0.0, |rank| rank.expected_hit(20)),
    ),
    metric(
        ["mean_rank", "mean rank"],
        "Mean rank, smaller is better.",
        (SMALLER, Needs::FiniteRanks),
        |scores| scores.mean_rank,
        |evaluation| of_ranks(evaluation, f64::INFINITY, Rank::expected_rank),
    ),
    metric(
        ["median_rank", "median rank"],
        "Median rank, smaller is better.",
        (SMALLER, Needs::FiniteRanks),
        |scores| scores.median_rank,
        |evaluation| Some(Samples::Median(ranks(evaluation, f64::INFINITY, Rank::expected_rank))),
    ),
    kept(
        ["ged", "edit distance"],
        "Mean graph edit distance of predicted molecules, smaller is better.",
        (SMALLER, Needs::Graphs),
        |scores| molecules(scores).map(|molecules| molecules.ged),
    ),
    kept(
        ["ged_bonds", "edit distance with bonds"],
        "The same with bonds compared, smaller is better.",
        (SMALLER, Needs::Graphs),
        |scores| molecules(scores).map(|molecules| molecules.ged_bonds),
    ),
    metric(
        ["f1", "F1"],
        "Mean F1 of predicted label sets, larger is better.",
        (LARGER, Needs::Labels),
        |scores| labels(scores).map(|labels| labels.f1),
        |evaluation| of_labels(evaluation, |(common, all), _| f1(common, all)),
    ),
    metric(
        ["micro_f1", "micro F1"],
        "F1 of all labels of all queries together, larger is better.",
        (LARGER, Needs::Labels),
        |scores| labels(scores).map(|labels| labels.micro_f1),
        |evaluation| LabelCounts::of(evaluation).map(Samples::MicroF1),
    ),
    metric(
        ["macro_f1", "macro F1"],
        "Mean over labels of a label's F1, larger is better.",
        (LARGER, Needs::Labels),
        |scores| labels(scores).map(|labels| labels.macro_f1),
        |evaluation| LabelCounts::of(evaluation).map(Samples::MacroF1),
    ),
    metric(
        ["hamming_loss", "Hamming loss"],
        "Share of labels of a query that are wrong, smaller is better.",
        (SMALLER, Needs::Labels),
        |scores| labels(scores).map(|labels| labels.hamming_loss),
        |evaluation| {
            of_labels(evaluation, |(common, all), columns| (all - 2 * common) as f64 / columns)
        },
    ),
    kept(
        ["kendall_tau", "Kendall's tau"],
        "Mean Kendall's τ of predicted rankings, larger is better.",
        (LARGER, Needs::Rankings),
        |scores| rankings(scores).map(|rankings| rankings.kendall_tau),
    ),
    kept(
        ["exact", "share exact"],
        "Share of graphs or rankings that are predicted exactly, larger is better.",
        (LARGER, Needs::GraphsOrRankings),
        |scores| match molecules(scores) {
            Some(molecules) => Some(molecules.exact),
            None => rankings(scores).map(|rankings| rankings.exact),
        },
    ),
    kept(
        ["rrmse", "RRMSE"],
        "Root of the squared error of numbers over that of the training mean, averaged over targets, smaller is better.",
        (SMALLER, Needs::Numbers),
        |scores| numbers(scores).map(|numbers| numbers.rrmse),
    ),
    kept(
        ["squared_error", "squared error"],
        "Mean squared distance of answers from the outputs in the kernel's feature space, smaller is better.",
        (SMALLER, Needs::FeatureSpace),
        |scores| scores.squared_error,
    ),
    kept(
        ["kernel_loss", "kernel loss"],
        "Mean squared distance of the chosen outputs from the right ones in the kernel's feature space, smaller is better.",
        (SMALLER, Needs::ComparedOutputs),
        |scores| scores.kernel_loss,
    ),
    kept(
        ["mces", "MCES at 1"],
        "Mean myopic MCES distance of the first molecules from the right ones, of `evaluate --mces`; it does not choose. Smaller is better.",
        (SMALLER, Needs::Asked),
        |scores| scores.mces,
    ),
    kept(
        ["pinball", "pinball loss"],
        "Mean pinball loss of predicted quantiles, smaller is better.",
        (SMALLER, Needs::Quantiles),
        |scores| scores.quantiles.as_ref().map(|quantiles| quantiles.pinball),
    ),
    kept(
        ["crossing", "crossing loss"],
        "Mean of how far quantiles lie below those of the level before, smaller is better.",
        (SMALLER, Needs::Quantiles),
        |scores| scores.quantiles.as_ref().map(|quantiles| quantiles.crossing),
    ),
];

const fn metric(
    [name, title]: [&'static str; 2],
    meaning: &'static str,
    (larger_is_better, needs): (bool, Needs),
    value: fn(&Scores) -> Option<f64>,
    samples: fn(&Evaluation) -> Option<Samples>,
) -> Definition {
    let samples = Some(samples);
    Definition { name, title, meaning, larger_is_better, needs, value, samples }
}

/// A mean of values that the evaluation keeps by the name of the metric.
const fn kept(
    [name, title]: [&'static str; 2],
    meaning: &'static str,
    (larger_is_better, needs): (bool, Needs),
    value: fn(&Scores) -> Option<f64>,
) -> Definition {
    Definition { name, title, meaning, larger_is_better, needs, value, samples: None }
}

/// A value of the rank of each query, `missing` where the gold is no candidate.
fn ranks(evaluation: &Evaluation, missing: f64, value: impl Fn(&Rank) -> f64) -> Vec<f64> {
    evaluation.ranks.iter().map(|rank| rank.as_ref().map_or(missing, &value)).collect()
}

/// The mean of these values.
fn of_ranks(evaluation: &Evaluation, missing: f64, value: fn(&Rank) -> f64) -> Option<Samples> {
    Some(Samples::Mean(ranks(evaluation, missing, value)))
}

/// The mean of a value of common labels and labels of both sets together, of so many columns.
fn of_labels(evaluation: &Evaluation, value: fn((u64, u64), f64) -> f64) -> Option<Samples> {
    let counts = LabelCounts::of(evaluation)?;
    Some(Samples::Mean(counts.sums().map(|sum| value(sum, counts.columns as f64)).collect()))
}

fn molecules(scores: &Scores) -> Option<&MoleculeScores> {
    let OutputScores::Molecules(molecules) = scores.outputs.as_ref()? else { return None };
    Some(molecules)
}

fn labels(scores: &Scores) -> Option<&MultiLabelMetrics> {
    let OutputScores::Labels(labels) = scores.outputs.as_ref()? else { return None };
    Some(labels)
}

fn numbers(scores: &Scores) -> Option<&RegressionScores> {
    let OutputScores::Numbers(numbers) = scores.outputs.as_ref()? else { return None };
    Some(numbers)
}

fn rankings(scores: &Scores) -> Option<&RankingScores> {
    let OutputScores::Rankings(rankings) = scores.outputs.as_ref()? else { return None };
    Some(rankings)
}
