//! Held-out predictions in closed form against refitting without the rows.

use dsokr_basis::{Basis, RowSource, SketchKind, SketchOptions};
use dsokr_core::{Error, Processes};
use dsokr_machines::{
    Arithmetic, GramMatrix, InputSketch, OutputSpace, RowGroups, Spectrum, TrainingInputs, fit,
};
use faer::Mat;

use crate::naive::*;

const EVERY: SketchKind = SketchKind::Subsampling { replacement: false };

/// Returns the rows of which a row is in no group with the given one.
fn without(rows: &Rows, row: usize, groups: &[Vec<usize>]) -> Rows {
    let is_left_out = |other: usize| {
        other == row || groups.iter().any(|group| group.contains(&row) && group.contains(&other))
    };
    let kept = rows.iter().enumerate().filter(|(other, _)| !is_left_out(*other));
    kept.map(|(_, values)| values.clone()).collect()
}

/// Returns the prediction for each row from a refit without its group with the same nλ, in the coordinates of
/// `targets`: n × p.
fn refitted(problem: &Problem, targets: &Rows, ridge: f64, groups: &[Vec<usize>]) -> Rows {
    let predicted = |row: usize| {
        let without = |rows: &Rows| without(rows, row, groups);
        let held = vec![problem.x[row].clone()];
        let x = without(&problem.x);
        let system = add(&gaussian(GAMMA_X, &x, &x), ridge, &identity(x.len()));
        let weights = solve(&system, &without(targets));
        product(&gaussian(GAMMA_X, &held, &x), &weights).remove(0)
    };
    (0..problem.x.len()).map(predicted).collect()
}

#[test]
fn held_out_predictions_equal_refitting() {
    let n = 45;
    let problem = Problem::new(n, 20);
    let basis =
        Basis::fit(kernel_y(), &problem.outputs(), &SketchOptions::new(SketchKind::Gaussian, 7))
            .unwrap();
    let projected = basis.project(&problem.outputs()).unwrap();
    let (space, targets) = OutputSpace::basis(basis, None, &problem.outputs()).unwrap();
    let coordinates = wide(projected.dimension(), projected.coordinates());
    let x = problem.inputs();
    let spectrum = Spectrum::full(&TrainingInputs::rows(kernel_x(), &x), &targets).unwrap();
    let k = gaussian(GAMMA_X, &problem.x, &problem.x);
    let gram = dsokr_basis::Mat::from_fn(n, n, |i, j| k[i][j]);
    let given =
        Spectrum::full(&TrainingInputs::Gram(&GramMatrix::new(gram.clone())), &targets).unwrap();
    let grid = [1e-4, 1e-2, 0.3];
    let mut expected_errors = Vec::new();
    for lambda in grid {
        let expected = refitted(&problem, &coordinates, n as f64 * lambda, &[]);
        for spectrum in [&spectrum, &given] {
            let actual = spectrum.leave_one_out(lambda).unwrap();
            assert_close(&wide(projected.dimension(), &actual), &expected, 2e-5, "held out");
        }
        let fitted =
            fit(&TrainingInputs::rows(kernel_x(), &x), &targets, lambda, Arithmetic::Double)
                .unwrap();
        let actual = fitted.leave_one_out(&targets).unwrap();
        assert_close(&wide(projected.dimension(), &actual), &expected, 2e-5, "by Cholesky");
        let fitted = fit(
            &TrainingInputs::Gram(&GramMatrix::new(gram.clone())),
            &targets,
            lambda,
            Arithmetic::Double,
        )
        .unwrap();
        let actual = fitted.leave_one_out(&targets).unwrap();
        assert_close(&wide(projected.dimension(), &actual), &expected, 2e-5, "of a Gram matrix");
        let error = |(z, y): (&Vec<f64>, &Vec<f64>)| -> f64 {
            z.iter().zip(y).map(|(z, y)| (z - y) * (z - y)).sum()
        };
        let sum: f64 = expected.iter().zip(&coordinates).map(error).sum();
        expected_errors.push(sum / n as f64);
    }
    let errors = spectrum.errors(&grid, &space).unwrap();
    for (error, expected) in errors.iter().zip(&expected_errors) {
        assert!((error - expected).abs() < 1e-5, "{errors:?}, {expected_errors:?}");
    }
    assert!(matches!(spectrum.errors(&[], &space), Err(Error::Value { .. })));
    assert!(matches!(spectrum.leave_one_out(-1.0), Err(Error::Value { .. })));
}

