//! Atomic files and folders: they are written under the name `.NAME.XXXXXX.partial` next to their
//! place and then renamed. Also removes what killed processes leave there.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile, TempDir};

use super::check_file;
use super::temporary::{Listed, place};
use crate::error::Error;

/// Writes a file such that `path` holds, at every moment, either its old content or all of the new.
///
/// The content goes to a temporary file `.NAME.XXXXXX.partial` in the same directory, which is
/// synced and renamed; then the directory is synced, where its file system can do that. Writes are
/// buffered (1 MiB); readers of the old file keep reading the old content. A process that is killed
/// meanwhile leaves the temporary file; the next write of `path` removes it, as does [`remove_partial`]. One that is
/// asked to end removes it by [`end_writing`](super::end_writing). Where `path` is a link, all this holds for the file that
/// it leads to. On Unix others may do no more with a file than with the one that it replaces.
///
/// # Errors
/// [`Error::File`] where `path` is a folder, a named pipe, a device or a socket, whose place the file would take, or a
/// link to nothing. [`Error::Io`] with `path` and what the operating system or `write` said. Up to the renaming,
/// `path` is untouched then and the temporary file is removed. When only the directory cannot be
/// synced, `path` holds the new content, which a power failure may undo.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    prepare(path, write)?.place()
}

/// Returns the first half of [`write_atomically`]: the content is on disk, under its temporary name, until it is
/// [placed](Prepared::place). So what can fail has not failed, and something else can be done first.
///
/// # Errors
/// The errors of [`write_atomically`]; `path` is untouched.
///
/// ```
/// use dsokr_core::store::prepare;
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
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<Prepared, Error> {
    prepare_with(path, |file| {
        let mut buffered = BufWriter::with_capacity(1 << 20, file);
        write(&mut buffered).and_then(|()| buffered.flush()).map_err(Error::io(path))
    })
}

/// Prepares a file like [`prepare`], with the temporary file itself and errors of any kind.
pub(super) fn prepare_with<E: From<Error>>(
    path: &Path,
    write: impl FnOnce(&File) -> Result<(), E>,
) -> Result<Prepared, E> {
    let io = |source| E::from(Error::Io { path: path.to_owned(), source });
    let destination = destination(path)?;
    remove_abandoned(&destination);
    let prefix = prefix(&destination).map_err(io)?;
    let replaced = mode(&destination, 0o600);
    let make = || -> io::Result<NamedTempFile> {
        loop {
            let temporary =
                builder(&prefix, replaced.unwrap_or(0o666)).tempfile_in(folder_of(&destination))?;
            if holds(temporary.as_file(), temporary.path()) {
                return Ok(temporary);
            }
        }
    };
    let (temporary, listed) = Listed::create(make, |temporary| temporary.path()).map_err(io)?;
    write(temporary.as_file())?;
    sync_file(temporary.as_file()).map_err(io)?;
    Ok(Prepared { temporary, listed, path: destination })
}

/// Returns the file that a new one at `path` replaces: where there is a link, the one that it leads to.
///
/// # Errors
/// [`Error::File`] for what is not a file, and for a link to nothing; [`Error::Io`].
fn destination(path: &Path) -> Result<PathBuf, Error> {
    let there = match fs::symlink_metadata(path) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(path.to_owned()),
        Err(source) => return Err(Error::Io { path: path.to_owned(), source }),
    };
    if !there.is_symlink() {
        check_file(there.file_type()).map_err(|error| Error::file(path, error))?;
        return Ok(path.to_owned());
    }
    let target = path.canonicalize().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Error::file(path, "a link to a file that does not exist: remove it, or create the file")
        }
        _ => Error::Io { path: path.to_owned(), source: error },
    })?;
    let kind = target.metadata().map_err(Error::io(path))?.file_type();
    check_file(kind).map_err(|error| Error::file(path, error))?;
    Ok(target)
}

