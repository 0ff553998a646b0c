//! Mean and maximum of scores: members' tiles are added up as they are computed.

use std::borrow::Cow;
use std::ops::Range;

use dsokr_basis::{Cancellation, Ranks};
use rayon::prelude::*;

use super::fold::Step;
use super::member::{Member, member_error};
use super::whole::Sweep;
use crate::gold_tile::{Counter, GoldTile, Tally};
use crate::scoring::{self, Blocking, LANES, QueryTile};
use crate::topk::Shortlist;
use crate::{Decoded, Error};

/// A member whose scores enter the combined ones.
struct Source<'e> {
    member: &'e Member<'e>,
    /// Its row of each row of the ensemble.
    rows: &'e [u32],
    step: Step,
    tiles: Vec<QueryTile>,
}

/// Coordinates and constants of some rows of a member.
struct Block<'e> {
    /// Which rows they are.
    rows: &'e [u32],
    coordinates: Cow<'e, [f32]>,
    constants: Cow<'e, [f32]>,
}

impl Source<'_> {
    /// The rows of a member, in place where they are consecutive.
    fn block<'s>(&'s self, rows: &'s [u32]) -> Result<Block<'s>, Error> {
        let (dim, candidates) = (self.member.queries.dim(), self.member.candidates);
        let start = rows.first().map_or(0, |&row| row as usize);
        if (start..).zip(rows).all(|(expected, &row)| row as usize == expected) {
            let end = start + rows.len();
            let constants = candidates.constants()[start..end].into();
            return Ok(Block { rows, coordinates: candidates.points(start..end)?, constants });
        }
        let mut coordinates = Vec::with_capacity(rows.len() * dim);
        for &row in rows {
            coordinates.extend_from_slice(&candidates.point(row as usize)?);
        }
        let constants = rows.iter().map(|&row| candidates.constants()[row as usize]).collect();
        Ok(Block { rows, coordinates: coordinates.into(), constants })
    }
}

/// The members whose scores enter the combined ones, and what combining them starts with.
struct Sources<'e> {
    start: f64,
    members: Vec<Source<'e>>,
}

/// What combining a tile needs, kept from tile to tile.
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
        for (source, block) in self.members.iter().zip(blocks) {
            let (dim, tile) = (source.member.queries.dim(), &source.tiles[tile]);
            let coordinates = &block.coordinates[rows.start * dim..rows.end * dim];
            scoring::product(tile, dim, coordinates, products);
            let mut largest = 0;
            let lines = combined.chunks_exact_mut(lanes);
            let scores = products.chunks_exact_mut(lanes).zip(&block.constants[rows.clone()]);
            for (combined, (scores, constant)) in lines.zip(scores) {
                for score in scores.iter_mut() {
                    *score += constant;
                    // Without the sign, the bits of ∞ and NaN are the largest integers.
                    largest = largest.max(score.to_bits() & 0x7FFF_FFFF);
                }
                source.step.add(combined, scores.iter().map(|&score| f64::from(score)));
            }
            if largest >= f32::INFINITY.to_bits() {
                let rows = &block.rows[rows.clone()];
                return Err(not_finite(source.member, tile, rows, products));
            }
        }
        Ok(())
    }

    /// Scores the gold rows of a tile of queries by the same routine as all others.
    fn gold_tile(&self, tile: usize, gold: &[Option<u32>]) -> Result<GoldTile<f64>, Error> {
        let QueryTile { queries, lanes, .. } = &self.members[0].tiles[tile];
        let golds = gold[queries.clone()].iter().enumerate();
        let mut places: Vec<(u32, usize, f64)> =
            golds.filter_map(|(lane, gold)| gold.map(|row| (row, lane, 0.0))).collect();
        places.sort_unstable_by_key(|&(row, lane, _)| (row, lane));
        let mut bars = vec![f64::INFINITY; *lanes];
        let row = |source: &Source| -> Vec<u32> {
            places.iter().map(|&(row, ..)| source.rows[row as usize]).collect()
        };
        let rows: Vec<Vec<u32>> = self.members.iter().map(row).collect();
        let blocks = self.members.iter().zip(&rows).map(|(source, rows)| source.block(rows));
        let blocks = blocks.collect::<Result<Vec<Block>, Error>>()?;
        let mut buffers = Buffers::default();
        if !places.is_empty() {
            self.combine(&blocks, tile, 0..places.len(), &mut buffers)?;
        }
        for (scores, (_, lane, score)) in buffers.combined.chunks_exact(*lanes).zip(&mut places) {
            (*score, bars[*lane]) = (scores[*lane], scores[*lane]);
        }
        Ok(GoldTile { bars, places })
    }
}

/// The error for a score that is not finite.
#[cold]
fn not_finite(member: &Member, tile: &QueryTile, rows: &[u32], scores: &[f32]) -> Error {
    let found = rows.iter().zip(scores.chunks_exact(tile.lanes)).find_map(|(&row, scores)| {
        let lane = scores.iter().position(|score| !score.is_finite())?;
        let query = tile.queries.start + lane;
        Some(scoring::not_finite(&member.queries, query, row as usize, scores[lane]))
    });
    // There is one, or this would not have been called.
    member_error(member, found.unwrap_or(Error::too_few("no scores that are not finite", 1)))
}

