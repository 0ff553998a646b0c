use std::ops::{Deref, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bytemuck::Pod;

use super::Mapping;
use super::mapping::Advice;
use crate::Error;

/// Numbers in memory of their own, or in a file that stays mapped.
#[derive(Clone)]
pub struct Array<T: Pod> {
    place: Place<T>,
}

#[derive(Clone)]
enum Place<T> {
    Owned(Vec<T>),
    /// Aligned bytes of a file.
    Mapped {
        mapping: Arc<Mapping>,
        bytes: Range<usize>,
    },
}

impl<T: Pod> Deref for Array<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.place {
            Place::Owned(values) => values,
            // alignment was checked when it was made
            Place::Mapped { mapping, bytes } => {
                bytemuck::try_cast_slice(mapping.bytes(bytes.clone())).unwrap_or(&[])
            }
        }
    }
}

impl<T: Pod> From<Vec<T>> for Array<T> {
    fn from(values: Vec<T>) -> Self {
        Self { place: Place::Owned(values) }
    }
}

impl<T: Pod> Array<T> {
    /// Those of a file, in place where they are aligned.
    pub(super) fn of(mapping: Arc<Mapping>, bytes: Range<usize>) -> Self {
        let place = match bytemuck::try_cast_slice::<u8, T>(mapping.bytes(bytes.clone())) {
            Ok(_) => Place::Mapped { mapping, bytes },
            Err(_) => Place::Owned(super::elements(mapping.bytes(bytes)).into_owned()),
        };
        Self { place }
    }

    /// Says how some of the elements are read.
    fn advise(&self, range: Range<usize>, advice: Advice) {
        if let Place::Mapped { mapping, bytes } = &self.place {
            let byte = |at: usize| bytes.start + at * size_of::<T>();
            mapping.advise(byte(range.start)..byte(range.end), advice);
        }
    }
}

impl<T: Pod + PartialEq> PartialEq for Array<T> {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl<T: Pod> std::fmt::Debug for Array<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.debug_struct("Array").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// A tensor of a mapped file whose blocks are verified when they are first read.
pub struct CheckedArray<T: Pod> {
    values: Array<T>,
    mapping: Arc<Mapping>,
    name: String,
    /// Bytes of a block, and the checksum of each.
    block: usize,
    sums: Array<u32>,
    /// Whether elements are read here and there.
    scattered: bool,
    /// A bit for each block that was verified.
    verified: Vec<AtomicU64>,
}

impl<T: Pod> CheckedArray<T> {
    pub(super) fn new(
        mapping: Arc<Mapping>,
        name: &str,
        values: Array<T>,
        block: usize,
        sums: Array<u32>,
    ) -> Self {
        let verified = (0..sums.len().div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Self { values, mapping, name: name.to_owned(), block, sums, scattered: false, verified }
    }

    /// The same, read from disk for what is asked for alone, and not for what is around it.
    pub fn scattered(self) -> Self {
        self.values.advise(0..self.len(), Advice::Scattered);
        Self { scattered: true, ..self }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The elements of a range, verified. `check` looks at the elements of each block that is read for the
    /// first time, which come with the place of the first.
    ///
    /// # Errors
    /// [`Error::File`] for a block that is damaged; errors of `check`.
    ///
    /// # Panics
    /// With a range that there is not.
    pub fn get<E: From<Error>>(
        &self,
        range: Range<usize>,
        check: impl Fn(usize, &[T]) -> Result<(), E>,
    ) -> Result<&[T], E> {
        let per_block = self.block / size_of::<T>();
        let blocks = range.start / per_block..range.end.div_ceil(per_block);
        let bit = |block: usize| (&self.verified[block / 64], 1 << (block % 64));
        let is_new = |block: usize| {
            let (word, bit) = bit(block);
            word.load(Relaxed) & bit == 0
        };
        if self.scattered && (blocks.len() > 2 || blocks.clone().any(is_new)) {
            let whole = blocks.start * per_block..self.len().min(blocks.end * per_block);
            self.values.advise(whole, Advice::Needed);
        }
        for block in blocks.filter(|&block| is_new(block)) {
            let start = block * per_block;
            let values = &self.values[start..self.len().min(start + per_block)];
            let found = crc32fast::hash(bytemuck::cast_slice(values));
            if found != self.sums[block] {
                let (name, expected) = (&self.name, self.sums[block]);
                let message = format!(
                    "damaged: checksum of block {block} of {name:?} {found:08x}, the file says {expected:08x}"
                );
                return Err(Error::file(&self.mapping.path, message).into());
            }
            check(start, values)?;
            let (word, bit) = bit(block);
            word.fetch_or(bit, Relaxed);
        }
        Ok(&self.values[range])
    }
}

impl<T: Pod> std::fmt::Debug for CheckedArray<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.debug_struct("CheckedArray").field("len", &self.len()).finish_non_exhaustive()
    }
}
