use std::ops::Range;
use std::path::Path;

use dsokr_basis::features::MappedRows;
use dsokr_basis::store::Stored;
use dsokr_basis::{Block, RowSource};

use crate::candidates::{check_rows, text};
use crate::{CandidateBlocks, Candidates, Error, ScoreBlock};

/// Candidates in a memory-mapped file that [`Candidates::save`] wrote, which may be larger than
/// memory.
///
/// A block is copied out of the file and its pages are given back, so that resident memory holds
/// the blocks in use and does not grow with the number of candidates.
///
/// [`Candidates::save`]: crate::Candidates::save
#[derive(Debug)]
pub struct MappedCandidates {
    stored: Stored,
    coordinates: MappedRows,
    weights: MappedRows,
    candidates: usize,
}

impl MappedCandidates {
    /// Maps a candidate file and verifies its checksum, reading it once.
    ///
    /// # Errors
    /// As [`Candidates::open`]; [`Error::File`] when the shapes of its tensors contradict one
    /// another, or a multiplicity is not the number of members of its row (at least 1).
    pub fn open(path: &Path) -> Result<Self, Error> {
        let stored = Candidates::open(path)?;
        let coordinates = MappedRows::from_stored(&stored, "coordinates")?;
        let weights = MappedRows::from_stored(&stored, "weights")?;
        let length = |name| Ok::<_, Error>(stored.describe(name)?.1.iter().product::<usize>());
        let (rows, candidates) = (coordinates.len(), length("members")?);
        let shapes = (weights.len(), weights.width(), length("row_offsets")?);
        let texts = (length("id_offsets")?, length("label_offsets")?);
        if rows == 0 || shapes != (rows, 2, rows + 1) || texts != (candidates + 1, candidates + 1) {
            let reason = format!(
                "{rows} rows of coordinates, weights of shape [{}, {}], {} row offsets, \
                 {candidates} members, {} id offsets and {} label offsets contradict one another",
                shapes.0, shapes.1, shapes.2, texts.0, texts.1
            );
            return Err(Error::file(path, None, reason));
        }
        let mapped = Self { stored, coordinates, weights, candidates };
        mapped.check_multiplicities()?;
        Ok(mapped)
    }

    /// Checks that row offsets divide all members, and that multiplicities agree with them.
    fn check_multiplicities(&self) -> Result<(), Error> {
        const ROWS: usize = 1 << 16;
        let mut end = 0;
        for start in (0..self.rows()).step_by(ROWS) {
            let rows = start..self.rows().min(start + ROWS);
            let weights = self.dense(&self.weights, rows.clone())?;
            let (_, offsets) = self.stored.u64("row_offsets", 1)?;
            for (row, weights) in rows.zip(weights.chunks_exact(2)) {
                let (first, next) = (offsets[row], offsets[row + 1]);
                if first != end || next <= first {
                    let reason = format!("row offsets {row} and {} are out of order", row + 1);
                    return Err(self.bad(reason));
                }
                if f64::from(weights[1]) != (next - first) as f64 {
                    let (members, count) = (next - first, weights[1]);
                    let reason =
                        format!("row {row} has {members} members and multiplicity {count}");
                    return Err(self.bad(reason));
                }
                end = next;
            }
            self.stored.release("row_offsets")?;
        }
        if end == self.candidates as u64 {
            return Ok(());
        }
        Err(self.bad(format!("rows of {end} members, but {} candidates", self.candidates)))
    }

    fn bad(&self, reason: String) -> Error {
        Error::file(self.stored.path(), None, reason)
    }

    /// The open file, for its metadata.
    pub fn stored(&self) -> &Stored {
        &self.stored
    }

    /// Number of candidates, duplicates counted.
    pub fn len(&self) -> usize {
        self.candidates
    }

    /// Always false: there is at least one candidate.
    pub fn is_empty(&self) -> bool {
        self.candidates == 0
    }

    /// Id of a candidate.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for an index that is too large, [`Error::File`].
    pub fn id(&self, candidate: usize) -> Result<String, Error> {
        self.text("ids", "id_offsets", candidate)
    }

    /// What to show for a candidate.
    ///
    /// # Errors
    /// As [`MappedCandidates::id`].
    pub fn label(&self, candidate: usize) -> Result<String, Error> {
        self.text("labels", "label_offsets", candidate)
    }

    /// Candidates of a distinct row, ascending.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a row that does not exist; [`Error::File`] for members that are not
    /// ascending indices of candidates.
    pub fn members(&self, row: usize) -> Result<Vec<u32>, Error> {
        check_rows(&(row..row.saturating_add(1)), self.rows())?;
        let (_, offsets) = self.stored.u64("row_offsets", 1)?;
        let (_, members) = self.stored.u32("members", 1)?;
        let range = offsets[row] as usize..offsets[row + 1] as usize;
        let ascending = |listed: &&[u32]| {
            listed.is_sorted_by(|a, b| a < b)
                && listed.last().is_none_or(|&last| (last as usize) < self.candidates)
        };
        match members.get(range).filter(ascending) {
            Some(listed) => Ok(listed.to_vec()),
            None => Err(self.bad(format!(
                "the members of row {row} are not ascending indices of {} candidates",
                self.candidates
            ))),
        }
    }

    fn text(&self, name: &str, offsets: &str, at: usize) -> Result<String, Error> {
        check_rows(&(at..at.saturating_add(1)), self.candidates)?;
        let (_, bytes) = self.stored.u8(name, 1)?;
        let (_, offsets) = self.stored.u64(offsets, 1)?;
        text(&self.stored, name, &bytes, &offsets, at)
    }

    /// Rows of a mapped tensor, copied.
    fn dense(&self, rows: &MappedRows, range: Range<usize>) -> Result<Vec<f32>, Error> {
        match rows.block(range)? {
            Block::Dense(block) => Ok(block.into_values().into_owned()),
            _ => Err(self.bad("coordinates or weights are not numbers".to_owned())),
        }
    }
}

impl CandidateBlocks for MappedCandidates {
    fn dim(&self) -> usize {
        self.coordinates.width()
    }

    fn rows(&self) -> usize {
        self.coordinates.len()
    }

    fn candidates(&self) -> u64 {
        self.candidates as u64
    }

    fn block(&self, rows: Range<usize>) -> Result<ScoreBlock<'_>, Error> {
        check_rows(&rows, self.rows())?;
        let weights = self.dense(&self.weights, rows.clone())?;
        Ok(ScoreBlock {
            coordinates: self.dense(&self.coordinates, rows)?.into(),
            constants: weights.iter().step_by(2).copied().collect(),
            // integers from 1 to the number of candidates: `open` has checked them
            multiplicities: weights.iter().skip(1).step_by(2).map(|&count| count as u32).collect(),
        })
    }
}
