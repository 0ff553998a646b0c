// `Backend` methods take tensors by value; the macro's generated dispatch is undocumented code.
#![allow(missing_docs)]

use std::mem::MaybeUninit;

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Flex, backend_extension};
use rayon::prelude::*;

use super::buffer::{Fresh, contiguous, owned, sides, values, wrap};
use super::linear::{ROWS, add_up};
use super::simd::{simd, sum};
use crate::Dropout;

#[backend_extension(Flex, Autodiff)]
pub trait NormOps: Backend {
    /// `layer_norm(x + dropout(r)) ∘ gamma + beta`.
    fn residual_norm(
        x: FloatTensor<Self>,
        r: FloatTensor<Self>,
        gamma: FloatTensor<Self>,
        beta: FloatTensor<Self>,
        epsilon: f64,
        dropout: Option<Dropout>,
    ) -> FloatTensor<Self>;
}

impl NormOps for Flex {
    fn residual_norm(
        x: FlexTensor,
        r: FlexTensor,
        gamma: FlexTensor,
        beta: FlexTensor,
        epsilon: f64,
        dropout: Option<Dropout>,
    ) -> FlexTensor {
        let [x, r, gamma, beta] = [x, r, gamma, beta].map(contiguous);
        forward(&x, &r, &gamma, &beta, epsilon, dropout).value
    }
}

impl<C: CheckpointStrategy> NormOps for Autodiff<Flex, C> {
    fn residual_norm(
        x: FloatTensor<Self>,
        r: FloatTensor<Self>,
        gamma: FloatTensor<Self>,
        beta: FloatTensor<Self>,
        epsilon: f64,
        dropout: Option<Dropout>,
    ) -> FloatTensor<Self> {
        let [(x, x_node), (r, r_node), (gamma, gamma_node), (beta, beta_node)] =
            [x, r, gamma, beta].map(|tensor| tensor.into_parts());
        let [x, r, gamma, beta] = [x, r, gamma, beta].map(contiguous);
        let Normalised { value, standard, inverse } =
            forward(&x, &r, &gamma, &beta, epsilon, dropout);
        let nodes = [x_node, r_node, gamma_node, beta_node];
        match NormBackward.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => {
                prepared.finish((standard, inverse, gamma, dropout), value)
            }
            OpsKind::UnTracked(prepared) => prepared.finish(value),
        }
    }
}

struct Normalised {
    value: FlexTensor,
    /// `(z − mean) / √(variance + ε)`, row by row.
    standard: FlexTensor,
    /// `1 / √(variance + ε)` of each row.
    inverse: Vec<f32>,
}

fn forward(
    x: &FlexTensor,
    r: &FlexTensor,
    gamma: &FlexTensor,
    beta: &FlexTensor,
    epsilon: f64,
    dropout: Option<Dropout>,
) -> Normalised {
    let (n, width) = sides(x);
    let (x, r, gamma, beta) = (values(x), values(r), values(gamma), values(beta));
    let (mut y, mut standard) = (Fresh::new(n * width), Fresh::new(n * width));
    let mut inverse = vec![0.0f32; n];
    let epsilon = epsilon as f32;
    let tasks = (y.places().par_chunks_mut(ROWS * width))
        .zip(standard.places().par_chunks_mut(ROWS * width))
        .zip(inverse.par_chunks_mut(ROWS))
        .zip(x.par_chunks(ROWS * width).zip(r.par_chunks(ROWS * width)));
    tasks.enumerate().for_each(|(task, (((y, standard), inverse), (x, r)))| {
        let first = (task * ROWS * width) as u32;
        simd!((
            y: &mut [MaybeUninit<f32>], standard: &mut [MaybeUninit<f32>], inverse: &mut [f32],
            x: &[f32], r: &[f32], gamma: &[f32], beta: &[f32], epsilon: f32,
            dropout: Option<Dropout>, first: u32
        ) -> () {
            let width = gamma.len();
            for (i, inverse) in inverse.iter_mut().enumerate() {
                let row = i * width..(i + 1) * width;
                let (x, r) = (&x[row.clone()], &r[row.clone()]);
                let (y, standard) = (&mut y[row.clone()], &mut standard[row]);
                match dropout {
                    Some(dropout) => {
                        let first = first.wrapping_add((i * width) as u32);
                        for (j, z) in standard.iter_mut().enumerate() {
                            z.write(r[j].mul_add(dropout.at(first.wrapping_add(j as u32)), x[j]));
                        }
                    }
                    None => for (z, (x, r)) in standard.iter_mut().zip(x.iter().zip(r)) {
                        z.write(x + r);
                    },
                }
                // SAFETY: the loops above have written the row, which is as long as x and r
                let z = unsafe { &mut *(standard as *mut [MaybeUninit<f32>] as *mut [f32]) };
                let mean = sum(z, |_, v| v) / width as f32;
                let variance = sum(z, |_, v| (v - mean) * (v - mean)) / width as f32;
                let scale = 1.0 / (variance + epsilon).sqrt();
                *inverse = scale;
                for j in 0..width {
                    z[j] = (z[j] - mean) * scale;
                    y[j].write(z[j].mul_add(gamma[j], beta[j]));
                }
            }
        });
    });
    // SAFETY: every row of both has been written
    let (y, standard) = unsafe { (y.written(), standard.written()) };
    Normalised { value: wrap(y, [n, width]), standard: wrap(standard, [n, width]), inverse }
}

