//! The fingerprints of a run's files, by which a reader knows a file that is damaged, missing, or of a different run.
//!
//! A run is made with the fingerprints of its first files. One that is complete is sealed: it has those of the files that
//! the training has written too, and an ensemble those of its members' models. They are compared while the run has its
//! metrics, since a training that goes on writes these files anew.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use dsokr_core::Argument;
use dsokr_core::store::{Contents, Stored, Tensor, read_bytes};
use serde::Serialize;

use super::{
    CANDIDATES, CARD, CONFIG, DATA, FEATURES, FINGERPRINT_VERSION as VERSION, FINGERPRINTS, LOG,
    MEMBERS, METRICS, NEXT_CANDIDATES, RULE, fingerprint_of, inner, name, write_text,
};
use crate::config::Checked;
use crate::error::{Error, ensure_run};

const KIND: &str = "fingerprints";

/// What stands in the place of the fingerprint of a file that holds its own checksum, which its reader verifies, and that the
/// run replaces.
const CHECKED_BY_READER: &str = "own";

/// The name of the checksum of the weights that a training started from, which are no file of the run: these have no `/`.
const INITIAL_WEIGHTS: &str = "initial/weights";

/// What precedes the names of the tables that a training started with, which are no files of the run.
const TABLES: &str = "data/";

/// What precedes the names of the files that a complete run is sealed with.
const SEALED: &str = "complete/";

/// How often fingerprints are compared again that change meanwhile.
const MOST: usize = 100;

/// The fingerprints of files, by their names.
type Fingerprints = BTreeMap<String, String>;

/// Writes the fingerprints of all files of a new run, whose folder is complete, the checksums of the tables that its training
/// learns from, and that of the weights that it starts from.
pub(crate) fn save_fingerprints(
    run: &Path,
    tables: &BTreeMap<String, String>,
    initial_weights: Option<&str>,
) -> Result<(), Error> {
    let named = |(table, sum): (&String, &String)| (format!("{TABLES}{table}"), sum.clone());
    let mut fingerprints: Fingerprints = tables.iter().map(named).collect();
    if let Some(sum) = initial_weights {
        fingerprints.insert(INITIAL_WEIGHTS.into(), sum.into());
    }
    for (name, path) in files_of(run)? {
        let fingerprint = match name.as_str() {
            // the log grows, the folder of the data changes with its place, and the card belongs to the user
            LOG | DATA | CARD => continue,
            // hubs change them
            CANDIDATES => CHECKED_BY_READER.into(),
            _ => fingerprint_of_file(&path)?,
        };
        fingerprints.insert(name, fingerprint);
    }
    write(run, &fingerprints)
}

/// Seals a run that is about to be complete: adds the fingerprints of the binary files that the training has written, and of
/// an ensemble those of the models of its members.
pub(crate) fn seal(run: &Path, config: &Checked) -> Result<(), Error> {
    let mut fingerprints = load(run)?;
    fingerprints.retain(|name, _| !name.starts_with(SEALED));
    for (file, path) in files_of(run)? {
        let is_known = fingerprints.get(&file).is_some_and(|known| known != CHECKED_BY_READER);
        let is_written = holds_checksum(&path) && file != FINGERPRINTS && file != NEXT_CANDIDATES;
        if is_known || !is_written {
            continue;
        }
        // a file that the user has put there is none of the run's
        if let Ok(sum) = Stored::named_checksum(&path) {
            fingerprints.insert(format!("{SEALED}{file}"), sum);
        }
    }
    if config.ensemble.is_some() {
        for member in inner(run, config)? {
            let sealed = format!("{SEALED}{MEMBERS}/{}", name(&member));
            fingerprints.insert(sealed, fingerprint_of_model(&member)?);
        }
    }
    write(run, &fingerprints)
}

/// Removes the candidates from what a run is sealed with, before they are replaced: a process that is killed then leaves a
/// run that can be read.
pub(crate) fn unseal_candidates(run: &Path) -> Result<(), Error> {
    let mut fingerprints = load(run)?;
    match fingerprints.remove(&sealed_candidates()) {
        Some(_) => write(run, &fingerprints),
        None => Ok(()),
    }
}

