//! The columns of candidates: ids, labels, and further ones, such as a price.

use std::collections::BTreeMap;

use dsokr_core::Error;
use dsokr_core::store::{Stored, Tensor};

use super::tensors::array;
use super::texts::Texts;
use crate::error::{check_consistent, ensure};

/// The column of the ids.
const ID: &str = "id";
/// The column of the labels.
const LABEL: &str = "label";

/// Metadata key of the names of further columns, a list as JSON.
const NAMES: &str = "columns";

/// The columns of candidates: in each a text for each candidate.
///
/// The first two are `id`, unique ids, and `label`, the texts that are shown. Further ones have names of their own,
/// such as `price`. Whatever keeps candidates in a file, in shards or in memory, chooses some, or puts more behind
/// them, does so with all columns at once, here.
///
/// ```
/// use dsokr_decode::Columns;
///
/// let columns = Columns::new(vec!["a".into(), "b".into()], vec!["C".into(), "CC".into()])?
///     .with("price", vec!["9.5".into(), String::new()])?;
/// assert_eq!(columns.names().collect::<Vec<_>>(), ["id", "label", "price"]);
/// let price = columns.find("price").expect("it is a column");
/// assert_eq!((columns.cell(0, 1), columns.cell(price, 0)), ("b", "9.5"));
/// # Ok::<(), dsokr_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Columns(Vec<Column>);

#[derive(Clone, Debug, PartialEq)]
struct Column {
    name: String,
    cells: Texts,
}

impl Columns {
    /// Creates ids and labels; no labels stand for empty ones.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is a label for each id, or none.
    pub fn new(ids: Vec<String>, mut labels: Vec<String>) -> Result<Self, Error> {
        if labels.is_empty() {
            labels.resize(ids.len(), String::new());
        }
        Error::check_length("labels", labels.len(), ids.len())?;
        let id = Column { name: ID.to_owned(), cells: Texts::from_strings(ids) };
        let label = Column { name: LABEL.to_owned(), cells: Texts::from_strings(labels) };
        Ok(Self(vec![id, label]))
    }

    /// Returns these columns and one more.
    ///
    /// # Errors
    /// [`Error::Inconsistent`] for a name that is empty or that a column has already; [`Error::Shape`] unless there is
    /// a cell for each id.
    pub fn with(mut self, name: &str, cells: Vec<String>) -> Result<Self, Error> {
        self.check_new(name)?;
        Error::check_length(&format!("cells of the column {name:?}"), cells.len(), self.len())?;
        self.0.push(Column { name: name.to_owned(), cells: Texts::from_strings(cells) });
        Ok(self)
    }

    fn check_new(&self, name: &str) -> Result<(), Error> {
        check_consistent(!name.is_empty(), "a column of candidates without a name")?;
        let message = format_args!("candidates with two columns {name:?}");
        check_consistent(self.find(name).is_none(), message)
    }

    /// Returns the number of candidates.
    pub fn len(&self) -> usize {
        self.ids().len()
    }

