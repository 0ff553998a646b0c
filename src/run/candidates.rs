//! The candidates of a trained run on disk: some are added to it, or removed from it again, and all are put in shards, which
//! several processes share.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsokr_core::store::Stored;
use dsokr_core::{Argument, Processes};
use dsokr_data::{FittedFeatures, Outputs, Source};
use dsokr_decode::{Candidates, ShardSet, Shards, StorageType};
use dsokr_molecule::Molecule;
use rayon::prelude::*;
use serde::Serialize;

use super::{FoundCandidate, OutputFolder};
use crate::error::{Error, ensure, ensure_run};
use crate::metrics::molecules::{are_smiles, canonical};
use crate::run_dir::{
    FEATURES, RunDir, RunLock, SHARDS as FOLDER, candidates, check_sealed_files, held_out, inner,
    load_scaling, name, named, run_of,
};
use crate::targets::{OutputSpace, unknown_shares};

/// Candidates that were added to a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AddedCandidates {
    /// Their ids, in the order of the table.
    pub ids: Vec<String>,
    /// Number of candidates with them.
    pub candidates: usize,
    /// Number of distinct candidates with them.
    pub distinct: usize,
    /// The first candidate before each that has the same features, whose scores it shares.
    pub same_features: Vec<Option<String>>,
    /// The first candidate before each that is the same molecule, by the canonical SMILES of their labels; none at all
    /// where labels are not SMILES.
    pub same_molecule: Vec<Option<String>>,
    /// The share of each candidate that the basis of each member (a run of one model has one) does not know
    /// ([`Basis::unknown_shares`](dsokr_basis::Basis::unknown_shares)); none where outputs are not sketched.
    pub unknown: Vec<Option<Vec<f64>>>,
}

/// Candidates that were removed from a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RemovedCandidates {
    /// Number of candidates that were removed.
    pub removed: usize,
    /// Number of candidates that are left.
    pub candidates: usize,
    /// Number of distinct candidates that are left.
    pub distinct: usize,
}

/// The new candidates of a run.
#[derive(Clone, Copy, Debug)]
pub enum NewCandidates<'a> {
    /// The rows of a table.
    Table {
        /// The table, in any of the formats.
        table: &'a Path,
        /// The files that hold what a table does not: rows of features, or graphs, a file for each kernel that needs one, in
        /// the order of the configuration.
        files: &'a [PathBuf],
    },
    /// The molecules among these that are not candidates yet, neither by a search nor by an id that was made of them.
    Found(&'a [FoundCandidate]),
}

/// A complete run whose candidates are changed.
struct ChangedRun<'a> {
    path: &'a Path,
    /// The run directories of its members; the run itself where it is of one model.
    members: Vec<PathBuf>,
    is_ensemble: bool,
    /// Keeps others from writing it; none where nothing is to be changed.
    _lock: Option<RunLock>,
}

/// The candidates that a member is to have.
struct Changed {
    candidates: Candidates,
    fingerprints: BTreeMap<String, String>,
}

/// The candidates of a member with those that were added.
struct Grown {
    changed: Changed,
    /// How many were added.
    count: usize,
    unknown: Option<Vec<f64>>,
}

/// Adds to the candidates of a trained run, of one model or of an ensemble, without fitting anything anew: the
/// features of new ones are those that the run was trained with, their points the projections of these.
///
/// `before` is called with what is found, before anything is changed; where it fails, nothing is added. The run has
/// the old candidates or the new ones, also when the process is killed. With `dry` nothing is added.
///
/// # Errors
/// A run that is not complete, is being written, or whose model was made from its parts, without features; a table that cannot be
/// read; an id that is a candidate; outputs that the run's features cannot express; errors of `before`.
pub fn add_candidates<T>(
    run: &Path,
    new: NewCandidates,
    dry: bool,
    before: impl FnOnce(&AddedCandidates) -> Result<T, Error>,
) -> Result<(AddedCandidates, T), Error> {
    let run = ChangedRun::open(run, dry)?;
    let grown = run.members.iter().map(|member| grow(member, new));
    let grown = grown.collect::<Result<Vec<_>, Error>>()?;
    let added = summary(&grown);
    let done = before(&added)?;
    if !dry {
        run.replace(|member| &grown[member].changed)?;
    }
    Ok((added, done))
}

