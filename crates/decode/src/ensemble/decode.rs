//! Ranks, hits and ranked hits of an ensemble.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use dsokr_core::{Cancellation, Error, Processes};
use rayon::prelude::*;

use super::member::{Member, member_error};
use super::rule::{Combiner, Values};
use super::streamed::CombinedScores;
use super::whole::{self, Sweep};
use super::{Combination, Ensemble};
use crate::blocks::CandidateBlocks;
use crate::error::missing_gold;
use crate::hits::{self, Decoded, Hit, Ranked, check_k, expand, hits};
use crate::pool::{PerQuery, Pool};
use crate::rank::Rank;
use crate::ranked_hits::{self, BestRows, RankedHits, wanted_first, wanted_rows};
use crate::reranker::{FirstRow, Reranker};
use crate::scoring::{self, Listed, ModelScores, WantedRows};
use crate::shards::AllCandidates;

impl Ensemble<'_> {
    /// Ranks the gold candidates and finds the k best candidates, in one pass; k may be 0. A query whose list has fewer
    /// candidates has fewer hits.
    ///
    /// `gold` holds distinct rows of the ensemble, as [`Ensemble::gold`] gives them, and `None` for queries without a
    /// gold candidate. The combined score is f64. A candidate is above the gold one if its score is greater, and tied
    /// if it is equal. With one member, ranks and hits equal [`rank`](crate::rank) and [`top_k`](crate::top_k).
    ///
    /// Scores of members are combined tile by tile as they are computed, and no member's score
    /// matrix ever exists. Where all scores of a query are needed at once (rules of ranks,
    /// standardised scores), each thread of the current rayon pool holds the scores of up to 32 queries
    /// with all candidates for one member at a time, and their combined scores: two million of both, 24 MiB, or those of
    /// 16 queries, 192 bytes a candidate, if these are more. A single query keeps one thread busy then.
    /// The scores of members with a [reranker](Self::with_rerankers) are those after it; all scores of a query
    /// are needed at once then.
    ///
    /// The result does not depend on the number of threads. The order of the members changes sums of scores by
    /// rounding; it does not change sums of ranks and of reciprocal ranks. (Reciprocal ranks are rounded to multiples
    /// of about 10⁻¹⁵ T, which neighbours share beyond rank 10⁷.)
    ///
    /// # Errors
    /// [`Error::Unsupported`] when unstandardised scores of several members are combined and not all
    /// kernels are normalised; [`Error::Shape`] unless there is one weight a member, one gold entry
    /// (and one list) a query; for weights and constants that are not allowed, k
    /// above the number of candidates and gold rows that do not exist; for
    /// weights that do not sum to 1 and a gold row that is not in its list; [`Error::At`] with
    /// [`Error::NotFiniteAt`] when a score of a member overflows.
    pub fn decode(
        &self,
        pool: Pool,
        rule: &Combination,
        gold: &[Option<u32>],
        k: usize,
    ) -> Result<Vec<Decoded>, Error> {
        let combiner = rule.combiner(&self.models.members)?;
        self.models.check(pool, gold, k)?;
        let sharded = matches!(self.models.all, AllCandidates::Shards(_));
        let plain = combiner.values == Values::Scores || sharded;
        let sweep = Sweep { models: &self.models, pool, combiner: &combiner, gold };
        match (&self.models.members[..], pool) {
            ([member], _) if let Some(reranker) = self.models.rerankers[0] => {
                let decoded = reranked(&self.processes, reranker, pool, member, gold, k);
                let decoded = decoded.map_err(|error| member_error(member, error))?;
                Ok(decoded.into_iter().map(|(decoded, _)| decoded).collect())
            }
            ([member], Pool::Shared) if plain => {
                self.scanned(gold, k).map_err(|error| member_error(member, error))
            }
            (_, Pool::Shared) if plain && self.models.rerankers.iter().all(Option::is_none) => {
                let all = 0..self.models.queries();
                let scores = CombinedScores::new(&self.models, &combiner, all);
                let ranked = Ranked::among(&self.processes, &scores, gold, k)?;
                let classes = &self.models.classes;
                let members = |row| classes.members(row..row + 1);
                Ok(ranked.decoded(k, members, |score| combiner.shown(score)))
            }
            (_, Pool::Shared | Pool::PerQuery(_)) => whole::decode(&sweep, k),
        }
    }

    /// Returns the best wanted candidates of each query at some places, with their ranks among all candidates. `wanted`
    /// has an entry for each candidate, or for each candidate of [`Shards::held`](crate::Shards::held); without it all
    /// are wanted. Places that do not exist are left out.
    ///
    /// Scores are those of [`decode`](Self::decode), and candidates tie whose combined scores, in f64, are equal.
    /// Memory does not grow with the product of queries and candidates; see [`decode`](Self::decode).
    ///
    /// # Errors
    /// [`Error::Shape`] unless `wanted` has an entry a candidate; the errors of [`decode`](Self::decode).
    pub fn ranked_hits(
        &self,
        rule: &Combination,
        wanted: Option<&[bool]>,
        places: Range<usize>,
    ) -> Result<Vec<RankedHits>, Error> {
        let mut combiner = rule.combiner(&self.models.members)?;
        let rows = wanted.map(|wanted| self.wanted_rows(wanted)).transpose()?;
        let reranked = self.models.rerankers.iter().any(Option::is_some);
        let sharded = matches!(self.models.all, AllCandidates::Shards(_));
        if (reranked || sharded) && self.models.members.len() == 1 {
            combiner = Combiner::sum(Values::Scores, 1, None);
        }
        let best = self.best_rows(&combiner, rows.as_ref(), places)?;
        let members = self.members_of_rows(&best, wanted)?;
        let shown = |score| combiner.shown(score);
        Ok(best.into_iter().map(|query| query.ranked_hits(shown, &members)).collect())
    }

    /// Returns the best wanted rows of each query at some places.
    fn best_rows(
        &self,
        combiner: &Combiner,
        wanted: Option<&WantedRows>,
        places: Range<usize>,
    ) -> Result<Vec<BestRows>, Error> {
        let processes = &self.processes;
        let models = &self.models;
        let reranked = models.rerankers.iter().any(Option::is_some);
        if reranked || combiner.values != Values::Scores {
            let sweep = Sweep { models, pool: Pool::Shared, combiner, gold: &[] };
            return whole::find(&sweep, wanted, places);
        }
        let queries = models.queries();
        if let [member] = &models.members[..] {
            let best = models.all.with_rows(processes, std::iter::empty(), |all| {
                scoring::check(&member.queries, all)?;
                let scores = |part| ModelScores::new(&member.queries.part(part), all);
                ranked_hits::find(processes, queries, all.rows(), scores, wanted, places)
            });
            return best.map_err(|error| member_error(member, error));
        }
        let scores = |part| Ok(CombinedScores::new(models, combiner, part));
        ranked_hits::find(processes, queries, models.distinct(), scores, wanted, places)
    }

    /// Returns the candidates of each of the best rows, the first wanted one first.
    fn members_of_rows(
        &self,
        best: &[BestRows],
        wanted: Option<&[bool]>,
    ) -> Result<HashMap<usize, Vec<u32>>, Error> {
        let rows = best.iter().flat_map(|query| &query.rows).map(|&(row, _)| row);
        match self.models.all {
            AllCandidates::Shards(shards) => {
                shards.members(&self.processes, rows, usize::MAX, wanted)
            }
            AllCandidates::Whole(_) => {
                let members = |row| self.models.classes.members(row..row + 1);
                let ordered = |row| wanted_first(&members(row), wanted, usize::MAX);
                Ok(rows.map(|row| (row, ordered(row))).collect())
            }
        }
    }

    /// Ranks the gold rows and finds the k best candidates of the one member, by its scores.
    fn scanned(&self, gold: &[Option<u32>], k: usize) -> Result<Vec<Decoded>, Error> {
        let processes = &self.processes;
        let queries = &self.models.members[0].queries;
        let golds = gold.iter().flatten().map(|&row| row as usize);
        let decode = |all: &dyn CandidateBlocks| hits::decode(processes, queries, gold, all, k);
        let hits = self.models.all.with_rows(processes, golds, decode)?;
        let AllCandidates::Shards(shards) = self.models.all else {
            let classes = &self.models.classes;
            return Ok(hits.decoded(k, |row| classes.members(row..row + 1), |score| score));
        };
        let rows = hits.rows.iter().flatten().map(|&(row, _)| row);
        let members = shards.members(processes, rows, k, None)?;
        let members = |row: usize| members.get(&row).map_or(&[][..], Vec::as_slice).into();
        Ok(hits.decoded(k, members, |score| score))
    }

    /// Returns the distinct rows with a wanted candidate.
    fn wanted_rows(&self, wanted: &[bool]) -> Result<WantedRows, Error> {
        match self.models.all {
            AllCandidates::Shards(shards) => shards.wanted_rows(&self.processes, wanted),
            AllCandidates::Whole(all) => {
                Error::check_length("wanted candidates", wanted.len(), all.len())?;
                Ok(WantedRows(vec![(0, wanted_rows(&self.models.classes, wanted))]))
            }
        }
    }

    /// Ranks the gold candidate of every query; see [`Ensemble::decode`].
    ///
    /// # Errors
    /// The errors of [`Ensemble::decode`].
    pub fn rank(
        &self,
        pool: Pool,
        rule: &Combination,
        gold: &[Option<u32>],
    ) -> Result<Vec<Option<Rank>>, Error> {
        let decoded = self.decode(pool, rule, gold, 0)?;
        Ok(decoded.into_iter().map(|query| query.rank).collect())
    }

    /// Returns the k best candidates of every query, best first, ties in the order of the candidates; see
    /// [`Ensemble::decode`].
    ///
    /// # Errors
    /// The errors of [`Ensemble::decode`]; [`Error::OutOfRange`] for k = 0.
    pub fn top_k(&self, pool: Pool, rule: &Combination, k: usize) -> Result<Vec<Vec<Hit>>, Error> {
        check_k(k, self.models.all.len() as u64)?;
        let decoded = self.decode(pool, rule, &vec![None; self.queries()], k)?;
        Ok(decoded.into_iter().map(|query| query.hits).collect())
    }
}

