//! The distinct candidates of queries, and those that are in shards by their names.

use std::collections::BTreeMap;
use std::ops::Range;

use dsokr_decode::{
    AllCandidates, Candidates, Combination, Decoded, Ensemble, Hit, Pool, SomeCandidates, Standing,
    Standings,
};

use crate::Error;
use crate::golds::RankedGolds;

/// The most hits of all queries that are kept to find ties among them, unless a fourth of them are asked for.
const HITS: usize = 1 << 18;

/// The distinct candidates of each query, and what reads their numbers.
pub(crate) type Found<'a> = (Vec<Standings>, SomeCandidates<'a>);

/// The distinct wanted candidates at some places of each query and where they stand among all.
pub(crate) fn distinct<'a>(
    ensemble: &Ensemble<'a>,
    rule: &Combination,
    pool: Pool,
    places: Range<usize>,
    wanted: Option<&[bool]>,
) -> Result<Found<'a>, Error> {
    if wanted.is_none()
        && let Some((mut found, names)) = first(ensemble, rule, pool, &places)?
    {
        for own in &mut found {
            own.hits.truncate(places.end);
            own.hits.drain(..places.start.min(own.hits.len()));
        }
        return Ok((found, names));
    }
    let found = ensemble.standings(rule, wanted, places)?;
    let hits = found.iter().flat_map(|own| &own.hits);
    let numbers = hits.flat_map(|hit| &hit.candidates).map(|&number| number as usize);
    let names = ensemble.candidates().some(numbers)?;
    Ok((found, names))
}

/// The distinct candidates of each query up to the last of `places`, from the best candidates; none where so few
/// do not say how many tie with the last one, or are too many to keep.
fn first<'a>(
    ensemble: &Ensemble<'a>,
    rule: &Combination,
    pool: Pool,
    places: &Range<usize>,
) -> Result<Option<Found<'a>>, Error> {
    let (all, count, queries) = (ensemble.candidates(), places.end, ensemble.queries());
    let most = queries.saturating_mul(places.len()).saturating_mul(4).max(HITS);
    for more in [2, 16].map(|times| count.saturating_add(1).saturating_mul(times).min(all.len())) {
        if queries.saturating_mul(more) > most {
            return Ok(None);
        }
        let hits = ensemble.top_k(pool, rule, more)?;
        let names = all.some(hits.iter().flatten().map(|hit| hit.candidate))?;
        let class_of = |number: usize| match names.numbers {
            None => Ok(ensemble.class_of(number)),
            Some(_) => Ok(names.candidates.class_of(names.place(number)?)),
        };
        let whole = more == all.len();
        let found = hits.iter().map(|hits| folded(class_of, hits, whole));
        let found = found.collect::<Result<Vec<_>, Error>>()?;
        if whole || found.iter().all(|own| own.hits.len() >= count) {
            return Ok(Some((found, names)));
        }
    }
    Ok(None)
}

/// The candidates of shards that ranks and hits name, which become their numbers; none for those of the run.
pub(crate) fn named(
    all: AllCandidates,
    golds: &mut RankedGolds,
    decoded: &mut [Decoded],
) -> Result<Option<Candidates>, Error> {
    if let AllCandidates::Whole(_) = all {
        return Ok(None);
    }
    let places = all.find(&golds.ids)?;
    let hits = decoded.iter().flat_map(|query| &query.hits).map(|hit| hit.candidate);
    let some = all.some(places.iter().flatten().map(|place| place.candidate).chain(hits))?;
    for hit in decoded.iter_mut().flat_map(|query| &mut query.hits) {
        hit.candidate = some.place(hit.candidate)?;
    }
    for (row, place) in golds.rows.iter_mut().zip(places) {
        *row = match row.and(place) {
            Some(place) => Some(some.candidates.class_of(some.place(place.candidate)?)),
            None => None,
        };
    }
    Ok(Some(some.candidates.into_owned()))
}

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
