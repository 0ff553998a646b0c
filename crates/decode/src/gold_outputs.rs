use std::collections::HashSet;
use std::ops::Range;

use dsokr_core::Error;

use crate::error::{check_least, ensure, missing_gold};
use crate::pool::MissingGold;
use crate::rank::Rank;

/// The right candidates of each query, and candidates that do not compete.
///
/// A query may have several right candidates. The one that is ranked best counts. The others do not push it down, and
/// neither do candidates that are *known*, such as outputs that a training pair gives the same query. These are the
/// filtered ranks of link prediction (Bordes et al. 2013, *Translating embeddings for modeling multi-relational data*,
/// section 4.2).
///
/// Every right or known candidate of a query is a row, which is ranked like a gold candidate, by any rule.
/// [`choose`](Self::choose) makes the filtered ranks from the ranks of the rows.
///
/// ```
/// use dsokr_decode::{GoldOutputs, Rank};
///
/// let text = |ids: &[&str]| ids.iter().map(|id| id.to_string()).collect::<Vec<_>>();
/// // b or d is right; a is known
/// let golds = GoldOutputs::new(&[text(&["d", "b"])], &[text(&["a"])])?;
/// assert_eq!(golds.ids(), ["d", "b", "a"]);
/// // of five candidates a is first, b third, d last
/// let at = |above| Rank::new(above, 1, 5).ok();
/// let chosen = golds.choose(&[at(4), at(2), at(0)])?;
/// assert_eq!(golds.ids()[chosen[0].row], "b");
/// // without a and d, b is second of three
/// assert_eq!(chosen[0].rank, Some(Rank::new(1, 1, 3)?));
/// # Ok::<(), dsokr_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoldOutputs {
    /// The candidate of each row, by id: of a query the right ones, then the known ones.
    ids: Vec<String>,
    /// The query of each row.
    queries: Vec<usize>,
    /// The rows of query q: `starts[q]..starts[q + 1]`.
    starts: Vec<usize>,
    /// How many of them are right.
    right: Vec<usize>,
}

/// The right candidate of a query that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChosenGold {
    /// The row of the candidate.
    pub row: usize,
    /// The rank among the candidates that compete; none where no right candidate is ranked.
    pub rank: Option<Rank>,
    /// How many right candidates of the query are ranked.
    pub right: u64,
}

impl GoldOutputs {
    /// Returns the candidate of each row, by id: of a query the right ones, then the known ones.
    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    /// Returns the query of each row.
    pub fn queries(&self) -> &[usize] {
        &self.queries
    }

    /// Creates the right candidates of each query, at least one, and its known ones, none or a list a query;
    /// each counts once.
    ///
    /// # Errors
    /// [`Error::Shape`] for known candidates of a different number of queries; [`Error::TooFew`] for a query without right
    /// candidates.
    pub fn new(right: &[Vec<String>], known_by_query: &[Vec<String>]) -> Result<Self, Error> {
        if !known_by_query.is_empty() {
            Error::check_length("lists of known candidates", known_by_query.len(), right.len())?;
        }
        let mut golds = Self {
            ids: Vec::new(),
            queries: Vec::new(),
            starts: vec![0],
            right: Vec::with_capacity(right.len()),
        };
        for (query, right) in right.iter().enumerate() {
            let known_ids = known_by_query.get(query).map_or(&[][..], Vec::as_slice);
            let start = golds.ids.len();
            let mut seen: HashSet<&str> = HashSet::with_capacity(right.len() + known_ids.len());
            golds.ids.extend(right.iter().filter(|id| seen.insert(id)).cloned());
            let count = golds.ids.len() - start;
            check_least(count, 1, format_args!("query {query}: no right candidates"))?;
            golds.right.push(count);
            golds.ids.extend(known_ids.iter().filter(|id| seen.insert(id)).cloned());
            golds.queries.resize(golds.ids.len(), query);
            golds.starts.push(golds.ids.len());
        }
        Ok(golds)
    }

    /// Returns the rows of the right candidates of a query.
    pub fn right(&self, query: usize) -> Range<usize> {
        self.starts[query]..self.starts[query] + self.right[query]
    }

    /// Returns values of the queries, `width` of each, repeated for each of their rows.
    pub fn repeat(&self, width: usize, values: &[f32]) -> Vec<f32> {
        self.queries.iter().flat_map(|&query| &values[query * width..][..width]).copied().collect()
    }

    /// Refuses a right candidate that is not among the candidates of its query, unless `missing` allows it.
    /// `rows_of_ids` has the row of each id, none where it is no candidate, and `name` is what errors call a query.
    ///
    /// # Errors
    /// [`Error::Inconsistent`].
    pub fn check_missing(
        &self,
        rows_of_ids: &[Option<u32>],
        missing: MissingGold,
        name: impl Fn(usize) -> String,
    ) -> Result<(), Error> {
        (0..self.right.len()).flat_map(|query| self.right(query)).try_for_each(|row| {
            let holds = rows_of_ids[row].is_some() || missing == MissingGold::RankInfinity;
            let query = self.queries[row];
            ensure(holds, || missing_gold(&name(query), &format!("{:?}", self.ids[row])))
        })
    }

    /// Returns, for each query, the right candidate that counts, with its rank among all candidates less the other
    /// right and the known ones.
    ///
    /// `ranks` are the ranks of the rows among all candidates of their query; a row without a rank is not a candidate.
    /// If right candidates have equal scores the first counts. A candidate is above another one if fewer are above it,
    /// and tied if as many are, so the ranks are enough to say which do not compete.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is one rank a row; for ranks that no
    /// scores give.
    pub fn choose(&self, ranks: &[Option<Rank>]) -> Result<Vec<ChosenGold>, Error> {
        Error::check_length("ranks", ranks.len(), self.ids.len())?;
        let one = |query: usize| {
            let rows = self.starts[query]..self.starts[query + 1];
            let ranked = self.right(query).filter_map(|row| ranks[row].map(|rank| (row, rank)));
            let Some((row, best)) = ranked.min_by_key(|(_, rank)| rank.above()) else {
                return Ok(ChosenGold { row: rows.start, rank: None, right: 0 });
            };
            let others = rows.filter(|&other| other != row).filter_map(|other| ranks[other]);
            let mut above = 0;
            let mut tied = 0;
            let mut pool = 0;
            for other in others {
                above += u64::from(other.above() < best.above());
                tied += u64::from(other.above() == best.above());
                pool += 1;
            }
            let rank = best.without(above, tied, pool)?;
            let right = self.right(query).filter(|&row| ranks[row].is_some()).count() as u64;
            Ok(ChosenGold { row, rank: Some(rank), right })
        };
        (0..self.right.len()).map(one).collect()
    }
}
