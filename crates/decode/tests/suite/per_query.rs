//! Lists of candidates: one a query.

use std::path::{Path, PathBuf};

use dsokr_core::Error;
use dsokr_core::random::{below, generator};
use dsokr_decode::{CandidateParts, Candidates, Metrics, MissingGold, PerQuery, Pool, Queries};

use crate::common::{
    Set, golds, integer_queries, message, metrics_in, rank_in, real_queries, top_k_in,
};

fn classes(candidates: &Candidates, gold: &[usize]) -> Vec<Option<u32>> {
    gold.iter().map(|&candidate| Some(candidates.class_of(candidate))).collect()
}

#[test]
fn complete_lists_give_what_the_shared_set_gives() {
    for dim in [1, 2, 3, 40, 300] {
        let queries = 37;
        let count = 800;
        let set = Set::reals(dim as u64, count, 700, dim);
        let rows = real_queries(7, queries, dim);
        let candidates = set.candidates();
        let gold = classes(&candidates, &golds(7, queries, count));
        let complete = vec![(0..count as u32).rev().collect::<Vec<_>>(); queries];
        let lists = PerQuery::new(&complete, &candidates).unwrap();
        let queries = Queries::new(dim, &rows).unwrap();
        let shared = Pool::Shared;
        let pool = Pool::PerQuery(&lists);
        assert_eq!(
            rank_in(shared, &queries, &gold, &candidates).unwrap(),
            rank_in(pool, &queries, &gold, &candidates).unwrap()
        );
        for k in [1, 10, 800] {
            assert_eq!(
                top_k_in(shared, &queries, &candidates, k).unwrap(),
                top_k_in(pool, &queries, &candidates, k).unwrap()
            );
        }
    }
}

#[test]
fn random_lists_equal_brute_force() {
    let queries = 50;
    let count = 400;
    let dim = 3;
    let set = Set::integers(8, count, 300, dim);
    let rows = integer_queries(8, queries, dim);
    let candidates = set.candidates();
    let mut random = generator(8, "lists", 0);
    let lists: Vec<Vec<u32>> = (0..queries)
        .map(|_| {
            let mut list: Vec<u32> = (0..count as u32).collect();
            let length = 1 + below(&mut random, 350) as usize;
            for at in 0..length {
                let other = at + below(&mut random, (count - at) as u64) as usize;
                list.swap(at, other);
            }
            list.truncate(length);
            list
        })
        .collect();
    let gold: Vec<usize> = lists.iter().map(|list| list[list.len() / 2] as usize).collect();
    let per_query = PerQuery::new(&lists, &candidates).unwrap();
    let pool = Pool::PerQuery(&per_query);
    let queries = Queries::new(dim, &rows).unwrap();
    let ranks = rank_in(pool, &queries, &classes(&candidates, &gold), &candidates).unwrap();
    let best = top_k_in(pool, &queries, &candidates, 1).unwrap();
    for (at, query) in rows.chunks(dim).enumerate() {
        let list: Vec<usize> = lists[at].iter().map(|&candidate| candidate as usize).collect();
        assert_eq!(ranks[at], Some(set.rank(query, gold[at], &list)));
        assert_eq!(best[at][0].candidate, set.sorted(query, &list)[0].0);
    }
    let chance = Metrics::chance(&ranks, &[], count, 100).unwrap();
    let reciprocal = |list: &Vec<u32>| {
        (1..=list.len()).map(|rank| 1.0 / rank as f64).sum::<f64>() / list.len() as f64
    };
    let expected = lists.iter().map(reciprocal).sum::<f64>() / lists.len() as f64;
    assert!((chance.mrr() - expected).abs() < 1e-12);
}

#[test]
fn a_gold_candidate_outside_of_its_list_is_missing() {
    let set = Set::integers(9, 6, 6, 2);
    let candidates = set.candidates();
    let lists = PerQuery::new(&[vec![0, 1], vec![2, 3]], &candidates).unwrap();
    let pool = Pool::PerQuery(&lists);
    let names = vec!["x".to_string(), "y".to_string()];
    let gold = vec!["c1".to_string(), "c1".to_string()];
    assert_eq!(
        message(pool.gold(&names, &gold, &candidates, MissingGold::Error)),
        "query \"y\": its gold candidate \"c1\" is not among its candidates"
    );
    let actual = pool.gold(&names, &gold, &candidates, MissingGold::RankInfinity).unwrap();
    assert_eq!(actual, [Some(candidates.class_of(1)), None]);

    let queries = Queries::new(2, &[1.0; 4]).unwrap();
    assert_eq!(
        message(rank_in(pool, &queries, &[Some(0), Some(1)], &candidates)),
        "query #1: its gold candidate of row 1 is not among its candidates"
    );
    let empty = PerQuery::new(&[vec![0, 1], vec![]], &candidates).unwrap();
    let top = top_k_in(Pool::PerQuery(&empty), &queries, &candidates, 3).unwrap();
    assert_eq!(top.iter().map(Vec::len).collect::<Vec<_>>(), [2, 0]);
    let one = PerQuery::new(&[vec![0]], &candidates).unwrap();
    let ranks = rank_in(Pool::PerQuery(&one), &queries, &[None, None], &candidates);
    assert_eq!(message(ranks), "1 candidate lists, expected 2");
}

