use std::ops::Range;

use dsokr_basis::{Block, Error, RowKind, RowSource};

/// Some rows of a source, in any order, repeats allowed; read as they are asked for.
pub struct Selected<'a> {
    source: &'a dyn RowSource,
    rows: &'a [usize],
}

impl<'a> Selected<'a> {
    /// The rows of `source` at the indices `rows`.
    pub fn new(source: &'a dyn RowSource, rows: &'a [usize]) -> Self {
        Self { source, rows }
    }
}

impl RowSource for Selected<'_> {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn width(&self) -> usize {
        self.source.width()
    }

    fn kind(&self) -> RowKind {
        self.source.kind()
    }

    fn parts(&self) -> Vec<(RowKind, usize)> {
        self.source.parts()
    }

    fn block(&self, range: Range<usize>) -> Result<Block<'_>, Error> {
        let outside = || Error::range(range.start, range.end, self.rows.len());
        let rows = self.rows.get(range.clone()).ok_or_else(outside)?;
        self.source.select(rows)
    }
}
