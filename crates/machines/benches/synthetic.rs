//! The robust regression of the thesis, section 3.4.1: `cargo bench -p dsokr-machines --bench synthetic -- TASK`.
//!
//! 10,000 training rows: 9,900 uniform in [0, 1]¹⁰, 100 from `N(1.5, 0.25 I)`;
//! `y = 0.1 e^{4 x₁} + 4/(1 + e^{−20 (x₂ − 0.5)}) + 3 x₃ + 2 x₄ + x₅ + N(0, 1)` (Friedman 1991); 10,000 test
//! rows drawn in the same way. Gaussian kernel, κ-Huber loss.
//!
//! | task | does |
//! |---|---|
//! | `table` (the one without a name) | test error and time of every sketch for several sizes, means over seeds |
//! | `select` | five-fold cross-validation of γ, λ and κ by the mean absolute error, with a sparsified sketch of 100 rows |
//! | `solver` | steps and time of every loss for several λ, to a gap of 1e-4 |
//!
//! Errors are relative mean squared errors, `Σ (f(x) − y)² / Σ y²`. Times are CPU seconds of the process,
//! all threads together, from reading the rows to the fitted machine: wall-clock times on a machine
//! that does other things say little. `--seeds N` (default 3) and `--sizes a,b,c` change the table, and `--epsilon E`
//! takes the ε-insensitive loss in the place of κ-Huber (the thesis's figures A.2 and A.3).
//!
//! What it showed (5 seeds, AVX-512 machine, γ = 0.05, λ = 1e-7, κ = 1, the least error of `select`, at the edge of
//! its grid). The 100 outlying rows, whose y reach thousands, make up almost all of the error of
//! all rows, and they are what sub-sampling misses:
//!
//! | sketch | m | fit, CPU s | test error | of the 9,900 |
//! |---|---|---|---|---|
//! | sub-sampling | 280 | 0.23 | 0.847 | 0.0330 |
//! | sub-sampling | 560 | 0.82 | 0.837 | 0.0304 |
//! | sub-sampling | 800 | 1.52 | 0.825 | 0.0297 |
//! | p-SR, p = 20/n | 140 | 0.31 | 0.841 | 0.0342 |
//! | p-SR, p = 5/n | 280 | 0.44 | 0.835 | 0.0321 |
//! | p-SR, p = 5/n | 400 | 0.81 | 0.822 | 0.0302 |
//! | leverage scores | 140 | 0.18 | 0.837 | 0.0341 |
//! | leverage scores | 400 | 0.54 | 0.813 | 0.0303 |
//!
//! So p-sparsified sketches reach the error of sub-sampling over all rows in half its time, as the
//! thesis finds; on the 9,900 ordinary rows the two take the same time; and leverage scores, which the
//! thesis does not compare, take less than both.

use std::time::Instant;

use dsokr_basis::features::DenseRows;
use dsokr_basis::{Basis, Features, Kernel, RowSource, SketchKind, SketchOptions};
use dsokr_core::loss::{EpsilonInsensitive, EpsilonInsensitiveSquare, Huber, Square};
use dsokr_core::random::{Generator, generator, unit};
use dsokr_machines::{
    InputFeatures, LipschitzProblem, Loss, Offset, OutputMatrix, Stop, Targets, fit_lipschitz,
};
use rand_distr::{Distribution, StandardNormal};

type Failure = Box<dyn std::error::Error>;

/// Rows of the training set and of the test set.
const ROWS: usize = 10_000;
/// Rows among them that lie elsewhere.
const OUTLYING: usize = 100;

/// The best γ by `select`.
const GAMMA: f64 = 0.05;
const LAMBDA: f64 = 1e-7;
const KAPPA: f64 = 1.0;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    let seeds: u64 = option("--seeds").map_or(Ok(3), |value| value.parse())?;
    let sizes: Vec<usize> = option("--sizes")
        .unwrap_or("40,140,400".into())
        .split(',')
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    match arguments.iter().find(|argument| !argument.starts_with('-')).map(String::as_str) {
        Some("select") => select(),
        Some("solver") => solver(),
        _ => {
            let loss = match option("--epsilon") {
                Some(epsilon) => {
                    Loss::EpsilonInsensitive(EpsilonInsensitive { epsilon: epsilon.parse()? })
                }
                None => Loss::Huber(Huber { kappa: KAPPA }),
            };
            table(seeds, &sizes, &loss)
        }
    }
}

struct Sample {
    x: Features,
    y: Vec<f64>,
}

