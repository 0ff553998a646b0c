//! The candidates: columns of texts, and a point and a constant for each distinct row. A file for each of their parts.

use std::borrow::Cow;
use std::fmt::Arguments;
use std::ops::Range;
use std::sync::Arc;

mod columns;
mod coordinates;
mod divided;
mod file;
mod filled;
mod more;
mod tensors;
mod texts;

use dsokr_basis::features::Distinct;
use dsokr_basis::kernel::candidate_constant;
use dsokr_basis::{Basis, RowSource};
use dsokr_core::processes::Held;
use dsokr_core::store::Array;
use dsokr_core::{Error, Processes};

use crate::blocks::{CandidateBlocks, ScoreBlock, check_count};
use crate::classes::Classes;
use crate::codes::{CodedBlock, StoredCodes};
use crate::error::{
    all_finite, check_consistent, check_least, check_whole_rows, ensure, ensure_allowed,
};
use crate::hubs::Hubs;
use crate::queries::Queries;

pub use columns::Columns;
pub(crate) use coordinates::PRECISION;
pub use coordinates::StorageType;
use coordinates::{Coordinates, check_finite};
pub use divided::CandidateWriter;
pub(crate) use file::{HUGE, check_counts, named};
pub(crate) use filled::FilledRows;
pub(crate) use texts::sorted;

/// Candidates: columns of texts, two of which are ids and labels, and coordinates `ψ̃(c) ∈ R^p` with constants `b(c)`,
/// in memory or in a file that is mapped.
///
/// Candidates with equal feature rows share one distinct row. There are k distinct rows. A row is scored once and counts
/// as often as it has members, so that duplicates tie bit for bit. Rows that differ are rows of their own, also where the
/// kernel does not tell them apart, as a normalised one does not tell y from 3 y: their scores may differ by rounding.
///
/// The dimension p of a row, `dim`, is a method of the trait [`CandidateBlocks`](crate::CandidateBlocks), which is to be imported.
#[derive(Clone, Debug)]
pub struct Candidates {
    columns: Columns,
    classes: Classes,
    dim: usize,
    coordinates: Coordinates,
    /// The codes of 8 bits, where the file has them.
    codes: Option<Arc<StoredCodes>>,
    constants: Vec<f32>,
    /// Hashes of the feature rows of the distinct rows; empty where they are not known.
    hashes: Array<u64>,
    /// The number of the last candidates that were added to those of a training.
    added: usize,
    /// Candidates in the order of their ids.
    by_id: Array<u32>,
    /// The correction subtracted from the constants, if there is one.
    correction: Option<Correction>,
}

/// A correction of the constants of candidates.
#[derive(Clone, Debug, PartialEq)]
struct Correction {
    hubs: Hubs,
    weight: f32,
    /// The constants before.
    before: Vec<f32>,
}

/// The argument of [`Candidates::new`]: candidates c = 0, 1, … over k distinct rows. An empty list stands
/// for its default.
#[derive(Clone, Debug, Default)]
pub struct CandidateParts {
    /// Unique ids.
    pub ids: Vec<String>,
    /// The text to show for each candidate; empty strings by default.
    pub labels: Vec<String>,
    /// Further columns: the name of each, and a cell for each candidate.
    pub columns: Vec<(String, Vec<String>)>,
    /// The distinct row of each candidate; by default each has its own. Rows are numbered in the order in which they
    /// first appear, so the first is 0.
    pub class: Vec<u32>,
    /// Dimension p.
    pub dim: usize,
    /// `ψ̃(c)` of the distinct rows, `[k × p]` row-major; of rows that are divided among processes those that this
    /// process holds.
    pub coordinates: Vec<f32>,
    /// The distinct rows whose coordinates this process holds, where they are divided among processes; by default it
    /// holds all.
    pub held: Option<Held>,
    /// `b(c)` of the distinct rows, 0 by default.
    pub constants: Vec<f32>,
    /// Hashes of the feature rows of the distinct rows ([`Distinct::hashes`]), by which candidates that are
    /// added find their equals; none by default.
    pub hashes: Vec<u64>,
}

