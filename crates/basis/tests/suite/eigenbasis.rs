//! The eigenbasis against the exact kernel and against a dense m × n implementation.

use dsokr_basis::features::{DenseRows, SparseRows};
use dsokr_basis::random::{generator, unit};
use dsokr_basis::store::Stored;
use dsokr_basis::{
    Basis, Error, Features, Kernel, OutputKernel, Projection, RowSource, Sketch, SketchKind,
    SketchOptions,
};

use crate::support::*;

const TOLERANCE: f64 = 1e-10;
const UNIFORM: SketchKind = SketchKind::Subsampling { replacement: false };

fn kinds() -> Vec<SketchKind> {
    vec![
        UNIFORM,
        SketchKind::Subsampling { replacement: true },
        SketchKind::Leverage { lambda: 0.01, pilot: 12 },
        SketchKind::Gaussian,
        SketchKind::SparsifiedRademacher { density: 0.1 },
        SketchKind::SparsifiedGaussian { density: 0.1 },
        SketchKind::Accumulation { terms: 3 },
        SketchKind::CountSketch,
    ]
}

fn coordinates(projection: &Projection) -> Rows {
    (0..projection.len())
        .map(|i| projection.row(i).iter().map(|&value| value.into()).collect())
        .collect()
}

/// `⟨ψ̃(y_i), ψ̃(y_j)⟩`: what does not depend on signs and rotations of eigenvectors.
fn products(projection: &Projection) -> Rows {
    let z = coordinates(projection);
    product(&z, &transpose(&z))
}

/// Spectrum of K̃ = R K Rᵀ and `K Rᵀ K̃⁺ R K`, in plain loops.
fn textbook(kernel: &Kernel, rows: &Features, r: &Rows) -> (Vec<f64>, Rows) {
    let k = gram(kernel, &expand(rows));
    let rk = product(r, &k);
    let (values, vectors) = jacobi(&product(&rk, &transpose(r)));
    let kept = values.iter().filter(|&&value| value > values[0] * TOLERANCE).count();
    let omega: Rows =
        (0..kept).map(|j| vectors[j].iter().map(|v| v / values[j].sqrt()).collect()).collect();
    let z = product(&omega, &rk);
    (values[..kept].to_vec(), product(&transpose(&z), &z))
}

#[test]
fn agrees_with_the_dense_implementation() {
    for (kernel, rows) in cases(60) {
        for kind in kinds() {
            let what = format!("{}, {kind:?}", describe(&kernel, &rows));
            let basis =
                Basis::fit(kernel.clone(), &rows, &SketchOptions::new(&kind, 6).with_seed(9))
                    .unwrap();
            let drawn =
                Sketch::fit(&SketchOptions::new(&kind, 6).with_seed(9), kernel.clone(), &rows)
                    .unwrap();
            let (spectrum, expected) = textbook(&kernel, &rows, &from_faer(&drawn.dense()));
            assert_eq!(basis.dimension(), spectrum.len(), "{what}");
            for (found, expected) in basis.spectrum.iter().zip(&spectrum) {
                let allowed = 1e-5 * expected + 1e-6 * spectrum[0];
                assert!((found - expected).abs() < allowed, "{what}: {found}, {expected}");
            }
            let projection = basis.project(&rows).unwrap();
            let scale = kernel.diagonal(&rows).into_iter().fold(1.0, f64::max);
            assert_close(&products(&projection), &expected, 2e-5 * scale, &what);
        }
    }
}

