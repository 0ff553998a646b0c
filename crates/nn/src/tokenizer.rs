//! Tokenizers: texts become ids.

use std::collections::BTreeMap;
use std::path::Path;

use dsokr_core::store::read_text;
use serde_json::{Value, json};
use tokenizers::normalizers::Precompiled;
use tokenizers::{
    AddedToken, Encoding, PostProcessor, Token, TruncationDirection, TruncationParams,
};

use crate::error::{Error, POINTER, PULL, check};

/// A tokenizer of a pretrained encoder, or one that was trained on texts
/// ([`TokensConfig`](crate::transformer::TokensConfig)).
///
/// Ids equal those of Hugging Face's tokenizers, with the special tokens at the ends. Padding and truncation of a
/// tokenizer.json are switched off: batches need no padding, and [`encode`](Self::encode) truncates texts itself and
/// reports it. So is the dropout of merges, with which the tokens of a text are random.
#[derive(Clone, Debug)]
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    /// The tokenizer.json as read, or its equivalent for a vocab.txt.
    pub json: String,
    /// Number of special tokens that are added to every text.
    pub special_tokens: usize,
    /// The token of what the vocabulary lacks.
    unknown: Option<u32>,
}

impl Tokenizer {
    /// Reads a tokenizer.json.
    ///
    /// # Errors
    /// A file that cannot be read or is not a tokenizer; special tokens that are not in the vocabulary,
    /// or no special token at all, so that an empty text would have no token.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let (inner, json) = parsed(path)?;
        Self::checked(inner, path, json)
    }

    /// Reads a tokenizer.json which `change` may alter first, and says whether it does. `change` gets the tokenizer and
    /// the content of the file.
    pub(crate) fn read_changed(
        path: &Path,
        change: impl FnOnce(&tokenizers::Tokenizer, &mut Value) -> Result<bool, Error>,
    ) -> Result<Self, Error> {
        let not_one =
            |e: &dyn std::fmt::Display| Error::file(path, format!("not a tokenizer: {e}"));
        let (inner, json) = parsed(path)?;
        let mut changed: Value = serde_json::from_str(&json).map_err(|e| not_one(&e))?;
        if !change(&inner, &mut changed)? {
            return Self::checked(inner, path, json);
        }
        let json = changed.to_string();
        let inner = json.parse::<tokenizers::Tokenizer>().map_err(|e| not_one(&e))?;
        Self::checked(inner, path, json)
    }

    /// Returns the tokenizer of texts that are lower-cased first, character by character and outside of special tokens;
    /// errors name `path`. One that does so already stays as it is.
    pub(crate) fn lower_cased(self, path: &Path) -> Result<Self, Error> {
        let library = |e: tokenizers::Error| Error::file(path, e);
        let mut json: Value = serde_json::from_str(&self.json)
            .map_err(|e| Error::file(path, format!("not a tokenizer: {e}")))?;
        let parts = normalizers(&json["normalizer"]);
        if parts.iter().any(|part| part["type"] == "Lowercase") {
            return Ok(self);
        }
        let others = parts.into_iter().filter(|part| !part.is_null()).cloned();
        let all: Vec<Value> = [json!({ "type": "Lowercase" })].into_iter().chain(others).collect();
        json["normalizer"] = json!({ "type": "Sequence", "normalizers": all });
        let json = json.to_string();
        let inner = json.parse::<tokenizers::Tokenizer>().map_err(library)?;
        Self::checked(inner, path, json)
    }

    /// Returns the tokens that are found in texts before the model reads them, by id.
    pub(crate) fn added_tokens(&self) -> BTreeMap<u32, AddedToken> {
        self.inner.get_added_tokens_decoder().into_iter().collect()
    }

    /// Returns the special tokens at the ends of a text.
    ///
    /// # Errors
    /// [`Error::Tokenizer`].
    pub(crate) fn ends(&self) -> Result<Vec<String>, Error> {
        let empty = self.inner.post_process(Encoding::default(), None, true)?;
        Ok(empty.get_tokens().to_vec())
    }

    /// Returns whether the vocabulary has a token.
    pub(crate) fn has(&self, token: &str) -> bool {
        self.inner.token_to_id(token).is_some()
    }

    /// Returns the tokenizer with further tokens, or with other flags of those that it has; errors name `path`. New ones
    /// get the ids behind the others, in their order.
    pub(crate) fn with_tokens(self, tokens: Vec<AddedToken>, path: &Path) -> Result<Self, Error> {
        if tokens.is_empty() {
            return Ok(self);
        }
        let library = |e: tokenizers::Error| Error::file(path, e);
        let mut inner = self.inner;
        inner.add_tokens(tokens).map_err(library)?;
        let json = inner.to_string(false).map_err(library)?;
        Self::checked(inner, path, json)
    }

    /// Returns the tokenizer.json by which other programs get the ids of [`encode`](Self::encode): it truncates texts
    /// to `max_length` and has no padding.
    ///
    /// # Errors
    /// [`Error::Tokenizer`].
    pub fn json_for(&self, max_length: usize) -> Result<String, Error> {
        let mut inner = self.inner.clone();
        inner.with_truncation(Some(TruncationParams {
            max_length,
            ..TruncationParams::default()
        }))?;
        Ok(inner.to_string(false)?)
    }

    /// Creates a tokenizer with its own post-processor; errors name `path`.
    pub(crate) fn checked(
        mut inner: tokenizers::Tokenizer,
        path: &Path,
        json: String,
    ) -> Result<Self, Error> {
        let fail = |message: String| Err(Error::file(path, message));
        let library = |e: tokenizers::Error| Error::file(path, e);
        inner.with_truncation(None).map_err(library)?.with_padding(None);
        let read = serde_json::from_str::<Value>(&json).unwrap_or_default();
        if read["truncation"]["direction"] == "Left" {
            return fail(
                "truncation.direction = \"Left\": \"Right\", texts are truncated at their ends"
                    .into(),
            );
        }
        // the library looks the token for unknown words up only when a text needs it
        let unknown = match read["model"]["unk_token"].as_str() {
            Some(token) => {
                let Some(id) = inner.token_to_id(token) else {
                    return fail(format!("its unknown token `{token}` is not in the vocabulary"));
                };
                Some(id)
            }
            // unigrams have its number alone
            None => read["model"]["unk_id"].as_u64().and_then(|id| u32::try_from(id).ok()),
        };
        let empty = inner.encode_fast("", true).map_err(library)?;
        for (token, id) in empty.get_tokens().iter().zip(empty.get_ids()) {
            if inner.token_to_id(token) != Some(*id) {
                return fail(format!(
                    "special token `{token}` is not token {id} of the vocabulary"
                ));
            }
        }
        if empty.is_empty() {
            let has = |token: &str| inner.token_to_id(token).is_some();
            let template = if has("<s>") && has("</s>") {
                "<s> $A </s>"
            } else if has("<|endoftext|>") {
                "$A <|endoftext|>"
            } else {
                "[CLS] $A [SEP]"
            };
            return fail(format!(
                "its post-processor adds no special token, so an empty text has none: give it a TemplateProcessing \
                 with a first or a last token, such as `{template}`, and save it again"
            ));
        }
        let special_tokens = inner.get_post_processor().map_or(0, |post| post.added_tokens(false));
        Ok(Self { inner, json, special_tokens, unknown })
    }

    /// Returns whether a token of a text, or a special one at its ends, has another type than 0.
    ///
    /// # Errors
    /// [`Error::Tokenizer`].
    pub(crate) fn has_other_types(&self) -> Result<bool, Error> {
        let text = Encoding::from_tokens(vec![Token::new(0, "a".into(), (0, 1))], 0);
        let encoding = self.inner.post_process(text, None, true)?;
        Ok(encoding.get_type_ids().iter().any(|kind| *kind != 0))
    }

    /// Returns the number of rows that a table of token vectors needs: the largest id plus one.
    pub fn vocabulary(&self) -> usize {
        self.inner.get_vocab(true).into_values().max().map_or(0, |id| id as usize + 1)
    }

    /// Returns the text's tokens between the special ones, truncated at the text's end to `max_length` in all,
    /// and whether tokens were lost. An empty text has only the special tokens.
    ///
    /// # Errors
    /// A `max_length` without room for a token with the special ones; [`Error::Tokenizer`].
    pub fn encode(&self, text: &str, max_length: usize) -> Result<(Vec<u32>, bool), Error> {
        let room = self.room(max_length)?;
        let mut encoding = self.inner.encode_fast(text, false)?;
        let cut = encoding.len() > room;
        if cut {
            encoding.truncate(room, 0, TruncationDirection::Right);
            encoding.take_overflowing();
        }
        let encoding = self.inner.post_process(encoding, None, true)?;
        Ok((encoding.get_ids().to_vec(), cut))
    }

    /// Returns the first token of the vocabulary that has no row in a table of `rows` token vectors.
    pub(crate) fn first_beyond(&self, rows: usize) -> Option<String> {
        let tokens = self.inner.get_vocab(true).into_iter();
        let beyond = tokens.filter(|(_, id)| *id as usize >= rows);
        beyond.min_by_key(|(_, id)| *id).map(|(token, _)| token)
    }

    /// Returns how many of these tokens are others than the one of what the vocabulary lacks.
    pub fn count_known(&self, ids: &[u32]) -> usize {
        ids.iter().filter(|id| Some(**id) != self.unknown).count()
    }

    /// Returns the number of tokens, at least one, that the special ones leave of `max_length`.
    pub(crate) fn room(&self, max_length: usize) -> Result<usize, Error> {
        let allowed = format!("at least {}, with the special tokens", self.special_tokens + 1);
        check(max_length > self.special_tokens, "max_length", max_length, allowed)?;
        Ok(max_length - self.special_tokens)
    }
}

