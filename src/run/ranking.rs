use std::ops::Range;

use dsokr_decode::{
    Candidates, Combination, Decoded, Ensemble, Hit, Metrics, MissingGold, Pool, Queries, Rank,
    Shards, Standings,
};

use crate::Error;
use crate::golds::RankedGolds;

/// What ranks queries: the members of an ensemble among all candidates, or one run among candidates in shards.
pub(super) enum Ranking<'a> {
    Whole(Ensemble<'a>),
    /// With the name of the run.
    Shards(&'a Shards, Queries<'a>, &'a str),
}

/// An error of scores, which says whose they are as those of an ensemble do.
fn scoring_error(name: &str, error: dsokr_decode::Error) -> dsokr_decode::Error {
    match error {
        // of what is asked for
        dsokr_decode::Error::OutOfRange { .. } => error,
        error => {
            let place = format!("ensemble member {name:?}");
            dsokr_decode::Error::At { place, source: Box::new(error) }
        }
    }
}

impl Ranking<'_> {
    /// The queries as the first member reads them.
    pub fn queries(&self) -> &Queries<'_> {
        match self {
            Self::Whole(ensemble) => &ensemble.members()[0].queries,
            Self::Shards(_, queries, _) => queries,
        }
    }

    /// Number of candidates.
    pub fn candidates(&self) -> usize {
        match self {
            Self::Whole(ensemble) => ensemble.candidates().len(),
            Self::Shards(shards, ..) => shards.len(),
        }
    }

    /// Rows of the gold candidates.
    pub fn gold(
        &self,
        pool: Pool,
        ids: &[String],
        missing: MissingGold,
    ) -> Result<Vec<Option<u32>>, dsokr_decode::Error> {
        match self {
            Self::Whole(ensemble) => ensemble.gold(pool, ids, missing),
            Self::Shards(shards, queries, _) => shards.gold(queries, ids, missing),
        }
    }

    /// The ranks of gold rows, and the k best candidates.
    pub fn decode(
        &self,
        pool: Pool,
        rule: &Combination,
        gold: &[Option<u32>],
        k: usize,
    ) -> Result<Vec<Decoded>, dsokr_decode::Error> {
        match self {
            Self::Whole(ensemble) => ensemble.decode(pool, rule, gold, k),
            Self::Shards(shards, queries, name) => {
                shards.decode(queries, gold, k).map_err(|error| scoring_error(name, error))
            }
        }
    }

    /// The metrics of ranks.
    pub fn metrics(&self, pool: Pool, ranks: &[Option<Rank>]) -> Result<Metrics, Error> {
        Ok(match self {
            Self::Whole(ensemble) => ensemble.metrics(pool, ranks)?,
            Self::Shards(shards, ..) => {
                Metrics::from_ranks(ranks, shards.len(), shards.len() - shards.distinct())?
            }
        })
    }

    /// The best wanted candidates at some places and where they stand among all, with the candidates that they are
    /// numbers of; see [`top_k`](Self::top_k).
    pub fn standings(
        &self,
        rule: &Combination,
        wanted: Option<&[bool]>,
        places: Range<usize>,
    ) -> Result<(Vec<Standings>, Option<Candidates>), Error> {
        match self {
            Self::Whole(ensemble) => Ok((ensemble.standings(rule, wanted, places)?, None)),
            Self::Shards(shards, queries, name) => {
                let found = shards.standings(queries, wanted, places);
                let mut found = found.map_err(|error| scoring_error(name, error))?;
                let mut numbers: Vec<&mut u32> = found
                    .iter_mut()
                    .flat_map(|query| &mut query.hits)
                    .flat_map(|hit| &mut hit.candidates)
                    .collect();
                if numbers.is_empty() {
                    return Ok((found, None));
                }
                let some = shards.some(numbers.iter().map(|number| **number as usize))?;
                for number in &mut numbers {
                    **number = some.place(**number as usize)? as u32;
                }
                Ok((found, Some(some.into())))
            }
        }
    }

    /// The k best candidates, with the candidates that they are numbers of: those of the shards that are hits,
    /// or none, for those of the run.
    pub fn top_k(&self, pool: Pool, rule: &Combination, k: usize) -> Result<Hits, Error> {
        match self {
            Self::Whole(ensemble) => Ok((ensemble.top_k(pool, rule, k)?, None)),
            Self::Shards(shards, queries, name) => {
                let hits = shards.top_k(queries, k);
                let mut hits = hits.map_err(|error| scoring_error(name, error))?;
                let some = shards.some(hits.iter().flatten().map(|hit| hit.candidate))?;
                for hit in hits.iter_mut().flatten() {
                    hit.candidate = some.place(hit.candidate)?;
                }
                Ok((hits, Some(some.into())))
            }
        }
    }

    /// The candidates of shards that ranks and hits name, which become their numbers; none for those of the run.
    pub fn named(
        &self,
        golds: &mut RankedGolds,
        decoded: &mut [Decoded],
    ) -> Result<Option<Candidates>, Error> {
        let Self::Shards(shards, ..) = self else { return Ok(None) };
        let places = shards.find(&golds.ids)?;
        let hits = decoded.iter().flat_map(|query| &query.hits).map(|hit| hit.candidate);
        let some = shards.some(places.iter().flatten().map(|place| place.candidate).chain(hits))?;
        for hit in decoded.iter_mut().flat_map(|query| &mut query.hits) {
            hit.candidate = some.place(hit.candidate)?;
        }
        for (row, place) in golds.rows.iter_mut().zip(places) {
            *row = match (&row, place) {
                (Some(_), Some(place)) => {
                    Some(some.candidates().class_of(some.place(place.candidate)?))
                }
                (None, _) | (_, None) => None,
            };
        }
        Ok(Some(some.into()))
    }
}

/// The hits of each query, and the candidates that they are numbers of, if not those of the run.
pub(super) type Hits = (Vec<Vec<Hit>>, Option<Candidates>);
