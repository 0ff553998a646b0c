//! Decomposable kernels `k(x, x') M`.

use dsokr_basis::features::DenseRows;
use dsokr_basis::{Features, Kernel, RowSource, SketchKind};
use dsokr_core::loss::Square;
use dsokr_machines::{
    ConjugateGradients, Coupling, GramMatrix, InputSketch, LastSystem, Lipschitz, Loss,
    OutputMatrix, OutputSpace, PreparedSolver, RowGroups, Sketched, Solver, Stop, Targets,
    TrainingInputs,
};
use faer::{Mat, mat};

use crate::naive::{Rows, solve};

const N: usize = 6;
const LAMBDA: f64 = 0.1;

fn inputs() -> Features {
    let values: Vec<f32> = (0..N).map(|i| i as f32 / 2.0).collect();
    Features::Dense(DenseRows::new(1, values).unwrap())
}

fn targets() -> Targets {
    let row = |i: usize| [i % 3, i * i % 5, i % 2].map(|value| value as f64);
    Targets::new(3, (0..N).flat_map(row).collect::<Vec<_>>()).unwrap()
}

fn every() -> InputSketch {
    InputSketch { size: N, method: SketchKind::Subsampling { replacement: false } }
}

fn prepared<'a>(solver: &Solver, x: &'a Features, matrix: &Mat<f64>) -> PreparedSolver<'a> {
    let inputs = TrainingInputs::rows(Kernel::Gaussian { gamma: 0.5 }, x);
    let prepared = solver.prepare(inputs, 0, LastSystem::default()).unwrap();
    prepared.with_output(Some(OutputMatrix::new(matrix.as_ref()).unwrap()))
}

/// A matrix, its predictions for rows 0 and 4, those for rows 1 and 5 without the row, and the mean squared error of
/// these, by a NumPy program:
///
/// ```python
/// n, d, lam = 6, 3, 0.1
/// x = np.arange(n) / 2
/// y = np.array([[i % 3, i * i % 5, i % 2] for i in range(n)], float)
/// K = np.exp(-0.5 * (x[:, None] - x) ** 2)
/// def fit(M, rows):
///     k = K[np.ix_(rows, rows)]
///     a = np.linalg.solve(np.kron(k, M) + n * lam * np.eye(len(rows) * d), y[rows].ravel())
///     return K[:, rows] @ a.reshape(-1, d) @ M
/// ```
type Golden = (Mat<f64>, [[f64; 3]; 2], [[f64; 3]; 2], f64);

fn golden() -> [Golden; 2] {
    [
        (
            mat![[2.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 1.0]],
            [[0.193782, 0.301792, 0.126501], [1.098755, 1.67841, 0.525761]],
            [[0.853836, 2.080599, 0.225674], [0.142792, 0.607841, -0.022183]],
            3.728756,
        ),
        (
            // two eigenvalues are equal, one is 0
            mat![[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 2.0]],
            [[0.323089, 0.323089, 0.256849], [1.381313, 1.381313, 0.52358979]],
            [[1.393295, 1.393295, 0.080998], [0.499755, 0.499755, 0.0481]],
            4.075462,
        ),
    ]
}

fn close(actual: &[f32], row: usize, expected: [f64; 3], tolerance: f64) {
    for (value, expected) in actual[row * 3..][..3].iter().zip(expected) {
        assert!((f64::from(*value) - expected).abs() < tolerance, "row {row}: {value} {expected}");
    }
}

#[test]
fn predictions_and_left_out_ones_are_those_of_the_kronecker_system() {
    let x = inputs();
    let y = targets();
    for (matrix, fitted, left_out, error) in golden() {
        for solver in [Solver::default(), Solver::Sketched(Sketched { sketch: every() })] {
            let prepared = prepared(&solver, &x, &matrix);
            let (model, held_out) = prepared.fit(&y, LAMBDA, true).unwrap();
            assert_eq!((model.width(), model.summary().lambda), (3, LAMBDA));
            let actual = model.predict(&x).unwrap();
            (0..2).for_each(|at| close(&actual, 4 * at, fitted[at], 1e-5));
            let actual = held_out.unwrap();
            (0..2).for_each(|at| close(&actual, 1 + 4 * at, left_out[at], 1e-5));
            // the space says nothing but that coordinates are coordinates
            let outputs = Features::Dense(DenseRows::new(1, vec![0.0, 1.0, 2.0]).unwrap());
            let (space, _) = OutputSpace::training(Kernel::Linear, &outputs).unwrap();
            let errors = prepared.errors(&y, &[LAMBDA], &space).unwrap().unwrap();
            assert!((errors[0] - error).abs() < 1e-5, "{errors:?}");
        }
    }
}

