//! What the classes of transformers' tokenizers make of a tokenizer.json.
//!
//! Where a folder or its family has a class of BERT's or RoBERTa's tokenizers, parts of the tokenizer come from
//! tokenizer_config.json, and the file is read for the others. Versions 4 and 5 of transformers agree on that; what they
//! make of a file in different ways is refused: version 5 takes the vocabulary alone, and builds all else by the class.
//! So it does for the classes of SentencePiece. `PreTrainedTokenizerFast` takes the file as it is. So are files of other
//! classes taken here, with a warning.

use std::path::Path;
use std::slice;

use serde_json::{Value, json};

use super::added_tokens::TokenFiles;
use super::config::Config;
use super::families::{
    ALBERT_TOKENIZER, BERT_TOKENIZER, CAMEMBERT_TOKENIZER, GEMMA_TOKENIZER, LLAMA_TOKENIZER,
    MPNET_TOKENIZER, QWEN2_TOKENIZER, ROBERTA_TOKENIZER, T5_TOKENIZER, XLM_ROBERTA_TOKENIZER,
};
use super::json::JsonFile;
use crate::error::Error;
use crate::tokenizer::{Tokenizer, normalizers};

/// The key that names a class, in tokenizer_config.json or config.json.
const CLASS: &str = "tokenizer_class";
/// The classes that take a tokenizer.json as it is, in versions 4 and 5 of transformers, without the ending `Fast`.
const AS_IT_IS: [&str; 2] = ["PreTrainedTokenizer", "TokenizersBackend"];

/// A class of tokenizers that builds parts of them by itself.
struct Class {
    /// The name, without the ending `Fast`.
    name: &'static str,
    model: Model,
    /// The token that it puts before texts, if it does: its key, and what the token is where no file says it.
    first: Option<End<&'static str>>,
    /// The token that it puts behind texts; none for a class that leaves both ends to the file.
    last: Option<End<&'static str>>,
    /// Whether it puts them there where tokenizer_config.json asks for them: by `add_bos_token`, which is true unless said,
    /// and `add_eos_token`.
    is_asked: bool,
}

/// What makes tokens of a text.
#[derive(Clone, Copy, PartialEq)]
enum Model {
    /// Pieces of words, as BERT's.
    WordPieces,
    /// Pairs of bytes, as RoBERTa's.
    BytePairs,
    /// Pairs of bytes of normalised texts, which an expression of Qwen's splits.
    SplitBytePairs,
    /// Pairs of pieces of texts that are split at spaces, as Gemma's.
    SpacedPieces,
    /// Unigrams of SentencePiece, with the id of the token of what the vocabulary lacks, if the class sets it.
    Unigrams { unknown: Option<u32> },
    /// What the file has.
    OfFile,
}

