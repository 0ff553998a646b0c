//! What the classes of transformers' tokenizers make of a tokenizer.json.
//!
//! Where a folder or its family has a class of BERT's or RoBERTa's tokenizers, parts of the tokenizer come from
//! tokenizer_config.json, and the file is read for the others. Versions 4 and 5 of transformers agree on that; what they
//! make of a file in different ways is refused. `PreTrainedTokenizerFast` and other classes take the file as it is.

use std::path::Path;

use serde_json::{Value, json};

use super::added_tokens::TokenFiles;
use super::config::Config;
use super::families::{Family, Vocabulary};
use super::json::JsonFile;
use crate::error::Error;
use crate::tokenizer::{Tokenizer, normalizers};

/// The key that names a class, in tokenizer_config.json or config.json.
const CLASS: &str = "tokenizer_class";
/// The classes of BERT's relatives, without the ending `Fast`.
pub(super) const WORD_PIECES: [&str; 6] = [
    "BertTokenizer",
    "DistilBertTokenizer",
    "ElectraTokenizer",
    "MPNetTokenizer",
    "DPRQuestionEncoderTokenizer",
    "DPRContextEncoderTokenizer",
];
/// The class of RoBERTa.
pub(super) const BYTE_PAIRS: &str = "RobertaTokenizer";
/// One of [`WORD_PIECES`] with special tokens of its own.
const MPNET: &str = "MPNetTokenizer";

/// Returns the file that names the class of the tokenizer: tokenizer_config.json, unless only config.json names it.
pub(super) fn naming<'f>(settings: &'f JsonFile, config: &'f JsonFile) -> &'f JsonFile {
    let is_named = |file: &JsonFile| file.json.get(CLASS).is_some_and(|class| !class.is_null());
    if !is_named(settings) && is_named(config) { config } else { settings }
}

/// Returns the name of the class that a file names, if it does.
pub(super) fn named(file: &JsonFile) -> Result<Option<&str>, Error> {
    match file.json.get(CLASS) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(class)) => Ok(Some(class.strip_suffix("Fast").unwrap_or(class))),
        Some(_) => Err(file.refuse(CLASS, "a string")),
    }
}

/// Returns the class that transformers has for a family.
fn of_family(family: &Family) -> Option<&'static str> {
    match family.vocabulary {
        Vocabulary::WordPieces(_) if family.name == "mpnet" => Some(MPNET),
        Vocabulary::WordPieces(_) => Some(WORD_PIECES[0]),
        Vocabulary::BytePairs => Some(BYTE_PAIRS),
        Vocabulary::Letters | Vocabulary::Unknown => None,
    }
}

/// How the classes of BERT's relatives clean texts.
pub(super) struct Cleaning {
    pub(super) lowercase: bool,
    /// Whether accents are stripped; `None` does as `lowercase` says.
    pub(super) accents: Option<bool>,
    /// Whether Chinese characters are words.
    pub(super) chinese: bool,
}

impl Cleaning {
    /// Reads the keys of tokenizer_config.json.
    pub(super) fn read(settings: &JsonFile) -> Result<Self, Error> {
        let accents = settings.value("strip_accents", Some(None), "true or false", |value| {
            if value.is_null() { Some(None) } else { value.as_bool().map(Some) }
        })?;
        Ok(Self {
            lowercase: settings.flag("do_lower_case", true)?,
            accents,
            chinese: settings.flag("tokenize_chinese_chars", true)?,
        })
    }
}

/// Reads the tokenizer.json of a folder as transformers does, by the class of its tokenizer. `settings` is its
/// tokenizer_config.json. `lower_case` says whether texts are lower-cased before the tokenizer, so that a file may do
/// it too.
pub(super) fn read(
    path: &Path,
    settings: &JsonFile,
    config: &Config,
    lower_case: bool,
) -> Result<Tokenizer, Error> {
    let naming = naming(settings, &config.file);
    let Some(class) = named(naming)?.or_else(|| of_family(config.family)) else {
        return Tokenizer::read(path);
    };
    let is_byte_pairs = class == BYTE_PAIRS;
    if !is_byte_pairs && !WORD_PIECES.contains(&class) {
        return Tokenizer::read(path);
    }
    Tokenizer::read_changed(path, |inner, json| {
        let file = File { path, class };
        let is_changed = if is_byte_pairs {
            file.set_prefix_space(settings, json)?
        } else {
            file.set_cleaning(&Cleaning::read(settings)?, lower_case, json)?
        };
        // transformers 5 knows folders of this family whose class is wrong, and takes the file as it is
        if is_changed && config.family.name == "modernbert" {
            let allowed = "\"PreTrainedTokenizerFast\", by which transformers takes tokenizer.json as it is: it has \
                           other settings than tokenizer_config.json, and versions of transformers choose differently";
            return Err(naming.refuse(CLASS, allowed));
        }
        let is_without = json["post_processor"].is_null();
        if is_without {
            file.add_special_tokens(inner, json)?;
        }
        Ok(is_changed || is_without)
    })
}

