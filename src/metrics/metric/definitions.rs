//! The list of all metrics. Configurations, reports, tables and comparisons take theirs from it.

use std::sync::LazyLock;

use dsokr_decode::{RANK_METRICS, RankMetric, RankSummary};

use super::{Definition, Needs, Over};
use crate::metrics::areas::ScoredLabels;
use crate::metrics::classes::PredictedClasses;
use crate::metrics::regression::PredictedNumbers;

/// All metrics, in the order of reports; the first is the default. Those of ranks are the entries of
/// [`RANK_METRICS`](dsokr_decode::RANK_METRICS).
pub(super) static METRICS: LazyLock<Vec<Definition>> =
    LazyLock::new(|| RANK_METRICS.iter().map(of_ranks).chain(OF_OUTPUTS).collect());

/// The metrics of what is predicted, behind those of ranks.
const OF_OUTPUTS: [Definition; 21] = [
    smaller(
        "ged",
        "edit distance",
        Needs::Graphs,
        "Mean graph edit distance of predicted molecules",
    )
    .places(3)
    .width(15),
    smaller("ged_bonds", "edit distance with bonds", Needs::Graphs, "The same with bonds compared")
        .heading("with bonds")
        .places(3)
        .width(15),
    larger("accuracy", "accuracy", Needs::Classes, "Share of queries whose class is predicted")
        .over(Over::Classes(PredictedClasses::accuracy))
        .share(),
    larger(
        "f1",
        "F1",
        Needs::LabelsOrClasses,
        "Mean F1 of predicted label sets; of classes the F1 of the positive one, else of all",
    )
    .over(Over::F1)
    .mean(),
    larger("micro_f1", "micro F1", Needs::Labels, "F1 of all labels of all queries together")
        .over(Over::MicroF1),
    larger(
        "macro_f1",
        "macro F1",
        Needs::LabelsOrClasses,
        "Mean over labels or classes of the F1 of one",
    )
    .over(Over::MacroF1),
    larger(
        "roc_auc",
        "ROC AUC",
        Needs::LabelsOrClasses,
        "Area under the ROC curve of scores of labels or classes, their mean or that of the \
         positive class",
    )
    .over(Over::Area(ScoredLabels::roc_auc)),
    larger(
        "pr_auc",
        "PR AUC",
        Needs::LabelsOrClasses,
        "Area under the precision-recall curve, as average precision, likewise",
    )
    .over(Over::Area(ScoredLabels::pr_auc))
    .width(7),
    smaller(
        "hamming_loss",
        "Hamming loss",
        Needs::Labels,
        "Share of all labels that are wrong about a query",
    )
    .over(Over::HammingLoss)
    .mean()
    .between(0.0, 1.0)
    .places(5),
    larger(
        "kendall_tau",
        "Kendall's tau",
        Needs::Rankings,
        "Mean Kendall's τ-b of predicted rankings, 0 for rankings without a common pair",
    )
    .between(-1.0, 1.0),
    larger(
        "exact",
        "share exact",
        Needs::GraphsOrRankings,
        "Share of graphs or rankings that are predicted exactly",
    )
    .share()
    .heading("exact")
    .places(3),
    smaller("mae", "MAE", Needs::Numbers, "Mean absolute error of numbers, averaged over targets")
        .over(Over::Numbers(PredictedNumbers::mae))
        .mean()
        .in_units()
        .width(10),
    smaller(
        "rmse",
        "RMSE",
        Needs::Numbers,
        "Root of the mean squared error of numbers, averaged over targets",
    )
    .over(Over::Numbers(PredictedNumbers::rmse))
    .in_units()
    .width(10),
    larger(
        "r2",
        "R²",
        Needs::Numbers,
        "Coefficient of determination of numbers, averaged over targets",
    )
    .over(Over::Numbers(PredictedNumbers::r2))
    .between(f64::NEG_INFINITY, 1.0)
    .width(8),
    larger(
        "spearman",
        "Spearman's rho",
        Needs::Numbers,
        "Spearman's rank correlation of numbers, averaged over targets",
    )
    .over(Over::Numbers(PredictedNumbers::spearman))
    .between(-1.0, 1.0),
    smaller(
        "rrmse",
        "RRMSE",
        Needs::Numbers,
        "Root of the squared error of numbers over that of the training mean, averaged over \
         targets",
    )
    .over(Over::Numbers(PredictedNumbers::rrmse))
    .width(8),
    smaller(
        "squared_error",
        "squared error",
        Needs::FeatureSpace,
        "Mean squared distance of predictions from the outputs in the kernel's feature space",
    )
    .error()
    .width(14),
    smaller(
        "kernel_loss",
        "kernel loss",
        Needs::ComparedOutputs,
        "Mean squared distance of the chosen outputs from the right ones in the kernel's feature \
         space",
    )
    .error()
    .width(14),
    smaller(
        "mces",
        "MCES at 1",
        Needs::Asked,
        "Mean myopic MCES distance of the first molecules from the right ones, which an evaluation \
         measures if asked; it does not choose",
    )
    .places(3)
    .width(10),
    smaller(
        "pinball",
        "pinball loss",
        Needs::Quantiles,
        "Mean pinball loss of predicted quantiles",
    )
    .heading("pinball")
    .in_units()
    .width(11),
    smaller(
        "crossing",
        "crossing loss",
        Needs::Quantiles,
        "Mean of how far quantiles lie below those of the level before",
    )
    .heading("crossing")
    .error()
    .width(11),
];