/// A file that is written and not in its place. It is removed where it is not placed.
#[derive(Debug)]
pub struct Prepared {
    temporary: NamedTempFile,
    listed: Listed,
    path: PathBuf,
}

impl Prepared {
    /// Puts the file into its place.
    ///
    /// # Errors
    /// The errors of [`write_atomically`].
    pub fn place(self) -> Result<(), Error> {
        let Self { temporary, listed, path } = self;
        let placed = place(|| temporary.persist(&path).map_err(|failed| failed.error));
        drop(listed);
        placed.and_then(|_| sync_folder(folder_of(&path))).map_err(Error::io(&path))
    }
}

/// Creates a folder and the folders above it that do not exist. The folders that name them are synced, where
/// their file system can do that, so that a power failure afterwards does not undo it.
///
/// # Errors
/// The operating system's errors.
pub fn create_folder(path: &Path) -> io::Result<()> {
    let missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    let new: Vec<&Path> = path.ancestors().take_while(missing).collect();
    fs::create_dir_all(path)?;
    new.into_iter().rev().try_for_each(|folder| sync_folder(folder_of(folder)))
}

/// Syncs what a file holds, where its file system can do that.
///
/// # Errors
/// The operating system's errors.
pub fn sync_file(file: &File) -> io::Result<()> {
    where_supported(file.sync_all())
}

/// Syncs the names that a folder holds, where its file system can do that.
///
/// # Errors
/// The operating system's errors.
#[cfg(unix)]
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    where_supported(File::open(folder)?.sync_all())
}

/// Returns the result of a sync; success where the file system says that it has none, by EINVAL, ENOTSUP or ENOSYS.
fn where_supported(synced: io::Result<()>) -> io::Result<()> {
    use std::io::ErrorKind::{InvalidInput, Unsupported};
    match synced {
        Err(error) if !matches!(error.kind(), InvalidInput | Unsupported) => Err(error),
        Err(_) | Ok(()) => Ok(()),
    }
}

/// Does nothing: a folder cannot be synced.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Creates a folder that is complete or not there. `fill` fills a temporary folder `.NAME.XXXXXX.partial` next to
/// `path`, which is then renamed. Its files should be synced, as [`write_atomically`] syncs them. Folders above it are
/// created. A process that is killed meanwhile leaves the temporary folder; the next one for `path` removes it.
///
/// # Errors
/// [`Error::Io`] for a folder that cannot be made, and for one of this name that is not empty; errors of `fill`. The
/// temporary folder is removed then.
pub fn new_folder<E: From<Error>>(
    path: &Path,
    fill: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), E> {
    filled(path, fill, |here| fs::rename(here, path))
}

/// Creates a folder like [`new_folder`], and replaces a folder that is there with all that it holds. The two folders
/// exchange their names in one step where the operating system can do that (Linux and macOS, by their file systems), so
/// that `path` holds all of the old one or all of the new one. Else the old one is moved aside just before. On Unix others
/// may do no more with the new folder than with the old one.
///
/// # Errors
/// The errors of [`new_folder`]. `path` is untouched then.
pub fn replace_folder<E: From<Error>>(
    path: &Path,
    fill: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), E> {
    // the folder, and not a link to it
    let there = path.canonicalize();
    let path = there.as_deref().unwrap_or(path);
    filled(path, fill, |here| match fs::rename(here, path) {
        Err(_) if path.is_dir() => exchange(here, path).or_else(|_| displace(here, path)),
        done => done,
    })
}

