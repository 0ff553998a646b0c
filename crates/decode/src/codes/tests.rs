use std::collections::BTreeMap;

use dsokr_basis::random::{generator, unit};
use proptest::prelude::*;

use super::*;
use crate::scoring::{MANY, QueryTile, product};
use crate::shards::Part;
use crate::{
    CandidateBlocks, CandidateParts, Candidates, Error, Precision, Queries, Rank, RowHit, ShardSet,
    Shards, rank, top_k, top_rows,
};

/// Numbers of very different sizes, many of them equal.
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

/// Rows of ordinary or very small numbers.
fn scale() -> impl Strategy<Value = f32> {
    prop_oneof![
        6 => Just(1.0f32),
        1 => Just(1e-9),
        1 => Just(1e-30),
        1 => Just(1e8),
    ]
}

/// Dimension, rows, queries, constants.
fn sets() -> impl Strategy<Value = (usize, Vec<f32>, Vec<f32>, Vec<f32>)> {
    (1usize..70, 1usize..20, 1usize..40).prop_flat_map(|(dim, rows, queries)| {
        let numbers = |count, scale: f32| {
            prop::collection::vec(number().prop_map(move |value| value * scale), count)
        };
        let numbers = |count| scale().prop_flat_map(move |scale| numbers(count, scale));
        (Just(dim), numbers(rows * dim), numbers(queries * dim), numbers(rows))
    })
}

proptest! {
    /// Whatever is decided is right for bars that are scores, or the numbers beside them.
    #[test]
    fn what_is_decided_is_right((dim, rows, queries, constants) in sets(), at in 0usize..20) {
        let tile = QueryTile::new(0..queries.len() / dim, dim, &queries);
        let (lanes, count) = (tile.lanes, constants.len());
        let mut scores = Vec::new();
        product(&tile, dim, &rows, &mut scores);
        for (scores, constant) in scores.chunks_exact_mut(lanes).zip(&constants) {
            scores.iter_mut().for_each(|score| *score += constant);
        }
        let coded = TileCodes::new(dim, &queries);
        let codes = RowCodes::new(dim, &rows, &constants).expect("small");
        prop_assert!(codes.finite_with(&coded));
        // a bit for each row says which ones were counted
        let weights: Vec<u32> = (0..count).map(|row| 1 << row).collect();
        let chosen = &scores[at % count * lanes..][..lanes];
        for move_by in [f32::next_down as fn(f32) -> f32, |score| score, f32::next_up] {
            let bars: Vec<f32> = chosen.iter().map(|&score| move_by(score)).collect();
            let comparison = Comparison {
                tile: &coded, rows: &codes, constants: &constants, weights: &weights, bars: &bars,
            };
            for portable in [false, true] {
                let (mut above, mut doubts) = (vec![0; lanes], vec![Vec::new(); lanes / LANES]);
                Prepared::new(&comparison).compare(!portable, true, &mut above, &mut doubts);
                let doubt = |row: usize, lane: usize| doubts[lane / LANES].iter().any(|doubt: &Doubt| {
                    doubt.row as usize == row && doubt.lanes >> (lane % LANES) & 1 == 1
                });
                for lane in 0..queries.len() / dim {
                    for row in 0..count {
                        let score = scores[row * lanes + lane];
                        let counted = above[lane] & weights[row] != 0;
                        prop_assert!(!counted || score > bars[lane], "{score} > {}", bars[lane]);
                        prop_assert!(counted || doubt(row, lane) || score < bars[lane]);
                    }
                }
            }
        }
    }
}

/// Numbers that 16 bits hold: of very different sizes, equal, denormal, at the limits, and beside others.
fn half() -> impl Strategy<Value = f32> {
    let numbers = prop_oneof![
        4 => -1.0f32..1.0,
        2 => (-3i8..4).prop_map(f32::from),
        1 => Just(0.0f32),
        1 => prop::sample::select(vec![65_504.0f32, -65_504.0, 65_472.0, -0.0, 6.103_515_6e-5]),
        1 => (-1.0f32..1.0).prop_map(|value| value * 1e4),
        1 => (-40i8..41).prop_map(|steps| f32::from(steps) * 2f32.powi(-24)),
    ];
    (numbers, -1i16..2).prop_map(|(value, step)| {
        let bits = half::f16::from_f32(value).to_bits();
        let near = half::f16::from_bits(bits.wrapping_add_signed(step)).to_f32();
        if near.is_finite() { near } else { value }
    })
}

