//! The candidates and queries that the members share.

use super::combiner::Combiner;
use super::member::{Member, member_error, same_queries};
use super::refine::Refinement;
use crate::error::check_len;
use crate::hits::{best, hits};
use crate::scoring::check_gold;
use crate::{
    Candidates, Error, Hit, Metrics, MissingGold, Pool, Queries, Rank, SecondLook, scoring,
};

/// Several models that rank the same candidates for the same queries.
///
/// The candidates of the ensemble are those of the first member, in its order; all indices and all
/// [`PerQuery`](crate::PerQuery) lists are in terms of them. Other members may have them in another
/// order. Candidates that are the same point under every member are one row of the ensemble (the
/// common refinement of the members' classes) and tie bit for bit.
///
/// ```
/// use dsokr_decode::{CandidateParts, Candidates, Combination, Ensemble, Member, MissingGold, Pool, Queries};
///
/// let text = |ids: &[&str]| ids.iter().map(|id| id.to_string()).collect::<Vec<_>>();
/// let candidates = |dim, coordinates| {
///     let ids = text(&["a", "b", "c"]);
///     Candidates::new(CandidateParts { ids, dim, coordinates, ..CandidateParts::default() })
/// };
/// let one = candidates(1, vec![1.0, 0.8, 0.0])?;
/// let two = candidates(2, vec![0.0, 1.0, 0.9, 0.1, 0.5, 0.5])?;
/// let members = vec![
///     Member { name: "one", queries: Queries::new(1, &[1.0])?, candidates: &one, normalised: true },
///     Member { name: "two", queries: Queries::new(2, &[1.0, 0.0])?, candidates: &two, normalised: true },
/// ];
/// let ensemble = Ensemble::new(members)?;
/// let gold = ensemble.gold(Pool::Shared, &text(&["b"]), MissingGold::Error)?;
/// let found = ensemble.decode(Pool::Shared, &Combination::default(), &gold, 1)?;
/// assert_eq!(found[0].rank.map(|rank| rank.expected_rank()), Some(1.0));
/// assert!((found[0].hits[0].score - (0.8 + 0.9) / 2.0).abs() < 1e-6);
/// # Ok::<(), dsokr_decode::Error>(())
/// ```
#[derive(Debug)]
pub struct Ensemble<'a> {
    pub(super) members: Vec<Member<'a>>,
    pub(super) refinement: Refinement<'a>,
    /// The second look at the first candidates of each member.
    pub(super) looks: Vec<Option<&'a SecondLook>>,
}

impl<'a> Ensemble<'a> {
    /// An ensemble of at least one member.
    ///
    /// # Errors
    /// [`Error::TooFew`] for no members; [`Error::At`] for queries and candidates of different
    /// dimensions; [`Error::Inconsistent`], with the first difference, for members whose queries (in
    /// number, or by id where they have ids) or candidates are not those of the first.
    pub fn new(members: Vec<Member<'a>>) -> Result<Self, Error> {
        for (at, member) in members.iter().enumerate() {
            scoring::check(&member.queries, member.candidates)
                .map_err(|error| member_error(member, error))?;
            same_queries(&members[0], &members[at])?;
        }
        let refinement = Refinement::of(&members)?;
        let looks = vec![None; members.len()];
        Ok(Self { members, refinement, looks })
    }

    /// An ensemble of one model, with a second look at its first candidates where there is one. Its errors do not
    /// name a member.
    ///
    /// # Errors
    /// As [`Ensemble::new`] and [`with_second_looks`](Self::with_second_looks).
    pub fn one(
        queries: Queries<'a>,
        candidates: &'a Candidates,
        look: Option<&'a SecondLook>,
    ) -> Result<Self, Error> {
        let member = Member { name: "", queries, candidates, normalised: false };
        Self::new(vec![member])?.with_second_looks(vec![look])
    }

    /// With a second look at the first candidates of some members, an entry a member; see [`SecondLook`].
    ///
    /// # Errors
    /// [`Error::Length`] unless there is one entry a member; [`Error::Inconsistent`] for a look at queries of another
    /// dimension, or at the words of other candidates.
    pub fn with_second_looks(self, looks: Vec<Option<&'a SecondLook>>) -> Result<Self, Error> {
        check_len("second looks", looks.len(), self.members.len())?;
        for (member, look) in self.members.iter().zip(&looks) {
            let checked = look.map_or(Ok(()), |look| look.check(member.candidates));
            checked.map_err(|error| member_error(member, error))?;
        }
        Ok(Self { looks, ..self })
    }

