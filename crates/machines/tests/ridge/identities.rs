//! The estimators against their formulas, and against each other where they must agree.

use dsokr_basis::features::SparseRows;
use dsokr_basis::{Basis, Features, Kernel, RowSource, Sketch, SketchKind, SketchOptions};
use dsokr_core::random::{below, generator};
use dsokr_machines::{Arithmetic, GramMatrix, OutputSpace, Scaling, Targets, TrainingInputs, fit};

use crate::naive::*;

pub const EVERY: SketchKind = SketchKind::Subsampling { replacement: false };

#[test]
fn iokr_equals_the_formula() {
    // more than one panel of 256 rows
    for n in [70, 300] {
        let problem = Problem::new(n, 1);
        let queries = Problem::new(9, 2);
        let (space, targets) = OutputSpace::training(kernel_y(), &problem.outputs()).unwrap();
        assert!(space.dimension() < n, "equal outputs share a coordinate");
        let fitted = fit_double(&problem, &targets, 1e-3);
        let z = fitted.model.predict(&queries.inputs()).unwrap();
        let points = space.points(&queries.outputs()).unwrap();
        let actual = scores(space.dimension(), &z, &points);
        let expected = iokr(&problem, 1e-3, &queries.x, &queries.y);
        assert_close(&centred(&actual), &centred(&expected), 1e-5, "IOKR");
    }
}

#[test]
fn sisokr_with_every_row_on_both_sides_is_iokr() {
    let n = 60;
    let lambda = 1e-3;
    let problem = Problem::new(n, 3);
    let queries = Problem::new(11, 4);
    let basis = Basis::fit(kernel_y(), &problem.outputs(), &SketchOptions::new(EVERY, n)).unwrap();
    let (space, targets) = OutputSpace::basis(basis, None, &problem.outputs()).unwrap();
    let fitted =
        fit_sketched(kernel_x(), &problem.inputs(), &targets, &EVERY, n, 5, lambda).unwrap();
    let z = fitted.model.predict(&queries.inputs()).unwrap();
    let actual = scores(space.dimension(), &z, &space.points(&problem.outputs()).unwrap());
    let expected = iokr(&problem, lambda, &queries.x, &problem.y);
    assert_close(&centred(&actual), &centred(&expected), 1e-4, "SISOKR, m = n");
}

/// Proposition 4.2 as it stands, with dense sketches: Ω̃ = K̃_Y† R_Y K_Y K_X R_Xᵀ (…)†.
#[test]
fn sisokr_equals_proposition_4_2() {
    let n = 40;
    let lambda = 1e-2;
    let problem = Problem::new(n, 6);
    let queries = Problem::new(5, 7);
    let input_sketch = SketchKind::Gaussian;
    let output_sketch = SketchKind::SparsifiedRademacher { density: 0.3 };
    for input_sketch in [input_sketch, SketchKind::Accumulation { terms: 4 }, EVERY] {
        let basis = Basis::fit(
            kernel_y(),
            &problem.outputs(),
            &SketchOptions::new(output_sketch.clone(), 6).with_seed(1),
        )
        .unwrap();
        let (space, targets) = OutputSpace::basis(basis, None, &problem.outputs()).unwrap();
        let fitted =
            fit_sketched(kernel_x(), &problem.inputs(), &targets, &input_sketch, 12, 2, lambda)
                .unwrap();
        let z = fitted.model.predict(&queries.inputs()).unwrap();
        let actual = scores(space.dimension(), &z, &space.points(&problem.outputs()).unwrap());

        let dense = |sketch: Sketch| -> Rows {
            let r = sketch.dense();
            (0..r.nrows()).map(|i| (0..n).map(|j| r[(i, j)]).collect()).collect()
        };
        let rx = dense(Sketch::draw(&input_sketch, 12, n, 2).unwrap());
        let ry = dense(Sketch::draw(&output_sketch, 6, n, 1).unwrap());
        let kx = gaussian(GAMMA_X, &problem.x, &problem.x);
        let ky = gaussian(GAMMA_Y, &problem.y, &problem.y);
        let rxk = product(&rx, &kx);
        let ryk = product(&ry, &ky);
        let system = add(
            &product(&rxk, &transpose(&rxk)),
            n as f64 * lambda,
            &product(&rxk, &transpose(&rx)),
        );
        let right = product(&rx, &gaussian(GAMMA_X, &problem.x, &queries.x));
        let t = solve(&system, &right);
        let inner = product(&product(&ryk, &transpose(&rxk)), &t);
        let alpha = solve(&product(&ryk, &transpose(&ry)), &inner);
        let expected = product(&transpose(&alpha), &ryk);
        let what = format!("{input_sketch:?}");
        assert_close(&centred(&actual), &centred(&expected), 1e-4, &what);
    }
}

