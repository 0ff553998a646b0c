//! The inputs of pairs in tables: texts of a column, or rows of files that a column names.

use std::collections::HashMap;
use std::sync::Arc;

use dsokr_basis::features::{DenseRows, Features, RowSource};
use dsokr_core::message::shorten;
use dsokr_core::random::{generator, hash};
use dsokr_core::rounding::Rounding;
use dsokr_core::store::check_inside;
use dsokr_molecule::Molecule;
use dsokr_molecule::graph::NamedGraph;
use faer::Mat;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use smart_default::SmartDefault;

use super::{PairFacts, Wanted};
use crate::cells::{self, NumberNotation};
use crate::error::{Error, check};
use crate::feature_file::{check_row_count, read_features, read_training_features};
use crate::inputs::{InputKind, Inputs, KernelRows};
use crate::joined::shown;
use crate::kinds;
use crate::npy::read_rounded;
use crate::output_features::{doubtful_thousands, graphs, graphs_memory, vectors};
use crate::root::DataRoot;
use crate::rounding::check_rounding;
use crate::table::{Table, unique_ids};
use crate::truth::{bad, bad_rows, column};
use crate::vectors::Vectors;

/// Relative roundings by which two sums of the same products may differ.
const ROUNDINGS: f64 = 8.0;

/// The inputs of the rows of tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum InputsConfig {
    /// A column of texts; the default.
    #[default]
    Text(TextConfig),
    /// Feature vectors, for encoders that read no text.
    Features(FeatureInputsConfig),
    /// Graphs of a file, for kernel machines.
    Graphs(GraphInputsConfig),
    /// Kernels that were computed elsewhere, for kernel machines.
    Kernels(KernelInputsConfig),
}

impl InputsConfig {
    /// Reads a table; without a `kind`, texts are meant.
    pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        kinds::tagged(deserializer, "kind", "text", &[])
    }
}

/// A feature vector for each id: rows of a matrix of numbers or bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FeatureInputsConfig {
    /// Table whose rows the matrix follows.
    pub table: String,
    /// Column of the ids there.
    #[serde(default = "super::id")]
    pub id: String,
    /// The matrix, a .safetensors or .npy file, or a .npz file of a sparse one.
    pub file: String,
    /// Name of the tensor; may be left out if the file has one.
    pub key: Option<String>,
    /// Whether the rows are packed bits, eight a byte, the most significant first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub packed: bool,
}

/// Graphs, which are texts where they are queries: a JSON object each, as on a line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphInputsConfig {
    /// JSON lines (.jsonl) with a graph each, or a folder in the layout of the TUDataset collection.
    pub file: String,
    /// Column of the tables of pairs that names the graph.
    pub column: String,
}

/// Kernel matrices of the inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelInputsConfig {
    /// Table whose rows the matrices follow, in rows and columns: all inputs, of all splits.
    pub table: String,
    /// Table whose rows their columns follow: anchors among the inputs. Every solver's solutions are then sums over
    /// anchors, as of a sketched one (SIOKR, SISOKR); weights of kernels are found on at most 1,500 pairs, with kernels
    /// projected on the anchors.
    pub anchors: Option<String>,
    /// Column of the inputs' ids in both.
    #[serde(default = "super::id")]
    pub id: String,
    /// Column of the tables of pairs that names the input, by such an id.
    pub column: String,
    /// The matrices, .npy files of numbers: symmetric and positive semi-definite, of inputs or of anchors. Where numbers of 32
    /// or 16 bits differ across the diagonal by their rounding, their mean is taken.
    pub files: Vec<String>,
}

impl InputsConfig {
    /// Returns the table, and the files that follow it with their key; none of texts.
    fn files(&self) -> Option<(&str, &'static str, &[String])> {
        match self {
            Self::Text(_) | Self::Graphs(_) => None,
            Self::Features(FeatureInputsConfig { table, file, .. }) => {
                Some((table, "data.inputs.file", std::slice::from_ref(file)))
            }
            Self::Kernels(KernelInputsConfig { table, files, .. }) => {
                Some((table, "data.inputs.files", files))
            }
        }
    }

