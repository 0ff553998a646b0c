use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use crate::error::check_len;
use crate::scoring::{self, Blocking, LANES, QueryTile, Scores};
use crate::{CandidateBlocks, Error, Queries};

/// Where the gold candidate of a query stands among its candidates, ties included.
///
/// With b candidates above the gold one and k tied with it (itself included), the rank in a
/// random order of the ties is uniform on b + 1, …, b + k.
///
/// ```
/// use dsokr_decode::Rank;
///
/// let rank = Rank::new(1, 2, 10)?; // second or third of ten
/// assert_eq!(rank.expected_rank(), 2.5);
/// assert_eq!(rank.expected_reciprocal(), (1.0 / 2.0 + 1.0 / 3.0) / 2.0);
/// assert_eq!(rank.expected_hit(2), 0.5);
/// # Ok::<(), dsokr_decode::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rank {
    above: u64,
    tied: u64,
    pool: u64,
}

impl Rank {
    /// `above` candidates score higher, `tied` the same (itself included), of `pool`.
    ///
    /// # Errors
    /// [`Error::Inconsistent`] unless `1 <= tied` and `above + tied <= pool`.
    pub fn new(above: u64, tied: u64, pool: u64) -> Result<Self, Error> {
        match above.checked_add(tied) {
            Some(reached) if tied >= 1 && reached <= pool => Ok(Self { above, tied, pool }),
            _ => Err(Error::Inconsistent(format!(
                "rank with {above} above and {tied} tied of {pool}: needs 1 <= tied and \
                 above + tied <= pool"
            ))),
        }
    }

    /// The rank of a candidate with score `bar` among scores that several candidates share, its own
    /// included.
    pub(crate) fn among(
        scores: impl Iterator<Item = (f64, u32)>,
        bar: f64,
        pool: u64,
    ) -> Result<Self, Error> {
        let (mut above, mut tied) = (0, 0);
        for (score, count) in scores {
            above += if score > bar { u64::from(count) } else { 0 };
            tied += if score == bar { u64::from(count) } else { 0 };
        }
        Self::new(above, tied, pool)
    }

    /// The rank among fewer candidates: without `above` of those above the gold one, `tied` of those
    /// tied with it, and `pool` in all.
    ///
    /// # Errors
    /// [`Error::Inconsistent`] for more than there are.
    pub fn without(&self, above: u64, tied: u64, pool: u64) -> Result<Self, Error> {
        let left = |all: u64, less: u64| {
            all.checked_sub(less).ok_or_else(|| {
                Error::Inconsistent(format!("{less} candidates are left out of {all}"))
            })
        };
        Self::new(left(self.above, above)?, left(self.tied, tied)?, left(self.pool, pool)?)
    }

    /// Candidates with a higher score than the gold one, b.
    pub fn above(&self) -> u64 {
        self.above
    }

    /// Candidates with the score of the gold one, itself included, k ≥ 1.
    pub fn tied(&self) -> u64 {
        self.tied
    }

    /// Candidates of the query, duplicates counted.
    pub fn pool(&self) -> u64 {
        self.pool
    }

    /// `E[rank] = b + (k + 1) / 2`.
    pub fn expected_rank(&self) -> f64 {
        self.above as f64 + (self.tied as f64 + 1.0) / 2.0
    }

    /// `E[1/rank] = (1/k) Σ_{i=1..k} 1/(b + i)`.
    ///
    /// Exact up to rounding; takes constant time however many are tied.
    pub fn expected_reciprocal(&self) -> f64 {
        reciprocals(self.above, self.tied) / self.tied as f64
    }

    /// `E[hit@K] = clip((K − b) / k, 0, 1)`, the probability that the rank is at most K.
    pub fn expected_hit(&self, k: u64) -> f64 {
        (k.saturating_sub(self.above) as f64 / self.tied as f64).min(1.0)
    }
}

