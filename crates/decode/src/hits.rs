//! The best candidates of queries, and the ranks of the gold ones.

use std::borrow::Cow;

use dsokr_core::{Error, Processes};
use rayon::prelude::*;

use crate::blocks::CandidateBlocks;
use crate::candidates::Candidates;
use crate::error::check_range;
use crate::queries::Queries;
use crate::rank::Rank;
use crate::scoring::{
    self, Blocking, Gold, QueryTile, TopK, check_gold, descending, first_by, gather, product, scan,
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
/// [`Error::Inconsistent`] for queries and candidates of different dimensions; for
/// no candidates; unless there is one gold entry a query; for
/// a gold row that does not exist; [`Error::NotFiniteAt`] when a score overflows; errors from fetching
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
/// [`Error::OutOfRange`] for k = 0 and for fewer than k candidates; for
/// queries and candidates of different dimensions; for no candidates;
/// [`Error::NotFiniteAt`] when a score overflows.
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
    let decoded = decode(&Processes::default(), queries, &none, candidates, k)?;
    Ok(of_rows(decoded.rows, k, |row| candidates.members(row as u32)))
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
    pub scores: Vec<Option<f32>>,
    /// The k best rows and their scores.
    pub rows: Vec<Vec<(usize, f64)>>,
}

impl Ranked {
    /// Returns the decoded queries with the k best candidates of the rows, which `members` lists.
    pub(crate) fn decoded<'a>(
        self,
        k: usize,
        members: impl Fn(usize) -> Cow<'a, [u32]> + Sync,
    ) -> Vec<Decoded> {
        let hits = of_rows(self.rows, k, members);
        let each = self.ranks.into_iter().zip(self.scores).zip(hits);
        each.map(|((rank, gold_score), hits)| Decoded { rank, gold_score, hits }).collect()
    }
}

/// Ranks the gold rows and finds the k best rows of every query, or fewer if there are fewer, in one pass; k may be 0.
/// Each of the processes scores its rows.
pub(crate) fn decode(
    processes: &Processes,
    queries: &Queries,
    gold: &[Option<u32>],
    candidates: &dyn CandidateBlocks,
    k: usize,
) -> Result<Ranked, Error> {
    let blocking = Blocking::for_dim(queries.dim());
    scoring::check(queries, candidates)?;
    check_gold(queries, gold, candidates.rows())?;
    let prepared = QueryTile::all_to_compare(queries, candidates).and_then(|tiles| {
        // by the same routine as all others
        let score = |at: usize, rows: &[u32]| {
            let (mut coordinates, mut constants, mut products) = Default::default();
            gather(candidates, rows, &mut coordinates, &mut constants)?;
            product(&tiles[at], queries.dim(), &coordinates, &mut products);
            Ok((products, constants))
        };
        let golds = Gold::new(queries, &tiles, gold, score)?;
        Ok((tiles, golds))
    });
    let (tiles, golds) = processes.agree(prepared)?;
    let lists = TopK::new(queries.len(), k.min(candidates.rows()), None);
    let count = |tile: &QueryTile| golds.counter(tile);
    let keep = |tile: &QueryTile| lists.tile(tile);
    let ranked = k == 0 || gold.iter().any(Option::is_some);
    match (ranked, k) {
        (true, 0) => scan(processes, queries, &tiles, candidates, blocking, count)?,
        (true, _) => scan(processes, queries, &tiles, candidates, blocking, |tile| {
            (count(tile), keep(tile))
        })?,
        (false, _) => scan(processes, queries, &tiles, candidates, blocking, keep)?,
    }
    let ranks = golds.ranks(processes, gold, candidates.candidates())?;
    let score = |(query, gold): (usize, &Option<u32>)| gold.map(|_| golds.score(query));
    let scores = gold.iter().enumerate().map(score).collect();
    Ok(Ranked { ranks, scores, rows: lists.finish(processes)? })
}

/// Returns the k best candidates of each query from the k best rows, whose candidates `members` lists.
fn of_rows<'a>(
    rows: Vec<Vec<(usize, f64)>>,
    k: usize,
    members: impl Fn(usize) -> Cow<'a, [u32]> + Sync,
) -> Vec<Vec<Hit>> {
    rows.into_par_iter().map(|rows| hits(expand(rows, k, &members))).collect()
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
    check_range(holds, format_args!("the top {k} candidates were asked for"), allowed)
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
