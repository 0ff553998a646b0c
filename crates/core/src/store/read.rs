use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use safetensors::Dtype;

use super::{
    Array, BLOCK, BLOCKS, CHECKSUM, CheckedArray, Element, Entry, KIND, Mapping, SMALL_BLOCK, Sum,
    VERSION,
};
use crate::error::Error;

/// A memory-mapped file of known kind and version whose checksum has been verified.
///
/// Tensors are read in place where their alignment allows it (it does in files that
/// [`Contents::write`](super::Contents::write) wrote) and copied otherwise. The file must not be
/// truncated or written in place while it is open; dsokr itself only replaces files by renaming.
#[derive(Debug)]
pub struct Stored {
    mapping: Arc<Mapping>,
    /// All metadata, but for kind, version and checksum.
    metadata: BTreeMap<String, String>,
    checksum: String,
}

impl Stored {
    /// Maps and verifies a file.
    ///
    /// Reads it once, from start to end, giving pages back as it goes; tensors in blocks are not read.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::File`] for a file that is missing, truncated, damaged, or of a kind or
    /// version that differs, and for a folder or a special file in its place.
    pub fn open(path: &Path, kind: &str, version: u32) -> Result<Self, Error> {
        let mapping = Mapping::open(path)?;
        let mut metadata = mapping.metadata.clone();
        let mut take = |key: &str| metadata.remove(key).unwrap_or_default();
        let found_kind = take(KIND);
        let found_version = take(VERSION);
        let expected = take(CHECKSUM);
        if found_kind != kind {
            return Err(Error::file(path, format!("holds {found_kind:?}, expected {kind:?}")));
        }
        if found_version != version.to_string() {
            return Err(Error::file(
                path,
                format!(
                    "format version {found_version}, this program reads version {version}: train again, or read the file with \
                     the version of dsokr that wrote it"
                ),
            ));
        }
        let mut sum = Sum::new(&found_kind, &found_version, &metadata);
        for (name, entry) in &mapping.entries {
            sum.tensor(name, entry.dtype, &entry.shape, entry.bytes.len());
            if mapping.entries.contains_key(&format!("{name}{BLOCKS}")) {
                continue;
            }
            let mut start = entry.bytes.start;
            while start < entry.bytes.end {
                let end = entry.bytes.end.min(start + (4 << 20));
                sum.bytes(mapping.bytes(start..end));
                mapping.release(start..end);
                start = end;
            }
        }
        let actual = sum.finish();
        if actual != expected {
            return Err(Error::file(
                path,
                format!("damaged: checksum of the content {actual}, the header says {expected}"),
            ));
        }
        Ok(Self { mapping: Arc::new(mapping), metadata, checksum: actual })
    }

    /// Verifies a file of any kind and version, and its tensors in blocks too.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::File`] for a file that is missing, truncated, damaged or none of dsokr's.
    pub fn verify(path: &Path) -> Result<(), Error> {
        let mapping = Mapping::open(path)?;
        let metadata = |key: &str| mapping.metadata.get(key).map_or("", String::as_str);
        let kind = metadata(KIND);
        let version = metadata(VERSION).parse().map_err(|_| {
            Error::file(path, format!("damaged, or none of dsokr's files: no metadata {VERSION:?}"))
        })?;
        let stored = Self::open(path, kind, version)?;
        for (name, entry) in &stored.mapping.entries {
            if stored.has(&format!("{name}{BLOCKS}")) {
                let bytes: CheckedArray<u8> = stored.in_blocks(name, entry)?;
                bytes.get(0..bytes.len(), |_, _| Ok::<_, Error>(()))?;
                stored.mapping.release(entry.bytes.clone());
            }
        }
        Ok(())
    }

    /// Returns the checksum that the header of a file names, which is not verified: nothing else is read.
    ///
    /// # Errors
    /// [`Error::File`] for a file that is missing or none of dsokr's.
    pub fn named_checksum(path: &Path) -> Result<String, Error> {
        let mapping = Mapping::open(path)?;
        let named = mapping.metadata.get(CHECKSUM).cloned();
        named.ok_or_else(|| Error::file(path, format!("no metadata {CHECKSUM:?}")))
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.mapping.path
    }

    /// Returns the verified checksum: eight hexadecimal digits.
    pub fn checksum(&self) -> &str {
        &self.checksum
    }

