//! Scores of gold candidates, and counts of the candidates above them.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use dsokr_core::{Error, Processes};
use rayon::prelude::*;

use super::pass::{ExactScore, not_finite};
use super::reduce::{Reduce, Score};
use super::source::ScoreSource;
use super::tile::{QUERIES, QueryTile};
use crate::codes::{Bars, LANES};
use crate::error::ensure;
use crate::queries::Queries;
use crate::rank::Rank;

/// Refuses what is not one entry a query, of rows that there are.
pub(crate) fn check_gold(
    queries: &Queries,
    gold: &[Option<u32>],
    rows: usize,
) -> Result<(), Error> {
    Error::check_length("gold entries", gold.len(), queries.len())?;
    let golds = gold.iter().enumerate().filter_map(|(query, gold)| Some((query, (*gold)?)));
    for (query, row) in golds {
        let found = || format!("query {}: gold row {row}", queries.name(query));
        let allowed = || format!("0..{rows}, the distinct rows");
        ensure((row as usize) < rows, || Error::out_of_range(found(), allowed()))?;
    }
    Ok(())
}

/// Counts the candidates above the gold one of each query, and those tied with it.
pub(crate) struct Gold<S> {
    tiles: Vec<GoldTile<S>>,
    /// Candidates above and tied, counted by several threads.
    tally: Vec<[AtomicU64; 2]>,
}

impl<S: Score> Gold<S> {
    /// Scores the gold candidates of all queries.
    pub(crate) fn new(
        source: &impl ScoreSource<Score = S>,
        gold: &[Option<u32>],
    ) -> Result<Self, Error> {
        let tiles = (0..source.tiles().len()).into_par_iter();
        let tiles = tiles.map(|at| GoldTile::new(source, at, gold));
        let tally = gold.iter().map(|_| Default::default()).collect();
        Ok(Self { tiles: tiles.collect::<Result<_, _>>()?, tally })
    }

    /// Returns the counter for a tile of queries.
    pub(crate) fn counter(&self, tile: &QueryTile) -> Counter<'_, S> {
        let queries = tile.queries.clone();
        Counter {
            gold: &self.tiles[queries.start / QUERIES],
            tally: &self.tally[queries],
            above: vec![0; tile.lanes],
            tied: vec![0; tile.lanes],
        }
    }

    /// Returns the score of the gold candidate of a query that has one.
    pub(crate) fn score(&self, query: usize) -> S {
        self.tiles[query / QUERIES].bars[query % QUERIES]
    }

    /// Returns the ranks of the gold candidates among `pool` candidates. Each of several [`Processes`] has
    /// counted its part of them.
    pub(crate) fn ranks(
        &self,
        processes: &Processes,
        gold: &[Option<u32>],
        pool: u64,
    ) -> Result<Vec<Option<Rank>>, Error> {
        let mut counts: Vec<u64> = self.tally.iter().flatten().map(|n| n.load(Relaxed)).collect();
        processes.sum(&mut counts)?;
        let rank = |(gold, &[above, tied]): (&Option<u32>, &[u64; 2])| {
            gold.map(|_| Rank::new(above, tied, pool)).transpose()
        };
        gold.iter().zip(counts.as_chunks().0).map(rank).collect()
    }
}

/// The gold candidates of a tile of queries.
struct GoldTile<S> {
    /// Scores to be compared with; infinite, which nothing reaches, for lanes without a gold candidate.
    bars: Vec<S>,
    /// Row, lane and what stands for the gold candidate in a table of the tile, by row.
    places: Vec<(u32, usize, S)>,
}

