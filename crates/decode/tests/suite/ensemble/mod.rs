//! Ensembles against brute force, and what they must not depend on.

mod fitted;
mod likelihood;
mod models;
mod properties;
mod refused;
mod reranker;

use dsokr_core::random::{below, generator};
use dsokr_decode::{
    Alignment, CandidateParts, Candidates, Combination, Ensemble, Member, Metrics, MissingGold,
    PerQuery, Pool, Queries,
};

use crate::common::{Set, golds, integer_queries, metrics_in, rank_in, real_queries, top_k_in};
use models::{Models, reordered, rules, weights};

fn classes(ensemble: &Ensemble, gold: &[usize]) -> Vec<Option<u32>> {
    gold.iter().map(|&candidate| Some(ensemble.class_of(candidate))).collect()
}

/// Returns random lists and a gold candidate in each.
fn lists(seed: u64, models: &Models) -> (Vec<Vec<u32>>, Vec<usize>) {
    let mut random = generator(seed, "lists", 0);
    let list = |_| {
        let mut list: Vec<u32> = (0..models.count as u32).collect();
        (1..list.len()).for_each(|c| list.swap(c, below(&mut random, c as u64 + 1) as usize));
        list.truncate(1 + below(&mut random, models.count as u64) as usize);
        list
    };
    let lists: Vec<Vec<u32>> = (0..models.queries).map(list).collect();
    let gold = lists.iter().map(|list| list[list.len() / 2] as usize).collect();
    (lists, gold)
}

fn check(models: &Models, pool: Pool, gold: &[usize], pools: &[Vec<usize>], seed: u64) {
    let ensemble = models.ensemble();
    let gold_rows = classes(&ensemble, gold);
    let k = pools.iter().map(Vec::len).min().unwrap().min(7);
    for rule in rules(seed, models.models.len()) {
        let actual = ensemble.decode(pool, &rule, &gold_rows, k).unwrap();
        let clear = |query: &usize| !models.ambiguous(&rule, *query, &pools[*query]);
        let compared: Vec<usize> = (0..models.queries).filter(clear).collect();
        assert!(
            models.count < 60 || 2 * compared.len() > models.queries,
            "too few can be compared"
        );
        for query in compared {
            let actual = &actual[query];
            let expected = models.rank(&rule, query, gold[query], &pools[query]);
            assert_eq!(actual.rank, Some(expected), "{rule:?}, query {query}");
            let scores = models.combined(&rule, query, &pools[query]);
            let at = pools[query].iter().position(|&c| c == gold[query]).unwrap();
            let close = |a: f32, b: f64| (f64::from(a) - b).abs() <= 1e-6 * (1.0 + b.abs());
            assert!(close(actual.gold_score.unwrap(), scores[at]));
            let sorted = models.sorted(&rule, query, &pools[query]);
            assert_eq!(actual.hits.len(), k);
            for (hit, &(candidate, score)) in actual.hits.iter().zip(&sorted) {
                assert_eq!(hit.candidate, candidate, "{rule:?}, query {query}");
                assert!(close(hit.score, score));
            }
        }
    }
}

#[test]
fn all_rules_equal_brute_force() {
    for (seed, members, queries, count) in
        [(1, 1, 3, 1), (2, 2, 5, 30), (3, 3, 40, 400), (4, 4, 33, 70), (5, 5, 200, 90)]
    {
        let models = Models::integers(seed, members, queries, count);
        let all = vec![(0..count).collect(); queries];
        check(&models, Pool::Shared, &golds(seed, queries, count), &all, seed);
        let (lists, gold) = lists(seed, &models);
        let per_query = PerQuery::new(&lists, &models.models[0].candidates).unwrap();
        let pools: Vec<Vec<usize>> =
            lists.iter().map(|list| list.iter().map(|&c| c as usize).collect()).collect();
        check(&models, Pool::PerQuery(&per_query), &gold, &pools, seed);
    }
}

