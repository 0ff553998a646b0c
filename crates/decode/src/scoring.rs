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

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use dsokr_basis::Cancellation;
use rayon::prelude::*;

use crate::candidates::check_count;
use crate::codes::{self, Comparison, Doubt, RowCodes, TileCodes};
use crate::error::check_len;
use crate::{CandidateBlocks, Error, Queries, ScoreBlock};

/// Queries are padded to a multiple of this, and looked at that many at a time.
pub(crate) const LANES: usize = 16;

/// Sums are cut into pieces of this many coordinates.
const DEPTH: usize = 256;

/// Queries and coordinates from which on codes of candidates are worth their making.
pub(crate) const MANY: usize = 256;
const DEEP: usize = 24;
/// Codes are left when more than one in so many groups of scores is in doubt.
const DOUBTS: usize = 4;

/// Sizes of the blocks in which scores are computed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocking {
    /// Queries in a tile: a multiple of [`LANES`].
    pub queries: usize,
    /// Candidate rows in a tile.
    pub rows: usize,
    /// Candidate rows that are fetched at once.
    pub span: usize,
}

impl Blocking {
    /// Tiles of 192 × 256 scores (192 KiB), candidates fetched by about half a MiB.
    pub(crate) fn of(dim: usize) -> Self {
        let span = ((512 << 10) / (4 * dim)).clamp(64, 4096);
        Self { queries: 192, rows: span.min(256), span }
    }
}

/// The transposed coordinates of up to a tile of queries, padded with zeros: `[p × lanes]`.
pub(crate) struct QueryTile {
    /// The queries, without the padding.
    pub queries: Range<usize>,
    /// Their number rounded up to a multiple of [`LANES`].
    pub lanes: usize,
    transposed: Vec<f32>,
    /// The same in 8 bits, where many candidates are compared.
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

    /// All queries in tiles.
    pub(crate) fn all(queries: &Queries, blocking: Blocking) -> Vec<Self> {
        Self::each(queries, blocking, Self::new)
    }

    /// All queries in tiles, with [codes](crate::codes) where these make comparisons with bars faster.
    pub(crate) fn all_to_compare(queries: &Queries, blocking: Blocking) -> Vec<Self> {
        if queries.len() < MANY || queries.dim() < DEEP || !codes::supported() {
            return Self::all(queries, blocking);
        }
        Self::each(queries, blocking, |range, dim, rows| {
            let codes = Some(TileCodes::new(dim, rows));
            Self { codes, ..Self::new(range, dim, rows) }
        })
    }

    /// Whether codes of candidates are of use.
    fn is_coded(&self) -> bool {
        self.codes.is_some() && !self.doubtful.load(Relaxed)
    }

    fn each(
        queries: &Queries,
        blocking: Blocking,
        tile: impl Fn(Range<usize>, usize, &[f32]) -> Self + Sync,
    ) -> Vec<Self> {
        let (dim, per_tile) = (queries.dim(), blocking.queries);
        let rows = queries.rows().par_chunks(per_tile * dim).enumerate();
        rows.map(|(at, rows)| {
            let start = at * per_tile;
            tile(start..start + rows.len() / dim, dim, rows)
        })
        .collect()
    }
}

/// `⟨z_q, ψ̃(c)⟩` for the queries of a tile and candidate rows `[n × p]`, into `out[c · lanes + q]`.
///
/// The bits of an element depend on the two rows alone (see the module).
pub(crate) fn product(tile: &QueryTile, dim: usize, rows: &[f32], out: &mut Vec<f32>) {
    product_of(tile, 0..tile.lanes, dim, rows, out);
}

