//! Feature rows.

use std::borrow::Cow;

use dsokr_basis::features::*;
use dsokr_basis::{Basis, Features, Kernel, RowKind, RowSource, SketchKind, SketchOptions};
use dsokr_core::Error;
use dsokr_core::random::{below, generator};
use proptest::prelude::*;

use crate::support::{cases, expand, product, refused, through, transpose};

#[test]
fn rows_that_are_not_whole_are_refused() {
    assert!(refused(DenseRows::new(0, vec![]), "rows of width 0"));
    assert!(refused(
        DenseRows::new(3, vec![0.0; 7]),
        "7 values are not a whole number of rows of 3"
    ));
    assert!(refused(
        BitRows::from_packed(9, &[0; 3]),
        "3 values are not a whole number of rows of 2"
    ));
    assert!(refused(BitRows::from_packed(0, &[]), "rows of width 0"));
    let wide = u32::MAX as usize + 1;
    assert!(refused(BitRows::from_indices(wide, [[0]]), &format!("rows of width {wide}: at most")));
    assert!(refused(
        BitBlock::new(65, Cow::Owned(vec![0; 3])),
        "3 values are not a whole number of rows of 2"
    ));
}

#[test]
fn numbers_that_are_not_finite_are_named() {
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for at in [0, 5, 1030, 2999] {
            let mut values = vec![1.0; 3000];
            values[at] = value;
            match DenseRows::new(10, values).unwrap_err() {
                Error::NotFinite { row, column, value: actual, .. } => {
                    assert_eq!(
                        (10 * row + column, actual.to_bits()),
                        (at, f64::from(value).to_bits())
                    );
                }
                other => panic!("{other}"),
            }
        }
        let rows = [vec![], vec![(1, 1.0)], vec![(0, 1.0), (7, value)]];
        let error = SparseRows::from_rows(9, rows).unwrap_err();
        assert!(matches!(error, Error::NotFinite { row: 2, column: 7, .. }), "{error}");
    }
}

#[test]
fn bits_beyond_the_row_are_refused() {
    assert!(BitRows::from_packed(12, &[0xFF, 0xF0]).is_ok());
    let error = BitRows::from_packed(12, &[0xFF, 0xF0, 0, 0x08]).unwrap_err();
    assert!(error.to_string().contains("row 1: a padding bit beyond bit 12"), "{error}");
    let error = BitRows::from_indices(12, [vec![3], vec![12]]).unwrap_err();
    assert!(error.to_string().contains("row 1: column 12 is outside of 0..12"), "{error}");
    let error = BitBlock::new(3, Cow::Owned(vec![7, 8])).unwrap_err();
    assert!(error.to_string().contains("row 1: a padding bit beyond bit 3"), "{error}");
}

#[test]
fn sparse_rows_are_checked() {
    let new = SparseRows::new;
    assert!(new(4, vec![0, 1, 1], vec![3], vec![1.0]).is_ok());
    for offsets in [vec![], vec![1, 1], vec![0, 2], vec![0, 1, 0, 1], vec![0, usize::MAX, 1]] {
        let error = new(4, offsets.clone(), vec![3], vec![1.0]).unwrap_err();
        assert!(error.to_string().contains("sparse offset"), "{offsets:?}: {error}");
    }
    let error = new(4, vec![0, 2], vec![3], vec![1.0, 2.0]).unwrap_err();
    assert!(error.to_string().contains("1 column indices for 2 values"), "{error}");
    for columns in [vec![2, 2], vec![2, 1]] {
        let error = new(4, vec![0, 0, 2], columns, vec![1.0, 2.0]).unwrap_err();
        assert!(error.to_string().contains("follows column 2;"), "{error}");
    }
    let error = new(4, vec![0, 0, 1], vec![4], vec![1.0]).unwrap_err();
    assert!(error.to_string().contains("row 1: column 4 is outside of 0..4"), "{error}");
}

/// The layout of `numpy.packbits`: `[1, 0, 0, 0, 0, 0, 0, 0, 0, 1]` packs to `[0x80, 0x40]`.
#[test]
fn packed_bits_start_with_the_most_significant() {
    let rows = BitRows::from_packed(10, &[0x80, 0x40, 0x03, 0xC0]).unwrap();
    let Features::Bits(rows) = Features::from(rows) else { panic!() };
    let rows = Features::Bits(rows);
    let dsokr_basis::Block::Bits(block) = &rows else { panic!() };
    assert_eq!(block.ones(0).collect::<Vec<_>>(), [0, 9]);
    assert_eq!(block.ones(1).collect::<Vec<_>>(), [6, 7, 8, 9]);
    assert_eq!(block.ones(2).count(), 0);
}