/// Rows of a group are left out together by every solver in closed form, and rows alone as if there were no groups.
#[test]
fn held_out_predictions_of_groups_equal_refitting() {
    let n = 45;
    let problem = Problem::new(n, 20);
    let outputs = problem.outputs();
    let basis =
        Basis::fit(kernel_y(), &outputs, &SketchOptions::new(SketchKind::Gaussian, 7)).unwrap();
    let projected = basis.project(&outputs).unwrap();
    let width = projected.dimension();
    let (space, alone) = OutputSpace::basis(basis, None, &outputs).unwrap();
    let coordinates = wide(width, projected.coordinates());
    let groups = vec![vec![0, 7, 20, 33], vec![3, 4], (10..19).collect()];
    let row_groups = RowGroups::new(n, &groups).unwrap();
    let targets = alone.clone().grouped(&row_groups).unwrap();
    let x = problem.inputs();
    let inputs = TrainingInputs::rows(kernel_x(), &x);
    let spectrum = Spectrum::full(&inputs, &targets).unwrap();
    let of_rows = Spectrum::full(&inputs, &alone).unwrap();
    for lambda in [1e-4, 1e-2, 0.3] {
        let expected = refitted(&problem, &coordinates, n as f64 * lambda, &groups);
        let actual = spectrum.leave_one_out(lambda).unwrap();
        assert_close(&wide(width, &actual), &expected, 2e-5, "by eigenvalues");
        let fitted = fit(&inputs, &targets, lambda, Arithmetic::Double).unwrap();
        let by_blocks = fitted.leave_one_out(&targets).unwrap();
        assert_close(&wide(width, &by_blocks), &expected, 2e-5, "by Cholesky");
        if lambda > 1e-3 {
            let single = fit(&inputs, &targets, lambda, Arithmetic::Single).unwrap();
            let single = single.leave_one_out(&targets).unwrap();
            assert_close(&wide(width, &single), &expected, 2e-3, "in single precision");
        }
        let error = |(z, y): (&Vec<f64>, &Vec<f64>)| -> f64 {
            z.iter().zip(y).map(|(z, y)| (z - y) * (z - y)).sum()
        };
        let sum: f64 = expected.iter().zip(&coordinates).map(error).sum();
        let errors = spectrum.errors(&[lambda], &space).unwrap();
        assert!((errors[0] - sum / n as f64).abs() < 1e-5, "{errors:?}, {sum}");
        // rows that are in no group keep the bits that they have without groups
        let rows_alone = of_rows.leave_one_out(lambda).unwrap();
        let cholesky_alone = fitted.leave_one_out(&alone).unwrap();
        for row in (0..n).filter(|row| !groups.iter().any(|group| group.contains(row))) {
            let of_row = row * width..(row + 1) * width;
            assert_eq!(actual[of_row.clone()], rows_alone[of_row.clone()], "row {row}");
            assert_eq!(by_blocks[of_row.clone()], cholesky_alone[of_row], "row {row}");
        }
    }
    // the last group is not among the first rows, and the first one is there in part
    let rows = 30;
    let lambda = 1e-2;
    let fitted = fit(&inputs, &targets, lambda, Arithmetic::Double).unwrap();
    let prefix = fitted.with_prefix(&targets, rows).unwrap();
    assert_eq!(prefix.held_out_of_all, fitted.leave_one_out(&targets).unwrap());
    let first: Vec<usize> = (0..rows).collect();
    let first_rows = x.select(&first).unwrap();
    let first_targets = targets.select(&first).unwrap();
    let first_inputs = TrainingInputs::rows(kernel_x(), &first_rows);
    let same = lambda * n as f64 / rows as f64;
    let of_first = fit(&first_inputs, &first_targets, same, Arithmetic::Double).unwrap();
    let expected = wide(width, &of_first.leave_one_out(&first_targets).unwrap());
    assert_close(&wide(width, &prefix.held_out_of_prefix), &expected, 2e-6, "prefix rows");
    assert!(matches!(RowGroups::new(n, &[vec![0, n]]), Err(Error::Value { .. })));
    let others = RowGroups::new(n + 1, &groups).unwrap();
    assert!(matches!(alone.grouped(&others), Err(Error::Shape(_))));
}

