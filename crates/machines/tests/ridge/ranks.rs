//! Fits that several ranks share. They are threads of this process here.

use dsokr_basis::{Basis, Features, SketchKind, SketchOptions};
use dsokr_core::processes::same_on_threads;
use dsokr_core::{Error, Processes, RowWeights};
use dsokr_machines::{ConjugateGradients, InputSketch, OutputSpace, Points, Targets};

use crate::naive::*;

const PICKED: SketchKind = SketchKind::Subsampling { replacement: false };

/// The numbers of several ranks differ from those of one process by rounding alone. One rank has the same bits.
fn assert_shared(what: &str, work: impl Fn(&Processes) -> Result<Vec<f32>, Error> + Sync) {
    let one = work(&Processes::default()).unwrap();
    assert!(same_on_threads(1, |processes| work(processes).unwrap()) == one, "{what}");
    let largest = one.iter().fold(0.0f32, |most, value| most.max(value.abs()));
    // more ranks than rows too
    for size in [2, 3, 13] {
        let all = same_on_threads(size, |processes| work(processes).unwrap());
        assert_eq!(all.len(), one.len(), "{what}, {size} ranks");
        let pairs = all.iter().zip(&one).map(|(a, b)| (a - b).abs());
        let apart = pairs.fold(0.0, f32::max);
        assert!(apart < 1e-6 * largest, "{what}, {size} ranks: {apart} of {largest}");
    }
}

fn problem(n: usize) -> (Features, Features, Targets) {
    let problem = Problem::new(n, 2);
    let x = problem.inputs();
    let y = problem.outputs();
    let options = SketchOptions::new(PICKED, 4);
    let basis = Basis::fit(kernel_y(), &y, &options).unwrap();
    let (_, targets) = OutputSpace::basis(basis, None, &y).unwrap();
    (x, y, targets)
}

#[test]
fn several_ranks_fit_the_ridge_regression_of_one() {
    for n in [11, 300] {
        let (x, _, targets) = problem(n);
        for kind in [PICKED, SketchKind::Gaussian, SketchKind::Leverage { lambda: 0.1, pilot: 9 }] {
            let what = format!("{n} rows, {kind:?}");
            assert_shared(&what, |processes| {
                let fitted =
                    fit_sketched_shared(processes, kernel_x(), &x, &targets, &kind, 5, 1, 1e-2)?;
                let left_out = fitted.leave_one_out(&x, &targets)?;
                Ok([fitted.model.predict(&x)?, left_out].concat())
            });
            assert_shared(&what, |processes| {
                let sketch = InputSketch::subsampling(5);
                let settings = ConjugateGradients {
                    tolerance: 1e-12,
                    // the first blocks are kept, the rest is computed again
                    memory: 8 * 5 * 100,
                    ..ConjugateGradients::new(sketch)
                };
                let fitted = fit_conjugate_gradients_shared(
                    processes,
                    kernel_x(),
                    &x,
                    &targets,
                    &kind,
                    5,
                    1,
                    1e-2,
                    &settings,
                )?;
                fitted.predict(&x)
            });
            assert_shared(&what, |processes| {
                let averaged = fit_divide_and_conquer_shared(
                    processes,
                    kernel_x(),
                    &x,
                    &targets,
                    &PICKED,
                    3,
                    1,
                    1e-2,
                    3,
                )?;
                averaged.predict(&x)
            });
        }
    }
}

#[test]
fn several_ranks_compare_lambdas_as_one() {
    let (x, y, _) = problem(90);
    for full in [false, true] {
        let (space, targets) = if full {
            OutputSpace::training(kernel_y(), &y).unwrap()
        } else {
            let options = SketchOptions::new(PICKED, 4);
            let basis = Basis::fit(kernel_y(), &y, &options).unwrap();
            OutputSpace::basis(basis, None, &y).unwrap()
        };
        for kind in [PICKED, SketchKind::Gaussian] {
            assert_shared(&format!("{full}, {kind:?}"), |processes| {
                let spectrum =
                    sketched_spectrum_shared(processes, kernel_x(), &x, &targets, &kind, 7, 1)?;
                let errors = spectrum.errors(&[1e-3, 1e-1], &space)?;
                let errors = errors.into_iter().map(|error| error as f32).collect();
                Ok([spectrum.leave_one_out(1e-2)?, errors].concat())
            });
        }
    }
}

#[test]
fn several_ranks_place_outputs_as_one() {
    // three blocks of outputs
    let problem = Problem::new(2500, 3);
    let y = problem.outputs();
    let options = SketchOptions::new(PICKED, 6);
    let basis = Basis::fit(kernel_y(), &y, &options).unwrap();
    let points = |processes: &Processes| -> Result<(Points, Vec<f64>, Points), Error> {
        let (space, targets) = OutputSpace::basis_weighted(
            basis.clone(),
            Some(3),
            &y,
            &RowWeights::equal(),
            processes,
        )?;
        let (whole, _) = OutputSpace::training(kernel_y(), &y)?;
        let placed = space.points_shared(processes, &y)?;
        Ok((placed, targets.values()?.to_vec(), whole.points_shared(processes, &y)?))
    };
    let one = points(&Processes::default()).unwrap();
    // bit for bit
    for size in [1, 2, 3, 5] {
        assert!(same_on_threads(size, |processes| points(processes).unwrap()) == one, "{size}");
    }
}
