//! Weights fitted on validation queries.

use dsokr_decode::{Combination, Metrics, PerQuery, Pool, fit_weights};
use proptest::prelude::*;

use super::models::{Models, rules};
use super::{classes, lists};
use crate::common::golds;

const MEMORY: usize = 1 << 20;

#[test]
fn two_members_reach_the_best_of_the_grid() {
    for seed in 0..6 {
        let models = Models::reals(seed, 2, 120, 80);
        let ensemble = models.ensemble();
        let gold = classes(&ensemble, &golds(seed, 120, 80));
        for rule in rules(seed, 2) {
            let Ok(rule) = rule.with_weights(None) else {
                continue;
            };
            let fitted = fit_weights(&ensemble, Pool::Shared, &rule, &gold, MEMORY).unwrap();
            for twentieth in 0..=20 {
                let first = f64::from(twentieth) / 20.0;
                let tried = rule.with_weights(Some(vec![first, 1.0 - first])).unwrap();
                let ranks = ensemble.rank(Pool::Shared, &tried, &gold).unwrap();
                let mrr = Metrics::from_ranks(&ranks, 80, 0).unwrap().mrr();
                assert!(mrr <= fitted.mrr + 1e-12, "{rule:?}: {first} gives {mrr}");
            }
        }
    }
}

#[test]
fn identical_members_keep_equal_weights() {
    let models = Models::reals(1, 1, 40, 50);
    let member = models.members()[0];
    let ensemble = dsokr_decode::Ensemble::new(vec![member; 3]).unwrap();
    let gold = classes(&ensemble, &golds(1, 40, 50));
    let fitted =
        fit_weights(&ensemble, Pool::Shared, &Combination::default(), &gold, MEMORY).unwrap();
    assert_eq!(fitted.weights, vec![1.0 / 3.0; 3]);
}

#[test]
fn a_member_without_information_is_dropped() {
    // The first model knows, the second and the third do not.
    let mut models = Models::reals(2, 3, 60, 60);
    let model = &mut models.models[0];
    let rows: Vec<Vec<f32>> = (0..60)
        .map(|c| model.set.rows[model.set.class[c] as usize].iter().map(|v| 9.0 * v).collect())
        .collect();
    model.rows = rows.concat();
    let ensemble = models.ensemble();
    let gold = classes(&ensemble, &(0..60).collect::<Vec<_>>());
    let rule = Combination::Mean { weights: None, standardise: true };
    let fitted = fit_weights(&ensemble, Pool::Shared, &rule, &gold, MEMORY).unwrap();
    assert!(fitted.weights[0] > 0.6, "{fitted:?}");
    let ranks = ensemble.rank(Pool::Shared, &rule, &gold).unwrap();
    assert!(fitted.mrr > Metrics::from_ranks(&ranks, 60, 0).unwrap().mrr());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn what_is_reached_is_exact_and_no_loss(
        seed in any::<u64>(),
        members in 1usize..5,
        integers in any::<bool>(),
        // of none at least 16 rivals of the 70 are kept
        memory in prop::sample::select(vec![0, 40_000, MEMORY]),
    ) {
        let make = if integers { Models::integers } else { Models::reals };
        let models = make(seed, members, 25, 70);
        let ensemble = models.ensemble();
        let (lists, listed) = lists(seed, &models);
        let lists = PerQuery::new(&lists, ensemble.members()[0].candidates).unwrap();
        let mut gold = classes(&ensemble, &golds(seed, 25, 70));
        gold[7] = None;
        for (pool, gold) in
            [(Pool::Shared, gold), (Pool::PerQuery(&lists), classes(&ensemble, &listed))]
        {
            for rule in rules(seed, members) {
                let Ok(fitted) = fit_weights(&ensemble, pool, &rule, &gold, memory) else {
                    prop_assert_eq!(rule.name(), "max");
                    continue;
                };
                let mrr = |rule: &Combination| {
                    let ranks = ensemble.rank(pool, rule, &gold).unwrap();
                    Metrics::from_ranks(&ranks, 70, 0).unwrap().mrr()
                };
                prop_assert!((fitted.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                let with = rule.with_weights(Some(fitted.weights.clone())).unwrap();
                prop_assert_eq!(fitted.mrr.to_bits(), mrr(&with).to_bits());
                prop_assert!(fitted.mrr >= mrr(&rule));
            }
        }
    }
}

#[test]
fn weights_do_not_depend_on_threads() {
    let models = Models::reals(3, 4, 100, 500);
    let gold = classes(&models.ensemble(), &golds(3, 100, 500));
    for rule in [Combination::default(), Combination::Rank { weights: None }] {
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let ensemble = models.ensemble();
                fit_weights(&ensemble, Pool::Shared, &rule, &gold, MEMORY).unwrap()
            })
        };
        let reference = run(1);
        assert_eq!(reference, run(2));
    }
}
