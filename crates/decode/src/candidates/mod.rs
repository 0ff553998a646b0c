use std::borrow::Cow;
use std::ops::Range;

mod file;

pub(crate) use file::text;

use crate::Error;
use crate::hubs::Correction;

/// Consecutive distinct rows of a candidate set.
#[derive(Clone, Debug)]
pub struct ScoreBlock<'a> {
    /// `ψ̃(c)`, `[n × p]` row-major.
    pub coordinates: Cow<'a, [f32]>,
    /// `b(c)`, one a row.
    pub constants: Cow<'a, [f32]>,
    /// How many candidates share the row, at least 1.
    pub multiplicities: Cow<'a, [u32]>,
}

/// A source of distinct candidate rows that are scored block by block.
///
/// [`Candidates`] holds them in memory and [`MappedCandidates`](crate::MappedCandidates) reads them
/// from a file; other implementations may compute them on the fly.
pub trait CandidateBlocks: Sync {
    /// Dimension p of a row.
    fn dim(&self) -> usize;

    /// Number of distinct rows.
    fn rows(&self) -> usize;

    /// Number of candidates: the sum of all multiplicities.
    fn candidates(&self) -> u64;

    /// The rows of a range, always the same for the same range, from any thread.
    ///
    /// # Errors
    /// [`Error::RowRange`], and what reading or computing the rows fails with.
    fn block(&self, rows: Range<usize>) -> Result<ScoreBlock<'_>, Error>;
}

/// Candidates in memory: ids, labels and coordinates `ψ̃(c) ∈ R^p` with constants `b(c)`.
///
/// Candidates that are the same point in feature space share one distinct row, of which there are
/// k. A row is scored once and counts as often as it has members, so that duplicates tie bit for
/// bit.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidates {
    ids: Vec<String>,
    labels: Vec<String>,
    class: Vec<u32>,
    dim: usize,
    coordinates: Vec<f32>,
    pub(crate) constants: Vec<f32>,
    multiplicities: Vec<u32>,
    /// The candidates of row r: `members[offsets[r]..offsets[r + 1]]`, ascending.
    offsets: Vec<usize>,
    members: Vec<u32>,
    /// Candidates by id.
    by_id: Vec<u32>,
    /// What was subtracted from the constants, if anything was.
    pub(crate) correction: Option<Correction>,
}

impl Candidates {
    /// Candidates c = 0, 1, … with unique `ids` and `labels` to show (which may be empty strings).
    ///
    /// `class[c]` is the distinct row of candidate c; rows are numbered in the order in which they
    /// first appear, so `class` starts with 0. `coordinates` is `[k × dim]` row-major, `constants`
    /// has k entries.
    ///
    /// # Errors
    /// [`Error::NoCandidates`], [`Error::TooManyCandidates`], [`Error::Length`],
    /// [`Error::ZeroDimension`], [`Error::Ragged`], [`Error::DuplicateCandidate`],
    /// [`Error::ClassOutOfRange`], [`Error::ClassOrder`], [`Error::UnusedRow`],
    /// [`Error::CandidateNotFinite`], [`Error::ConstantNotFinite`].
    pub fn new(
        ids: Vec<String>,
        labels: Vec<String>,
        class: Vec<u32>,
        dim: usize,
        coordinates: Vec<f32>,
        constants: Vec<f32>,
    ) -> Result<Self, Error> {
        if dim == 0 {
            return Err(Error::ZeroDimension { what: "candidates" });
        }
        if ids.is_empty() {
            return Err(Error::NoCandidates);
        }
        if ids.len() > u32::MAX as usize {
            return Err(Error::TooManyCandidates { found: ids.len() as u64 });
        }
        if !coordinates.len().is_multiple_of(dim) {
            let values = coordinates.len();
            return Err(Error::Ragged { what: "candidates", values, dim });
        }
        let rows = coordinates.len() / dim;
        for (what, found, expected) in [
            ("labels", labels.len(), ids.len()),
            ("classes", class.len(), ids.len()),
            ("constants", constants.len(), rows),
        ] {
            if found != expected {
                return Err(Error::Length { what, found, expected });
            }
        }
        if let Some(at) = coordinates.iter().position(|value| !value.is_finite()) {
            let (row, column, value) = (at / dim, at % dim, coordinates[at]);
            return Err(Error::CandidateNotFinite { row, column, value });
        }
        if let Some(row) = constants.iter().position(|value| !value.is_finite()) {
            return Err(Error::ConstantNotFinite { row, value: constants[row] });
        }
        let by_id = sorted(&ids)?;
        let (offsets, members) = group(&ids, &class, rows)?;
        let multiplicities = offsets.windows(2).map(|ends| (ends[1] - ends[0]) as u32).collect();
        Ok(Self {
            ids,
            labels,
            class,
            dim,
            coordinates,
            constants,
            multiplicities,
            offsets,
            members,
            by_id,
            correction: None,
        })
    }

