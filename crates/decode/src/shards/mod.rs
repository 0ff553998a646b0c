//! Candidates in shards: each of several [`Processes`] holds some, and all of them answer together.

mod answers;
mod file;

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::Path;

use dsokr_core::processes::part;
use dsokr_core::store::Stored;
use dsokr_core::{Error, Processes};
use rayon::prelude::*;

use crate::blocks::{CandidateBlocks, check_count};
use crate::candidates::{Candidates, Columns, StorageType};
use crate::error::check_consistent;

pub use answers::{AllCandidates, CandidatePlace, SomeCandidates};
pub(crate) use file::ShardCandidates;
pub use file::ShardSet;
use file::{AssignedShard, Shard};

/// Candidates in the files that [`write`](Self::write) writes. Each of several [`Processes`] opens its own.
///
/// All ranks call the same methods in the same order, with the [`Processes`] that have opened the shards. Candidates and rows are numbered as in the whole set, and
/// ranks, ties, hits and scores are those that [`Pool::Shared`](crate::Pool) gives for it, bit for bit, unless its
/// coordinates were rounded ([`StorageType::F16`]).
///
/// ```
/// use dsokr_core::Processes;
/// use dsokr_decode::{
///     CandidateParts, Candidates, Combination, Ensemble, Pool, Queries, ShardSet, Shards, StorageType,
/// };
///
/// let ids = ["a", "b", "c"].map(String::from).to_vec();
/// let coordinates = vec![1.0, 0.0, 0.0, 1.0];
/// let class = vec![0, 1, 1];
/// let parts = CandidateParts { ids, class, dim: 2, coordinates, ..CandidateParts::default() };
/// let folder = tempfile::tempdir()?;
/// let set = ShardSet {
///     folder: folder.path(),
///     count: 2,
///     precision: StorageType::F32,
///     fingerprint: "run 1",
///     metadata: &Default::default(),
/// };
/// Shards::write(&Candidates::new(parts)?, &set)?;
///
/// let processes = Processes::default();
/// let shards = Shards::open(&processes, folder.path(), "run 1")?;
/// let queries = Queries::new(2, &[0.0, 2.0])?;
/// let ensemble = Ensemble::sharded(&processes, "run 1", queries, &shards)?;
/// let hits = ensemble.top_k(Pool::Shared, &Combination::default(), 2)?;
/// let some = shards.some(&processes, hits[0].iter().map(|hit| hit.candidate))?;
/// assert_eq!(some.candidates.ids().collect::<Vec<_>>(), ["b", "c"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Shards {
    precision: StorageType,
    count: usize,
    pub(crate) dim: usize,
    pub(crate) distinct: usize,
    candidates: usize,
    /// The names of the columns of candidates.
    columns: Vec<String>,
    /// The shards that this rank holds, at least one, in their order.
    held: Vec<Shard>,
    /// The number of this rank, and the number of all ranks.
    opened_by: (usize, usize),
}

impl Shards {
    /// Returns how coordinates are kept.
    pub fn precision(&self) -> StorageType {
        self.precision
    }

    /// Returns the number of shards.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the dimension p.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Returns the number of distinct rows.
    pub fn distinct(&self) -> usize {
        self.distinct
    }

    /// Writes candidates as shards into a folder, as `shard-0-of-4.safetensors` and so on.
    ///
    /// Each shard holds a part of the distinct rows, with the candidates of these. The file has the tensors of
    /// [`Candidates::save`] for those candidates, which are numbered anew in their order, with `coordinates` and
    /// `weights` in blocks, the former in F16 if they are rounded, and without `hashes` and `hubs`. `numbers` U32 `[c]`
    /// are their numbers among all, ascending. `row_offsets` and `members` are left out where each candidate of the
    /// shard has its own row, `numbers` where each of all candidates has. In addition to `metadata` the file has
    /// `shard` and `shards` (its number and the number of all), `rows` and `candidates` (of all shards), `precision`,
    /// and `candidates.checksum`, the fingerprint.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for more shards than rows, coordinates that 16 bits do not hold, and rows of more
    /// coordinates than codes have; the errors of [`Candidates::save`].
    pub fn write(candidates: &Candidates, set: &ShardSet) -> Result<(), Error> {
        set.write(candidates, |rows| ShardCandidates::from_candidates(candidates, rows))
    }

    /// Writes shards like [`write`](Self::write), for any number of candidates, each with its own row. Coordinates and
    /// constants are computed block by block as they are written, and the columns of one shard, which `columns` gives
    /// for a range of rows, are in memory at once. Equal rows are not detected; they tie all the same.
    ///
    /// # Errors
    /// The errors of [`write`](Self::write); [`Error::Inconsistent`] for a row of several candidates and two candidates
    /// of one id in a shard; [`Error::NotFiniteAt`] for a number that is not finite; errors of the source and of
    /// `columns`.
    pub fn write_rows(
        rows: &dyn CandidateBlocks,
        columns: &dyn Fn(Range<usize>) -> Result<Columns, Error>,
        set: &ShardSet,
    ) -> Result<(), Error> {
        let all = rows.rows();
        let candidates = rows.candidates();
        check_consistent(
            candidates == all as u64,
            format_args!("{candidates} candidates of {all} rows, expected one of each row"),
        )?;
        check_count(candidates)?;
        set.write(rows, |rows| ShardCandidates::from_columns(rows.clone(), columns(rows)?))
    }

