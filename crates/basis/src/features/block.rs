use std::ops::Range;

use dsokr_core::store::{Stored, Tensor};
use dsokr_core::{Error, Misfit, Processes};

use super::{BitBlock, DenseBlock, RowKind, SparseBlock, check_alike};

/// Rows of one kind, borrowed from their source or owned.
///
/// Rows are valid by construction: finite numbers, no padding bits, increasing columns. The number of rows and of columns,
/// `len` and `width`, are methods of the trait [`RowSource`], which is to be imported.
#[derive(Clone, Debug, derive_more::From, PartialEq)]
pub enum Block<'a> {
    /// Dense rows.
    Dense(DenseBlock<'a>),
    /// Packed bits.
    Bits(BitBlock<'a>),
    /// Sparse rows.
    Sparse(SparseBlock<'a>),
}

/// Feature rows in memory.
pub type Features = Block<'static>;

/// Evaluates one expression for rows of each kind.
macro_rules! each_kind {
    ($block:expr, $rows:ident => $value:expr) => {
        match $block {
            Self::Dense($rows) => $value,
            Self::Bits($rows) => $value,
            Self::Sparse($rows) => $value,
        }
    };
}

impl Block<'_> {
    /// Creates an empty block of a kind and width, to [`append`](Self::append) to.
    ///
    /// # Errors
    /// [`Error::Shape`] for width 0, and for one that 32-bit indices cannot address.
    pub fn empty(kind: RowKind, width: usize) -> Result<Self, Error> {
        Ok(match kind {
            RowKind::Dense => Self::Dense(DenseBlock::new(width, Vec::new())?),
            RowKind::Bits => Self::Bits(BitBlock::new(width, Vec::new())?),
            RowKind::Sparse => Self::Sparse(SparseBlock::empty(width)?),
        })
    }

    /// Appends copies of the rows of a block.
    ///
    /// # Errors
    /// [`Error::Shape`] for rows of a kind or width that differs.
    pub fn append(&mut self, block: &Block) -> Result<(), Error> {
        check_alike((block.kind(), block.width()), (self.kind(), self.width()))?;
        match (self, block) {
            (Self::Dense(rows), Block::Dense(block)) => rows.append(block),
            (Self::Bits(rows), Block::Bits(block)) => rows.append(block),
            (Self::Sparse(rows), Block::Sparse(block)) => rows.append(block),
            (rows, block) => return Err(Error::kind(block.kind(), rows.kind())),
        }
        Ok(())
    }

    /// Returns the rows as rows of `kind`, which dense ones can become: sparse rows without the zeros, or bits.
    ///
    /// # Errors
    /// [`Error::Shape`] for rows of a different kind that are not dense; [`Error::Row`] for a number that is
    /// neither 0 nor 1 in a row of bits.
    pub fn into_kind(self, kind: RowKind) -> Result<Self, Error> {
        if self.kind() == kind {
            return Ok(self);
        }
        let Self::Dense(rows) = &self else { return Err(Error::kind(self.kind(), kind)) };
        let other = |value: &f32| *value != 0.0 && *value != 1.0;
        if kind == RowKind::Bits
            && let Some(at) = rows.values().iter().position(other)
        {
            let row = at / self.width();
            let column = at % self.width();
            let value = rows.values()[at];
            return Err(Error::row(row, format!("{value} in column {column}, expected 0 or 1")));
        }
        self.columns(0..self.width(), kind)
    }

    /// Returns one row as `width` numbers; none when there is no such row.
    pub fn dense_row(&self, row: usize) -> Vec<f32> {
        if row >= self.len() {
            return Vec::new();
        }
        let mut dense = vec![0.0; self.width()];
        self.entries(row, 0..dense.len(), |column, value| dense[column] = value);
        dense
    }

    /// Calls `add` with column and value of the stored entries of a row in a range of columns, by increasing column.
    /// Dense rows store every column, zeros too.
    pub fn entries(&self, row: usize, columns: Range<usize>, mut add: impl FnMut(usize, f32)) {
        let Range { start, end } = columns;
        match self {
            Self::Bits(rows) => {
                let words = rows.row(row).iter().enumerate().take(end.div_ceil(64));
                for (at, &word) in words.skip(start / 64) {
                    let first = 64 * at;
                    let mut left = word;
                    // a range may start and end inside of a word
                    if first < start {
                        left &= u64::MAX << (start - first);
                    }
                    if end - first < 64 {
                        left &= (1 << (end - first)) - 1;
                    }
                    while left != 0 {
                        add(first + left.trailing_zeros() as usize, 1.0);
                        left &= left - 1;
                    }
                }
            }
            Self::Sparse(rows) => {
                let (columns, values) = rows.row(row);
                let low = columns.partition_point(|&column| (column as usize) < start);
                for (&column, &value) in columns[low..].iter().zip(&values[low..]) {
                    if column as usize >= end {
                        break;
                    }
                    add(column as usize, value);
                }
            }
            Self::Dense(rows) => {
                let values = rows.row(row)[start..end].iter();
                values.zip(start..).for_each(|(&value, column)| add(column, value));
            }
        }
    }

    /// Computes `⟨y, y⟩` of each row, in `f64`.
    pub fn squared_norms(&self) -> Vec<f64> {
        each_kind!(self, rows => rows.squared_norms())
    }

    /// Returns each row times its scale; rows of bits stay as they are, whose norms need no care.
    pub(crate) fn scaled(self, scales: &[f64]) -> Self {
        match self {
            Self::Dense(rows) => Self::Dense(rows.scaled(scales)),
            Self::Bits(rows) => Self::Bits(rows),
            Self::Sparse(rows) => Self::Sparse(rows.scaled(scales)),
        }
    }

    /// Returns the dense or sparse rows that every process gives, in the order of ranks.
    pub(crate) fn gather(&self, processes: &Processes) -> Result<Vec<Features>, Error> {
        match self {
            Self::Dense(rows) => {
                let all = processes.gather_numbers(rows.values())?.into_iter();
                all.map(|values| Ok(DenseBlock::new(rows.width(), values)?.into())).collect()
            }
            Self::Sparse(rows) => {
                Ok(rows.gather(processes)?.into_iter().map(Block::Sparse).collect())
            }
            Self::Bits(_) => Err(Error::kind(RowKind::Bits, RowKind::Sparse)),
        }
    }

    /// Returns the tensors that hold these rows in a file, named `prefix.…`.
    ///
    /// Dense: `prefix.dense` F32 `[n, d]`. Bits: `prefix.bits` U64 `[n, ⌈d/64⌉]`, column j at bit
    /// j mod 64 of word ⌊j/64⌋. Sparse: `prefix.offsets` U64 `[n + 1]`, `prefix.columns` U32,
    /// `prefix.values` F32. The width d is not among them: keep it in the metadata.
    pub fn tensors<'s>(&'s self, prefix: &str) -> Vec<Tensor<'s>> {
        each_kind!(self, rows => rows.tensors(prefix))
    }

    /// Returns the same in less space: sparse rows have `prefix.gaps` U8 in the place of `prefix.columns`, each column
    /// less the one before it in its row, 7 bits a byte, the lowest first, the highest bit set where more
    /// follow.
    pub fn packed_tensors<'s>(&'s self, prefix: &str) -> Vec<Tensor<'s>> {
        match self {
            Self::Dense(_) | Self::Bits(_) => self.tensors(prefix),
            Self::Sparse(rows) => rows.packed_tensors(prefix),
        }
    }

    /// Creates the rows that [`tensors`](Self::tensors) or [`packed_tensors`](Self::packed_tensors) wrote, copied and
    /// checked.
    ///
    /// # Errors
    /// Missing tensors, types and shapes that do not fit `kind` and `width`, and rows that are not
    /// valid (see the constructors of the three kinds).
    pub fn from_stored(
        stored: &Stored,
        prefix: &str,
        kind: RowKind,
        width: usize,
    ) -> Result<Self, Error> {
        Ok(match kind {
            RowKind::Dense => Self::Dense(DenseBlock::from_stored(stored, prefix, width)?),
            RowKind::Bits => Self::Bits(BitBlock::from_stored(stored, prefix, width)?),
            RowKind::Sparse => Self::Sparse(SparseBlock::from_stored(stored, prefix, width)?),
        })
    }
}