#[test]
fn one_member_is_the_plain_decoder_bit_for_bit() {
    for (seed, count) in [(1, 17), (2, 5000)] {
        let models = Models::reals(seed, 1, 70, count);
        let ensemble = models.ensemble();
        let candidates = &models.models[0].candidates;
        let queries = models.members()[0].queries;
        let (lists, listed) = lists(seed, &models);
        let lists = PerQuery::new(&lists, candidates).unwrap();
        for (pool, gold) in
            [(Pool::Shared, golds(seed, 70, count)), (Pool::PerQuery(&lists), listed)]
        {
            let rows: Vec<_> = gold.iter().map(|&c| Some(candidates.class_of(c))).collect();
            assert_eq!(rows, classes(&ensemble, &gold));
            let plain = rank_in(pool, &queries, &rows, candidates).unwrap();
            let best = top_k_in(pool, &queries, candidates, 1).unwrap();
            for rule in rules(seed, 1) {
                let ranks = ensemble.rank(pool, &rule, &rows).unwrap();
                assert_eq!(ranks, plain, "{rule:?}");
                let top = ensemble.top_k(pool, &rule, 1).unwrap();
                for (top, best) in top.iter().zip(&best) {
                    assert_eq!(top[0].candidate, best[0].candidate);
                    if matches!(rule, Combination::Mean { standardise: false, .. }) {
                        assert_eq!(top[0].score.to_bits(), best[0].score.to_bits());
                    }
                }
            }
            assert_eq!(
                ensemble.metrics(pool, &plain).unwrap(),
                metrics_in(pool, &plain, candidates).unwrap()
            );
        }
    }
}

#[test]
fn candidates_that_were_aligned_before_change_nothing() {
    let models = Models::reals(8, 3, 40, 200);
    let gold = golds(8, 40, 200);
    let named = |models: &Models| -> Alignment {
        let members = models.members();
        let named = members.iter().map(|member| (member.name, member.candidates));
        Alignment::new(&named.collect::<Vec<_>>()).unwrap()
    };
    let alignment = named(&models);
    let aligned = Ensemble::aligned(models.members(), &alignment).unwrap();
    let anew = models.ensemble();
    assert_eq!(classes(&aligned, &gold), classes(&anew, &gold));
    let gold = classes(&anew, &gold);
    for rule in rules(8, 3) {
        assert_eq!(
            aligned.decode(Pool::Shared, &rule, &gold, 5).unwrap(),
            anew.decode(Pool::Shared, &rule, &gold, 5).unwrap()
        );
    }
    for others in [Models::reals(8, 2, 40, 200), Models::reals(9, 3, 40, 150)] {
        assert!(Ensemble::aligned(models.members(), &named(&others)).is_err());
    }
}

#[test]
fn hits_of_one_member_are_those_of_the_plain_decoder() {
    let models = Models::integers(6, 1, 50, 300);
    let candidates = &models.models[0].candidates;
    let plain = top_k_in(Pool::Shared, &models.members()[0].queries, candidates, 300).unwrap();
    for rule in [Combination::default(), Combination::Max { standardise: false }] {
        assert_eq!(models.ensemble().top_k(Pool::Shared, &rule, 300).unwrap(), plain);
    }
    // the largest constant that is allowed tells neighbouring ranks apart
    let rule = Combination::ReciprocalRank { weights: None, constant: 1e6 };
    let top = models.ensemble().top_k(Pool::Shared, &rule, 300).unwrap();
    for (top, plain) in top.iter().zip(&plain) {
        assert!(top.iter().zip(plain).all(|(hit, plain)| hit.candidate == plain.candidate));
    }
}