/// ISOKR's predictions are the ridge of the coordinates that the basis itself projects to.
#[test]
fn isokr_predicts_in_the_coordinates_of_the_basis() {
    let n = 50;
    let lambda = 1e-2;
    let problem = Problem::new(n, 8);
    let queries = Problem::new(6, 9);
    let sketch = SketchKind::Gaussian;
    let basis = Basis::fit(
        kernel_y(),
        &problem.outputs(),
        &SketchOptions::new(sketch.clone(), 8).with_seed(3),
    )
    .unwrap();
    let projected = basis.project(&problem.outputs()).unwrap();
    let rank = projected.dimension();
    let (space, targets) = OutputSpace::basis(basis.clone(), None, &problem.outputs()).unwrap();
    assert_eq!(space.dimension(), rank);
    let fitted = fit_double(&problem, &targets, lambda);
    let z = wide(rank, &fitted.model.predict(&queries.inputs()).unwrap());
    let k = gaussian(GAMMA_X, &problem.x, &problem.x);
    let system = add(&k, n as f64 * lambda, &identity(n));
    let alpha = solve(&system, &gaussian(GAMMA_X, &problem.x, &queries.x));
    let expected = product(&transpose(&alpha), &wide(rank, projected.coordinates()));
    assert_close(&z, &expected, 1e-5, "ISOKR");
    let from_projection = Targets::from_projection(&projected).unwrap();
    let again = fit_double(&problem, &from_projection, lambda);
    let again = wide(rank, &again.model.predict(&queries.inputs()).unwrap());
    assert_close(&again, &z, 1e-5, "targets from a projection");
}

/// Weston et al.: kernel PCA of the outputs, then a ridge regression for each component.
#[test]
fn kernel_dependency_estimation_is_a_ridge_on_principal_components() {
    let n = 30;
    let p = 3;
    let lambda = 1e-2;
    let problem = Problem::new(n, 10);
    let queries = Problem::new(6, 11);
    let basis = Basis::fit(kernel_y(), &problem.outputs(), &SketchOptions::new(EVERY, n)).unwrap();
    let (space, targets) = OutputSpace::basis(basis, Some(p), &problem.outputs()).unwrap();
    let fitted = fit_double(&problem, &targets, lambda);
    let z = fitted.model.predict(&queries.inputs()).unwrap();
    let actual = scores(p, &z, &space.points(&problem.outputs()).unwrap());
    let ky = gaussian(GAMMA_Y, &problem.y, &problem.y);
    let (values, vectors) = jacobi(&ky);
    assert!(values[p - 1] > 1.01 * values[p], "the components are well defined");
    let components: Rows = vectors[..p]
        .iter()
        .zip(&values)
        .map(|(v, s)| v.iter().map(|v| v * s.sqrt()).collect())
        .collect();
    let k = gaussian(GAMMA_X, &problem.x, &problem.x);
    let system = add(&k, n as f64 * lambda, &identity(n));
    let weights = solve(&system, &transpose(&components));
    let predicted = product(&gaussian(GAMMA_X, &queries.x, &problem.x), &weights);
    let expected = product(&predicted, &components);
    assert_close(&centred(&actual), &centred(&expected), 1e-4, "KDE");
}

#[test]
fn a_precomputed_kernel_is_the_same_model() {
    let n = 300;
    let lambda = 1e-3;
    let problem = Problem::new(n, 14);
    let queries = Problem::new(6, 15);
    let (_, targets) = OutputSpace::training(kernel_y(), &problem.outputs()).unwrap();
    let k = gaussian(GAMMA_X, &problem.x, &problem.x);
    let gram = dsokr_basis::Mat::from_fn(n, n, |i, j| k[i][j]);
    let values = gaussian(GAMMA_X, &queries.x, &problem.x);
    let values = dsokr_basis::Mat::from_fn(6, n, |i, j| values[i][j]);
    let direct = fit_double(&problem, &targets, lambda);
    let expected = direct.model.predict(&queries.inputs()).unwrap();
    for (precision, tolerance) in [(Arithmetic::Double, 1e-5), (Arithmetic::Single, 1e-2)] {
        let fitted =
            fit(&TrainingInputs::Gram(&GramMatrix::new(gram.clone())), &targets, lambda, precision)
                .unwrap();
        let actual = fitted.model.predict_gram(values.as_ref()).unwrap();
        let rank = fitted.model.width();
        assert_close(&wide(rank, &actual), &wide(rank, &expected), tolerance, "precomputed");
    }
}

