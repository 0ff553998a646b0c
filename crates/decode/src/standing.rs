//! Where the best wanted candidates of a query stand among all candidates.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dsokr_basis::Processes;

use crate::classes::Classes;
use crate::hits::check_k;
use crate::scoring::{self, Blocking, LANES, QueryTile, Reduce, TopK, WantedRows, leading, scan};
use crate::{CandidateBlocks, Error, Queries};

/// The most rows of several queries that are found at once.
const HITS: usize = 1 << 17;

/// A distinct row of candidates, with its place among all candidates.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The candidates of the row: the first that is wanted, then the others in their order, wanted or not.
    pub candidates: Vec<u32>,
    /// Their score.
    pub score: f32,
    /// Number of candidates with a higher score.
    pub above: u64,
    /// Number of candidates of other rows with the same score.
    pub tied: u64,
    /// The score minus that of the next candidate of a different row; none for the last one.
    pub gap: Option<f32>,
}

/// The best wanted candidates of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Standings {
    /// The hits, best first, ties in the order of the rows.
    pub hits: Vec<Standing>,
    /// The gap of the best candidate of all, wanted or not.
    pub gap: Option<f32>,
}

/// Whether each row has a wanted candidate.
pub(crate) fn wanted_rows(classes: &Classes, wanted: &[bool]) -> Vec<bool> {
    let mut rows = vec![false; classes.rows];
    let candidates = wanted.iter().enumerate().filter(|(_, wanted)| **wanted);
    candidates.for_each(|(candidate, _)| rows[classes.of(candidate) as usize] = true);
    rows
}

/// The first k candidates of a row, with the first wanted one at the start.
pub(crate) fn wanted_first(members: &[u32], wanted: Option<&[bool]>, k: usize) -> Vec<u32> {
    let is_wanted = |&own: &u32| wanted.is_none_or(|wanted| wanted[own as usize]);
    let first = members.iter().position(is_wanted).unwrap_or(0);
    let others = members.iter().enumerate().filter(|&(at, _)| at != first).map(|(_, own)| own);
    members.get(first).into_iter().chain(others).take(k).copied().collect()
}

/// How many candidates have each of some scores, or lie between them.
pub(crate) struct Ladder {
    /// The scores, descending, each once.
    steps: Vec<f64>,
    /// Candidates above all scores, those of the first score, those between it and the second, and so on.
    counts: Vec<u64>,
    /// The highest score among each of these.
    highest: Vec<f64>,
}

impl Ladder {
    /// Of the scores of rows, best first.
    pub(crate) fn from_rows(rows: &[(usize, f64)]) -> Self {
        let mut steps: Vec<f64> = rows.iter().map(|&(_, score)| score).collect();
        steps.dedup();
        let count = 2 * steps.len() + 1;
        Self { steps, counts: vec![0; count], highest: vec![f64::NEG_INFINITY; count] }
    }

    fn slot(&self, score: f64) -> usize {
        let at = self.steps.partition_point(|&step| step > score);
        2 * at + usize::from(self.steps.get(at) == Some(&score))
    }

    pub(crate) fn count(&mut self, score: f64, candidates: u32) {
        let at = self.slot(score);
        self.counts[at] += u64::from(candidates);
        self.highest[at] = self.highest[at].max(score);
    }

    /// Adds up what each of several [`Processes`] has counted.
    fn merge(ladders: &mut [Self]) -> Result<(), Error> {
        let ranks = Processes::current();
        if ranks.size() == 1 {
            return Ok(());
        }
        let mut sums: Vec<u64> = ladders.iter().flat_map(|own| own.counts.clone()).collect();
        ranks.sum(&mut sums)?;
        let highest: Vec<f64> = ladders.iter().flat_map(|own| own.highest.clone()).collect();
        let all = ranks.gather_numbers(&highest)?;
        let slots = ladders.iter_mut().flat_map(|own| own.counts.iter_mut().zip(&mut own.highest));
        for (at, (count, highest)) in slots.enumerate() {
            *count = sums[at];
            *highest = all.iter().map(|all| all[at]).fold(*highest, f64::max);
        }
        Ok(())
    }