/// `Σ_{i=1..k} 1/(b + i) = H(b + k) − H(b)`: small terms one by one, the rest by the
/// Euler–Maclaurin expansion of the harmonic numbers, `ln n + γ + 1/2n − 1/12n² + 1/120n⁴`, which is
/// off by less than `1/252n⁶`.
fn reciprocals(b: u64, k: u64) -> f64 {
    const EXPAND_FROM: u64 = 256;
    let end = b + k;
    let start = b.max(EXPAND_FROM).min(end);
    let listed: f64 = (b + 1..=start).rev().map(|rank| 1.0 / rank as f64).sum();
    if start == end {
        return listed;
    }
    let (from, to) = (start as f64, end as f64);
    let tail = |n: f64| (0.5 - (1.0 / 12.0 - 1.0 / (120.0 * n * n)) / n) / n;
    listed + (((to - from) / from).ln_1p() + (tail(to) - tail(from)))
}

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
    let tiles = QueryTile::all(queries, blocking);
    let golds: Vec<GoldTile> = tiles
        .par_iter()
        .map(|tile| GoldTile::new(queries, tile, gold, candidates))
        .collect::<Result<_, _>>()?;
    let counts: Vec<[AtomicU64; 2]> = gold.iter().map(|_| Default::default()).collect();

    scoring::scan(&tiles, candidates, blocking, |pass| {
        let tile = pass.tile;
        let gold = &golds[tile.queries.start / blocking.queries];
        let mut counter = Counter::new(tile.lanes);
        pass.each(|mut scores| {
            gold.place(&mut scores);
            match counter.count(&scores, &gold.scores) {
                true => Ok(()),
                false => scores.not_finite(queries, tile),
            }
        })?;
        for (lane, [above, tied]) in counts[tile.queries.clone()].iter().enumerate() {
            above.fetch_add(counter.above[lane].into(), Relaxed);
            tied.fetch_add(counter.tied[lane].into(), Relaxed);
        }
        Ok(())
    })?;

    let pool = candidates.candidates();
    gold.iter()
        .zip(counts)
        .map(|(gold, counts)| {
            let [above, tied] = counts.map(AtomicU64::into_inner);
            gold.map(|_| Rank::new(above, tied, pool)).transpose()
        })
        .collect()
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
struct GoldTile {
    /// Score with the constant; infinite, which nothing reaches, for lanes without a gold one.
    scores: Vec<f32>,
    /// Row, lane and product (the score without the constant), by row.
    places: Vec<(u32, usize, f32)>,
}

impl GoldTile {
    /// Scores the gold rows by the same routine as all others.
    fn new(
        queries: &Queries,
        tile: &QueryTile,
        gold: &[Option<u32>],
        candidates: &dyn CandidateBlocks,
    ) -> Result<Self, Error> {
        let mut scores = vec![f32::INFINITY; tile.lanes];
        let mut places = Vec::new();
        let mut coordinates = Vec::new();
        let mut constants = Vec::new();
        for (lane, gold) in gold[tile.queries.clone()].iter().enumerate() {
            if let &Some(row) = gold {
                let block = scoring::fetch(candidates, row as usize..row as usize + 1)?;
                coordinates.extend_from_slice(&block.coordinates);
                constants.extend_from_slice(&block.constants);
                places.push((row, lane, 0.0));
            }
        }
        if places.is_empty() {
            return Ok(Self { scores, places });
        }
        let mut products = Vec::new();
        scoring::product(tile, queries.dim(), &coordinates, &mut products);
        for (at, (row, lane, product)) in places.iter_mut().enumerate() {
            *product = products[at * tile.lanes + *lane];
            let score = *product + constants[at];
            if !score.is_finite() {
                let query = tile.queries.start + *lane;
                return Err(scoring::not_finite(queries, query, *row as usize, score));
            }
            scores[*lane] = score;
        }
        places.sort_unstable_by_key(|&(row, lane, _)| (row, lane));
        Ok(Self { scores, places })
    }

    /// Puts the gold products where they belong in a tile of scores: the gold row ties by
    /// identity, not because two computations agree.
    fn place(&self, scores: &mut Scores) {
        let (start, rows) = (scores.first_row, scores.constants.len());
        let first = self.places.partition_point(|&(row, ..)| (row as usize) < start);
        for &(row, lane, product) in &self.places[first..] {
            match row as usize - start {
                at if at < rows => scores.products[at * scores.lanes + lane] = product,
                _ => break,
            }
        }
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

    /// Adds a tile of scores; false if one of them is not finite.
    ///
    /// Lane after lane in fixed groups, so that the counters of a group stay in registers.
    pub(crate) fn count(&mut self, scores: &Scores, gold: &[f32]) -> bool {
        let mut largest = [0; LANES];
        let groups = self.above.as_chunks_mut().0.iter_mut().zip(self.tied.as_chunks_mut().0);
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gold_row_ties_by_identity() {
        let gold = GoldTile { scores: vec![1.5; LANES], places: vec![(7, 3, 1.0), (9, 3, 8.0)] };
        let scores_of = |products: &mut [f32], gold: &GoldTile| {
            let mut scores = Scores {
                products,
                lanes: LANES,
                first_row: 6,
                constants: &[0.5; 3],
                multiplicities: &[1, 2, 4],
            };
            gold.place(&mut scores);
            let mut counter = Counter::new(LANES);
            assert!(counter.count(&scores, &gold.scores));
            counter
        };
        // Row 7 would be above lane 3 by a rounding error; row 9 lies beyond the block.
        let mut products = vec![1.0 + f32::EPSILON; 3 * LANES];
        let counter = scores_of(&mut products, &gold);
        assert_eq!((counter.above[3], counter.tied[3]), (5, 2));
        assert_eq!((counter.above[4], counter.tied[4]), (7, 0));
    }
}
