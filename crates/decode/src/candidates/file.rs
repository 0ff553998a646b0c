//! Files of candidates: written whole or by parts, read into memory or mapped.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Arguments;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use dsokr_core::Error;
use dsokr_core::processes::AllRows;
use dsokr_core::store::{Array, Contents, Filling, Stored, Tensor};

use super::columns::Columns;
use super::coordinates::{Coordinates, check_finite};
use super::divided::{CandidateWriter, Layout, ReadRows};
use super::filled::{FilledRows, interleaved};
use super::tensors::{array, optional, pairs};
use super::texts::Texts;
use super::{Candidates, Correction, check_constants, check_order};
use crate::blocks::check_count;
use crate::classes::Classes;
use crate::codes::{LARGEST, StoredCodes};
use crate::error::{check_least, ensure, ensure_allowed};
use crate::hubs::Hubs;

/// The kind of candidate files.
const KIND: &str = "candidates";
/// The version of the layout.
const VERSION: u32 = 2;
/// Bytes of coordinates from which on they are mapped.
const LARGE: usize = 64 << 20;
/// Bytes of coordinates from which on codes are worth a quarter more: reading them takes longer than all else.
pub(crate) const HUGE: usize = 256 << 20;
/// Metadata keys of a correction for hubs.
const HUB_WEIGHT: &str = "hub_weight";
const HUB_NEIGHBOURS: &str = "hub_neighbours";
/// Metadata key of the number of candidates that were added.
const ADDED: &str = "added";
/// Integers up to here are exact in f32.
const EXACT: u32 = 1 << 24;

/// The position at which the candidates of each row start, and the candidates.
type Groups<'g> = (Cow<'g, [u64]>, Cow<'g, [u32]>);

/// Returns the columns, the order of candidates by ids, and the candidates of each row, as files hold them.
pub(crate) fn named<'a>(
    columns: &'a Columns,
    by_id: &'a [u32],
    groups: Option<&'a Groups>,
) -> Vec<Tensor<'a>> {
    let mut tensors = vec![Tensor::u32("by_id", &[by_id.len()], by_id)];
    tensors.extend(columns.tensors());
    if let Some((offsets, members)) = groups {
        tensors.push(Tensor::u64("row_offsets", &[offsets.len()], offsets));
        tensors.push(Tensor::u32("members", &[members.len()], members));
    }
    tensors
}

impl Candidates {
    /// Writes a `candidates` file: versioned, checksummed, replaced atomically.
    ///
    /// Besides `metadata` it holds the tensors `coordinates` F32 `[k, p]`, `weights` F32 `[k, 2]`
    /// (constant, multiplicity), `row_offsets` U64 `[k + 1]` and `members` U32 `[c]` (the
    /// candidates of each row), `ids` and `labels` U8 (all texts joined), `id_offsets` and
    /// `label_offsets` U64 `[c + 1]`; for each further column `column_N` and `column_offsets_N`, N = 0, 1, …, likewise,
    /// whose names are the metadata `columns`, a list as JSON; `by_id` U32 `[c]`, the candidates in the order of their
    /// ids; `hashes` U64 `[k]` of the feature rows where they are known, and the metadata `added` where some were
    /// added. Candidates that are corrected for [`hubs`](Self::hubs) also have `hubs` F32 `[k, 2]` (constant before
    /// the correction, mean similarity), and the metadata `hub_weight` and `hub_neighbours`; `weights` holds
    /// the corrected constants, so that decoding from the file needs none of these.
    ///
    /// From 64 MiB of coordinates on, `coordinates` are written [in blocks](Tensor::to_fill): reading the file maps it, and
    /// verifies each MiB of them (64 KiB where there are codes) when it is first used. From 256 MiB on, they are followed by
    /// `codes` U8 `[k, p rounded up to a multiple of 4]` and `code_numbers` F32 `[k, 4]`, a quarter of their size, which
    /// search and ranks read in their place: rotated rows x' rounded to `σk` with whole numbers k from −127 to 127 (as bytes
    /// in two's complement), and σ, Σk, ‖x' − σk‖ and ‖x‖.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be written; [`Error::OutOfRange`] when more than 2²⁴
    /// candidates share a row, because the file holds multiplicities as `f32`.
    pub fn save(&self, path: &Path, metadata: &BTreeMap<String, String>) -> Result<(), Error> {
        CandidateWriter { candidates: self, all: None }.save(path, metadata)
    }

    /// Saves candidates like [`save`](Self::save), with coordinates in blocks and codes, whatever their size: for a program
    /// whose files several processes map, or that wants to see with few candidates what large files do.
    ///
    /// # Errors
    /// The errors of [`save`](Self::save).
    pub fn save_mapped(
        &self,
        path: &Path,
        metadata: &BTreeMap<String, String>,
    ) -> Result<(), Error> {
        CandidateWriter { candidates: self, all: None }.save_mapped(path, metadata)
    }

