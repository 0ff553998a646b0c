use std::borrow::Cow;

use dsokr_decode::Queries;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check;
use crate::Error;

/// How scores `⟨z, ψ̃(c)⟩ + b(c)` are made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DecodingConfig {
    /// Whether answers z are scaled to unit length. It changes no order of candidates that have no
    /// constants; with constants, and beside other models, long and short answers then weigh the same.
    /// Always so with `hubs`.
    pub normalise: bool,
    /// The correction for hubs; none, if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hubs: Option<HubConfig>,
}

/// The correction for hubs, candidates that are near every answer:
/// `b(c) −= weight · (mean of the largest ⟨z_i, ψ̃(c)⟩)` over answers to training inputs by models that
/// were fitted without their pair.
///
/// A kernel machine's leave-one-out answers are known in closed form. For an encoder as many more are trained
/// as there are `folds`, each without a part of the pairs, which it then answers: that many trainings
/// more, for constants that are kept with the candidates. Of several weights and numbers of neighbours
/// the best on the validation split is kept, by `evaluation.metric`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HubConfig {
    /// Weights to choose from.
    pub weights: Vec<f32>,
    /// How many of the largest similarities are averaged, to choose from.
    pub neighbours: Vec<usize>,
    /// Parts of the training pairs, for encoders only; 3, if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folds: Option<usize>,
}

impl HubConfig {
    /// Parts of the training pairs.
    pub fn folds(&self) -> usize {
        self.folds.unwrap_or(3)
    }
}

impl Default for HubConfig {
    fn default() -> Self {
        Self { weights: vec![0.5], neighbours: vec![10], folds: None }
    }
}

impl DecodingConfig {
    pub(super) fn validate(&self) -> Result<(), Error> {
        let Some(hubs) = &self.hubs else { return Ok(()) };
        let weights = &hubs.weights;
        let holds = !weights.is_empty() && weights.iter().all(|w| *w >= 0.0 && w.is_finite());
        check(holds, "decoding.hubs.weights", format!("{weights:?}"), "numbers not below 0")?;
        check(hubs.folds() > 1, "decoding.hubs.folds", hubs.folds(), "at least 2")?;
        let neighbours = &hubs.neighbours;
        let holds = !neighbours.is_empty() && !neighbours.contains(&0);
        check(holds, "decoding.hubs.neighbours", format!("{neighbours:?}"), "numbers from 1")
    }

    /// Answers as they are scored.
    pub(crate) fn scaled<'z>(&self, z: &'z [f32], dim: usize) -> Result<Cow<'z, [f32]>, Error> {
        if self.normalise || self.hubs.is_some() {
            return Ok(Queries::new(dim, z)?.normalised().into());
        }
        Ok(z.into())
    }
}
