//! Rows that belong together: those with one molecule, text or id, with one scaffold, with one value of a column.

use std::collections::{HashMap, HashSet};

use dsokr_basis::RowSource;
use dsokr_basis::features::distinct;
use dsokr_core::message::shorten;
use dsokr_core::{Cancellation, grouped};
use dsokr_molecule::Molecule;
use rayon::prelude::*;

use crate::cells;
use crate::error::Error;
use crate::output_features::OutputFeatures;
use crate::outputs::OutputSource;
use crate::table::Table;

/// The fewest different inputs or molecules of a table of which rows that repeat one are kept together: with fewer, a group may
/// be larger than a split.
pub const VARIED: usize = 20;

/// Rows that repeat a molecule, a text, a vector or an id.
const REPEATS: &str = "repeats";

/// Rows with the same molecule, whatever its configuration.
const MOLECULE: &str = "molecule";

/// The names of the rule that groups rows whose molecules have the same scaffold. Older configurations have the second
/// name.
const SCAFFOLD: [&str; 2] = ["scaffold", "skeleton"];

/// A rule that says which rows belong together, as configurations write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupRule<'a> {
    /// Rows that have a molecule, a text, a vector of inputs or an id in common, directly or through other rows.
    Repeats,
    /// Rows with the same molecule, apart from marks of its configuration.
    Molecule,
    /// Rows whose molecules have the same scaffold.
    Scaffold,
    /// Rows with the same value of a column.
    Column(&'a str),
}

impl<'a> GroupRule<'a> {
    /// Creates the rule with this name; any other text is the name of a column.
    pub fn named(name: &'a str) -> Self {
        if name == REPEATS {
            Self::Repeats
        } else if name == MOLECULE {
            Self::Molecule
        } else if SCAFFOLD.contains(&name) {
            Self::Scaffold
        } else {
            Self::Column(name)
        }
    }

    /// Returns the column whose values are the groups.
    pub fn column(self) -> Option<&'a str> {
        if let Self::Column(name) = self { Some(name) } else { None }
    }
}

/// The columns of a table that say which of its rows belong together.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupColumns<'a> {
    /// Ids that the rows of one thing share; not the numbers of the rows.
    pub ids: Vec<&'a str>,
    /// The texts that inputs are.
    pub input: Option<&'a str>,
    /// Whether inputs are vectors of numbers or bits.
    pub has_vectors: bool,
    /// The molecules or texts that outputs are.
    pub outputs: Vec<&'a str>,
    /// The one of them that holds molecules.
    pub molecule: Option<&'a str>,
}

impl<'a> GroupColumns<'a> {
    /// Creates the columns of outputs that are molecules, or texts of whose n-grams features are counts. Sets of
    /// labels, rankings and numbers are equal by chance.
    pub fn of_outputs(outputs: &OutputSource<'a>) -> Self {
        let mut columns = Vec::new();
        for &features in outputs.kernels() {
            let texts = matches!(features, OutputFeatures::Ngrams(_));
            let column = features.column().filter(|_| texts || features.are_molecules());
            columns.extend(column.filter(|column| !columns.contains(column)));
        }
        let molecule = outputs.molecule_column().ok();
        Self { outputs: columns, molecule, ..Self::default() }
    }

    /// Returns the groups of the rows of a table by a rule, in the order of their first rows. `vectors` has the input of
    /// each row, where inputs are vectors and the rule compares them. `key` is the key of the rule in the configuration,
    /// for messages.
    ///
    /// # Errors
    /// A column that was not read; a cell that should be a molecule and is not; errors from reading the vectors.
    pub fn groups(
        &self,
        table: &Table,
        vectors: Option<&dyn RowSource>,
        rule: GroupRule,
        key: &str,
    ) -> Result<Vec<Vec<usize>>, Error> {
        match rule {
            GroupRule::Column(name) => {
                let cells = table.column(name)?;
                log_cells_without_value(cells, key);
                Ok(groups_of_cells(cells))
            }
            GroupRule::Repeats => self.repeats(table, vectors),
            GroupRule::Molecule => {
                let canonical = |molecule: Molecule| molecule.without_stereo().canonical_smiles();
                Ok(grouped(&self.keys_of_molecules(table, key, MOLECULE, canonical)?))
            }
            GroupRule::Scaffold => {
                Ok(grouped(&self.keys_of_molecules(table, key, SCAFFOLD[0], scaffold)?))
            }
        }
    }