impl CandidateParts {
    /// Creates the points of rows in a basis, without ids, labels and classes: coordinates `ψ̃(c)` and constants
    /// `b(c) = −½ k(c, c)`, shifted by ½ for normalised kernels, where they then vanish. Each of
    /// several processes computes a part of them, and holds the coordinates of this part.
    ///
    /// # Errors
    /// The errors of [`Basis::project_part`]; the errors of [`Processes::gather`].
    pub fn in_basis(
        basis: &Basis,
        rows: &dyn RowSource,
        processes: &Processes,
    ) -> Result<Self, Error> {
        let (held, projection) = basis.project_part(processes, rows)?;
        let is_normalised = basis.is_normalised();
        let constant = |&squared_norm: &f64| candidate_constant(squared_norm, is_normalised) as f32;
        let constants = projection.squared_norms().iter().map(constant).collect();
        let dim = projection.dimension();
        Self::of_part(held, dim, projection.into_coordinates(), constants, processes)
    }

    /// Creates points, without ids, labels and classes, from the coordinates and the constants of this process's part:
    /// the rows in `held`, which are consecutive and behind those of the ranks before it. Every process gets all
    /// constants.
    ///
    /// # Errors
    /// The errors of [`Processes::gather`].
    pub fn of_part(
        held: Held,
        dim: usize,
        coordinates: Vec<f32>,
        constants: Vec<f32>,
        processes: &Processes,
    ) -> Result<Self, Error> {
        let constants = processes.join(constants)?;
        let held = (processes.size() > 1).then_some(held);
        Ok(Self { dim, coordinates, held, constants, ..Self::default() })
    }
}

impl Candidates {
    /// Creates candidates with these columns at `groups` of equal rows: `place` gives the points of some rows, those
    /// that are first of their group.
    ///
    /// # Errors
    /// The errors of [`Candidates::new`]; errors of `place`.
    pub fn placed<E: From<Error>>(
        groups: Distinct,
        columns: Columns,
        place: impl FnOnce(&[usize]) -> Result<CandidateParts, E>,
    ) -> Result<Self, E> {
        let points = place(&groups.representative)?;
        let Distinct { class, hashes, .. } = groups;
        Ok(Self::with_columns(columns, CandidateParts { class, hashes, ..points })?)
    }

    /// Checks and indexes the parts of a candidate set.
    ///
    /// # Errors
    /// [`Error::TooFew`] for no candidates or dimension 0; [`Error::OutOfRange`] for more than `u32::MAX` candidates, a
    /// class that does not exist or one that skips the next number; [`Error::Shape`] for lists of different lengths;
    /// [`Error::Inconsistent`] for an incomplete row of coordinates, two candidates of one id, a row without candidates,
    /// or a column without a name or with that of another one; [`Error::NotFiniteAt`] for a coordinate or constant that is
    /// NaN or infinite.
    pub fn new(mut parts: CandidateParts) -> Result<Self, Error> {
        let ids = std::mem::take(&mut parts.ids);
        let labels = std::mem::take(&mut parts.labels);
        let mut columns = Columns::new(ids, labels)?;
        for (name, cells) in std::mem::take(&mut parts.columns) {
            columns = columns.with(&name, cells)?;
        }
        Self::with_columns(columns, parts)
    }

    /// Creates candidates with these columns; ids, labels and columns of `parts` are not read.
    pub(crate) fn with_columns(columns: Columns, parts: CandidateParts) -> Result<Self, Error> {
        let CandidateParts { mut class, dim, coordinates, held, mut constants, hashes, .. } = parts;
        let ids = columns.ids();
        check_least(dim, 1, "candidates of dimension 0")?;
        check_count(ids.len() as u64)?;
        check_whole_rows("candidates", coordinates.len(), dim)?;
        let held_rows = coordinates.len() / dim;
        let rows = held.as_ref().map_or(held_rows, Held::rows);
        if class.is_empty() {
            class = (0..ids.len() as u32).collect();
        }
        if constants.is_empty() {
            constants.resize(rows, 0.0);
        }
        Error::check_length("classes", class.len(), ids.len())?;
        Error::check_length("constants", constants.len(), rows)?;
        if !hashes.is_empty() {
            Error::check_length("hashes", hashes.len(), rows)?;
        }
        match &held {
            None => check_finite(0, &coordinates, dim)?,
            Some(held) => {
                Error::check_length("rows of coordinates", held_rows, held.len())?;
                let mut rest = &coordinates[..];
                for range in held.ranges() {
                    let (these, next) = rest.split_at(range.len() * dim);
                    check_finite(range.start * dim, these, dim)?;
                    rest = next;
                }
            }
        }
        check_constants(0, &constants)?;
        let by_id = sorted(ids)?.into();
        check_order(class.iter().copied(), |candidate| ids.get(candidate), rows)?;
        let coordinates = match held {
            None => coordinates.into(),
            Some(held) => Coordinates::divided(held, coordinates),
        };
        Ok(Self {
            columns,
            classes: Classes::new(class, rows),
            dim,
            coordinates,
            codes: None,
            constants,
            hashes: hashes.into(),
            added: 0,
            by_id,
            correction: None,
        })
    }

