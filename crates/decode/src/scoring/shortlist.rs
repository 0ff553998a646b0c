//! The best rows of each query.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use dsokr_core::{Error, Processes};
use rayon::prelude::*;

use super::pass::ExactScore;
use super::reduce::{Reduce, Score};
use super::tile::QueryTile;
use crate::codes::{Bars, LANES};

/// Distinct rows with a wanted candidate, of rows from a first one on.
pub(crate) struct WantedRows(pub Vec<(usize, Vec<bool>)>);

impl WantedRows {
    pub(crate) fn has(&self, row: usize) -> bool {
        let part = |(first, rows): &(usize, Vec<bool>)| rows.get(row.checked_sub(*first)?).copied();
        self.0.iter().find_map(part).unwrap_or(false)
    }
}

/// Keeps the k best wanted rows of each query, ties in the order of the rows.
pub(crate) struct TopK<'w> {
    lists: Vec<Shortlist>,
    wanted: Option<&'w WantedRows>,
}

impl<'w> TopK<'w> {
    pub(crate) fn new(queries: usize, k: usize, wanted: Option<&'w WantedRows>) -> Self {
        Self { lists: (0..queries).map(|_| Shortlist::new(k)).collect(), wanted }
    }

    /// Returns the reducer for a tile of queries.
    pub(crate) fn tile(&self, tile: &QueryTile) -> TopTile<'_> {
        let Self { lists, wanted } = self;
        TopTile { lists: &lists[tile.queries.clone()], lanes: tile.lanes, wanted: *wanted }
    }

    /// Returns the rows of all queries with their scores, best first. Each of several [`Processes`] has found the rows
    /// of its part.
    pub(crate) fn finish(self, processes: &Processes) -> Result<Vec<Vec<(usize, f64)>>, Error> {
        Shortlist::merge(processes, &self.lists)?;
        Ok(self.lists.into_par_iter().map(Shortlist::into_sorted).collect())
    }
}

/// The lists of a tile of queries.
pub(crate) struct TopTile<'l> {
    lists: &'l [Shortlist],
    lanes: usize,
    wanted: Option<&'l WantedRows>,
}

impl TopTile<'_> {
    fn wants(&self, row: usize) -> bool {
        self.wanted.is_none_or(|wanted| wanted.has(row))
    }
}

/// The lists of a group of lanes, and the scores that a row must reach.
pub(crate) struct TopGroup<'l, S> {
    lists: &'l [Shortlist],
    bars: [S; LANES],
}

impl<'l, S: Score> Reduce<S> for TopTile<'l> {
    type Group = TopGroup<'l, S>;

    fn open(&self, group: usize) -> Self::Group {
        let first = (group * LANES).min(self.lists.len());
        let lists = &self.lists[first..self.lists.len().min(first + LANES)];
        let mut bars = [S::from(f32::INFINITY); LANES];
        bars.iter_mut().zip(lists).for_each(|(bar, list)| *bar = S::kept(list.bar()));
        TopGroup { lists, bars }
    }

    #[inline(always)]
    fn row(&self, kept: &mut Self::Group, row: usize, scores: &[S; LANES], _weight: u32) {
        let TopGroup { lists, bars } = kept;
        let mut reached = false;
        for lane in 0..LANES {
            reached |= scores[lane] >= bars[lane];
        }
        if reached && self.wants(row) {
            *bars = offered(lists, *bars, row, *scores);
        }
    }

    /// Returns whether the lists are full: nothing can be left out before.
    fn bars(&self, bars: &mut Bars) -> bool {
        if self.lists.iter().any(|list| list.bar() == f64::NEG_INFINITY) {
            return false;
        }
        let reached = bars.reached.get_or_insert_with(|| vec![f32::INFINITY; self.lanes]);
        for (bar, list) in reached.iter_mut().zip(self.lists) {
            *bar = bar.min(list.bar() as f32);
        }
        true
    }

    fn take(&mut self, exact: &ExactScore) {
        let list = &self.lists[exact.lane];
        let score = f64::from(exact.score);
        if score >= list.bar() && self.wants(exact.row) {
            list.offer(exact.row, score);
        }
    }
}

/// Returns the bars after a row is offered to each list whose bar it reaches. By value, so that both stay in registers
/// where none is.
#[cold]
#[inline(never)]
fn offered<S: Score>(
    lists: &[Shortlist],
    mut bars: [S; LANES],
    row: usize,
    scores: [S; LANES],
) -> [S; LANES] {
    for (list, (bar, score)) in lists.iter().zip(bars.iter_mut().zip(scores)) {
        if score >= *bar {
            *bar = S::kept(list.offer(row, score.into()));
        }
    }
    bars
}

