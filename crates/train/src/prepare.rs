use std::path::Path;

use burn::tensor::Device;
use dsokr_basis::store::write_atomically;
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
    Tokens { tokens: Tokens, max_length: usize },
}

const NGRAMS: &str = "ngrams.json";
const TOKENIZER: &str = "tokenizer.json";

impl Preparation {
    pub(crate) fn fit(config: &EncoderConfig, train: &Split) -> Result<Self, Error> {
        let texts = train.texts.iter().map(String::as_str);
        Ok(match config {
            EncoderConfig::NgramBag(config) => Self::Ngrams(TfIdf::fit(&config.ngrams, texts)?),
            EncoderConfig::Mlp(_) => {
                Self::Vectors { width: train.vectors.first().map_or(0, Vec::len) }
            }
            EncoderConfig::Transformer(config) => {
                let tokens = Tokens::fit(&config.tokens, texts)?;
                Self::Tokens { tokens, max_length: config.max_length }
            }
        })
    }

    /// The inputs of a split, and how many texts were cut to the encoder's longest.
    pub(crate) fn inputs(&self, split: &Split) -> Result<(Vec<BuiltInInput>, usize), Error> {
        if let Self::Vectors { width } = self {
            if let Some(other) = split.vectors.iter().find(|v| v.len() != *width) {
                let (found, expected) = (other.len(), *width);
                return Err(dsokr_basis::Error::WidthMismatch { found, expected }.into());
            }
            let inputs: Vec<_> = split.vectors.iter().cloned().map(BuiltInInput::Dense).collect();
            if inputs.len() != split.ids.len() {
                return Err(Error::ReadsVectors);
            }
            return Ok((inputs, 0));
        }
        let prepared: Vec<(BuiltInInput, bool)> =
            split.texts.par_iter().map(|text| self.text(text)).collect::<Result<_, _>>()?;
        let cut = prepared.iter().filter(|(_, cut)| *cut).count();
        Ok((prepared.into_iter().map(|(input, _)| input).collect(), cut))
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
        let (name, text) = match self {
            Self::Ngrams(tf_idf) => (NGRAMS, tf_idf.to_json()),
            Self::Vectors { .. } => return Ok(()),
            Self::Tokens { tokens, .. } => (TOKENIZER, tokens.to_json()?),
        };
        Ok(write_atomically(&folder.join(name), |file| file.write_all(text.as_bytes()))?)
    }

    /// Reads what [`save`](Self::save) wrote; `width` is that of vectors.
    pub(crate) fn load(config: &EncoderConfig, folder: &Path, width: usize) -> Result<Self, Error> {
        Ok(match config {
            EncoderConfig::NgramBag(_) => Self::Ngrams(TfIdf::read(&folder.join(NGRAMS))?),
            EncoderConfig::Mlp(_) => Self::Vectors { width },
            EncoderConfig::Transformer(config) => {
                let tokens = Tokens::read(&folder.join(TOKENIZER))?;
                Self::Tokens { tokens, max_length: config.max_length }
            }
        })
    }
}
