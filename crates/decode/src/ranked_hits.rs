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
/// second, and so on: these are the bins of a [`ScoreHistogram`].
struct Edges(Vec<f64>);

impl Edges {
    /// Creates the scores of rows, best first.
    fn from_rows(rows: &[(usize, f64)]) -> Self {
        let mut edges: Vec<f64> = rows.iter().map(|&(_, score)| score).collect();
        edges.dedup();
        Self(edges)
    }

    /// Returns the number of bins.
    fn bins(&self) -> usize {
        2 * self.0.len() + 1
    }

    /// Returns the bin of a score.
    fn bin(&self, score: f64) -> usize {
        let at = self.0.partition_point(|&edge| edge > score);
        2 * at + usize::from(self.0.get(at) == Some(&score))
    }
}

/// The counts of each bin.
struct Bins {
    /// Number of candidates.
    counts: Vec<u64>,
    /// The highest score in each bin.
    highest: Vec<f64>,
}

impl Bins {
    /// Creates empty ones.
    fn new(edges: &Edges) -> Self {
        let count = edges.bins();
        Self { counts: vec![0; count], highest: vec![f64::NEG_INFINITY; count] }
    }

    fn add(&mut self, bin: usize, candidates: u64, score: f64) {
        self.counts[bin] += candidates;
        self.highest[bin] = self.highest[bin].max(score);
    }
}

/// The position of a score among those of all candidates.
struct ScorePosition {
    /// How many candidates have a higher score.
    above: u64,
    /// How many candidates have the score.
    same: u64,
    /// The highest score below.
    next_score: Option<f64>,
}

/// How many candidates have each of some scores, or lie between them.
pub(crate) struct ScoreHistogram {
    edges: Edges,
    bins: Bins,
}

impl ScoreHistogram {
    /// Creates the scores of rows, best first.
    pub(crate) fn from_rows(rows: &[(usize, f64)]) -> Self {
        let edges = Edges::from_rows(rows);
        let bins = Bins::new(&edges);
        Self { edges, bins }
    }

    pub(crate) fn count(&mut self, score: f64, candidates: u32) {
        self.bins.add(self.edges.bin(score), candidates.into(), score);
    }

    /// Adds up what each of several [`Processes`] has counted.
    fn merge(processes: &Processes, histograms: &mut [Self]) -> Result<(), Error> {
        if processes.size() == 1 {
            return Ok(());
        }
        let counts = histograms.iter().flat_map(|histogram| histogram.bins.counts.iter().copied());
        let mut sums: Vec<u64> = counts.collect();
        processes.sum(&mut sums)?;
        let highest =
            histograms.iter().flat_map(|histogram| histogram.bins.highest.iter().copied());
        let all = processes.gather_numbers(&highest.collect::<Vec<f64>>())?;
        let bins = histograms.iter_mut().map(|histogram| &mut histogram.bins);
        let bins = bins.flat_map(|bins| bins.counts.iter_mut().zip(&mut bins.highest));
        for (at, (count, highest)) in bins.enumerate() {
            *count = sums[at];
            *highest = all.iter().map(|all| all[at]).fold(*highest, f64::max);
        }
        Ok(())
    }

    /// Returns the position of a score.
    fn position(&self, score: f64) -> ScorePosition {
        let Bins { counts, highest } = &self.bins;
        let at = self.edges.bin(score);
        let next = (at + 1..counts.len()).find(|&next| counts[next] > 0);
        ScorePosition {
            above: counts[..at].iter().sum(),
            same: counts[at],
            next_score: next.map(|next| highest[next]),
        }
    }
}

/// The best wanted rows of a query, and how many candidates are around them.
pub(crate) struct BestRows {
    /// The wanted rows at the places that are asked for, best first.
    pub rows: Vec<(usize, f64)>,
    pub histogram: ScoreHistogram,
    /// The two best rows of all.
    pub first: Vec<(usize, f64)>,
}

