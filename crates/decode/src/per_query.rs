use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde::Deserialize;

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
    /// [`Error::BadList`] for a list that is empty, holds an index out of range, or holds one
    /// twice.
    pub fn new(lists: &[Vec<u32>], candidates: &Candidates) -> Result<Self, Error> {
        let mut seen = Seen::new(candidates.len());
        let mut collected = Self::empty(candidates);
        for (at, list) in lists.iter().enumerate() {
            let bad = |reason: String| Error::BadList { list: at, reason };
            if list.is_empty() {
                return Err(bad("it is empty".to_owned()));
            }
            seen.next_list();
            for &candidate in list {
                if candidate as usize >= candidates.len() {
                    let count = candidates.len();
                    return Err(bad(format!("candidate {candidate} of {count} candidates")));
                }
                if !seen.insert(candidate) {
                    return Err(bad(format!("candidate {candidate} occurs twice")));
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
    /// [`Error::Io`]; with the line: [`Error::BadLine`], [`Error::UnknownCandidate`],
    /// [`Error::ListedTwice`], [`Error::EmptyList`], [`Error::RepeatedQuery`]; [`Error::NoList`]
    /// for a query without a list.
    pub fn read(path: &Path, queries: &[String], candidates: &Candidates) -> Result<Self, Error> {
        let wanted: HashMap<&str, ()> = queries.iter().map(|id| (id.as_str(), ())).collect();
        let mut lists: HashMap<String, (usize, Vec<u32>)> = HashMap::new();
        let mut seen = Seen::new(candidates.len());
        let mut unused = 0;
        let failed = |source| Error::Io { path: path.to_owned(), source };
        let mut reader = BufReader::new(File::open(path).map_err(failed)?);
        let mut bytes = Vec::new();
        for line in 1.. {
            bytes.clear();
            if reader.read_until(b'\n', &mut bytes).map_err(failed)? == 0 {
                break;
            }
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            let path = || path.to_owned();
            let Line { query, candidates: ids } =
                serde_json::from_slice(&bytes).map_err(|error| Error::BadLine {
                    path: path(),
                    line,
                    reason: error.to_string(),
                })?;
            if let Some(&(first, _)) = lists.get(&query) {
                return Err(Error::RepeatedQuery { path: path(), line, query, first });
            }
            if ids.is_empty() {
                return Err(Error::EmptyList { path: path(), line, query });
            }
            seen.next_list();
            let mut list = Vec::with_capacity(ids.len());
            for candidate in ids {
                match candidates.find(&candidate) {
                    None => {
                        return Err(Error::UnknownCandidate {
                            path: path(),
                            line,
                            query,
                            candidate,
                        });
                    }
                    Some(index) if !seen.insert(index as u32) => {
                        return Err(Error::ListedTwice { path: path(), line, query, candidate });
                    }
                    Some(index) => list.push(index as u32),
                }
            }
            if !wanted.contains_key(query.as_str()) {
                unused += 1;
                list = Vec::new();
            }
            lists.insert(query, (line, list));
        }
        let mut collected = Self { unused, ..Self::empty(candidates) };
        for query in queries {
            match lists.get(query) {
                Some((_, list)) => collected.push(list),
                None => {
                    let (path, query) = (path.to_owned(), query.clone());
                    return Err(Error::NoList { path, query });
                }
            }
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

/// Which candidates occurred in the current list; forgetting a list takes constant time.
struct Seen {
    list: u32,
    last: Vec<u32>,
}

impl Seen {
    fn new(candidates: usize) -> Self {
        Self { list: 0, last: vec![0; candidates] }
    }

    fn next_list(&mut self) {
        self.list = self.list.wrapping_add(1);
        if self.list == 0 {
            self.last.fill(0);
            self.list = 1;
        }
    }

    /// Whether the candidate, an index in range, is new in this list.
    fn insert(&mut self, candidate: u32) -> bool {
        let last = &mut self.last[candidate as usize];
        std::mem::replace(last, self.list) != self.list
    }
}
