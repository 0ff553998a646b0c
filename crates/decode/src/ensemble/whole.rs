//! Rules that need all scores of a query at once: ranks and standardised scores; and lists of
//! candidates, which are short. One member's scores of a few queries exist at a time.

use std::borrow::Cow;
use std::ops::Range;

use dsokr_core::{Cancellation, Error};
use rayon::prelude::*;

use super::member::member_error;
use super::models::Models;
use super::rule::{Combiner, tied};
use super::values::Valuation;
use crate::blocks::CandidateBlocks;
use crate::candidates::Candidates;
use crate::error::{all_finite, missing_gold};
use crate::hits::{Decoded, Hit, best, expand, hits};
use crate::pool::Pool;
use crate::queries::Queries;
use crate::rank::Rank;
use crate::ranked_hits::{self, BestRows};
use crate::scoring::{
    self, Blocking, Buffers, LANES, Listed, Pass, QueryTile, Span, WantedRows, descending, leading,
};

/// Queries whose scores a thread holds.
const QUERIES: usize = 32;
/// Scores that a thread holds, where candidates are not too many.
const SCORES: usize = 1 << 21;

/// The values of one query under one member.
///
/// The points of the query have these values: all rows of the ensemble, or the candidates in its list.
pub(super) struct Column<'c> {
    values: &'c [f64],
    /// Position in `values` of each point.
    value_of_row: &'c [u32],
}

impl Column<'_> {
    /// Returns the value of a point.
    pub(super) fn get(&self, point: usize) -> f64 {
        self.values[self.value_of_row[point] as usize]
    }

    /// Returns values of all points.
    pub(super) fn iter(&self) -> impl Iterator<Item = f64> + '_ {
        self.value_of_row.iter().map(|&at| self.values[at as usize])
    }
}

/// The queries of several models, the candidates that they choose among, and how scores are combined.
#[derive(Clone, Copy)]
pub(super) struct Sweep<'e> {
    pub models: &'e Models<'e>,
    pub pool: Pool<'e>,
    pub combiner: &'e Combiner,
    /// Rows of the gold candidates.
    pub gold: &'e [Option<u32>],
}

/// Buffers for a sweep, kept from task to task.
#[derive(Default)]
pub(super) struct Scratch {
    list: Listed,
    buffers: Buffers,
    /// The scores of one member at `[query · rows + row]`.
    scores: Vec<f32>,
    value_of_row: Vec<u32>,
    valuation: Valuation,
}

