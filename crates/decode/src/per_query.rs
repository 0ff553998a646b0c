use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader};
use std::path::Path;

use dsokr_basis::store::{BYTE_ORDER_MARK, open_input};
use serde::Deserialize;

use crate::error::check_len;
use crate::{Candidates, Error};

/// A list of candidates a query, for tasks where each query chooses among its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerQuery {
    /// The list of query q: `members[offsets[q]..offsets[q + 1]]`.
    offsets: Vec<usize>,
    members: Vec<u32>,
    unused: usize,
    /// Number of candidates that the members are indices of.
    candidates: usize,
}

/// A line of a file of candidate lists.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    query: String,
    candidates: Vec<String>,
}

impl PerQuery {
    /// The lists of queries 0, 1, … as indices of `candidates`.
    ///
    /// # Errors
    /// [`Error::Inconsistent`] for a list that is empty, holds an index out of range, or holds one
    /// twice.
    pub fn new(lists: &[Vec<u32>], candidates: &Candidates) -> Result<Self, Error> {
        // the last list that each candidate was in
        let mut seen = vec![usize::MAX; candidates.len()];
        let mut collected = Self::empty(candidates);
        for (at, list) in lists.iter().enumerate() {
            let bad = |reason: &str| Error::Inconsistent(format!("candidate list {at}: {reason}"));
            if list.is_empty() {
                return Err(bad("it is empty"));
            }
            for &candidate in list {
                let Some(last) = seen.get_mut(candidate as usize) else {
                    let count = candidates.len();
                    return Err(bad(&format!("candidate {candidate} of {count} candidates")));
                };
                if std::mem::replace(last, at) == at {
                    return Err(bad(&format!("candidate {candidate} occurs twice")));
                }
            }
            collected.push(list);
        }
        Ok(collected)
    }

    /// Reads the lists of `queries`, in their order, from JSON lines:
    ///
    /// ```json
    /// {"query": "q1", "candidates": ["c7", "c2"]}
    /// ```
    ///
    /// Lists may come in any order. Lists of other queries are checked like all others and counted
    /// ([`PerQuery::unused`]). Empty lines are skipped.
    ///
    /// # Errors
    /// [`Error::Io`] from reading the file; [`Error::File`] for a line that is not such an object, a list that is empty or
    /// names an unknown candidate or one twice, a second list of a query, and a query without a list.
    pub fn read(path: &Path, queries: &[String], candidates: &Candidates) -> Result<Self, Error> {
        let wanted: HashSet<&str> = queries.iter().map(String::as_str).collect();
        let mut lists: HashMap<String, (usize, Vec<u32>)> = HashMap::new();
        // the last line that each candidate was in
        let mut seen = vec![0; candidates.len()];
        let mut unused = 0;
        let failed = |source| Error::Io { path: path.to_owned(), source };
        let mut reader = BufReader::new(open_input(path).map_err(failed)?);
        let mut bytes = Vec::new();
        for line in 1.. {
            bytes.clear();
            if reader.read_until(b'\n', &mut bytes).map_err(failed)? == 0 {
                break;
            }
            if line == 1 && bytes.starts_with(BYTE_ORDER_MARK) {
                bytes.drain(..BYTE_ORDER_MARK.len());
            }
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            let bad = |message: String| Error::file(path, Some(line), message);
            let form = r#"{"query": "id", "candidates": ["id", ...]}"#;
            let Line { query, candidates: ids } = serde_json::from_slice(&bytes)
                .map_err(|error| bad(format!("{error}; expected {form}")))?;
            if let Some((first, _)) = lists.get(&query) {
                return Err(bad(format!("query {query:?} has a list in line {first} already")));
            }
            if ids.is_empty() {
                return Err(bad(format!(
                    "query {query:?} has no candidates, at least 1 is needed"
                )));
            }
            let index = |id: String| match candidates.find(&id) {
                None => Err(bad(format!("query {query:?} lists the unknown candidate {id:?}"))),
                Some(index) if std::mem::replace(&mut seen[index], line) == line => {
                    Err(bad(format!("query {query:?} lists the candidate {id:?} twice")))
                }
                Some(index) => Ok(index as u32),
            };
            let mut list = ids.into_iter().map(index).collect::<Result<Vec<u32>, _>>()?;
            if !wanted.contains(query.as_str()) {
                unused += 1;
                list = Vec::new();
            }
            lists.insert(query, (line, list));
        }
        let mut collected = Self { unused, ..Self::empty(candidates) };
        for query in queries {
            let Some((_, list)) = lists.get(query) else {
                let message = format!("no list of candidates for query {query:?}");
                return Err(Error::file(path, None, message));
            };
            collected.push(list);
        }
        Ok(collected)
    }

    fn empty(candidates: &Candidates) -> Self {
        let candidates = candidates.len();
        Self { offsets: vec![0], members: Vec::new(), unused: 0, candidates }
    }

    fn push(&mut self, list: &[u32]) {
        self.members.extend_from_slice(list);
        self.offsets.push(self.members.len());
    }

    /// The lists of some queries below [`PerQuery::len`], in a given order; one may come several times.
    pub fn select(&self, queries: &[usize]) -> Self {
        let mut chosen = Self { offsets: vec![0], members: Vec::new(), ..*self };
        queries.iter().for_each(|&query| chosen.push(self.list(query)));
        chosen
    }

    /// The same lists of `from`, as indices of the same candidates in a different order.
    ///
    /// # Errors
    /// [`Error::Length`] for lists of other candidates than `from`; [`Error::Inconsistent`] for a listed candidate that
    /// is not among `to`.
    pub fn moved(&self, from: &Candidates, to: &Candidates) -> Result<Self, Error> {
        check_len("candidates", from.len(), self.candidates)?;
        let place = |&candidate: &u32| {
            let id = from.id(candidate as usize);
            let unknown =
                || Error::Inconsistent(format!("candidate lists: unknown candidate {id:?}"));
            to.find(id).map(|place| place as u32).ok_or_else(unknown)
        };
        let members = self.members.iter().map(place).collect::<Result<_, Error>>()?;
        Ok(Self { members, candidates: to.len(), offsets: self.offsets.clone(), ..*self })
    }

    /// Number of queries.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is no query.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Candidates of a query below [`PerQuery::len`], as listed.
    pub fn list(&self, query: usize) -> &[u32] {
        &self.members[self.offsets[query]..self.offsets[query + 1]]
    }

    /// Number of the candidates that the lists were made for.
    pub fn candidates(&self) -> usize {
        self.candidates
    }

    /// Candidates that occur in any list, each once, ascending.
    pub fn listed(&self) -> Vec<u32> {
        let mut listed = vec![false; self.candidates];
        self.members.iter().for_each(|&candidate| listed[candidate as usize] = true);
        (0..).zip(listed).filter_map(|(candidate, listed)| listed.then_some(candidate)).collect()
    }

    /// Lists in the file of queries that were not asked for.
    pub fn unused(&self) -> usize {
        self.unused
    }
}
