//! The candidates that each query is ranked against.

use std::collections::{HashMap, HashSet};
use std::fmt::{self, Arguments, Formatter};
use std::io::{BufRead, BufReader, Read};
use std::mem::replace;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use dsokr_core::store::{BYTE_ORDER_MARK, open_input};
use dsokr_core::{Error, parse_name};
use schemars::JsonSchema;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize};

use crate::candidates::Candidates;
use crate::error::{check_consistent, ensure, missing_gold};
use crate::shards::CandidatePlace;

/// How to rank a query whose gold candidate is not among its candidates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MissingGold {
    /// Refuse the evaluation and name the query.
    #[default]
    Error,
    /// Count the query with rank ∞: nothing to the reciprocal rank and to the hits.
    RankInfinity,
}

impl FromStr for MissingGold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse_name(text)
    }
}

/// The candidates that a query is ranked against.
#[derive(Clone, Copy, Debug, Default)]
pub enum Pool<'a> {
    /// All candidates, the same for every query.
    #[default]
    Shared,
    /// A list for each query, made for the candidates at hand. Lists made for a different number of candidates are
    /// refused with [`Error::Shape`].
    PerQuery(&'a PerQuery),
}

impl Pool<'_> {
    /// Returns distinct rows of the gold candidates, by id; `None` where `missing` allows it.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is one gold id (and one list) a query; [`Error::Inconsistent`] for a gold candidate
    /// that is not among the candidates of its query, unless `missing` is [`MissingGold::RankInfinity`].
    pub fn gold(
        &self,
        queries: &[String],
        gold: &[String],
        candidates: &Candidates,
        missing: MissingGold,
    ) -> Result<Vec<Option<u32>>, Error> {
        Error::check_length("gold ids", gold.len(), queries.len())?;
        self.check(gold.len(), candidates.len())?;
        let name = |query: usize| format!("{:?}", queries[query]);
        let places = gold.iter().map(|id| candidates.place(id)).collect();
        self.listed(name, gold, places, missing)
    }

    /// Returns distinct rows of the gold candidates of as many queries as there are ids, which are at `places`; `name`
    /// is how errors call a query.
    pub(crate) fn listed(
        &self,
        name: impl Fn(usize) -> String,
        gold: &[String],
        places: Vec<Option<CandidatePlace>>,
        missing: MissingGold,
    ) -> Result<Vec<Option<u32>>, Error> {
        let listed = |(query, place): (usize, Option<CandidatePlace>)| {
            let place = place.filter(|place| self.has(query, place.candidate as u32));
            match (place, missing) {
                (None, MissingGold::Error) => {
                    Err(missing_gold(&name(query), &format!("{:?}", gold[query])))
                }
                (place, _) => Ok(place.map(|place| place.row)),
            }
        };
        places.into_iter().enumerate().map(listed).collect()
    }

    /// Returns the number of candidates that any query is ranked against, and the number of duplicates among them:
    /// candidates whose row, `row_of` below `distinct`, is the row of an earlier one.
    pub(crate) fn counts(
        &self,
        candidates: usize,
        distinct: usize,
        row_of: impl Fn(usize) -> u32,
    ) -> (usize, usize) {
        let Self::PerQuery(lists) = self else {
            return (candidates, candidates - distinct);
        };
        // a list that queries have in common counts once
        let mut distinct_lists: Vec<&Arc<[u32]>> = lists.lists.iter().collect();
        distinct_lists.dedup_by(|a, b| Arc::ptr_eq(a, b));
        let listed: HashSet<u32> =
            distinct_lists.into_iter().flat_map(|list| list.iter().copied()).collect();
        let rows: HashSet<u32> =
            listed.iter().map(|&candidate| row_of(candidate as usize)).collect();
        (listed.len(), listed.len() - rows.len())
    }

    /// Returns whether a query is ranked against a candidate.
    pub(crate) fn has(&self, query: usize, candidate: u32) -> bool {
        self.list(query).is_none_or(|list| list.contains(&candidate))
    }

    /// Returns the list of a query, where queries have some.
    pub(crate) fn list(&self, query: usize) -> Option<&[u32]> {
        match self {
            Self::Shared => None,
            Self::PerQuery(lists) => Some(lists.list(query)),
        }
    }

    /// Returns the number of candidates of a query.
    pub(crate) fn size(&self, query: usize, candidates: usize) -> u64 {
        self.list(query).map_or(candidates, <[u32]>::len) as u64
    }

    /// Checks that there is one list a query, made for as many candidates as there are.
    pub(crate) fn check(&self, queries: usize, candidates: usize) -> Result<(), Error> {
        let Self::PerQuery(lists) = self else {
            return Ok(());
        };
        Error::check_length("candidate lists", lists.len(), queries)?;
        Error::check_length("candidates", candidates, lists.candidates)
    }

    /// Returns the most candidates of a query.
    pub fn longest(&self, candidates: usize) -> usize {
        match self {
            Self::Shared => candidates,
            Self::PerQuery(lists) => lists.lists.iter().map(|list| list.len()).max().unwrap_or(0),
        }
    }
}