    /// The members.
    pub fn members(&self) -> &[Member<'a>] {
        &self.members
    }

    /// The candidates, which those of all members are by id: the first member's.
    pub fn candidates(&self) -> &'a Candidates {
        self.members[0].candidates
    }

    /// Number of queries.
    pub fn queries(&self) -> usize {
        self.members[0].queries.len()
    }

    /// Number of distinct rows: candidates that differ under some member.
    pub fn distinct(&self) -> usize {
        self.refinement.classes.rows()
    }

    /// Distinct row of the ensemble of a candidate, an index below [`Candidates::len`].
    pub fn class_of(&self, candidate: usize) -> u32 {
        self.refinement.classes.of(candidate)
    }

    /// Distinct rows of the ensemble of the gold candidates, by id; see [`Pool::gold`].
    ///
    /// # Errors
    /// As [`Pool::gold`].
    pub fn gold(
        &self,
        pool: Pool,
        gold: &[String],
        missing: MissingGold,
    ) -> Result<Vec<Option<u32>>, Error> {
        let queries = self.members[0].queries;
        check_len("gold ids", gold.len(), queries.len())?;
        let name = |query: usize| queries.name(query).into_owned();
        let found = pool.gold_candidates(name, gold, self.candidates(), missing)?;
        Ok(found.into_iter().map(|found| found.map(|c| self.class_of(c))).collect())
    }

    /// Metrics of the ranks of all queries, as [`Pool::metrics`] has them for one model; duplicates
    /// are candidates that are the same point under every member as an earlier one.
    ///
    /// # Errors
    /// [`Error::TooFew`] for no queries; [`Error::Length`] unless there is one list a query.
    pub fn metrics(&self, pool: Pool, ranks: &[Option<Rank>]) -> Result<Metrics, Error> {
        let (candidates, duplicates) = self.counts(pool, ranks.len())?;
        Metrics::from_ranks(ranks, candidates, duplicates)
    }

    /// What a uniformly random order of the candidates gives; see [`Metrics::chance`].
    ///
    /// # Errors
    /// As [`Ensemble::metrics`].
    pub fn chance(&self, pool: Pool, ranks: &[Option<Rank>]) -> Result<Metrics, Error> {
        let (candidates, duplicates) = self.counts(pool, ranks.len())?;
        Metrics::chance(ranks, candidates, duplicates)
    }

    /// Candidates that any query is ranked against, and duplicates among them.
    fn counts(&self, pool: Pool, queries: usize) -> Result<(usize, usize), Error> {
        pool.check(queries, self.candidates())?;
        Ok(pool.counts(self.candidates().len(), self.distinct(), |c| self.class_of(c)))
    }

    pub(super) fn check(&self, pool: Pool, gold: &[Option<u32>], k: usize) -> Result<(), Error> {
        let (queries, candidates) = (&self.members[0].queries, self.candidates());
        pool.check(queries.len(), candidates)?;
        check_gold(queries, gold, self.distinct())?;
        if k == 0 { Ok(()) } else { pool.check_k(queries, candidates, k) }
    }

    /// The k best candidates from the k best rows of the ensemble: rows are numbered in the order
    /// of their first candidates, so that no other row can bring one.
    pub(super) fn expand(
        &self,
        combiner: &Combiner,
        rows: Vec<(usize, f64)>,
        k: usize,
    ) -> Vec<Hit> {
        let members = |(row, score): (usize, f64)| {
            let members = self.refinement.classes.members(row..row + 1);
            let first = members.iter().take(k);
            first.map(|&candidate| (candidate, score)).collect::<Vec<_>>()
        };
        shown(combiner, best(rows.into_iter().flat_map(members).collect(), k))
    }
}

/// Hits with the scores that are shown.
pub(super) fn shown(combiner: &Combiner, scored: Vec<(u32, f64)>) -> Vec<Hit> {
    hits(scored.into_iter().map(|(candidate, score)| (candidate, combiner.shown(score))).collect())
}