/// Several blocks of columns, with and without blocks and columns of zeros.
#[test]
fn many_rows_agree_with_the_dense_implementation() {
    let mut random = generator(0, "many rows", 0);
    let n = 1100;
    let sparse = counts(n, 37, &mut random);
    let bits = bits(n, 70, &mut random);
    let dense = dense(n, 9, &mut random);
    let gamma = 0.3;
    for (kernel, rows) in [
        (Kernel::Cosine, &dense),
        (Kernel::Cosine, &bits),
        (Kernel::NGram, &sparse),
        (Kernel::Gaussian { gamma }, &dense),
        (Kernel::Tanimoto, &bits),
    ] {
        let k = gram(&kernel, &expand(rows));
        for kind in [
            SketchKind::Gaussian,
            SketchKind::CountSketch,
            SketchKind::SparsifiedRademacher { density: 0.002 },
            SketchKind::Accumulation { terms: 150 },
        ] {
            let what = format!("{}, {kind:?}", describe(&kernel, rows));
            let basis =
                Basis::fit(kernel.clone(), rows, &SketchOptions::new(&kind, 4).with_seed(3))
                    .unwrap();
            let drawn = Sketch::draw(&kind, 4, n, 3).unwrap();
            let few: Vec<usize> = (0..n).step_by(50).collect();
            let r = from_faer(&drawn.dense());
            // K Rᵀ for a few rows, and K̃, from pointwise kernel values.
            let anchors = drawn.anchors();
            let rk = |row: usize| -> Vec<f64> {
                let mix = |r: &Vec<f64>| anchors.iter().map(|&at| r[at] * k[row][at]).sum();
                r.iter().map(mix).collect()
            };
            let columns: Rows = anchors.iter().map(|&at| rk(at)).collect();
            let w: Rows = r.iter().map(|r| anchors.iter().map(|&at| r[at]).collect()).collect();
            let (values, vectors) = jacobi(&product(&w, &columns));
            let z: Rows = few
                .iter()
                .map(|&at| {
                    let rk = rk(at);
                    let dot = |v: &Vec<f64>| v.iter().zip(&rk).map(|(a, b)| a * b).sum::<f64>();
                    vectors.iter().zip(&values).map(|(v, value)| dot(v) / value.sqrt()).collect()
                })
                .collect();
            let expected = product(&z, &transpose(&z));
            let found = products(&basis.project(&rows.select(&few).unwrap()).unwrap());
            assert_close(&found, &expected, 2e-5, &what);
        }
    }
}

#[test]
fn reproduces_the_kernel_when_m_is_n() {
    for (kernel, rows) in cases(30) {
        for kind in [UNIFORM, SketchKind::Gaussian] {
            let what = format!("{}, {kind:?}", describe(&kernel, &rows));
            let basis =
                Basis::fit(kernel.clone(), &rows, &SketchOptions::new(&kind, 30).with_seed(1))
                    .unwrap();
            let projection = basis.project(&rows).unwrap();
            let exact = gram(&kernel, &expand(&rows));
            let scale = (0..30).map(|i| exact[i][i]).fold(1.0, f64::max);
            assert_close(&products(&projection), &exact, 3e-6 * scale, &what);
            for (i, residual) in projection.residuals.iter().enumerate() {
                assert!((0.0..3e-6 * scale).contains(residual), "{what}: r = {residual}");
                assert!((projection.squared_norms[i] - exact[i][i]).abs() < 1e-12 * scale);
            }
        }
    }
}

/// ‖ψ̃(y)‖² ≤ k(y, y), and what is missing is the residual.
#[test]
fn residual_is_what_the_projection_misses() {
    for (kernel, rows) in cases(60) {
        let basis = Basis::fit(
            kernel.clone(),
            &rows,
            &SketchOptions::new(SketchKind::Gaussian, 3).with_seed(1),
        )
        .unwrap();
        let projection = basis.project(&rows).unwrap();
        let what = describe(&kernel, &rows);
        let mut largest = 0.0f64;
        for (i, row) in coordinates(&projection).iter().enumerate() {
            let projected: f64 = row.iter().map(|v| v * v).sum();
            let missing = projection.squared_norms[i] - projected;
            assert!(missing > -1e-5, "{what}: ‖ψ̃‖² exceeds k by {}", -missing);
            assert!((projection.residuals[i] - missing.max(0.0)).abs() < 1e-9, "{what}");
            largest = largest.max(missing);
        }
        assert!(largest > 0.05, "{what}: three coordinates cannot hold everything");
    }
}

/// The p rows of M, or of A with anchors, as the file of a basis has them.
fn frozen_matrix(basis: &Basis) -> Rows {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("basis.safetensors");
    basis.save(&path).unwrap();
    let stored = Stored::open_versions(&path, "basis", 1..=4).unwrap();
    if basis.anchors().is_some() {
        let (_, weights) = stored.read::<f64>("weights", 2).unwrap();
        let rows: Rows = weights.chunks(basis.dimension()).map(<[f64]>::to_vec).collect();
        return transpose(&rows);
    }
    let (_, matrix) = stored.read::<f32>("matrix", 2).unwrap();
    let wide = |row: &[f32]| row.iter().map(|&value| value.into()).collect();
    matrix.chunks(basis.width).map(wide).collect()
}

