//! Which pairs are for validation and for the test.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use dsokr_core::Argument;
use dsokr_core::message::list;
use dsokr_data::table::{OnBadRow, Table, TableOptions};
use dsokr_data::{SplitName, VARIED, connected, groups_of_cells, text_numbers};

use super::guess::names::names_splits;
use super::kind::ColumnKind;
use super::uses::varies;
use super::{Choices, Column};
use crate::error::{Error, ensure};

/// How rows are divided: which stay together, and files that hold the pairs of a split.
#[derive(Clone, Debug, Default)]
pub struct Division {
    /// `data.splits.group`: rows that no drawn split divides, and that are held out together.
    pub group: Option<String>,
    /// `data.splits.column`: the column that names the split of each row, with the rows of validation and test.
    pub column: Option<SplitColumn>,
    /// The file of validation pairs, in the folder of the table or below it.
    pub validation: Option<String>,
    /// The file of test pairs, likewise.
    pub test: Option<String>,
}

/// A column that names the split of each row.
#[derive(Clone, Debug)]
pub struct SplitColumn {
    /// Its name.
    pub name: String,
    /// Number of rows for validation and for the test.
    pub sizes: [usize; 2],
}

/// What stands before the name of a column that names splits, as `--split` takes it.
const NAMED: &str = "column=";

/// Returns the name of the column that the caller says names the split of each row.
pub(super) fn split_column(choices: &Choices) -> Option<&str> {
    choices.split.as_deref().and_then(|split| split.strip_prefix(NAMED))
}

/// Returns whether the caller names a column for the division alone, so that nothing is guessed to be learned from it: it names
/// the split of each row, or its values are the groups of rows, and no molecules, vectors or texts of several words.
pub(super) fn divides_alone(column: &Column, choices: &Choices) -> bool {
    let name = column.name.as_str();
    if split_column(choices) == Some(name) {
        return true;
    }
    let is_learned = choices.input.as_deref() == Some(name)
        || choices.outputs.iter().any(|output| output == name);
    let says_what_rows_are = match column.kind {
        ColumnKind::Smiles | ColumnKind::Inchi | ColumnKind::Vectors(_) => true,
        ColumnKind::Texts => !column.words.are_single_words,
        ColumnKind::Numbers(_)
        | ColumnKind::Classes(_)
        | ColumnKind::Labels(_)
        | ColumnKind::Rankings(_)
        | ColumnKind::Orders(_)
        | ColumnKind::Dates
        | ColumnKind::Ids
        | ColumnKind::Nothing => false,
    };
    choices.split.as_deref() == Some(name) && !is_learned && !says_what_rows_are
}

/// Returns the name of the first column whose cells, not all the same, each name a split.
pub(super) fn splits_named(table: &Table, columns: &[Column]) -> Option<String> {
    let names_splits =
        |column: &&Column| varies(column) && SplitColumn::read(&column.name, table).is_ok();
    columns.iter().find(names_splits).map(|column| column.name.clone())
}

/// Returns the name of the first of some columns of a table with a usual name for it whose cells, not all the same, each name a
/// split.
///
/// # Errors
/// A table that cannot be read.
pub(super) fn splits_named_in(path: &Path, columns: &[String]) -> Result<Option<String>, Error> {
    let names: Vec<&str> =
        columns.iter().map(String::as_str).filter(|name| names_splits(name)).collect();
    if names.is_empty() {
        return Ok(None);
    }
    let options = TableOptions { on_bad_row: OnBadRow::Skip, ..TableOptions::default() };
    let table = Table::read_with(path, &names, options)?;
    for name in names {
        let cells = table.column(name)?;
        let differ = cells.iter().any(|cell| *cell != cells[0]);
        if differ && SplitColumn::read(name, &table).is_ok() {
            return Ok(Some(name.to_owned()));
        }
    }
    Ok(None)
}

