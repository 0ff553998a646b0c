use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::Error;

/// How the name of a temporary file ends.
const SUFFIX: &str = ".partial";
/// How many random characters precede the suffix.
const RANDOM: usize = 6;

/// Writes a file such that `path` holds, at every moment, either its old content or all of the new.
///
/// The content goes to a temporary file `.NAME.XXXXXX.partial` in the same directory, which is
/// synced and renamed; then the directory is synced, where its file system can do that. Writes are
/// buffered (1 MiB); readers of the old file keep reading the old content. A process that is killed
/// meanwhile leaves the temporary file; see [`remove_partial`].
///
/// # Errors
/// [`Error::Io`] with `path` and what the operating system or `write` said. Up to the renaming,
/// `path` is untouched then and the temporary file is removed. When only the directory cannot be
/// synced, `path` holds the new content, which a power failure may undo.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    replace(path, |file| {
        let mut buffered = BufWriter::with_capacity(1 << 20, file);
        write(&mut buffered).and_then(|()| buffered.flush()).map_err(io)
    })
}

/// As [`write_atomically`], with the temporary file itself and errors of any kind.
pub(super) fn replace<E: From<Error>>(
    path: &Path,
    write: impl FnOnce(&File) -> Result<(), E>,
) -> Result<(), E> {
    let io = |source| E::from(Error::Io { path: path.to_owned(), source });
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let temporary = temporary(path, directory).map_err(io)?;
    write(temporary.as_file())?;
    let keep = || {
        temporary.as_file().sync_all()?;
        temporary.persist(path).map_err(|failed| failed.error)?;
        sync_folder(directory)
    };
    keep().map_err(io)
}

/// A new temporary file for `path` in its directory.
fn temporary(path: &Path, directory: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let name = path.file_name().ok_or_else(|| {
        std::io::Error::new(std::io::ErrorKind::InvalidInput, "the path names no file")
    })?;
    let mut prefix = OsString::from(".");
    prefix.push(name);
    prefix.push(".");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).rand_bytes(RANDOM).suffix(SUFFIX);
    // Temporary files are private by default; what is written here is an ordinary file.
    #[cfg(unix)]
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    #[cfg(unix)]
    builder.permissions(permissions);
    builder.tempfile_in(directory)
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

/// Removes the temporary files that killed calls of [`write_atomically`] left in a folder, and
/// returns how many.
///
/// Those are the regular files right in `folder` whose names are `.NAME.XXXXXX.partial`: a dot, at
/// least one character, a dot, six ASCII letters or digits, and the suffix. Nothing else is
/// touched. Best effort: what cannot be listed or removed stays, without an error. A file that is
/// being written at this moment is removed too and its writer fails, so call it only where no other
/// process writes.
///
/// ```
/// use dsokr_basis::store::remove_partial;
///
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join(".model.safetensors.a1B2c3.partial"), "half of it")?;
/// std::fs::write(folder.path().join("model.safetensors"), "all of it")?;
/// assert_eq!(remove_partial(folder.path()), 1);
/// assert!(folder.path().join("model.safetensors").exists());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn remove_partial(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let partial = entries.filter(|entry| {
        is_partial(&entry.file_name()) && entry.file_type().is_ok_and(|kind| kind.is_file())
    });
    partial.filter(|entry| std::fs::remove_file(entry.path()).is_ok()).count()
}

/// Whether [`write_atomically`] gives its temporary files such names.
fn is_partial(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let Some(stem) = name.strip_suffix(SUFFIX.as_bytes()) else {
        return false;
    };
    let Some((front, random)) = stem.split_last_chunk::<RANDOM>() else {
        return false;
    };
    front.len() >= 3
        && front.starts_with(b".")
        && front.ends_with(b".")
        && random.iter().all(u8::is_ascii_alphanumeric)
}
