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
mod byte_sum;
mod mapping;
mod read;
mod temporary;
mod write;

use std::collections::BTreeMap;
use std::fs::{File, FileType};
use std::io::{self, ErrorKind, Read};
use std::path::{Component, Path};

use bytemuck::Pod;
use half::f16;
use safetensors::Dtype;

use crate::error::Error;

pub use atomic::{
    Prepared, create_folder, new_folder, prepare, remove_abandoned, remove_partial, replace_folder,
    sync_file, sync_folder, write_atomically,
};
pub use byte_sum::ByteSum;
pub use mapping::{Array, CheckedArray, Entry, Mapping, elements};
pub use read::{Checked, Stored};
pub use temporary::{Listed, ScratchFolder, end_writing};
pub use write::{Contents, Elsewhere, Filling, Tensor};

const KIND: &str = "dsokr.kind";
const VERSION: &str = "dsokr.version";
const CHECKSUM: &str = "dsokr.checksum";

/// The suffix of the tensor with the checksums of a tensor's blocks.
const BLOCKS: &str = ".checksums";

/// Bytes of a block that has its own checksum.
const BLOCK: usize = 1 << 20;
/// Bytes of a block of a tensor that is read in small parts.
const SMALL_BLOCK: usize = 64 << 10;

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

    /// Adds bytes whose checksum is known.
    fn summed(&mut self, sum: ByteSum) {
        self.0.combine(&sum.hasher());
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

/// The longest text file that is read whole, in bytes.
pub const LONGEST_TEXT: u64 = 1 << 30;

/// U+FEFF in UTF-8, which some editors put before a text.
pub const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Opens a file to read it. A named pipe, a device or a socket is refused without being opened, since
/// opening or reading it may never end.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for what is not a file, [`ErrorKind::IsADirectory`] for a folder; what the
/// operating system reports.
pub fn open_input(path: &Path) -> io::Result<File> {
    check_file(std::fs::metadata(path)?.file_type())?;
    File::open(path)
}

/// Refuses what is not a file.
///
/// # Errors
/// [`ErrorKind::IsADirectory`] for a folder, [`ErrorKind::InvalidInput`] for anything else.
fn check_file(kind: FileType) -> io::Result<()> {
    if kind.is_dir() {
        Err(ErrorKind::IsADirectory.into())
    } else if kind.is_file() {
        Ok(())
    } else {
        let message = format!("{}, expected a file", name(kind));
        Err(io::Error::new(ErrorKind::InvalidInput, message))
    }
}

/// Returns the bytes of a file, as [`open_input`] opens it.
///
/// # Errors
/// The errors of [`open_input`].
pub fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_input(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the text of a file of at most [`LONGEST_TEXT`] bytes, without a byte-order mark.
///
/// # Errors
/// The errors of [`open_input`]; [`ErrorKind::FileTooLarge`]; [`ErrorKind::InvalidData`] for bytes that are not
/// UTF-8.
///
/// ```
/// use dsokr_core::store::read_text;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("a.toml");
/// std::fs::write(&path, "\u{feff}seed = 1\n")?;
/// assert_eq!(read_text(&path)?, "seed = 1\n");
/// assert!(read_text(folder.path()).is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn read_text(path: &Path) -> io::Result<String> {
    let file = open_input(path)?;
    let too_long = |length: u64| {
        let message = format!("{length} bytes; a text file has at most {LONGEST_TEXT}");
        Err(io::Error::new(ErrorKind::FileTooLarge, message))
    };
    let length = file.metadata()?.len();
    if length > LONGEST_TEXT {
        return too_long(length);
    }
    // the file may grow while it is read
    let mut text = String::new();
    let read = file.take(LONGEST_TEXT + 1).read_to_string(&mut text)? as u64;
    if read > LONGEST_TEXT {
        return too_long(read);
    }
    if text.as_bytes().starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len());
    }
    Ok(text)
}

/// Refuses the path of a `key` that leaves its folder: a configuration must work wherever the data
/// root is.
///
/// # Errors
/// [`Error::Value`] for an absolute or empty path, or one with `..`.
pub fn check_inside(key: &str, path: &str) -> Result<(), Error> {
    let normal = |c: Component| matches!(c, Component::Normal(_) | Component::CurDir);
    let holds = !path.is_empty() && Path::new(path).components().all(normal);
    Error::ensure(holds, key, format_args!("{path:?}"), "a relative path without \"..\"")
}

#[cfg(unix)]
fn name(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn name(_: FileType) -> &'static str {
    "a special file"
}