    /// Returns the number of candidates, duplicates counted.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Returns false: there is at least one candidate.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of distinct rows k.
    pub fn distinct(&self) -> usize {
        self.constants.len()
    }

    /// Returns the number of candidates that are not the first of their row: `len − distinct`.
    pub fn duplicates(&self) -> usize {
        self.len() - self.distinct()
    }

    /// Returns the index of the candidate with this id.
    pub fn find(&self, id: &str) -> Option<usize> {
        let key = |&candidate: &u32| self.id(candidate as usize).cmp(id);
        self.by_id.binary_search_by(key).ok().map(|at| self.by_id[at] as usize)
    }

    /// Returns all ids, in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = &str> {
        self.columns.ids().iter()
    }

    /// Returns the id of a candidate, an index below [`Candidates::len`].
    pub fn id(&self, candidate: usize) -> &str {
        self.columns.ids().get(candidate)
    }

    /// Returns the text to show for a candidate, an index below [`Candidates::len`].
    pub fn label(&self, candidate: usize) -> &str {
        self.columns.labels().get(candidate)
    }

    /// Returns the columns of all candidates: ids, labels and further ones.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Returns the distinct row of a candidate, an index below [`Candidates::distinct`].
    pub fn class_of(&self, candidate: usize) -> u32 {
        self.classes.row_of_candidate(candidate)
    }

    pub(crate) fn classes(&self) -> &Classes {
        &self.classes
    }

    /// Returns the hash of the features of a distinct row, by which candidates that are added find their equals; none
    /// where hashes are not known.
    pub fn hash(&self, row: usize) -> Option<u64> {
        self.hashes.get(row).copied()
    }

    /// Returns candidates of a distinct row below [`Candidates::distinct`], ascending.
    pub fn members(&self, class: u32) -> Cow<'_, [u32]> {
        self.classes.members(class as usize..class as usize + 1)
    }

    /// Returns coordinates `ψ̃(c)` of all distinct rows, `[k × p]` row-major.
    ///
    /// # Errors
    /// The errors of [`point`](Self::point).
    pub fn coordinates(&self) -> Result<Cow<'_, [f32]>, Error> {
        self.points(0..self.distinct())
    }

    /// Returns coordinates `ψ̃(c)` of some distinct rows, which there are, `[n × p]` row-major.
    ///
    /// # Errors
    /// The errors of [`point`](Self::point).
    pub(crate) fn points(&self, rows: Range<usize>) -> Result<Cow<'_, [f32]>, Error> {
        self.coordinates.get(rows.start * self.dim..rows.end * self.dim, self.dim)
    }

    /// Returns coordinates `ψ̃(c)` of a distinct row below [`Candidates::distinct`].
    ///
    /// # Errors
    /// [`Error::File`] and [`Error::NotFiniteAt`], for a mapped file that is damaged there; [`Error::Unsupported`] for a
    /// row that a different process [holds](Self::held).
    pub fn point(&self, row: usize) -> Result<Cow<'_, [f32]>, Error> {
        self.points(row..row + 1)
    }

    /// Returns constants `b(c)` of all distinct rows, corrected for [`hubs`](Self::hubs) if there is a
    /// correction.
    pub fn constants(&self) -> &[f32] {
        &self.constants
    }

    /// Sets the constants to `b(c) − w h(c)` with w = `weight`. An earlier correction is replaced.
    ///
    /// [`constants`](Self::constants) are then the corrected ones, which all decoding uses, and a file
    /// holds both these and what they are made of.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a weight that is negative or not finite; for hubs
    /// of a different number of rows; [`Error::NotFiniteAt`], in [`Error::At`] with the weight, for a corrected constant that
    /// overflows.
    pub fn with_hubs(self, hubs: Hubs, weight: f32) -> Result<Self, Error> {
        let found = format_args!("hub weight {weight}");
        ensure_allowed(weight >= 0.0 && weight.is_finite(), found, "finite numbers from 0")?;
        Error::check_length("hub means", hubs.means.len(), self.distinct())?;
        let mut candidates = self.without_hubs();
        let corrected =
            |(&b, &h): (&f32, &f32)| (f64::from(b) - f64::from(weight) * f64::from(h)) as f32;
        let constants = candidates.constants.iter().zip(&hubs.means).map(corrected).collect();
        let before = std::mem::replace(&mut candidates.constants, constants);
        check_constants(0, &candidates.constants)
            .map_err(|error| error.at(format!("hub weight {weight} is too large")))?;
        candidates.correction = Some(Correction { hubs, weight, before });
        Ok(candidates)
    }

    /// Returns the candidates corrected for hubs of answers of unit length `[n × p]` as `others` are: by as many
    /// neighbours, n at most, and by the same weight; unchanged where the others are not corrected.
    ///
    /// # Errors
    /// The errors of [`Hubs::fit`] and [`with_hubs`](Self::with_hubs).
    pub fn with_hubs_like(self, others: &Self, unit: &[f32]) -> Result<Self, Error> {
        let Some((hubs, weight)) = others.hubs() else { return Ok(self) };
        let queries = Queries::new(self.dim, unit)?;
        let fitted = Hubs::fit(&queries, &self, hubs.neighbours.min(queries.len()))?;
        self.with_hubs(fitted, weight)
    }

    /// Sets the constants b(c) to their values before any correction.
    pub fn without_hubs(mut self) -> Self {
        if let Some(correction) = self.correction.take() {
            self.constants = correction.before;
        }
        self
    }

    /// Returns the hubs that the constants are corrected for, and the weight w.
    pub fn hubs(&self) -> Option<(&Hubs, f32)> {
        self.correction.as_ref().map(|correction| (&correction.hubs, correction.weight))
    }

    fn check_rows(&self, rows: Range<usize>) -> Result<Range<usize>, Error> {
        let holds = rows.start <= rows.end && rows.end <= self.distinct();
        let found = format_args!("distinct candidate rows {}..{}", rows.start, rows.end);
        ensure_allowed(holds, found, format_args!("within 0..{}", self.distinct()))?;
        Ok(rows)
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

    fn coded(&self, rows: Range<usize>) -> Result<Option<CodedBlock<'_>>, Error> {
        let Range { start, end } = self.check_rows(rows)?;
        let Some(codes) = &self.codes else { return Ok(None) };
        codes.block(start..end, &self.constants[start..end], self.classes.counts(start..end))
    }

    fn block(&self, rows: Range<usize>) -> Result<ScoreBlock<'_>, Error> {
        let Range { start, end } = self.check_rows(rows)?;
        Ok(ScoreBlock {
            coordinates: self.points(start..end)?,
            constants: self.constants[start..end].into(),
            multiplicities: self.classes.counts(start..end).into(),
        })
    }
}