/// Seals a run with the candidates that it has now, if it is sealed.
pub(crate) fn candidates_were_replaced(run: &Path) -> Result<(), Error> {
    let mut fingerprints = load(run)?;
    if !fingerprints.keys().any(|name| name.starts_with(SEALED)) {
        return Ok(());
    }
    let now = fingerprint_of_file(&run.join(CANDIDATES))?;
    let before = fingerprints.insert(sealed_candidates(), now.clone());
    if before == Some(now) { Ok(()) } else { write(run, &fingerprints) }
}

fn sealed_candidates() -> String {
    format!("{SEALED}{CANDIDATES}")
}

/// Refuses a run in which a file is missing or is not as it was written.
pub(crate) fn check_fingerprints(run: &Path) -> Result<(), Error> {
    let mut fingerprints = load(run)?;
    let mut checked = check_all(run, &fingerprints);
    for _ in 0..MOST {
        if checked.is_ok() {
            break;
        }
        // a file that is replaced meanwhile has another fingerprint before and after
        let now = load(run)?;
        if now == fingerprints {
            break;
        }
        fingerprints = now;
        checked = check_all(run, &fingerprints);
    }
    checked
}

fn check_all(run: &Path, fingerprints: &Fingerprints) -> Result<(), Error> {
    let is_complete = run.join(METRICS).exists();
    for (name, expected) in fingerprints {
        if let Some(sealed) = name.strip_prefix(SEALED) {
            if is_complete {
                check_sealed(run, sealed, expected)?;
            }
        } else if name != INITIAL_WEIGHTS && !name.starts_with(TABLES) {
            check_first(run, name, expected)?;
        }
    }
    Ok(())
}

/// Refuses a file that the run was made with, or that was replaced with its fingerprint, if it is not as it was written.
fn check_first(run: &Path, name: &str, expected: &str) -> Result<(), Error> {
    let path = run.join(name);
    let missing = || Error::run(&path, "missing: the run was written with this file");
    if !path.exists() {
        // files that end a training: a run without them is not complete, but not damaged
        return if [METRICS, RULE].contains(&name) { Ok(()) } else { Err(missing()) };
    }
    if expected == CHECKED_BY_READER {
        return if path.is_file() { Ok(()) } else { Err(missing()) };
    }
    let found = fingerprint_of_file(&path)?;
    if holds_checksum(&path) {
        return check_own(&path, &found, expected);
    }
    let message = format_args!(
        "damaged or changed: its fingerprint is {found}, the run was written with {expected}"
    );
    ensure_run(found == expected, &path, message)
}

/// Refuses a file that a complete run has of a different run, or of an earlier or later training of this one. What reads
/// a file that is missing says so.
fn check_sealed(run: &Path, name: &str, expected: &str) -> Result<(), Error> {
    let path = run.join(name);
    if name.starts_with(MEMBERS) {
        return check_member(&path, expected);
    }
    let found = path.exists().then(|| fingerprint_of_file(&path)).transpose()?;
    found.map_or(Ok(()), |found| check_own(&path, &found, expected))
}

/// Refuses a member of an ensemble whose model is not the one that the ensemble was completed with.
fn check_member(member: &Path, expected: &str) -> Result<(), Error> {
    let found = fingerprint_of_model(member)?;
    let resume = Argument::switch("resume");
    let message = format_args!(
        "the member is not the one that the ensemble was completed with: put that back, or remove {METRICS} and {RULE} of the \
         ensemble and go on with {resume}"
    );
    ensure_run(found == expected, member, message)
}

/// Returns the fingerprint of the model of a complete run: of its configuration and its binary files, but for candidates,
/// which are added to it. A run that is evaluated again keeps it.
fn fingerprint_of_model(run: &Path) -> Result<String, Error> {
    let fingerprints = load(run)?;
    let is_of_model = |name: &str| {
        let name = name.strip_prefix(SEALED).unwrap_or(name);
        name == CONFIG || holds_checksum(Path::new(name)) && name != CANDIDATES
    };
    let of_model = fingerprints.iter().filter(|(name, _)| is_of_model(name));
    let text: String = of_model.map(|(name, sum)| format!("{name} {sum}\n")).collect();
    Ok(fingerprint(text.as_bytes()))
}

