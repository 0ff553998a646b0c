use std::path::Path;

use dsokr_nn::transformer::{Tokens, TokensConfig};
use dsokr_nn::{TokenIds, TokenIdsBuilder};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::warn_unknown;
use crate::{Error, Prepare};
use dsokr_data::Split;

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

/// A tokenizer trained on the training texts, and the maximal length of texts.
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
    type Input = TokenIds;

    fn fit(config: &TokenInputsConfig, train: &Split) -> Result<Self, Error> {
        check(config)?;
        let texts = train.inputs.texts()?.iter().map(String::as_str);
        Ok(Self { tokens: Tokens::fit(&config.tokens, texts)?, max_length: config.max_length })
    }

    fn inputs(&self, split: &Split) -> Result<Vec<TokenIds>, Error> {
        // a text without known tokens is only `[CLS]`
        tokenise(split, 1, |text| self.tokens.encode(text, self.max_length))
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

/// Number of texts that are tokenised at a time.
const AT_ONCE: usize = 4096;

/// The ids of a split's texts. `encode` returns whether a text was truncated; the number of these is logged, and that
/// of texts with no more than the `special` tokens.
pub(super) fn tokenise(
    split: &Split,
    special: usize,
    encode: impl Fn(&str) -> Result<(Vec<u32>, bool), dsokr_nn::Error> + Sync,
) -> Result<Vec<TokenIds>, Error> {
    let texts = split.inputs.texts()?;
    let io = |e: std::io::Error| Error::Io { path: std::env::temp_dir(), message: e.to_string() };
    let (mut all, mut cut, mut unknown) = (TokenIdsBuilder::default(), 0, 0);
    for some in texts.chunks(AT_ONCE) {
        let encoded: Vec<(Vec<u32>, bool)> =
            some.par_iter().map(|text| encode(text)).collect::<Result<_, _>>()?;
        for (ids, shorter) in encoded {
            all.push(&ids).map_err(io)?;
            cut += usize::from(shorter);
            unknown += usize::from(ids.len() <= special);
        }
    }
    if cut > 0 {
        let texts = texts.len();
        tracing::warn!(cut, texts, "texts longer than max_length were cut");
    }
    warn_unknown(unknown, texts.len());
    all.finish().map_err(io)
}

fn check(config: &TokenInputsConfig) -> Result<(), Error> {
    config.tokens.validate()?;
    if config.max_length == 0 {
        return Err(Error::value("encoder.max_length", 0, "at least 1"));
    }
    Ok(())
}
