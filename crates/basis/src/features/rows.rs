use std::ops::Range;

use super::{BitRows, Block, DenseRows, RowKind, RowSource, SparseRows};
use crate::Error;
use crate::store::{Stored, Tensor};

/// Feature rows in memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Features {
    /// Dense rows.
    Dense(DenseRows),
    /// Packed bits.
    Bits(BitRows),
    /// Sparse rows.
    Sparse(SparseRows),
}

impl Features {
    /// No rows of a kind and width, to [`append`](Self::append) to.
    ///
    /// # Errors
    /// [`Error::Shape`] for width 0, and for one that 32-bit indices cannot address.
    pub fn empty(kind: RowKind, width: usize) -> Result<Self, Error> {
        Ok(match kind {
            RowKind::Dense => Self::Dense(DenseRows::new(width, Vec::new())?),
            RowKind::Bits => Self::Bits(BitRows::from_indices(width, [[0u32; 0]; 0])?),
            RowKind::Sparse => {
                Self::Sparse(SparseRows::new(width, vec![0], Vec::new(), Vec::new())?)
            }
        })
    }

    /// Appends copies of the rows of a block.
    ///
    /// # Errors
    /// [`Error::Shape`] for rows of a kind or width that differs.
    pub fn append(&mut self, block: &Block) -> Result<(), Error> {
        if self.width() != block.width() {
            return Err(Error::width(block.width(), self.width()));
        }
        match (self, block) {
            (Self::Dense(rows), Block::Dense(block)) => rows.append(block),
            (Self::Bits(rows), Block::Bits(block)) => rows.append(block),
            (Self::Sparse(rows), Block::Sparse(block)) => rows.append(block),
            (rows, block) => {
                return Err(Error::kind(block.kind(), rows.kind()));
            }
        }
        Ok(())
    }

    /// All rows as one block.
    pub fn all(&self) -> Block<'_> {
        self.view(0..self.len())
    }

    /// All rows as one block that owns them.
    pub fn into_block(self) -> Block<'static> {
        match self {
            Self::Dense(rows) => Block::Dense(rows.into_block()),
            Self::Bits(rows) => Block::Bits(rows.into_block()),
            Self::Sparse(rows) => Block::Sparse(rows.into_block()),
        }
    }

    /// One row as `width` numbers; none when there is no such row.
    pub fn dense_row(&self, row: usize) -> Vec<f32> {
        if row >= self.len() {
            return Vec::new();
        }
        let mut dense = vec![0.0; self.width()];
        match self.view(row..row + 1) {
            Block::Dense(rows) => dense.copy_from_slice(rows.values()),
            Block::Bits(rows) => rows.ones(0).for_each(|column| dense[column] = 1.0),
            Block::Sparse(rows) => {
                let (columns, values) = rows.row(0);
                columns.iter().zip(values).for_each(|(&at, &value)| dense[at as usize] = value);
            }
        }
        dense
    }

    /// The tensors that hold these rows in a file, named `prefix.…`.
    ///
    /// Dense: `prefix.dense` F32 `[n, d]`. Bits: `prefix.bits` U64 `[n, ⌈d/64⌉]`, column j at bit
    /// j mod 64 of word ⌊j/64⌋. Sparse: `prefix.offsets` U64 `[n + 1]`, `prefix.columns` U32,
    /// `prefix.values` F32. The width d is not among them: keep it in the metadata.
    pub fn tensors<'a>(&'a self, prefix: &str) -> Vec<Tensor<'a>> {
        match self {
            Self::Dense(rows) => rows.tensors(prefix),
            Self::Bits(rows) => rows.tensors(prefix),
            Self::Sparse(rows) => rows.tensors(prefix),
        }
    }

    /// The rows that [`tensors`](Self::tensors) wrote, copied and checked.
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
            RowKind::Dense => Self::Dense(DenseRows::from_stored(stored, prefix, width)?),
            RowKind::Bits => Self::Bits(BitRows::from_stored(stored, prefix, width)?),
            RowKind::Sparse => Self::Sparse(SparseRows::from_stored(stored, prefix, width)?),
        })
    }

    fn view(&self, rows: Range<usize>) -> Block<'_> {
        match self {
            Self::Dense(own) => Block::Dense(own.view(rows)),
            Self::Bits(own) => Block::Bits(own.view(rows)),
            Self::Sparse(own) => Block::Sparse(own.view(rows)),
        }
    }
}

impl RowSource for Features {
    fn len(&self) -> usize {
        match self {
            Self::Dense(rows) => rows.len(),
            Self::Bits(rows) => rows.len(),
            Self::Sparse(rows) => rows.len(),
        }
    }

    fn width(&self) -> usize {
        match self {
            Self::Dense(rows) => rows.width(),
            Self::Bits(rows) => rows.width(),
            Self::Sparse(rows) => rows.width(),
        }
    }

    fn kind(&self) -> RowKind {
        match self {
            Self::Dense(_) => RowKind::Dense,
            Self::Bits(_) => RowKind::Bits,
            Self::Sparse(_) => RowKind::Sparse,
        }
    }

    fn block(&self, rows: Range<usize>) -> Result<Block<'_>, Error> {
        super::block::check_range(&rows, self.len())?;
        Ok(self.view(rows))
    }
}

impl From<DenseRows> for Features {
    fn from(rows: DenseRows) -> Self {
        Self::Dense(rows)
    }
}

impl From<BitRows> for Features {
    fn from(rows: BitRows) -> Self {
        Self::Bits(rows)
    }
}

impl From<SparseRows> for Features {
    fn from(rows: SparseRows) -> Self {
        Self::Sparse(rows)
    }
}
