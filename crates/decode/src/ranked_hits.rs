//! The ranks of the best wanted candidates of a query among all candidates.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use dsokr_core::{Error, Processes};

use crate::blocks::CandidateBlocks;
use crate::classes::Classes;
use crate::hits::check_k;
use crate::queries::Queries;
use crate::scoring::{self, Blocking, LANES, QueryTile, Reduce, TopK, WantedRows, leading, scan};

/// The most rows of several queries that are found at once.
const HITS: usize = 1 << 17;

/// A distinct row of candidates, with its place among all candidates.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedHit {
    /// The candidates of the row: the first that is wanted, then the others in their order, wanted or not.
    pub candidates: Vec<u32>,
    /// The score of the candidates.
    pub score: f32,
    /// Number of candidates with a higher score.
    pub above: u64,
    /// Number of candidates of other rows with the same score.
    pub tied: u64,
    /// The score minus the score of the next candidate of a different row; none for the last one.
    pub gap: Option<f32>,
}

/// The best wanted candidates of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedHits {
    /// The hits, best first, ties in the order of the rows.
    pub hits: Vec<RankedHit>,
    /// The gap of the best candidate of all, wanted or not.
    pub gap: Option<f32>,
}

/// Returns whether each row has a wanted candidate.
pub(crate) fn wanted_rows(classes: &Classes, wanted: &[bool]) -> Vec<bool> {
    let mut rows = vec![false; classes.rows];
    let candidates = wanted.iter().enumerate().filter(|(_, wanted)| **wanted);
    candidates.for_each(|(candidate, _)| rows[classes.row_of_candidate(candidate) as usize] = true);
    rows
}

/// Returns the first k candidates of a row, with the first wanted one at the start.
pub(crate) fn wanted_first(members: &[u32], wanted: Option<&[bool]>, k: usize) -> Vec<u32> {
    let is_wanted = |&member: &u32| wanted.is_none_or(|wanted| wanted[member as usize]);
    let first = members.iter().position(is_wanted).unwrap_or(0);
    let others =
        members.iter().enumerate().filter(|&(at, _)| at != first).map(|(_, member)| member);
    members.get(first).into_iter().chain(others).take(k).copied().collect()
}

/// Scores of rows, descending, each once. A candidate is above all of them, has the first, lies between it and the
/// second, and so on: these are the slots of a [`Ladder`].
struct Steps(Vec<f64>);

impl Steps {
    /// Creates the scores of rows, best first.
    fn from_rows(rows: &[(usize, f64)]) -> Self {
        let mut steps: Vec<f64> = rows.iter().map(|&(_, score)| score).collect();
        steps.dedup();
        Self(steps)
    }

    fn slot(&self, score: f64) -> usize {
        let at = self.0.partition_point(|&step| step > score);
        2 * at + usize::from(self.0.get(at) == Some(&score))
    }
}

/// The counts of each slot.
struct Slots {
    /// Number of candidates.
    counts: Vec<u64>,
    /// The highest score in each slot.
    highest: Vec<f64>,
}

impl Slots {
    /// Empty ones.
    fn new(steps: &Steps) -> Self {
        let count = 2 * steps.0.len() + 1;
        Self { counts: vec![0; count], highest: vec![f64::NEG_INFINITY; count] }
    }

    fn add(&mut self, slot: usize, candidates: u64, score: f64) {
        self.counts[slot] += candidates;
        self.highest[slot] = self.highest[slot].max(score);
    }
}

/// How many candidates have each of some scores, or lie between them.
pub(crate) struct Ladder {
    steps: Steps,
    slots: Slots,
}

impl Ladder {
    /// Creates the scores of rows, best first.
    pub(crate) fn from_rows(rows: &[(usize, f64)]) -> Self {
        let steps = Steps::from_rows(rows);
        let slots = Slots::new(&steps);
        Self { steps, slots }
    }

