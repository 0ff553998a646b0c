//! Exact ranks against brute force, and what they must not depend on.

use dsokr_core::Error;
use dsokr_decode::{
    CandidateBlocks, CandidateParts, Candidates, Metrics, MissingGold, Pool, Queries, Rank,
    ScoreBlock, rank,
};
use proptest::prelude::*;

use crate::common::{Set, golds, integer_queries, message, real_queries};

fn classes(candidates: &Candidates, gold: &[usize]) -> Vec<Option<u32>> {
    gold.iter().map(|&candidate| Some(candidates.class_of(candidate))).collect()
}

fn check(set: &Set, queries: &[f32], gold: &[usize]) {
    let candidates = set.candidates();
    let actual =
        rank(&Queries::new(set.dim, queries).unwrap(), &classes(&candidates, gold), &candidates)
            .unwrap();
    let expected: Vec<_> = queries
        .chunks(set.dim)
        .zip(gold)
        .map(|(query, &gold)| Some(set.rank(query, gold, &set.all())))
        .collect();
    assert_eq!(actual, expected);
}

#[test]
fn ranks_with_many_ties_equal_brute_force() {
    // Around the sizes of tiles, of vectors and of single rows.
    for (queries, count, distinct, dim) in [
        (1, 1, 1, 1),
        (1, 2, 1, 3),
        (1, 17, 9, 2),
        (3, 300, 257, 5),
        (16, 65, 64, 4),
        (17, 1000, 513, 3),
        (193, 600, 300, 7),
        (400, 4500, 4300, 100),
        (5, 40, 33, 600),
    ] {
        let seed = (queries * count) as u64;
        let set = Set::integers(seed, count, distinct, dim);
        check(&set, &integer_queries(seed, queries, dim), &golds(seed, queries, count));
    }
}

#[test]
fn real_scores_are_ranked_as_in_f64_up_to_rounding() {
    let queries = 60;
    let count = 3000;
    let distinct = 2500;
    let dim = 300;
    let set = Set::reals(1, count, distinct, dim);
    let rows = real_queries(1, queries, dim);
    let gold = golds(1, queries, count);
    let candidates = set.candidates();
    let actual =
        rank(&Queries::new(dim, &rows).unwrap(), &classes(&candidates, &gold), &candidates)
            .unwrap();
    for ((query, &gold), actual) in rows.chunks(dim).zip(&gold).zip(actual) {
        let actual = actual.unwrap();
        let reference = set.score(query, gold);
        let gaps: Vec<f64> =
            set.all().iter().map(|&candidate| set.score(query, candidate) - reference).collect();
        let surely_above = gaps.iter().filter(|&&gap| gap > 1e-5).count() as u64;
        let maybe_above = gaps.iter().filter(|&&gap| gap > -1e-5).count() as u64;
        assert!(surely_above <= actual.above());
        assert!(actual.above() + actual.tied() <= maybe_above);
        let members = candidates.members(candidates.class_of(gold)).len() as u64;
        assert_eq!(actual.tied(), members, "only duplicates tie");
    }
}

#[test]
fn zero_predictions_score_at_chance() {
    let set = Set::reals(2, 500, 400, 8);
    let set = Set { constants: vec![0.0; 400], ..set };
    let candidates = set.candidates();
    let gold = classes(&candidates, &golds(2, 40, 500));
    let zeros = vec![0.0; 40 * 8];
    let ranks = rank(&Queries::new(8, &zeros).unwrap(), &gold, &candidates).unwrap();
    let metrics = Metrics::from_ranks(&ranks, candidates.len(), candidates.duplicates()).unwrap();
    let harmonic: f64 = (1..=500).map(|rank| 1.0 / f64::from(rank)).sum();
    assert!((metrics.mrr() - harmonic / 500.0).abs() < 1e-12);
    assert!((metrics.value("hits@1").unwrap() - 1.0 / 500.0).abs() < 1e-15);
    assert_eq!(metrics.tied_queries, 40);
    let chance = Metrics::chance(&ranks, &[], 500, 100).unwrap();
    assert_eq!(Metrics { tied_queries: 0, ..metrics }, chance);
}

