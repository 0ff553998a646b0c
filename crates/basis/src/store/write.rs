use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use half::vec::HalfFloatVecExt;
use safetensors::Dtype;
use serde_json::{Map, Value, json};

use super::{BLOCK, BLOCKS, CHECKSUM, KIND, VERSION, write_atomically};
use crate::Error;

/// A named tensor to be written: little-endian elements, row-major.
#[derive(Clone, Debug)]
pub struct Tensor<'a> {
    /// Its name, unique in the file.
    pub name: String,
    /// Type of its elements.
    pub dtype: Dtype,
    /// Its extents, the slowest first.
    pub shape: Vec<usize>,
    /// Its bytes, in parts that follow each other: the product of `shape` times the size of an element.
    pub data: Vec<Cow<'a, [u8]>>,
    /// Whether its bytes have checksums by blocks.
    pub blocks: bool,
}

macro_rules! constructors {
    ($($function:ident $element:ty, $dtype:ident;)*) => {$(
        #[doc = concat!("A tensor of `", stringify!($element), "`, borrowed.")]
        pub fn $function(name: &str, shape: &[usize], values: &'a [$element]) -> Self {
            Self {
                name: name.to_owned(),
                dtype: Dtype::$dtype,
                shape: shape.to_vec(),
                data: vec![Cow::Borrowed(bytemuck::cast_slice(values))],
                blocks: false,
            }
        }
    )*};
}

impl<'a> Tensor<'a> {
    constructors! { u8 u8, U8; u32 u32, U32; u64 u64, U64; f32 f32, F32; f64 f64, F64; }

    /// A tensor of 16-bit floating-point numbers, the nearest to `values`.
    pub fn f16(name: &str, shape: &[usize], values: &[f32]) -> Self {
        let halves: Vec<half::f16> = Vec::from_f32_slice(values);
        Self {
            name: name.to_owned(),
            dtype: Dtype::F16,
            shape: shape.to_vec(),
            data: vec![Cow::Owned(bytemuck::cast_slice(&halves).to_vec())],
            blocks: false,
        }
    }

    /// The same with the elements `values` behind those that it has.
    pub fn followed_by<T: bytemuck::Pod>(mut self, values: &'a [T]) -> Self {
        self.data.push(Cow::Borrowed(bytemuck::cast_slice(values)));
        self
    }

    /// The same with a checksum for each block of its bytes, so that opening the file does not read it.
    pub fn in_blocks(self) -> Self {
        Self { blocks: true, ..self }
    }

    fn len(&self) -> usize {
        self.data.iter().map(|part| part.len()).sum()
    }

    /// The tensor with the checksums of its blocks.
    fn checksums(&self) -> Tensor<'static> {
        let (mut sums, mut block, mut within) = (Vec::new(), crc32fast::Hasher::new(), 0);
        for mut part in self.data.iter().map(|part| &part[..]) {
            while !part.is_empty() {
                let (now, rest) = part.split_at(part.len().min(BLOCK - within));
                block.update(now);
                (within, part) = (within + now.len(), rest);
                if within == BLOCK {
                    sums.push(std::mem::take(&mut block).finalize());
                    within = 0;
                }
            }
        }
        if within > 0 {
            sums.push(block.finalize());
        }
        let data = sums.iter().flat_map(|sum: &u32| sum.to_le_bytes()).collect::<Vec<u8>>();
        Tensor {
            name: format!("{}{BLOCKS}", self.name),
            dtype: Dtype::U32,
            shape: vec![sums.len()],
            data: vec![data.into()],
            blocks: false,
        }
    }
}

/// What a file holds, beside its path.
#[derive(Clone, Copy, Debug)]
pub struct Contents<'a> {
    kind: &'a str,
    version: u32,
    metadata: &'a BTreeMap<String, String>,
    tensors: &'a [Tensor<'a>],
}

