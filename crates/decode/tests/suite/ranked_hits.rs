//! The ranks of wanted candidates among all equal those from comparing every score.

use dsokr_core::Error;
use dsokr_core::processes::{Processes, threads};
use dsokr_decode::{
    Candidates, Combination, Ensemble, Member, Queries, RankedHit, RankedHits, ShardSet, Shards,
    StorageType,
};
use rayon::prelude::*;

use crate::common::{Set, integer_queries, message, real_queries};

/// Returns the hits of a query at some places by brute force, from the score of each candidate.
fn expected(
    set: &Set,
    score: impl Fn(usize) -> f64,
    wanted: &[bool],
    places: (usize, usize),
) -> RankedHits {
    let scores: Vec<f64> = set.all().into_iter().map(score).collect();
    let members = |row: usize| -> Vec<usize> {
        set.all().into_iter().filter(|&c| set.class[c] as usize == row).collect()
    };
    let standing = |row: usize| {
        let mut row_members = members(row);
        let score = scores[row_members[0]];
        let first = row_members.iter().position(|&c| wanted[c])?;
        let first = row_members.remove(first);
        let others = || set.all().into_iter().filter(|&c| set.class[c] as usize != row);
        let next = others().map(|c| scores[c]).filter(|&other| other <= score);
        let next = next.fold(f64::NEG_INFINITY, f64::max);
        Some(RankedHit {
            candidates: [first].iter().chain(&row_members).map(|&c| c as u32).collect(),
            score: score as f32,
            above: scores.iter().filter(|&&other| other > score).count() as u64,
            tied: others().filter(|&c| scores[c] == score).count() as u64,
            gap: next.is_finite().then_some(score as f32 - next as f32),
        })
    };
    let mut hits: Vec<RankedHit> = (0..set.rows.len()).filter_map(standing).collect();
    hits.sort_by(|a, b| b.score.partial_cmp(&a.score).unwrap());
    let mut rows: Vec<f64> = (0..set.rows.len()).map(|row| scores[members(row)[0]]).collect();
    rows.sort_by(|a, b| b.partial_cmp(a).unwrap());
    let gap = rows.get(1).map(|next| rows[0] as f32 - *next as f32);
    let hits = hits.into_iter().skip(places.0).take(places.1 - places.0).collect();
    RankedHits { hits, gap }
}

/// Returns filters that keep all, every third, one, the last duplicates, and none.
fn filters(count: usize) -> Vec<Vec<bool>> {
    let filter = |keep: &dyn Fn(usize) -> bool| (0..count).map(keep).collect();
    vec![
        filter(&|_| true),
        filter(&|at| at % 3 == 1),
        filter(&|at| at == count / 2),
        filter(&|at| at + 4 > count),
        filter(&|_| false),
    ]
}

fn member<'a>(name: &'a str, rows: &'a [f32], candidates: &'a Candidates) -> Member<'a> {
    let queries = Queries::new(dsokr_decode::CandidateBlocks::dim(candidates), rows).unwrap();
    Member { name, queries, candidates, normalised: true }
}

