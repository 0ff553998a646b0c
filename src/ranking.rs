//! What ranks the candidates of queries.

use std::collections::BTreeMap;
use std::ops::Range;

use dsokr_decode::{
    Candidates, Combination, Decoded, Ensemble, Hit, Metrics, MissingGold, Pool, Queries, Rank,
    Shards, Standing, Standings,
};

use crate::Error;
use crate::answer::Names;
use crate::golds::RankedGolds;

/// The most hits of all queries that are kept to find ties among them, unless a fourth of them are asked for.
const HITS: usize = 1 << 18;

/// What ranks queries: the members of an ensemble among all candidates, or one run among candidates in shards.
pub(crate) enum Ranking<'a> {
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

    /// The distinct wanted candidates at some places of each query and where they stand among all.
    pub fn distinct(
        &self,
        rule: &Combination,
        pool: Pool,
        places: Range<usize>,
        wanted: Option<&[bool]>,
    ) -> Result<Found<'_>, Error> {
        if wanted.is_none()
            && let Some((mut found, names)) = self.first(rule, pool, &places)?
        {
            for own in &mut found {
                own.hits.truncate(places.end);
                own.hits.drain(..places.start.min(own.hits.len()));
            }
            return Ok((found, names));
        }
        let found = match self {
            Self::Whole(ensemble) => ensemble.standings(rule, wanted, places)?,
            Self::Shards(shards, queries, name) => shards
                .standings(queries, wanted, places)
                .map_err(|error| scoring_error(name, error))?,
        };
        let hits = found.iter().flat_map(|own| &own.hits);
        let numbers = hits.flat_map(|hit| &hit.candidates).map(|&number| number as usize);
        let names = self.names(numbers)?;
        Ok((found, names))
    }

    /// The distinct candidates of each query up to the last of `places`, from the best candidates; none where so few
    /// do not say how many tie with the last one, or are too many to keep.
    fn first(
        &self,
        rule: &Combination,
        pool: Pool,
        places: &Range<usize>,
    ) -> Result<Option<Found<'_>>, Error> {
        let (all, count, queries) = (self.candidates(), places.end, self.queries().len());
        let most = queries.saturating_mul(places.len()).saturating_mul(4).max(HITS);
        for more in [2, 16].map(|times| count.saturating_add(1).saturating_mul(times).min(all)) {
            if queries.saturating_mul(more) > most {
                return Ok(None);
            }
            let hits = match self {
                Self::Whole(ensemble) => ensemble.top_k(pool, rule, more)?,
                Self::Shards(shards, queries, name) => {
                    shards.top_k(queries, more).map_err(|error| scoring_error(name, error))?
                }
            };
            let names = self.names(hits.iter().flatten().map(|hit| hit.candidate))?;
            let class_of = |number: usize| match self {
                Self::Whole(ensemble) => Ok(ensemble.class_of(number)),
                Self::Shards(..) => names.place(number).map(|(some, at)| some.class_of(at)),
            };
            let found = hits.iter().map(|hits| folded(class_of, hits, more == all));
            let found = found.collect::<Result<Vec<_>, Error>>()?;
            if more == all || found.iter().all(|own| own.hits.len() >= count) {
                return Ok(Some((found, names)));
            }
        }
        Ok(None)
    }

    /// What reads these numbers of candidates.
    fn names(&self, numbers: impl Iterator<Item = usize>) -> Result<Names<'_>, Error> {
        let mut numbers = numbers.peekable();
        Ok(match self {
            Self::Whole(ensemble) => Names::All(ensemble.candidates()),
            // at least one is read
            Self::Shards(shards, ..) if numbers.peek().is_none() => {
                Names::Some(Box::new(shards.some([0])?))
            }
            Self::Shards(shards, ..) => Names::Some(Box::new(shards.some(numbers)?)),
        })
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
                    Some(some.candidates.class_of(some.place(place.candidate)?))
                }
                (None, _) | (_, None) => None,
            };
        }
        Ok(Some(some.candidates))
    }
}

/// The distinct candidates of each query, and what reads their numbers.
pub(crate) type Found<'a> = (Vec<Standings>, Names<'a>);

/// The hits without duplicates. Where they are not the `whole` of all candidates, those that tie with the last one are
/// left out, because not all of them are known.
fn folded(
    class_of: impl Fn(usize) -> Result<u32, Error>,
    hits: &[Hit],
    whole: bool,
) -> Result<Standings, Error> {
    let mut found = Standings { hits: Vec::new(), gap: None };
    let mut above = 0;
    for tied in hits.chunk_by(|a, b| a.score == b.score) {
        let (score, end) = (tied[0].score, above + tied.len());
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
            found.gap = gap;
        }
        found.hits.extend(rows.into_values().map(|candidates| {
            let others = (tied.len() - candidates.len()) as u64;
            Standing { candidates, score, above: above as u64, tied: others, gap }
        }));
        above = end;
    }
    Ok(found)
}
