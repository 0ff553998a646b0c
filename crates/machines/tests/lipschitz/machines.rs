//! Machines against closed forms, the unsketched problem, and their own duality gap.

use dsokr_basis::{Mat, SketchKind};
use dsokr_core::Error;
use dsokr_core::loss::{Huber, Square};
use dsokr_machines::{
    FitSize, InputFeatures, LipschitzProblem, Loss, Offset, OutputMatrix, Solver, Stop, Targets,
    fit_lipschitz,
};

use crate::support::{
    EVERY, basis, coupled, fit_on, gram, losses, objective, regression, solve, solved, two_outputs,
};

fn tight(gap: f64) -> Stop {
    Stop { gap, steps: 200_000 }
}

#[test]
fn a_wide_huber_loss_is_kernel_ridge_regression() {
    let (x, y) = regression(120, 0);
    let values = two_outputs(&y, 0);
    let n = 120;
    let lambda = 1e-3;
    // vec: (K ⊗ M + nλ I) α = y, f = (K ⊗ M) α.
    let output = coupled();
    let k = gram(&x);
    let m = output.dense();
    let wide = Mat::from_fn(2 * n, 2 * n, |a, b| k[(a / 2, b / 2)] * m[(a % 2, b % 2)]);
    let ridge = Mat::from_fn(2 * n, 2 * n, |a, b| {
        wide[(a, b)] + if a == b { n as f64 * lambda } else { 0.0 }
    });
    let sides = Mat::from_fn(2 * n, 1, |a, _| values[a]);
    let expected = &wide * solve(&ridge, &sides);
    for loss in [Loss::Huber(Huber { kappa: 1e6 }), Loss::Square(Square {})] {
        let problem =
            LipschitzProblem { loss, output: output.clone(), lambda, offset: Offset::Zero };
        let targets = Targets::new(2, values.clone()).unwrap();
        let basis = basis(&x, &EVERY, n);
        let machine = fit_on(basis, &x, &targets, &problem, &tight(1e-12)).unwrap();
        assert!(solved(&machine).converged);
        for (a, &actual) in machine.predict(&x).unwrap().iter().enumerate() {
            assert!((f64::from(actual) - expected[(a, 0)]).abs() < 2e-5, "{a}: {actual}");
        }
    }
}

#[test]
fn every_row_as_an_anchor_is_the_machine_without_a_sketch() {
    // Dense square sketches of full rank span the same functions as all rows do.
    let (x, y) = regression(60, 1);
    for loss in losses(1) {
        let output = OutputMatrix::identity(1).unwrap();
        let problem = LipschitzProblem { loss, output, lambda: 1e-3, offset: Offset::Constant };
        let targets = Targets::new(1, y.clone()).unwrap();
        let fit = |kind: &SketchKind| {
            let machine = fit_on(basis(&x, kind, 60), &x, &targets, &problem, &tight(1e-9));
            let machine = machine.unwrap();
            assert!(solved(&machine).converged, "{}", machine.summary());
            (machine.predict(&x).unwrap(), solved(&machine).objective)
        };
        let (plain, least) = fit(&EVERY);
        // The same problem in its n coefficients α, f = K α: at the plain solution, its objective.
        let k = gram(&x);
        let nugget = Mat::from_fn(60, 60, |i, j| k[(i, j)] + if i == j { 1e-9 } else { 0.0 });
        let offset = fit_on(basis(&x, &EVERY, 60), &x, &targets, &problem, &tight(0.5));
        let offset = offset.unwrap().offset()[0];
        let f = Mat::from_fn(60, 1, |i, _| f64::from(plain[i]) - offset);
        let alpha = solve(&nugget, &f);
        let norm = (f.transpose() * &alpha)[(0, 0)];
        let loss: f64 =
            (0..60).map(|i| problem.loss.value(&[f[(i, 0)] + offset], &[y[i]], 0.0) / 60.0).sum();
        let naive = loss + problem.loss.penalty() * problem.lambda * norm;
        assert!((naive - least).abs() < 1e-3 * least, "{:?}: {naive}, {least}", problem.loss);
        let (mixed, objective) = fit(&SketchKind::SparsifiedGaussian { density: 0.7 });
        assert!((objective - least).abs() < 1e-5 * least, "{objective}, {least}");
        for (a, b) in plain.iter().zip(&mixed) {
            assert!((a - b).abs() < 5e-3, "{:?}: {a}, {b}", problem.loss);
        }
    }
}

