//! Candidates with codes of 8 bits against the same without.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use dsokr_core::random::{generator, unit};
use dsokr_core::{Error, Processes};
use dsokr_decode::{
    CandidateBlocks, CandidateParts, Candidates, Columns, Combination, Ensemble, Pool, Queries,
    Rank, RowHit, ShardSet, Shards, StorageType, rank, top_k, top_rows,
};
use proptest::prelude::*;

/// The metadata of a file without any.
static NONE: BTreeMap<String, String> = BTreeMap::new();

fn numbered(dim: usize, coordinates: Vec<f32>, constants: Vec<f32>) -> Candidates {
    let ids = (0..constants.len()).map(|row| format!("c{row}")).collect();
    let parts = CandidateParts { ids, dim, coordinates, constants, ..CandidateParts::default() };
    Candidates::new(parts).expect("finite")
}

/// Returns the same candidates in a file with codes.
fn mapped(candidates: &Candidates, folder: &Path) -> Result<Candidates, Error> {
    let path = folder.join("candidates");
    candidates.save_mapped(&path, &NONE)?;
    Candidates::load(&path)
}

/// Returns numbers of very different sizes, many of them equal.
fn number() -> impl Strategy<Value = f32> {
    prop_oneof![
        4 => -1.0f32..1.0,
        2 => (-3i8..4).prop_map(f32::from),
        1 => Just(0.0f32),
        1 => (-1.0f32..1.0).prop_map(|value| value * 1e4),
        1 => (-1.0f32..1.0).prop_map(|value| value * 1e-6),
        1 => (-1.0f32..1.0).prop_map(|value| value * 1e-34),
    ]
}

/// Dimension, rows, queries, constants and golds.
type Drawn = (usize, Vec<f32>, Vec<f32>, Vec<f32>, Vec<Option<u32>>);

/// Draws sets of ordinary or very small or large numbers, where some rows are equal to others but for a coordinate or the
/// last digit of the constant, and some are much smaller.
fn sets() -> impl Strategy<Value = Drawn> {
    (1usize..70, 2usize..40, 1usize..40).prop_flat_map(|(dim, rows, queries)| {
        let scale = || prop::sample::select(vec![1.0f32, 1.0, 1.0, 1.0, 1e-9, 1e-30, 1e8]);
        let numbers = |count| {
            let scaled = move |scale: f32| number().prop_map(move |value| value * scale);
            scale().prop_flat_map(move |scale| prop::collection::vec(scaled(scale), count))
        };
        let changes = prop::collection::vec((0..rows, 0..rows, 0..dim, number(), 0u8..5), 0..rows);
        let changed = (numbers(rows * dim), numbers(rows), changes);
        let changed = changed.prop_map(move |(mut points, mut constants, changes)| {
            for (from, to, column, value, change) in changes {
                points.copy_within(from * dim..(from + 1) * dim, to * dim);
                constants[to] = constants[from];
                let row = &mut points[to * dim..(to + 1) * dim];
                match change {
                    0 => {}
                    1 => row[column] = value,
                    2 => row.iter_mut().for_each(|value| *value *= 2f32.powi(-12)),
                    3 => constants[to] = constants[from].next_up(),
                    _ => constants[to] = constants[from].next_down(),
                }
            }
            (points, constants)
        });
        let golds = prop::collection::vec(prop::option::of(0..rows as u32), queries);
        (Just(dim), changed, numbers(queries * dim), golds).prop_map(
            |(dim, (points, constants), queries, golds)| (dim, points, queries, constants, golds),
        )
    })
}

proptest! {
    /// Files and shards with codes give the ranks and hits of the plain scan, whether they are written from
    /// candidates or from a source of rows.
    #[test]
    fn codes_are_scanned_exactly((dim, rows, z, constants, gold) in sets(), count in 1usize..3) {
        let plain = numbered(dim, rows, constants);
        let folder = tempfile::tempdir().expect("a folder");
        let coded = mapped(&plain, folder.path()).expect("written");
        prop_assert!(coded.coded(0..1).is_ok_and(|coded| coded.is_some()));
        let [whole, streamed] = ["whole", "streamed"].map(|name| {
            let folder = folder.path().join(name);
            std::fs::create_dir(&folder).expect("a folder");
            let precision = StorageType::I8;
            let set = ShardSet { folder: &folder, count, precision, fingerprint: "these", metadata: &NONE };
            let columns = |rows: Range<usize>| {
                Columns::new(rows.map(|row| plain.id(row).to_owned()).collect(), Vec::new())
            };
            match name {
                "whole" => Shards::write(&plain, &set),
                _ => Shards::write_rows(&plain, &columns, &set),
            }
            .expect("written");
            Shards::open(&Processes::default(), &folder, "these").expect("opened")
        });
        // one dot product at a time, some, and all at once
        for at_once in [1, 7, 40] {
            for (z, gold) in z.chunks(at_once * dim).zip(gold.chunks(at_once)) {
                let queries = Queries::new(dim, z).expect("finite");
                let ranks = rank(&queries, gold, &plain).expect("ranked");
                let hits = top_k(&queries, &plain, 2).expect("found");
                prop_assert_eq!(&rank(&queries, gold, &coded).expect("ranked"), &ranks);
                prop_assert_eq!(&top_k(&queries, &coded, 2).expect("found"), &hits);
                for shards in [&whole, &streamed] {
                    let ensemble = Ensemble::sharded(&Processes::default(), "", queries, shards).expect("alike");
                    let actual = ensemble.decode(Pool::Shared, &Combination::default(), gold, 2);
                    let actual = actual.expect("decoded");
                    prop_assert!(actual.iter().map(|decoded| decoded.rank).eq(ranks.iter().copied()));
                    prop_assert!(actual.iter().map(|decoded| &decoded.hits).eq(&hits));
                }
            }
        }
    }
}