/// `⟨e_i, e_j⟩ = 1{i = j}`: `M Mᵀ` in the space of features, `A K_aa Aᵀ` with anchors.
#[test]
fn basis_is_orthonormal_in_the_rkhs() {
    for (kernel, rows) in cases(60) {
        for kind in kinds() {
            let what = format!("{}, {kind:?}", describe(&kernel, &rows));
            let basis =
                Basis::fit(kernel.clone(), &rows, &SketchOptions::new(&kind, 8).with_seed(2))
                    .unwrap();
            let mut matrix = frozen_matrix(&basis);
            // the feature of the zero row is a column more
            let own = matrix.iter_mut().zip(basis.zero_row().unwrap_or_default());
            own.for_each(|(row, &zero)| row.push(zero.into()));
            let gram = match basis.anchors() {
                None => product(&matrix, &transpose(&matrix)),
                Some(anchors) => {
                    let k = gram(&kernel, &expand(anchors));
                    product(&product(&matrix, &k), &transpose(&matrix))
                }
            };
            let identity: Rows = (0..basis.dimension())
                .map(|i| (0..basis.dimension()).map(|j| f64::from(i == j)).collect())
                .collect();
            // A matrix of f32 is exact to 6e-8 / √(σ_p / σ_1).
            let condition = (basis.spectrum[0] / basis.spectrum[basis.dimension() - 1]).sqrt();
            assert_close(&gram, &identity, 1e-6 + 1e-6 * condition, &what);
            assert!(condition < 1e3, "{what}: the bound above says little at {condition}");
        }
    }
}

#[test]
fn cut_off_is_relative() {
    let mut random = generator(3, "cut-off", 0);
    let rows = dense(50, 9, &mut random);
    let rank = |factor: f32| {
        let values: Vec<f32> = expand(&rows).concat().iter().map(|&v| v as f32 * factor).collect();
        let rows = Features::Dense(DenseRows::new(9, values).unwrap());
        Basis::fit(Kernel::Linear, &rows, &SketchOptions::new(SketchKind::Gaussian, 20))
            .unwrap()
            .dimension()
    };
    assert_eq!([rank(1e-12), rank(1e-4), rank(1.0), rank(1e9)], [9; 4]);
    let loose = Basis::fit(
        Kernel::Linear,
        &rows,
        &SketchOptions::new(SketchKind::Gaussian, 20).with_tolerance(0.5),
    )
    .unwrap();
    assert!(loose.dimension() < 9);
    assert!(loose.spectrum.iter().all(|&value| value > 0.5 * loose.spectrum[0]));
    for tolerance in [0.0, -1.0, 1.0, 1e-15, f64::NAN] {
        let error = Basis::fit(
            Kernel::Linear,
            &rows,
            &SketchOptions::new(UNIFORM, 5).with_tolerance(tolerance),
        )
        .unwrap_err();
        assert!(error.to_string().contains("tolerance = "), "{error}");
    }
}

/// Rounding in `f32` must not pass for directions of its own.
#[test]
fn a_constant_kernel_has_rank_one() {
    let mut random = generator(4, "constant", 0);
    let row: Vec<f32> = (0..40).map(|_| unit(&mut random) as f32).collect();
    let rows = Features::Dense(DenseRows::new(40, row.repeat(5000)).unwrap());
    for kernel in
        [Kernel::Linear, Kernel::Cosine, Kernel::Gaussian { gamma: 1.0 }, Kernel::Tanimoto]
    {
        for kind in kinds() {
            let basis = Basis::fit(kernel.clone(), &rows, &SketchOptions::new(&kind, 5)).unwrap();
            assert_eq!(basis.dimension(), 1, "{kernel:?}, {kind:?}: {:?}", basis.spectrum);
            if matches!(kernel, Kernel::Gaussian { .. } | Kernel::Tanimoto) {
                break; // One anchored fit over all rows is enough.
            }
        }
    }
}

/// Five directions among a hundred columns, and nothing but rounding in the others.
#[test]
fn the_rank_is_that_of_the_features() {
    let mut random = generator(2, "low rank", 0);
    let (n, d, rank) = (20_000, 100, 5);
    let directions: Vec<f32> = (0..rank * d).map(|_| (unit(&mut random) - 0.5) as f32).collect();
    let mut values = Vec::with_capacity(n * d);
    for _ in 0..n {
        // Small integers: each row is an exact combination of the directions, then rounded once.
        let mix: Vec<f64> = (0..rank).map(|_| (9.0 * unit(&mut random)).floor()).collect();
        values.extend((0..d).map(|j| {
            (0..rank).map(|k| mix[k] * f64::from(directions[k * d + j])).sum::<f64>() as f32
        }));
    }
    let rows = Features::Dense(DenseRows::new(d, values).unwrap());
    for kernel in [Kernel::Linear, Kernel::Cosine] {
        for kind in [SketchKind::Gaussian, SketchKind::CountSketch, UNIFORM] {
            for m in [50, 150] {
                let basis =
                    Basis::fit(kernel.clone(), &rows, &SketchOptions::new(&kind, m)).unwrap();
                assert_eq!(basis.dimension(), rank, "{kernel:?}, {kind:?}: {:?}", basis.spectrum);
            }
        }
    }
}

