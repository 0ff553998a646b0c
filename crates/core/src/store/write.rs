use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use bytemuck::Pod;
use half::vec::HalfFloatVecExt;
use safetensors::Dtype;
use serde_json::{Map, Value, json};

use super::{BLOCK, BLOCKS, ByteSum, CHECKSUM, Element, KIND, SMALL_BLOCK, Sum, VERSION};
use crate::error::Error;

/// A named tensor to be written: little-endian elements, row-major.
#[derive(Clone, Debug)]
pub struct Tensor<'a> {
    /// The name of the tensor, unique in the file.
    pub name: String,
    /// Type of its elements.
    pub dtype: Dtype,
    /// The extents of the tensor, the slowest first.
    pub shape: Vec<usize>,
    /// The bytes of the tensor: the product of `shape` times the size of an element. None where they are [to be
    /// filled](Self::to_fill).
    pub data: Cow<'a, [u8]>,
    /// The place of the bytes of a tensor that does not hold them.
    pub elsewhere: Option<Elsewhere>,
}

/// The place of the bytes of a tensor that does not hold them.
#[derive(Clone, Copy, Debug)]
pub enum Elsewhere {
    /// The bytes are [to be filled](Tensor::to_fill) in while the file is written, and each block of this many bytes has a
    /// checksum.
    Filled(usize),
    /// The bytes are [not here](Tensor::summed), but their checksum is.
    Summed(ByteSum),
}

macro_rules! constructors {
    ($($function:ident $element:ty;)*) => {$(
        #[doc = concat!("A tensor of `", stringify!($element), "`, borrowed.")]
        pub fn $function(name: &str, shape: &[usize], values: &'a [$element]) -> Self {
            Self::from_slice(name, shape, values)
        }
    )*};
}

impl<'a> Tensor<'a> {
    constructors! { u8 u8; u32 u32; u64 u64; f32 f32; f64 f64; }

    /// Creates a tensor of any type of elements, borrowed.
    pub fn from_slice<T: Element>(name: &str, shape: &[usize], values: &'a [T]) -> Self {
        let name = name.to_owned();
        let shape = shape.to_vec();
        let data = Cow::Borrowed(bytemuck::cast_slice(values));
        Self { name, dtype: T::DTYPE, shape, data, elsewhere: None }
    }

    /// Creates a tensor of any type of elements, copied.
    pub fn owned<T: Element>(name: &str, shape: &[usize], values: &[T]) -> Self {
        let data = Cow::Owned(bytemuck::cast_slice(values).to_vec());
        Self { data, ..Self::from_slice::<T>(name, shape, &[]) }
    }

    /// Creates a tensor of 16-bit floating-point numbers, the nearest to `values`.
    pub fn f16(name: &str, shape: &[usize], values: &[f32]) -> Self {
        Self::owned(name, shape, &Vec::<half::f16>::from_f32_slice(values))
    }

    /// Creates a tensor whose bytes are [appended](Filling::append) while the file is written. Each MiB of them has a
    /// checksum, so that opening the file does not read it.
    pub fn to_fill<T: Element>(name: &str, shape: &[usize]) -> Self {
        let elsewhere = Some(Elsewhere::Filled(BLOCK));
        Self { elsewhere, ..Self::from_slice::<T>(name, shape, &[]) }
    }

    /// Creates a tensor whose bytes are not here, such as those of which several processes have parts. Contents with it
    /// have a [checksum](Contents::checksum), and are not written.
    pub fn summed<T: Element>(name: &str, shape: &[usize], sum: ByteSum) -> Self {
        let elsewhere = Some(Elsewhere::Summed(sum));
        Self { elsewhere, ..Self::from_slice::<T>(name, shape, &[]) }
    }

    /// Returns a tensor like this one but of `rows` rows, whose bytes [are not here](Self::summed).
    pub fn summed_like(&self, rows: usize, sum: ByteSum) -> Tensor<'static> {
        let shape = std::iter::once(rows).chain(self.shape.iter().skip(1).copied()).collect();
        Tensor {
            name: self.name.clone(),
            dtype: self.dtype,
            shape,
            data: Cow::Borrowed(&[]),
            elsewhere: Some(Elsewhere::Summed(sum)),
        }
    }

    /// Returns the same with a checksum for each 64 KiB, where little is read, here and there.
    pub fn in_small_blocks(self) -> Self {
        let elsewhere = match self.elsewhere {
            Some(Elsewhere::Filled(_)) => Some(Elsewhere::Filled(SMALL_BLOCK)),
            other @ (Some(Elsewhere::Summed(_)) | None) => other,
        };
        Self { elsewhere, ..self }
    }

    fn len(&self) -> usize {
        match self.elsewhere {
            None => self.data.len(),
            Some(_) => self.shape.iter().product::<usize>() * self.dtype.bitsize() / 8,
        }
    }

    /// Returns the size of the blocks that have checksums, for a tensor that is to be filled.
    fn block_size(&self) -> Option<usize> {
        match self.elsewhere {
            Some(Elsewhere::Filled(size)) => Some(size),
            Some(Elsewhere::Summed(_)) | None => None,
        }
    }

    /// Returns the tensor of the checksums of its blocks.
    fn checksums(&self, sums: Vec<u32>) -> Tensor<'static> {
        Tensor::owned(&format!("{}{BLOCKS}", self.name), &[sums.len()], &sums)
    }
}

