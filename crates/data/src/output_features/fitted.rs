//! The columns that the outputs of a training gave, by which further outputs become rows.

use std::collections::BTreeMap;
use std::path::Path;

use dsokr_basis::features::{SparseRows, common_columns};
use dsokr_core::Misfit;
use dsokr_core::message::{list, shorten};
use dsokr_core::store::{Contents, Stored, Tensor};
use serde::{Deserialize, Serialize};

use super::CountRule;
use crate::error::{Error, check};
use crate::table::Table;

/// The kind of the file of fitted features.
const KIND: &str = "features";
/// The version of its layout.
const VERSION: u32 = 1;

/// The columns of outputs' features, as the outputs of a training gave them: with these, further
/// outputs become rows that the same basis reads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FittedFeatures {
    /// The columns of each kernel.
    pub(crate) parts: Vec<FittedColumns>,
}

/// The columns of one kernel's features; empty lists where the configuration says all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct FittedColumns {
    /// Number of columns.
    pub width: usize,
    /// N-grams or labels, in the order of their columns.
    pub terms: Vec<String>,
    /// Features of a graph kernel.
    pub features: Vec<u64>,
    /// The values of counts that are columns, where counts are compared exactly.
    pub levels: Vec<(u32, f32)>,
    /// The columns that enough outputs have, where rare ones are left out.
    pub kept: Vec<u32>,
}

impl FittedColumns {
    /// Creates columns that need nothing but their number.
    pub fn fixed(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// Returns the name of each column: an n-gram or label, or how often which feature is there; where no rare ones are
    /// left out.
    pub fn names(&self) -> impl Iterator<Item = (&str, u64, u32)> {
        let level = |&(at, value): &(u32, f32)| ("", self.feature(at), value.to_bits());
        let terms = self.terms.iter().map(|term| (term.as_str(), 0, 0));
        terms.chain(self.levels.iter().map(level))
    }

    /// Returns the feature of a graph kernel that a column counts, or the number of the column itself.
    pub fn feature(&self, column: u32) -> u64 {
        self.features.get(column as usize).map_or(column.into(), |&feature| feature)
    }

    /// Refuses the first name that the training did not know, among those in the rows of a column; `what` is a name, such
    /// as `label`.
    pub fn check_known<'t>(
        &self,
        what: &str,
        column: &str,
        table: &Table,
        names: impl IntoIterator<Item = (usize, &'t str)>,
    ) -> Result<(), Error> {
        let is_known =
            |name: &str| self.terms.binary_search_by(|term| term.as_str().cmp(name)).is_ok();
        match names.into_iter().find(|(_, name)| !is_known(name)) {
            Some((row, name)) => {
                let name = shorten(name);
                let terms = list(&self.terms);
                let message = format!(
                    "the {what} {name:?} in the column {column:?}: the run was trained with {terms}"
                );
                Err(table.error(row, message))
            }
            None => Ok(()),
        }
    }

    /// Returns counts as they are, or their levels, or their logarithms, without rare columns; `fitted` are the
    /// columns of an earlier training. One of several kernels, whose features `is_summed`, may have no column left: it then has
    /// one in which no row has an entry.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] where no column is left, with the key in the table of the features.
    pub fn counts(
        mut self,
        mut rows: SparseRows,
        CountRule { log, exact, min_outputs }: CountRule,
        is_summed: bool,
        fitted: Option<&Self>,
    ) -> Result<(Self, SparseRows), Error> {
        if exact {
            let levels = fitted.map_or_else(|| rows.levels(), |fitted| fitted.levels.clone());
            self.set_levels(levels, is_summed)?;
            let is_left = !self.levels.is_empty();
            rows = if is_left { rows.at_levels(&self.levels)? } else { without_entries(&rows)? };
        }
        if min_outputs > 1 {
            match fitted {
                Some(fitted) => self.kept = fitted.kept.clone(),
                None => self.set_kept(&rows.column_counts(), min_outputs, is_summed)?,
            }
            let is_left = !self.kept.is_empty();
            rows = if is_left { rows.with_columns(&self.kept)? } else { without_entries(&rows)? };
        }
        let rows = if log { rows.log_counts()? } else { rows };
        self.width = rows.width();
        Ok((self, rows))
    }

    /// Takes the values of counts that are columns, where counts are compared exactly.
    pub fn set_levels(&mut self, levels: Vec<(u32, f32)>, is_summed: bool) -> Result<(), Error> {
        self.levels = levels;
        check(!self.levels.is_empty() || is_summed, "exact", true, NONE_OCCURS)
    }

    /// Keeps the columns that enough rows have, of the number of rows that have each.
    pub fn set_kept(
        &mut self,
        rows_of_columns: &[u32],
        min_outputs: usize,
        is_summed: bool,
    ) -> Result<(), Error> {
        self.kept = common_columns(rows_of_columns, min_outputs);
        let is_left = !self.kept.is_empty();
        let allowed = match rows_of_columns.iter().max() {
            None | Some(0) => NONE_OCCURS.to_owned(),
            Some(most) => format!("at most {most}, the outputs with the most common feature"),
        };
        check(is_left || is_summed, "min_outputs", min_outputs, &allowed)
    }
}

/// The allowed value where nothing is counted.
const NONE_OCCURS: &str = "other features: none of these occurs";

/// Returns whether an error says that nothing is counted, since none of what could be occurs.
pub(super) fn is_none_occurs(error: &Error) -> bool {
    let Error::Core(error) = error else { return false };
    let is_no_column =
        matches!(error, dsokr_core::Error::Shape(Misfit::Columns { width }) if *width == 0);
    is_no_column
        || matches!(error, dsokr_core::Error::Value { allowed, .. } if allowed == NONE_OCCURS)
}

/// Returns as many rows with one column, in which none has an entry.
fn without_entries(rows: &SparseRows) -> Result<SparseRows, Error> {
    let row: [(u32, f32); 0] = [];
    Ok(SparseRows::from_rows(1, (0..rows.len()).map(|_| row))?)
}

impl FittedFeatures {
    /// Returns the number of columns of each kernel.
    pub fn widths(&self) -> impl Iterator<Item = usize> + '_ {
        self.parts.iter().map(|columns| columns.width)
    }

