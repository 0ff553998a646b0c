//! The best candidates of queries, and the ranks of the gold ones.

use std::borrow::Cow;

use dsokr_core::{Error, Processes};
use rayon::prelude::*;

use crate::blocks::CandidateBlocks;
use crate::candidates::Candidates;
use crate::error::ensure_allowed;
use crate::queries::Queries;
use crate::rank::Rank;
use crate::scoring::{
    self, Gold, ModelScores, QueryTile, ScoreSource, TopK, check_gold, descending, first_by,
};

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

/// The answer of an ensemble to one query.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// Rank of the gold candidate; none where there is none.
    pub rank: Option<Rank>,
    /// Combined score of the gold candidate, rounded to f32; none where there is none.
    pub gold_score: Option<f32>,
    /// The best candidates, best first, with their combined scores rounded to f32.
    pub hits: Vec<Hit>,
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
/// [`Error::Inconsistent`] for queries and candidates of different dimensions; [`Error::TooFew`] for no candidates;
/// [`Error::Shape`] unless there is one gold entry a query; [`Error::OutOfRange`] for a gold row that does not exist;
/// [`Error::NotFiniteAt`] when a score overflows; errors from fetching a block.
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
/// # Ok::<(), dsokr_core::Error>(())
/// ```
///
/// [`Candidates::class_of`]: crate::Candidates::class_of
pub fn rank(
    queries: &Queries,
    gold: &[Option<u32>],
    candidates: &dyn CandidateBlocks,
) -> Result<Vec<Option<Rank>>, Error> {
    rank_shared(&Processes::default(), queries, gold, candidates)
}

/// Ranks the gold candidates like [`rank`], for several processes, each of which scores
/// [its rows](CandidateBlocks::scored). All of them call it and get the same ranks.
///
/// # Errors
/// The errors of [`rank`]; [`Error::Process`] for an error of another process.
pub fn rank_shared(
    processes: &Processes,
    queries: &Queries,
    gold: &[Option<u32>],
    candidates: &dyn CandidateBlocks,
) -> Result<Vec<Option<Rank>>, Error> {
    Ok(decode(processes, queries, gold, candidates, 0)?.ranks)
}

/// Returns the k best candidates of every query, best first, ties in the order of the candidates.
///
/// Runs on the current rayon pool; the result does not depend on its size.
///
/// # Errors
/// [`Error::OutOfRange`] for k = 0, for fewer than k candidates, and so for none; [`Error::Inconsistent`] for queries and
/// candidates of different dimensions; [`Error::NotFiniteAt`] when a score overflows.
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
/// # Ok::<(), dsokr_core::Error>(())
/// ```
pub fn top_k(queries: &Queries, candidates: &Candidates, k: usize) -> Result<Vec<Vec<Hit>>, Error> {
    check_k(k, candidates.len() as u64)?;
    let none = vec![None; queries.len()];
    let ranked = decode(&Processes::default(), queries, &none, candidates, k)?;
    let decoded = ranked.decoded(k, |row| candidates.members(row as u32), |score| score);
    Ok(decoded.into_iter().map(|query| query.hits).collect())
}

/// Returns the k best distinct rows of every query, best first, ties in the order of the rows.
///
/// One heap of k entries a query, whatever the number of candidates; a row enters it only if it
/// beats the worst entry. Works on any source of blocks, in particular on files larger than
/// memory.
///
/// # Errors
/// The errors of [`top_k`], with k at most the number of distinct rows; errors from fetching a block.
pub fn top_rows(
    queries: &Queries,
    candidates: &dyn CandidateBlocks,
    k: usize,
) -> Result<Vec<Vec<RowHit>>, Error> {
    top_rows_shared(&Processes::default(), queries, candidates, k)
}

/// Returns the k best distinct rows like [`top_rows`], for several processes, each of which scores
/// [its rows](CandidateBlocks::scored). All of them call it and get the same rows.
///
/// # Errors
/// The errors of [`top_rows`]; [`Error::Process`] for an error of another process.
pub fn top_rows_shared(
    processes: &Processes,
    queries: &Queries,
    candidates: &dyn CandidateBlocks,
    k: usize,
) -> Result<Vec<Vec<RowHit>>, Error> {
    check_k(k, candidates.rows() as u64)?;
    let decoded = decode(processes, queries, &vec![None; queries.len()], candidates, k)?;
    let hit = |(row, score): (usize, f64)| RowHit { row, score: score as f32 };
    Ok(decoded.rows.into_iter().map(|rows| rows.into_iter().map(hit).collect()).collect())
}

