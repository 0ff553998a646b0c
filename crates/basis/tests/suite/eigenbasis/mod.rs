//! The eigenbasis against the exact kernel and against a dense m × n implementation.

mod limits;

use dsokr_basis::features::{DenseRows, SparseRows};
use dsokr_basis::{
    Basis, Features, Kernel, OutputKernel, Projection, RowKind, RowSource, Sketch, SketchKind,
    SketchOptions,
};
use dsokr_core::random::{generator, unit};
use dsokr_core::store::Stored;
use dsokr_core::{Error, Processes};

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

/// Computes `⟨ψ̃(y_i), ψ̃(y_j)⟩`: what does not depend on signs and rotations of eigenvectors.
fn products(projection: &Projection) -> Rows {
    let z = coordinates(projection);
    product(&z, &transpose(&z))
}

/// Returns the spectrum of K̃ = R K Rᵀ and `K Rᵀ K̃⁺ R K`, in plain loops.
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
            let basis = Basis::fit(
                kernel.clone(),
                &rows,
                &SketchOptions::new(kind.clone(), 6).with_seed(9),
            )
            .unwrap();
            let drawn = Sketch::fit(
                &Processes::default(),
                &SketchOptions::new(kind.clone(), 6).with_seed(9),
                kernel.clone(),
                &rows,
            )
            .unwrap();
            let (spectrum, expected) = textbook(&kernel, &rows, &from_faer(&drawn.dense()));
            assert_eq!(basis.dimension(), spectrum.len(), "{what}");
            for (actual, expected) in basis.spectrum().iter().zip(&spectrum) {
                let allowed = 1e-5 * expected + 1e-6 * spectrum[0];
                assert!((actual - expected).abs() < allowed, "{what}: {actual}, {expected}");
            }
            let projection = basis.project(&rows).unwrap();
            let scale = kernel.diagonal(&rows).unwrap().into_iter().fold(1.0, f64::max);
            assert_close(&products(&projection), &expected, 2e-5 * scale, &what);
        }
    }
}

/// Rows are read in several blocks of columns, with and without blocks and columns of zeros.
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
                Basis::fit(kernel.clone(), rows, &SketchOptions::new(kind.clone(), 4).with_seed(3))
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
            let actual = products(&basis.project(&rows.select(&few).unwrap()).unwrap());
            assert_close(&actual, &expected, 2e-5, &what);
        }
    }
}

#[test]
fn reproduces_the_kernel_when_m_is_n() {
    for (kernel, rows) in cases(30) {
        for kind in [UNIFORM, SketchKind::Gaussian] {
            let what = format!("{}, {kind:?}", describe(&kernel, &rows));
            let basis = Basis::fit(
                kernel.clone(),
                &rows,
                &SketchOptions::new(kind.clone(), 30).with_seed(1),
            )
            .unwrap();
            let projection = basis.project(&rows).unwrap();
            let exact = gram(&kernel, &expand(&rows));
            let scale = (0..30).map(|i| exact[i][i]).fold(1.0, f64::max);
            assert_close(&products(&projection), &exact, 3e-6 * scale, &what);
            for (i, residual) in projection.residuals().iter().enumerate() {
                assert!((0.0..3e-6 * scale).contains(residual), "{what}: r = {residual}");
                assert!((projection.squared_norms()[i] - exact[i][i]).abs() < 1e-12 * scale);
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
            let missing = projection.squared_norms()[i] - projected;
            assert!(missing > -1e-5, "{what}: ‖ψ̃‖² exceeds k by {}", -missing);
            assert!((projection.residuals()[i] - missing.max(0.0)).abs() < 1e-9, "{what}");
            largest = largest.max(missing);
        }
        assert!(largest > 0.05, "{what}: three coordinates cannot hold everything");
    }
}

/// Returns the p rows of M, or of A with anchors, as the file of a basis has them.
fn frozen_matrix(basis: &Basis) -> Rows {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("basis.safetensors");
    basis.save(&path).unwrap();
    let stored = Stored::open(&path, "basis", 5).unwrap();
    if let Some(anchors) = basis.anchors() {
        let (_, weights) = stored.read::<f64>("weights", 2).unwrap();
        let rows: Rows = weights.chunks(basis.dimension()).map(<[f64]>::to_vec).collect();
        let turn = transpose(&rows);
        if !stored.has("mixing.offsets") {
            return turn;
        }
        // A = G W, whose factors are in the file
        let size = basis.options().size;
        let w = Features::from_stored(&stored, "mixing", RowKind::Sparse, size).unwrap();
        assert_eq!(w.len(), anchors.len());
        return product(&turn, &transpose(&expand(&w)));
    }
    let (_, matrix) = stored.read::<f32>("matrix", 2).unwrap();
    let wide = |row: &[f32]| row.iter().map(|&value| value.into()).collect();
    matrix.chunks(basis.width()).map(wide).collect()
}

/// `⟨e_i, e_j⟩ = 1{i = j}`: `M Mᵀ` in the space of features, `A K_aa Aᵀ` with anchors.
#[test]
fn basis_is_orthonormal_in_the_rkhs() {
    for (kernel, rows) in cases(60) {
        for kind in kinds() {
            let what = format!("{}, {kind:?}", describe(&kernel, &rows));
            let basis = Basis::fit(
                kernel.clone(),
                &rows,
                &SketchOptions::new(kind.clone(), 8).with_seed(2),
            )
            .unwrap();
            let mut matrix = frozen_matrix(&basis);
            // the feature of the zero row is a column more
            let extended = matrix.iter_mut().zip(basis.zero_row().unwrap_or_default());
            extended.for_each(|(row, &zero)| row.push(zero.into()));
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
            let condition = (basis.spectrum()[0] / basis.spectrum()[basis.dimension() - 1]).sqrt();
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
    assert!(loose.spectrum().iter().all(|&value| value > 0.5 * loose.spectrum()[0]));
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

/// Rounding in `f32` must not pass for further directions.
#[test]
fn a_constant_kernel_has_rank_one() {
    let mut random = generator(4, "constant", 0);
    let row: Vec<f32> = (0..40).map(|_| unit(&mut random) as f32).collect();
    let rows = Features::Dense(DenseRows::new(40, row.repeat(5000)).unwrap());
    for kernel in
        [Kernel::Linear, Kernel::Cosine, Kernel::Gaussian { gamma: 1.0 }, Kernel::Tanimoto]
    {
        for kind in kinds() {
            let basis =
                Basis::fit(kernel.clone(), &rows, &SketchOptions::new(kind.clone(), 5)).unwrap();
            assert_eq!(basis.dimension(), 1, "{kernel:?}, {kind:?}: {:?}", basis.spectrum());
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
    let n = 20_000;
    let d = 100;
    let rank = 5;
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
                let basis = Basis::fit(kernel.clone(), &rows, &SketchOptions::new(kind.clone(), m))
                    .unwrap();
                assert_eq!(basis.dimension(), rank, "{kernel:?}, {kind:?}: {:?}", basis.spectrum());
            }
        }
    }
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
            let actual = if squared == 0.0 {
                zero.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
            } else {
                along * kernel.feature_scale(squared).unwrap()
            };
            let pairs = projected.row(i).iter().zip(&z);
            let expected: f64 = pairs.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
            let close = 1e-5 * (1.0 + projected.squared_norms()[i]);
            assert!((actual - expected).abs() <= close, "{what}, row {i}: {actual} {expected}");
        }
    }
    assert!(linear >= 8, "{linear}");
}
