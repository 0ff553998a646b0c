use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use dsokr_core::Error;
use dsokr_core::message::number;
use dsokr_core::store::{Entry, Mapping, Stored, elements};
use half::slice::HalfFloatSliceExt;
use safetensors::Dtype;

use super::block::{check_within, runs};
use super::packed::first_not_finite;
use super::{BitBlock, Block, DenseBlock, Features, RowKind, RowSource, check_width};

/// Rows that are selected before their pages are given back.
const SELECTED: usize = 4096;

/// Feature rows in a memory-mapped file, which may be larger than memory.
///
/// A two-dimensional array F32, F16, BF16 or F64 gives dense rows (`f32`); U8 gives packed bits,
/// the most significant first, eight columns a byte. A block is converted and checked as it is
/// read, and the pages it came from are given back at once, so resident memory holds the blocks in
/// use and does not grow with the file. A file that has been written into since it was mapped is
/// an error; it must not be truncated while a block is read.
#[derive(Debug)]
pub struct MappedRows {
    mapping: Arc<Mapping>,
    /// The name of the tensor, of a safetensors file.
    key: Option<String>,
    entry: Entry,
    len: usize,
    width: usize,
}

impl MappedRows {
    /// Maps the tensor `key` of a safetensors file, any file: no dsokr header is needed.
    ///
    /// # Errors
    /// [`Error::Io`] for a file that cannot be read; [`Error::File`] for one that is missing or not
    /// a safetensors file; otherwise as [`from_stored`](Self::from_stored).
    pub fn open(path: &Path, key: &str) -> Result<Self, Error> {
        Self::of_tensor(Arc::new(Mapping::open_watched(path)?), key)
    }

    /// Maps the rows of a file of another format, which lie in it as `array` says: little-endian, one after the other.
    ///
    /// # Errors
    /// [`Error::Io`] for a file that cannot be read; [`Error::File`] for one that is missing or shorter; otherwise as
    /// [`from_stored`](Self::from_stored).
    pub fn of_array(path: &Path, array: Entry) -> Result<Self, Error> {
        let name = "array";
        let mapping = Arc::new(Mapping::of_array(path, name, array)?);
        Ok(Self { key: None, ..Self::of_tensor(mapping, name)? })
    }

    /// Returns the names of the tensors of any safetensors file, sorted.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn tensors(path: &Path) -> Result<Vec<String>, Error> {
        Ok(Mapping::open(path)?.entries().keys().cloned().collect())
    }

    /// Creates a tensor of a verified file.
    ///
    /// # Errors
    /// [`Error::File`] for a missing tensor, and one of a type or a shape that holds no rows;
    /// [`Error::Shape`] for rows of width 0, or wider than 32-bit indices address.
    pub fn from_stored(stored: &Stored, name: &str) -> Result<Self, Error> {
        Self::of_tensor(stored.mapping(), name)
    }

    fn of_tensor(mapping: Arc<Mapping>, key: &str) -> Result<Self, Error> {
        let entry = mapping.entry(key)?.clone();
        let columns = match entry.dtype {
            Dtype::F32 | Dtype::F16 | Dtype::BF16 | Dtype::F64 => 1,
            Dtype::U8 => 8,
            other => {
                let allowed = "F32, F16, BF16, F64 (dense rows), U8 (packed bits)";
                return Err(mapping.bad_dtype(key, other, allowed));
            }
        };
        let &[len, width] = entry.shape.as_slice() else {
            return Err(mapping.bad_shape(key, &entry.shape, "two dimensions"));
        };
        let width = width.saturating_mul(columns);
        check_width(width)?;
        Ok(Self { mapping, key: Some(key.to_owned()), entry, len, width })
    }

    /// Returns some rows as the file holds them, if it holds 64-bit numbers; [`block`](RowSource::block) rounds them.
    ///
    /// # Errors
    /// Rows that the file does not have.
    pub fn doubles(&self, rows: Range<usize>) -> Result<Option<Vec<f64>>, Error> {
        check_within(&rows, self.len)?;
        if self.entry.dtype != Dtype::F64 {
            return Ok(None);
        }
        self.mapping.check_unchanged()?;
        Ok(Some(elements::<f64>(self.mapping.bytes(self.place(&rows))).into_owned()))
    }

    /// Returns the place of some rows in the file.
    fn place(&self, rows: &Range<usize>) -> Range<usize> {
        let per_row = self.entry.bytes.len() / self.len.max(1);
        let start = self.entry.bytes.start;
        start + rows.start * per_row..start + rows.end * per_row
    }

    /// Returns copies of some rows, whose pages are still to be given back.
    fn copied(&self, rows: Range<usize>) -> Result<Features, Error> {
        check_within(&rows, self.len)?;
        self.mapping.check_unchanged()?;
        let bytes = self.mapping.bytes(self.place(&rows));
        match self.kind() {
            RowKind::Bits => Ok(BitBlock::from_packed(self.width, bytes)?.into()),
            RowKind::Dense | RowKind::Sparse => self.dense(rows.start, bytes),
        }
    }

    fn dense(&self, start: usize, bytes: &[u8]) -> Result<Block<'static>, Error> {
        let values: Vec<f32> = match self.entry.dtype {
            Dtype::F16 => elements::<half::f16>(bytes).to_f32_vec(),
            Dtype::BF16 => elements::<half::bf16>(bytes).to_f32_vec(),
            Dtype::F64 => elements::<f64>(bytes).iter().map(|&value| value as f32).collect(),
            _ => elements::<f32>(bytes).into_owned(),
        };
        let Some(at) = first_not_finite(&values) else {
            return Ok(DenseBlock { width: self.width, values: values.into() }.into());
        };
        let row = start + at / self.width;
        let column = at % self.width;
        let value = match self.entry.dtype {
            Dtype::F64 => elements::<f64>(bytes)[at],
            _ => values[at].into(),
        };
        let tensor = self.key.as_ref().map_or(String::new(), |key| format!("{key:?}, "));
        let message = format!(
            "{tensor}row {row}, column {column}: {} is not a finite 32-bit number",
            number(value)
        );
        Err(Error::file(self.mapping.path(), message))
    }
}

impl RowSource for MappedRows {
    fn len(&self) -> usize {
        self.len
    }

    fn width(&self) -> usize {
        self.width
    }

    fn kind(&self) -> RowKind {
        if self.entry.dtype == Dtype::U8 { RowKind::Bits } else { RowKind::Dense }
    }

    fn in_file(&self) -> bool {
        true
    }

    fn block(&self, rows: Range<usize>) -> Result<Block<'_>, Error> {
        let block = self.copied(rows.clone())?;
        self.mapping.release(self.place(&rows));
        Ok(block)
    }

    fn select(&self, indices: &[usize]) -> Result<Features, Error> {
        let mut selected = Features::empty(self.kind(), self.width())?;
        for some in indices.chunks(SELECTED) {
            for run in runs(some, self.len) {
                selected.append(&self.copied(run?)?)?;
            }
            // rows here and there share pages, which are given back at once
            if let (Some(&first), Some(&last)) = (some.iter().min(), some.iter().max()) {
                self.mapping.release(self.place(&(first..last + 1)));
            }
        }
        Ok(selected)
    }
}