/// Equal where all values are the same; candidates of a damaged file equal none.
impl PartialEq for Candidates {
    fn eq(&self, other: &Self) -> bool {
        let coordinates = (self.coordinates(), other.coordinates());
        self.columns == other.columns
            && self.classes == other.classes
            && self.dim == other.dim
            && matches!(coordinates, (Ok(values), Ok(others)) if values == others)
            && self.constants == other.constants
            && self.hashes == other.hashes
            && self.added == other.added
            && self.correction == other.correction
    }
}

/// Refuses constants that are not finite, of rows from `first` on.
pub(super) fn check_constants(first: usize, constants: &[f32]) -> Result<(), Error> {
    all_finite(constants, |at| format!("candidate row {}, constant", first + at))
}

/// Refuses classes that are not numbered in the order in which they first appear, from 0 to
/// `rows` − 1.
pub(super) fn check_order<'a>(
    classes: impl Iterator<Item = u32>,
    id: impl Fn(usize) -> &'a str,
    rows: usize,
) -> Result<(), Error> {
    let mut next = 0;
    for (candidate, class) in classes.enumerate() {
        let check = |holds, allowed: Arguments| {
            let found = || format!("candidate {:?} is of class {class}", id(candidate));
            ensure(holds, || Error::out_of_range(found(), allowed.to_string()))
        };
        check((class as usize) < rows, format_args!("0..{rows}, the distinct rows"))?;
        let order = "since classes are numbered in the order in which they first appear";
        check(class <= next, format_args!("0..={next}, {order}"))?;
        next = next.max(class + 1);
    }
    let message = format_args!("distinct row {next} belongs to no candidate");
    check_consistent(next as usize >= rows, message)
}