/// Removes candidates that were [added](add_candidates) to a trained run, of one model or of an ensemble: those that the rows of a
/// table name, which needs no column but that of the ids. Those of the training stay, since its metrics are measured among them.
///
/// The run has the candidates before or those after, also when the process is killed. With `dry` nothing is removed.
///
/// # Errors
/// A run that is not complete or is being written; a table that cannot be read; an id that is no candidate, or one of the
/// training.
pub fn remove_candidates(run: &Path, table: &Path, dry: bool) -> Result<RemovedCandidates, Error> {
    let run = ChangedRun::open(run, dry)?;
    let shrunk = run.members.iter().map(|member| shrink(member, table));
    let (removed, shrunk): (Vec<usize>, Vec<Changed>) =
        shrunk.collect::<Result<Vec<_>, Error>>()?.into_iter().unzip();
    if !dry {
        run.replace(|member| &shrunk[member])?;
    }
    let left = &shrunk[0].candidates;
    let removed = removed[0];
    Ok(RemovedCandidates { removed, candidates: left.len(), distinct: left.distinct() })
}

impl<'a> ChangedRun<'a> {
    /// Opens a run, and keeps others from writing it unless nothing is to be changed.
    fn open(path: &'a Path, dry: bool) -> Result<Self, Error> {
        let config = RunDir::at(path).config()?;
        if let Some(ensemble) = ensemble_of(path)? {
            let ensemble = ensemble.display();
            let message = format!(
                "a member of the ensemble {ensemble}, whose members have the same candidates: name the ensemble"
            );
            return Err(Error::run(path, message));
        }
        let lock = if dry { None } else { RunLock::take(path)? };
        check_complete(path)?;
        let is_ensemble = config.ensemble.is_some();
        let members = if is_ensemble { inner(path, &config)? } else { vec![path.into()] };
        if is_ensemble && !dry {
            candidates::settle(path, &members)?;
        }
        members.iter().try_for_each(|member| check_sealed_files(member))?;
        Ok(Self { path, members, is_ensemble, _lock: lock })
    }

    /// Replaces the candidates of all members, or of none: `changed` has those of a member.
    fn replace<'c>(&self, changed: impl Fn(usize) -> &'c Changed) -> Result<(), Error> {
        let save = |member: usize, file: &Path| {
            let Changed { candidates, fingerprints } = changed(member);
            Ok::<_, Error>(candidates.save(file, fingerprints)?)
        };
        if self.is_ensemble {
            candidates::replace_all(self.path, &self.members, save)
        } else {
            candidates::replace(self.path, |file| save(0, file))
        }
    }
}

fn check_complete(run: &Path) -> Result<(), Error> {
    let resume = Argument::switch("resume");
    let message = format_args!("not complete: train it to its end first ({resume})");
    ensure_run(RunDir::at(run).report()?.is_some(), run, message)
}

/// Returns the fingerprints of the coordinates and of the data that a file of candidates names.
fn fingerprints(stored: &Stored) -> Result<BTreeMap<String, String>, Error> {
    Ok(named([("basis", stored.metadata("basis")?), ("data", stored.metadata("data")?)]))
}

/// Returns the directory of the ensemble that a run is a member of.
pub(crate) fn ensemble_of(run: &Path) -> Result<Option<PathBuf>, Error> {
    let above = candidates::above(run).filter(|folder| run_of(folder).as_ref() == Some(folder));
    let Some(ensemble) = above else { return Ok(None) };
    let config = RunDir::at(&ensemble).config()?;
    let is_member = config.ensemble.is_some()
        && inner(&ensemble, &config)?.iter().any(|member| name(member) == name(run));
    Ok(is_member.then_some(ensemble))
}

/// Returns a summary of the candidates that each member is to get.
fn summary(grown: &[Grown]) -> AddedCandidates {
    let all = &grown[0].changed.candidates;
    let more = all.len() - grown[0].count..all.len();
    let earlier = |candidate: usize| {
        let first = all.members(all.class_of(candidate))[0] as usize;
        (first != candidate).then(|| all.id(first).to_owned())
    };
    AddedCandidates {
        ids: more.clone().map(|candidate| all.id(candidate).to_owned()).collect(),
        candidates: all.len(),
        distinct: all.distinct(),
        same_features: more.clone().map(earlier).collect(),
        same_molecule: same_molecules(all, more.start),
        unknown: grown.iter().map(|grown| grown.unknown.clone()).collect(),
    }
}