/// Returns a tokenizer.json as the library reads it, and its text, without the dropout of merges.
pub(crate) fn parsed(path: &Path) -> Result<(tokenizers::Tokenizer, String), Error> {
    let mut json = read_text(path).map_err(|e| Error::file(path, e))?;
    // first, because the library panics at some damaged files
    let mut read = check_file(path, &json)?;
    // a part of the tokenizer's training: the tokens of a text would be others each time
    let dropout = read.pointer_mut("/model/dropout");
    if let Some(dropout) = dropout.filter(|share| share.as_f64().is_some_and(|share| share > 0.0)) {
        *dropout = Value::Null;
        json = read.to_string();
    }
    let not_one = |e: tokenizers::Error| Error::file(path, format!("not a tokenizer: {e}"));
    Ok((json.parse().map_err(not_one)?, json))
}

/// The most times that a normalizer may make a text longer.
const MOST_GROWTH: f64 = 1000.0;

/// Refuses a tokenizer.json at which the library panics, or does not end: what is not JSON, damaged tables of
/// characters, merges without a token, and normalizers that let a text grow without bound: replacements one after the
/// other multiply. Returns what the file holds.
fn check_file(path: &Path, json: &str) -> Result<Value, Error> {
    if json.starts_with(POINTER) {
        return Err(Error::file(path, PULL));
    }
    let not_one = |e: String| Error::file(path, format!("not a tokenizer: {e}"));
    let read: Result<Value, _> = serde_json::from_str(json);
    let read = read.map_err(|e| not_one(e.to_string()))?;
    let normalizers = normalizers(&read["normalizer"]);
    for tables in normalizers.iter().filter(|normalizer| normalizer["type"] == "Precompiled") {
        // the library reads them without an error
        let read: Result<Precompiled, _> = serde_json::from_str(&tables.to_string());
        read.map_err(|e| not_one(e.to_string()))?;
    }
    check_merges(&read["model"]).map_err(not_one)?;
    let growth: f64 = normalizers.into_iter().map(growth).product();
    if growth <= MOST_GROWTH {
        return Ok(read);
    }
    let growth_text = format!("replacements that make a text up to {growth:.0} times as long");
    Err(Error::file(path, format!("normalizer = {growth_text}: at most {MOST_GROWTH} times")))
}

