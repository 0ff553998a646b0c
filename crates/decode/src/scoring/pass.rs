//! A pass over candidate rows with a tile of queries: by codes where these decide, else by exact scores.

use std::cell::OnceCell;
use std::ops::Range;

use dsokr_core::Error;

use super::tile::{QueryTile, product, product_of};
use crate::blocks::{CandidateBlocks, ScoreBlock, fetch};
use crate::codes::{Bars, CodedBlock, Doubt, LANES, TileCodes, compare};
use crate::error::{all_finite, ensure};
use crate::queries::Queries;

/// Codes are left when more than one in so many groups of scores is in doubt.
const DOUBTS: usize = 4;

/// Scores without their constants, of a tile of queries and consecutive candidate rows.
pub(crate) struct Scores<'s, S = f32> {
    /// `⟨z_q, ψ̃(c)⟩`, or what stands in their place, at `[c · lanes + q]`.
    pub table: &'s mut [S],
    /// Distance between candidates in the table.
    pub lanes: usize,
    /// First candidate row.
    pub first_row: usize,
    /// `b(c)`.
    pub constants: &'s [f32],
    /// Candidates that share row c.
    pub multiplicities: &'s [u32],
}

/// Returns the error for a score that is not finite, if there is one: of the queries of a tile with `rows`, which come with
/// their constants, and whose products are `[row · lanes + lane]`.
///
/// Called when a pass over the scores met one.
#[cold]
pub(crate) fn refuse_infinite(
    queries: &Queries,
    tile: &QueryTile,
    rows: impl Iterator<Item = (usize, f32)>,
    products: &[f32],
) -> Result<(), Error> {
    for ((row, constant), products) in rows.zip(products.chunks_exact(tile.lanes)) {
        for (query, product) in tile.queries.clone().zip(products) {
            let score = product + constant;
            ensure(score.is_finite(), || not_finite(queries, query, row, score))?;
        }
    }
    Ok(())
}

/// Consecutive rows of candidates, which are fetched when they are first needed.
pub(crate) struct Span<'c> {
    candidates: &'c dyn CandidateBlocks,
    range: Range<usize>,
    block: OnceCell<ScoreBlock<'c>>,
    /// The codes of the rows, from the file or made here.
    coded: Option<CodedBlock<'c>>,
}

impl<'c> Span<'c> {
    /// Creates rows with codes if they are of use: from the file, or else new ones.
    pub(crate) fn new(
        candidates: &'c dyn CandidateBlocks,
        range: Range<usize>,
        coded: bool,
    ) -> Result<Self, Error> {
        let stored = if coded { candidates.coded(range.clone())? } else { None };
        let mut span = Self { candidates, range, block: OnceCell::new(), coded: stored };
        if coded && span.coded.is_none() {
            let ScoreBlock { coordinates, constants, multiplicities } = span.block()?;
            let constants = constants.clone();
            let weights = multiplicities.clone();
            span.coded = CodedBlock::new(candidates.dim(), coordinates, constants, weights);
        }
        Ok(span)
    }

    fn block(&self) -> Result<&ScoreBlock<'c>, Error> {
        if let Some(block) = self.block.get() {
            return Ok(block);
        }
        let block = fetch(self.candidates, self.range.clone())?;
        Ok(self.block.get_or_init(|| block))
    }

    /// Appends the coordinates of some rows, counted from the first of the span.
    fn read(&self, rows: &[Doubt], out: &mut Vec<f32>) -> Result<(), Error> {
        let dim = self.candidates.dim();
        for row in rows.iter().map(|doubt| doubt.row as usize) {
            match self.block.get() {
                Some(block) => out.extend_from_slice(&block.coordinates[row * dim..][..dim]),
                None => {
                    let row = self.range.start + row;
                    out.extend_from_slice(&fetch(self.candidates, row..row + 1)?.coordinates);
                }
            }
        }
        Ok(())
    }
}

/// All scores of one tile of queries with one span of candidates.
pub(crate) struct Pass<'p, 'c> {
    tile: &'p QueryTile,
    span: &'p Span<'c>,
    /// The codes of the tile and of the rows, where these are of use and every score is finite.
    codes: Option<(&'p TileCodes, &'p CodedBlock<'c>)>,
    /// Rows that are scored exactly at once.
    rows: usize,
    buffers: &'p mut Buffers,
}

/// The exact score of a pair that [`Pass::compare`] does not decide by codes.
pub(crate) struct ExactScore {
    /// The candidate row.
    pub row: usize,
    /// The query, counted from the first of the tile.
    pub lane: usize,
    pub score: f32,
    /// Candidates that share the row.
    pub weight: u32,
    /// Whether they are counted as above the bar already.
    pub is_counted: bool,
}

/// Memory of a thread.
#[derive(Default)]
pub(crate) struct Buffers {
    products: Vec<f32>,
    rows: Vec<f32>,
    /// A list for each group of lanes.
    doubts: Vec<Vec<Doubt>>,
}

impl<'p, 'c> Pass<'p, 'c> {
    pub(crate) fn new(
        tile: &'p QueryTile,
        span: &'p Span<'c>,
        rows: usize,
        buffers: &'p mut Buffers,
    ) -> Self {
        let codes = tile.codes().zip(span.coded.as_ref());
        let codes = codes.filter(|(queries, rows)| rows.finite_with(queries));
        Self { tile, span, codes, rows, buffers }
    }

    /// Returns whether there are codes that [`compare`](Self::compare) goes by.
    pub(super) fn coded(&self) -> bool {
        self.codes.is_some()
    }