/// Returns the outputs that are added to candidates.
fn new_outputs(
    new: NewCandidates,
    run: &Path,
    source: &Source,
    fitted: &FittedFeatures,
    before: &Candidates,
) -> Result<Outputs, Error> {
    let molecules = match new {
        NewCandidates::Table { table, files } => {
            let (outputs, table) = source.read_further(table, files, fitted)?;
            for (row, id) in outputs.ids.iter().enumerate() {
                if let Some(candidate) = before.find(id) {
                    let line = table.line(row);
                    let run = run.display();
                    let message = format!(
                        "line {line}: the id {id:?} is that of candidate {candidate} of {run} already"
                    );
                    return Err(Error::Config { path: table.path().into(), message });
                }
            }
            return Ok(outputs);
        }
        NewCandidates::Found(molecules) => molecules,
    };
    source.outputs.check_made()?;
    let is_new = |molecule: &&FoundCandidate| {
        molecule.candidate.is_none() && before.find(&molecule.id()).is_none()
    };
    let mut ids = Vec::new();
    let mut smiles = Vec::new();
    let mut parsed = Vec::new();
    for molecule in molecules.iter().filter(is_new) {
        let wrong = |error: dsokr_molecule::Error| {
            Error::value("a molecule that was found", &molecule.smiles, error.to_string())
        };
        parsed.push(Molecule::parse(&molecule.smiles).map_err(wrong)?);
        ids.push(molecule.id());
        smiles.push(molecule.smiles.clone());
    }
    let key = format_args!("new candidates of {}", run.display());
    ensure(!parsed.is_empty(), key, "none", "molecules that are not candidates of it")?;
    Ok(Outputs { ids, ..source.made(smiles, parsed, fitted)? })
}

/// Returns the candidates of the run of one model with new ones.
fn grow(run: &Path, new: NewCandidates) -> Result<Grown, Error> {
    let config = RunDir::at(run).config()?;
    let stored = Arc::new(candidates::open(run)?);
    let before = Candidates::read(&stored)?;
    let features = run.join(FEATURES);
    let message = format_args!(
        "no {FEATURES}: a model that was made from its parts has none; train it again"
    );
    ensure_run(features.exists(), run, message)?;
    let fitted = FittedFeatures::load(&features)?;
    let mut outputs = new_outputs(new, run, &config.source(), &fitted, &before)?;
    if let Some(scaling) = load_scaling(run)? {
        outputs.rows = Arc::new(scaling.rows(outputs.rows.as_ref())?);
    }
    // the exact search needs the outputs that span the predictions, and so does their projection
    let message = "neither a basis nor an output space: no output can be placed in it";
    let space = OutputSpace::load(run, &config)?.ok_or_else(|| Error::run(run, message))?;
    let more = space.candidates(&outputs, &Processes::default())?;
    let more = match held_out::load_for_hubs(run, &before)? {
        Some(unit) => more.with_hubs_like(&before, &unit)?,
        None => more,
    };
    let mut unknown = None;
    if let Some(basis) = space.basis() {
        let shares = unknown_shares(basis, &more, &outputs)?;
        let share = |candidate| shares[more.class_of(candidate) as usize];
        unknown = Some((0..more.len()).map(share).collect());
    }
    let count = more.len();
    let changed =
        Changed { candidates: before.with_more(more)?, fingerprints: fingerprints(&stored)? };
    Ok(Grown { changed, count, unknown })
}

/// Returns how many candidates of the run of one model a table names, and the run's candidates without them.
fn shrink(run: &Path, table: &Path) -> Result<(usize, Changed), Error> {
    let config = RunDir::at(run).config()?;
    let stored = Arc::new(candidates::open(run)?);
    let before = Candidates::read(&stored)?;
    let trained = before.len() - before.added();
    let (ids, table) = config.source().read_further_ids(table)?;
    let mut removed = BTreeSet::new();
    for (row, id) in ids.iter().enumerate() {
        let refused = |reason: &str| {
            let line = table.line(row);
            let run = run.display();
            let message = format!("line {line}: the id {id:?} is {reason} of {run}");
            Error::Config { path: table.path().into(), message }
        };
        let candidate = before.find(id).ok_or_else(|| refused("no candidate"))?;
        if candidate < trained {
            return Err(refused("that of a candidate of the training"));
        }
        removed.insert(candidate);
    }
    let fingerprints = fingerprints(&stored)?;
    Ok((removed.len(), Changed { candidates: before.without(&removed)?, fingerprints }))
}