#[test]
fn metrics_count_the_candidates_of_the_lists() {
    // Candidates 0 and 3 are one point, and so are 1, 2 and 5; no list has 4.
    let texts: Vec<String> = (0..6).map(|candidate| format!("c{candidate}")).collect();
    let class = vec![0, 1, 1, 0, 2, 1];
    let points = vec![1.0, 2.0, 3.0];
    let candidates = Candidates::new(CandidateParts {
        ids: texts.clone(),
        labels: texts,
        class,
        dim: 1,
        coordinates: points,
        ..CandidateParts::default()
    })
    .unwrap();
    let queries = Queries::new(1, &[1.0, -1.0]).unwrap();
    let gold = [Some(0), Some(1)];
    for (lists, count, duplicates) in [
        (vec![vec![3, 1], vec![1, 2, 3]], 3, 1),
        (vec![vec![0, 1], vec![3, 5, 2]], 5, 3),
        (vec![vec![0, 1], vec![1]], 2, 0),
    ] {
        let lists = PerQuery::new(&lists, &candidates).unwrap();
        let pool = Pool::PerQuery(&lists);
        let ranks = rank_in(pool, &queries, &gold, &candidates).unwrap();
        let metrics = metrics_in(pool, &ranks, &candidates).unwrap();
        assert_eq!(metrics, Metrics::from_ranks(&ranks, count, duplicates).unwrap());
        let few = metrics_in(pool, &ranks[..1], &candidates);
        assert_eq!(message(few), "2 candidate lists, expected 1");
    }
    let ranks = rank_in(Pool::Shared, &queries, &gold, &candidates).unwrap();
    let metrics = metrics_in(Pool::Shared, &ranks, &candidates).unwrap();
    assert_eq!((metrics.candidates, metrics.duplicate_candidates), (6, 3));
    assert_eq!(
        metrics,
        Metrics::from_ranks(&ranks, candidates.len(), candidates.duplicates()).unwrap()
    );
}

#[test]
fn lists_for_other_candidates_are_refused() {
    let many = Set::integers(9, 6, 6, 2);
    let few = Set::integers(9, 4, 4, 2);
    let many = many.candidates();
    let few = few.candidates();
    let lists = PerQuery::new(&[vec![5, 0]], &many).unwrap();
    let pool = Pool::PerQuery(&lists);
    let queries = Queries::new(2, &[1.0; 2]).unwrap();
    let names = ["q".to_string()];
    let gold = ["c0".to_string()];
    for error in [
        rank_in(pool, &queries, &[Some(0)], &few).unwrap_err(),
        top_k_in(pool, &queries, &few, 1).unwrap_err(),
        pool.gold(&names, &gold, &few, MissingGold::Error).unwrap_err(),
        metrics_in(pool, &[None], &few).unwrap_err(),
    ] {
        assert_eq!(error.to_string(), "4 candidates, expected 6");
    }
}

#[test]
fn lists_in_memory_are_checked() {
    let candidates = Set::integers(10, 4, 4, 2).candidates();
    for (list, reason) in [(vec![4], "candidate 4 of 4"), (vec![1, 1], "occurs twice")] {
        let error = message(PerQuery::new(&[vec![0], list], &candidates));
        assert!(error.starts_with("candidate list 1: ") && error.contains(reason), "{error}");
    }
}

struct Lists {
    folder: tempfile::TempDir,
}

impl Lists {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn write(&self, text: &str) -> PathBuf {
        let path = self.folder.path().join("lists.jsonl");
        std::fs::write(&path, text).unwrap();
        path
    }
}

fn read(path: &Path) -> Result<PerQuery, Error> {
    let candidates = Set::integers(11, 6, 6, 2).candidates();
    let names = ["x", "y"].map(String::from);
    PerQuery::read(path, &names, &candidates)
}

