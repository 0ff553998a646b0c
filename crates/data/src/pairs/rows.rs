//! Pairs from one file, whose rows are inputs and outputs at once: which belong to which split.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use dsokr_core::message::shorten;
use dsokr_core::random::generator;
use rand::seq::SliceRandom;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_untagged::{UntaggedEnumVisitor, de};
use smart_default::SmartDefault;

use super::Wanted;
use super::inputs::InputReader;
use crate::dataset::{Dataset, Split, SplitName};
use crate::error::{Error, check};
use crate::groups::{GroupColumns, GroupRule, in_parts};
use crate::output_features::{ClassFeatures, OutputFeatures, OutputFiles};
use crate::outputs::{Known, Outputs};
use crate::table::{Table, row_id, skipped_rows, unique_ids};

/// The rule that assigns the rows of a file to splits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SplitsConfig {
    /// The order in which rows are taken.
    #[serde(default)]
    pub order: RowOrder,
    /// Validation pairs: their number, or their share of the rows. 0 is for kernel machines that choose nothing on
    /// them: with one λ, or several that leave-one-out errors choose from. Required, unless `column` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<SplitSize>,
    /// Test pairs: their number, or their share of the rows.
    #[serde(default)]
    pub test: SplitSize,
    /// Training pairs: their number, or their share of the rows; all that are left, if not given.
    pub train: Option<SplitSize>,
    /// The seed that draws the splits; the seed of the configuration, if left out.
    pub seed: Option<u64>,
    /// Rows that are drawn together, so that no two of them are on different sides: `"repeats"`, those with the same
    /// molecule (whatever SMILES of it), text or id, in the inputs or in outputs that are molecules or texts, and rows
    /// connected by such rows; `"molecule"`, those with the same molecule apart from its configuration, as output, else
    /// as input; `"scaffold"`, those whose molecules have the same Bemis-Murcko scaffold; else the name of a column,
    /// those with the same value in it. A group that does not fit into what is left of the validation split goes to the
    /// test split, else to training. Left out, rows are drawn one by one, which is the same where no rows belong
    /// together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The column that names the split of each row, in the place of sizes, seed and groups: `train` (also `training`),
    /// `validation` (`valid`, `val`, `dev`, `development`) or `test` (`testing`), in upper or lower case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
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
    /// Returns whether it is zero rows of any file.
    pub fn is_zero(self) -> bool {
        self == Self::Rows(0)
    }

    /// Returns the number of rows of a file with so many.
    fn of(self, rows: usize) -> usize {
        match self {
            Self::Rows(rows) => rows,
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
    /// The order of the file: training pairs first, then validation, then test pairs.
    File,
}

impl SplitsConfig {
    /// Returns the rule of the groups.
    pub(crate) fn rule(&self) -> Option<GroupRule<'_>> {
        self.group.as_deref().map(GroupRule::named)
    }

    /// The columns that say which rows belong to which split, or together.
    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        let group = self.rule().and_then(GroupRule::column);
        self.column.as_deref().into_iter().chain(group)
    }

    /// Whether there are validation pairs, where no file has them; a column may have none.
    pub(crate) fn may_have_validation(&self) -> bool {
        self.column.is_some() || !self.validation.unwrap_or_default().is_zero()
    }

    /// Whether there are test pairs, where no file has them; a column may have none.
    pub(super) fn may_have_test(&self) -> bool {
        self.column.is_some() || !self.test.is_zero()
    }

    /// Checks that a column is given instead of everything that draws splits.
    fn validate_column(&self) -> Result<(), Error> {
        let given = [
            ("validation", self.validation.map(|size| size.to_string())),
            ("test", (!self.test.is_zero()).then(|| self.test.to_string())),
            ("train", self.train.map(|size| size.to_string())),
            ("seed", self.seed.map(|seed| seed.to_string())),
            ("group", self.group.as_ref().map(|group| format!("{group:?}"))),
            ("order", (self.order == RowOrder::File).then(|| "\"file\"".to_owned())),
        ];
        let allowed = "absent, with data.splits.column, which names the split of each row";
        for (name, value) in given {
            let Some(value) = value else { continue };
            return Err(Error::value(format!("data.splits.{name}"), value, allowed));
        }
        Ok(())
    }

    pub(super) fn validate(&self) -> Result<(), Error> {
        if self.column.is_some() {
            return self.validate_column();
        }
        let Some(validation) = self.validation else {
            let allowed =
                "a number of rows, a share between 0 and 1, or data.splits.column in its place";
            return Err(Error::value("data.splits.validation", "absent", allowed));
        };
        validation.validate("data.splits.validation", 0)?;
        self.test.validate("data.splits.test", 0)?;
        let drawn = self.order == RowOrder::Drawn;
        let allowed = "absent, with data.splits.order = \"file\": groups are drawn";
        let group = self.group.as_ref().map(|group| format!("{group:?}")).unwrap_or_default();
        check(drawn || self.group.is_none(), "data.splits.group", group, allowed)?;
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
    /// The column of the groups of pairs that parts of a cross-validation do not divide.
    pub group: Option<&'a str>,
    /// The columns that say which rows splits do not divide.
    pub together: GroupColumns<'a>,
    /// Whether ids are the numbers of the rows.
    pub numbered: bool,
}