/// Multiplying the input kernel and λ by the same factor changes nothing.
#[test]
fn lambda_scales_with_the_kernel() {
    let n = 40;
    let problem = Problem::new(n, 16);
    let (_, targets) = OutputSpace::training(kernel_y(), &problem.outputs()).unwrap();
    let one = problem.inputs();
    let ten = {
        let rows = problem.x.iter().map(|row| row.iter().map(|v| 4.0 * v).collect()).collect();
        dense(&rows)
    };
    let a = fit(&TrainingInputs::rows(Kernel::Linear, &one), &targets, 1e-2, Arithmetic::Double)
        .unwrap();
    let b =
        fit(&TrainingInputs::rows(Kernel::Linear, &ten), &targets, 16.0 * 1e-2, Arithmetic::Double)
            .unwrap();
    let rank = a.model.width();
    let a = a.model.predict(&one).unwrap();
    let b = b.model.predict(&ten).unwrap();
    assert_close(&wide(rank, &a), &wide(rank, &b), 1e-6, "scaled");
}

/// Centring does not change Gaussian kernels, and sparse rows stay sparse without it.
#[test]
fn scaling_standardises_and_travels_with_the_model() {
    let problem = Problem::new(50, 17);
    let rows: Rows = problem
        .y
        .iter()
        .zip(&problem.x)
        .map(|(y, x)| vec![y[0], 7.0, y[1] * x[0], 0.0, 100.0 + x[1]])
        .collect();
    let all = dense(&rows);
    let naive: Rows = transpose(&rows)
        .iter()
        .map(|column| {
            let mean = column.iter().sum::<f64>() / 50.0;
            let variance = column.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / 50.0;
            let s = if variance == 0.0 { 1.0 } else { variance.sqrt() };
            column.iter().map(|v| (v - mean) / s).collect()
        })
        .collect();
    let centred = Scaling::fit(&all, true).unwrap();
    let actual: Rows = match centred.rows(&all).unwrap() {
        Features::Dense(rows) => wide(5, rows.values()),
        other => panic!("{other:?}"),
    };
    assert_close(&actual, &transpose(&naive), 2e-4, "standardised");
    let plain = Scaling::fit(&problem.outputs(), false).unwrap();
    let sparse = plain.rows(&problem.outputs()).unwrap();
    assert_eq!(sparse.kind(), dsokr_basis::RowKind::Sparse);
    let (_, targets) = OutputSpace::training(kernel_y(), &problem.outputs()).unwrap();
    let with = |scaling: Scaling, rows: &Features| {
        let scaled = scaling.rows(rows).unwrap();
        let model =
            fit(&TrainingInputs::rows(kernel_x(), &scaled), &targets, 1e-2, Arithmetic::Double)
                .unwrap()
                .model;
        model.with_scaling(scaling).unwrap().predict(rows).unwrap()
    };
    let as_dense = dense(&problem.y);
    let centred = Scaling::fit(&as_dense, true).unwrap();
    let rank = targets.width();
    let a = with(plain, &problem.outputs());
    let b = with(centred, &as_dense);
    assert_close(&wide(rank, &a), &wide(rank, &b), 1e-4, "shift");
}

/// (x − μ)/s of 0 to 8: 16,000,000 and more are whole numbers of 32 bits, their mean is none.
#[test]
fn columns_far_from_0_are_centred_by_their_mean() {
    let far: Rows = (0..50).map(|row| vec![16_000_000.0 + ((row * row) % 9) as f64]).collect();
    let near: Rows = far.iter().map(|row| vec![row[0] - 16_000_000.0]).collect();
    let of_far = Scaling::fit(&dense(&far), true).unwrap();
    let of_near = Scaling::fit(&dense(&near), true).unwrap();
    let standardised = |scaling: &Scaling, rows: &Rows| match scaling.rows(&dense(rows)).unwrap() {
        Features::Dense(rows) => wide(1, rows.values()),
        other => panic!("{other:?}"),
    };
    let actual = standardised(&of_far, &far);
    assert_close(&actual, &standardised(&of_near, &near), 1e-6, "standardised");
    for (row, value) in far.iter().zip(&actual) {
        assert_eq!(of_far.restore(&[value[0] as f32]), [row[0] as f32]);
    }
}

