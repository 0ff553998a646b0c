//! Pairs from one file, whose rows are inputs and outputs at once: which belong to which split.

use std::ops::Range;

use dsokr_basis::random::generator;
use rand::seq::SliceRandom;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_untagged::{UntaggedEnumVisitor, de};
use smart_default::SmartDefault;

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
    /// Validation pairs: their number, or their share of the rows. 0 is for kernel machines that choose nothing on
    /// them: with one λ, or several that leave-one-out errors choose from.
    pub validation: SplitSize,
    /// Test pairs: their number, or their share of the rows.
    #[serde(default)]
    pub test: SplitSize,
    /// Training pairs: their number, or their share of the rows; all that are left, if not given.
    pub train: Option<SplitSize>,
    /// The seed that draws the splits; that of the configuration, if left out.
    pub seed: Option<u64>,
    /// Whether the rows of no split are outputs without a pair: candidates, also under
    /// `output.only_training`.
    #[serde(default)]
    pub unpaired: bool,
}

/// How many rows a split has.
#[derive(
    Clone, Copy, Debug, derive_more::Display, PartialEq, Serialize, JsonSchema, SmartDefault,
)]
#[serde(untagged)]
pub enum SplitSize {
    /// So many.
    #[default]
    Rows(usize),
    /// A share of all rows, between 0 and 1, rounded down.
    Share(f64),
}

impl SplitSize {
    /// Whether it is zero rows of any file.
    pub fn is_zero(self) -> bool {
        self == Self::Rows(0)
    }

    /// Number of rows of a file with so many.
    fn of(self, rows: usize) -> usize {
        match self {
            Self::Rows(own) => own,
            // 0.29 of 100 is 29, not 28.999999999999996
            Self::Share(share) => (share * rows as f64 + 1e-9) as usize,
        }
    }

    fn validate(self, key: &str, least: usize) -> Result<(), Error> {
        let (holds, allowed) = match self {
            Self::Rows(rows) => (
                rows >= least,
                format!("a number of rows from {least}, or a share between 0 and 1"),
            ),
            Self::Share(share) => (share > 0.0 && share < 1.0, "a share between 0 and 1".into()),
        };
        check(holds, key, self, &allowed)
    }
}

impl<'de> Deserialize<'de> for SplitSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        UntaggedEnumVisitor::new()
            .expecting("a number of rows, or a share between 0 and 1")
            .u64(|rows| usize::try_from(rows).map(Self::Rows).map_err(de::Error::custom))
            .f64(|share| Ok(Self::Share(share)))
            .deserialize(deserializer)
    }
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
        self.validation.validate("data.splits.validation", 0)?;
        self.test.validate("data.splits.test", 0)?;
        self.train.map_or(Ok(()), |train| train.validate("data.splits.train", 1))
    }
}

/// The file: ids and outputs in a table, and what reads the inputs of its rows.
pub(super) struct PairedRows<'a> {
    pub table: Table,
    pub id: &'a str,
    /// Reads the inputs of some of the rows.
    pub inputs: InputReader<'a>,
    pub splits: &'a SplitsConfig,
    /// The column of the groups of pairs that are not divided.
    pub group: Option<&'a str>,
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

    /// Only the pairs of one split, without outputs; none if there is no such split.
    pub(super) fn split(self, name: SplitName, wanted: &Wanted) -> Result<Option<Split>, Error> {
        let (rows, [train, validation, test]) = draw(self.splits, wanted.seed, &self.table)?;
        let own = match name {
            SplitName::Train => train,
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
        let mut table = self.table.select(&rows.collect::<Vec<_>>());
        let column = |name| table.column(name).map(<[_]>::to_vec);
        let groups = self.group.map(column).transpose()?.unwrap_or_default();
        let (ids, outputs) = (column(self.id)?, vec![None; table.len()]);
        Ok(Split { groups, ..Split::new(ids, (self.inputs)(&mut table)?, outputs) })
    }
}

/// Rows of the table, and which of them, in this order, are training, validation and test pairs; the others none.
fn draw(
    splits: &SplitsConfig,
    seed: u64,
    table: &Table,
) -> Result<(Vec<usize>, [Range<usize>; 3]), Error> {
    let of = |size: SplitSize| size.of(table.len());
    let (validation, test) = (of(splits.validation), of(splits.test));
    let held = validation.saturating_add(test);
    let left = table.len().saturating_sub(held);
    let train = splits.train.map_or(left, of);
    if train == 0 || train > left {
        let given = splits.train.map_or("the rest".into(), |_| train.to_string());
        let found = format!("{validation} + {test} + {given}");
        let allowed = format!("at most {}, the rows of {}", table.len(), table.path().display());
        return Err(Error::value("data.splits", found, allowed));
    }
    let mut rows: Vec<usize> = (0..table.len()).collect();
    if splits.order == RowOrder::Drawn {
        rows.shuffle(&mut generator(splits.seed.unwrap_or(seed), "split", 0));
    }
    if !splits.unpaired {
        rows.truncate(train + held);
    }
    // where the first validation pair is: those that are drawn come first, those as in the file behind training
    let (first, train) = match splits.order {
        RowOrder::Drawn => (0, held..held + train),
        RowOrder::File => (train, 0..train),
    };
    let test = first + validation;
    Ok((rows, [train, first..test, test..first + held]))
}
