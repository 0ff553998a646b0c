//! The key `training.decay`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the learning rate falls after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Decay {
    /// Not at all.
    None,
    /// Linearly, so that it would reach the floor one step after the last.
    Linear,
    /// Along half a cosine, so that it would reach the floor one step after the last.
    Cosine,
    /// Warm-up, stable, decay: only in the last part of the steps, the `cooldown`, and linearly there (Hu et al. 2024).
    Wsd,
    /// By `plateau_factor` whenever evaluations have stopped to improve, as PyTorch's `ReduceLROnPlateau` with a threshold
    /// of 0.
    Plateau,
}
