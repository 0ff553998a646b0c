//! Fits that several ranks share. They are threads of this process here.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Mutex;

use dsokr_basis::features::HeldRows;
use dsokr_basis::{Basis, Block, Features, RowKind, RowSource, SketchKind, SketchOptions};
use dsokr_core::processes::{Held, same_on_threads, threads};
use dsokr_core::{Error, Processes, RowWeights};
use dsokr_machines::{
    ConjugateGradients, DivideAndConquer, InputSketch, LastSystem, OutputSpace, Points, RowGroups,
    Sketched, Solver, Targets, TrainingInputs,
};

use crate::naive::*;

const PICKED: SketchKind = SketchKind::Subsampling { replacement: false };

/// Checks that the numbers of several ranks differ from those of one process by rounding alone, and that one rank has the
/// same bits.
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

/// Groups of rows are left out by the rank that has all of their rows. A group of two ranks is refused.
#[test]
fn several_ranks_leave_out_groups_as_one() {
    let n = 90;
    let (x, y, _) = problem(n);
    let (space, alone) = OutputSpace::training(kernel_y(), &y).unwrap();
    let work = |processes: &Processes, groups: &[Vec<usize>]| -> Result<Vec<f32>, Error> {
        let targets = alone.clone().grouped(&RowGroups::new(n, groups)?)?;
        let spectrum =
            sketched_spectrum_shared(processes, kernel_x(), &x, &targets, &PICKED, 7, 1)?;
        let errors = spectrum.errors(&[1e-3, 1e-1], &space)?;
        let errors = errors.into_iter().map(|error| error as f32).collect();
        let fitted = fit_sketched_shared(processes, kernel_x(), &x, &targets, &PICKED, 7, 1, 1e-2)?;
        let left_out = fitted.leave_one_out(&x, &targets)?;
        Ok([spectrum.leave_one_out(1e-2)?, errors, left_out].concat())
    };
    let whole = [vec![0, 3, 29], vec![46, 50], vec![61, 62, 88, 89]];
    let one = work(&Processes::default(), &whole).unwrap();
    let largest = one.iter().fold(0.0f32, |most, value| most.max(value.abs()));
    for size in [2, 3] {
        let all = same_on_threads(size, |processes| work(processes, &whole).unwrap());
        let apart = all.iter().zip(&one).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(apart < 1e-6 * largest, "{size} ranks: {apart} of {largest}");
    }
    let divided = [vec![0, 89]];
    let refused = threads(2, |processes| {
        let error = work(processes, &divided).unwrap_err();
        let groups = RowGroups::new(n, &divided).unwrap();
        matches!(error, Error::Unsupported(_)) && groups.check_parts(processes, n).is_err()
    });
    assert_eq!(refused, [true, true]);
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
            None,
        )?;
        let (whole, _) = OutputSpace::training(kernel_y(), &y)?;
        let joined = |space: &OutputSpace| {
            let (held, part) = space.points_part(processes, &y)?;
            assert_eq!((held.rows(), held.len()), (y.len(), part.constants.len()));
            assert!(processes.size() == 1 || held.share() < 1.0, "{held:?}");
            let coordinates = processes.join(part.coordinates)?;
            let constants = processes.join(part.constants)?;
            Ok::<_, Error>(Points { dimension: part.dimension, coordinates, constants })
        };
        Ok((joined(&space)?, targets.values()?.to_vec(), joined(&whole)?))
    };
    let one = points(&Processes::default()).unwrap();
    // bit for bit
    for size in [1, 2, 3, 5] {
        assert!(same_on_threads(size, |processes| points(processes).unwrap()) == one, "{size}");
    }
}

/// Rows that remember which of them have been read.
struct Watched {
    rows: Features,
    read: Mutex<BTreeSet<usize>>,
}

impl RowSource for Watched {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn width(&self) -> usize {
        self.rows.width()
    }

    fn kind(&self) -> RowKind {
        self.rows.kind()
    }

