//! Metrics by hand, chance by simulation, and the coverage of the bootstrap.

use dsokr_core::random::{below, generator};
use dsokr_decode::{Metrics, MissingGold, Rank, bootstrap};

use crate::common::message;

fn ranks(list: &[(u64, u64)]) -> Vec<Option<Rank>> {
    list.iter().map(|&(above, tied)| Some(Rank::new(above, tied, 20).unwrap())).collect()
}

#[test]
fn metrics_equal_hand_computed_values() {
    // Ranks 1; 2 or 3; 5; 10, 11 or 12.
    let metrics = Metrics::from_ranks(&ranks(&[(0, 1), (1, 2), (4, 1), (9, 3)]), 20, 2).unwrap();
    let reciprocals = [
        1.0,
        (1.0 / 2.0 + 1.0 / 3.0) / 2.0,
        1.0 / 5.0,
        (1.0 / 10.0 + 1.0 / 11.0 + 1.0 / 12.0) / 3.0,
    ];
    assert!((metrics.mrr() - reciprocals.iter().sum::<f64>() / 4.0).abs() < 1e-15);
    assert_eq!(metrics.value("hits@1").unwrap(), 0.25);
    assert_eq!(metrics.value("hits@5").unwrap(), 0.75);
    assert!((metrics.value("hits@10").unwrap() - (3.0 + 1.0 / 3.0) / 4.0).abs() < 1e-15);
    assert_eq!(metrics.value("mean_rank"), Some((1.0 + 2.5 + 5.0 + 11.0) / 4.0));
    assert_eq!(metrics.value("median_rank"), Some((2.5 + 5.0) / 2.0));
    assert_eq!((metrics.tied_queries, metrics.duplicate_candidates), (2, 2));
}

#[test]
fn a_missing_gold_counts_as_rank_infinity() {
    let mut list = ranks(&[(0, 1), (2, 1)]);
    list.push(None);
    let metrics = Metrics::from_ranks(&list, 20, 0).unwrap();
    assert!((metrics.mrr() - (1.0 + 1.0 / 3.0) / 3.0).abs() < 1e-15);
    assert_eq!(metrics.value("median_rank"), Some(3.0));
    assert_eq!((metrics.value("mean_rank"), metrics.missing_gold), (None, 1));
    list.push(None);
    assert_eq!(Metrics::from_ranks(&list, 20, 0).unwrap().value("median_rank"), None);
    assert_eq!(bootstrap(&[None, None], Rank::expected_reciprocal, 40, 0).unwrap().1, [0.0, 0.0]);
}

#[test]
fn json_has_the_documented_keys() {
    let metrics = Metrics::from_ranks(&ranks(&[(1, 1)]), 20, 2).unwrap();
    let value = serde_json::to_value(&metrics).unwrap();
    let expected = serde_json::json!({
        "queries": 1, "candidates": 20, "mrr": 0.5, "hits@1": 0.0, "hits@5": 1.0, "hits@10": 1.0, "hits@20": 1.0,
        "mean_rank": 2.0, "median_rank": 2.0, "tied_queries": 0,
        "duplicate_candidates": 2, "missing_gold": 0,
    });
    assert_eq!(value, expected);
    assert_eq!(serde_json::from_value::<Metrics>(value).unwrap(), metrics);

    let interval = bootstrap(&ranks(&[(1, 1)]), Rank::expected_reciprocal, 100, 0).unwrap().1;
    let metrics = Metrics { mrr_ci95: Some(interval), ..metrics };
    let value = serde_json::to_value(metrics).unwrap();
    assert_eq!(value["mrr_ci95"], serde_json::json!([0.5, 0.5]));
    let missing = Metrics::from_ranks(&[None], 20, 2).unwrap();
    let value = serde_json::to_value(&missing).unwrap();
    assert!(value["mean_rank"].is_null() && value["median_rank"].is_null());
}

#[test]
fn the_option_is_spelled_in_kebab_case() {
    let read = |text: &str| serde_json::from_str::<MissingGold>(text);
    assert_eq!(read("\"rank-infinity\"").unwrap(), MissingGold::RankInfinity);
    assert_eq!(read("\"error\"").unwrap(), MissingGold::default());
    assert!(read("\"RankInfinity\"").is_err());
    let schema = serde_json::to_string(&schemars::schema_for!(MissingGold)).unwrap();
    assert!(schema.contains("rank-infinity"), "{schema}");
}

