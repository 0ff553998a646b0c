//! Bad inputs are refused, and the messages say what is wrong.

use dsokr_basis::{Kernel, Mat, SketchKind, SketchOptions};
use dsokr_core::Error;
use dsokr_machines::{Arithmetic, GramMatrix, OutputSpace, Targets, TrainingInputs, fit};

use crate::naive::*;

const EVERY: SketchKind = SketchKind::Subsampling { replacement: false };

#[test]
fn lambda_and_lengths() {
    let problem = Problem::new(10, 50);
    let (_, targets) = OutputSpace::training(kernel_y(), &problem.outputs()).unwrap();
    let x = problem.inputs();
    for lambda in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e154] {
        let error =
            fit(&TrainingInputs::rows(kernel_x(), &x), &targets, lambda, Arithmetic::Double)
                .unwrap_err();
        assert!(matches!(error, Error::Value { .. }));
        let error = fit_sketched(kernel_x(), &x, &targets, &EVERY, 3, 0, lambda).unwrap_err();
        assert!(matches!(error, Error::Value { .. }));
    }
    let error =
        fit(&TrainingInputs::rows(kernel_x(), &x), &targets, 0.0, Arithmetic::Double).unwrap_err();
    assert_eq!(error.to_string(), "lambda = 0: expected numbers above 0, at most 1e100");
    let few = targets.select(&[0, 1]).unwrap();
    let error =
        fit(&TrainingInputs::rows(kernel_x(), &x), &few, 1.0, Arithmetic::Double).unwrap_err();
    assert_eq!(error.to_string(), "2 rows of targets, expected 10");
    let error = fit_sketched(kernel_x(), &x, &targets, &EVERY, 11, 0, 1.0).unwrap_err();
    assert!(error.to_string().contains("size = 11: expected 1..=10,"));
    let error = targets.select(&[10]).unwrap_err();
    assert_eq!(error.to_string(), "row = 10: expected 0..=9");
    let error = Targets::new(2, [1.0, 2.0, 3.0, f64::NAN]).unwrap_err();
    assert!(matches!(error, Error::NotFinite { row: 1, column: 1, .. }));
    assert_eq!(Targets::new(2, [1.0]).unwrap_err().to_string(), "1 target values, expected 2");
    let bad = Kernel::Gaussian { gamma: 0.0 };
    let error = fit(&TrainingInputs::rows(bad, &x), &targets, 1.0, Arithmetic::Double).unwrap_err();
    assert!(error.to_string().contains("gamma = "));
}

/// Double precision is a remedy for a system that was factored in single precision alone.
#[test]
fn a_singular_system_is_refused_with_what_helps() {
    let x = dense(&vec![vec![1.0], vec![1.0], vec![2.0]]);
    let targets = Targets::new(1, [1.0, 2.0, 3.0]).unwrap();
    let inputs = TrainingInputs::rows(Kernel::Linear, &x);
    for (precision, remedy) in [
        (Arithmetic::Single, "; raise lambda, scale the inputs, or solve in double precision"),
        (Arithmetic::Double, "; raise lambda, or scale the inputs"),
    ] {
        let error = fit(&inputs, &targets, 1e-300, precision).unwrap_err().to_string();
        assert!(error.contains("positive definite") && error.ends_with(remedy), "{error}");
    }
}

/// With every input in the sketch and a λ that rounding swallows, no row says anything of the others.
#[test]
fn leave_one_out_predictions_of_rows_by_themselves_are_refused() {
    let problem = Problem::new(10, 53);
    let (_, targets) = OutputSpace::training(kernel_y(), &problem.outputs()).unwrap();
    let x = problem.inputs();
    let kernel = Kernel::Gaussian { gamma: 50.0 };
    let fitted = fit_sketched(kernel.clone(), &x, &targets, &EVERY, 10, 0, 1e-30).unwrap();
    let error = fitted.leave_one_out(&x, &targets).unwrap_err();
    assert!(matches!(error, Error::Numeric(_)), "{error}");
    assert!(error.to_string().contains("raise lambda, which is 1e-30"), "{error}");
    let fitted = fit_sketched(kernel, &x, &targets, &EVERY, 10, 0, 1e-3).unwrap();
    assert!(fitted.leave_one_out(&x, &targets).is_ok());
}

