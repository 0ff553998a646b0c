//! The temporary files and folders that this process has not put into their places yet.

use std::collections::BTreeSet;
use std::fs;
use std::mem::forget;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tempfile::{Builder, TempDir};

static LIVE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn live() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary file or folder of this process, which [`end_writing`] removes. It is not listed any more once this is
/// dropped.
#[derive(Debug)]
pub struct Listed(PathBuf);

impl Listed {
    /// Lists a file that this process has created. After [`end_writing`] a thread that calls this waits for the end of the
    /// process.
    pub fn new(path: &Path) -> Self {
        live().insert(path.to_owned());
        Self(path.to_owned())
    }

    /// Calls `make` and lists what it creates from its beginning. After [`end_writing`] nothing is created any more.
    pub(super) fn create<T, E>(
        make: impl FnOnce() -> Result<T, E>,
        path: impl Fn(&T) -> &Path,
    ) -> Result<(T, Self), E> {
        let mut live = live();
        let created = make()?;
        let path = path(&created).to_owned();
        live.insert(path.clone());
        Ok((created, Self(path)))
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        live().remove(&self.0);
    }
}

/// Returns the result of `put`, which puts a temporary file or folder into its place: all of it, or none after
/// [`end_writing`].
pub(super) fn place<T>(put: impl FnOnce() -> T) -> T {
    let _live = live();
    put()
}

/// Removes the temporary files and folders of this process, which has been told to end and does so next. From then on a
/// thread that puts a file or a folder into its place waits for the end of the process.
pub fn end_writing() {
    let live = live();
    live.iter().for_each(|path| remove(path));
    forget(live);
}

/// Removes a file or a folder, into which another thread may still write. Best effort: the next writer of the same name
/// removes what is left.
fn remove(path: &Path) {
    const TRIES: usize = 100;
    for _ in 0..TRIES {
        let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        if !path.exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A folder for files that this process alone needs. It is removed with all that it holds when it is dropped, and by
/// [`end_writing`].
#[derive(Debug)]
pub struct ScratchFolder {
    folder: TempDir,
    _listed: Listed,
}

impl ScratchFolder {
    /// Creates a new folder in the system's folder for temporary files.
    ///
    /// # Errors
    /// The operating system's errors.
    pub fn new() -> std::io::Result<Self> {
        Self::inside(&std::env::temp_dir())
    }

    /// Creates a new folder in another.
    ///
    /// # Errors
    /// The operating system's errors.
    pub fn inside(folder: &Path) -> std::io::Result<Self> {
        let make = || Builder::new().tempdir_in(folder);
        let (folder, listed) = Listed::create(make, |folder| folder.path())?;
        Ok(Self { folder, _listed: listed })
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}
