use std::collections::BTreeMap;
use std::path::Path;

use burn::tensor::Device;
use dsokr_basis::store::{self, Tensor, write_atomically};
use dsokr_nn::bag::TfIdf;
use dsokr_nn::transformer::Tokens;
use dsokr_nn::{BuiltIn, BuiltInInput};
use rand::Rng;
use rayon::prelude::*;

use crate::Error;
use crate::config::EncoderConfig;
use crate::data::Split;

/// What turns texts or vectors into inputs of a built-in encoder, fitted on the training split.
pub(crate) enum Preparation {
    Ngrams(TfIdf),
    Vectors { width: usize },
    Tokens { tokens: Box<Tokens>, max_length: usize },
}

const NGRAMS: &str = "ngrams.json";
const TOKENIZER: &str = "tokenizer.json";
const VECTORS: &str = "vectors.json";

impl Preparation {
    pub(crate) fn fit(config: &EncoderConfig, train: &Split) -> Result<Self, Error> {
        let texts = train.texts.iter().map(String::as_str);
        Ok(match config {
            EncoderConfig::NgramBag(config) => Self::Ngrams(TfIdf::fit(&config.ngrams, texts)?),
            EncoderConfig::Mlp(_) => {
                Self::Vectors { width: train.vectors.first().map_or(0, Vec::len) }
            }
            EncoderConfig::Transformer(config) => {
                let tokens = Box::new(Tokens::fit(&config.tokens, texts)?);
                Self::Tokens { tokens, max_length: config.max_length }
            }
        })
    }

    /// The inputs of a split. Says in the log how many texts were cut to the encoder's longest.
    pub(crate) fn inputs(&self, split: &Split) -> Result<Vec<BuiltInInput>, Error> {
        if let Self::Vectors { width } = self {
            if let Some(other) = split.vectors.iter().find(|v| v.len() != *width) {
                let (found, expected) = (other.len(), *width);
                return Err(dsokr_basis::Error::WidthMismatch { found, expected }.into());
            }
            let inputs: Vec<_> = split.vectors.iter().cloned().map(BuiltInInput::Dense).collect();
            if inputs.len() != split.ids.len() {
                return Err(Error::ReadsVectors);
            }
            return Ok(inputs);
        }
        let prepared: Vec<(BuiltInInput, bool)> =
            split.texts.par_iter().map(|text| self.text(text)).collect::<Result<_, _>>()?;
        let cut = prepared.iter().filter(|(_, cut)| *cut).count();
        if cut > 0 {
            let texts = prepared.len();
            tracing::warn!(cut, texts, "texts longer than encoder.max_length were cut");
        }
        Ok(prepared.into_iter().map(|(input, _)| input).collect())
    }

    /// The input of one text, and whether it was cut.
    pub(crate) fn text(&self, text: &str) -> Result<(BuiltInInput, bool), Error> {
        match self {
            Self::Ngrams(tf_idf) => Ok((BuiltInInput::Ngrams(tf_idf.transform(text)), false)),
            Self::Vectors { .. } => Err(Error::ReadsVectors),
            Self::Tokens { tokens, max_length } => {
                let (ids, cut) = tokens.encode(text, *max_length)?;
                Ok((BuiltInInput::Tokens(ids), cut))
            }
        }
    }

    /// An encoder for these inputs whose last bias is `offset`, the mean of the targets.
    pub(crate) fn encoder(
        &self,
        config: &EncoderConfig,
        offset: &[f32],
        random: &mut impl Rng,
        device: &Device,
    ) -> BuiltIn {
        match (config, self) {
            (EncoderConfig::NgramBag(config), Self::Ngrams(tf_idf)) => {
                BuiltIn::NgramBag(config.init(tf_idf.width(), offset, random, device))
            }
            (EncoderConfig::Mlp(config), Self::Vectors { width }) => {
                BuiltIn::Mlp(config.init(*width, offset, random, device))
            }
            (EncoderConfig::Transformer(config), Self::Tokens { tokens, .. }) => {
                BuiltIn::Transformer(config.init(tokens.vocabulary(), offset, random, device))
            }
            _ => unreachable!("a preparation is fitted or read for its encoder's configuration"),
        }
    }

    pub(crate) fn save(&self, folder: &Path) -> Result<(), Error> {
        let (name, text) = self.to_json()?;
        Ok(write_atomically(&folder.join(name), |file| file.write_all(text.as_bytes()))?)
    }

    /// What tells this preparation from any other: an encoder is trained on one.
    pub(crate) fn fingerprint(&self) -> Result<String, Error> {
        let (name, text) = self.to_json()?;
        let tensor = Tensor::u8(name, &[text.len()], text.as_bytes());
        Ok(store::checksum("preparation", 1, &BTreeMap::new(), &[tensor]))
    }

    /// Name and text of its file.
    fn to_json(&self) -> Result<(&'static str, String), Error> {
        Ok(match self {
            Self::Ngrams(tf_idf) => (NGRAMS, tf_idf.to_json()),
            Self::Vectors { width } => (VECTORS, width.to_string()),
            Self::Tokens { tokens, .. } => (TOKENIZER, tokens.to_json()?),
        })
    }

    /// Reads what [`save`](Self::save) wrote.
    pub(crate) fn load(config: &EncoderConfig, folder: &Path) -> Result<Self, Error> {
        Ok(match config {
            EncoderConfig::NgramBag(_) => Self::Ngrams(TfIdf::read(&folder.join(NGRAMS))?),
            EncoderConfig::Mlp(_) => Self::Vectors { width: read_width(&folder.join(VECTORS))? },
            EncoderConfig::Transformer(config) => {
                let tokens = Box::new(Tokens::read(&folder.join(TOKENIZER))?);
                Self::Tokens { tokens, max_length: config.max_length }
            }
        })
    }
}

fn read_width(path: &Path) -> Result<usize, Error> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::reading(path, &e))?;
    let message = || format!("{text:?} is no width of vectors");
    text.trim().parse().map_err(|_| Error::Run { path: path.into(), message: message() })
}
