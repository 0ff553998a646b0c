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
}

impl EncoderConfig {
    pub(crate) fn validate(&self) -> Result<(), Error> {
        let checked = match self {
            Self::NgramBag(config) => config.validate(),
            Self::Mlp(config) => config.validate(),
            Self::Transformer(config) => config.validate(),
        };
        checked.map_err(|error| match error {
            dsokr_nn::Error::Setting { key, found, allowed } => {
                Error::Value { key: format!("encoder.{key}"), found, allowed }
            }
            other => Error::Nn(other),
        })
    }

    /// Whether the encoder reads feature vectors in place of texts.
    pub fn reads_vectors(&self) -> bool {
        matches!(self, Self::Mlp(_))
    }
}