impl SplitColumn {
    /// Counts the rows of each split in a table from a file.
    ///
    /// # Errors
    /// A column that is missing; a cell that names no split, with its line; no row for training.
    fn read(name: &str, table: &Table) -> Result<Self, Error> {
        let cells = table.column(name)?;
        let splits = SplitName::of_cells(cells).map_err(|row| {
            let found = format!("{name:?}, with {:?} on line {}", cells[row], table.line(row));
            let allowed =
                "a column of train, validation (valid, val, dev) and test, in each row one";
            Error::value(Argument::new("split"), found, allowed)
        })?;
        let count = |split: SplitName| splits.iter().filter(|&&other| other == split).count();
        let training = count(SplitName::Train);
        let sizes = [SplitName::Validation, SplitName::Test].map(count);
        let found = format!("{name:?}, without a row for training");
        ensure(training > 0, Argument::new("split"), found, "a column with rows for training")?;
        Ok(Self { name: name.to_owned(), sizes })
    }
}

impl Division {
    /// Returns the division that the caller chooses of a table with these columns. Of a random one, rows stay together that repeat a
    /// molecule, a text or an id, or where few molecules are outputs, an input. Where files or a column have both splits, rows
    /// belong together if training rows repeat an input.
    pub(super) fn choose(
        choices: &Choices,
        (rows, table): (&Table, &Path),
        columns: &[Column],
        [input, output]: [&Column; 2],
    ) -> Result<Self, Error> {
        let group = match choices.split.as_deref() {
            None | Some("random") => kept_together(rows, input, output)?,
            Some("scaffold") => {
                let allowed = "random, or a column: neither inputs nor outputs are SMILES";
                let molecules =
                    [input, output].iter().any(|column| column.kind == ColumnKind::Smiles);
                if !molecules {
                    return Err(Error::value(Argument::new("split"), "scaffold", allowed));
                }
                Some("scaffold".to_owned())
            }
            Some(name) if name.starts_with(NAMED) => kept_together(rows, input, output)?,
            Some(name) => {
                if !columns.iter().any(|column| column.name == name) {
                    let names: Vec<String> =
                        columns.iter().map(|column| column.name.clone()).collect();
                    let allowed =
                        format!("random, scaffold, column=NAME, or one of {}", list(&names));
                    return Err(Error::value(Argument::new("split"), name, allowed));
                }
                Some(name.to_owned())
            }
        };
        let named = |key: &'static str, file: &Option<PathBuf>| {
            file.as_ref().map(|file| below(key, file, table)).transpose()
        };
        let validation = named("validation", &choices.validation)?;
        let test = named("test", &choices.test)?;
        let column = split_column(choices).map(|name| SplitColumn::read(name, rows)).transpose()?;
        if let (Some(column), Some(file)) = (&column, validation.as_ref().or(test.as_ref())) {
            let found = format!("column={:?}, with the file {file:?}", column.name);
            let allowed = "a column that names the splits, or files for them";
            return Err(Error::value(Argument::new("split"), found, allowed));
        }
        let is_drawn = column.is_none() && (validation.is_none() || test.is_none());
        let splits = column.as_ref().map(|column| column.name.as_str());
        // where nothing is drawn, a rule says which training rows are held out together: those of one input, since held-out pairs
        // may have outputs of training pairs, and rows that outputs connect may be all rows
        let is_of_use = is_drawn || inputs_repeat(rows, &input.name, splits)?;
        let has_outputs = matches!(output.kind, ColumnKind::Smiles | ColumnKind::Texts);
        let of_rule = |group: String| {
            if group == "repeats" && !is_drawn && has_outputs { input.name.clone() } else { group }
        };
        let group = group.filter(|_| is_of_use).map(of_rule);
        Ok(Self { group, column, validation, test })
    }

    /// Returns the number of validation and of test pairs that are drawn, where `size` are of a split without a file.
    pub(super) fn sizes(&self, size: usize) -> [usize; 2] {
        if let Some(column) = &self.column {
            return column.sizes;
        }
        [&self.validation, &self.test].map(|file| if file.is_some() { 0 } else { size })
    }
}

