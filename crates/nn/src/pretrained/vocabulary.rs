//! The tokenizers of folders without a tokenizer.json.

use std::path::{Path, PathBuf};

use dsokr_core::store::read_text;
use serde_json::{Map, Value};
use tokenizers::AddedToken;
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::models::wordlevel::WordLevel;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::whitespace::WhitespaceSplit;
use tokenizers::processors::bert::BertProcessing;
use tokenizers::processors::roberta::RobertaProcessing;

use super::families::Vocabulary;
use super::json::JsonFile;
use crate::error::Error;
use crate::tokenizer::Tokenizer;

/// Reads the tokenizer of a folder that has no tokenizer.json, from the files of its family's vocabulary. A
/// tokenizer_config.json next to them may say otherwise than the family.
pub(super) fn read(folder: &Path, kind: Vocabulary) -> Result<(PathBuf, Tokenizer), Error> {
    let path = folder.join("tokenizer_config.json");
    let keys =
        if path.exists() { JsonFile::read(&path)? } else { JsonFile { path, json: Map::new() } };
    let [words, pairs, merges] =
        ["vocab.txt", "vocab.json", "merges.txt"].map(|name| folder.join(name));
    if words.exists() {
        let tokenizer = match kind {
            Vocabulary::Letters => letters(&words, &keys)?,
            Vocabulary::WordPieces(special) => word_pieces(&words, &keys, Some(special))?,
            Vocabulary::BytePairs | Vocabulary::Unknown => word_pieces(&words, &keys, None)?,
        };
        return Ok((words, tokenizer));
    }
    if pairs.exists() && merges.exists() && kind == Vocabulary::BytePairs {
        let tokenizer = byte_pairs(&pairs, &merges, &keys)?;
        return Ok((pairs, tokenizer));
    }
    let also = if kind == Vocabulary::BytePairs { ", nor vocab.json with merges.txt" } else { "" };
    let message =
        format!("no tokenizer: the folder has neither tokenizer.json nor vocab.txt{also}");
    Err(Error::file(folder, message))
}

/// Refuses a `tokenizer_class` that is none of these; without one, the family decides.
fn check_class(keys: &JsonFile, classes: &[&str], is_family: bool) -> Result<(), Error> {
    let class = keys.json.get("tokenizer_class").map(|class| class.as_str().unwrap_or_default());
    let fits = match class {
        Some(class) => classes.contains(&class.strip_suffix("Fast").unwrap_or(class)),
        None => is_family,
    };
    if fits {
        return Ok(());
    }
    let names: Vec<String> =
        classes.iter().map(|class| format!("{class:?} or \"{class}Fast\"")).collect();
    let allowed = format!("{}, unless there is a tokenizer.json", names.join(", "));
    Err(keys.refuse("tokenizer_class", &allowed))
}

/// Returns the text of a special token that tokenizer_config.json may name.
fn special(keys: &JsonFile, key: &str, default: &str) -> Result<String, Error> {
    let allowed = "a string, or an object with the string `content`";
    keys.value(key, Some(default.to_owned()), allowed, |value| match value {
        Value::Null => Some(default.to_owned()),
        Value::String(token) => Some(token.clone()),
        other => other.get("content")?.as_str().map(str::to_owned),
    })
}

/// Reads byte pairs as RoBERTa's tokenizer does: a text is split into words with the space before them, which are
/// joined from bytes by the merges, and enclosed in `<s>` and `</s>`. A tokenizer_config.json may name other special
/// tokens, and set `add_prefix_space` (default: false).
fn byte_pairs(path: &Path, merges: &Path, keys: &JsonFile) -> Result<Tokenizer, Error> {
    check_class(keys, &["RobertaTokenizer"], true)?;
    let library = |e: tokenizers::Error| Error::file(path, e);
    let file = JsonFile::read(path)?;
    let ids = file.json.iter().map(|(token, id)| {
        let id = id.as_u64().and_then(|id| u32::try_from(id).ok());
        let id = id.ok_or_else(|| file.refuse(token, "an id, a whole number"))?;
        Ok((token.clone(), id))
    });
    let vocabulary: Vocab = ids.collect::<Result<_, Error>>()?;
    let text = read_text(merges).map_err(|e| Error::file(merges, e))?;
    let mut pairs = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.is_empty() || (number == 0 && line.starts_with("#version")) {
            continue;
        }
        let Some((first, second)) = line.split_once(' ') else {
            let message = format!("line {}: {line:?} is not two tokens", number + 1);
            return Err(Error::file(merges, message));
        };
        pairs.push((first.to_owned(), second.to_owned()));
    }
    let required = |key: &str, default: &str| {
        let token = special(keys, key, default)?;
        match vocabulary.get(&token) {
            Some(id) => Ok((token, *id)),
            None => Err(Error::file(path, format!("the vocabulary has no {key} `{token}`"))),
        }
    };
    let first = required("cls_token", "<s>")?;
    let last = required("sep_token", "</s>")?;
    let (unknown, _) = required("unk_token", "<unk>")?;
    let pad = special(keys, "pad_token", "<pad>")?;
    let mask = special(keys, "mask_token", "<mask>")?;
    let special_tokens: Vec<AddedToken> = [&first.0, &pad, &last.0, &unknown, &mask]
        .into_iter()
        .filter(|token| vocabulary.contains_key(*token))
        .map(|token| AddedToken::from(token.as_str(), true))
        .collect();
    let add_prefix_space = keys.flag("add_prefix_space", false)?;

    let model = BPE::builder().vocab_and_merges(vocabulary, pairs);
    let model = model.build().map_err(|e| Error::file(merges, e))?;
    let mut inner = tokenizers::Tokenizer::new(model);
    inner.with_pre_tokenizer(Some(ByteLevel::new(add_prefix_space, true, true)));
    let enclosed = RobertaProcessing::new(last, first).add_prefix_space(add_prefix_space);
    inner.with_post_processor(Some(enclosed));
    inner.with_decoder(Some(ByteLevel::default()));
    inner.add_special_tokens(special_tokens).map_err(library)?;
    let json = inner.to_string(true).map_err(library)?;
    Tokenizer::checked(inner, path, json)
}

