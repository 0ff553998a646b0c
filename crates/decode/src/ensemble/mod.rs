//! Several models that rank the same candidates for the same queries.

mod decode;
mod fit;
mod likelihood;
mod out_of_pool;
mod rivals;
mod rule;
mod streamed;
mod values;
mod whole;

use std::borrow::Cow;
use std::collections::HashMap;

use dsokr_core::Error;

use crate::candidates::Candidates;
use crate::classes::Classes;
use crate::error::ensure;
use crate::hits::check_k;
use crate::metrics::Metrics;
use crate::pool::{MissingGold, Pool};
use crate::queries::Queries;
use crate::rank::Rank;
use crate::reranker::Reranker;
use crate::scoring::{self, check_gold};
use crate::shards::{AllCandidates, Shards};

pub use fit::{FittedWeights, fit_weights};
pub use likelihood::{LikelyWeights, likely_weights};
pub use out_of_pool::OutOfPoolScores;
pub use rule::Combination;

/// A model of an ensemble: its predictions for the queries, and its candidates.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// How errors call it, such as the folder of its run; an empty name is not mentioned.
    pub name: &'a str,
    /// The predictions, in the member's dimension.
    pub queries: Queries<'a>,
    /// The candidates, with the member's coordinates, constants and classes.
    pub candidates: &'a Candidates,
    /// Whether the kernel is normalised, `k(c, c) = 1` for all candidates, so that scores are comparable with those of
    /// other normalised kernels.
    pub normalised: bool,
}

/// Several models that rank the same candidates for the same queries.
///
/// The ensemble has the candidates of the first member, in its order; all indices and all [`PerQuery`](crate::PerQuery)
/// lists refer to them. Other members may have them in a different order. Candidates that are the same point under
/// every member are one row of the ensemble (the common refinement of the members' classes) and tie bit for bit.
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
/// # Ok::<(), dsokr_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Ensemble<'a> {
    members: Vec<Member<'a>>,
    /// The classes of candidates in the rows of the ensemble, which are numbered as they first appear. Candidates are
    /// in the order of the first member.
    classes: Cow<'a, Classes>,
    /// Row under member t of row r: `rows[t][r]`.
    rows: Vec<Vec<u32>>,
    /// The reranker of the first candidates of each member.
    rerankers: Vec<Option<&'a Reranker>>,
    /// The candidates that are ranked. Where they are in shards, members, classes and rows cover a part of them.
    all: AllCandidates<'a>,
}

impl<'a> Ensemble<'a> {
    /// Creates an ensemble of at least one member.
    ///
    /// [`Error::TooFew`] for no members; [`Error::At`] for queries and candidates of different dimensions;
    /// [`Error::Inconsistent`], with the first difference, for members whose queries (in number, or by id where they
    /// have ids) or candidates differ from the first member's.
    pub fn new(members: Vec<Member<'a>>) -> Result<Self, Error> {
        for (at, member) in members.iter().enumerate() {
            scoring::check(&member.queries, member.candidates)
                .map_err(|error| member_error(member, error))?;
            same_queries(&members[0], &members[at])?;
        }
        let (classes, rows) = refined(&members)?;
        let rerankers = vec![None; members.len()];
        let all = AllCandidates::Whole(members[0].candidates);
        Ok(Self { members, classes, rows, rerankers, all })
    }

    /// Creates an ensemble of one model, with a reranker of its first candidates where there is one. Its errors do
    /// not name a member.
    ///
    /// # Errors
    /// The errors of [`Ensemble::new`] and [`with_rerankers`](Self::with_rerankers).
    pub fn one(
        queries: Queries<'a>,
        candidates: &'a Candidates,
        reranker: Option<&'a Reranker>,
    ) -> Result<Self, Error> {
        let member = Member { name: "", queries, candidates, normalised: false };
        Self::new(vec![member])?.with_rerankers(vec![reranker])
    }

