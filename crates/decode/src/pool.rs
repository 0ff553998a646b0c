use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{check_len, missing_gold};
use crate::hits::check_k;
use crate::{Candidates, Error, Metrics, PerQuery, Queries, Rank};

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
            let listed = |&candidate: &usize| self.has(query, candidate as u32);
            match (candidates.find(id).filter(listed), missing) {
                (None, MissingGold::Error) => Err(missing_gold(&name(query), &format!("{id:?}"))),
                (found, _) => Ok(found),
            }
        };
        gold.iter().enumerate().map(resolve).collect()
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

    /// Whether a query is ranked against a candidate.
    pub(crate) fn has(&self, query: usize, candidate: u32) -> bool {
        self.list(query).is_none_or(|list| list.contains(&candidate))
    }

    /// The list of a query, where queries have some.
    pub(crate) fn list(&self, query: usize) -> Option<&[u32]> {
        match self {
            Self::Shared => None,
            Self::PerQuery(lists) => Some(lists.list(query)),
        }
    }

    /// Number of candidates of a query.
    pub(crate) fn size(&self, query: usize, candidates: &Candidates) -> u64 {
        self.list(query).map_or(candidates.len(), <[u32]>::len) as u64
    }

    /// One list a query, made for as many candidates as there are.
    pub(crate) fn check(&self, queries: usize, candidates: &Candidates) -> Result<(), Error> {
        let Self::PerQuery(lists) = self else {
            return Ok(());
        };
        check_len("candidate lists", lists.len(), queries)?;
        check_len("candidates", candidates.len(), lists.candidates())
    }

    /// Refuses fewer than k candidates of a query, which is named where it has a list.
    pub(crate) fn check_k(
        &self,
        queries: &Queries,
        candidates: &Candidates,
        k: usize,
    ) -> Result<(), Error> {
        let Self::PerQuery(lists) = self else {
            return check_k(k, candidates.len() as u64);
        };
        (0..lists.len()).try_for_each(|query| {
            check_k(k, lists.list(query).len() as u64)
                .map_err(|error| error.at(format!("query {}", queries.name(query))))
        })
    }
}