/// Rows of a group are left out together, by one spectrum for all eigenvalues of M and by a system for each.
#[test]
fn predictions_without_a_group_are_those_of_a_fit_without_it() {
    let x = inputs();
    let group = vec![1, 4];
    let groups = RowGroups::new(N, &[group.clone(), vec![0], vec![2]]).unwrap();
    let y = targets().grouped(&groups).unwrap();
    let rest = [0, 2, 3, 5];
    let rest_x = x.select(&rest).unwrap();
    let rest_y = targets().select(&rest).unwrap();
    // the same nλ
    let same = LAMBDA * N as f64 / rest.len() as f64;
    for (matrix, _, left_out, _) in golden() {
        let (without, _) =
            prepared(&Solver::default(), &rest_x, &matrix).fit(&rest_y, same, false).unwrap();
        let expected = without.predict(&x).unwrap();
        for solver in [Solver::default(), Solver::Sketched(Sketched { sketch: every() })] {
            let (_, held_out) = prepared(&solver, &x, &matrix).fit(&y, LAMBDA, true).unwrap();
            let held_out = held_out.unwrap();
            for &row in &group {
                for (value, expected) in held_out[row * 3..][..3].iter().zip(&expected[row * 3..]) {
                    assert!((value - expected).abs() < 1e-5, "row {row}: {value}, {expected}");
                }
            }
            // a row that is in no group
            close(&held_out, 5, left_out[1], 1e-5);
        }
    }
}

/// The square loss by steps is the same machine.
#[test]
fn the_solver_of_lipschitz_losses_takes_the_matrix_too() {
    let x = inputs();
    let y = targets();
    let sketch = every();
    let stop = Stop { gap: 1e-11, steps: 100_000 };
    let solver =
        Solver::Lipschitz(Lipschitz { sketch, loss: Loss::Square(Square {}), offset: None, stop });
    for (matrix, fitted, ..) in golden() {
        let (model, _) = prepared(&solver, &x, &matrix).fit(&y, LAMBDA, false).unwrap();
        let actual = model.predict(&x).unwrap();
        (0..2).for_each(|at| close(&actual, 4 * at, fitted[at], 1e-4));
    }
}

/// λ, the rank, M, its predictions for rows 0 and 4, and the mean squared leave-one-out error, by
/// `tests/golden/output_matrix.py`.
type Learned = (f64, Option<usize>, Mat<f64>, [[f64; 3]; 2], f64);

fn learned() -> [Learned; 3] {
    [
        (
            0.02,
            None,
            mat![
                [4.23840977, 0.0553211, 1.73930166],
                [0.0553211, 7.19377495, 0.14791494],
                [1.73930166, 0.14791494, 0.76383884]
            ],
            [[0.09575064, -0.20574042, 0.07313904], [0.8378838, 1.54347156, 0.40004378]],
            2.94404861,
        ),
        (
            // one eigenvalue is 0
            0.1,
            None,
            mat![
                [1.40525262, 0.32935259, 0.64961205],
                [0.32935259, 4.41748579, 0.21158865],
                [0.64961205, 0.21158865, 0.30111013]
            ],
            [[0.38075477, 0.01126806, 0.17494716], [1.07855237, 1.7099328, 0.51850808]],
            2.77900201,
        ),
        (
            0.02,
            Some(1),
            mat![
                [0.83510203, 2.21595461, 0.40654503],
                [2.21595461, 5.88006592, 1.07877274],
                [0.40654503, 1.07877274, 0.19791458]
            ],
            [[-0.05466876, -0.14506472, -0.02661381], [0.6177503, 1.63920785, 0.30073389]],
            3.1333638,
        ),
    ]
}