impl Sweep<'_> {
    /// Returns queries that are swept together: so many that a thread holds at most [`SCORES`] scores of a member, but
    /// no fewer than are multiplied at once; one with a list.
    pub(super) fn tasks(&self) -> Vec<Range<usize>> {
        let queries = self.models.queries();
        let size = match self.pool {
            Pool::Shared => (SCORES / self.models.distinct().max(1)).clamp(LANES, QUERIES),
            Pool::PerQuery(_) => 1,
        };
        let task = |start: usize| start..(start + size).min(queries);
        (0..queries).step_by(size).map(task).collect()
    }

    /// Returns the number of points of a query.
    pub(super) fn points(&self, query: usize) -> usize {
        self.pool.list(query).map_or(self.models.distinct(), <[u32]>::len)
    }

    /// Returns the number of candidates of a query.
    pub(super) fn candidates(&self, query: usize) -> u64 {
        self.pool.size(query, self.models.all.len())
    }

    /// Returns the number of candidates that are a point.
    pub(super) fn count(&self, point: usize) -> u32 {
        match self.pool {
            Pool::Shared => self.models.classes.count(point),
            Pool::PerQuery(_) => 1,
        }
    }

    /// Returns the first point of a query in row `row` of the ensemble.
    pub(super) fn point(&self, query: usize, row: u32) -> Result<usize, Error> {
        let Some(list) = self.pool.list(query) else { return Ok(row as usize) };
        let place = list.iter().position(|&c| self.models.class_of(c as usize) == row);
        let name = || self.models.members[0].queries.name(query);
        place.ok_or_else(|| missing_gold(&name(), &format!("of row {row}")))
    }

    /// Calls `visit` with the number of a query within a task, a member and its values, member after
    /// member.
    pub(super) fn each(
        &self,
        task: Range<usize>,
        members: impl Iterator<Item = usize>,
        scratch: &mut Scratch,
        mut visit: impl FnMut(usize, usize, Column),
    ) -> Result<(), Error> {
        let Scratch { list, buffers, scores, value_of_row, valuation } = scratch;
        // a task with a list is one query
        let listed = self.pool.list(task.start);
        for at in members {
            let member = &self.models.members[at];
            let queries = &member.queries;
            let candidates = member.candidates;
            let (counts, row_values): (Cow<[u32]>, &[u32]) = match listed {
                None => {
                    let scored = scored(queries, task.clone(), candidates, buffers, scores);
                    scored.map_err(|error| member_error(member, error))?;
                    (candidates.classes().counts(0..candidates.rows()).into(), self.models.rows(at))
                }
                Some(listed_candidates) => {
                    let row = |&c: &u32| self.models.row(at, self.models.class_of(c as usize));
                    list.gather(listed_candidates.iter().map(row));
                    let scored_list = list.score(queries, task.start, candidates);
                    *scores = scored_list.map_err(|error| member_error(member, error))?;
                    let place = |candidate| list.place(row(candidate)).unwrap_or_default() as u32;
                    value_of_row.clear();
                    value_of_row.extend(listed_candidates.iter().map(place));
                    (list.counts.as_slice().into(), value_of_row)
                }
            };
            for (lane, scores) in scores.chunks_exact_mut(counts.len()).enumerate() {
                if let Some(reranker) = self.models.rerankers[at] {
                    let row = |at: usize| listed.map_or(at, |_| list.rows[at] as usize);
                    let is_single = listed.is_none() && self.models.members.len() == 1;
                    reranker.rescore(
                        queries,
                        task.start + lane,
                        row,
                        scores,
                        candidates,
                        is_single,
                    )?;
                }
                let values = valuation.of(self.combiner.values, scores, &counts);
                visit(lane, at, Column { values, value_of_row: row_values });
            }
        }
        Ok(())
    }

    /// Returns the k best candidates from the k best rows of the ensemble.
    pub(super) fn hits(&self, rows: Vec<(usize, f64)>, k: usize) -> Vec<Hit> {
        self.shown(expand(rows, k, |row| self.models.classes.members(row..row + 1)))
    }

    /// Returns hits with the scores that are shown.
    fn shown(&self, scored: Vec<(u32, f64)>) -> Vec<Hit> {
        let shown = |(candidate, score)| (candidate, self.combiner.shown(score));
        hits(scored.into_iter().map(shown).collect())
    }

    /// Returns the results of `finish` for each query and its combined scores of all points.
    fn combined<T: Send>(
        &self,
        finish: impl Fn(usize, &[f64]) -> Result<T, Error> + Sync,
    ) -> Result<Vec<T>, Error> {
        let combiner = self.combiner;
        let tasks = self.tasks();
        let stage = Cancellation::current().stage("scores of the ensemble", tasks.len());
        let one = |(combined, scratch): &mut (Vec<f64>, Scratch), task: Range<usize>| {
            stage.advance(1)?;
            let points = self.points(task.start);
            if points == 0 {
                return task.map(|query| finish(query, &[])).collect();
            }
            combined.clear();
            combined.resize(task.len() * points, combiner.start());
            let candidates = self.candidates(task.start);
            self.each(task.clone(), combiner.active(), scratch, |lane, member, column| {
                let combined = &mut combined[lane * points..][..points];
                combiner.step(member, candidates).add(combined, column.iter());
            })?;
            let queries = task.zip(combined.chunks_exact(points));
            queries.map(|(query, scores)| finish(query, scores)).collect::<Result<Vec<_>, _>>()
        };
        let tasks = tasks.into_par_iter().map_init(Default::default, one);
        Ok(tasks.collect::<Result<Vec<_>, Error>>()?.into_iter().flatten().collect())
    }
}

/// Computes the scores of some queries with all rows of a member, into `scores[query · rows + row]`. The rows of a single query are
/// divided among the threads of the current rayon pool.
fn scored(
    queries: &Queries,
    task: Range<usize>,
    candidates: &Candidates,
    buffers: &mut Buffers,
    scores: &mut Vec<f32>,
) -> Result<(), Error> {
    let rows = candidates.rows();
    let dim = queries.dim();
    let size = Blocking::for_dim(dim).span;
    let tile = QueryTile::new(task.clone(), dim, queries.part(task).rows());
    scores.clear();
    scores.resize(tile.queries.len() * rows, 0.0);
    let spans = (0..rows).step_by(size).map(|start| start..(start + size).min(rows));
    if tile.queries.len() == 1 {
        let spans: Vec<Range<usize>> = spans.collect();
        let parts = spans.into_par_iter().zip(scores.par_chunks_mut(size));
        parts.try_for_each_init(Buffers::default, |buffers, (span, scores)| {
            score_span(&tile, candidates, span, &mut [scores], buffers)
        })?;
    } else {
        for span in spans {
            let lines = scores.chunks_exact_mut(rows).map(|line| &mut line[span.clone()]);
            score_span(&tile, candidates, span.clone(), &mut lines.collect::<Vec<_>>(), buffers)?;
        }
    }
    all_finite(scores, |at| scoring::place(queries, tile.queries.start + at / rows, at % rows))
}

