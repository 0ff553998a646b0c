//! Several random models of the same candidates, and a brute force that forms all score matrices.

use dsokr_core::random::{below, generator, unit};
use dsokr_decode::{CandidateParts, Candidates, Combination, Ensemble, Member, Queries, Rank};

use crate::common::{Set, integer_queries, real_queries};

/// A model whose points and queries are visible.
pub struct Model {
    pub name: String,
    pub set: Set,
    pub rows: Vec<f32>,
    pub candidates: Candidates,
}

pub struct Models {
    pub count: usize,
    pub queries: usize,
    pub models: Vec<Model>,
}

impl Models {
    /// Creates models with small integers, whose scores are exact and tie; all but the first have their
    /// candidates in an order of their own.
    pub fn integers(seed: u64, members: usize, queries: usize, count: usize) -> Self {
        Self::draw(seed, members, queries, count, Set::integers, integer_queries)
    }

    pub fn reals(seed: u64, members: usize, queries: usize, count: usize) -> Self {
        Self::draw(seed, members, queries, count, Set::reals, real_queries)
    }

    fn draw(
        seed: u64,
        members: usize,
        queries: usize,
        count: usize,
        set: impl Fn(u64, usize, usize, usize) -> Set,
        rows: impl Fn(u64, usize, usize) -> Vec<f32>,
    ) -> Self {
        let mut random = generator(seed, "models", 0);
        let models = (0..members).map(|at| {
            let dim = 2 + below(&mut random, 12) as usize;
            let distinct = 1 + below(&mut random, count as u64) as usize;
            let seed = seed.wrapping_add(1000 * at as u64);
            let set = set(seed, count, distinct, dim);
            let mut order: Vec<usize> = (0..count).collect();
            if at > 0 {
                (1..count).for_each(|c| order.swap(c, below(&mut random, c as u64 + 1) as usize));
            }
            let candidates = reordered(&set, &order);
            Model { name: format!("run{at}"), rows: rows(seed, queries, dim), set, candidates }
        });
        Self { count, queries, models: models.collect() }
    }

    pub fn members(&self) -> Vec<Member<'_>> {
        self.models
            .iter()
            .map(|model| Member {
                name: &model.name,
                queries: Queries::new(model.set.dim, &model.rows).unwrap(),
                candidates: &model.candidates,
                normalised: true,
            })
            .collect()
    }

    pub fn ensemble(&self) -> Ensemble<'_> {
        Ensemble::new(self.members()).unwrap()
    }

    /// Returns the scores of a query under a member, one a candidate of `pool`.
    pub fn scores(&self, member: usize, query: usize, pool: &[usize]) -> Vec<f64> {
        let Model { set, rows, .. } = &self.models[member];
        let query = &rows[query * set.dim..][..set.dim];
        pool.iter().map(|&candidate| set.score(query, candidate)).collect()
    }

    /// Returns the values that a rule computes from the scores of each member, `[member][candidate of pool]`.
    fn values(&self, rule: &Combination, query: usize, pool: &[usize]) -> Vec<Vec<f64>> {
        let values = |member| {
            let scores = self.scores(member, query, pool);
            match *rule {
                Combination::Mean { standardise: true, .. }
                | Combination::Max { standardise: true } => standardised(&scores),
                Combination::Mean { .. } | Combination::Max { .. } => scores,
                Combination::Rank { .. } => ranks(&scores).iter().map(|rank| -rank).collect(),
                Combination::ReciprocalRank { constant, .. } => {
                    ranks(&scores).iter().map(|rank| 1.0 / (constant + rank)).collect()
                }
            }
        };
        (0..self.models.len()).map(values).collect()
    }

    /// Returns combined scores of a query, one a candidate of `pool`, straight from the definitions.
    pub fn combined(&self, rule: &Combination, query: usize, pool: &[usize]) -> Vec<f64> {
        let members = self.models.len();
        let weights = rule.weights().map_or(vec![1.0 / members as f64; members], <[f64]>::to_vec);
        let matrix = self.values(rule, query, pool);
        let column = |c: usize| matrix.iter().map(move |scores| scores[c]);
        let max = |c| column(c).fold(f64::NEG_INFINITY, f64::max);
        let sum = |c| column(c).zip(&weights).map(|(score, weight)| score * weight).sum();
        let one = |c| if matches!(rule, Combination::Max { .. }) { max(c) } else { sum(c) };
        (0..pool.len()).map(one).collect()
    }

    /// Returns whether two candidates have combined scores that are equal but for rounding, and not because
    /// they are sums of the same numbers. Standardised scores of few candidates can have that (±1
    /// for two of them) and so can reciprocal ranks (1/3 + 1/6 is 1/4 + 1/4), and nothing says
    /// whether such candidates tie. Sums of integers and of ranks are exact.
    pub fn ambiguous(&self, rule: &Combination, query: usize, pool: &[usize]) -> bool {
        let values = self.values(rule, query, pool);
        let combined = self.combined(rule, query, pool);
        let members: Vec<_> = (0..values.len()).map(|m| self.scores(m, query, pool)).collect();
        let column = |c: usize| values.iter().map(move |of_member| of_member[c]);
        // A maximum is decided by the members that reach it, or nearly.
        let deciding = |c: usize| {
            let bar = combined[c] - CLOSE;
            let raw = members.iter().map(move |scores| scores[c]);
            column(c).zip(raw).map(move |(value, raw)| (value >= bar).then_some(raw))
        };
        let sorted = |c: usize| {
            let mut values: Vec<f64> = column(c).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let same = |[a, b]: [usize; 2]| match *rule {
            Combination::Mean { weights: None, standardise: false }
            | Combination::Max { standardise: false }
            | Combination::Rank { weights: None } => true,
            Combination::Max { standardise: true } => deciding(a).eq(deciding(b)),
            Combination::ReciprocalRank { weights: None, .. } => sorted(a) == sorted(b),
            _ => members.iter().all(|scores| scores[a] == scores[b]),
        };
        let mut order: Vec<usize> = (0..pool.len()).collect();
        order.sort_by(|&a, &b| combined[a].total_cmp(&combined[b]));
        let close = |&[a, b]: &[usize; 2]| (combined[a] - combined[b]).abs() <= CLOSE;
        order.array_windows().filter(|pair| close(pair)).any(|&pair| !same(pair))
    }

    /// Returns the rank of candidate `gold` among `pool`; scores closer than rounding tie.
    pub fn rank(&self, rule: &Combination, query: usize, gold: usize, pool: &[usize]) -> Rank {
        let scores = self.combined(rule, query, pool);
        let bar = scores[pool.iter().position(|&c| c == gold).unwrap()];
        let above = scores.iter().filter(|&&score| score > bar + CLOSE).count();
        let tied = scores.iter().filter(|&&score| (score - bar).abs() <= CLOSE).count();
        Rank::new(above as u64, tied as u64, pool.len() as u64).unwrap()
    }

    /// Returns the candidates of `pool` with their scores, best first, ties by index.
    pub fn sorted(&self, rule: &Combination, query: usize, pool: &[usize]) -> Vec<(usize, f64)> {
        let scores = self.combined(rule, query, pool);
        let mut rest: Vec<(usize, f64)> = pool.iter().copied().zip(scores).collect();
        let mut sorted = Vec::new();
        while !rest.is_empty() {
            let bar = rest.iter().map(|&(_, score)| score).fold(f64::NEG_INFINITY, f64::max);
            let best = rest.iter().filter(|(_, score)| *score >= bar - CLOSE);
            let first = *best.min_by_key(|(candidate, _)| *candidate).unwrap();
            rest.retain(|&(candidate, _)| candidate != first.0);
            sorted.push(first);
        }
        sorted
    }
}

