//! The constants of candidates: of kernels that are not normalised, of tempered bases, and of kernels that hardly
//! change.

use dsokr_basis::{Basis, Kernel, SketchOptions, Tempering};
use dsokr_machines::{Arithmetic, OutputSpace, TrainingInputs, fit};

use super::identities::EVERY;
use crate::naive::*;

/// Without −½k(c, c) the linear output kernel would always choose the largest label set.
#[test]
fn candidates_of_a_kernel_that_is_not_normalised_have_constants() {
    let problem = Problem::new(40, 12);
    let (space, targets) = OutputSpace::training(Kernel::Linear, &problem.outputs()).unwrap();
    let fitted = fit_double(&problem, &targets, 1e-3);
    let z = fitted.model.predict(&problem.inputs()).unwrap();
    let points = space.points(&problem.outputs()).unwrap();
    let actual = scores(space.dimension(), &z, &points);
    let k = gaussian(GAMMA_X, &problem.x, &problem.x);
    let alpha = solve(&add(&k, 40.0 * 1e-3, &identity(40)), &k);
    let predicted = product(&transpose(&alpha), &problem.y);
    for (row, predicted) in centred(&actual).iter().zip(&predicted) {
        // −½ ‖ĥ − c‖² up to a constant
        let distances: Rows = vec![
            problem
                .y
                .iter()
                .map(|c| c.iter().zip(predicted).map(|(c, h)| -0.5 * (c - h) * (c - h)).sum())
                .collect(),
        ];
        assert_close(&vec![row.clone()], &centred(&distances), 1e-5, "linear");
    }
}

/// Scores of a tempered basis order candidates by their distance in its coordinates.
#[test]
fn candidates_of_a_tempered_basis_have_the_constants_of_its_own_kernel() {
    let problem = Problem::new(40, 16);
    let outputs = problem.outputs();
    for kernel in [kernel_y(), Kernel::Linear, Kernel::Cosine] {
        for tempering in [
            Tempering { power: 0.5, centred: true, normalised: true },
            Tempering { power: 0.5, centred: true, normalised: false },
            Tempering { power: 0.0, centred: false, normalised: true },
        ] {
            let basis =
                Basis::fit(kernel.clone(), &outputs, &SketchOptions::new(EVERY, 40)).unwrap();
            let basis = basis.tempered(&tempering, &outputs).unwrap();
            let projected = basis.project(&outputs).unwrap();
            let u = wide(projected.dimension(), projected.coordinates());
            for rank in [None, Some(3)] {
                let (space, targets) = OutputSpace::basis(basis.clone(), rank, &outputs).unwrap();
                let x = problem.inputs();
                let fitted =
                    fit(&TrainingInputs::rows(kernel_x(), &x), &targets, 1e-3, Arithmetic::Double)
                        .unwrap();
                let z = fitted.model.predict(&x).unwrap();
                let points = space.points(&outputs).unwrap();
                let actual = scores(space.dimension(), &z, &points);
                let what = format!("{kernel:?}, {tempering:?}, {rank:?}");
                // −½ of the squared distance, with what lies outside of the coordinates
                let distance = |z: &Vec<f64>, (u, residual): (&Vec<f64>, &f64)| -> f64 {
                    let z = z.iter().chain(std::iter::repeat(&0.0));
                    let inside: f64 = u.iter().zip(z).map(|(u, z)| (u - z) * (u - z)).sum();
                    -0.5 * (inside + residual)
                };
                let outputs = || u.iter().zip(projected.residuals());
                let expected: Rows = wide(space.dimension(), &z)
                    .iter()
                    .map(|z| outputs().map(|output| distance(z, output)).collect())
                    .collect();
                assert_close(&centred(&actual), &centred(&expected), 1e-4, &what);
                if tempering.normalised {
                    assert!(points.constants.iter().all(|&constant| constant == 0.0), "{what}");
                }
            }
        }
    }
}

/// A Gaussian of width 3,000 on bits: f32 coordinates would hold nothing but rounding errors.
#[test]
fn a_nearly_constant_output_kernel_still_tells_candidates_apart() {
    let n = 50;
    let lambda = 1e-2;
    let gamma = 5e-8;
    let problem = Problem::new(n, 13);
    let flat = Kernel::Gaussian { gamma };
    let k = gaussian(GAMMA_X, &problem.x, &problem.x);
    let alpha = solve(&add(&k, n as f64 * lambda, &identity(n)), &k);
    let expected = product(&transpose(&alpha), &gaussian(gamma, &problem.y, &problem.y));
    let expected = centred(&expected);
    let largest = expected.iter().flatten().fold(0.0f64, |m, v| m.max(v.abs()));
    let basis =
        Basis::fit(flat.clone(), &problem.outputs(), &SketchOptions::new(EVERY, n)).unwrap();
    for (space, targets) in [
        OutputSpace::training(flat, &problem.outputs()).unwrap(),
        OutputSpace::basis(basis, None, &problem.outputs()).unwrap(),
    ] {
        let fitted = fit_double(&problem, &targets, lambda);
        let z = fitted.model.predict(&problem.inputs()).unwrap();
        let points = space.points(&problem.outputs()).unwrap();
        let actual = centred(&scores(space.dimension(), &z, &points));
        assert_close(&actual, &expected, 1e-3 * largest, "flat kernel");
    }
}