    /// Returns the groups of the rows of a table that need not have all columns, as of queries, in the order of their first
    /// rows, by the columns that it has; none where it lacks what a rule is about.
    ///
    /// # Errors
    /// As [`groups`](Self::groups).
    pub fn groups_of_queries(
        &self,
        table: &Table,
        vectors: Option<&dyn RowSource>,
        rule: GroupRule,
        key: &str,
    ) -> Result<Option<Vec<Vec<usize>>>, Error> {
        let has = |column: &str| table.column(column).is_ok();
        let mut columns = self.clone();
        columns.ids.retain(|column| has(column));
        columns.outputs.retain(|column| has(column));
        columns.input = self.input.filter(|column| has(column));
        let is_known = match rule {
            GroupRule::Repeats => true,
            GroupRule::Molecule | GroupRule::Scaffold => {
                self.molecule.or(self.input).is_some_and(has)
            }
            GroupRule::Column(name) => has(name),
        };
        is_known.then(|| columns.groups(table, vectors, rule, key)).transpose()
    }

    /// Returns rows that have an id, an input or an output in common, and rows that are connected by such rows. Two
    /// SMILES of one molecule are the same input or output, and so are vectors of equal numbers, where at least
    /// [`VARIED`] differ. Empty cells have nothing in common.
    fn repeats(
        &self,
        table: &Table,
        vectors: Option<&dyn RowSource>,
    ) -> Result<Vec<Vec<usize>>, Error> {
        let mut joined = Joined::new(table.len());
        if let Some(vectors) = vectors {
            let equal = distinct(vectors)?;
            // fewer are like classes, such as doses, and say nothing of what a row is about
            let is_varied = equal.representative.len() >= VARIED;
            let classes = if is_varied { &equal.class[..] } else { &[] };
            for (row, &class) in classes.iter().enumerate() {
                joined.unite(equal.representative[class as usize], row);
            }
        }
        for id in &self.ids {
            joined.join(table.column(id)?);
        }
        for column in self.outputs.iter().chain(&self.input) {
            // behind a SMILES there may be a name
            let is_molecule = self.molecule == Some(*column);
            let cells = table.column(column)?.iter();
            let texts: Vec<&str> = cells
                .map(|cell| match cell.split_whitespace().next() {
                    Some(smiles) if is_molecule => smiles,
                    Some(_) | None => cell.trim(),
                })
                .collect();
            joined.join(&match table.molecules(column) {
                // a cell that is no SMILES may have one in its text
                Some(molecules) => {
                    let read = molecules.iter().zip(&texts);
                    let molecules: Vec<Option<u64>> =
                        read.map(|(number, text)| number.or_else(|| connectivity(text))).collect();
                    keys_of_texts(&texts, &molecules)
                }
                None => molecule_keys(&texts),
            });
        }
        Ok(joined.sets())
    }

    /// Returns a key for the molecule of each row: the molecule of the output, or else that of the input.
    fn keys_of_molecules<K: Send>(
        &self,
        table: &Table,
        key: &str,
        rule: &str,
        key_of: impl Fn(Molecule) -> K + Sync,
    ) -> Result<Vec<K>, Error> {
        let Some(column) = self.molecule.or(self.input) else {
            let allowed = "absent, or with molecules as outputs or as inputs";
            return Err(Error::value(key, format!("{rule:?}"), allowed));
        };
        keys_of_molecules(table.column(column)?, key, rule, key_of)
    }
}

