//! Runs whose candidates several processes share.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use dsokr_decode::{Candidates, Combination, Shards};

use super::{EnsembleRun, Run, shards};
use crate::Error;
#[cfg(feature = "serve")]
use crate::molecules::{are_smiles, labels_looked_at};
use crate::run_dir::Folder;

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
            ([path], [config], shards) if config.ensemble.is_none() => shards::open(path, shards)?,
            (_, _, None) => None,
            (_, _, Some(folder)) => {
                let allowed = "absent: the candidates of several models are not in shards";
                return Err(Error::value("the argument shards", folder.display(), allowed));
            }
        };
        let Some(shards) = shards else { return Self::open_all(paths, configs, device) };
        let (path, config) = (&paths[0], configs.remove(0));
        let run = Run::open_sharded(path, config, &shards, device)?;
        if run.config.decoding.expected_f1.is_some() {
            let allowed = "absent: the label sets of candidates in shards are not read";
            return Err(Error::value("decoding.expected_f1", "given", allowed));
        }
        let (names, members) = (vec![path.display().to_string()], vec![run]);
        Ok(Self { names, members, rule: Combination::default(), shards: Some(shards) })
    }

    /// Number of candidates, duplicates counted.
    pub fn candidates(&self) -> usize {
        let all = self.members[0].candidates.len();
        self.shards.as_ref().map_or(all, Shards::len)
    }

    /// The numbers of candidates among all, by id; none for an id that is no candidate's.
    ///
    /// # Errors
    /// As [`Shards::find`].
    pub fn numbers(&self, ids: &[String]) -> Result<Vec<Option<usize>>, Error> {
        let Some(shards) = &self.shards else {
            let own = &self.members[0].candidates;
            return Ok(ids.iter().map(|id| own.find(id)).collect());
        };
        let places = shards.find(ids)?.into_iter();
        Ok(places.map(|place| place.map(|place| place.candidate)).collect())
    }

    /// The places of candidates by id, none for an id that is no candidate's, and the candidates that they are places
    /// among: those of the run, or, where they are in shards, those that are found.
    ///
    /// # Errors
    /// As [`Shards::find`] and [`Shards::some`].
    pub fn find(&self, ids: &[String]) -> Result<(Vec<Option<usize>>, Cow<'_, Candidates>), Error> {
        let numbers = self.numbers(ids)?;
        let shards = self.shards.as_ref().filter(|_| numbers.iter().any(Option::is_some));
        let Some(shards) = shards else {
            return Ok((numbers, Cow::Borrowed(&self.members[0].candidates)));
        };
        let some = shards.some(numbers.iter().flatten().copied())?;
        let place = |number: usize| Ok::<_, Error>(some.place(number)?);
        let places = numbers.into_iter().map(|number| number.map(place).transpose());
        let places = places.collect::<Result<_, _>>()?;
        Ok((places, Cow::Owned(some.into())))
    }

    /// The shards of the candidates, if they are in shards.
    pub fn shards(&self) -> Option<&Shards> {
        self.shards.as_ref()
    }

    /// Whether nine in ten of some labels are SMILES.
    #[cfg(feature = "serve")]
    pub(crate) fn are_smiles(&self) -> Result<bool, Error> {
        Ok(match &self.shards {
            Some(shards) => are_smiles(shards.some(labels_looked_at(shards.len()))?.candidates()),
            None => are_smiles(&self.members[0].candidates),
        })
    }
}