#[test]
fn a_matrix_is_learned_with_the_regression() {
    let x = inputs();
    let y = targets();
    let outputs = Features::Dense(DenseRows::new(1, vec![0.0, 1.0, 2.0]).unwrap());
    let (space, _) = OutputSpace::training(Kernel::Linear, &outputs).unwrap();
    for (lambda, rank, matrix, fitted, error) in learned() {
        for solver in [Solver::default(), Solver::Sketched(Sketched { sketch: every() })] {
            let inputs = TrainingInputs::rows(Kernel::Gaussian { gamma: 0.5 }, &x);
            let prepared = solver.prepare(inputs, 0, LastSystem::default()).unwrap();
            let spectrum = prepared.spectrum(&y).unwrap().unwrap();
            let learned = spectrum.output_matrix(lambda, rank).unwrap().unwrap().dense();
            assert!((&learned - &matrix).norm_max() < 2e-3, "{lambda}: {learned:?}");
            let prepared = prepared.with_output(Some(Coupling::Learned { rank }));
            let (model, _) = prepared.fit(&y, lambda, false).unwrap();
            let actual = model.predict(&x).unwrap();
            (0..2).for_each(|at| close(&actual, 4 * at, fitted[at], 1e-3));
            // M is 0 from λ = 1.772
            let errors = prepared.errors(&y, &[lambda, 1.8], &space).unwrap().unwrap();
            let squares = y.values().unwrap().iter().map(|value| value * value).sum::<f64>();
            assert!((errors[0] - error).abs() < 1e-3, "{errors:?}");
            assert!((errors[1] - squares / N as f64).abs() < 1e-12, "{errors:?}");
            let refused = prepared.fit(&y, 1.8, false).unwrap_err().to_string();
            assert!(refused.contains("lambda = 1.8: expected a smaller number"), "{refused}");
            assert!(prepared.fit(&y, 1.75, false).is_ok());
        }
    }
    let solver = Solver::Lipschitz(Lipschitz {
        sketch: every(),
        loss: Loss::Square(Square {}),
        offset: None,
        stop: Stop::default(),
    });
    let prepared = solver.prepare(
        TrainingInputs::rows(Kernel::Gaussian { gamma: 0.5 }, &x),
        0,
        LastSystem::default(),
    );
    let prepared = prepared.unwrap().with_output(Some(Coupling::Learned { rank: None }));
    let refused = prepared.fit(&y, LAMBDA, false).unwrap_err().to_string();
    assert!(refused.contains("\"closed-form\" or \"sketched\""), "{refused}");
}

/// One input with k = 1 and λ = 1: f = M (M + I)⁻¹ y, by hand.
#[test]
fn one_pair_of_two_outputs() {
    let x = Features::Dense(DenseRows::new(1, vec![1.0]).unwrap());
    let y = Targets::new(2, vec![1.0, 0.0]).unwrap();
    let (model, _) = prepared(&Solver::default(), &x, &mat![[2.0, 1.0], [1.0, 2.0]])
        .fit(&y, 1.0, false)
        .unwrap();
    let actual = model.predict(&x).unwrap();
    assert!(
        (actual[0] - 5.0 / 8.0).abs() < 1e-6 && (actual[1] - 1.0 / 8.0).abs() < 1e-6,
        "{actual:?}"
    );
}

/// One input with k = 1, λ = 1 and y = 1 again, of a diagonal M: f = μ / (μ + 1) for each eigenvalue μ.
#[test]
fn eigenvalues_that_differ_are_fitted_apart() {
    let x = Features::Dense(DenseRows::new(1, vec![1.0]).unwrap());
    // small beside the largest one, and a chain of close ones
    let small = vec![1e6, 1.0, 0.5, 0.25];
    let chain = (0..200_i32).map(|step| 1.0 - 9e-7 * f64::from(step)).collect();
    for values in [small, chain] {
        let d = values.len();
        let matrix = Mat::from_fn(d, d, |i, j| if i == j { values[i] } else { 0.0 });
        let y = Targets::new(d, vec![1.0; d]).unwrap();
        let (model, _) = prepared(&Solver::default(), &x, &matrix).fit(&y, 1.0, false).unwrap();
        for (actual, value) in model.predict(&x).unwrap().iter().zip(&values) {
            let expected = value / (value + 1.0);
            assert!((f64::from(*actual) - expected).abs() < 2e-6, "{value}: {actual} {expected}");
        }
    }
}

