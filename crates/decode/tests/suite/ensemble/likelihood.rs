//! Weights by maximum likelihood.

use dsokr_core::RowWeights;
use dsokr_core::random::{generator, unit};
use dsokr_decode::{
    CandidateParts, Candidates, Combination, Ensemble, Member, Pool, Queries, likely_weights,
};

const CANDIDATES: usize = 60;
const QUERIES: usize = 50;
const P: usize = 5;

/// Makes three models, query q near candidate q, each with its own noise.
fn models() -> Vec<(Vec<f32>, Candidates)> {
    let model = |(at, noise)| {
        let mut random = generator(4, "models", at);
        let mut real = || unit(&mut random) as f32 - 0.5;
        let coordinates: Vec<f32> = (0..CANDIDATES * P).map(|_| real()).collect();
        let rows = (0..QUERIES * P).map(|at| coordinates[at] + noise * real()).collect();
        let ids = (0..CANDIDATES).map(|c| c.to_string()).collect();
        let parts = CandidateParts { ids, dim: P, coordinates, ..CandidateParts::default() };
        (rows, Candidates::new(parts).unwrap())
    };
    [(0, 1.0), (1, 2.0), (2, 8.0)].into_iter().map(model).collect()
}

fn ensemble(models: &[(Vec<f32>, Candidates)]) -> Ensemble<'_> {
    let members = models.iter().map(|(rows, candidates)| Member {
        name: "model",
        queries: Queries::new(P, rows).unwrap(),
        candidates,
        normalised: true,
    });
    Ensemble::new(members.collect()).unwrap()
}

/// Returns the mean log-likelihood from its definition.
fn likelihood(models: &[(Vec<f32>, Candidates)], factors: &[f64]) -> f64 {
    let exponent = |query: usize, candidate: usize| -> f64 {
        let score = |(rows, candidates): &(Vec<f32>, Candidates)| -> f64 {
            let z = &rows[query * P..][..P];
            let point = &candidates.coordinates().unwrap()[candidate * P..][..P];
            z.iter().zip(point).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
        };
        models.iter().zip(factors).map(|(model, factor)| factor * score(model)).sum()
    };
    let one = |query: usize| {
        let all: f64 = (0..CANDIDATES).map(|candidate| exponent(query, candidate).exp()).sum();
        exponent(query, query) - all.ln()
    };
    (0..QUERIES).map(one).sum::<f64>() / QUERIES as f64
}

#[test]
fn no_other_weights_are_likelier() {
    let models = models();
    let gold: Vec<_> = (0..QUERIES as u32).map(Some).collect();
    let rule = Combination::default();
    let actual =
        likely_weights(&ensemble(&models), Pool::Shared, &rule, &gold, &RowWeights::equal())
            .unwrap();
    assert!((actual.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    assert!(actual.weights.is_sorted_by(|a, b| a > b), "{actual:?}");
    let factors: Vec<f64> = actual.weights.iter().map(|w| w * actual.sharpness).collect();
    let best = likelihood(&models, &factors);
    assert!((best - actual.log_likelihood).abs() < 1e-5, "{best}, {actual:?}");
    for member in 0..3 {
        for change in [-0.05, 0.05, 0.5] {
            let mut other = factors.clone();
            other[member] = (other[member] + change).max(0.0);
            assert!(likelihood(&models, &other) <= best + 1e-9, "{member}, {change}");
        }
    }
}

#[test]
fn queries_without_a_gold_candidate_do_not_count() {
    let models = models();
    let all: Vec<_> = (0..QUERIES as u32).map(Some).collect();
    let mut gold = all.clone();
    gold[7] = None;
    let rule = Combination::Mean { weights: None, standardise: true };
    let fitted = |gold: &[Option<u32>]| {
        likely_weights(&ensemble(&models), Pool::Shared, &rule, gold, &RowWeights::equal())
    };
    assert_ne!(fitted(&gold).unwrap(), fitted(&all).unwrap());
    let none = fitted(&vec![None; QUERIES]).unwrap_err().to_string();
    assert!(none.contains("no queries"), "{none}");
    let max = Combination::Max { standardise: true };
    let error = likely_weights(&ensemble(&models), Pool::Shared, &max, &all, &RowWeights::equal())
        .unwrap_err();
    assert!(error.to_string().contains("\"max\""), "{error}");
}

/// A query of weight 3 is a query three times.
#[test]
fn weighted_queries_are_repeated_queries() {
    let models = models();
    let gold: Vec<_> = (0..QUERIES as u32).map(Some).collect();
    let rule = Combination::default();
    let each: Vec<f64> = (0..QUERIES).map(|query| 1.0 + (query % 3) as f64).collect();
    let fitted = |weights: &RowWeights| {
        likely_weights(&ensemble(&models), Pool::Shared, &rule, &gold, weights).unwrap()
    };
    let weighted = fitted(&RowWeights::new(&each).unwrap());
    let repeated: Vec<usize> = (0..QUERIES).flat_map(|query| vec![query; 1 + query % 3]).collect();
    let of_repeated = |(rows, candidates): &(Vec<f32>, Candidates)| {
        let row = |&query: &usize| rows[query * P..][..P].to_vec();
        (repeated.iter().flat_map(row).collect::<Vec<f32>>(), candidates.clone())
    };
    let of_repeated: Vec<(Vec<f32>, Candidates)> = models.iter().map(of_repeated).collect();
    let gold_of_repeated: Vec<_> = repeated.iter().map(|&query| gold[query]).collect();
    let members = ensemble(&of_repeated);
    let equal = RowWeights::equal();
    let expected =
        likely_weights(&members, Pool::Shared, &rule, &gold_of_repeated, &equal).unwrap();
    assert!((weighted.log_likelihood - expected.log_likelihood).abs() < 1e-9);
    for (found, expected) in weighted.weights.iter().zip(&expected.weights) {
        assert!((found - expected).abs() < 1e-5, "{weighted:?}");
    }
    let alike = fitted(&RowWeights::equal());
    assert!((weighted.weights[0] - alike.weights[0]).abs() > 1e-4, "{weighted:?}, {alike:?}");
    let few = RowWeights::new(&[1.0; 3]).unwrap();
    let refused = likely_weights(&ensemble(&models), Pool::Shared, &rule, &gold, &few);
    assert!(refused.is_err());
}
