use dsokr_basis::{Kernel, OutputKernel, SketchKind, Tempering};
use dsokr_data::config::{CandidateConfig, DataConfig, OutputFeatures, OutputSource};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check;
use crate::Error;

/// The outputs: a table with one row each, their features, and the kernel on them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputConfig {
    /// Table of outputs, where the pairs come from tables; the other sources hold the outputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// Column of the outputs' ids.
    #[serde(default = "id")]
    pub id: String,
    /// Column that `search` shows beside the id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Which outputs are candidates; all, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<CandidateConfig>,
    /// Whether only outputs of training pairs are candidates: predicting one that was seen, whose
    /// distance to the true one is then measured.
    #[serde(default)]
    pub only_training: bool,
    /// Rows of features that the kernel compares.
    #[serde(default)]
    pub features: OutputFeatures,
    /// The output kernel.
    pub kernel: Kernel,
    /// Power α of the tempered kernel: each principal axis of the training outputs is divided by (its
    /// standard deviation)^α, 0 to 1. Few axes hold most of the variance, and others tell candidates
    /// apart.
    #[serde(default)]
    pub power: f64,
    /// Whether coordinates count from the mean of the training outputs; by default where `power` is
    /// above 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub centred: Option<bool>,
    /// Whether coordinates of outputs are scaled to unit length; by default where `power` is above 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normalised: Option<bool>,
}

fn id() -> String {
    "id".into()
}

impl OutputConfig {
    /// What the outputs are.
    pub fn source(&self) -> OutputSource<'_> {
        OutputSource {
            table: self.table.as_deref(),
            id: &self.id,
            label: self.label.as_deref(),
            candidate: self.candidate.as_ref(),
            only_training: self.only_training,
            features: &self.features,
        }
    }

    /// What is done to the spectrum of the kernel.
    pub fn tempering(&self) -> Tempering {
        let by_default = self.power > 0.0;
        Tempering {
            power: self.power,
            centred: self.centred.unwrap_or(by_default),
            normalised: self.normalised.unwrap_or(by_default),
        }
    }

    /// Whether `k(c, c) = 1` for all candidates but those at the origin.
    pub fn is_normalised(&self) -> bool {
        let tempering = self.tempering();
        match tempering.changes_nothing() {
            true => self.kernel.is_normalised(),
            false => tempering.normalised,
        }
    }

    pub(super) fn validate(&self, data: &DataConfig) -> Result<(), Error> {
        let holds = self.tempering().validate().is_ok();
        check(holds, "output.power", self.power, "a number in [0, 1]")?;
        Ok(self.source().validate(data)?)
    }
}

/// How the output kernel is sketched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SketchConfig {
    /// No sketch, and the other keys are not used. A model of kind `ridge` then answers with weights of
    /// all training outputs, as IOKR and SIOKR do. Another encoder learns the feature rows themselves,
    /// which is plain regression: for dense rows under the kernels `linear` and `cosine`.
    pub full: bool,
    /// Sketch size m, at most the number of training outputs.
    pub size: usize,
    /// How R is drawn.
    pub method: SketchKind,
    /// Eigenvalues below this share of the largest are cut.
    pub tolerance: f64,
}

impl Default for SketchConfig {
    fn default() -> Self {
        Self { full: false, size: 100, method: SketchKind::Gaussian, tolerance: 1e-10 }
    }
}

impl SketchConfig {
    pub(super) fn validate(&self) -> Result<(), Error> {
        check(self.size > 0, "sketch.size", self.size, "at least 1")?;
        let tolerance = self.tolerance;
        let holds = (1e-12..1.0).contains(&tolerance);
        check(holds, "sketch.tolerance", tolerance, "a number in [1e-12, 1)")
    }
}
