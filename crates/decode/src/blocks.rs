//! Sources of distinct candidate rows, which are scored a block at a time.

use std::borrow::Cow;
use std::ops::Range;

use dsokr_core::{Error, Processes};

use crate::codes::CodedBlock;
use crate::error::{check_least, ensure_allowed};

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
/// [`Candidates`](crate::Candidates) holds them in memory; other implementations may compute them on the fly.
pub trait CandidateBlocks: Sync {
    /// Returns the dimension p of a row.
    fn dim(&self) -> usize;

    /// Returns the number of distinct rows.
    fn rows(&self) -> usize;

    /// Returns the number of candidates: the sum of all multiplicities.
    fn candidates(&self) -> u64;

    /// Returns the rows of a range in 8 bits, where they are kept, with all but their coordinates.
    /// [`Candidates`](crate::Candidates) of a large file have them; there is no other way to make them.
    ///
    /// # Errors
    /// The errors of [`block`](Self::block).
    fn coded(&self, _rows: Range<usize>) -> Result<Option<CodedBlock<'_>>, Error> {
        Ok(None)
    }

    /// Returns the rows that this process scores: of several [`Processes`] its part, so that each row is scored by one
    /// of them.
    fn scored(&self, processes: &Processes) -> Vec<Range<usize>> {
        vec![processes.part(self.rows())]
    }

    /// Returns the rows of a range, always the same for the same range, from any thread.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for rows that do not exist; errors from reading or computing the rows.
    fn block(&self, rows: Range<usize>) -> Result<ScoreBlock<'_>, Error>;
}

/// Returns a block of candidates, of the size that it should have.
pub(crate) fn fetch(
    candidates: &dyn CandidateBlocks,
    range: Range<usize>,
) -> Result<ScoreBlock<'_>, Error> {
    let block = candidates.block(range.clone())?;
    let rows = range.len();
    Error::check_length("coordinates", block.coordinates.len(), rows * candidates.dim())
        .and_then(|()| Error::check_length("constants", block.constants.len(), rows))
        .and_then(|()| Error::check_length("multiplicities", block.multiplicities.len(), rows))
        .map_err(|error| {
            error.at(format!("block of candidate rows {}..{}", range.start, range.end))
        })?;
    Ok(block)
}

/// Refuses candidate sets that are empty or cannot be indexed.
pub(crate) fn check_count(candidates: u64) -> Result<(), Error> {
    check_least(candidates as usize, 1, "no candidates")?;
    let most = u32::MAX;
    let found = format_args!("{candidates} candidates");
    ensure_allowed(candidates <= most.into(), found, format_args!("1..={most}"))
}
