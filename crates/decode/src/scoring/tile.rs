//! A tile of queries, and its exact products with candidate rows.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use dsokr_core::Error;
use rayon::prelude::*;

use crate::blocks::CandidateBlocks;
use crate::codes::{self, LANES, TileCodes};
use crate::queries::Queries;

/// Sums are cut into pieces of this many coordinates.
const DEPTH: usize = 256;

/// Queries and coordinates from which on codes of candidates are worth their making.
const MANY: usize = 256;
const DEEP: usize = 24;
/// Queries up to which codes that are there are faster without instructions for them, since they are a quarter of
/// the bytes.
const FEW: usize = 4;

/// Queries in a tile: a multiple of [`LANES`].
pub(super) const QUERIES: usize = 192;

/// Sizes of the blocks in which scores are computed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocking {
    /// Candidate rows in a tile.
    pub rows: usize,
    /// Candidate rows that are fetched at once.
    pub span: usize,
}

impl Blocking {
    /// Creates tiles of 192 × 256 scores (192 KiB), candidates fetched by about half a MiB.
    pub(crate) fn for_dim(dim: usize) -> Self {
        let span = ((512 << 10) / (4 * dim)).clamp(64, 4096);
        Self { rows: span.min(256), span }
    }
}

/// The transposed coordinates of up to a tile of queries, padded with zeros: `[p × lanes]`.
pub(crate) struct QueryTile {
    /// The queries, without the padding.
    pub queries: Range<usize>,
    /// The number of queries rounded up to a multiple of [`LANES`].
    pub lanes: usize,
    transposed: Vec<f32>,
    /// The codes of 8 bits, where many candidates are compared.
    codes: Option<TileCodes>,
    /// Whether codes left so many scores in doubt that exact ones are faster.
    doubtful: AtomicBool,
}

impl QueryTile {
    /// Transposes rows of `dim` coordinates; `queries` says which ones they are.
    pub(crate) fn new(queries: Range<usize>, dim: usize, rows: &[f32]) -> Self {
        let lanes = queries.len().next_multiple_of(LANES);
        let mut transposed = vec![0.0; dim * lanes];
        for (lane, row) in rows.chunks_exact(dim).enumerate() {
            for (column, &value) in transposed.chunks_exact_mut(lanes).zip(row) {
                column[lane] = value;
            }
        }
        Self { queries, lanes, transposed, codes: None, doubtful: AtomicBool::new(false) }
    }

    /// Returns all queries in tiles, with codes or without.
    pub(crate) fn all(queries: &Queries, coded: bool) -> Vec<Self> {
        let dim = queries.dim();
        let rows = queries.rows().par_chunks(QUERIES * dim).enumerate();
        rows.map(|(at, rows)| {
            let range = at * QUERIES..at * QUERIES + rows.len() / dim;
            let codes = coded.then(|| TileCodes::new(dim, rows));
            Self { codes, ..Self::new(range, dim, rows) }
        })
        .collect()
    }

    /// Returns all queries in tiles, with [codes](crate::codes) where these make comparisons with bars faster: where
    /// candidates have codes too, or codes of candidates are worth their making.
    pub(crate) fn all_to_compare(
        queries: &Queries,
        candidates: &dyn CandidateBlocks,
    ) -> Result<Vec<Self>, Error> {
        let is_worth_coding = queries.len() >= MANY && queries.dim() >= DEEP && codes::supported();
        let few = queries.len() <= FEW || codes::supported();
        let coded = is_worth_coding || few && candidates.coded(0..0)?.is_some();
        Ok(Self::all(queries, coded))
    }

    /// Returns the queries in 8 bits, where these are of use.
    pub(super) fn codes(&self) -> Option<&TileCodes> {
        self.codes.as_ref().filter(|_| !self.doubtful.load(Relaxed))
    }

    /// Gives up codes: from now on exact scores are faster.
    pub(crate) fn leave_codes(&self) {
        self.doubtful.store(true, Relaxed);
    }
}

/// Computes `⟨z_q, ψ̃(c)⟩` for the queries of a tile and candidate rows `[n × p]`, into `out[c · lanes + q]`.
///
/// The bits of an element depend only on the two rows (see the module).
pub(crate) fn product(tile: &QueryTile, dim: usize, rows: &[f32], out: &mut Vec<f32>) {
    product_of(tile, 0..tile.lanes, dim, rows, out);
}

/// Computes the [`product`] for whole groups of [`LANES`] queries only.
pub(super) fn product_of(
    tile: &QueryTile,
    rows_of_tile: Range<usize>,
    dim: usize,
    rows: &[f32],
    out: &mut Vec<f32>,
) {
    out.clear();
    // gemm is given pointers into the matrices
    if rows.is_empty() {
        return;
    }
    let lanes = rows_of_tile.len();
    let (count, rows) = match rows.len() / dim {
        1 => (2, Cow::Owned(rows.repeat(2))),
        count => (count, Cow::Borrowed(rows)),
    };
    assert!(tile.transposed.len() == tile.lanes * dim && rows.len() == count * dim);
    assert!(rows_of_tile.end <= tile.lanes);
    out.resize(lanes * count, 0.0);
    for start in (0..dim).step_by(DEPTH) {
        let depth = DEPTH.min(dim - start);
        // SAFETY: the three matrices lie within their slices: lanes × depth at row `start` and column `own.start`
        // of `transposed` [dim × tile.lanes], depth × count at column `start` of `rows` [count × dim],
        // lanes × count in `out` (all checked above); `out` is borrowed mutably.
        unsafe {
            gemm::gemm(
                lanes,
                count,
                depth,
                out.as_mut_ptr(),
                lanes as isize,
                1,
                start > 0,
                tile.transposed.as_ptr().add(start * tile.lanes + rows_of_tile.start),
                tile.lanes as isize,
                1,
                rows.as_ptr().add(start),
                dim as isize,
                1,
                1.0f32,
                1.0f32,
                false,
                false,
                false,
                gemm::Parallelism::None,
            );
        }
    }
}