fn sample(seed: u64, purpose: &str) -> Result<Sample, Failure> {
    let mut random = generator(seed, purpose, 0);
    let normal = |random: &mut Generator| -> f64 { StandardNormal.sample(random) };
    let mut x = Vec::with_capacity(10 * ROWS);
    let mut y = Vec::with_capacity(ROWS);
    for row in 0..ROWS {
        let point: Vec<f64> = (0..10)
            .map(|_| {
                if row < ROWS - OUTLYING {
                    unit(&mut random)
                } else {
                    1.5 + 0.5 * normal(&mut random)
                }
            })
            .collect();
        let [a, b, c, d, e] = [point[0], point[1], point[2], point[3], point[4]];
        let f =
            0.1 * (4.0 * a).exp() + 4.0 / (1.0 + (-20.0 * (b - 0.5)).exp()) + 3.0 * c + 2.0 * d + e;
        y.push(f + normal(&mut random));
        x.extend(point.into_iter().map(|value| value as f32));
    }
    Ok(Sample { x: Features::Dense(DenseRows::new(10, x)?), y })
}

fn problem(loss: Loss, lambda: f64) -> Result<LipschitzProblem, Failure> {
    Ok(LipschitzProblem {
        loss,
        output: OutputMatrix::identity(1)?,
        lambda,
        offset: Offset::Constant,
    })
}

/// Computes `Σ (f − y)² / Σ y²`.
fn relative_error(predicted: &[f32], y: &[f64]) -> f64 {
    let squares = predicted.iter().zip(y).map(|(&f, y)| (f64::from(f) - y).powi(2));
    squares.sum::<f64>() / y.iter().map(|y| y * y).sum::<f64>()
}

fn absolute_error(predicted: &[f32], y: &[f64]) -> f64 {
    let errors = predicted.iter().zip(y).map(|(&f, y)| (f64::from(f) - y).abs());
    errors.sum::<f64>() / y.len() as f64
}

fn table(seeds: u64, sizes: &[usize], loss: &Loss) -> Result<(), Failure> {
    let density = |rows: f64| rows / ROWS as f64;
    let kinds = [
        ("sub-sampling (Nyström)", SketchKind::Subsampling { replacement: false }),
        ("leverage scores", SketchKind::Leverage { lambda: LAMBDA, pilot: 200 }),
        ("p-SR, p = 5/n", SketchKind::SparsifiedRademacher { density: density(5.0) }),
        ("p-SR, p = 20/n", SketchKind::SparsifiedRademacher { density: density(20.0) }),
        ("p-SG, p = 20/n", SketchKind::SparsifiedGaussian { density: density(20.0) }),
        ("accumulation, 20 terms", SketchKind::Accumulation { terms: 20 }),
        ("CountSketch", SketchKind::CountSketch),
        ("Gaussian", SketchKind::Gaussian),
    ];
    println!("gamma {GAMMA}, lambda {LAMBDA:e}, {loss:?}, {seeds} seeds; CPU seconds");
    println!(
        "| sketch | m | anchors | basis | solver | fit | steps | test error | of the 9,900 | of the 100 |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (name, kind) in kinds {
        for &m in sizes {
            // Dense sketches evaluate all n² kernel values: one size tells.
            let dense = matches!(kind, SketchKind::Gaussian | SketchKind::CountSketch);
            if dense && m > 140 {
                continue;
            }
            let mut sums = [0.0; 7];
            for seed in 0..seeds {
                let train = sample(seed, "train")?;
                let test = sample(seed, "test")?;
                let start = cpu_seconds();
                let kernel = Kernel::Gaussian { gamma: GAMMA };
                let basis = Basis::fit(
                    kernel,
                    &train.x,
                    &SketchOptions::new(kind.clone(), m).with_seed(seed),
                )?;
                let middle = cpu_seconds();
                let anchors = basis.anchors().map_or(0, RowSource::len);
                let targets = Targets::new(1, train.y)?;
                let problem = problem(loss.clone(), LAMBDA)?;
                let features = InputFeatures::new(basis, &train.x)?;
                let machine = fit_lipschitz(&features, &targets, &problem, &Stop::default())?;
                let end = cpu_seconds();
                let solution = machine.summary().lipschitz().ok_or("a Lipschitz loss")?;
                if !solution.converged {
                    println!("not converged: {}", machine.summary());
                }
                let predicted = machine.predict(&test.x)?;
                let inner = ROWS - OUTLYING;
                let values = [
                    anchors as f64,
                    middle - start,
                    end - middle,
                    solution.steps as f64,
                    relative_error(&predicted, &test.y),
                    relative_error(&predicted[..inner], &test.y[..inner]),
                    relative_error(&predicted[inner..], &test.y[inner..]),
                ];
                sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value / seeds as f64);
            }
            let [anchors, basis, solver, steps, error, inner, outer] = sums;
            println!(
                "| {name} | {m} | {anchors:.0} | {basis:.2} | {solver:.2} | {:.2} | {steps:.0} | \
                 {error:.4} | {inner:.4} | {outer:.4} |",
                basis + solver
            );
        }
    }
    Ok(())
}