    /// Returns all metadata, but for kind, version and checksum.
    pub fn all_metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }

    /// Returns the names of the tensors, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.mapping.entries.keys().map(String::as_str)
    }

    /// Returns whether there is a tensor of this name.
    pub fn has(&self, name: &str) -> bool {
        self.mapping.entries.contains_key(name)
    }

    /// Returns the value of a metadata key.
    ///
    /// # Errors
    /// [`Error::File`] when the file has no such key.
    pub fn metadata(&self, key: &str) -> Result<&str, Error> {
        let value = self.metadata.get(key).map(String::as_str);
        value.ok_or_else(|| Error::file(self.path(), format!("no metadata {key:?}")))
    }

    /// Returns the value of a metadata key, parsed; `allowed` says what is expected, for the error.
    ///
    /// # Errors
    /// [`Error::File`] when the file has no such key, or its value does not parse.
    pub fn parsed<T: std::str::FromStr>(&self, key: &str, allowed: &str) -> Result<T, Error> {
        let text = self.metadata(key)?;
        text.parse().map_err(|_| self.bad_metadata(key, allowed))
    }

    /// Returns the value of a metadata key, read as JSON.
    ///
    /// # Errors
    /// [`Error::File`] with what the JSON reader said.
    pub fn json<T: serde::de::DeserializeOwned>(&self, key: &str) -> Result<T, Error> {
        let text = self.metadata(key)?;
        serde_json::from_str(text).map_err(|error| self.bad_metadata(key, &error.to_string()))
    }

    /// Returns the shape and elements of a tensor of `T`, in the file where they are aligned there.
    ///
    /// # Errors
    /// [`Error::File`] when there is no such tensor, and for a different type or number of dimensions.
    pub fn read<T: Element>(
        &self,
        name: &str,
        rank: usize,
    ) -> Result<(Vec<usize>, Array<T>), Error> {
        if let Some((shape, checked)) = self.checked_array::<T>(name, rank)? {
            checked.get(0..checked.len(), |_, _| Ok::<_, Error>(()))?;
            return Ok((shape, checked.values));
        }
        let entry = self.typed::<T>(name, rank)?;
        Ok((entry.shape.clone(), Array::from_mapping(self.mapping(), entry.bytes.clone())))
    }

    /// Returns the elements of a tensor of `T` that has this shape, copied.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read); [`Error::File`] for a different shape.
    pub fn shaped<T: Element>(&self, name: &str, expected: &[usize]) -> Result<Vec<T>, Error> {
        let (shape, elements) = self.read::<T>(name, expected.len())?;
        if shape == expected {
            Ok(elements.to_vec())
        } else {
            Err(self.bad_shape(name, &shape, format!("{expected:?}")))
        }
    }

    /// Returns the shape and elements of a tensor of `T` that is verified block by block as it is read; none where the
    /// tensor has no checksums by blocks.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read); [`Error::File`] for a wrong number of checksums.
    pub fn checked_array<T: Element>(
        &self,
        name: &str,
        rank: usize,
    ) -> Result<Option<Checked<T>>, Error> {
        if !self.has(&format!("{name}{BLOCKS}")) {
            return Ok(None);
        }
        let entry = self.typed::<T>(name, rank)?;
        Ok(Some((entry.shape.clone(), self.in_blocks(name, entry)?)))
    }

    /// Returns a tensor with checksums by blocks as elements of `T`, of the tensor's type or bytes.
    fn in_blocks<T: Element>(&self, name: &str, entry: &Entry) -> Result<CheckedArray<T>, Error> {
        let sums = format!("{name}{BLOCKS}");
        let (sums_shape, numbers) = self.read::<u32>(&sums, 1)?;
        let block = block_size(entry.bytes.len(), numbers.len()).ok_or_else(|| {
            let blocks = entry.bytes.len().div_ceil(BLOCK);
            self.bad_shape(&sums, &sums_shape, format!("[{blocks}]"))
        })?;
        let sums = numbers;
        let mapping = self.mapping();
        let values = Array::from_mapping(self.mapping(), entry.bytes.clone());
        let verified = (0..sums.len().div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        let name = name.to_owned();
        let scattered = false;
        Ok(CheckedArray { values, mapping, name, block, sums, scattered, verified })
    }

    /// Returns the element type and shape of a tensor.
    ///
    /// # Errors
    /// [`Error::File`] when the file has no such tensor.
    pub fn describe(&self, name: &str) -> Result<(Dtype, &[usize]), Error> {
        let entry = self.mapping.entry(name)?;
        Ok((entry.dtype, &entry.shape))
    }

    /// Returns the file, to read feature rows from it block by block.
    pub fn mapping(&self) -> Arc<Mapping> {
        Arc::clone(&self.mapping)
    }

    /// Returns the error for a metadata value that cannot be used.
    pub fn bad_metadata(&self, key: &str, allowed: &str) -> Error {
        let value = self.metadata.get(key).map_or("", String::as_str);
        Error::file(self.path(), format!("metadata {key:?} is {value:?}, expected {allowed}"))
    }

    /// Returns the error for a tensor whose shape contradicts the rest of the file.
    pub fn bad_shape(&self, name: &str, found: &[usize], expected: String) -> Error {
        self.mapping.bad_shape(name, found, &expected)
    }

    /// Returns the entry of a tensor, if it has this type and number of dimensions.
    fn typed<T: Element>(&self, name: &str, rank: usize) -> Result<&Entry, Error> {
        let entry = self.mapping.entry(name)?;
        if entry.dtype != T::DTYPE {
            return Err(self.mapping.bad_dtype(name, entry.dtype, &T::DTYPE.to_string()));
        }
        if entry.shape.len() != rank {
            return Err(self.bad_shape(name, &entry.shape, format!("{rank} dimensions")));
        }
        Ok(entry)
    }
}

/// Returns the size of the blocks of so many bytes that so many checksums are of.
fn block_size(bytes: usize, sums: usize) -> Option<usize> {
    [BLOCK, SMALL_BLOCK].into_iter().find(|&size| bytes.div_ceil(size) == sums)
}

/// Shape and elements of a tensor that is verified block by block.
pub type Checked<T> = (Vec<usize>, CheckedArray<T>);
