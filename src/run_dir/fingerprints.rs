//! The fingerprints of a run's files, by which damage is found, and the folder of its data.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use dsokr_basis::store::{Contents, Stored, Tensor, read_bytes, read_text};
use dsokr_data::DataRoot;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::run_files::{
    CheckedBy, DATA, FINGERPRINTS as FILE, METRICS, RULE, checked_by, read_json, write_text,
};

const KIND: &str = "fingerprints";
const VERSION: u32 = 1;

/// In the place of a fingerprint: the file holds its own checksum, which its reader verifies.
const CHECKED_BY_READER: &str = "own";

/// Writes the fingerprints of all files of a new run, whose folder is complete.
pub(crate) fn save(run: &Path) -> Result<(), Error> {
    let mut fingerprints = BTreeMap::new();
    let io = Error::io(run);
    for entry in fs::read_dir(run).map_err(&io)? {
        let entry = entry.map_err(&io)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !entry.file_type().map_err(&io)?.is_file() {
            continue;
        }
        let fingerprint = match checked_by(&name) {
            CheckedBy::Nobody => continue,
            CheckedBy::Reader => CHECKED_BY_READER.to_string(),
            CheckedBy::Fingerprint => fingerprint(&fs::read(entry.path()).map_err(&io)?),
        };
        fingerprints.insert(name, fingerprint);
    }
    write(run, &fingerprints)
}

/// Refuses a run in which a file is missing or is not as it was written. A run of an older version
/// has no fingerprints.
pub(crate) fn check(run: &Path) -> Result<(), Error> {
    let Some(fingerprints) = load(run)? else { return Ok(()) };
    for (name, expected) in &fingerprints {
        let path = run.join(name);
        let missing = || Error::run(&path, "missing: the run was written with this file");
        if expected == CHECKED_BY_READER {
            if !path.is_file() {
                return Err(missing());
            }
            continue;
        }
        let found = match read_bytes(&path) {
            Ok(bytes) => fingerprint(&bytes),
            // files that end a training: a run without them is not complete, and that is no damage
            Err(e) if e.kind() == ErrorKind::NotFound => match [METRICS, RULE].contains(&&**name) {
                true => continue,
                false => return Err(missing()),
            },
            Err(e) => return Err(Error::reading(&path, &e)),
        };
        if found != *expected {
            let message = format!(
                "damaged or changed: its fingerprint is {found}, the run was written with {expected}"
            );
            return Err(Error::run(&path, message));
        }
    }
    Ok(())
}

/// Replaces a JSON file of the run and its fingerprint.
pub(crate) fn replace_json(run: &Path, name: &str, value: &impl Serialize) -> Result<(), Error> {
    replace(run, name, &(serde_json::to_string_pretty(value)? + "\n"))
}

/// Replaces a text file of the run and its fingerprint. Between the two the file has no fingerprint,
/// so that a process that is killed leaves a run that can be read.
pub(crate) fn replace(run: &Path, name: &str, text: &str) -> Result<(), Error> {
    let file = run.join(name);
    let Some(mut fingerprints) = load(run)? else { return write_text(&file, text) };
    if fingerprints.remove(name).is_some() {
        write(run, &fingerprints)?;
    }
    write_text(&file, text)?;
    fingerprints.insert(name.into(), fingerprint(text.as_bytes()));
    write(run, &fingerprints)
}

fn load(run: &Path) -> Result<Option<BTreeMap<String, String>>, Error> {
    let file = run.join(FILE);
    let open = || Ok(Stored::open(&file, KIND, VERSION)?.all_metadata().clone());
    file.exists().then(open).transpose()
}

fn write(run: &Path, fingerprints: &BTreeMap<String, String>) -> Result<(), Error> {
    Ok(Contents::new(KIND, VERSION, fingerprints, &[]).write(&run.join(FILE))?)
}

/// CRC-32, eight hexadecimal digits.
pub(crate) fn fingerprint(bytes: &[u8]) -> String {
    let content = [Tensor::u8("file", &[bytes.len()], bytes)];
    Contents::new(KIND, VERSION, &BTreeMap::new(), &content).checksum()
}

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
    let folder = folder.canonicalize().map_err(Error::io(folder))?;
    if folder.to_str().is_none() {
        let name = folder.display();
        tracing::warn!("the name of {name} is not UTF-8, so the run does not keep it");
        return Ok(());
    }
    let checksum = Some(fingerprint(folder.as_os_str().as_encoded_bytes()));
    let text = serde_json::to_string_pretty(&DataFolder { folder, checksum })? + "\n";
    let file = run.join(DATA);
    // one that is damaged is replaced
    match read_text(&file).is_ok_and(|before| before == text) {
        true => Ok(()),
        false => write_text(&file, &text),
    }
}

/// The folder of the data that the run at `run` was trained on; none where the run does not say.
///
/// # Errors
/// A file that cannot be read or holds something else.
pub(crate) fn load_data_folder(run: &Path) -> Result<Option<PathBuf>, Error> {
    let file = run.join(DATA);
    let Some(DataFolder { folder, checksum }) = read_json(&file)? else { return Ok(None) };
    let found = fingerprint(folder.as_os_str().as_encoded_bytes());
    let Some(expected) = checksum.filter(|expected| *expected != found) else {
        return Ok(Some(folder));
    };
    let message = format!(
        "damaged or changed: the fingerprint of the folder is {found}, the file says {expected}; \
         the argument data names a different folder"
    );
    Err(Error::run(file, message))
}