/// A token at an end of texts, behind its key.
type End<T> = (&'static str, T);

const CLS: End<&str> = ("cls_token", "[CLS]");
const SEP: End<&str> = ("sep_token", "[SEP]");
const BOS: End<&str> = ("bos_token", "<s>");
const EOS: End<&str> = ("eos_token", "</s>");

/// The class of BERT's tokenizers, from which those of its relatives differ.
const BERT: Class = Class {
    name: BERT_TOKENIZER,
    model: Model::WordPieces,
    first: Some(CLS),
    last: Some(SEP),
    is_asked: false,
};

/// The classes whose tokenizers are read.
static CLASSES: [Class; 14] = [
    BERT,
    Class { name: "DistilBertTokenizer", ..BERT },
    Class { name: "ElectraTokenizer", ..BERT },
    Class {
        name: MPNET_TOKENIZER,
        first: Some(("cls_token", "<s>")),
        last: Some(("sep_token", "</s>")),
        ..BERT
    },
    Class { name: "DPRQuestionEncoderTokenizer", ..BERT },
    Class { name: "DPRContextEncoderTokenizer", ..BERT },
    Class {
        name: ROBERTA_TOKENIZER,
        model: Model::BytePairs,
        first: Some(("cls_token", "<s>")),
        last: Some(("sep_token", "</s>")),
        ..BERT
    },
    Class { name: ALBERT_TOKENIZER, model: Model::Unigrams { unknown: Some(1) }, ..BERT },
    Class {
        name: XLM_ROBERTA_TOKENIZER,
        model: Model::Unigrams { unknown: Some(3) },
        first: Some(BOS),
        last: Some(EOS),
        ..BERT
    },
    Class {
        name: CAMEMBERT_TOKENIZER,
        model: Model::Unigrams { unknown: None },
        first: Some(BOS),
        last: Some(EOS),
        ..BERT
    },
    Class {
        name: T5_TOKENIZER,
        model: Model::Unigrams { unknown: Some(2) },
        first: None,
        last: Some(EOS),
        ..BERT
    },
    Class {
        name: LLAMA_TOKENIZER,
        model: Model::OfFile,
        first: Some(BOS),
        last: Some(EOS),
        is_asked: true,
    },
    Class {
        name: GEMMA_TOKENIZER,
        model: Model::SpacedPieces,
        first: Some(("bos_token", "<bos>")),
        last: Some(("eos_token", "<eos>")),
        is_asked: true,
    },
    Class { name: QWEN2_TOKENIZER, model: Model::SplitBytePairs, first: None, last: None, ..BERT },
];

/// The expression by which the class of Qwen's tokenizers splits texts.
const QWEN_SPLIT: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

impl Class {
    fn has_unigrams(&self) -> bool {
        matches!(self.model, Model::Unigrams { .. })
    }

    /// Returns whether the class adds its tokens at the ends of texts where a file adds none.
    fn adds_ends(&self) -> bool {
        match self.model {
            Model::WordPieces | Model::BytePairs => true,
            Model::SplitBytePairs
            | Model::SpacedPieces
            | Model::Unigrams { .. }
            | Model::OfFile => false,
        }
    }
}

/// Returns the names of the classes of pieces of words, BERT's first.
pub(super) fn word_piece_classes() -> Vec<&'static str> {
    let classes = CLASSES.iter().filter(|class| class.model == Model::WordPieces);
    classes.map(|class| class.name).collect()
}

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
        let accents = settings.value_or_null("strip_accents", None, "true or false", |value| {
            value.as_bool().map(Some)
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
    let Some(name) = named(naming)?.or(config.family.tokenizer_class) else {
        return Tokenizer::read(path);
    };
    let is_as_it_is = config.family.ignores_class;
    let Some(class) = CLASSES.iter().find(|class| class.name == name) else {
        if !is_as_it_is && !AS_IT_IS.contains(&name) {
            warn_as_it_is(path, name);
        }
        return Tokenizer::read(path);
    };
    let file = File { path, class };
    let tokenizer = Tokenizer::read_changed(path, |inner, json| {
        let is_changed = match class.model {
            Model::WordPieces => file.set_cleaning(&Cleaning::read(settings)?, lower_case, json)?,
            Model::BytePairs => file.set_prefix_space(settings, json)?,
            Model::SplitBytePairs => {
                file.check_split(json)?;
                false
            }
            Model::SpacedPieces => {
                file.check_spaces(json)?;
                false
            }
            Model::Unigrams { .. } => false,
            Model::OfFile => {
                // version 5 takes files of bytes as they are
                if !has_bytes(&json["pre_tokenizer"]) {
                    warn_as_it_is(path, name);
                }
                false
            }
        };
        if !is_as_it_is {
            file.check_settings(json)?;
            if class.has_unigrams() {
                file.check_pieces(settings, lower_case, json)?;
            }
        }
        if is_changed && is_as_it_is {
            let allowed = "\"PreTrainedTokenizerFast\", by which transformers takes tokenizer.json as it is: it has \
                           other settings than tokenizer_config.json, and versions of transformers choose differently";
            return Err(naming.refuse(CLASS, allowed));
        }
        // the one that `ByteLevelBPETokenizer.save` writes adds no token either
        let processor = &json["post_processor"];
        let adds_none = processor.is_null() || processor["type"] == "ByteLevel";
        let lacks_ends = adds_none && class.adds_ends();
        if lacks_ends {
            file.add_special_tokens(inner, settings, json)?;
        }
        Ok(is_changed || lacks_ends)
    })?;
    if !is_as_it_is {
        file.check_ends(settings, &tokenizer)?;
    }
    Ok(tokenizer)
}

/// Warns of a file that is taken as it is, though its class may change it.
fn warn_as_it_is(path: &Path, class: &str) {
    let file = path.display();
    tracing::warn!(%file, class, "the file is taken as it is; transformers may build other tokens by the class");
}

/// Returns whether what splits texts makes bytes of them.
fn has_bytes(pre_tokenizer: &Value) -> bool {
    splitters(pre_tokenizer).iter().any(|part| part["type"] == "ByteLevel")
}

/// Returns what splits texts, or the parts that it consists of.
fn splitters(pre_tokenizer: &Value) -> &[Value] {
    pre_tokenizer["pretokenizers"].as_array().map_or(slice::from_ref(pre_tokenizer), Vec::as_slice)
}

/// A tokenizer.json, and the class that reads it.
struct File<'f> {
    path: &'f Path,
    class: &'static Class,
}