#[test]
fn ranges_outside_are_refused() {
    for (_, rows) in cases(5) {
        #[allow(clippy::reversed_empty_ranges)]
        for range in [0..6, 4..3, 6..6, usize::MAX..usize::MAX] {
            assert!(refused(rows.block(range.clone()), " of a set of "));
            let block = rows.block(0..5).unwrap();
            assert!(refused(block.block(range), " of a set of "));
        }
        for index in [5, usize::MAX] {
            assert!(refused(rows.select(&[0, index]), " of a set of "));
        }
        assert!(rows.block(5..5).unwrap().is_empty());
    }
}

#[test]
fn selected_and_sliced_rows_are_the_same_rows() {
    for (_, rows) in cases(9) {
        let whole = expand(&rows);
        let indices = [8, 0, 1, 2, 2, 3, 7];
        let selected = rows.select(&indices).unwrap();
        assert_eq!(expand(&selected), indices.map(|i| whole[i].clone()));
        let part = rows.block(2..8).unwrap();
        assert_eq!(expand(&part), whole[2..8]);
        assert_eq!(expand(&part.block(1..4).unwrap()), whole[3..6]);
        assert_eq!(part.block(1..4).unwrap().squared_norms(), rows.squared_norms()[3..6]);
        let mut joined = rows.select(&[0, 1]).unwrap();
        joined.append(&part).unwrap();
        assert_eq!(expand(&joined), [&whole[..2], &whole[2..8]].concat());
        assert_eq!(expand(&joined)[2..], whole[2..8]);
    }
}

#[test]
fn a_source_that_returns_other_rows_is_refused() {
    let rows = Features::Dense(DenseRows::new(2, vec![1.0; 12]).unwrap());
    let basis = |rows: &dyn RowSource| {
        Basis::fit(Kernel::Linear, rows, &SketchOptions::new(SketchKind::Gaussian, 1))
    };
    let good = basis(&rows).unwrap();
    // one row too few, from some row on
    let short = through(&rows, |source, rows| {
        source.block(rows.start..rows.end - usize::from(rows.end > 4))
    });
    for error in [
        basis(&short).unwrap_err(),
        good.project(&short).unwrap_err(),
        distinct(&short).unwrap_err(),
        short.select(&[2, 3, 4]).unwrap_err(),
    ] {
        assert!(error.to_string().contains("a row source returned"), "{error}");
    }
}

proptest! {
    #[test]
    fn entries_are_those_of_a_range_of_columns(
        width in 1usize..200, bounds in (0usize..=200, 0usize..=200), seed in 0u64..1000,
    ) {
        let start = bounds.0.min(width);
        let end = bounds.1.min(width);
        let columns = start.min(end)..start.max(end);
        let mut random = generator(seed, "entries", 0);
        let ones: Vec<u32> = (0..width as u32).filter(|_| below(&mut random, 2) == 1).collect();
        let bits = Features::Bits(BitRows::from_indices(width, [ones]).unwrap());
        let whole = bits.dense_row(0);
        let dense = Features::Dense(DenseRows::new(width, whole.clone()).unwrap());
        let sparse = dense.clone().into_kind(RowKind::Sparse).unwrap();
        let expected: Vec<(usize, f32)> =
            columns.clone().filter(|&at| whole[at] != 0.0).map(|at| (at, whole[at])).collect();
        for rows in [&bits, &dense, &sparse] {
            let mut actual = Vec::new();
            rows.entries(0, columns.clone(), |column, value| {
                actual.extend((value != 0.0).then_some((column, value)));
            });
            prop_assert_eq!(&actual, &expected, "{:?} of {:?}", columns, rows.kind());
        }
    }
}

#[test]
fn rows_of_other_kinds_are_not_appended() {
    let mut dense = Features::empty(RowKind::Dense, 3).unwrap();
    let bits = Features::Bits(BitRows::from_indices(3, [[0]]).unwrap());
    assert!(refused(dense.append(&bits), " rows are needed"));
    let narrow = Features::Dense(DenseRows::new(2, vec![0.0; 2]).unwrap());
    assert!(refused(dense.append(&narrow), "rows of width"));
    assert!(dense.is_empty());
}

#[test]
fn dense_rows_become_rows_of_other_kinds() {
    let dense = |values: &[f32]| Features::Dense(DenseRows::new(3, values.to_vec()).unwrap());
    for kind in [RowKind::Dense, RowKind::Bits, RowKind::Sparse] {
        let rows = dense(&[0.0, 1.0, 0.0, 1.0, 1.0, 0.0]).into_kind(kind).unwrap();
        assert_eq!((rows.kind(), rows.len()), (kind, 2));
        assert_eq!((rows.dense_row(0), rows.dense_row(1)), (vec![0., 1., 0.], vec![1., 1., 0.]));
    }
    let values = dense(&[0.5, 0.0, -2.0]);
    assert!(refused(values.clone().into_kind(RowKind::Bits), "0.5 in column 0, expected 0 or 1"));
    let sparse = values.into_kind(RowKind::Sparse).unwrap();
    assert_eq!(sparse.dense_row(0), [0.5, 0.0, -2.0]);
    for kind in [RowKind::Dense, RowKind::Bits] {
        assert!(refused(sparse.clone().into_kind(kind), " rows are needed"));
    }
}