    /// Returns the number of columns of all kernels together.
    pub(crate) fn width(&self) -> usize {
        self.parts.iter().map(|part| part.width).sum()
    }

    /// Returns the n-grams or labels of one kernel, in the order of their columns; none of other features, or of
    /// several kernels.
    pub fn terms(&self) -> &[String] {
        match self.parts.as_slice() {
            [part] => &part.terms,
            _ => &[],
        }
    }

    /// Creates the columns of a kernel that needs nothing but their number.
    pub(crate) fn fixed(width: usize) -> Self {
        Self { parts: vec![FittedColumns::fixed(width)] }
    }

    /// Writes the file, atomically: kind `features`, version 1. For each part i there is the metadata
    /// `i.width`, and the tensors `i.terms` U8 (a JSON list of texts), `i.features` U64, `i.levels` U32
    /// `[n, 2]` (column, bits of the value in F32) and `i.kept` U32.
    ///
    /// # Errors
    /// The file system's errors.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let mut metadata = BTreeMap::new();
        let mut tensors = Vec::new();
        for (i, part) in self.parts.iter().enumerate() {
            let terms = serde_json::json!(part.terms).to_string().into_bytes();
            let pair = |&(column, value): &(u32, f32)| [column, value.to_bits()];
            let levels: Vec<u32> = part.levels.iter().flat_map(pair).collect();
            metadata.insert(format!("{i}.width"), part.width.to_string());
            tensors.extend([
                Tensor::owned(&format!("{i}.terms"), &[terms.len()], &terms),
                Tensor::u64(&format!("{i}.features"), &[part.features.len()], &part.features),
                Tensor::owned(&format!("{i}.levels"), &[part.levels.len(), 2], &levels),
                Tensor::u32(&format!("{i}.kept"), &[part.kept.len()], &part.kept),
            ]);
        }
        Ok(Contents::new(KIND, VERSION, &metadata, &tensors).write(path)?)
    }

    /// Reads what [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// A file that is missing, damaged, or of a different kind or version.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let stored = Stored::open(path, KIND, VERSION)?;
        let part = |i: usize| {
            let (_, terms) = stored.read::<u8>(&format!("{i}.terms"), 1)?;
            let terms = serde_json::from_slice(&terms);
            let terms = terms.map_err(|error| Error::file(path, format!("{i}.terms: {error}")))?;
            let (_, levels) = stored.read::<u32>(&format!("{i}.levels"), 2)?;
            let levels = levels.as_chunks::<2>().0.iter();
            let width = stored.parsed(&format!("{i}.width"), "a number of columns")?;
            Ok::<_, Error>(FittedColumns {
                width,
                terms,
                features: stored.read::<u64>(&format!("{i}.features"), 1)?.1.to_vec(),
                levels: levels.map(|&[column, bits]| (column, f32::from_bits(bits))).collect(),
                kept: stored.read::<u32>(&format!("{i}.kept"), 1)?.1.to_vec(),
            })
        };
        let count = stored.all_metadata().len();
        Ok(Self { parts: (0..count).map(part).collect::<Result<_, _>>()? })
    }
}
