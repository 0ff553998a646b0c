//! Reads the data of a configuration: pairs and outputs, whose features are standardised where `output.scaling` says so. Errors
//! name the keys by which a file or a column is named.

use std::sync::Arc;

use dsokr_basis::RowKind;
use dsokr_basis::features::Selected;
use dsokr_data::{DataRoot, Dataset};
use dsokr_machines::Scaling;

use super::table::nodes;
use super::{ColumnScaling, Config};
use crate::error::{Error, ensure};

/// The last parts of the keys of `[data]` and `[output]` that hold a column.
const COLUMN_KEYS: [&str; 6] = ["column", "columns", "group", "id", "label", "query"];

/// The last parts of those that hold a file.
const FILE_KEYS: [&str; 8] =
    ["anchors", "file", "files", "path", "table", "test", "train", "validation"];

impl Config {
    /// Reads the data, with the features of outputs standardised as `output.scaling` says, and how. Means and
    /// standard deviations are those of the training pairs' outputs.
    ///
    /// # Errors
    /// As [`Source::load`](dsokr_data::Source::load); [`dsokr_core::Error::Value`] for features that are not
    /// dense rows.
    pub fn load_data(&self, root: &DataRoot) -> Result<(Dataset, Option<Scaling>), Error> {
        let mut dataset = self.read_data(root)?;
        let scaling = self.standardise(&mut dataset, None)?;
        Ok((dataset, scaling))
    }

    /// Reads the data as they are in the files.
    ///
    /// # Errors
    /// As [`Source::load`](dsokr_data::Source::load). A column or a file that does not exist comes with the keys that
    /// name it, since their values may be defaults.
    pub(crate) fn read_data(&self, root: &DataRoot) -> Result<Dataset, Error> {
        use dsokr_data::Error::{Column, Io};
        let dataset = self.source().load(root).map_err(|error| match error {
            Column { path, column, available, .. } => {
                let hint = self.keys_naming(&column, &COLUMN_KEYS);
                let hint = hint.map(|names| format!(", which {names}")).unwrap_or_default();
                Error::Data(Column { path, column, hint, available })
            }
            Io { path, source } if source.kind() == std::io::ErrorKind::NotFound => {
                let file = root.folder().and_then(|folder| path.strip_prefix(folder).ok());
                let file = file.and_then(|file| file.to_str());
                let hint = file.and_then(|file| self.keys_naming(file, &FILE_KEYS));
                let hint = hint.map(|names| format!("; {names} it")).unwrap_or_default();
                Error::NotFound { path, hint }
            }
            other => Error::from(other),
        })?;
        self.check_named_splits(&dataset)?;
        Ok(dataset)
    }

    /// Standardises the features of outputs as the configuration says, and returns the means and deviations by which it does: those
    /// of a run, else those of the training pairs' outputs.
    pub(crate) fn standardise(
        &self,
        dataset: &mut Dataset,
        saved: Option<&Scaling>,
    ) -> Result<Option<Scaling>, Error> {
        let kind = self.output.scaling;
        if kind == ColumnScaling::None {
            return Ok(None);
        }
        let rows = dataset.outputs.rows.as_ref();
        let found = format!("{}, with {} rows", serde_json::json!(kind), rows.kind());
        ensure(rows.kind() == RowKind::Dense, "output.scaling", found, "\"none\", or dense rows")?;
        let scaling = match saved {
            Some(saved) => Some(saved.clone()),
            None => {
                let trained: Vec<usize> = dataset.train.outputs.iter().flatten().copied().collect();
                let trained = Selected::new(rows, &trained);
                kind.fit(&trained, &dataset.train.weights)?.map(Scaling::in_32_bits)
            }
        };
        let Some(scaling) = scaling else { return Ok(None) };
        let rows = Arc::new(scaling.rows(rows)?);
        Arc::make_mut(&mut dataset.outputs).rows = rows;
        Ok(Some(scaling))
    }

    /// Returns which keys of `[data]` and `[output]` that end with one of `ends` have this value, as subject and verb: "data.test
    /// names"; none if none has.
    fn keys_naming(&self, value: &str, ends: &[&str]) -> Option<String> {
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
