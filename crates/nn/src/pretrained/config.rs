use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use dsokr_core::store::read_text;
use serde_json::{Map, Value};

use super::families::{self, Family};
use crate::error::Error;
use crate::transformer::{Activation, Architecture};

/// Upper bound for the sizes of a model; products of two sizes fit into 64 bits.
const LARGEST: u64 = i32::MAX as u64;
/// Upper bound for the number of layers; a configuration with more is broken.
const MOST_LAYERS: u64 = 1000;

/// A model's `config.json`, checked.
#[derive(Clone, Debug)]
pub(super) struct Config {
    pub(super) family: &'static Family,
    pub(super) architecture: Architecture,
    /// The file as read.
    pub(super) json: Map<String, Value>,
}

impl Config {
    /// Reads and checks a config.json.
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let keys = JsonFile::read(path)?;
        let family = families::of(&keys)
            .ok_or_else(|| keys.refuse("model_type", &format!("one of {}", families::names())))?;
        let names = family.keys;
        let activation =
            keys.value(names.activation, Some(Activation::Gelu), &Activation::names(), |value| {
                Activation::named(value.as_str()?)
            })?;
        let is_rotary_too = family.name == "esm";
        let absolute = |value: &Value| value.is_null() || value == "absolute" || is_rotary_too;
        keys.only("position_embedding_type", absolute, "null or \"absolute\"")?;
        for key in ["is_decoder", "add_cross_attention"] {
            keys.only(key, |value| value.is_null() || value == false, "false")?;
        }
        for key in ["quantization_config", "pruned_heads"] {
            let empty =
                |value: &Value| value.is_null() || value.as_object().is_some_and(Map::is_empty);
            keys.only(key, empty, "nothing, such models are not supported")?;
        }

        let width = keys.size(names.width)?;
        let heads = keys.size(names.heads)?;
        if !width.is_multiple_of(heads) {
            let allowed = format!("a divisor of {} = {width}", names.width);
            return Err(keys.refuse(names.heads, &allowed));
        }
        // by default the family's dropout
        let inside = |value: &Value| value.as_f64().filter(|value| 0.0 < *value && *value < 1.0);
        let mut architecture = Architecture {
            vocabulary: keys.size("vocab_size")?,
            positions: keys.size(names.positions)?,
            types: names.types.map_or(Ok(0), |key| keys.size(key))?,
            layers: keys.integer(names.layers, 1..=MOST_LAYERS, None)?,
            width,
            heads,
            feed_forward: keys.size(names.feed_forward)?,
            activation,
            epsilon: keys.value(names.epsilon, Some(1e-12), "a number in (0, 1)", inside)?,
            dropout: keys.rate(names.dropout, 0.1)?,
            attention_dropout: keys.rate(names.attention_dropout, 0.1)?,
            ..Architecture::default()
        };
        (family.differences)(&keys, &mut architecture)?;
        architecture.validate().map_err(|e| Error::file(path, e))?;
        Ok(Self { family, architecture, json: keys.json })
    }

    /// Returns the configuration of a body that is written back in 32-bit floats.
    pub(super) fn of_written_body(&self) -> Map<String, Value> {
        let mut json = self.json.clone();
        json.insert("architectures".into(), vec![self.family.class].into());
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

    /// Returns a size, which must be there.
    pub(super) fn size(&self, key: &str) -> Result<usize, Error> {
        self.integer(key, 1..=LARGEST, None)
    }

    /// Returns a share of units that are dropped.
    pub(super) fn rate(&self, key: &str, default: f32) -> Result<f32, Error> {
        let read = |value: &Value| Some(value.as_f64()? as f32);
        let read = |value: &Value| read(value).filter(|rate| (0.0..1.0).contains(rate));
        self.value(key, Some(default), "a number in [0, 1)", read)
    }

    /// Returns a whole number in a range.
    pub(super) fn integer(
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
    pub(super) fn only(
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
