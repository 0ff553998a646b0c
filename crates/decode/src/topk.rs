use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use dsokr_basis::Ranks;
use rayon::prelude::*;

use crate::scoring::{self, Blocking, LANES, QueryTile, Scores};
use crate::{CandidateBlocks, Candidates, Error, Queries};

/// A candidate and its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Index of the candidate ([`Candidates::id`]).
    pub candidate: usize,
    /// `⟨z, ψ̃(c)⟩ + b(c)`.
    pub score: f32,
}

/// A distinct candidate row and its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowHit {
    /// The distinct row.
    pub row: usize,
    /// `⟨z, ψ̃(c)⟩ + b(c)`.
    pub score: f32,
}

/// Distinct rows with a wanted candidate, of rows from a first one on.
pub(crate) struct WantedRows(Vec<(usize, Vec<bool>)>);

impl WantedRows {
    pub(crate) fn new(parts: impl IntoIterator<Item = (usize, Vec<bool>)>) -> Self {
        Self(parts.into_iter().collect())
    }

    pub(crate) fn has(&self, row: usize) -> bool {
        let part = |(first, rows): &(usize, Vec<bool>)| rows.get(row.checked_sub(*first)?).copied();
        self.0.iter().find_map(part).unwrap_or(false)
    }
}

/// The k best candidates of every query, best first, ties in the order of the candidates.
///
/// Runs on the current rayon pool; the result does not depend on its size.
///
/// # Errors
/// [`Error::OutOfRange`] for k = 0 and for fewer than k candidates; [`Error::Inconsistent`] for
/// queries and candidates of different dimensions; [`Error::TooFew`] for no candidates;
/// [`Error::NotFinite`] when a score overflows.
///
/// ```
/// use dsokr_decode::{CandidateParts, Candidates, Queries, top_k};
///
/// let ids = ["a", "b", "c"].map(String::from).to_vec();
/// let coordinates = vec![1.0, 0.0, 0.0, 1.0];
/// let class = vec![0, 1, 1];
/// let parts = CandidateParts { ids, class, dim: 2, coordinates, ..CandidateParts::default() };
/// let candidates = Candidates::new(parts)?;
/// let hits = top_k(&Queries::new(2, &[0.0, 2.0])?, &candidates, 2)?;
/// let found: Vec<_> = hits[0].iter().map(|hit| (candidates.id(hit.candidate), hit.score)).collect();
/// assert_eq!(found, [("b", 2.0), ("c", 2.0)]);
/// # Ok::<(), dsokr_decode::Error>(())
/// ```
pub fn top_k(queries: &Queries, candidates: &Candidates, k: usize) -> Result<Vec<Vec<Hit>>, Error> {
    check_k(k, candidates.len() as u64)?;
    // Rows are numbered in the order of their first candidates, so that k rows that come before
    // another one bring k candidates that come before all of its own: the k best rows suffice.
    let rows = top_rows(queries, candidates, k.min(candidates.distinct()))?;
    Ok(of_rows(rows, k, |row| candidates.members(row as u32)))
}

/// The k best candidates of each query from the k best rows, whose candidates `members` lists.
pub(crate) fn of_rows<'a>(
    rows: Vec<Vec<RowHit>>,
    k: usize,
    members: impl Fn(usize) -> Cow<'a, [u32]> + Sync,
) -> Vec<Vec<Hit>> {
    rows.into_par_iter()
        .map(|rows| {
            let members = |hit: RowHit| {
                let members = members(hit.row);
                let first = members.iter().take(k);
                first.map(|&candidate| (candidate, f64::from(hit.score))).collect::<Vec<_>>()
            };
            hits(best(rows.into_iter().flat_map(members).collect(), k))
        })
        .collect()
}

/// The k best distinct rows of every query, best first, ties in the order of the rows.
///
/// One heap of k entries a query, whatever the number of candidates; a row enters it only if it
/// beats the worst entry. Works on any source of blocks, in particular on files larger than
/// memory.
///
/// # Errors
/// As [`top_k`], with k at most the number of distinct rows; errors from fetching a block.
pub fn top_rows(
    queries: &Queries,
    candidates: &dyn CandidateBlocks,
    k: usize,
) -> Result<Vec<Vec<RowHit>>, Error> {
    top_rows_in(queries, candidates, k, None, Blocking::of(queries.dim()))
}

