use std::ops::Range;

use dsokr_core::{Error, Misfit};

use super::block::check_within;
use super::{
    BitRows, Block, DenseRows, Features, RowKind, RowSource, SparseRows, check_width, read,
};

/// The rows of several sources side by side, as sparse rows: the columns of the first source, then the columns of the
/// second, and so on.
///
/// Nothing is copied; rows are joined as they are read. Zeros are not stored.
///
/// ```
/// use dsokr_basis::{Features, RowSource};
/// use dsokr_basis::features::{BitRows, DenseRows, JoinedRows};
///
/// let dense = Features::Dense(DenseRows::new(2, vec![0.5, 0.0, 1.0, 2.0])?);
/// let bits = Features::Bits(BitRows::from_indices(3, [vec![2], vec![]])?);
/// let joined = JoinedRows::new(vec![Box::new(dense), Box::new(bits)])?;
/// assert_eq!(joined.width(), 5);
/// assert_eq!(joined.block(0..2)?.dense_row(0), [0.5, 0.0, 0.0, 0.0, 1.0]);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
#[derive(derive_more::Debug)]
#[debug("JoinedRows({len} × {width}, {} parts)", parts.len())]
pub struct JoinedRows {
    parts: Vec<Box<dyn RowSource>>,
    len: usize,
    width: usize,
}

impl JoinedRows {
    /// Creates rows of at least one source, all of the same number of rows.
    ///
    /// # Errors
    /// [`Error::Shape`] for no sources, for sources of different lengths, and for more columns than 32-bit
    /// indices address.
    pub fn new(parts: Vec<Box<dyn RowSource>>) -> Result<Self, Error> {
        let len = parts.first().map_or(0, |part| part.len());
        if let Some(other) = parts.iter().find(|part| part.len() != len) {
            let found = other.len();
            return Err(Error::Shape(Misfit::Sources { found, expected: len }));
        }
        let width = parts.iter().map(|part| part.width()).sum();
        check_width(width)?;
        Ok(Self { parts, len, width })
    }

    fn join(&self, blocks: &[Block], len: usize) -> Result<Features, Error> {
        let row = |row: usize| {
            let mut entries = Vec::new();
            let mut start = 0;
            for block in blocks {
                let cells = block.non_zeros(row, 0..block.width()).into_iter();
                entries.extend(cells.map(|(column, value)| (start + column, value)));
                start += block.width() as u32;
            }
            entries
        };
        Ok(SparseRows::from_rows(self.width, (0..len).map(row))?.into())
    }
}

impl RowSource for JoinedRows {
    fn len(&self) -> usize {
        self.len
    }

    fn width(&self) -> usize {
        self.width
    }

    fn kind(&self) -> RowKind {
        RowKind::Sparse
    }

    fn parts(&self) -> Vec<(RowKind, usize)> {
        self.parts.iter().map(|part| (part.kind(), part.width())).collect()
    }

    fn block(&self, rows: Range<usize>) -> Result<Block<'_>, Error> {
        let parts = self.parts.iter().map(|part| read(part.as_ref(), rows.clone()));
        self.join(&parts.collect::<Result<Vec<_>, _>>()?, rows.len())
    }

    fn select(&self, indices: &[usize]) -> Result<Features, Error> {
        let parts = self.parts.iter().map(|part| part.select(indices));
        self.join(&parts.collect::<Result<Vec<_>, _>>()?, indices.len())
    }
}

/// The rows of one of the sources that rows were joined of, read from the joined ones.
#[derive(derive_more::Debug)]
#[debug("PartRows({} × {})", source.len(), columns.len())]
pub struct PartRows<'a> {
    source: &'a dyn RowSource,
    columns: Range<usize>,
    kind: RowKind,
}

impl<'a> PartRows<'a> {
    /// Creates each part of a source ([`RowSource::parts`]).
    pub fn all(source: &'a dyn RowSource) -> Vec<Self> {
        let mut start = 0;
        let part = |(kind, width)| {
            let columns = start..start + width;
            start = columns.end;
            Self { source, columns, kind }
        };
        source.parts().into_iter().map(part).collect()
    }
}

impl RowSource for PartRows<'_> {
    fn len(&self) -> usize {
        self.source.len()
    }

    fn width(&self) -> usize {
        self.columns.len()
    }

    fn kind(&self) -> RowKind {
        self.kind
    }

    fn block(&self, rows: Range<usize>) -> Result<Block<'_>, Error> {
        read(self.source, rows)?.columns(self.columns.clone(), self.kind)
    }

    fn select(&self, indices: &[usize]) -> Result<Features, Error> {
        self.source.select(indices)?.columns(self.columns.clone(), self.kind)
    }
}

/// Some rows of a source, in any order, repeats allowed. They are read when they are needed.
#[derive(derive_more::Debug)]
#[debug("Selected({} of {} rows)", rows.len(), source.len())]
pub struct Selected<'a> {
    source: &'a dyn RowSource,
    rows: &'a [usize],
}

impl<'a> Selected<'a> {
    /// Creates the rows of `source` at the indices `rows`.
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
        check_within(&range, self.rows.len())?;
        self.source.select(&self.rows[range])
    }
}

impl Block<'_> {
    /// Returns the numbers of a row that are not 0 in some columns, which count from the first of these.
    fn non_zeros(&self, row: usize, columns: Range<usize>) -> Vec<(u32, f32)> {
        let mut entries = Vec::new();
        let start = columns.start;
        self.entries(row, columns, |column, value| {
            if value != 0.0 {
                entries.push(((column - start) as u32, value));
            }
        });
        entries
    }

    /// Returns some columns, as rows of a kind; every number that is not 0 is a 1 where that is bits.
    ///
    /// # Errors
    /// [`Error::Shape`] for no columns.
    pub(crate) fn columns(&self, columns: Range<usize>, kind: RowKind) -> Result<Features, Error> {
        let width = columns.len();
        let start = columns.start;
        Ok(match kind {
            RowKind::Dense => {
                let mut values = vec![0.0; self.len() * width];
                for (row, out) in values.chunks_exact_mut(width.max(1)).enumerate() {
                    self.entries(row, columns.clone(), |column, value| out[column - start] = value);
                }
                DenseRows::new(width, values)?.into()
            }
            RowKind::Bits => {
                let row = |row| self.non_zeros(row, columns.clone()).into_iter();
                let ones = |at| row(at).map(|(column, _)| column);
                BitRows::from_indices(width, (0..self.len()).map(ones))?.into()
            }
            RowKind::Sparse => self.to_sparse(columns)?.into(),
        })
    }

    /// Returns some columns, as sparse rows.
    pub(crate) fn to_sparse(&self, columns: Range<usize>) -> Result<SparseRows, Error> {
        let rows = (0..self.len()).map(|row| self.non_zeros(row, columns.clone()));
        SparseRows::from_rows(columns.len(), rows)
    }
}
