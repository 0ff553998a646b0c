//! Ranks and hits with a second look.

use dsokr_basis::Cancellation;
use rayon::prelude::*;

use super::member::Member;
use crate::error::missing_gold;
use crate::hits::{self, best, hits};
use crate::scoring::Listed;
use crate::{Decoded, Error, Pool, Rank, SecondLook};

/// A row of a query: its number, its score, and how many candidates share it.
type Scored = (usize, f32, u32);

/// Ranks the gold rows and finds the k best candidates of a member with a second look.
pub(super) fn decode(
    look: &SecondLook,
    pool: Pool,
    member: &Member,
    gold: &[Option<u32>],
    k: usize,
) -> Result<Vec<Decoded>, Error> {
    let (queries, candidates) = (&member.queries, member.candidates);
    // what is true beyond the rows that are at hand
    let first = match pool {
        Pool::Shared => Some(hits::decode(queries, gold, candidates, look.size().max(k))?),
        Pool::PerQuery(_) => None,
    };
    let cancellation = Cancellation::current();
    let one = |listed: &mut Listed, query: usize| {
        cancellation.check()?;
        let mut rows: Vec<Scored> = match (&first, pool) {
            (Some(first), _) => {
                let count = |row: usize| candidates.multiplicity(row as u32);
                first.rows[query].iter().map(|hit| (hit.row, hit.score, count(hit.row))).collect()
            }
            (None, Pool::PerQuery(lists)) => {
                let list = lists.list(query).iter();
                listed.gather(list.map(|&candidate| candidates.class_of(candidate as usize)));
                let scores = listed.score(queries, query, candidates)?;
                let rows = listed.rows.iter().zip(scores).zip(&listed.counts);
                rows.map(|((&row, score), &count)| (row as usize, score, count)).collect()
            }
            (None, Pool::Shared) => Vec::new(),
        };
        rows.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let (anew, old) = rows.split_at(look.size().min(rows.len()));
        let seen: Vec<(usize, f32)> = anew.iter().map(|&(row, score, _)| (row, score)).collect();
        let mut scores = look.scores(queries, query, &seen, candidates, true)?;
        scores.extend(old.iter().map(|&(_, score, _)| f64::from(score)));
        let members = |(&(row, ..), &score): (&Scored, &f64)| {
            let members = candidates.members(row as u32);
            let members = members.iter().filter(|&&candidate| pool.has(query, candidate)).take(k);
            members.map(move |&candidate| (candidate, score)).collect::<Vec<_>>()
        };
        let found = match k {
            0 => Vec::new(),
            _ => hits(best(rows.iter().zip(&scores).flat_map(members).collect(), k)),
        };
        let Some(gold) = gold[query] else {
            return Ok(Decoded { rank: None, gold_score: None, hits: found });
        };
        let place = rows.iter().position(|&(row, ..)| row == gold as usize);
        let (rank, score) = match (place, &first) {
            // a row that keeps its score keeps its rank, beyond the rows at hand too
            (place, Some(first)) if place.is_none_or(|at| at >= seen.len()) => {
                (first.ranks[query], first.scores[query])
            }
            (Some(at), _) => {
                let counted = scores.iter().copied().zip(rows.iter().map(|&(_, _, count)| count));
                let rank = Rank::among(counted, scores[at], pool.size(query, candidates))?;
                (Some(rank), Some(scores[at] as f32))
            }
            (None, _) => {
                return Err(missing_gold(&queries.name(query), &format!("of row {gold}")));
            }
        };
        Ok(Decoded { rank, gold_score: score, hits: found })
    };
    (0..queries.len()).into_par_iter().map_init(Listed::default, one).collect()
}
