//! Mean and maximum of scores: tiles of the members are added up as they are computed.

use std::borrow::Cow;
use std::ops::Range;

use dsokr_core::{Error, Processes};

use super::member::{Member, member_error};
use super::models::Models;
use super::rule::{Combiner, Step};
use crate::blocks::{CandidateBlocks, ScoreBlock};
use crate::classes::Classes;
use crate::queries::Queries;
use crate::scoring::{
    self, Blocking, QueryTile, Reduce, Score, ScoreSource, Scores, each_span, finite, gather,
    refuse_infinite,
};

/// A member whose scores enter the combined ones.
struct Source<'e> {
    member: Member<'e>,
    /// The member's row for each row of the ensemble.
    rows: &'e [u32],
    step: Step,
    tiles: Vec<QueryTile>,
}

/// Some rows of a member, with their numbers.
type Block<'e> = (&'e [u32], ScoreBlock<'e>);

impl Source<'_> {
    /// Returns the rows of a member, in place where they are consecutive.
    fn block<'s>(&'s self, rows: &'s [u32]) -> Result<Block<'s>, Error> {
        let dim = self.member.queries.dim();
        let candidates = self.member.candidates;
        let start = rows.first().map_or(0, |&row| row as usize);
        if (start..).zip(rows).all(|(expected, &row)| row as usize == expected) {
            return Ok((rows, candidates.block(start..start + rows.len())?));
        }
        let mut coordinates = Vec::with_capacity(rows.len() * dim);
        let mut constants = Vec::new();
        gather(candidates, rows, &mut coordinates, &mut constants)?;
        let coordinates = coordinates.into();
        let constants = constants.into();
        Ok((rows, ScoreBlock { coordinates, constants, multiplicities: Cow::Borrowed(&[]) }))
    }
}

/// The combined scores of the members of an ensemble whose weight is not 0.
pub(super) struct CombinedScores<'e> {
    /// The value that combining starts with.
    start: f64,
    members: Vec<Source<'e>>,
    /// The candidates of each row of the ensemble.
    classes: &'e Classes,
    candidates: u64,
    blocking: Blocking,
}

/// Buffers for combining a tile, kept from tile to tile.
#[derive(Default)]
struct Buffers {
    products: Vec<f32>,
    /// Combined scores at `[row · lanes + query]`.
    combined: Vec<f64>,
}

impl<'e> CombinedScores<'e> {
    /// Creates the scores of some queries with all candidates.
    pub(super) fn new(models: &'e Models, combiner: &Combiner, queries: Range<usize>) -> Self {
        let candidates = models.all.len() as u64;
        let source = |at: usize| {
            let queries = models.members[at].queries.part(queries.clone());
            let tiles = QueryTile::all(&queries, false);
            let member = Member { queries, ..models.members[at] };
            let step = combiner.step(at, candidates);
            Source { member, rows: models.rows(at), step, tiles }
        };
        let members: Vec<Source> = combiner.active().map(source).collect();
        let dim = members.iter().map(|source| source.member.queries.dim()).sum();
        Self {
            start: combiner.start(),
            members,
            classes: &models.classes,
            candidates,
            blocking: Blocking::for_dim(dim),
        }
    }

    /// Combines the scores of tile `tile` of queries with some of the rows of every member's block.
    fn combine(
        &self,
        blocks: &[Block],
        tile: usize,
        rows: Range<usize>,
        Buffers { products, combined }: &mut Buffers,
    ) -> Result<(), Error> {
        let lanes = self.members[0].tiles[tile].lanes;
        combined.clear();
        combined.resize(rows.len() * lanes, self.start);
        for (source, (numbers, block)) in self.members.iter().zip(blocks) {
            let dim = source.member.queries.dim();
            let tile = &source.tiles[tile];
            let coordinates = &block.coordinates[rows.start * dim..rows.end * dim];
            scoring::product(tile, dim, coordinates, products);
            let mut largest = 0;
            let lines = combined.chunks_exact_mut(lanes);
            let scores = products.chunks_exact_mut(lanes).zip(&block.constants[rows.clone()]);
            for (combined, (scores, constant)) in lines.zip(scores) {
                for score in scores.iter_mut() {
                    *score += constant;
                    largest = largest.max(score.magnitude());
                }
                source.step.add(combined, scores.iter().map(|&score| f64::from(score)));
            }
            if !finite(largest) {
                let rows = numbers[rows.clone()].iter().map(|&row| (row as usize, 0.0));
                refuse_infinite(&source.member.queries, tile, rows, products)
                    .map_err(|error| member_error(&source.member, error))?;
            }
        }
        Ok(())
    }
}

impl ScoreSource for CombinedScores<'_> {
    type Score = f64;

    fn queries(&self) -> &Queries<'_> {
        &self.members[0].member.queries
    }

    fn tiles(&self) -> &[QueryTile] {
        &self.members[0].tiles
    }

    fn rows(&self) -> usize {
        self.classes.rows
    }

    fn candidates(&self) -> u64 {
        self.candidates
    }

    fn score(&self, tile: usize, rows: &[u32]) -> Result<(Vec<f64>, Vec<f32>), Error> {
        let rows_of_member =
            |source: &Source| rows.iter().map(|&row| source.rows[row as usize]).collect();
        let each: Vec<Vec<u32>> = self.members.iter().map(rows_of_member).collect();
        let blocks = self.members.iter().zip(&each).map(|(source, rows)| source.block(rows));
        let blocks = blocks.collect::<Result<Vec<Block>, Error>>()?;
        let mut buffers = Buffers::default();
        self.combine(&blocks, tile, 0..rows.len(), &mut buffers)?;
        Ok((buffers.combined, vec![0.0; rows.len()]))
    }

    fn scan<R: Reduce<f64>>(
        &self,
        processes: &Processes,
        start: impl Fn(&QueryTile) -> R + Sync,
    ) -> Result<(), Error> {
        let Self { classes, blocking, .. } = *self;
        let tiles = self.tiles();
        let parts = vec![processes.part(classes.rows)];
        let open = |span: Range<usize>, _| {
            let members = self.members.iter();
            let blocks = members.map(|source| source.block(&source.rows[span.clone()]));
            Ok((span.clone(), blocks.collect::<Result<Vec<Block>, Error>>()?))
        };
        let visit =
            |(span, blocks): &(Range<usize>, Vec<Block>), at: usize, buffers: &mut Buffers| {
                let mut reducer = start(&tiles[at]);
                for first in (0..span.len()).step_by(blocking.rows) {
                    let rows = first..(first + blocking.rows).min(span.len());
                    self.combine(blocks, at, rows.clone(), buffers)?;
                    let rows = span.start + rows.start..span.start + rows.end;
                    let mut scores = Scores {
                        table: &mut buffers.combined,
                        lanes: tiles[at].lanes,
                        first_row: rows.start,
                        constants: &vec![0.0; rows.len()],
                        multiplicities: &classes.counts(rows),
                    };
                    scores.reduce(&mut reducer);
                }
                reducer.finish();
                Ok(())
            };
        each_span(processes, parts, tiles.len(), blocking, open, visit)
    }
}
