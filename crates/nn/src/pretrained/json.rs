use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use dsokr_core::store::read_text;
use indexmap::IndexMap;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::error::Error;

/// Upper bound for the sizes of a model; products of two sizes fit into 64 bits.
pub(super) const LARGEST: u64 = i32::MAX as u64;

/// The keys and values of an object, in the order of its text.
type Ordered = IndexMap<String, Box<RawValue>>;

/// Typed access to the keys of a file's JSON object, with errors that name the file, the key and the value.
#[derive(Clone, Debug)]
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

    /// Reads a file that holds an object, which is empty where there is no file.
    pub(super) fn read_if_there(path: &Path) -> Result<Self, Error> {
        if path.exists() {
            Self::read(path)
        } else {
            Ok(Self { path: path.to_path_buf(), json: Map::new() })
        }
    }

    /// Puts a list in the place of a key's object: its values, in the order of the file, which the map does not keep.
    pub(super) fn list_values(&mut self, key: &str) -> Result<(), Error> {
        if !self.json.get(key).is_some_and(Value::is_object) {
            return Ok(());
        }
        let path = &self.path;
        let wrong = |e: serde_json::Error| Error::file(path, format!("not a JSON object: {e}"));
        let text = read_text(path).map_err(|e| Error::file(path, e))?;
        // the last one of several values of one key counts, as in Python
        let file = serde_json::from_str::<Ordered>(&text).map_err(wrong)?;
        let Some(object) = file.get(key) else { return Ok(()) };
        let named = serde_json::from_str::<Ordered>(object.get()).map_err(wrong)?;
        let values = named.values().map(|value| serde_json::from_str::<Value>(value.get()));
        let values = values.collect::<Result<Vec<Value>, _>>().map_err(wrong)?;
        self.json.insert(key.to_owned(), values.into());
        Ok(())
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

    /// Returns a value as [`value`](Self::value) does; `default` stands for null too.
    pub(super) fn value_or_null<T>(
        &self,
        key: &str,
        default: T,
        allowed: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<T, Error> {
        match self.json.get(key) {
            None | Some(Value::Null) => Ok(default),
            Some(value) => read(value).ok_or_else(|| self.refuse(key, allowed)),
        }
    }

    /// Returns a size, which must be there.
    pub(super) fn size(&self, key: &str) -> Result<usize, Error> {
        self.integer(key, 1..=LARGEST, None)
    }

    /// Returns a size, if the key is there.
    pub(super) fn optional_size(&self, key: &str) -> Result<Option<usize>, Error> {
        if self.json.contains_key(key) { self.size(key).map(Some) } else { Ok(None) }
    }

    /// Returns a share of units that are dropped.
    pub(super) fn rate(&self, key: &str, default: f32) -> Result<f32, Error> {
        self.value(key, Some(default), "a number in [0, 1)", |value| {
            let rate = value.as_f64()? as f32;
            (0.0..1.0).contains(&rate).then_some(rate)
        })
    }

    /// Returns a whole number in a range.
    pub(super) fn integer(
        &self,
        key: &str,
        range: RangeInclusive<u64>,
        default: Option<usize>,
    ) -> Result<usize, Error> {
        let allowed = format!("a whole number from {} to {}", range.start(), range.end());
        self.value(key, default, &allowed, |value| {
            let number = value.as_u64().filter(|number| range.contains(number))?;
            usize::try_from(number).ok()
        })
    }

    /// Allows a missing key, or a value that is supported.
    pub(super) fn only(
        &self,
        key: &str,
        supported: impl Fn(&Value) -> bool,
        allowed: &str,
    ) -> Result<(), Error> {
        self.value(key, Some(()), allowed, |value| supported(value).then_some(()))
    }

    /// Allows a missing key, null, or one value.
    pub(super) fn only_value(
        &self,
        key: &str,
        supported: impl Into<Value>,
        allowed: &str,
    ) -> Result<(), Error> {
        let supported = supported.into();
        self.only(key, |value| value.is_null() || *value == supported, allowed)
    }

    /// Returns `true` or `false`; `default` where the key is missing or null.
    pub(super) fn flag(&self, key: &str, default: bool) -> Result<bool, Error> {
        self.value_or_null(key, default, "true or false", Value::as_bool)
    }
}