/// Refuses a merge of two tokens, the second without the prefix of those within a word, that is not a token.
fn check_merges(model: &Value) -> Result<(), String> {
    let Some(tokens) = model["vocab"].as_object() else {
        return Ok(());
    };
    let Some(merges) = model["merges"].as_array() else {
        return Ok(());
    };
    let prefix = model["continuing_subword_prefix"].as_str().unwrap_or_default();
    for merge in merges {
        // pairs, or lines of a file with a space between, where the first may name a version
        let pair = match merge {
            Value::String(line) if line.starts_with("#version") => continue,
            Value::String(line) => line.split_once(' '),
            pair => pair[0].as_str().zip(pair[1].as_str()),
        };
        let merged = pair.and_then(|(a, b)| Some(format!("{a}{}", b.get(prefix.len()..)?)));
        if !merged.is_some_and(|merged| tokens.contains_key(&merged)) {
            return Err(format!("the merge {merge} makes no token of the vocabulary"));
        }
    }
    Ok(())
}

/// Returns a normalizer, or those that it consists of.
pub(crate) fn normalizers(normalizer: &Value) -> Vec<&Value> {
    match (normalizer["type"].as_str(), normalizer["normalizers"].as_array()) {
        (Some("Sequence"), Some(parts)) => parts.iter().flat_map(normalizers).collect(),
        _ => vec![normalizer],
    }
}

/// Returns the most times that a normalizer makes a long text longer, in characters.
fn growth(normalizer: &Value) -> f64 {
    let characters = |value: &Value| value.as_str().map(|text| text.chars().count());
    if normalizer["type"] != "Replace" {
        return 1.0;
    }
    let content = characters(&normalizer["content"]).unwrap_or(0) as f64;
    match characters(&normalizer["pattern"]["String"]) {
        Some(length) if length > 0 => (content / length as f64).max(1.0),
        // a regular expression may match between any two characters
        _ => 1.0 + content,
    }
}
