mod rows;

use std::path::Path;

use dsokr_basis::RowSource;
use dsokr_basis::features::NgramConfig;
use dsokr_nn::bag::TfIdf;
use dsokr_nn::{BuiltIn, BuiltInInput, TransformerConfig};
use rayon::prelude::*;

use crate::config::{EncoderConfig, RidgeConfig};
use crate::pretrained_inputs::PretrainedInputs;
use crate::token_inputs::{TokenInputs, TokenInputsConfig};
use crate::{Error, Prepare, Recipe, Start};
use dsokr_data::Split;

pub(crate) use rows::{Outputs, square};

/// What turns texts or vectors into inputs of a built-in encoder, fitted on the training split.
pub enum Preparation {
    /// TF-IDF weights of n-grams.
    Ngrams(TfIdf),
    /// Vectors as they are.
    Vectors {
        /// Their width.
        width: usize,
    },
    /// Values of several kernels with the training inputs, as one kernel.
    Kernels {
        /// The weight of each.
        weights: Vec<f64>,
        /// Number of training inputs.
        anchors: usize,
    },
    /// Tokens.
    Tokens(Box<TokenInputs>),
    /// The tokens of a pretrained encoder.
    Pretrained(Box<PretrainedInputs>),
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

    fn encoder(&self, preparation: &Preparation, start: Start) -> Result<BuiltIn, Error> {
        make(self, preparation, start, true)
    }

    fn shell(&self, preparation: &Preparation, start: Start) -> Result<BuiltIn, Error> {
        make(self, preparation, start, false)
    }

    fn recomputes(&self) -> bool {
        match self {
            Self::Transformer(config) => config.activation_checkpointing,
            Self::Pretrained(config) => config.activation_checkpointing,
            Self::NgramBag(_) | Self::Mlp(_) | Self::Ridge(_) => false,
        }
    }

    fn ridge(&self) -> Option<&RidgeConfig> {
        match self {
            Self::Ridge(config) => Some(config),
            _ => None,
        }
    }
}

/// Settings and preparation are of one kind: one is fitted or read for the other.
fn make(
    config: &EncoderConfig,
    preparation: &Preparation,
    Start { offset, random, device }: Start,
    fresh: bool,
) -> Result<BuiltIn, Error> {
    use EncoderConfig::{Mlp, NgramBag, Pretrained, Transformer};
    Ok(match (config, preparation) {
        (NgramBag(config), Preparation::Ngrams(tf_idf)) => {
            BuiltIn::NgramBag(config.init(tf_idf.width(), offset, random, device))
        }
        (Mlp(config), Preparation::Vectors { width }) => {
            BuiltIn::Mlp(config.init(*width, offset, random, device))
        }
        (Transformer(config), Preparation::Tokens(tokens)) => {
            config.precision.check(device)?;
            BuiltIn::Transformer(config.init(tokens.vocabulary(), offset, random, device))
        }
        (Pretrained(config), Preparation::Pretrained(inputs)) => {
            config.precision.check(device)?;
            let mut model = inputs.model().clone();
            if fresh {
                // a run keeps all but the weights that training starts from
                model.find_weights(Path::new(&config.folder))?;
            }
            let (encoder, unused) = config.init(&model, offset, random, device)?;
            if !unused.is_empty() {
                tracing::info!(tensors = unused.join(", "), "not used of the pretrained weights");
            }
            BuiltIn::Transformer(encoder)
        }
        _ => {
            return Err(Error::Value {
                key: "encoder.kind".into(),
                found: format!("{config:?}"),
                allowed: "the kind that the inputs were prepared for".into(),
            });
        }
    })
}

const NGRAMS: &str = "ngrams.json";
const VECTORS: &str = "vectors.json";
const KERNELS: &str = "kernels.json";

impl Prepare for Preparation {
    type Settings = EncoderConfig;
    type Input = BuiltInInput;

    fn fit(config: &EncoderConfig, train: &Split) -> Result<Self, Error> {
        Ok(match config {
            EncoderConfig::NgramBag(config) => Self::ngrams(&config.ngrams, train)?,
            EncoderConfig::Ridge(config) => Self::of_ridge(config, train, None)?,
            EncoderConfig::Mlp(_) => Self::vectors(train)?,
            EncoderConfig::Transformer(config) => {
                Self::Tokens(Box::new(TokenInputs::fit(&tokens(config), train)?))
            }
            EncoderConfig::Pretrained(config) => {
                Self::Pretrained(Box::new(PretrainedInputs::fit(config, train)?))
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
            Self::Pretrained(tokens) => {
                tokens.inputs(split)?.into_iter().map(BuiltInInput::Tokens).collect()
            }
            Self::Vectors { .. } | Self::Kernels { .. } => {
                let rows = self.rows(split)?;
                (0..rows.len()).map(|row| BuiltInInput::Dense(rows.dense_row(row))).collect()
            }
        };
        let special = match self {
            Self::Pretrained(tokens) => tokens.special_tokens(),
            // `[CLS]`
            _ => 1,
        };
        let unknown = inputs.iter().filter(|input| is_empty(input, special)).count();
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
            Self::Kernels { weights, anchors } => {
                let json = serde_json::json!({"weights": weights, "training": anchors});
                Ok(vec![(KERNELS, json.to_string())])
            }
            Self::Tokens(tokens) => tokens.files(),
            Self::Pretrained(tokens) => tokens.files(),
        }
    }

    fn load(config: &EncoderConfig, folder: &Path) -> Result<Self, Error> {
        Ok(match config {
            EncoderConfig::NgramBag(_) => Self::read_ngrams(folder)?,
            EncoderConfig::Ridge(config) => Self::load_of_ridge(config, folder)?,
            EncoderConfig::Mlp(_) => Self::Vectors { width: read_width(&folder.join(VECTORS))? },
            EncoderConfig::Transformer(config) => {
                Self::Tokens(Box::new(TokenInputs::load(&tokens(config), folder)?))
            }
            EncoderConfig::Pretrained(config) => {
                Self::Pretrained(Box::new(PretrainedInputs::load(config, folder)?))
            }
        })
    }
}

impl Preparation {
    fn ngrams(blocks: &[NgramConfig], train: &Split) -> Result<Self, Error> {
        let texts = train.texts.iter().map(String::as_str);
        Ok(Self::Ngrams(TfIdf::fit(blocks, texts).map_err(dsokr_nn::Error::from)?))
    }

    fn read_ngrams(folder: &Path) -> Result<Self, Error> {
        let read = TfIdf::read(&folder.join(NGRAMS));
        Ok(Self::Ngrams(read.map_err(dsokr_nn::Error::from)?))
    }

    fn vectors(train: &Split) -> Result<Self, Error> {
        let rows = train.vectors.as_ref().ok_or(Error::ReadsVectors)?;
        Ok(Self::Vectors { width: rows.width() })
    }
}

/// Whether nothing of a text was known.
fn is_empty(input: &BuiltInInput, special: usize) -> bool {
    match input {
        BuiltInInput::Ngrams(row) => row.indices.is_empty(),
        BuiltInInput::Dense(row) => row.is_empty(),
        BuiltInInput::Tokens(ids) => ids.len() <= special,
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
