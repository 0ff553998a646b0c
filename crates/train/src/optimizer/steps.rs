//! The steps of optimisers other than Adam, whose fused pass is in `dsokr_kernels`.

use burn::backend::Flex;
use burn::tensor::Tensor;
use dsokr_kernels::{on_cpu_engine, values};
use dsokr_nn::Gradient;
use rayon::prelude::*;

use super::values::host;

/// Number of elements that one task updates.
const CHUNK: usize = 1 << 14;

/// Returns the weights after a step of gradient descent, `w ← w − lr · g`.
pub(super) fn descend<const D: usize>(
    weights: Tensor<D>,
    gradient: Gradient<D>,
    lr: f32,
) -> Tensor<D> {
    if !on_cpu_engine(&weights) {
        let gradient = gradient.dense(&weights);
        return weights - gradient * lr;
    }
    let mut w = host(weights);
    match gradient {
        Gradient::Rows(gradient) => gradient.add_to(w.storage_mut::<f32>(), -lr),
        Gradient::Dense(gradient) => {
            let gradient = host(gradient);
            w.storage_mut::<f32>()
                .par_chunks_mut(CHUNK)
                .zip(values(&gradient).par_chunks(CHUNK))
                .for_each(|(w, g)| w.iter_mut().zip(g).for_each(|(w, g)| *w -= lr * g));
        }
    }
    Tensor::from_primitive::<Flex>(w)
}

/// Returns the weights after a step of descent with momentum, and the buffer: `m ← μ m + g` and `w ← w − lr · m`, as
/// PyTorch's `SGD`.
pub(super) fn momentum<const D: usize>(
    weights: Tensor<D>,
    gradient: Tensor<D>,
    buffer: Option<Tensor<D>>,
    momentum: f32,
    lr: f64,
) -> (Tensor<D>, Tensor<D>) {
    let buffer = accumulated(gradient, buffer, momentum);
    (weights - buffer.clone() * lr, buffer)
}

/// The constants of a step of Lion or Muon.
pub(super) struct Signed {
    pub lr: f64,
    pub weight_decay: f32,
    pub beta1: f32,
    pub beta2: f32,
}

/// Returns the weights after a step of Lion, and its mean of gradients:
/// `w ← (1 − lr·λ) w − lr · sign(β₁ m + (1 − β₁) g)`, then `m ← β₂ m + (1 − β₂) g`. A gradient that is not finite makes
/// the weights NaN, as with other optimisers, so that the next loss ends the training.
pub(super) fn lion<const D: usize>(
    step: Signed,
    weights: Tensor<D>,
    gradient: Tensor<D>,
    mean: Option<Tensor<D>>,
) -> (Tensor<D>, Tensor<D>) {
    let Signed { lr, weight_decay, beta1, beta2 } = step;
    let mean = mean.unwrap_or_else(|| gradient.zeros_like());
    let direction = (mean.clone() * beta1 + gradient.clone() * (1.0 - beta1)).sign();
    // the sign of NaN is 0
    let direction = direction + gradient.clone() * 0.0;
    let mean = mean * beta2 + gradient * (1.0 - beta2);
    let keep = 1.0 - lr * f64::from(weight_decay);
    (weights * keep - direction * lr, mean)
}

/// Returns a matrix after a step of Muon, and the buffer of its momentum: `m ← μ m + g`, the direction is the orthogonal
/// factor of `g + μ m`, and `w ← (1 − lr·λ) w − lr · 0.2 √max(rows, columns) · direction`, as PyTorch's `Muon` with
/// `adjust_lr_fn="match_rms_adamw"`.
pub(super) fn muon<const D: usize>(
    weights: Tensor<D>,
    gradient: Tensor<D>,
    buffer: Option<Tensor<D>>,
    momentum: f32,
    lr: f64,
    weight_decay: f32,
) -> (Tensor<D>, Tensor<D>) {
    let buffer = accumulated(gradient.clone(), buffer, momentum);
    let direction = orthogonal(gradient + buffer.clone() * momentum);
    let longest = weights.dims().into_iter().max().unwrap_or(1);
    let adjusted = lr * 0.2 * (longest as f64).sqrt();
    let keep = 1.0 - lr * f64::from(weight_decay);
    (weights * keep - direction * adjusted, buffer)
}

/// Returns `μ m + g`.
fn accumulated<const D: usize>(
    gradient: Tensor<D>,
    buffer: Option<Tensor<D>>,
    momentum: f32,
) -> Tensor<D> {
    match buffer {
        Some(buffer) => buffer * momentum + gradient,
        None => gradient,
    }
}

/// The coefficients of the iteration, and the number of its steps (Jordan 2024).
const COEFFICIENTS: [f32; 3] = [3.4445, -4.775, 2.0315];
const ITERATIONS: usize = 5;

/// Returns nearly the orthogonal factor of a matrix, with singular values near 1, by Newton's and Schulz's iteration:
/// `X ← a X + (b A + c A²) X` with `A = X Xᵀ`, from `X` at unit norm.
fn orthogonal<const D: usize>(matrix: Tensor<D>) -> Tensor<D> {
    let [a, b, c] = COEFFICIENTS;
    let dims = matrix.dims();
    let is_tall = dims[D - 2] > dims[D - 1];
    let mut x = if is_tall { matrix.swap_dims(D - 2, D - 1) } else { matrix };
    // rows first: Burn adds up many numbers in an order that differs from run to run
    let norm = x.clone().square().sum_dim(D - 1).sum_dim(D - 2).sqrt().clamp_min(1e-7);
    x = x / norm;
    for _ in 0..ITERATIONS {
        let products = x.clone().matmul(x.clone().swap_dims(D - 2, D - 1));
        let squares = products.clone().matmul(products.clone());
        x = x.clone() * a + (products * b + squares * c).matmul(x);
    }
    if is_tall { x.swap_dims(D - 2, D - 1) } else { x }
}
