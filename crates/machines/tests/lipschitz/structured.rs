//! IOKR's primal with robust losses (thesis, equation 5.16).

use dsokr_basis::features::{BitRows, DenseRows};
use dsokr_basis::{Basis, Features, Kernel, SketchKind, SketchOptions};
use dsokr_core::loss::{EpsilonInsensitive, EpsilonInsensitiveSquare, Huber, Square};
use dsokr_core::random::{generator, unit};
use dsokr_machines::{LipschitzProblem, Loss, Offset, OutputMatrix, Stop, Targets};

use crate::support::{EVERY, basis, fit_on, objective, solved};

/// Returns points of the unit square and the bits near them. In one row of five the bits are those of a corner.
fn label_sets(n: usize, wrong: bool) -> (Features, Features) {
    let mut random = generator(7, "test/labels", 0);
    let mut x = Vec::new();
    let mut y = Vec::new();
    for row in 0..n {
        let point = [unit(&mut random), unit(&mut random)];
        let at = if wrong && row % 5 == 0 { [0.0, 1.0] } else { point };
        let near = |label: &u32| {
            let a = f64::from(label % 5) / 4.0;
            let b = f64::from(label / 5) / 4.0;
            (a - at[0]).powi(2) + (b - at[1]).powi(2) < 0.12
        };
        y.push((0..25).filter(near).collect::<Vec<_>>());
        x.extend(point.map(|value| value as f32));
    }
    let x = Features::Dense(DenseRows::new(2, x).unwrap());
    (x, Features::Bits(BitRows::from_indices(25, y).unwrap()))
}

#[test]
fn residuals_outside_of_the_basis_belong_to_the_loss() {
    let (x, y) = label_sets(200, true);
    let outputs =
        Basis::fit(Kernel::Tanimoto, &y, &SketchOptions::new(SketchKind::Gaussian, 12)).unwrap();
    let projection = outputs.project(&y).unwrap();
    let targets = Targets::from_projection(&projection).unwrap();
    assert!(projection.residuals().iter().sum::<f64>() / 200.0 > 0.05);
    let p = outputs.dimension();
    for loss in [
        Loss::Huber(Huber { kappa: 0.3 }),
        Loss::EpsilonInsensitive(EpsilonInsensitive { epsilon: 0.4 }),
        Loss::EpsilonInsensitive(EpsilonInsensitive { epsilon: 0.0 }),
        Loss::EpsilonInsensitiveSquare(EpsilonInsensitiveSquare { epsilon: 0.4 }),
    ] {
        let output = OutputMatrix::identity(p).unwrap();
        let problem = LipschitzProblem { loss, output, lambda: 1e-3, offset: Offset::Zero };
        let features = basis(&x, &EVERY, 40);
        let stop = Stop { gap: 1e-8, steps: 100_000 };
        let machine = fit_on(features.clone(), &x, &targets, &problem, &stop).unwrap();
        assert!(solved(&machine).converged, "{}", machine.summary());
        // Eq. 5.16 in kernel values: u = ‖f(x)‖² − 2⟨f(x), ψ̃(y)⟩ + k(y, y).
        let predicted = machine.predict(&x).unwrap();
        let mut expected = 0.0;
        for row in 0..200 {
            let z: Vec<f64> = predicted[row * p..][..p].iter().map(|&z| z.into()).collect();
            let product: f64 =
                z.iter().zip(projection.row(row)).map(|(z, &y)| z * f64::from(y)).sum();
            let norm: f64 = z.iter().map(|z| z * z).sum();
            let root = (norm - 2.0 * product + projection.squared_norms()[row]).sqrt();
            expected += match problem.loss {
                Loss::Huber(Huber { kappa }) if root <= kappa => 0.5 * root * root,
                Loss::Huber(Huber { kappa }) => kappa * (root - 0.5 * kappa),
                Loss::EpsilonInsensitive(EpsilonInsensitive { epsilon }) => {
                    (root - epsilon).max(0.0)
                }
                Loss::EpsilonInsensitiveSquare(EpsilonInsensitiveSquare { epsilon }) => {
                    (root - epsilon).max(0.0).powi(2)
                }
                _ => unreachable!(),
            } / 200.0;
        }
        let norm: f64 = machine.weights().iter().map(|w| w * w).sum();
        expected += 0.5 * problem.lambda * norm;
        let actual = solved(&machine).objective;
        assert!((actual - expected).abs() < 1e-5 * expected, "{actual}, {expected}");
        let recomputed = objective(
            &features,
            &x,
            &targets.values().unwrap(),
            projection.residuals(),
            &problem,
            (&machine.weights(), machine.offset()),
        );
        assert!((recomputed - actual).abs() < 1e-9 * recomputed);
        // Without them it is another problem with another solution.
        if !matches!(problem.loss, Loss::Square(_)) {
            let plain = Targets::new(p, targets.values().unwrap().to_vec()).unwrap();
            let other = fit_on(features.clone(), &x, &plain, &problem, &stop).unwrap();
            let worse = objective(
                &features,
                &x,
                &targets.values().unwrap(),
                projection.residuals(),
                &problem,
                (&other.weights(), other.offset()),
            );
            assert!(worse > actual * (1.0 + 1e-5), "{:?}: {worse}, {actual}", problem.loss);
        }
    }
}

#[test]
fn robust_losses_withstand_wrong_outputs() {
    let (x, clean) = label_sets(300, false);
    let (_, noisy) = label_sets(300, true);
    let outputs =
        Basis::fit(Kernel::Tanimoto, &noisy, &SketchOptions::new(SketchKind::Gaussian, 30))
            .unwrap();
    let targets = Targets::from_projection(&outputs.project(&noisy).unwrap()).unwrap();
    let truth = outputs.project(&clean).unwrap();
    let p = outputs.dimension();
    // Each loss at its own best λ: slopes of different sizes need different ones.
    let error = |loss: Loss| {
        let error_at = |lambda: f64| {
            let loss = loss.clone();
            let output = OutputMatrix::identity(p).unwrap();
            let problem = LipschitzProblem { loss, output, lambda, offset: Offset::Zero };
            let basis = basis(&x, &EVERY, 80);
            let machine = fit_on(basis, &x, &targets, &problem, &Stop::default()).unwrap();
            assert!(solved(&machine).converged, "{}", machine.summary());
            let z = machine.predict(&x).unwrap();
            let squares = z.iter().zip(truth.coordinates()).map(|(z, y)| f64::from(z - y).powi(2));
            squares.sum::<f64>() / 300.0
        };
        [1e-5, 1e-4, 1e-3, 1e-2].map(error_at).into_iter().fold(f64::INFINITY, f64::min)
    };
    let square = error(Loss::Square(Square {}));
    let huber = error(Loss::Huber(Huber { kappa: 0.2 }));
    assert!(huber < 0.9 * square, "{huber}, {square}");
}
