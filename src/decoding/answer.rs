//! Answers to queries: the distinct candidates with their ids and labels.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::ops::Range;

use dsokr_decode::{
    self as decode, Combination, Ensemble, Pool, RankedHit, RankedHits, SomeCandidates,
};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::decoding::decoder::PredictedOutput;
use crate::error::Error;
use crate::metrics::quantiles::number;

/// The answer to a query. Nothing else is needed to read it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Answer {
    /// Predicted quantiles, where a single model answers with them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quantiles: Vec<Quantile>,
    /// The predicted output where it need not be a candidate: the best of all outputs with `decoding.search =
    /// "exact"`, the label set with the largest expected F1, and that F1, with `decoding.expected_f1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact: Option<PredictedOutput>,
    /// The best molecules of a search beyond the candidates, best first, as many as hits were asked for: those that are
    /// candidates are among them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beyond: Vec<PredictedOutput>,
    /// The best candidates, best first. Duplicates are one hit.
    #[serde(rename = "candidates")]
    pub hits: Vec<Hit>,
    /// What is doubtful about the query, such as a text of which the model knows no part, or a spectrum of a polarity that it
    /// was not trained on; and that a search beyond the candidates found nothing that passes a filter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cautions: Vec<String>,
    /// Number of candidates that a rule, such as `mass:10`, leaves to the query, duplicates counted and before any filter; absent
    /// where all queries share the candidates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub competing: Option<usize>,
    /// The gap of the best candidate of all, wanted or not; absent of a query of which the model knows no part.
    #[serde(skip)]
    pub gap: Option<f32>,
}

/// A candidate with its place among all.
///
/// Its [`cells`](Self::cells) are the one list of what is known of it: JSON, tables, files and Python take theirs from it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct Hit {
    /// One more than the number of candidates with a higher score, among all.
    pub rank: usize,
    /// Its id; of duplicates, that of the first one that is wanted.
    pub id: String,
    /// Its label: the SMILES of a molecule, a set of labels, a ranking, a number or a graph.
    pub label: String,
    /// Its score.
    pub score: f32,
    /// The score minus that of the next candidate that is not a duplicate; absent for the last one.
    pub gap: Option<f32>,
    /// Number of other candidates with the same score, duplicates included.
    pub tied: usize,
    /// Ids of duplicates, which score the same bit for bit, wanted or not.
    pub duplicates: Vec<String>,
    /// Further columns of the candidates, such as a price, by name: the cell of each as the table of outputs has it. Absent
    /// where candidates have none.
    #[cfg_attr(feature = "serve", schema(value_type = Option<BTreeMap<String, String>>))]
    pub columns: Vec<(String, String)>,
}

/// A value of a hit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cell<'h> {
    /// A number of things.
    Count(usize),
    /// A number; absent where it is not known.
    Number(Option<f32>),
    /// A text.
    Text(&'h str),
    /// Several texts.
    Texts(&'h [String]),
}

impl Cell<'_> {
    /// Returns whether the value is not known, so that JSON has no key for it.
    fn is_absent(&self) -> bool {
        match self {
            Self::Number(number) => number.is_none(),
            Self::Count(_) | Self::Text(_) | Self::Texts(_) => false,
        }
    }
}

/// The cell of a table: empty for what is absent, and spaces between several texts.
impl Display for Cell<'_> {
    fn fmt(&self, out: &mut Formatter) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(out),
            Self::Number(Some(number)) => number.fmt(out),
            Self::Number(None) => Ok(()),
            Self::Text(text) => out.write_str(text),
            Self::Texts(texts) => out.write_str(&texts.join(" ")),
        }
    }
}

/// A map of the [cells](Hit::cells), in which further columns are a map of their own.
impl Serialize for Hit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, cell) in self.named_cells() {
            if !cell.is_absent() {
                map.serialize_entry(name, &cell)?;
            }
        }
        if !self.columns.is_empty() {
            map.serialize_entry("columns", &FurtherColumns(&self.columns))?;
        }
        map.end()
    }
}