/// A row of a query, with its score.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScoredRow {
    pub row: usize,
    pub score: f32,
    /// How many candidates share the row.
    count: u32,
}

/// The rows that are at hand for the queries of a member.
enum AtHand<'p> {
    /// The best of all candidates, with what is true beyond them.
    Best(Ranked),
    /// The candidates of the lists.
    Listed(&'p PerQuery),
}

impl<'p> AtHand<'p> {
    /// Returns the `count` best rows of all candidates, or all rows of the lists.
    fn find(
        processes: &Processes,
        pool: Pool<'p>,
        member: &Member,
        gold: &[Option<u32>],
        count: usize,
    ) -> Result<Self, Error> {
        Ok(match pool {
            Pool::Shared => Self::Best(hits::decode(
                processes,
                &member.queries,
                gold,
                member.candidates,
                count,
            )?),
            Pool::PerQuery(lists) => Self::Listed(lists),
        })
    }

    /// Returns the rows of a query, best first.
    fn rows(
        &self,
        listed: &mut Listed,
        member: &Member,
        query: usize,
    ) -> Result<Vec<ScoredRow>, Error> {
        let queries = &member.queries;
        let candidates = member.candidates;
        let mut rows: Vec<ScoredRow> = match self {
            Self::Best(best) => {
                let scored = |&(row, score): &(usize, f64)| {
                    let count = candidates.classes().count(row);
                    ScoredRow { row, score: score as f32, count }
                };
                best.rows[query].iter().map(scored).collect()
            }
            Self::Listed(lists) => {
                let list = lists.list(query).iter();
                listed.gather(list.map(|&candidate| candidates.class_of(candidate as usize)));
                let scores = listed.score(queries, query, candidates)?;
                let rows = listed.rows.iter().zip(scores).zip(&listed.counts);
                rows.map(|((&row, score), &count)| ScoredRow { row: row as usize, score, count })
                    .collect()
            }
        };
        rows.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.row.cmp(&b.row)));
        Ok(rows)
    }
}