/// As [`product`], for whole groups of [`LANES`] queries alone.
fn product_of(tile: &QueryTile, own: Range<usize>, dim: usize, rows: &[f32], out: &mut Vec<f32>) {
    let lanes = own.len();
    let (count, rows) = match rows.len() / dim {
        1 => (2, Cow::Owned(rows.repeat(2))),
        count => (count, Cow::Borrowed(rows)),
    };
    assert!(tile.transposed.len() == tile.lanes * dim && rows.len() == count * dim);
    assert!(own.end <= tile.lanes);
    out.clear();
    out.resize(lanes * count, 0.0);
    for start in (0..dim).step_by(DEPTH) {
        let depth = DEPTH.min(dim - start);
        // SAFETY: the three matrices lie within their slices: lanes × depth at row `start` and column `own.start` of
        // `transposed` [dim × tile.lanes], depth × count at column `start` of `rows` [count × dim],
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
                tile.transposed.as_ptr().add(start * tile.lanes + own.start),
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

/// Scores without their constants, of a tile of queries and consecutive candidate rows.
pub(crate) struct Scores<'s> {
    /// `⟨z_q, ψ̃(c)⟩` at `[c · lanes + q]`.
    pub products: &'s mut [f32],
    /// Distance between candidates in `products`.
    pub lanes: usize,
    /// First candidate row.
    pub first_row: usize,
    /// `b(c)`.
    pub constants: &'s [f32],
    /// Candidates that share row c.
    pub multiplicities: &'s [u32],
}

impl Scores<'_> {
    /// The error for a score that is not finite, if there is one among the queries of the tile.
    ///
    /// Called when a pass over the scores met one.
    #[cold]
    pub(crate) fn not_finite(&self, queries: &Queries, tile: &QueryTile) -> Result<(), Error> {
        for (row, (products, constant)) in
            self.products.chunks_exact(self.lanes).zip(self.constants).enumerate()
        {
            let scores = products[..tile.queries.len()].iter().map(|product| product + constant);
            if let Some((lane, score)) = scores.enumerate().find(|(_, score)| !score.is_finite()) {
                let (query, row) = (tile.queries.start + lane, self.first_row + row);
                return Err(not_finite(queries, query, row, score));
            }
        }
        Ok(())
    }
}

/// All scores of one tile of queries with one span of candidates.
pub(crate) struct Pass<'p> {
    /// The queries.
    pub tile: &'p QueryTile,
    dim: usize,
    rows: usize,
    span: Range<usize>,
    block: &'p ScoreBlock<'p>,
    codes: Option<&'p RowCodes>,
    buffers: &'p mut Buffers,
}

/// Memory of a thread.
#[derive(Default)]
struct Buffers {
    products: Vec<f32>,
    rows: Vec<f32>,
    /// A list for each group of lanes.
    doubts: Vec<Vec<Doubt>>,
}

impl Pass<'_> {
    /// Finds out by codes which scores are greater than the bar of their query: adds the multiplicities of those
    /// rows to `above`, one a lane, and calls `look` with row, lane, exact score and multiplicity of each pair that is in doubt.
    /// False, and nothing done, without codes.
    pub(crate) fn decide(
        &mut self,
        bars: &[f32],
        above: &mut [u32],
        look: impl FnMut(usize, usize, f32, u32),
    ) -> bool {
        self.compare(bars, |comparison, doubts| comparison.decide(above, doubts), look)
    }

    /// Calls `look` with row, lane, exact score and multiplicity of each pair whose score may reach the bar of the query, by codes.
    /// False, and nothing done, without codes.
    pub(crate) fn reach(&mut self, bars: &[f32], look: impl FnMut(usize, usize, f32, u32)) -> bool {
        self.compare(bars, |comparison, reached| comparison.reach(reached), look)
    }

    fn compare(
        &mut self,
        bars: &[f32],
        compare: impl FnOnce(&Comparison, &mut [Vec<Doubt>]),
        mut look: impl FnMut(usize, usize, f32, u32),
    ) -> bool {
        let (Some(tile), Some(rows)) = (&self.tile.codes, self.codes) else {
            return false;
        };
        if self.tile.doubtful.load(Relaxed) || !rows.finite_with(tile) {
            return false;
        }
        let ScoreBlock { coordinates, constants, multiplicities: weights } = self.block;
        let Buffers { products, rows: doubtful, doubts } = &mut *self.buffers;
        doubts.iter_mut().for_each(Vec::clear);
        doubts.resize_with(self.tile.lanes / LANES, Vec::new);
        compare(&Comparison { tile, rows, constants, weights, bars }, doubts);
        for (group, doubts) in doubts.iter().enumerate().filter(|(_, doubts)| !doubts.is_empty()) {
            doubtful.clear();
            for row in doubts.iter().map(|doubt| doubt.row as usize) {
                doubtful.extend_from_slice(&coordinates[row * self.dim..(row + 1) * self.dim]);
            }
            let first = group * LANES;
            product_of(self.tile, first..first + LANES, self.dim, doubtful, products);
            for (doubt, products) in doubts.iter().zip(products.chunks_exact(LANES)) {
                let row = doubt.row as usize;
                for lane in (0..LANES).filter(|lane| doubt.lanes >> lane & 1 == 1) {
                    let score = products[lane] + constants[row];
                    look(self.span.start + row, first + lane, score, weights[row]);
                }
            }
        }
        // those of the next rows will be as many
        let doubts: usize = doubts.iter().map(Vec::len).sum();
        if doubts * LANES * DOUBTS > self.tile.lanes * self.span.len() {
            self.tile.doubtful.store(true, Relaxed);
        }
        true
    }

    /// Calls `look` for one tile of scores after another, in the order of the candidates.
    pub(crate) fn each(
        &mut self,
        mut look: impl FnMut(Scores) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for start in (0..self.span.len()).step_by(self.rows) {
            let rows = start..(start + self.rows).min(self.span.len());
            let coordinates = &self.block.coordinates[rows.start * self.dim..rows.end * self.dim];
            product(self.tile, self.dim, coordinates, &mut self.buffers.products);
            look(Scores {
                products: &mut self.buffers.products[..rows.len() * self.tile.lanes],
                lanes: self.tile.lanes,
                first_row: self.span.start + start,
                constants: &self.block.constants[rows.clone()],
                multiplicities: &self.block.multiplicities[rows],
            })?;
        }
        Ok(())
    }
}

