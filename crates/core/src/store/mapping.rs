use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::SystemTime;

use bytemuck::Pod;
use safetensors::{Dtype, SafeTensors};

use crate::error::Error;

/// A memory-mapped file of arrays, whose places have been read from its header; nothing else is verified. The file must
/// not be changed while it is open.
#[derive(Debug)]
pub struct Mapping {
    pub(super) path: PathBuf,
    /// The file, where it is noticed that another program writes into it; of others no handle stays open.
    file: Option<File>,
    /// How it was written when it was mapped.
    written: Written,
    map: memmap2::Mmap,
    pub(super) metadata: BTreeMap<String, String>,
    /// Tensors by name.
    pub(super) entries: BTreeMap<String, Entry>,
}

/// How a file was last written.
#[derive(Debug, PartialEq, Eq)]
struct Written {
    bytes: u64,
    /// The time of the last change, where the system knows it.
    changed: Option<SystemTime>,
}

impl Written {
    fn of(file: &File) -> std::io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(Self { bytes: metadata.len(), changed: metadata.modified().ok() })
    }
}

/// The type, shape and place of a tensor in the file.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The type of its elements.
    pub dtype: Dtype,
    /// The shape of the tensor.
    pub shape: Vec<usize>,
    /// The place of its elements in the file.
    pub bytes: Range<usize>,
}

/// How a part of a file is read.
#[derive(Clone, Copy, Debug)]
enum Advice {
    /// Reads are scattered, so that reading ahead does not help.
    Scattered,
    /// Soon, all of it.
    Needed,
}

impl Mapping {
    /// Maps a safetensors file, any file: no dsokr header is needed.
    ///
    /// # Errors
    /// A file that cannot be read, or whose header is damaged.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Ok(Self { file: None, ..Self::open_watched(path)? })
    }

    /// Maps a safetensors file as [`open`](Self::open) does, of which [`check_unchanged`](Self::check_unchanged) notices
    /// that another program writes into it.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn open_watched(path: &Path) -> Result<Self, Error> {
        let (file, written, map) = map(path)?;
        let file = Some(file);
        let (header, parsed) = SafeTensors::read_metadata(&map).map_err(|error| {
            let message = format!("not a safetensors file, or a truncated one: {error}");
            Error::file(path, message)
        })?;
        let start = header + size_of::<u64>();
        let entries = parsed
            .tensors()
            .into_iter()
            .map(|(name, info)| {
                let (low, high) = info.data_offsets;
                let bytes = start + low..start + high;
                (name, Entry { dtype: info.dtype, shape: info.shape.clone(), bytes })
            })
            .collect();
        let metadata = parsed.metadata().iter().flatten();
        let metadata = metadata.map(|(key, value)| (key.clone(), value.clone())).collect();
        Ok(Self { path: path.to_owned(), file, written, map, metadata, entries })
    }

    /// Maps a file of another format that holds one array, which is named `name` here, as
    /// [`open_watched`](Self::open_watched) does. Its elements are little-endian and in row-major order.
    ///
    /// # Errors
    /// A file that cannot be read, or that ends before the array does.
    pub fn of_array(path: &Path, name: &str, array: Entry) -> Result<Self, Error> {
        let (file, written, map) = map(path)?;
        let file = Some(file);
        let end = array.bytes.end;
        if end > map.len() {
            let message = format!("{} bytes; the array ends at {end}", map.len());
            return Err(Error::file(path, message));
        }
        let entries = BTreeMap::from([(name.to_owned(), array)]);
        Ok(Self { path: path.to_owned(), file, written, map, metadata: BTreeMap::new(), entries })
    }

    /// Refuses to go on with a watched file that has been written into since it was mapped. One that has taken its place is
    /// another file.
    ///
    /// # Errors
    /// [`Error::File`] for such a file.
    pub fn check_unchanged(&self) -> Result<(), Error> {
        let Some(file) = &self.file else { return Ok(()) };
        if Written::of(file).is_ok_and(|now| now == self.written) {
            return Ok(());
        }
        let message = "it has been written into while it was read: write a new file and rename it, and begin again";
        Err(Error::file(&self.path, message))
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the tensors by name, sorted.
    pub fn entries(&self) -> &BTreeMap<String, Entry> {
        &self.entries
    }

    /// Returns a tensor.
    ///
    /// # Errors
    /// [`Error::File`] where the file has no such tensor.
    pub fn entry(&self, name: &str) -> Result<&Entry, Error> {
        self.entries.get(name).ok_or_else(|| {
            let available: Vec<&String> = self.entries.keys().collect();
            Error::file(&self.path, format!("no tensor {name:?}; it holds {available:?}"))
        })
    }

    /// Returns the error for a tensor of an element type that is not read.
    pub fn bad_dtype(&self, name: &str, found: Dtype, allowed: &str) -> Error {
        Error::file(&self.path, format!("tensor {name:?} is {found}, allowed: {allowed}"))
    }

    /// Returns the error for a tensor whose shape contradicts the rest of the file.
    pub fn bad_shape(&self, name: &str, found: &[usize], expected: &str) -> Error {
        let message = format!("tensor {name:?} has shape {found:?}, expected {expected}");
        Error::file(&self.path, message)
    }

    /// Returns the bytes of the file in `range`, which lies within an entry.
    pub fn bytes(&self, range: Range<usize>) -> &[u8] {
        self.map.get(range).unwrap_or(&[])
    }

    /// Tells the system how `range` is read. A refusal costs time, nothing else.
    fn advise(&self, range: Range<usize>, advice: Advice) {
        #[cfg(unix)]
        {
            let advice = match advice {
                Advice::Scattered => memmap2::Advice::Random,
                Advice::Needed => memmap2::Advice::WillNeed,
            };
            let _ = self.map.advise_range(advice, range.start, range.len());
        }
        #[cfg(not(unix))]
        let _ = (range, advice);
    }

    /// Gives the pages of `range` back to the system; reading them again maps them again.
    pub fn release(&self, range: Range<usize>) {
        #[cfg(unix)]
        {
            // A fault maps the pages around it too, in aligned windows of this size.
            const WINDOW: usize = 64 << 10;
            let start = range.start - range.start % WINDOW;
            let end = range.end.next_multiple_of(WINDOW).min(self.map.len());
            if start < end {
                // SAFETY: the range lies in the map, which is shared with the page cache,
                // read-only and never written through, so no page holds what the file does not:
                // slices that still point to dropped pages read the same bytes from the file
                // again (as long as nothing changes it, see `open`). A refusal costs resident
                // memory, nothing else.
                let _ = unsafe {
                    self.map.unchecked_advise_range(
                        memmap2::UncheckedAdvice::DontNeed,
                        start,
                        end - start,
                    )
                };
            }
        }
        #[cfg(not(unix))]
        let _ = range;
    }
}

