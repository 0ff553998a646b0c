//! The candidates of a run in shards, which several processes share.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use burn::tensor::Device;
use dsokr_basis::Processes;
use dsokr_decode::{AllCandidates, Candidates, Combination, Precision, ShardSet, Shards};

use super::{EnsembleRun, OutputFolder, Run};
use crate::Error;
#[cfg(feature = "serve")]
use crate::molecules::{are_smiles, labels_looked_at};
use crate::run_dir::SHARDS as FOLDER;
use crate::run_dir::{Folder, candidates};

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
    let refused = |message| Err(Error::run(run, message));
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
    let mut metadata = BTreeMap::new();
    for key in ["basis", "data"] {
        metadata.insert(key.to_owned(), stored.metadata(key)?.to_owned());
    }
    let mut bytes = 0;
    OUTPUT.write(&folder, |here| {
        let (fingerprint, metadata) = (stored.checksum(), &metadata);
        let set = ShardSet { folder: here, of: parts, precision, fingerprint, metadata };
        Shards::write(&all, &set)?;
        for entry in fs::read_dir(here).map_err(Error::io(here))? {
            bytes += entry.and_then(|entry| entry.metadata()).map_err(Error::io(here))?.len();
        }
        Ok(())
    })?;
    Ok(WrittenShards { folder, candidates: all.len(), distinct: all.distinct(), bytes })
}

/// Opens this rank's shards of the candidates of a run: those in `folder`, or, for several ranks, those in the run
/// directory, if there are any.
fn open(run: &Path, folder: Option<&Path>) -> Result<Option<Shards>, Error> {
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

impl EnsembleRun {
    /// As [`open`](Self::open), for several [`Processes`](dsokr_basis::Processes), which share the candidates of a run of one model if they are
    /// in shards ([`shard_candidates`](super::shard_candidates)): in the folder `shards`, by default that of the
    /// run directory. Each rank then opens its own shards; the [`candidates`](Run::candidates) of the run are one of
    /// them alone, and answers come with those that they name. One rank uses shards that are named alone.
    ///
    /// # Errors
    /// As [`open`](Self::open) and [`Shards::open`]; [`Error::Value`] for shards of several runs or an ensemble.
    pub fn open_shared(
        paths: &[PathBuf],
        shards: Option<&Path>,
        device: &Device,
    ) -> Result<Self, Error> {
        let configs = paths.iter().map(|path| Folder::config(path));
        let mut configs = configs.collect::<Result<Vec<_>, Error>>()?;
        let shards = match (paths, configs.as_slice(), shards) {
            ([path], [config], shards) if config.ensemble.is_none() => open(path, shards)?,
            (_, _, None) => None,
            (_, _, Some(folder)) => {
                let allowed = "absent: the candidates of several models are not in shards";
                return Err(Error::value("the argument shards", folder.display(), allowed));
            }
        };
        let Some(shards) = shards else { return Self::open_all(paths, configs, device) };
        let (path, config) = (&paths[0], configs.remove(0));
        // of the candidates, for their dimension
        let first = shards.some([0])?.candidates.into_owned();
        let run = Run::read(path, config, shards.stored(), first, device)?;
        if run.config.decoding.expected_f1.is_some() {
            let allowed = "absent: the label sets of candidates in shards are not read";
            return Err(Error::value("decoding.expected_f1", "given", allowed));
        }
        let (names, members) = (vec![path.display().to_string()], vec![run]);
        Ok(Self { names, members, rule: Combination::default(), shards: Some(shards) })
    }

    fn all(&self) -> AllCandidates<'_> {
        let whole = AllCandidates::Whole(&self.members[0].candidates);
        self.shards.as_ref().map_or(whole, AllCandidates::Shards)
    }

    /// Number of candidates, duplicates counted.
    pub fn candidates(&self) -> usize {
        self.all().len()
    }

    /// The numbers of candidates among all, by id; none for an id that is no candidate's.
    ///
    /// # Errors
    /// As [`Shards::find`].
    pub fn numbers(&self, ids: &[String]) -> Result<Vec<Option<usize>>, Error> {
        let places = self.all().find(ids)?.into_iter();
        Ok(places.map(|place| place.map(|place| place.candidate)).collect())
    }

    /// The places of candidates by id, none for an id that is no candidate's, and the candidates that they are places
    /// among: those of the run, or, where they are in shards, those that are found.
    ///
    /// # Errors
    /// As [`Shards::find`] and [`Shards::some`].
    pub fn find(&self, ids: &[String]) -> Result<(Vec<Option<usize>>, Cow<'_, Candidates>), Error> {
        let numbers = self.numbers(ids)?;
        let some = self.all().some(numbers.iter().flatten().copied())?;
        let places = numbers.into_iter().map(|number| number.map(|at| some.place(at)).transpose());
        Ok((places.collect::<Result<_, _>>()?, some.candidates))
    }

    /// The shards of the candidates, if they are in shards.
    pub fn shards(&self) -> Option<&Shards> {
        self.shards.as_ref()
    }

    /// Whether nine in ten of some labels are SMILES.
    #[cfg(feature = "serve")]
    pub(crate) fn are_smiles(&self) -> Result<bool, Error> {
        let all = self.all();
        Ok(are_smiles(&all.some(labels_looked_at(all.len()))?.candidates))
    }
}
