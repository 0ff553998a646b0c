//! Members whose first candidates are scored anew.

use crate::common::{Set, golds, real_queries};
use dsokr_decode::{
    CandidateBlocks, Candidates, Combination, Ensemble, Metrics, Neighbourhood, PerQuery, Pool,
    Queries, Reranker, RerankerExamples, RerankerFeatures, fit_weights,
};

use super::models::Models;
use super::{classes, lists};

/// Returns a reranker of the first 20 rows that compares queries with `predictions`.
fn fitted(predictions: &Queries, candidates: &Candidates) -> Reranker {
    let dim = predictions.dim();
    let outputs = real_queries(9, predictions.len(), dim);
    let neighbourhood = Neighbourhood::new(dim, predictions.normalised(), outputs, 5).unwrap();
    let reranker_features = RerankerFeatures { neighbourhood, words: None, evidence: None };
    let mut examples = RerankerExamples::new(20);
    let some = real_queries(8, 60, dim);
    let gold: Vec<_> = (0..60).map(|row| Some(row % candidates.rows() as u32)).collect();
    let some = Queries::new(dim, &some).unwrap();
    examples.add(&some, &gold, candidates, &reranker_features).unwrap();
    assert!(examples.len() > 2);
    assert_eq!(examples.without_first(2).len(), examples.len() - 2);
    assert!(examples.without_first(99).is_empty());
    Reranker::fit(&examples, reranker_features, 0).unwrap()
}

#[test]
fn a_reranker_orders_a_member_as_it_orders_the_candidates_alone() {
    let count = 200;
    let queries = 40;
    let models = Models::reals(3, 2, queries, count);
    let [first, second] = models.members()[..] else { unreachable!() };
    let dim = first.queries.dim();
    let reranker = fitted(&first.queries, first.candidates);
    assert_eq!(reranker.predictions(), first.queries.normalised());
    let moved: Vec<f32> = reranker.predictions().iter().map(|value| value + 0.5).collect();
    let moved = Queries::new(dim, &moved).unwrap().normalised();
    assert_eq!(reranker.moved(&vec![0.5; dim]).unwrap().predictions(), moved);
    assert!(reranker.moved(&[0.5]).unwrap_err().to_string().contains("coordinates of the origin"));
    let reranker = reranker.among(first.candidates).unwrap();
    // one model: the hits of a search with filters are those without
    let alone = Ensemble::one(first.queries, first.candidates, Some(&reranker)).unwrap();
    let rule = Combination::default();
    let hits = alone.top_k(Pool::Shared, &rule, 40).unwrap();
    for (actual, hits) in alone.ranked_hits(&rule, None, 0..40).unwrap().iter().zip(&hits) {
        let listed =
            actual.hits.iter().flat_map(|hit| hit.candidates.iter().map(|&c| (c, hit.score)));
        let hits = hits.iter().map(|hit| (hit.candidate as u32, hit.score));
        assert!(listed.take(40).eq(hits));
    }
    let plain = Ensemble::one(first.queries, first.candidates, None).unwrap();
    let ensemble = Ensemble::new(vec![first, second]).unwrap();
    let ensemble = ensemble.with_rerankers(vec![Some(&reranker), None]).unwrap();
    let (lists, listed) = lists(3, &models);
    let lists = PerQuery::new(&lists, first.candidates).unwrap();
    for (pool, gold) in [(Pool::Shared, golds(3, queries, count)), (Pool::PerQuery(&lists), listed)]
    {
        let rows: Vec<_> = gold.iter().map(|&c| Some(first.candidates.class_of(c))).collect();
        let alone = alone.rank(pool, &rule, &rows).unwrap();
        assert_ne!(alone, plain.rank(pool, &rule, &rows).unwrap());
        let gold = classes(&ensemble, &gold);
        for standardise in [false, true] {
            let mean = |weights| Combination::Mean { weights: Some(weights), standardise };
            let ranks = ensemble.rank(pool, &mean(vec![1.0, 0.0]), &gold).unwrap();
            assert_eq!(ranks, alone, "{standardise}");
            let both = ensemble.decode(pool, &mean(vec![0.9, 0.1]), &gold, 1).unwrap();
            assert!(both.iter().zip(&alone).any(|(both, alone)| both.rank != *alone));
            // weights are fitted to the scores after the reranker, also where few rivals are kept
            let rule = Combination::Mean { weights: None, standardise };
            let fitted = fit_weights(&ensemble, pool, &rule, &gold, 0).unwrap();
            let ranks = ensemble.rank(pool, &mean(fitted.weights), &gold).unwrap();
            assert_eq!(fitted.mrr, Metrics::from_ranks(&ranks, count, 0).unwrap().mrr());
        }
    }
}

#[test]
fn scores_that_differ_below_the_resolution_of_f32_keep_their_order() {
    let dim = 8;
    let mut set = Set::reals(5, 150, 150, dim);
    let plain = set.candidates();
    // neighbouring numbers of 32 bits are 1/8 apart there, and 20 new scores lie within 1 of one another
    set.constants.fill((1 << 20) as f32);
    let far = set.candidates();
    let rows = real_queries(5, 30, dim);
    let queries = Queries::new(dim, &rows).unwrap();
    let reranker = fitted(&queries, &plain).among(&far).unwrap();

    let ensemble = Ensemble::one(queries, &far, Some(&reranker)).unwrap();
    let rule = Combination::default();
    let hits = ensemble.top_k(Pool::Shared, &rule, 20).unwrap();
    let ranked = ensemble.ranked_hits(&rule, None, 0..20).unwrap();
    let mut equal = 0;
    for (query, (hits, ranked)) in hits.iter().zip(&ranked).enumerate() {
        equal += hits.windows(2).filter(|pair| pair[0].score == pair[1].score).count();
        let first_of_row = ranked.hits.iter().map(|hit| hit.candidates[0] as usize);
        assert!(first_of_row.eq(hits.iter().map(|hit| hit.candidate)), "query {query}");
        for (place, hit) in ranked.hits.iter().enumerate() {
            assert_eq!((hit.above, hit.tied), (place as u64, 0), "query {query}");
            let gold = vec![Some(far.class_of(hit.candidates[0] as usize)); queries.len()];
            let rank = ensemble.rank(Pool::Shared, &rule, &gold).unwrap()[query].unwrap();
            assert_eq!(rank.above(), place as u64, "query {query}");
        }
    }
    assert!(equal > 100, "{equal} pairs of hits show one score");
}