/// The least width of a column in tables, unless a metric says another one.
const LEAST_WIDTH: usize = 6;

/// Returns a metric of ranks.
fn of_ranks(metric: &'static RankMetric) -> Definition {
    let needs = if metric.missing.is_finite() { Needs::Ranks } else { Needs::FiniteRanks };
    Definition {
        name: metric.name,
        title: metric.title,
        meaning: metric.meaning,
        larger_is_better: metric.larger_is_better,
        needs,
        over: Over::Ranks(metric),
        is_mean: metric.summary == RankSummary::Mean,
        is_share: metric.is_share,
        range: metric.range(),
        heading: metric.in_tables.then_some(metric.title),
        places: metric.places,
        is_error: false,
        is_in_units: false,
        width: LEAST_WIDTH,
    }
}

/// Returns a metric where smaller is better, from 0 on: the mean of values that the evaluation keeps.
const fn smaller(
    name: &'static str,
    title: &'static str,
    needs: Needs,
    meaning: &'static str,
) -> Definition {
    Definition {
        name,
        title,
        meaning,
        larger_is_better: false,
        needs,
        over: Over::Kept,
        is_mean: true,
        is_share: false,
        range: [0.0, f64::INFINITY],
        heading: Some(title),
        places: 4,
        is_error: false,
        is_in_units: false,
        width: LEAST_WIDTH,
    }
}

/// Returns a metric of which larger values are better, from 0 to 1.
const fn larger(
    name: &'static str,
    title: &'static str,
    needs: Needs,
    meaning: &'static str,
) -> Definition {
    let range = [0.0, 1.0];
    Definition { larger_is_better: true, range, ..smaller(name, title, needs, meaning) }
}

impl Definition {
    /// Returns the metric as one of other values of the queries, which it is not the mean of.
    const fn over(self, over: Over) -> Self {
        Self { over, is_mean: false, ..self }
    }

    /// Returns the metric as the mean of these values.
    const fn mean(self) -> Self {
        Self { is_mean: true, ..self }
    }

    /// Returns the metric as the mean of these values, which are 0 or 1.
    const fn share(self) -> Self {
        Self { is_mean: true, is_share: true, ..self }
    }

    /// Returns the metric with the least and the largest value that it may have.
    const fn between(self, least: f64, most: f64) -> Self {
        Self { range: [least, most], ..self }
    }

    /// Returns the metric with a shorter heading in tables.
    const fn heading(self, heading: &'static str) -> Self {
        Self { heading: Some(heading), ..self }
    }

    /// Returns the metric with a wider column in tables.
    const fn width(self, width: usize) -> Self {
        Self { width, ..self }
    }

    /// Returns the metric as an error, of which four digits are shown.
    const fn error(self) -> Self {
        Self { is_error: true, ..self }
    }

    /// Returns the metric as an error in the unit of the outputs.
    const fn in_units(self) -> Self {
        Self { is_in_units: true, ..self }
    }

    /// Returns the metric with so many decimal places in tables.
    const fn places(self, places: usize) -> Self {
        Self { places, ..self }
    }
}
