//! Random candidate sets and a brute force that shares nothing with the crate.
#![allow(dead_code)] // the test of memory uses a part

use dsokr_core::Error;
use dsokr_core::random::{below, generator, unit};
use dsokr_decode::{
    CandidateParts, Candidates, Combination, Ensemble, Hit, Metrics, Pool, Queries, Rank,
};

/// Returns the message of an error.
pub fn message<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.unwrap_err().to_string()
}

/// Returns the ranks of one model.
pub fn rank_in(
    pool: Pool,
    queries: &Queries,
    gold: &[Option<u32>],
    candidates: &Candidates,
) -> Result<Vec<Option<Rank>>, Error> {
    Ensemble::one(*queries, candidates, None)?.rank(pool, &Combination::default(), gold)
}

/// Returns the hits of one model.
pub fn top_k_in(
    pool: Pool,
    queries: &Queries,
    candidates: &Candidates,
    k: usize,
) -> Result<Vec<Vec<Hit>>, Error> {
    Ensemble::one(*queries, candidates, None)?.top_k(pool, &Combination::default(), k)
}

/// Returns the metrics of the ranks of one model.
pub fn metrics_in(
    pool: Pool,
    ranks: &[Option<Rank>],
    candidates: &Candidates,
) -> Result<Metrics, Error> {
    let dim = dsokr_decode::CandidateBlocks::dim(candidates);
    Ensemble::one(Queries::new(dim, &[])?, candidates, None)?.metrics(pool, ranks)
}

/// A candidate set in the open: the brute force works on this.
#[derive(Clone, Debug)]
pub struct Set {
    pub dim: usize,
    pub class: Vec<u32>,
    /// Distinct rows.
    pub rows: Vec<Vec<f32>>,
    pub constants: Vec<f32>,
}

impl Set {
    /// Draws `count` candidates over `distinct` rows; small integers, so that scores are exact and tie.
    pub fn integers(seed: u64, count: usize, distinct: usize, dim: usize) -> Self {
        Self::draw(seed, count, distinct, dim, |random| below(random, 3) as f32 - 1.0)
    }

    /// Creates the same with real coordinates.
    pub fn reals(seed: u64, count: usize, distinct: usize, dim: usize) -> Self {
        Self::draw(seed, count, distinct, dim, |random| unit(random) as f32 - 0.5)
    }

    fn draw(
        seed: u64,
        count: usize,
        distinct: usize,
        dim: usize,
        value: impl Fn(&mut rand_chacha::ChaCha8Rng) -> f32,
    ) -> Self {
        let mut random = generator(seed, "test candidates", 0);
        let mut next = 0;
        let class = (0..count)
            .map(|candidate| {
                let remaining = count - candidate;
                let fresh = distinct as u64 - u64::from(next);
                if fresh > 0
                    && (next == 0 || remaining as u64 <= fresh || below(&mut random, 2) == 0)
                {
                    next += 1;
                    next - 1
                } else {
                    below(&mut random, next.into()) as u32
                }
            })
            .collect();
        let rows = (0..distinct).map(|_| (0..dim).map(|_| value(&mut random)).collect()).collect();
        let constants = (0..distinct).map(|_| value(&mut random)).collect();
        Self { dim, class, rows, constants }
    }

    pub fn candidates(&self) -> Candidates {
        let ids = (0..self.class.len()).map(|c| format!("c{c}")).collect();
        let labels = (0..self.class.len()).map(|c| format!("label {c}")).collect();
        let class = self.class.clone();
        let rows = self.rows.concat();
        Candidates::new(CandidateParts {
            ids,
            labels,
            class,
            dim: self.dim,
            coordinates: rows,
            constants: self.constants.clone(),
            ..CandidateParts::default()
        })
        .unwrap()
    }

    /// Returns the score of a candidate in f64.
    pub fn score(&self, query: &[f32], candidate: usize) -> f64 {
        let row = self.class[candidate] as usize;
        let product: f64 =
            query.iter().zip(&self.rows[row]).map(|(&z, &c)| f64::from(z) * f64::from(c)).sum();
        product + f64::from(self.constants[row])
    }

    /// Returns the rank of a gold candidate among `pool`, by comparing the full row of scores.
    pub fn rank(&self, query: &[f32], gold: usize, pool: &[usize]) -> Rank {
        let reference = self.score(query, gold);
        let scores = || pool.iter().map(|&candidate| self.score(query, candidate));
        let above = scores().filter(|&score| score > reference).count();
        let tied = scores().filter(|&score| score == reference).count();
        Rank::new(above as u64, tied as u64, pool.len() as u64).unwrap()
    }

    /// Returns all candidates of `pool`, best first, ties by index.
    pub fn sorted(&self, query: &[f32], pool: &[usize]) -> Vec<(usize, f64)> {
        let mut scored: Vec<_> = pool.iter().map(|&c| (c, self.score(query, c))).collect();
        scored.sort_by(|a, b| b.1.total_cmp(&(a.1)).then(a.0.cmp(&b.0)));
        // total_cmp tells 0 from −0, which an integer score can be; ties are by value.
        scored.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap().then(a.0.cmp(&b.0)));
        scored
    }

    pub fn all(&self) -> Vec<usize> {
        (0..self.class.len()).collect()
    }
}

/// Draws `count` queries of small integers.
pub fn integer_queries(seed: u64, count: usize, dim: usize) -> Vec<f32> {
    let mut random = generator(seed, "test queries", 0);
    (0..count * dim).map(|_| below(&mut random, 5) as f32 - 2.0).collect()
}

/// Draws `count` queries of real numbers.
pub fn real_queries(seed: u64, count: usize, dim: usize) -> Vec<f32> {
    let mut random = generator(seed, "test queries", 0);
    (0..count * dim).map(|_| unit(&mut random) as f32 - 0.5).collect()
}

/// Returns a gold candidate a query.
pub fn golds(seed: u64, queries: usize, candidates: usize) -> Vec<usize> {
    let mut random = generator(seed, "test gold", 0);
    (0..queries).map(|_| below(&mut random, candidates as u64) as usize).collect()
}
