use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use dsokr_basis::store::{Contents, Stored, Tensor, read_bytes, write_atomically};
use serde::Serialize;

use crate::Error;
use crate::run_files::{CheckedBy, FINGERPRINTS as FILE, METRICS, RULE, checked_by};

const KIND: &str = "fingerprints";
const VERSION: u32 = 1;

/// In the place of a fingerprint: the file holds its own checksum, which its reader verifies.
const CHECKED_BY_READER: &str = "own";

/// Files that end a training: a run without them is not complete, and that is no damage.
const RESULTS: [&str; 2] = [METRICS, RULE];

/// Writes the fingerprints of all files of a new run, whose folder is complete.
pub(crate) fn save(run: &Path) -> Result<(), Error> {
    let mut fingerprints = BTreeMap::new();
    let io = |e: std::io::Error| Error::Io { path: run.into(), message: e.to_string() };
    for entry in fs::read_dir(run).map_err(io)? {
        let entry = entry.map_err(io)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !entry.file_type().map_err(io)?.is_file() {
            continue;
        }
        let fingerprint = match checked_by(&name) {
            CheckedBy::Nobody => continue,
            CheckedBy::Reader => CHECKED_BY_READER.to_string(),
            CheckedBy::Fingerprint => fingerprint(&fs::read(entry.path()).map_err(io)?),
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
        let wrong = |message: String| Err(Error::Run { path: path.clone(), message });
        if expected == CHECKED_BY_READER {
            match path.is_file() {
                true => continue,
                false => return wrong("missing: the run was written with this file".into()),
            }
        }
        match read_bytes(&path) {
            Ok(bytes) => {
                let found = fingerprint(&bytes);
                if found != *expected {
                    return wrong(format!(
                        "damaged or changed: its fingerprint is {found}, the run was written with \
                         {expected}"
                    ));
                }
            }
            Err(e) if e.kind() == ErrorKind::NotFound => {
                if !RESULTS.contains(&name.as_str()) {
                    return wrong("missing: the run was written with this file".into());
                }
            }
            Err(e) => return Err(Error::reading(&path, &e)),
        }
    }
    Ok(())
}

/// Replaces a JSON file of the run and its fingerprint.
pub(crate) fn replace_json(run: &Path, name: &str, value: &impl Serialize) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(value).map_err(|e| Error::Serialise(e.to_string()))?;
    replace(run, name, &format!("{text}\n"))
}

/// Replaces a text file of the run and its fingerprint. Between the two the file has no fingerprint,
/// so that a process that is killed leaves a run that can be read.
pub(crate) fn replace(run: &Path, name: &str, text: &str) -> Result<(), Error> {
    let fingerprints = load(run)?;
    let write_text = || write_atomically(&run.join(name), |file| file.write_all(text.as_bytes()));
    let Some(mut fingerprints) = fingerprints else { return Ok(write_text()?) };
    if fingerprints.remove(name).is_some() {
        write(run, &fingerprints)?;
    }
    write_text()?;
    fingerprints.insert(name.into(), fingerprint(text.as_bytes()));
    write(run, &fingerprints)
}

fn load(run: &Path) -> Result<Option<BTreeMap<String, String>>, Error> {
    let file = run.join(FILE);
    if !file.exists() {
        return Ok(None);
    }
    Ok(Some(Stored::open(&file, KIND, VERSION)?.all_metadata().clone()))
}

fn write(run: &Path, fingerprints: &BTreeMap<String, String>) -> Result<(), Error> {
    Ok(Contents::new(KIND, VERSION, fingerprints, &[]).write(&run.join(FILE))?)
}

/// CRC-32, eight hexadecimal digits.
pub(crate) fn fingerprint(bytes: &[u8]) -> String {
    let content = [Tensor::u8("file", &[bytes.len()], bytes)];
    Contents::new(KIND, VERSION, &BTreeMap::new(), &content).checksum()
}