/// Dimension, rows, queries, constants and golds.
type HalfSet = (usize, Vec<f32>, Vec<f32>, Vec<f32>, Vec<Option<u32>>);

/// Sets with rows that are nearly equal to others or much smaller.
fn half_sets() -> impl Strategy<Value = HalfSet> {
    (1usize..50, 2usize..50, 1usize..40).prop_flat_map(|(dim, rows, queries)| {
        let points = prop::collection::vec(half(), rows * dim);
        let changes = prop::collection::vec((0..rows, 0..rows, 0..dim, half(), 0u8..3), 0..rows);
        let points = (points, changes).prop_map(move |(mut points, changes)| {
            for (from, to, column, value, change) in changes {
                points.copy_within(from * dim..(from + 1) * dim, to * dim);
                let row = &mut points[to * dim..(to + 1) * dim];
                match change {
                    0 => {}
                    1 => row[column] = value,
                    _ => row.iter_mut().for_each(|value| *value *= 2f32.powi(-12)),
                }
            }
            points
        });
        let numbers = |count| prop::collection::vec(number(), count);
        let golds = prop::collection::vec(prop::option::of(0..rows as u32), queries);
        (Just(dim), points, numbers(queries * dim), numbers(rows), golds)
    })
}

proptest! {
    /// Shards of 16 bits with codes give the ranks and hits of the plain scan of the rounded rows, whether they are
    /// written from candidates or from a source of rows.
    #[test]
    fn rounded_shards_with_codes_are_scanned_exactly(
        (dim, rows, z, constants, gold) in half_sets(), of in 1usize..3,
    ) {
        let rows: Vec<f32> = rows.iter().map(|&own| half::f16::from_f32(own).to_f32()).collect();
        let ids: Vec<String> = (0..constants.len()).map(|row| format!("c{row}")).collect();
        let parts = CandidateParts { ids, dim, coordinates: rows, constants, ..CandidateParts::default() };
        let plain = Candidates::new(parts).expect("finite");
        let folder = tempfile::tempdir().expect("a folder");
        let metadata = BTreeMap::new();
        for streamed in [false, true] {
            let set = ShardSet {
                folder: folder.path(), of, precision: Precision::F16, fingerprint: "these", metadata: &metadata,
            };
            let text = |row: usize| [plain.id(row).to_owned(), String::new()];
            let part = |rows| if streamed { Ok(Part::of_rows(rows, &text)) } else { Part::of(&plain, rows) };
            set.write(&plain, 0, part).expect("written");
            let shards = Shards::open(folder.path(), "these").expect("opened");
            prop_assert!(shards.held().all(|own| own.coded(0..1).is_ok_and(|coded| coded.is_some())));
            for at_once in [1, 7, 40] {
                for (z, gold) in z.chunks(at_once * dim).zip(gold.chunks(at_once)) {
                    let queries = Queries::new(dim, z).expect("finite");
                    let found = shards.decode(&queries, gold, 2).expect("decoded");
                    let ranks = rank(&queries, gold, &plain).expect("ranked");
                    prop_assert!(found.iter().map(|own| own.rank).eq(ranks));
                    let hits = top_k(&queries, &plain, 2).expect("found");
                    prop_assert!(found.iter().map(|own| own.hits.clone()).eq(hits));
                }
            }
        }
    }
}

/// Candidates as bases make them, leading coordinates larger than others, every tenth equal to that before it but
/// for a last digit, and queries with golds.
fn drawn(dim: usize, rows: usize, queries: usize) -> (CandidateParts, Vec<f32>, Vec<Option<u32>>) {
    let mut random = generator(0, "codes", 0);
    let mut numbers = |count: usize| -> Vec<f32> {
        let number = |at| (unit(&mut random) as f32 - 0.5) / ((at % dim) as f32 + 1.0).sqrt();
        (0..count).map(number).collect()
    };
    let (mut coordinates, z) = (numbers(rows * dim), numbers(queries * dim));
    for row in (10..rows).step_by(10) {
        coordinates.copy_within((row - 1) * dim..row * dim, row * dim);
        coordinates[row * dim] = coordinates[row * dim].next_up();
    }
    let parts = CandidateParts {
        ids: (0..rows).map(|row| row.to_string()).collect(),
        dim,
        coordinates,
        constants: (0..rows).map(|row| (row % 7) as f32 * 0.01).collect(),
        ..CandidateParts::default()
    };
    let gold = |query| (query % 9 != 0).then_some((query * 10 % rows) as u32);
    (parts, z, (0..queries).map(gold).collect())
}

