use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::temporary::{builder, folder_of, holds, prefix, remove_abandoned};
use crate::Error;

/// Writes a file such that `path` holds, at every moment, either its old content or all of the new.
///
/// The content goes to a temporary file `.NAME.XXXXXX.partial` in the same directory, which is
/// synced and renamed; then the directory is synced, where its file system can do that. Writes are
/// buffered (1 MiB); readers of the old file keep reading the old content. A process that is killed
/// meanwhile leaves the temporary file; the next write of `path` removes it, as does [`remove_partial`](super::remove_partial).
///
/// # Errors
/// [`Error::Io`] with `path` and what the operating system or `write` said. Up to the renaming,
/// `path` is untouched then and the temporary file is removed. When only the directory cannot be
/// synced, `path` holds the new content, which a power failure may undo.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Error> {
    prepare(path, write)?.place()
}

/// The first half of [`write_atomically`]: the content is on disk, under its temporary name, until it is
/// [placed](Prepared::place). So what can fail has not failed, and something else can be done first.
///
/// # Errors
/// As [`write_atomically`]; `path` is untouched.
///
/// ```
/// use dsokr_basis::store::prepare;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("table.tsv");
/// let prepared = prepare(&path, |file| writeln!(file, "id"))?;
/// assert!(!path.exists());
/// prepared.place()?;
/// assert_eq!(std::fs::read_to_string(&path)?, "id\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn prepare(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<Prepared, Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    prepare_with(path, |file| {
        let mut buffered = BufWriter::with_capacity(1 << 20, file);
        write(&mut buffered).and_then(|()| buffered.flush()).map_err(io)
    })
}

/// As [`prepare`], with the temporary file itself and errors of any kind.
pub(super) fn prepare_with<E: From<Error>>(
    path: &Path,
    write: impl FnOnce(&File) -> Result<(), E>,
) -> Result<Prepared, E> {
    let io = |source| E::from(Error::Io { path: path.to_owned(), source });
    let temporary = temporary(path).map_err(io)?;
    write(temporary.as_file())?;
    temporary.as_file().sync_all().map_err(io)?;
    Ok(Prepared { temporary, path: path.to_owned() })
}

/// A file that is written and not in its place. It is removed where it is not placed.
#[derive(Debug)]
pub struct Prepared {
    temporary: NamedTempFile,
    path: PathBuf,
}

impl Prepared {
    /// Puts the file into its place.
    ///
    /// # Errors
    /// As [`write_atomically`].
    pub fn place(self) -> Result<(), Error> {
        let Self { temporary, path } = self;
        let placed = temporary.persist(&path).map_err(|failed| failed.error);
        placed
            .and_then(|_| sync_folder(folder_of(&path)))
            .map_err(|source| Error::Io { path, source })
    }
}

/// A new temporary file for `path` in its directory, locked while its process lives.
fn temporary(path: &Path) -> std::io::Result<NamedTempFile> {
    remove_abandoned(path);
    let prefix = prefix(path)?;
    loop {
        let temporary = builder(&prefix, 0o666).tempfile_in(folder_of(path))?;
        if holds(temporary.as_file(), temporary.path()) {
            return Ok(temporary);
        }
    }
}

/// Creates a folder and those above it that do not exist. The folders that name them are synced, where
/// their file system can do that, so that a power failure afterwards does not undo it.
///
/// # Errors
/// What the operating system reports.
pub fn create_folder(path: &Path) -> std::io::Result<()> {
    let missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    let new: Vec<&Path> = path.ancestors().take_while(missing).collect();
    std::fs::create_dir_all(path)?;
    new.into_iter().rev().try_for_each(|folder| match folder.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_folder(parent),
        Some(_) | None => sync_folder(Path::new(".")),
    })
}

/// Syncs the names that a folder holds, where its file system can do that.
///
/// # Errors
/// What the operating system reports.
#[cfg(unix)]
pub fn sync_folder(folder: &Path) -> std::io::Result<()> {
    use std::io::ErrorKind::{InvalidInput, Unsupported};
    match std::fs::File::open(folder)?.sync_all() {
        // EINVAL, ENOTSUP and ENOSYS say that it cannot
        Err(error) if !matches!(error.kind(), InvalidInput | Unsupported) => Err(error),
        Err(_) | Ok(()) => Ok(()),
    }
}

/// Does nothing: a folder cannot be synced.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn sync_folder(_: &Path) -> std::io::Result<()> {
    Ok(())
}
