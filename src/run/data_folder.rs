use std::path::{Path, PathBuf};

use dsokr_basis::store::write_atomically;
use dsokr_data::DataRoot;
use serde::{Deserialize, Serialize};

use crate::Error;

/// The file of the run directory.
pub(super) const FILE: &str = "data.json";

/// The folder of the data that a run was trained on, so that the run can be evaluated from any
/// directory.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DataFolder {
    /// Absolute, without symbolic links.
    folder: PathBuf,
}

/// Writes the folder of `root` into the run at `run`; drawn data have none.
///
/// # Errors
/// What the file system reports.
pub(crate) fn save_data_folder(run: &Path, root: &DataRoot) -> Result<(), Error> {
    let Some(folder) = root.folder() else { return Ok(()) };
    let folder = folder
        .canonicalize()
        .map_err(|e| Error::Io { path: folder.into(), message: e.to_string() })?;
    if folder.to_str().is_none() {
        tracing::warn!(
            "the name of {} is not UTF-8, so the run does not keep it",
            folder.display()
        );
        return Ok(());
    }
    let text = serde_json::to_string_pretty(&DataFolder { folder });
    let text = text.map_err(|e| Error::Serialise(e.to_string()))?;
    Ok(write_atomically(&run.join(FILE), |out| writeln!(out, "{text}"))?)
}

/// The folder of the data that the run at `run` was trained on; none where the run does not say.
///
/// # Errors
/// A file that cannot be read or holds something else.
pub(super) fn load_data_folder(run: &Path) -> Result<Option<PathBuf>, Error> {
    let file = run.join(FILE);
    match std::fs::read_to_string(&file) {
        Ok(text) => serde_json::from_str(&text)
            .map(|DataFolder { folder }| Some(folder))
            .map_err(|e| Error::Run { path: file, message: e.to_string() }),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::reading(&file, &e)),
    }
}