    /// The numbers of candidates above and of a score, and the next score below.
    fn place(&self, score: f64) -> (u64, u64, Option<f64>) {
        let at = self.slot(score);
        let next = (at + 1..self.counts.len()).find(|&next| self.counts[next] > 0);
        let above = self.counts[..at].iter().sum();
        (above, self.counts[at], next.map(|next| self.highest[next]))
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
    /// With the candidates of each row, the first wanted one first. `shown` is the score that answers show.
    pub(crate) fn standings(
        self,
        shown: impl Fn(f64) -> f64,
        members: &HashMap<usize, Vec<u32>>,
    ) -> Standings {
        let shown = |score| shown(score) as f32;
        let standing = |&(row, score): &(usize, f64)| {
            let candidates = members.get(&row).cloned().unwrap_or_default();
            let (above, same, next) = self.ladder.place(score);
            let tied = same - candidates.len() as u64;
            let next = if tied > 0 { Some(score) } else { next };
            let gap = next.map(|next| shown(score) - shown(next));
            Standing { candidates, score: shown(score), above, tied, gap }
        };
        let hits = self.rows.iter().map(standing).collect();
        let gap = match self.first[..] {
            [(_, best), (_, next), ..] => Some(shown(best) - shown(next)),
            _ => None,
        };
        Standings { hits, gap }
    }
}

/// The best wanted rows of each query at some places, in blocks of candidates that are scored twice. Memory is
/// that of the rows, whatever the number of candidates.
pub(crate) fn find(
    queries: &Queries,
    candidates: &dyn CandidateBlocks,
    wanted: Option<&WantedRows>,
    places: Range<usize>,
) -> Result<Vec<Found>, Error> {
    let blocking = Blocking::for_dim(queries.dim());
    let (all, last) = (candidates.rows(), places.end.min(candidates.rows()));
    scoring::check(queries, candidates)?;
    check_k(last, all as u64)?;
    let mut found = Vec::with_capacity(queries.len());
    let size = (HITS / last).max(1);
    for start in (0..queries.len()).step_by(size) {
        let queries = &queries.part(start..(start + size).min(queries.len()));
        let tiles = QueryTile::all_to_compare(queries, candidates);
        let tiles = Processes::current().agree(tiles)?;
        let first = TopK::new(queries.len(), all.min(2), None);
        let chosen = TopK::new(queries.len(), last, wanted);
        let both = |tile: &QueryTile| (first.tile(tile), chosen.tile(tile));
        scan(queries, &tiles, candidates, blocking, both)?;
        let chosen = chosen.finish()?.into_iter();
        let rows: Vec<Vec<_>> =
            chosen.map(|rows| rows.into_iter().skip(places.start).collect()).collect();
        let ladders: Vec<_> = rows.iter().map(|rows| Mutex::new(Ladder::from_rows(rows))).collect();
        let tiles = QueryTile::all(queries, false);
        let own = |tile: &QueryTile| Ladders(&ladders[tile.queries.clone()]);
        scan(queries, &tiles, candidates, blocking, own)?;
        let ladders = ladders.into_iter();
        let mut ladders: Vec<Ladder> =
            ladders.map(|own| own.into_inner().unwrap_or_else(PoisonError::into_inner)).collect();
        Ladder::merge(&mut ladders)?;
        let each = rows.into_iter().zip(ladders).zip(first.finish()?);
        found.extend(each.map(|((rows, ladder), first)| Found { rows, ladder, first }));
    }
    Ok(found)
}

/// The ladders of a tile of queries.
struct Ladders<'l>(&'l [Mutex<Ladder>]);

impl<'l> Reduce<f32> for Ladders<'l> {
    type Group = Vec<MutexGuard<'l, Ladder>>;

    fn open(&self, group: usize) -> Self::Group {
        let own = self.0.iter().skip(group * LANES).take(LANES);
        own.map(|ladder| ladder.lock().unwrap_or_else(PoisonError::into_inner)).collect()
    }

    fn row(&self, kept: &mut Self::Group, _row: usize, scores: &[f32; LANES], weight: u32) {
        let each = kept.iter_mut().zip(scores);
        each.for_each(|(ladder, &score)| ladder.count(score.into(), weight));
    }
}

/// The best wanted rows of a query at some places, from the scores of all rows.
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