#[test]
fn a_zero_kernel_is_an_error() {
    let rows = Features::Dense(DenseRows::new(3, vec![0.0; 30]).unwrap());
    let fit = |kernel| Basis::fit(kernel, &rows, &SketchOptions::new(UNIFORM, 4));
    let error = fit(Kernel::Linear).unwrap_err();
    assert!(matches!(error, Error::ZeroKernel { .. }), "{error}");
    for kernel in [Kernel::Cosine, Kernel::Tanimoto, Kernel::GaussianTanimoto { gamma: 1.0 }] {
        let projected = fit(kernel).unwrap().project(&rows).unwrap();
        assert_eq!((projected.dimension, &projected.squared_norms[..]), (1, &[1.0; 10][..]));
        assert!(projected.coordinates.iter().all(|value| (value.abs() - 1.0).abs() < 1e-6));
    }
}

/// A zero row that no row of the fit is equal to lies outside of the span.
#[test]
fn an_unknown_zero_row_is_outside_of_the_basis() {
    let known = Features::Dense(DenseRows::new(2, vec![1.0, 0.0, 0.5, 2.0]).unwrap());
    let zero = Features::Dense(DenseRows::new(2, vec![0.0, 0.0]).unwrap());
    for kernel in [Kernel::Cosine, Kernel::Tanimoto] {
        let basis = Basis::fit(kernel, &known, &SketchOptions::new(UNIFORM, 2)).unwrap();
        let found = basis.project(&zero).unwrap();
        assert_eq!(basis.zero_row(), None);
        assert_eq!(found.coordinates, [0.0, 0.0]);
        assert_eq!((found.squared_norms[0], found.residuals[0]), (1.0, 1.0));
        assert_eq!(basis.unknown_shares(&zero).unwrap(), [1.0]);
    }
}

#[test]
fn sizes_and_rows_that_cannot_be_honoured_are_refused() {
    let rows = Features::Dense(DenseRows::new(2, vec![1.0; 20]).unwrap());
    let fit =
        |rows: &Features, m| Basis::fit(Kernel::Linear, rows, &SketchOptions::new(UNIFORM, m));
    assert!(refused(fit(&rows, 11), "size = 11: allowed is 1..=10,"));
    assert!(refused(fit(&rows, 0), "size = 0: allowed is 1..=10,"));
    let empty = Features::Dense(DenseRows::new(2, Vec::new()).unwrap());
    assert!(refused(fit(&empty, 1), "no rows"));
    let basis = fit(&rows, 3).unwrap();
    let wide = Features::Dense(DenseRows::new(3, vec![1.0; 3]).unwrap());
    assert!(refused(basis.project(&wide), "rows of width 3 where width 2 is needed"));
    assert!(refused(basis.project(&to_sparse(&rows)), " rows are needed"));
    let error = basis.project_blocks(&rows, 0, |_, _| Ok::<(), Error>(())).unwrap_err();
    assert!(error.to_string().contains("blocks of 0 rows"), "{error}");
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
            let found = products(&basis.project(&rows).unwrap());
            assert_close(&found, &expected, 1e-5, &format!("times {factor}"));
        }
    }
}

#[test]
fn products_that_overflow_are_an_error() {
    let largest = Features::Dense(DenseRows::new(4, vec![f32::MAX; 4000]).unwrap());
    let small = Features::Dense(DenseRows::new(4, vec![1.0; 4000]).unwrap());
    let fit =
        |rows| Basis::fit(Kernel::Linear, rows, &SketchOptions::new(SketchKind::CountSketch, 4));
    let error = fit(&largest).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("overflow: inf") || text.contains("overflow: NaN"), "{text}");
    // The row has 2 f32::MAX along the only direction.
    let mut values = vec![1.0; 4000];
    values[2804..2808].fill(f32::MAX);
    let one = Features::Dense(DenseRows::new(4, values).unwrap());
    let error = fit(&small).unwrap().project(&one).unwrap_err();
    assert!(error.to_string().contains("overflow in row 701"), "{error}");
    assert!(error.to_string().contains("in row 701: inf"), "{error}");
}

