//! Weights of training rows against a weighted ridge regression in NumPy, and against refitting.

use dsokr_basis::{Kernel, Mat, SketchKind};
use dsokr_machines::{
    Arithmetic, ClosedForm, ConjugateGradients, InputSketch, LastSystem, Sketched, Solver, Targets,
    TrainingInputs, fit,
};

use crate::naive::*;

const WEIGHTS: [f64; 6] = [1.0, 0.5, 2.0, 1.0, 0.25, 3.0];
const LAMBDA: f64 = 0.05;

fn x() -> Rows {
    let rows = [[1.0, 0.5], [-0.25, 2.0], [0.75, -1.0], [1.5, 1.25], [-2.0, 0.5], [0.5, 0.25]];
    rows.map(Vec::from).to_vec()
}

fn targets() -> Targets {
    let y = [1.0, 0.5, 0.25, -1.0, 2.0, 0.75, -0.5, 1.0, 0.125, -0.75, 1.0, 1.0];
    Targets::new(2, y).unwrap().with_weights(&WEIGHTS).unwrap()
}

// b = numpy.linalg.solve(X.T @ (w[:, None] * X) + 6 * 0.05 * numpy.eye(2), X.T @ (w[:, None] * Y)); X @ b
const FITTED: [f64; 12] = [
    0.4979312,
    0.73636417,
    -1.36055791,
    -0.50209508,
    1.1732617,
    0.75804044,
    0.45605559,
    1.02972178,
    -1.868386,
    -1.69720178,
    0.2489656,
    0.36818209,
];

// the same without row i, X[i] @ b
const LEFT_OUT: [f64; 12] = [
    0.38893873,
    0.78767569,
    -2.16415635,
    -0.25366215,
    0.1590832,
    0.76790384,
    1.54682933,
    1.06363166,
    -2.29490487,
    -1.89987172,
    0.1329806,
    0.27060813,
];

#[test]
fn weighted_fits_are_those_of_numpy() {
    let (x, targets) = (dense(&x()), targets());
    let inputs = TrainingInputs::rows(Kernel::Linear, &x);
    let all = InputSketch { size: 2, method: SketchKind::Gaussian };
    let solvers = [
        Solver::ClosedForm(ClosedForm { precision: Arithmetic::Double }),
        Solver::ClosedForm(ClosedForm { precision: Arithmetic::Single }),
        Solver::Sketched(Sketched { sketch: all.clone() }),
    ];
    let close = |found: &[f32], expected: &[f64], what: &str| {
        let expected: Rows = expected.chunks(2).map(<[f64]>::to_vec).collect();
        assert_close(&wide(2, found), &expected, 2e-6, what);
    };
    for solver in solvers {
        let prepared = solver.prepare(inputs.clone(), 0, LastSystem::default()).unwrap();
        let (model, left_out) = prepared.fit(&targets, LAMBDA, true).unwrap();
        let what = solver.name();
        close(&model.predict(&x).unwrap(), &FITTED, &what);
        close(&left_out.unwrap(), &LEFT_OUT, &what);
        let spectrum = prepared.spectrum(&targets).unwrap().unwrap();
        close(&spectrum.leave_one_out(LAMBDA).unwrap(), &LEFT_OUT, &what);
    }
    let k = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let raw = self::x();
    let gram = Mat::from_fn(6, 6, |i, j| k(&raw[i], &raw[j]));
    let given = fit(&TrainingInputs::Gram(gram.as_ref()), &targets, LAMBDA, Arithmetic::Double);
    close(&given.unwrap().leave_one_out(&targets).unwrap(), &LEFT_OUT, "of a Gram matrix");
}

#[test]
fn solvers_without_weights_refuse_them() {
    let (x, targets) = (dense(&x()), targets());
    let inputs = TrainingInputs::rows(Kernel::Linear, &x);
    let sketch = InputSketch::subsampling(3);
    let solver = Solver::ConjugateGradients(ConjugateGradients::new(sketch));
    let prepared = solver.prepare(inputs, 0, LastSystem::default()).unwrap();
    let error = prepared.fit(&targets, LAMBDA, false).unwrap_err().to_string();
    assert!(error.contains("weights of rows") && error.contains("conjugate-gradients"), "{error}");
}

#[test]
fn weights_are_finite_and_above_zero_one_a_row() {
    let targets = Targets::new(1, [1.0, 2.0]).unwrap();
    for (weights, said) in [
        (&[1.0][..], "weights"),
        (&[1.0, 0.0], "the weight of row 1 = 0: allowed is finite numbers above 0"),
        (&[f64::INFINITY, 1.0], "the weight of row 0 = inf"),
    ] {
        let error = targets.clone().with_weights(weights).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}