#[test]
fn threads_do_not_change_the_numbers() {
    let problem = Problem::new(600, 18);
    let (_, targets) = OutputSpace::training(kernel_y(), &problem.outputs()).unwrap();
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let x = problem.inputs();
            let sketch = SketchKind::Gaussian;
            let full =
                fit(&TrainingInputs::rows(kernel_x(), &x), &targets, 1e-4, Arithmetic::Single)
                    .unwrap();
            let sketched = fit_sketched(kernel_x(), &x, &targets, &sketch, 290, 1, 1e-4).unwrap();
            (
                full.model.predict(&x).unwrap(),
                full.leave_one_out(&targets).unwrap(),
                sketched.model.predict(&x).unwrap(),
                full.model.summary().clone(),
            )
        })
    };
    assert_eq!(run(1), run(3));
}

/// Sparse rows under linear kernels go by their common columns in single precision.
#[test]
fn single_precision_on_sparse_rows_agrees_with_double() {
    let mut random = generator(0, "sparse rows", 0);
    // every tenth row is empty; two empty rows are equal under the cosine
    let rows: Vec<Vec<(u32, f32)>> = (0..300)
        .map(|row| {
            if row % 10 == 7 {
                return Vec::new();
            }
            let columns: Vec<u32> =
                (0..80).filter(|&j| below(&mut random, 1 + u64::from(j) / 4) == 0).collect();
            columns.into_iter().map(|j| (j, 0.1 + below(&mut random, 9) as f32)).collect()
        })
        .collect();
    let all = Features::Sparse(SparseRows::from_rows(80, rows).unwrap());
    let problem = Problem::new(300, 19);
    let (_, targets) = OutputSpace::training(kernel_y(), &problem.outputs()).unwrap();
    let rank = targets.width();
    for (kernel, lambda) in [(Kernel::Linear, 1.0), (Kernel::Cosine, 1e-2)] {
        let double =
            fit(&TrainingInputs::rows(kernel.clone(), &all), &targets, lambda, Arithmetic::Double)
                .unwrap();
        let single =
            fit(&TrainingInputs::rows(kernel, &all), &targets, lambda, Arithmetic::Single).unwrap();
        let queries = all.select(&(0..300).step_by(7).collect::<Vec<_>>()).unwrap();
        let a = &single.model;
        let b = &double.model;
        let expected = wide(rank, &b.predict(&queries).unwrap());
        assert!(expected.iter().flatten().any(|value| value.abs() > 0.05));
        assert_close(&wide(rank, &a.predict(&queries).unwrap()), &expected, 1e-4, "predictions");
        let one = queries.select(&[3]).unwrap();
        let alone = wide(rank, &a.predict(&one).unwrap());
        assert_close(&alone, &vec![expected[3].clone()], 1e-4, "one query");
        let expected = wide(rank, &double.leave_one_out(&targets).unwrap());
        let actual = wide(rank, &single.leave_one_out(&targets).unwrap());
        assert_close(&actual, &expected, 1e-3, "left out");
    }
}

#[test]
fn a_mapped_model_answers_with_the_mapped_coordinates() {
    let problem = Problem::new(50, 8);
    let queries = Problem::new(7, 9);
    let basis = Basis::fit(kernel_y(), &problem.outputs(), &SketchOptions::new(EVERY, 20)).unwrap();
    let (space, targets) = OutputSpace::basis(basis, None, &problem.outputs()).unwrap();
    let p = space.dimension();
    let matrix = faer::Mat::from_fn(3, p, |i, j| ((i * p + j) % 5) as f64 - 2.0);
    for precision in [Arithmetic::Double, Arithmetic::Single] {
        let fitted =
            fit(&TrainingInputs::rows(kernel_x(), &problem.inputs()), &targets, 1e-2, precision)
                .unwrap();
        let z = fitted.model.predict(&queries.inputs()).unwrap();
        let expected: Vec<f64> = z
            .chunks_exact(p)
            .flat_map(|z| {
                let row =
                    |i| z.iter().enumerate().map(|(j, &z)| matrix[(i, j)] * f64::from(z)).sum();
                [row(0), row(1), row(2)]
            })
            .collect();
        let wrong = faer::Mat::<f64>::zeros(3, p + 1);
        assert!(fitted.model.clone().mapped(wrong.as_ref()).is_err());
        let mapped = fitted.model.mapped(matrix.as_ref()).unwrap();
        assert_eq!(mapped.width(), 3);
        let actual = mapped.predict(&queries.inputs()).unwrap();
        let actual: Vec<f64> = actual.into_iter().map(f64::from).collect();
        let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-4 * (1.0 + b.abs());
        assert!(actual.len() == 21 && actual.iter().zip(&expected).all(close));
    }
}
