//! Where a run lies.

use std::path::{Path, PathBuf};

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
    let members = config.members()?.into_iter();
    let place = |member: Checked| {
        let inner = path.join(MEMBERS).join(&member.name);
        (member.name.clone(), inner)
    };
    Ok(members.map(place).collect())
}
