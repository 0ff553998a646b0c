//! Several right candidates, and candidates that do not compete.

use dsokr_core::random::{below, generator};
use dsokr_decode::{
    CandidateParts, Candidates, Combination, Ensemble, GoldOutputs, Member, Metrics, MissingGold,
    PerQuery, Pool, Queries, Rank,
};

use crate::common::{message, rank_in};

const CANDIDATES: usize = 40;
const QUERIES: usize = 25;

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|at| format!("{prefix}{at}")).collect()
}

/// Returns small whole numbers, so that many scores tie, and candidates that share a row.
fn candidates(seed: u64) -> Candidates {
    let mut random = generator(seed, "candidates", 0);
    let class: Vec<u32> =
        (0..CANDIDATES as u32).map(|at| if at < 30 { at } else { at - 20 }).collect();
    let coordinates = (0..30 * 2).map(|_| below(&mut random, 4) as f32 - 1.0).collect();
    let ids = names("c", CANDIDATES);
    Candidates::new(CandidateParts { ids, class, dim: 2, coordinates, ..Default::default() })
        .unwrap()
}

fn queries(seed: u64) -> Vec<f32> {
    let mut random = generator(seed, "queries", 0);
    (0..QUERIES * 2).map(|_| below(&mut random, 5) as f32 - 2.0).collect()
}

/// Returns some candidates of each query, drawn.
fn drawn(seed: u64, purpose: &str, least: usize) -> Vec<Vec<String>> {
    let mut random = generator(seed, purpose, 0);
    let mut list = || {
        let count = least + below(&mut random, 4) as usize;
        (0..count).map(|_| format!("c{}", below(&mut random, CANDIDATES as u64))).collect()
    };
    (0..QUERIES).map(|_| list()).collect()
}

/// Returns the best `E[1/rank]` of the right candidates, each among those that are neither right nor known.
fn naive(
    scores: impl Fn(usize) -> f64,
    list: &[usize],
    right: &[String],
    known_ids: &[String],
) -> (f64, usize) {
    let place = |id: &String| id[1..].parse::<usize>().unwrap();
    let left_out: Vec<usize> = right.iter().chain(known_ids).map(place).collect();
    let mut best: Option<(f64, usize)> = None;
    for gold in right.iter().map(place).filter(|gold| list.contains(gold)) {
        let rivals: Vec<usize> =
            list.iter().copied().filter(|c| *c == gold || !left_out.contains(c)).collect();
        let above = rivals.iter().filter(|&&c| scores(c) > scores(gold)).count();
        let tied = rivals.iter().filter(|&&c| scores(c) == scores(gold)).count();
        let mean =
            (above + 1..=above + tied).map(|rank| 1.0 / rank as f64).sum::<f64>() / tied as f64;
        if best.is_none_or(|(value, _)| mean > value) {
            best = Some((mean, rivals.len()));
        }
    }
    best.unwrap_or((0.0, 0))
}

#[test]
fn filtered_ranks_are_those_of_a_naive_loop() {
    for seed in 0..8 {
        let candidates = candidates(seed);
        let z = queries(seed);
        let right = drawn(seed, "right", 1);
        let known_ids = drawn(seed, "known", 0);
        let golds = GoldOutputs::new(&right, &known_ids).unwrap();
        let mut random = generator(seed, "lists", 0);
        let mut lists: Vec<Vec<u32>> = Vec::new();
        for _ in 0..QUERIES {
            let mut list: Vec<u32> = (0..CANDIDATES as u32).collect();
            list.retain(|_| below(&mut random, 3) > 0);
            lists.push(list);
        }
        let per_query = PerQuery::new(&lists, &candidates).unwrap();
        let all: Vec<u32> = (0..CANDIDATES as u32).collect();
        let repeated = golds.repeat(2, &z);
        let rows = Queries::new(2, &repeated).unwrap();
        for shared in [true, false] {
            let expanded = per_query.select(golds.queries());
            let pool = if shared { Pool::Shared } else { Pool::PerQuery(&expanded) };
            let row_names = names("row", rows.len());
            let missing = MissingGold::RankInfinity;
            let actual = pool.gold(&row_names, golds.ids(), &candidates, missing).unwrap();
            let ranks = rank_in(pool, &rows, &actual, &candidates).unwrap();
            let chosen = golds.choose(&ranks).unwrap();
            for query in 0..QUERIES {
                let score = |c: usize| {
                    let row = candidates.class_of(c) as usize;
                    let point = &candidates.coordinates().unwrap()[row * 2..][..2];
                    f64::from(z[query * 2] * point[0] + z[query * 2 + 1] * point[1])
                };
                let list = if shared { &all } else { &lists[query] };
                let list: Vec<usize> = list.iter().map(|&c| c as usize).collect();
                let (expected, pool) = naive(score, &list, &right[query], &known_ids[query]);
                let rank = chosen[query].rank;
                let reciprocal = rank.map_or(0.0, |rank| rank.expected_reciprocal());
                assert!(
                    (reciprocal - expected).abs() < 1e-12,
                    "{seed} {query}: {rank:?} {expected}"
                );
                assert_eq!(rank.map_or(0, |rank| rank.pool()), pool as u64, "{seed} {query}");
            }
            // an ensemble of one and of two equal members ranks the same
            for count in [1, 2] {
                let member = |name| Member {
                    name,
                    queries: rows,
                    candidates: &candidates,
                    normalised: true,
                };
                let members = ["one", "two"][..count].iter().map(|name| member(name)).collect();
                let ensemble = Ensemble::new(members).unwrap();
                let rule = Combination::Mean { weights: None, standardise: false };
                let actual = ensemble.gold(pool, golds.ids(), missing).unwrap();
                let ranks = ensemble.rank(pool, &rule, &actual).unwrap();
                assert_eq!(golds.choose(&ranks).unwrap(), chosen);
            }
        }
    }
}