/// A tokenizer.json, and the class that reads it.
struct File<'f> {
    path: &'f Path,
    class: &'f str,
}

impl File<'_> {
    /// Refuses a part of the file that one version of transformers takes as it is, and the other from the class.
    fn refuse(&self, key: &str, value: &Value, allowed: &str) -> Error {
        let message = format!(
            "{key} = {value}: {allowed} of the class {}, or \"tokenizer_class\": \"PreTrainedTokenizerFast\" in \
             tokenizer_config.json, which takes the file as it is; versions of transformers choose differently",
            self.class
        );
        Error::file(self.path, message)
    }

    /// Refuses a part of a kind that the class does not have. Files of first versions do not name the kind of model.
    fn check_kind(&self, key: &str, kind: &Value, expected: &str) -> Result<(), Error> {
        let is_unnamed = key == "model.type" && kind.is_null();
        if is_unnamed || kind == expected {
            Ok(())
        } else {
            Err(self.refuse(key, kind, &format!("{expected:?}")))
        }
    }

    /// Sets what cleans texts, and returns whether it was different.
    fn set_cleaning(
        &self,
        cleaning: &Cleaning,
        lower_case: bool,
        json: &mut Value,
    ) -> Result<bool, Error> {
        self.check_kind("model.type", &json["model"]["type"], "WordPiece")?;
        self.check_kind("pre_tokenizer.type", &json["pre_tokenizer"]["type"], "BertPreTokenizer")?;
        let mut parts = normalizers(&json["normalizer"]);
        parts.retain(|part| !(lower_case && part["type"] == "Lowercase"));
        let [part] = parts[..] else {
            let kinds: Value = parts.iter().map(|part| part["type"].clone()).collect();
            return Err(self.refuse("normalizer", &kinds, "one BertNormalizer"));
        };
        self.check_kind("normalizer.type", &part["type"], "BertNormalizer")?;
        if part["clean_text"] == false {
            return Err(self.refuse("normalizer.clean_text", &part["clean_text"], "true"));
        }
        let Cleaning { lowercase, accents, chinese } = *cleaning;
        let of_file = &part["handle_chinese_chars"];
        if self.class == MPNET && *of_file != chinese {
            let allowed = format!("{chinese}, tokenize_chinese_chars of tokenizer_config.json,");
            return Err(self.refuse("normalizer.handle_chinese_chars", of_file, &allowed));
        }
        let of_class = json!({
            "type": "BertNormalizer",
            "clean_text": true,
            "handle_chinese_chars": chinese,
            "strip_accents": accents,
            "lowercase": lowercase,
        });
        if *part == of_class {
            return Ok(false);
        }
        json["normalizer"] = of_class;
        Ok(true)
    }

    /// Sets whether a space precedes texts, and returns whether it was different.
    fn set_prefix_space(&self, settings: &JsonFile, json: &mut Value) -> Result<bool, Error> {
        self.check_kind("model.type", &json["model"]["type"], "BPE")?;
        self.check_kind("pre_tokenizer.type", &json["pre_tokenizer"]["type"], "ByteLevel")?;
        if !json["normalizer"].is_null() {
            return Err(self.refuse("normalizer.type", &json["normalizer"]["type"], "null"));
        }
        let is_added = settings.flag("add_prefix_space", false)?;
        if json["pre_tokenizer"]["add_prefix_space"] == is_added {
            return Ok(false);
        }
        json["pre_tokenizer"]["add_prefix_space"] = is_added.into();
        Ok(true)
    }

    /// Adds the first and the last token of the class to a file that adds none.
    fn add_special_tokens(
        &self,
        inner: &tokenizers::Tokenizer,
        json: &mut Value,
    ) -> Result<(), Error> {
        let files = TokenFiles::read(self.path.parent().unwrap_or(Path::new("")))?;
        let [first, last] = if [MPNET, BYTE_PAIRS].contains(&self.class) {
            ["<s>", "</s>"]
        } else {
            ["[CLS]", "[SEP]"]
        };
        let token = |key: &str, default: &str| {
            let token = files.special(key, Some(default))?;
            let token = token.map_or_else(|| default.to_owned(), |token| token.content);
            let id = inner.token_to_id(&token).ok_or_else(|| {
                let message =
                    format!("no post_processor, and the vocabulary has no {key} `{token}`");
                Error::file(self.path, message)
            })?;
            Ok::<_, Error>(json!([token, id]))
        };
        json["post_processor"] = json!({
            "type": "BertProcessing",
            "cls": token("cls_token", first)?,
            "sep": token("sep_token", last)?,
        });
        Ok(())
    }
}