#[test]
fn the_gap_bounds_what_the_objective_lacks() {
    let (x, y) = regression(200, 2);
    let values = two_outputs(&y, 2);
    for loss in losses(2) {
        let problem =
            LipschitzProblem { loss, output: coupled(), lambda: 1e-4, offset: Offset::Constant };
        let targets = Targets::new(2, values.clone()).unwrap();
        let kind = SketchKind::SparsifiedRademacher { density: 0.2 };
        let fit = |stop: Stop| fit_on(basis(&x, &kind, 30), &x, &targets, &problem, &stop).unwrap();
        let long = fit(tight(1e-9));
        let least = solved(&long).objective;
        assert!(solved(&long).converged, "{}", long.summary());
        assert!(solved(&long).gap() <= 1e-9 * solved(&long).start);
        let mut tested = 0;
        for steps in [1, 2, 5, 20, 60] {
            let short = fit(Stop { gap: 1e-9, steps });
            let summary = solved(&short);
            // What it says of itself is what the weights give.
            let recomputed = objective(
                &basis(&x, &kind, 30),
                &x,
                &values,
                &[0.0; 200],
                &problem,
                (&short.weights(), short.offset()),
            );
            assert!(
                (recomputed - summary.objective).abs() < 1e-9 * recomputed,
                "{recomputed}, {}",
                short.summary()
            );
            assert!(summary.objective >= least - 1e-9 * summary.start);
            assert!(
                summary.bound <= least + 1e-12 * summary.start,
                "{}, least {least}",
                short.summary()
            );
            if !summary.converged {
                tested += 1;
                assert_eq!(summary.steps, steps);
                assert!(short.summary().to_string().contains("not converged"));
            }
        }
        assert!(tested >= 1, "{:?}: every short run converged", problem.loss);
    }
}

#[test]
fn the_solution_is_a_minimum_in_every_direction() {
    let (x, y) = regression(150, 3);
    let values = two_outputs(&y, 3);
    let residuals: Vec<f64> = (0..150).map(|row| (row % 7) as f64 * 0.05).collect();
    for loss in losses(2) {
        let problem =
            LipschitzProblem { loss, output: coupled(), lambda: 1e-3, offset: Offset::Zero };
        let targets =
            Targets::new(2, values.clone()).unwrap().with_residuals(residuals.clone()).unwrap();
        let features = basis(&x, &EVERY, 12);
        let machine = fit_on(features.clone(), &x, &targets, &problem, &tight(1e-10)).unwrap();
        assert!(solved(&machine).converged, "{}", machine.summary());
        let at = |weights: &[f64]| {
            objective(&features, &x, &values, &residuals, &problem, (weights, machine.offset()))
        };
        let least = at(&machine.weights());
        let mut random = dsokr_core::random::generator(0, "test/directions", 0);
        for direction in 0..20 {
            let size = [1e-3, 1e-2, 0.1][direction % 3];
            let moved: Vec<f64> = machine
                .weights()
                .iter()
                .map(|w| w + size * crate::support::normal(&mut random))
                .collect();
            assert!(at(&moved) > least - 1e-9 * solved(&machine).start, "{:?}", problem.loss);
        }
    }
}

