//! Where configurations come from: files, overrides, and pairs in memory.

use std::collections::BTreeSet;
use std::path::Path;

use dsokr_core::Argument;
use dsokr_core::store::read_text;
use dsokr_data::config::{DataConfig, DataSource, MemoryConfig, OnBadRow, OutputFeatures};
use dsokr_data::{DataRoot, Dataset};
use schemars::{Schema, schema_for};

use super::{
    Checked, Config, DecodingConfig, EncoderTable, EvaluationConfig, FORMAT, KernelConfig,
    LoggingConfig, OutputConfig, Override, SketchConfig, TrainingConfig,
};
use crate::error::{Error, in_words, nearest_name};

/// The value of an override that removes a table.
const NONE: &str = "none";

/// What serde says about this value in the place of a table.
const NONE_FOR_A_TABLE: &str = "invalid type: string \"none\", expected a table";

impl Config {
    /// Reads and checks a configuration.
    ///
    /// # Errors
    /// A file that cannot be read or is not TOML, an unknown key, a wrong type ([`Error::Config`], with
    /// the place in the file), or a value out of range ([`dsokr_core::Error::Value`]).
    pub fn load(path: impl AsRef<Path>) -> Result<Checked, Error> {
        Self::load_with(path.as_ref(), &[])
    }

    /// Reads and checks a configuration with overrides.
    ///
    /// # Errors
    /// As [`load`](Self::load); an override that names no key of a table.
    pub fn load_with(path: &Path, overrides: &[Override]) -> Result<Checked, Error> {
        let text = read_text(path).map_err(Error::reading(path))?;
        parse(&text, path, overrides, "set")
    }

    /// Overrides and checks a configuration whose TOML is in memory. Its name is `configuration` if it has none.
    ///
    /// # Errors
    /// As [`load_with`](Self::load_with).
    pub fn parse(text: &str, overrides: &[Override]) -> Result<Checked, Error> {
        let checked = parse(text, Path::new("configuration"), overrides, "set")?;
        Ok(Checked { file: None, ..checked })
    }
}

/// Reads a configuration with overrides, which an argument of this name gives.
fn parse(
    text: &str,
    path: &Path,
    overrides: &[Override],
    argument: &'static str,
) -> Result<Checked, Error> {
    let fail = |message: String| Error::Config { path: path.to_path_buf(), message };
    let table: toml::Table = text.parse().map_err(|e: toml::de::Error| fail(e.to_string()))?;
    // once as it stands, since only then does an error know its line
    let mut config: Config = toml::from_str(text).map_err(|e| fail(located(&e, &table)))?;
    no_arrays(&table, &config).map_err(&fail)?;
    if !overrides.is_empty() {
        config = overridden(table, overrides)
            .map_err(|message| fail(format!("with {}: {message}", Argument::new(argument))))?;
    }
    if config.name.is_empty() {
        config.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    }
    let checked = config.validate().map_err(|error| match error {
        Error::Core(
            value @ (dsokr_core::Error::Value { .. } | dsokr_core::Error::Refused { .. }),
        ) => fail(value.to_string()),
        other => other,
    })?;
    let file = Some(path.into());
    let overrides = overrides.to_vec();
    Ok(Checked { file, text: Some(text.into()), overrides, ..checked })
}

/// Reads a configuration with overrides.
///
/// # Errors
/// A message with the key.
fn overridden(mut table: toml::Table, overrides: &[Override]) -> Result<Config, String> {
    overrides.iter().try_for_each(|change| set(&mut table, change))?;
    let read = from_table(table.clone());
    // a table that is not there may be removed all the same
    if read.as_ref().is_err_and(|message| message.contains(NONE_FOR_A_TABLE)) {
        overrides.iter().try_for_each(|change| drop_none(&mut table, change))?;
        return from_table(table);
    }
    read
}

impl Checked {
    /// Applies further overrides.
    ///
    /// # Errors
    /// As [`Config::load_with`]; [`Error::Serialise`].
    pub fn with(&self, overrides: &[Override]) -> Result<Self, Error> {
        self.with_values_of("set", overrides)
    }

    /// Applies further overrides, which an argument of this name gives.
    pub(crate) fn with_values_of(
        &self,
        argument: &'static str,
        overrides: &[Override],
    ) -> Result<Self, Error> {
        let text = match &self.text {
            Some(text) => text.clone(),
            None => toml::to_string(&self.to_changeable()?)?,
        };
        let path = self.file.as_deref().unwrap_or(Path::new(&self.name));
        let changed = parse(&text, path, &[&self.overrides, overrides].concat(), argument)?;
        Ok(Self { file: self.file.clone(), ..changed })
    }

    /// Returns whether an override has set a key.
    pub(crate) fn is_set(&self, key: &str) -> bool {
        self.overrides.iter().any(|change| change.path.join(".") == key)
    }
}