    pub(super) fn validate(&self) -> Result<(), Error> {
        if let Self::Graphs(GraphInputsConfig { file, .. }) = self {
            check_inside("data.inputs.file", file)?;
        }
        let Some((table, key, files)) = self.files() else { return Ok(()) };
        check_inside("data.inputs.table", table)?;
        if let Self::Kernels(KernelInputsConfig { anchors: Some(anchors), .. }) = self {
            check_inside("data.inputs.anchors", anchors)?;
        }
        check(!files.is_empty(), key, "[]", "at least one file")?;
        Ok(files.iter().try_for_each(|file| check_inside(key, file))?)
    }

    /// Returns bytes that reading the files takes, by the keys that determine them.
    pub(super) fn memory(&self, root: &DataRoot) -> Vec<(&'static str, f64)> {
        let bytes = match self {
            Self::Text(_) => return Vec::new(),
            Self::Graphs(GraphInputsConfig { file, .. }) => {
                return vec![("data.inputs.file", graphs_memory(&root.file(file)))];
            }
            Self::Features(FeatureInputsConfig { file, packed, .. }) => {
                root.features(file, *packed)
            }
            // the matrix, and its rows and columns of the pairs
            Self::Kernels(KernelInputsConfig { files, .. }) => {
                files.iter().map(|name| root.matrix(name, 16.0)).sum()
            }
        };
        let Some((table, key, _)) = self.files() else { return Vec::new() };
        vec![("data.inputs.table", root.size(table)), (key, bytes)]
    }

    /// Returns the facts of pairs with such inputs.
    pub(super) fn facts<'a>(&'a self, facts: PairFacts<'a>) -> PairFacts<'a> {
        match self {
            Self::Text(text) => PairFacts { texts: Some(text), inputs: text.kind(), ..facts },
            Self::Graphs(GraphInputsConfig { file, .. }) => {
                PairFacts { graphs: Some(file), ..facts }
            }
            Self::Features(FeatureInputsConfig { packed, .. }) => {
                PairFacts { inputs: InputKind::Vectors, packed: *packed, ..facts }
            }
            Self::Kernels(KernelInputsConfig { files, .. }) => {
                PairFacts { inputs: InputKind::Kernels, kernel_files: files, ..facts }
            }
        }
    }

    /// Returns the table without the rows whose input cannot be read, where such rows are skipped.
    pub(super) fn good_rows(&self, table: Table) -> Result<Table, Error> {
        match self {
            Self::Text(texts) => texts.good_rows(table),
            Self::Features(_) | Self::Graphs(_) | Self::Kernels(_) => Ok(table),
        }
    }

    /// Returns the column whose cells are vectors of numbers.
    pub(super) fn column_of_numbers(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&*text.column).filter(|_| text.numbers),
            Self::Features(_) | Self::Graphs(_) | Self::Kernels(_) => None,
        }
    }

    /// Refuses numbers of training inputs that 32 bits do not tell apart.
    pub(super) fn check_rounding(&self, tables: &[&Table]) -> Result<(), Error> {
        match self {
            Self::Text(texts) => texts.check_rounding(tables),
            Self::Features(_) | Self::Graphs(_) | Self::Kernels(_) => Ok(()),
        }
    }

    /// Returns the column of a table of pairs that has the inputs or their names; `id` is the column of the outputs'
    /// ids.
    pub(super) fn column<'a>(&'a self, id: &'a str) -> &'a str {
        match self {
            Self::Text(text) => &text.column,
            Self::Features(_) => id,
            Self::Graphs(GraphInputsConfig { column, .. })
            | Self::Kernels(KernelInputsConfig { column, .. }) => column,
        }
    }

    /// Reads the files, if there are any, and gives what reads the inputs that are in the `column` of a table, or that
    /// it names; `training` finds the rows of the training inputs, which only kernels need.
    pub(super) fn reader<'a>(
        &'a self,
        column: &'a str,
        wanted: &Wanted,
        training: impl FnOnce(&RowIndex) -> Result<Vec<usize>, Error>,
    ) -> Result<InputReader<'a>, Error> {
        Ok(match self {
            Self::Text(config) => config.reader(wanted.seed),
            Self::Graphs(config) => {
                let path = wanted.root()?.file(&config.file);
                Box::new(move |table| {
                    let graphs = graphs(&path, table, column)?;
                    Ok(Inputs::Texts(graphs.iter().map(NamedGraph::json_line).collect()))
                })
            }
            Self::Features(config) => {
                let index = RowIndex::read(&config.table, &config.id, wanted)?;
                let path = wanted.root()?.file(&config.file);
                let read = if wanted.for_training { read_training_features } else { read_features };
                let all = read(&path, config.key.as_deref(), config.packed)?;
                check_row_count(&all, &path, &index.table)?;
                let all: Arc<dyn RowSource> = all.into();
                Box::new(move |table| {
                    let rows = index.of(table, column)?;
                    Ok(Inputs::Vectors(Vectors::of_rows(&all, rows)?))
                })
            }
            Self::Kernels(config) => config.reader(column, wanted, training)?,
        })
    }
}