    pub(crate) fn count(&mut self, score: f64, candidates: u32) {
        self.slots.add(self.steps.slot(score), candidates.into(), score);
    }

    /// Adds up what each of several [`Processes`] has counted.
    fn merge(processes: &Processes, ladders: &mut [Self]) -> Result<(), Error> {
        if processes.size() == 1 {
            return Ok(());
        }
        let counts = ladders.iter().flat_map(|ladder| ladder.slots.counts.iter().copied());
        let mut sums: Vec<u64> = counts.collect();
        processes.sum(&mut sums)?;
        let highest = ladders.iter().flat_map(|ladder| ladder.slots.highest.iter().copied());
        let all = processes.gather_numbers(&highest.collect::<Vec<f64>>())?;
        let slots = ladders.iter_mut().map(|ladder| &mut ladder.slots);
        let slots = slots.flat_map(|slots| slots.counts.iter_mut().zip(&mut slots.highest));
        for (at, (count, highest)) in slots.enumerate() {
            *count = sums[at];
            *highest = all.iter().map(|all| all[at]).fold(*highest, f64::max);
        }
        Ok(())
    }

    /// Returns the numbers of candidates above and of a score, and the next score below.
    fn place(&self, score: f64) -> (u64, u64, Option<f64>) {
        let Slots { counts, highest } = &self.slots;
        let at = self.steps.slot(score);
        let next = (at + 1..counts.len()).find(|&next| counts[next] > 0);
        (counts[..at].iter().sum(), counts[at], next.map(|next| highest[next]))
    }
}

/// The best rows of a query and how many candidates are around them.
pub(crate) struct Found {
    /// The wanted rows at the places that are asked for, best first.
    pub rows: Vec<(usize, f64)>,
    pub ladder: Ladder,
    /// The two best rows of all.
    pub first: Vec<(usize, f64)>,
}

impl Found {
    /// Returns the ranked hits with the candidates of each row, the first wanted one first. `shown` gives the score
    /// that answers show.
    pub(crate) fn ranked_hits(
        self,
        shown: impl Fn(f64) -> f64,
        members: &HashMap<usize, Vec<u32>>,
    ) -> RankedHits {
        let shown = |score| shown(score) as f32;
        let standing = |&(row, score): &(usize, f64)| {
            let candidates = members.get(&row).cloned().unwrap_or_default();
            let (above, same, next) = self.ladder.place(score);
            // a second pass may have scored the row itself with a different last bit
            let tied = same.saturating_sub(candidates.len() as u64);
            let next = if tied > 0 { Some(score) } else { next };
            let gap = next.map(|next| shown(score) - shown(next));
            RankedHit { candidates, score: shown(score), above, tied, gap }
        };
        let hits = self.rows.iter().map(standing).collect();
        let gap = match self.first[..] {
            [(_, best), (_, next), ..] => Some(shown(best) - shown(next)),
            _ => None,
        };
        RankedHits { hits, gap }
    }
}

