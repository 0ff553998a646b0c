//! Mean and maximum of scores: members' tiles are added up as they are computed.

use std::borrow::Cow;
use std::ops::Range;

use dsokr_core::{Error, Processes};

use super::models::{Member, member_error};
use super::rule::Step;
use super::whole::Sweep;
use crate::blocks::{CandidateBlocks, ScoreBlock};
use crate::classes::Classes;
use crate::hits::Decoded;
use crate::scoring::{
    self, Blocking, Gold, QueryTile, Reduce, Score, Scores, TopK, each_span, finite, gather,
    refuse_infinite,
};

/// A member whose scores enter the combined ones.
struct Source<'e> {
    member: &'e Member<'e>,
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

/// The members whose scores enter the combined ones, and what combining them starts with.
struct Sources<'e> {
    start: f64,
    members: Vec<Source<'e>>,
}

/// Buffers for combining a tile, kept from tile to tile.
#[derive(Default)]
struct Buffers {
    products: Vec<f32>,
    /// Combined scores at `[row · lanes + query]`.
    combined: Vec<f64>,
}

impl Sources<'_> {
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
                    .map_err(|error| member_error(source.member, error))?;
            }
        }
        Ok(())
    }

    /// Returns the combined scores of some rows, as a table.
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

    /// Shows all combined scores to what `start` makes for a tile of queries with a span.
    fn scan<R: Reduce<f64>>(
        &self,
        processes: &Processes,
        classes: &Classes,
        blocking: Blocking,
        start: impl Fn(&QueryTile) -> R + Sync,
    ) -> Result<(), Error> {
        let tiles = &self.members[0].tiles;
        let parts = vec![processes.part(classes.rows)];
        let open = |span: Range<usize>, _| {
            let members = self.members.iter();
            let blocks = members.map(|source| source.block(&source.rows[span.clone()]));
            Ok((span.clone(), blocks.collect::<Result<Vec<Block>, Error>>()?))
        };
        each_span(
            processes,
            parts,
            tiles.len(),
            blocking,
            open,
            |(span, blocks), at, buffers: &mut Buffers| {
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
            },
        )
    }
}

/// Returns ranks and the best k candidates of all queries among all candidates, of which each process scores its part.
pub(super) fn decode(
    processes: &Processes,
    sweep: &Sweep,
    k: usize,
) -> Result<Vec<Decoded>, Error> {
    let Sweep { models, combiner, gold, .. } = *sweep;
    let pool = models.all.len() as u64;
    let dims = combiner.active().map(|member| models.members[member].queries.dim());
    let blocking = Blocking::for_dim(dims.sum());
    let source = |at: usize| {
        let member = &models.members[at];
        let step = combiner.step(at, pool);
        let tiles = QueryTile::all(&member.queries, false);
        Source { member, rows: &models.rows[at], step, tiles }
    };
    let sources =
        Sources { start: combiner.start(), members: combiner.active().map(source).collect() };
    let queries = &models.members[0].queries;
    let tiles = &sources.members[0].tiles;
    let golds = Gold::new(queries, tiles, gold, |at, rows| sources.score(at, rows));
    let golds = processes.agree(golds)?;
    let classes = &*models.classes;
    let lists = TopK::new(gold.len(), k.min(classes.rows), None);
    match k {
        0 => sources.scan(processes, classes, blocking, |tile| golds.counter(tile))?,
        _ => sources
            .scan(processes, classes, blocking, |tile| (golds.counter(tile), lists.tile(tile)))?,
    }
    let ranks = golds.ranks(processes, gold, pool)?.into_iter();
    let each = ranks.zip(lists.finish(processes)?).enumerate();
    let decoded = each.map(|(query, (rank, rows))| {
        let gold_score = rank.map(|_| combiner.shown(golds.score(query)) as f32);
        Decoded { rank, gold_score, hits: sweep.hits(rows, k) }
    });
    Ok(decoded.collect())
}