/// A list of candidates a query, for tasks where each query chooses among its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerQuery {
    /// Shared, because queries may have one list in common.
    lists: Vec<Arc<[u32]>>,
    /// Number of candidates that the lists are indices of.
    candidates: usize,
}

/// A line of a file of candidate lists.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListLine {
    query: Id,
    candidates: Vec<Id>,
}

/// An id: a text, or a whole number, whose digits it is then, as in tables.
struct Id(String);

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Id;

            fn expecting(&self, out: &mut Formatter) -> fmt::Result {
                out.write_str("an id, a text or a whole number")
            }

            fn visit_str<E>(self, text: &str) -> Result<Id, E> {
                Ok(Id(text.to_owned()))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Id, E> {
                Ok(Id(number.to_string()))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Id, E> {
                Ok(Id(number.to_string()))
            }
        }
        deserializer.deserialize_any(Text)
    }
}

impl PerQuery {
    /// Creates the lists of queries 0, 1, … as indices of `candidates`. A query whose list is empty has no hits.
    ///
    /// # Errors
    /// [`Error::Inconsistent`] for a list that holds an index out of range, or holds one twice.
    pub fn new(lists: &[Vec<u32>], candidates: &Candidates) -> Result<Self, Error> {
        let candidates = candidates.len();
        // the last list that each candidate was in, of lists that do not ascend
        let mut seen = Vec::new();
        for (at, list) in lists.iter().enumerate() {
            let check = |holds, reason: Arguments| {
                check_consistent(holds, format_args!("candidate list {at}: {reason}"))
            };
            for &listed in list {
                let beyond = format_args!("candidate {listed} of {candidates} candidates");
                check((listed as usize) < candidates, beyond)?;
            }
            if list.is_sorted_by(|a, b| a < b) {
                continue;
            }
            seen.resize(candidates, usize::MAX);
            for &listed in list {
                let last = replace(&mut seen[listed as usize], at);
                check(last != at, format_args!("candidate {listed} occurs twice"))?;
            }
        }
        let lists = lists.iter().map(|list| Arc::from(&list[..])).collect();
        Ok(Self { lists, candidates })
    }

    /// Creates lists of `queries` queries that all have the same candidates, which take the memory of one list.
    ///
    /// # Errors
    /// The errors of [`PerQuery::new`].
    pub fn repeated(
        list: Vec<u32>,
        queries: usize,
        candidates: &Candidates,
    ) -> Result<Self, Error> {
        let one = Self::new(&[list], candidates)?;
        Ok(Self { lists: vec![one.lists[0].clone(); queries], ..one })
    }

    /// Reads the lists of `queries`, in their order, from JSON lines:
    ///
    /// ```json
    /// {"query": "q1", "candidates": ["c7", "c2"]}
    /// ```
    ///
    /// An id may be a whole number, without quotes. Lists may come in any order. Lists of other queries are checked
    /// like all others. Empty lines are skipped.
    ///
    /// # Errors
    /// [`Error::File`] for a file that cannot be read, a line that is not such an object, a list that is empty or
    /// names an unknown candidate or one twice, a second list of a query, and a query without a list.
    pub fn read(path: &Path, queries: &[String], candidates: &Candidates) -> Result<Self, Error> {
        let file = open_input(path).map_err(|error| Error::file(path, error))?;
        Self::read_from(file, path, queries, candidates)
    }