/// Returns the first rows of each query of a member, as many as are scored anew.
pub(super) fn first_rows(
    processes: &Processes,
    reranker: &Reranker,
    pool: Pool,
    member: &Member,
) -> Result<Vec<Vec<ScoredRow>>, Error> {
    let queries = member.queries.len();
    let at_hand = AtHand::find(processes, pool, member, &vec![None; queries], reranker.size())?;
    let stage = Cancellation::current().stage("candidates of the queries", queries);
    let one = |listed: &mut Listed, query: usize| {
        stage.advance(1)?;
        let mut rows = at_hand.rows(listed, member, query)?;
        rows.truncate(reranker.size());
        Ok(rows)
    };
    (0..queries).into_par_iter().map_init(Listed::default, one).collect()
}

/// Ranks the gold rows and finds the k best candidates of a member with a reranker; with the first rows of each query,
/// as they were before it.
pub(super) fn reranked(
    processes: &Processes,
    reranker: &Reranker,
    pool: Pool,
    member: &Member,
    gold: &[Option<u32>],
    k: usize,
) -> Result<Vec<(Decoded, Vec<ScoredRow>)>, Error> {
    let queries = &member.queries;
    let candidates = member.candidates;
    let at_hand = AtHand::find(processes, pool, member, gold, reranker.size().max(k))?;
    let stage = Cancellation::current().stage("reranked queries", queries.len());
    let one = |listed: &mut Listed, query: usize| {
        stage.advance(1)?;
        let rows = at_hand.rows(listed, member, query)?;
        let (anew, old) = rows.split_at(reranker.size().min(rows.len()));
        let first_row =
            |scored: &ScoredRow| FirstRow::candidate(candidates, scored.row, scored.score);
        let first_rows: Vec<FirstRow> = anew.iter().map(first_row).collect();
        let mut scores = reranker.scores(queries, query, &first_rows, true)?;
        scores.extend(old.iter().map(|scored| f64::from(scored.score)));
        let members = |row: usize| -> Cow<[u32]> {
            let members = candidates.members(row as u32);
            members.iter().copied().filter(|&candidate| pool.has(query, candidate)).collect()
        };
        let scored = rows.iter().map(|scored| scored.row).zip(scores.iter().copied());
        let hits_of_query = hits(expand(scored, k, members));
        let Some(gold) = gold[query] else {
            return Ok((
                Decoded { rank: None, gold_score: None, hits: hits_of_query },
                anew.to_vec(),
            ));
        };
        let place = rows.iter().position(|scored| scored.row == gold as usize);
        let (rank, score) = match (place, &at_hand) {
            // a row that keeps its score keeps its rank, beyond the rows at hand too
            (place, AtHand::Best(best)) if place.is_none_or(|at| at >= first_rows.len()) => {
                (best.ranks[query], best.scores[query].map(|score| score as f32))
            }
            (Some(at), _) => {
                let counted = scores.iter().copied().zip(rows.iter().map(|scored| scored.count));
                let rank = Rank::among(counted, scores[at], pool.size(query, candidates.len()))?;
                (Some(rank), Some(scores[at] as f32))
            }
            (None, _) => {
                return Err(missing_gold(&queries.name(query), &format!("of row {gold}")));
            }
        };
        Ok((Decoded { rank, gold_score: score, hits: hits_of_query }, anew.to_vec()))
    };
    (0..queries.len()).into_par_iter().map_init(Listed::default, one).collect()
}
