use std::path::Path;

use dsokr_nn::transformer::{Tokens, TokensConfig};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::Split;
use crate::{Error, Prepare};

/// How texts become token ids, for any encoder that reads them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TokenInputsConfig {
    /// The tokenizer, trained on the training texts.
    pub tokens: TokensConfig,
    /// Longest text in tokens; the rest is cut off and the number of cut texts reported.
    pub max_length: usize,
}

impl Default for TokenInputsConfig {
    fn default() -> Self {
        Self { tokens: TokensConfig::default(), max_length: 128 }
    }
}

const TOKENIZER: &str = "tokenizer.json";

/// A tokenizer trained on the training texts, and where it cuts them.
#[derive(Clone, Debug)]
pub struct TokenInputs {
    tokens: Tokens,
    max_length: usize,
}

impl TokenInputs {
    /// Number of tokens, special ones included: every id is below it.
    pub fn vocabulary(&self) -> usize {
        self.tokens.vocabulary()
    }
}

impl Prepare for TokenInputs {
    type Settings = TokenInputsConfig;
    type Input = Vec<u32>;

    fn fit(config: &TokenInputsConfig, train: &Split) -> Result<Self, Error> {
        check(config)?;
        let texts = train.texts.iter().map(String::as_str);
        Ok(Self { tokens: Tokens::fit(&config.tokens, texts)?, max_length: config.max_length })
    }

    fn inputs(&self, split: &Split) -> Result<Vec<Vec<u32>>, Error> {
        let encode = |text: &String| self.tokens.encode(text, self.max_length);
        let encoded: Vec<(Vec<u32>, bool)> =
            split.texts.par_iter().map(encode).collect::<Result<_, _>>()?;
        let cut = encoded.iter().filter(|(_, cut)| *cut).count();
        if cut > 0 {
            let texts = encoded.len();
            tracing::warn!(cut, texts, "texts longer than max_length were cut");
        }
        Ok(encoded.into_iter().map(|(ids, _)| ids).collect())
    }

    fn files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        Ok(vec![(TOKENIZER, self.tokens.to_json()?)])
    }

    fn load(config: &TokenInputsConfig, folder: &Path) -> Result<Self, Error> {
        check(config)?;
        let tokens = Tokens::read(&folder.join(TOKENIZER))?;
        Ok(Self { tokens, max_length: config.max_length })
    }
}

fn check(config: &TokenInputsConfig) -> Result<(), Error> {
    config.tokens.validate()?;
    if config.max_length == 0 {
        let (key, found, allowed) = ("encoder.max_length", "0", "at least 1");
        return Err(Error::Value { key: key.into(), found: found.into(), allowed: allowed.into() });
    }
    Ok(())
}
