use dsokr_basis::{RowSource, SketchKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Targets;

/// A ridge regression in the span of sketched inputs: the least of
/// `(1/n) Σ_i ‖ĥ(x_i) − ψ_i‖² + λ ‖ĥ‖²`.
#[derive(Clone, Copy)]
pub struct RidgeProblem<'a, K> {
    /// The input kernel.
    pub kernel: K,
    /// The n training inputs.
    pub rows: &'a dyn RowSource,
    /// ψ, a row for each input.
    pub targets: &'a Targets,
    /// λ, above 0.
    pub lambda: f64,
    /// The seed of the sketch.
    pub seed: u64,
}

/// The sketch of the inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InputSketch {
    /// Its size m, at most the number of training pairs.
    pub size: usize,
    /// How it is drawn (default: sub-sampling without replacement).
    #[serde(default = "subsampling")]
    pub method: SketchKind,
}

impl InputSketch {
    /// m inputs drawn without replacement.
    pub fn subsampling(size: usize) -> Self {
        Self { size, method: subsampling() }
    }
}

fn subsampling() -> SketchKind {
    SketchKind::Subsampling { replacement: false }
}