#[test]
fn predictions_of_other_rows() {
    let problem = Problem::new(10, 51);
    let (space, targets) = OutputSpace::training(kernel_y(), &problem.outputs()).unwrap();
    let model = fit_double(&problem, &targets, 1.0).model;
    let error = model.predict(&problem.outputs()).unwrap_err();
    assert!(matches!(error, Error::Shape(_)), "{error}");
    let error = model.predict(&dense(&vec![vec![1.0, 2.0]])).unwrap_err();
    assert!(error.to_string().contains("rows of width"), "{error}");
    assert!(space.points(&problem.inputs()).is_err());
}

#[test]
fn gram_matrices_that_are_none() {
    let problem = Problem::new(12, 52);
    let (_, targets) = OutputSpace::training(kernel_y(), &problem.outputs()).unwrap();
    let k = gaussian(GAMMA_X, &problem.x, &problem.x);
    let gram = || Mat::from_fn(12, 12, |i, j| k[i][j]);
    let fit = |gram: &Mat<f64>| {
        fit(
            &TrainingInputs::Gram(&GramMatrix::new(gram.clone())),
            &targets,
            1.0,
            Arithmetic::Double,
        )
    };
    assert!(fit(&gram()).is_ok());
    let mut other = gram();
    other[(3, 7)] += 0.1;
    let error = fit(&other).unwrap_err();
    assert!(error.to_string().contains("is not symmetric: [3, 7] is "), "{error}");
    let [value, mirrored] = numbers(&error)[..] else { panic!("{error}") };
    assert!((value - mirrored - 0.1).abs() < 1e-12);
    // K − c v vᵀ has a negative eigenvalue for a large c; nλ = 12 would hide it.
    let mut other = gram();
    (0..12).for_each(|i| other[(i, i)] -= 0.5);
    let rows: Rows = (0..12).map(|i| (0..12).map(|j| other[(i, j)]).collect()).collect();
    let (values, _) = jacobi(&rows);
    let error = fit(&other).unwrap_err();
    assert!(error.to_string().contains("is not positive semi-definite"), "{error}");
    let [smallest, largest] = numbers(&error)[..] else { panic!("{error}") };
    assert!((smallest - values[11]).abs() < 1e-8, "{smallest}, {values:?}");
    assert!((largest - values[0]).abs() < 1e-8);
    let mut other = gram();
    other[(2, 2)] = f64::NAN;
    assert!(matches!(fit(&other), Err(Error::NotFinite { row: 2, column: 2, .. })));
    let narrow = Mat::from_fn(12, 11, |i, j| k[i][j]);
    let error = fit(&narrow).unwrap_err();
    assert_eq!(error.to_string(), "11 columns of the kernel matrix, expected 12");
}

/// 40 equal rows and λ = 1e-12 in single precision: the system is numerically singular.
#[test]
fn a_singular_system_is_refused_and_named() {
    let x = dense(&vec![vec![1.0, 2.0]; 40]);
    let targets = Targets::new(1, [1.0; 40]).unwrap();
    let error = fit(&TrainingInputs::rows(kernel_x(), &x), &targets, 1e-12, Arithmetic::Single)
        .unwrap_err();
    assert!(error.to_string().starts_with("the system of 40 unknowns is not"), "{error}");
    // with a sketch the span of the anchors is all that matters, one number here
    let fitted = fit_sketched(kernel_x(), &x, &targets, &EVERY, 40, 0, 1e-12).unwrap();
    assert_eq!(fitted.model.summary().unknowns, 1);
    let z = fitted.model.predict(&x).unwrap();
    assert!((z[0] - 1.0).abs() < 1e-6, "{}", z[0]);
}

#[test]
fn spaces() {
    let problem = Problem::new(10, 53);
    let outputs = problem.outputs();
    let basis =
        dsokr_basis::Basis::fit(kernel_y(), &outputs, &SketchOptions::new(EVERY, 4)).unwrap();
    let rank = basis.dimension();
    for count in [0, rank + 1] {
        let error = OutputSpace::basis(basis.clone(), Some(count), &outputs).unwrap_err();
        let expected = format!("number of coordinates = {count}: expected 1..={rank}");
        assert_eq!(error.to_string(), expected);
    }
    let (space, _) = OutputSpace::basis(basis, None, &outputs).unwrap();
    let other = Mat::<f64>::zeros(rank + 1, 2);
    assert!(matches!(space.squared_lengths(other.as_ref()), Err(Error::Shape(_))));
}
