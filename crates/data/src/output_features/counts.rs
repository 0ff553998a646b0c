//! Counts of character n-grams, and of parts of molecules.

use std::collections::hash_map::Entry;
use std::ops::Range;

use crate::featurizers::NgramVocabulary;
use dsokr_basis::features::{SparseRows, ranges};
use dsokr_basis::{Features, RowKind, RowSource};
use dsokr_molecule::{Molecule, Substructures};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CountRule, Counted, FeatureFacts, FittedColumns, FittedRows, OutputKind, OutputTable};
use crate::error::{Error, check};
use crate::table::Table;
use crate::truth;

/// Molecules that are held at once where each is counted by itself.
const MOLECULES: usize = 1 << 13;

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
    /// N-grams of fewer outputs are left out, and a kernel of several where none remains.
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

    fn as_counted(&self) -> Option<&dyn Counted> {
        Some(self)
    }

    fn read(&self, from: &mut OutputTable) -> Result<FittedRows, Error> {
        self.read_counted(from)
    }
}

impl Counted for NgramFeatures {
    fn rule(&self) -> CountRule {
        CountRule { log: self.log, exact: false, min_outputs: self.min_outputs }
    }

    fn columns_depend_on_rows(&self) -> bool {
        true
    }

    fn count(&self, from: &mut OutputTable) -> Result<(FittedColumns, SparseRows), Error> {
        let texts = from.table.column(&self.column)?;
        let vocabulary = match from.fitted {
            Some(fitted) => {
                NgramVocabulary::from_ngrams(self.min..=self.max, fitted.terms.clone())?
            }
            None => NgramVocabulary::fit(self.min..=self.max, texts)?,
        };
        let terms = vocabulary.ngrams().map(str::to_owned).collect();
        let columns = FittedColumns { terms, ..FittedColumns::default() };
        Ok((columns, vocabulary.rows(texts)?))
    }
}

/// Counts of what the molecules whose SMILES a column holds are made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubstructureFeatures {
    /// The column, e.g. `smiles`.
    pub column: String,
    /// The substructures that are counted.
    pub count: Substructures,
    /// Whether `ln(1 + count)` takes the place of a count.
    #[serde(default)]
    pub log: bool,
    /// Whether every value of a count is a feature of its own, which molecules share that have
    /// exactly as many.
    #[serde(default)]
    pub exact: bool,
    /// Parts that are in fewer outputs are left out, and a kernel of several where none remains.
    #[serde(default = "super::one")]
    pub min_outputs: usize,
}

impl OutputKind for SubstructureFeatures {
    fn facts(&self) -> FeatureFacts<'_> {
        FeatureFacts { column: Some(&self.column), can_be_summed: true, ..Default::default() }
    }

    fn validate(&self, key: &str) -> Result<(), Error> {
        if self.log && self.exact {
            let allowed = "false with exact: logarithms tell counts apart as they do";
            return Err(Error::value(format!("{key}.log"), true, allowed));
        }
        Ok(self.count.validate().map_err(|error| error.of(format!("{key}.count.")))?)
    }

    fn bad_rows(&self, table: &Table) -> Result<Vec<(usize, Error)>, Error> {
        truth::bad_rows(table, &self.column)
    }

    fn as_counted(&self) -> Option<&dyn Counted> {
        Some(self)
    }

    fn read(&self, from: &mut OutputTable) -> Result<FittedRows, Error> {
        self.read_counted(from)
    }
}

impl Counted for SubstructureFeatures {
    fn rule(&self) -> CountRule {
        CountRule { log: self.log, exact: self.exact, min_outputs: self.min_outputs }
    }

    fn columns_depend_on_rows(&self) -> bool {
        self.exact || self.min_outputs > 1 || matches!(self.count, Substructures::Graph(_))
    }

    /// Reads the molecules of a column once for several kernels; of one kernel it holds a few at a time, unless what is
    /// counted depends on all of them.
    fn count(&self, from: &mut OutputTable) -> Result<(FittedColumns, SparseRows), Error> {
        let is_read = from.keeps_molecules || from.molecules.contains_key(&self.column);
        if !is_read && !matches!(self.count, Substructures::Graph(_)) {
            return Ok((FittedColumns::default(), self.count_in_parts(from.table)?));
        }
        let molecules = match from.molecules.entry(self.column.clone()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                entry.insert(truth::column(from.table, &self.column, Molecule::parse)?)
            }
        };
        let fitted_features = from.fitted.map(|fitted| &fitted.features[..]);
        let (features, rows) = self.count.fit(molecules, fitted_features)?;
        Ok((FittedColumns { features, ..FittedColumns::default() }, rows))
    }
}

impl SubstructureFeatures {
    /// Counts the parts of a column's molecules, some molecules after others.
    fn count_in_parts(&self, table: &Table) -> Result<SparseRows, Error> {
        let counts = |rows: Range<usize>| {
            let molecules = truth::column_of_rows(table, &self.column, rows, Molecule::parse)?;
            Ok::<_, Error>(Features::Sparse(self.count.counts(&molecules)?))
        };
        let first = table.len().min(MOLECULES);
        let mut all = counts(0..first)?;
        for rows in ranges(first..table.len(), MOLECULES) {
            all.append(&counts(rows)?)?;
        }
        match all {
            Features::Sparse(rows) => Ok(rows),
            // counts are sparse, and so is what is put behind them
            Features::Dense(_) | Features::Bits(_) => {
                Err(dsokr_core::Error::kind(all.kind(), RowKind::Sparse).into())
            }
        }
    }
}