#[test]
fn chance_equals_simulated_random_orders() {
    let pool = 37;
    let list = vec![Some(Rank::new(3, 2, pool).unwrap()); 5];
    let chance = Metrics::chance(&list, &[], pool as usize, 0).unwrap();
    let harmonic: f64 = (1..=pool).map(|rank| 1.0 / rank as f64).sum();
    assert!((chance.mrr() - harmonic / pool as f64).abs() < 1e-15);

    let draws = 200_000;
    let mut random = generator(0, "random order", 0);
    let simulated: Vec<_> =
        (0..draws).map(|_| Rank::new(below(&mut random, pool), 1, pool).ok()).collect();
    let simulated = Metrics::from_ranks(&simulated, pool as usize, 0).unwrap();
    // Five standard errors; a reciprocal rank varies by less than 0.19, a hit by less than 0.45.
    let error = |deviation: f64| 5.0 * deviation / (draws as f64).sqrt();
    assert!((chance.mrr() - simulated.mrr()).abs() < error(0.19));
    for (exact, actual) in [
        (chance.value("hits@1").unwrap(), simulated.value("hits@1").unwrap()),
        (chance.value("hits@5").unwrap(), simulated.value("hits@5").unwrap()),
        (chance.value("hits@10").unwrap(), simulated.value("hits@10").unwrap()),
    ] {
        assert!((exact - actual).abs() < error(0.45));
    }
    assert!(
        (chance.value("mean_rank").unwrap() - simulated.value("mean_rank").unwrap()).abs()
            < error(11.0)
    );
    assert_eq!(chance.value("median_rank"), Some(19.0));
    assert_eq!(chance.tied_queries, 0);
}

#[test]
fn chance_of_several_right_candidates_equals_simulated_random_orders() {
    let right = 3;
    let others = 8;
    let rank = Rank::new(0, 1, others + 1).unwrap();
    let chance = Metrics::chance(&[Some(rank), None], &[right, 0], 11, 0).unwrap();
    let draws = 200_000;
    let mut random = generator(0, "random order of several", 0);
    let first_right = |_| {
        let mut above = 0;
        while below(&mut random, right + others - above) >= right {
            above += 1;
        }
        Rank::new(above, 1, others + 1).ok()
    };
    let simulated: Vec<_> = (0..draws).map(first_right).collect();
    let simulated = Metrics::from_ranks(&simulated, 11, 0).unwrap();
    for metric in ["mrr", "hits@1", "hits@5"] {
        // the other query, whose right candidate is missing, has 0
        let exact = 2.0 * chance.value(metric).unwrap();
        let error = 5.0 * 0.5 / f64::from(draws).sqrt();
        assert!((exact - simulated.value(metric).unwrap()).abs() < error, "{metric}: {exact}");
    }
    assert!((2.0 * chance.value("hits@1").unwrap() - 3.0 / 11.0).abs() < 1e-15);

    let chance = Metrics::chance(&[Some(rank)], &[right], 11, 0).unwrap();
    assert!((chance.value("mean_rank").unwrap() - (1.0 + 8.0 / 4.0)).abs() < 1e-12);
    assert!(message(Metrics::chance(&[Some(rank)], &[1, 2], 11, 0)).contains("right candidates"));
}

#[test]
fn intervals_cover_the_truth_about_as_often_as_they_say() {
    // Ranks uniform on 1..=10: the mean reciprocal rank is H_10 / 10.
    let truth = (1..=10).map(|rank| 1.0 / f64::from(rank)).sum::<f64>() / 10.0;
    let trials = 300;
    let mut covered = 0;
    for trial in 0..trials {
        let mut random = generator(trial, "trial", 0);
        let sample: Vec<_> =
            (0..150).map(|_| Rank::new(below(&mut random, 10), 1, 10).ok()).collect();
        let [low, high] = bootstrap(&sample, Rank::expected_reciprocal, 400, trial).unwrap().1;
        covered += u32::from(low <= truth && truth <= high);
    }
    // 285 expected, standard deviation 3.8; the percentile interval covers slightly too little.
    assert!((268..=297).contains(&covered), "{covered} of {trials}");
}

#[test]
fn the_interval_is_as_wide_as_the_normal_one() {
    let list: Vec<_> = (0..4000).map(|q| Rank::new(q % 2, 1, 10).ok()).collect();
    let hits = |k| bootstrap(&list, |rank| rank.expected_hit(k), 2000, 1).unwrap().1;
    let width = |[low, high]: [f64; 2]| high - low;
    let normal = |deviation: f64| 2.0 * 1.96 * deviation / 4000f64.sqrt();
    assert!(
        (width(bootstrap(&list, Rank::expected_reciprocal, 2000, 1).unwrap().1) / normal(0.25)
            - 1.0)
            .abs()
            < 0.1
    );
    assert!((width(hits(1)) / normal(0.5) - 1.0).abs() < 0.1);
    assert_eq!(hits(5), [1.0, 1.0]);
}

#[test]
fn the_bootstrap_depends_on_the_seed_alone() {
    let list: Vec<_> = (0..200).map(|q| Rank::new(q % 9, 1, 10).ok()).collect();
    let run = |threads, seed| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| bootstrap(&list, Rank::expected_reciprocal, 200, seed).unwrap().1)
    };
    assert_eq!(run(1, 5), run(3, 5));
    assert_ne!(run(1, 5), run(1, 6));
}

#[test]
fn nothing_to_average_is_refused() {
    assert_eq!(message(Metrics::from_ranks(&[], 20, 0)), "no queries, at least 1 is needed");
    assert_eq!(message(Metrics::chance(&[], &[], 20, 0)), "no queries, at least 1 is needed");
    assert_eq!(
        message(bootstrap(&[], Rank::expected_reciprocal, 100, 0)),
        "no queries, at least 1 is needed"
    );
    assert_eq!(
        message(bootstrap(&[None], Rank::expected_reciprocal, 39, 0)),
        "39 bootstrap resamples, at least 40 are needed"
    );
}
