use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use dsokr_basis::Ranks;
use rayon::prelude::*;

use crate::error::check_len;
use crate::scoring::{self, Blocking, LANES, QueryTile, Scores};
use crate::{CandidateBlocks, Error, Queries, Rank};

/// Ranks the gold candidate of every query among all candidates, exactly, in one pass.
///
/// `gold[q]` is the distinct row of the gold candidate of query q ([`Candidates::class_of`]); a
/// query with `None` has none and gets `None`. A candidate is above the gold one if its score
/// `⟨z, ψ̃(c)⟩ + b(c)` in f32 is greater, tied if it is equal; all candidates that share the gold
/// row are tied, whatever the scores. The result does not depend on the number of threads or on
/// how the candidates are cut into blocks. Runs on the current rayon pool; memory beyond the
/// blocks is O(qp).
///
/// # Errors
/// [`Error::Inconsistent`] for queries and candidates of different dimensions; [`Error::TooFew`] for
/// no candidates; [`Error::Length`] unless there is one gold entry a query; [`Error::OutOfRange`] for
/// a gold row that does not exist; [`Error::NotFinite`] when a score overflows; errors from fetching
/// a block.
///
/// ```
/// use dsokr_decode::{CandidateParts, Candidates, Queries, rank};
///
/// let ids = ["a", "b", "c"].map(String::from).to_vec();
/// // b and c are the same point.
/// let coordinates = vec![1.0, 0.0, 0.0, 1.0];
/// let class = vec![0, 1, 1];
/// let parts = CandidateParts { ids, class, dim: 2, coordinates, ..CandidateParts::default() };
/// let candidates = Candidates::new(parts)?;
/// let queries = Queries::new(2, &[0.9, 0.1])?;
/// let ranks = rank(&queries, &[candidates.find("c").map(|c| candidates.class_of(c))], &candidates)?;
/// let rank = ranks[0].expect("c is a candidate");
/// assert_eq!((rank.above(), rank.tied(), rank.pool()), (1, 2, 3));
/// # Ok::<(), dsokr_decode::Error>(())
/// ```
///
/// [`Candidates::class_of`]: crate::Candidates::class_of
pub fn rank(
    queries: &Queries,
    gold: &[Option<u32>],
    candidates: &dyn CandidateBlocks,
) -> Result<Vec<Option<Rank>>, Error> {
    rank_in(queries, gold, candidates, Blocking::of(queries.dim()))
}

pub(crate) fn rank_in(
    queries: &Queries,
    gold: &[Option<u32>],
    candidates: &dyn CandidateBlocks,
    blocking: Blocking,
) -> Result<Vec<Option<Rank>>, Error> {
    scoring::check(queries, candidates)?;
    check_gold(queries, gold, candidates.rows())?;
    let prepared = QueryTile::all_to_compare(queries, candidates, blocking).and_then(|tiles| {
        let gold_tile = |tile| gold_tile(queries, tile, gold, candidates);
        let golds: Vec<GoldTile<f32>> =
            tiles.par_iter().map(gold_tile).collect::<Result<_, _>>()?;
        Ok((tiles, golds))
    });
    let (tiles, golds) = Ranks::current().agree(prepared)?;
    let tally = Tally::new(queries.len());

    scoring::scan(&tiles, candidates, blocking, |pass| {
        let tile = pass.tile;
        let golds = &golds[tile.queries.start / blocking.queries];
        let (mut counter, mut doubtful) = (Counter::new(tile.lanes), Counter::new(tile.lanes));
        let bars = &golds.bars;
        let decided = pass.decide(bars, &mut counter.above, |row, lane, score, weight| {
            let own = gold[tile.queries.start + lane] == Some(row as u32);
            doubtful.above[lane] += if score > bars[lane] && !own { weight } else { 0 };
            doubtful.tied[lane] += if score == bars[lane] || own { weight } else { 0 };
        })?;
        if decided {
            tally.add(tile.queries.clone(), &doubtful);
        } else {
            pass.each(|scores| {
                golds.place(
                    scores.first_row..scores.first_row + scores.constants.len(),
                    scores.products,
                );
                match count(&scores, &golds.bars, &mut counter) {
                    true => Ok(()),
                    false => scores.not_finite(queries, tile),
                }
            })?;
        }
        tally.add(tile.queries.clone(), &counter);
        Ok(())
    })?;
    tally.ranks(gold, candidates.candidates())
}

pub(crate) fn check_gold(
    queries: &Queries,
    gold: &[Option<u32>],
    rows: usize,
) -> Result<(), Error> {
    check_len("gold entries", gold.len(), queries.len())?;
    for (query, gold) in gold.iter().enumerate() {
        if let &Some(row) = gold
            && row as usize >= rows
        {
            return Err(Error::out_of_range(
                format!("query {}: gold row {row}", queries.name(query)),
                format!("0..{rows}, the distinct rows"),
            ));
        }
    }
    Ok(())
}

/// The gold candidates of a tile of queries.
pub(crate) struct GoldTile<T> {
    /// Scores to be compared with; infinite, which nothing reaches, for lanes without a gold candidate.
    pub bars: Vec<T>,
    /// Row, lane and what stands for the gold candidate in a table of the tile, by row.
    pub places: Vec<(u32, usize, T)>,
}

impl<T: Copy> GoldTile<T> {
    /// Puts the gold candidates where they belong in the table of some rows, `[row · lanes + lane]`: the
    /// gold row ties by identity, not because two computations agree.
    pub(crate) fn place(&self, rows: Range<usize>, table: &mut [T]) {
        let first = self.places.partition_point(|&(row, ..)| (row as usize) < rows.start);
        for &(row, lane, value) in &self.places[first..] {
            if row as usize >= rows.end {
                break;
            }
            table[(row as usize - rows.start) * self.bars.len() + lane] = value;
        }
    }
}