#[test]
fn results_do_not_depend_on_threads() {
    let models = Models::reals(7, 3, 150, 3000);
    let ensemble = models.ensemble();
    let gold = golds(7, 150, 3000);
    let gold = classes(&ensemble, &gold);
    let (lists, listed) = lists(7, &models);
    let lists = PerQuery::new(&lists, ensemble.members()[0].candidates).unwrap();
    let listed = classes(&ensemble, &listed);
    for rule in rules(7, 3) {
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let ensemble = models.ensemble();
                let shared = ensemble.decode(Pool::Shared, &rule, &gold, 5).unwrap();
                (shared, ensemble.decode(Pool::PerQuery(&lists), &rule, &listed, 1).unwrap())
            })
        };
        let reference = run(1);
        assert_eq!(reference, run(2));
        assert_eq!(reference, run(5));
    }
}

/// Weighted sums of ranks, and of their reciprocals, that are equal in real numbers tie, also at the end of a short list.
#[test]
fn weighted_ranks_that_are_equal_tie() {
    let reciprocals = |first, constant| Combination::ReciprocalRank {
        weights: Some(vec![first, 1.0 - first]),
        constant,
    };
    // (r_1, r_2) of the gold candidate and of the one that ties with it: .6/2 + .4/4 = .6/3 + .4/2, and so on
    for (rule, gold, other) in [
        (reciprocals(0.6, 1.0), (1, 3), (2, 1)),
        (reciprocals(0.7, 1.0), (2, 8), (5, 1)),
        (reciprocals(0.9, 5.0), (4, 10), (5, 1)),
        (reciprocals(0.7, 60.0), (4, 20), (10, 4)),
        (Combination::Rank { weights: Some(vec![0.7, 0.3]) }, (1, 8), (4, 1)),
        (Combination::Rank { weights: Some(vec![0.9, 0.1]) }, (2, 10), (3, 1)),
    ]
    .into_iter()
    .flat_map(|(rule, gold, other)| [(rule.clone(), gold, other), (rule, other, gold)])
    {
        // candidates 0 and 1 have these ranks, the others those that are left
        let count = 24;
        let scores = |ranks: [usize; 2]| -> Vec<f32> {
            let mut left = (1..=count).filter(|rank| !ranks.contains(rank));
            let rank = |at: usize| ranks.get(at).copied().or_else(|| left.next()).unwrap_or(0);
            (0..count).map(rank).map(|rank| -(rank as f32)).collect()
        };
        let model = |coordinates| {
            Candidates::new(CandidateParts {
                ids: (0..count).map(|at| format!("c{at:02}")).collect(),
                dim: 1,
                coordinates,
                ..CandidateParts::default()
            })
            .unwrap()
        };
        let models = [model(scores([gold.0, other.0])), model(scores([gold.1, other.1]))];
        let member = |candidates| Member {
            name: "member",
            queries: Queries::new(1, &[1.0]).unwrap(),
            candidates,
            normalised: true,
        };
        let ensemble = Ensemble::new(models.iter().map(member).collect()).unwrap();
        for at in [0, 1] {
            let actual = ensemble.decode(Pool::Shared, &rule, &[Some(at)], count).unwrap();
            let rank = actual[0].rank.unwrap();
            assert_eq!(rank.tied(), 2, "{rule:?}, {gold:?} and {other:?}");
            let place =
                |candidate| actual[0].hits.iter().position(|hit| hit.candidate == candidate);
            assert_eq!(
                place(0).map(|place| place + 1),
                place(1),
                "{rule:?}: the first comes first"
            );
        }
        let lists = PerQuery::new(&[(0..count as u32).collect::<Vec<u32>>()], &models[0]).unwrap();
        for pool in [Pool::Shared, Pool::PerQuery(&lists)] {
            let all = ensemble.top_k(pool, &rule, count).unwrap();
            for k in 1..count {
                let first = ensemble.top_k(pool, &rule, k).unwrap();
                assert_eq!(first[0], all[0][..k], "{rule:?}, {gold:?} and {other:?}, {k}");
            }
        }
    }
}