/// Returns the first candidate before each one from `start` on that is the same molecule; empty where labels are not SMILES.
fn same_molecules(all: &Candidates, start: usize) -> Vec<Option<String>> {
    if !are_smiles(all) {
        return Vec::new();
    }
    let added: Vec<Option<String>> = (start..all.len())
        .into_par_iter()
        .map(|candidate| canonical(all.label(candidate)))
        .collect();
    let mut first: HashMap<&str, usize> = HashMap::new();
    for (smiles, candidate) in added.iter().zip(start..) {
        if let Some(smiles) = smiles {
            first.entry(smiles).or_insert(candidate);
        }
    }
    let before = (0..start).into_par_iter().filter_map(|candidate| {
        let (&smiles, _) = first.get_key_value(canonical(all.label(candidate))?.as_str())?;
        Some((smiles, candidate))
    });
    // the smallest one last
    let before: Vec<(&str, usize)> = before.collect();
    first.extend(before.into_iter().rev());
    let same = |(smiles, candidate): (&Option<String>, usize)| {
        let first = first[smiles.as_deref()?];
        (first != candidate).then(|| all.id(first).to_owned())
    };
    added.iter().zip(start..).map(same).collect()
}

const OUTPUT: OutputFolder =
    OutputFolder { argument: "out", holds: "shards only", is_own: Shards::is_file, always: &[] };

/// The shards that [`shard_candidates`] has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenShards {
    /// The folder with their files.
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
/// use them, each process its own ([`Run::open_shared`](super::Run::open_shared)).
///
/// # Errors
/// A run that is not complete, an ensemble, a run with a reranker; more shards than distinct candidates; a
/// folder that holds something else.
pub fn shard_candidates(
    run: &Path,
    parts: usize,
    precision: StorageType,
    out: Option<&Path>,
) -> Result<WrittenShards, Error> {
    let config = RunDir::at(run).config()?;
    let message = "an ensemble: expected the run of one model";
    ensure_run(config.ensemble.is_none(), run, message)?;
    let message = "a run with decoding.reranker: expected one without";
    ensure_run(config.decoding.reranker.is_none(), run, message)?;
    check_complete(run)?;
    let stored = Arc::new(candidates::open(run)?);
    let all = Candidates::read(&stored)?;
    let most = all.distinct();
    let key = Argument::new("parts");
    let allowed = format_args!("1 to {most}, the distinct candidates");
    ensure((1..=most).contains(&parts), key, parts, allowed)?;
    let default = run.join(FOLDER);
    let folder = match out {
        Some(out) if out != default => {
            OUTPUT.check(out)?;
            out.to_path_buf()
        }
        Some(_) | None => default,
    };
    let metadata = fingerprints(&stored)?;
    let mut bytes = 0;
    OUTPUT.write(&folder, |here| {
        let fingerprint = stored.checksum();
        let metadata = &metadata;
        let set = ShardSet { folder: here, count: parts, precision, fingerprint, metadata };
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
pub(super) fn open_shards(
    processes: &Processes,
    run: &Path,
    folder: Option<&Path>,
) -> Result<Option<Shards>, Error> {
    let default = run.join(FOLDER);
    if folder.is_none() {
        if processes.size() == 1 {
            return Ok(None);
        }
        let is_there = default.is_dir();
        let value = if is_there { "there" } else { "missing" };
        processes.check_same(&format!("folder {}", default.display()), value)?;
        if !is_there {
            return Ok(None);
        }
    }
    let folder = folder.unwrap_or(&default);
    let shards = Shards::open(processes, folder, &candidates::checksum(run)?)?;
    tracing::info!(
        "{} candidates in {} shards ({}) in {}",
        shards.len(),
        shards.count(),
        shards.precision(),
        folder.display()
    );
    Ok(Some(shards))
}