/// A sample has whole groups, as many as fit.
#[test]
fn a_sample_of_the_rows_divides_no_group() {
    let n = 60;
    let problem = Problem::new(n, 23);
    let (_, targets) = OutputSpace::training(kernel_y(), &problem.outputs()).unwrap();
    // rows i, i + 15, i + 30 and i + 45
    let groups: Vec<Vec<usize>> =
        (0..15).map(|row| (0..4).map(|copy| row + 15 * copy).collect()).collect();
    let targets = targets.grouped(&RowGroups::new(n, &groups).unwrap()).unwrap();
    let x = problem.inputs();
    let inputs = TrainingInputs::rows(kernel_x(), &x);
    for (most, expected) in [(n, n), (42, 40), (4, 4), (3, 4)] {
        let spectrum = Spectrum::sampled(&inputs, &targets, most, 5).unwrap();
        let rows = spectrum.leave_one_out(0.1).unwrap().len() / targets.width();
        assert_eq!(rows, expected, "at most {most}");
    }
}

/// The errors of a sample are those of a machine that has only these rows, and near those of all rows.
#[test]
fn a_sample_of_the_rows_has_the_errors_of_its_rows() {
    let n = 60;
    let seed = 5;
    let problem = Problem::new(n, 23);
    let (space, targets) = OutputSpace::training(kernel_y(), &problem.outputs()).unwrap();
    let x = problem.inputs();
    let inputs = TrainingInputs::rows(kernel_x(), &x);
    let errors = |spectrum: Spectrum| spectrum.errors(&[1e-2, 1e-1, 1.0], &space).unwrap();
    let all = errors(Spectrum::full(&inputs, &targets).unwrap());
    for most in [n, n + 1] {
        assert_eq!(errors(Spectrum::sampled(&inputs, &targets, most, seed).unwrap()), all);
    }
    let most = 40;
    let subsampling = SketchKind::Subsampling { replacement: false };
    let rows = dsokr_basis::Sketch::draw(&subsampling, most, n, seed).unwrap().anchors();
    let selected = x.select(&rows).unwrap();
    let of_rows = TrainingInputs::rows(kernel_x(), &selected);
    let expected = errors(Spectrum::full(&of_rows, &targets.select(&rows).unwrap()).unwrap());
    let sampled = errors(Spectrum::sampled(&inputs, &targets, most, seed).unwrap());
    assert_eq!(sampled, expected);
    let values = gaussian(GAMMA_X, &problem.x, &problem.x);
    let gram = Mat::from_fn(n, n, |i, j| values[i][j]);
    let gram = GramMatrix::new(gram);
    let precomputed = TrainingInputs::Gram(&gram);
    let by_gram = errors(Spectrum::sampled(&precomputed, &targets, most, seed).unwrap());
    for ((sampled, by_gram), all) in sampled.iter().zip(by_gram).zip(all) {
        assert!((sampled - by_gram).abs() < 1e-9, "{sampled}, {by_gram}");
        assert!((sampled - all).abs() < 0.25 * all, "{sampled}, {all}");
    }
}

/// The error of IOKR is a distance in the feature space of outputs, not in its coordinates.
#[test]
fn errors_of_iokr_are_those_of_the_full_basis() {
    let n = 40;
    let problem = Problem::new(n, 21);
    let basis = Basis::fit(
        kernel_y(),
        &problem.outputs(),
        &SketchOptions::new(EVERY, n).with_tolerance(1e-12),
    )
    .unwrap();
    let (full, coordinates) = OutputSpace::basis(basis, None, &problem.outputs()).unwrap();
    let (identity, classes) = OutputSpace::training(kernel_y(), &problem.outputs()).unwrap();
    let errors = |space: &OutputSpace, targets| {
        let x = problem.inputs();
        let inputs = TrainingInputs::rows(kernel_x(), &x);
        let spectrum = Spectrum::full(&inputs, targets).unwrap();
        spectrum.errors(&[1e-3, 1e-1], space).unwrap()
    };
    let a = errors(&full, &coordinates);
    let b = errors(&identity, &classes);
    for (a, b) in a.iter().zip(&b) {
        assert!(*a > 1e-3 && (a - b).abs() < 1e-6 * a, "{a}, {b}");
    }
}

