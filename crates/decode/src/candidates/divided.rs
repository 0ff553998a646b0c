//! Candidates whose coordinates are divided among processes, until they are in a file.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use dsokr_core::processes::{AllRows, Held};
use dsokr_core::store::{ByteSum, Stored};
use dsokr_core::{Error, Processes};

use super::Candidates;
use super::coordinates::Coordinates;
use crate::blocks::{CandidateBlocks, ScoreBlock};
use crate::codes::StoredCodes;
use crate::error::ensure;

impl Candidates {
    /// Returns the distinct rows whose coordinates this process holds, where they are divided among processes
    /// ([`CandidateParts::held`](crate::CandidateParts)); none where it holds all. Columns, classes and constants are
    /// those of all candidates.
    pub fn held(&self) -> Option<&Held> {
        self.coordinates.held()
    }

    /// Returns these candidates with the coordinates of all rows on each of the processes that they are divided among.
    ///
    /// # Errors
    /// The errors of [`Processes::gather`].
    pub fn joined(self, processes: &Processes) -> Result<Self, Error> {
        Ok(Self { coordinates: self.coordinates.joined(processes)?, ..self })
    }

    /// Returns the checksum of the coordinates of all distinct rows, row-major, which each of the processes that they are
    /// divided among gets.
    ///
    /// # Errors
    /// The errors of [`point`](Self::point); the errors of [`Processes::gather`].
    pub fn coordinates_sum(&self, processes: &Processes) -> Result<ByteSum, Error> {
        self.coordinates.sum(self.distinct(), self.dim, processes)
    }

    /// Does `work` on rank 0 of the processes that the coordinates are divided among, which writes the candidates with
    /// the coordinates of all rows. The others give theirs until the work is done, and get `None`. An error of rank 0 is
    /// an error of all.
    ///
    /// # Errors
    /// The errors of `work`; the errors of [`Processes::gather`].
    pub fn written<R, E: From<Error> + std::fmt::Display>(
        &self,
        processes: &Processes,
        work: impl FnOnce(CandidateWriter) -> Result<R, E>,
    ) -> Result<Option<R>, E> {
        let held = |rows: Range<usize>| self.coordinates.part(rows, self.dim);
        processes.with_rows(held, |all| {
            let all = self.held().is_some().then_some(all);
            work(CandidateWriter { candidates: self, all })
        })
    }

    /// Returns these candidates with the coordinates of a file, which is theirs or has candidates that were added behind
    /// them, and with its codes. Coordinates in memory are given back; those [in blocks](Self::save) stay in the file,
    /// as [`read`](Self::read) leaves them there.
    ///
    /// # Errors
    /// [`Error::File`] for a file of fewer rows, or of rows of a different dimension.
    pub fn stored_in(self, stored: &Arc<Stored>) -> Result<Self, Error> {
        let (shape, coordinates) = Coordinates::read(stored)?;
        let found_rows = shape[0];
        let found_dim = shape[1];
        let rows = self.distinct();
        let dim = self.dim;
        ensure(found_rows >= rows && found_dim == dim, || {
            let found = format_args!("{found_rows} rows of {found_dim} coordinates");
            Error::file(stored.path(), format!("{found}, expected {rows} of {dim}"))
        })?;
        let codes = StoredCodes::read(stored, found_rows, dim)?.map(Arc::new);
        let coordinates = coordinates.first(rows * dim);
        Ok(Self { coordinates, codes, ..self })
    }
}

/// The layout of a file of candidates.
#[derive(Clone, Copy, Debug)]
pub(super) enum Layout {
    /// Coordinates in blocks, and codes, where there are so many candidates that they are worth it.
    BySize,
    /// Coordinates in blocks, and codes.
    Mapped,
}

/// Writes candidates whose coordinates may be divided among processes.
#[derive(derive_more::Debug)]
#[debug("CandidateWriter({} candidates)", candidates.len())]
pub struct CandidateWriter<'a> {
    pub(super) candidates: &'a Candidates,
    /// The coordinates of all rows; none where this process holds them.
    pub(super) all: Option<AllRows<'a, f32>>,
}

impl CandidateWriter<'_> {
    /// Writes the file that [`Candidates::save`] writes of all coordinates, of which a few MiB are in memory at once.
    ///
    /// # Errors
    /// The errors of [`Candidates::save`]; the errors of [`Processes::gather`].
    pub fn save(&self, path: &Path, metadata: &BTreeMap<String, String>) -> Result<(), Error> {
        self.save_in(Layout::BySize, path, metadata)
    }

    /// Writes the file that [`Candidates::save_mapped`] writes, in the same way.
    ///
    /// # Errors
    /// The errors of [`save`](Self::save).
    pub fn save_mapped(
        &self,
        path: &Path,
        metadata: &BTreeMap<String, String>,
    ) -> Result<(), Error> {
        self.save_in(Layout::Mapped, path, metadata)
    }
}

/// Consecutive rows of candidates that have been read from other processes.
pub(super) struct ReadRows<'a> {
    pub candidates: &'a Candidates,
    /// The number of the first row.
    pub first: usize,
    /// The coordinates of the rows, row-major.
    pub coordinates: Vec<f32>,
}

impl CandidateBlocks for ReadRows<'_> {
    fn dim(&self) -> usize {
        self.candidates.dim
    }

    fn rows(&self) -> usize {
        self.candidates.distinct()
    }

    fn candidates(&self) -> u64 {
        self.candidates.len() as u64
    }

    fn block(&self, rows: Range<usize>) -> Result<ScoreBlock<'_>, Error> {
        let all = self.candidates;
        let place = |row: usize| (row - self.first) * all.dim;
        // fewer rows than were asked for are an error of the caller
        let coordinates = self.coordinates.get(place(rows.start)..place(rows.end));
        Ok(ScoreBlock {
            coordinates: coordinates.unwrap_or_default().into(),
            constants: all.constants[rows.clone()].into(),
            multiplicities: all.classes.counts(rows).into(),
        })
    }
}