/// Names and cells as a map, in their order.
struct FurtherColumns<'h>(&'h [(String, String)]);

impl Serialize for FurtherColumns<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, cell)| (name, cell)))
    }
}

impl Hit {
    /// The names of the cells that every hit has, in their order; [`cells`](Self::cells) has further columns behind them.
    pub const NAMES: [&'static str; 7] =
        ["rank", "id", "label", "score", "gap", "tied", "duplicates"];

    /// Returns the values of [`NAMES`](Self::NAMES).
    fn named_cells(&self) -> impl Iterator<Item = (&str, Cell<'_>)> {
        let values = [
            Cell::Count(self.rank),
            Cell::Text(&self.id),
            Cell::Text(&self.label),
            Cell::Number(Some(self.score)),
            Cell::Number(self.gap),
            Cell::Count(self.tied),
            Cell::Texts(&self.duplicates),
        ];
        Self::NAMES.into_iter().zip(values)
    }

    /// Returns all that is known of the candidate: names and values, those of further columns last.
    pub fn cells(&self) -> impl Iterator<Item = (&str, Cell<'_>)> {
        let further = self.columns.iter().map(|(name, cell)| (name.as_str(), Cell::Text(cell)));
        self.named_cells().chain(further)
    }

    /// Creates the hit of a distinct candidate, with its ids and its label. A number without a label is its own label; `levels` are
    /// those of a model of quantiles.
    pub(crate) fn from_ranked(
        ranked: RankedHit,
        named: &SomeCandidates,
        levels: Option<&[f64]>,
    ) -> Result<Self, Error> {
        let RankedHit { candidates, score, above, tied, gap } = ranked;
        let all = &named.candidates;
        let places = candidates.iter().map(|&number| named.place(number as usize));
        let places = places.collect::<Result<Vec<_>, _>>()?;
        let first = places.first().copied().unwrap_or_default();
        let label = match (all.label(first), levels) {
            ("", Some(levels)) => number(levels, all, all.class_of(first))?.to_string(),
            (label, _) => label.to_owned(),
        };
        let columns = all.columns().further(first);
        let columns = columns.map(|(name, cell)| (name.to_owned(), cell.to_owned())).collect();
        let rank = above as usize + 1;
        let mut ids = places.into_iter().map(|at| all.id(at).to_owned());
        let id = ids.next().unwrap_or_default();
        let duplicates: Vec<String> = ids.collect();
        let tied = tied as usize + duplicates.len();
        Ok(Self { rank, id, label, score, gap, tied, duplicates, columns })
    }
}

/// A predicted quantile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct Quantile {
    /// The level, from 0 to 1.
    pub level: f64,
    /// The quantile.
    pub value: f32,
}

impl Quantile {
    /// Returns the quantiles of a query.
    pub(crate) fn all(levels: &[f64], values: &[f32]) -> Vec<Self> {
        levels.iter().zip(values).map(|(&level, &value)| Self { level, value }).collect()
    }
}

/// The most hits of all queries that are kept to find ties among them, unless a fourth of them are asked for.
const HITS: usize = 1 << 18;

/// The distinct candidates of queries.
pub(crate) struct DistinctHits<'a> {
    /// The hits of each query.
    pub queries: Vec<RankedHits>,
    /// The candidates that are hits, whose numbers are those of all candidates.
    pub named: SomeCandidates<'a>,
}

