//! The files of a run directory: their names, who finds that one is damaged, and the fingerprints for it.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use dsokr_basis::store::{Contents, Stored, Tensor, read_bytes, read_text, write_atomically};
use dsokr_data::DataRoot;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Error;

pub(crate) const BASIS: &str = "basis.safetensors";
pub(crate) const CANDIDATES: &str = "candidates.safetensors";
/// Of an ensemble's member: the file that takes the place of [`CANDIDATES`].
pub(crate) const NEXT_CANDIDATES: &str = "candidates.next.safetensors";
pub(crate) const CARD: &str = "README.md";
pub(crate) const CHANGES: &str = "changes.jsonl";
pub(crate) const CHECKPOINT: &str = "checkpoint/last.safetensors";
pub(crate) const CHECKPOINTS: &str = "checkpoint";
pub(crate) const CONFIG: &str = "config.toml";
pub(crate) const DATA: &str = "data.json";
pub(crate) const EMBEDDING: &str = "embedding.json";
pub(crate) const ENCODER: &str = "encoder.safetensors";
pub(crate) const EXAMPLES: &str = "examples.svg";
pub(crate) const FEATURES: &str = "features.safetensors";
pub(crate) const FINGERPRINTS: &str = "fingerprints.safetensors";
pub(crate) const HELD_OUT: &str = "held-out.safetensors";
/// Answers to the part of the pairs that a second look has not seen.
pub(crate) const HELD_OUT_PART: &str = "held-out-part.safetensors";
pub(crate) const LABELS: &str = "labels.json";
pub(crate) const LOG: &str = "log.jsonl";
pub(crate) const MEMBERS: &str = "members";
pub(crate) const METRICS: &str = "metrics.json";
pub(crate) const OUTPUTS: &str = "outputs.safetensors";
pub(crate) const RULE: &str = "combination.json";
pub(crate) const SCALING: &str = "scaling.safetensors";
pub(crate) const SECOND_LOOK: &str = "second-look.safetensors";
/// The second look that has not seen the pairs of [`HELD_OUT_PART`].
pub(crate) const SECOND_LOOK_PART: &str = "second-look-part.safetensors";
pub(crate) const SHARDS: &str = "shards";
pub(crate) const TENSORBOARD: &str = "tensorboard";

/// Who finds that a file is damaged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckedBy {
    /// Whoever opens the run, by its fingerprint.
    Fingerprint,
    /// Its reader, by the checksum in the file.
    Reader,
    /// Nobody: it grows, changes with the place of the run, or belongs to the user.
    Nobody,
}

use CheckedBy::{Fingerprint, Nobody, Reader};

/// The files and folders of a run directory. All others hold the preparation of inputs.
pub(crate) const ALL: [(&str, CheckedBy); 29] = [
    (BASIS, Reader),
    (CANDIDATES, Reader),
    (NEXT_CANDIDATES, Reader),
    (CARD, Nobody),
    (CHANGES, Fingerprint),
    (CHECKPOINTS, Reader),
    (CONFIG, Fingerprint),
    (DATA, Nobody),
    (EMBEDDING, Fingerprint),
    ("embedding.svg", Nobody),
    (ENCODER, Reader),
    (EXAMPLES, Nobody),
    // few commands read the features, all are to find that they are damaged
    (FEATURES, Fingerprint),
    (FINGERPRINTS, Reader),
    (HELD_OUT, Reader),
    (HELD_OUT_PART, Reader),
    ("inputs.safetensors", Reader),
    (LABELS, Fingerprint),
    (LOG, Nobody),
    ("machine.safetensors", Reader),
    (METRICS, Fingerprint),
    (OUTPUTS, Reader),
    ("ridge.safetensors", Reader),
    (RULE, Fingerprint),
    (SCALING, Reader),
    (SECOND_LOOK, Reader),
    (SECOND_LOOK_PART, Reader),
    (SHARDS, Reader),
    (TENSORBOARD, Nobody),
];

/// Who finds that the file of this name is damaged.
pub(crate) fn checked_by(name: &str) -> CheckedBy {
    let own = ALL.iter().find(|(own, _)| *own == name).map(|(_, by)| *by);
    own.unwrap_or(if name.ends_with(".safetensors") { Reader } else { Fingerprint })
}

/// The text of a file that a run may lack.
pub(crate) fn read_optional(file: &Path) -> Result<Option<String>, Error> {
    match read_text(file) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::reading(file, &e)),
    }
}

/// What a JSON file that a run may lack holds.
pub(crate) fn read_json<T: DeserializeOwned>(file: &Path) -> Result<Option<T>, Error> {
    let Some(text) = read_optional(file)? else { return Ok(None) };
    let parsed = serde_json::from_str(&text);
    parsed.map(Some).map_err(|e| Error::run(file, e.to_string()))
}

/// As [`read_json`], of a file that a run does not lack.
pub(crate) fn read_needed<T: DeserializeOwned>(file: &Path) -> Result<T, Error> {
    read_json(file)?.ok_or_else(|| Error::NotFound { path: file.into(), hint: String::new() })
}

/// Replaces a text file atomically.
pub(crate) fn write_text(file: &Path, text: &str) -> Result<(), Error> {
    Ok(write_atomically(file, |out| out.write_all(text.as_bytes()))?)
}

const KIND: &str = "fingerprints";
const VERSION: u32 = 1;

/// In the place of a fingerprint: the file holds its own checksum, which its reader verifies.
const CHECKED_BY_READER: &str = "own";

/// Writes the fingerprints of all files of a new run, whose folder is complete.
pub(crate) fn save_fingerprints(run: &Path) -> Result<(), Error> {
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
pub(crate) fn check_fingerprints(run: &Path) -> Result<(), Error> {
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
    let file = run.join(FINGERPRINTS);
    let open = || Ok(Stored::open(&file, KIND, VERSION)?.all_metadata().clone());
    file.exists().then(open).transpose()
}

fn write(run: &Path, fingerprints: &BTreeMap<String, String>) -> Result<(), Error> {
    Ok(Contents::new(KIND, VERSION, fingerprints, &[]).write(&run.join(FINGERPRINTS))?)
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