/// Refuses a binary file whose checksum is not the one that the run was written with.
fn check_own(path: &Path, found: &str, expected: &str) -> Result<(), Error> {
    let message = format_args!(
        "of a different run, or of another training of this one: its checksum is {found}, the run was written with {expected}; put \
         the file of this run back, or train again"
    );
    ensure_run(found == expected, path, message)
}

/// Refuses a complete run that lacks a file which its training has written, also where only few commands read it.
pub(crate) fn check_sealed_files(run: &Path) -> Result<(), Error> {
    let fingerprints = load(run)?;
    let resume = Argument::switch("resume");
    for name in fingerprints.keys().filter_map(|name| name.strip_prefix(SEALED)) {
        let path = run.join(name);
        let message = format_args!(
            "missing: the run was completed with this file; put it back, or remove {METRICS} and use {resume}"
        );
        ensure_run(path.exists(), &path, message)?;
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
    let mut fingerprints = load(run)?;
    if fingerprints.remove(name).is_some() {
        write(run, &fingerprints)?;
    }
    write_text(&file, text)?;
    fingerprints.insert(name.into(), fingerprint(text.as_bytes()));
    write(run, &fingerprints)
}

/// Returns the checksum of the weights that the training of a run started from; none where it started from none.
pub(crate) fn initial_weights(run: &Path) -> Result<Option<String>, Error> {
    Ok(load(run)?.remove(INITIAL_WEIGHTS))
}

/// Returns the checksums of the tables that the training of a run started with.
pub(crate) fn started_tables(run: &Path) -> Result<BTreeMap<String, String>, Error> {
    let fingerprints = load(run)?.into_iter();
    let table = |(name, sum): (String, String)| Some((name.strip_prefix(TABLES)?.to_owned(), sum));
    Ok(fingerprints.filter_map(table).collect())
}

/// Returns the files that lie in a folder itself, with their names.
fn files_of(folder: &Path) -> Result<Vec<(String, PathBuf)>, Error> {
    let io = Error::io(folder);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(&io)? {
        let entry = entry.map_err(&io)?;
        if entry.file_type().map_err(&io)?.is_file() {
            files.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
        }
    }
    Ok(files)
}

/// Returns whether a file holds the checksum of its contents in its header. The features have a fingerprint of all their
/// bytes: few commands read them, and all are to find that they are damaged.
fn holds_checksum(path: &Path) -> bool {
    let is_binary = path.extension().is_some_and(|end| end == "safetensors");
    is_binary && path.file_name().is_some_and(|name| name != FEATURES)
}

/// Returns the fingerprint of a file: the checksum that its header names, of which nothing else is read, or that of its bytes.
fn fingerprint_of_file(path: &Path) -> Result<String, Error> {
    if holds_checksum(path) {
        return Ok(Stored::named_checksum(path)?);
    }
    Ok(fingerprint(&read_bytes(path).map_err(Error::reading(path))?))
}

/// Returns the fingerprint of bytes: CRC-32, eight hexadecimal digits.
pub(super) fn fingerprint(bytes: &[u8]) -> String {
    fingerprint_of(KIND, &[Tensor::u8("file", &[bytes.len()], bytes)])
}

fn load(run: &Path) -> Result<Fingerprints, Error> {
    let file = run.join(FINGERPRINTS);
    let missing = "missing: the run was written with this file; put it back, or train again";
    ensure_run(file.exists(), &file, missing)?;
    Ok(Stored::open(&file, KIND, VERSION)?.all_metadata().clone())
}

fn write(run: &Path, fingerprints: &Fingerprints) -> Result<(), Error> {
    Ok(Contents::new(KIND, VERSION, fingerprints, &[]).write(&run.join(FINGERPRINTS))?)
}