impl KernelInputsConfig {
    /// Reads the matrices, and gives what reads the rows of them that the `column` of a table names.
    fn reader<'a>(
        &'a self,
        column: &'a str,
        wanted: &Wanted,
        training: impl FnOnce(&RowIndex) -> Result<Vec<usize>, Error>,
    ) -> Result<InputReader<'a>, Error> {
        let index = RowIndex::read(&self.table, &self.id, wanted)?;
        let root = wanted.root()?;
        let id = &self.id;
        let anchors = self.anchors.as_ref().map(|file| Table::read(&root.file(file), &[id]));
        let anchors = anchors.transpose()?;
        let followed = [&index.table, anchors.as_ref().unwrap_or(&index.table)];
        let read = |name: &String| {
            let path = root.file(name);
            let (mut matrix, rounding) = read_rounded(&path)?;
            let [of_rows, of_columns] = followed;
            if matrix.nrows() != of_rows.len() {
                let rows = matrix.nrows();
                return Err(Error::row_count(&path, rows, of_rows.path(), of_rows.len()));
            }
            if matrix.ncols() != of_columns.len() {
                let columns = matrix.ncols();
                let table = of_columns.path().display();
                let rows = of_columns.len();
                let hint = if anchors.is_none() {
                    "; data.inputs.anchors is the table whose rows the columns follow"
                } else {
                    ""
                };
                let message = format!("{columns} columns, but {table} has {rows} rows{hint}");
                return Err(Error::file(&path, message));
            }
            if anchors.is_none() {
                make_symmetric(&mut matrix, rounding);
            }
            Ok((matrix, rounding))
        };
        let of_files = self.files.iter().map(read).collect::<Result<Vec<_>, Error>>()?;
        let (matrices, roundings): (Vec<_>, Vec<_>) = of_files.into_iter().unzip();
        let places = anchors.map(|table| index.of(&table, id)).transpose()?;
        let training = match &places {
            Some(anchors) => (0..anchors.len()).collect(),
            None => training(&index)?,
        };
        let values = move |rows: &[usize]| -> Vec<Mat<f64>> {
            let value = |matrix: &Mat<f64>, i: usize, j: usize| matrix[(rows[i], training[j])];
            let part =
                |matrix| Mat::from_fn(rows.len(), training.len(), |i, j| value(matrix, i, j));
            matrices.iter().map(part).collect()
        };
        let mut anchors = places.map(|rows| values(&rows)).unwrap_or_default();
        for (matrix, &rounding) in anchors.iter_mut().zip(&roundings) {
            make_symmetric(matrix, rounding);
        }
        Ok(Box::new(move |table| {
            let rows = index.of(table, column)?;
            let matrices = values(&rows);
            let anchors = anchors.clone();
            Ok(Inputs::Kernels(KernelRows { matrices, anchors }))
        }))
    }
}

/// Gives elements on both sides of the diagonal of a square matrix their mean where they differ by a few roundings of the
/// largest element.
fn make_symmetric(matrix: &mut Mat<f64>, rounding: f64) {
    let values = matrix.col_iter().flat_map(|column| column.iter());
    let largest = values.fold(0.0f64, |largest, value| largest.max(value.abs()));
    let tolerance = ROUNDINGS * rounding * largest;
    for column in 0..matrix.ncols() {
        for row in 0..column {
            let [above, below] = [matrix[(row, column)], matrix[(column, row)]];
            if (above - below).abs() <= tolerance {
                let mean = 0.5 * (above + below);
                matrix[(row, column)] = mean;
                matrix[(column, row)] = mean;
            }
        }
    }
}