/// Scores of different candidates differ by more than this, or they are the same number.
const CLOSE: f64 = 1e-10;

fn standardised(scores: &[f64]) -> Vec<f64> {
    let count = scores.len() as f64;
    let mean = scores.iter().sum::<f64>() / count;
    let variance = scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / count;
    let deviation = variance.sqrt();
    let one = |score| if deviation > 1e-9 { (score - mean) / deviation } else { 0.0 };
    scores.iter().copied().map(one).collect()
}

/// Returns the ranks from 1, ties averaged, by counting.
fn ranks(scores: &[f64]) -> Vec<f64> {
    let rank = |score_of_gold: &f64| {
        let above = scores.iter().filter(|score| *score > score_of_gold).count();
        let tied = scores.iter().filter(|score| *score == score_of_gold).count();
        above as f64 + (tied as f64 + 1.0) / 2.0
    };
    scores.iter().map(rank).collect()
}

/// Returns the candidates of a set in another order; ids stay with them.
pub fn reordered(set: &Set, order: &[usize]) -> Candidates {
    let mut renumbered = vec![None; set.rows.len()];
    let mut class = Vec::new();
    let mut coordinates = Vec::new();
    let mut constants = Vec::new();
    for &candidate in order {
        let row = set.class[candidate] as usize;
        let new = *renumbered[row].get_or_insert_with(|| {
            coordinates.extend_from_slice(&set.rows[row]);
            constants.push(set.constants[row]);
            constants.len() as u32 - 1
        });
        class.push(new);
    }
    let ids: Vec<String> = order.iter().map(|c| format!("c{c}")).collect();
    Candidates::new(CandidateParts {
        ids: ids.clone(),
        labels: ids,
        class,
        dim: set.dim,
        coordinates,
        constants,
        ..CandidateParts::default()
    })
    .unwrap()
}

/// Returns weights without small integer relations between them.
pub fn weights(seed: u64, members: usize) -> Vec<f64> {
    let mut random = generator(seed, "weights", 0);
    let drawn: Vec<f64> = (0..members).map(|_| unit(&mut random)).collect();
    let sum: f64 = drawn.iter().sum();
    drawn.iter().map(|weight| weight / sum).collect()
}

/// Returns every rule, with and without weights and standardisation.
pub fn rules(seed: u64, members: usize) -> Vec<Combination> {
    let some = || Some(weights(seed, members));
    vec![
        Combination::Mean { weights: None, standardise: false },
        Combination::Mean { weights: some(), standardise: false },
        Combination::Mean { weights: None, standardise: true },
        Combination::Mean { weights: some(), standardise: true },
        Combination::Max { standardise: false },
        Combination::Max { standardise: true },
        Combination::Rank { weights: None },
        Combination::Rank { weights: some() },
        Combination::ReciprocalRank { weights: None, constant: 60.0 },
        Combination::ReciprocalRank { weights: some(), constant: 0.5 },
    ]
}
