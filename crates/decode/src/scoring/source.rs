//! Where the scores of a pass come from.

use std::ops::Range;

use dsokr_core::{Error, Processes};

use super::pass::{Buffers, Pass, Span, gather, refuse_infinite};
use super::reduce::{Reduce, Score, each_span};
use super::tile::{Blocking, QueryTile, product};
use crate::blocks::CandidateBlocks;
use crate::codes::Bars;
use crate::queries::Queries;

/// Scores of all queries with all distinct rows of the candidates: of one model, in 32 bits ([`ModelScores`]), or of
/// several models, combined in 64.
///
/// Ranks, shortlists and histograms are [reducers](Reduce) of one [`scan`](Self::scan), whatever the source.
pub(crate) trait ScoreSource: Sync {
    /// The number that a score is.
    type Score: Score;

    /// Returns the queries, by whose names errors call them.
    fn queries(&self) -> &Queries<'_>;

    /// Returns the queries in tiles.
    fn tiles(&self) -> &[QueryTile];

    /// Returns the number of distinct rows.
    fn rows(&self) -> usize;

    /// Returns the number of candidates.
    fn candidates(&self) -> u64;

    /// Returns the scores of the queries of a tile with some rows, without their constants, `[row · lanes + lane]`, and
    /// the constants of the rows. They have the bits that [`scan`](Self::scan) shows.
    ///
    /// # Errors
    /// Errors from fetching the rows.
    fn score(&self, tile: usize, rows: &[u32]) -> Result<(Vec<Self::Score>, Vec<f32>), Error>;

    /// Shows all scores to reducers: candidates are fetched by spans, and every span meets every tile of queries. Each
    /// of several [`Processes`] visits the scores of its part of the candidates, and an error of one is an error of
    /// all.
    ///
    /// `start` creates the reducer of the scores of a tile with a span, on the threads of the current rayon pool, in no
    /// particular order.
    ///
    /// # Errors
    /// [`Error::NotFiniteAt`] for a score that is not finite; errors from fetching the candidates.
    fn scan<R: Reduce<Self::Score>>(
        &self,
        processes: &Processes,
        start: impl Fn(&QueryTile) -> R + Sync,
    ) -> Result<(), Error>;
}

/// The scores of one model.
pub(crate) struct ModelScores<'m> {
    queries: Queries<'m>,
    tiles: Vec<QueryTile>,
    candidates: &'m dyn CandidateBlocks,
    blocking: Blocking,
}

impl<'m> ModelScores<'m> {
    /// Creates the scores, which are compared by [codes](crate::codes) where that is faster.
    ///
    /// # Errors
    /// Errors from reading the codes of the candidates.
    pub(crate) fn new(
        queries: &Queries<'m>,
        candidates: &'m dyn CandidateBlocks,
    ) -> Result<Self, Error> {
        let tiles = QueryTile::all_to_compare(queries, candidates)?;
        Ok(Self {
            queries: *queries,
            tiles,
            candidates,
            blocking: Blocking::for_dim(queries.dim()),
        })
    }
}

impl ScoreSource for ModelScores<'_> {
    type Score = f32;

    fn queries(&self) -> &Queries<'_> {
        &self.queries
    }

    fn tiles(&self) -> &[QueryTile] {
        &self.tiles
    }

    fn rows(&self) -> usize {
        self.candidates.rows()
    }

    fn candidates(&self) -> u64 {
        self.candidates.candidates()
    }

    fn score(&self, tile: usize, rows: &[u32]) -> Result<(Vec<f32>, Vec<f32>), Error> {
        let mut coordinates = Vec::new();
        let mut constants = Vec::new();
        let mut products = Vec::new();
        gather(self.candidates, rows, &mut coordinates, &mut constants)?;
        product(&self.tiles[tile], self.queries.dim(), &coordinates, &mut products);
        Ok((products, constants))
    }

    fn scan<R: Reduce<f32>>(
        &self,
        processes: &Processes,
        start: impl Fn(&QueryTile) -> R + Sync,
    ) -> Result<(), Error> {
        let Self { queries, tiles, candidates, blocking } = self;
        let open = |span, strip: Range<usize>| {
            let coded = tiles[strip].iter().any(|tile| tile.codes().is_some());
            Span::new(*candidates, span, coded)
        };
        let visit = |span: &Span, at: usize, buffers: &mut Buffers| {
            let tile = &tiles[at];
            let mut reducer = start(tile);
            let mut pass = Pass::new(tile, span, blocking.rows, buffers);
            let mut bars = Bars::default();
            if pass.coded() && reducer.bars(&mut bars) {
                let mut above = vec![0; tile.lanes];
                pass.compare(&bars, &mut above, |exact| reducer.take(&exact))?;
                reducer.count(&above);
            } else {
                pass.each(|mut scores| {
                    if scores.reduce(&mut reducer) {
                        return Ok(());
                    }
                    let rows = (scores.first_row..).zip(scores.constants.iter().copied());
                    refuse_infinite(queries, tile, rows, scores.table)
                })?;
            }
            reducer.finish();
            Ok(())
        };
        each_span(processes, candidates.scored(processes), tiles.len(), *blocking, open, visit)
    }
}