#[derive(Debug)]
struct NormBackward;

impl Backward<Flex, 4> for NormBackward {
    type State = (FlexTensor, Vec<f32>, FlexTensor, Option<Dropout>);

    fn backward(self, ops: Ops<Self::State, 4>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [x_node, r_node, gamma_node, beta_node] = ops.parents;
        let (standard, inverse, gamma, dropout) = ops.state;
        let mut dy = owned(grads.consume::<Flex>(&ops.node));
        let shape = dy.layout().shape().clone();
        let gamma = values(&gamma);
        let (dr, dgamma, dbeta) =
            backward(dy.storage_mut::<f32>(), values(&standard), &inverse, gamma, dropout);
        let width = gamma.len();
        let gradients = [
            (gamma_node, wrap(dgamma, [width])),
            (beta_node, wrap(dbeta, [width])),
            // without dropout the two summands have the same gradient
            (r_node, dr.map_or_else(|| dy.clone(), |dr| wrap(dr, shape))),
            (x_node, dy),
        ];
        for (node, gradient) in gradients {
            if let Some(node) = node {
                grads.register::<Flex>(node.id, gradient);
            }
        }
    }
}

/// Turns the gradient of the value into that of x, in place; returns those of r (with dropout), gamma
/// and beta.
///
/// With h the standardised row, g = dy ∘ gamma and means over the row:
/// `dx = (g − mean(g) − h · mean(g ∘ h)) / √(variance + ε)`.
fn backward(
    dy: &mut [f32],
    standard: &[f32],
    inverse: &[f32],
    gamma: &[f32],
    dropout: Option<Dropout>,
) -> (Option<Vec<f32>>, Vec<f32>, Vec<f32>) {
    let width = gamma.len();
    let mut dr = Fresh::new(if dropout.is_some() { dy.len() } else { 0 });
    let mut dr_tasks: Vec<&mut [MaybeUninit<f32>]> = dr.places().chunks_mut(ROWS * width).collect();
    dr_tasks.resize_with(inverse.len().div_ceil(ROWS), || &mut []);
    let sums: Vec<(Vec<f32>, Vec<f32>)> = dy
        .par_chunks_mut(ROWS * width)
        .zip(dr_tasks)
        .zip(standard.par_chunks(ROWS * width).zip(inverse.par_chunks(ROWS)))
        .enumerate()
        .map(|(task, ((dy, dr), (standard, inverse)))| {
            let first = (task * ROWS * width) as u32;
            simd!((
                dy: &mut [f32], dr: &mut [MaybeUninit<f32>], standard: &[f32], inverse: &[f32],
                gamma: &[f32], dropout: Option<Dropout>, first: u32
            ) -> (Vec<f32>, Vec<f32>) {
                let width = gamma.len();
                let (mut dgamma, mut dbeta) = (vec![0.0f32; width], vec![0.0f32; width]);
                for (i, scale) in inverse.iter().enumerate() {
                    let row = i * width..(i + 1) * width;
                    let (dy, h) = (&mut dy[row.clone()], &standard[row.clone()]);
                    for j in 0..width {
                        dgamma[j] += dy[j] * h[j];
                        dbeta[j] += dy[j];
                        dy[j] *= gamma[j];
                    }
                    let mean = sum(dy, |_, v| v) / width as f32;
                    let along = sum(dy, |j, v| v * h[j]) / width as f32;
                    for (v, h) in dy.iter_mut().zip(h) {
                        *v = scale * (*v - mean - h * along);
                    }
                    if let Some(dropout) = dropout {
                        let first = first.wrapping_add((i * width) as u32);
                        for (j, (dr, dx)) in dr[row].iter_mut().zip(dy.iter()).enumerate() {
                            dr.write(dx * dropout.at(first.wrapping_add(j as u32)));
                        }
                    }
                }
                (dgamma, dbeta)
            })
        })
        .collect();
    let (dgamma, dbeta): (Vec<_>, Vec<_>) = sums.into_iter().unzip();
    // SAFETY: with dropout every row has been written, without it there is none
    let dr = dropout.map(|_| unsafe { dr.written() });
    (dr, add_up(&dgamma, width), add_up(&dbeta, width))
}
