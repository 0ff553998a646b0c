use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use dsokr_core::store::read_text;
use dsokr_kernels::Precision;
use serde_json::{Map, Value};

use crate::error::Error;
use crate::transformer::{Activation, Architecture};

/// Upper bound for the sizes of a model; products of two sizes fit into 64 bits.
const LARGEST: u64 = i32::MAX as u64;
/// Upper bound for the number of layers; a configuration with more is broken.
const MOST_LAYERS: u64 = 1000;

/// `model_type` in config.json and the class of the body in transformers. The models differ only in names, positions
/// and tokenizers.
const FAMILIES: [(&str, &str); 4] = [
    (BERT, "BertModel"),
    ("roberta", "RobertaModel"),
    ("xlm-roberta", "XLMRobertaModel"),
    ("camembert", "CamembertModel"),
];
const BERT: &str = "bert";

/// A model's `config.json`, checked.
#[derive(Clone, Debug)]
pub(super) struct Config {
    /// Whether it is BERT: positions start at 0 and not after the padding token's id, as in fairseq, and a vocab.txt is
    /// a WordPiece vocabulary by default.
    pub(super) is_bert: bool,
    /// Class of the body in transformers.
    class: &'static str,
    pub(super) architecture: Architecture,
    /// The file as read.
    pub(super) json: Map<String, Value>,
}

impl Config {
    /// Reads and checks a config.json.
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let keys = JsonFile::read(path)?;
        let named = keys.json.get("model_type").and_then(Value::as_str);
        let family = FAMILIES.iter().find(|(name, _)| Some(*name) == named);
        let (name, class) = *family.ok_or_else(|| {
            let names = FAMILIES.map(|(name, _)| format!("{name:?}"));
            keys.refuse("model_type", &format!("one of {}", names.join(", ")))
        })?;
        let activation =
            keys.value("hidden_act", Some(Activation::Gelu), &Activation::names(), |value| {
                Activation::named(value.as_str()?)
            })?;
        let absolute = |value: &Value| value.is_null() || value == "absolute";
        keys.only("position_embedding_type", absolute, "null or \"absolute\"")?;
        for key in ["is_decoder", "add_cross_attention"] {
            keys.only(key, |value| value.is_null() || value == false, "false")?;
        }
        for key in ["quantization_config", "pruned_heads"] {
            let empty =
                |value: &Value| value.is_null() || value.as_object().is_some_and(Map::is_empty);
            keys.only(key, empty, "nothing, such models are not supported")?;
        }

        let first_position = match name {
            BERT => 0,
            _ => keys.integer("pad_token_id", 0..=LARGEST, Some(1))? + 1,
        };
        let size = |key| keys.integer(key, 1..=LARGEST, None);
        let width = size("hidden_size")?;
        let heads = size("num_attention_heads")?;
        if !width.is_multiple_of(heads) {
            let allowed = format!("a divisor of hidden_size = {width}");
            return Err(keys.refuse("num_attention_heads", &allowed));
        }
        let positions = size("max_position_embeddings")?;
        if positions <= first_position {
            let allowed = format!("at least {}, pad_token_id + 2", first_position + 1);
            return Err(keys.refuse("max_position_embeddings", &allowed));
        }
        // by default the family's dropout
        let rate = |key| {
            let read = |value: &Value| Some(value.as_f64()? as f32);
            let read = |value: &Value| read(value).filter(|rate| (0.0..1.0).contains(rate));
            keys.value(key, Some(0.1), "a number in [0, 1)", read)
        };
        let inside = |value: &Value| value.as_f64().filter(|value| 0.0 < *value && *value < 1.0);
        let architecture = Architecture {
            vocabulary: size("vocab_size")?,
            positions,
            first_position,
            types: size("type_vocab_size")?,
            layers: keys.integer("num_hidden_layers", 1..=MOST_LAYERS, None)?,
            width,
            heads,
            feed_forward: size("intermediate_size")?,
            activation,
            epsilon: keys.value("layer_norm_eps", Some(1e-12), "a number in (0, 1)", inside)?,
            dropout: rate("hidden_dropout_prob")?,
            attention_dropout: rate("attention_probs_dropout_prob")?,
            inner_dropout: 0.0,
            precision: Precision::F32,
            recompute: false,
        };
        architecture.validate().map_err(|e| Error::file(path, e))?;
        Ok(Self { is_bert: name == BERT, class, architecture, json: keys.json })
    }

    /// Returns the configuration of a body that is written back in 32-bit floats.
    pub(super) fn of_written_body(&self) -> Map<String, Value> {
        let mut json = self.json.clone();
        json.insert("architectures".into(), vec![self.class].into());
        json.insert("dtype".into(), "float32".into());
        // the name of `dtype` before transformers 4.56, which newer versions still read
        if let Some(dtype) = json.get_mut("torch_dtype") {
            *dtype = "float32".into();
        }
        json
    }
}

/// Typed access to the keys of a file's JSON object, with errors that name the file, the key and the value.
pub(super) struct JsonFile {
    pub(super) path: PathBuf,
    pub(super) json: Map<String, Value>,
}

impl JsonFile {
    /// Reads a file that holds an object.
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let text = read_text(path).map_err(|e| Error::file(path, e))?;
        let json = serde_json::from_str(&text);
        let json = json.map_err(|e| Error::file(path, format!("not a JSON object: {e}")))?;
        Ok(Self { path: path.to_path_buf(), json })
    }

    /// Returns the error for a key's value.
    pub(super) fn refuse(&self, key: &str, allowed: &str) -> Error {
        let value = self.json.get(key).map_or_else(|| "nothing".into(), Value::to_string);
        Error::file(&self.path, format!("{key} = {value}: {allowed}"))
    }

    /// Returns a value as `read` converts it; `read` returns `None` for a value that is not allowed; `default` stands
    /// for a missing key, and `None` requires one.
    pub(super) fn value<T>(
        &self,
        key: &str,
        default: Option<T>,
        allowed: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<T, Error> {
        match (self.json.get(key), default) {
            (None, Some(default)) => Ok(default),
            (value, _) => value.and_then(read).ok_or_else(|| self.refuse(key, allowed)),
        }
    }

    /// Returns a whole number in a range.
    fn integer(
        &self,
        key: &str,
        range: RangeInclusive<u64>,
        default: Option<usize>,
    ) -> Result<usize, Error> {
        let allowed = format!("a whole number from {} to {}", range.start(), range.end());
        let read = |value: &Value| value.as_u64().filter(|value| range.contains(value));
        self.value(key, default, &allowed, |value| usize::try_from(read(value)?).ok())
    }

    /// A missing key, or a value that is supported.
    fn only(
        &self,
        key: &str,
        supported: impl Fn(&Value) -> bool,
        allowed: &str,
    ) -> Result<(), Error> {
        self.value(key, Some(()), allowed, |value| supported(value).then_some(()))
    }

    /// `true` or `false`; `default` where the key is missing or null.
    pub(super) fn flag(&self, key: &str, default: bool) -> Result<bool, Error> {
        let read = |value: &Value| if value.is_null() { Some(default) } else { value.as_bool() };
        self.value(key, Some(default), "true or false", read)
    }
}
