//! From TOML to a [`Config`], by serde: messages name the key, and suggest one for a key that is not known.

use std::collections::BTreeSet;

use schemars::{Schema, schema_for};

use super::{Config, DecodingConfig, EvaluationConfig, OutputConfig, TrainingConfig};
use crate::error::{in_words, nearest_name};

/// Reads a configuration from its text, and returns it behind the table that the text is.
///
/// # Errors
/// A message with the line, or with the key.
pub(super) fn from_text(text: &str) -> Result<(toml::Table, Config), String> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
    let config = toml::from_str(text).map_err(|error| located(&error, &table))?;
    no_arrays(&table, &config)?;
    Ok((table, config))
}

/// Reads a configuration from a table.
///
/// # Errors
/// A message with the key.
pub(super) fn from_table(table: toml::Table) -> Result<Config, String> {
    let config = table.clone().try_into().map_err(|error| located(&error, &table))?;
    no_arrays(&table, &config)?;
    Ok(config)
}

/// Returns the key that a message about an unknown one may mean: one of its table, or one of the same name in another table.
fn suggested_key(message: &str) -> Option<String> {
    let (name, allowed) = message.strip_prefix("unknown field `")?.split_once("`, expected ")?;
    // between the marks stand the names
    let names = allowed.split('`').skip(1).step_by(2);
    if let Some(name) = nearest_name(name, names) {
        return Some(name.to_owned());
    }
    let tables = [
        ("training", schema_for!(TrainingConfig)),
        ("evaluation", schema_for!(EvaluationConfig)),
        ("decoding", schema_for!(DecodingConfig)),
        ("output", schema_for!(OutputConfig)),
    ];
    let has_key =
        |schema: &Schema| schema.get("properties").is_some_and(|keys| keys.get(name).is_some());
    let (table, _) = tables.iter().find(|(_, schema)| has_key(schema))?;
    Some(format!("{table}.{name}"))
}

/// Returns the message in words, with its key where serde names the table alone, and with the key that is suggested for an unknown
/// one.
fn located(error: &toml::de::Error, table: &toml::Table) -> String {
    let mut text = in_words(error.to_string(), "a table");
    if let Some(key) = suggested_key(error.message()) {
        text = text.replacen(", expected ", &format!(" (did you mean `{key}`?), expected "), 1);
    }
    let given = table.clone().into();
    let all = nodes(String::new(), &given);
    let mut keys = all.iter().filter(|(key, value)| is_about(error.message(), key, value));
    match (keys.next(), keys.next()) {
        (Some((key, _)), None) => {
            let before = text.rfind("\nin `").map_or(text.as_str(), |at| &text[..at]);
            format!("{}\nin `{key}`", before.trim_end())
        }
        _ => text,
    }
}

/// Returns whether a message of serde may be about this key or its value.
fn is_about(message: &str, key: &str, value: &toml::Value) -> bool {
    use toml::Value::{Boolean, Float, Integer};
    // the value as serde names it in a message
    let described = match value {
        toml::Value::String(text) => format!("string {text:?}, "),
        Integer(number) => format!("integer `{number}`, "),
        Float(number) => format!("floating point `{number:?}`, "),
        Boolean(flag) => format!("boolean `{flag}`, "),
        _ => String::new(),
    };
    let describes_value =
        |kind: &&str| message.strip_prefix(*kind).is_some_and(|rest| rest.starts_with(&described));
    let named = |kind: &str, name: &str| message.starts_with(&format!("{kind} `{name}`"));
    named("unknown field", key.rsplit('.').next().unwrap_or_default())
        || value.as_str().is_some_and(|text| named("unknown variant", text))
        || !described.is_empty()
            && ["invalid type: ", "invalid value: "].iter().any(describes_value)
}

/// Refuses an array in the place of a table, which serde reads as the table's values in their order.
///
/// # Errors
/// A message with the key and the array.
fn no_arrays(given: &toml::Table, read: &Config) -> Result<(), String> {
    let read = toml::Value::try_from(read).map_err(|e| e.to_string())?;
    let tables = nodes(String::new(), &read).into_iter().filter(|(_, value)| value.is_table());
    let tables: BTreeSet<String> = tables.map(|(key, _)| key).collect();
    let given = given.clone().into();
    let mut all = nodes(String::new(), &given).into_iter();
    match all.find(|(key, value)| value.is_array() && tables.contains(key)) {
        None => Ok(()),
        Some((key, array)) => Err(format!("{key} = {array}: expected a table")),
    }
}

/// Returns a value and all that is in it, with their keys.
pub(super) fn nodes(key: String, value: &toml::Value) -> Vec<(String, &toml::Value)> {
    use toml::Value::{Array, Table};
    let mut all = vec![(key.clone(), value)];
    match value {
        Table(table) => table.iter().for_each(|(name, below)| {
            let dot = if key.is_empty() { "" } else { "." };
            all.extend(nodes(format!("{key}{dot}{name}"), below));
        }),
        Array(list) => {
            let each = list.iter().enumerate();
            each.for_each(|(at, below)| all.extend(nodes(format!("{key}[{at}]"), below)));
        }
        _ => {}
    }
    all
}