#[test]
fn candidates_that_tie_under_every_member_tie() {
    // Three classes under one member, two under the other: four in common.
    let classed = |class: Vec<u32>, seed, dim| Set {
        class: class.clone(),
        ..Set::reals(seed, class.len(), *class.iter().max().unwrap() as usize + 1, dim)
    };
    let one = classed(vec![0, 0, 1, 2, 2, 0], 1, 300).candidates();
    let two = classed(vec![0, 1, 1, 0, 0, 0], 2, 7).candidates();
    let a = real_queries(1, 9, 300);
    let b = real_queries(2, 9, 7);
    let member = |name, dim, rows, candidates| Member {
        name,
        queries: Queries::new(dim, rows).unwrap(),
        candidates,
        normalised: true,
    };
    let ensemble =
        Ensemble::new(vec![member("one", 300, &a, &one), member("two", 7, &b, &two)]).unwrap();
    let rows: Vec<u32> = (0..6).map(|candidate| ensemble.class_of(candidate)).collect();
    assert_eq!((rows, ensemble.distinct()), (vec![0, 1, 2, 3, 3, 0], 4));
    for rule in rules(1, 2) {
        let ranks = ensemble.rank(Pool::Shared, &rule, &[Some(3); 9]).unwrap();
        // Standardised scores of a member with two classes, or ranks, can tie by value as well.
        assert!(ranks.iter().all(|rank| rank.unwrap().tied() >= 2));
        if rule == Combination::default() {
            assert!(ranks.iter().all(|rank| rank.unwrap().tied() == 2));
            let metrics = ensemble.metrics(Pool::Shared, &ranks).unwrap();
            assert_eq!((metrics.candidates, metrics.duplicate_candidates), (6, 2));
            let chance = Metrics::chance(&ranks, &[], 6, 2).unwrap();
            let harmonic: f64 = (1..=6).map(|rank| 1.0 / f64::from(rank)).sum();
            assert!((chance.mrr() - harmonic / 6.0).abs() < 1e-15);
        }
    }
    // Candidates 1, 4 and 5 occur in lists and are three points; with 3 and 0 there are two twins.
    let lists = PerQuery::new(&vec![vec![1, 4, 5]; 9], &one).unwrap();
    let ranks = ensemble.rank(Pool::PerQuery(&lists), &rules(1, 2)[0], &[Some(3); 9]).unwrap();
    let metrics = ensemble.metrics(Pool::PerQuery(&lists), &ranks).unwrap();
    assert_eq!((metrics.candidates, metrics.duplicate_candidates), (3, 0));
    let lists = PerQuery::new(&vec![vec![1, 4, 5, 3, 0]; 9], &one).unwrap();
    let metrics = ensemble.metrics(Pool::PerQuery(&lists), &ranks).unwrap();
    assert_eq!((metrics.candidates, metrics.duplicate_candidates), (5, 2));
}

/// Returns members side by side: their coordinates concatenated, their constants added.
fn concatenated(models: &Models) -> (usize, Vec<f32>, Candidates) {
    let dim = models.models.iter().map(|model| model.set.dim).sum();
    let rows = |c: usize| models.models.iter().map(move |m| &m.set.rows[m.set.class[c] as usize]);
    let coordinates = (0..models.count).flat_map(|c| rows(c).flatten().copied()).collect();
    let constant = |c: usize| {
        models.models.iter().map(|m| m.set.constants[m.set.class[c] as usize]).sum::<f32>()
    };
    let ids: Vec<String> = (0..models.count).map(|c| format!("c{c}")).collect();
    let candidates = Candidates::new(CandidateParts {
        ids: ids.clone(),
        labels: ids,
        class: (0..models.count as u32).collect(),
        dim,
        coordinates,
        constants: (0..models.count).map(constant).collect(),
        ..CandidateParts::default()
    });
    let query = |q: usize| {
        models.models.iter().flat_map(move |m| m.rows[q * m.set.dim..][..m.set.dim].iter().copied())
    };
    (dim, (0..models.queries).flat_map(query).collect(), candidates.unwrap())
}