/// The results of a pass over all candidates, for each query.
pub(crate) struct Ranked {
    /// The rank of the gold row.
    pub ranks: Vec<Option<Rank>>,
    /// The score of the gold row.
    pub scores: Vec<Option<f64>>,
    /// The k best rows and their scores.
    pub rows: Vec<Vec<(usize, f64)>>,
}

impl Ranked {
    /// Ranks the gold rows and finds the k best rows of every query, or fewer if there are fewer, in one pass over the
    /// scores; k may be 0.
    pub(crate) fn among<S: ScoreSource>(
        processes: &Processes,
        source: &S,
        gold: &[Option<u32>],
        k: usize,
    ) -> Result<Self, Error> {
        let golds = processes.agree(Gold::new(source, gold))?;
        let lists = TopK::new(gold.len(), k.min(source.rows()), None);
        let count = |tile: &QueryTile| golds.counter(tile);
        let keep = |tile: &QueryTile| lists.tile(tile);
        let has_golds = gold.iter().any(Option::is_some);
        if k == 0 {
            source.scan(processes, count)?;
        } else if has_golds {
            source.scan(processes, |tile| (count(tile), keep(tile)))?;
        } else {
            source.scan(processes, keep)?;
        }
        let ranks = golds.ranks(processes, gold, source.candidates())?;
        let score = |(query, gold): (usize, &Option<u32>)| gold.map(|_| golds.score(query).into());
        let scores = gold.iter().enumerate().map(score).collect();
        Ok(Self { ranks, scores, rows: lists.finish(processes)? })
    }

    /// Returns the decoded queries with the k best candidates of the rows, which `members` lists. `shown` gives the
    /// score that answers show.
    pub(crate) fn decoded<'a>(
        self,
        k: usize,
        members: impl Fn(usize) -> Cow<'a, [u32]> + Sync,
        shown: impl Fn(f64) -> f64 + Sync,
    ) -> Vec<Decoded> {
        let Self { ranks, scores, rows } = self;
        let hits_of_rows = |rows: Vec<(usize, f64)>| {
            let best = expand(rows, k, &members).into_iter();
            hits(best.map(|(candidate, score)| (candidate, shown(score))).collect())
        };
        let hits: Vec<Vec<Hit>> = rows.into_par_iter().map(hits_of_rows).collect();
        let gold_scores = scores.into_iter().map(|score| score.map(|score| shown(score) as f32));
        let each = ranks.into_iter().zip(gold_scores).zip(hits);
        each.map(|((rank, gold_score), hits)| Decoded { rank, gold_score, hits }).collect()
    }
}

/// Ranks the gold rows and finds the k best rows of every query under one model, or fewer if there are fewer; k may be
/// 0. Each of the processes scores its rows.
pub(crate) fn decode(
    processes: &Processes,
    queries: &Queries,
    gold: &[Option<u32>],
    candidates: &dyn CandidateBlocks,
    k: usize,
) -> Result<Ranked, Error> {
    scoring::check(queries, candidates)?;
    check_gold(queries, gold, candidates.rows())?;
    let scores = processes.agree(ModelScores::new(queries, candidates))?;
    Ranked::among(processes, &scores, gold, k)
}

/// Returns the k best candidates from the k best rows: rows are numbered in the order of their first candidates, so
/// that no other row can bring one.
pub(crate) fn expand<'a>(
    rows: impl IntoIterator<Item = (usize, f64)>,
    k: usize,
    members: impl Fn(usize) -> Cow<'a, [u32]>,
) -> Vec<(u32, f64)> {
    let mut scored = Vec::new();
    for (row, score) in rows {
        scored.extend(members(row).iter().take(k).map(|&candidate| (candidate, score)));
    }
    best(scored, k)
}

pub(crate) fn check_k(k: usize, candidates: u64) -> Result<(), Error> {
    let holds = (1..=candidates).contains(&(k as u64));
    let allowed = format_args!("1..={candidates}");
    ensure_allowed(holds, format_args!("the top {k} candidates were asked for"), allowed)
}

/// Returns the k best of scored candidates, best first, ties by index.
pub(crate) fn best(scored: Vec<(u32, f64)>, k: usize) -> Vec<(u32, f64)> {
    first_by(scored, k, |a, b| descending(a.1, b.1).then(a.0.cmp(&b.0)))
}

/// Returns hits with their scores rounded to f32.
pub(crate) fn hits(scored: Vec<(u32, f64)>) -> Vec<Hit> {
    let hit =
        |(candidate, score): (u32, f64)| Hit { candidate: candidate as usize, score: score as f32 };
    scored.into_iter().map(hit).collect()
}