impl PairedRows<'_> {
    /// Draws the splits, whose rows are the outputs. The rows of `validation` and `test`, where they are given, are the
    /// pairs of that split and outputs too.
    pub(super) fn dataset(
        self,
        wanted: &Wanted,
        [validation_file, test_file]: [Option<Table>; 2],
    ) -> Result<Dataset, Error> {
        let root = wanted.root()?;
        let Drawn { rows, parts: [train, mut validation, mut test], groups } =
            self.draw(wanted.seed)?;
        let files = [Some(&self.table), validation_file.as_ref(), test_file.as_ref()];
        let skipped = skipped_rows(files.into_iter().flatten(), root);
        let mut table = self.table.select(&rows);
        for (part, file) in [(&mut validation, validation_file), (&mut test, test_file)] {
            if let Some(file) = file {
                let first = table.len();
                table = table.followed_by(file, self.id)?;
                *part = first..table.len();
            }
        }
        let file = Self { table, ..self };
        let files = OutputFiles::Configured(root);
        let (table, places) = match wanted.outputs.features.class_column() {
            Some(column) => file.classes(column)?,
            None => (Cow::Borrowed(&file.table), (0..file.table.len()).collect()),
        };
        let all = Outputs::from_table(&table, file.id, wanted.outputs, files, Known::default())?;
        let pairs = |rows| file.pairs(rows, wanted.outputs.features);
        let split = |rows: Range<usize>| {
            let outputs = places[rows.clone()].iter().copied().map(Some).collect();
            let split = pairs(rows.clone())?;
            let groups = if split.groups.is_empty() {
                groups.get(rows).unwrap_or_default().to_vec()
            } else {
                split.groups
            };
            Ok::<_, Error>(Split { outputs, groups, ..split })
        };
        let held_out = |rows: Range<usize>| {
            let split = split(rows)?;
            Ok::<_, Error>(Split { truth: all.truth_of(&split.outputs), ..split })
        };
        Ok(Dataset {
            train: split(train)?,
            validation: held_out(validation)?,
            test: if test.is_empty() { None } else { Some(held_out(test)?) },
            skipped,
            outputs: all,
        })
    }

    /// Returns the pairs of one split, without outputs; none if there is no such split.
    pub(super) fn split(self, name: SplitName, wanted: &Wanted) -> Result<Option<Split>, Error> {
        let Drawn { rows, parts: [train, validation, test], .. } = self.draw(wanted.seed)?;
        let part = match name {
            SplitName::Train => train,
            SplitName::Validation => validation,
            SplitName::Test if test.is_empty() => return Ok(None),
            SplitName::Test => test,
        };
        let file = Self { table: self.table.select(&rows[part]), ..self };
        file.queries(wanted, true).map(Some)
    }

    /// Returns all rows as pairs without outputs. Where ids are numbers of rows, the rows of a file other than
    /// the run's table are queries with these ids, and their outputs are others than the run's.
    pub(super) fn queries(self, wanted: &Wanted, is_run_table: bool) -> Result<Split, Error> {
        let features = wanted.outputs.features;
        let truth = features.kind().truth(&self.table)?;
        let split = Split { truth, ..self.pairs(0..self.table.len(), features)? };
        if features.are_classes() {
            return Ok(Split { foreign: !is_run_table, ..split });
        }
        if is_run_table || !self.numbered {
            return Ok(split);
        }
        let ids = split.ids.iter().map(|row| row_id(self.table.path(), row)).collect();
        // what a row's output is called tells whether it is a candidate
        let label = wanted.outputs.label.and_then(|label| self.table.column(label).ok());
        let labels = label.into_iter().flatten().cloned().map(Some).collect();
        Ok(Split { queries: Some(split.ids), ids, foreign: true, labels, ..split })
    }

    /// Returns the classes of a column as outputs, in the order of their names and with these as ids; and the class of
    /// each row.
    fn classes(&self, column: &str) -> Result<(Cow<'_, Table>, Vec<usize>), Error> {
        // otherwise ids are those of outputs, which are checked where these are read
        unique_ids(&self.table, self.id)?;
        let classes = ClassFeatures::classes(&self.table, column)?;
        let classes: Vec<&str> = classes.collect::<Result<_, _>>()?;
        let mut firsts: BTreeMap<&str, usize> = BTreeMap::new();
        for (row, &class) in classes.iter().enumerate() {
            firsts.entry(class).or_insert(row);
        }
        let names: Vec<&str> = firsts.keys().copied().collect();
        let rows: Vec<usize> = firsts.values().copied().collect();
        let mut table = self.table.select(&rows);
        for name in [self.id, column] {
            table.replace(name, names.iter().map(|&name| name.to_owned()).collect())?;
        }
        let place = |class: &&str| names.partition_point(|name| name < class);
        Ok((Cow::Owned(table), classes.iter().map(place).collect()))
    }

    /// Returns ids and inputs of some rows. Where outputs are classes, the classes are the ids, and queries have the
    /// ids of the rows.
    fn pairs(&self, rows: Range<usize>, features: &OutputFeatures) -> Result<Split, Error> {
        let mut table = self.table.select(&rows.collect::<Vec<_>>());
        let column = |name| table.column(name).map(<[_]>::to_vec);
        let groups = self.group.map(column).transpose()?.unwrap_or_default();
        let mut ids = column(self.id)?;
        let mut queries = None;
        if let Some(name) = features.class_column() {
            let classes = ClassFeatures::classes(&table, name)?;
            let classes = classes.map(|class| class.map(str::to_owned));
            queries = Some(std::mem::replace(&mut ids, classes.collect::<Result<_, _>>()?));
        }
        let outputs = vec![None; table.len()];
        Ok(Split { groups, queries, ..Split::new(ids, (self.inputs)(&mut table)?, outputs) })
    }

    /// Draws the rows of each split.
    fn draw(&self, seed: u64) -> Result<Drawn, Error> {
        let Self { table, splits, .. } = self;
        if let Some(column) = &splits.column {
            return named_splits(table, column);
        }
        let size_of = |size: SplitSize| size.of(table.len());
        let validation = size_of(splits.validation.unwrap_or_default());
        let test = size_of(splits.test);
        let held = validation.saturating_add(test);
        let left = table.len().saturating_sub(held);
        let train = splits.train.map_or(left, size_of);
        if train == 0 || train > left {
            let given = splits.train.map_or("the rest".into(), |_| train.to_string());
            let found = format!("{validation} + {test} + {given}");
            let allowed =
                format!("at most {}, the rows of {}", table.len(), table.path().display());
            return Err(Error::value("data.splits", found, allowed));
        }
        let mut rows: Vec<usize> = (0..table.len()).collect();
        if splits.order == RowOrder::Drawn {
            rows.shuffle(&mut generator(splits.seed.unwrap_or(seed), "split", 0));
        }
        if let Some(rule) = splits.rule() {
            return self.draw_groups(rule, &rows, [validation, test]);
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
        let parts = [train, first..test, test..first + held];
        Ok(Drawn { rows, parts, groups: Vec::new() })
    }

    /// Returns the splits of whole groups of rows in a drawn order.
    fn draw_groups(
        &self,
        rule: GroupRule,
        order: &[usize],
        sizes: [usize; 2],
    ) -> Result<Drawn, Error> {
        let Self { table, splits, .. } = self;
        let key = "data.splits.group";
        let groups = self.together.groups(table, rule, key)?;
        let [validation, test, mut rest] = in_parts(order, &groups, sizes);
        for (name, part, size) in [("validation", &validation, sizes[0]), ("test", &test, sizes[1])]
        {
            if part.is_empty() && size > 0 {
                let most = groups.iter().map(Vec::len).max().unwrap_or_default();
                let found = format!("{:?}", splits.group.as_deref().unwrap_or_default());
                let allowed = format!(
                    "absent, or smaller groups: none fits into the {name} split of {size} rows; {} groups of up to \
                     {most} rows",
                    groups.len()
                );
                return Err(Error::value(key, found, allowed));
            }
            if 2 * part.len() < size {
                let rows = part.len();
                tracing::warn!(
                    "the {name} split has {rows} of {size} rows, since groups of rows stay whole"
                );
            }
        }
        if let Some(train) = splits.train.map(|train| train.of(table.len())) {
            let allowed = format!("at most {}, what validation and test leave", rest.len());
            check(train <= rest.len(), "data.splits.train", train, &allowed)?;
            if !splits.unpaired {
                rest.truncate(train);
            }
        }
        if rest.is_empty() {
            let allowed = "smaller: no row is left for training";
            return Err(Error::value(
                "data.splits",
                format!("{} + {}", sizes[0], sizes[1]),
                allowed,
            ));
        }
        let train = splits.train.map_or(rest.len(), |train| train.of(table.len()));
        let first = validation.len();
        let held = validation.len() + test.len();
        let rows = [validation, test, rest].concat();
        let mut names = vec![String::new(); table.len()];
        for (number, members) in groups.iter().enumerate() {
            members.iter().for_each(|&row| names[row] = number.to_string());
        }
        let groups = rows.iter().map(|&row| std::mem::take(&mut names[row])).collect();
        Ok(Drawn { rows, parts: [held..held + train, 0..first, first..held], groups })
    }
}