#[test]
fn sketches_of_every_kind_come_near_the_machine_without_one() {
    let (x, y) = regression(300, 4);
    let targets = Targets::new(1, y).unwrap();
    let problem = LipschitzProblem {
        loss: Loss::Huber(Huber { kappa: 0.5 }),
        output: OutputMatrix::identity(1).unwrap(),
        lambda: 1e-3,
        offset: Offset::Constant,
    };
    let least = fit_on(basis(&x, &EVERY, 300), &x, &targets, &problem, &tight(1e-6)).unwrap();
    let start = solved(&least).start;
    let least = solved(&least).objective;
    for kind in [
        EVERY,
        SketchKind::Subsampling { replacement: true },
        SketchKind::Leverage { lambda: 1e-3, pilot: 100 },
        SketchKind::Gaussian,
        SketchKind::SparsifiedRademacher { density: 0.05 },
        SketchKind::SparsifiedGaussian { density: 0.05 },
        SketchKind::Accumulation { terms: 5 },
        SketchKind::CountSketch,
    ] {
        let fit = |m| {
            let machine = fit_on(basis(&x, &kind, m), &x, &targets, &problem, &tight(1e-6));
            solved(&machine.unwrap()).objective
        };
        let few = fit(3);
        let many = fit(40);
        // A sketch restricts the functions: the objective is never less than without one.
        assert!(few >= least - 2e-6 * start && many >= least - 2e-6 * start, "{kind:?}");
        assert!(many - least < 0.02 * (start - least), "{kind:?}: {many}, {least}, {start}");
        assert!(few - least > 2.0 * (many - least), "{kind:?}: {few}, {many}, {least}");
    }
}

#[test]
fn threads_change_no_bit() {
    let (x, y) = regression(1500, 5);
    let values = two_outputs(&y, 5);
    for loss in losses(2) {
        let problem =
            LipschitzProblem { loss, output: coupled(), lambda: 1e-3, offset: Offset::Constant };
        let targets = Targets::new(2, values.clone()).unwrap();
        let fit = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let basis = basis(&x, &SketchKind::SparsifiedGaussian { density: 0.01 }, 20);
                let stop = Stop { gap: 1e-5, steps: 50 };
                let machine = fit_on(basis, &x, &targets, &problem, &stop).unwrap();
                let predicted = machine.predict(&x).unwrap();
                (machine.weights(), predicted)
            })
        };
        assert_eq!(fit(1), fit(3));
    }
}

#[test]
fn a_coupling_matrix_is_its_kernel() {
    // With M = 1 1ᵀ, two outputs of different targets are pulled to their mean.
    let (x, y) = regression(100, 6);
    let values: Vec<f64> = y.iter().flat_map(|&y| [y + 1.0, y - 1.0]).collect();
    let fit = |output: OutputMatrix| {
        let loss = Loss::Square(Square {});
        let offset = Offset::Zero;
        let problem = LipschitzProblem { loss, output, lambda: 1e-3, offset };
        let targets = Targets::new(2, values.clone()).unwrap();
        let machine = fit_on(basis(&x, &EVERY, 30), &x, &targets, &problem, &tight(1e-10));
        machine.unwrap().predict(&x).unwrap()
    };
    let apart = |f: &[f32]| f.chunks(2).map(|f| f64::from(f[0] - f[1])).sum::<f64>() / 100.0;
    let tied = OutputMatrix::quantiles(&[0.3, 0.6], 0.0).unwrap();
    assert!((apart(&fit(OutputMatrix::identity(2).unwrap())) - 2.0).abs() < 0.2);
    assert!(apart(&fit(tied)).abs() < 1e-5);
}

#[test]
fn prepared_inputs_serve_many_fits() {
    let (x, y) = regression(700, 7);
    let targets = Targets::new(1, y).unwrap();
    let kind = SketchKind::Accumulation { terms: 3 };
    let prepared = InputFeatures::new(basis(&x, &kind, 25), &x).unwrap();
    for (loss, lambda) in losses(1).into_iter().zip([1e-4, 1e-3, 1e-2, 1e-3, 1e-3, 1e-4]) {
        let output = OutputMatrix::identity(1).unwrap();
        let problem = LipschitzProblem { loss, output, lambda, offset: Offset::Constant };
        let many = fit_lipschitz(&prepared, &targets, &problem, &Stop::default()).unwrap();
        let once = fit_on(basis(&x, &kind, 25), &x, &targets, &problem, &Stop::default());
        let once = once.unwrap();
        assert_eq!(many.weights(), once.weights());
        assert_eq!(many.summary(), once.summary());
    }
    let other = Targets::new(1, vec![0.0; 699]).unwrap();
    let output = OutputMatrix::identity(1).unwrap();
    let problem = LipschitzProblem {
        loss: Loss::Square(Square {}),
        output,
        lambda: 1.0,
        offset: Offset::Zero,
    };
    let error = fit_lipschitz(&prepared, &other, &problem, &Stop::default()).unwrap_err();
    assert!(matches!(error, Error::Shape(_)), "{error}");
}

