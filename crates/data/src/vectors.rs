//! Vectors as inputs: in memory, or rows of a file that stay there.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use dsokr_basis::features::{Block, Features, RowKind, RowSource};
use dsokr_core::store::{ByteSum, Tensor};

use crate::error::Error;

/// Rows of a file that are read at once.
const ROWS: usize = 4096;

/// Vectors of inputs, a row each.
#[derive(Clone, Debug)]
pub enum Vectors {
    /// Rows in memory.
    Held(Features),
    /// Rows of a file, which are read when they are asked for.
    InFile(FileRows),
}

/// Some rows of a source that keeps them in a file.
#[derive(Clone)]
pub struct FileRows {
    source: Arc<dyn RowSource>,
    rows: Vec<usize>,
}

impl fmt::Debug for FileRows {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.debug_struct("FileRows").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl From<Features> for Vectors {
    fn from(rows: Features) -> Self {
        Self::Held(rows)
    }
}

/// Equal where all rows are the same; rows that cannot be read equal none.
impl PartialEq for Vectors {
    fn eq(&self, other: &Self) -> bool {
        let both = (self.features(), other.features());
        matches!(both, (Ok(rows), Ok(others)) if rows == others)
    }
}

impl Vectors {
    /// Creates vectors of some rows of a source, which stay there if it keeps them in a file.
    ///
    /// # Errors
    /// Rows that there are not, and errors from reading them.
    pub fn of_rows(source: &Arc<dyn RowSource>, rows: Vec<usize>) -> Result<Self, Error> {
        // sparse rows have places of their own in the tensors of a fingerprint
        if !source.in_file() || source.kind() == RowKind::Sparse {
            return Ok(Self::Held(source.select(&rows)?));
        }
        let len = source.len();
        if let Some(&row) = rows.iter().find(|&&row| row >= len) {
            return Err(dsokr_core::Error::range(row, row + 1, len).into());
        }
        Ok(Self::InFile(FileRows { source: Arc::clone(source), rows }))
    }

    /// Returns the rows, read from their file if they are in one.
    ///
    /// # Errors
    /// Errors from reading the rows.
    pub fn features(&self) -> Result<Cow<'_, Features>, Error> {
        Ok(match self {
            Self::Held(rows) => Cow::Borrowed(rows),
            Self::InFile(FileRows { source, rows }) => Cow::Owned(source.select(rows)?),
        })
    }

    /// Returns some of the vectors, in a given order. Those in a file stay there.
    ///
    /// # Errors
    /// A row out of range.
    pub(crate) fn chosen(&self, indices: &[usize]) -> Result<Self, dsokr_core::Error> {
        match self {
            Self::Held(rows) => Ok(Self::Held(rows.select(indices)?)),
            Self::InFile(FileRows { source, rows }) => {
                let row = |&index: &usize| {
                    let error = || dsokr_core::Error::range(index, index + 1, rows.len());
                    rows.get(index).copied().ok_or_else(error)
                };
                let rows = indices.iter().map(row).collect::<Result<Vec<usize>, _>>()?;
                Ok(Self::InFile(FileRows { source: Arc::clone(source), rows }))
            }
        }
    }

    /// Puts other vectors behind these. All stay in their file where it is the same one.
    ///
    /// # Errors
    /// Vectors of a different kind or width, and errors from reading rows.
    pub(crate) fn append(&mut self, other: &Self) -> Result<(), Error> {
        if let (Self::InFile(all), Self::InFile(more)) = (&mut *self, other)
            && Arc::ptr_eq(&all.source, &more.source)
        {
            all.rows.extend_from_slice(&more.rows);
            return Ok(());
        }
        let mut all = self.features()?.into_owned();
        let more = other.features()?;
        all.append(&more)?;
        *self = Self::Held(all);
        Ok(())
    }

    /// Returns the tensors by which a fingerprint knows the vectors: those of [`Block::tensors`], which of rows in a file
    /// have a checksum in the place of their bytes. Some rows are read after others.
    ///
    /// # Errors
    /// Errors from reading the rows.
    pub fn tensors(&self, prefix: &str) -> Result<Vec<Tensor<'_>>, Error> {
        let (source, rows) = match self {
            Self::Held(rows) => return Ok(rows.tensors(prefix)),
            Self::InFile(FileRows { source, rows }) => (source, rows),
        };
        let mut sum = ByteSum::default();
        for some in rows.chunks(ROWS) {
            let block = source.select(some)?;
            for tensor in block.tensors(prefix) {
                sum = sum.followed_by(&tensor.data);
            }
        }
        let empty = Features::empty(source.kind(), source.width())?;
        let like = empty.tensors(prefix);
        Ok(like.iter().map(|tensor| tensor.summed_like(rows.len(), sum)).collect())
    }
}

impl RowSource for Vectors {
    fn len(&self) -> usize {
        match self {
            Self::Held(rows) => rows.len(),
            Self::InFile(FileRows { rows, .. }) => rows.len(),
        }
    }

    fn width(&self) -> usize {
        match self {
            Self::Held(rows) => rows.width(),
            Self::InFile(FileRows { source, .. }) => source.width(),
        }
    }

    fn kind(&self) -> RowKind {
        match self {
            Self::Held(rows) => rows.kind(),
            Self::InFile(FileRows { source, .. }) => source.kind(),
        }
    }

    fn in_file(&self) -> bool {
        matches!(self, Self::InFile(_))
    }

    fn block(&self, range: Range<usize>) -> Result<Block<'_>, dsokr_core::Error> {
        match self {
            Self::Held(rows) => rows.block(range),
            Self::InFile(FileRows { source, rows }) => {
                let Range { start, end } = range;
                let none = || dsokr_core::Error::range(start, end, rows.len());
                source.select(rows.get(start..end).ok_or_else(none)?)
            }
        }
    }

    fn select(&self, indices: &[usize]) -> Result<Features, dsokr_core::Error> {
        match self.chosen(indices)? {
            Self::Held(rows) => Ok(rows),
            Self::InFile(FileRows { source, rows }) => source.select(&rows),
        }
    }
}
