//! Quantile regression.

use dsokr_basis::features::DenseRows;
use dsokr_basis::{Basis, Features, Kernel, SketchKind, SketchOptions};
use dsokr_core::random::generator;
use dsokr_machines::{
    KernelModel, LipschitzProblem, Loss, Offset, OutputMatrix, Stop, Targets, coverage,
    crossing_loss, pinball_loss,
};

use crate::support::{EVERY, fit_on, normal, solved};

/// Returns points of [0, 2], and x + (0.2 + x/2) · noise.
fn fan(n: usize, seed: u64) -> (Features, Vec<f64>) {
    let mut random = generator(seed, "test/fan", 0);
    let x: Vec<f32> = (0..n).map(|_| 2.0 * dsokr_core::random::unit(&mut random) as f32).collect();
    let y = x.iter().map(|&x| f64::from(x) + (0.2 + f64::from(x) / 2.0) * normal(&mut random));
    let y = y.collect();
    (Features::Dense(DenseRows::new(1, x).unwrap()), y)
}

fn fit(x: &Features, y: &[f64], levels: &[f64], output: OutputMatrix, lambda: f64) -> KernelModel {
    let kind = SketchKind::SparsifiedRademacher { density: 0.05 };
    let basis =
        Basis::fit(Kernel::Gaussian { gamma: 1.0 }, x, &SketchOptions::new(kind.clone(), 30))
            .unwrap();
    let loss = Loss::pinball(levels.to_vec());
    let problem = LipschitzProblem { loss, output, lambda, offset: Offset::Constant };
    let targets = Targets::repeated(levels.len(), y).unwrap();
    let machine = fit_on(basis, x, &targets, &problem, &Stop::default()).unwrap();
    assert!(solved(&machine).converged, "{}", machine.summary());
    machine
}

#[test]
fn a_constant_kernel_gives_the_empirical_quantile() {
    // All inputs are 1 and the kernel is linear: f is a constant.
    let n = 41;
    let x = Features::Dense(DenseRows::new(1, vec![1.0; n]).unwrap());
    let mut random = generator(0, "test/constant", 0);
    let y: Vec<f64> = (0..n).map(|_| 3.0 + normal(&mut random)).collect();
    let mut sorted = y.clone();
    sorted.sort_by(f64::total_cmp);
    for level in [0.05, 0.25, 0.5, 0.77, 0.95] {
        let basis = Basis::fit(Kernel::Linear, &x, &SketchOptions::new(EVERY, 1)).unwrap();
        let problem = LipschitzProblem {
            loss: Loss::pinball(vec![level]),
            output: OutputMatrix::identity(1).unwrap(),
            lambda: 1e-6,
            offset: Offset::Zero,
        };
        let targets = Targets::new(1, y.clone()).unwrap();
        let stop = Stop { gap: 1e-10, steps: 100_000 };
        let machine = fit_on(basis, &x, &targets, &problem, &stop).unwrap();
        assert!(solved(&machine).converged, "{}", machine.summary());
        let expected = sorted[(level * n as f64).ceil() as usize - 1];
        let actual = machine.predict(&x).unwrap()[0];
        assert!((f64::from(actual) - expected).abs() < 1e-5, "{level}: {actual}, {expected}");
        // The offset alone is that quantile, and leaves nothing to fit.
        let basis = Basis::fit(Kernel::Linear, &x, &SketchOptions::new(EVERY, 1)).unwrap();
        let problem = LipschitzProblem { offset: Offset::Constant, ..problem };
        let machine = fit_on(basis, &x, &targets, &problem, &stop).unwrap();
        assert_eq!(machine.offset(), [expected]);
        assert!(machine.weights()[0].abs() < 1e-5);
    }
}

