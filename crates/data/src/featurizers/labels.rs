//! Sets of labels as rows of bits.

use std::collections::BTreeMap;

use dsokr_basis::features::BitRows;
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
}