/// Returns candidates as bases make them, leading coordinates larger than others, every tenth equal to that before it
/// but for a last digit, and queries with golds.
fn drawn(dim: usize, rows: usize, queries: usize) -> (Candidates, Vec<f32>, Vec<Option<u32>>) {
    let mut random = generator(0, "codes", 0);
    let mut numbers = |count: usize| -> Vec<f32> {
        let number = |at| (unit(&mut random) as f32 - 0.5) / ((at % dim) as f32 + 1.0).sqrt();
        (0..count).map(number).collect()
    };
    let mut coordinates = numbers(rows * dim);
    let z = numbers(queries * dim);
    for row in (10..rows).step_by(10) {
        coordinates.copy_within((row - 1) * dim..row * dim, row * dim);
        coordinates[row * dim] = coordinates[row * dim].next_up();
    }
    let constants = (0..rows).map(|row| (row % 7) as f32 * 0.01).collect();
    let gold = |query| (query % 9 != 0).then_some((query * 10 % rows) as u32);
    (numbered(dim, coordinates, constants), z, (0..queries).map(gold).collect())
}

type Answers = (Vec<Option<Rank>>, Vec<Vec<RowHit>>);

/// Returns ranks and hits of all queries, at most so many at once.
fn answers(
    z: &[f32],
    gold: &[Option<u32>],
    candidates: &Candidates,
    at_once: usize,
) -> Result<Answers, Error> {
    let mut ranks = Vec::new();
    let mut hits = Vec::new();
    let dim = candidates.dim();
    for (z, gold) in z.chunks(at_once * dim).zip(gold.chunks(at_once)) {
        let queries = Queries::new(dim, z)?;
        ranks.extend(rank(&queries, gold, candidates)?);
        hits.extend(top_rows(&queries, candidates, 13)?);
    }
    Ok((ranks, hits))
}

#[test]
fn codes_that_many_queries_are_worth_change_nothing() -> Result<(), Error> {
    let (candidates, z, gold) = drawn(100, 3_000, 296);
    let exact = answers(&z, &gold, &candidates, 50)?;
    assert_eq!(answers(&z, &gold, &candidates, gold.len())?, exact);
    Ok(())
}

/// Ranks and hits share a pass over the codes, in which a pair may be in doubt for one, the other or both.
#[test]
fn one_pass_gives_the_ranks_and_the_hits_of_two() -> Result<(), Box<dyn std::error::Error>> {
    let (candidates, z, gold) = drawn(100, 6_000, 296);
    let (ranks, hits) = answers(&z, &gold, &candidates, 50)?;
    let folder = tempfile::tempdir()?;
    let coded = mapped(&candidates, folder.path())?;
    for at_once in [1, 40, gold.len()] {
        let mut actual = Vec::new();
        for (z, gold) in z.chunks(at_once * 100).zip(gold.chunks(at_once)) {
            let ensemble = Ensemble::one(Queries::new(100, z)?, &coded, None)?;
            actual.extend(ensemble.decode(Pool::Shared, &Combination::default(), gold, 13)?);
        }
        assert!(actual.iter().map(|decoded| decoded.rank).eq(ranks.iter().copied()), "{at_once}");
        let rows = actual.into_iter().map(|decoded| {
            let hits = decoded.hits.into_iter();
            hits.map(|hit| RowHit { row: hit.candidate, score: hit.score }).collect::<Vec<_>>()
        });
        assert!(rows.eq(hits.iter().cloned()), "{at_once}");
    }
    Ok(())
}

#[test]
fn codes_of_a_file_change_nothing_and_damage_is_found() -> Result<(), Box<dyn std::error::Error>> {
    let (candidates, z, gold) = drawn(37, 3_000, 40);
    let folder = tempfile::tempdir()?;
    let coded = mapped(&candidates, folder.path())?;
    assert!(candidates.coded(0..1)?.is_none() && coded.coded(0..1)?.is_some());
    for at_once in [1, 40] {
        assert_eq!(answers(&z, &gold, &coded, at_once)?, answers(&z, &gold, &candidates, 40)?);
    }
    let path = folder.path().join("candidates");
    let mut bytes = std::fs::read(&path)?;
    let length = u64::from_le_bytes(*bytes.first_chunk().expect("a header")) as usize;
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length])?;
    let start = header["codes"]["data_offsets"][0].as_u64().expect("codes") as usize;
    bytes[8 + length + start + 5] ^= 4;
    std::fs::write(&path, bytes)?;
    let error = answers(&z, &gold, &Candidates::load(&path)?, 1).expect_err("damaged");
    assert!(error.to_string().contains("checksum of block 0 of \"codes\""), "{error}");
    Ok(())
}

#[test]
fn rows_whose_scores_might_overflow_have_no_codes() {
    let folder = tempfile::tempdir().unwrap();
    for (coordinates, constant, codes) in
        [([1e38, 1e38], 0.0, false), ([1.0, 1.0], 2e30, false), ([1e20, 1e20], 0.0, true)]
    {
        let coded = mapped(&numbered(2, coordinates.to_vec(), vec![constant]), folder.path());
        let coded = coded.unwrap();
        assert_eq!(coded.coded(0..1).unwrap().is_some(), codes, "{coordinates:?}");
        // 2e40 is not finite with codes either
        let actual = top_k(&Queries::new(2, &[1e20, 1e20]).unwrap(), &coded, 1);
        let large = coordinates[0] > 1.0;
        assert_eq!(matches!(actual, Err(Error::NotFiniteAt { .. })), large, "{coordinates:?}");
    }
}
