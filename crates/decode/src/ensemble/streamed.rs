//! Mean and maximum of scores: members' tiles are added up as they are computed.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use super::fold::{Fold, Step};
use super::member::{Member, member_error};
use super::shared::{Decoded, Ensemble};
use crate::scoring::{self, Blocking, LANES, QueryTile};
use crate::topk::Shortlist;
use crate::{Error, Rank};

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
    fn block<'s>(&'s self, rows: &'s [u32]) -> Block<'s> {
        let (dim, candidates) = (self.member.queries.dim(), self.member.candidates);
        let start = rows.first().map_or(0, |&row| row as usize);
        if (start..).zip(rows).all(|(expected, &row)| row as usize == expected) {
            let end = start + rows.len();
            let coordinates = candidates.coordinates()[start * dim..end * dim].into();
            return Block {
                rows,
                coordinates,
                constants: candidates.constants()[start..end].into(),
            };
        }
        let mut coordinates = Vec::with_capacity(rows.len() * dim);
        for &row in rows {
            let at = row as usize * dim;
            coordinates.extend_from_slice(&candidates.coordinates()[at..at + dim]);
        }
        let constants = rows.iter().map(|&row| candidates.constants()[row as usize]).collect();
        Block { rows, coordinates: coordinates.into(), constants }
    }
}

/// What combining a tile needs, kept from tile to tile.
#[derive(Default)]
struct Buffers {
    products: Vec<f32>,
    /// Combined scores at `[row · lanes + query]`.
    combined: Vec<f64>,
}

impl Buffers {
    /// Combines the scores of tile `tile` of queries with some of the rows of every block.
    fn combine(
        &mut self,
        start: f64,
        sources: &[Source],
        blocks: &[Block],
        tile: usize,
        rows: Range<usize>,
    ) -> Result<&mut [f64], Error> {
        let lanes = sources[0].tiles[tile].lanes;
        self.combined.clear();
        self.combined.resize(rows.len() * lanes, start);
        for (source, block) in sources.iter().zip(blocks) {
            let (dim, tile) = (source.member.queries.dim(), &source.tiles[tile]);
            let coordinates = &block.coordinates[rows.start * dim..rows.end * dim];
            scoring::product(tile, dim, coordinates, &mut self.products);
            let mut largest = 0;
            let lines = self.combined.chunks_exact_mut(lanes);
            let scores = self.products.chunks_exact_mut(lanes).zip(&block.constants[rows.clone()]);
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
                return Err(not_finite(source.member, tile, rows, &self.products));
            }
        }
        Ok(&mut self.combined)
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

/// The gold candidates of a tile of queries.
struct GoldTile {
    /// Combined scores; infinite, which nothing reaches, for lanes without a gold one.
    scores: Vec<f64>,
    /// Row and lane, by row.
    places: Vec<(u32, usize)>,
}

impl GoldTile {
    /// Scores the gold rows by the same routine as all others.
    fn new(
        fold: &Fold,
        sources: &[Source],
        tile: usize,
        gold: &[Option<u32>],
    ) -> Result<Self, Error> {
        let (queries, lanes) = (&sources[0].tiles[tile].queries, sources[0].tiles[tile].lanes);
        let golds = gold[queries.clone()].iter().enumerate();
        let mut places: Vec<(u32, usize)> =
            golds.filter_map(|(lane, gold)| gold.map(|row| (row, lane))).collect();
        places.sort_unstable();
        let mut scores = vec![f64::INFINITY; lanes];
        if !places.is_empty() {
            let row = |source: &Source| -> Vec<u32> {
                places.iter().map(|&(row, _)| source.rows[row as usize]).collect()
            };
            let rows: Vec<Vec<u32>> = sources.iter().map(row).collect();
            let blocks: Vec<Block> =
                sources.iter().zip(&rows).map(|(source, rows)| source.block(rows)).collect();
            let mut buffers = Buffers::default();
            let found = buffers.combine(fold.start(), sources, &blocks, tile, 0..places.len())?;
            for (found, &(_, lane)) in found.chunks_exact(lanes).zip(&places) {
                scores[lane] = found[lane];
            }
        }
        Ok(Self { scores, places })
    }

