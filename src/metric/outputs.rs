//! Figures of predicted outputs beside the true ones.

use super::{Definition, Needs};
use crate::{MoleculeScores, OutputScores, Scores};

pub(super) const GED: Definition = Definition {
    name: "ged",
    meaning: "Mean graph edit distance of predicted molecules, smaller is better.",
    larger_is_better: false,
    needs: Needs::Graphs,
    value: |scores| molecules(scores).map(|molecules| molecules.ged),
};

pub(super) const GED_BONDS: Definition = Definition {
    name: "ged_bonds",
    meaning: "The same with bonds compared, smaller is better.",
    larger_is_better: false,
    needs: Needs::Graphs,
    value: |scores| molecules(scores).map(|molecules| molecules.ged_bonds),
};

pub(super) const F1: Definition = Definition {
    name: "f1",
    meaning: "Mean F1 of predicted label sets, larger is better.",
    larger_is_better: true,
    needs: Needs::Labels,
    value: |scores| match &scores.outputs {
        Some(OutputScores::Labels(labels)) => Some(labels.f1),
        Some(OutputScores::Molecules(_) | OutputScores::Rankings(_)) | None => None,
    },
};

pub(super) const KENDALL_TAU: Definition = Definition {
    name: "kendall_tau",
    meaning: "Mean Kendall's τ of predicted rankings, larger is better.",
    larger_is_better: true,
    needs: Needs::Rankings,
    value: |scores| match &scores.outputs {
        Some(OutputScores::Rankings(rankings)) => Some(rankings.kendall_tau),
        Some(OutputScores::Molecules(_) | OutputScores::Labels(_)) | None => None,
    },
};

fn molecules(scores: &Scores) -> Option<&MoleculeScores> {
    match &scores.outputs {
        Some(OutputScores::Molecules(molecules)) => Some(molecules),
        Some(OutputScores::Labels(_) | OutputScores::Rankings(_)) | None => None,
    }
}