/// The rows of each split that a column names, in the order of the table.
fn named_splits(table: &Table, column: &str) -> Result<Drawn, Error> {
    let [mut train, mut validation, mut test] = [const { Vec::new() }; 3];
    for (row, cell) in table.column(column)?.iter().enumerate() {
        match SplitName::of_cell(cell) {
            Some(SplitName::Train) => train.push(row),
            Some(SplitName::Validation) => validation.push(row),
            Some(SplitName::Test) => test.push(row),
            None => {
                let cell = shorten(cell);
                let message = format!(
                    "{cell:?} in the column {column:?}, which names the split: expected train, validation (valid, val, dev) \
                     and test"
                );
                return Err(table.error(row, message));
            }
        }
    }
    if train.is_empty() {
        let allowed = "a column that names rows for training";
        return Err(Error::value("data.splits.column", format!("{column:?}"), allowed));
    }
    let first = validation.len();
    let held = first + test.len();
    let all = held + train.len();
    let rows = [validation, test, train].concat();
    Ok(Drawn { rows, parts: [held..all, 0..first, first..held], groups: Vec::new() })
}

/// Rows of a table, and which of them, in this order, are training, validation and test pairs; the others none.
struct Drawn {
    rows: Vec<usize>,
    parts: [Range<usize>; 3],
    /// The group of each of the rows, where splits divide no groups.
    groups: Vec<String>,
}
