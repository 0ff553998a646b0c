//! Texts as token ids, by a tokenizer of the training texts or that of a pretrained encoder.

use std::path::{Path, PathBuf};

use dsokr_data::Split;
use dsokr_nn::pretrained::{Pretrained, PretrainedConfig, TextReader, Tokenizer};
use dsokr_nn::transformer::TokensConfig;
use dsokr_nn::{TokenIds, TokenIdsBuilder};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use smart_default::SmartDefault;
use tracing::{info, warn};

use crate::encoders::inputs::{Prepare, warn_unknown};
use crate::error::{Error, ensure};

/// The tokenizer and the sizes of a pretrained encoder, and how it reads texts.
#[derive(Clone, Debug)]
pub struct PretrainedInputs {
    model: Pretrained,
    reader: TextReader,
}

impl PretrainedInputs {
    fn new(config: &PretrainedConfig, model: Pretrained) -> Result<Self, Error> {
        config.check(&model)?;
        let reader = config.reader(&model);
        Ok(Self { model, reader })
    }

    /// Returns the encoder's folder.
    pub fn model(&self) -> &Pretrained {
        &self.model
    }

    /// Warns of prompts that the folder names, where none of them is put before texts.
    fn warn_of_unused_prompts(&self, config: &PretrainedConfig) {
        let Some(sentences) = &self.model.sentences else { return };
        let unused = sentences.unused_prompts();
        if config.prompt.is_none() && !unused.is_empty() {
            let names = unused.join(", ");
            warn!(
                "the model has the prompts {names}, of which none is put before texts: set encoder.prompt to the text of \
                 one, or to \"\""
            );
        }
    }

    /// Warns of training texts that the vocabulary does not know: the model was trained on texts that are written
    /// otherwise. Of many texts the first [`CHECKED`] are read.
    fn warn_of_unknown_tokens(&self, train: &Split) -> Result<(), Error> {
        const HINT: &str = "does this model want spaces between letters, or upper case?";
        let all = train.inputs.texts()?;
        let first = &all[..all.len().min(CHECKED)];
        let counts = count_tokens(first, &self.model.tokenizer, |text| self.reader.encode(text))?;
        let without = counts.iter().filter(|text| text.all > 0 && text.known == 0).count();
        let tokens: usize = counts.iter().map(|text| text.all).sum();
        let known_tokens: usize = counts.iter().map(|text| text.known).sum();
        let unknown_share = 1.0 - known_tokens as f64 / tokens.max(1) as f64;
        let texts = if first.len() < all.len() {
            format!("the first {}", first.len())
        } else {
            first.len().to_string()
        };
        if without > 0 {
            warn!(
                "{without} of {texts} training texts have no token that the vocabulary knows: {HINT}"
            );
        } else if tokens > 0 && unknown_share > MOST_UNKNOWN {
            warn!(
                "{:.0} % of the tokens of {texts} training texts are unknown to the vocabulary: {HINT}",
                100.0 * unknown_share
            );
        }
        Ok(())
    }
}

/// Returns the folder of an encoder, which `hub:NAME` has in the cache of the hub.
pub(crate) fn pretrained_folder(config: &PretrainedConfig) -> Result<PathBuf, Error> {
    match config.folder.strip_prefix("hub:") {
        None => Ok(PathBuf::from(&config.folder)),
        #[cfg(feature = "fetch")]
        Some(name) => Ok(dsokr_fetch::hub::folder(name, &dsokr_fetch::Network::default())?),
        #[cfg(not(feature = "fetch"))]
        Some(_) => {
            let allowed = "a folder: this program was built without the feature \"fetch\"";
            Err(Error::value("encoder.folder", format!("{:?}", config.folder), allowed))
        }
    }
}

impl Prepare for PretrainedInputs {
    type Settings = PretrainedConfig;
    type Input = TokenIds;

    /// Opens the folder. Nothing is learned from the texts, which are only read for warnings.
    fn fit(config: &PretrainedConfig, train: &Split) -> Result<Self, Error> {
        let inputs = Self::new(config, Pretrained::open(&pretrained_folder(config)?)?)?;
        if inputs.model.sentences.is_some() {
            info!(
                prompt = inputs.reader.prompt(),
                max_length = inputs.reader.max_length(),
                "texts are read as a model of sentence-transformers"
            );
        }
        inputs.warn_of_unused_prompts(config);
        inputs.warn_of_unknown_tokens(train)?;
        Ok(inputs)
    }

    fn inputs(&self, split: &Split) -> Result<Vec<TokenIds>, Error> {
        tokenise(split, |text| self.reader.encode(text))
    }

    fn knows(&self, split: &Split) -> Result<Vec<bool>, Error> {
        let texts = split.inputs.texts()?;
        are_known(texts, &self.model.tokenizer, |text| self.reader.encode(text))
    }

    fn files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        Ok(self.model.files())
    }

    fn input_files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        input_files(&self.model.tokenizer, self.reader.prompt(), self.reader.max_length())
    }

    fn load(config: &PretrainedConfig, folder: &Path) -> Result<Self, Error> {
        Self::new(config, Pretrained::open_kept(folder)?)
    }
}

/// How texts become token ids, for any encoder that reads them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct TokenInputsConfig {
    /// The tokenizer, trained on the training texts.
    pub tokens: TokensConfig,
    /// Longest text in tokens; the rest is cut off and the number of cut texts reported.
    #[default(128)]
    pub max_length: usize,
}