/// Computes the scores of the queries of a tile with consecutive rows, into a line a query.
fn score_span(
    tile: &QueryTile,
    candidates: &Candidates,
    rows: Range<usize>,
    lines: &mut [&mut [f32]],
    buffers: &mut Buffers,
) -> Result<(), Error> {
    let first = rows.start;
    let span = Span::new(candidates, rows, false)?;
    let at_once = Blocking::for_dim(candidates.dim()).rows;
    Pass::new(tile, &span, at_once, buffers).each(|block| {
        for (lane, scores) in lines.iter_mut().enumerate() {
            let products = block.table[lane..].iter().step_by(block.lanes);
            let scores = scores[block.first_row - first..].iter_mut();
            let sums = scores.zip(products.zip(block.constants));
            sums.for_each(|(score, (product, constant))| *score = product + constant);
        }
        Ok(())
    })
}

/// Returns the ranks and the best k candidates of all queries.
pub(super) fn decode(sweep: &Sweep, k: usize) -> Result<Vec<Decoded>, Error> {
    let Sweep { pool, combiner, gold, .. } = *sweep;
    sweep.combined(|query, scores| {
        let candidates = sweep.candidates(query);
        let tolerance = combiner.tolerance(candidates);
        let hits = match pool {
            _ if k == 0 => Vec::new(),
            Pool::Shared => {
                let rows = leading(scores, k, None);
                sweep.hits(with_ties(rows, scores.iter().copied().enumerate(), tolerance), k)
            }
            Pool::PerQuery(lists) => {
                let scored = lists.list(query).iter().copied().zip(scores.iter().copied());
                let listed = best(scored.clone().collect(), k);
                sweep.shown(best(with_ties(listed, scored, tolerance), k))
            }
        };
        let Some(row) = gold[query] else {
            return Ok(Decoded { rank: None, gold_score: None, hits });
        };
        let bar = scores[sweep.point(query, row)?];
        let counts = (0..scores.len()).map(|point| sweep.count(point));
        let tied = scores.iter().map(|&score| tied(score, bar, tolerance));
        let rank = Rank::among(tied.zip(counts), bar, candidates)?;
        Ok(Decoded { rank: Some(rank), gold_score: Some(combiner.shown(bar) as f32), hits })
    })
}

/// Returns the best wanted rows of all queries at some places.
pub(super) fn find(
    sweep: &Sweep,
    wanted: Option<&WantedRows>,
    places: Range<usize>,
) -> Result<Vec<BestRows>, Error> {
    let tolerance = sweep.combiner.tolerance(sweep.models.all.len() as u64);
    sweep.combined(|_, scores| {
        let mut scores = Cow::Borrowed(scores);
        if tolerance > 0.0 {
            let mut rows = leading(&scores, scores.len(), None);
            level(&mut rows, tolerance);
            rows.into_iter().for_each(|(row, score)| scores.to_mut()[row] = score);
        }
        Ok(ranked_hits::among(&scores, |row| sweep.count(row), wanted, places.clone()))
    })
}

/// Returns the `best` of all, in descending order, with the others that tie with the last of them: which of those are
/// among the best is a matter of their order, not of rounding. Entries that tie have the same score.
fn with_ties<T>(
    best: Vec<(T, f64)>,
    all: impl Iterator<Item = (T, f64)>,
    tolerance: f64,
) -> Vec<(T, f64)> {
    let Some(&(_, last)) = best.last().filter(|_| tolerance > 0.0) else { return best };
    let mut list: Vec<(T, f64)> = all.filter(|&(_, score)| score >= last - tolerance).collect();
    list.sort_unstable_by(|a, b| descending(a.1, b.1));
    level(&mut list, tolerance);
    list
}

/// Gives entries of a descending list that tie with the one before the same score.
fn level<T>(list: &mut [(T, f64)], tolerance: f64) {
    let mut bar = f64::INFINITY;
    for (_, score) in list {
        bar = tied(*score, bar, tolerance);
        *score = bar;
    }
}