    /// Compares scores with the bars of their queries by codes, in one pass over them.
    ///
    /// It adds the multiplicities of rows whose score is greater than the bar of those that are counted to `above`, one a lane,
    /// and calls `visit` for each pair for which that is in doubt, or whose score may reach the other bar.
    pub(crate) fn compare(
        &mut self,
        bars: &Bars,
        above: &mut [u32],
        mut visit: impl FnMut(ExactScore),
    ) -> Result<(), Error> {
        let Self { tile, span, codes, .. } = *self;
        let Some((queries, coded)) = codes else { return Ok(()) };
        let Buffers { products, rows: doubtful, doubts } = &mut *self.buffers;
        doubts.iter_mut().for_each(Vec::clear);
        doubts.resize_with(tile.lanes / LANES, Vec::new);
        compare(queries, coded, bars, above, doubts);
        for (group, doubts) in doubts.iter().enumerate().filter(|(_, doubts)| !doubts.is_empty()) {
            doubtful.clear();
            span.read(doubts, doubtful)?;
            let first = group * LANES;
            product_of(tile, first..first + LANES, span.candidates.dim(), doubtful, products);
            for (doubt, products) in doubts.iter().zip(products.chunks_exact(LANES)) {
                let row = doubt.row as usize;
                for lane in (0..LANES).filter(|lane| doubt.lanes >> lane & 1 == 1) {
                    visit(ExactScore {
                        row: span.range.start + row,
                        lane: first + lane,
                        score: products[lane] + coded.constants[row],
                        weight: coded.multiplicities[row],
                        is_counted: doubt.counted >> lane & 1 == 1,
                    });
                }
            }
        }
        // the doubts of the next rows will be as many
        let doubts: usize = doubts.iter().map(Vec::len).sum();
        if doubts * LANES * DOUBTS > tile.lanes * span.range.len() {
            tile.leave_codes();
        }
        Ok(())
    }

    /// Calls `visit` for each tile of scores, in the order of the candidates.
    pub(crate) fn each(
        &mut self,
        mut visit: impl FnMut(Scores) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let block = self.span.block()?;
        let dim = self.span.candidates.dim();
        let Range { start: first_row, end } = self.span.range;
        let products = &mut self.buffers.products;
        for start in (0..end - first_row).step_by(self.rows) {
            let rows = start..(start + self.rows).min(end - first_row);
            product(self.tile, dim, &block.coordinates[rows.start * dim..rows.end * dim], products);
            visit(Scores {
                table: &mut products[..rows.len() * self.tile.lanes],
                lanes: self.tile.lanes,
                first_row: first_row + start,
                constants: &block.constants[rows.clone()],
                multiplicities: &block.multiplicities[rows],
            })?;
        }
        Ok(())
    }
}

/// Returns the error for a score that is not finite.
#[cold]
pub(crate) fn not_finite(queries: &Queries, query: usize, row: usize, score: f32) -> Error {
    Error::NotFiniteAt { place: place(queries, query, row), value: score }
}

/// Returns how errors call the score of a candidate row.
pub(crate) fn place(queries: &Queries, query: usize, row: usize) -> String {
    format!("query {}, candidate row {row}, score", queries.name(query))
}

/// Appends the coordinates and the constants of some rows.
pub(crate) fn gather(
    candidates: &dyn CandidateBlocks,
    rows: &[u32],
    coordinates: &mut Vec<f32>,
    constants: &mut Vec<f32>,
) -> Result<(), Error> {
    for &row in rows {
        let block = fetch(candidates, row as usize..row as usize + 1)?;
        coordinates.extend_from_slice(&block.coordinates);
        constants.extend_from_slice(&block.constants);
    }
    Ok(())
}

/// The rows of one query, with memory that is kept from query to query.
#[derive(Default)]
pub(crate) struct Listed {
    /// Distinct rows of the list, ascending.
    pub rows: Vec<u32>,
    /// How many candidates of the list share each.
    pub counts: Vec<u32>,
    coordinates: Vec<f32>,
    constants: Vec<f32>,
    products: Vec<f32>,
}

impl Listed {
    /// Takes the distinct row of each candidate of a list.
    pub(crate) fn gather(&mut self, rows: impl Iterator<Item = u32>) {
        self.rows.clear();
        self.rows.extend(rows);
        self.rows.sort_unstable();
        self.counts.clear();
        self.counts.extend(self.rows.chunk_by(|a, b| a == b).map(|same| same.len() as u32));
        self.rows.dedup();
    }

    /// Returns the place of a row.
    pub(crate) fn place(&self, row: u32) -> Option<usize> {
        self.rows.binary_search(&row).ok()
    }

    /// Computes the scores of the distinct rows of the list.
    pub(crate) fn score(
        &mut self,
        queries: &Queries,
        query: usize,
        candidates: &dyn CandidateBlocks,
    ) -> Result<Vec<f32>, Error> {
        const ROWS: usize = 256;
        let tile = QueryTile::new(query..query + 1, queries.dim(), queries.row(query));
        let mut scores = Vec::with_capacity(self.rows.len());
        for rows in self.rows.chunks(ROWS) {
            self.coordinates.clear();
            self.constants.clear();
            gather(candidates, rows, &mut self.coordinates, &mut self.constants)?;
            product(&tile, queries.dim(), &self.coordinates, &mut self.products);
            let products = self.products.chunks_exact(tile.lanes).zip(&self.constants);
            scores.extend(products.take(rows.len()).map(|(products, b)| products[0] + b));
        }
        let place = |at: usize| place(queries, query, self.rows[at] as usize);
        all_finite(&scores, place).map(|()| scores)
    }
}