    /// Creates an ensemble of one model, whose candidates are in shards. All [`Processes`](dsokr_core::Processes) that
    /// have opened them call the same methods in the same order. The rule does not matter to one model, and queries
    /// share all candidates.
    ///
    /// # Errors
    /// The errors of [`Ensemble::new`].
    pub fn sharded(name: &'a str, queries: Queries<'a>, shards: &'a Shards) -> Result<Self, Error> {
        let members = shards.held().take(1);
        let members =
            members.map(|candidates| Member { name, queries, candidates, normalised: false });
        let all = AllCandidates::Shards(shards);
        Ok(Self { all, ..Self::new(members.collect())? })
    }

    /// Sets a reranker of the first candidates of some members, an entry a member; see [`Reranker`].
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is one entry a member; for a reranker of queries of a different
    /// dimension, or at the words of other candidates.
    pub fn with_rerankers(self, rerankers: Vec<Option<&'a Reranker>>) -> Result<Self, Error> {
        Error::check_length("rerankers", rerankers.len(), self.members.len())?;
        for (member, reranker) in self.members.iter().zip(&rerankers) {
            let checked = reranker.map_or(Ok(()), |reranker| reranker.check(member.candidates));
            checked.map_err(|error| member_error(member, error))?;
        }
        Ok(Self { rerankers, ..self })
    }

    /// Returns the members.
    pub fn members(&self) -> &[Member<'a>] {
        &self.members
    }

    /// Returns the candidates of the first member, which all members have, by id.
    pub fn candidates(&self) -> AllCandidates<'a> {
        self.all
    }

    /// Returns the number of queries.
    pub fn queries(&self) -> usize {
        self.members[0].queries.len()
    }

    /// Returns the number of distinct rows: candidates that differ under some member.
    pub fn distinct(&self) -> usize {
        match self.all {
            AllCandidates::Whole(_) => self.classes.rows,
            AllCandidates::Shards(shards) => shards.distinct,
        }
    }

    /// Returns distinct row of the ensemble of a candidate, an index below the number of candidates, which are not in
    /// shards.
    pub fn class_of(&self, candidate: usize) -> u32 {
        self.classes.row_of_candidate(candidate)
    }

    /// Returns distinct rows of the ensemble of the gold candidates, by id; see [`Pool::gold`].
    ///
    /// # Errors
    /// The errors of [`Pool::gold`] and [`AllCandidates::find`].
    pub fn gold(
        &self,
        pool: Pool,
        gold: &[String],
        missing: MissingGold,
    ) -> Result<Vec<Option<u32>>, Error> {
        let queries = self.members[0].queries;
        Error::check_length("gold ids", gold.len(), queries.len())?;
        self.check_pool(pool, gold.len())?;
        let mut places = self.all.find(gold)?;
        if let AllCandidates::Whole(_) = self.all {
            places
                .iter_mut()
                .flatten()
                .for_each(|place| place.row = self.class_of(place.candidate));
        }
        pool.listed(|query| queries.name(query).into_owned(), gold, places, missing)
    }

    /// Returns metrics of the ranks of all queries.
    ///
    /// For [`Pool::PerQuery`], [`Metrics::candidates`] counts the candidates that occur in any list, each once, and
    /// [`Metrics::duplicate_candidates`] those among them that are the same point under every member as an earlier
    /// one of them, in the same list or not.
    ///
    /// # Errors
    /// [`Error::TooFew`] for no queries; unless there is one list a query.
    pub fn metrics(&self, pool: Pool, ranks: &[Option<Rank>]) -> Result<Metrics, Error> {
        self.check_pool(pool, ranks.len())?;
        let class_of = |candidate| self.class_of(candidate);
        let (candidates, duplicates) = pool.counts(self.all.len(), self.distinct(), class_of);
        Metrics::from_ranks(ranks, candidates, duplicates)
    }

    fn check_pool(&self, pool: Pool, queries: usize) -> Result<(), Error> {
        let message = "lists of queries, allowed: all candidates, where they are in shards";
        let listed = matches!((self.all, pool), (AllCandidates::Shards(_), Pool::PerQuery(_)));
        ensure(!listed, || Error::unsupported(message))?;
        pool.check(queries, self.all.len())
    }

    fn check(&self, pool: Pool, gold: &[Option<u32>], k: usize) -> Result<(), Error> {
        let queries = &self.members[0].queries;
        self.check_pool(pool, queries.len())?;
        check_gold(queries, gold, self.distinct())?;
        if k == 0 { Ok(()) } else { check_k(k, self.all.len() as u64) }
    }
}

