use dsokr_nn::pretrained::PretrainedConfig;
use dsokr_nn::{MlpConfig, NgramBagConfig, TransformerConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
}

impl EncoderConfig {
    pub(crate) fn validate(&self) -> Result<(), Error> {
        let checked = match self {
            Self::NgramBag(config) => config.validate(),
            Self::Mlp(config) => config.validate(),
            Self::Transformer(config) => config.validate(),
            Self::Pretrained(config) => config.validate(),
        };
        Ok(checked?)
    }

    /// Whether the encoder reads feature vectors in place of texts.
    pub fn reads_vectors(&self) -> bool {
        matches!(self, Self::Mlp(_))
    }
}
