//! Ranks and hits with a second look.

use dsokr_basis::Cancellation;
use rayon::prelude::*;

use super::member::Member;
use crate::error::missing_gold;
use crate::scoring::Buffers;
use crate::topk::{best, hits, top_rows};
use crate::{Decoded, Error, Pool, Rank, SecondLook};

/// Ranks the gold rows and finds the k best candidates of a member with a second look.
pub(super) fn decode(
    look: &SecondLook,
    pool: Pool,
    member: &Member,
    gold: &[Option<u32>],
    k: usize,
) -> Result<Vec<Decoded>, Error> {
    let (queries, candidates) = (&member.queries, member.candidates);
    let cancellation = Cancellation::current();
    let shared = match pool {
        Pool::Shared => {
            let size = look.size().max(k).min(candidates.distinct());
            Some((crate::rank(queries, gold, candidates)?, top_rows(queries, candidates, size)?))
        }
        Pool::PerQuery(_) => None,
    };
    let one = |buffers: &mut Buffers, query: usize| {
        cancellation.check()?;
        // the rows of the query, the first of them best first, and how many candidates share each
        let mut rows: Vec<(usize, f32, u32)> = match (&shared, pool) {
            (Some((_, lists)), _) => {
                let count = |row: usize| candidates.multiplicity(row as u32);
                lists[query].iter().map(|hit| (hit.row, hit.score, count(hit.row))).collect()
            }
            (None, Pool::PerQuery(lists)) => {
                let list = lists.list(query);
                buffers.gather(list.iter().map(|&c| candidates.class_of(c as usize)));
                let scores = buffers.score(queries, query, candidates)?;
                let rows = buffers.rows.iter().zip(scores);
                rows.map(|(&(row, count), score)| (row as usize, score, count)).collect()
            }
            (None, Pool::Shared) => Vec::new(),
        };
        rows.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let size = look.size().min(rows.len());
        let first: Vec<(usize, f32)> =
            rows[..size].iter().map(|&(row, score, _)| (row, score)).collect();
        let anew = look.scores(queries, query, &first, candidates)?;
        let old = rows[size..].iter().map(|&(_, score, _)| f64::from(score));
        let scores: Vec<f64> = anew.into_iter().chain(old).collect();
        let listed = |candidate: &u32| match pool {
            Pool::Shared => true,
            Pool::PerQuery(lists) => lists.list(query).contains(candidate),
        };
        let members = |(&(row, ..), &score): (&(usize, f32, u32), &f64)| {
            let members = candidates.members(row as u32);
            let members = members.iter().filter(|c| listed(c)).take(k);
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
        let total = match pool {
            Pool::Shared => candidates.len() as u64,
            Pool::PerQuery(lists) => lists.list(query).len() as u64,
        };
        let counted = || scores.iter().copied().zip(rows.iter().map(|&(_, _, count)| count));
        let (rank, score) = match (place, &shared) {
            // a row that keeps its score keeps its rank, beyond the rows at hand too
            (Some(at), Some((ranks, _))) if at >= size => (ranks[query], scores[at]),
            (Some(at), _) => (Some(Rank::among(counted(), scores[at], total)?), scores[at]),
            (None, Some((ranks, _))) => {
                buffers.gather(std::iter::once(gold));
                let score = buffers.score(queries, query, candidates)?[0];
                (ranks[query], f64::from(score))
            }
            (None, None) => {
                return Err(missing_gold(&queries.name(query), &format!("of row {gold}")));
            }
        };
        Ok(Decoded { rank, gold_score: Some(score as f32), hits: found })
    };
    (0..queries.len()).into_par_iter().map_init(Buffers::default, one).collect()
}
