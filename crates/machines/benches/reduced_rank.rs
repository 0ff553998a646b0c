//! Reduced rank regression and Output Embedding Learning on synthetic least squares, after section 5.1 of
//! the reduced rank paper: `cargo bench -p dsokr-machines --bench reduced_rank -- [--seeds N]`.
//!
//! `x ~ N(0, C)`, `y = H x + e`, `e ~ N(0, E)` in d = 300 dimensions, C and E with eigenvalues `p^{−1/2}` and
//! `0.3 p^{−1/10}` in random directions, `H_0` with standard normal entries over √d. `H = H_0` is the output
//! source condition β = 1, `H = s (H_0 C H_0ᵀ) H_0` is β = 1/3, scaled to the same signal. For every rank
//! the λ with the best validation error is taken. Errors are `‖ĥ(x) − H x‖² / ‖H x‖²` over 1,000 test rows,
//! means over seeds; rank 300 is ridge regression. The second table adds outputs without inputs.
//!
//! What it showed (2 seeds): at β = 1 no rank beats ridge regression; at β = 1/3 the best rank does, .581 against .665
//! with n = 100, .390 against .506 with 300, .231 against .246 with 1,000. 3,000 outputs without inputs bring
//! n = 100 from .581 to .458, where c = 0 (outputs alone) is the best c. The eigenvalues of the paper's C and E
//! are not legible in our copy; these are our own.

use dsokr_basis::features::DenseRows;
use dsokr_basis::{Basis, Features, Kernel, Mat, SketchKind, SketchOptions};
use dsokr_core::loss::Square;
use dsokr_core::random::{Generator, generator};
use dsokr_machines::{
    InputFeatures, LipschitzProblem, Loss, Offset, OutputEmbedding, OutputMatrix, Stop, Targets,
    fit_lipschitz,
};
use rand_distr::{Distribution, StandardNormal};

type Failure = Box<dyn std::error::Error>;

const D: usize = 300;
const RANKS: [usize; 7] = [5, 10, 20, 50, 100, 200, D];
const LAMBDAS: [f64; 6] = [1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0];

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let at = arguments.iter().position(|argument| argument == "--seeds");
    let seeds = at.and_then(|at| arguments.get(at + 1)).map_or(Ok(2), |value| value.parse())?;
    for (name, aligned) in [("H = H_0, beta = 1", false), ("H = H_0 C H_0' H_0, beta = 1/3", true)]
    {
        println!("{name}, {seeds} seeds: relative test error by rank");
        println!(
            "| n | 5 | 10 | 20 | 50 | 100 | 200 | 300 (ridge) |\n|---|---|---|---|---|---|---|---|"
        );
        for n in [100, 300, 1000] {
            println!("| {n} |{}", row(&ranks(n, 0, 1.0, aligned, seeds)?));
        }
    }
    println!("beta = 1/3, n = 100 labelled rows and 3,000 outputs without inputs, by c");
    println!("| c | 5 | 10 | 20 | 50 | 100 | 200 | 300 |\n|---|---|---|---|---|---|---|---|");
    for c in [1.0, 0.7, 0.4, 0.1, 0.0] {
        println!("| {c} |{}", row(&ranks(100, 3000, c, true, seeds)?));
    }
    Ok(())
}

fn row(errors: &[f64]) -> String {
    errors.iter().map(|error| format!(" {error:.4} |")).collect()
}

