//! Values that replace those of a configuration.

use std::str::FromStr;

/// `--set section.key=value`: the value is TOML, or a string if it is not a TOML value. In the place of a
/// table `none` removes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Override {
    /// The parts of the key.
    pub(super) path: Vec<String>,
    pub(super) value: toml::Value,
}

impl FromStr for Override {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = text.split_once('=').ok_or("expected section.key=value")?;
        let change = Self::new(key, value);
        if change.path.iter().any(String::is_empty) {
            Err(format!("{key:?} is not a key like training.epochs"))
        } else {
            Ok(change)
        }
    }
}

impl Override {
    /// Creates a key with its value, which is TOML, or a string if it is not a TOML value.
    pub fn new(key: &str, value: impl ToString) -> Self {
        let path = key.split('.').map(|part| part.trim().to_string()).collect();
        let value = value.to_string();
        let document: Result<toml::Table, _> = format!("value = {value}").parse();
        let parsed = document.ok().and_then(|mut table| table.remove("value"));
        Self { path, value: parsed.unwrap_or_else(|| value.trim().into()) }
    }
}
