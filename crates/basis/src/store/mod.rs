//! Versioned, checksummed safetensors files, written atomically.
//!
//! One format for every file that dsokr writes: a plain safetensors file whose header metadata
//! holds `dsokr.kind` (what it is), `dsokr.version` (of that kind's layout) and `dsokr.checksum`
//! (CRC-32, eight hexadecimal digits, over kind, version, the other metadata, and name, element
//! type, shape and bytes of every tensor). Anything that reads safetensors reads these files;
//! [`Stored::open`] verifies them first, so that a truncated or flipped file is an error and
//! never a wrong model. A tensor that is [filled](Tensor::to_fill) while the file is written has a checksum (CRC-32)
//! for each MiB (or 64 KiB) in the tensor `NAME.checksums`, in the place of its bytes: it is not read when the file is
//! opened, and a [`CheckedArray`] verifies each block when it is first read.

mod atomic;
mod input;
mod mapping;
mod read;
mod write;

use std::collections::BTreeMap;

use bytemuck::Pod;
use half::f16;
use safetensors::Dtype;

pub use atomic::{
    Prepared, create_folder, new_folder, prepare, remove_abandoned, remove_partial, replace_folder,
    sync_folder, write_atomically,
};
pub use input::{BYTE_ORDER_MARK, LONGEST_TEXT, open_input, read_bytes, read_text};
pub(crate) use mapping::elements;
pub use mapping::{Array, CheckedArray, Entry, Mapping};
pub use read::{Checked, Shaped, Stored};
pub use write::{Contents, Filling, Tensor};

const KIND: &str = "dsokr.kind";
const VERSION: &str = "dsokr.version";
const CHECKSUM: &str = "dsokr.checksum";

/// What follows the name of a tensor in the name of the one with the checksums of its blocks.
const BLOCKS: &str = ".checksums";

/// Bytes of a block that has a checksum of its own.
pub(crate) const BLOCK: usize = 1 << 20;
/// The same for a tensor of which little is read at a time.
pub(crate) const SMALL_BLOCK: usize = 64 << 10;

/// Types of elements that files hold.
pub trait Element: Pod {
    /// The type in the file.
    const DTYPE: Dtype;
}

macro_rules! element_types {
    ($($element:ty, $dtype:ident;)*) => {$(
        impl Element for $element {
            const DTYPE: Dtype = Dtype::$dtype;
        }
    )*};
}

element_types! { u8, U8; u32, U32; u64, U64; f16, F16; f32, F32; f64, F64; }

/// The running checksum; reader and writer feed it the same parts.
struct Sum(crc32fast::Hasher);

impl Sum {
    fn new(kind: &str, version: &str, metadata: &BTreeMap<String, String>) -> Self {
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

    fn tensor(&mut self, name: &str, dtype: Dtype, shape: &[usize], bytes: usize) {
        self.text(name);
        self.text(&dtype.to_string());
        self.number(shape.len());
        shape.iter().for_each(|&extent| self.number(extent));
        self.number(bytes);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(self) -> String {
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
