//! Where runs lie, and where commands write their results: outside of run directories, and folders whole or not at
//! all.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use dsokr_basis::store::replace_folder;

use crate::Error;
use crate::config::Checked;
use crate::run_files::{CANDIDATES, CONFIG, FINGERPRINTS, MEMBERS};

/// Whether a folder is a run directory. Other folders too may have a file of the configuration's name.
fn is_run(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).exists();
    has(CONFIG) && [FINGERPRINTS, CANDIDATES, MEMBERS].into_iter().any(has)
}

/// The run directory that a path is, or that it lies in; the path need not exist.
pub(crate) fn run_of(path: &Path) -> Option<PathBuf> {
    let within = |path: &Path| {
        let path = std::path::absolute(path).ok()?;
        let there = path.ancestors().find_map(|path| path.canonicalize().ok())?;
        there.ancestors().find(|folder| is_run(folder)).map(Path::to_path_buf)
    };
    // a link in a run is one of its files, wherever it leads
    within(path).or_else(|| within(parent(path)))
}

/// The folder that holds a run.
pub(crate) fn parent(run: &Path) -> &Path {
    match run.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// The name of a run's folder.
pub(crate) fn name(run: &Path) -> String {
    run.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Names and run directories of an ensemble's members.
pub(crate) fn inner(path: &Path, config: &Checked) -> Result<Vec<(String, PathBuf)>, Error> {
    let place = |member: &Checked| {
        let inner = path.join(MEMBERS).join(&member.name);
        (member.name.clone(), inner)
    };
    Ok(config.members()?.iter().map(place).collect())
}

/// Refuses a path for results, of the option `key`, that is a run directory or lies in one, whose files it may
/// replace. None is allowed.
///
/// # Errors
/// [`Error::Value`] of `key`.
pub fn check_output<'a>(key: &str, path: impl Into<Option<&'a PathBuf>>) -> Result<(), Error> {
    let path: Option<&PathBuf> = path.into();
    let Some((path, run)) = path.and_then(|path| Some((path, run_of(path)?))) else {
        return Ok(());
    };
    let run = run.display();
    let allowed = format!("a path outside of {run}, a run directory, whose files it may replace");
    Err(Error::value(key, path.display(), allowed))
}

/// A folder for results of one kind. An earlier one of that kind is replaced as a whole.
#[derive(Clone, Copy, Debug)]
pub struct OutputFolder<'a> {
    /// The option that names it.
    pub key: &'a str,
    /// What an earlier one holds, for the error.
    pub holds: &'a str,
    /// Whether a file or a folder of this name is one of these.
    pub is_own: fn(&str) -> bool,
}

impl OutputFolder<'_> {
    /// Refuses a path that [`check_output`] refuses, and a folder that holds anything else.
    ///
    /// # Errors
    /// [`Error::Value`] of the option; what the file system reports.
    pub fn check(&self, folder: &Path) -> Result<(), Error> {
        check_output(self.key, &folder.to_path_buf())?;
        self.check_contents(folder)
    }

    fn check_contents(&self, folder: &Path) -> Result<(), Error> {
        let Self { key, holds, is_own } = *self;
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(Error::io(folder)(e)),
        };
        let here = std::env::current_dir().and_then(|here| here.canonicalize());
        if here.is_ok_and(|here| folder.canonicalize().is_ok_and(|own| own == here)) {
            let allowed = "a folder other than the current one, since it is replaced as a whole";
            return Err(Error::value(key, folder.display(), allowed));
        }
        for entry in entries {
            let name = entry.map_err(Error::io(folder))?.file_name();
            let name = name.to_string_lossy();
            if !is_own(&name) {
                let found = format!("{}, which holds {name}", folder.display());
                let allowed = format!("a folder that does not exist, is empty, or holds {holds}");
                return Err(Error::value(key, found, allowed));
            }
        }
        Ok(())
    }

    /// Fills the folder: `fill` fills a temporary one, which takes its place. Until then, and where it fails or the
    /// process is killed, the folder is as it was.
    ///
    /// # Errors
    /// As [`check`](Self::check), but in a run directory too; errors of `fill`.
    pub fn write(
        &self,
        folder: &Path,
        fill: impl FnOnce(&Path) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.check_contents(folder)?;
        replace_folder(folder, fill)
    }
}