    fn block(&self, rows: Range<usize>) -> Result<Block<'_>, Error> {
        self.read.lock().unwrap().extend(rows.clone());
        self.rows.block(rows)
    }
}

/// A rank holds targets and inputs of its share alone, reads of the others only the inputs of the sketch, and fits the
/// model of one process that holds all.
#[test]
fn several_ranks_hold_a_share_each() {
    let n = 2500;
    let problem = Problem::new(n, 2);
    let x = problem.inputs();
    let y = problem.outputs();
    let basis = Basis::fit(kernel_y(), &y, &SketchOptions::new(PICKED, 4)).unwrap();
    let weights: Vec<f64> = (0..n).map(|row| 0.5 + (row % 3) as f64).collect();
    let sketch = InputSketch::subsampling(5);
    let parts = 3;
    let conjugate =
        ConjugateGradients { tolerance: 1e-12, ..ConjugateGradients::new(sketch.clone()) };
    for solver in [
        Solver::Sketched(Sketched { sketch: sketch.clone() }),
        Solver::ConjugateGradients(conjugate),
        Solver::DivideAndConquer(DivideAndConquer { sketch, parts }),
    ] {
        for weights in [RowWeights::equal(), RowWeights::new(&weights).unwrap()] {
            let fit = |processes: &Processes| {
                let held = solver.held(processes, n, &weights);
                let (space, targets) = OutputSpace::basis_weighted(
                    basis.clone(),
                    Some(3),
                    &y,
                    &weights,
                    processes,
                    (processes.size() > 1).then_some(&held),
                )?;
                let rows: Vec<usize> = held.each().collect();
                let source = Watched { rows: x.clone(), read: Mutex::default() };
                let held_rows = HeldRows::new(&source, held.clone(), x.select(&rows)?)?;
                let inputs = TrainingInputs::rows(kernel_x(), &held_rows);
                let prepared =
                    solver.prepare(inputs, 1, LastSystem::default())?.shared_by(processes);
                let (model, _) = prepared.fit(&targets, 1e-3, false)?;
                let own = targets.select(&rows)?.values()?.to_vec();
                let read = source.read.lock().unwrap().len();
                Ok::<_, Error>((
                    model.predict(&x)?,
                    space.centre().to_vec(),
                    held,
                    own,
                    read,
                    targets,
                ))
            };
            let (one, centre, all, targets, ..) = fit(&Processes::default()).unwrap();
            assert_eq!(all, Held::all(n));
            let largest = one.iter().fold(0.0f32, |most, value| most.max(value.abs()));
            for size in [2, 3, 13] {
                let mut rows_held = vec![0; n];
                for rank in threads(size, fit) {
                    let (predictions, centre_of_rank, held, own, read, targets_of_rank) =
                        rank.unwrap();
                    // bit for bit
                    assert_eq!(centre_of_rank, centre, "{}, {size} ranks", solver.name());
                    let rows: Vec<usize> = held.each().collect();
                    let expected: Vec<f64> =
                        rows.iter().flat_map(|row| &targets[row * 3..][..3]).copied().collect();
                    assert_eq!(own, expected, "{}, {size} ranks", solver.name());
                    let pairs = predictions.iter().zip(&one).map(|(a, b)| (a - b).abs());
                    let apart = pairs.fold(0.0, f32::max);
                    assert!(apart < 1e-6 * largest, "{}, {size} ranks: {apart}", solver.name());
                    assert!(held.len() <= n / size + parts + 1, "{held:?}");
                    assert_eq!(targets_of_rank.held(), &held);
                    assert!(targets_of_rank.values().is_err(), "targets of other ranks are held");
                    // the sketch of each part has five rows
                    assert!(read <= 5 * parts, "{read} rows of other ranks");
                    rows.iter().for_each(|&row| rows_held[row] += 1);
                }
                assert_eq!(rows_held, vec![1; n], "{}, {size} ranks", solver.name());
            }
        }
    }
}