/// Returns the rule that keeps rows together that repeat a molecule, a text or an id, or where few molecules are outputs, or rows
/// connect too many of them, an input; none where inputs are few.
fn kept_together(table: &Table, input: &Column, output: &Column) -> Result<Option<String>, Error> {
    let is_varied = |column: &Column| column.distinct >= VARIED;
    if !is_varied(input) {
        return Ok(None);
    }
    let are_molecules = output.kind == ColumnKind::Smiles;
    // without the outputs, whose groups may be larger than a split
    if are_molecules && (!is_varied(output) || are_connected(table, [input, output])?) {
        return Ok((input.distinct < input.filled).then(|| input.name.clone()));
    }
    Ok(Some("repeats".to_owned()))
}

/// Returns the number of pairs of a split that is drawn from so many: a tenth, at most 2,000.
pub(super) fn size_of_split(pairs: usize) -> usize {
    (pairs / 10).clamp(1, 2000)
}

/// Returns whether rows that are connected, by the same cell in one of two columns, are too many for the splits for validation and
/// test: all groups that fit into one do not fill both.
fn are_connected(table: &Table, columns: [&Column; 2]) -> Result<bool, Error> {
    let [first, second] = columns.map(|column| table.column(&column.name).map(groups_of_cells));
    let rows = table.len();
    let groups = connected(rows, &[&first?, &second?]);
    let split = size_of_split(rows);
    let in_small_groups: usize = groups.iter().map(Vec::len).filter(|&size| size <= split).sum();
    Ok(in_small_groups < 2 * split)
}

/// Returns whether some training rows have the same text or molecule as input; `splits` is the column that names the split of
/// each row, and without one all rows train.
fn inputs_repeat(table: &Table, input: &str, splits: Option<&str>) -> Result<bool, Error> {
    let splits = splits.map(|name| table.column(name)).transpose()?;
    let is_training = |row: usize| {
        let names_training =
            |cells: &[String]| SplitName::of_cell(&cells[row]) == Some(SplitName::Train);
        splits.is_none_or(names_training)
    };
    let rows = table.column(input)?.iter().enumerate();
    let training = rows.filter(|&(row, _)| is_training(row));
    let texts: Vec<&str> = training.map(|(_, cell)| cell.as_str()).collect();
    let numbers = text_numbers(&[texts]);
    let mut seen = HashSet::new();
    Ok(numbers.into_iter().flatten().flatten().any(|number| !seen.insert(number)))
}

/// Returns the name of a file below the folder of the table.
fn below(key: &'static str, file: &Path, table: &Path) -> Result<String, Error> {
    let canonical = std::fs::canonicalize(file).map_err(Error::io(file))?;
    let home = table.parent().unwrap_or(Path::new("/"));
    let Ok(name) = canonical.strip_prefix(home) else {
        let allowed = format!("a file in {} or below it, where the table is", home.display());
        return Err(Error::value(Argument::new(key), file.display(), allowed));
    };
    Ok(name.to_string_lossy().into_owned())
}

/// Returns whether a column of ids has different ones in all of these files and the table.
pub(super) fn ids_differ(table: &Table, id: &str, files: &[&Option<PathBuf>]) -> bool {
    let Ok(ids) = table.column(id) else { return false };
    let mut seen: HashSet<String> = ids.iter().cloned().collect();
    files.iter().filter_map(|file| file.as_ref()).all(|file| {
        let options = TableOptions { on_bad_row: OnBadRow::Skip, ..TableOptions::default() };
        let Ok(other) = Table::read_with(file, &[id], options) else { return false };
        other.column(id).is_ok_and(|ids| ids.iter().all(|id| seen.insert(id.clone())))
    })
}
