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

mod array;
mod atomic;
mod checksum;
mod element;
mod folder;
mod input;
mod mapping;
mod read;
mod temporary;
mod write;

pub use array::{Array, CheckedArray};
pub use atomic::{Prepared, create_folder, prepare, sync_folder, write_atomically};
pub use element::Element;
pub use folder::{new_folder, replace_folder};
pub use input::{BYTE_ORDER_MARK, LONGEST_TEXT, open_input, read_bytes, read_text};
pub(crate) use mapping::elements;
pub use mapping::{Entry, Mapping};
pub use read::{Checked, Stored};
pub use temporary::{remove_abandoned, remove_partial};
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