#[test]
fn negative_zero_ties_with_zero() {
    let ids = vec!["a".to_string(), "b".to_string()];
    let labels = ids.clone();
    let candidates = Candidates::new(CandidateParts {
        ids,
        labels,
        dim: 1,
        coordinates: vec![0.0, -0.0],
        constants: vec![0.0, -0.0],
        ..CandidateParts::default()
    })
    .unwrap();
    let ranks = rank(&Queries::new(1, &[-1.0]).unwrap(), &[Some(0)], &candidates).unwrap();
    assert_eq!(ranks[0], Some(Rank::new(0, 2, 2).unwrap()));
}

#[test]
fn ranks_do_not_depend_on_threads() {
    let queries = 250;
    let count = 5000;
    let dim = 40;
    let set = Set::reals(3, count, 4500, dim);
    let rows = real_queries(3, queries, dim);
    let candidates = set.candidates();
    let gold = classes(&candidates, &golds(3, queries, count));
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let queries = Queries::new(dim, &rows).unwrap();
        pool.install(|| rank(&queries, &gold, &candidates).unwrap())
    };
    let reference = run(1);
    assert_eq!(reference, run(2));
    assert_eq!(reference, run(5));
}

#[test]
fn a_missing_gold_is_an_error_or_rank_infinity() {
    let candidates = Set::integers(4, 10, 10, 2).candidates();
    let names = vec!["first".to_string(), "second".to_string()];
    let gold = vec!["c3".to_string(), "absent".to_string()];
    assert_eq!(
        message(Pool::Shared.gold(&names, &gold, &candidates, MissingGold::Error)),
        "query \"second\": its gold candidate \"absent\" is not among its candidates"
    );
    let gold = Pool::Shared.gold(&names, &gold, &candidates, MissingGold::RankInfinity).unwrap();
    assert_eq!(gold, [Some(candidates.class_of(3)), None]);

    let queries = Queries::named(&names, 2, &[1.0, 0.0, 1.0, 0.0]).unwrap();
    let ranks = rank(&queries, &gold, &candidates).unwrap();
    assert!(ranks[0].is_some() && ranks[1].is_none());
    let metrics = Metrics::from_ranks(&ranks, candidates.len(), candidates.duplicates()).unwrap();
    assert_eq!(metrics.mrr(), ranks[0].unwrap().expected_reciprocal() / 2.0);
    assert_eq!((metrics.missing_gold, metrics.value("mean_rank")), (1, None));
}

#[test]
fn what_is_not_finite_never_wins() {
    let names = vec!["good".to_string(), "bad".to_string()];
    assert_eq!(
        message(Queries::named(&names, 2, &[0.0, 0.0, 0.0, f32::NAN])),
        "query \"bad\", coordinate 1: NaN is not a finite number"
    );

    // Finite numbers whose products overflow, for another candidate and for the gold one.
    let ids = vec!["a".to_string(), "b".to_string()];
    let coordinates = vec![1.0, 1.0, 1e30, -1e30];
    let candidates = Candidates::new(CandidateParts {
        ids: ids.clone(),
        labels: ids,
        dim: 2,
        coordinates,
        ..CandidateParts::default()
    })
    .unwrap();
    for gold in [0, 1] {
        let rows = [1.0, 1.0, 1e30, 1e30];
        let queries = Queries::named(&names, 2, &rows).unwrap();
        let error = message(rank(&queries, &[Some(0), Some(gold)], &candidates));
        assert!(error.starts_with("query \"bad\", candidate row 1, score: "), "{error}");
    }
}