/// As [`top_rows`], of the rows that are wanted.
pub(crate) fn top_rows_in(
    queries: &Queries,
    candidates: &dyn CandidateBlocks,
    k: usize,
    wanted: Option<&WantedRows>,
    blocking: Blocking,
) -> Result<Vec<Vec<RowHit>>, Error> {
    scoring::check(queries, candidates)?;
    check_k(k, candidates.rows() as u64)?;
    let tiles = QueryTile::all_to_compare(queries, candidates, blocking);
    let tiles = Ranks::current().agree(tiles)?;
    let lists: Vec<Shortlist> = (0..queries.len()).map(|_| Shortlist::new(k)).collect();
    scoring::scan(&tiles, candidates, blocking, |pass| {
        let tile = pass.tile;
        let lists = &lists[tile.queries.clone()];
        let mut bars = vec![f32::INFINITY; tile.lanes];
        bars.iter_mut().zip(lists).for_each(|(bar, list)| *bar = list.bar() as f32);
        // nothing can be left out before the lists are full
        let full = bars.iter().all(|&bar| bar > f32::NEG_INFINITY);
        let offer = |row, lane: usize, score: f32, _| {
            if wanted.is_none_or(|wanted| wanted.has(row)) {
                lists[lane].offer(row, score.into());
            }
        };
        if full && pass.reach(&bars, offer)? {
            return Ok(());
        }
        pass.each(|scores| match look(&scores, lists, wanted) {
            true => Ok(()),
            false => scores.not_finite(queries, tile),
        })
    })?;
    Shortlist::merge(&lists)?;
    Ok(lists.into_par_iter().map(Shortlist::finish).collect())
}

pub(crate) fn check_k(k: usize, candidates: u64) -> Result<(), Error> {
    match (1..=candidates).contains(&(k as u64)) {
        true => Ok(()),
        false => Err(Error::out_of_range(
            format!("the top {k} candidates were asked for"),
            format!("1..={candidates}"),
        )),
    }
}

/// The k best of scored candidates, best first, ties by index.
pub(crate) fn best(mut scored: Vec<(u32, f64)>, k: usize) -> Vec<(u32, f64)> {
    let order = |a: &(u32, f64), b: &(u32, f64)| descending(a.1, b.1).then(a.0.cmp(&b.0));
    if k < scored.len() {
        scored.select_nth_unstable_by(k, order);
        scored.truncate(k);
    }
    scored.sort_unstable_by(order);
    scored
}

/// Hits with their scores rounded to f32.
pub(crate) fn hits(scored: Vec<(u32, f64)>) -> Vec<Hit> {
    let hit =
        |(candidate, score): (u32, f64)| Hit { candidate: candidate as usize, score: score as f32 };
    scored.into_iter().map(hit).collect()
}

/// Descending order of finite scores; 0 and −0 are equal, as they are for ranks.
fn descending(a: f64, b: f64) -> Ordering {
    b.partial_cmp(&a).unwrap_or(Ordering::Equal)
}

/// Offers the wanted ones of a tile of scores to the shortlists of its queries; false if a score is not finite.
fn look(scores: &Scores, lists: &[Shortlist], wanted: Option<&WantedRows>) -> bool {
    let mut largest = [0; LANES];
    for (group, lists) in lists.chunks(LANES).enumerate() {
        let mut bar = [f32::INFINITY; LANES];
        for (bar, list) in bar.iter_mut().zip(lists) {
            *bar = list.bar() as f32; // entries are f32 here
        }
        let rows = scores.products[group * LANES..].chunks(scores.lanes);
        for (at, (row, constant)) in rows.zip(scores.constants).enumerate() {
            let Some(row) = row.first_chunk::<LANES>() else {
                continue;
            };
            let mut reached = false;
            for lane in 0..LANES {
                let score = row[lane] + constant;
                reached |= score >= bar[lane];
                largest[lane] = largest[lane].max(score.to_bits() & 0x7FFF_FFFF);
            }
            if reached && wanted.is_none_or(|wanted| wanted.has(scores.first_row + at)) {
                for (lane, list) in lists.iter().enumerate() {
                    let score = row[lane] + constant;
                    if score >= bar[lane] {
                        bar[lane] = list.offer(scores.first_row + at, score.into()) as f32;
                    }
                }
            }
        }
    }
    largest.iter().all(|&bits| bits < f32::INFINITY.to_bits())
}

