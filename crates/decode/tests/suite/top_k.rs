//! The best candidates against sorting all of them.

use crate::common::{Set, integer_queries, message, real_queries};
use dsokr_decode::{CandidateParts, Candidates, Queries, top_k, top_rows};
use proptest::prelude::*;

fn check(set: &Set, rows: &[f32], k: usize) {
    let candidates = set.candidates();
    let actual = top_k(&Queries::new(set.dim, rows).unwrap(), &candidates, k).unwrap();
    for (query, actual) in rows.chunks(set.dim).zip(actual) {
        let actual: Vec<_> =
            actual.iter().map(|hit| (hit.candidate, f64::from(hit.score))).collect();
        assert_eq!(actual, set.sorted(query, &set.all())[..k]);
    }
}

#[test]
fn the_best_of_many_ties_equal_a_full_sort() {
    for (queries, count, distinct, dim, k) in [
        (1, 1, 1, 1, 1),
        (2, 20, 1, 2, 20),
        (17, 300, 200, 2, 10),
        (20, 1000, 600, 3, 1),
        (193, 700, 513, 4, 50),
        (30, 4500, 4200, 5, 4500),
    ] {
        let seed = (count * k) as u64;
        let set = Set::integers(seed, count, distinct, dim);
        check(&set, &integer_queries(seed, queries, dim), k);
    }
}

#[test]
fn the_best_do_not_depend_on_threads_and_agree_with_f64() {
    let count = 6000;
    let dim = 64;
    let k = 25;
    let set = Set::reals(1, count, 5000, dim);
    let rows = real_queries(1, 40, dim);
    let candidates = set.candidates();
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let queries = Queries::new(dim, &rows).unwrap();
        pool.install(|| top_k(&queries, &candidates, k).unwrap())
    };
    let actual = run(1);
    assert_eq!(actual, run(4));
    for (query, actual) in rows.chunks(dim).zip(actual) {
        let sorted = set.sorted(query, &set.all());
        for (hit, expected) in actual.iter().zip(&sorted) {
            assert!((f64::from(hit.score) - expected.1).abs() < 1e-5);
            assert!((set.score(query, hit.candidate) - f64::from(hit.score)).abs() < 1e-5);
        }
        assert!(actual.windows(2).all(|pair| pair[0].score >= pair[1].score));
    }
}

#[test]
fn sizes_that_cannot_be_honoured_are_refused() {
    let candidates = Set::integers(2, 10, 8, 2).candidates();
    let queries = Queries::new(2, &[1.0, 0.0]).unwrap();
    assert_eq!(
        message(top_k(&queries, &candidates, 0)),
        "the top 0 candidates were asked for, allowed: 1..=10"
    );
    assert_eq!(
        message(top_k(&queries, &candidates, 11)),
        "the top 11 candidates were asked for, allowed: 1..=10"
    );
    assert_eq!(top_k(&queries, &candidates, 10).unwrap()[0].len(), 10);
    assert_eq!(
        message(top_rows(&queries, &candidates, 9)),
        "the top 9 candidates were asked for, allowed: 1..=8"
    );
    let queries = Queries::new(3, &[1.0, 0.0, 0.0]).unwrap();
    assert_eq!(
        message(top_k(&queries, &candidates, 1)),
        "queries of dimension 3, candidates of dimension 2"
    );
}

#[test]
fn an_overflowing_score_is_an_error() {
    let ids = vec!["a".to_string(), "b".to_string()];
    let candidates = Candidates::new(CandidateParts {
        ids: ids.clone(),
        labels: ids,
        dim: 1,
        coordinates: vec![1.0, -1e30],
        ..CandidateParts::default()
    })
    .unwrap();
    let hits = top_k(&Queries::new(1, &[1e30]).unwrap(), &candidates, 1);
    assert_eq!(message(hits), "query #0, candidate row 1, score: -inf is not a finite number");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn integer_lists_equal_a_full_sort(
        seed in any::<u64>(),
        queries in 1usize..30,
        distinct in 1usize..80,
        extra in 0usize..40,
        dim in 1usize..6,
        part in 0.0f64..1.0,
    ) {
        let count = distinct + extra;
        let k = 1 + (part * (count - 1) as f64) as usize;
        check(&Set::integers(seed, count, distinct, dim), &integer_queries(seed, queries, dim), k);
    }
}
