//! The right to write a run directory, which one process has at a time.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use dsokr_core::store::{Listed, remove_abandoned};

use super::FINGERPRINTS;
use super::place::{MadeFolders, canonical, check_writable, create_parent, name, parent};
use crate::error::Error;

/// The right to write a run directory, the folder of a sweep, or a download, which one process has at a time.
///
/// It is an advisory lock on the file `.NAME.lock` next to the run, which holds the number of the process.
/// The system releases the lock of a process that ends, however it ends.
#[derive(Debug)]
pub(crate) struct RunLock {
    file: File,
    path: PathBuf,
    /// The entry in the list of files that a signal removes when it ends the process; none while the lock is dropped.
    listed: Option<Listed>,
    /// The folders that were made for the place.
    pub(super) made: MadeFolders,
}

impl RunLock {
    /// Takes the lock of the run at `run`, and removes what a killed process left next to it. None where
    /// the file system has no locks or nothing may be written next to the run.
    ///
    /// # Errors
    /// [`dsokr_core::Error::File`] with the process that writes the run.
    pub(crate) fn take(run: &Path) -> Result<Option<Self>, Error> {
        Self::take_of("run", run)
    }

    /// Takes the lock, as [`take`](Self::take) does, of a run that is only read. One next to which nothing may be written needs no
    /// warning.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub(crate) fn take_to_read(run: &Path) -> Result<Option<Self>, Error> {
        match Self::try_take("run", run)? {
            Ok(lock) => Ok(Some(lock)),
            Err(error) => {
                if !forbids_writing(&error) {
                    warn_of_no_lock(run, &error);
                }
                Ok(None)
            }
        }
    }

    /// Returns the other process that writes the run at `run`; none where there is none, or where that is not known.
    pub(crate) fn other_holder(run: &Path) -> Option<String> {
        let holder = Self::is_taken(run).then(|| holder(&lock_file(run)))?;
        Some(holder).filter(|holder| *holder != own_name())
    }

    /// Returns whether a process has the lock of the run at `run`, which may be about to be made.
    pub(super) fn is_taken(run: &Path) -> bool {
        let lock = File::open(lock_file(run)).map_err(TryLockError::Error);
        let locked = lock.and_then(|file| file.try_lock_shared());
        matches!(locked, Err(TryLockError::WouldBlock))
    }

    /// Takes the lock of the sweep at `folder`, whose tables a second process would replace. Creates the folder that it is to
    /// lie in.
    ///
    /// # Errors
    /// As [`take`](Self::take); a folder that cannot be made.
    pub(crate) fn take_of_sweep(folder: &Path) -> Result<Option<Self>, Error> {
        let made = create_parent(folder)?;
        let mut lock = Self::take_of("sweep", folder)?;
        if let Some(lock) = &mut lock {
            lock.made = made;
        }
        Ok(lock)
    }

    /// Takes the lock of the download of an archive to `file`, from its first byte until it is unpacked: two processes would
    /// mix its bytes.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    #[cfg(all(feature = "command", feature = "fetch"))]
    pub(crate) fn take_of_download(file: &Path) -> Result<Option<Self>, Error> {
        Self::take_of("download", file)
    }

    fn take_of(kind: &str, run: &Path) -> Result<Option<Self>, Error> {
        match Self::try_take(kind, run)? {
            Ok(lock) => Ok(Some(lock)),
            Err(error) => {
                // where nothing can be written into the run either, writing says so
                if !forbids_writing(&error) || check_writable(&run.join(FINGERPRINTS)).is_ok() {
                    warn_of_no_lock(run, &error);
                }
                Ok(None)
            }
        }
    }

    /// Takes a lock, or returns the file system's error where it has no locks or the file of the lock cannot be written.
    fn try_take(kind: &str, run: &Path) -> Result<io::Result<Self>, Error> {
        let place = canonical(run);
        let path = lock_file(run);
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            let file = options.open(&path).map_err(TryLockError::Error);
            let mut file = match file.and_then(|file| file.try_lock().map(|()| file)) {
                Ok(file) => file,
                Err(TryLockError::WouldBlock) => {
                    let message = format!(
                        "{} is writing this {kind}; wait for its end or stop it",
                        holder(&path)
                    );
                    return Err(Error::run(run, message));
                }
                Err(TryLockError::Error(error)) => return Ok(Err(error)),
            };
            // the holder before may have removed the file between the two calls above
            if !is_at(&file, &path) {
                continue;
            }
            let written = file
                .set_len(0)
                .and_then(|()| file.rewind())
                .and_then(|()| writeln!(file, "{}", own_name()));
            if let Err(e) = written {
                tracing::warn!("{}: {e}", path.display());
            }
            remove_abandoned(&place);
            let listed = Some(Listed::new(&path));
            return Ok(Ok(Self { file, path, listed, made: MadeFolders::default() }));
        }
    }
}

/// Returns the file of the lock of a run.
fn lock_file(run: &Path) -> PathBuf {
    let run = canonical(run);
    parent(&run).join(format!(".{}.lock", name(&run)))
}

/// Returns how the file of a lock names this process.
fn own_name() -> String {
    format!("process {}", std::process::id())
}

/// Returns the process that the file of a lock names.
fn holder(lock: &Path) -> String {
    let holder = fs::read_to_string(lock).unwrap_or_default();
    let holder = holder.trim();
    if holder.is_empty() { "a process".to_owned() } else { holder.to_owned() }
}

/// Returns whether an error says that this process may write nothing at a place.
fn forbids_writing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

/// Warns once of a run: the place of a new one is tried again when it is made.
fn warn_of_no_lock(run: &Path, error: &io::Error) {
    static WARNED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    if WARNED.lock().unwrap_or_else(PoisonError::into_inner).insert(run.into()) {
        let run = run.display();
        tracing::warn!(
            "{run} cannot be locked ({error}): make sure that no other process writes it"
        );
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // before the file is removed: after that one of this name is of a different process
        drop(self.listed.take());
        // removed while it is locked: who opens it meanwhile finds that it is gone, and tries again
        if is_at(&self.file, &self.path) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Returns whether a path still names an open file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        (_, Err(e)) if e.kind() == ErrorKind::NotFound => false,
        _ => true,
    }
}

/// Returns whether a path still names an open file: other systems do not remove one that is open.
#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    match fs::metadata(path) {
        Err(e) => e.kind() != ErrorKind::NotFound,
        Ok(_) => true,
    }
}
