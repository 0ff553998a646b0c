//! What is counted in rows that are read a block after another, and how many of them have it.

use std::collections::BTreeMap;

use dsokr_basis::features::SparseRows;
use dsokr_core::Processes;
use serde::{Deserialize, Serialize};

use super::{CountRule, FittedColumns};
use crate::error::Error;

/// A thing that is counted, and how often a row has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Occurrence {
    /// The n-gram; empty of other features.
    term: String,
    /// The feature of a graph kernel, or the number of the column; 0 of an n-gram.
    feature: u64,
    /// The bits of the count, where counts are compared exactly; else 0. Counts are positive, so bits have their order.
    count_bits: u32,
}

/// The number of rows that have each thing, of the blocks that have been read.
#[derive(Debug, Default)]
pub(super) struct Occurrences {
    rows: BTreeMap<Occurrence, u32>,
    /// The number of columns of a block, where these have no names.
    width: usize,
    /// Whether things are features of a graph kernel, whose rows have a last column for others.
    are_features: bool,
}

impl Occurrences {
    /// Adds the counts of a block of rows; `columns` say what the block counts.
    pub fn add(
        &mut self,
        columns: &FittedColumns,
        counts: &SparseRows,
        rule: CountRule,
    ) -> Result<(), Error> {
        self.width = counts.width();
        self.are_features |= !columns.features.is_empty();
        let occurrence = |column: u32, count_bits| match columns.terms.get(column as usize) {
            Some(term) => Occurrence { term: term.clone(), feature: 0, count_bits },
            None => {
                Occurrence { term: String::new(), feature: columns.feature(column), count_bits }
            }
        };
        if rule.exact {
            let levels = counts.levels();
            if levels.is_empty() {
                return Ok(());
            }
            let rows_of_levels = counts.at_levels(&levels)?.column_counts();
            for ((column, count), rows) in levels.into_iter().zip(rows_of_levels) {
                *self.rows.entry(occurrence(column, count.to_bits())).or_default() += rows;
            }
        } else {
            let rows_of_columns = (0..).zip(counts.column_counts());
            for (column, rows) in rows_of_columns.filter(|&(_, rows)| rows > 0) {
                *self.rows.entry(occurrence(column, 0)).or_default() += rows;
            }
        }
        Ok(())
    }

    /// Returns the occurrences in the rows of all processes.
    pub fn shared(self, processes: &Processes) -> Result<Self, Error> {
        if processes.size() == 1 {
            return Ok(self);
        }
        let own_rows: Vec<(Occurrence, u32)> = self.rows.into_iter().collect();
        let own_text = serde_json::json!((own_rows, self.width, self.are_features)).to_string();
        let mut all = Self::default();
        for message in processes.gather(own_text.as_bytes())? {
            let (rows, width, are_features): (Vec<(Occurrence, u32)>, usize, bool) =
                serde_json::from_slice(&message)
                    .map_err(|error| dsokr_core::Error::Inconsistent(error.to_string()))?;
            all.width = all.width.max(width);
            all.are_features |= are_features;
            for (occurrence, rows) in rows {
                *all.rows.entry(occurrence).or_default() += rows;
            }
        }
        Ok(all)
    }

    /// Returns the columns of what has occurred, by the rule.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] where no column is left, with the key in the table of the features.
    pub fn columns(self, rule: CountRule) -> Result<FittedColumns, Error> {
        let mut columns = FittedColumns::default();
        let mut levels = Vec::new();
        let mut rows_of_columns = Vec::new();
        let mut previous: Option<Occurrence> = None;
        for (occurrence, rows) in self.rows {
            let is_new = previous.as_ref().is_none_or(|previous| {
                (&previous.term, previous.feature) != (&occurrence.term, occurrence.feature)
            });
            let is_term = !occurrence.term.is_empty();
            if is_new && is_term {
                columns.terms.push(occurrence.term.clone());
            } else if is_new && self.are_features {
                columns.features.push(occurrence.feature);
            }
            let column = if is_term {
                columns.terms.len() - 1
            } else if self.are_features {
                columns.features.len() - 1
            } else {
                occurrence.feature as usize
            };
            if rule.exact {
                levels.push((column as u32, f32::from_bits(occurrence.count_bits)));
                rows_of_columns.push(rows);
            } else {
                rows_of_columns.resize(column, 0);
                rows_of_columns.push(rows);
            }
            previous = Some(occurrence);
        }
        columns.width = if !columns.terms.is_empty() {
            columns.terms.len()
        } else if self.are_features {
            columns.features.len() + 1
        } else {
            self.width
        };
        if rule.exact {
            columns.width = levels.len();
            columns.set_levels(levels, false)?;
        }
        if rule.min_outputs > 1 {
            columns.set_kept(&rows_of_columns, rule.min_outputs, false)?;
            columns.width = columns.kept.len();
        }
        Ok(columns)
    }
}
