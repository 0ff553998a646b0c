//! A shard, and its file.

use std::collections::BTreeMap;
use std::fmt::Arguments;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use dsokr_core::Error;
use dsokr_core::processes::part;
use dsokr_core::store::{Array, Contents, Stored, Tensor};

use crate::blocks::{CandidateBlocks, ScoreBlock};
use crate::candidates::{
    Candidates, Columns, FilledRows, HUGE, PRECISION, StorageType, check_counts, named, sorted,
};
use crate::classes::Classes;
use crate::codes::LARGEST;
use crate::error::{ensure, ensure_allowed};

/// The kind of files of shards.
const KIND: &str = "candidate shard";
const VERSION: u32 = 1;
/// Metadata keys: which of how many shards it is, and the distinct rows and the candidates of all of them.
const SHARD: &str = "shard";
const SHARDS: &str = "shards";
const ROWS: &str = "rows";
const CANDIDATES: &str = "candidates";
/// Metadata key of the fingerprint of the candidates that a shard is of.
const FINGERPRINT: &str = "candidates.checksum";
/// Numbers of the candidates among all.
const NUMBERS: &str = "numbers";

/// The files of shards that are written.
#[derive(Clone, Copy, Debug)]
pub struct ShardSet<'a> {
    /// The folder of the shards.
    pub folder: &'a Path,
    /// Number of shards.
    pub count: usize,
    /// How coordinates are kept.
    pub precision: StorageType,
    /// The fingerprint of the set of candidates.
    pub fingerprint: &'a str,
    /// Further metadata of each file.
    pub metadata: &'a BTreeMap<String, String>,
}

/// The candidates of a shard.
pub(crate) struct ShardCandidates {
    numbers: Vec<u32>,
    columns: Columns,
    classes: Classes,
}

impl ShardCandidates {
    /// Returns the part of the candidates with some distinct rows.
    pub fn from_candidates(all: &Candidates, rows: Range<usize>) -> Result<Self, Error> {
        let classes = all.classes();
        check_counts(&classes.counts(rows.clone()), rows.start)?;
        let mut numbers = classes.members(rows.clone()).into_owned();
        numbers.sort_unstable();
        let columns = all.columns().select(&numbers);
        // in the order in which they first appear, as those of all candidates are
        let row = |&number: &u32| classes.row_of_candidate(number as usize) - rows.start as u32;
        let classes = Classes::new(numbers.iter().map(row).collect(), rows.len());
        Ok(Self { numbers, columns, classes })
    }

    /// Creates one candidate of each of some rows, with these columns.
    pub fn from_columns(rows: Range<usize>, columns: Columns) -> Result<Self, Error> {
        Error::check_length("candidates of the columns", columns.len(), rows.len())?;
        let classes = Classes::single(rows.len());
        Ok(Self { numbers: rows.map(|row| row as u32).collect(), columns, classes })
    }
}

impl ShardSet<'_> {
    /// Writes the shards in turn, with codes where coordinates are many; `part_of` gives the candidates of some rows.
    pub(crate) fn write(
        &self,
        source: &dyn CandidateBlocks,
        part_of: impl Fn(Range<usize>) -> Result<ShardCandidates, Error>,
    ) -> Result<(), Error> {
        let Self { folder, count: shard_count, precision, fingerprint, metadata } = *self;
        let all = source.rows();
        let candidates = source.candidates() as usize;
        let dim = source.dim();
        let allowed = format_args!("1 to {all}, the distinct candidates");
        ensure_allowed(
            (1..=all).contains(&shard_count),
            format_args!("{shard_count} shards"),
            allowed,
        )?;
        let found = format_args!("codes of 8 bits for {dim} coordinates");
        let holds = precision != StorageType::I8 || dim <= LARGEST;
        ensure_allowed(holds, found, format_args!("at most {LARGEST}"))?;
        for shard in 0..shard_count {
            let rows = part(all, shard, shard_count);
            let ShardCandidates { numbers, columns, classes } = part_of(rows.clone())?;
            let by_id = sorted(columns.ids())?;
            let groups =
                (!classes.is_single()).then(|| (classes.offsets(), classes.members(0..rows.len())));
            let mut tensors = named(&columns, &by_id, groups.as_ref());
            if candidates != all {
                tensors.push(Tensor::u32(NUMBERS, &[numbers.len()], &numbers));
            }
            let large = 4 * rows.len() * dim >= HUGE && dim <= LARGEST;
            let filled = FilledRows {
                source,
                rows,
                rounded: precision == StorageType::F16,
                coded: large || precision == StorageType::I8,
                weights: true,
            };
            tensors.extend(filled.tensors());
            let mut metadata = metadata.clone();
            let counts =
                [(SHARD, shard), (SHARDS, shard_count), (ROWS, all), (CANDIDATES, candidates)];
            metadata.extend(counts.map(|(key, count)| (key.to_owned(), count.to_string())));
            metadata.insert(PRECISION.to_owned(), precision.to_string());
            columns.describe(&mut metadata);
            metadata.insert(FINGERPRINT.to_owned(), fingerprint.to_owned());
            let contents = Contents::new(KIND, VERSION, &metadata, &tensors);
            contents.write_filled(&folder.join(name(shard, shard_count)), |filling| {
                filled.fill(filling)
            })?;
        }
        Ok(())
    }
}

