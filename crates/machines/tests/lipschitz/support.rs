//! Small data sets, and the problem of a machine written out naively.

use dsokr_basis::features::DenseRows;
use dsokr_basis::{Basis, Features, Kernel, Mat, RowSource, SketchKind, SketchOptions};
use dsokr_core::Error;
use dsokr_core::loss::{EpsilonInsensitive, EpsilonInsensitiveSquare, Huber, Square};
use dsokr_core::random::{Generator, generator, unit};
use dsokr_machines::{
    InputFeatures, KernelModel, LipschitzProblem, LipschitzSummary, Loss, OutputMatrix, Stop,
    Targets, fit_lipschitz,
};
use rand_distr::{Distribution, StandardNormal};

pub const EVERY: SketchKind = SketchKind::Subsampling { replacement: false };
pub const KERNEL: Kernel = Kernel::Gaussian { gamma: 2.0 };

pub fn normal(random: &mut Generator) -> f64 {
    StandardNormal.sample(random)
}

/// Draws n points of [0, 1]², and `sin(6 x₁) + x₂` with noise of which one in twenty is large.
pub fn regression(n: usize, seed: u64) -> (Features, Vec<f64>) {
    let mut random = generator(seed, "test/regression", 0);
    let mut x = Vec::new();
    let mut y = Vec::new();
    for row in 0..n {
        let point = [unit(&mut random) as f32, unit(&mut random) as f32];
        let noise = if row % 20 == 0 { 5.0 } else { 0.3 } * normal(&mut random);
        y.push((6.0 * f64::from(point[0])).sin() + f64::from(point[1]) + noise);
        x.extend(point);
    }
    (Features::Dense(DenseRows::new(2, x).unwrap()), y)
}

/// Returns a second output beside y: its opposite with noise.
pub fn two_outputs(y: &[f64], seed: u64) -> Vec<f64> {
    let mut random = generator(seed, "test/second", 0);
    y.iter().flat_map(|&y| [y, 0.5 - y + 0.2 * normal(&mut random)]).collect()
}

pub fn basis(x: &Features, kind: &SketchKind, m: usize) -> Basis {
    Basis::fit(KERNEL, x, &SketchOptions::new(kind.clone(), m).with_seed(3)).unwrap()
}

/// Returns the machine on the features of inputs in a basis.
pub fn fit_on(
    basis: Basis,
    x: &Features,
    targets: &Targets,
    problem: &LipschitzProblem,
    stop: &Stop,
) -> Result<KernelModel, Error> {
    fit_lipschitz(&InputFeatures::new(basis, x)?, targets, problem, stop)
}

pub fn gram(x: &Features) -> Mat<f64> {
    use dsokr_basis::OutputKernel;
    KERNEL.block(x, x).unwrap()
}

/// Computes `(1/n) Σ ℓ(f_i, y_i) + (λ/2) Σ_jl (V M⁻¹ Vᵀ)_jj`: the objective of `f = b + Vᵀ z`, M invertible, with
/// the features of the basis.
pub fn objective(
    basis: &Basis,
    x: &Features,
    y: &[f64],
    residuals: &[f64],
    problem: &LipschitzProblem,
    (weights, offset): (&[f64], &[f64]),
) -> f64 {
    let d = offset.len();
    let z = basis.project(x).unwrap();
    let mut loss = 0.0;
    for row in 0..x.len() {
        let mut f = offset.to_vec();
        for (k, &feature) in z.row(row).iter().enumerate() {
            (0..d).for_each(|j| f[j] += f64::from(feature) * weights[k * d + j]);
        }
        loss += problem.loss.value(&f, &y[row * d..][..d], residuals[row]) / x.len() as f64;
    }
    let inverse = invert(&problem.output.dense());
    let mut norm = 0.0;
    for v in weights.chunks_exact(d) {
        for i in 0..d {
            (0..d).for_each(|j| norm += v[i] * inverse[(i, j)] * v[j]);
        }
    }
    loss + problem.loss.penalty() * problem.lambda * norm
}

/// Inverts a matrix by Gauss and Jordan, with pivots.
pub fn invert(matrix: &Mat<f64>) -> Mat<f64> {
    solve(matrix, &Mat::identity(matrix.nrows(), matrix.nrows()))
}

pub fn solve(matrix: &Mat<f64>, sides: &Mat<f64>) -> Mat<f64> {
    let n = matrix.nrows();
    let mut a = matrix.clone();
    let mut b = sides.clone();
    for at in 0..n {
        let pivot = (at..n).max_by(|&i, &j| a[(i, at)].abs().total_cmp(&a[(j, at)].abs())).unwrap();
        for j in 0..n {
            (a[(at, j)], a[(pivot, j)]) = (a[(pivot, j)], a[(at, j)]);
        }
        for j in 0..b.ncols() {
            (b[(at, j)], b[(pivot, j)]) = (b[(pivot, j)], b[(at, j)]);
        }
        for i in (0..n).filter(|&i| i != at) {
            let factor = a[(i, at)] / a[(at, at)];
            (0..n).for_each(|j| a[(i, j)] -= factor * a[(at, j)]);
            (0..b.ncols()).for_each(|j| b[(i, j)] -= factor * b[(at, j)]);
        }
    }
    Mat::from_fn(n, b.ncols(), |i, j| b[(i, j)] / a[(i, i)])
}

/// Returns every loss, for d outputs.
pub fn losses(d: usize) -> Vec<Loss> {
    let levels: Vec<f64> = (1..=d).map(|j| j as f64 / (d + 1) as f64).collect();
    vec![
        Loss::Square(Square {}),
        Loss::Huber(Huber { kappa: 0.5 }),
        Loss::EpsilonInsensitive(EpsilonInsensitive { epsilon: 0.3 }),
        Loss::EpsilonInsensitive(EpsilonInsensitive { epsilon: 0.0 }),
        Loss::EpsilonInsensitiveSquare(EpsilonInsensitiveSquare { epsilon: 0.3 }),
        Loss::pinball(levels),
    ]
}

pub fn coupled() -> OutputMatrix {
    OutputMatrix::quantiles(&[0.3, 0.6], 4.0).unwrap()
}

pub fn solved(machine: &KernelModel) -> &LipschitzSummary {
    machine.summary().lipschitz().unwrap()
}
