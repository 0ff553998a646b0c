//! Candidates in shards that several ranks hold, against one process that holds all of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use dsokr_core::Error;
use dsokr_core::processes::{Processes, threads};
use dsokr_decode::{
    CandidateBlocks, CandidateParts, Candidates, Combination, Decoded, Ensemble, Member,
    MissingGold, PerQuery, Pool, Queries, ShardSet, Shards, StorageType, fit_weights,
};

use crate::common::{Set, golds, integer_queries, message, real_queries};

/// The metadata of shards without any.
static NONE: BTreeMap<String, String> = BTreeMap::new();

fn files(folder: &Path, count: usize, precision: StorageType) -> ShardSet<'_> {
    ShardSet { folder, count, precision, fingerprint: "these", metadata: &NONE }
}

fn write(candidates: &Candidates, folder: &Path, count: usize, precision: StorageType) {
    Shards::write(candidates, &files(folder, count, precision)).unwrap();
}

/// Returns the candidates with coordinates that 16 bits hold: the nearest, for numbers from 2⁻¹⁴ to 1.
fn rounded(set: &Set) -> Candidates {
    let round = |value: &f32| {
        let unit = 2f32.powi(value.abs().log2().floor() as i32 - 10);
        (value / unit).round_ties_even() * unit
    };
    let rows = set.rows.iter().map(|row| row.iter().map(round).collect()).collect();
    Set { rows, ..set.clone() }.candidates()
}

fn decode(rows: &[f32], candidates: &Candidates, gold: &[String], k: usize) -> Vec<Decoded> {
    let queries = Queries::new(candidates.dim(), rows).unwrap();
    let member = Member { name: "a", queries, candidates, normalised: true };
    let ensemble = Ensemble::new(vec![member]).unwrap();
    let gold = ensemble.gold(Pool::Shared, gold, MissingGold::RankInfinity).unwrap();
    ensemble.decode(Pool::Shared, &Combination::default(), &gold, k).unwrap()
}

