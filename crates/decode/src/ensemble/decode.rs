use std::ops::Range;

use super::combination::Combination;
use super::combiner::{Combiner, Values};
use super::looked;
use super::member::member_error;
use super::shared::Ensemble;
use super::streamed;
use super::whole::{self, Sweep};
use crate::error::check_len;
use crate::hits::{self, check_k};
use crate::scoring::WantedRows;
use crate::standing::{self, Found, wanted_first, wanted_rows};
use crate::{Candidates, Decoded, Error, Hit, Pool, Queries, Rank, Standings};

impl Ensemble<'_> {
    /// Ranks the gold candidates and finds the k best candidates, in one pass; k may be 0.
    ///
    /// `gold` holds distinct rows of the ensemble, as [`Ensemble::gold`] gives them, and `None` for
    /// queries without. The combined score is f64; a candidate is above the gold one if its score
    /// is greater, and tied if it is equal. With one member, ranks and hits are those of
    /// [`Pool::rank`] and [`Pool::top_k`].
    ///
    /// Scores of members are combined tile by tile as they are computed, and no member's score
    /// matrix ever exists. Where all scores of a query are needed at once (rules of ranks,
    /// standardised scores), each thread of the current rayon pool holds the scores of 32 queries
    /// with all candidates for one member at a time, and their combined scores: 384 bytes a
    /// candidate. A thread takes 32 queries at a time then, so a single query keeps one thread busy.
    /// The scores of members with a [second look](Self::with_second_looks) are those after it; all scores of a query
    /// are needed at once then.
    ///
    /// The result does not depend on the number of threads. The order of the members changes sums of scores by
    /// rounding; it does not change sums of ranks and of reciprocal ranks. (Reciprocal ranks are rounded to multiples of about 10⁻¹⁵ T, which neighbours
    /// share beyond rank 10⁷.)
    ///
    /// # Errors
    /// [`Error::Unsupported`] when unstandardised scores of several members are combined and not all
    /// kernels are normalised; [`Error::Length`] unless there is one weight a member, one gold entry
    /// (and one list) a query; [`Error::OutOfRange`] for weights and constants that are not allowed, k
    /// above the number of candidates and gold rows that do not exist; [`Error::Inconsistent`] for
    /// weights that do not sum to 1 and a gold row that is not in its list; [`Error::At`] with
    /// [`Error::NotFinite`] when a score of a member overflows.
    pub fn decode(
        &self,
        pool: Pool,
        rule: &Combination,
        gold: &[Option<u32>],
        k: usize,
    ) -> Result<Vec<Decoded>, Error> {
        let combiner = rule.combiner(&self.members)?;
        self.check(pool, gold, k)?;
        let plain = matches!(pool, Pool::Shared) && combiner.values == Values::Scores;
        if let [member] = &self.members[..]
            && (self.looks[0].is_some() || plain)
        {
            let candidates = member.candidates;
            let decoded = match self.looks[0] {
                Some(look) => looked::decode(look, pool, member, gold, k),
                None => hits::decode(&member.queries, gold, candidates, k)
                    .map(|found| found.decoded(k, |row| candidates.members(row as u32))),
            };
            return decoded.map_err(|error| member_error(member, error));
        }
        let sweep = Sweep { ensemble: self, pool, combiner: &combiner, gold };
        match pool {
            Pool::Shared if plain && self.looks.iter().all(Option::is_none) => {
                streamed::decode(&sweep, k)
            }
            Pool::Shared | Pool::PerQuery(_) => whole::decode(&sweep, k),
        }
    }

    /// The best wanted candidates of each query at some places, with where they stand among all candidates;
    /// `wanted` says it of each candidate, and all are without it. Of the places only those that there are.
    ///
    /// Scores are those of [`decode`](Self::decode), and candidates tie whose combined scores, in f64, are equal.
    /// Memory does not grow with the product of queries and candidates: scores of one model are compared as they
    /// are computed, and where all scores of a query are needed at once, which is so here for several members too, each
    /// thread of the current rayon pool holds two million of them, or those of one query.
    ///
    /// # Errors
    /// [`Error::Length`] unless `wanted` has an entry a candidate; else as [`decode`](Self::decode).
    pub fn standings(
        &self,
        rule: &Combination,
        wanted: Option<&[bool]>,
        places: Range<usize>,
    ) -> Result<Vec<Standings>, Error> {
        let mut combiner = rule.combiner(&self.members)?;
        if let Some(wanted) = wanted {
            check_len("wanted candidates", wanted.len(), self.candidates().len())?;
        }
        let classes = &*self.refinement.classes;
        let rows = wanted.map(|wanted| WantedRows::new([(0, wanted_rows(classes, wanted))]));
        let alone = match &self.members[..] {
            [member] => {
                let looks = self.looks[0].is_some();
                if looks {
                    combiner = Combiner::sum(Values::Scores, 1, None);
                }
                Some(member).filter(|_| !looks && combiner.values == Values::Scores)
            }
            _ => None,
        };
        let found = match alone {
            Some(member) => {
                standing::find(&member.queries, member.candidates, rows.as_ref(), places)
                    .map_err(|error| member_error(member, error))?
            }
            None => {
                let sweep =
                    Sweep { ensemble: self, pool: Pool::Shared, combiner: &combiner, gold: &[] };
                whole::find(&sweep, rows.as_ref(), places)?
            }
        };
        let members = |row: usize| wanted_first(&classes.members(row..row + 1), wanted);
        let standings = |found: Found| found.standings(|score| combiner.shown(score), members);
        Ok(found.into_iter().map(standings).collect())
    }

    /// Ranks the gold candidate of every query; see [`Ensemble::decode`].
    ///
    /// # Errors
    /// As [`Ensemble::decode`].
    pub fn rank(
        &self,
        pool: Pool,
        rule: &Combination,
        gold: &[Option<u32>],
    ) -> Result<Vec<Option<Rank>>, Error> {
        let decoded = self.decode(pool, rule, gold, 0)?;
        Ok(decoded.into_iter().map(|query| query.rank).collect())
    }

    /// The k best candidates of every query, best first, ties in the order of the candidates; see
    /// [`Ensemble::decode`].
    ///
    /// # Errors
    /// As [`Ensemble::decode`]; [`Error::OutOfRange`] for k = 0.
    pub fn top_k(&self, pool: Pool, rule: &Combination, k: usize) -> Result<Vec<Vec<Hit>>, Error> {
        check_k(k, self.candidates().len() as u64)?;
        let decoded = self.decode(pool, rule, &vec![None; self.queries()], k)?;
        Ok(decoded.into_iter().map(|query| query.hits).collect())
    }
}

impl Pool<'_> {
    /// Ranks the gold candidate of every query of one model among the candidates of the query.
    ///
    /// `gold` holds distinct rows, as [`Pool::gold`] gives them; see [`rank`](crate::rank).
    ///
    /// # Errors
    /// As [`rank`](crate::rank); [`Error::Length`] unless there is one list a query; [`Error::Inconsistent`] when
    /// no candidate in the list has the gold row.
    pub fn rank(
        &self,
        queries: &Queries,
        gold: &[Option<u32>],
        candidates: &Candidates,
    ) -> Result<Vec<Option<Rank>>, Error> {
        Ensemble::one(*queries, candidates, None)?.rank(*self, &Combination::default(), gold)
    }

    /// The k best candidates of every query of one model among the candidates of the query; see
    /// [`top_k`](crate::top_k).
    ///
    /// # Errors
    /// As [`top_k`](crate::top_k), with the query that has fewer than k candidates; [`Error::Length`] unless there
    /// is one list a query.
    pub fn top_k(
        &self,
        queries: &Queries,
        candidates: &Candidates,
        k: usize,
    ) -> Result<Vec<Vec<Hit>>, Error> {
        Ensemble::one(*queries, candidates, None)?.top_k(*self, &Combination::default(), k)
    }
}
