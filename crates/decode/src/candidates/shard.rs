use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use dsokr_basis::processes::part;
use dsokr_basis::store::{Array, Contents, Stored, Tensor};

use super::Candidates;
use super::checks::sorted;
use super::file::{Named, check_counts, grouped};
use super::filled::FilledRows;
use super::precision::{PRECISION, Precision};
use super::texts::Texts;
use crate::blocks::check_count;
use crate::classes::Classes;
use crate::codes::LARGEST;
use crate::{CandidateBlocks, Error};

/// The kind of files of shards.
const KIND: &str = "candidate shard";
const VERSION: u32 = 1;
/// Metadata keys: which of how many shards it is, and the distinct rows and the candidates of all of them.
const SHARD: &str = "shard";
const SHARDS: &str = "shards";
const ROWS: &str = "rows";
const CANDIDATES: &str = "candidates";
/// Numbers of the candidates among all.
const NUMBERS: &str = "numbers";

/// A part of the distinct rows of candidates, with the candidates of these rows.
pub(crate) struct Shard {
    /// Those of the shard, numbered in their order.
    pub candidates: Candidates,
    /// Their numbers among all, ascending; none where each of all candidates has a row of its own, whose number it has.
    numbers: Option<Array<u32>>,
    /// The rows among all.
    pub rows: Range<usize>,
    /// The rows and the candidates of all shards.
    pub all: (usize, usize),
    pub precision: Precision,
    /// The file.
    pub stored: Arc<Stored>,
}

/// How and what a shard is written.
pub(crate) struct ShardPlan<'a> {
    pub path: &'a Path,
    /// Which of how many it is.
    pub place: (usize, usize),
    pub precision: Precision,
    /// Bytes of 32-bit coordinates from which on there are codes.
    pub coded_from: usize,
    pub metadata: &'a BTreeMap<String, String>,
}

/// The candidates of a shard.
struct Part {
    numbers: Vec<u32>,
    ids: Texts,
    labels: Texts,
    classes: Classes,
}

impl Candidates {
    /// Writes a shard; see [`Shards::write`](crate::Shards::write).
    pub(crate) fn save_shard(&self, plan: &ShardPlan) -> Result<(), Error> {
        let rows = plan.rows(self)?;
        check_counts(&self.classes.counts(rows.clone()), rows.start)?;
        let mut numbers = self.classes.members(rows.clone()).into_owned();
        numbers.sort_unstable();
        let texts = |all: &Texts| Texts::of(numbers.iter().map(|&own| all.get(own as usize)));
        // in the order in which they first appear, as those of all candidates are
        let row = |&own: &u32| self.class_of(own as usize) - rows.start as u32;
        let classes = Classes::new(numbers.iter().map(row).collect(), rows.len());
        let (ids, labels) = (texts(&self.ids), texts(&self.labels));
        plan.write(self, Part { numbers, ids, labels, classes })
    }
}

/// Writes a shard of rows that are made as they are written; see [`Shards::write_rows`](crate::Shards::write_rows).
pub(crate) fn save_row_shard(
    source: &dyn CandidateBlocks,
    texts: &dyn Fn(usize) -> [String; 2],
    plan: &ShardPlan,
) -> Result<(), Error> {
    let (rows, candidates) = (source.rows(), source.candidates());
    if candidates != rows as u64 {
        let message = format!("{candidates} candidates of {rows} rows, expected one of each row");
        return Err(Error::Inconsistent(message));
    }
    check_count(candidates)?;
    let rows = plan.rows(source)?;
    let [ids, labels] = Texts::columns(rows.clone().map(texts));
    let numbers = rows.clone().map(|row| row as u32).collect();
    plan.write(source, Part { numbers, ids, labels, classes: Classes::Single(rows.len()) })
}