/// Returns an error that says whose it is.
fn member_error(member: &Member, error: Error) -> Error {
    match member.name {
        "" => error,
        name => error.at(format!("ensemble member {name:?}")),
    }
}

/// Refuses members that predict for different queries.
fn same_queries(first: &Member, member: &Member) -> Result<(), Error> {
    let ours = &first.queries;
    let theirs = &member.queries;
    let count = ours.len();
    let their_count = theirs.len();
    let named = ours.names().zip(theirs.names());
    let differs = named.and_then(|(a, b)| a.iter().zip(b).position(|(a, b)| a != b));
    let at = differs.unwrap_or(count.min(their_count));
    let name = |queries: &Queries| {
        if at < queries.len() { queries.name(at).into_owned() } else { "missing".to_owned() }
    };
    ensure(differs.is_none() && count == their_count, || {
        let our_name = name(ours);
        let other = name(theirs);
        let [first, member] = [first, member].map(|member| member.name);
        Error::inconsistent(format_args!(
            "query {at} is {our_name} for ensemble member {first:?} and {other} for {member:?}"
        ))
    })
}

/// Returns the common refinement of the classes of several members, and the row under each member of each refined row.
///
/// Two candidates share a refined row if they share a row under every member.
fn refined<'a>(members: &[Member<'a>]) -> Result<(Cow<'a, Classes>, Vec<Vec<u32>>), Error> {
    let none = || Error::too_few("an ensemble of no members", 1);
    let (first, others) = members.split_first().ok_or_else(none)?;
    if others.is_empty() {
        let classes = first.candidates.classes();
        return Ok((Cow::Borrowed(classes), vec![(0..classes.rows as u32).collect()]));
    }
    let count = first.candidates.len();
    let mut class: Vec<u32> = (0..count).map(|c| first.candidates.class_of(c)).collect();
    let mut by_member = vec![class.clone()];
    for member in others {
        let theirs = classes_of(first, member)?;
        let mut refined = HashMap::new();
        for (class, &theirs) in class.iter_mut().zip(&theirs) {
            let next = refined.len() as u32;
            *class = *refined.entry((*class, theirs)).or_insert(next);
        }
        by_member.push(theirs);
    }
    let distinct = class.iter().max().map_or(0, |&last| last as usize + 1);
    let classes = Classes::new(class, distinct);
    let row = |candidate_rows: &Vec<u32>, row: usize| {
        candidate_rows[classes.members(row..row + 1)[0] as usize]
    };
    let rows = |candidate_rows_of_member| {
        (0..distinct).map(|at| row(candidate_rows_of_member, at)).collect()
    };
    let rows = by_member.iter().map(rows).collect();
    Ok((Cow::Owned(classes), rows))
}

/// Returns the rows under a member of the candidates of the first member, found by id.
fn classes_of(first: &Member, member: &Member) -> Result<Vec<u32>, Error> {
    let ours: &Candidates = first.candidates;
    let theirs: &Candidates = member.candidates;
    let differs = |id: &str, has: &Member, lacks: &Member| {
        Error::inconsistent(format_args!(
            "candidate {id:?} of ensemble member {:?} is not a candidate of {:?}",
            has.name, lacks.name
        ))
    };
    let class_of_id = |(at, id): (usize, &str)| {
        // The same order is usual, and then nothing is searched.
        let candidate = if at < theirs.len() && theirs.id(at) == id {
            at
        } else {
            theirs.find(id).ok_or_else(|| differs(id, first, member))?
        };
        Ok::<u32, Error>(theirs.class_of(candidate))
    };
    let classes = ours.ids().enumerate().map(class_of_id).collect::<Result<_, _>>()?;
    match theirs.ids().find(|id| ours.find(id).is_none()) {
        // Ids are unique, so that as many of them are the same ones.
        Some(id) if theirs.len() != ours.len() => Err(differs(id, member, first)),
        _ => Ok(classes),
    }
}
