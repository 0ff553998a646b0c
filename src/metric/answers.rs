//! Figures of answers by themselves.

use super::{Definition, Needs};

pub(super) const SQUARED_ERROR: Definition = Definition {
    name: "squared_error",
    meaning: "Mean squared distance of answers from the outputs in the kernel's feature space, \
              smaller is better.",
    larger_is_better: false,
    needs: Needs::FeatureSpace,
    value: |scores| scores.squared_error,
};

pub(super) const PINBALL: Definition = Definition {
    name: "pinball",
    meaning: "Mean pinball loss of predicted quantiles, smaller is better.",
    larger_is_better: false,
    needs: Needs::Quantiles,
    value: |scores| scores.quantiles.as_ref().map(|quantiles| quantiles.pinball),
};
