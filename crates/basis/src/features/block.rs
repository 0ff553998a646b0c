use std::ops::Range;

use super::{BitBlock, DenseBlock, Features, RowKind, SparseBlock};
use crate::Error;

/// Consecutive rows of one kind, borrowed from their source or owned.
///
/// A block holds valid rows by construction: finite numbers, no padding bits, increasing columns.
#[derive(Clone, Debug)]
pub enum Block<'a> {
    /// Dense rows.
    Dense(DenseBlock<'a>),
    /// Packed bits.
    Bits(BitBlock<'a>),
    /// Sparse rows.
    Sparse(SparseBlock<'a>),
}

impl Block<'_> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Dense(block) => block.len(),
            Self::Bits(block) => block.len(),
            Self::Sparse(block) => block.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        match self {
            Self::Dense(block) => block.width(),
            Self::Bits(block) => block.width(),
            Self::Sparse(block) => block.width(),
        }
    }

    /// Kind of the rows.
    pub fn kind(&self) -> RowKind {
        match self {
            Self::Dense(_) => RowKind::Dense,
            Self::Bits(_) => RowKind::Bits,
            Self::Sparse(_) => RowKind::Sparse,
        }
    }

    /// Some of the rows, borrowed.
    ///
    /// # Errors
    /// [`Error::Shape`] for rows that are not within the block.
    pub fn slice(&self, rows: Range<usize>) -> Result<Block<'_>, Error> {
        check_range(&rows, self.len())?;
        Ok(match self {
            Self::Dense(block) => Block::Dense(block.slice(rows)),
            Self::Bits(block) => Block::Bits(block.slice(rows)),
            Self::Sparse(block) => Block::Sparse(block.slice(rows)),
        })
    }

    /// Each row times its scale; rows of bits stay as they are, whose norms need no care.
    pub(crate) fn scaled(self, scales: &[f64]) -> Self {
        match self {
            Self::Dense(block) => Self::Dense(block.scaled(scales)),
            Self::Bits(block) => Self::Bits(block),
            Self::Sparse(block) => Self::Sparse(block.scaled(scales)),
        }
    }

    /// `⟨y, y⟩` of each row, in `f64`.
    pub fn squared_norms(&self) -> Vec<f64> {
        match self {
            Self::Dense(block) => block.squared_norms(),
            Self::Bits(block) => block.squared_norms(),
            Self::Sparse(block) => block.squared_norms(),
        }
    }
}

/// Rows that can be read block by block, from memory, from a file, or made on the fly.
///
/// Several threads may read at once. The same range must always give the same rows.
///
/// ```
/// use std::{borrow::Cow, ops::Range};
/// use dsokr_basis::{Block, Error, RowKind, RowSource, features::DenseBlock};
///
/// /// The points (i, 1) for i < 1,000,000, never stored.
/// struct Line;
///
/// impl RowSource for Line {
///     fn len(&self) -> usize { 1_000_000 }
///     fn width(&self) -> usize { 2 }
///     fn kind(&self) -> RowKind { RowKind::Dense }
///     fn block(&self, rows: Range<usize>) -> Result<Block<'_>, Error> {
///         let values: Vec<f32> = rows.flat_map(|i| [i as f32, 1.0]).collect();
///         Ok(Block::Dense(DenseBlock::new(2, Cow::Owned(values))?))
///     }
/// }
///
/// assert_eq!(Line.select(&[3, 1])?.len(), 2);
/// # Ok::<(), Error>(())
/// ```
pub trait RowSource: Sync {
    /// Number of rows.
    fn len(&self) -> usize;

    /// Number of columns.
    fn width(&self) -> usize;

    /// Kind of the rows.
    fn kind(&self) -> RowKind;

    /// The rows of `rows`, all of them.
    ///
    /// # Errors
    /// [`Error::Shape`] when they are not within `0..len()`, and errors from reading the rows.
    fn block(&self, rows: Range<usize>) -> Result<Block<'_>, Error>;

    /// Whether there are no rows.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows of the given indices, in their order, copied; an index may be repeated.
    ///
    /// # Errors
    /// As [`block`](Self::block).
    fn select(&self, indices: &[usize]) -> Result<Features, Error> {
        let mut selected = Features::empty(self.kind(), self.width())?;
        for run in indices.chunk_by(|&a, &b| a.checked_add(1) == Some(b)) {
            let start = run[0];
            let end = start.checked_add(run.len());
            let end = end.ok_or_else(|| Error::range(start, start, self.len()))?;
            selected.append(&read(self, start..end)?)?;
        }
        Ok(selected)
    }
}

/// The rows of `range`, checked to have the kind, width and number that the source promises: a source
/// may be custom code.
///
/// # Errors
/// As [`RowSource::block`]; [`Error::Shape`] for a block of a kind, width or
/// number of rows that differs from what was promised.
pub fn read<S: RowSource + ?Sized>(source: &S, range: Range<usize>) -> Result<Block<'_>, Error> {
    let block = source.block(range.clone())?;
    if block.kind() != source.kind() {
        return Err(Error::kind(block.kind(), source.kind()));
    }
    if block.width() != source.width() {
        return Err(Error::width(block.width(), source.width()));
    }
    if block.len() != range.len() {
        let (start, end) = (range.start, range.end);
        let found = block.len();
        return Err(Error::Shape(format!(
            "a row source returned {found} rows for rows {start}..{end}"
        )));
    }
    Ok(block)
}

/// Checks that `rows` lies within `0..len`.
pub(crate) fn check_range(rows: &Range<usize>, len: usize) -> Result<(), Error> {
    if rows.start > rows.end || rows.end > len {
        return Err(Error::range(rows.start, rows.end, len));
    }
    Ok(())
}
