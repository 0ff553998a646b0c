//! Versioned, checksummed safetensors files, written atomically.
//!
//! One format for every file that dsokr writes: a plain safetensors file whose header metadata
//! holds `dsokr.kind` (what it is), `dsokr.version` (of that kind's layout) and `dsokr.checksum`
//! (CRC-32, eight hexadecimal digits, over kind, version, the other metadata, and name, element
//! type, shape and bytes of every tensor). Anything that reads safetensors reads these files;
//! [`Stored::open`] verifies them first, so that a truncated or flipped file is an error and
//! never a wrong model.

mod atomic;
mod input;
mod mapping;
mod read;
mod write;

pub use atomic::{create_folder, remove_partial, sync_folder, write_atomically};
pub use input::{BYTE_ORDER_MARK, LONGEST_TEXT, open_input, read_bytes, read_text};
pub(crate) use mapping::{Entry, Mapping, elements};
pub use read::Stored;
pub use write::{Contents, Tensor};

const KIND: &str = "dsokr.kind";
const VERSION: &str = "dsokr.version";
const CHECKSUM: &str = "dsokr.checksum";