/// With a fixed sketch the model is a ridge regression on R k^x with the penalty K̃.
#[test]
fn held_out_predictions_of_sketched_inputs_equal_refitting() {
    let n = 40;
    let m = 9;
    let lambda = 1e-2;
    let problem = Problem::new(n, 22);
    let basis =
        Basis::fit(kernel_y(), &problem.outputs(), &SketchOptions::new(SketchKind::Gaussian, 5))
            .unwrap();
    let projected = basis.project(&problem.outputs()).unwrap();
    let (_, targets) = OutputSpace::basis(basis, None, &problem.outputs()).unwrap();
    let y = wide(projected.dimension(), projected.coordinates());
    let x = problem.inputs();
    // the last group has more rows than there are features
    let groups = [vec![0, 39], vec![5, 6, 21], (10..20).collect::<Vec<usize>>()];
    let sketches = [EVERY, SketchKind::Accumulation { terms: 3 }];
    let cases = sketches.iter().flat_map(|sketch| [(sketch, &[][..]), (sketch, &groups[..])]);
    for (sketch, groups) in cases {
        let targets = targets.clone().grouped(&RowGroups::new(n, groups).unwrap()).unwrap();
        let drawn = dsokr_basis::Sketch::draw(sketch, m, n, 4).unwrap().dense();
        let r: Rows = (0..m).map(|i| (0..n).map(|j| drawn[(i, j)]).collect()).collect();
        let k = gaussian(GAMMA_X, &problem.x, &problem.x);
        let t = product(&k, &transpose(&r));
        let penalty = product(&r, &t);
        let mut expected = Vec::new();
        for row in 0..n {
            let rows_left = without(&t, row, groups);
            let y = without(&y, row, groups);
            let system =
                add(&product(&transpose(&rows_left), &rows_left), n as f64 * lambda, &penalty);
            let weights = solve(&system, &product(&transpose(&rows_left), &y));
            expected.push(product(&vec![t[row].clone()], &weights).remove(0));
        }
        let fitted = fit_sketched(kernel_x(), &x, &targets, sketch, m, 4, lambda).unwrap();
        let actual = fitted.leave_one_out(&x, &targets).unwrap();
        assert_close(&wide(projected.dimension(), &actual), &expected, 1e-4, "by Cholesky");
        let spectrum = sketched_spectrum(kernel_x(), &x, &targets, sketch, m, 4).unwrap();
        let actual = spectrum.leave_one_out(lambda).unwrap();
        assert_close(&wide(projected.dimension(), &actual), &expected, 1e-4, "by eigenvalues");
    }
}

/// 1 − h and the residual that it divides fall with λ: what 32 bits leave of a prediction is not enough for them.
#[test]
fn held_out_predictions_of_sketched_inputs_are_exact_for_a_small_lambda() {
    let n = 60;
    let problem = Problem::new(n, 22);
    let (_, targets) = OutputSpace::training(kernel_y(), &problem.outputs()).unwrap();
    let x = problem.inputs();
    let kernel = dsokr_basis::Kernel::Gaussian { gamma: 3.0 };
    let full = Spectrum::full(&TrainingInputs::rows(kernel.clone(), &x), &targets).unwrap();
    for lambda in [1e-7, 1e-9] {
        let fitted = fit_sketched(kernel.clone(), &x, &targets, &EVERY, n, 4, lambda).unwrap();
        let actual = fitted.leave_one_out(&x, &targets).unwrap();
        let expected = full.leave_one_out(lambda).unwrap();
        let width = targets.width();
        let what = format!("lambda {lambda}");
        assert_close(&wide(width, &actual), &wide(width, &expected), 1e-4, &what);
    }
}