/// Reads the inputs of a table's pairs; it may take their column out of the table.
pub(super) type InputReader<'a> = Box<dyn Fn(&mut Table) -> Result<Inputs, Error> + 'a>;

/// The row of each id in a table that feature files follow.
pub(super) struct RowIndex {
    table: Table,
    rows: HashMap<String, usize>,
}

impl RowIndex {
    /// Reads the table, whose ids may not repeat and whose rows are never skipped.
    fn read(table: &str, id: &str, wanted: &Wanted) -> Result<Self, Error> {
        let table = Table::read(&wanted.root()?.file(table), &[id]);
        let table = table.map_err(|error| wanted.on_bad_row.refusal(error))?;
        let rows = unique_ids(&table, id)?.into_iter();
        Ok(Self { rows: rows.map(|(id, row)| (id.to_owned(), row)).collect(), table })
    }

    /// Returns the row of each id in a column of a different table.
    pub(super) fn of(&self, table: &Table, column: &str) -> Result<Vec<usize>, Error> {
        let what = format!("the rows of {}", self.table.path().display());
        table.places(column, &self.rows, what)?.collect()
    }

    /// Returns the row of each id of a column of several tables, table by table.
    pub(super) fn of_all(&self, tables: &[Table], column: &str) -> Result<Vec<usize>, Error> {
        let rows = tables.iter().map(|table| self.of(table, column));
        Ok(rows.collect::<Result<Vec<_>, Error>>()?.concat())
    }
}

/// A column of texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct TextConfig {
    /// The column. In a .csv or .tsv file `"FIRST..LAST"` is the columns from one to the other, with a space between
    /// their cells. A row whose text says that there is none, such as `NA`, is skipped where `data.on_bad_row` is `"skip"`.
    #[default("description".into())]
    pub column: String,
    /// Whether each text is a vector, for encoders that read no text: numbers with spaces or commas between, or a list in
    /// brackets, as many as in most rows.
    pub numbers: bool,
    /// Whether each text must be a SMILES. Names of molecules and extensions behind one are left out, and a row with
    /// any other text is one that cannot be read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub smiles: bool,
    /// The number of further SMILES that are put behind each text, with a space between, where texts are SMILES. They
    /// describe the same molecule with its atoms in a different order, drawn from the seed and the text. What an n-gram
    /// cannot see in one of them, it may see in a different one.
    pub more_smiles: usize,
}

impl TextConfig {
    pub(super) fn validate(&self) -> Result<(), Error> {
        let (most, allowed) =
            if self.numbers { (0, "0: texts are numbers") } else { (64, "0 to 64") };
        check(self.more_smiles <= most, "data.inputs.more_smiles", self.more_smiles, allowed)?;
        let both = self.numbers && self.smiles;
        check(!both, "data.inputs.smiles", true, "false: texts are numbers")
    }

    /// Returns the kind of the inputs.
    pub(super) fn kind(&self) -> InputKind {
        if self.numbers { InputKind::Vectors } else { InputKind::Texts }
    }

    /// Returns the table without the rows whose texts should be SMILES or numbers and are not, or say that there is no text, where
    /// such rows are skipped. An empty text is a text.
    pub(crate) fn good_rows(&self, mut table: Table) -> Result<Table, Error> {
        if self.smiles {
            table.shorten_cells(&self.column, cells::smiles)?;
        }
        let plain = NumberNotation::default();
        if self.numbers
            && let Some(found) = doubtful_thousands(&table, &self.column, &plain)
        {
            let path = table.path().display();
            tracing::warn!("{path}: {found}; write decimals with a point if both are before them");
        }
        // where more SMILES are written, they are made of molecules that are read then
        if self.are_smiles() && self.more_smiles == 0 {
            table.read_molecules(&self.column)?;
        }
        if !table.skips_rows() {
            return Ok(table);
        }
        if self.numbers {
            let wrong = bad(vectors(&table, &self.column)?);
            return table.without(wrong);
        }
        if self.are_smiles() {
            let wrong = bad_rows(&table, &self.column)?;
            return table.without(wrong);
        }
        let missing = self.missing(&table)?;
        table.without(missing)
    }

