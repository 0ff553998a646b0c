//! Conjugate gradients against the direct solver, formulas, and what they promise.

use dsokr_basis::{Block, Kernel, Mat, OutputKernel, RowSource, Sketch, SketchKind};
use dsokr_core::Error;
use dsokr_machines::{
    ConjugateGradients, FitSize, InputSketch, KernelModel, OutputSpace, Solver, Targets,
};

use crate::naive::*;
use crate::streams::Circle;

const EVERY: SketchKind = SketchKind::Subsampling { replacement: false };

fn tight() -> ConjugateGradients {
    ConjugateGradients {
        tolerance: 1e-11,
        iterations: 300,
        ..ConjugateGradients::new(InputSketch::subsampling(1))
    }
}

fn predictions(model: &KernelModel, queries: &Problem) -> Rows {
    wide(model.width(), &model.predict(&queries.inputs()).unwrap())
}

#[test]
fn the_direct_solver_finds_the_same_for_every_sketch() {
    let n = 400;
    let m = 30;
    let lambda = 1e-4;
    let problem = Problem::new(n, 60);
    let queries = Problem::new(20, 61);
    let x = problem.inputs();
    let (_, targets) = OutputSpace::training(kernel_y(), &problem.outputs()).unwrap();
    let sketches = [
        EVERY,
        SketchKind::Subsampling { replacement: true },
        SketchKind::Leverage { lambda: 1e-3, pilot: 50 },
        SketchKind::Gaussian,
        SketchKind::SparsifiedRademacher { density: 0.05 },
        SketchKind::SparsifiedGaussian { density: 0.05 },
        SketchKind::Accumulation { terms: 3 },
        SketchKind::CountSketch,
    ];
    for sketch in sketches {
        let direct = fit_sketched(kernel_x(), &x, &targets, &sketch, m, 3, lambda).unwrap().model;
        let settings = tight();
        let model =
            fit_conjugate_gradients(kernel_x(), &x, &targets, &sketch, m, 3, lambda, &settings)
                .unwrap();
        let convergence = solved(&model).convergence.unwrap();
        assert!(
            convergence.converged() && convergence.iterations < 100,
            "{sketch:?}: {convergence}"
        );
        assert_eq!(model.anchors(), direct.anchors());
        let actual = predictions(&model, &queries);
        let expected = predictions(&direct, &queries);
        assert_close(&actual, &expected, 1e-6, &format!("{sketch:?}"));
    }
}

/// With every row an anchor the minimiser is `(K + nλI)⁻¹ Ψ`, however badly `K²` is conditioned.
#[test]
fn an_ill_conditioned_system_is_solved_as_its_formula() {
    let n = 120;
    let problem = Problem::new(n, 62);
    let queries = Problem::new(20, 63);
    let targets = Targets::new(6, problem.y.concat()).unwrap();
    for (gamma, lambda) in [(1.0, 1e-2), (0.4, 1e-6), (0.01, 1e-6), (0.01, 1e-8)] {
        let k = gaussian(gamma, &problem.x, &problem.x);
        let values = jacobi(&k).0;
        let condition = (values[0] / values[n - 1].abs()).powi(2);
        if gamma < 0.1 {
            assert!(condition > 1e20, "the normal matrix is numerically singular: {condition:e}");
        }
        let system = add(&k, n as f64 * lambda, &identity(n));
        let alpha = solve(&system, &problem.y);
        let expected = product(&gaussian(gamma, &queries.x, &problem.x), &alpha);
        let kernel = Kernel::Gaussian { gamma };
        let x = problem.inputs();
        let model =
            fit_conjugate_gradients(kernel, &x, &targets, &EVERY, n, 0, lambda, &tight()).unwrap();
        assert!(solved(&model).convergence.unwrap().converged(), "{}", model.summary());
        let what = format!("gamma {gamma}, lambda {lambda:e}: {}", model.summary());
        assert_close(&predictions(&model, &queries), &expected, 1e-5, &what);
    }
}

