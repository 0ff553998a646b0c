use std::path::{Path, PathBuf};

use dsokr_basis::store::{read_text, write_atomically};
use dsokr_data::DataRoot;
use serde::{Deserialize, Serialize};

use super::fingerprints::fingerprint;
use crate::Error;
use crate::run_files::{DATA, read_json};

/// The folder of the data that a run was trained on, so that the run can be evaluated from any
/// directory.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DataFolder {
    /// Absolute, without symbolic links.
    folder: PathBuf,
    /// The fingerprint of `folder`; runs of older versions have none.
    #[serde(default)]
    checksum: Option<String>,
}

/// Writes the folder of `root` into the run at `run`, unless it is there already; drawn data have none.
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
    let checksum = Some(fingerprint(folder.as_os_str().as_encoded_bytes()));
    let text = serde_json::to_string_pretty(&DataFolder { folder, checksum });
    let text = text.map_err(|e| Error::Serialise(e.to_string()))?;
    let (file, text) = (run.join(DATA), text + "\n");
    // one that is damaged is replaced
    if read_text(&file).is_ok_and(|before| before == text) {
        return Ok(());
    }
    Ok(write_atomically(&file, |out| out.write_all(text.as_bytes()))?)
}

/// The folder of the data that the run at `run` was trained on; none where the run does not say.
///
/// # Errors
/// A file that cannot be read or holds something else.
pub(crate) fn load_data_folder(run: &Path) -> Result<Option<PathBuf>, Error> {
    let file = run.join(DATA);
    let Some(DataFolder { folder, checksum }) = read_json(&file)? else { return Ok(None) };
    let found = fingerprint(folder.as_os_str().as_encoded_bytes());
    match checksum.filter(|expected| *expected != found) {
        None => Ok(Some(folder)),
        Some(expected) => Err(Error::Run {
            path: file,
            message: format!(
                "damaged or changed: the fingerprint of the folder is {found}, the file says {expected}; \
                 the argument data names a different folder"
            ),
        }),
    }
}
