use dsokr_basis::Cancellation;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{check_len, missing_gold};
use crate::gold_tile::check_gold;
use crate::scoring::{self, Buffers, gold_scores};
use crate::topk::{best, check_k, hits};
use crate::{Candidates, Decoded, Error, Hit, Metrics, PerQuery, Queries, Rank, rank, top_k};

/// What to do with a query whose gold candidate is not among its candidates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MissingGold {
    /// Refuse the evaluation and name the query.
    #[default]
    Error,
    /// Count the query with rank ∞: nothing to the reciprocal rank and to the hits.
    RankInfinity,
}

/// Which candidates a query is ranked against.
#[derive(Clone, Copy, Debug, Default)]
pub enum Pool<'a> {
    /// All candidates, the same for every query.
    #[default]
    Shared,
    /// Its own list of them, made for the candidates at hand; lists made for another number of
    /// candidates are refused with [`Error::Length`].
    PerQuery(&'a PerQuery),
}

impl Pool<'_> {
    /// Distinct rows of the gold candidates, by id; `None` where `missing` allows it.
    ///
    /// # Errors
    /// [`Error::Length`] unless there is one gold id (and one list) a query;
    /// [`Error::Inconsistent`] for a gold candidate that is not among those of its query, unless
    /// `missing` is [`MissingGold::RankInfinity`].
    pub fn gold(
        &self,
        queries: &[String],
        gold: &[String],
        candidates: &Candidates,
        missing: MissingGold,
    ) -> Result<Vec<Option<u32>>, Error> {
        check_len("gold ids", gold.len(), queries.len())?;
        let name = |query: usize| format!("{:?}", queries[query]);
        let found = self.gold_candidates(name, gold, candidates, missing)?;
        Ok(found.into_iter().map(|found| found.map(|c| candidates.class_of(c))).collect())
    }

    /// The gold candidates of as many queries as there are ids; `name` is how errors call a query.
    pub(crate) fn gold_candidates(
        &self,
        name: impl Fn(usize) -> String,
        gold: &[String],
        candidates: &Candidates,
        missing: MissingGold,
    ) -> Result<Vec<Option<usize>>, Error> {
        self.check(gold.len(), candidates)?;
        let resolve = |(query, id): (usize, &String)| {
            let listed = |&candidate: &usize| match self {
                Self::Shared => true,
                Self::PerQuery(lists) => lists.list(query).contains(&(candidate as u32)),
            };
            match (candidates.find(id).filter(listed), missing) {
                (None, MissingGold::Error) => Err(missing_gold(&name(query), &format!("{id:?}"))),
                (found, _) => Ok(found),
            }
        };
        gold.iter().enumerate().map(resolve).collect()
    }

    /// Ranks the gold candidate of every query among the candidates of the query.
    ///
    /// `gold` holds distinct rows, as [`Pool::gold`] gives them; see [`rank`].
    ///
    /// # Errors
    /// As [`rank`]; [`Error::Length`] unless there is one list a query; [`Error::Inconsistent`] when
    /// no candidate in the list has the gold row.
    pub fn rank(
        &self,
        queries: &Queries,
        gold: &[Option<u32>],
        candidates: &Candidates,
    ) -> Result<Vec<Option<Rank>>, Error> {
        let Self::PerQuery(lists) = self else {
            return rank(queries, gold, candidates);
        };
        scoring::check(queries, candidates)?;
        self.check(queries.len(), candidates)?;
        check_gold(queries, gold, candidates.distinct())?;
        let cancellation = Cancellation::current();
        let one = |buffers: &mut Buffers, query: usize| {
            cancellation.check()?;
            let Some(row) = gold[query] else {
                return Ok(None);
            };
            buffers.gather(rows_of(lists.list(query), candidates));
            let scores = buffers.score(queries, query, candidates)?;
            let Ok(at) = buffers.rows.binary_search_by_key(&row, |&(listed, _)| listed) else {
                return Err(missing_gold(&queries.name(query), &format!("of row {row}")));
            };
            let counts = buffers.rows.iter().map(|&(_, count)| count);
            let scored = scores.iter().map(|&score| score.into()).zip(counts);
            Rank::among(scored, scores[at].into(), lists.list(query).len() as u64).map(Some)
        };
        (0..queries.len()).into_par_iter().map_init(Buffers::default, one).collect()
    }

    /// The k best candidates of every query among the candidates of the query; see [`top_k`].
    ///
    /// # Errors
    /// As [`top_k`], with the query that has fewer than k candidates; [`Error::Length`] unless there
    /// is one list a query.
    pub fn top_k(
        &self,
        queries: &Queries,
        candidates: &Candidates,
        k: usize,
    ) -> Result<Vec<Vec<Hit>>, Error> {
        let Self::PerQuery(lists) = self else {
            return top_k(queries, candidates, k);
        };
        scoring::check(queries, candidates)?;
        self.check(queries.len(), candidates)?;
        self.check_k(queries, k)?;
        let cancellation = Cancellation::current();
        let one = |buffers: &mut Buffers, query: usize| {
            cancellation.check()?;
            let list = lists.list(query);
            buffers.gather(rows_of(list, candidates));
            let scores = buffers.score(queries, query, candidates)?;
            let score = |&candidate: &u32| {
                let row = candidates.class_of(candidate as usize);
                let at = buffers.rows.partition_point(|&(listed, _)| listed < row);
                (candidate, scores[at].into())
            };
            Ok(hits(best(list.iter().map(score).collect(), k)))
        };
        (0..queries.len()).into_par_iter().map_init(Buffers::default, one).collect()
    }

    /// Ranks the gold candidates and finds the k best candidates; k may be 0.
    pub(crate) fn decode(
        &self,
        queries: &Queries,
        gold: &[Option<u32>],
        candidates: &Candidates,
        k: usize,
    ) -> Result<Vec<Decoded>, Error> {
        let ranks = match gold.iter().any(Option::is_some) {
            true => self.rank(queries, gold, candidates)?,
            false => vec![None; queries.len()],
        };
        let hits = match k {
            0 => vec![Vec::new(); queries.len()],
            _ => self.top_k(queries, candidates, k)?,
        };
        let scores = gold_scores(queries, gold, candidates)?;
        let each = ranks.into_iter().zip(scores).zip(hits);
        Ok(each.map(|((rank, gold_score), hits)| Decoded { rank, gold_score, hits }).collect())
    }

    /// Metrics of the ranks of all queries, as [`Pool::rank`] gives them.
    ///
    /// For [`Pool::Shared`] they are [`Metrics::of`]. For [`Pool::PerQuery`],
    /// [`Metrics::candidates`] counts the candidates that occur in any list, each once, and
    /// [`Metrics::duplicate_candidates`] those among them that are the same point as an earlier
    /// one of them, in the same list or not.
    ///
    /// # Errors
    /// [`Error::TooFew`] for no queries; [`Error::Length`] unless there is one list a query.
    pub fn metrics(
        &self,
        ranks: &[Option<Rank>],
        candidates: &Candidates,
    ) -> Result<Metrics, Error> {
        self.check(ranks.len(), candidates)?;
        let (count, duplicates) =
            self.counts(candidates.len(), candidates.distinct(), |c| candidates.class_of(c));
        Metrics::from_ranks(ranks, count, duplicates)
    }

    /// Candidates that any query is ranked against, and duplicates among them: those whose row,
    /// `row_of` below `distinct`, is that of an earlier one.
    pub(crate) fn counts(
        &self,
        candidates: usize,
        distinct: usize,
        row_of: impl Fn(usize) -> u32,
    ) -> (usize, usize) {
        let Self::PerQuery(lists) = self else {
            return (candidates, candidates - distinct);
        };
        let listed = lists.listed();
        let mut seen = vec![false; distinct];
        listed.iter().for_each(|&c| seen[row_of(c as usize) as usize] = true);
        (listed.len(), listed.len() - seen.iter().filter(|&&seen| seen).count())
    }

    /// One list a query, made for as many candidates as there are.
    pub(crate) fn check(&self, queries: usize, candidates: &Candidates) -> Result<(), Error> {
        let Self::PerQuery(lists) = self else {
            return Ok(());
        };
        check_len("candidate lists", lists.len(), queries)?;
        check_len("candidates", candidates.len(), lists.candidates())
    }

    /// At least k candidates in each list; what all queries share is checked elsewhere.
    pub(crate) fn check_k(&self, queries: &Queries, k: usize) -> Result<(), Error> {
        let Self::PerQuery(lists) = self else {
            return Ok(());
        };
        (0..lists.len()).try_for_each(|query| {
            check_k(k, lists.list(query).len() as u64)
                .map_err(|error| error.at(format!("query {}", queries.name(query))))
        })
    }
}

/// The distinct rows of listed candidates, in the order of the list.
fn rows_of(list: &[u32], candidates: &Candidates) -> impl Iterator<Item = u32> {
    list.iter().map(|&candidate| candidates.class_of(candidate as usize))
}