    /// Appends the numbers of rows that are divided among processes, some rows after others.
    fn fill_read(
        &self,
        all: AllRows<f32>,
        filled: &FilledRows,
        filling: &mut Filling,
    ) -> Result<(), Error> {
        let rows = self.distinct();
        let at_once = filled.rows_at_once();
        for first in (0..rows).step_by(at_once) {
            let range = first..rows.min(first + at_once);
            let coordinates = all(range.clone())?;
            let source = ReadRows { candidates: self, first, coordinates };
            let read = FilledRows {
                source: &source,
                rows: range,
                rounded: filled.rounded,
                coded: filled.coded,
                weights: filled.weights,
            };
            read.fill(filling)?;
        }
        Ok(())
    }

    /// Reads a file that [`Candidates::save`] wrote.
    ///
    /// # Errors
    /// The errors of [`Candidates::open`]; [`Error::File`] when its tensors contradict one another; else as
    /// [`Candidates::new`].
    pub fn load(path: &Path) -> Result<Self, Error> {
        Self::read(&Arc::new(Self::open(path)?))
    }

    /// Opens a candidate file without reading it, for callers that need its metadata too.
    ///
    /// # Errors
    /// [`Error::File`] for a file that is missing, truncated, damaged (but for coordinates in blocks), or of
    /// a different kind or version.
    pub fn open(path: &Path) -> Result<Stored, Error> {
        Stored::open(path, KIND, VERSION)
    }

    /// Reads an open candidate file; see [`Candidates::open`]. If its coordinates are in blocks, everything stays in
    /// the file, which must not be truncated or written in place. Coordinates are then verified when they are first
    /// used, everything else when the file is opened.
    ///
    /// # Errors
    /// The errors of [`Candidates::load`].
    pub fn read(stored: &Arc<Stored>) -> Result<Self, Error> {
        let (rows, dim, coordinates) = read_points(stored)?;
        let mapped = coordinates.mapped();
        let codes = StoredCodes::read(stored, rows, dim)?.map(Arc::new);
        let [constants, multiplicities] = pairs(stored, "weights", rows)?;
        let columns = Columns::read(stored, mapped)?;
        let count = columns.ids().len();
        check_count(count as u64)?;
        let classes = read_classes(stored, columns.ids(), rows, mapped)?;
        let correction = read_correction(stored, rows)?;
        let before =
            correction.as_ref().map_or(&constants, |correction| &correction.before).clone();
        check_constants(0, &before)?;
        let hashes = optional::<u64>(stored, "hashes", mapped)?;
        let hashes = hashes.unwrap_or_else(|| Vec::new().into());
        if !hashes.is_empty() {
            Error::check_length("hashes", hashes.len(), rows)?;
        }
        let by_id = read_by_id(stored, columns.ids(), mapped)?;
        let added = if stored.all_metadata().contains_key(ADDED) {
            stored.parsed(ADDED, "a number of candidates")?
        } else {
            0
        };
        let message = format_args!("{added} candidates were added, {count} are there");
        check(stored, added <= count, message)?;
        let counts = (0..rows).map(|row| classes.count(row) as f32);
        let message = "multiplicities are not the numbers of members";
        check(stored, counts.eq(multiplicities), format_args!("{message}"))?;
        let mut read = Self {
            columns,
            classes,
            dim,
            coordinates,
            codes,
            constants: before,
            hashes,
            added,
            by_id,
            correction: None,
        };
        if let Some(Correction { hubs, weight, .. }) = correction {
            let bad = |error: Error| Error::file(stored.path(), error);
            read = read.with_hubs(hubs, weight).map_err(bad)?;
        }
        let message = "constants are not those that the hubs and their weight give";
        check(stored, read.constants == constants, format_args!("{message}"))?;
        Ok(read)
    }
}