#[test]
fn distinct_rows_of_every_kind() {
    for (_, rows) in cases(600) {
        let expanded = expand(&rows);
        let actual = distinct(&rows).unwrap();
        let mut first: Vec<usize> = Vec::new();
        let classes: Vec<u32> = (0..600)
            .map(|i| match first.iter().position(|&at| expanded[at] == expanded[i]) {
                Some(class) => class as u32,
                None => {
                    first.push(i);
                    first.len() as u32 - 1
                }
            })
            .collect();
        assert_eq!((&actual.representative, &actual.class), (&first, &classes));
        let multiplicity = actual.multiplicity();
        assert_eq!(multiplicity.iter().sum::<usize>(), 600);
        assert!(multiplicity[actual.class[1] as usize] >= 2);
    }
}

/// Blocks of 4,096 rows: duplicates across blocks, far apart.
#[test]
fn distinct_rows_across_blocks() {
    let values: Vec<f32> = (0..30_000).map(|i| (i % 7919) as f32).collect();
    let actual = distinct(&Features::Dense(DenseRows::new(1, values).unwrap())).unwrap();
    assert_eq!(actual.representative, (0..7919).collect::<Vec<_>>());
    assert!(actual.class.iter().enumerate().all(|(i, &class)| class as usize == i % 7919));
    let zeros = Features::Dense(DenseRows::new(1, vec![0.0, -0.0, 0.0]).unwrap());
    assert_eq!(distinct(&zeros).unwrap().class, [0, 1, 0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Bits packed and bits by index are the same rows, whatever the width.
    #[test]
    fn packed_bits_are_the_bits_by_index(
        width in 1usize..200,
        seed in proptest::collection::vec(any::<u32>(), 0..40),
    ) {
        let rows: Vec<Vec<u32>> = seed.chunks(7).map(|row| row.iter().map(|v| v % width as u32).collect()).collect();
        let mut packed = vec![0u8; rows.len() * width.div_ceil(8)];
        for (row, ones) in packed.chunks_mut(width.div_ceil(8)).zip(&rows) {
            ones.iter().for_each(|&j| row[j as usize / 8] |= 0x80 >> (j % 8));
        }
        prop_assert_eq!(
            BitRows::from_packed(width, &packed).unwrap(),
            BitRows::from_indices(width, rows).unwrap()
        );
    }

    /// Products of sparse rows, merged (few rows) or by column (16 and more), equal those of dense rows.
    #[test]
    fn sparse_products_are_dense_products(
        rows in proptest::collection::vec(proptest::collection::btree_map(0u32..40, -5i8..5, 0..20), 1..40),
    ) {
        let build = |width: usize, factor: u32| {
            let rows = rows.iter().map(|row| row.iter().map(move |(&j, &v)| (j * factor, f32::from(v))));
            Features::Sparse(SparseRows::from_rows(width, rows).unwrap())
        };
        let narrow = build(40, 1);
        let wide = build(40_000_000, 999_999);
        let expanded = expand(&narrow);
        let expected = product(&expanded, &transpose(&expanded));
        for features in [narrow, wide] {
            let actual = inner(&features, &features).unwrap();
            prop_assert_eq!(crate::support::from_faer(&actual), expected.clone());
        }
    }
}

#[test]
fn counts_become_logarithms_and_rare_columns_leave() {
    let rows = [vec![(0, 1.0), (2, 3.0)], vec![(2, 1.0), (3, 2.0)], vec![(3, 5.0)], vec![]];
    let rows = SparseRows::from_rows(5, rows).unwrap();
    let logs = rows.clone().log_counts().unwrap();
    assert_eq!(logs.row(0), (&[0, 2][..], &[2.0f32.ln(), 4.0f32.ln()][..]));
    // column 0 is in one row, 2 and 3 in two, 1 and 4 in none
    assert_eq!(rows.common(2), [2, 3]);
    let common = rows.with_columns(&rows.common(2)).unwrap();
    let expected = [vec![(0, 3.0)], vec![(0, 1.0), (1, 2.0)], vec![(1, 5.0)], vec![]];
    assert_eq!(common, SparseRows::from_rows(2, expected).unwrap());
    assert_eq!(rows.common(0), [0, 2, 3]);
    assert!(refused(rows.with_columns(&rows.common(3)), "rows of width 0"));
    let columns =
        [vec![(0, 1.0)], vec![], vec![(0, 3.0), (1, 1.0)], vec![(1, 2.0), (2, 5.0)], vec![]];
    assert_eq!(rows.transposed().unwrap(), SparseRows::from_rows(4, columns).unwrap());
    assert_eq!(rows.transposed().unwrap().transposed().unwrap(), rows);
    let none = SparseRows::from_rows(5, Vec::<Vec<(u32, f32)>>::new()).unwrap();
    assert!(refused(none.transposed(), "rows of width 0"));
    // column 0 has the value 1, column 2 has 1 and 3, column 3 has 2 and 5
    let levels = rows.at_levels(&rows.levels()).unwrap();
    let expected = [vec![(0, 1.0), (2, 1.0)], vec![(1, 1.0), (3, 1.0)], vec![(4, 1.0)], vec![]];
    assert_eq!(levels, SparseRows::from_rows(5, expected).unwrap());
    let signed =
        SparseRows::from_rows(1, [vec![(0, 2.0)], vec![(0, -1.0)], vec![(0, -3.0)]]).unwrap();
    let at_levels = signed.at_levels(&signed.levels()).unwrap();
    let places: Vec<u32> = (0..3).map(|row| at_levels.row(row).0[0]).collect();
    assert_eq!(places, [2, 1, 0]);
    // levels that were fitted on different rows
    let fitted = [(0, -1.0), (0, 2.0)];
    let others = signed.at_levels(&fitted).unwrap();
    assert_eq!(others, SparseRows::from_rows(2, [vec![(1, 1.0)], vec![(0, 1.0)], vec![]]).unwrap());
    let below = SparseRows::from_rows(1, [vec![(0, -1.0)]]).unwrap();
    assert!(below.log_counts().is_err());
}

/// Column j is in about one row of j + 1: some are frequent, some are empty.
#[test]
fn products_of_indexed_columns_equal_those_of_pairs() {
    let mut random = generator(0, "test column index", 0);
    let rows: Vec<Vec<(u32, f32)>> = (0..150)
        .map(|_| {
            let columns = (0..60u32).filter(|&j| below(&mut random, u64::from(j) + 1) == 0);
            let columns: Vec<u32> = columns.collect();
            columns.into_iter().map(|j| (j, below(&mut random, 9) as f32 - 4.0)).collect()
        })
        .collect();
    let in_rows = |j: u32| rows.iter().flatten().filter(|entry| entry.0 == j).count();
    let (frequent, rare): (Vec<usize>, Vec<usize>) =
        (0..60).map(in_rows).partition(|&count| count > 15);
    assert!(frequent.len() > 2 && rare.iter().sum::<usize>() > 100);
    let all = Features::Sparse(SparseRows::from_rows(61, rows).unwrap());
    let queries = all.block(70..150).unwrap();
    let Block::Sparse(sparse_rows) = &all else { panic!("sparse rows") };
    let Block::Sparse(other) = &queries else { panic!("sparse rows") };
    let index = ColumnIndex::new(sparse_rows);
    let exact = inner(&all, &queries).unwrap();
    for limit in [0, 1, 93, 150] {
        let actual = index.products(other, limit).unwrap();
        assert_eq!((actual.nrows(), actual.ncols()), (limit, 80));
        for (i, j) in (0..80).flat_map(|j| (0..limit).map(move |i| (i, j))) {
            assert_eq!(f64::from(actual[(i, j)]), exact[(i, j)], "{i}, {j}");
        }
    }
    assert!(refused(index.products(other, 151), "rows 0..151 of a set of"));
}

#[test]
fn means_far_from_zero_leave_scores_too_few_digits() {
    let lost = |offset: f32, scale: f32| {
        let value = |at: usize| (offset + [-1.0, 0.0, 1.0, 0.5][at % 4]) * scale;
        let rows = DenseRows::new(2, (0..200).map(value).collect::<Vec<_>>()).unwrap();
        Spread::of(&Features::from(rows)).unwrap().unwrap().lost_digits()
    };
    assert_eq!((lost(0.0, 1.0), lost(300.0, 1.0), lost(300.0, 1e-12)), (None, None, None));
    assert!(lost(3000.0, 1.0).unwrap().contains("times as far from zero"));
    assert!(lost(0.0, 1e-25).unwrap().contains("mean squared length"));
    let same = Features::from(DenseRows::new(1, vec![1e6; 9]).unwrap());
    assert_eq!(Spread::of(&same).unwrap().unwrap().lost_digits(), None);
    let bits = Features::Bits(BitRows::from_indices(4, [[0], [0], [1]]).unwrap());
    assert_eq!(Spread::of(&bits).unwrap(), None);
}