#[test]
fn contradicting_requests_are_refused() {
    let candidates = Set::integers(5, 10, 8, 3).candidates();
    let refused = |dim, rows: &[f32], gold: &[Option<u32>]| {
        message(rank(&Queries::new(dim, rows).unwrap(), gold, &candidates))
    };
    assert_eq!(
        refused(2, &[0.0; 4], &[None; 2]),
        "queries of dimension 2, candidates of dimension 3"
    );
    assert_eq!(refused(3, &[0.0; 6], &[None; 1]), "1 gold entries, expected 2");
    assert_eq!(
        refused(3, &[0.0; 6], &[None, Some(8)]),
        "query #1: gold row 8, allowed: 0..8, the distinct rows"
    );
    assert_eq!(rank(&Queries::new(3, &[]).unwrap(), &[], &candidates).unwrap(), []);
    assert_eq!(message(Queries::new(0, &[])), "queries of dimension 0, at least 1 is needed");
    assert_eq!(
        message(Queries::new(3, &[0.0; 4])),
        "queries: 4 values are not a whole number of rows of 3"
    );
}

/// Rows (i mod 7, −1) that are never stored; `short` returns too few of them.
struct Generated {
    rows: usize,
    short: bool,
}

impl CandidateBlocks for Generated {
    fn dim(&self) -> usize {
        2
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn candidates(&self) -> u64 {
        2 * self.rows as u64
    }

    fn block(&self, rows: std::ops::Range<usize>) -> Result<ScoreBlock<'_>, Error> {
        let count = rows.len();
        let coordinates: Vec<f32> = rows.flat_map(|row| [(row % 7) as f32, -1.0]).collect();
        let keep = coordinates.len() - if self.short { 2 } else { 0 };
        Ok(ScoreBlock {
            coordinates: coordinates[..keep].to_vec().into(),
            constants: vec![0.5; count].into(),
            multiplicities: vec![2; count].into(),
        })
    }
}

#[test]
fn generated_candidates_are_ranked() {
    let candidates = Generated { rows: 70_000, short: false };
    let queries = Queries::new(2, &[1.0, 0.0, -1.0, 3.0]).unwrap();
    let ranks = rank(&queries, &[Some(69_999 / 7 * 7 + 4), Some(4)], &candidates).unwrap();
    let expected = |above| Rank::new(above, 20_000, 140_000).ok();
    assert_eq!(ranks, [expected(2 * 20_000), expected(4 * 20_000)]);
    let short = Generated { rows: 10, short: true };
    assert_eq!(
        message(rank(&queries, &[None, None], &short)),
        "block of candidate rows 0..10: 18 coordinates, expected 20"
    );
}

/// Returns the average of f over all orders of the tied candidates, each order listed.
fn over_all_orders(above: usize, tied: usize, f: impl Fn(usize) -> f64) -> f64 {
    fn orders(items: &mut Vec<usize>, from: usize, visit: &mut impl FnMut(&[usize])) {
        if from == items.len() {
            return visit(items);
        }
        for at in from..items.len() {
            items.swap(from, at);
            orders(items, from + 1, visit);
            items.swap(from, at);
        }
    }
    let mut sum = 0.0;
    let mut count = 0.0;
    orders(&mut (0..tied).collect(), 0, &mut |order| {
        let gold = order.iter().position(|&item| item == 0).unwrap();
        sum += f(above + gold + 1);
        count += 1.0;
    });
    sum / count
}

#[test]
fn ties_are_averaged_over_all_orders() {
    for above in [0, 1, 4, 9, 12] {
        for tied in 1..=6 {
            let rank = Rank::new(above as u64, tied as u64, 100).unwrap();
            let close = |actual: f64, expected: f64| (actual - expected).abs() < 1e-12;
            assert!(close(rank.expected_rank(), over_all_orders(above, tied, |r| r as f64)));
            let reciprocal = over_all_orders(above, tied, |r| 1.0 / r as f64);
            assert!(close(rank.expected_reciprocal(), reciprocal));
            for k in [1, 5, 10] {
                let hit = over_all_orders(above, tied, |r| if r <= k { 1.0 } else { 0.0 });
                assert!(close(rank.expected_hit(k as u64), hit));
            }
        }
    }
}