    /// Returns the names of the columns of candidates, ids and labels among them.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Returns whether a file in a folder of shards has the name of one.
    pub fn is_file(name: &str) -> bool {
        count_of(name).is_some()
    }

    /// Opens this rank's shards of those in a folder, of candidates with this fingerprint. Where there are at most as
    /// many ranks as shards, each takes whole shards in turn; more ranks share them.
    ///
    /// # Errors
    /// [`Error::File`] for a folder without shards or with shards of several numbers; a shard that is missing,
    /// damaged (but for its coordinates, which are verified when they are first used), or of other candidates;
    /// [`Error::Process`] for ranks that find other numbers of shards or other candidates.
    pub fn open(processes: &Processes, folder: &Path, fingerprint: &str) -> Result<Self, Error> {
        let count = count_in(folder)?;
        processes.check_same("number of shards", &count.to_string())?;
        processes.check_same("fingerprint of the candidates", fingerprint)?;
        let assigned_shards = assigned(processes.rank(), processes.size(), count).into_par_iter();
        let opened =
            assigned_shards.map(|assigned| Shard::open(folder, count, assigned, fingerprint));
        // the first error, not that of the first thread
        let opened_shards: Vec<_> =
            opened.collect::<Vec<_>>().into_iter().collect::<Result<_, Error>>()?;
        let Some(first) = opened_shards.first() else { return Err(Error::too_few("no shards", 1)) };
        let dim = first.candidates.dim();
        let precision = first.precision;
        let (distinct, candidates) = first.all;
        let names = |shard: &Shard| -> Vec<String> {
            shard.candidates.columns().names().map(str::to_owned).collect()
        };
        let columns = names(first);
        let described = format!(
            "{distinct} rows of {dim} coordinates ({precision}), with the columns {}",
            columns.join(", ")
        );
        for shard in &opened_shards {
            let shape = (shard.candidates.dim(), shard.precision, shard.all);
            if shape != (dim, precision, first.all) || names(shard) != columns {
                let reason = format!("not one of the shards of {described}");
                return Err(Error::file(shard.stored.path(), reason));
            }
        }
        processes.check_same("set of shards", &described)?;
        let opened_by = (processes.rank(), processes.size());
        Ok(Self {
            precision,
            count,
            dim,
            distinct,
            candidates,
            columns,
            held: opened_shards,
            opened_by,
        })
    }

    /// Returns the number of candidates, duplicates counted.
    pub fn len(&self) -> usize {
        self.candidates
    }

    /// Returns false: there is at least one candidate.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the candidates that this rank holds, shard by shard. Ranks that share a shard hold the same ones.
    pub fn held(&self) -> impl Iterator<Item = &Candidates> {
        self.held.iter().map(|shard| &shard.candidates)
    }

    /// Refuses processes that are not those that have opened the shards: others hold other parts.
    fn check_opened_by(&self, processes: &Processes) -> Result<(), Error> {
        let this_rank = processes.rank();
        let size = processes.size();
        let (opener, openers) = self.opened_by;
        let opened = format_args!("shards that rank {opener} of {openers} has opened");
        let message = format_args!("rank {this_rank} of {size} asks {opened}");
        check_consistent((this_rank, size) == self.opened_by, message)
    }

    /// Returns the file of a shard that this rank holds, for its metadata.
    pub fn stored(&self) -> &Stored {
        &self.held[0].stored
    }
}

/// Returns of how many shards a file is one, which its name says; none of other files.
fn count_of(name: &str) -> Option<usize> {
    let (at, count) =
        name.strip_prefix("shard-")?.strip_suffix(".safetensors")?.split_once("-of-")?;
    at.parse::<usize>().ok()?;
    count.parse().ok()
}

/// Returns the number of shards that the names of files in a folder state.
fn count_in(folder: &Path) -> Result<usize, Error> {
    let io = |e: std::io::Error| Error::file(folder, e);
    let mut counts = BTreeSet::new();
    for entry in fs::read_dir(folder).map_err(io)? {
        counts.extend(count_of(&entry.map_err(io)?.file_name().to_string_lossy()));
    }
    let counts: Vec<usize> = counts.into_iter().collect();
    let bad = |reason: &str| Err(Error::file(folder, reason));
    match counts[..] {
        [] => bad("no shards of candidates"),
        [0] => bad("a file name says: of 0 shards"),
        [count] => Ok(count),
        _ => bad(&format!("shards of several sets, of {counts:?} shards; expected one set")),
    }
}

/// Returns the shards of a rank.
fn assigned(rank: usize, size: usize, shards: usize) -> Vec<AssignedShard> {
    if size <= shards {
        let whole = |number| AssignedShard { number, share: 0, shares: 1 };
        return part(shards, rank, size).map(whole).collect();
    }
    let number = rank * shards / size;
    let first_rank = |number: usize| (number * size).div_ceil(shards);
    let share = rank - first_rank(number);
    let shares = first_rank(number + 1) - first_rank(number);
    vec![AssignedShard { number, share, shares }]
}