    /// Reads the lists like [`PerQuery::read`] from the text of the file at `path`, which errors name.
    ///
    /// # Errors
    /// The errors of [`PerQuery::read`].
    pub fn read_from(
        text: impl Read,
        path: &Path,
        queries: &[String],
        candidates: &Candidates,
    ) -> Result<Self, Error> {
        let wanted: HashSet<&str> = queries.iter().map(String::as_str).collect();
        let mut lists: HashMap<String, (usize, Vec<u32>)> = HashMap::new();
        // the last line that each candidate was in
        let mut seen = vec![0; candidates.len()];
        let failed = |e: std::io::Error| Error::file(path, e);
        let lines = BufReader::new(text).split(b'\n');
        for (line, bytes) in (1..).zip(lines) {
            let bytes = bytes.map_err(failed)?;
            let mark = if line == 1 { BYTE_ORDER_MARK } else { &[] };
            let bytes = bytes.strip_prefix(mark).unwrap_or(&bytes);
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            let bad = |message: String| Error::at_line(path, line, message);
            let form = r#"{"query": "id", "candidates": ["id", ...]}"#;
            let ListLine { query: Id(query), candidates: ids } = serde_json::from_slice(bytes)
                .map_err(|error| bad(format!("{error}; expected {form}")))?;
            if let Some((first, _)) = lists.get(&query) {
                return Err(bad(format!("query {query:?} has a list in line {first} already")));
            }
            let none = || bad(format!("query {query:?} has no candidates, at least 1 is needed"));
            ensure(!ids.is_empty(), none)?;
            let index = |Id(id): Id| match candidates.find(&id) {
                None => Err(bad(format!("query {query:?} lists the unknown candidate {id:?}"))),
                Some(index) if replace(&mut seen[index], line) == line => {
                    Err(bad(format!("query {query:?} lists the candidate {id:?} twice")))
                }
                Some(index) => Ok(index as u32),
            };
            let mut list = ids.into_iter().map(index).collect::<Result<Vec<u32>, _>>()?;
            if !wanted.contains(query.as_str()) {
                list = Vec::new();
            }
            lists.insert(query, (line, list));
        }
        let list = |query: &String| {
            let message = || format!("no list of candidates for query {query:?}");
            let given = lists.get(query).map(|(_, list)| Arc::from(&list[..]));
            given.ok_or_else(|| Error::file(path, message()))
        };
        let lists = queries.iter().map(list).collect::<Result<_, Error>>()?;
        Ok(Self { lists, candidates: candidates.len() })
    }

    /// Returns the lists of some queries below [`PerQuery::len`], in a given order; one may come several times.
    pub fn select(&self, queries: &[usize]) -> Self {
        let lists = queries.iter().map(|&query| self.lists[query].clone());
        Self { lists: lists.collect(), candidates: self.candidates }
    }

    /// Returns the same lists of `from`, as indices of the same candidates in a different order.
    ///
    /// # Errors
    /// [`Error::Shape`] for lists of other candidates than `from`; [`Error::Inconsistent`] for a listed candidate that is
    /// not among `to`.
    pub fn moved(&self, from: &Candidates, to: &Candidates) -> Result<Self, Error> {
        Error::check_length("candidates", from.len(), self.candidates)?;
        let place = |&candidate: &u32| {
            let id = from.id(candidate as usize);
            let unknown =
                || Error::inconsistent(format_args!("candidate lists: unknown candidate {id:?}"));
            to.find(id).map(|place| place as u32).ok_or_else(unknown)
        };
        let list = |list: &Arc<[u32]>| list.iter().map(place).collect();
        let lists = self.lists.iter().map(list).collect::<Result<_, Error>>()?;
        Ok(Self { lists, candidates: to.len() })
    }

    /// Returns the number of queries.
    pub fn len(&self) -> usize {
        self.lists.len()
    }

    /// Returns whether there is no query.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns candidates of a query below [`PerQuery::len`], as listed.
    pub fn list(&self, query: usize) -> &[u32] {
        &self.lists[query]
    }
}
