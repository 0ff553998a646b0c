//! The files of training pairs: one or several, each with the weight of its pairs.

use std::collections::HashMap;

use dsokr_core::RowWeights;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_untagged::UntaggedEnumVisitor;

use crate::dataset::Split;
use crate::error::{Error, check};
use crate::table::Table;

/// One file of training pairs, or several.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum TrainingFiles {
    /// One file.
    One(String),
    /// Several files, whose pairs are taken table by table.
    Several(Vec<TrainingFile>),
}

/// A file of training pairs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum TrainingFile {
    /// A file whose pairs have weight 1.
    Plain(String),
    /// A file whose pairs have a weight of their own.
    Weighted(WeightedFile),
}

/// A file of training pairs with their weight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WeightedFile {
    /// The file.
    pub path: String,
    /// The weight of each of its pairs, above 0; 1 for a pair of a file without weight. A pair of weight 2 counts as
    /// two equal pairs.
    pub weight: f64,
}

impl TrainingFiles {
    /// Returns the files with the weights of their pairs.
    pub fn each(&self) -> impl Iterator<Item = (&str, f64)> {
        let (one, several) = match self {
            Self::One(file) => (Some((file.as_str(), 1.0)), [].as_slice()),
            Self::Several(files) => (None, files.as_slice()),
        };
        one.into_iter().chain(several.iter().map(|file| match file {
            TrainingFile::Plain(path) => (path.as_str(), 1.0),
            TrainingFile::Weighted(WeightedFile { path, weight }) => (path.as_str(), *weight),
        }))
    }

    /// Returns whether some pairs weigh more than others.
    pub fn is_weighted(&self) -> bool {
        self.each().any(|(_, weight)| weight != 1.0)
    }

    pub(super) fn validate(&self) -> Result<(), Error> {
        check(self.each().next().is_some(), "data.train", "[]", "at least one file")?;
        for (at, (path, weight)) in self.each().enumerate() {
            let key = format!("data.train[{at}].weight");
            let holds = weight > 0.0 && weight.is_finite();
            check(holds, &key, weight, "finite numbers above 0")?;
            let before = self.each().take(at).any(|(other, _)| other == path);
            let key = format!("data.train[{at}]");
            check(!before, &key, format!("{path:?}"), "a file that is not named before it")?;
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for TrainingFiles {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        UntaggedEnumVisitor::new()
            .expecting("a file, or a list of files")
            .string(|path| Ok(Self::One(path.to_owned())))
            .seq(|files| files.deserialize().map(Self::Several))
            .deserialize(deserializer)
    }
}

impl<'de> Deserialize<'de> for TrainingFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        UntaggedEnumVisitor::new()
            .expecting("a file, or { path = FILE, weight = NUMBER }")
            .string(|path| Ok(Self::Plain(path.to_owned())))
            .map(|keys| keys.deserialize().map(Self::Weighted))
            .deserialize(deserializer)
    }
}

/// Pairs of a file whose input is in a file before it.
#[derive(Default)]
struct Repeated {
    count: usize,
    /// The row of the first one, and file and line of its input before.
    first: Option<(usize, String)>,
}

/// Logs for each file the pairs that stand in a file before it, and those whose input has a different output there.
/// An output with several inputs is not reported.
pub(super) fn report_repeated(tables: &[Table], input: &str, id: &str) -> Result<(), Error> {
    if tables.len() < 2 {
        return Ok(());
    }
    // the first row and file of each pair, and of each input, among the files before
    let mut first_of_pair: HashMap<(&str, &str), (usize, usize)> = HashMap::new();
    let mut first_of_input: HashMap<&str, (usize, usize)> = HashMap::new();
    for (at, table) in tables.iter().enumerate() {
        let inputs = table.column(input)?.iter().map(String::as_str);
        let ids = table.column(id)?.iter().map(String::as_str);
        let rows = inputs.zip(ids).enumerate();
        let mut pairs = Repeated::default();
        let mut outputs = Repeated::default();
        for (row, pair) in rows.clone() {
            let same = first_of_pair.get(&pair).map(|earlier| (&mut pairs, earlier));
            let earlier = same.or_else(|| Some((&mut outputs, first_of_input.get(pair.0)?)));
            if let Some((repeated, &(other, file))) = earlier {
                repeated.count += 1;
                let path = tables[file].path().display();
                let place = || format!("{path}:{}", tables[file].line(other));
                repeated.first.get_or_insert_with(|| (row, place()));
            }
        }
        for (row, pair) in rows {
            first_of_pair.entry(pair).or_insert((row, at));
            first_of_input.entry(pair.0).or_insert((row, at));
        }
        pairs.log(table, "are in a file before it too, where each counts again");
        outputs.log(table, "have an input that has a different output in a file before it");
    }
    Ok(())
}

impl Repeated {
    fn log(&self, table: &Table, what: &str) {
        let Some((row, before)) = &self.first else { return };
        let path = table.path().display();
        let count = self.count;
        let all = table.len();
        let line = table.line(*row);
        tracing::warn!(
            "{path}: {count} of {all} pairs {what}; the first: line {line} and {before}"
        );
    }
}

/// Returns the pairs of several files, file by file.
///
/// # Errors
/// Inputs of different kinds or widths.
pub(crate) fn joined(parts: impl IntoIterator<Item = Split>) -> Result<Option<Split>, Error> {
    let mut parts = parts.into_iter();
    let Some(mut all) = parts.next() else { return Ok(None) };
    for part in parts {
        let lengths = (all.ids.len(), part.ids.len());
        all.inputs.append(part.inputs)?;
        for (all_lists, part_lists) in
            [(&mut all.further, part.further), (&mut all.known, part.known)]
        {
            if !all_lists.is_empty() || !part_lists.is_empty() {
                all_lists.resize(lengths.0, Vec::new());
                all_lists.extend(part_lists);
                all_lists.resize(lengths.0 + lengths.1, Vec::new());
            }
        }
        all.weights = RowWeights::joined((&all.weights, lengths.0), (&part.weights, lengths.1));
        all.ids.extend(part.ids);
        all.groups.extend(part.groups);
        all.groups_of_files.extend(part.groups_of_files);
        all.fold_groups.extend(part.fold_groups);
        all.outputs.extend(part.outputs);
        all.queries =
            all.queries.zip(part.queries).map(|(queries, other)| [queries, other].concat());
        all.truth = None;
        all.labels = Vec::new();
    }
    Ok(Some(all))
}
