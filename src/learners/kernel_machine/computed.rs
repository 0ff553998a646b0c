//! Rows of inputs that are computed when they are read.

use std::ops::Range;

use dsokr_basis::{Block, Features, RowKind, RowSource};
use dsokr_data::Split;

use crate::error::Error;

/// Rows that are computed from the inputs of a split when they are read.
pub(super) struct ComputedRows<'a> {
    split: &'a Split,
    kind: RowKind,
    width: usize,
    #[allow(clippy::type_complexity)]
    compute: Box<dyn Fn(&Split) -> Result<Features, Error> + Send + Sync + 'a>,
}

impl<'a> ComputedRows<'a> {
    /// Creates the rows that `compute` makes of pairs; their kind and width are those of the first pair's.
    ///
    /// # Errors
    /// The errors of `compute` for the first pair.
    pub(super) fn new(
        split: &'a Split,
        compute: impl Fn(&Split) -> Result<Features, Error> + Send + Sync + 'a,
    ) -> Result<Self, Error> {
        let first: Vec<usize> = (0..split.ids.len().min(1)).collect();
        let first = compute(&split.select(&first)?)?;
        Ok(Self { split, kind: first.kind(), width: first.width(), compute: Box::new(compute) })
    }
}

impl RowSource for ComputedRows<'_> {
    fn len(&self) -> usize {
        self.split.ids.len()
    }

    fn width(&self) -> usize {
        self.width
    }

    fn kind(&self) -> RowKind {
        self.kind
    }

    fn block(&self, rows: Range<usize>) -> Result<Block<'_>, dsokr_core::Error> {
        self.select(&rows.collect::<Vec<_>>())
    }

    fn select(&self, rows: &[usize]) -> Result<Features, dsokr_core::Error> {
        let len = self.len();
        if let Some(&row) = rows.iter().find(|&&row| row >= len) {
            return Err(dsokr_core::Error::range(row, row + 1, len));
        }
        let computed = self.split.select(rows).map_err(Error::from);
        computed.and_then(|split| (self.compute)(&split)).map_err(|error| match error {
            Error::Core(error) => error,
            other => dsokr_core::Error::Inconsistent(other.to_string()),
        })
    }
}
