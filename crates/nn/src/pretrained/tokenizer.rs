use std::path::{Path, PathBuf};

use dsokr_basis::store::read_text;
use serde_json::{Map, Value};
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::{BertNormalizer, Precompiled};
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::processors::bert::BertProcessing;
use tokenizers::{AddedToken, PostProcessor, TruncationDirection};

use super::config::JsonFile;
use crate::Error;
use crate::error::check;

/// The tokenizer of a pretrained encoder.
///
/// Ids are those of Hugging Face's tokenizers, with the special tokens at both ends. Padding and
/// truncation of a tokenizer.json are switched off: batches need no padding, and
/// [`encode`](Self::encode) truncates texts itself and reports it.
#[derive(Clone, Debug)]
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    /// The file that it was read from.
    pub(super) path: PathBuf,
    /// The tokenizer.json as read, or its equivalent for a vocab.txt.
    pub json: String,
    /// Number of special tokens that are added to every text.
    pub special_tokens: usize,
}

impl Tokenizer {
    /// Reads a tokenizer.json.
    ///
    /// # Errors
    /// A file that cannot be read or is not a tokenizer; special tokens that are not in the vocabulary,
    /// or no special token at all, so that an empty text would have no token.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let json = read_text(path).map_err(|e| Error::file(path, e))?;
        let not_one = |e: tokenizers::Error| Error::file(path, format!("not a tokenizer: {e}"));
        // first, because the library panics at some damaged files
        check_file(path, &json)?;
        let inner = json.parse().map_err(not_one)?;
        Self::checked(inner, path, json)
    }

    /// Reads a WordPiece vocabulary with one token per line, as BERT's tokenizer does.
    ///
    /// Texts are cleaned of control characters, lower-cased, stripped of accents, split at spaces,
    /// punctuation and Chinese characters, and enclosed in `[CLS]` and `[SEP]`. A
    /// tokenizer_config.json beside the vocabulary may say otherwise: `do_lower_case` (default
    /// true), `strip_accents` (default: as `do_lower_case`), `tokenize_chinese_chars` (default
    /// true), `unk_token`, `cls_token`, `sep_token`, `pad_token`, `mask_token`. `word_pieces` says what it is without a
    /// `tokenizer_class`.
    pub(super) fn from_vocabulary(path: &Path, word_pieces: bool) -> Result<Self, Error> {
        let settings = path.with_file_name("tokenizer_config.json");
        let keys = match settings.exists() {
            true => JsonFile::read(&settings)?,
            false => JsonFile { path: settings, json: Map::new() },
        };
        match keys.json.get("tokenizer_class").map(|class| class.as_str().unwrap_or_default()) {
            Some("BertTokenizer" | "BertTokenizerFast") => {}
            None if word_pieces => {}
            _ => {
                let allowed = "\"BertTokenizer\" or \"BertTokenizerFast\", unless there is a \
                               tokenizer.json";
                return Err(keys.refuse("tokenizer_class", allowed));
            }
        }

        let text = read_text(path).map_err(|e| Error::file(path, e))?;
        let library = |e: tokenizers::Error| Error::file(path, e);
        // empty lines at the end are not tokens: the model would lack vectors for them
        let lines = text.trim_end_matches(['\n', '\r']).as_bytes();
        let vocabulary = WordPiece::read_bytes(lines).map_err(library)?;
        let special = |key: &str, default: &str| {
            let allowed = "a string, or an object with the string `content`";
            keys.value(key, Some(default.to_owned()), allowed, |value| match value {
                Value::Null => Some(default.to_owned()),
                Value::String(token) => Some(token.clone()),
                other => other.get("content")?.as_str().map(str::to_owned),
            })
        };
        let required = |key: &str, default: &str| {
            let token = special(key, default)?;
            match vocabulary.get(&token) {
                Some(id) => Ok((token, *id)),
                None => Err(Error::file(path, format!("the vocabulary has no {key} `{token}`"))),
            }
        };
        let (unknown, _) = required("unk_token", "[UNK]")?;
        let (first, last) = (required("cls_token", "[CLS]")?, required("sep_token", "[SEP]")?);
        let (pad, mask) = (special("pad_token", "[PAD]")?, special("mask_token", "[MASK]")?);
        let known: Vec<AddedToken> = [&pad, &unknown, &first.0, &last.0, &mask]
            .into_iter()
            .filter(|token| vocabulary.contains_key(*token))
            .map(|token| AddedToken::from(token.as_str(), true))
            .collect();
        let lowercase = keys.flag("do_lower_case", true)?;
        let chinese = keys.flag("tokenize_chinese_chars", true)?;
        let accents = keys.value("strip_accents", Some(None), "true or false", |value| {
            if value.is_null() { Some(None) } else { value.as_bool().map(Some) }
        })?;

        let model = WordPiece::builder().vocab(vocabulary).unk_token(unknown);
        let model = model.build().map_err(library)?;
        let mut inner = tokenizers::Tokenizer::new(model);
        let normalizer = BertNormalizer::new(true, chinese, accents, lowercase);
        inner.with_normalizer(Some(normalizer)).map_err(library)?;
        inner.with_pre_tokenizer(Some(BertPreTokenizer));
        inner.with_post_processor(Some(BertProcessing::new(last, first)));
        inner.with_decoder(Some(tokenizers::decoders::wordpiece::WordPiece::default()));
        inner.add_special_tokens(known).map_err(library)?;
        let json = inner.to_string(true).map_err(library)?;
        Self::checked(inner, path, json)
    }

    fn checked(mut inner: tokenizers::Tokenizer, path: &Path, json: String) -> Result<Self, Error> {
        let fail = |message: String| Err(Error::file(path, message));
        let library = |e: tokenizers::Error| Error::file(path, e);
        inner.with_truncation(None).map_err(library)?.with_padding(None);
        // the library looks the token for unknown words up only when a text needs it
        let read = serde_json::from_str::<Value>(&json).unwrap_or_default();
        if let Some(token) = read["model"]["unk_token"].as_str()
            && inner.token_to_id(token).is_none()
        {
            return fail(format!("its unknown token `{token}` is not in the vocabulary"));
        }
        let empty = inner.encode_fast("", true).map_err(library)?;
        for (token, id) in empty.get_tokens().iter().zip(empty.get_ids()) {
            if inner.token_to_id(token) != Some(*id) {
                return fail(format!(
                    "special token `{token}` is not token {id} of the vocabulary"
                ));
            }
        }
        if empty.is_empty() {
            return fail(
                "its post-processor adds no special token, so an empty text has none".into(),
            );
        }
        let special_tokens = inner.get_post_processor().map_or(0, |post| post.added_tokens(false));
        Ok(Self { inner, path: path.to_path_buf(), json, special_tokens })
    }

    /// Number of rows that a table of token vectors needs: the largest id plus one.
    pub fn vocabulary(&self) -> usize {
        self.inner.get_vocab(true).into_values().max().map_or(0, |id| id as usize + 1)
    }

    /// The text's tokens between the special ones, truncated at the text's end to `max_length` in all,
    /// and whether tokens were lost. An empty text has only the special tokens.
    ///
    /// # Errors
    /// A `max_length` without room for a token with the special ones; [`Error::Tokenizer`].
    pub fn encode(&self, text: &str, max_length: usize) -> Result<(Vec<u32>, bool), Error> {
        let fail = |e: tokenizers::Error| Error::Tokenizer(e.to_string());
        let room = self.room(max_length)?;
        let mut encoding = self.inner.encode_fast(text, false).map_err(fail)?;
        let cut = encoding.len() > room;
        if cut {
            encoding.truncate(room, 0, TruncationDirection::Right);
            encoding.take_overflowing();
        }
        let encoding = self.inner.post_process(encoding, None, true).map_err(fail)?;
        Ok((encoding.get_ids().to_vec(), cut))
    }

    /// Number of tokens, at least one, that the special ones leave of `max_length`.
    pub(super) fn room(&self, max_length: usize) -> Result<usize, Error> {
        let allowed = format!("at least {}, with the special tokens", self.special_tokens + 1);
        check(max_length > self.special_tokens, "max_length", max_length, allowed)?;
        Ok(max_length - self.special_tokens)
    }
}