/// Reads a configuration.
///
/// # Errors
/// A message with the key.
pub(super) fn from_table(table: toml::Table) -> Result<Config, String> {
    let config = table.clone().try_into().map_err(|error| located(&error, &table))?;
    no_arrays(&table, &config)?;
    Ok(config)
}

/// Returns the key that a message about an unknown one is a slip of: one of its table, or one of the same name in another table.
fn meant(message: &str) -> Option<String> {
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

/// Returns the message in words, with the key where only its table is known, and with the one that is meant.
fn located(error: &toml::de::Error, table: &toml::Table) -> String {
    let mut text = in_words(error.to_string(), "a table");
    if let Some(key) = meant(error.message()) {
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
fn nodes(key: String, value: &toml::Value) -> Vec<(String, &toml::Value)> {
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

/// The last parts of the keys of `[data]` and `[output]` that hold a column.
const COLUMN_KEYS: [&str; 6] = ["column", "columns", "group", "id", "label", "query"];

/// The last parts of those that hold a file.
const FILE_KEYS: [&str; 8] =
    ["anchors", "file", "files", "path", "table", "test", "train", "validation"];

impl Config {
    /// Reads the data as they are in the files.
    ///
    /// # Errors
    /// As [`Source::load`](dsokr_data::Source::load). A column or a file that does not exist comes with the keys that
    /// name it, since their values may be defaults.
    pub(crate) fn read_data(&self, root: &DataRoot) -> Result<Dataset, Error> {
        use dsokr_data::Error::{Column, Io};
        let dataset = self.source().load(root).map_err(|error| match error {
            Column { path, column, available, .. } => {
                let hint = self.naming(&column, &COLUMN_KEYS);
                let hint = hint.map(|names| format!(", which {names}")).unwrap_or_default();
                Error::Data(Column { path, column, hint, available })
            }
            Io { path, source } if source.kind() == std::io::ErrorKind::NotFound => {
                let file = root.folder().and_then(|folder| path.strip_prefix(folder).ok());
                let file = file.and_then(|file| file.to_str());
                let hint = file.and_then(|file| self.naming(file, &FILE_KEYS));
                let hint = hint.map(|names| format!("; {names} it")).unwrap_or_default();
                Error::NotFound { path, hint }
            }
            other => Error::from(other),
        })?;
        self.check_named_splits(&dataset)?;
        Ok(dataset)
    }

    /// Returns which keys of `[data]` and `[output]` that end with one of `ends` have this value, as subject and verb: "data.test
    /// names"; none if none has.
    fn naming(&self, value: &str, ends: &[&str]) -> Option<String> {
        let config = toml::Value::try_from(self).ok()?;
        let names = |(key, held): &(String, &toml::Value)| {
            // `output.columns[0]` is an entry of the list `columns`
            let last = key.rsplit('.').next().and_then(|last| last.split('[').next());
            let inside = key.starts_with("data.") || key.starts_with("output.");
            let is_of_kind = last.is_some_and(|last| ends.contains(&last));
            inside && is_of_kind && held.as_str() == Some(value)
        };
        let keys = nodes(String::new(), &config).into_iter().filter(names);
        let keys: Vec<String> = keys.map(|(key, _)| key).collect();
        match keys.split_last() {
            None => None,
            Some((key, [])) => Some(format!("{key} names")),
            Some((last, others)) => Some(format!("{} and {last} name", others.join(", "))),
        }
    }
}

impl Config {
    /// Creates a configuration for texts and outputs in memory, one output a text: SMILES of molecules, sets of labels,
    /// rankings or numbers, as `features` read them. All other settings are the defaults; the fields are there to
    /// change them. One pair in ten is for validation, and each output is a candidate.
    ///
    /// A run keeps the configuration and not the pairs. It answers texts, and is evaluated on files of queries.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for lists of different lengths, less than two pairs, and features that are not of a column.
    pub fn in_memory(
        texts: Vec<String>,
        outputs: Vec<String>,
        features: OutputFeatures,
        kernel: KernelConfig,
        encoder: EncoderTable,
    ) -> Result<Self, Error> {
        let pairs = MemoryConfig::new(texts, outputs, &features)?;
        let data = DataConfig {
            corrupted: 0.0,
            seed: None,
            limit: None,
            on_bad_row: OnBadRow::Stop,
            licence: None,
            fold: None,
            source: DataSource::Memory(pairs),
        };
        let output = OutputConfig {
            id: MemoryConfig::ID.into(),
            label: features.column().map(str::to_owned),
            features,
            kernel: Some(kernel),
            ..OutputConfig::default()
        };
        Ok(Self {
            format: FORMAT,
            name: "in-memory".into(),
            seed: 0,
            data,
            output,
            sketch: SketchConfig::default(),
            encoder,
            training: TrainingConfig::default(),
            decoding: DecodingConfig::default(),
            evaluation: EvaluationConfig::default(),
            logging: LoggingConfig::default(),
            ensemble: None,
        })
    }
}