/// Returns the distinct wanted candidates at some places of each query and where they stand among all.
pub(crate) fn distinct_hits<'a>(
    ensemble: &Ensemble<'a>,
    rule: &Combination,
    pool: Pool,
    places: Range<usize>,
    wanted: Option<&[bool]>,
) -> Result<DistinctHits<'a>, Error> {
    let processes = ensemble.processes();
    let all = ensemble.candidates();
    let queries = ensemble.queries();
    let longest = pool.longest(all.len());
    // how many of the best candidates are looked at, until they say how many tie with the last one
    let tries = match (pool, wanted) {
        (Pool::PerQuery(_), _) => vec![longest.max(1)],
        (Pool::Shared, Some(_)) => Vec::new(),
        (Pool::Shared, None) => {
            let most = queries.saturating_mul(places.len()).saturating_mul(4).max(HITS);
            let ahead = places.end.saturating_add(1);
            let tries = [2, 16].map(|times| ahead.saturating_mul(times).min(longest));
            tries.into_iter().filter(|&best| queries.saturating_mul(best) <= most).collect()
        }
    };
    for best in tries {
        let hits = ensemble.top_k(pool, rule, best)?;
        let named = all.some(processes, hits.iter().flatten().map(|hit| hit.candidate))?;
        let class_of = |number: usize| match named.numbers {
            None => Ok(ensemble.class_of(number)),
            Some(_) => Ok(named.candidates.class_of(named.place(number)?)),
        };
        let whole = best >= longest;
        let ranked = hits.iter().map(|hits| folded(class_of, hits, whole));
        let mut ranked = ranked.collect::<Result<Vec<_>, Error>>()?;
        if whole || ranked.iter().all(|query| query.hits.len() >= places.end) {
            let is_wanted = |number: &u32| wanted.is_none_or(|wanted| wanted[*number as usize]);
            for RankedHits { hits, .. } in &mut ranked {
                hits.retain(|hit| hit.candidates.iter().any(is_wanted));
                hits.truncate(places.end);
                hits.drain(..places.start.min(hits.len()));
            }
            return Ok(DistinctHits { queries: ranked, named });
        }
    }
    let ranked = ensemble.ranked_hits(rule, wanted, places)?;
    let hits = ranked.iter().flat_map(|query| &query.hits);
    let numbers = hits.flat_map(|hit| &hit.candidates).map(|&number| number as usize);
    let named = all.some(processes, numbers)?;
    Ok(DistinctHits { queries: ranked, named })
}

/// Returns the hits without duplicates. Where they are not the `whole` of all candidates, those that tie with the last one are
/// left out, because not all of them are known.
fn folded(
    class_of: impl Fn(usize) -> Result<u32, Error>,
    hits: &[decode::Hit],
    whole: bool,
) -> Result<RankedHits, Error> {
    let mut ranked = RankedHits { hits: Vec::new(), gap: None };
    let mut above = 0;
    for tied in hits.chunk_by(|a, b| a.score == b.score) {
        let score = tied[0].score;
        let end = above + tied.len();
        let next = hits.get(end);
        if next.is_none() && !whole {
            break;
        }
        // rows are numbered in the order of their first candidates
        let mut rows = BTreeMap::<u32, Vec<u32>>::new();
        for hit in tied {
            rows.entry(class_of(hit.candidate)?).or_default().push(hit.candidate as u32);
        }
        let gap = if rows.len() > 1 { Some(0.0) } else { next.map(|next| score - next.score) };
        if above == 0 {
            ranked.gap = gap;
        }
        ranked.hits.extend(rows.into_values().map(|candidates| {
            let others = (tied.len() - candidates.len()) as u64;
            RankedHit { candidates, score, above: above as u64, tied: others, gap }
        }));
        above = end;
    }
    Ok(ranked)
}

#[cfg(test)]
mod tests {
    use super::Hit;
    use crate::config::output::NAMES_IN_USE;
    use crate::decoding::filter::PROPERTIES;

    #[test]
    fn no_further_column_can_have_a_name_that_is_in_use() {
        let properties = PROPERTIES.iter().map(|(name, _)| *name);
        for name in Hit::NAMES.into_iter().chain(properties) {
            assert!(NAMES_IN_USE.contains(&name), "{name}");
        }
    }
}
