//! The files of a run directory: their names, and who finds that one is damaged.

use std::io::ErrorKind;
use std::path::Path;

use dsokr_basis::store::{read_text, write_atomically};
use serde::de::DeserializeOwned;

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

/// Replaces a text file atomically.
pub(crate) fn write_text(file: &Path, text: &str) -> Result<(), Error> {
    Ok(write_atomically(file, |out| out.write_all(text.as_bytes()))?)
}