/// Maps a file.
fn map(path: &Path) -> Result<(File, Written, memmap2::Mmap), Error> {
    let failed = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::NotFound => Error::Missing { path: path.to_owned() },
        std::io::ErrorKind::InvalidInput => Error::file(path, source),
        std::io::ErrorKind::IsADirectory => Error::file(path, "a folder, expected a file"),
        _ => Error::Io { path: path.to_owned(), source },
    };
    let file = super::open_input(path).map_err(failed)?;
    let written = Written::of(&file).map_err(failed)?;
    // SAFETY: nothing here can enforce that no process writes to or truncates the file while
    // it is mapped; `Stored` and `MappedRows` ask their callers for that. Files that this
    // crate writes are replaced by renaming, which leaves the mapped file as it is, and
    // elements are plain numbers, for which every bit pattern is valid.
    let map = unsafe { memmap2::Mmap::map(&file) }.map_err(failed)?;
    Ok((file, written, map))
}

/// Returns bytes as elements: in place when they are aligned, copied otherwise.
pub fn elements<T: Pod>(bytes: &[u8]) -> Cow<'_, [T]> {
    bytemuck::try_cast_slice(bytes).map_or_else(
        |_| bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect(),
        Cow::Borrowed,
    )
}

/// Numbers in memory of their own, or in a file that stays mapped.
#[derive(Clone, Debug)]
pub struct Array<T: Pod>(ArrayData<T>);

#[derive(Clone, Debug)]
enum ArrayData<T> {
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
        match &self.0 {
            ArrayData::Owned(values) => values,
            // alignment was checked when it was made
            ArrayData::Mapped { mapping, bytes } => {
                bytemuck::try_cast_slice(mapping.bytes(bytes.clone())).unwrap_or(&[])
            }
        }
    }
}

impl<T: Pod> From<Vec<T>> for Array<T> {
    fn from(values: Vec<T>) -> Self {
        Self(ArrayData::Owned(values))
    }
}

impl<T: Pod> Array<T> {
    /// Creates values from the bytes of a file, in place where they are aligned.
    pub(super) fn from_mapping(mapping: Arc<Mapping>, bytes: Range<usize>) -> Self {
        Self(match bytemuck::try_cast_slice::<u8, T>(mapping.bytes(bytes.clone())) {
            Ok(_) => ArrayData::Mapped { mapping, bytes },
            Err(_) => ArrayData::Owned(elements(mapping.bytes(bytes)).into_owned()),
        })
    }

    /// Says how some of the elements are read.
    fn advise(&self, range: Range<usize>, advice: Advice) {
        if let ArrayData::Mapped { mapping, bytes } = &self.0 {
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

/// A tensor of a mapped file whose blocks are verified when they are first read.
#[derive(Debug)]
pub struct CheckedArray<T: Pod> {
    pub(super) values: Array<T>,
    pub(super) mapping: Arc<Mapping>,
    pub(super) name: String,
    /// Bytes of a block, and the checksum of each.
    pub(super) block: usize,
    pub(super) sums: Array<u32>,
    /// Whether elements are read here and there.
    pub(super) scattered: bool,
    /// A bit for each block that was verified.
    pub(super) verified: Vec<AtomicU64>,
}

impl<T: Pod> CheckedArray<T> {
    /// Returns the same, but a page is read from disk only when it is asked for, without those around it.
    pub fn scattered(self) -> Self {
        self.values.advise(0..self.len(), Advice::Scattered);
        Self { scattered: true, ..self }
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the elements of a range, verified. `check` looks at the elements of each block that is read for the
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
            let actual = crc32fast::hash(bytemuck::cast_slice(values));
            if actual != self.sums[block] {
                let name = &self.name;
                let expected = self.sums[block];
                let message = format!(
                    "damaged: checksum of block {block} of {name:?} {actual:08x}, the file says {expected:08x}"
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
