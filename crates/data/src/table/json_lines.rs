//! JSON lines: one object a line.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::Error;
use crate::error::{list, shorten};

/// Reads an object with its keys in order, so that one given twice is seen, and its values as written,
/// so that a number keeps its digits.
struct Entries;

#[derive(Deserialize)]
struct Key<'l>(#[serde(borrow)] Cow<'l, str>);

impl<'de> Visitor<'de> for Entries {
    type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((Key(key), value)) = map.next_entry()? {
            entries.push((key, value));
        }
        Ok(entries)
    }
}

/// The values of keys of a line that is an object, in the order of `names`.
pub(super) fn values(
    path: &Path,
    line: usize,
    text: &str,
    names: &[String],
) -> Result<Vec<String>, Error> {
    let mut values = Vec::with_capacity(names.len());
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = reader.deserialize_map(Entries).and_then(|read| reader.end().map(|()| read));
    let entries = read.map_err(|error| {
        if error.classify() == Category::Data {
            let found = shorten(text.trim());
            let message = format!("found {found}; each line must be one JSON object");
            Error::line(path, line, message)
        } else {
            syntax(path, line, 0, &error)
        }
    })?;
    for name in names {
        let mut places = (1..).zip(&entries).filter(|(_, (key, _))| key == name);
        let Some((first, (_, value))) = places.next() else {
            let keys: Vec<String> = entries.iter().map(|(key, _)| key.to_string()).collect();
            let message = format!("no key {name:?}; this line has: {}", list(&keys));
            return Err(Error::line(path, line, message));
        };
        if let Some((second, _)) = places.next() {
            return Err(Error::duplicate_column(path, line, name, first, second));
        }
        values.push(text_of(path, line, text, name, value)?);
    }
    Ok(values)
}

/// A string's characters, or a number's digits.
fn text_of(
    path: &Path,
    line: usize,
    text: &str,
    key: &str,
    value: &RawValue,
) -> Result<String, Error> {
    let raw = value.get();
    match raw.as_bytes().first() {
        Some(b'"') => serde_json::from_str(raw).map_err(|error| {
            // The value is a slice of the line: its place is the difference of the addresses.
            let before = raw.as_ptr().addr().saturating_sub(text.as_ptr().addr());
            syntax(path, line, before, &error)
        }),
        Some(b'-' | b'0'..=b'9') => Ok(raw.to_owned()),
        _ => {
            let found = shorten(raw);
            let message = format!("key {key:?} holds {found}; a string or a number is needed");
            Err(Error::line(path, line, message))
        }
    }
}

fn syntax(path: &Path, line: usize, before: usize, error: &serde_json::Error) -> Error {
    // The parser sees a single line, so that its own "at line 1 column 7" would mislead.
    let mut message = error.to_string();
    if let Some(end) = message.rfind(" at line ") {
        message.truncate(end);
    }
    let position = before + error.column();
    let message =
        format!("not JSON at position {position}: {message}; each line must be one JSON object");
    Error::line(path, line, message)
}
