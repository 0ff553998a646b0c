//! Optimisers, and groups of parameters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An optimiser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OptimizerName {
    /// Stochastic gradient descent, with `momentum` where it is set; takes no weight decay.
    Sgd,
    /// Adam (Kingma and Ba 2015); takes no weight decay.
    Adam,
    /// Adam with decoupled weight decay (Loshchilov and Hutter 2019).
    AdamW,
    /// The sign of a mean of gradients (Chen et al. 2023). Its rates are a third to a tenth of those of Adam.
    Lion,
    /// Momentum whose matrices are made orthogonal (Jordan 2024), scaled so that rates of AdamW serve
    /// (Liu et al. 2025). Parameters that are not matrices take AdamW; give one to embeddings and the last layer by a group.
    Muon,
}

impl OptimizerName {
    /// Returns whether it takes weight decay.
    pub fn decays(self) -> bool {
        match self {
            Self::Sgd | Self::Adam => false,
            Self::AdamW | Self::Lion | Self::Muon => true,
        }
    }

    /// Returns the momentum where none is named.
    pub(super) fn momentum(self) -> f32 {
        match self {
            Self::Sgd | Self::Adam | Self::AdamW | Self::Lion => 0.0,
            Self::Muon => 0.95,
        }
    }
}

/// Parameters that are optimised in their own way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupConfig {
    /// The group holds every parameter whose path contains this, e.g. `table`. A `*` stands for any characters:
    /// `layers.*.bias`.
    pub parameters: String,
    /// Their optimiser, by default `training.optimizer`; constants such as beta1 are those of the whole training.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimizer: Option<OptimizerName>,
    /// Their largest learning rate, by default `training.learning_rate`, under the same warm-up and decay. 0 freezes them:
    /// no gradient reaches them, and none counts in the norm of `clip`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learning_rate: Option<f64>,
    /// Their decoupled weight decay, of vectors too; by default as without the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight_decay: Option<f32>,
}

impl GroupConfig {
    /// Returns whether the group holds the parameter with this path.
    pub fn holds(&self, path: &str) -> bool {
        let mut rest = path;
        self.parameters.split('*').all(|part| match rest.find(part) {
            Some(at) => {
                rest = &rest[at + part.len()..];
                true
            }
            None => false,
        })
    }
}
