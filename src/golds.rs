//! The right outputs of queries: ranks where some have several, and what they are.

use dsokr_data::config::OutputFeatures;
use dsokr_data::{Split, Truth};
use dsokr_decode::{Candidates, Golds, MissingGold, PerQuery, Pool, Rank};

use crate::Error;
use crate::query_texts::{QueryTexts, RepeatedTexts};

/// The right output of each query that counts: of several the best-ranked one.
pub(crate) struct RankedGolds {
    /// Ranks among the candidates that compete; `None` if infinite.
    pub ranks: Vec<Option<Rank>>,
    /// Rows of the candidates.
    pub rows: Vec<Option<u32>>,
    /// Ids.
    pub ids: Vec<String>,
}

/// Queries with a row for each right and each known output.
pub(crate) struct GoldRows {
    pub golds: Golds,
    lists: Option<PerQuery>,
    /// The query of each row.
    pub texts: RepeatedTexts,
}

impl GoldRows {
    /// Those of a split; none where every query has one right output and all others compete.
    pub fn of(split: &Split, pool: Pool) -> Result<Option<Self>, Error> {
        if !split.is_filtered() {
            return Ok(None);
        }
        let golds = Golds::new(&split.golds(), &split.known)?;
        let lists = match pool {
            Pool::Shared => None,
            Pool::PerQuery(lists) if lists.len() == split.ids.len() => {
                Some(lists.select(golds.queries()))
            }
            Pool::PerQuery(lists) => {
                let (what, found) = ("candidate lists", lists.len());
                let expected = split.ids.len();
                return Err(dsokr_decode::Error::Length { what, found, expected }.into());
            }
        };
        let texts = QueryTexts::of(split).repeat(golds.queries());
        Ok(Some(Self { golds, lists, texts }))
    }

    pub fn pool(&self) -> Pool<'_> {
        self.lists.as_ref().map_or(Pool::Shared, Pool::PerQuery)
    }

    /// Rows of the candidates as `find` resolves the ids of [`Golds::ids`]; refuses what `missing` does
    /// not allow.
    pub fn resolve(
        &self,
        split: &Split,
        missing: MissingGold,
        find: impl FnOnce(&Self) -> Result<Vec<Option<u32>>, dsokr_decode::Error>,
    ) -> Result<Vec<Option<u32>>, Error> {
        let found = find(self)?;
        self.golds.check_missing(&found, missing, |query| format!("{:?}", split.names()[query]))?;
        Ok(found)
    }

    /// The right outputs that count.
    pub fn choose(
        &self,
        found: &[Option<u32>],
        ranks: &[Option<Rank>],
    ) -> Result<(RankedGolds, Vec<usize>), Error> {
        let chosen = self.golds.choose(ranks)?;
        let ranked = RankedGolds {
            ranks: chosen.iter().map(|chosen| chosen.rank).collect(),
            rows: chosen.iter().map(|chosen| found[chosen.row]).collect(),
            ids: chosen.iter().map(|chosen| self.golds.ids()[chosen.row].clone()).collect(),
        };
        Ok((ranked, chosen.iter().map(|chosen| chosen.row).collect()))
    }
}

fn find_rows(
    rows: &GoldRows,
    split: &Split,
    candidates: &Candidates,
    missing: MissingGold,
) -> Result<Vec<Option<u32>>, Error> {
    rows.resolve(split, missing, |rows| {
        rows.pool().gold(&rows.texts.names, rows.golds.ids(), candidates, MissingGold::RankInfinity)
    })
}

/// Whether each query has a right output among its candidates.
///
/// # Errors
/// One that is missing, unless `missing` allows it.
pub(crate) fn has_gold(
    split: &Split,
    candidates: &Candidates,
    pool: Pool,
    missing: MissingGold,
) -> Result<Vec<bool>, Error> {
    match GoldRows::of(split, pool)? {
        None => {
            let found = pool.gold(split.names(), &split.ids, candidates, missing)?;
            Ok(found.iter().map(Option::is_some).collect())
        }
        Some(rows) => {
            let found = find_rows(&rows, split, candidates, missing)?;
            let known = |query| found[rows.golds.right(query)].iter().any(Option::is_some);
            Ok((0..split.ids.len()).map(known).collect())
        }
    }
}

/// What to do with queries without a gold. Rows of a file that is not the run's are compared as what
/// they are, without ranks.
pub(crate) fn missing_gold(split: &Split, missing: MissingGold) -> MissingGold {
    match split.foreign && split.truth.is_some() {
        true => MissingGold::RankInfinity,
        false => missing,
    }
}

/// The right outputs that count, `golds` by id, as what they are; none where they are not known, or
/// predictions are not compared with them.
pub(crate) fn truth_of(
    split: &Split,
    golds: &[String],
    candidates: &Candidates,
    features: &OutputFeatures,
) -> Result<Option<Truth>, Error> {
    let labels = |queries: &[usize]| -> Option<Vec<&str>> {
        let label = |&query: &usize| candidates.find(&golds[query]).map(|c| candidates.label(c));
        queries.iter().map(label).collect()
    };
    let Some(truth) = &split.truth else {
        let Some(labels) = labels(&(0..golds.len()).collect::<Vec<_>>()) else { return Ok(None) };
        return Ok(features.truth_of_labels(labels)?);
    };
    let mut truth = truth.clone();
    let others: Vec<usize> = (0..golds.len()).filter(|&q| golds[q] != split.ids[q]).collect();
    if let (false, Some(labels)) = (others.is_empty(), labels(&others))
        && let Some(counted) = features.truth_of_labels(labels)?
    {
        truth.replace(&others, counted)?;
    }
    Ok(Some(truth))
}
