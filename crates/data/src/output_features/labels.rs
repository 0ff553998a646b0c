//! Sets of labels.

use dsokr_basis::Features;
use dsokr_basis::features::LabelVocabulary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FeatureFacts, FittedRows, OutputKind, OutputTable};
use crate::fitted::FittedColumns;
use crate::table::Table;
use crate::{Error, Truth};

/// Sets of labels: one bit for each label that occurs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelFeatures {
    /// The column.
    pub column: String,
    /// The separator of two labels; spaces around labels are ignored.
    #[serde(default = "separator")]
    pub separator: char,
}

fn separator() -> char {
    ' '
}

impl LabelFeatures {
    /// The labels of a cell.
    pub fn set(&self, cell: &str) -> Vec<String> {
        let labels = cell.split(self.separator).map(str::trim);
        labels.filter(|label| !label.is_empty()).map(str::to_owned).collect()
    }

    fn sets(&self, table: &Table) -> Result<Vec<Vec<String>>, Error> {
        Ok(table.column(&self.column)?.iter().map(|cell| self.set(cell)).collect())
    }

    /// The labels of an earlier training, of which those of the table are.
    fn known(
        &self,
        fitted: &FittedColumns,
        sets: &[Vec<String>],
        table: &Table,
    ) -> Result<LabelVocabulary, Error> {
        for (row, set) in sets.iter().enumerate() {
            let known = |label: &&String| fitted.terms.binary_search(label).is_ok();
            if let Some(label) = set.iter().find(|label| !known(label)) {
                let (column, known) = (&self.column, fitted.terms.len());
                let message = format!(
                    "the label {label:?} in the column {column:?}: allowed are the {known} labels that the run was \
                     trained with"
                );
                return Err(table.error(row, message));
            }
        }
        Ok(LabelVocabulary::fit(std::slice::from_ref(&fitted.terms))?)
    }
}

impl OutputKind for LabelFeatures {
    fn facts(&self) -> FeatureFacts<'_> {
        FeatureFacts { column: Some(&self.column), is_compared: true, ..Default::default() }
    }

    fn truth(&self, table: &Table) -> Result<Option<Truth>, Error> {
        Ok(Some(Truth::Labels(self.sets(table)?)))
    }

    fn truth_of_labels(&self, labels: &[&str]) -> Result<Option<Truth>, Error> {
        Ok(Some(Truth::Labels(labels.iter().map(|cell| self.set(cell)).collect())))
    }

    fn read(&self, from: &mut OutputTable) -> Result<FittedRows, Error> {
        let sets = self.sets(from.table)?;
        let vocabulary = match from.fitted {
            Some(fitted) => self.known(fitted, &sets, from.table)?,
            None => LabelVocabulary::fit(&sets)?,
        };
        let rows = vocabulary.rows(&sets)?;
        let terms = vocabulary.names().map(str::to_owned).collect();
        let columns = FittedColumns { width: rows.width(), terms, ..FittedColumns::default() };
        from.truth = Some(Truth::Labels(sets));
        Ok((columns, Box::new(Features::Bits(rows))))
    }
}
