//! Values that replace those of a configuration.

use std::str::FromStr;

use super::Config;
use super::table::from_table;

/// The value of an override that removes a table.
const NONE: &str = "none";

/// What serde says about this value in the place of a table.
const NONE_FOR_A_TABLE: &str = "invalid type: string \"none\", expected a table";

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

/// Reads a configuration with overrides.
///
/// # Errors
/// A message with the key.
pub(super) fn overridden(mut table: toml::Table, overrides: &[Override]) -> Result<Config, String> {
    overrides.iter().try_for_each(|change| set(&mut table, change))?;
    let read = from_table(table.clone());
    // a table that is not there may be removed all the same
    if read.as_ref().is_err_and(|message| message.contains(NONE_FOR_A_TABLE)) {
        overrides.iter().try_for_each(|change| drop_none(&mut table, change))?;
        return from_table(table);
    }
    read
}

/// Walks to the table that holds the key of an override, and returns it with the last part of the key. Tables that are
/// missing on the way are made if they are `needed`, and else nothing is returned.
fn place<'t, 'c>(
    table: &'t mut toml::Table,
    change: &'c Override,
    needed: bool,
) -> Result<Option<(&'t mut toml::Table, &'c str)>, String> {
    let mut here = table;
    let (last, sections) = change.path.split_last().ok_or("empty key")?;
    for section in sections {
        if !needed && !here.get(section).is_some_and(toml::Value::is_table) {
            return Ok(None);
        }
        let next = here.entry(section.clone()).or_insert_with(|| toml::Table::new().into());
        here = next.as_table_mut().ok_or_else(|| {
            format!("{}: {section} is a value, not a table", change.path.join("."))
        })?;
    }
    Ok(Some((here, last)))
}

fn set(table: &mut toml::Table, change: &Override) -> Result<(), String> {
    let Some((table, key)) = place(table, change, true)? else { return Ok(()) };
    let removes = change.value.as_str() == Some(NONE);
    if removes && table.get(key).is_some_and(toml::Value::is_table) {
        table.remove(key);
    } else {
        table.insert(key.to_owned(), change.value.clone());
    }
    Ok(())
}

/// Removes the value of an override again, where it is `none`.
fn drop_none(table: &mut toml::Table, change: &Override) -> Result<(), String> {
    let Some((table, key)) = place(table, change, false)? else { return Ok(()) };
    if table.get(key).and_then(toml::Value::as_str) == Some(NONE) {
        table.remove(key);
    }
    Ok(())
}