    /// Returns the rows whose texts are marks of missing values, such as `NA`.
    fn missing(&self, table: &Table) -> Result<Vec<(usize, Error)>, Error> {
        let column = &self.column;
        let rows = table.column(column)?.iter().enumerate();
        let missing = rows.filter(|(_, text)| !text.trim().is_empty() && cells::is_missing(text));
        let error = |(row, text): (usize, &String)| {
            let message = format!("{text:?} in the column {column:?}: a text is needed");
            (row, table.error(row, message))
        };
        Ok(missing.map(error).collect())
    }

    /// Refuses vectors with a number that 32 bits do not tell apart in the rows of all tables.
    fn check_rounding(&self, tables: &[&Table]) -> Result<(), Error> {
        if !self.numbers {
            return Ok(());
        }
        let mut places: Vec<Rounding> = Vec::new();
        for table in tables {
            for row in vectors(table, &self.column)? {
                let row = row?;
                places.resize(row.len().max(places.len()), Rounding::default());
                let numbers = places.iter_mut().zip(row);
                numbers.for_each(|(place, (narrow, wide))| place.add(narrow, wide));
            }
        }
        let column = shown(&self.column);
        let is_single = places.len() == 1;
        let place = |at: usize| {
            if is_single {
                format!("in the column {column}")
            } else {
                format!("at place {} of the column {column}", at + 1)
            }
        };
        let Some(table) = tables.first() else { return Ok(()) };
        check_rounding(table.path(), &places, false, place)
    }

    /// Returns the reader of a table's texts, each as [`written`](Self::written) says, or of its vectors.
    pub(super) fn reader(&self, seed: u64) -> InputReader<'_> {
        Box::new(move |table| {
            if self.numbers {
                let rows = vectors(table, &self.column)?.collect::<Result<Vec<_>, _>>()?;
                let values = rows.iter().flatten().map(|&(narrow, _)| narrow);
                let width = rows.first().map_or(0, Vec::len);
                let rows = DenseRows::new(width, values.collect::<Vec<_>>())?;
                return Ok(Inputs::Vectors(Features::Dense(rows).into()));
            }
            let molecules = table.molecules(&self.column);
            let are_read = molecules.is_some_and(|all| all.iter().all(Option::is_some));
            let are_written = !self.are_smiles() || are_read;
            // texts may be most of what a training holds
            Ok(Inputs::Texts(if are_written {
                table.take_column(&self.column)?
            } else {
                column(table, &self.column, |text| self.written(text, seed))?
            }))
        })
    }

    /// Checks that a text is a SMILES, where texts must be.
    ///
    /// # Errors
    /// Any other text, in words.
    pub fn check(&self, text: &str) -> Result<(), String> {
        if !self.are_smiles() {
            return Ok(());
        }
        let text = if self.smiles { cells::smiles(text) } else { text };
        Molecule::parse(text).map(drop).map_err(|error| error.to_string())
    }

    /// Returns the text of a query that is not a row of a table.
    pub(crate) fn query(&self, text: &str, seed: u64) -> Result<String, Error> {
        self.written(text, seed).map_err(|reason| {
            let allowed = "a SMILES, as the inputs are that the model was trained on";
            Error::value("the query", format!("{:?} ({reason})", shorten(text)), allowed)
        })
    }

    /// Returns whether texts must be SMILES.
    pub fn are_smiles(&self) -> bool {
        self.smiles || self.more_smiles > 0
    }

    /// Returns an input's text as it is, or where there are to be more SMILES with that many further ones of the
    /// same molecule behind it.
    fn written(&self, text: &str, seed: u64) -> Result<String, dsokr_molecule::Error> {
        if !self.are_smiles() {
            return Ok(text.to_owned());
        }
        let text = if self.smiles { cells::smiles(text) } else { text };
        let molecule = Molecule::parse(text)?;
        let mut random = generator(seed, "more SMILES", hash(text.as_bytes()));
        let further = (0..self.more_smiles).map(|_| molecule.random_smiles(&mut random));
        Ok(further.fold(text.to_owned(), |all, one| all + " " + &one))
    }
}