impl<S: Score> GoldTile<S> {
    fn new(
        source: &impl ScoreSource<Score = S>,
        at: usize,
        gold: &[Option<u32>],
    ) -> Result<Self, Error> {
        let tile = &source.tiles()[at];
        let golds_of_tile = gold[tile.queries.clone()].iter().zip(0..);
        let mut golds: Vec<(u32, usize)> =
            golds_of_tile.filter_map(|(gold, lane)| Some(((*gold)?, lane))).collect();
        golds.sort_unstable();
        let rows: Vec<u32> = golds.iter().map(|&(row, _)| row).collect();
        let (table, constants) =
            if rows.is_empty() { Default::default() } else { source.score(at, &rows)? };
        let mut bars = vec![S::from(f32::INFINITY); tile.lanes];
        let mut places = Vec::new();
        let table = table.chunks_exact(tile.lanes).zip(constants);
        for ((row, lane), (values, constant)) in golds.into_iter().zip(table) {
            bars[lane] = values[lane] + S::from(constant);
            let score: f64 = bars[lane].into();
            let query = tile.queries.start + lane;
            ensure(score.is_finite(), || {
                not_finite(source.queries(), query, row as usize, score as f32)
            })?;
            places.push((row, lane, values[lane]));
        }
        Ok(Self { bars, places })
    }
}

/// Candidates above and tied with the gold ones of a tile, a pair of counters a lane.
pub(crate) struct Counter<'g, S> {
    gold: &'g GoldTile<S>,
    tally: &'g [[AtomicU64; 2]],
    above: Vec<u32>,
    tied: Vec<u32>,
}

/// The counts of a group of lanes.
pub(crate) struct Counts<S> {
    bars: [S; LANES],
    above: [u32; LANES],
    tied: [u32; LANES],
}

impl<S: Score> Reduce<S> for Counter<'_, S> {
    type Group = Counts<S>;

    /// Puts the bar in the place of the gold row's score, which ties by identity, not because two computations agree.
    fn place(&self, rows: Range<usize>, table: &mut [S]) {
        let GoldTile { bars, places } = self.gold;
        let first = places.partition_point(|&(row, ..)| (row as usize) < rows.start);
        for &(row, lane, value) in &places[first..] {
            if row as usize >= rows.end {
                break;
            }
            table[(row as usize - rows.start) * bars.len() + lane] = value;
        }
    }

    #[inline(always)]
    fn open(&self, group: usize) -> Self::Group {
        let bars = self.gold.bars.as_chunks().0[group];
        let above = self.above.as_chunks().0[group];
        let tied = self.tied.as_chunks().0[group];
        Counts { bars, above, tied }
    }

    #[inline(always)]
    fn row(&self, kept: &mut Self::Group, _row: usize, scores: &[S; LANES], weight: u32) {
        let Counts { bars, above, tied } = kept;
        for lane in 0..LANES {
            above[lane] += if scores[lane] > bars[lane] { weight } else { 0 };
            tied[lane] += if scores[lane] == bars[lane] { weight } else { 0 };
        }
    }

    fn close(&mut self, group: usize, Counts { above, tied, .. }: Self::Group) {
        self.above.as_chunks_mut().0[group] = above;
        self.tied.as_chunks_mut().0[group] = tied;
    }

    /// Adds the bar of the gold score of each lane: scores are counted for one bar a lane.
    fn bars(&self, bars: &mut Bars) -> bool {
        if bars.counted.is_some() {
            return false;
        }
        bars.counted = Some(self.gold.bars.iter().map(|&bar| bar.into() as f32).collect());
        true
    }

    fn count(&mut self, above: &[u32]) {
        self.above.iter_mut().zip(above).for_each(|(above, more)| *above += more);
    }

    fn take(&mut self, exact: &ExactScore) {
        let &ExactScore { row, lane, score, weight, is_counted } = exact;
        if is_counted {
            return;
        }
        let GoldTile { bars, places } = self.gold;
        let place = (row as u32, lane);
        let is_gold = places.binary_search_by_key(&place, |&(row, lane, _)| (row, lane)).is_ok();
        let score = f64::from(score);
        let bar = bars[lane].into();
        self.above[lane] += if score > bar && !is_gold { weight } else { 0 };
        self.tied[lane] += if score == bar || is_gold { weight } else { 0 };
    }

    fn finish(self) {
        for (([above, tied], more), same) in self.tally.iter().zip(self.above).zip(self.tied) {
            above.fetch_add(more.into(), Relaxed);
            tied.fetch_add(same.into(), Relaxed);
        }
    }
}
