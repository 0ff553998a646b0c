//! Sets of labels as rows of bits.

use std::collections::{BTreeMap, BTreeSet};

use dsokr_basis::features::{BitRows, SparseRows};
use dsokr_core::Error;

use super::numbered::numbered;

/// Labels with a column each, fitted on the label sets of some objects.
///
/// ```
/// use dsokr_data::featurizers::LabelVocabulary;
///
/// let sets = [vec!["red", "round"], vec![], vec!["round", "big"]];
/// let labels = LabelVocabulary::fit(&sets)?;
/// assert_eq!(labels.names().collect::<Vec<_>>(), ["big", "red", "round"]);
/// assert_eq!(labels.rows(&sets)?.values(), [0b110, 0b000, 0b101]);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelVocabulary {
    columns: BTreeMap<String, u32>,
}

impl LabelVocabulary {
    /// Creates the labels that occur in `sets`, sorted by their bytes.
    ///
    /// # Errors
    /// [`Error::Shape`] when there is no label at all.
    pub fn fit<S: AsRef<str>>(sets: &[impl AsRef<[S]>]) -> Result<Self, Error> {
        let labels = sets.iter().flat_map(AsRef::as_ref).map(|label| label.as_ref().to_owned());
        Ok(Self { columns: numbered(labels.collect())? })
    }

    /// Returns the labels, in the order of their columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.keys().map(String::as_str)
    }

    /// Returns one row of bits for each set of labels; a label given twice counts once.
    ///
    /// # Errors
    /// [`Error::Row`] for a label that is not known.
    pub fn rows<S: AsRef<str>>(&self, sets: &[impl AsRef<[S]>]) -> Result<BitRows, Error> {
        let width = self.columns.len();
        let columns = |(row, set): (usize, &[S])| {
            let column = |label: &S| {
                let column = self.columns.get(label.as_ref()).copied();
                column.ok_or_else(|| {
                    let label = label.as_ref();
                    Error::row(row, format!("unknown label {label:?}; {width} labels are known"))
                })
            };
            set.iter().map(column).collect::<Result<Vec<u32>, Error>>()
        };
        let rows = sets
            .iter()
            .map(AsRef::as_ref)
            .enumerate()
            .map(columns)
            .collect::<Result<Vec<_>, _>>()?;
        BitRows::from_indices(width, rows)
    }

    /// Returns one row for each set of labels, 1 in the columns of its labels, with a last column for labels that are not
    /// known: the square of its value is their number, so that `⟨x, x⟩` is the number of labels.
    ///
    /// # Errors
    /// [`Error::Shape`] for more labels than 32-bit indices number.
    pub fn open_rows<S: AsRef<str>>(&self, sets: &[impl AsRef<[S]>]) -> Result<SparseRows, Error> {
        let width = self.columns.len();
        let row = |set: &[S]| {
            let names: BTreeSet<&str> = set.iter().map(|label| label.as_ref()).collect();
            let columns = names.iter().filter_map(|&name| self.columns.get(name).copied());
            let mut entries: Vec<(u32, f32)> = columns.map(|column| (column, 1.0)).collect();
            let unknown = names.len() - entries.len();
            if unknown > 0 {
                entries.push((width as u32, (unknown as f32).sqrt()));
            }
            entries
        };
        SparseRows::from_rows(width + 1, sets.iter().map(|set| row(set.as_ref())))
    }
}