fn select() -> Result<(), Failure> {
    let Sample { x, y } = sample(1000, "train")?;
    let kind = SketchKind::SparsifiedRademacher { density: 20.0 / ROWS as f64 };
    let lambdas = [1e-7, 1e-6, 1e-5, 1e-4];
    let kappas = [0.5, 1.0, 2.0];
    for gamma in [0.05, 0.1, 0.25, 0.5, 1.0] {
        let mut errors = vec![0.0; lambdas.len() * kappas.len()];
        for fold in 0..5 {
            let (held, kept): (Vec<_>, Vec<_>) = (0..ROWS).partition(|row| row % 5 == fold);
            let train = x.select(&kept)?;
            let test = x.select(&held)?;
            let truth: Vec<f64> = held.iter().map(|&row| y[row]).collect();
            let basis = Basis::fit(
                Kernel::Gaussian { gamma },
                &train,
                &SketchOptions::new(kind.clone(), 100),
            )?;
            let prepared = InputFeatures::new(basis, &train)?;
            let targets = Targets::new(1, kept.iter().map(|&row| y[row]).collect::<Vec<_>>())?;
            for (at, error) in errors.iter_mut().enumerate() {
                let loss = Loss::Huber(Huber { kappa: kappas[at % kappas.len()] });
                let problem = problem(loss, lambdas[at / kappas.len()])?;
                let machine = fit_lipschitz(&prepared, &targets, &problem, &Stop::default())?;
                *error += absolute_error(&machine.predict(&test)?, &truth) / 5.0;
            }
        }
        for (at, error) in errors.iter().enumerate() {
            let lambda = lambdas[at / kappas.len()];
            let kappa = kappas[at % kappas.len()];
            println!("gamma {gamma}, lambda {lambda:e}, kappa {kappa}: {error:.4}");
        }
    }
    Ok(())
}

fn solver() -> Result<(), Failure> {
    let train = sample(0, "train")?;
    let levels = vec![0.1, 0.3, 0.5, 0.7, 0.9];
    let kernel = Kernel::Gaussian { gamma: GAMMA };
    let kind = SketchKind::SparsifiedRademacher { density: 20.0 / ROWS as f64 };
    let basis = Basis::fit(kernel, &train.x, &SketchOptions::new(kind.clone(), 100))?;
    for lambda in [1e-3, 1e-4, 1e-5, 1e-6] {
        let single = Targets::new(1, train.y.clone())?;
        let joint = Targets::repeated(5, &train.y)?;
        let one = OutputMatrix::identity(1)?;
        let quantiles = OutputMatrix::quantiles(&levels, 5.0)?;
        let cases = [
            (Loss::Square(Square {}), &single, &one),
            (Loss::Huber(Huber { kappa: KAPPA }), &single, &one),
            (
                Loss::EpsilonInsensitiveSquare(EpsilonInsensitiveSquare { epsilon: 0.5 }),
                &single,
                &one,
            ),
            (Loss::EpsilonInsensitive(EpsilonInsensitive { epsilon: 0.5 }), &single, &one),
            (Loss::pinball(vec![0.5]), &single, &one),
            (Loss::pinball(levels.clone()), &joint, &quantiles),
        ];
        for (loss, targets, output) in cases {
            let problem =
                LipschitzProblem { loss, output: output.clone(), lambda, offset: Offset::Constant };
            let clock = Instant::now();
            let cpu = cpu_seconds();
            let features = InputFeatures::new(basis.clone(), &train.x)?;
            let machine = fit_lipschitz(&features, targets, &problem, &Stop::default())?;
            println!(
                "{}; {:.2} s, {:.2} s CPU",
                machine.summary(),
                clock.elapsed().as_secs_f64(),
                cpu_seconds() - cpu
            );
        }
    }
    Ok(())
}

/// Returns the CPU time of this process, all threads together.
fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec that lives until the call returns.
    let done = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(done, 0, "the process clock");
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
