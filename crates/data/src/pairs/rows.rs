//! Pairs from one file, whose rows are inputs and outputs at once, and how their splits are drawn.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use dsokr_basis::RowSource;
use dsokr_core::grouped;
use dsokr_core::message::shorten;
use dsokr_core::random::generator;
use rand::seq::SliceRandom;

use super::Wanted;
use super::inputs::InputReader;
use super::splits::{RowOrder, SplitSize, SplitsConfig};
use crate::cells;
use crate::dataset::{Dataset, Split, SplitName};
use crate::error::{Error, check};
use crate::groups::{GroupColumns, GroupRule, connected, groups_of_cells, in_parts};
use crate::inputs::Inputs;
use crate::output_features::{ClassFeatures, OutputFeatures, OutputFiles};
use crate::outputs::{Known, Outputs};
use crate::table::{Table, row_id, skipped_rows, unique_ids};
use crate::vectors::Vectors;

/// The key of the rule by which rows belong together.
const GROUP: &str = "data.splits.group";

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
        let Drawn { rows, parts: [train, mut validation, mut test], mut groups } =
            self.draw(wanted.seed)?;
        let files = [Some(&self.table), validation_file.as_ref(), test_file.as_ref()];
        let skipped = skipped_rows(files.into_iter().flatten(), root);
        let mut file = Self { table: self.table.into_rows(&rows), ..self };
        let has_files = validation_file.is_some() || test_file.is_some();
        for (name, part, further) in [
            (SplitName::Validation, &mut validation, validation_file),
            (SplitName::Test, &mut test, test_file),
        ] {
            if let Some(further) = further {
                let first = file.table.len();
                // queries of a file have the groups that the file alone says, as where it is read without the others
                let (names, _) = file.groups_of_queries(&further);
                groups.extend(names.iter().map(|group| format!("{name} {group}")));
                file.table = file.table.followed_by(further, file.id)?;
                *part = first..file.table.len();
            }
        }
        let groups_of_files = match file.splits.rule().filter(|_| has_files) {
            Some(rule) => file.groups_over_files(rule, &groups),
            None => Vec::new(),
        };
        let files = OutputFiles::Configured(root);
        let features = wanted.outputs.features;
        let (table, places) = match features.as_classes() {
            Some(classes) => file.classes(classes)?,
            None => (Cow::Borrowed(&file.table), (0..file.table.len()).collect()),
        };
        let all = Outputs::from_table(&table, file.id, wanted.outputs, files, Known::default())?;
        drop(table);
        let paired = |pairs: Split, rows: Range<usize>| {
            let outputs = places[rows.clone()].iter().copied().map(Some).collect();
            let groups = match groups.get(rows.clone()) {
                Some(groups) => groups.to_vec(),
                None if groups.is_empty() => Vec::new(),
                // rows of a file of their own are in no group of the table
                None => rows.clone().map(|row| format!("row {row}")).collect(),
            };
            let groups_of_files = groups_of_files.get(rows).unwrap_or_default().to_vec();
            Split { outputs, groups, groups_of_files, ..pairs }
        };
        // the outputs have been read, so each split takes its cells from the table
        let train = paired(file.take_pairs(train.clone(), features)?, train);
        let mut held_out = |rows: Range<usize>| {
            let pairs = if rows.is_empty() {
                // no vectors are as wide as those of the other rows
                train.select(&[])?
            } else {
                file.take_pairs(rows.clone(), features)?
            };
            let split = paired(pairs, rows);
            Ok::<_, Error>(Split { truth: all.truth_of(&split.outputs), ..split })
        };
        let validation = held_out(validation)?;
        let test = if test.is_empty() { None } else { Some(held_out(test)?) };
        Ok(Dataset {
            train,
            validation,
            test,
            skipped,
            outputs: Arc::new(all),
            input_columns: None,
        })
    }

    /// Returns the pairs of one split, without outputs; none if there is no such split.
    pub(super) fn split(self, name: SplitName, wanted: &Wanted) -> Result<Option<Split>, Error> {
        let Drawn { rows, parts: [train, validation, test], groups } = self.draw(wanted.seed)?;
        let part = match name {
            SplitName::Train => train,
            SplitName::Validation => validation,
            SplitName::Test if test.is_empty() => return Ok(None),
            SplitName::Test => test,
        };
        let groups = groups.get(part.clone()).unwrap_or_default().to_vec();
        let part = &rows[part];
        let features = wanted.outputs.features;
        // all rows tell how numbers are written, as they do where a training reads them
        let numbers =
            if features.are_numbers() { features.kind().truth(&self.table)? } else { None };
        let places: Vec<Option<usize>> = part.iter().copied().map(Some).collect();
        let file = Self { table: self.table.select(part), ..self };
        let split = file.queries(wanted, true)?;
        let truth = numbers.and_then(|all| all.select(&places)).or(split.truth);
        Ok(Some(Split { truth, groups, ..split }))
    }

    /// Returns the rows of a file of their own as pairs without outputs, as [`queries`](Self::queries) does, with their groups.
    pub(super) fn grouped_queries(
        self,
        wanted: &Wanted,
        is_run_table: bool,
    ) -> Result<Split, Error> {
        let (groups, lacks_groups) = self.groups_of_queries(&self.table);
        Ok(Split { groups, lacks_groups, ..self.queries(wanted, is_run_table)? })
    }

    /// Returns a name for the group of each row of a file, by the rule of the splits; none where these are drawn row by row.
    /// Where the file does not have what the rule is about, each row is its own group, and the second value is true.
    fn groups_of_queries(&self, table: &Table) -> (Vec<String>, bool) {
        let Some(rule) = self.splits.rule() else { return (Vec::new(), false) };
        let groups = self.compared_vectors(table, rule).and_then(|vectors| {
            let vectors = vectors.as_ref().map(|vectors| vectors as &dyn RowSource);
            self.together.groups_of_queries(table, vectors, rule, GROUP)
        });
        let groups = groups.unwrap_or_else(|reason| {
            // queries that a model answers are evaluated, whatever their groups are
            tracing::warn!("queries count as independent of one another: {reason}");
            None
        });
        match groups {
            Some(groups) => (names_of_groups(&groups, table.len()), false),
            None => ((0..table.len()).map(|row| row.to_string()).collect(), true),
        }
    }

    /// Returns a name for the group of each row of the table, which has the rows of all files: rows that the rule connects,
    /// in whichever files, and rows of one of `groups`, the groups of each file.
    fn groups_over_files(&self, rule: GroupRule, groups: &[String]) -> Vec<String> {
        let rows = self.table.len();
        let groups_of_rule = match rule {
            // in a file without the column its cells are empty, and each row is a group of its own
            GroupRule::Column(name) => self.table.column(name).map(groups_of_cells),
            GroupRule::Repeats | GroupRule::Molecule | GroupRule::Scaffold => {
                self.groups_of_table(rule)
            }
        };
        let groups_of_rule = groups_of_rule.unwrap_or_else(|reason| {
            tracing::warn!("rows of one file count as independent of those of others: {reason}");
            Vec::new()
        });
        names_of_groups(&connected(rows, &[&groups_of_rule, &grouped(groups)]), rows)
    }

    /// Returns all rows as pairs without outputs. The outputs of a file other than the run's table may be others than the
    /// run's, with what they are called. Where ids are numbers of rows, the rows of such a file are queries with these
    /// ids.
    pub(super) fn queries(self, wanted: &Wanted, is_run_table: bool) -> Result<Split, Error> {
        let features = wanted.outputs.features;
        let truth = features.kind().truth(&self.table)?;
        let split = Split { truth, ..self.pairs(self.table.clone(), features)? };
        if features.are_classes() {
            return Ok(Split { foreign: !is_run_table, ..split });
        }
        if is_run_table {
            return Ok(split);
        }
        // what a row's output is called tells which candidate it is
        let label = wanted.outputs.label.and_then(|label| self.table.column(label).ok());
        let labels = label.into_iter().flatten().cloned().map(Some).collect();
        let split = Split { foreign: true, labels, ..split };
        if !self.numbered {
            return Ok(split);
        }
        let ids = split.ids.iter().map(|row| row_id(self.table.path(), row)).collect();
        Ok(Split { queries: Some(split.ids), ids, ..split })
    }

    /// Returns all rows as inputs without outputs, with ids of their own.
    pub(super) fn inputs_alone(self) -> Result<Split, Error> {
        let mut table = self.table;
        let ids = table.column(self.id)?.to_vec();
        let outputs = vec![None; table.len()];
        Ok(Split::new(ids, (self.inputs)(&mut table)?, outputs))
    }

    /// Returns the classes of a column as outputs, in the order of their names and with these as ids; and the class of
    /// each row.
    fn classes(&self, features: &ClassFeatures) -> Result<(Cow<'_, Table>, Vec<usize>), Error> {
        // otherwise ids are those of outputs, which are checked where these are read
        unique_ids(&self.table, self.id)?;
        let column = features.column.as_str();
        let classes: Vec<&str> = features.classes(&self.table)?.collect::<Result<_, _>>()?;
        let mut firsts: BTreeMap<&str, usize> = BTreeMap::new();
        for (row, &class) in classes.iter().enumerate() {
            firsts.entry(class).or_insert(row);
        }
        if let [(class, _)] = firsts.iter().collect::<Vec<_>>()[..] {
            let message = format!(
                "every row has the class {class:?} in the column {column:?}: there is nothing to learn; other cells may \
                 mark missing classes, which are skipped"
            );
            return Err(Error::file(self.table.path(), message));
        }
        let spellings = cells::spellings(classes.iter().copied());
        cells::warn_of_spellings(self.table.path(), "classes", column, &spellings);
        let names: Vec<&str> = firsts.keys().copied().collect();
        let rows: Vec<usize> = firsts.values().copied().collect();
        let mut table = self.table.select(&rows);
        for name in [self.id, column] {
            table.replace(name, names.iter().map(|&name| name.to_owned()).collect())?;
        }
        let place = |class: &&str| names.partition_point(|name| name < class);
        Ok((Cow::Owned(table), classes.iter().map(place).collect()))
    }

    /// Returns ids and inputs of some rows, whose cells it takes from the table.
    fn take_pairs(
        &mut self,
        rows: Range<usize>,
        features: &OutputFeatures,
    ) -> Result<Split, Error> {
        let table = self.table.take_rows(rows);
        self.pairs(table, features)
    }

    /// Returns ids and inputs of the rows of a table. Where outputs are classes, the classes are the ids, and queries have the
    /// ids of the rows.
    fn pairs(&self, mut table: Table, features: &OutputFeatures) -> Result<Split, Error> {
        let column = |name| table.column(name).map(<[_]>::to_vec);
        let fold_groups = self.group.map(column).transpose()?.unwrap_or_default();
        let mut ids = column(self.id)?;
        let mut queries = None;
        if let Some(features) = features.as_classes() {
            let classes = features.classes(&table)?;
            let classes = classes.map(|class| class.map(str::to_owned));
            queries = Some(std::mem::replace(&mut ids, classes.collect::<Result<_, _>>()?));
        }
        let outputs = vec![None; table.len()];
        let inputs = (self.inputs)(&mut table)?;
        Ok(Split { fold_groups, queries, ..Split::new(ids, inputs, outputs) })
    }

    /// Draws the rows of each split.
    fn draw(&self, seed: u64) -> Result<Drawn, Error> {
        let Self { table, splits, .. } = self;
        if let Some(column) = &splits.column {
            let drawn = named_splits(table, column)?;
            let Some(rule) = splits.rule() else { return Ok(drawn) };
            // a group that is on two sides stays where its rows are
            let groups = names_in_order(&self.groups_of_table(rule)?, &drawn.rows);
            return Ok(Drawn { groups, ..drawn });
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

    /// Returns the inputs of all rows of a table, where they are vectors that the rule compares.
    fn compared_vectors(&self, table: &Table, rule: GroupRule) -> Result<Option<Vectors>, Error> {
        match rule {
            GroupRule::Repeats if self.together.has_vectors => {}
            GroupRule::Repeats
            | GroupRule::Molecule
            | GroupRule::Scaffold
            | GroupRule::Column(_) => return Ok(None),
        }
        Ok(match (self.inputs)(&mut table.clone())? {
            Inputs::Vectors(vectors) => Some(vectors),
            Inputs::Texts(_) | Inputs::Kernels(_) => None,
        })
    }

    /// Returns the groups of all rows of the table.
    fn groups_of_table(&self, rule: GroupRule) -> Result<Vec<Vec<usize>>, Error> {
        let vectors = self.compared_vectors(&self.table, rule)?;
        let vectors = vectors.as_ref().map(|vectors| vectors as &dyn RowSource);
        self.together.groups(&self.table, vectors, rule, GROUP)
    }

    /// Returns the splits of whole groups of rows in a drawn order.
    fn draw_groups(
        &self,
        rule: GroupRule,
        order: &[usize],
        sizes: [usize; 2],
    ) -> Result<Drawn, Error> {
        let Self { table, splits, .. } = self;
        let groups = self.groups_of_table(rule)?;
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
                return Err(Error::value(GROUP, found, allowed));
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
        let groups = names_in_order(&groups, &rows);
        Ok(Drawn { rows, parts: [held..held + train, 0..first, first..held], groups })
    }
}

/// Returns a name for the group of each of so many rows: the number of the group.
fn names_of_groups(groups: &[Vec<usize>], rows: usize) -> Vec<String> {
    let mut names = vec![String::new(); rows];
    for (number, members) in groups.iter().enumerate() {
        members.iter().for_each(|&row| names[row] = number.to_string());
    }
    names
}

/// Returns a name for the group of each of some rows of the table, each given once, in their order. Each row of the table is in
/// one of the groups.
fn names_in_order(groups: &[Vec<usize>], rows: &[usize]) -> Vec<String> {
    let mut names = names_of_groups(groups, groups.iter().map(Vec::len).sum());
    rows.iter().map(|&row| std::mem::take(&mut names[row])).collect()
}

/// Returns the rows of each split that a column names, in the order of the table.
fn named_splits(table: &Table, column: &str) -> Result<Drawn, Error> {
    let cells = table.column(column)?;
    let names = SplitName::of_cells(cells).map_err(|row| {
        let cell = shorten(&cells[row]);
        let message = format!(
            "{cell:?} in the column {column:?}, which names the split: expected train, validation (valid, val, dev) and test"
        );
        table.error(row, message)
    })?;
    let rows_of =
        |split: SplitName| (0..names.len()).filter(|&row| names[row] == split).collect::<Vec<_>>();
    let train = rows_of(SplitName::Train);
    let validation = rows_of(SplitName::Validation);
    let test = rows_of(SplitName::Test);
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
    /// The group of each of the rows, where a rule says which belong together.
    groups: Vec<String>,
}