#[test]
fn same_basis_on_any_number_of_threads() {
    let mut random = generator(8, "threads", 0);
    let rows = [dense(3000, 20, &mut random), counts(3000, 300, &mut random)];
    let gaussian = SketchKind::Gaussian;
    let leverage = SketchKind::Leverage { lambda: 1e-3, pilot: 400 };
    for (kernel, rows, sketch) in [
        (Kernel::Cosine, &rows[0], &gaussian),
        (Kernel::NGram, &rows[1], &gaussian),
        (Kernel::Gaussian { gamma: 0.1 }, &rows[0], &gaussian),
        (Kernel::Gaussian { gamma: 1.0 }, &rows[0], &leverage),
    ] {
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let basis =
                    Basis::fit(kernel.clone(), rows, &SketchOptions::new(sketch, 300)).unwrap();
                (basis.fingerprint(), basis.project(rows).unwrap())
            })
        };
        assert!(run(1) == run(3), "{}", describe(&kernel, rows));
    }
}

#[test]
fn blocks_of_any_size_project_the_same() {
    for (kernel, rows) in cases(300) {
        let basis = Basis::fit(kernel.clone(), &rows, &SketchOptions::new(SketchKind::Gaussian, 5))
            .unwrap();
        let whole = basis.project(&rows).unwrap();
        for size in [1, 7, 256, 1000] {
            let mut seen = 0;
            basis
                .project_blocks(&rows, size, |range, block| {
                    assert_eq!((range.start, range.len()), (seen, block.len()));
                    seen = range.end;
                    for (within, row) in range.enumerate() {
                        let pairs = block.row(within).iter().zip(whole.row(row));
                        pairs.for_each(|(a, b)| assert!((a - b).abs() < 1e-5, "row {row}"));
                        assert!((block.residuals[within] - whole.residuals[row]).abs() < 1e-4);
                        assert_eq!(block.squared_norms[within], whole.squared_norms[row]);
                    }
                    Ok::<(), Error>(())
                })
                .unwrap();
            assert_eq!(seen, 300);
        }
    }
}

#[test]
fn an_error_of_the_caller_stops_the_blocks() {
    let (kernel, rows) = cases(300).swap_remove(0);
    let basis = Basis::fit(kernel, &rows, &SketchOptions::new(UNIFORM, 5)).unwrap();
    let mut calls = 0;
    let stopped = basis.project_blocks(&rows, 100, |_, _| {
        calls += 1;
        Err::<(), Box<dyn std::error::Error>>("enough".into())
    });
    assert_eq!((stopped.unwrap_err().to_string().as_str(), calls), ("enough", 1));
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
        let found = products(&basis.project(rows).unwrap());
        (basis.anchors().is_some(), found)
    };
    let ((narrow_anchors, expected), (wide_anchors, found)) = (fit(&narrow), fit(&wide));
    assert!(!narrow_anchors && wide_anchors);
    assert_close(&found, &expected, 1e-5, "wide rows");
}

/// `⟨z, ψ̃(y)⟩ = s(⟨y,y⟩) ⟨w, y⟩`, for rows that the basis was not fitted on too.
#[test]
fn the_direction_of_coordinates_has_their_products() {
    let mut linear = 0;
    for (kernel, rows) in cases(40) {
        let what = describe(&kernel, &rows);
        let few = rows.select(&(0..25).collect::<Vec<_>>()).unwrap();
        let basis = Basis::fit(
            kernel.clone(),
            &few,
            &SketchOptions::new(SketchKind::Gaussian, 6).with_seed(1),
        )
        .unwrap();
        let mut random = generator(9, "test direction", 0);
        let z: Vec<f32> =
            (0..basis.dimension()).map(|_| (unit(&mut random) - 0.5) as f32).collect();
        let error = basis.feature_direction(&z[1..]).unwrap_err();
        assert!(error.to_string().contains("rows of width"), "{what}: {error}");
        let direction = basis.feature_direction(&z).unwrap();
        assert_eq!(direction.is_none(), basis.anchors().is_some(), "{what}");
        let Some(direction) = direction else { continue };
        linear += 1;
        let projected = basis.project(&rows).unwrap();
        for (i, row) in expand(&rows).iter().enumerate() {
            let squared: f64 = row.iter().map(|y| y * y).sum();
            let along: f64 = direction.iter().zip(row).map(|(&w, y)| f64::from(w) * y).sum();
            let zero = basis.zero_row().unwrap_or_default().iter().zip(&z);
            let found = match squared == 0.0 {
                true => zero.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum(),
                false => along * kernel.feature_scale(squared).unwrap(),
            };
            let pairs = projected.row(i).iter().zip(&z);
            let expected: f64 = pairs.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
            let close = 1e-5 * (1.0 + projected.squared_norms[i]);
            assert!((found - expected).abs() <= close, "{what}, row {i}: {found} {expected}");
        }
    }
    assert!(linear >= 8, "{linear}");
}