/// Returns the best wanted rows of each query at some places, in blocks of candidates that are scored twice. Memory is
/// proportional to the rows, whatever the number of candidates. Each of the processes scores its rows.
pub(crate) fn find(
    processes: &Processes,
    queries: &Queries,
    candidates: &dyn CandidateBlocks,
    wanted: Option<&WantedRows>,
    places: Range<usize>,
) -> Result<Vec<Found>, Error> {
    let blocking = Blocking::for_dim(queries.dim());
    let all = candidates.rows();
    let last = places.end.min(candidates.rows());
    scoring::check(queries, candidates)?;
    check_k(last, all as u64)?;
    let mut searched = Vec::with_capacity(queries.len());
    let size = (HITS / last).max(1);
    for start in (0..queries.len()).step_by(size) {
        let queries = &queries.part(start..(start + size).min(queries.len()));
        let tiles = QueryTile::all_to_compare(queries, candidates);
        let tiles = processes.agree(tiles)?;
        let first = TopK::new(queries.len(), all.min(2), None);
        let chosen = TopK::new(queries.len(), last, wanted);
        let both = |tile: &QueryTile| (first.tile(tile), chosen.tile(tile));
        scan(processes, queries, &tiles, candidates, blocking, both)?;
        let chosen = chosen.finish(processes)?.into_iter();
        let rows: Vec<Vec<_>> =
            chosen.map(|rows| rows.into_iter().skip(places.start).collect()).collect();
        let steps: Vec<Steps> = rows.iter().map(|rows| Steps::from_rows(rows)).collect();
        let slots: Vec<_> = steps.iter().map(|steps| Mutex::new(Slots::new(steps))).collect();
        let tiles = QueryTile::all(queries, false);
        let counter = |tile: &QueryTile| {
            let queries = tile.queries.clone();
            Counter { steps: &steps[queries.clone()], slots: &slots[queries] }
        };
        scan(processes, queries, &tiles, candidates, blocking, counter)?;
        let slots = slots.into_iter();
        let slots = slots.map(|slots| slots.into_inner().unwrap_or_else(PoisonError::into_inner));
        let ladders = steps.into_iter().zip(slots);
        let mut ladders: Vec<Ladder> =
            ladders.map(|(steps, slots)| Ladder { steps, slots }).collect();
        Ladder::merge(processes, &mut ladders)?;
        let each = rows.into_iter().zip(ladders).zip(first.finish(processes)?);
        searched.extend(each.map(|((rows, ladder), first)| Found { rows, ladder, first }));
    }
    Ok(searched)
}

/// Counts the candidates in each slot for the queries of a tile.
struct Counter<'l> {
    steps: &'l [Steps],
    /// Shared by all threads; one of them is locked for some additions, and no other meanwhile.
    slots: &'l [Mutex<Slots>],
}

/// The counts of a query before its slots are locked.
struct Counted<'l> {
    steps: &'l Steps,
    /// Slot, number of candidates and their highest score; most candidates have the slot of the one before.
    counts: Vec<(usize, u64, f64)>,
}

impl Counted<'_> {
    fn count(&mut self, score: f64, candidates: u64) {
        let slot = self.steps.slot(score);
        match self.counts.last_mut() {
            Some((last, count, highest)) if *last == slot => {
                *count += candidates;
                *highest = highest.max(score);
            }
            Some(_) | None => self.counts.push((slot, candidates, score)),
        }
    }
}

impl<'l> Reduce<f32> for Counter<'l> {
    type Group = Vec<Counted<'l>>;

    fn open(&self, group: usize) -> Self::Group {
        let steps = self.steps.iter().skip(group * LANES).take(LANES);
        steps.map(|steps| Counted { steps, counts: Vec::new() }).collect()
    }

    fn row(&self, kept: &mut Self::Group, _row: usize, scores: &[f32; LANES], weight: u32) {
        let each = kept.iter_mut().zip(scores);
        each.for_each(|(query, &score)| query.count(score.into(), weight.into()));
    }

    fn close(&mut self, group: usize, kept: Self::Group) {
        for (slots, Counted { counts, .. }) in self.slots.iter().skip(group * LANES).zip(kept) {
            let mut slots = slots.lock().unwrap_or_else(PoisonError::into_inner);
            counts.into_iter().for_each(|(slot, count, score)| slots.add(slot, count, score));
        }
    }
}

/// Returns the best wanted rows of a query at some places, from the scores of all rows.
pub(crate) fn among(
    scores: &[f64],
    count: impl Fn(usize) -> u32,
    wanted: Option<&WantedRows>,
    places: Range<usize>,
) -> Found {
    let chosen = leading(scores, places.end, wanted).into_iter();
    let rows: Vec<_> = chosen.skip(places.start).collect();
    let mut ladder = Ladder::from_rows(&rows);
    scores.iter().enumerate().for_each(|(row, &score)| ladder.count(score, count(row)));
    Found { rows, ladder, first: leading(scores, 2, None) }
}
