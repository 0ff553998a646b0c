use proptest::prelude::*;

use super::*;
use crate::scoring::{MANY, QueryTile, product};
use crate::{CandidateParts, Candidates, Queries, rank, top_rows};

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

/// Dimension, rows, queries, constants.
fn sets() -> impl Strategy<Value = (usize, Vec<f32>, Vec<f32>, Vec<f32>)> {
    (1usize..70, 1usize..20, 1usize..40).prop_flat_map(|(dim, rows, queries)| {
        let numbers = |count| prop::collection::vec(number(), count);
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
                Each::new(&comparison).compare(!portable, true, &mut above, &mut doubts);
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

/// Codes decide nearly all comparisons of rows as bases make them, and change no rank and no hit.
#[test]
fn ranks_and_hits_are_those_without_codes() -> Result<(), crate::Error> {
    use dsokr_basis::random::{generator, unit};
    let (dim, rows, queries) = (100, 3_000, MANY + 40);
    let mut random = generator(0, "codes", 0);
    let mut numbers = |count: usize| -> Vec<f32> {
        // leading coordinates are larger
        (0..count)
            .map(|at| (unit(&mut random) as f32 - 0.5) / ((at % dim) as f32 + 1.0).sqrt())
            .collect()
    };
    let (mut points, z) = (numbers(rows * dim), numbers(queries * dim));
    // every tenth row is that before it, but for a last digit
    for row in (10..rows).step_by(10) {
        points.copy_within((row - 1) * dim..row * dim, row * dim);
        points[row * dim] = points[row * dim].next_up();
    }
    let candidates = Candidates::new(CandidateParts {
        ids: (0..rows).map(|row| row.to_string()).collect(),
        dim,
        coordinates: points,
        constants: (0..rows).map(|row| (row % 7) as f32 * 0.01).collect(),
        ..CandidateParts::default()
    })?;
    let gold: Vec<Option<u32>> =
        (0..queries).map(|query| (query % 9 != 0).then_some((query * 10) as u32)).collect();
    let at_once = Queries::new(dim, &z)?;
    let (ranks, hits) = (rank(&at_once, &gold, &candidates)?, top_rows(&at_once, &candidates, 13)?);
    for (start, part) in z.chunks(50 * dim).enumerate().map(|(at, part)| (50 * at, part)) {
        let few = Queries::new(dim, part)?;
        let range = start..start + few.len();
        assert_eq!(rank(&few, &gold[range.clone()], &candidates)?, ranks[range.clone()]);
        assert_eq!(top_rows(&few, &candidates, 13)?, hits[range]);
    }
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
