//! The models of an ensemble and the rows that they share.

use std::borrow::Cow;
use std::sync::OnceLock;

use dsokr_core::Error;

use super::alignment::Alignment;
use super::member::{Member, member_error};
use crate::classes::Classes;
use crate::error::ensure;
use crate::hits::check_k;
use crate::pool::Pool;
use crate::queries::Queries;
use crate::reranker::Reranker;
use crate::scoring::{self, check_gold};
use crate::shards::AllCandidates;

/// Several models that rank the same candidates for the same queries, as threads share them.
#[derive(Debug)]
pub(super) struct Models<'a> {
    pub members: Vec<Member<'a>>,
    /// The classes of candidates in the rows of the ensemble, which are numbered as they first appear. Candidates are
    /// in the order of the first member.
    pub classes: Cow<'a, Classes>,
    /// Row under member t of row r: `rows[t][r]`; none of a single member, whose rows are those of the ensemble.
    pub joined_rows: Vec<Cow<'a, [u32]>>,
    /// The rows of a single member, listed when a rule needs a list of them.
    pub single_rows: OnceLock<Vec<u32>>,
    /// The reranker of the first candidates of each member.
    pub rerankers: Vec<Option<&'a Reranker>>,
    /// The candidates that are ranked. Where they are in shards, members, classes and rows cover a part of them.
    pub all: AllCandidates<'a>,
}

impl<'a> Models<'a> {
    /// Checks and joins at least one member, whose candidates are aligned here if they were not before; see
    /// [`Ensemble::new`](super::Ensemble::new).
    pub fn new(members: Vec<Member<'a>>, alignment: Option<&'a Alignment>) -> Result<Self, Error> {
        let none = || Error::too_few("an ensemble of no members", 1);
        let first = members.first().ok_or_else(none)?.candidates;
        for (at, member) in members.iter().enumerate() {
            scoring::check(&member.queries, member.candidates)
                .map_err(|error| member_error(member, error))?;
            same_queries(&members[0], &members[at])?;
        }
        let (classes, joined_rows) = match alignment {
            Some(alignment) => {
                alignment.check(&members)?;
                let rows = alignment.rows.iter().map(|rows| Cow::Borrowed(rows.as_slice()));
                (Cow::Borrowed(&alignment.classes), rows.collect())
            }
            None if members.len() == 1 => {
                let classes = first.classes();
                (Cow::Borrowed(classes), Vec::new())
            }
            None => {
                let named = members.iter().map(|member| (member.name, member.candidates));
                let Alignment { classes, rows, .. } = Alignment::new(&named.collect::<Vec<_>>())?;
                (Cow::Owned(classes), rows.into_iter().map(Cow::Owned).collect())
            }
        };
        let rerankers = vec![None; members.len()];
        let all = AllCandidates::Whole(first);
        let single_rows = OnceLock::new();
        Ok(Self { members, classes, joined_rows, single_rows, rerankers, all })
    }

    /// Returns the row under a member of each row of the ensemble.
    pub fn rows(&self, member: usize) -> &[u32] {
        match self.joined_rows.get(member) {
            Some(rows) => rows,
            None => self.single_rows.get_or_init(|| (0..self.classes.rows as u32).collect()),
        }
    }

    /// Returns the row under a member of a row of the ensemble.
    pub fn row(&self, member: usize, row: u32) -> u32 {
        self.joined_rows.get(member).map_or(row, |rows| rows[row as usize])
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

    /// Returns the distinct row of a candidate.
    pub fn class_of(&self, candidate: usize) -> u32 {
        self.classes.row_of_candidate(candidate)
    }

    /// Refuses lists of candidates that are in shards, and what is not one list a query.
    pub fn check_pool(&self, pool: Pool, queries: usize) -> Result<(), Error> {
        let message = "lists of queries, allowed: all candidates, where they are in shards";
        let listed = matches!((self.all, pool), (AllCandidates::Shards(_), Pool::PerQuery(_)));
        ensure(!listed, || Error::unsupported(message))?;
        pool.check(queries, self.all.len())
    }

    /// Refuses a pool, gold rows and a number of hits that do not belong to the queries and candidates.
    pub fn check(&self, pool: Pool, gold: &[Option<u32>], k: usize) -> Result<(), Error> {
        let queries = &self.members[0].queries;
        self.check_pool(pool, queries.len())?;
        check_gold(queries, gold, self.distinct())?;
        if k == 0 { Ok(()) } else { check_k(k, self.all.len() as u64) }
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
