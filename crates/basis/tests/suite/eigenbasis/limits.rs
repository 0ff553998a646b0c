//! Zeros, values that are refused, digits, threads and widths.

use super::*;
use dsokr_core::RowWeights;

#[test]
fn a_zero_kernel_is_an_error() {
    let rows = Features::Dense(DenseRows::new(3, vec![0.0; 30]).unwrap());
    let fit = |kernel| Basis::fit(kernel, &rows, &SketchOptions::new(UNIFORM, 4));
    let error = fit(Kernel::Linear).unwrap_err();
    assert!(matches!(error, Error::ZeroMatrix { .. }), "{error}");
    for kernel in [Kernel::Cosine, Kernel::Tanimoto, Kernel::GaussianTanimoto { gamma: 1.0 }] {
        let projected = fit(kernel).unwrap().project(&rows).unwrap();
        assert_eq!((projected.dimension(), projected.squared_norms()), (1, &[1.0; 10][..]));
        assert!(projected.coordinates().iter().all(|value| (value.abs() - 1.0).abs() < 1e-6));
    }
}

/// A zero row that no row of the fit is equal to lies outside of the span.
#[test]
fn an_unknown_zero_row_is_outside_of_the_basis() {
    let fitted_rows = Features::Dense(DenseRows::new(2, vec![1.0, 0.0, 0.5, 2.0]).unwrap());
    let zero = Features::Dense(DenseRows::new(2, vec![0.0, 0.0]).unwrap());
    for kernel in [Kernel::Cosine, Kernel::Tanimoto] {
        let basis = Basis::fit(kernel, &fitted_rows, &SketchOptions::new(UNIFORM, 2)).unwrap();
        let actual = basis.project(&zero).unwrap();
        assert_eq!(basis.zero_row(), None);
        assert_eq!(actual.coordinates(), [0.0, 0.0]);
        assert_eq!((actual.squared_norms()[0], actual.residuals()[0]), (1.0, 1.0));
        assert_eq!(basis.unknown_shares(&zero).unwrap(), [1.0]);
    }
}

#[test]
fn sizes_and_rows_that_cannot_be_honoured_are_refused() {
    let rows = Features::Dense(DenseRows::new(2, vec![1.0; 20]).unwrap());
    let fit =
        |rows: &Features, m| Basis::fit(Kernel::Linear, rows, &SketchOptions::new(UNIFORM, m));
    assert!(refused(fit(&rows, 11), "size = 11: expected 1..=10,"));
    assert!(refused(fit(&rows, 0), "size = 0: expected 1..=10,"));
    let empty = Features::Dense(DenseRows::new(2, Vec::new()).unwrap());
    assert!(refused(fit(&empty, 1), "no rows"));
    let basis = fit(&rows, 3).unwrap();
    let wide = Features::Dense(DenseRows::new(3, vec![1.0; 3]).unwrap());
    assert!(refused(basis.project(&wide), "rows of width 3 where width 2 is needed"));
    assert!(refused(basis.project(&to_sparse(&rows)), " rows are needed"));
    assert!(basis.project(&empty).unwrap().is_empty());
}

#[test]
fn a_bad_value_is_named_by_its_row_among_all() {
    let row = |value: f32| vec![(0, 1.0), (2, value)];
    let rows = (0..900).map(|i| row(if i == 777 { -3.0 } else { 2.0 }));
    let bad = Features::Sparse(SparseRows::from_rows(4, rows).unwrap());
    let good = Features::Sparse(SparseRows::from_rows(4, [row(1.0), row(2.0)]).unwrap());
    for error in [
        Basis::fit(Kernel::NGram, &bad, &SketchOptions::new(SketchKind::Gaussian, 2)).unwrap_err(),
        Basis::fit(Kernel::NGram, &good, &SketchOptions::new(UNIFORM, 2))
            .unwrap()
            .project(&bad)
            .unwrap_err(),
    ] {
        assert!(error.to_string().contains("row 777: column 2 holds"), "{error}");
    }
}

/// Rows of any length that `f32` can hold; a cosine does not see it.
#[test]
fn huge_and_tiny_rows_keep_their_digits() {
    let mut random = generator(6, "extremes", 0);
    let rows = dense(40, 6, &mut random);
    let expanded = expand(&rows);
    let expected =
        Basis::fit(Kernel::Cosine, &rows, &SketchOptions::new(SketchKind::Gaussian, 4)).unwrap();
    let expected = products(&expected.project(&rows).unwrap());
    for factor in [1e38f32, 1e-30] {
        let values: Vec<f32> = expanded.concat().iter().map(|&v| v as f32 * factor).collect();
        let scaled = Features::Dense(DenseRows::new(6, values).unwrap());
        for rows in [scaled.clone(), to_sparse(&scaled)] {
            let basis =
                Basis::fit(Kernel::Cosine, &rows, &SketchOptions::new(SketchKind::Gaussian, 4))
                    .unwrap();
            let actual = products(&basis.project(&rows).unwrap());
            assert_close(&actual, &expected, 1e-5, &format!("times {factor}"));
        }
    }
}