impl ShardPlan<'_> {
    /// The rows of the shard, of all that a source has.
    fn rows(&self, source: &dyn CandidateBlocks) -> Result<Range<usize>, Error> {
        let (all, dim, (at, of)) = (source.rows(), source.dim(), self.place);
        if !(1..=all).contains(&of) {
            let allowed = format!("1 to {all}, the distinct candidates");
            return Err(Error::out_of_range(format!("{of} shards"), allowed));
        }
        if self.precision == Precision::I8 && dim > LARGEST {
            let found = format!("codes of 8 bits for {dim} coordinates");
            return Err(Error::out_of_range(found, format!("at most {LARGEST}")));
        }
        Ok(part(all, at, of))
    }

    fn write(&self, source: &dyn CandidateBlocks, part: Part) -> Result<(), Error> {
        let (rows, precision, (at, of)) = (self.rows(source)?, self.precision, self.place);
        let Part { numbers, ids, labels, classes } = part;
        let by_id = sorted(&ids)?;
        let named = Named { ids: &ids, labels: &labels, by_id: &by_id };
        let mut tensors = named.tensors();
        let groups = match classes {
            Classes::Single(_) => None,
            Classes::Shared(_) => Some((classes.offsets(), classes.members(0..rows.len()))),
        };
        if let Some((offsets, members)) = &groups {
            tensors.extend(grouped(offsets, members));
        }
        let (all, candidates) = (source.rows(), source.candidates());
        if candidates != all as u64 {
            tensors.push(Tensor::u32(NUMBERS, &[numbers.len()], &numbers));
        }
        let large = 4 * rows.len() * source.dim() >= self.coded_from && source.dim() <= LARGEST;
        let filled = FilledRows {
            source,
            rows,
            rounded: precision == Precision::F16,
            coded: large || precision == Precision::I8,
            weights: true,
        };
        tensors.extend(filled.tensors());
        let mut metadata = self.metadata.clone();
        let counts = [(SHARD, at), (SHARDS, of), (ROWS, all), (CANDIDATES, candidates as usize)];
        metadata.extend(counts.map(|(key, count)| (key.to_owned(), count.to_string())));
        metadata.insert(PRECISION.to_owned(), precision.to_string());
        let contents = Contents::new(KIND, VERSION, &metadata, &tensors);
        contents.write_filled(self.path, |filling| filled.fill(filling))
    }
}

impl Shard {
    /// Opens the shard `at` of `of`, which a file must be.
    pub fn open(path: &Path, (at, of): (usize, usize)) -> Result<Self, Error> {
        let stored = Arc::new(Stored::open(path, KIND, VERSION)?);
        let bad = |reason: String| Error::file(path, None, reason);
        let number = |key: &str| stored.parsed::<usize>(key, "a number");
        let found = (number(SHARD)?, number(SHARDS)?);
        if found != (at, of) {
            let (own, all) = found;
            return Err(bad(format!("shard {own} of {all}, expected shard {at} of {of}")));
        }
        let all = (number(ROWS)?, number(CANDIDATES)?);
        let precision = stored.parsed(PRECISION, "f32, f16 or i8")?;
        let candidates = Candidates::read(&stored)?;
        let single = all.0 == all.1 && !stored.names().any(|name| name == NUMBERS);
        let numbers = match single {
            true => None,
            false => Some(stored.array::<u32>(NUMBERS, 1)?.1),
        };
        let rows = part(all.0, at, of);
        if candidates.distinct() != rows.len() {
            let (found, expected) = (candidates.distinct(), rows.len());
            return Err(bad(format!("{found} distinct rows, expected {expected} of {}", all.0)));
        }
        let right = match &numbers {
            None => candidates.len() == rows.len(),
            Some(numbers) => {
                let ascending = numbers.windows(2).all(|pair| pair[0] < pair[1]);
                let last = numbers.last().is_some_and(|&last| (last as usize) < all.1);
                numbers.len() == candidates.len() && ascending && last
            }
        };
        if !right {
            return Err(bad(format!(
                "{NUMBERS} are not {} of the {} candidates, ascending",
                candidates.len(),
                all.1
            )));
        }
        Ok(Self { candidates, numbers, rows, all, precision, stored })
    }
    /// The number among all of a candidate of the shard.
    pub fn number(&self, candidate: usize) -> u32 {
        match &self.numbers {
            None => (self.rows.start + candidate) as u32,
            Some(numbers) => numbers[candidate],
        }
    }

    /// The candidate of the shard with a number among all.
    pub fn candidate(&self, number: usize) -> Option<usize> {
        match &self.numbers {
            None => self.rows.contains(&number).then(|| number - self.rows.start),
            Some(numbers) => numbers.binary_search(&(number as u32)).ok(),
        }
    }
}