/// Returns the name of a shard's file.
fn name(at: usize, count: usize) -> String {
    format!("shard-{at}-of-{count}.safetensors")
}

/// A part of the distinct rows of candidates, with the candidates of these rows, that this rank holds.
#[derive(Debug)]
pub(super) struct Shard {
    /// The candidates of the shard, numbered in their order.
    pub candidates: Candidates,
    /// The numbers of the candidates among all, ascending; none where the number of each candidate is the number of its
    /// row.
    numbers: Option<Array<u32>>,
    /// The rows among all.
    pub rows: Range<usize>,
    /// The rows that this rank scores; with more ranks than shards several of them share a shard.
    pub scored: Range<usize>,
    /// Whether this rank answers what others ask of the shard.
    pub answers: bool,
    /// The rows and the candidates of all shards.
    pub all: (usize, usize),
    pub precision: StorageType,
    /// The file.
    pub stored: Arc<Stored>,
}

/// A shard of a rank, and the part of it that the rank scores.
#[derive(Clone, Copy, Debug)]
pub(super) struct AssignedShard {
    /// The number of the shard, from 0.
    pub number: usize,
    /// Which of the equal shares the rank scores, from 0.
    pub share: usize,
    /// How many ranks share the shard.
    pub shares: usize,
}

impl Shard {
    /// Opens a shard of `count` in a folder, which must have these candidates.
    pub fn open(
        folder: &Path,
        count: usize,
        assigned: AssignedShard,
        fingerprint: &str,
    ) -> Result<Self, Error> {
        let AssignedShard { number: at, share, shares: ranks } = assigned;
        let stored = Arc::new(Stored::open(&folder.join(name(at, count)), KIND, VERSION)?);
        let check = |holds, message: Arguments| {
            ensure(holds, || Error::file(stored.path(), message.to_string()))
        };
        let number = |key: &str| stored.parsed::<usize>(key, "a number");
        let number_of_file = number(SHARD)?;
        let shards = number(SHARDS)?;
        let expected = format_args!("expected shard {at} of {count}");
        check(
            (number_of_file, shards) == (at, count),
            format_args!("shard {number_of_file} of {shards}, {expected}"),
        )?;
        let all = (number(ROWS)?, number(CANDIDATES)?);
        let precision = stored.parsed(PRECISION, "f32, f16 or i8")?;
        let candidates = Candidates::read(&stored)?;
        let single = all.0 == all.1 && !stored.has(NUMBERS);
        let numbers = (!single).then(|| stored.read::<u32>(NUMBERS, 1)).transpose()?;
        let numbers = numbers.map(|(_, numbers)| numbers);
        let rows = part(all.0, at, count);
        let rows_in_file = candidates.distinct();
        let expected = rows.len();
        let message =
            format_args!("{rows_in_file} distinct rows, expected {expected} of {}", all.0);
        check(rows_in_file == expected, message)?;
        let right = match &numbers {
            None => candidates.len() == rows.len(),
            Some(numbers) => {
                let last = numbers.last().is_some_and(|&last| (last as usize) < all.1);
                numbers.len() == candidates.len() && numbers.is_sorted_by(|a, b| a < b) && last
            }
        };
        let held = candidates.len();
        let whole = all.1;
        let message = format_args!("{NUMBERS} are not {held} of the {whole} candidates, ascending");
        check(right, message)?;
        let stored_fingerprint = stored.metadata(FINGERPRINT)?;
        let expected = format_args!("that of the run's is {fingerprint}");
        check(
            stored_fingerprint == fingerprint,
            format_args!(
                "a shard of other candidates: their fingerprint is {stored_fingerprint}, {expected}"
            ),
        )?;
        let share_rows = part(rows.len(), share, ranks);
        let scored = rows.start + share_rows.start..rows.start + share_rows.end;
        let answers = share == 0;
        Ok(Self { candidates, numbers, rows, scored, answers, all, precision, stored })
    }

    /// Returns the number among all of a candidate of the shard.
    pub fn number(&self, candidate: usize) -> u32 {
        match &self.numbers {
            None => (self.rows.start + candidate) as u32,
            Some(numbers) => numbers[candidate],
        }
    }

    /// Returns the candidate of the shard with a number among all.
    pub fn candidate(&self, number: usize) -> Option<usize> {
        match &self.numbers {
            None => self.rows.contains(&number).then(|| number - self.rows.start),
            Some(numbers) => numbers.binary_search(&(number as u32)).ok(),
        }
    }

    /// Returns the distinct row among all of a candidate of the shard.
    pub fn row_of(&self, candidate: usize) -> usize {
        self.rows.start + self.candidates.class_of(candidate) as usize
    }

    /// Returns rows of the shard, by their numbers among all.
    pub fn block(&self, rows: Range<usize>) -> Result<ScoreBlock<'_>, Error> {
        self.candidates.block(rows.start - self.rows.start..rows.end - self.rows.start)
    }
}