#[test]
fn products_that_overflow_are_an_error() {
    let largest = Features::Dense(DenseRows::new(4, vec![f32::MAX; 4000]).unwrap());
    let small = Features::Dense(DenseRows::new(4, vec![1.0; 4000]).unwrap());
    let fit = |rows, kind| Basis::fit(Kernel::Linear, rows, &SketchOptions::new(kind, 4));
    let error = fit(&largest, SketchKind::Gaussian).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("overflow: inf") || text.contains("overflow: NaN"), "{text}");
    // The entries of a sketch that has few are multiplied and summed in f64, where the same rows do not overflow.
    let largest_value = fit(&largest, SketchKind::CountSketch).unwrap().spectrum()[0];
    assert!(largest_value.is_finite() && largest_value > 1e77, "{largest_value}");
    // The row has 2 f32::MAX along the only direction.
    let mut values = vec![1.0; 4000];
    values[2804..2808].fill(f32::MAX);
    let one = Features::Dense(DenseRows::new(4, values).unwrap());
    let error = fit(&small, SketchKind::CountSketch).unwrap().project(&one).unwrap_err();
    assert!(error.to_string().contains("overflow in row 701"), "{error}");
    assert!(error.to_string().contains("in row 701: inf"), "{error}");
}

#[test]
fn same_basis_on_any_number_of_threads() {
    let mut random = generator(8, "threads", 0);
    let rows = [dense(3000, 20, &mut random), counts(3000, 300, &mut random)];
    let gaussian = SketchKind::Gaussian;
    let leverage = SketchKind::Leverage { lambda: 1e-3, pilot: 400 };
    let few = SketchKind::SparsifiedGaussian { density: 0.02 };
    let every = SketchKind::Subsampling { replacement: false };
    for (kernel, rows, sketch, size) in [
        (Kernel::Cosine, &rows[0], &gaussian, 300),
        (Kernel::Cosine, &rows[0], &few, 300),
        (Kernel::NGram, &rows[1], &gaussian, 300),
        (Kernel::NGram, &rows[1], &few, 300),
        (Kernel::Gaussian { gamma: 0.1 }, &rows[0], &gaussian, 300),
        (Kernel::Gaussian { gamma: 0.1 }, &rows[0], &few, 300),
        (Kernel::Gaussian { gamma: 1.0 }, &rows[0], &leverage, 300),
        // an eigendecomposition that is divided into parts
        (Kernel::Gaussian { gamma: 1.0 }, &rows[0], &every, 600),
    ] {
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let basis =
                    Basis::fit(kernel.clone(), rows, &SketchOptions::new(sketch.clone(), size))
                        .unwrap();
                let projection = basis.project(rows).unwrap();
                let mean = projection.mean(&RowWeights::equal()).unwrap();
                (basis.fingerprint(), mean, projection)
            })
        };
        let alone = run(1);
        for threads in [3, 20] {
            assert!(run(threads) == alone, "{}, {sketch:?}", describe(&kernel, rows));
        }
    }
}

#[test]
fn ranges_of_any_size_project_the_same() {
    for (kernel, rows) in cases(300) {
        let basis = Basis::fit(kernel.clone(), &rows, &SketchOptions::new(SketchKind::Gaussian, 5))
            .unwrap();
        let whole = basis.project(&rows).unwrap();
        for size in [1, 7, 256, 1000] {
            for start in (0..300).step_by(size) {
                let range = start..(start + size).min(300);
                let block = basis.project_range(&rows, range.clone()).unwrap();
                assert_eq!(block.len(), range.len());
                for (within, row) in range.enumerate() {
                    let pairs = block.row(within).iter().zip(whole.row(row));
                    pairs.for_each(|(a, b)| assert!((a - b).abs() < 1e-5, "row {row}"));
                    assert!((block.residuals()[within] - whole.residuals()[row]).abs() < 1e-4);
                    assert_eq!(block.squared_norms()[within], whole.squared_norms()[row]);
                }
            }
        }
    }
}

/// Rows too wide for `R Φ` keep anchors instead; the numbers are the same.
#[test]
fn very_wide_rows_fall_back_to_anchors() {
    let mut random = generator(5, "wide", 0);
    let narrow = counts(40, 30, &mut random);
    let Features::Sparse(rows) = &narrow else { panic!() };
    let spread = (0..40).map(|i| {
        let (columns, values) = rows.row(i);
        columns.iter().map(|c| c * 1_000_003).zip(values.iter().copied()).collect::<Vec<_>>()
    });
    let wide = Features::Sparse(SparseRows::from_rows(30_000_100, spread).unwrap());
    let fit = |rows: &Features| {
        let basis =
            Basis::fit(Kernel::NGram, rows, &SketchOptions::new(SketchKind::Gaussian, 5)).unwrap();
        let actual = products(&basis.project(rows).unwrap());
        (basis.anchors().is_some(), actual)
    };
    let (narrow_anchors, expected) = fit(&narrow);
    let (wide_anchors, actual) = fit(&wide);
    assert!(!narrow_anchors && wide_anchors);
    assert_close(&actual, &expected, 1e-5, "wide rows");
}
