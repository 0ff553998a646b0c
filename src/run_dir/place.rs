//! Where runs lie, and whether something can be written there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, io};

use dsokr_core::Argument;
use dsokr_core::store::create_folder;

use super::{CONFIG, FINGERPRINTS, MEMBERS};
use crate::config::Checked;
use crate::error::{Error, ensure};

/// Returns whether a folder is a run directory. Other folders too may have a file of the configuration's name.
pub(crate) fn is_run(folder: &Path) -> bool {
    [CONFIG, FINGERPRINTS].into_iter().all(|name| folder.join(name).exists())
}

/// Returns the run directory that a path is, or that it lies in; the path need not exist.
pub(crate) fn run_of(path: &Path) -> Option<PathBuf> {
    let within = |path: &Path| {
        let path = std::path::absolute(path).ok()?;
        let there = path.ancestors().find_map(|path| path.canonicalize().ok())?;
        there.ancestors().find(|folder| is_run(folder)).map(Path::to_path_buf)
    };
    // a link in a run is one of its files, wherever it leads
    within(path).or_else(|| within(parent(path)))
}

/// Refuses a place in which nothing can be written, such as that of a name that is too long: makes and removes a temporary
/// file for it, as its writers name them. Of folders that do not exist the first one above them is tried.
pub(super) fn check_writable(path: &Path) -> Result<(), Error> {
    let mut folder = parent(path);
    while !folder.exists() {
        folder = parent(folder);
    }
    let prefix = format!(".{}.", name(path));
    let temporary = tempfile::Builder::new().prefix(&prefix).suffix(".partial").tempfile_in(folder);
    temporary.map(drop).map_err(Error::io(folder))
}

/// Refuses a path for a folder, of this argument, that is a link to something that does not exist: a folder cannot take
/// the place of a link.
///
/// # Errors
/// [`dsokr_core::Error::Value`] of the argument.
pub(crate) fn check_link(argument: &'static str, path: &Path) -> Result<(), Error> {
    let Ok(target) = path.read_link() else { return Ok(()) };
    let found = format_args!("{}, a link to {}", path.display(), target.display());
    let allowed = "a path without a link to something that does not exist: remove the link, or create what it leads to";
    ensure(path.exists(), Argument::new(argument), found, allowed)
}

/// Returns the folder that holds a run.
pub(crate) fn parent(run: &Path) -> &Path {
    match run.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Returns the name of a run's folder.
pub(crate) fn name(run: &Path) -> String {
    run.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the run directories of an ensemble's members, each named as its member is.
pub(crate) fn inner(path: &Path, config: &Checked) -> Result<Vec<PathBuf>, Error> {
    let members = config.members()?;
    Ok(members.iter().map(|member| path.join(MEMBERS).join(&member.name)).collect())
}

/// Creates the folder that a run is to lie in, and those above it.
pub(super) fn create_parent(path: &Path) -> Result<MadeFolders, Error> {
    let parent = parent(path);
    MadeFolders::create(parent)
        .map_err(|e| Error::run(parent, format!("no run directory can be made there: {e}")))
}

/// The folders that were made for runs which have not been written yet.
static MADE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Folders that were made for a run to lie in. Those that hold nothing go again when this is dropped, and by
/// [`remove_made_folders`].
#[derive(Debug, Default)]
pub(super) struct MadeFolders {
    /// The lowest first.
    folders: Vec<PathBuf>,
}

impl MadeFolders {
    /// Creates a folder and the folders above it that do not exist.
    fn create(folder: &Path) -> io::Result<Self> {
        let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let missing = folder.ancestors().take_while(is_missing);
        let made = Self { folders: missing.map(Path::to_path_buf).collect() };
        made_folders().extend(made.folders.iter().cloned());
        create_folder(folder)?;
        Ok(made)
    }
}

impl Drop for MadeFolders {
    fn drop(&mut self) {
        for folder in &self.folders {
            // one that holds something stays
            let _ = fs::remove_dir(folder);
            made_folders().remove(folder);
        }
    }
}

fn made_folders() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    MADE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the folders that were made for runs and hold nothing, where a signal ends the process.
#[cfg(feature = "command")]
pub(crate) fn remove_made_folders() {
    // a folder comes before those in it
    for folder in made_folders().iter().rev() {
        let _ = fs::remove_dir(folder);
    }
}

/// Returns the path of a run without links: two names of one run have one lock.
pub(super) fn canonical(run: &Path) -> PathBuf {
    run.canonicalize().unwrap_or_else(|_| run.into())
}
