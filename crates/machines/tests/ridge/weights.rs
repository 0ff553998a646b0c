//! Weights of training rows against a weighted ridge regression in NumPy, and against refitting.

use dsokr_basis::{Basis, Features, Kernel, Mat, RowSource, SketchKind, SketchOptions};
use dsokr_core::loss::{Huber, Square};
use dsokr_core::{Processes, RowWeights};
use dsokr_machines::{
    Arithmetic, ClosedForm, ConjugateGradients, DivideAndConquer, GramMatrix, InputSketch,
    LastSystem, Lipschitz, Loss, Offset, OutputEmbedding, OutputSpace, PreparedSolver, RowGroups,
    Scaling, Sketched, Solver, Stop, Targets, TrainingInputs, fit,
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

// r = w.sum() * 0.05 * numpy.eye(2)
// b = numpy.linalg.solve(X.T @ (w[:, None] * X) + r, X.T @ (w[:, None] * Y)); X @ b
const FITTED: [f64; 12] = [
    0.4909453,
    0.72680292,
    -1.33917516,
    -0.4926161,
    1.15531646,
    0.74628273,
    0.45019705,
    1.01704782,
    -1.84055331,
    -1.67307552,
    0.24547265,
    0.36340146,
];

// the same r without row i, X[i] @ b
const LEFT_OUT: [f64; 12] = [
    0.38209862,
    0.77529819,
    -2.1152332,
    -0.24484018,
    0.15355113,
    0.74187417,
    1.50661777,
    1.03600144,
    -2.25376143,
    -1.86712891,
    0.13061211,
    0.26649304,
];

#[test]
fn weighted_fits_are_those_of_numpy() {
    let x = dense(&x());
    let targets = targets();
    let inputs = TrainingInputs::rows(Kernel::Linear, &x);
    let all = InputSketch { size: 2, method: SketchKind::Gaussian };
    let solvers = [
        Solver::ClosedForm(ClosedForm { precision: Arithmetic::Double }),
        Solver::ClosedForm(ClosedForm { precision: Arithmetic::Single }),
        Solver::Sketched(Sketched { sketch: all.clone() }),
    ];
    let close = |actual: &[f32], expected: &[f64], what: &str| {
        let expected: Rows = expected.chunks(2).map(<[f64]>::to_vec).collect();
        assert_close(&wide(2, actual), &expected, 2e-6, what);
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
    let given = fit(
        &TrainingInputs::Gram(&GramMatrix::new(gram.clone())),
        &targets,
        LAMBDA,
        Arithmetic::Double,
    );
    close(&given.unwrap().leave_one_out(&targets).unwrap(), &LEFT_OUT, "of a Gram matrix");
}

fn prepared_for<'a>(solver: &Solver, x: &'a Features) -> PreparedSolver<'a> {
    let inputs = TrainingInputs::rows(kernel_x(), x);
    solver.prepare(inputs, 0, LastSystem::default()).unwrap()
}

/// Four copies of each row that are left out together have the held-out predictions and errors of the row with weight 4,
/// so that λ is the same. Copies that are left out alone are predicted by the others.
#[test]
fn copies_that_are_left_out_together_are_one_row_of_their_weight() {
    let n = 20;
    let problem = Problem::new(n, 31);
    let x = problem.inputs();
    let y = problem.outputs();
    let four = RowWeights::new(&[4.0; 20]).unwrap();
    let (space, once) = OutputSpace::training_weighted(kernel_y(), &y, &four).unwrap();
    let rows: Vec<usize> = (0..4 * n).map(|row| row % n).collect();
    let copied_x = x.select(&rows).unwrap();
    let copied_y = y.select(&rows).unwrap();
    let (copied_space, alone) = OutputSpace::training(kernel_y(), &copied_y).unwrap();
    let groups: Vec<Vec<usize>> =
        (0..n).map(|row| (0..4).map(|copy| row + copy * n).collect()).collect();
    let groups = RowGroups::new(4 * n, &groups).unwrap();
    let copied = alone.clone().grouped(&groups).unwrap();
    let width = once.width();
    let grid = [1e-4, 1e-2, 1.0];
    let sketch = InputSketch { size: n, method: SketchKind::Gaussian };
    let solvers = [
        Solver::ClosedForm(ClosedForm { precision: Arithmetic::Double }),
        Solver::Sketched(Sketched { sketch }),
    ];
    for solver in solvers {
        let what = solver.name();
        let of_once = prepared_for(&solver, &x);
        let of_copies = prepared_for(&solver, &copied_x);
        let expected = of_once.errors(&once, &grid, &space).unwrap().unwrap();
        let errors = of_copies.errors(&copied, &grid, &copied_space).unwrap().unwrap();
        for (error, expected) in errors.iter().zip(&expected) {
            assert!((error / expected - 1.0).abs() < 1e-5, "{what}: {error}, {expected}");
        }
        let one_by_one = of_copies.errors(&alone, &grid, &copied_space).unwrap().unwrap();
        assert!(one_by_one[0] < 0.5 * expected[0], "{what}: {one_by_one:?}, {expected:?}");
        for lambda in grid {
            let left_out = |prepared: &PreparedSolver, targets: &Targets| {
                let (_, left_out) = prepared.fit(targets, lambda, true).unwrap();
                wide(width, &left_out.unwrap())
            };
            let expected = left_out(&of_once, &once);
            let expected: Rows = rows.iter().map(|&row| expected[row].clone()).collect();
            let case = format!("{what}, λ {lambda}");
            assert_close(&left_out(&of_copies, &copied), &expected, 2e-5, &case);
        }
    }
}

