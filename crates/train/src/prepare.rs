use std::path::Path;

use dsokr_nn::bag::TfIdf;
use dsokr_nn::{BuiltIn, BuiltInInput, TransformerConfig};
use rayon::prelude::*;

use crate::config::EncoderConfig;
use crate::data::Split;
use crate::token_inputs::{TokenInputs, TokenInputsConfig};
use crate::{Error, Prepare, Recipe, Start};

/// What turns texts or vectors into inputs of a built-in encoder, fitted on the training split.
pub enum Preparation {
    /// TF-IDF weights of n-grams.
    Ngrams(TfIdf),
    /// Vectors as they are.
    Vectors {
        /// Their width.
        width: usize,
    },
    /// Tokens.
    Tokens(Box<TokenInputs>),
}

impl Recipe for EncoderConfig {
    type Preparation = Preparation;
    type Encoder = BuiltIn;

    fn validate(&self) -> Result<(), Error> {
        Self::validate(self)
    }

    fn reads_vectors(&self) -> bool {
        Self::reads_vectors(self)
    }

    fn preparation(&self) -> &Self {
        self
    }

    /// Settings and preparation are of one kind: one is fitted or read for the other.
    fn encoder(&self, preparation: &Preparation, start: Start) -> Result<BuiltIn, Error> {
        let Start { offset, random, device } = start;
        Ok(match (self, preparation) {
            (Self::NgramBag(config), Preparation::Ngrams(tf_idf)) => {
                BuiltIn::NgramBag(config.init(tf_idf.width(), offset, random, device))
            }
            (Self::Mlp(config), Preparation::Vectors { width }) => {
                BuiltIn::Mlp(config.init(*width, offset, random, device))
            }
            (Self::Transformer(config), Preparation::Tokens(tokens)) => {
                BuiltIn::Transformer(config.init(tokens.vocabulary(), offset, random, device))
            }
            _ => {
                return Err(Error::Value {
                    key: "encoder.kind".into(),
                    found: format!("{self:?}"),
                    allowed: "the kind that the inputs were prepared for".into(),
                });
            }
        })
    }
}

const NGRAMS: &str = "ngrams.json";
const VECTORS: &str = "vectors.json";

impl Prepare for Preparation {
    type Settings = EncoderConfig;
    type Input = BuiltInInput;

    fn fit(config: &EncoderConfig, train: &Split) -> Result<Self, Error> {
        Ok(match config {
            EncoderConfig::NgramBag(config) => {
                let texts = train.texts.iter().map(String::as_str);
                Self::Ngrams(TfIdf::fit(&config.ngrams, texts)?)
            }
            EncoderConfig::Mlp(_) => {
                Self::Vectors { width: train.vectors.first().map_or(0, Vec::len) }
            }
            EncoderConfig::Transformer(config) => {
                Self::Tokens(Box::new(TokenInputs::fit(&tokens(config), train)?))
            }
        })
    }

    fn inputs(&self, split: &Split) -> Result<Vec<BuiltInInput>, Error> {
        let inputs: Vec<BuiltInInput> = match self {
            Self::Ngrams(tf_idf) => {
                let texts = split.texts.par_iter();
                texts.map(|text| BuiltInInput::Ngrams(tf_idf.transform(text))).collect()
            }
            Self::Tokens(tokens) => {
                tokens.inputs(split)?.into_iter().map(BuiltInInput::Tokens).collect()
            }
            Self::Vectors { width } => {
                if let Some(other) = split.vectors.iter().find(|v| v.len() != *width) {
                    let (found, expected) = (other.len(), *width);
                    return Err(dsokr_basis::Error::WidthMismatch { found, expected }.into());
                }
                if split.vectors.len() != split.ids.len() {
                    return Err(Error::ReadsVectors);
                }
                split.vectors.iter().cloned().map(BuiltInInput::Dense).collect()
            }
        };
        let unknown = inputs.iter().filter(|input| input.is_empty()).count();
        if unknown > 0 {
            let texts = inputs.len();
            tracing::warn!(unknown, texts, "texts of which nothing is known all have one answer");
        }
        Ok(inputs)
    }

    fn files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        match self {
            Self::Ngrams(tf_idf) => Ok(vec![(NGRAMS, tf_idf.to_json())]),
            Self::Vectors { width } => Ok(vec![(VECTORS, width.to_string())]),
            Self::Tokens(tokens) => tokens.files(),
        }
    }

    fn load(config: &EncoderConfig, folder: &Path) -> Result<Self, Error> {
        Ok(match config {
            EncoderConfig::NgramBag(_) => Self::Ngrams(TfIdf::read(&folder.join(NGRAMS))?),
            EncoderConfig::Mlp(_) => Self::Vectors { width: read_width(&folder.join(VECTORS))? },
            EncoderConfig::Transformer(config) => {
                Self::Tokens(Box::new(TokenInputs::load(&tokens(config), folder)?))
            }
        })
    }
}

fn tokens(config: &TransformerConfig) -> TokenInputsConfig {
    let TransformerConfig { tokens, max_length, .. } = config;
    TokenInputsConfig { tokens: tokens.clone(), max_length: *max_length }
}

fn read_width(path: &Path) -> Result<usize, Error> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::reading(path, &e))?;
    let message = || format!("{text:?} is no width of vectors");
    text.trim().parse().map_err(|_| Error::Run { path: path.into(), message: message() })
}
