//! Metrics of predicted outputs beside the true ones.

use dsokr_data::Truth;
use dsokr_decode::MultiLabelMetrics;

use super::samples::{LabelCounts, f1};
use super::{Definition, Needs, Samples};
use crate::{Evaluation, MoleculeScores, OutputScores, RankingScores, Scores};

pub(super) const GED: Definition = Definition {
    name: "ged",
    title: "edit distance",
    meaning: "Mean graph edit distance of predicted molecules, smaller is better.",
    larger_is_better: false,
    needs: Needs::Graphs,
    value: |scores| molecules(scores).map(|molecules| molecules.ged),
    samples: |evaluation| evaluation.queries.distances.clone().map(Samples::Mean),
};

pub(super) const GED_BONDS: Definition = Definition {
    name: "ged_bonds",
    title: "edit distance with bonds",
    meaning: "The same with bonds compared, smaller is better.",
    larger_is_better: false,
    needs: Needs::Graphs,
    value: |scores| molecules(scores).map(|molecules| molecules.ged_bonds),
    samples: |evaluation| evaluation.queries.bond_distances.clone().map(Samples::Mean),
};

pub(super) const F1: Definition = Definition {
    name: "f1",
    title: "F1",
    meaning: "Mean F1 of predicted label sets, larger is better.",
    larger_is_better: true,
    needs: Needs::Labels,
    value: |scores| labels(scores).map(|labels| labels.f1),
    samples: |evaluation| {
        let values = LabelCounts::of(evaluation)?;
        Some(Samples::Mean(values.sums().map(|(common, all)| f1(common, all)).collect()))
    },
};

pub(super) const MICRO_F1: Definition = Definition {
    name: "micro_f1",
    title: "micro F1",
    meaning: "F1 of all labels of all queries together, larger is better.",
    larger_is_better: true,
    needs: Needs::Labels,
    value: |scores| labels(scores).map(|labels| labels.micro_f1),
    samples: |evaluation| LabelCounts::of(evaluation).map(Samples::MicroF1),
};

pub(super) const MACRO_F1: Definition = Definition {
    name: "macro_f1",
    title: "macro F1",
    meaning: "Mean over labels of a label's F1, larger is better.",
    larger_is_better: true,
    needs: Needs::Labels,
    value: |scores| labels(scores).map(|labels| labels.macro_f1),
    samples: |evaluation| LabelCounts::of(evaluation).map(Samples::MacroF1),
};

pub(super) const HAMMING_LOSS: Definition = Definition {
    name: "hamming_loss",
    title: "Hamming loss",
    meaning: "Share of labels of a query that are wrong, smaller is better.",
    larger_is_better: false,
    needs: Needs::Labels,
    value: |scores| labels(scores).map(|labels| labels.hamming_loss),
    samples: |evaluation| {
        let counts = LabelCounts::of(evaluation)?;
        let share = |(common, all)| (all - 2 * common) as f64 / counts.columns as f64;
        Some(Samples::Mean(counts.sums().map(share).collect()))
    },
};

pub(super) const KENDALL_TAU: Definition = Definition {
    name: "kendall_tau",
    title: "Kendall's tau",
    meaning: "Mean Kendall's τ of predicted rankings, larger is better.",
    larger_is_better: true,
    needs: Needs::Rankings,
    value: |scores| match &scores.outputs {
        Some(OutputScores::Rankings(rankings)) => Some(rankings.kendall_tau),
        Some(OutputScores::Molecules(_) | OutputScores::Labels(_)) | None => None,
    },
    samples: |evaluation| agreements(evaluation, |(tau, _)| tau),
};

pub(super) const EXACT: Definition = Definition {
    name: "exact",
    title: "share exact",
    meaning: "Share of graphs or rankings that are predicted exactly, larger is better.",
    larger_is_better: true,
    needs: Needs::GraphsOrRankings,
    value: |scores| match &scores.outputs {
        Some(OutputScores::Molecules(molecules)) => Some(molecules.exact),
        Some(OutputScores::Rankings(rankings)) => Some(rankings.exact),
        Some(OutputScores::Labels(_)) | None => None,
    },
    samples: |evaluation| match &evaluation.queries.bond_distances {
        Some(distances) => {
            let same = distances.iter().map(|&distance| f64::from(u8::from(distance == 0.0)));
            Some(Samples::Mean(same.collect()))
        }
        None => agreements(evaluation, |(_, same)| f64::from(u8::from(same))),
    },
};

fn molecules(scores: &Scores) -> Option<&MoleculeScores> {
    match &scores.outputs {
        Some(OutputScores::Molecules(molecules)) => Some(molecules),
        Some(OutputScores::Labels(_) | OutputScores::Rankings(_)) | None => None,
    }
}

fn labels(scores: &Scores) -> Option<&MultiLabelMetrics> {
    match &scores.outputs {
        Some(OutputScores::Labels(labels)) => Some(labels),
        Some(OutputScores::Molecules(_) | OutputScores::Rankings(_)) | None => None,
    }
}

/// The mean of a value of each ranking's agreement with the true one: Kendall's τ, and whether all
/// pairs are in the same order.
fn agreements(evaluation: &Evaluation, value: impl Fn((f64, bool)) -> f64) -> Option<Samples> {
    let Some((Truth::Rankings(truth), Truth::Rankings(predicted))) = &evaluation.outputs else {
        return None;
    };
    let pairs = truth.iter().zip(predicted);
    let values = pairs.map(|(a, b)| RankingScores::agreement(a, b).ok().map(&value));
    values.collect::<Option<Vec<f64>>>().map(Samples::Mean)
}