#[test]
fn the_laplacian_of_two_outputs() {
    // L = [[2, −2], [−2, 2]]; ½L + ½I = [[1.5, −1], [−1, 1.5]], whose inverse is [[1.5, 1], [1, 1.5]] / 1.25
    let graph = mat![[0.0, 2.0], [2.0, 0.0]];
    let actual = OutputMatrix::laplacian(graph.as_ref(), 0.5).unwrap().dense();
    let expected = mat![[1.2, 0.8], [0.8, 1.2]];
    assert!((&actual - &expected).norm_max() < 1e-12, "{actual:?}");
    let identity = OutputMatrix::laplacian(graph.as_ref(), 0.0).unwrap().dense();
    assert!((identity - Mat::<f64>::identity(2, 2)).norm_max() < 1e-12);
    // M of y turned by 90 degrees
    let turned = OutputMatrix::new(mat![[2.0, 0.5], [0.5, 1.0]].as_ref()).unwrap();
    let turned = turned.mapped(mat![[0.0, -1.0], [1.0, 0.0]].as_ref()).unwrap().dense();
    assert!((turned - mat![[1.0, -0.5], [-0.5, 2.0]]).norm_max() < 1e-12);
}

#[test]
fn what_is_not_an_output_matrix_is_refused() {
    let refused = |matrix: Mat<f64>, says: &str| {
        let error = OutputMatrix::new(matrix.as_ref()).unwrap_err().to_string();
        assert!(error.contains("the output matrix") && error.contains(says), "{error}");
    };
    refused(Mat::zeros(2, 3), "2 × 3");
    refused(mat![[1.0, 2.0], [0.0, 1.0]], "0 in row 1, column 0, and 2 in row 0, column 1");
    refused(mat![[1.0, 2.0], [2.0, 1.0]], "eigenvalues from -1");
    refused(Mat::zeros(2, 2), "eigenvalues from 0 to 0");
    let graph = |matrix: Mat<f64>, weight: f64, says: &str| {
        let error = OutputMatrix::laplacian(matrix.as_ref(), weight).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    };
    graph(Mat::zeros(2, 2), 1.0, "mu of the Laplacian = 1");
    graph(mat![[0.0, -1.0], [-1.0, 0.0]], 0.5, "the adjacency matrix = -1");
    let x = inputs();
    let two = prepared(&Solver::default(), &x, &mat![[1.0, 0.0], [0.0, 2.0]]);
    assert!(two.fit(&targets(), 0.1, false).is_err());
}

