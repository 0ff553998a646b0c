use dsokr_decode::Rank;

use super::{Definition, Needs, Over};
use crate::metrics::areas::ScoredLabels;
use crate::metrics::classes::PredictedClasses;
use crate::metrics::regression::PredictedTarget;

/// All metrics, in the order of reports; the first is the default.
pub(super) static METRICS: [Definition; 28] = [
    larger("mrr", "MRR", Needs::Ranks, "Mean reciprocal rank")
        .over(Over::Ranks(Rank::expected_reciprocal)),
    larger("hits@1", "Hits@1", Needs::Ranks, "Share of queries whose gold is first")
        .over(Over::Hits(1)),
    larger("hits@5", "Hits@5", Needs::Ranks, "Share with the gold among the first five")
        .over(Over::Hits(5)),
    larger("hits@10", "Hits@10", Needs::Ranks, "Share with the gold among the first ten")
        .over(Over::Hits(10)),
    larger("hits@20", "Hits@20", Needs::Ranks, "Share with the gold among the first twenty")
        .over(Over::Hits(20)),
    smaller("mean_rank", "mean rank", Needs::FiniteRanks, "Mean rank")
        .over(Over::Ranks(Rank::expected_rank)),
    smaller("median_rank", "median rank", Needs::FiniteRanks, "Median rank").over(Over::MedianRank),
    smaller(
        "ged",
        "edit distance",
        Needs::Graphs,
        "Mean graph edit distance of predicted molecules",
    ),
    smaller("ged_bonds", "edit distance with bonds", Needs::Graphs, "The same with bonds compared"),
    larger(
        "f1",
        "F1",
        Needs::LabelsOrClasses,
        "Mean F1 of predicted label sets; of classes the F1 of the positive one, else of all",
    )
    .over(Over::F1),
    larger("micro_f1", "micro F1", Needs::Labels, "F1 of all labels of all queries together")
        .over(Over::MicroF1),
    larger(
        "macro_f1",
        "macro F1",
        Needs::LabelsOrClasses,
        "Mean over labels or classes of the F1 of one",
    )
    .over(Over::MacroF1),
    smaller(
        "hamming_loss",
        "Hamming loss",
        Needs::Labels,
        "Share of labels of a query that are wrong",
    )
    .over(Over::HammingLoss),
    larger("accuracy", "accuracy", Needs::Classes, "Share of queries whose class is predicted")
        .over(Over::Classes(PredictedClasses::accuracy)),
    larger(
        "roc_auc",
        "ROC AUC",
        Needs::LabelsOrClasses,
        "Area under the ROC curve of scores of labels or classes, their mean or that of the positive class",
    )
    .over(Over::Area(ScoredLabels::roc_auc)),
    larger(
        "pr_auc",
        "PR AUC",
        Needs::LabelsOrClasses,
        "Area under the precision-recall curve, as average precision, likewise",
    )
    .over(Over::Area(ScoredLabels::pr_auc)),
    larger(
        "kendall_tau",
        "Kendall's tau",
        Needs::Rankings,
        "Mean Kendall's τ-b of predicted rankings, 0 for rankings without a common pair",
    ),
    larger(
        "exact",
        "share exact",
        Needs::GraphsOrRankings,
        "Share of graphs or rankings that are predicted exactly",
    ),
    smaller(
        "rrmse",
        "RRMSE",
        Needs::Numbers,
        "Root of the squared error of numbers over that of the training mean, averaged over targets",
    )
    .over(Over::Numbers(PredictedTarget::rrmse)),
    smaller("mae", "MAE", Needs::Numbers, "Mean absolute error of numbers, averaged over targets")
        .over(Over::Numbers(PredictedTarget::mae)),
    smaller(
        "rmse",
        "RMSE",
        Needs::Numbers,
        "Root of the mean squared error of numbers, averaged over targets",
    )
    .over(Over::Numbers(PredictedTarget::rmse)),
    larger(
        "r2",
        "R²",
        Needs::Numbers,
        "Coefficient of determination of numbers, averaged over targets",
    )
    .over(Over::Numbers(PredictedTarget::r2)),
    larger(
        "spearman",
        "Spearman's rho",
        Needs::Numbers,
        "Spearman's rank correlation of numbers, averaged over targets",
    )
    .over(Over::Numbers(PredictedTarget::spearman)),
    smaller(
        "squared_error",
        "squared error",
        Needs::FeatureSpace,
        "Mean squared distance of answers from the outputs in the kernel's feature space",
    ),
    smaller(
        "kernel_loss",
        "kernel loss",
        Needs::ComparedOutputs,
        "Mean squared distance of the chosen outputs from the right ones in the kernel's feature space",
    ),
    smaller(
        "mces",
        "MCES at 1",
        Needs::Asked,
        "Mean myopic MCES distance of the first molecules from the right ones, of `evaluate --mces`; it does not choose",
    ),
    smaller(
        "pinball",
        "pinball loss",
        Needs::Quantiles,
        "Mean pinball loss of predicted quantiles",
    ),
    smaller(
        "crossing",
        "crossing loss",
        Needs::Quantiles,
        "Mean of how far quantiles lie below those of the level before",
    ),
];

/// A metric where smaller is better: the mean of values that the evaluation keeps.
const fn smaller(
    name: &'static str,
    title: &'static str,
    needs: Needs,
    meaning: &'static str,
) -> Definition {
    Definition { name, title, meaning, larger_is_better: false, needs, over: Over::Kept }
}

/// The same, where larger is better.
const fn larger(
    name: &'static str,
    title: &'static str,
    needs: Needs,
    meaning: &'static str,
) -> Definition {
    Definition { larger_is_better: true, ..smaller(name, title, needs, meaning) }
}

impl Definition {
    /// The same, of other values of the queries.
    const fn over(self, over: Over) -> Self {
        Self { over, ..self }
    }
}