#[test]
fn iterations_do_not_grow_with_the_number_of_rows() {
    let iterations = [500, 4_000, 32_000].map(|n| {
        let problem = Problem::new(n, 64);
        let targets = Targets::new(6, problem.y.concat()).unwrap();
        let x = problem.inputs();
        let settings = ConjugateGradients::new(InputSketch::subsampling(1));
        let model =
            fit_conjugate_gradients(kernel_x(), &x, &targets, &EVERY, 60, 0, 1e-6, &settings)
                .unwrap();
        let convergence = solved(&model).convergence.unwrap();
        assert!(convergence.converged(), "{n} rows: {convergence}");
        convergence.iterations
    });
    assert!(iterations.iter().all(|&count| count <= 25), "{iterations:?}");
}

/// Where the sample is all rows one iteration solves the system; with eight rows for each unknown the iterations are those
/// that the tolerance needs, whatever is allowed.
#[test]
fn the_cost_counts_the_iterations_that_are_needed() {
    let cost = |pairs: usize, iterations: usize| {
        let sketch = InputSketch::subsampling(100);
        let settings = ConjugateGradients { iterations, ..ConjugateGradients::new(sketch) };
        let size = FitSize { pairs, targets: pairs, coordinates: 50, lambdas: 1, threads: 2 };
        Solver::ConjugateGradients(settings).cost(&size).multiplications
    };
    assert_eq!(cost(800, 1), cost(800, 500));
    assert_eq!(cost(8000, 50), cost(8000, 500));
    assert!(cost(8000, 5) < cost(8000, 50));
    // a coordinate takes at most 19 iterations of 2 n m p multiplications in double precision
    let product = (8000 * 100 * 50) as f64;
    assert!(cost(8000, 500) - cost(8000, 1) < 19.0 * 2.0 * 2.0 * product);
}

#[test]
fn what_is_kept_and_how_many_threads_compute_does_not_matter() {
    // three blocks of rows; one of them takes 5 MB
    let n = 150_000;
    let m = 10;
    let fit = |memory| {
        let settings =
            ConjugateGradients { memory, ..ConjugateGradients::new(InputSketch::subsampling(1)) };
        let kernel = Kernel::Gaussian { gamma: 1.0 };
        fit_conjugate_gradients(
            kernel,
            &Circle(n),
            &Circle(n).targets(),
            &EVERY,
            m,
            0,
            1e-7,
            &settings,
        )
        .unwrap()
        .predict(&Circle(100))
        .unwrap()
    };
    let expected = fit(usize::MAX);
    assert_eq!(fit(0), expected);
    assert_eq!(fit(7 << 20), expected);
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(pool.install(|| fit(0)), expected, "{threads} threads");
    }
    let direct = fit_sketched(
        Kernel::Gaussian { gamma: 1.0 },
        &Circle(n),
        &Circle(n).targets(),
        &EVERY,
        m,
        0,
        1e-7,
    );
    let direct = direct.unwrap().model.predict(&Circle(100)).unwrap();
    assert_close(&wide(2, &expected), &wide(2, &direct), 1e-5, "circle");
}

