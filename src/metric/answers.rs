//! Metrics of predictions by themselves.

use super::{Definition, Needs, Samples};

pub(super) const SQUARED_ERROR: Definition = Definition {
    name: "squared_error",
    title: "squared error",
    meaning: "Mean squared distance of answers from the outputs in the kernel's feature space, \
              smaller is better.",
    larger_is_better: false,
    needs: Needs::FeatureSpace,
    value: |scores| scores.squared_error,
    samples: |evaluation| evaluation.queries.squared_errors.clone().map(Samples::Mean),
};

pub(super) const PINBALL: Definition = Definition {
    name: "pinball",
    title: "pinball loss",
    meaning: "Mean pinball loss of predicted quantiles, smaller is better.",
    larger_is_better: false,
    needs: Needs::Quantiles,
    value: |scores| scores.quantiles.as_ref().map(|quantiles| quantiles.pinball),
    samples: |evaluation| evaluation.queries.pinball.clone().map(Samples::Mean),
};

pub(super) const CROSSING: Definition = Definition {
    name: "crossing",
    title: "crossing loss",
    meaning: "Mean of how far quantiles lie below those of the level before, smaller is better.",
    larger_is_better: false,
    needs: Needs::Quantiles,
    value: |scores| scores.quantiles.as_ref().map(|quantiles| quantiles.crossing),
    samples: |evaluation| evaluation.queries.crossing.clone().map(Samples::Mean),
};