/// Returns the groups of rows with equal cells, in the order of their first rows. A cell without a value says nothing of its
/// row, which is a group of its own.
///
/// ```
/// let cells = ["a", "b", "", "a", ""].map(str::to_owned);
/// assert_eq!(dsokr_data::groups_of_cells(&cells), [vec![0, 3], vec![1], vec![2], vec![4]]);
/// ```
pub fn groups_of_cells(cells: &[String]) -> Vec<Vec<usize>> {
    let key = |row: usize| {
        let cell = cells[row].as_str();
        if cells::is_missing(cell) { (None, row) } else { (Some(cell), 0) }
    };
    let keys: Vec<(Option<&str>, usize)> = (0..cells.len()).map(key).collect();
    grouped(&keys)
}

/// Says how many rows have no value in the column of groups that `key` names, if there are some.
pub(crate) fn log_cells_without_value(cells: &[String], key: &str) {
    let count = cells.iter().filter(|cell| cells::is_missing(cell)).count();
    if count > 0 {
        let all = cells.len();
        tracing::info!(
            "{key}: {count} of {all} rows have no value in the column, and each of them is a group of its own"
        );
    }
}

/// Returns a key for each molecule. Behind its SMILES there may be more of the same one.
pub(crate) fn keys_of_molecules<K: Send>(
    cells: &[impl AsRef<str> + Sync],
    key: &str,
    rule: &str,
    key_of: impl Fn(Molecule) -> K + Sync,
) -> Result<Vec<K>, Error> {
    let stage = Cancellation::current().stage("molecules of the rows", cells.len());
    let read = |cell: &str| {
        stage.advance(1)?;
        let smiles = cells::smiles(cell);
        Molecule::parse(smiles).map(&key_of).map_err(|reason| {
            let allowed = "absent, or with molecules as outputs or as inputs";
            let found = format!("{rule:?}, with {:?}: {reason}", shorten(smiles));
            Error::value(key, found, allowed)
        })
    };
    // a parallel collection into a `Result` would give any thread's error
    let keys: Vec<Result<K, Error>> = cells.par_iter().map(|cell| read(cell.as_ref())).collect();
    keys.into_iter().collect()
}

/// Returns a number that molecules of one Bemis-Murcko scaffold share; molecules without rings have one too.
pub(crate) fn scaffold(molecule: Molecule) -> u64 {
    molecule.skeleton().invariant()
}

/// Returns the canonical SMILES of a text that is one, else the text without white space around it: equal for two
/// SMILES of one molecule.
pub fn canonical(text: &str) -> String {
    let text = text.trim();
    molecule(text).map_or_else(|| text.to_owned(), |molecule| molecule.canonical_smiles())
}

/// Returns the molecule that a text is a SMILES of; sentences are not parsed.
fn molecule(text: &str) -> Option<Molecule> {
    if text.contains(char::is_whitespace) { None } else { Molecule::parse(text).ok() }
}

/// Returns keys of texts, equal for equal texts and for two SMILES of one molecule.
pub(crate) fn molecule_keys(texts: &[&str]) -> Vec<String> {
    let stage = Cancellation::current().stage("molecules of the rows", texts.len());
    let number = |text: &&str| {
        stage.count(1);
        connectivity(text)
    };
    let molecules: Vec<Option<u64>> = texts.par_iter().map(number).collect();
    drop(stage);
    keys_of_texts(texts, &molecules)
}

/// Returns the connectivity of the molecule that a text is a SMILES of.
fn connectivity(text: &str) -> Option<u64> {
    molecule(text).map(|molecule| molecule.connectivity())
}