#[test]
fn targets_that_the_offset_fits_need_no_steps() {
    let (x, _) = regression(50, 8);
    for loss in losses(1) {
        let output = OutputMatrix::identity(1).unwrap();
        let problem = LipschitzProblem { loss, output, lambda: 1e-3, offset: Offset::Constant };
        let targets = Targets::new(1, vec![2.5; 50]).unwrap();
        let machine =
            fit_on(basis(&x, &EVERY, 10), &x, &targets, &problem, &Stop::default()).unwrap();
        assert!(solved(&machine).converged, "{}", machine.summary());
        assert!(machine.predict(&x).unwrap().iter().all(|f| (f - 2.5).abs() < 1e-6));
    }
}

/// The planned memory covers what a fit holds: features, targets and slopes of all rows, and the gradient of a part of
/// the rows on each thread.
#[test]
fn the_cost_covers_what_is_held() {
    let solver: Solver = serde_json::from_str(
        r#"{"name": "lipschitz", "sketch": {"size": 2000}, "loss": {"name": "square"}}"#,
    )
    .unwrap();
    for threads in [1, 64] {
        let n = 10_000.0;
        let p = 2000.0;
        let d = 2000.0;
        let gradients = (threads as f64 + 1.0) * p * d;
        let held = 8.0 * (n * p + 3.0 * n * d + gradients);
        let size =
            FitSize { pairs: 10_000, targets: 10_000, coordinates: 2000, lambdas: 1, threads };
        let planned = solver.cost(&size).bytes;
        assert!(planned >= held, "{threads} threads: {planned}, {held}");
        // without those of the threads
        let others = 8.0 * ((2.0 + threads as f64) * p * p + 3.0 * p * d + 3.0 * n * (p + d));
        assert!(planned >= others + 8.0 * threads as f64 * p * d, "{threads} threads: {planned}");
    }
}

#[test]
fn a_mapped_machine_maps_its_offset() {
    let (x, y) = regression(40, 2);
    let y = two_outputs(&y, 5);
    let targets = Targets::new(2, y).unwrap();
    let output = OutputMatrix::identity(2).unwrap();
    let loss = losses(2).remove(0);
    let problem = LipschitzProblem { loss, output, lambda: 1e-3, offset: Offset::Constant };
    let machine = fit_on(basis(&x, &EVERY, 40), &x, &targets, &problem, &tight(1e-3)).unwrap();
    assert!(machine.offset().iter().all(|value| value.abs() > 1e-3), "{:?}", machine.offset());
    let z = machine.predict(&x).unwrap();
    let matrix = Mat::from_fn(3, 2, |i, j| [[1.0, -2.0], [0.5, 3.0], [0.0, 4.0]][i][j]);
    let mapped = machine.mapped(matrix.as_ref()).unwrap();
    assert_eq!((mapped.width(), mapped.offset().len()), (3, 3));
    let actual = mapped.predict(&x).unwrap();
    for (z, row) in z.chunks_exact(2).zip(actual.chunks_exact(3)) {
        for (i, actual_value) in row.iter().enumerate() {
            let expected: f64 = (0..2).map(|j| matrix[(i, j)] * f64::from(z[j])).sum();
            assert!(
                (f64::from(*actual_value) - expected).abs() < 1e-4,
                "{actual_value}, {expected}"
            );
        }
    }
}
