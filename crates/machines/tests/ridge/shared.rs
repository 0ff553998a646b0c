//! Fits that share the factored system of their inputs.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use dsokr_basis::{Basis, Features, Kernel, SketchKind, SketchOptions};
use dsokr_core::RowWeights;
use dsokr_machines::{Arithmetic, Fitted, LastSystem, OutputSpace, TrainingInputs, fit};
use rayon::prelude::*;

use crate::naive::*;

#[test]
fn a_kept_system_is_taken_for_the_same_rows_kernel_lambda_and_precision() {
    let problem = Problem::new(30, 4);
    let other = Problem::new(30, 5);
    let x = problem.inputs();
    let others = other.inputs();
    fn inputs(kernel: Kernel, rows: &Features) -> TrainingInputs<'_> {
        TrainingInputs::rows(kernel, rows)
    }
    let last = LastSystem::default();
    let first =
        last.get(&inputs(kernel_x(), &x), &RowWeights::equal(), 1e-2, Arithmetic::Double).unwrap();
    // a kernel of equal parameters is the same kernel
    let again =
        last.get(&inputs(kernel_x(), &x), &RowWeights::equal(), 1e-2, Arithmetic::Double).unwrap();
    assert!(Arc::ptr_eq(&first, &again));
    let different = [
        (kernel_x(), &x, 1e-3, Arithmetic::Double),
        (kernel_x(), &x, 1e-3, Arithmetic::Single),
        (kernel_x(), &others, 1e-3, Arithmetic::Single),
        (kernel_y(), &others, 1e-3, Arithmetic::Single),
    ];
    let mut before = first;
    for (kernel, rows, lambda, precision) in different {
        let what = format!("{} {lambda} {precision:?}", kernel.name());
        let next =
            last.get(&inputs(kernel, rows), &RowWeights::equal(), lambda, precision).unwrap();
        assert!(!Arc::ptr_eq(&before, &next), "{what}");
        before = next;
    }
    let weights = RowWeights::new(&[2.0; 30]).unwrap();
    let kernel = kernel_y();
    let precision = Arithmetic::Single;
    let next = last.get(&inputs(kernel, &others), &weights, 1e-3, precision).unwrap();
    assert!(!Arc::ptr_eq(&before, &next), "weights");
}

#[test]
fn targets_of_different_widths_are_fitted_as_alone() {
    let problem = Problem::new(40, 6);
    let x = problem.inputs();
    let y = problem.outputs();
    let inputs = TrainingInputs::rows(kernel_x(), &x);
    let last = LastSystem::default();
    let (_, wide) = OutputSpace::training(kernel_y(), &y).unwrap();
    let options = SketchOptions::new(SketchKind::Gaussian, 5);
    let basis = Basis::fit(kernel_y(), &y, &options).unwrap();
    let (_, narrow) = OutputSpace::basis(basis, None, &y).unwrap();
    for precision in [Arithmetic::Single, Arithmetic::Double] {
        for targets in [&narrow, &wide, &narrow] {
            let system = last.get(&inputs, &RowWeights::equal(), 1e-2, precision).unwrap();
            let shared = system.fit(targets).unwrap();
            let alone =
                fit(&TrainingInputs::rows(kernel_x(), &x), targets, 1e-2, precision).unwrap();
            assert_eq!(shared.model.predict(&x).unwrap(), alone.model.predict(&x).unwrap());
            let left_out = |fitted: &Fitted| fitted.leave_one_out(targets).unwrap();
            assert_eq!(left_out(&shared), left_out(&alone));
        }
    }
}

/// While one fit waits for its parallel work, its thread begins the next one.
#[test]
fn fits_in_one_pool_do_not_wait_for_each_other() {
    let (done, wait) = mpsc::channel();
    std::thread::spawn(move || {
        let problem = Problem::new(700, 4);
        let x = problem.inputs();
        let last = LastSystem::default();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
        let fits = pool.install(|| {
            let lambdas = (1u32..25).into_par_iter().map(|at| 1e-3 * f64::from(at));
            let fits = lambdas.with_max_len(1).map(|lambda| {
                let inputs = TrainingInputs::rows(kernel_x(), &x);
                last.get(&inputs, &RowWeights::equal(), lambda, Arithmetic::Double).is_ok()
            });
            fits.collect::<Vec<bool>>()
        });
        drop(done.send(fits));
    });
    let fits = wait.recv_timeout(Duration::from_secs(120)).expect("the fits wait for each other");
    assert_eq!(fits, [true; 24]);
}
