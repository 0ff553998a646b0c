//! Properties of every ensemble.

use super::*;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn random_ensembles_equal_brute_force(
        seed in any::<u64>(),
        members in 1usize..5,
        queries in 1usize..40,
        count in 1usize..60,
    ) {
        let models = Models::integers(seed, members, queries, count);
        let all = vec![(0..count).collect(); queries];
        check(&models, Pool::Shared, &golds(seed, queries, count), &all, seed);
    }

    #[test]
    fn the_order_of_members_does_not_matter(
        seed in any::<u64>(),
        members in 2usize..6,
        turn in 1usize..5,
    ) {
        // Integers, so that ranks tie in many ways.
        let models = Models::integers(seed, members, 20, 60);
        let gold = golds(seed, 20, 60);
        let mut turned = models.members();
        turned.rotate_left(turn % members);
        let a = models.ensemble();
        let b = Ensemble::new(turned).unwrap();
        let place = |c: usize| b.members()[0].candidates.find(&format!("c{c}")).unwrap();
        let moved: Vec<usize> = gold.iter().map(|&c| place(c)).collect();
        for rule in rules(seed, members) {
            let summed = matches!(rule, Combination::Mean { .. });
            if summed && (rule.weights().is_some() || rule != Combination::default()) {
                continue; // rounding depends on the order of the members
            }
            let mut drawn = weights(seed, members);
            drawn.rotate_left(turn % members);
            let other = match rule.weights() {
                Some(_) => rule.with_weights(Some(drawn)).unwrap(),
                None => rule.clone(),
            };
            prop_assert_eq!(
                a.rank(Pool::Shared, &rule, &classes(&a, &gold)).unwrap(),
                b.rank(Pool::Shared, &other, &classes(&b, &moved)).unwrap()
            );
        }
    }

    #[test]
    fn equal_weights_are_no_weights(seed in any::<u64>(), members in 1usize..6) {
        let models = Models::integers(seed, members, 20, 60);
        let ensemble = models.ensemble();
        let gold = classes(&ensemble, &golds(seed, 20, 60));
        for rule in rules(seed, members) {
            if let Ok(equal) = rule.with_weights(Some(vec![1.0 / members as f64; members])) {
                let none = rule.with_weights(None).unwrap();
                prop_assert_eq!(
                    ensemble.decode(Pool::Shared, &none, &gold, 3).unwrap(),
                    ensemble.decode(Pool::Shared, &equal, &gold, 3).unwrap()
                );
            }
        }
    }

    #[test]
    fn a_member_of_weight_zero_decides_nothing(seed in any::<u64>()) {
        let models = Models::reals(seed, 3, 20, 60);
        let all = models.ensemble();
        let gold = golds(seed, 20, 60);
        let some = Ensemble::new(models.members()[..2].to_vec()).unwrap();
        for rule in rules(seed, 2).into_iter().filter(|rule| rule.weights().is_some()) {
            let [first, second] = rule.weights().unwrap() else { unreachable!() };
            let with_zero = rule.with_weights(Some(vec![*first, *second, 0.0])).unwrap();
            prop_assert_eq!(
                some.rank(Pool::Shared, &rule, &classes(&some, &gold)).unwrap(),
                all.rank(Pool::Shared, &with_zero, &classes(&all, &gold)).unwrap()
            );
        }
    }
}

/// Standardised scores of a query whose list is empty are on the scale of those of other queries: among all candidates.
#[test]
fn a_query_without_candidates_is_standardised_among_all() {
    let models = Models::reals(7, 2, 3, 40);
    let ensemble = models.ensemble();
    let rule = Combination::Mean { weights: None, standardise: true };
    let all: Vec<usize> = (0..40).collect();
    let mut lists: Vec<Vec<u32>> = vec![(0..40).collect(); 3];
    lists[1].clear();
    let lists = PerQuery::new(&lists, &models.models[0].candidates).unwrap();
    let (listed, _) = ensemble.out_of_pool_scores(Pool::PerQuery(&lists), &rule, 0).unwrap();
    for query in 0..3 {
        let expected = models.combined(&rule, query, &all)[5];
        let scores = [0, 1].map(|member| models.scores(member, query, &all)[5]);
        let actual = listed.combined(query, scores.into_iter());
        assert!((actual - expected).abs() < 1e-5, "query {query}: {actual}, {expected}");
    }
}