impl File<'_> {
    /// Refuses a part of the file that one version of transformers takes as it is, and the other from the class.
    fn refuse(&self, key: &str, value: &Value, allowed: &str) -> Error {
        let message = format!(
            "{key} = {value}: {allowed} of the class {}, or \"tokenizer_class\": \"PreTrainedTokenizerFast\" in \
             tokenizer_config.json, which takes the file as it is; versions of transformers choose differently",
            self.class.name
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

    /// Refuses settings of the parts that the class does not have.
    fn check_settings(&self, json: &Value) -> Result<(), Error> {
        let of_class = match self.class.model {
            Model::WordPieces => vec![
                ("model", "continuing_subword_prefix", json!("##")),
                ("model", "max_input_chars_per_word", json!(100)),
            ],
            Model::BytePairs => vec![
                ("model", "continuing_subword_prefix", json!("")),
                ("model", "end_of_word_suffix", json!("")),
                ("model", "ignore_merges", json!(false)),
                ("pre_tokenizer", "use_regex", json!(true)),
            ],
            Model::SplitBytePairs => vec![
                ("model", "continuing_subword_prefix", json!("")),
                ("model", "end_of_word_suffix", json!("")),
                ("model", "ignore_merges", json!(false)),
                ("model", "byte_fallback", json!(false)),
            ],
            Model::SpacedPieces => vec![
                ("model", "fuse_unk", json!(true)),
                ("model", "byte_fallback", json!(true)),
                ("model", "ignore_merges", json!(false)),
            ],
            Model::Unigrams { unknown: Some(id) } => vec![("model", "unk_id", json!(id))],
            Model::Unigrams { unknown: None } | Model::OfFile => Vec::new(),
        };
        for (part, key, expected) in of_class {
            let of_file = &json[part][key];
            if !of_file.is_null() && *of_file != expected {
                let key = format!("{part}.{key}");
                return Err(self.refuse(&key, of_file, &expected.to_string()));
            }
        }
        Ok(())
    }

    /// Refuses another normaliser of a tokenizer of SentencePiece than the class builds, and another choice whether a
    /// space precedes texts.
    fn check_pieces(
        &self,
        settings: &JsonFile,
        lower_case: bool,
        json: &Value,
    ) -> Result<(), Error> {
        // version 5 does not read other models
        if json["model"]["type"] != "Unigram" {
            return Ok(());
        }
        let mut expected = Vec::new();
        if self.class.name == ALBERT_TOKENIZER {
            for quotes in ["``", "''"] {
                let pattern = json!({ "String": quotes });
                expected.push(json!({ "type": "Replace", "pattern": pattern, "content": "\"" }));
            }
            if !settings.flag("keep_accents", false)? {
                expected.extend(["NFKD", "StripAccents"].map(|kind| json!({ "type": kind })));
            }
            if settings.flag("do_lower_case", true)? {
                expected.push(json!({ "type": "Lowercase" }));
            }
        }
        // The tables are those of the file, and a split at spaces leaves none that are stripped or doubled. A file
        // without this split is read as it says: the versions may differ in the blanks at the ends of texts.
        let spaces = json!({ "Regex": " {2,}" });
        let is_same = |part: &Value| {
            part.is_null()
                || part["type"] == "Precompiled"
                || part["type"] == "Strip"
                || part["pattern"] == spaces
        };
        let mut parts = normalizers(&json["normalizer"]);
        parts.retain(|part| !is_same(part));
        let is_lowered = |part: &Value| lower_case && part["type"] == "Lowercase";
        let of_file = parts.iter().copied().filter(|part| !is_lowered(part));
        if !of_file.eq(expected.iter().filter(|part| !is_lowered(part))) {
            let kinds: Value = parts.iter().map(|part| part["type"].clone()).collect();
            let of_class: Value = expected.iter().map(|part| part["type"].clone()).collect();
            let allowed = format!("{of_class}, beside Precompiled,");
            return Err(self.refuse("normalizer", &kinds, &allowed));
        }
        let parts = splitters(&json["pre_tokenizer"]);
        if let Some(space) = parts.iter().find(|part| part["type"] == "Metaspace") {
            // version 5 does not read the key for T5
            let is_added =
                self.class.name == T5_TOKENIZER || settings.flag("add_prefix_space", true)?;
            // older files have a flag
            let (key, of_file) = match &space["prepend_scheme"] {
                Value::Null => ("add_prefix_space", space["add_prefix_space"] != false),
                scheme => ("prepend_scheme", scheme != "never"),
            };
            if of_file != is_added {
                let allowed = format!("add_prefix_space = {is_added}");
                return Err(self.refuse(&format!("pre_tokenizer.{key}"), &space[key], &allowed));
            }
        }
        Ok(())
    }

    /// Returns the first token, if any, and the last one, if any, that the class adds to texts, with their keys.
    fn ends(&self, settings: &JsonFile) -> Result<[Option<End<String>>; 2], Error> {
        let mut ends = [self.class.first, self.class.last];
        if self.class.is_asked {
            for (end, (key, default)) in
                ends.iter_mut().zip([("add_bos_token", true), ("add_eos_token", false)])
            {
                if !settings.flag(key, default)? {
                    *end = None;
                }
            }
        }
        let files = TokenFiles::read(self.path.parent().unwrap_or(Path::new("")))?;
        let token = |(key, default): End<&str>| {
            let token = files.special(key, Some(default))?;
            Ok::<_, Error>((key, token.map_or_else(|| default.to_owned(), |token| token.content)))
        };
        let [first, last] = ends.map(|end| end.map(token).transpose());
        Ok([first?, last?])
    }

    /// Refuses other tokens at the ends of texts than those of the class.
    fn check_ends(&self, settings: &JsonFile, tokenizer: &Tokenizer) -> Result<(), Error> {
        // the class of ALBERT leaves these tokens to the file
        if self.class.name == ALBERT_TOKENIZER || self.class.last.is_none() {
            return Ok(());
        }
        let ends = self.ends(settings)?.into_iter().flatten();
        let (mut keys, tokens): (Vec<_>, Vec<_>) = ends.unzip();
        let of_file = tokenizer.ends()?;
        if of_file == tokens {
            return Ok(());
        }
        if self.class.is_asked {
            keys = vec!["add_bos_token", "add_eos_token"];
        }
        let allowed = format!("{}, {},", json!(tokens), keys.join(" and "));
        Err(self.refuse("tokens of post_processor", &json!(of_file), &allowed))
    }

    /// Refuses what normalises and splits texts in another way than the class of Qwen's tokenizers.
    fn check_split(&self, json: &Value) -> Result<(), Error> {
        self.check_kind("model.type", &json["model"]["type"], "BPE")?;
        self.check_kind("normalizer.type", &json["normalizer"]["type"], "NFC")?;
        let pre_tokenizer = &json["pre_tokenizer"];
        let is_of_class = match splitters(pre_tokenizer) {
            [split, bytes] => {
                split["type"] == "Split"
                    && split["pattern"] == json!({ "Regex": QWEN_SPLIT })
                    && split["behavior"] == "Isolated"
                    && split["invert"] == false
                    && bytes["type"] == "ByteLevel"
                    && bytes["add_prefix_space"] == false
                    && bytes["use_regex"] == false
            }
            _ => false,
        };
        if is_of_class {
            return Ok(());
        }
        let allowed = format!("a Split at {QWEN_SPLIT:?} and ByteLevel, without a prefix,");
        Err(self.refuse("pre_tokenizer", pre_tokenizer, &allowed))
    }

    /// Refuses what normalises and splits texts in another way than the class of Gemma's tokenizers.
    fn check_spaces(&self, json: &Value) -> Result<(), Error> {
        self.check_kind("model.type", &json["model"]["type"], "BPE")?;
        let space = json!({ "String": " " });
        let normalizer = json!({ "type": "Replace", "pattern": space, "content": "\u{2581}" });
        if json["normalizer"] != normalizer {
            return Err(self.refuse("normalizer", &json["normalizer"], &normalizer.to_string()));
        }
        let pre_tokenizer = json!({
            "type": "Split", "pattern": space, "behavior": "MergedWithPrevious", "invert": false,
        });
        if json["pre_tokenizer"] != pre_tokenizer {
            let allowed = pre_tokenizer.to_string();
            return Err(self.refuse("pre_tokenizer", &json["pre_tokenizer"], &allowed));
        }
        Ok(())
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
        if self.class.name == MPNET_TOKENIZER && *of_file != chinese {
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
        settings: &JsonFile,
        json: &mut Value,
    ) -> Result<(), Error> {
        let [first, last] = self.ends(settings)?;
        let token = |(key, token): End<String>| {
            let id = inner.token_to_id(&token).ok_or_else(|| {
                let message = format!(
                    "its post_processor adds no token, and the vocabulary has no {key} `{token}`"
                );
                Error::file(self.path, message)
            })?;
            Ok::<_, Error>(json!([token, id]))
        };
        json["post_processor"] = json!({
            "type": "BertProcessing",
            "cls": first.map(token).transpose()?,
            "sep": last.map(token).transpose()?,
        });
        Ok(())
    }
}
