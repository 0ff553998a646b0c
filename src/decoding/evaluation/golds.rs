//! The right outputs of queries, among which the best-ranked one counts.

use dsokr_core::{Argument, Processes};
use dsokr_data::Split;
use dsokr_decode::{AllCandidates, Candidates, Decoded, GoldOutputs, MissingGold, PerQuery, Pool};

use crate::error::{Error, ensure};

/// Queries with a row for each right and each known output.
pub(super) struct GoldRows {
    pub golds: GoldOutputs,
    lists: Option<PerQuery>,
    /// The query of each row.
    pub rows: Split,
}

impl GoldRows {
    /// Returns a row for each right and each known output of a split; none where every query has one right output and all others
    /// compete.
    pub fn from_split(split: &Split, pool: Pool) -> Result<Option<Self>, Error> {
        if !split.is_filtered() {
            return Ok(None);
        }
        let golds = GoldOutputs::new(&split.golds(), &split.known)?;
        let lists = match pool {
            Pool::Shared => None,
            Pool::PerQuery(lists) => {
                dsokr_core::Error::check_length("candidate lists", lists.len(), split.ids.len())?;
                Some(lists.select(golds.queries()))
            }
        };
        let rows = split.select(golds.queries())?;
        Ok(Some(Self { golds, lists, rows }))
    }

    pub fn pool(&self) -> Pool<'_> {
        self.lists.as_ref().map_or(Pool::Shared, Pool::PerQuery)
    }

    /// Refuses right outputs whose `rows` of candidates are not known, where `missing` does not allow them.
    pub fn check(
        &self,
        split: &Split,
        rows: &[Option<u32>],
        missing: MissingGold,
    ) -> Result<(), dsokr_core::Error> {
        self.golds.check_missing(rows, missing, |query| format!("{:?}", split.names()[query]))
    }
}

/// Refuses a query without candidates.
pub(super) fn check_lists(split: &Split, pool: Pool) -> Result<(), Error> {
    let Pool::PerQuery(lists) = pool else { return Ok(()) };
    (0..lists.len()).try_for_each(|query| {
        let key = format_args!("the candidates of query {:?}", split.names()[query]);
        let argument = Argument::new("least-candidates").with(1);
        let allowed = format_args!(
            "at least one, of a wider rule; an evaluation leaves such queries out with {argument}"
        );
        ensure(!lists.list(query).is_empty(), key, "none", allowed)
    })
}

/// Returns whether each query has a right output among its candidates.
///
/// # Errors
/// A query without candidates; a right output that is missing, unless `missing` allows it.
pub(crate) fn has_gold(
    split: &Split,
    candidates: &Candidates,
    pool: Pool,
    missing: MissingGold,
) -> Result<Vec<bool>, Error> {
    check_lists(split, pool)?;
    let Some(rows) = GoldRows::from_split(split, pool)? else {
        let gold = pool.gold(split.names(), &split.ids, candidates, missing)?;
        return Ok(gold.iter().map(Option::is_some).collect());
    };
    let names = rows.rows.names();
    let ids = rows.golds.ids();
    let gold = rows.pool().gold(names, ids, candidates, MissingGold::RankInfinity)?;
    rows.check(split, &gold, missing)?;
    let has_gold = |query| gold[rows.golds.right(query)].iter().any(Option::is_some);
    Ok((0..split.ids.len()).map(has_gold).collect())
}

/// The right output of each query that counts, of several the best-ranked one.
pub(crate) struct RankedGolds {
    /// Rows of the candidates.
    pub(super) rows: Vec<Option<u32>>,
    /// Their ids.
    pub(super) ids: Vec<String>,
    /// How many right outputs of each query are among its candidates; empty where every query has one.
    pub(super) right: Vec<u64>,
    /// How the queries were decoded, with the ranks among the candidates that compete.
    pub decoded: Vec<Decoded>,
}

impl RankedGolds {
    /// Returns the candidates of shards that ranks and hits name, which become their numbers; none for those of the run.
    pub(super) fn named(
        &mut self,
        processes: &Processes,
        all: AllCandidates,
    ) -> Result<Option<Candidates>, Error> {
        if let AllCandidates::Whole(_) = all {
            return Ok(None);
        }
        let places = all.find(processes, &self.ids)?;
        let hits = self.decoded.iter().flat_map(|query| &query.hits).map(|hit| hit.candidate);
        let golds = places.iter().flatten().map(|place| place.candidate);
        let some = all.some(processes, golds.chain(hits))?;
        for hit in self.decoded.iter_mut().flat_map(|query| &mut query.hits) {
            hit.candidate = some.place(hit.candidate)?;
        }
        for (row, place) in self.rows.iter_mut().zip(places) {
            *row = match row.and(place) {
                Some(place) => Some(some.candidates.class_of(some.place(place.candidate)?)),
                None => None,
            };
        }
        Ok(Some(some.candidates.into_owned()))
    }
}
