//! The ranks of the best wanted candidates of a query among all candidates.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use dsokr_core::{Error, Processes};

use crate::classes::Classes;
use crate::hits::check_k;
use crate::scoring::{LANES, QueryTile, Reduce, Score, ScoreSource, TopK, WantedRows, leading};

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

    /// Returns the number of slots.
    fn slots(&self) -> usize {
        2 * self.0.len() + 1
    }

    /// Returns the slot of a score.
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
    /// Creates empty ones.
    fn new(steps: &Steps) -> Self {
        let count = steps.slots();
        Self { counts: vec![0; count], highest: vec![f64::NEG_INFINITY; count] }
    }

    fn add(&mut self, slot: usize, candidates: u64, score: f64) {
        self.counts[slot] += candidates;
        self.highest[slot] = self.highest[slot].max(score);
    }
}

/// Where a score is among those of all candidates.
struct Place {
    /// How many candidates have a higher score.
    above: u64,
    /// How many candidates have the score.
    same: u64,
    /// The highest score below.
    next_score: Option<f64>,
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

    /// Returns the place of a score.
    fn place(&self, score: f64) -> Place {
        let Slots { counts, highest } = &self.slots;
        let at = self.steps.slot(score);
        let next = (at + 1..counts.len()).find(|&next| counts[next] > 0);
        Place {
            above: counts[..at].iter().sum(),
            same: counts[at],
            next_score: next.map(|next| highest[next]),
        }
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
            let Place { above, same, next_score } = self.ladder.place(score);
            let tied = same - candidates.len() as u64;
            let next_score = if tied > 0 { Some(score) } else { next_score };
            let gap = next_score.map(|next| shown(score) - shown(next));
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

/// Returns the best wanted rows of each query at some places. All scores are computed twice: the first pass finds the
/// rows, the second counts the candidates around them. Memory is proportional to the rows, whatever the number of
/// candidates. Each of the processes scores its rows.
///
/// `source` gives the scores of some of the `queries`, with all of `rows` distinct rows.
pub(crate) fn find<S: ScoreSource>(
    processes: &Processes,
    queries: usize,
    rows: usize,
    source: impl Fn(Range<usize>) -> Result<S, Error>,
    wanted: Option<&WantedRows>,
    places: Range<usize>,
) -> Result<Vec<Found>, Error> {
    let last = places.end.min(rows);
    check_k(last, rows as u64)?;
    let mut searched = Vec::with_capacity(queries);
    let size = (HITS / last).max(1);
    for start in (0..queries).step_by(size) {
        let source = processes.agree(source(start..(start + size).min(queries)))?;
        searched.extend(find_at_once(processes, &source, wanted, places.start..last)?);
    }
    Ok(searched)
}

/// Returns the best wanted rows at some places of queries that are few enough to be searched at once.
fn find_at_once<S: ScoreSource>(
    processes: &Processes,
    source: &S,
    wanted: Option<&WantedRows>,
    places: Range<usize>,
) -> Result<Vec<Found>, Error> {
    let queries = source.queries().len();
    let first = TopK::new(queries, source.rows().min(2), None);
    let chosen = TopK::new(queries, places.end, wanted);
    source.scan(processes, |tile| (first.tile(tile), chosen.tile(tile)))?;
    let first = first.finish(processes)?;
    let chosen = chosen.finish(processes)?.into_iter();
    let rows: Vec<Vec<(usize, f64)>> =
        chosen.map(|rows| rows.into_iter().skip(places.start).collect()).collect();

    // every score is counted, and codes of 8 bits know few of them exactly
    source.tiles().iter().for_each(QueryTile::leave_codes);
    let searches: Vec<Search> = rows.iter().map(|rows| Search::new(rows)).collect();
    source.scan(processes, |tile| Counter { searches: &searches[tile.queries.clone()] })?;
    let mut ladders: Vec<Ladder> = searches.into_iter().map(Search::into_ladder).collect();
    Ladder::merge(processes, &mut ladders)?;
    let each = rows.into_iter().zip(ladders).zip(first);
    Ok(each.map(|((rows, ladder), first)| Found { rows, ladder, first }).collect())
}

/// The rows that were found for a query, and the counts around them, to which all threads add.
struct Search {
    steps: Steps,
    /// The rows with their scores, in the order of the rows.
    rows: Vec<(usize, f64)>,
    slots: Vec<SharedSlot>,
}

/// The counts of a slot, to which threads add what they have counted in some rows, in any order and without a lock.
struct SharedSlot {
    /// Number of candidates.
    count: AtomicU64,
    /// The highest score, as a number that [rises](rising) with it.
    highest: AtomicU64,
}

impl Default for SharedSlot {
    fn default() -> Self {
        Self { count: AtomicU64::new(0), highest: AtomicU64::new(rising(f64::NEG_INFINITY)) }
    }
}

impl SharedSlot {
    fn add(&self, candidates: u64, score: f64) {
        self.count.fetch_add(candidates, Relaxed);
        self.highest.fetch_max(rising(score), Relaxed);
    }
}

const SIGN: u64 = 1 << 63;

/// Returns an integer that rises with the score.
fn rising(score: f64) -> u64 {
    let bits = score.to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// Returns the score of a number that [rises](rising) with it.
fn score_of(rising: u64) -> f64 {
    f64::from_bits(if rising & SIGN == 0 { !rising } else { rising & !SIGN })
}

impl Search {
    /// Creates the search of rows, best first, around which nothing is counted yet.
    fn new(rows: &[(usize, f64)]) -> Self {
        let steps = Steps::from_rows(rows);
        let slots = (0..steps.slots()).map(|_| SharedSlot::default()).collect();
        let mut rows = rows.to_vec();
        rows.sort_unstable_by_key(|&(row, _)| row);
        Self { steps, rows, slots }
    }

    fn into_ladder(self) -> Ladder {
        let mut ladder = Ladder { slots: Slots::new(&self.steps), steps: self.steps };
        for (slot, SharedSlot { count, highest }) in self.slots.into_iter().enumerate() {
            ladder.slots.add(slot, count.into_inner(), score_of(highest.into_inner()));
        }
        ladder
    }
}

/// Counts the candidates in each slot for the queries of a tile.
struct Counter<'s> {
    searches: &'s [Search],
}

/// The counts of a query in some consecutive rows.
struct Counted<'s> {
    search: &'s Search,
    /// The found rows that were not met yet; none before the first row.
    unmet: Option<&'s [(usize, f64)]>,
    /// Slot, number of candidates and their highest score; most candidates have the slot of the one before.
    counts: Vec<(usize, u64, f64)>,
}

impl Counted<'_> {
    /// Counts the candidates of the next row. A row that was found has the score that it was found with, whatever a
    /// second computation gives: it is in the slot of its own score by identity.
    fn count(&mut self, row: usize, score: f64, candidates: u64) {
        let rows = &self.search.rows;
        let unmet = self
            .unmet
            .get_or_insert_with(|| &rows[rows.partition_point(|&(found, _)| found < row)..]);
        let mut score = score;
        if let Some((&(found, kept), others)) = unmet.split_first()
            && found == row
        {
            score = kept;
            *unmet = others;
        }
        let slot = self.search.steps.slot(score);
        match self.counts.last_mut() {
            Some((last, count, highest)) if *last == slot => {
                *count += candidates;
                *highest = highest.max(score);
            }
            Some(_) | None => self.counts.push((slot, candidates, score)),
        }
    }
}

impl<'s, S: Score> Reduce<S> for Counter<'s> {
    type Group = Vec<Counted<'s>>;

    fn open(&self, group: usize) -> Self::Group {
        let searches = self.searches.iter().skip(group * LANES).take(LANES);
        searches.map(|search| Counted { search, unmet: None, counts: Vec::new() }).collect()
    }

    fn row(&self, kept: &mut Self::Group, row: usize, scores: &[S; LANES], weight: u32) {
        for (query, &score) in kept.iter_mut().zip(scores) {
            query.count(row, score.into(), weight.into());
        }
    }

    fn close(&mut self, _group: usize, kept: Self::Group) {
        for Counted { search, counts, .. } in kept {
            for (slot, count, highest) in counts {
                search.slots[slot].add(count, highest);
            }
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