/// Ranks and the best k candidates of all queries among all candidates.
pub(super) fn decode(sweep: &Sweep, k: usize) -> Result<Vec<Decoded>, Error> {
    let Sweep { ensemble, fold, gold, .. } = *sweep;
    let (refinement, pool) = (&ensemble.refinement, ensemble.candidates().len() as u64);
    let dims = fold.active().map(|member| ensemble.members[member].queries.dim());
    let blocking = Blocking::of(dims.sum());
    let source = |at: usize| {
        let member = &ensemble.members[at];
        let (step, tiles) = (fold.step(at, pool), QueryTile::all(&member.queries, blocking));
        Source { member, rows: &refinement.rows[at], step, tiles }
    };
    let sources = Sources { start: fold.start(), members: fold.active().map(source).collect() };
    let tiles = sources.members.first().map_or(0, |source| source.tiles.len());
    let gold_tile = |tile| sources.gold_tile(tile, gold);
    let golds = (0..tiles).into_par_iter().map(gold_tile).collect::<Result<_, _>>();
    let golds: Vec<GoldTile<f64>> = Ranks::current().agree(golds)?;
    let tally = Tally::new(gold.len());
    let lists: Vec<Shortlist> = match k {
        0 => Vec::new(),
        _ => gold.iter().map(|_| Shortlist::new(k.min(refinement.classes.rows()))).collect(),
    };

    let cancellation = Cancellation::current();
    let rows = Ranks::current().part(refinement.classes.rows());
    let tasks = scoring::tasks(rows, tiles, blocking);
    let scanned =
        tasks.into_par_iter().try_for_each_init(Buffers::default, |buffers, (span, tiles)| {
            let members = sources.members.iter();
            let blocks = members.map(|source| source.block(&source.rows[span.clone()]));
            let blocks = blocks.collect::<Result<Vec<Block>, Error>>()?;
            for tile in tiles {
                cancellation.check()?;
                let (queries, gold) = (&sources.members[0].tiles[tile].queries, &golds[tile]);
                let lanes = gold.bars.len();
                let mut counter = Counter::new(lanes);
                for start in (0..span.len()).step_by(blocking.rows) {
                    let rows = start..(start + blocking.rows).min(span.len());
                    sources.combine(&blocks, tile, rows.clone(), buffers)?;
                    let rows = span.start + rows.start..span.start + rows.end;
                    let combined = &mut buffers.combined;
                    gold.place(rows.clone(), combined);
                    let multiplicities = refinement.classes.counts(rows.clone());
                    count(combined, &multiplicities, &gold.bars, &mut counter);
                    if k > 0 {
                        offer(combined, lanes, rows.start, &lists[queries.clone()]);
                    }
                }
                tally.add(queries.clone(), &counter);
            }
            Ok::<(), Error>(())
        });
    Ranks::current().agree(scanned)?;

    Shortlist::merge(&lists)?;
    let mut lists = lists.into_iter();
    let finish = |(query, rank): (usize, Option<_>)| {
        let score = golds[query / blocking.queries].bars[query % blocking.queries];
        let rows = lists.next().map_or_else(Vec::new, Shortlist::into_sorted);
        let gold_score = rank.map(|_| fold.shown(score) as f32);
        Decoded { rank, gold_score, hits: ensemble.expand(fold, rows, k) }
    };
    Ok(tally.ranks(gold, pool)?.into_iter().enumerate().map(finish).collect())
}

/// Counts candidates above and tied with the gold ones.
///
/// Lane after lane in fixed groups, so that the counters of a group stay in registers.
fn count(combined: &[f64], multiplicities: &[u32], gold: &[f64], counter: &mut Counter) {
    let Counter { above, tied } = counter;
    let groups = above.as_chunks_mut::<LANES>().0.iter_mut().zip(tied.as_chunks_mut().0);
    for (group, ((above, tied), bar)) in groups.zip(gold.as_chunks().0).enumerate() {
        let bar: &[f64; LANES] = bar;
        let mut counts: ([u32; LANES], [u32; LANES]) = (*above, *tied);
        let rows = combined[group * LANES..].chunks(gold.len());
        for (row, &weight) in rows.zip(multiplicities) {
            let Some(row) = row.first_chunk::<LANES>() else {
                continue;
            };
            for lane in 0..LANES {
                counts.0[lane] += if row[lane] > bar[lane] { weight } else { 0 };
                counts.1[lane] += if row[lane] == bar[lane] { weight } else { 0 };
            }
        }
        (*above, *tied) = counts;
    }
}

/// Offers rows `first_row`, … to the shortlists of the queries of a tile.
fn offer(combined: &[f64], lanes: usize, first_row: usize, lists: &[Shortlist]) {
    for (group, lists) in lists.chunks(LANES).enumerate() {
        let mut bar = [f64::INFINITY; LANES];
        for (bar, list) in bar.iter_mut().zip(lists) {
            *bar = list.bar();
        }
        for (at, row) in combined[group * LANES..].chunks(lanes).enumerate() {
            let Some(row) = row.first_chunk::<LANES>() else {
                continue;
            };
            if (0..LANES).any(|lane| row[lane] >= bar[lane]) {
                for (lane, list) in lists.iter().enumerate() {
                    if row[lane] >= bar[lane] {
                        bar[lane] = list.offer(first_row + at, row[lane]);
                    }
                }
            }
        }
    }
}