/// Reads a vocabulary of letters with one token a line, as ESM's tokenizer does: every token of the vocabulary is one
/// wherever it occurs, what lies between is unknown, and a text is enclosed in `<cls>` and `<eos>`.
fn letters(path: &Path, keys: &JsonFile) -> Result<Tokenizer, Error> {
    check_class(keys, &["EsmTokenizer"], true)?;
    let text = read_text(path).map_err(|e| Error::file(path, e))?;
    let library = |e: tokenizers::Error| Error::file(path, e);
    let tokens: Vec<&str> = text.lines().map(str::trim).collect();
    let vocabulary: Vocab =
        tokens.iter().zip(0..).map(|(token, id)| ((*token).to_owned(), id)).collect();
    let required = |key: &str, default: &str| {
        let token = special(keys, key, default)?;
        match vocabulary.get(&token) {
            Some(id) => Ok((token, *id)),
            None => Err(Error::file(path, format!("the vocabulary has no {key} `{token}`"))),
        }
    };
    let first = required("cls_token", "<cls>")?;
    let last = required("eos_token", "<eos>")?;
    let (unknown, _) = required("unk_token", "<unk>")?;
    let others = [special(keys, "pad_token", "<pad>")?, special(keys, "mask_token", "<mask>")?];
    let is_special = |token: &str| {
        [&first.0, &last.0, &unknown].into_iter().chain(&others).any(|known| known == token)
    };
    let added: Vec<AddedToken> = tokens
        .iter()
        .filter(|token| !token.is_empty())
        .map(|token| AddedToken::from(*token, is_special(token)).normalized(false))
        .collect();
    let model = WordLevel::builder().vocab(vocabulary.clone()).unk_token(unknown.clone());
    let mut inner = tokenizers::Tokenizer::new(model.build().map_err(library)?);
    inner.with_pre_tokenizer(Some(WhitespaceSplit));
    inner.with_post_processor(Some(BertProcessing::new(last.clone(), first.clone())));
    inner.add_tokens(added).map_err(library)?;
    let json = inner.to_string(true).map_err(library)?;
    Tokenizer::checked(inner, path, json)
}

/// Reads a WordPiece vocabulary with one token per line, as BERT's tokenizer does.
///
/// Texts are cleaned of control characters, lower-cased, stripped of accents, split at spaces,
/// punctuation and Chinese characters, and enclosed in `[CLS]` and `[SEP]`, or in the tokens of the family. A
/// tokenizer_config.json next to the vocabulary may say otherwise: `do_lower_case` (default
/// true), `strip_accents` (default: as `do_lower_case`), `tokenize_chinese_chars` (default
/// true), `unk_token`, `cls_token`, `sep_token`, `pad_token`, `mask_token`. `tokens` are the ones of a family whose
/// vocabularies are pieces of words.
fn word_pieces(
    path: &Path,
    keys: &JsonFile,
    tokens: Option<[&str; 4]>,
) -> Result<Tokenizer, Error> {
    let classes = ["BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MPNetTokenizer"];
    check_class(keys, &classes, tokens.is_some())?;
    let [first, last, mask, pad] = tokens.unwrap_or(["[CLS]", "[SEP]", "[MASK]", "[PAD]"]);
    let text = read_text(path).map_err(|e| Error::file(path, e))?;
    let library = |e: tokenizers::Error| Error::file(path, e);
    // empty lines at the end are not tokens: the model would lack vectors for them
    let lines = text.trim_end_matches(['\n', '\r']).as_bytes();
    let vocabulary = WordPiece::read_bytes(lines).map_err(library)?;
    let required = |key: &str, default: &str| {
        let token = special(keys, key, default)?;
        match vocabulary.get(&token) {
            Some(id) => Ok((token, *id)),
            None => Err(Error::file(path, format!("the vocabulary has no {key} `{token}`"))),
        }
    };
    let (unknown, _) = required("unk_token", "[UNK]")?;
    let first = required("cls_token", first)?;
    let last = required("sep_token", last)?;
    let pad = special(keys, "pad_token", pad)?;
    let mask = special(keys, "mask_token", mask)?;
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
