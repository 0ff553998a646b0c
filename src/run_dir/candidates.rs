//! The candidates of a run on disk, and their replacement in all members of an ensemble at once.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use dsokr_core::store::{Stored, sync_folder};
use dsokr_decode::Candidates;

use super::{
    CANDIDATES, MEMBERS, NEXT_CANDIDATES as NEXT, candidates_were_replaced, unseal_candidates,
    write_text,
};
use crate::error::Error;

/// An empty file of an ensemble's directory: all members have their new candidates on disk.
const SWITCH: &str = "candidates.next";

/// How often members are opened again whose candidates change meanwhile.
const MOST: usize = 100;

/// Opens the candidates of a run.
pub(crate) fn open(run: &Path) -> Result<Stored, Error> {
    current(run, |file| Ok(Candidates::open(file)?))
}

/// Opens the candidates of all members of an ensemble, in one state: those of all before candidates were added, or
/// those of all after.
pub(crate) fn open_all(ensemble: &Path, members: &[PathBuf]) -> Result<Vec<Stored>, Error> {
    for _ in 0..MOST {
        let opened: Vec<Stored> =
            members.iter().map(|member| open(member)).collect::<Result<_, _>>()?;
        // where none has changed since the last one was opened, all were so at that moment
        let mut each = members.iter().zip(&opened);
        if each.try_fold(true, |same, (member, stored)| {
            Ok::<_, Error>(same && checksum(member)? == stored.checksum())
        })? {
            return Ok(opened);
        }
    }
    let message = format!("candidates were added {MOST} times while they were read; try again");
    Err(Error::run(ensemble, message))
}

/// Returns the checksum that the candidates of a run name, which is not verified.
pub(crate) fn checksum(run: &Path) -> Result<String, Error> {
    current(run, |file| Ok(Stored::named_checksum(file)?))
}

/// Calls `read` on the file with the current candidates of a run.
fn current<T>(run: &Path, read: impl Fn(&Path) -> Result<T, Error>) -> Result<T, Error> {
    let next = run.join(NEXT);
    if next.exists() && above(run).is_some_and(|ensemble| ensemble.join(SWITCH).exists()) {
        match read(&next) {
            Ok(candidates) => return Ok(candidates),
            // renamed meanwhile
            Err(_) if !next.exists() => {}
            Err(error) => return Err(error),
        }
    }
    read(&run.join(CANDIDATES))
}

/// Returns the folder that is an ensemble's directory if the run is a member of one: a folder with members may be any other.
pub(crate) fn above(run: &Path) -> Option<PathBuf> {
    let run = run.canonicalize().ok()?;
    let members = run.parent()?;
    (members.file_name()? == MEMBERS).then(|| members.parent().map(PathBuf::from))?
}

/// Replaces the candidates of a complete run of one model, which `write` writes to a path.
pub(crate) fn replace(
    run: &Path,
    write: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<(), Error> {
    unseal_candidates(run)?;
    let written = write(&run.join(CANDIDATES));
    candidates_were_replaced(run)?;
    written
}

/// Replaces the candidates of all members of an ensemble; `write` writes those of one member to a path. A process
/// that is killed leaves the old ones of all members or the new ones of all; where writing fails, the old ones stay.
pub(crate) fn replace_all(
    ensemble: &Path,
    members: &[PathBuf],
    mut write: impl FnMut(usize, &Path) -> Result<(), Error>,
) -> Result<(), Error> {
    settle(ensemble, members)?;
    members.iter().try_for_each(|member| unseal_candidates(member))?;
    let mut each = members.iter().enumerate();
    let written = each
        .try_for_each(|(at, member)| write(at, &member.join(NEXT)))
        .and_then(|()| write_text(&ensemble.join(SWITCH), ""));
    let settled = settle(ensemble, members);
    written.and(settled)
}

/// Ends a replacement of which a killed process has written all new candidates.
pub(crate) fn finish(ensemble: &Path, members: &[PathBuf]) -> Result<(), Error> {
    if ensemble.join(SWITCH).exists() { settle(ensemble, members) } else { Ok(()) }
}

/// Ends a replacement that a killed process has begun, or undoes it.
pub(crate) fn settle(ensemble: &Path, members: &[PathBuf]) -> Result<(), Error> {
    let switch = ensemble.join(SWITCH);
    let new = switch.exists();
    for member in members {
        let next = member.join(NEXT);
        let done =
            if new { fs::rename(&next, member.join(CANDIDATES)) } else { fs::remove_file(&next) };
        match done.and_then(|()| sync_folder(member)) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(Error::io(&next)(e)),
            Ok(()) | Err(_) => {}
        }
    }
    if new {
        fs::remove_file(&switch).map_err(Error::io(&switch))?;
    }
    // a member that is still to be trained has none
    let mut begun = members.iter().filter(|member| member.exists());
    begun.try_for_each(|member| candidates_were_replaced(member))
}
