use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// The longest text file that is read whole, in bytes.
pub const LONGEST_TEXT: u64 = 1 << 30;

/// U+FEFF in UTF-8, which some editors put before a text.
pub const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Opens a file to read it. A named pipe, a device or a socket is refused without being opened, since
/// opening or reading it may never end.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for what is no file, [`ErrorKind::IsADirectory`] for a folder; what the
/// operating system reports.
pub fn open_input(path: &Path) -> Result<File> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() {
        return Err(Error::new(
            ErrorKind::InvalidInput,
            format!("{}, allowed is a file", name(kind)),
        ));
    }
    File::open(path)
}

/// The bytes of a file, as [`open_input`] opens it.
///
/// # Errors
/// As [`open_input`].
pub fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_input(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of a file of at most [`LONGEST_TEXT`] bytes, without a byte-order mark.
///
/// # Errors
/// As [`open_input`]; [`ErrorKind::FileTooLarge`]; [`ErrorKind::InvalidData`] for bytes that are not
/// UTF-8.
///
/// ```
/// use dsokr_basis::store::read_text;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("a.toml");
/// std::fs::write(&path, "\u{feff}seed = 1\n")?;
/// assert_eq!(read_text(&path)?, "seed = 1\n");
/// assert!(read_text(folder.path()).is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn read_text(path: &Path) -> Result<String> {
    let file = open_input(path)?;
    let too_long = |length: u64| {
        let message = format!("{length} bytes, allowed are at most {LONGEST_TEXT} of a text file");
        Err(Error::new(ErrorKind::FileTooLarge, message))
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

#[cfg(unix)]
fn name(kind: std::fs::FileType) -> &'static str {
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
fn name(_: std::fs::FileType) -> &'static str {
    "a special file"
}
