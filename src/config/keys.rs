//! The keys that name a column or a file of the data.

use dsokr_data::{DataRoot, Dataset};

use super::Config;
use crate::Error;

impl Config {
    /// Reads the data as they are in the files.
    ///
    /// # Errors
    /// As [`Source::load`](dsokr_data::Source::load). A column or a file that does not exist comes with the keys that
    /// name it, since their values may be defaults.
    pub(crate) fn read_data(&self, root: &DataRoot) -> Result<Dataset, Error> {
        use dsokr_data::Error::{Column, Io};
        self.source().load(root).map_err(|error| match error {
            Column { path, column, available, .. } => {
                let hint = self.naming(&column);
                Error::Data(Column { path, column, hint, available })
            }
            Io { path, source } if source.kind() == std::io::ErrorKind::NotFound => {
                let file = root.folder().and_then(|folder| path.strip_prefix(folder).ok());
                let hint = file.and_then(|file| file.to_str()).map(|file| self.naming(file));
                Error::NotFound { path, hint: hint.unwrap_or_default() }
            }
            other => other.into(),
        })
    }

    /// Which keys of `[data]` and `[output]` have this value, as the end of a sentence about it; empty if none has.
    fn naming(&self, value: &str) -> String {
        let mut keys = Vec::new();
        for (table, found) in [
            ("data", toml::Value::try_from(&self.data)),
            ("output", toml::Value::try_from(&self.output)),
        ] {
            if let Ok(found) = found {
                with_value(table, &found, value, &mut keys);
            }
        }
        match keys.split_last() {
            None => String::new(),
            Some((key, [])) => format!(", which {key} names"),
            Some((last, others)) => format!(", which {} and {last} name", others.join(", ")),
        }
    }
}

/// Adds the keys below `key` whose value is this text.
fn with_value(key: &str, found: &toml::Value, value: &str, keys: &mut Vec<String>) {
    use toml::Value::{Array, Boolean, Datetime, Float, Integer, String, Table};
    match found {
        String(text) => {
            if text == value {
                keys.push(key.into());
            }
        }
        // "text" is a kind of inputs and a likely column
        Table(table) => table
            .iter()
            .filter(|(below, _)| !["kind", "name", "source"].contains(&below.as_str()))
            .for_each(|(below, found)| with_value(&format!("{key}.{below}"), found, value, keys)),
        Array(list) => list
            .iter()
            .enumerate()
            .for_each(|(at, found)| with_value(&format!("{key}[{at}]"), found, value, keys)),
        Boolean(_) | Datetime(_) | Float(_) | Integer(_) => {}
    }
}