impl RowSource for Block<'_> {
    fn len(&self) -> usize {
        each_kind!(self, rows => rows.len())
    }

    fn width(&self) -> usize {
        each_kind!(self, rows => rows.width())
    }

    fn kind(&self) -> RowKind {
        match self {
            Self::Dense(_) => RowKind::Dense,
            Self::Bits(_) => RowKind::Bits,
            Self::Sparse(_) => RowKind::Sparse,
        }
    }

    fn block(&self, rows: Range<usize>) -> Result<Block<'_>, Error> {
        check_within(&rows, self.len())?;
        Ok(match self {
            Self::Dense(dense) => Block::Dense(dense.slice(rows)),
            Self::Bits(bits) => Block::Bits(bits.slice(rows)),
            Self::Sparse(sparse) => Block::Sparse(sparse.slice(rows)),
        })
    }
}

/// Rows that can be read block by block, from memory, from a file, or made on the fly.
///
/// Several threads may read at once. The same range must always give the same rows.
///
/// ```
/// use std::ops::Range;
/// use dsokr_basis::{Block, RowKind, RowSource, features::DenseBlock};
/// use dsokr_core::Error;
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
///         Ok(DenseBlock::new(2, values)?.into())
///     }
/// }
///
/// assert_eq!(Line.select(&[3, 1])?.len(), 2);
/// # Ok::<(), Error>(())
/// ```
pub trait RowSource: Send + Sync {
    /// Returns the number of rows.
    fn len(&self) -> usize;