    /// Returns whether there is no candidate.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the names of all columns, in their order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(|column| column.name.as_str())
    }

    /// Returns the names of the columns behind ids and labels.
    pub fn further_names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0[2..].iter().map(|column| column.name.as_str())
    }

    /// Returns the place of a column among the [names](Self::names).
    pub fn find(&self, name: &str) -> Option<usize> {
        self.names().position(|column| column == name)
    }

    /// Returns the cell of a candidate in the column at a place below the number of [names](Self::names).
    pub fn cell(&self, column: usize, candidate: usize) -> &str {
        self.0[column].cells.get(candidate)
    }

    /// Returns all cells of a candidate, in the order of the columns.
    pub fn row(&self, candidate: usize) -> impl Iterator<Item = &str> {
        self.0.iter().map(move |column| column.cells.get(candidate))
    }

    /// Returns the names and cells of a candidate behind its id and its label.
    pub fn further(&self, candidate: usize) -> impl Iterator<Item = (&str, &str)> {
        self.0[2..].iter().map(move |column| (column.name.as_str(), column.cells.get(candidate)))
    }

    pub(crate) fn ids(&self) -> &Texts {
        &self.0[0].cells
    }

    pub(crate) fn labels(&self) -> &Texts {
        &self.0[1].cells
    }

    /// Returns the columns of some candidates, in a given order.
    pub(crate) fn select(&self, candidates: &[u32]) -> Self {
        let chosen = |column: &Column| {
            let cells = candidates.iter().map(|&candidate| column.cells.get(candidate as usize));
            Column { name: column.name.clone(), cells: Texts::from_strings(cells) }
        };
        Self(self.0.iter().map(chosen).collect())
    }

    /// Creates columns with these names, of candidates whose cells are `rows`, a cell for each name.
    pub(crate) fn from_rows(names: &[String], rows: &[Vec<String>]) -> Self {
        let column = |(at, name): (usize, &String)| {
            let cells = Texts::from_strings(rows.iter().map(|row| &row[at]));
            Column { name: name.clone(), cells }
        };
        Self(names.iter().enumerate().map(column).collect())
    }

    /// Returns the columns of these candidates followed by those of more candidates.
    ///
    /// # Errors
    /// [`Error::Inconsistent`] for columns of other names.
    pub(crate) fn with_more(&self, more: &Self) -> Result<Self, Error> {
        self.check_same_names(more)?;
        let joined = |(column, more): (&Column, &Column)| Column {
            name: column.name.clone(),
            cells: column.cells.with_more(&more.cells),
        };
        Ok(Self(self.0.iter().zip(&more.0).map(joined).collect()))
    }

    fn check_same_names(&self, more: &Self) -> Result<(), Error> {
        let message = || {
            let names = |columns: &Self| columns.names().collect::<Vec<_>>().join(", ");
            let here = names(self);
            let there = names(more);
            Error::inconsistent(format_args!(
                "candidates with the columns {here}, and more with {there}"
            ))
        };
        ensure(self.names().eq(more.names()), message)
    }

    /// Returns the tensors of a file, which [`read`](Self::read) reads: all cells of a column joined, and where each
    /// starts.
    pub(crate) fn tensors(&self) -> Vec<Tensor<'_>> {
        let tensors = self.0.iter().enumerate().flat_map(|(at, column)| {
            let [bytes, offsets] = tensor_names(at);
            let cells = &column.cells;
            [
                Tensor::u8(&bytes, &[cells.bytes.len()], &cells.bytes),
                Tensor::u64(&offsets, &[cells.offsets.len()], &cells.offsets),
            ]
        });
        tensors.collect()
    }

    /// Adds the names of further columns to the metadata of a file.
    pub(crate) fn describe(&self, metadata: &mut BTreeMap<String, String>) {
        let names: Vec<&str> = self.further_names().collect();
        if !names.is_empty() {
            metadata.insert(NAMES.to_owned(), serde_json::json!(names).to_string());
        }
    }

    /// Creates the columns of a file, in the file if it stays `mapped`.
    ///
    /// # Errors
    /// [`Error::File`] for cells that are no texts, columns of different lengths, or names that are none.
    pub(crate) fn read(stored: &Stored, mapped: bool) -> Result<Self, Error> {
        let bad = |reason: String| Error::file(stored.path(), reason);
        let further: Vec<String> = match stored.all_metadata().get(NAMES) {
            Some(names) => serde_json::from_str(names)
                .map_err(|error| bad(format!("names of columns: {error}")))?,
            None => Vec::new(),
        };
        let mut columns = Self(Vec::new());
        for name in [ID.to_owned(), LABEL.to_owned()].into_iter().chain(further) {
            columns.check_new(&name).map_err(|error| bad(error.to_string()))?;
            let [bytes, offsets] = tensor_names(columns.0.len());
            let cells = Texts::checked(
                array::<u8>(stored, &bytes, mapped)?,
                array::<u64>(stored, &offsets, mapped)?,
                &bytes,
                stored.path(),
            )?;
            if let Some(first) = columns.0.first() {
                Error::check_length(&bytes, cells.len(), first.cells.len())?;
            }
            columns.0.push(Column { name, cells });
        }
        Ok(columns)
    }
}

/// Returns the names of the tensors of a column: its cells, and where each starts.
fn tensor_names(column: usize) -> [String; 2] {
    match column {
        0 => ["ids".to_owned(), "id_offsets".to_owned()],
        1 => ["labels".to_owned(), "label_offsets".to_owned()],
        further => [format!("column_{}", further - 2), format!("column_offsets_{}", further - 2)],
    }
}