/// Scores the gold rows by the same routine as all others. What stands in the table are products, the
/// scores without their constants.
fn gold_tile(
    queries: &Queries,
    tile: &QueryTile,
    gold: &[Option<u32>],
    candidates: &dyn CandidateBlocks,
) -> Result<GoldTile<f32>, Error> {
    let (mut bars, mut places) = (vec![f32::INFINITY; tile.lanes], Vec::new());
    let (mut coordinates, mut constants) = (Vec::new(), Vec::new());
    for (lane, gold) in gold[tile.queries.clone()].iter().enumerate() {
        if let &Some(row) = gold {
            let block = scoring::fetch(candidates, row as usize..row as usize + 1)?;
            coordinates.extend_from_slice(&block.coordinates);
            constants.extend_from_slice(&block.constants);
            places.push((row, lane, 0.0));
        }
    }
    let mut products = Vec::new();
    if !places.is_empty() {
        scoring::product(tile, queries.dim(), &coordinates, &mut products);
    }
    for (at, (row, lane, product)) in places.iter_mut().enumerate() {
        *product = products[at * tile.lanes + *lane];
        let score = *product + constants[at];
        if !score.is_finite() {
            let query = tile.queries.start + *lane;
            return Err(scoring::not_finite(queries, query, *row as usize, score));
        }
        bars[*lane] = score;
    }
    places.sort_unstable_by_key(|&(row, lane, _)| (row, lane));
    Ok(GoldTile { bars, places })
}

/// Candidates above and tied with the gold one of each query, counted by several threads.
pub(crate) struct Tally(Vec<[AtomicU64; 2]>);

impl Tally {
    pub(crate) fn new(queries: usize) -> Self {
        Self((0..queries).map(|_| Default::default()).collect())
    }

    /// Adds what was counted of some queries.
    pub(crate) fn add(&self, queries: Range<usize>, counter: &Counter) {
        for (lane, [above, tied]) in self.0[queries].iter().enumerate() {
            above.fetch_add(counter.above[lane].into(), Relaxed);
            tied.fetch_add(counter.tied[lane].into(), Relaxed);
        }
    }

    /// The ranks of the gold candidates among `pool` candidates, of which each of several [`Ranks`] has
    /// counted its part.
    pub(crate) fn ranks(self, gold: &[Option<u32>], pool: u64) -> Result<Vec<Option<Rank>>, Error> {
        let counts = self.0.into_iter().flatten();
        let mut counts: Vec<u64> = counts.map(AtomicU64::into_inner).collect();
        Ranks::current().sum(&mut counts)?;
        let rank = |(gold, &[above, tied]): (&Option<u32>, &[u64; 2])| {
            gold.map(|_| Rank::new(above, tied, pool)).transpose()
        };
        gold.iter().zip(counts.as_chunks().0).map(rank).collect()
    }
}

/// Candidates above and tied with the gold one, a pair of counters a lane.
pub(crate) struct Counter {
    pub above: Vec<u32>,
    pub tied: Vec<u32>,
}

impl Counter {
    pub(crate) fn new(lanes: usize) -> Self {
        Self { above: vec![0; lanes], tied: vec![0; lanes] }
    }
}

/// Counts a tile of scores; false if one of them is not finite.
///
/// Lane after lane in fixed groups, so that the counters of a group stay in registers.
fn count(scores: &Scores, gold: &[f32], counter: &mut Counter) -> bool {
    let mut largest = [0; LANES];
    let groups = counter.above.as_chunks_mut().0.iter_mut().zip(counter.tied.as_chunks_mut().0);
    for (group, ((above, tied), gold)) in groups.zip(gold.as_chunks().0).enumerate() {
        let gold: &[f32; LANES] = gold;
        let mut counts: ([u32; LANES], [u32; LANES]) = (*above, *tied);
        let rows = scores.products[group * LANES..].chunks(scores.lanes);
        let weights = scores.constants.iter().zip(scores.multiplicities);
        for (row, (constant, &weight)) in rows.zip(weights) {
            let Some(row) = row.first_chunk::<LANES>() else {
                continue;
            };
            for lane in 0..LANES {
                let score = row[lane] + constant;
                counts.0[lane] += if score > gold[lane] { weight } else { 0 };
                counts.1[lane] += if score == gold[lane] { weight } else { 0 };
                // Without the sign, the bits of ∞ and NaN are the largest integers.
                largest[lane] = largest[lane].max(score.to_bits() & 0x7FFF_FFFF);
            }
        }
        (*above, *tied) = counts;
    }
    largest.iter().all(|&bits| bits < f32::INFINITY.to_bits())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gold_row_ties_by_identity() {
        let gold = GoldTile { bars: vec![1.5; LANES], places: vec![(7, 3, 1.0), (9, 3, 8.0)] };
        let scores_of = |products: &mut [f32], gold: &GoldTile<f32>| {
            let scores = Scores {
                products,
                lanes: LANES,
                first_row: 6,
                constants: &[0.5; 3],
                multiplicities: &[1, 2, 4],
            };
            gold.place(6..9, scores.products);
            let mut counter = Counter::new(LANES);
            assert!(count(&scores, &gold.bars, &mut counter));
            counter
        };
        // Row 7 would be above lane 3 by a rounding error; row 9 lies beyond the block.
        let mut products = vec![1.0 + f32::EPSILON; 3 * LANES];
        let counter = scores_of(&mut products, &gold);
        assert_eq!((counter.above[3], counter.tied[3]), (5, 2));
        assert_eq!((counter.above[4], counter.tied[4]), (7, 0));
    }
}