impl CandidateWriter<'_> {
    /// Writes a file of candidates in a layout.
    pub(super) fn save_in(
        &self,
        layout: Layout,
        path: &Path,
        metadata: &BTreeMap<String, String>,
    ) -> Result<(), Error> {
        let Self { candidates, all } = *self;
        let bytes = 4 * candidates.distinct() * candidates.dim;
        let (mapped, coded) = match layout {
            Layout::BySize => (bytes >= LARGE, bytes >= HUGE),
            Layout::Mapped => (true, true),
        };
        let rows = candidates.distinct();
        let counts = candidates.classes.counts(0..rows);
        check_counts(&counts, 0)?;
        let weights = interleaved(&candidates.constants, counts.iter().map(|&count| count as f32));
        let groups = (candidates.classes.offsets(), candidates.classes.members(0..rows));
        let mut tensors = named(&candidates.columns, &candidates.by_id, Some(&groups));
        tensors.push(Tensor::f32("weights", &[rows, 2], &weights));
        let filled = FilledRows {
            source: candidates,
            rows: 0..rows,
            rounded: false,
            coded: coded && candidates.dim <= LARGEST,
            weights: false,
        };
        let points = match (mapped, all) {
            (true, _) => None,
            (false, None) => Some(candidates.coordinates()?),
            (false, Some(all)) => Some(Cow::Owned(all(0..rows)?)),
        };
        match &points {
            Some(points) => {
                tensors.push(Tensor::f32("coordinates", &[rows, candidates.dim], points))
            }
            None => tensors.extend(filled.tensors()),
        }
        let mut metadata = metadata.clone();
        candidates.columns.describe(&mut metadata);
        if !candidates.hashes.is_empty() {
            tensors.push(Tensor::u64("hashes", &[rows], &candidates.hashes));
        }
        if candidates.added > 0 {
            metadata.insert(ADDED.to_owned(), candidates.added.to_string());
        }
        let hubs = candidates.correction.as_ref().map(|correction| {
            let means = correction.hubs.means.iter().copied();
            metadata.insert(HUB_WEIGHT.to_owned(), correction.weight.to_string());
            metadata.insert(HUB_NEIGHBOURS.to_owned(), correction.hubs.neighbours.to_string());
            interleaved(&correction.before, means)
        });
        if let Some(hubs) = &hubs {
            tensors.push(Tensor::f32("hubs", &[rows, 2], hubs));
        }
        let contents = Contents::new(KIND, VERSION, &metadata, &tensors);
        contents.write_filled(path, |filling| match (mapped, all) {
            (false, _) => Ok(()),
            (true, None) => filled.fill(filling),
            (true, Some(all)) => candidates.fill_read(all, &filled, filling),
        })
    }
}

/// Refuses a file whose tensors contradict one another.
fn check(stored: &Stored, holds: bool, reason: Arguments) -> Result<(), Error> {
    ensure(holds, || Error::file(stored.path(), reason))
}

/// Reads the number of distinct rows, the dimension and the coordinates, which are finite unless they stay in the file.
fn read_points(stored: &Arc<Stored>) -> Result<(usize, usize, Coordinates), Error> {
    let (shape, coordinates) = Coordinates::read(stored)?;
    let rows = shape[0];
    let dim = shape[1];
    check_least(dim, 1, "candidates of dimension 0")?;
    if !coordinates.mapped() {
        check_finite(0, &coordinates.get(0..rows * dim, dim)?, dim)?;
    }
    Ok((rows, dim, coordinates))
}

/// Reads which candidates share a distinct row.
fn read_classes(stored: &Stored, ids: &Texts, rows: usize, mapped: bool) -> Result<Classes, Error> {
    let count = ids.len();
    let Some(offsets) = optional(stored, "row_offsets", mapped)? else {
        let message = format_args!("{rows} rows of {count} candidates without row_offsets");
        check(stored, rows == count, message)?;
        return Ok(Classes::single(rows));
    };
    let members = array(stored, "members", mapped)?;
    let check = |holds, reason: Arguments| check(stored, holds, reason);
    let classes = Classes::stored(offsets, members, rows, count, check)?;
    let class = (0..count).map(|candidate| classes.row_of_candidate(candidate));
    check_order(class, |candidate| ids.get(candidate), rows)?;
    Ok(classes)
}

/// Reads the order of the candidates by their ids.
fn read_by_id(stored: &Stored, ids: &Texts, mapped: bool) -> Result<Array<u32>, Error> {
    let count = ids.len();
    let by_id: Array<u32> = array(stored, "by_id", mapped)?;
    Error::check_length("candidates by id", by_id.len(), count)?;
    for &candidate in &by_id[..] {
        let message = format_args!("by_id names the candidate {candidate} of {count}");
        check(stored, (candidate as usize) < count, message)?;
    }
    // a mapped file keeps its ids on the disk, where a wrong order only leaves ids unfound
    for pair in by_id.windows(2).filter(|_| !mapped) {
        let before = ids.get(pair[0] as usize);
        let after = ids.get(pair[1] as usize);
        let message =
            format_args!("by_id has {before:?} before {after:?}, expected the order of ids");
        check(stored, before < after, message)?;
    }
    Ok(by_id)
}

/// Reads the correction for hubs, if there is one.
fn read_correction(stored: &Stored, rows: usize) -> Result<Option<Correction>, Error> {
    if !stored.has("hubs") {
        return Ok(None);
    }
    let [before, means] = pairs(stored, "hubs", rows)?;
    let neighbours = stored.parsed(HUB_NEIGHBOURS, "a number of neighbours")?;
    let hubs = Hubs { neighbours: NonZeroUsize::get(neighbours), means };
    let weight = stored.parsed(HUB_WEIGHT, "a number from 0")?;
    Ok(Some(Correction { hubs, weight, before }))
}

/// Refuses multiplicities that f32 does not hold, of rows from `first` on.
pub(crate) fn check_counts(counts: &[u32], first: usize) -> Result<(), Error> {
    counts.iter().zip(first..).try_for_each(|(&count, row)| {
        let found = format_args!("{count} candidates share the distinct row {row}");
        ensure_allowed(count <= EXACT, found, format_args!("at most {EXACT} in a file"))
    })
}