impl<'a> Contents<'a> {
    /// A file of the given kind and version.
    pub fn new(
        kind: &'a str,
        version: u32,
        metadata: &'a BTreeMap<String, String>,
        tensors: &'a [Tensor<'a>],
    ) -> Self {
        Self { kind, version, metadata, tensors }
    }

    /// The checksum that [`write`](Self::write) puts into the header: CRC-32, eight hexadecimal
    /// digits.
    ///
    /// It covers kind, version, metadata, and name, type, shape and bytes of each tensor (in the
    /// order of their names), every part preceded by its length; of a tensor in blocks not its bytes, but
    /// those of their checksums.
    pub fn checksum(&self) -> String {
        self.sum(&self.with_checksums())
    }

    fn sum(&self, tensors: &[Cow<Tensor>]) -> String {
        let mut sum = Sum::new(self.kind, &self.version.to_string(), self.metadata);
        let mut sorted: Vec<_> = tensors.iter().collect();
        sorted.sort_by(|a, b| a.name.cmp(&b.name));
        for tensor in sorted {
            sum.tensor(&tensor.name, tensor.dtype, &tensor.shape, tensor.len());
            if !tensor.blocks {
                tensor.data.iter().for_each(|part| sum.bytes(part));
            }
        }
        sum.finish()
    }

    /// All tensors, with the checksums of those that are written in blocks.
    fn with_checksums(&self) -> Vec<Cow<'_, Tensor<'a>>> {
        let blocks = self.tensors.iter().filter(|tensor| tensor.blocks);
        let checksums = blocks.map(|tensor| Cow::Owned(tensor.checksums()));
        self.tensors.iter().map(Cow::Borrowed).chain(checksums).collect()
    }

    /// Writes the file, atomically (see [`write_atomically`]).
    ///
    /// # Errors
    /// [`Error::File`] for a repeated tensor name, a tensor whose bytes do not fill its shape,
    /// or a metadata key that starts with `dsokr.`; [`Error::Io`] from the file system.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        self.check(path)?;
        let mut header = Map::new();
        let mut extended = Map::new();
        let tensors = self.with_checksums();
        let sum = self.sum(&tensors);
        extended.insert(KIND.into(), self.kind.into());
        extended.insert(VERSION.into(), self.version.to_string().into());
        extended.insert(CHECKSUM.into(), sum.into());
        extended.extend(
            self.metadata.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str()))),
        );
        header.insert("__metadata__".into(), extended.into());
        // The widest elements first: with a header of whole words, every tensor is aligned.
        let mut sorted: Vec<_> = tensors.iter().collect();
        sorted.sort_by(|a, b| {
            b.dtype.bitsize().cmp(&a.dtype.bitsize()).then_with(|| a.name.cmp(&b.name))
        });
        let mut offset = 0;
        for tensor in &sorted {
            let end = offset + tensor.len();
            header.insert(
                tensor.name.clone(),
                json!({"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [offset, end]}),
            );
            offset = end;
        }
        let mut header = Value::from(header).to_string().into_bytes();
        header.resize(header.len().next_multiple_of(8), b' ');

        write_atomically(path, |file| {
            file.write_all(&(header.len() as u64).to_le_bytes())?;
            file.write_all(&header)?;
            let mut parts = sorted.iter().flat_map(|tensor| &tensor.data);
            parts.try_for_each(|part| file.write_all(part))
        })
    }

    fn check(&self, path: &Path) -> Result<(), Error> {
        let refuse = |name: &str, reason: &str| {
            Error::file(path, format!("cannot write {name:?}: {reason}"))
        };
        if let Some(key) = self.metadata.keys().find(|key| key.starts_with("dsokr.")) {
            return Err(refuse(key, "metadata keys starting with \"dsokr.\" are reserved"));
        }
        let mut names = BTreeSet::from(["__metadata__"]);
        for tensor in self.tensors {
            if !names.insert(&tensor.name) {
                return Err(refuse(&tensor.name, "the name is taken"));
            }
            let elements = tensor.shape.iter().try_fold(1usize, |size, &n| size.checked_mul(n));
            let bits = elements.and_then(|n| n.checked_mul(tensor.dtype.bitsize()));
            if bits != tensor.len().checked_mul(8) {
                return Err(refuse(&tensor.name, "its bytes do not fill its shape"));
            }
        }
        Ok(())
    }
}

/// The running checksum; reader and writer feed it the same parts.
pub(super) struct Sum(crc32fast::Hasher);

impl Sum {
    pub(super) fn new(kind: &str, version: &str, metadata: &BTreeMap<String, String>) -> Self {
        let mut sum = Self(crc32fast::Hasher::new());
        sum.text(kind);
        sum.text(version);
        sum.number(metadata.len());
        for (key, value) in metadata {
            sum.text(key);
            sum.text(value);
        }
        sum
    }

    pub(super) fn tensor(&mut self, name: &str, dtype: Dtype, shape: &[usize], bytes: usize) {
        self.text(name);
        self.text(&dtype.to_string());
        self.number(shape.len());
        shape.iter().for_each(|&extent| self.number(extent));
        self.number(bytes);
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(super) fn finish(self) -> String {
        format!("{:08x}", self.0.finalize())
    }

    fn number(&mut self, number: usize) {
        self.bytes(&(number as u64).to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len());
        self.bytes(text.as_bytes());
    }
}