#[test]
fn the_mean_is_one_model_of_concatenated_coordinates() {
    let rule = Combination::default();
    // Integer scores are exact, so ranks are the same.
    let models = Models::integers(8, 4, 60, 500);
    let (dim, rows, candidates) = concatenated(&models);
    let gold = golds(8, 60, 500);
    let plain = rank_in(
        Pool::Shared,
        &Queries::new(dim, &rows).unwrap(),
        &gold.iter().map(|&c| Some(c as u32)).collect::<Vec<_>>(),
        &candidates,
    )
    .unwrap();
    let ensemble = models.ensemble();
    assert_eq!(ensemble.rank(Pool::Shared, &rule, &classes(&ensemble, &gold)).unwrap(), plain);
    // Real ones are the same to rounding.
    let models = Models::reals(9, 4, 60, 500);
    let (dim, rows, candidates) = concatenated(&models);
    let plain =
        top_k_in(Pool::Shared, &Queries::new(dim, &rows).unwrap(), &candidates, 500).unwrap();
    let actual = models.ensemble().top_k(Pool::Shared, &rule, 500).unwrap();
    for (plain, actual) in plain.iter().zip(actual) {
        let mut scores = vec![0.0; 500];
        plain.iter().for_each(|hit| scores[hit.candidate] = hit.score / 4.0);
        assert!(actual.iter().all(|hit| (hit.score - scores[hit.candidate]).abs() < 1e-6));
    }
}

#[test]
fn a_missing_gold_is_an_error_or_rank_infinity() {
    let models = Models::integers(10, 2, 2, 9);
    let ensemble = models.ensemble();
    let ids = ["c3".to_string(), "absent".to_string()];
    let refused = ensemble.gold(Pool::Shared, &ids, MissingGold::Error).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "query #1: its gold candidate \"absent\" is not among its candidates"
    );
    let gold = ensemble.gold(Pool::Shared, &ids, MissingGold::RankInfinity).unwrap();
    assert_eq!(gold, [Some(ensemble.class_of(3)), None]);
    let lists = PerQuery::new(&[vec![2], vec![1]], ensemble.members()[0].candidates).unwrap();
    let listed = Pool::PerQuery(&lists);
    let gold_listed = ensemble.gold(listed, &ids, MissingGold::RankInfinity).unwrap();
    assert_eq!(gold_listed, [None, None]);
    for rule in rules(10, 2) {
        let ranks = ensemble.rank(Pool::Shared, &rule, &gold).unwrap();
        assert!(ranks[0].is_some() && ranks[1].is_none());
        assert_eq!(Metrics::from_ranks(&ranks, 9, 0).unwrap().missing_gold, 1);
    }
}

#[test]
fn one_prediction_of_a_large_set() {
    // More rows than a span, gathered for the second member.
    let set = Set::integers(11, 9000, 8000, 4);
    let order: Vec<usize> = (0..9000).rev().collect();
    let one = set.candidates();
    let two = reordered(&set, &order);
    let rows = integer_queries(11, 1, 4);
    let member = |name, candidates| Member {
        name,
        queries: Queries::new(4, &rows).unwrap(),
        candidates,
        normalised: false,
    };
    let single = Ensemble::new(vec![member("one", &one)]).unwrap();
    let double = Ensemble::new(vec![member("one", &one), member("two", &two)]).unwrap();
    let rule = Combination::Mean { weights: None, standardise: true };
    for gold in [0, 4500, 8999] {
        assert_eq!(
            single.rank(Pool::Shared, &rule, &classes(&single, &[gold])).unwrap(),
            double.rank(Pool::Shared, &rule, &classes(&double, &[gold])).unwrap()
        );
        assert_eq!(
            single.top_k(Pool::Shared, &rule, 20).unwrap(),
            double.top_k(Pool::Shared, &rule, 20).unwrap()
        );
    }
}