/// Fills a temporary folder for `path`, then `put` gives it this name. Whatever has the temporary name afterwards is
/// removed.
fn filled<E: From<Error>>(
    path: &Path,
    fill: impl FnOnce(&Path) -> Result<(), E>,
    put: impl FnOnce(&Path) -> io::Result<()>,
) -> Result<(), E> {
    let parent = folder_of(path);
    let make = || -> io::Result<(Option<File>, TempDir)> {
        create_folder(parent)?;
        remove_abandoned(path);
        let prefix = prefix(path)?;
        let replaced = mode(path, 0o700);
        loop {
            let temporary = builder(&prefix, replaced.unwrap_or(0o777)).tempdir_in(parent)?;
            // where folders have locks
            let lock = File::open(temporary.path()).ok();
            if lock.as_ref().is_none_or(|lock| holds(lock, temporary.path())) {
                return Ok((lock, temporary));
            }
        }
    };
    let listed = Listed::create(make, |(_, temporary)| temporary.path());
    // the folder is removed before it is no longer listed
    let (created, _listed) = listed.map_err(Error::io(parent))?;
    let (_lock, temporary) = created;
    fill(temporary.path())?;
    let placed = place(|| put(temporary.path())).and_then(|()| sync_folder(parent));
    Ok(placed.map_err(Error::io(path))?)
}

/// Gives each of two folders the name of the other.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

/// Refuses: other systems have no such call.
#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Puts a folder into the place of another, which is removed.
fn displace(new: &Path, path: &Path) -> io::Result<()> {
    let aside = builder(&prefix(path)?, 0o777).tempdir_in(folder_of(path))?;
    let old = aside.path().join("old");
    fs::rename(path, &old)?;
    fs::rename(new, path).inspect_err(|_| {
        let _ = fs::rename(&old, path);
    })
}

/// How the name of a temporary file or folder ends.
const SUFFIX: &str = ".partial";
/// How many random characters precede the suffix.
const RANDOM: usize = 6;

/// Returns the folder that holds a file.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    }
}

/// Returns how the names of temporary files and folders for `path` begin.
fn prefix(path: &Path) -> io::Result<OsString> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "the path names no file");
    let name = path.file_name().ok_or_else(invalid)?;
    Ok([OsStr::new("."), name, OsStr::new(".")].into_iter().collect())
}

/// Makes temporary files and folders of these permissions, which the process's mask restricts.
fn builder(prefix: &OsStr, mode: u32) -> Builder<'_, 'static> {
    let mut builder = Builder::new();
    builder.prefix(prefix).rand_bytes(RANDOM).suffix(SUFFIX);
    // temporary ones are private by default
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(not(unix))]
    let _ = mode;
    builder
}

/// Returns the permissions of a file or folder that replaces the one at `path`, if there is one: what others may not read they
/// may not read when it is replaced. The owner has those of `owner` too, as a later call removes what a killed one left.
#[cfg(unix)]
fn mode(path: &Path, owner: u32) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(path).ok()?.permissions().mode();
    Some((mode & 0o777) | owner)
}

/// Returns none: files have no such permissions.
#[cfg(not(unix))]
fn mode(_: &Path, _: u32) -> Option<u32> {
    None
}

/// Locks a new temporary file or folder for as long as `file` is open, so that no process takes it for an
/// abandoned one. False if one has done so before, and removes it.
fn holds(file: &File, path: &Path) -> bool {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => false,
        // without locks nothing is taken for abandoned
        Ok(()) | Err(TryLockError::Error(_)) => path.exists(),
    }
}

/// Removes the temporary files and folders for `path` that killed processes left next to it: those that no
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

/// Removes the temporary files that killed calls of [`write_atomically`] left in a
/// folder, and returns how many.
///
/// Temporary files are the regular files right in `folder` whose names are `.NAME.XXXXXX.partial`: a dot, at least one
/// character, a dot, six ASCII letters or digits, and the suffix. Nothing else is touched. Files that cannot be listed
/// or removed stay, without an error. A file that is being written at this moment is removed too and its writer fails,
/// so call this function only where no other process writes.
///
/// ```
/// use dsokr_core::store::remove_partial;
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

/// Returns whether [`builder`] gives such names.
fn is_partial(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let stem = name.strip_suffix(SUFFIX.as_bytes());
    stem.and_then(<[u8]>::split_last_chunk::<RANDOM>).is_some_and(|(front, random)| {
        matches!(front, [b'.', _, .., b'.']) && random.iter().all(u8::is_ascii_alphanumeric)
    })
}