/// Sketched inputs that span all inputs are regression on all of them, however dependent they are.
#[test]
fn the_error_that_chooses_lambda_is_that_of_the_fitted_model() {
    let n = 60;
    let kind = SketchKind::Gaussian;
    let mut problem = Problem::new(n, 23);
    // every second input once more
    (0..n / 2).for_each(|row| problem.x[2 * row + 1] = problem.x[2 * row].clone());
    let outputs = problem.outputs();
    let x = problem.inputs();
    let basis = Basis::fit(kernel_y(), &outputs, &SketchOptions::new(kind.clone(), 5)).unwrap();
    let (space, targets) = OutputSpace::basis(basis, None, &outputs).unwrap();
    for gamma in [GAMMA_X, 0.1 * GAMMA_X, 0.001 * GAMMA_X] {
        let kernel = dsokr_basis::Kernel::Gaussian { gamma };
        for sketch in [EVERY, SketchKind::Gaussian] {
            let spectrum = sketched_spectrum(kernel.clone(), &x, &targets, &sketch, n, 4).unwrap();
            for lambda in [1e-8, 1e-5, 1e-2] {
                let error = |left_out: &[f32]| {
                    let target_values = targets.values().unwrap();
                    let pairs = target_values.iter().zip(left_out);
                    pairs.map(|(y, &z)| (y - f64::from(z)).powi(2)).sum::<f64>() / n as f64
                };
                let inputs = TrainingInputs::rows(kernel.clone(), &x);
                let all = fit(&inputs, &targets, lambda, Arithmetic::Double).unwrap();
                let all = error(&all.leave_one_out(&targets).unwrap());
                let fitted =
                    fit_sketched(kernel.clone(), &x, &targets, &sketch, n, 4, lambda).unwrap();
                let left_out_error = error(&fitted.leave_one_out(&x, &targets).unwrap());
                let chosen = spectrum.errors(&[lambda], &space).unwrap()[0];
                let case = format!("γ {gamma}, λ {lambda}, {}", sketch.name());
                assert!(fitted.model.summary().unknowns <= n / 2, "{case}");
                assert!((chosen / all - 1.0).abs() < 1e-4, "{case}: {chosen}, {all}");
                assert!(
                    (left_out_error / all - 1.0).abs() < 1e-4,
                    "{case}: {left_out_error}, {all}"
                );
            }
        }
    }
}

/// Rounding may leave a system of dependent inputs a Cholesky factor, by which predictions would have three digits.
#[test]
fn dependent_inputs_count_once_whatever_the_seed() {
    let n = 60;
    let mut problem = Problem::new(n, 24);
    (0..n / 2).for_each(|row| problem.x[2 * row + 1] = problem.x[2 * row].clone());
    let options = SketchOptions::new(SketchKind::Gaussian, 5);
    let basis = Basis::fit(kernel_y(), &problem.outputs(), &options).unwrap();
    let (_, targets) = OutputSpace::basis(basis, None, &problem.outputs()).unwrap();
    let x = problem.inputs();
    for seed in 0..12 {
        for lambda in [1e-8, 1e-5] {
            let fitted = fit_sketched(kernel_x(), &x, &targets, &EVERY, 40, seed, lambda).unwrap();
            let unknowns = fitted.model.summary().unknowns;
            assert!(unknowns <= n / 2, "seed {seed}, λ {lambda}: {unknowns}");
        }
    }
}

