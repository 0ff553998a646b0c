use dsokr_nn::pretrained::PretrainedConfig;
use dsokr_nn::{MlpConfig, NgramBagConfig, TransformerConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RidgeConfig;
use crate::Error;

/// The built-in encoders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum EncoderConfig {
    /// TF-IDF n-grams of the text.
    NgramBag(NgramBagConfig),
    /// A multi-layer perceptron on the vectors of `data.inputs`.
    Mlp(MlpConfig),
    /// A transformer over the text's tokens, from scratch.
    Transformer(TransformerConfig),
    /// A pretrained transformer of the BERT family, from a local folder; see docs/pretrained.md.
    Pretrained(PretrainedConfig),
    /// A kernel machine in the encoder's place, fitted in closed form: IOKR and its sketched forms.
    Ridge(RidgeConfig),
}

impl EncoderConfig {
    pub(crate) fn validate(&self) -> Result<(), Error> {
        let checked = match self {
            Self::NgramBag(config) => config.validate(),
            Self::Mlp(config) => config.validate(),
            Self::Transformer(config) => config.validate(),
            Self::Pretrained(config) => config.validate(),
            Self::Ridge(config) => return config.validate(),
        };
        Ok(checked?)
    }

    /// Whether the encoder reads feature vectors in place of texts.
    pub fn reads_vectors(&self) -> bool {
        match self {
            Self::Mlp(_) => true,
            Self::Ridge(config) => config.ngrams.is_none(),
            Self::NgramBag(_) | Self::Transformer(_) | Self::Pretrained(_) => false,
        }
    }
}
