use std::ops::Range;

use dsokr_basis::{Block, Error, RowKind, RowSource};

/// Consecutive rows of a source.
pub(super) struct RowRange<'a> {
    pub of: &'a dyn RowSource,
    pub range: Range<usize>,
}

impl RowSource for RowRange<'_> {
    fn len(&self) -> usize {
        self.range.len()
    }

    fn width(&self) -> usize {
        self.of.width()
    }

    fn kind(&self) -> RowKind {
        self.of.kind()
    }

    fn block(&self, rows: Range<usize>) -> Result<Block<'_>, Error> {
        let (start, end, len) = (rows.start, rows.end, self.range.len());
        if end > len {
            return Err(Error::range(start, end, len));
        }
        // saturating, so that a range beyond the part is beyond the whole
        let within = |row: usize| self.range.start.saturating_add(row);
        self.of.block(within(start)..within(end))
    }
}