/// Returns every row as often as its weight says, which is a whole number.
fn repeated(weights: &[f64]) -> Vec<usize> {
    let times = |(row, &weight): (usize, &f64)| std::iter::repeat_n(row, weight as usize);
    weights.iter().enumerate().flat_map(times).collect()
}

/// Rows with weights against as many copies of each, by every solver that is linear in its features, and by Lipschitz
/// losses. Sketches span the features, so that it does not matter which rows they draw.
#[test]
fn a_weight_of_two_is_a_row_twice() {
    let weights = [2.0, 1.0, 3.0, 1.0, 2.0, 1.0, 1.0, 4.0, 2.0, 1.0];
    let all = || InputSketch { size: 3, method: SketchKind::Gaussian };
    let stop = Stop { gap: 1e-9, steps: 200_000 };
    let lipschitz = |loss, offset| {
        Solver::Lipschitz(Lipschitz { sketch: all(), loss, offset: Some(offset), stop })
    };
    let conjugate = ConjugateGradients { tolerance: 1e-12, ..ConjugateGradients::new(all()) };
    // the first block is kept, the others are computed again
    let little_memory = ConjugateGradients { memory: 0, ..conjugate.clone() };
    let solvers = [
        (Solver::ClosedForm(ClosedForm { precision: Arithmetic::Double }), 1e-5),
        (Solver::ClosedForm(ClosedForm { precision: Arithmetic::Single }), 1e-4),
        (Solver::Sketched(Sketched { sketch: all() }), 1e-5),
        (Solver::ConjugateGradients(conjugate), 1e-5),
        (Solver::ConjugateGradients(little_memory), 1e-5),
        (Solver::DivideAndConquer(DivideAndConquer { sketch: all(), parts: 2 }), 1e-5),
        (lipschitz(Loss::Square(Square {}), Offset::Constant), 1e-3),
        (lipschitz(Loss::Huber(Huber { kappa: 0.3 }), Offset::Constant), 1e-3),
        (lipschitz(Loss::pinball([0.1, 0.5]), Offset::Constant), 1e-3),
    ];
    // the first five rows weigh as much as the others, so that both have the same two parts
    let problem = Problem::new(10, 5);
    let x = problem.inputs();
    let rows = repeated(&weights);
    let copies = x.select(&rows).unwrap();
    for (solver, tolerance) in solvers {
        let quantiles =
            matches!(&solver, Solver::Lipschitz(options) if options.loss.levels().is_some());
        let targets = if quantiles {
            Targets::repeated(2, &problem.x.iter().map(|x| x[0] * x[1]).collect::<Vec<_>>())
        } else {
            Targets::new(6, problem.y.concat())
        };
        let targets = targets.unwrap();
        let width = targets.width();
        let fitted = |x: &Features, targets: &Targets| {
            let inputs = TrainingInputs::rows(Kernel::Linear, x);
            let prepared = solver.prepare(inputs, 3, LastSystem::default()).unwrap();
            let (model, _) = prepared.fit(targets, 0.02, false).unwrap();
            wide(width, &model.predict(&problem.inputs()).unwrap())
        };
        let expected = fitted(&copies, &targets.select(&rows).unwrap());
        let actual = fitted(&x, &targets.clone().with_weights(&weights).unwrap());
        let unweighted = fitted(&x, &targets);
        let apart = |a: &Rows, b: &Rows| {
            let differences = a.concat().into_iter().zip(b.concat()).map(|(a, b)| (a - b).abs());
            differences.fold(0.0, f64::max)
        };
        let error = apart(&actual, &expected);
        let effect = apart(&unweighted, &expected);
        let name = solver.name();
        assert!(error <= tolerance, "{name}: {error:e}");
        assert!(effect > 20.0 * tolerance, "{name}: weights change predictions by {effect:e} only");
    }
}