/// Returns the best `k` wanted rows of all and their scores, best first.
pub(crate) fn leading(scores: &[f64], k: usize, wanted: Option<&WantedRows>) -> Vec<(usize, f64)> {
    let list = Shortlist::new(k.min(scores.len()));
    let mut bar = list.bar();
    for (row, &score) in scores.iter().enumerate() {
        if score >= bar && wanted.is_none_or(|wanted| wanted.has(row)) {
            bar = list.offer(row, score);
        }
    }
    list.into_sorted()
}

/// Returns the first `k` of some things in a total order, or all.
pub(crate) fn first_by<T>(
    mut all: Vec<T>,
    k: usize,
    order: impl Fn(&T, &T) -> Ordering + Copy,
) -> Vec<T> {
    if k < all.len() {
        all.select_nth_unstable_by(k, order);
        all.truncate(k);
    }
    all.sort_unstable_by(order);
    all
}

/// Compares finite scores for a descending order; 0 and −0 are equal, as they are for ranks.
pub(crate) fn descending(a: f64, b: f64) -> Ordering {
    b.partial_cmp(&a).unwrap_or(Ordering::Equal)
}

/// The best rows of one query so far, filled by several threads.
///
/// The order of entries is total (score, then row), so what remains does not depend on the order
/// in which rows are offered.
pub(crate) struct Shortlist {
    k: usize,
    /// Bits of the score that a row must reach; it only rises, so an old value is safe.
    bar: AtomicU64,
    /// Rows, each as a number that falls as its score rises, the row, and the bits of the score; the greatest is the worst.
    heap: Mutex<BinaryHeap<(u64, usize, u64)>>,
}

impl Shortlist {
    pub(crate) fn new(k: usize) -> Self {
        let bar = AtomicU64::new(f64::NEG_INFINITY.to_bits());
        Self { k, bar, heap: Mutex::default() }
    }

    /// Returns the score that a row must reach to enter.
    pub(crate) fn bar(&self) -> f64 {
        f64::from_bits(self.bar.load(Relaxed))
    }

    /// Offers a row; returns the score that the next one must reach.
    pub(crate) fn offer(&self, row: usize, score: f64) -> f64 {
        let entry = (falling(score), row, score.to_bits());
        let mut heap = self.heap.lock().unwrap_or_else(PoisonError::into_inner);
        if heap.len() < self.k {
            heap.push(entry);
        } else if let Some(mut worst) = heap.peek_mut()
            && entry < *worst
        {
            *worst = entry;
        }
        let bar = match heap.peek() {
            Some(&(.., worst)) if heap.len() == self.k => worst,
            _ => f64::NEG_INFINITY.to_bits(),
        };
        self.bar.store(bar, Relaxed);
        f64::from_bits(bar)
    }

    /// Offers the rows that each of several [`Processes`] has found in its part to all of them.
    pub(crate) fn merge(processes: &Processes, lists: &[Self]) -> Result<(), Error> {
        if processes.size() == 1 {
            return Ok(());
        }
        let mut packed = Vec::new();
        for list in lists {
            let heap = list.heap.lock().unwrap_or_else(PoisonError::into_inner);
            packed.push(heap.len() as u64);
            packed.extend(heap.iter().flat_map(|&(_, row, score)| [row as u64, score]));
        }
        let mut all = processes.gather_numbers(&packed)?;
        all.remove(processes.rank());
        for rank_lists in all {
            let mut numbers = rank_lists.into_iter();
            for list in lists {
                for _ in 0..numbers.next().unwrap_or(0) {
                    if let Some(row) = numbers.next()
                        && let Some(score) = numbers.next()
                    {
                        list.offer(row as usize, f64::from_bits(score));
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns rows and scores, best first.
    pub(crate) fn into_sorted(self) -> Vec<(usize, f64)> {
        let heap = self.heap.into_inner().unwrap_or_else(PoisonError::into_inner);
        let sorted = heap.into_sorted_vec().into_iter();
        sorted.map(|(_, row, score)| (row, f64::from_bits(score))).collect()
    }
}

/// Returns an integer that falls as the score rises; −0 is 0, as it is for ranks.
fn falling(score: f64) -> u64 {
    let bits = (score + 0.0).to_bits();
    if bits >> 63 == 0 { (u64::MAX >> 1) - bits } else { bits }
}