#[test]
fn one_right_candidate_ranks_as_without_a_filter() {
    let right: Vec<Vec<String>> =
        drawn(3, "right", 1).into_iter().map(|ids| vec![ids[0].clone()]).collect();
    let golds = GoldOutputs::new(&right, &[]).unwrap();
    let candidates = candidates(3);
    let z = queries(3);
    let queries = Queries::new(2, &z).unwrap();
    let actual =
        Pool::Shared.gold(&names("q", QUERIES), golds.ids(), &candidates, MissingGold::Error);
    let ranks = rank_in(Pool::Shared, &queries, &actual.unwrap(), &candidates).unwrap();
    let chosen: Vec<Option<Rank>> =
        golds.choose(&ranks).unwrap().into_iter().map(|chosen| chosen.rank).collect();
    assert_eq!(chosen, ranks);
    let metrics = Metrics::from_ranks(&chosen, candidates.len(), candidates.duplicates()).unwrap();
    assert_eq!(metrics.candidates_per_query, None);
}

#[test]
fn sizes_and_missing_golds_are_reported() {
    let text = |ids: &[&str]| ids.iter().map(|id| id.to_string()).collect::<Vec<_>>();
    let golds =
        GoldOutputs::new(&[text(&["a", "b", "a"]), text(&["c"])], &[text(&["b", "d"]), text(&[])])
            .unwrap();
    assert_eq!(
        (golds.ids(), golds.queries()),
        (&text(&["a", "b", "d", "c"])[..], &[0, 0, 0, 1][..])
    );
    let name = |query: usize| format!("\"q{query}\"");
    let actual = [Some(0), None, None, Some(2)];
    golds.check_missing(&actual, MissingGold::RankInfinity, name).unwrap();
    let refused = message(golds.check_missing(&actual, MissingGold::Error, name));
    assert_eq!(refused, "query \"q0\": its gold candidate \"b\" is not among its candidates");
    let at = |above, pool| Rank::new(above, 1, pool).ok();
    let chosen = golds.choose(&[at(4, 9), None, at(1, 9), at(0, 9)]).unwrap();
    let ranks: Vec<Option<Rank>> = chosen.iter().map(|chosen| chosen.rank).collect();
    assert_eq!(ranks, [at(3, 8), at(0, 9)]);
    let sizes = Metrics::from_ranks(&ranks, 9, 0).unwrap().candidates_per_query.unwrap();
    assert_eq!((sizes.least, sizes.median, sizes.most), (8, 9, 9));

    assert!(message(GoldOutputs::new(&[Vec::new()], &[])).contains("query 0: no right candidates"));
    assert!(
        message(GoldOutputs::new(&[text(&["a"])], &[Vec::new(), Vec::new()])).contains("known")
    );
    assert!(message(golds.choose(&[None])).contains("ranks"));
    assert!(message(at(0, 1).unwrap().without(1, 0, 0)).contains("1 candidates are left out of 0"));
}
