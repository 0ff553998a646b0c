use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::Path;

use dsokr_basis::store::BYTE_ORDER_MARK;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use crate::Error;
use crate::error::open;

/// The candidates of each query, and all candidates that occur.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CandidateLists {
    /// The candidates of the queries that were asked for, each once, as the file first names them: ids of
    /// `dsokr_decode::Candidates`.
    pub candidates: Vec<String>,
    /// For each query the positions of its candidates, as `dsokr_decode::PerQuery::new` takes them.
    pub lists: Vec<Vec<u32>>,
    /// Lists in the file of queries that were not asked for.
    pub unused: usize,
}

/// Reads a JSON object that maps each query to the list of its candidates, MassSpecGym's retrieval files
/// among them (there both are SMILES):
///
/// ```json
/// {"CCO": ["CCO", "COC"], "CC=O": ["C1CO1", "CC=O"]}
/// ```
///
/// The lists of `queries` are returned in their order; a query that is asked for several times (several
/// spectra of a molecule) has the same list each time. Lists of other queries are counted and ignored.
/// The file is read as a stream, so that only the lists of these queries are in memory.
///
/// # Errors
/// [`Error::Io`]; [`dsokr_basis::Error::File`] for what is not such an object, a query with two lists, an empty list and
/// a candidate that is listed twice; [`dsokr_basis::Error::File`] for a query without a list.
pub fn read_candidate_lists(path: &Path, queries: &[String]) -> Result<CandidateLists, Error> {
    let io = |source| Error::io(path, source);
    let mut file = BufReader::with_capacity(1 << 20, open(path)?);
    if file.fill_buf().map_err(io)?.starts_with(BYTE_ORDER_MARK) {
        file.consume(BYTE_ORDER_MARK.len());
    }
    let mut reader = serde_json::Deserializer::from_reader(file);
    let wanted = queries.iter().map(String::as_str).collect();
    let mut found = Lists { wanted, lists: HashMap::new(), ids: HashMap::new(), unused: 0 };
    let read = reader.deserialize_map(&mut found).and_then(|()| reader.end());
    read.map_err(|error| match error.io_error_kind() {
        Some(kind) => io(kind.into()),
        None => Error::line(path, error.line(), error),
    })?;
    let list = |query: &String| {
        let absent = || Error::file(path, format!("no list of candidates for query {query:?}"));
        found.lists.get(query).cloned().ok_or_else(absent)
    };
    let lists = queries.iter().map(list).collect::<Result<_, _>>()?;
    let mut candidates = vec![String::new(); found.ids.len()];
    found.ids.into_iter().for_each(|(id, at)| candidates[at as usize] = id);
    Ok(CandidateLists { candidates, lists, unused: found.unused })
}

/// What has been read.
struct Lists<'a> {
    wanted: HashSet<&'a str>,
    lists: HashMap<String, Vec<u32>>,
    ids: HashMap<String, u32>,
    unused: usize,
}

impl<'de> Visitor<'de> for &mut Lists<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("an object that maps each query to the list of its candidates")
    }

    // What is said of a query carries line and column, which the reader adds.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(query) = map.next_key::<String>()? {
            if !self.wanted.contains(&query[..]) {
                map.next_value::<IgnoredAny>()?;
                self.unused += 1;
                continue;
            }
            let ids: Vec<String> = map.next_value()?;
            if ids.is_empty() {
                return Err(A::Error::custom(format!("query {query:?} has no candidates")));
            }
            seen.clear();
            let mut list = Vec::with_capacity(ids.len());
            for id in ids {
                let next = u32::try_from(self.ids.len());
                let next = next.map_err(|_| A::Error::custom("more candidates than 2³²"))?;
                let at = self.ids.get(&id).copied().unwrap_or(next);
                if !seen.insert(at) {
                    let reason = format!("query {query:?} lists the candidate {id:?} twice");
                    return Err(A::Error::custom(reason));
                }
                list.push(at);
                if at == next {
                    self.ids.insert(id, at);
                }
            }
            if self.lists.contains_key(&query) {
                return Err(A::Error::custom(format!("query {query:?} has two lists")));
            }
            self.lists.insert(query, list);
        }
        Ok(())
    }
}