const TOKENIZER: &str = "tokenizer.json";
/// What other programs do with texts before the tokenizer.
const TEXTS: &str = "texts.json";

/// Returns the files by which other programs make ids of texts: the tokenizer, which truncates them, and what is put
/// before them.
fn input_files(
    tokens: &Tokenizer,
    prompt: &str,
    max_length: usize,
) -> Result<Vec<(&'static str, String)>, Error> {
    let texts = json!({ "prompt": prompt, "max_length": max_length });
    Ok(vec![(TOKENIZER, tokens.json_for(max_length)?), (TEXTS, format!("{texts:#}\n"))])
}

/// A tokenizer trained on the training texts, and the maximal length of texts.
#[derive(Clone, Debug)]
pub struct TokenInputs {
    tokens: Tokenizer,
    max_length: usize,
}

impl TokenInputs {
    /// Returns the number of tokens, special ones included: every id is below it.
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
        Ok(Self { tokens: Tokenizer::fit(&config.tokens, texts)?, max_length: config.max_length })
    }

    fn inputs(&self, split: &Split) -> Result<Vec<TokenIds>, Error> {
        tokenise(split, |text| self.tokens.encode(text, self.max_length))
    }

    fn knows(&self, split: &Split) -> Result<Vec<bool>, Error> {
        let texts = split.inputs.texts()?;
        are_known(texts, &self.tokens, |text| self.tokens.encode(text, self.max_length))
    }

    fn files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        Ok(vec![(TOKENIZER, self.tokens.json.clone())])
    }

    fn input_files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        input_files(&self.tokens, "", self.max_length)
    }

    fn load(config: &TokenInputsConfig, folder: &Path) -> Result<Self, Error> {
        check(config)?;
        let tokens = Tokenizer::read_trained(&folder.join(TOKENIZER))?;
        Ok(Self { tokens, max_length: config.max_length })
    }
}

/// Number of texts that are tokenised at a time.
const AT_ONCE: usize = 4096;
/// Number of training texts whose tokens are looked up before a training, which tokenises all of them once more.
const CHECKED: usize = 1000;
/// Share of unknown tokens in training texts that a pretrained encoder is meant to read.
const MOST_UNKNOWN: f64 = 0.2;

/// Returns the ids of a split's texts, as `encode` returns them with whether tokens were lost. The number of texts that were
/// truncated is logged, and that of texts with no more tokens than the empty text.
fn tokenise(
    split: &Split,
    encode: impl Fn(&str) -> Result<(Vec<u32>, bool), dsokr_nn::Error> + Sync,
) -> Result<Vec<TokenIds>, Error> {
    let (empty, _) = encode("")?;
    let texts = split.inputs.texts()?;
    let mut all = TokenIdsBuilder::default();
    let mut cut = 0;
    let mut unknown_texts = 0;
    for some in texts.chunks(AT_ONCE) {
        let encoded: Vec<_> = some.par_iter().map(|text| encode(text)).collect::<Result<_, _>>()?;
        for (ids, shorter) in encoded {
            all.push(&ids).map_err(Error::io(&std::env::temp_dir()))?;
            cut += usize::from(shorter);
            unknown_texts += usize::from(ids.len() <= empty.len());
        }
    }
    if cut > 0 {
        let texts = texts.len();
        warn!(cut, texts, "texts longer than max_length were cut");
    }
    warn_unknown(unknown_texts, texts.len());
    all.finish().map_err(Error::io(&std::env::temp_dir()))
}

/// The tokens of a text beyond those of the empty text.
struct TokenCounts {
    all: usize,
    /// The tokens among them that the vocabulary has.
    known: usize,
}

/// Counts the tokens of each text by the vocabulary of `tokens`.
fn count_tokens(
    texts: &[String],
    tokens: &Tokenizer,
    encode: impl Fn(&str) -> Result<(Vec<u32>, bool), dsokr_nn::Error> + Sync,
) -> Result<Vec<TokenCounts>, Error> {
    let (empty, _) = encode("")?;
    let known_of_empty = tokens.count_known(&empty);
    let count = |text: &String| {
        let (ids, _) = encode(text)?;
        Ok(TokenCounts {
            all: ids.len().saturating_sub(empty.len()),
            known: tokens.count_known(&ids).saturating_sub(known_of_empty),
        })
    };
    // a parallel collection into a `Result` would give any thread's error
    let counts: Vec<Result<TokenCounts, dsokr_nn::Error>> = texts.par_iter().map(count).collect();
    Ok(counts.into_iter().collect::<Result<_, _>>()?)
}

/// Returns whether each text has a token that the vocabulary of `tokens` has, beyond those of the empty text.
fn are_known(
    texts: &[String],
    tokens: &Tokenizer,
    encode: impl Fn(&str) -> Result<(Vec<u32>, bool), dsokr_nn::Error> + Sync,
) -> Result<Vec<bool>, Error> {
    let counts = count_tokens(texts, tokens, encode)?;
    Ok(counts.iter().map(|text| text.known > 0).collect())
}

fn check(config: &TokenInputsConfig) -> Result<(), Error> {
    config.tokens.validate()?;
    ensure(config.max_length > 0, "encoder.max_length", 0, "at least 1")
}