/// Visits all scores: every candidate is fetched by spans, every span meets every tile of queries.
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
    tasks(candidates.rows(), tiles.len(), blocking).into_par_iter().try_for_each_init(
        Buffers::default,
        |buffers, (span, strip)| {
            let (dim, block) = (candidates.dim(), fetch(candidates, span.clone())?);
            let coded = tiles[strip.clone()].iter().any(QueryTile::is_coded);
            let codes = coded.then(|| RowCodes::new(dim, &block.coordinates, &block.constants));
            let codes = codes.flatten();
            tiles[strip].iter().try_for_each(|tile| {
                cancellation.check()?;
                let (block, codes, span) = (&block, codes.as_ref(), span.clone());
                visit(&mut Pass { tile, dim, rows: blocking.rows, span, block, codes, buffers })
            })
        },
    )
}

/// Spans of candidate rows, each with the tiles of queries that it meets at once.
///
/// A span meets all tiles, unless there are so few spans that the tiles have to be split for all
/// threads of the current rayon pool to have work.
pub(crate) fn tasks(
    rows: usize,
    tiles: usize,
    blocking: Blocking,
) -> Vec<(Range<usize>, Range<usize>)> {
    let spans = rows.div_ceil(blocking.span);
    let strips = (8 * rayon::current_num_threads()).div_ceil(spans.max(1)).min(tiles);
    let per_strip = tiles.div_ceil(strips.max(1)).max(1);
    let span = |start: usize| start..(start + blocking.span).min(rows);
    let strip = |start: usize| start..(start + per_strip).min(tiles);
    (0..rows)
        .step_by(blocking.span)
        .flat_map(|first| (0..tiles).step_by(per_strip).map(move |tile| (span(first), strip(tile))))
        .collect()
}

/// A block of candidates, of the size that it should have.
pub(crate) fn fetch(
    candidates: &dyn CandidateBlocks,
    range: Range<usize>,
) -> Result<ScoreBlock<'_>, Error> {
    let block = candidates.block(range.clone())?;
    let rows = range.len();
    check_len("coordinates", block.coordinates.len(), rows * candidates.dim())
        .and_then(|()| check_len("constants", block.constants.len(), rows))
        .and_then(|()| check_len("multiplicities", block.multiplicities.len(), rows))
        .map_err(|error| {
            error.at(format!("block of candidate rows {}..{}", range.start, range.end))
        })?;
    Ok(block)
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

/// The error for a score that is not finite.
#[cold]
pub(crate) fn not_finite(queries: &Queries, query: usize, row: usize, score: f32) -> Error {
    let place = format!("query {}, candidate row {row}, score", queries.name(query));
    Error::NotFinite { place, value: score }
}

#[cfg(test)]
mod tests;