/// Returns the test error of every rank, at its best λ.
fn ranks(n: usize, extra: usize, c: f64, aligned: bool, seeds: u64) -> Result<Vec<f64>, Failure> {
    let mut mean = vec![0.0; RANKS.len()];
    for seed in 0..seeds {
        let world = World::new(seed, aligned);
        let mut random = generator(seed, "reduced-rank", 1);
        let train = world.draw(n, &mut random)?;
        let validation = world.draw(1000, &mut random)?;
        let test = world.draw(1000, &mut random)?;
        let unlabelled = match extra {
            0 => Vec::new(),
            extra => world.draw(extra, &mut random)?.y,
        };
        let basis = Basis::fit(
            Kernel::Linear,
            &train.x,
            &SketchOptions::new(SketchKind::Gaussian, n.min(D)).with_tolerance(1e-12),
        )?;
        let prepared = InputFeatures::new(basis, &train.x)?;
        let targets =
            Targets::new(D, train.y.iter().map(|&value| value.into()).collect::<Vec<_>>())?;
        let mut best = vec![(f64::INFINITY, f64::INFINITY); RANKS.len()];
        for lambda in LAMBDAS {
            let loss = Loss::Square(Square {});
            let output = OutputMatrix::identity(D)?;
            let problem = LipschitzProblem { loss, output, lambda, offset: Offset::Zero };
            let machine = fit_lipschitz(&prepared, &targets, &problem, &Stop::default())?;
            let fitted = machine.predict(&train.x)?;
            let embedding = OutputEmbedding::learn(D, &fitted, &unlabelled, c, D)?;
            let seen = machine.predict(&validation.x)?;
            let new = machine.predict(&test.x)?;
            for (best, rank) in best.iter_mut().zip(RANKS) {
                let embedding = embedding.truncate(rank)?;
                let error = |predicted: &[f32], truth: &[f32]| -> Result<f64, Failure> {
                    let kept = embedding.restore(&embedding.project(predicted)?)?;
                    Ok(relative(&kept, truth))
                };
                let errors = (error(&seen, &validation.y)?, error(&new, &test.clean)?);
                if errors.0 < best.0 {
                    *best = errors;
                }
            }
        }
        mean.iter_mut().zip(best).for_each(|(mean, best)| *mean += best.1 / seeds as f64);
    }
    Ok(mean)
}

fn relative(predicted: &[f32], truth: &[f32]) -> f64 {
    let squares = predicted.iter().zip(truth).map(|(&f, &y)| f64::from(f - y).powi(2));
    let size: f64 = truth.iter().map(|&y| f64::from(y).powi(2)).sum();
    squares.sum::<f64>() / size
}

struct World {
    /// C^{1/2}, E^{1/2} and H.
    inputs: Mat<f64>,
    noise: Mat<f64>,
    map: Mat<f64>,
}

struct Sample {
    x: Features,
    y: Vec<f32>,
    clean: Vec<f32>,
}

impl World {
    fn new(seed: u64, aligned: bool) -> Self {
        let mut random = generator(seed, "reduced-rank", 0);
        let inputs = root(&mut random, |p| (p as f64).powf(-0.5));
        let noise = root(&mut random, |p| 0.3 * (p as f64).powf(-0.1));
        let start = gaussian(D, D, &mut random) * faer::Scale(1.0 / (D as f64).sqrt());
        let covariance = &inputs * inputs.transpose();
        let size = |map: &Mat<f64>| (map * &inputs).norm_l2();
        let map = if aligned {
            let map = &start * &covariance * start.transpose() * &start;
            let scale = size(&start) / size(&map);
            map * faer::Scale(scale)
        } else {
            start
        };
        Self { inputs, noise, map }
    }

    fn draw(&self, n: usize, random: &mut Generator) -> Result<Sample, Failure> {
        let x = &self.inputs * gaussian(D, n, random);
        let clean = &self.map * &x;
        let y = &clean + &self.noise * gaussian(D, n, random);
        let rows = |matrix: &Mat<f64>| -> Vec<f32> {
            matrix.col_iter().flat_map(|column| column.iter().map(|&value| value as f32)).collect()
        };
        let y = rows(&y);
        let clean = rows(&clean);
        Ok(Sample { x: Features::Dense(DenseRows::new(D, rows(&x))?), y, clean })
    }
}

fn gaussian(rows: usize, columns: usize, random: &mut Generator) -> Mat<f64> {
    Mat::from_fn(rows, columns, |_, _| StandardNormal.sample(random))
}

/// Returns a square root of a matrix with the given eigenvalues (from p = 1) and random eigenvectors.
fn root(random: &mut Generator, value: impl Fn(usize) -> f64) -> Mat<f64> {
    let turn = gaussian(D, D, random).qr().compute_thin_Q();
    Mat::from_fn(D, D, |i, p| turn[(i, p)] * value(p + 1).sqrt())
}
