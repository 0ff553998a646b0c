//! All queries and all candidates, tile by tile, and what is made of scores while they are in the cache.

use std::ops::{Add, Range};

use dsokr_core::{Cancellation, Error, Processes};
use rayon::prelude::*;

use super::pass::{ExactScore, Scores};
use super::tile::Blocking;
use crate::codes::{Bars, LANES};

/// A score: of one member in 32 bits, or combined in 64.
pub(crate) trait Score:
    Copy + PartialOrd + From<f32> + Into<f64> + Add<Output = Self> + Send + Sync
{
    /// Creates a score that was kept in 64 bits.
    fn kept(score: f64) -> Self;

    /// Returns a number that is largest for a score that is not finite, and for no other.
    fn magnitude(self) -> u32;
}

impl Score for f32 {
    #[inline(always)]
    fn kept(score: f64) -> Self {
        score as f32
    }

    #[inline(always)]
    fn magnitude(self) -> u32 {
        // without the sign, the bits of ∞ and NaN are the largest integers
        self.to_bits() & 0x7FFF_FFFF
    }
}

/// Sums of scores that were looked at.
impl Score for f64 {
    #[inline(always)]
    fn kept(score: f64) -> Self {
        score
    }

    #[inline(always)]
    fn magnitude(self) -> u32 {
        0
    }
}

/// Returns whether scores with this largest [magnitude](Score::magnitude) are finite.
pub(crate) fn finite(largest: u32) -> bool {
    largest < f32::INFINITY.to_bits()
}

/// The reduction, by one thread, of the scores of a tile of queries with a span of candidates.
///
/// Scores come by groups of [`LANES`] queries, row after row, so that what is kept of a group stays in registers.
pub(crate) trait Reduce<S> {
    /// The state that is kept of a group.
    type Group;

    /// Puts into a table of scores of some rows, without their constants, what is known of them.
    fn place(&self, _rows: Range<usize>, _table: &mut [S]) {}

    fn open(&self, group: usize) -> Self::Group;

    /// Takes the scores of a row that counts `weight` times.
    fn row(&self, group: &mut Self::Group, row: usize, scores: &[S; LANES], weight: u32);

    fn close(&mut self, _group: usize, _kept: Self::Group) {}

    /// Adds the bars with which codes of 8 bits compare scores in the place of [`row`](Self::row); false if codes decide
    /// too little by now, or not for this reducer beside others.
    fn bars(&self, _bars: &mut Bars) -> bool {
        false
    }

    /// Takes the number of candidates with a score that is surely above the counted bar of each lane.
    fn count(&mut self, _above: &[u32]) {}

    /// Takes a score that codes do not decide.
    fn take(&mut self, _exact: &ExactScore) {}

    /// Hands over what was made of the span.
    fn finish(self)
    where
        Self: Sized,
    {
    }
}

impl<S, A: Reduce<S>, B: Reduce<S>> Reduce<S> for (A, B) {
    type Group = (A::Group, B::Group);

    fn place(&self, rows: Range<usize>, table: &mut [S]) {
        self.0.place(rows.clone(), table);
        self.1.place(rows, table);
    }

    #[inline(always)]
    fn open(&self, group: usize) -> Self::Group {
        (self.0.open(group), self.1.open(group))
    }

    #[inline(always)]
    fn row(&self, group: &mut Self::Group, row: usize, scores: &[S; LANES], weight: u32) {
        self.0.row(&mut group.0, row, scores, weight);
        self.1.row(&mut group.1, row, scores, weight);
    }

    fn close(&mut self, group: usize, kept: Self::Group) {
        self.0.close(group, kept.0);
        self.1.close(group, kept.1);
    }

    fn bars(&self, bars: &mut Bars) -> bool {
        self.0.bars(bars) && self.1.bars(bars)
    }

    fn count(&mut self, above: &[u32]) {
        self.0.count(above);
        self.1.count(above);
    }

    fn take(&mut self, exact: &ExactScore) {
        self.0.take(exact);
        self.1.take(exact);
    }

    fn finish(self) {
        self.0.finish();
        self.1.finish();
    }
}

impl<S: Score> Scores<'_, S> {
    /// Shows all scores to a reducer; false if one of them is not finite.
    pub(crate) fn reduce(&mut self, reducer: &mut impl Reduce<S>) -> bool {
        let Self { lanes, first_row, constants, multiplicities, .. } = *self;
        reducer.place(first_row..first_row + multiplicities.len(), self.table);
        let mut largest = [0; LANES];
        for at in 0..lanes / LANES {
            let mut group = reducer.open(at);
            let rows = self.table[at * LANES..].chunks(lanes);
            let rows = rows.zip(constants.iter().zip(multiplicities)).zip(first_row..);
            for ((row, (&constant, &weight)), number) in rows {
                let Some(row) = row.first_chunk::<LANES>() else {
                    continue;
                };
                let mut scores = *row;
                for (score, largest) in scores.iter_mut().zip(&mut largest) {
                    *score = *score + S::from(constant);
                    *largest = (*largest).max(score.magnitude());
                }
                reducer.row(&mut group, number, &scores, weight);
            }
            reducer.close(at, group);
        }
        largest.into_iter().all(finite)
    }
}

/// Calls `open` for each span of the candidates that this process scores, in the given parts, and `visit` with it for
/// each tile of queries. A span is opened once for each of its [`tasks`]. An error of one process is an error of all.
pub(crate) fn each_span<T, B: Default>(
    processes: &Processes,
    parts: Vec<Range<usize>>,
    tiles: usize,
    blocking: Blocking,
    open: impl Fn(Range<usize>, Range<usize>) -> Result<T, Error> + Sync,
    visit: impl Fn(&T, usize, &mut B) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let parts = parts.into_iter();
    let all: Vec<_> = parts.flat_map(|part| tasks(part, tiles, blocking)).collect();
    let count = all.iter().map(|(_, strip)| strip.len()).sum();
    let stage = Cancellation::current().stage("scores of the candidates", count);
    let scanned = all.into_par_iter().try_for_each_init(B::default, |buffers, (span, strip)| {
        let span = open(span, strip.clone())?;
        strip.into_iter().try_for_each(|tile| {
            stage.advance(1)?;
            visit(&span, tile, buffers)
        })
    });
    processes.agree(scanned)
}

/// Returns spans of candidate rows, each with the tiles of queries that it meets at once.
///
/// A span meets all tiles, unless there are so few spans that the tiles have to be split for all
/// threads of the current rayon pool to have work.
fn tasks(
    rows: Range<usize>,
    tiles: usize,
    blocking: Blocking,
) -> Vec<(Range<usize>, Range<usize>)> {
    let spans = rows.len().div_ceil(blocking.span);
    let strips = (8 * rayon::current_num_threads()).div_ceil(spans.max(1)).min(tiles);
    let per_strip = tiles.div_ceil(strips.max(1)).max(1);
    let span = |start: usize| start..(start + blocking.span).min(rows.end);
    let strip = |start: usize| start..(start + per_strip).min(tiles);
    rows.clone()
        .step_by(blocking.span)
        .flat_map(|first| (0..tiles).step_by(per_strip).map(move |tile| (span(first), strip(tile))))
        .collect()
}
