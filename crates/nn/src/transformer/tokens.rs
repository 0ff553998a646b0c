use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;
use tokenizers::models::TrainerWrapper;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::normalizers::utils::Lowercase;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::processors::template::TemplateProcessing;
use tokenizers::{
    AddedToken, ModelWrapper, NormalizerWrapper, PreTokenizerWrapper, SplitDelimiterBehavior,
};

use crate::error::{Error, check};
use crate::tokenizer::{Tokenizer, parsed};

/// The unit that a text is split into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TokenKind {
    /// Single characters, for strings such as SMILES.
    Characters,
    /// Byte-pair encoding, learned from the training texts.
    BytePairs,
}

/// How texts become tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct TokensConfig {
    /// The unit that a text is split into.
    #[default(TokenKind::BytePairs)]
    pub kind: TokenKind,
    /// Largest vocabulary, special tokens included.
    #[default(8000)]
    pub vocabulary: usize,
    /// Whether texts are lower-cased. Must be false for SMILES: `c` is aromatic, `C` is not.
    #[default(true)]
    pub lowercase: bool,
}

impl TokensConfig {
    /// Checks the size of the vocabulary.
    ///
    /// # Errors
    /// A vocabulary without room for more than the special tokens.
    pub fn validate(&self) -> Result<(), Error> {
        let allowed = format!("at least {}", SPECIAL.len() + 1);
        check(self.vocabulary > SPECIAL.len(), "tokens.vocabulary", self.vocabulary, allowed)
    }
}

const SPECIAL: [&str; 3] = ["[PAD]", "[UNK]", "[CLS]"];
const CLS: u32 = 2;

impl Tokenizer {
    /// Trains a tokenizer on texts; every text starts with `[CLS]`.
    ///
    /// # Errors
    /// A vocabulary too small for the special tokens and the texts' characters, or texts without any
    /// token.
    pub fn fit<'t>(
        config: &TokensConfig,
        texts: impl Iterator<Item = &'t str>,
    ) -> Result<Self, Error> {
        config.validate()?;
        let texts: Vec<&str> = texts.collect();
        let model = BPE::builder().unk_token(SPECIAL[1].into()).build()?;
        let mut tokenizer = tokenizers::Tokenizer::new(ModelWrapper::BPE(model));
        if config.lowercase {
            tokenizer.with_normalizer(Some(NormalizerWrapper::Lowercase(Lowercase)))?;
        }
        let pieces = match config.kind {
            TokenKind::Characters => {
                let every = SplitPattern::Regex("(?s).".into());
                let split = Split::new(every, SplitDelimiterBehavior::Isolated, false)?;
                PreTokenizerWrapper::Split(split)
            }
            TokenKind::BytePairs => PreTokenizerWrapper::BertPreTokenizer(BertPreTokenizer),
        };
        tokenizer.with_pre_tokenizer(Some(pieces));
        // a merge joins two characters of a text, so there are no more tokens than characters; the
        // trainer reserves memory for the whole size of the vocabulary
        let characters: usize = texts.iter().map(|text| text.len()).sum();
        let most = characters.saturating_add(SPECIAL.len());
        // pieces of one character leave byte pairs nothing to merge: the vocabulary is the alphabet
        let trainer = BpeTrainer::builder()
            .vocab_size(config.vocabulary.min(most))
            .special_tokens(SPECIAL.iter().map(|s| AddedToken::from(*s, true)).collect())
            .show_progress(false)
            .build();
        let mut trainer = TrainerWrapper::BpeTrainer(trainer);
        tokenizer.train(&mut trainer, texts.iter().copied())?;
        // the trainer adds the whole alphabet, even beyond the limit
        let size = tokenizer.get_vocab_size(true);
        let most = config.vocabulary;
        let allowed = format!("at least {size}, the characters of the texts");
        check(size <= most, "tokens.vocabulary", most, allowed)?;
        if size <= SPECIAL.len() {
            let message =
                format!("the {} training texts give no token, they are empty", texts.len());
            return Err(Error::Tokenizer(message));
        }
        let path = Path::new("training texts");
        check_special(&tokenizer, path)?;
        let mut first = TemplateProcessing::builder();
        first.try_single("[CLS] $A").map_err(Error::Tokenizer)?;
        let first = first.special_tokens(vec![("[CLS]", CLS)]).build();
        let first = first.map_err(|e| Error::Tokenizer(e.to_string()))?;
        tokenizer.with_post_processor(Some(first));
        let json = tokenizer.to_string(false)?;
        Self::checked(tokenizer, path, json)
    }

    /// Reads the [`json`](Self::json) of a [trained](Self::fit) tokenizer.
    ///
    /// # Errors
    /// A file that cannot be read or is not such a tokenizer.
    pub fn read_trained(path: &Path) -> Result<Self, Error> {
        let (tokenizer, json) = parsed(path)?;
        check_special(&tokenizer, path)?;
        Self::checked(tokenizer, path, json)
    }
}

/// Refuses a tokenizer whose first tokens are not the special ones.
fn check_special(tokenizer: &tokenizers::Tokenizer, path: &Path) -> Result<(), Error> {
    for (id, token) in SPECIAL.iter().enumerate() {
        if tokenizer.token_to_id(token) != Some(id as u32) {
            return Err(Error::file(path, format!("token {id} is not {token}")));
        }
    }
    Ok(())
}
