use std::fs::{self, File};
use std::path::Path;

use tempfile::TempDir;

use super::atomic::{create_folder, sync_folder};
use super::temporary::{builder, folder_of, holds, prefix, remove_abandoned};
use crate::Error;

/// Creates a folder that is complete or not there: `fill` fills a temporary folder `.NAME.XXXXXX.partial` beside
/// `path`, which is renamed. Its files should be synced, as those of [`write_atomically`](super::write_atomically)
/// are. Folders above it are created. A process that is killed meanwhile leaves the temporary folder; the next one
/// for `path` removes it.
///
/// # Errors
/// [`Error::Io`] for a folder that cannot be made, and for one of this name that is not empty; errors of `fill`. The
/// temporary folder is removed then.
pub fn new_folder<E: From<Error>>(
    path: &Path,
    fill: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), E> {
    let filled = Filled::of(path, fill)?;
    filled.place(|here| fs::rename(here, path)).map_err(|source| failed(path, source))
}

/// As [`new_folder`]; a folder that is there is replaced, with all that it holds. The two change their names in one
/// step, so that `path` holds all of the old one or all of the new one, where the operating system can do that (Linux
/// and macOS, by their file systems). Else the old one is moved aside just before.
///
/// # Errors
/// As [`new_folder`]. `path` is untouched then.
pub fn replace_folder<E: From<Error>>(
    path: &Path,
    fill: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), E> {
    // the folder, and not a link to it
    let there = path.canonicalize();
    let path = there.as_deref().unwrap_or(path);
    let filled = Filled::of(path, fill)?;
    let put = |here: &Path| match fs::rename(here, path) {
        Err(_) if path.is_dir() => exchange(here, path).or_else(|_| displace(here, path)),
        done => done,
    };
    filled.place(put).map_err(|source| failed(path, source))
}

fn failed<E: From<Error>>(path: &Path, source: std::io::Error) -> E {
    Error::Io { path: path.to_owned(), source }.into()
}

/// A folder that is filled and not in its place. It is removed where it is not placed.
struct Filled<'a> {
    temporary: TempDir,
    /// Its lock, where folders have locks.
    _lock: Option<File>,
    parent: &'a Path,
}

impl<'a> Filled<'a> {
    fn of<E: From<Error>>(
        path: &'a Path,
        fill: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<Self, E> {
        let parent = folder_of(path);
        let made = || {
            create_folder(parent)?;
            remove_abandoned(path);
            let prefix = prefix(path)?;
            loop {
                let temporary = builder(&prefix, 0o777).tempdir_in(parent)?;
                let lock = File::open(temporary.path()).ok();
                if lock.as_ref().is_none_or(|lock| holds(lock, temporary.path())) {
                    return Ok((temporary, lock));
                }
            }
        };
        let (temporary, lock) = made().map_err(|source| failed(parent, source))?;
        fill(temporary.path())?;
        Ok(Self { temporary, _lock: lock, parent })
    }

    /// Gives it its name by `put`. What then has the temporary name is removed.
    fn place(self, put: impl FnOnce(&Path) -> std::io::Result<()>) -> std::io::Result<()> {
        put(self.temporary.path())?;
        sync_folder(self.parent)
    }
}

/// Gives each of two folders the name of the other.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn exchange(one: &Path, other: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

/// Other systems have no such call.
#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn exchange(_: &Path, _: &Path) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Puts a folder into the place of another, which is removed.
fn displace(new: &Path, path: &Path) -> std::io::Result<()> {
    let aside = builder(&prefix(path)?, 0o777).tempdir_in(folder_of(path))?;
    let old = aside.path().join("old");
    fs::rename(path, &old)?;
    fs::rename(new, path).inspect_err(|_| {
        let _ = fs::rename(&old, path);
    })
}