#[test]
fn directions_of_weighted_predictions_are_those_of_copies() {
    let weights = [2.0, 1.0, 3.0];
    let rows = [1.0f32, 0.5, -2.0, 0.25, 0.5, 3.0];
    let copies: Vec<f32> =
        repeated(&weights).into_iter().flat_map(|row| rows[2 * row..][..2].to_vec()).collect();
    let weights = RowWeights::new(&weights).unwrap();
    let spectrum = |embedding: OutputEmbedding| vec![embedding.spectrum().to_vec()];
    let weighted = OutputEmbedding::learn_weighted(2, &rows, &weights, &[], 1.0, 2).unwrap();
    let copied = OutputEmbedding::learn(2, &copies, &[], 1.0, 2).unwrap();
    assert_close(&spectrum(weighted), &spectrum(copied), 1e-12, "eigenvalues");
}

/// A row that weighs more than all others leaves each part a row, and a sketch has at most the rows of the smallest.
#[test]
fn parts_have_rows_whatever_weighs_most() {
    let problem = Problem::new(10, 5);
    let x = problem.inputs();
    let fitted = |heavy: usize, size: usize| {
        let mut weights = [1.0; 10];
        weights[heavy] = 1000.0;
        let sketch = InputSketch { size, method: SketchKind::Gaussian };
        let solver = Solver::DivideAndConquer(DivideAndConquer { sketch, parts: 3 });
        let targets = Targets::new(6, problem.y.concat()).unwrap().with_weights(&weights).unwrap();
        let inputs = TrainingInputs::rows(Kernel::Linear, &x);
        let prepared = solver.prepare(inputs, 3, LastSystem::default()).unwrap();
        prepared.fit(&targets, 0.02, false).map(|(model, _)| model.summary().unknowns)
    };
    for heavy in [0, 4, 9] {
        assert_eq!(fitted(heavy, 1).unwrap(), 3, "row {heavy}");
    }
    let error = fitted(0, 2).unwrap_err().to_string();
    assert!(error.contains("at most 1, the rows of the smallest of 3 parts"), "{error}");
}

/// Everything computed of all training outputs and inputs before a fit counts weights: means, deviations, weights of
/// columns.
#[test]
fn means_and_deviations_count_a_row_as_often_as_it_weighs() {
    let each = [2.0, 1.0, 3.0, 1.0, 2.0, 1.0, 1.0, 4.0];
    let weights = RowWeights::new(&each).unwrap();
    let problem = Problem::new(8, 6);
    let outputs = problem.outputs();
    let rows = repeated(&each);
    let copies = outputs.select(&rows).unwrap();

    let centre = |kernel: Kernel| {
        let weighted =
            OutputSpace::training_weighted(kernel.clone(), &outputs, &weights).unwrap().0;
        let repeated = OutputSpace::training(kernel, &copies).unwrap().0;
        (weighted.centre().to_vec(), repeated.centre().to_vec())
    };
    let (actual, expected) = centre(kernel_y());
    assert_close(&vec![actual], &vec![expected], 1e-12, "mean of the training outputs");
    let basis =
        Basis::fit(kernel_y(), &outputs, &SketchOptions::new(SketchKind::Gaussian, 8)).unwrap();
    let (weighted, targets) = OutputSpace::basis_weighted(
        basis.clone(),
        None,
        &outputs,
        &weights,
        &Processes::default(),
        None,
    )
    .unwrap();
    let (repeated, _) = OutputSpace::basis(basis, None, &copies).unwrap();
    let centres = [&weighted, &repeated].map(|space| vec![space.centre().to_vec()]);
    assert_close(&centres[0], &centres[1], 1e-12, "mean in a basis");
    assert_eq!(targets.weights(), &weights);

    for centred in [true, false] {
        let actual = Scaling::fit_weighted(&problem.inputs(), &weights, centred).unwrap();
        let expected = Scaling::fit(&problem.inputs().select(&rows).unwrap(), centred).unwrap();
        let deviations = |scaling: &Scaling| wide(3, &scaling.restore(&[1.0, 1.0, 1.0]));
        assert_close(&deviations(&actual), &deviations(&expected), 1e-6, "standard deviations");
    }
}

#[test]
fn weights_are_finite_and_above_zero_one_a_row() {
    let targets = Targets::new(1, [1.0, 2.0]).unwrap();
    for (weights, said) in [
        (&[1.0][..], "weights"),
        (&[1.0, 0.0], "the weight of row 1 = 0: expected finite numbers above 0"),
        (&[f64::INFINITY, 1.0], "the weight of row 0 = inf"),
    ] {
        let error = targets.clone().with_weights(weights).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}