#[test]
fn wanted_candidates_stand_where_every_comparison_says() {
    // small integers tie in large numbers
    for (seed, queries, count, distinct, dim) in
        [(1, 1, 1, 1, 1), (2, 17, 40, 9, 2), (3, 3, 300, 257, 3), (4, 2, 400, 390, 30)]
    {
        let set = Set::integers(seed, count, distinct, dim);
        let candidates = set.candidates();
        let rows = integer_queries(seed, queries, dim);
        let ensemble = Ensemble::new(vec![member("a", &rows, &candidates)]).unwrap();
        let other: Vec<f32> = rows.iter().map(|value| 1.0 - value).collect();
        let pair = vec![member("a", &rows, &candidates), member("b", &other, &candidates)];
        let pair = Ensemble::new(pair).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let shard_count = distinct.min(3);
        let files = ShardSet {
            folder: folder.path(),
            count: shard_count,
            precision: StorageType::F32,
            fingerprint: "x",
            metadata: &Default::default(),
        };
        Shards::write(&candidates, &files).unwrap();
        for wanted in filters(count) {
            for places in [(0, 1), (0, 12), (5, 9), (distinct - 1, distinct + 5)] {
                let ranked = |score: &dyn Fn(usize, usize) -> f64| -> Vec<RankedHits> {
                    let one = |query| expected(&set, |c| score(query, c), &wanted, places);
                    (0..queries).map(one).collect()
                };
                let rule = Combination::default();
                let score = |rows: &[f32], query: usize, c: usize| {
                    set.score(&rows[query * dim..][..dim], c)
                };
                let single = ranked(&|query, c| score(&rows, query, c));
                let range = places.0..places.1;
                assert_eq!(
                    ensemble.ranked_hits(&rule, Some(&wanted), range.clone()).unwrap(),
                    single
                );
                let mean =
                    ranked(&|query, c| (score(&rows, query, c) + score(&other, query, c)) / 2.0);
                assert_eq!(pair.ranked_hits(&rule, Some(&wanted), range.clone()).unwrap(), mean);
                if wanted.iter().all(|&wanted| wanted) {
                    assert_eq!(ensemble.ranked_hits(&rule, None, range.clone()).unwrap(), single);
                }
                for size in [1, 5] {
                    let find = |processes: &Processes| {
                        let shards = Shards::open(processes, folder.path(), "x")?;
                        let held = shards.held().flat_map(|shard| shard.ids().map(str::to_owned));
                        let is_wanted = |id: String| wanted[id[1..].parse::<usize>().unwrap()];
                        let rank_wanted: Vec<bool> = held.map(is_wanted).collect();
                        let count = shards.count_wanted(processes, &rank_wanted)?;
                        assert_eq!(count, wanted.iter().filter(|&&wanted| wanted).count());
                        let queries = Queries::new(dim, &rows)?;
                        let ensemble = Ensemble::sharded(processes, "", queries, &shards)?;
                        ensemble.ranked_hits(&rule, Some(&rank_wanted), range.clone())
                    };
                    for actual in threads(size, find) {
                        assert_eq!(
                            actual.unwrap_or_else(|e: Error| panic!("{e}")),
                            single,
                            "{size}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn standings_agree_with_ranks_and_hits() {
    let count = 3000;
    let dim = 24;
    let queries = 300;
    let set = Set::reals(7, count, 2500, dim);
    let candidates = set.candidates();
    let rows = real_queries(7, queries, dim);
    let ensemble = Ensemble::new(vec![member("a", &rows, &candidates)]).unwrap();
    let rule = Combination::default();
    let actual = ensemble.ranked_hits(&rule, None, 0..6).unwrap();
    let hits = ensemble.top_k(dsokr_decode::Pool::Shared, &rule, 6).unwrap();
    for (query, (actual, hits)) in actual.iter().zip(&hits).enumerate() {
        let listed =
            actual.hits.iter().flat_map(|hit| hit.candidates.iter().map(|&c| (c, hit.score)));
        let hits: Vec<_> = hits.iter().map(|hit| (hit.candidate as u32, hit.score)).collect();
        assert_eq!(listed.take(6).collect::<Vec<_>>(), hits, "{query}");
        let gold = Some(candidates.class_of(actual.hits[2].candidates[0] as usize));
        let mut golds = vec![None; queries];
        golds[query] = gold;
        if query % 50 == 0 {
            let rank = ensemble.rank(dsokr_decode::Pool::Shared, &rule, &golds).unwrap()[query];
            assert_eq!(rank.unwrap().above(), actual.hits[2].above);
        }
    }
    let short = ensemble.ranked_hits(&rule, Some(&[true]), 0..1);
    assert!(message(short).contains("wanted candidates"));
}

/// A lock that is held while threads of a pool wait for each other would never be given back.
#[test]
fn searches_in_one_pool_do_not_wait_for_each_other() {
    let candidates = &Set::reals(3, 3000, 2500, 8).candidates();
    let rows = &real_queries(3, 40, 8);
    let search = || {
        let ensemble = Ensemble::new(vec![member("a", rows, candidates)]).unwrap();
        ensemble.ranked_hits(&Combination::default(), None, 0..30).unwrap()
    };
    let expected = &search();
    let two = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let same = two.install(|| (0..60).into_par_iter().all(|_| search() == *expected));
    assert!(same);
}