#[test]
fn files_are_read_in_the_order_of_the_queries() {
    let lists = Lists::new();
    let path = lists.write(concat!(
        "{\"query\": \"other\", \"candidates\": [\"c0\"]}\r\n",
        "{\"candidates\": [\"c3\", \"c1\"], \"query\": \"y\"}\n",
        "\n",
        "{\"query\": \"x\", \"candidates\": [\"c5\"]}",
    ));
    let read = read(&path).unwrap();
    assert_eq!(read.len(), 2);
    assert_eq!((read.list(0), read.list(1)), (&[5][..], &[3, 1][..]));
}

#[test]
fn whole_numbers_are_ids() {
    let ids: Vec<String> = ["7", "-2", "18446744073709551615", "c"].map(String::from).into();
    let coordinates = vec![0.0, 1.0, 2.0, 3.0];
    let parts = CandidateParts { ids, dim: 1, coordinates, ..CandidateParts::default() };
    let candidates = Candidates::new(parts).unwrap();
    let lists = Lists::new();
    let path = lists.write(concat!(
        "{\"query\": 1, \"candidates\": [18446744073709551615, \"7\", -2]}\n",
        "{\"query\": \"2\", \"candidates\": [7, \"c\"]}\n",
    ));
    let read = PerQuery::read(&path, &["1", "2"].map(String::from), &candidates).unwrap();
    assert_eq!((read.list(0), read.list(1)), (&[2, 0, 1][..], &[0, 3][..]));
}

#[test]
fn errors_name_file_and_line() {
    let lists = Lists::new();
    let good = "{\"query\": \"x\", \"candidates\": [\"c5\"]}\n";
    for (second, expected) in [
        ("{\"query\": \"y\"}", "missing field `candidates`"),
        ("{\"query\": 3.5, \"candidates\": [\"c1\"]}", "expected an id, a text or a whole number"),
        ("{\"query\": \"y\", \"candidates\": [true]}", "expected an id, a text or a whole number"),
        ("{\"query\": \"y\", \"candidates\": [7]}", "unknown candidate \"7\""),
        ("{\"query\": \"y\", \"candidate\": [\"c1\"]}", "unknown field `candidate`"),
        ("{\"query\": \"y\", \"candidates\": [\"c1\"", "EOF"),
        ("{\"query\": \"y\", \"candidates\": [\"c9\"]}", "unknown candidate \"c9\""),
        ("{\"query\": \"y\", \"candidates\": [\"c1\", \"c1\"]}", "candidate \"c1\" twice"),
        ("{\"query\": \"y\", \"candidates\": []}", "\"y\" has no candidates"),
        ("{\"query\": \"x\", \"candidates\": [\"c1\"]}", "a list in line 1 already"),
    ] {
        let path = lists.write(&format!("{good}{second}\n"));
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(error.contains("lists.jsonl:2:"), "{error}");
    }
    let path = lists.write(good);
    let error = message(read(&path));
    assert!(error.ends_with("lists.jsonl: no list of candidates for query \"y\""), "{error}");
    let path = lists.write("\u{feff}\u{0}");
    assert!(matches!(read(&path), Err(Error::File { line: Some(1), .. })));
    std::fs::write(&path, b"{\"query\": \"\xff\xfe\", \"candidates\": [\"c1\"]}").unwrap();
    assert!(matches!(read(&path), Err(Error::File { line: Some(1), .. })));
    assert!(matches!(read(Path::new("/nowhere/lists.jsonl")), Err(Error::File { line: None, .. })));
}

#[test]
fn moved_lists_hold_the_same_candidates() {
    let candidates = |ids: &[&str]| {
        let ids: Vec<String> = ids.iter().map(|id| id.to_string()).collect();
        let coordinates = (0..ids.len()).map(|at| at as f32).collect();
        Candidates::new(CandidateParts { ids, dim: 1, coordinates, ..CandidateParts::default() })
            .unwrap()
    };
    let from = candidates(&["a", "b", "c", "d"]);
    let to = candidates(&["c", "a", "d", "b"]);
    let lists = PerQuery::new(&[vec![0, 2], vec![3], vec![1, 0, 3]], &from).unwrap();
    let moved = lists.moved(&from, &to).unwrap();
    assert_eq!(moved, PerQuery::new(&[vec![1, 0], vec![2], vec![3, 1, 2]], &to).unwrap());
    assert_eq!(moved.moved(&to, &from).unwrap(), lists);
    let fewer = candidates(&["a", "b", "d"]);
    assert_eq!(message(lists.moved(&from, &fewer)), "candidate lists: unknown candidate \"c\"");
    assert_eq!(message(lists.moved(&fewer, &to)), "3 candidates, expected 4");
}