type Answers = (Vec<Option<Rank>>, Vec<Vec<RowHit>>);

/// Ranks and hits of all queries, at most so many at once.
fn answers(
    z: &[f32],
    gold: &[Option<u32>],
    candidates: &Candidates,
    at_once: usize,
) -> Result<Answers, Error> {
    let (mut ranks, mut hits, dim) = (Vec::new(), Vec::new(), candidates.dim());
    for (z, gold) in z.chunks(at_once * dim).zip(gold.chunks(at_once)) {
        let queries = Queries::new(dim, z)?;
        ranks.extend(rank(&queries, gold, candidates)?);
        hits.extend(top_rows(&queries, candidates, 13)?);
    }
    Ok((ranks, hits))
}

#[test]
fn ranks_and_hits_are_those_without_codes() -> Result<(), Error> {
    let (parts, z, gold) = drawn(100, 3_000, MANY + 40);
    let candidates = Candidates::new(parts)?;
    let exact = answers(&z, &gold, &candidates, 50)?;
    assert_eq!(answers(&z, &gold, &candidates, gold.len())?, exact);
    Ok(())
}

#[test]
fn codes_of_a_file_change_nothing_and_damage_is_found() -> Result<(), Box<dyn std::error::Error>> {
    let (parts, z, gold) = drawn(37, 3_000, 40);
    let candidates = Candidates::new(parts)?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("candidates.safetensors");
    candidates.save_mapped(&path, &BTreeMap::new())?;
    let mapped = Candidates::load(&path)?;
    assert!(candidates.coded(0..1)?.is_none() && mapped.coded(0..1)?.is_some());
    for at_once in [1, 40] {
        assert_eq!(answers(&z, &gold, &mapped, at_once)?, answers(&z, &gold, &candidates, 40)?);
    }
    // codes are bytes of all kinds, which stand nowhere else in the file
    let codes = Coded::new(37, &candidates.coordinates()?[..37 * 8]).codes;
    let mut bytes = std::fs::read(&path)?;
    let codes: &[u8] = bytemuck::cast_slice(&codes);
    let place = bytes.windows(codes.len()).position(|window| window == codes);
    bytes[place.expect("codes are in the file") + 5] ^= 4;
    std::fs::write(&path, bytes)?;
    let error = answers(&z, &gold, &Candidates::load(&path)?, 1).expect_err("damaged");
    assert!(error.to_string().contains("checksum of block 0 of \"codes\""), "{error}");
    Ok(())
}

#[test]
fn rotations_keep_inner_products_and_spread_large_coordinates() {
    for dim in [1usize, 2, 3, 7, 64, 100, 255] {
        let mut first: Vec<f32> = (0..dim).map(|at| (at as f32 * 0.7).cos()).collect();
        let mut second = vec![0.0; dim];
        second[0] = 5.0;
        let inner = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let before = (inner(&first, &second), inner(&first, &first));
        rotate(&mut first);
        rotate(&mut second);
        let after = (inner(&first, &second), inner(&first, &first));
        assert!((before.0 - after.0).abs() < 1e-5 && (before.1 - after.1).abs() < 1e-4 * before.1);
        let largest = second.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
        assert!(largest < 5.0 * 1.5 / (dim as f32).sqrt().max(1.5) + 1e-5, "{dim}: {largest}");
    }
}

#[test]
fn rows_whose_scores_might_overflow_have_no_codes() {
    assert!(RowCodes::new(2, &[1e38, 1e38], &[0.0]).is_none());
    assert!(RowCodes::new(1, &[1.0], &[2e30]).is_none());
    assert!(RowCodes::new(2, &[1.0, f32::NAN], &[0.0]).is_none());
    assert!(RowCodes::new(1, &[1.0, 1.0], &[f32::NAN, 0.0]).is_none());
    let rows = RowCodes::new(1, &[1e20], &[0.0]).expect("finite");
    assert!(!rows.finite_with(&TileCodes::new(1, &[1e20])));
    assert!(rows.finite_with(&TileCodes::new(1, &[1.0])));
}