impl BestRows {
    /// Returns the ranked hits with the candidates of each row, the first wanted one first. `shown` gives the score
    /// that answers show.
    pub(crate) fn ranked_hits(
        self,
        shown: impl Fn(f64) -> f64,
        members: &HashMap<usize, Vec<u32>>,
    ) -> RankedHits {
        let shown = |score| shown(score) as f32;
        let hit = |&(row, score): &(usize, f64)| {
            let candidates = members.get(&row).cloned().unwrap_or_default();
            let ScorePosition { above, same, next_score } = self.histogram.position(score);
            let tied = same - candidates.len() as u64;
            let next_score = if tied > 0 { Some(score) } else { next_score };
            let gap = next_score.map(|next| shown(score) - shown(next));
            RankedHit { candidates, score: shown(score), above, tied, gap }
        };
        let hits = self.rows.iter().map(hit).collect();
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
) -> Result<Vec<BestRows>, Error> {
    let last = places.end.min(rows);
    check_k(last, rows as u64)?;
    let mut best = Vec::with_capacity(queries);
    let size = (HITS / last).max(1);
    for start in (0..queries).step_by(size) {
        let source = processes.agree(source(start..(start + size).min(queries)))?;
        best.extend(find_at_once(processes, &source, wanted, places.start..last)?);
    }
    Ok(best)
}

/// Returns the best wanted rows at some places of queries that are few enough to be searched at once.
fn find_at_once<S: ScoreSource>(
    processes: &Processes,
    source: &S,
    wanted: Option<&WantedRows>,
    places: Range<usize>,
) -> Result<Vec<BestRows>, Error> {
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
    let shared: Vec<SharedHistogram> = rows.iter().map(|rows| SharedHistogram::new(rows)).collect();
    source.scan(processes, |tile| Counter { shared: &shared[tile.queries.clone()] })?;
    let mut histograms: Vec<ScoreHistogram> =
        shared.into_iter().map(SharedHistogram::into_histogram).collect();
    ScoreHistogram::merge(processes, &mut histograms)?;
    let each = rows.into_iter().zip(histograms).zip(first);
    Ok(each.map(|((rows, histogram), first)| BestRows { rows, histogram, first }).collect())
}

/// The best rows of a query, and the counts around them, to which all threads add.
struct SharedHistogram {
    edges: Edges,
    /// The rows with their scores, in the order of the rows.
    rows: Vec<(usize, f64)>,
    bins: Vec<SharedBin>,
}

/// The counts of a bin, to which threads add what they have counted in some rows, in any order and without a lock.
struct SharedBin {
    /// Number of candidates.
    count: AtomicU64,
    /// The highest score, as a number that [rises](rising) with it.
    highest: AtomicU64,
}

impl Default for SharedBin {
    fn default() -> Self {
        Self { count: AtomicU64::new(0), highest: AtomicU64::new(rising(f64::NEG_INFINITY)) }
    }
}

impl SharedBin {
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

impl SharedHistogram {
    /// Creates the histogram of rows, best first, around which nothing is counted yet.
    fn new(rows: &[(usize, f64)]) -> Self {
        let edges = Edges::from_rows(rows);
        let bins = (0..edges.bins()).map(|_| SharedBin::default()).collect();
        let mut rows = rows.to_vec();
        rows.sort_unstable_by_key(|&(row, _)| row);
        Self { edges, rows, bins }
    }

    fn into_histogram(self) -> ScoreHistogram {
        let mut histogram = ScoreHistogram { bins: Bins::new(&self.edges), edges: self.edges };
        for (bin, SharedBin { count, highest }) in self.bins.into_iter().enumerate() {
            histogram.bins.add(bin, count.into_inner(), score_of(highest.into_inner()));
        }
        histogram
    }
}

/// Counts the candidates in each bin for the queries of a tile.
struct Counter<'s> {
    shared: &'s [SharedHistogram],
}

/// The counts of a query in some consecutive rows.
struct LocalCounts<'s> {
    shared: &'s SharedHistogram,
    /// The found rows that were not met yet; none before the first row.
    unmet: Option<&'s [(usize, f64)]>,
    /// Bin, number of candidates and their highest score; most candidates have the bin of the one before.
    counts: Vec<(usize, u64, f64)>,
}

impl LocalCounts<'_> {
    /// Counts the candidates of the next row. A row that was found has the score that it was found with, whatever a
    /// second computation gives: it is in the bin of its own score by identity.
    fn count(&mut self, row: usize, score: f64, candidates: u64) {
        let rows = &self.shared.rows;
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
        let bin = self.shared.edges.bin(score);
        match self.counts.last_mut() {
            Some((last, count, highest)) if *last == bin => {
                *count += candidates;
                *highest = highest.max(score);
            }
            Some(_) | None => self.counts.push((bin, candidates, score)),
        }
    }
}

impl<'s, S: Score> Reduce<S> for Counter<'s> {
    type Group = Vec<LocalCounts<'s>>;

    fn open(&self, group: usize) -> Self::Group {
        let shared = self.shared.iter().skip(group * LANES).take(LANES);
        shared.map(|shared| LocalCounts { shared, unmet: None, counts: Vec::new() }).collect()
    }

    fn row(&self, kept: &mut Self::Group, row: usize, scores: &[S; LANES], weight: u32) {
        for (query, &score) in kept.iter_mut().zip(scores) {
            query.count(row, score.into(), weight.into());
        }
    }

    fn close(&mut self, _group: usize, kept: Self::Group) {
        for LocalCounts { shared, counts, .. } in kept {
            for (bin, count, highest) in counts {
                shared.bins[bin].add(count, highest);
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
) -> BestRows {
    let chosen = leading(scores, places.end, wanted).into_iter();
    let rows: Vec<_> = chosen.skip(places.start).collect();
    let mut histogram = ScoreHistogram::from_rows(&rows);
    scores.iter().enumerate().for_each(|(row, &score)| histogram.count(score, count(row)));
    BestRows { rows, histogram, first: leading(scores, 2, None) }
}