/// The most times that a normalizer may make a text longer.
const MOST_GROWTH: f64 = 1000.0;

/// Refuses a tokenizer.json at which the library panics, or does not end: what is not JSON, damaged tables of characters, merges without a token, and normalizers that let
/// a text grow without bound: replacements one after the other multiply.
fn check_file(path: &Path, json: &str) -> Result<(), Error> {
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
        return Ok(());
    }
    let found = format!("replacements that make a text up to {growth:.0} times as long");
    Err(Error::file(path, format!("normalizer = {found}: at most {MOST_GROWTH} times")))
}

/// Refuses a merge of two tokens, the second without the prefix of those within a word, that is not a token.
fn check_merges(model: &Value) -> Result<(), String> {
    let (Some(tokens), Some(merges)) = (model["vocab"].as_object(), model["merges"].as_array())
    else {
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

/// A normalizer, or those that it consists of.
fn normalizers(normalizer: &Value) -> Vec<&Value> {
    match (normalizer["type"].as_str(), normalizer["normalizers"].as_array()) {
        (Some("Sequence"), Some(parts)) => parts.iter().flat_map(normalizers).collect(),
        _ => vec![normalizer],
    }
}

/// The most times that a normalizer makes a long text longer, in characters.
fn growth(normalizer: &Value) -> f64 {
    let characters = |value: &Value| value.as_str().map(|text| text.chars().count());
    if normalizer["type"] != "Replace" {
        return 1.0;
    }
    let content = characters(&normalizer["content"]).unwrap_or(0) as f64;
    match characters(&normalizer["pattern"]["String"]) {
        Some(found) if found > 0 => (content / found as f64).max(1.0),
        // a regular expression may match between any two characters
        _ => 1.0 + content,
    }
}