    /// Returns the number of columns.
    fn width(&self) -> usize;

    /// Returns the kind of the rows.
    fn kind(&self) -> RowKind;

    /// Returns the rows of `rows`, all of them.
    ///
    /// # Errors
    /// [`Error::Shape`] when they are not within `0..len()`, and errors from reading the rows.
    fn block(&self, rows: Range<usize>) -> Result<Block<'_>, Error>;

    /// Returns whether there are no rows.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the kind and width of each source that the rows are [joined](super::JoinedRows) of, in their order; the
    /// rows' own where they are not joined.
    fn parts(&self) -> Vec<(RowKind, usize)> {
        vec![(self.kind(), self.width())]
    }

    /// Returns whether the rows stay in a file, so that none are in memory but those that are being read.
    fn in_file(&self) -> bool {
        false
    }

    /// Returns the rows of the given indices, in their order, copied; an index may be repeated.
    ///
    /// # Errors
    /// The errors of [`block`](Self::block).
    fn select(&self, indices: &[usize]) -> Result<Features, Error> {
        let mut selected = Features::empty(self.kind(), self.width())?;
        for run in runs(indices, self.len()) {
            selected.append(&read(self, run?)?)?;
        }
        Ok(selected)
    }
}

impl<S: RowSource + ?Sized> RowSource for &S {
    fn len(&self) -> usize {
        (**self).len()
    }

    fn width(&self) -> usize {
        (**self).width()
    }

    fn kind(&self) -> RowKind {
        (**self).kind()
    }

    fn block(&self, rows: Range<usize>) -> Result<Block<'_>, Error> {
        (**self).block(rows)
    }

    fn parts(&self) -> Vec<(RowKind, usize)> {
        (**self).parts()
    }

    fn in_file(&self) -> bool {
        (**self).in_file()
    }

    fn select(&self, indices: &[usize]) -> Result<Features, Error> {
        (**self).select(indices)
    }
}

/// Returns the rows of `range`, checked to have the kind, width and number that the source promises: a source
/// may be custom code.
///
/// # Errors
/// The errors of [`RowSource::block`]; [`Error::Shape`] for a block that breaks the promise.
pub fn read<S: RowSource + ?Sized>(source: &S, range: Range<usize>) -> Result<Block<'_>, Error> {
    let Range { start, end } = range;
    let block = source.block(range)?;
    check_alike((block.kind(), block.width()), (source.kind(), source.width()))?;
    match block.len() {
        count if count == end - start => Ok(block),
        count => Err(Error::Shape(Misfit::Block { start, end, found: count })),
    }
}

/// Returns the ranges of consecutive indices, in their order, of rows of which there are `len`.
///
/// # Errors
/// [`Error::Shape`] for an index that has no next one.
pub(super) fn runs(
    indices: &[usize],
    len: usize,
) -> impl Iterator<Item = Result<Range<usize>, Error>> {
    indices.chunk_by(|&a, &b| a.checked_add(1) == Some(b)).map(move |run| {
        let start = run[0];
        let end = start.checked_add(run.len());
        let end = end.ok_or_else(|| Error::range(start, start, len))?;
        Ok(start..end)
    })
}

/// Returns consecutive ranges of `size` rows. The last one may be shorter.
///
/// # Panics
/// If `size` is 0.
pub fn ranges(rows: Range<usize>, size: usize) -> impl DoubleEndedIterator<Item = Range<usize>> {
    let end = rows.end;
    rows.step_by(size).map(move |start| start..end.min(start.saturating_add(size)))
}

/// Checks that `rows` lies within `0..len`.
pub(crate) fn check_within(rows: &Range<usize>, len: usize) -> Result<(), Error> {
    let holds = rows.start <= rows.end && rows.end <= len;
    holds.then_some(()).ok_or_else(|| Error::range(rows.start, rows.end, len))
}