#[test]
fn a_fit_that_runs_out_of_iterations_says_so() {
    let problem = Problem::new(300, 65);
    let mut y: Rows = problem.y.clone();
    y.iter_mut().for_each(|row| row[2] = 0.0);
    let targets = Targets::new(6, y.concat()).unwrap();
    let fit = |iterations| {
        let settings = ConjugateGradients {
            iterations,
            sample: Some(150),
            ..ConjugateGradients::new(InputSketch::subsampling(1))
        };
        let x = problem.inputs();
        fit_conjugate_gradients(kernel_x(), &x, &targets, &EVERY, 50, 0, 1e-6, &settings).unwrap()
    };
    let model = fit(2);
    let convergence = solved(&model).convergence.unwrap();
    assert!(!convergence.converged() && convergence.iterations == 2);
    assert!(convergence.residual > 1e-8);
    let text = model.summary().to_string();
    assert!(text.contains("not converged in 2 iterations"), "{text}");
    let text = fit(100).summary().to_string();
    assert!(!text.contains("not") && text.contains("converged in"), "{text}");
    // a coordinate that is 0 everywhere is predicted as 0, after no iteration
    let z = predictions(&model, &problem);
    assert!(z.iter().all(|row| row[2] == 0.0) && z.iter().any(|row| row[1] != 0.0));
    let folder = tempfile::tempdir().unwrap();
    model.save(folder.path(), &std::collections::BTreeMap::new()).unwrap();
    let stored = KernelModel::open(folder.path()).unwrap().unwrap();
    assert_eq!(KernelModel::read(&stored).unwrap().summary(), model.summary());
}

#[test]
fn settings_that_cannot_be_honoured() {
    let problem = Problem::new(20, 66);
    let targets = Targets::new(6, problem.y.concat()).unwrap();
    let fit = |kernel, m, lambda, settings: ConjugateGradients| {
        let x = problem.inputs();
        fit_conjugate_gradients(kernel, &x, &targets, &EVERY, m, 0, lambda, &settings).unwrap_err()
    };
    for tolerance in [0.0, -1.0, 1.0, f64::NAN] {
        let error = fit(kernel_x(), 5, 1.0, ConjugateGradients { tolerance, ..tight() });
        assert!(matches!(error, Error::Value { .. }), "{error}");
    }
    let error = fit(kernel_x(), 5, 1.0, ConjugateGradients { iterations: 0, ..tight() });
    assert_eq!(error.to_string(), "number of iterations = 0: expected at least 1");
    for sample in [0, 21] {
        let error = fit(kernel_x(), 5, 1.0, ConjugateGradients { sample: Some(sample), ..tight() });
        let expected = format!("rows of the sample = {sample}: expected 1..=20");
        assert_eq!(error.to_string(), expected);
    }
    assert!(matches!(fit(kernel_x(), 5, 0.0, tight()), Error::Value { .. }));
    let error = fit(kernel_x(), 21, 1.0, tight());
    assert_eq!(error.to_string(), "sketch: size = 21: expected 1..=20, the number of rows");
    let anchors = Sketch::draw(&EVERY, 5, 20, 0).unwrap().anchors();
    let row = (0..20).find(|row| !anchors.contains(row)).unwrap();
    let fit = |row: usize| {
        let settings = tight();
        let pole = Pole(problem.x[row][0]);
        let x = problem.inputs();
        fit_conjugate_gradients(pole, &x, &targets, &EVERY, 5, 0, 1.0, &settings).unwrap_err()
    };
    let error = fit(row);
    assert!(
        matches!(error, Error::NotFinite { what: "kernel matrix", row: named, .. } if named == row),
        "{error}"
    );
    let error = fit(anchors[2]);
    let what = "kernel matrix of the anchors";
    assert!(matches!(error, Error::NotFinite { what: named, column: 2, .. } if named == what));
}

/// Infinite where this is the first coordinate of the second row.
#[derive(Debug)]
struct Pole(f64);

impl OutputKernel for Pole {
    fn name(&self) -> String {
        "pole".into()
    }

    fn block(&self, a: &Block, b: &Block) -> Result<Mat<f64>, dsokr_core::Error> {
        let Block::Dense(rows) = b else { panic!("dense rows") };
        let mut values = kernel_x().block(a, b)?;
        for (j, row) in rows.values().chunks_exact(rows.width()).enumerate() {
            if f64::from(row[0]) == self.0 {
                values.col_mut(j).fill(f64::INFINITY);
            }
        }
        Ok(values)
    }

    fn diagonal(&self, rows: &Block) -> Result<Vec<f64>, dsokr_core::Error> {
        Ok(vec![1.0; rows.len()])
    }
}