/// The best rows of one query so far, filled by several threads.
///
/// The order of entries is total (score, then row), so what remains does not depend on the order
/// in which rows are offered.
pub(crate) struct Shortlist {
    k: usize,
    /// Bits of the score that a row must reach; it only rises, so an old value is safe.
    bar: AtomicU64,
    heap: Mutex<BinaryHeap<Entry>>,
}

impl Shortlist {
    pub(crate) fn new(k: usize) -> Self {
        let bar = AtomicU64::new(f64::NEG_INFINITY.to_bits());
        Self { k, bar, heap: Mutex::default() }
    }

    /// The score that a row must reach to enter.
    pub(crate) fn bar(&self) -> f64 {
        f64::from_bits(self.bar.load(Relaxed))
    }

    /// Offers a row; returns the score that the next one must reach.
    pub(crate) fn offer(&self, row: usize, score: f64) -> f64 {
        let entry = Entry { score, row };
        let mut heap = self.heap.lock().unwrap_or_else(PoisonError::into_inner);
        if heap.len() < self.k {
            heap.push(entry);
        } else if let Some(mut worst) = heap.peek_mut()
            && entry < *worst
        {
            *worst = entry;
        }
        let bar = match heap.peek() {
            Some(worst) if heap.len() == self.k => worst.score,
            _ => f64::NEG_INFINITY,
        };
        self.bar.store(bar.to_bits(), Relaxed);
        bar
    }

    /// Offers the rows that each of several [`Ranks`] has found in its part to all of them.
    pub(crate) fn merge(lists: &[Self]) -> Result<(), Error> {
        let ranks = Ranks::current();
        if ranks.size() == 1 {
            return Ok(());
        }
        let mut own = Vec::new();
        for list in lists {
            let heap = list.heap.lock().unwrap_or_else(PoisonError::into_inner);
            own.push(heap.len() as u64);
            own.extend(heap.iter().flat_map(|entry| [entry.row as u64, entry.score.to_bits()]));
        }
        let mut all = ranks.gather_numbers(&own)?;
        all.remove(ranks.rank());
        for found in all {
            let mut found = found.into_iter();
            for list in lists {
                for _ in 0..found.next().unwrap_or(0) {
                    if let (Some(row), Some(score)) = (found.next(), found.next()) {
                        list.offer(row as usize, f64::from_bits(score));
                    }
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> Vec<RowHit> {
        let hit = |(row, score): (usize, f64)| RowHit { row, score: score as f32 };
        self.into_sorted().into_iter().map(hit).collect()
    }

    /// Rows and scores, best first.
    pub(crate) fn into_sorted(self) -> Vec<(usize, f64)> {
        let heap = self.heap.into_inner().unwrap_or_else(PoisonError::into_inner);
        heap.into_sorted_vec().into_iter().map(|entry| (entry.row, entry.score)).collect()
    }
}

/// An entry of a shortlist; the greatest is the worst one.
#[derive(Clone, Copy, Debug)]
struct Entry {
    score: f64,
    row: usize,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        descending(self.score, other.score).then(self.row.cmp(&other.row))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_first_rows_in_whatever_order_blocks_come() {
        let lists = [Shortlist::new(2), Shortlist::new(2)];
        for first_row in [8, 4, 0] {
            let mut products = vec![1.0; 4 * LANES];
            products[LANES + 1] = if first_row == 8 { 2.0 } else { 0.0 };
            let scores = Scores {
                products: &mut products,
                lanes: LANES,
                first_row,
                constants: &[0.0; 4],
                multiplicities: &[1; 4],
            };
            assert!(look(&scores, &lists, None));
        }
        let rows = lists.map(|list| list.finish().iter().map(|hit| hit.row).collect::<Vec<_>>());
        assert_eq!(rows, [[0, 1], [9, 0]]);
    }
}
