//! The place of a new run, which no other process takes, and how the run is made there as a whole.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsokr_core::store::new_folder;

use super::lock::RunLock;
use super::place::{check_link, check_writable, create_parent};
use crate::error::Error;

/// Returns the run directory: `--out`, else `runs/<name>`, else the first one of `runs/<name>-2`, `-3`, … that is free and
/// that no other process is about to make; to resume, the last one that exists.
pub(crate) fn place_of(name: &str, out: Option<&Path>, resume: bool) -> Result<PathBuf, Error> {
    if let Some(out) = out {
        check_link("out", out)?;
        return if out.exists() && !resume {
            Err(Error::RunExists { path: out.into() })
        } else {
            Ok(out.into())
        };
    }
    let numbered = |i: usize| match i {
        1 => PathBuf::from("runs").join(name),
        _ => PathBuf::from("runs").join(format!("{name}-{i}")),
    };
    let number = if resume {
        last_number(name).unwrap_or(1)
    } else {
        let is_free = |run: &Path| !run.exists() && !RunLock::is_taken(run);
        (1..).find(|&number| is_free(&numbered(number))).unwrap_or(1)
    };
    Ok(numbered(number))
}

/// Returns the run directory as [`place_of`] does, and the right to make it, if it is a new one: before the work whose results
/// it is for, so that nobody else takes the place meanwhile, and a place in which nothing can be written is refused.
///
/// # Errors
/// As [`place_of`]; a run that another process makes; what the file system reports.
pub(crate) fn reserve(
    name: &str,
    out: Option<&Path>,
    resume: bool,
) -> Result<(PathBuf, Option<RunLock>), Error> {
    loop {
        let path = place_of(name, out, resume)?;
        if path.exists() {
            return Ok((path, None));
        }
        check_writable(&path)?;
        let made = create_parent(&path)?;
        let lock = RunLock::take(&path);
        // another process has been faster: it has made the run, or the next number may be free
        let takes_next = out.is_none() && !resume && lock.is_err();
        if takes_next || path.exists() {
            continue;
        }
        let mut lock = lock?;
        if let Some(lock) = &mut lock {
            lock.made = made;
        }
        return Ok((path, lock));
    }
}

/// Returns the largest number of a folder `runs/<name>`, which has 1, or `runs/<name>-2`, `-3`, …; none where none exists.
fn last_number(name: &str) -> Option<usize> {
    let number = |folder: &str| match folder.strip_prefix(name)? {
        "" => Some(1),
        rest => rest.strip_prefix('-')?.parse().ok().filter(|&number| number > 1),
    };
    let folders = std::fs::read_dir("runs").ok()?;
    folders.filter_map(|folder| number(folder.ok()?.file_name().to_str()?)).max()
}

/// Creates the folder of a run, complete or not at all: `fill` fills it under a temporary name next to
/// its place, and it is renamed. Returns the right to write it, which is taken unless it is `reserved`.
pub(crate) fn create_whole(
    path: &Path,
    reserved: Option<Arc<RunLock>>,
    fill: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<Option<Arc<RunLock>>, Error> {
    let _made = create_parent(path)?;
    let lock = match reserved {
        Some(lock) => Some(lock),
        None => RunLock::take(path)?.map(Arc::new),
    };
    if path.exists() {
        return Err(Error::RunExists { path: path.into() });
    }
    new_folder(path, fill)?;
    Ok(lock)
}
