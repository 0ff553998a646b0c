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

mod gold;
mod pass;
mod reduce;
mod shortlist;
mod source;
mod tile;

use dsokr_core::Error;

use crate::blocks::{CandidateBlocks, check_count};
use crate::error::check_consistent;
use crate::queries::Queries;

pub(crate) use crate::codes::LANES;
pub(crate) use gold::{Gold, check_gold};
pub(crate) use pass::{Buffers, Listed, Pass, Scores, Span, gather, place, refuse_infinite};
pub(crate) use reduce::{Reduce, Score, each_span, finite};
pub(crate) use shortlist::{TopK, WantedRows, descending, first_by, leading};
pub(crate) use source::{ModelScores, ScoreSource};
pub(crate) use tile::{Blocking, QueryTile, product};

/// Refuses queries and candidates of different dimensions, and sets that cannot be counted.
pub(crate) fn check(queries: &Queries, candidates: &dyn CandidateBlocks) -> Result<(), Error> {
    let query_dim = queries.dim();
    let others = candidates.dim();
    let message =
        format_args!("queries of dimension {query_dim}, candidates of dimension {others}");
    check_consistent(query_dim == others, message)?;
    check_count(if candidates.rows() == 0 { 0 } else { candidates.candidates() })
}
