//! The candidates of a run in shards, which several processes share.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsokr_basis::Processes;
use dsokr_decode::{Candidates, Precision, ShardSet, Shards};

use super::OutputFolder;
use crate::Error;
use crate::run_dir::{Folder, candidates, io};
use crate::run_files::SHARDS as FOLDER;

const OUTPUT: OutputFolder =
    OutputFolder { key: "the argument out", holds: "shards only", is_own: Shards::is_file };

/// The shards that [`shard_candidates`] has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenShards {
    /// Where they are.
    pub folder: PathBuf,
    /// Number of candidates, duplicates counted.
    pub candidates: usize,
    /// Number of distinct candidates.
    pub distinct: usize,
    /// Bytes of all of them.
    pub bytes: u64,
}

/// Writes the candidates of a trained run of one model as `parts` shards into the folder `out`, by default
/// `shards` in the run directory; shards that are there are replaced, all at once. Evaluation and search by several processes
/// use them, each process its own ([`EnsembleRun::open_shared`](super::EnsembleRun::open_shared)).
///
/// # Errors
/// A run that is not complete, an ensemble, a run with a second look; more shards than distinct candidates; a
/// folder that holds something else.
pub fn shard_candidates(
    run: &Path,
    parts: usize,
    precision: Precision,
    out: Option<&Path>,
) -> Result<WrittenShards, Error> {
    let config = Folder::config(run)?;
    let refused = |message: &str| Err(Error::Run { path: run.into(), message: message.into() });
    if config.ensemble.is_some() {
        return refused("an ensemble: allowed is the run of one model");
    }
    if config.decoding.second_look.is_some() {
        return refused("a run with decoding.second_look: allowed is one without");
    }
    if Folder::finished(run)?.is_none() {
        return refused("not complete: train it to its end first (the argument resume)");
    }
    let stored = Arc::new(candidates::open(run)?);
    let all = Candidates::read(&stored)?;
    if !(1..=all.distinct()).contains(&parts) {
        let allowed = format!("1 to {}, the distinct candidates", all.distinct());
        return Err(Error::value("the argument parts", parts, allowed));
    }
    let own = run.join(FOLDER);
    let folder = match out {
        Some(out) if out != own => {
            OUTPUT.check(out)?;
            out.to_path_buf()
        }
        Some(_) | None => own,
    };
    let metadata: Result<BTreeMap<String, String>, dsokr_basis::Error> = ["basis", "data"]
        .map(|key| Ok((key.to_owned(), stored.metadata(key)?.to_owned())))
        .into_iter()
        .collect();
    let metadata = metadata?;
    let mut bytes = 0;
    OUTPUT.write(&folder, |here| {
        let (fingerprint, metadata) = (stored.checksum(), &metadata);
        let set = ShardSet { folder: here, of: parts, precision, fingerprint, metadata };
        Shards::write(&all, &set)?;
        for entry in fs::read_dir(here).map_err(|e| io(here, &e))? {
            bytes += entry.and_then(|entry| entry.metadata()).map_err(|e| io(here, &e))?.len();
        }
        Ok(())
    })?;
    Ok(WrittenShards { folder, candidates: all.len(), distinct: all.distinct(), bytes })
}

/// Opens this rank's shards of the candidates of a run: those in `folder`, or, for several ranks, those in the run
/// directory, if there are any.
pub(super) fn open(run: &Path, folder: Option<&Path>) -> Result<Option<Shards>, Error> {
    let folder = match folder {
        Some(folder) => folder.to_path_buf(),
        None => {
            let (ranks, own) = (Processes::current(), run.join(FOLDER));
            if ranks.size() == 1 {
                return Ok(None);
            }
            let is_there = own.is_dir();
            let found = if is_there { "there" } else { "missing" };
            ranks.check_same(&format!("folder {}", own.display()), found)?;
            if !is_there {
                return Ok(None);
            }
            own
        }
    };
    let shards = Shards::open(&folder, &candidates::checksum(run)?)?;
    tracing::info!(
        "{} candidates in {} shards ({}) in {}",
        shards.len(),
        shards.count(),
        shards.precision(),
        folder.display()
    );
    Ok(Some(shards))
}
