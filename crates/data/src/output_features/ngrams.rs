//! Counts of character n-grams.

use dsokr_basis::features::{NgramOptions, NgramVocabulary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FeatureFacts, FittedRows, OutputKind, OutputTable, sparse};
use crate::Error;
use crate::error::check;
use crate::fitted::FittedColumns;

/// Counts of the character n-grams of a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NgramFeatures {
    /// The column, e.g. `smiles`.
    pub column: String,
    /// Length of the shortest n-grams.
    pub min: usize,
    /// Length of the longest n-grams.
    pub max: usize,
    /// Whether `ln(1 + count)` takes the place of a count.
    #[serde(default)]
    pub log: bool,
    /// N-grams of fewer outputs are left out.
    #[serde(default = "super::one")]
    pub min_outputs: usize,
}

impl OutputKind for NgramFeatures {
    fn facts(&self) -> FeatureFacts<'_> {
        FeatureFacts { column: Some(&self.column), can_be_summed: true, ..Default::default() }
    }

    fn validate(&self, key: &str) -> Result<(), Error> {
        let Self { min, max, .. } = *self;
        let holds = 1 <= min && min <= max && max <= 64;
        check(holds, key, format!("min {min}, max {max}"), "1 ≤ min ≤ max ≤ 64")
    }

    fn read(&self, from: &mut OutputTable) -> Result<FittedRows, Error> {
        let texts = from.table.column(&self.column)?;
        let options = NgramOptions { min: self.min, max: self.max, boundaries: false };
        let vocabulary = match from.fitted {
            Some(fitted) => NgramVocabulary::of(options, fitted.terms.clone())?,
            None => NgramVocabulary::fit(options, texts)?,
        };
        let terms = vocabulary.ngrams().map(str::to_owned).collect();
        let columns = FittedColumns { terms, ..FittedColumns::default() };
        let rows = vocabulary.rows(texts)?;
        columns.counts(rows, self.log, false, self.min_outputs, from.fitted).map(sparse)
    }
}