/// The running checksums of blocks.
struct BlockSums {
    /// Bytes of a block.
    size: usize,
    sums: Vec<u32>,
    block: crc32fast::Hasher,
    /// Bytes of the block so far.
    within: usize,
}

impl BlockSums {
    fn new(size: usize) -> Self {
        Self { size, sums: Vec::new(), block: crc32fast::Hasher::new(), within: 0 }
    }

    fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (now, rest) = bytes.split_at(bytes.len().min(self.size - self.within));
            self.block.update(now);
            self.within += now.len();
            bytes = rest;
            if self.within == self.size {
                self.sums.push(std::mem::take(&mut self.block).finalize());
                self.within = 0;
            }
        }
    }

    fn finish(mut self) -> Vec<u32> {
        if self.within > 0 {
            self.sums.push(self.block.finalize());
        }
        self.sums
    }
}

/// The contents of a file, without its path.
#[derive(Clone, Copy, Debug)]
pub struct Contents<'a> {
    kind: &'a str,
    version: u32,
    metadata: &'a BTreeMap<String, String>,
    tensors: &'a [Tensor<'a>],
}

impl<'a> Contents<'a> {
    /// Creates a file of the given kind and version.
    pub fn new(
        kind: &'a str,
        version: u32,
        metadata: &'a BTreeMap<String, String>,
        tensors: &'a [Tensor<'a>],
    ) -> Self {
        Self { kind, version, metadata, tensors }
    }

    /// Returns the checksum that [`write`](Self::write) puts into the header: CRC-32, eight hexadecimal
    /// digits.
    ///
    /// It covers kind, version, metadata, and name, type, shape and bytes of each tensor (in the order of their names),
    /// every part preceded by its length. For a tensor in blocks it covers the checksums of the blocks in the place of
    /// its bytes, so there is none before they are filled.
    pub fn checksum(&self) -> String {
        self.sum(&self.tensors.iter().collect::<Vec<_>>())
    }

    fn sum(&self, tensors: &[&Tensor]) -> String {
        let mut sum = Sum::new(self.kind, &self.version.to_string(), self.metadata);
        let mut sorted = tensors.to_vec();
        sorted.sort_by(|a, b| a.name.cmp(&b.name));
        for tensor in sorted {
            sum.tensor(&tensor.name, tensor.dtype, &tensor.shape, tensor.len());
            match tensor.elsewhere {
                Some(Elsewhere::Filled(_)) => {}
                Some(Elsewhere::Summed(bytes)) => sum.summed(bytes),
                None => sum.bytes(&tensor.data),
            }
        }
        sum.finish()
    }

    /// Writes the file, atomically (see [`write_atomically`](super::write_atomically)).
    ///
    /// # Errors
    /// [`Error::File`] for a repeated tensor name, a tensor whose bytes do not fill its shape or are not here,
    /// or a metadata key that starts with `dsokr.`; [`Error::Io`] from the file system.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        self.write_filled(path, |_| Ok(()))
    }

    /// Writes the file like [`write`](Self::write), where `fill` appends the bytes of the tensors that are [to be
    /// filled](Tensor::to_fill), so that they need not be in memory at once.
    ///
    /// # Errors
    /// The errors of [`write`](Self::write); errors of `fill`. The file is not replaced then.
    pub fn write_filled<E: From<Error>>(
        &self,
        path: &Path,
        fill: impl FnOnce(&mut Filling) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check(path)?;
        let sums = |tensor: &Tensor| {
            let size = tensor.block_size()?;
            Some(tensor.checksums(vec![0; tensor.len().div_ceil(size)]))
        };
        let sums: Vec<Tensor> = self.tensors.iter().filter_map(sums).collect();
        // The widest elements first: with a header of whole words, every tensor is aligned.
        let mut sorted: Vec<&Tensor> = self.tensors.iter().chain(&sums).collect();
        sorted.sort_by(|a, b| {
            b.dtype.bitsize().cmp(&a.dtype.bitsize()).then_with(|| a.name.cmp(&b.name))
        });
        // the checksum is as long as the real one
        let start = self.header(&sorted, "00000000").len();
        super::atomic::prepare_with(path, |file| {
            let mut filling = Filling { path, file, tensors: BTreeMap::new() };
            let mut at = start as u64;
            for tensor in &sorted {
                let end = at + tensor.len() as u64;
                let place = TensorRange { at, end, sums: tensor.block_size().map(BlockSums::new) };
                filling.tensors.insert(&tensor.name, place);
                at = end;
            }
            for tensor in self.tensors {
                filling.bytes(&tensor.name, &tensor.data)?;
            }
            fill(&mut filling)?;
            let mut sums = Vec::new();
            for tensor in self.tensors {
                let place = filling.tensors.get_mut(&*tensor.name);
                let Some(block_sum) = place.and_then(|place| place.sums.take()) else { continue };
                let checksums = tensor.checksums(block_sum.finish());
                filling.bytes(&checksums.name, &checksums.data)?;
                sums.push(checksums);
            }
            if let Some((name, _)) = filling.tensors.iter().find(|(_, place)| place.at < place.end)
            {
                return Err(refused(path, name, UNFILLED).into());
            }
            let sum = self.sum(&self.tensors.iter().chain(&sums).collect::<Vec<_>>());
            let header = self.header(&sorted, &sum);
            filling.put(0, &header).map_err(E::from)
        })?
        .place()
        .map_err(E::from)
    }

    /// Returns the header, its length before it, for tensors in their order in the file.
    fn header(&self, sorted: &[&Tensor], sum: &str) -> Vec<u8> {
        let version = self.version.to_string();
        let required = [(KIND, self.kind), (VERSION, &version), (CHECKSUM, sum)];
        let metadata = self.metadata.iter().map(|(key, value)| (&**key, &**value));
        let metadata = required.into_iter().chain(metadata);
        let metadata: Map<_, _> =
            metadata.map(|(key, value)| (key.to_owned(), Value::from(value))).collect();
        let mut header = Map::from_iter([("__metadata__".to_owned(), Value::from(metadata))]);
        let mut offset = 0;
        for tensor in sorted {
            let end = offset + tensor.len();
            header.insert(
                tensor.name.clone(),
                json!({"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [offset, end]}),
            );
            offset = end;
        }
        let mut header = Value::from(header).to_string().into_bytes();
        header.resize(header.len().next_multiple_of(8), b' ');
        [&(header.len() as u64).to_le_bytes(), &header[..]].concat()
    }

    fn check(&self, path: &Path) -> Result<(), Error> {
        if let Some(key) = self.metadata.keys().find(|key| key.starts_with("dsokr.")) {
            return Err(refused(path, key, "metadata keys starting with \"dsokr.\" are reserved"));
        }
        let mut names = BTreeSet::from(["__metadata__"]);
        for tensor in self.tensors {
            if !names.insert(&tensor.name) {
                return Err(refused(path, &tensor.name, "the name is taken"));
            }
            let elements = tensor.shape.iter().try_fold(1usize, |size, &n| size.checked_mul(n));
            let bits = elements.and_then(|n| n.checked_mul(tensor.dtype.bitsize()));
            let is_here = !matches!(tensor.elsewhere, Some(Elsewhere::Summed(_)));
            if !is_here || bits.is_none() || bits != tensor.len().checked_mul(8) {
                return Err(refused(path, &tensor.name, UNFILLED));
            }
        }
        Ok(())
    }
}

const UNFILLED: &str = "its bytes do not fill its shape";

fn refused(path: &Path, name: &str, reason: &str) -> Error {
    Error::file(path, format!("cannot write {name:?}: {reason}"))
}

/// A file that is being written, whose tensors get their bytes piece by piece.
#[derive(derive_more::Debug)]
#[debug("Filling({})", path.display())]
pub struct Filling<'f> {
    path: &'f Path,
    file: &'f File,
    tensors: BTreeMap<&'f str, TensorRange>,
}

