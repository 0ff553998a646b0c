use std::io::{BufWriter, Write};
use std::path::Path;

use crate::Error;

/// Writes a file such that `path` holds, at every moment, either its old content or all of the new.
///
/// The content goes to a temporary file in the same directory, which is synced and renamed; then
/// the directory is synced. On an error the temporary file is removed and `path` is untouched.
/// Writes are buffered (1 MiB); readers of the old file keep reading the old content.
///
/// # Errors
/// [`Error::Io`] with `path` and what the operating system or `write` said.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Error> {
    let attempt = || -> std::io::Result<()> {
        let name = path.file_name().ok_or_else(|| {
            std::io::Error::new(std::io::ErrorKind::InvalidInput, "the path names no file")
        })?;
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mut prefix = std::ffi::OsString::from(".");
        prefix.push(name);
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(".partial");
        // Temporary files are private by default; what is written here is an ordinary file.
        #[cfg(unix)]
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        #[cfg(unix)]
        builder.permissions(permissions);
        let temporary = builder.tempfile_in(directory)?;
        let mut buffered = BufWriter::with_capacity(1 << 20, temporary.as_file());
        write(&mut buffered)?;
        buffered.flush()?;
        drop(buffered);
        temporary.as_file().sync_all()?;
        temporary.persist(path).map_err(|failed| failed.error)?;
        #[cfg(unix)]
        std::fs::File::open(directory)?.sync_all()?;
        Ok(())
    };
    attempt().map_err(|source| Error::Io { path: path.to_owned(), source })
}