    /// Number of candidates, duplicates counted.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Always false: there is at least one candidate.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Number of distinct rows k.
    pub fn distinct(&self) -> usize {
        self.constants.len()
    }

    /// Candidates that are not the first of their row: `len − distinct`.
    pub fn duplicates(&self) -> usize {
        self.len() - self.distinct()
    }

    /// Index of the candidate with this id.
    pub fn find(&self, id: &str) -> Option<usize> {
        let key = |&candidate: &u32| self.ids[candidate as usize].as_str().cmp(id);
        self.by_id.binary_search_by(key).ok().map(|at| self.by_id[at] as usize)
    }

    /// All ids, in order.
    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    /// Id of a candidate, an index below [`Candidates::len`].
    pub fn id(&self, candidate: usize) -> &str {
        &self.ids[candidate]
    }

    /// What to show for a candidate, an index below [`Candidates::len`].
    pub fn label(&self, candidate: usize) -> &str {
        &self.labels[candidate]
    }

    /// Distinct row of a candidate, an index below [`Candidates::len`].
    pub fn class_of(&self, candidate: usize) -> u32 {
        self.class[candidate]
    }

    /// Candidates of a distinct row below [`Candidates::distinct`], ascending.
    pub fn members(&self, class: u32) -> &[u32] {
        let row = class as usize;
        &self.members[self.offsets[row]..self.offsets[row + 1]]
    }

    /// Coordinates `ψ̃(c)` of all distinct rows, `[k × p]` row-major.
    pub fn coordinates(&self) -> &[f32] {
        &self.coordinates
    }

    /// Constants `b(c)` of all distinct rows, corrected for [`hubs`](Self::hubs) where that was asked
    /// for.
    pub fn constants(&self) -> &[f32] {
        &self.constants
    }
}

impl CandidateBlocks for Candidates {
    fn dim(&self) -> usize {
        self.dim
    }

    fn rows(&self) -> usize {
        self.distinct()
    }

    fn candidates(&self) -> u64 {
        self.len() as u64
    }

    fn block(&self, rows: Range<usize>) -> Result<ScoreBlock<'_>, Error> {
        check_rows(&rows, self.distinct())?;
        Ok(ScoreBlock {
            coordinates: self.coordinates[rows.start * self.dim..rows.end * self.dim].into(),
            constants: self.constants[rows.clone()].into(),
            multiplicities: self.multiplicities[rows].into(),
        })
    }
}

/// Refuses a range that does not lie within `0..rows`.
pub(crate) fn check_rows(range: &Range<usize>, rows: usize) -> Result<(), Error> {
    let &Range { start, end } = range;
    match start <= end && end <= rows {
        true => Ok(()),
        false => Err(Error::RowRange { start, end, rows }),
    }
}

/// Candidates by id; an id that occurs twice is an error.
fn sorted(ids: &[String]) -> Result<Vec<u32>, Error> {
    let mut order: Vec<u32> = (0..ids.len() as u32).collect();
    let key = |candidate: u32| (ids[candidate as usize].as_str(), candidate);
    order.sort_unstable_by(|&a, &b| key(a).cmp(&key(b)));
    let same = |pair: &&[u32]| ids[pair[0] as usize] == ids[pair[1] as usize];
    match order.windows(2).filter(same).min_by_key(|pair| pair[1]) {
        Some(pair) => Err(Error::DuplicateCandidate {
            id: ids[pair[0] as usize].clone(),
            first: pair[0] as usize,
            second: pair[1] as usize,
        }),
        None => Ok(order),
    }
}

/// Offsets and members of each distinct row.
fn group(ids: &[String], class: &[u32], rows: usize) -> Result<(Vec<usize>, Vec<u32>), Error> {
    let mut expected = 0;
    let mut offsets = vec![0; rows + 1];
    for (id, &class) in ids.iter().zip(class) {
        let candidate = || id.clone();
        if class as usize >= rows {
            return Err(Error::ClassOutOfRange { candidate: candidate(), class, rows });
        }
        if class > expected {
            return Err(Error::ClassOrder { candidate: candidate(), class, expected });
        }
        expected = expected.max(class + 1);
        offsets[class as usize + 1] += 1;
    }
    if (expected as usize) < rows {
        return Err(Error::UnusedRow { row: expected as usize });
    }
    let mut total = 0;
    for offset in &mut offsets {
        total += *offset;
        *offset = total;
    }
    let mut next = offsets.clone();
    let mut members = vec![0; class.len()];
    for (candidate, &class) in class.iter().enumerate() {
        let next = &mut next[class as usize];
        members[*next] = candidate as u32;
        *next += 1;
    }
    Ok((offsets, members))
}