#[test]
fn the_reciprocal_of_many_ties_equals_the_plain_sum() {
    for above in [0, 1, 30, 254, 255, 256, 257, 1000, 5_000_000] {
        for tied in [1, 2, 33, 255, 256, 257, 513, 28_066, 1_000_003] {
            let rank = Rank::new(above, tied, 1 << 40).unwrap();
            // Smallest terms first, so that the plain sum is accurate.
            let sum: f64 = (1..=tied).rev().map(|i| 1.0 / (above + i) as f64).sum();
            let expected = sum / tied as f64;
            let actual = rank.expected_reciprocal();
            assert!((actual / expected - 1.0).abs() < 1e-13, "{above} {tied}: {actual} {expected}");
        }
    }
}

#[test]
fn impossible_ranks_are_refused() {
    for (above, tied, pool) in [(0, 0, 3), (2, 2, 3), (u64::MAX, 2, u64::MAX)] {
        let refused = message(Rank::new(above, tied, pool));
        assert!(
            refused.starts_with(&format!("rank with {above} above and {tied} tied of {pool}: "))
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn integer_ranks_equal_brute_force(
        seed in any::<u64>(),
        queries in 1usize..40,
        distinct in 1usize..90,
        extra in 0usize..30,
        dim in 1usize..20,
    ) {
        let count = distinct + extra;
        let set = Set::integers(seed, count, distinct, dim);
        check(&set, &integer_queries(seed, queries, dim), &golds(seed, queries, count));
    }

    #[test]
    fn ranks_do_not_depend_on_the_order_of_candidates(
        seed in any::<u64>(),
        rotation in 1usize..50,
        dim in 1usize..300,
    ) {
        let queries = 20;
        let count = 50;
        let set = Set::reals(seed, count, count, dim);
        let rotate = |index: usize| (index + rotation) % count;
        let rotated = Set {
            rows: (0..count).map(|row| set.rows[rotate(row)].clone()).collect(),
            constants: (0..count).map(|row| set.constants[rotate(row)]).collect(),
            ..set.clone()
        };
        let rows = real_queries(seed, queries, dim);
        let gold = golds(seed, queries, count);
        let moved: Vec<usize> = gold.iter().map(|&g| (g + count - rotation) % count).collect();
        let a = set.candidates();
        let b = rotated.candidates();
        let queries = Queries::new(dim, &rows).unwrap();
        prop_assert_eq!(
            rank(&queries, &classes(&a, &gold), &a).unwrap(),
            rank(&queries, &classes(&b, &moved), &b).unwrap()
        );
    }

    #[test]
    fn duplicating_every_candidate_doubles_the_counts(seed in any::<u64>(), dim in 1usize..40) {
        let queries = 20;
        let count = 60;
        let set = Set::reals(seed, count, 40, dim);
        let doubled = Set { class: [set.class.clone(), set.class.clone()].concat(), ..set.clone() };
        let rows = real_queries(seed, queries, dim);
        let gold = golds(seed, queries, count);
        let a = set.candidates();
        let b = doubled.candidates();
        let queries = Queries::new(dim, &rows).unwrap();
        let single = rank(&queries, &classes(&a, &gold), &a).unwrap();
        let double = rank(&queries, &classes(&b, &gold), &b).unwrap();
        for (single, double) in single.into_iter().zip(double) {
            let single = single.unwrap();
            let double = double.unwrap();
            prop_assert_eq!(2 * single.above(), double.above());
            prop_assert_eq!(2 * single.tied(), double.tied());
            prop_assert_eq!(2 * single.pool(), double.pool());
        }
    }
}
