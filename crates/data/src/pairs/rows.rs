//! Pairs from one file, whose rows are inputs and outputs at once: which belong to which split.

use std::ops::Range;

use dsokr_basis::random::generator;
use rand::seq::SliceRandom;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Wanted;
use super::inputs::InputReader;
use crate::error::check;
use crate::output_features::OutputFiles;
use crate::outputs::Known;
use crate::table::{Table, skipped_rows};
use crate::{Dataset, Error, Outputs, Split, SplitName};

/// Which rows of a file belong to which split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SplitsConfig {
    /// The order in which rows are taken.
    #[serde(default)]
    pub order: RowOrder,
    /// Number of validation pairs.
    pub validation: usize,
    /// Number of test pairs.
    #[serde(default)]
    pub test: usize,
    /// Number of training pairs; all that are left, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub train: Option<usize>,
    /// Whether the rows of no split are outputs without a pair: candidates, also under
    /// `output.only_training`.
    #[serde(default)]
    pub unpaired: bool,
}

/// The order in which rows of a file are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RowOrder {
    /// The seed draws them.
    #[default]
    Drawn,
    /// As in the file: training pairs first, then validation, then test pairs.
    File,
}

impl SplitsConfig {
    pub(super) fn validate(&self) -> Result<(), Error> {
        check(self.validation > 0, "data.splits.validation", 0, "at least 1")?;
        check(self.train != Some(0), "data.splits.train", 0, "at least 1")
    }
}

/// The file: ids and outputs in a table, and what reads the inputs of its rows.
pub(super) struct PairedRows<'a> {
    pub table: Table,
    pub id: &'a str,
    /// Reads the inputs of some of the rows.
    pub inputs: InputReader<'a>,
    pub splits: &'a SplitsConfig,
    /// Whether ids are the numbers of the rows.
    pub numbered: bool,
}

impl PairedRows<'_> {
    /// Draws the splits, whose rows are the outputs.
    pub(super) fn dataset(self, wanted: &Wanted) -> Result<Dataset, Error> {
        let root = wanted.root()?;
        let (rows, [train, validation, test]) = draw(self.splits, wanted.seed, &self.table)?;
        let file = Self { table: self.table.select(&rows), ..self };
        let files = OutputFiles::Configured(root);
        let all =
            Outputs::from_table(&file.table, file.id, wanted.outputs, files, Known::default())?;
        let split = |rows: Range<usize>| {
            let outputs: Vec<Option<usize>> = rows.clone().map(Some).collect();
            Ok::<_, Error>(Split { outputs, ..file.pairs(rows)? })
        };
        let held_out = |rows: Range<usize>| {
            let split = split(rows)?;
            Ok::<_, Error>(Split { truth: all.truth_of(&split.outputs), ..split })
        };
        Ok(Dataset {
            train: split(train)?,
            validation: held_out(validation)?,
            test: if test.is_empty() { None } else { Some(held_out(test)?) },
            skipped: skipped_rows([&file.table], root),
            outputs: all,
        })
    }

    /// The pairs of one split alone, without outputs; none if there is no such split.
    pub(super) fn split(self, name: SplitName, wanted: &Wanted) -> Result<Option<Split>, Error> {
        let (rows, [_, validation, test]) = draw(self.splits, wanted.seed, &self.table)?;
        let own = match name {
            SplitName::Validation => validation,
            SplitName::Test if test.is_empty() => return Ok(None),
            SplitName::Test => test,
        };
        let file = Self { table: self.table.select(&rows[own]), ..self };
        file.queries(wanted, true).map(Some)
    }

    /// All rows as pairs without outputs. Where ids are numbers of rows, the rows of a file that is not
    /// the run's `own` are queries with these ids, and their outputs are others than the run's.
    pub(super) fn queries(self, wanted: &Wanted, own: bool) -> Result<Split, Error> {
        let truth = wanted.outputs.features.kind().truth(&self.table)?;
        let split = Split { truth, ..self.pairs(0..self.table.len())? };
        if own || !self.numbered {
            return Ok(split);
        }
        let file = self.table.path().file_name().unwrap_or_default().to_string_lossy();
        let ids = split.ids.iter().map(|row| format!("{file} row {row}")).collect();
        Ok(Split { queries: Some(split.ids), ids, foreign: true, ..split })
    }

    /// Ids and inputs of some rows.
    fn pairs(&self, rows: Range<usize>) -> Result<Split, Error> {
        let table = self.table.select(&rows.collect::<Vec<_>>());
        let ids = table.column(self.id)?.to_vec();
        Ok(Split::new(ids, (self.inputs)(&table)?, vec![None; table.len()]))
    }
}

/// Rows of the table, and which of them, in this order, are training, validation and test pairs; the others none.
fn draw(
    splits: &SplitsConfig,
    seed: u64,
    table: &Table,
) -> Result<(Vec<usize>, [Range<usize>; 3]), Error> {
    let held = splits.validation.saturating_add(splits.test);
    let left = table.len().saturating_sub(held);
    let train = splits.train.unwrap_or(left);
    if train == 0 || train > left {
        let given = splits.train.map_or("the rest".into(), |train| train.to_string());
        let found = format!("{} + {} + {given}", splits.validation, splits.test);
        let allowed = format!("at most {}, the rows of {}", table.len(), table.path().display());
        return Err(Error::value("data.splits", found, allowed));
    }
    let mut rows: Vec<usize> = (0..table.len()).collect();
    if splits.order == RowOrder::Drawn {
        rows.shuffle(&mut generator(seed, "split", 0));
    }
    if !splits.unpaired {
        rows.truncate(train + held);
    }
    // where the first validation pair is: those that are drawn come first, those as in the file behind training
    let (first, train) = match splits.order {
        RowOrder::Drawn => (0, held..held + train),
        RowOrder::File => (train, 0..train),
    };
    let test = first + splits.validation;
    Ok((rows, [train, first..test, test..first + held]))
}
