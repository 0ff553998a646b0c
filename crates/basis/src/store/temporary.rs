//! Names of what is being written, `.NAME.XXXXXX.partial` beside its place, and what killed processes leave there.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, TryLockError};
use std::io::{Error, ErrorKind};
use std::path::Path;

use tempfile::Builder;

/// How the name of a temporary file or folder ends.
const SUFFIX: &str = ".partial";
/// How many random characters precede the suffix.
const RANDOM: usize = 6;

/// The folder that holds a file.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    }
}

/// How the names of temporary files and folders for `path` begin.
pub(super) fn prefix(path: &Path) -> std::io::Result<OsString> {
    let name = path
        .file_name()
        .ok_or_else(|| Error::new(ErrorKind::InvalidInput, "the path names no file"))?;
    let mut prefix = OsString::from(".");
    prefix.push(name);
    prefix.push(".");
    Ok(prefix)
}

/// Makes temporary files and folders of these permissions, which the process's mask restricts.
pub(super) fn builder(prefix: &OsStr, mode: u32) -> Builder<'_, 'static> {
    let mut builder = Builder::new();
    builder.prefix(prefix).rand_bytes(RANDOM).suffix(SUFFIX);
    // temporary ones are private by default
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(not(unix))]
    let _ = mode;
    builder
}

/// Locks a new temporary file or folder for as long as `file` is open, so that no process takes it for an
/// abandoned one. False if one has done so before, and removes it.
pub(super) fn holds(file: &File, path: &Path) -> bool {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => false,
        // without locks nothing is taken for abandoned
        Ok(()) | Err(TryLockError::Error(_)) => path.exists(),
    }
}

/// Removes the temporary files and folders for `path` that killed processes left beside it: those that no
/// process has locked. Where the file system has no locks, and folders where the operating system locks
/// none, they stay.
pub fn remove_abandoned(path: &Path) {
    let Ok(prefix) = prefix(path) else { return };
    for entry in fs::read_dir(folder_of(path)).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_own = is_partial(&name)
            && name.len() == prefix.len() + RANDOM + SUFFIX.len()
            && name.as_encoded_bytes().starts_with(prefix.as_encoded_bytes());
        let Ok(kind) = entry.file_type() else { continue };
        if !is_own || !(kind.is_file() || kind.is_dir()) {
            continue;
        }
        let path = entry.path();
        let Ok(file) = File::open(&path) else { continue };
        if file.try_lock().is_ok() {
            // best effort
            let _ = if kind.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
    }
}

/// Removes the temporary files that killed calls of [`write_atomically`](super::write_atomically) left in a
/// folder, and returns how many.
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
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let partial = entries.filter(|entry| {
        is_partial(&entry.file_name()) && entry.file_type().is_ok_and(|kind| kind.is_file())
    });
    partial.filter(|entry| fs::remove_file(entry.path()).is_ok()).count()
}

/// Whether [`builder`] gives such names.
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
