//! The tokenizer of a vocab.txt.

use std::path::Path;

use dsokr_core::store::read_text;
use serde_json::{Map, Value};
use tokenizers::AddedToken;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::processors::bert::BertProcessing;

use super::config::JsonFile;
use crate::error::Error;
use crate::tokenizer::Tokenizer;

/// Reads a WordPiece vocabulary with one token per line, as BERT's tokenizer does.
///
/// Texts are cleaned of control characters, lower-cased, stripped of accents, split at spaces,
/// punctuation and Chinese characters, and enclosed in `[CLS]` and `[SEP]`. A
/// tokenizer_config.json next to the vocabulary may say otherwise: `do_lower_case` (default
/// true), `strip_accents` (default: as `do_lower_case`), `tokenize_chinese_chars` (default
/// true), `unk_token`, `cls_token`, `sep_token`, `pad_token`, `mask_token`. `word_pieces` says what it is without a
/// `tokenizer_class`.
pub(super) fn read(path: &Path, word_pieces: bool) -> Result<Tokenizer, Error> {
    let settings = path.with_file_name("tokenizer_config.json");
    let keys = if settings.exists() {
        JsonFile::read(&settings)?
    } else {
        JsonFile { path: settings, json: Map::new() }
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
    let first = required("cls_token", "[CLS]")?;
    let last = required("sep_token", "[SEP]")?;
    let pad = special("pad_token", "[PAD]")?;
    let mask = special("mask_token", "[MASK]")?;
    let special_tokens: Vec<AddedToken> = [&pad, &unknown, &first.0, &last.0, &mask]
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
    inner.add_special_tokens(special_tokens).map_err(library)?;
    let json = inner.to_string(true).map_err(library)?;
    Tokenizer::checked(inner, path, json)
}
