//! Compressed files whose names do not say so.

use std::path::Path;

use crate::error::{Error, into_new};

/// A way to compress files.
struct Compression {
    name: &'static str,
    /// Whether a file with these first bytes is such a file.
    begins: fn(&[u8]) -> bool,
    /// What to do about a file whose name does not say so.
    remedy: &'static str,
    /// The command that decompresses it.
    command: &'static str,
    /// Whether files are read whose names say so.
    is_read: bool,
}

impl Compression {
    /// Creates a way to compress whose files a command decompresses.
    const fn with_command(
        name: &'static str,
        begins: fn(&[u8]) -> bool,
        command: &'static str,
    ) -> Self {
        Self { name, begins, remedy: "decompress the file", command, is_read: false }
    }
}

static COMPRESSIONS: [Compression; 5] = [
    Compression {
        name: "gzip",
        begins: |start| start.starts_with(b"\x1f\x8b"),
        remedy: "let it end with .gz",
        command: "gzip -dc",
        is_read: true,
    },
    Compression::with_command("bzip2", begins_as_bzip2, "bzip2 -dc"),
    Compression::with_command("xz", |start| start.starts_with(b"\xfd7zXZ"), "xz -dc"),
    Compression::with_command("zstd", |start| start.starts_with(b"\x28\xb5\x2f\xfd"), "zstd -dc"),
    Compression {
        name: "zip, as workbooks of Excel are",
        begins: |start| start.starts_with(b"PK\x03\x04"),
        remedy: "save a workbook as .csv, or decompress the file",
        command: "unzip -p",
        is_read: false,
    },
];

/// Returns whether a file begins as those of bzip2 do: a digit, the level, follows the letters.
fn begins_as_bzip2(start: &[u8]) -> bool {
    let behind_letters = start.strip_prefix(b"BZh").and_then(|rest| rest.get(1..));
    behind_letters.is_some_and(|rest| rest.starts_with(b"1AY&SY"))
}

/// Refuses a file that begins as compressed ones do.
pub(super) fn check_not_compressed(path: &Path, start: &[u8]) -> Result<(), Error> {
    let compression = COMPRESSIONS.iter().find(|compression| (compression.begins)(start));
    let Some(Compression { name, remedy, command, is_read, .. }) = compression else {
        return Ok(());
    };
    let command = into_new(path, command, path.file_name());
    let message = if !path.exists() {
        format!("the contents are compressed ({name}): decompress them before: {command}")
    } else if *is_read {
        format!("the contents are compressed ({name}), and the name does not say so: {remedy}")
    } else {
        format!(
            "the contents are compressed ({name}), and the name does not say so: {remedy}: {command}"
        )
    };
    Err(Error::file(path, message))
}