/// A part of the rows that comes last is left out from the factor of all, as by a fit to the others with the same nλ.
#[test]
fn leading_rows_are_fitted_from_the_factor_of_all() {
    for (n, rows) in [(45, 30), (45, 45), (45, 1), (600, 530), (600, 512), (600, 200)] {
        let problem = Problem::new(n, 22);
        let options = SketchOptions::new(SketchKind::Gaussian, 5);
        let basis = Basis::fit(kernel_y(), &problem.outputs(), &options).unwrap();
        let (_, targets) = OutputSpace::basis(basis, None, &problem.outputs()).unwrap();
        let weights: Vec<f64> = (0..n).map(|row| 1.0 + (row % 3) as f64).collect();
        let x = problem.inputs();
        let lambda = 1e-2;
        let first: Vec<usize> = (0..rows).collect();
        for weights in [&[][..], &weights] {
            let targets = targets.clone().with_weights(weights).unwrap();
            let first_rows = x.select(&first).unwrap();
            let first_targets = targets.select(&first).unwrap();
            let inputs = TrainingInputs::rows(kernel_x(), &x);
            for (precision, tolerance) in [(Arithmetic::Double, 2e-6), (Arithmetic::Single, 2e-3)] {
                let fitted = fit(&inputs, &targets, lambda, precision).unwrap();
                let prefix = fitted.with_prefix(&targets, rows).unwrap();
                assert_eq!(prefix.held_out_of_all, fitted.leave_one_out(&targets).unwrap());
                // the same λ Σw
                let same =
                    lambda * targets.weights().total(n) / first_targets.weights().total(rows);
                let first_inputs = TrainingInputs::rows(kernel_x(), &first_rows);
                let alone = fit(&first_inputs, &first_targets, same, Arithmetic::Double).unwrap();
                let expected = wide(targets.width(), &alone.leave_one_out(&first_targets).unwrap());
                let actual = wide(targets.width(), &prefix.held_out_of_prefix);
                assert_close(&actual, &expected, tolerance, &format!("{rows} of {n}, left out"));
                let expected = wide(targets.width(), &alone.model.predict(&x).unwrap());
                let actual = wide(targets.width(), &prefix.model.predict(&x).unwrap());
                assert_close(&actual, &expected, tolerance, &format!("{rows} of {n}"));
            }
            let fitted = fit(&inputs, &targets, lambda, Arithmetic::Double).unwrap();
            for rows in [0, n + 1] {
                assert!(matches!(fitted.with_prefix(&targets, rows), Err(Error::Value { .. })));
            }
        }
    }
}

/// An input far from all others is predicted by itself alone as λ falls. Its residual and 1 − h vanish together, and
/// the quotient is its target.
#[test]
fn held_out_predictions_of_a_small_lambda_are_those_of_refitting_or_refused() {
    let n = 20;
    let mut problem = Problem::new(n, 3);
    problem.x[7] = vec![60.0, 60.0, 60.0];
    let (space, targets) = OutputSpace::training(kernel_y(), &problem.outputs()).unwrap();
    let x = problem.inputs();
    let sketch = InputSketch { size: n, method: EVERY };
    let spectrum =
        Spectrum::sketched(kernel_x(), &x, &targets, &sketch, 0, &Processes::default()).unwrap();
    let full = Spectrum::full(&TrainingInputs::rows(kernel_x(), &x), &targets).unwrap();
    for lambda in [1e-2, 1e-6, 1e-9, 1e-11, 1e-13, 1e-15, 1e-17, 1e-30] {
        let exact = full.leave_one_out(lambda).unwrap();
        match spectrum.leave_one_out(lambda) {
            Ok(predictions) => {
                let row = |all: &[f32]| all[7 * n..8 * n].to_vec();
                // nothing is known of it
                let close =
                    row(&predictions).iter().zip(row(&exact)).all(|(a, b)| (a - b).abs() < 1e-2);
                assert!(close, "{lambda}: {:?}", row(&predictions));
            }
            Err(error) => {
                let message = error.to_string();
                assert!(lambda < 1e-12 && message.contains("raise lambda"), "{lambda}: {message}");
                let errors = spectrum.errors(&[lambda, 1e-2], &space).unwrap();
                assert!(errors[0].is_infinite() && errors[1].is_finite(), "{errors:?}");
            }
        }
    }
}

/// Equal inputs leave a matrix that rounding alone tells from a singular one: the least λ of a grid has no Cholesky factor,
/// and its error is that of no model.
#[test]
fn a_lambda_without_a_factor_has_no_error() {
    let n = 80;
    let mut problem = Problem::new(n, 25);
    for row in 0..n {
        problem.x[row] = problem.x[row % 8].clone();
        problem.y[row] = problem.y[row % 8].clone();
    }
    let (space, targets) = OutputSpace::training(kernel_y(), &problem.outputs()).unwrap();
    let x = problem.inputs();
    let inputs = TrainingInputs::rows(kernel_x(), &x);
    let spectrum = Spectrum::full(&inputs, &targets).unwrap();
    let errors = spectrum.errors(&[1e-20, 1e-3], &space).unwrap();
    assert!(errors[0].is_infinite() && errors[1].is_finite(), "{errors:?}");
    fit(&inputs, &targets, 1e-3, Arithmetic::Double).unwrap();
}