#[test]
fn shards_find_what_all_candidates_do() {
    for (seed, count, distinct, dim, queries) in
        [(1, 1, 1, 1, 1), (2, 5, 3, 2, 4), (3, 700, 513, 3, 40), (4, 3000, 2500, 30, 3)]
    {
        // small integers tie in large numbers, real numbers never
        let reals = Set::reals(seed, count, distinct, dim);
        for (set, rounded, rows) in [
            (Set::integers(seed, count, distinct, dim), None, integer_queries(seed, queries, dim)),
            (reals.clone(), Some(rounded(&reals)), real_queries(seed, queries, dim)),
        ] {
            let all = set.candidates();
            let k = count.min(12);
            let gold = golds(seed, queries, count).into_iter();
            let mut gold: Vec<String> = gold.map(|gold| format!("c{gold}")).collect();
            gold[0] = "missing".into();
            for precision in [StorageType::F32, StorageType::F16, StorageType::I8] {
                let all = match (precision, &rounded) {
                    (StorageType::F16, Some(rounded)) => rounded,
                    _ => &all,
                };
                let one = decode(&rows, all, &gold, k);
                for (shard_count, size) in [(1, 3), (2, 2), (3, 2), (3, 7), (5, 1), (2, 5), (4, 6)]
                {
                    if shard_count > distinct {
                        continue;
                    }
                    let folder = tempfile::tempdir().unwrap();
                    write(&set.candidates(), folder.path(), shard_count, precision);
                    for actual in threads(size, |processes| {
                        let shards = Shards::open(processes, folder.path(), "these")?;
                        assert_eq!((shards.len(), shards.distinct()), (count, distinct));
                        let queries = Queries::new(dim, &rows)?;
                        let ensemble = Ensemble::sharded(processes, "", queries, &shards)?;
                        let missing = MissingGold::RankInfinity;
                        let places = ensemble.gold(Pool::Shared, &gold, missing)?;
                        let rule = Combination::Rank { weights: None };
                        let decoded = ensemble.decode(Pool::Shared, &rule, &places, k)?;
                        let hits = decoded.iter().flat_map(|query| &query.hits);
                        let some = shards.some(processes, hits.map(|hit| hit.candidate))?;
                        Ok::<_, Error>((decoded, some))
                    }) {
                        let (decoded, some) = actual.unwrap();
                        assert!(
                            decoded == one,
                            "{precision}: {shard_count} shards, {size} ranks, seed {seed}"
                        );
                        for (at, number) in some.numbers.into_iter().flatten().enumerate() {
                            let named = &some.candidates;
                            let row = all.class_of(number);
                            let class = named.class_of(at);
                            assert_eq!(named.id(at), all.id(number));
                            assert_eq!(named.label(at), all.label(number));
                            let by_name = named.point(class as usize);
                            let point = all.point(row as usize);
                            assert_eq!(by_name.unwrap(), point.unwrap());
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn shards_that_are_not_those_of_the_candidates_are_refused() {
    let set = Set::reals(1, 40, 30, 4);
    let folder = tempfile::tempdir().unwrap();
    let all = set.candidates();
    let alone = &Processes::default();
    let open = |fingerprint: &str| match Shards::open(alone, folder.path(), fingerprint) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    };
    let file = |name: &str| folder.path().join(name);
    let refused = |count, precision| {
        let written = Shards::write(&all, &files(folder.path(), count, precision));
        message(written)
    };
    assert!(open("these").ends_with("no shards of candidates"), "{}", open("these"));
    assert_eq!(
        refused(31, StorageType::F32),
        "31 shards, allowed: 1 to 30, the distinct candidates"
    );
    assert_eq!(refused(0, StorageType::F32), "0 shards, allowed: 1 to 30, the distinct candidates");
    write(&all, folder.path(), 3, StorageType::I8);
    assert_eq!(open("these"), "");
    let other = open("those");
    let expected = "shard-0-of-3.safetensors: a shard of other candidates: their fingerprint is these, that of the \
                    run's is those";
    assert!(other.ends_with(expected), "{other}");
    // ranks with different candidates, and with different folders
    let empty = tempfile::tempdir().unwrap();
    write(&all, empty.path(), 2, StorageType::F32);
    let actual = threads(2, |processes| {
        let fingerprint = if processes.rank() == 1 { "those" } else { "these" };
        let candidates = Shards::open(processes, folder.path(), fingerprint)
            .err()
            .map(|error| error.to_string());
        let place = if processes.rank() == 1 { empty.path() } else { folder.path() };
        (candidates, Shards::open(processes, place, "these").err().map(|error| error.to_string()))
    });
    let fingerprints =
        "rank 1: its fingerprint of the candidates is those, that of rank 0 is these";
    let counts = "rank 1: its number of shards is 2, that of rank 0 is 3";
    let expected = (Some(fingerprints.to_owned()), Some(counts.to_owned()));
    assert_eq!(actual, [expected.clone(), expected]);
    // a shard in the place of a different one, a damaged one, a missing one, and those of two sets
    let bytes = fs::read(file("shard-1-of-3.safetensors")).unwrap();
    let last = "shard-2-of-3.safetensors";
    let kept = fs::read(file(last)).unwrap();
    fs::write(file(last), &bytes).unwrap();
    assert!(open("these").ends_with("shard 1 of 3, expected shard 2 of 3"), "{}", open("these"));
    let mut damaged = kept.clone();
    let place = damaged.windows(5).position(|bytes| bytes == b"label").unwrap();
    damaged[place] ^= 1;
    fs::write(file(last), &damaged).unwrap();
    assert!(open("these").contains(last), "{}", open("these"));
    fs::remove_file(file(last)).unwrap();
    assert!(open("these").ends_with(&format!("{last}: no such file")), "{}", open("these"));
    fs::write(file(last), &kept).unwrap();
    write(&all, folder.path(), 2, StorageType::I8);
    let expected = "shards of several sets, of [2, 3] shards; expected one set";
    assert!(open("these").ends_with(expected), "{}", open("these"));
}

#[test]
fn damaged_coordinates_and_scores_that_overflow_are_errors_of_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let set = Set::reals(1, 40, 30, 4);
    write(&set.candidates(), folder.path(), 2, StorageType::F32);
    let file = folder.path().join("shard-1-of-2.safetensors");
    let mut bytes = fs::read(&file).unwrap();
    let last = set.rows[29].iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let place = bytes.windows(16).position(|window| window == last).unwrap();
    bytes[place] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let find = |rows: Vec<f32>| {
        threads(3, |processes| {
            let shards = Shards::open(processes, folder.path(), "these")?;
            let ensemble = Ensemble::sharded(processes, "", Queries::new(4, &rows)?, &shards)?;
            ensemble.top_k(Pool::Shared, &Combination::default(), 3)
        })
    };
    for (rank, actual) in find(vec![1.0; 4]).into_iter().enumerate() {
        let error = message(actual);
        assert!(error.contains("damaged: checksum of block 0 of \"coordinates\""), "{error}");
        assert_eq!(error.starts_with("rank 2: "), rank != 2, "{error}");
    }
    write(&set.candidates(), folder.path(), 2, StorageType::F32);
    assert!(find(vec![1.0; 4]).iter().all(Result::is_ok));
    // elsewhere than on the ranks that have opened them
    let alone = threads(2, |processes| {
        let shards = Shards::open(processes, folder.path(), "these")?;
        shards.some(&Processes::default(), [0]).map(|_| ())
    });
    let expected = "rank 0 of 1 asks shards that rank 1 of 2 has opened";
    assert_eq!(message(alone.into_iter().nth(1).unwrap()), expected);
    for actual in find(vec![f32::MAX, f32::MAX, f32::MAX, f32::MAX]) {
        assert!(message(actual).contains("is not a finite number"));
    }
}

#[test]
fn lists_and_weights_need_all_candidates_in_one_place() {
    let folder = tempfile::tempdir().unwrap();
    let all = Set::reals(1, 40, 30, 4).candidates();
    write(&all, folder.path(), 2, StorageType::F32);
    let alone = &Processes::default();
    let shards = Shards::open(alone, folder.path(), "these").unwrap();
    let queries = Queries::new(4, &[1.0; 4]).unwrap();
    let ensemble = Ensemble::sharded(alone, "run", queries, &shards).unwrap();
    let lists = PerQuery::new(&[vec![0]], &all).unwrap();
    let rule = Combination::default();
    let actual = ensemble.decode(Pool::PerQuery(&lists), &rule, &[None], 1);
    let expected = "lists of queries, allowed: all candidates, where they are in shards";
    assert_eq!(message(actual), expected);
    let actual = fit_weights(&ensemble, Pool::Shared, &rule, &[Some(0)], 0);
    assert_eq!(message(actual), "the weights of models whose candidates are in shards");
    // two queries of one dimension
    let actual = Ensemble::sharded(alone, "run", Queries::new(1, &[1.0; 2]).unwrap(), &shards);
    assert!(message(actual).starts_with("ensemble member \"run\": queries of dimension 1"));
}

#[test]
fn sixteen_bits_hold_coordinates_up_to_65504() {
    let ids = ["a", "b"].map(String::from).to_vec();
    let coordinates = vec![1.0, 65504.0, -65520.0, 2.0];
    let parts = CandidateParts { ids, dim: 2, coordinates, ..CandidateParts::default() };
    let candidates = Candidates::new(parts).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let written = Shards::write(&candidates, &files(folder.path(), 1, StorageType::F16));
    let expected = "candidate row 1, coordinate 0: -65520 in 16 bits, allowed: -65504 to 65504";
    assert_eq!(message(written), expected);
}