    /// Puts the gold scores where they belong in a tile: the gold row ties by identity, not because
    /// two computations agree.
    fn place(&self, rows: Range<usize>, lanes: usize, combined: &mut [f64]) {
        let first = self.places.partition_point(|&(row, _)| (row as usize) < rows.start);
        for &(row, lane) in &self.places[first..] {
            if row as usize >= rows.end {
                break;
            }
            combined[(row as usize - rows.start) * lanes + lane] = self.scores[lane];
        }
    }
}

/// Ranks and the best k candidates of all queries among all candidates.
pub(super) fn decode(
    ensemble: &Ensemble,
    fold: &Fold,
    gold: &[Option<u32>],
    k: usize,
) -> Result<Vec<Decoded>, Error> {
    let (refinement, pool) = (&ensemble.refinement, ensemble.candidates().len() as u64);
    let dims = fold.active().map(|member| ensemble.members[member].queries.dim());
    let blocking = Blocking::of(dims.sum());
    let source = |at: usize| {
        let member = &ensemble.members[at];
        let (step, tiles) = (fold.step(at, pool), QueryTile::all(&member.queries, blocking));
        Source { member, rows: &refinement.rows[at], step, tiles }
    };
    let sources: Vec<Source> = fold.active().map(source).collect();
    let tiles = sources.first().map_or(0, |source| source.tiles.len());
    let gold_tile = |tile| GoldTile::new(fold, &sources, tile, gold);
    let golds: Vec<GoldTile> =
        (0..tiles).into_par_iter().map(gold_tile).collect::<Result<_, _>>()?;
    let counts: Vec<[AtomicU64; 2]> = gold.iter().map(|_| Default::default()).collect();
    let lists: Vec<Shortlist> = match k {
        0 => Vec::new(),
        _ => gold.iter().map(|_| Shortlist::new(k.min(refinement.classes.rows()))).collect(),
    };

    let tasks = scoring::tasks(refinement.classes.rows(), tiles, blocking);
    tasks.into_par_iter().try_for_each_init(Buffers::default, |buffers, (span, tiles)| {
        let blocks: Vec<Block> =
            sources.iter().map(|source| source.block(&source.rows[span.clone()])).collect();
        for tile in tiles {
            let (queries, gold) = (&sources[0].tiles[tile].queries, &golds[tile]);
            let lanes = gold.scores.len();
            let mut counter = (vec![0; lanes], vec![0; lanes]);
            for start in (0..span.len()).step_by(blocking.rows) {
                let rows = start..(start + blocking.rows).min(span.len());
                let combined =
                    buffers.combine(fold.start(), &sources, &blocks, tile, rows.clone())?;
                let rows = span.start + rows.start..span.start + rows.end;
                gold.place(rows.clone(), lanes, combined);
                let multiplicities = &refinement.classes.counts()[rows.clone()];
                count(combined, multiplicities, &gold.scores, &mut counter);
                if k > 0 {
                    offer(combined, lanes, rows.start, &lists[queries.clone()]);
                }
            }
            let counters = counter.0.iter().zip(&counter.1);
            for ([above, tied], counter) in counts[queries.clone()].iter().zip(counters) {
                above.fetch_add((*counter.0).into(), Relaxed);
                tied.fetch_add((*counter.1).into(), Relaxed);
            }
        }
        Ok::<(), Error>(())
    })?;

    let mut lists = lists.into_iter();
    let finish = |((query, gold), counts): ((usize, &Option<u32>), [AtomicU64; 2])| {
        let [above, tied] = counts.map(AtomicU64::into_inner);
        let score = golds[query / blocking.queries].scores[query % blocking.queries];
        let rows = lists.next().map_or_else(Vec::new, Shortlist::into_sorted);
        Ok(Decoded {
            rank: gold.map(|_| Rank::new(above, tied, pool)).transpose()?,
            gold_score: gold.map(|_| fold.shown(score) as f32),
            hits: ensemble.expand(fold, rows, k),
        })
    };
    gold.iter().enumerate().zip(counts).map(finish).collect()
}

/// Counts candidates above and tied with the gold ones.
///
/// Lane after lane in fixed groups, so that the counters of a group stay in registers.
fn count(
    combined: &[f64],
    multiplicities: &[u32],
    gold: &[f64],
    (above, tied): &mut (Vec<u32>, Vec<u32>),
) {
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