/// The positions of the next bytes of a tensor and of its end.
struct TensorRange {
    at: u64,
    end: u64,
    /// The checksums of the blocks, for a tensor in blocks.
    sums: Option<BlockSums>,
}

impl Filling<'_> {
    /// Appends elements to a tensor.
    ///
    /// # Errors
    /// [`Error::File`] for a tensor that the file does not have, and for more than its shape holds;
    /// [`Error::Io`] from the file system.
    pub fn append<T: Pod>(&mut self, name: &str, values: &[T]) -> Result<(), Error> {
        self.bytes(name, bytemuck::cast_slice(values))
    }

    fn bytes(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let place = self.tensors.get_mut(name);
        let place = place.ok_or_else(|| refused(self.path, name, "the file does not have it"))?;
        let end = place.at + bytes.len() as u64;
        let at = place.at;
        if end > place.end {
            return Err(refused(self.path, name, UNFILLED));
        }
        place.at = end;
        if let Some(sums) = &mut place.sums {
            sums.add(bytes);
        }
        self.put(at, bytes)
    }

    fn put(&self, at: u64, bytes: &[u8]) -> Result<(), Error> {
        let mut file = self.file;
        let put = file.seek(SeekFrom::Start(at)).and_then(|_| file.write_all(bytes));
        put.map_err(Error::io(self.path))
    }
}
