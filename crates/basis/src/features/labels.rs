use std::collections::BTreeMap;

use super::{BitRows, check_width};
use crate::Error;

/// Labels with a column each, fitted on the label sets of some objects.
///
/// ```
/// use dsokr_basis::features::LabelVocabulary;
///
/// let sets = [vec!["red", "round"], vec![], vec!["round", "big"]];
/// let labels = LabelVocabulary::fit(&sets)?;
/// assert_eq!(labels.names().collect::<Vec<_>>(), ["big", "red", "round"]);
/// assert_eq!(labels.rows(&sets)?.words(), [0b110, 0b000, 0b101]);
/// # Ok::<(), dsokr_basis::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelVocabulary {
    columns: BTreeMap<String, u32>,
}

impl LabelVocabulary {
    /// The labels that occur in `sets`, sorted by their bytes.
    ///
    /// # Errors
    /// [`Error::Shape`] when there is no label at all.
    pub fn fit<S: AsRef<str>>(sets: &[Vec<S>]) -> Result<Self, Error> {
        let labels = sets.iter().flatten().map(|label| (label.as_ref().to_owned(), 0));
        let mut columns: BTreeMap<String, u32> = labels.collect();
        check_width(columns.len())?;
        columns.values_mut().zip(0..).for_each(|(column, number)| *column = number);
        Ok(Self { columns })
    }

    /// The labels, in the order of their columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.keys().map(String::as_str)
    }

    /// One row of bits for each set of labels; a label given twice counts once.
    ///
    /// # Errors
    /// [`Error::Row`] for a label that is not known.
    pub fn rows<S: AsRef<str>>(&self, sets: &[Vec<S>]) -> Result<BitRows, Error> {
        let mut rows = Vec::with_capacity(sets.len());
        for (row, set) in sets.iter().enumerate() {
            let column = |label: &S| {
                self.columns.get(label.as_ref()).copied().ok_or_else(|| {
                    let (label, known) = (label.as_ref(), self.columns.len());
                    Error::row(row, format!("unknown label {label:?}; {known} labels are known"))
                })
            };
            rows.push(set.iter().map(column).collect::<Result<Vec<u32>, Error>>()?);
        }
        BitRows::from_indices(self.columns.len(), rows)
    }
}