/// 0.07 · 100 and 0.55 · 100 are above 7 and 55 in 64 bits.
#[test]
fn the_offset_is_the_first_number_that_reaches_its_level() {
    let y: Vec<f64> = (1..=100).map(f64::from).collect();
    let x = Features::Dense(DenseRows::new(1, vec![1.0; 100]).unwrap());
    for (level, expected) in [(0.07, 7.0), (0.55, 55.0), (0.5, 50.0), (0.501, 51.0), (0.999, 100.0)]
    {
        let problem = LipschitzProblem {
            loss: Loss::pinball(vec![level]),
            output: OutputMatrix::identity(1).unwrap(),
            lambda: 1e-6,
            offset: Offset::Constant,
        };
        let basis = Basis::fit(Kernel::Linear, &x, &SketchOptions::new(EVERY, 1)).unwrap();
        let targets = Targets::new(1, y.clone()).unwrap();
        let machine = fit_on(basis, &x, &targets, &problem, &Stop { steps: 1, ..Stop::default() });
        assert_eq!(machine.unwrap().offset(), [expected], "{level}");
    }
}

#[test]
fn quantiles_cover_their_share_and_follow_the_true_ones() {
    let levels = [0.1, 0.3, 0.5, 0.7, 0.9];
    let (x, y) = fan(3000, 0);
    let machine = fit(&x, &y, &levels, OutputMatrix::quantiles(&levels, 5.0).unwrap(), 1e-5);
    let (x, y) = fan(4000, 1);
    let predicted = machine.predict(&x).unwrap();
    for (level, share) in levels.iter().zip(coverage(&levels, &predicted, &y).unwrap()) {
        assert!((share - level).abs() < 0.035, "{level}: {share}");
    }
    // The τ-quantile of N(0, 1).
    let normal_quantiles = [-1.281_551_6, -0.524_400_5, 0.0, 0.524_400_5, 1.281_551_6];
    let Features::Dense(rows) = &x else { panic!("dense rows") };
    let mut worst = [0.0f64; 5];
    for (at, &x) in rows.values().iter().enumerate() {
        let x = f64::from(x);
        for (j, quantile) in normal_quantiles.iter().enumerate() {
            let expected = x + (0.2 + x / 2.0) * quantile;
            worst[j] += (f64::from(predicted[at * 5 + j]) - expected).abs() / 4000.0;
        }
    }
    assert!(worst.iter().all(|&error| error < 0.1), "{worst:?}");
    // And their loss is near that of the true quantiles.
    let target_gram: Vec<f32> = rows
        .values()
        .iter()
        .flat_map(|&x| normal_quantiles.map(|q| x + (0.2 + x / 2.0) * q as f32))
        .collect();
    let least = pinball_loss(&levels, &target_gram, &y).unwrap();
    let actual = pinball_loss(&levels, &predicted, &y).unwrap();
    assert!(actual < 1.02 * least, "{actual}, {least}");
}

#[test]
fn coupled_quantiles_cross_less() {
    let levels: Vec<f64> = (1..=9).map(|j| f64::from(j) / 10.0).collect();
    let (x, y) = fan(60, 2);
    let (grid, _) = fan(500, 3);
    let crossing = |output: OutputMatrix| {
        let machine = fit(&x, &y, &levels, output, 1e-7);
        crossing_loss(9, &machine.predict(&grid).unwrap()).unwrap()
    };
    let alone = crossing(OutputMatrix::identity(9).unwrap());
    assert!(alone > 0.01, "independent quantiles cross: {alone}");
    for gamma in [10.0, 1.0, 0.2] {
        let coupled = crossing(OutputMatrix::quantiles(&levels, gamma).unwrap());
        assert!(coupled < 0.5 * alone, "gamma {gamma}: {coupled}, {alone}");
    }
}

#[test]
fn gamma_zero_lets_quantiles_differ_by_their_offsets_alone() {
    let levels = [0.2, 0.8];
    let (x, y) = fan(100, 4);
    let machine = fit(&x, &y, &levels, OutputMatrix::quantiles(&levels, 0.0).unwrap(), 1e-4);
    let predicted = machine.predict(&x).unwrap();
    let gap = machine.offset()[1] - machine.offset()[0];
    for row in predicted.chunks(2) {
        assert!((f64::from(row[1] - row[0]) - gap).abs() < 1e-5);
    }
    assert_eq!(crossing_loss(2, &predicted).unwrap(), 0.0);
}
