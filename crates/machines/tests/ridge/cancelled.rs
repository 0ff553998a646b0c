//! Cancelled fits.

use dsokr_basis::SketchKind;
use dsokr_core::{Cancellation, Error, Processes};
use dsokr_machines::{
    Arithmetic, InputSketch, OutputSpace, RidgeProblem, TrainingInputs, fit, fit_sketched,
};

use crate::naive::*;

fn is_cancelled<T>(result: Result<T, Error>) -> bool {
    matches!(result, Err(Error::Cancelled))
}

#[test]
fn fits_and_predictions_end() {
    let problem = Problem::new(30, 4);
    let x = problem.inputs();
    let y = problem.outputs();
    let (_, targets) = OutputSpace::training(kernel_y(), &y).unwrap();
    let double = Arithmetic::Double;
    let fitted = fit(&TrainingInputs::rows(kernel_x(), &x), &targets, 1e-2, double).unwrap();
    let sketch = InputSketch { size: 5, method: SketchKind::Gaussian };
    let cancellation = Cancellation::default();
    cancellation.cancel();
    cancellation.scope(|| {
        assert!(is_cancelled(OutputSpace::training(kernel_y(), &y)));
        assert!(is_cancelled(fit(&TrainingInputs::rows(kernel_x(), &x), &targets, 1e-2, double)));
        let kernel = kernel_x();
        let rows = &x;
        let targets = &targets;
        let sketched = RidgeProblem {
            kernel,
            rows,
            targets,
            lambda: 1e-2,
            seed: 0,
            processes: &Processes::default(),
        };
        assert!(is_cancelled(fit_sketched(sketched, &sketch)));
        assert!(is_cancelled(fitted.leave_one_out(targets)));
        assert!(is_cancelled(fitted.model.predict(&x)));
    });
    // what it has left behind is whole
    assert!(fitted.leave_one_out(&targets).is_ok());
}