/// More distinct eigenvalues of M than there are factors for, with weights of rows, against the Kronecker system.
#[test]
fn many_eigenvalues_are_fitted_from_one_spectrum() {
    const D: usize = 20;
    let n = 8;
    let x: Vec<f32> = (0..n).map(|i| i as f32 / 2.0).collect();
    let kernel = |a: f32, b: f32| (-0.5 * f64::from(a - b).powi(2)).exp();
    let x_rows = Features::Dense(DenseRows::new(1, x.clone()).unwrap());
    let value = |i: usize, j: usize| ((i * 7 + j * 3) % 11) as f64 / 5.0 - 1.0;
    let matrix = Mat::from_fn(D, D, |i, j| {
        let close = (-(i as f64 - j as f64).powi(2) / 9.0).exp();
        close + if i == j { 0.1 + i as f64 / 10.0 } else { 0.0 }
    });
    let y: Vec<f64> = (0..n * D).map(|at| value(at / D, at % D)).collect();
    for weights in [vec![1.0; n], (0..n).map(|i| 0.5 + (i % 3) as f64).collect::<Vec<f64>>()] {
        let ridge = LAMBDA * weights.iter().sum::<f64>();
        // the predictions for all rows of the model of some rows, with the ridge of all
        let fit = |rows: &[usize]| -> Rows {
            let size = rows.len() * D;
            let element = |a: usize, b: usize| {
                let i = rows[a / D];
                let j = rows[b / D];
                let diagonal = if a == b { ridge / weights[i] } else { 0.0 };
                kernel(x[i], x[j]) * matrix[(a % D, b % D)] + diagonal
            };
            let system: Rows =
                (0..size).map(|a| (0..size).map(|b| element(a, b)).collect()).collect();
            let sides: Rows = (0..size).map(|a| vec![y[rows[a / D] * D + a % D]]).collect();
            let solved = solve(&system, &sides);
            let predicted = |i: usize, j: usize| -> f64 {
                let term =
                    |a: usize| kernel(x[i], x[rows[a / D]]) * matrix[(j, a % D)] * solved[a][0];
                (0..size).map(term).sum()
            };
            (0..n).map(|i| (0..D).map(|j| predicted(i, j)).collect()).collect()
        };
        let all: Vec<usize> = (0..n).collect();
        let fitted = fit(&all);
        let without = |row: usize| -> Vec<usize> { (0..n).filter(|&other| other != row).collect() };
        let left_out: Rows = (0..n).map(|row| fit(&without(row))[row].clone()).collect();

        let y = Targets::new(D, y.clone()).unwrap().with_weights(&weights).unwrap();
        let gram = GramMatrix::new(Mat::from_fn(n, n, |i, j| kernel(x[i], x[j])));
        let sketch = InputSketch { size: n, ..every() };
        let solvers = [Solver::default(), Solver::Sketched(Sketched { sketch })];
        for (solver, given) in solvers.iter().flat_map(|solver| [(solver, false), (solver, true)]) {
            let inputs = if given {
                TrainingInputs::Gram(&gram)
            } else {
                TrainingInputs::rows(Kernel::Gaussian { gamma: 0.5 }, &x_rows)
            };
            let prepared = solver.prepare(inputs, 0, LastSystem::default()).unwrap();
            let output = OutputMatrix::new(matrix.as_ref()).unwrap();
            let prepared = prepared.with_output(Some(output));
            let (model, held_out) = prepared.fit(&y, LAMBDA, true).unwrap();
            let predicted = if given {
                model.predict_gram(gram.values()).unwrap()
            } else {
                model.predict(&x_rows).unwrap()
            };
            let what = format!("{}, given: {given}", solver.name());
            for (actual, expected) in [(predicted, &fitted), (held_out.unwrap(), &left_out)] {
                for (actual, expected) in actual.iter().zip(expected.concat()) {
                    assert!(
                        (f64::from(*actual) - expected).abs() < 1e-5,
                        "{what}: {actual}, {expected}"
                    );
                }
            }
        }
    }
}

/// Conjugate gradients fit a part for each eigenvalue of M. Parts of one and of two coordinates hold the model of a sketch
/// with few entries in different forms. The sketched system, which takes one spectrum for all, has the same solution.
#[test]
fn parts_of_several_sizes_are_added_up() {
    let n = 60;
    let value = |at: usize, step: usize| ((at * step) % 23) as f32 / 8.0;
    let x: Vec<f32> = (0..n).flat_map(|i| [value(i, 7), value(i, 11)]).collect();
    let x = Features::Dense(DenseRows::new(2, x).unwrap());
    let y: Vec<f64> = (0..n * 3).map(|at| f64::from(value(at, 5)) - 1.0).collect();
    let y = Targets::new(3, y).unwrap();
    let twice_the_larger = mat![[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 3.0]];
    let twice_the_smaller = mat![[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0]];
    for method in [SketchKind::CountSketch, SketchKind::Accumulation { terms: 3 }] {
        let sketch = InputSketch { size: 20, method };
        let sketched = Solver::Sketched(Sketched { sketch: sketch.clone() });
        let settings = ConjugateGradients {
            tolerance: 1e-12,
            iterations: 200,
            ..ConjugateGradients::new(sketch)
        };
        let iterated = Solver::ConjugateGradients(settings);
        for matrix in [&twice_the_larger, &twice_the_smaller] {
            let [expected, actual] = [&sketched, &iterated].map(|solver| {
                let (model, _) = prepared(solver, &x, matrix).fit(&y, 1e-2, false).unwrap();
                model.predict(&x).unwrap()
            });
            for (expected, actual) in expected.iter().zip(&actual) {
                assert!((expected - actual).abs() < 1e-4, "{expected} {actual}");
            }
        }
    }
}
