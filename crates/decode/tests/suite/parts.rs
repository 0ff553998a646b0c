//! Candidates that several ranks score in parts, against one that scores all of them.

use dsokr_basis::ranks::threads;
use dsokr_decode::{
    Candidates, Combination, Decoded, Ensemble, Hit, Member, Pool, Queries, Rank, rank, top_k,
};

use crate::common::{Set, golds, integer_queries, real_queries};

/// Ranks, hits, and what an ensemble of one and of two finds.
type Found = (Vec<Option<Rank>>, Vec<Vec<Hit>>, Vec<Decoded>, Vec<Decoded>);

fn find(rows: &[f32], candidates: &Candidates, dim: usize, gold: &[usize], k: usize) -> Found {
    let queries = || Queries::new(dim, rows).unwrap();
    let gold: Vec<_> = gold.iter().map(|&gold| Some(candidates.class_of(gold))).collect();
    let member = |name| Member { name, queries: queries(), candidates, normalised: true };
    let rule = Combination::Mean { weights: None, standardise: false };
    let decode = |members| {
        let ensemble = Ensemble::new(members).unwrap();
        ensemble.decode(Pool::Shared, &rule, &gold, k).unwrap()
    };
    (
        rank(&queries(), &gold, candidates).unwrap(),
        top_k(&queries(), candidates, k).unwrap(),
        decode(vec![member("a")]),
        decode(vec![member("a"), member("b")]),
    )
}

#[test]
fn parts_of_the_candidates_find_what_all_of_them_do() {
    for (seed, count, distinct, dim, queries) in
        [(1, 1, 1, 1, 1), (2, 5, 3, 2, 4), (3, 700, 513, 3, 40), (4, 9000, 8500, 30, 20)]
    {
        // small integers tie in large numbers, real numbers never
        for (set, rows) in [
            (Set::integers(seed, count, distinct, dim), integer_queries(seed, queries, dim)),
            (Set::reals(seed, count, distinct, dim), real_queries(seed, queries, dim)),
        ] {
            let (candidates, gold) = (set.candidates(), golds(seed, queries, count));
            let k = count.min(12);
            let one = find(&rows, &candidates, dim, &gold, k);
            // more ranks than candidates too
            for size in [1, 2, 3, 8] {
                for found in threads(size, || find(&rows, &candidates, dim, &gold, k)) {
                    assert!(found == one, "{size} ranks, {count} candidates");
                }
            }
        }
    }
}
