//! The one place where scores are computed: `s(q, c) = ⟨z_q, ψ̃(c)⟩ + b(c)`, in tiles.
//!
//! A tile is a few hundred queries by a few hundred candidate rows, small enough to stay in the
//! second-level cache until it has been looked at, so the queries × candidates matrix never
//! exists.
//!
//! A score must not depend on where in a tile it is computed: the score of a gold candidate is
//! computed apart and then compared with the others. `gemm` accumulates every element in one
//! register by fused multiply-adds in the order of the coordinates, except where one side has a
//! single row (a dot product with several accumulators), where a product is very small and both
//! operands are contiguous along the sum, or where the sum is cut at a depth that it chooses (more
//! than 512). [`product`] stays clear of the three: queries are stored transposed and padded to
//! whole vectors, a single candidate row is doubled, and sums are cut at [`DEPTH`].

mod listed;
mod pass;
mod tile;

use std::ops::Range;

use dsokr_basis::{Cancellation, Ranks};
use rayon::prelude::*;

use crate::blocks::check_count;
use crate::{CandidateBlocks, Error, Queries};

pub(crate) use crate::blocks::fetch;
pub(crate) use crate::codes::LANES;
pub(crate) use listed::{Buffers, gold_scores};
use pass::Span;
pub(crate) use pass::{Pass, Scores, not_finite};
#[cfg(test)]
pub(crate) use tile::MANY;
pub(crate) use tile::{Blocking, QueryTile, product};

/// Visits all scores: every candidate is fetched by spans, every span meets every tile of queries. Of several
/// [`Ranks`] each visits the scores of its part of the candidates, and an error of one is that of all.
///
/// `visit` is called from the threads of the current rayon pool, in no particular order. A span is
/// fetched once for each of its [`tasks`].
pub(crate) fn scan(
    tiles: &[QueryTile],
    candidates: &dyn CandidateBlocks,
    blocking: Blocking,
    visit: impl Fn(&mut Pass) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let cancellation = Cancellation::current();
    let parts = candidates.scored().into_iter();
    let all: Vec<_> = parts.flat_map(|part| tasks(part, tiles.len(), blocking)).collect();
    let scanned =
        all.into_par_iter().try_for_each_init(pass::Buffers::default, |buffers, (span, strip)| {
            let coded = tiles[strip.clone()].iter().any(|tile| tile.codes().is_some());
            let span = &Span::new(candidates, span, coded)?;
            tiles[strip].iter().try_for_each(|tile| {
                cancellation.check()?;
                visit(&mut Pass { tile, rows: blocking.rows, span, buffers })
            })
        });
    Ranks::current().agree(scanned)
}

/// Spans of candidate rows, each with the tiles of queries that it meets at once.
///
/// A span meets all tiles, unless there are so few spans that the tiles have to be split for all
/// threads of the current rayon pool to have work.
pub(crate) fn tasks(
    rows: Range<usize>,
    tiles: usize,
    blocking: Blocking,
) -> Vec<(Range<usize>, Range<usize>)> {
    let spans = rows.len().div_ceil(blocking.span);
    let strips = (8 * rayon::current_num_threads()).div_ceil(spans.max(1)).min(tiles);
    let per_strip = tiles.div_ceil(strips.max(1)).max(1);
    let span = |start: usize| start..(start + blocking.span).min(rows.end);
    let strip = |start: usize| start..(start + per_strip).min(tiles);
    rows.clone()
        .step_by(blocking.span)
        .flat_map(|first| (0..tiles).step_by(per_strip).map(move |tile| (span(first), strip(tile))))
        .collect()
}

/// Refuses queries and candidates of different dimensions, and sets that cannot be counted.
pub(crate) fn check(queries: &Queries, candidates: &dyn CandidateBlocks) -> Result<(), Error> {
    if queries.dim() != candidates.dim() {
        let (queries, candidates) = (queries.dim(), candidates.dim());
        return Err(Error::Inconsistent(format!(
            "queries of dimension {queries}, candidates of dimension {candidates}"
        )));
    }
    check_count(if candidates.rows() == 0 { 0 } else { candidates.candidates() })
}

#[cfg(test)]
mod tests;