/// Returns the [keys](molecule_keys) of texts, of which each has the [connectivity](Molecule::connectivity) of its molecule where it
/// is a SMILES. A molecule that is connected as no molecule of a different text is needs no canonical SMILES, which takes far more
/// time than to read it.
fn keys_of_texts(texts: &[&str], molecules: &[Option<u64>]) -> Vec<String> {
    let mut first_text: HashMap<u64, &str> = HashMap::with_capacity(texts.len());
    let mut written_twice = HashSet::new();
    for (&text, number) in texts.iter().zip(molecules) {
        let Some(number) = *number else { continue };
        if *first_text.entry(number).or_insert(text) != text {
            written_twice.insert(number);
        }
    }
    let key = |(&text, number): (&&str, &Option<u64>)| match number {
        Some(number) if written_twice.contains(number) => canonical(text),
        Some(_) | None => text.to_owned(),
    };
    texts.par_iter().zip(molecules).map(key).collect()
}

/// Sets of rows that are connected.
struct Joined {
    /// A row before each one in its set; the first row of a set has itself.
    before: Vec<usize>,
}

impl Joined {
    fn new(rows: usize) -> Self {
        Self { before: (0..rows).collect() }
    }

    /// Returns the first row of the set of a row.
    fn first(&mut self, mut row: usize) -> usize {
        while self.before[row] != row {
            // the path is halved on the way
            self.before[row] = self.before[self.before[row]];
            row = self.before[row];
        }
        row
    }

    /// Joins the sets of rows with equal values; empty values are not compared.
    fn join(&mut self, values: &[String]) {
        let mut seen: HashMap<&str, usize> = HashMap::with_capacity(values.len());
        for (row, value) in values.iter().enumerate().filter(|(_, value)| !value.trim().is_empty())
        {
            let other = *seen.entry(value.trim()).or_insert(row);
            self.unite(other, row);
        }
    }

    /// Joins the sets of two rows.
    fn unite(&mut self, one: usize, other: usize) {
        let ends = [self.first(one), self.first(other)];
        let [least, most] = [ends[0].min(ends[1]), ends[0].max(ends[1])];
        self.before[most] = least;
    }

    /// Returns the sets, in the order of their first rows.
    fn sets(mut self) -> Vec<Vec<usize>> {
        let firsts: Vec<usize> = (0..self.before.len()).map(|row| self.first(row)).collect();
        grouped(&firsts)
    }
}

/// Returns the groups of so many rows that are connected by groups of several kinds, in the order of their first rows.
///
/// ```
/// let colours = vec![vec![0, 1], vec![2], vec![3]];
/// let sizes = vec![vec![1, 2]];
/// assert_eq!(dsokr_data::connected(4, &[&colours, &sizes]), [vec![0, 1, 2], vec![3]]);
/// ```
///
/// # Panics
/// For a row that is not below `rows`.
pub fn connected(rows: usize, kinds: &[&[Vec<usize>]]) -> Vec<Vec<usize>> {
    let mut joined = Joined::new(rows);
    for group in kinds.iter().copied().flatten() {
        group.windows(2).for_each(|pair| joined.unite(pair[0], pair[1]));
    }
    joined.sets()
}

/// Returns the rows in the order given, but with the rows of a group together where its first row is. Then each of two
/// parts is filled with the groups that fit into what is left of its size, the first part first. The third part is the
/// rest. If every group is a single row, the parts are the first rows, the next ones, and the others.
pub(crate) fn in_parts(
    order: &[usize],
    groups: &[Vec<usize>],
    sizes: [usize; 2],
) -> [Vec<usize>; 3] {
    let mut group_of = vec![0; order.len()];
    for (number, rows) in groups.iter().enumerate() {
        rows.iter().for_each(|&row| group_of[row] = number);
    }
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); groups.len()];
    let mut numbers = Vec::with_capacity(groups.len());
    for &row in order {
        let number = group_of[row];
        if members[number].is_empty() {
            numbers.push(number);
        }
        members[number].push(row);
    }
    let [mut first, mut second, mut rest] = [const { Vec::new() }; 3];
    for rows in numbers.into_iter().map(|number| std::mem::take(&mut members[number])) {
        if first.len() + rows.len() <= sizes[0] {
            first.extend(rows);
        } else if second.len() + rows.len() <= sizes[1] {
            second.extend(rows);
        } else {
            rest.extend(rows);
        }
    }
    [first, second, rest]
}
