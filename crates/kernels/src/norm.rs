use std::mem::MaybeUninit;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use rayon::prelude::*;

use crate::dropout::Dropout;
use crate::linear::{ROWS, add_up};
use crate::operation::{Operation, owned, sides, values, wrap};
use crate::simd::{masked, simd, sum};

/// `layer_norm(x + dropout(r + bias)) ∘ gamma + beta`, for x, r, bias, gamma and beta.
#[derive(Clone)]
pub struct ResidualNorm {
    pub epsilon: f64,
    pub dropout: Option<Dropout>,
}

impl Operation<Flex, 5> for ResidualNorm {
    /// `(z − mean) / √(variance + ε)` of the rows z that are normalised, or nothing, and the divisors' inverses; gamma.
    type Saved = ([Vec<f32>; 2], FlexTensor);

    fn forward(&self, inputs: [FlexTensor; 5], keep: bool) -> (FlexTensor, Self::Saved) {
        let Self { epsilon, dropout } = *self;
        let (n, width) = sides(&inputs[0]);
        let [x, r, bias, gamma, beta] = inputs.each_ref().map(values);
        let mut y = Box::new_uninit_slice(n * width);
        // a task that keeps nothing reuses one row
        let room = if keep { ROWS * width } else { width };
        let mut standard =
            Box::new_uninit_slice(if keep { n * width } else { n.div_ceil(ROWS) * width });
        let mut inverse = vec![0.0f32; n];
        let epsilon = epsilon as f32;
        let tasks = (y.par_chunks_mut(ROWS * width))
            .zip(standard.par_chunks_mut(room))
            .zip(inverse.par_chunks_mut(ROWS))
            .zip(x.par_chunks(ROWS * width).zip(r.par_chunks(ROWS * width)));
        tasks.enumerate().for_each(|(task, (((y, standard), inverse), (x, r)))| {
            let dropout = dropout.map(|mask| mask.after((task * ROWS * width) as u32));
            simd!((
                y: &mut [MaybeUninit<f32>], standard: &mut [MaybeUninit<f32>], inverse: &mut [f32],
                x: &[f32], r: &[f32], bias: &[f32], gamma: &[f32], beta: &[f32], epsilon: f32,
                dropout: Option<Dropout>, keep: bool
            ) -> () {
                let width = gamma.len();
                for (i, inverse) in inverse.iter_mut().enumerate() {
                    let row = i * width..(i + 1) * width;
                    let x = &x[row.clone()];
                    let r = &r[row.clone()];
                    let y = &mut y[row.clone()];
                    let standard = if keep { &mut standard[row] } else { &mut standard[..width] };
                    let summands = r.iter().zip(bias).zip(x);
                    masked!(dropout, i * width, |keep| {
                        for ((j, z), ((r, b), x)) in standard.iter_mut().enumerate().zip(summands) {
                            z.write((r + b).mul_add(keep(j), *x));
                        }
                    });
                    // SAFETY: the loop above has written the row, which is as long as x, r and bias
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
        // SAFETY: every row of y has been written, and every row of `standard` if it is kept
        let (y, standard) = unsafe {
            (y.assume_init(), if keep { standard.assume_init().into_vec() } else { Vec::new() })
        };
        let [_, _, _, gamma, _] = inputs;
        (wrap(y, [n, width]), ([standard, inverse], gamma))
    }

    /// Computes the gradient in the place of dy. With h the standardised row, g = dy ∘ gamma and means over the row:
    /// `dx = (g − mean(g) − h · mean(g ∘ h)) / √(variance + ε)`.
    fn backward(
        self,
        ([standard, inverse], gamma): Self::Saved,
        dy: FlexTensor,
        _: [bool; 5],
    ) -> [Option<FlexTensor>; 5] {
        let mut dy = owned(dy);
        let shape = dy.layout().shape().clone();
        let gamma = values(&gamma);
        let dropout = self.dropout;
        let places = dy.storage_mut::<f32>();
        let width = gamma.len();
        let mut dr = Box::new_uninit_slice(if dropout.is_some() { places.len() } else { 0 });
        let mut dr_tasks: Vec<&mut [MaybeUninit<f32>]> = dr.chunks_mut(ROWS * width).collect();
        dr_tasks.resize_with(inverse.len().div_ceil(ROWS), || &mut []);
        let sums: Vec<[Vec<f32>; 3]> = places
            .par_chunks_mut(ROWS * width)
            .zip(dr_tasks)
            .zip(standard.par_chunks(ROWS * width).zip(inverse.par_chunks(ROWS)))
            .enumerate()
            .map(|(task, ((dy, dr), (standard, inverse)))| {
                let dropout = dropout.map(|mask| mask.after((task * ROWS * width) as u32));
                simd!((
                    dy: &mut [f32], dr: &mut [MaybeUninit<f32>], standard: &[f32], inverse: &[f32],
                    gamma: &[f32], dropout: Option<Dropout>
                ) -> [Vec<f32>; 3] {
                    let width = gamma.len();
                    let [mut dbias, mut dgamma, mut dbeta] = [(); 3].map(|()| vec![0.0f32; width]);
                    for (i, scale) in inverse.iter().enumerate() {
                        let row = i * width..(i + 1) * width;
                        let dy = &mut dy[row.clone()];
                        let h = &standard[row.clone()];
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
                        match dropout {
                            Some(dropout) => {
                                let places = dr[row.clone()].iter_mut().zip(&mut dbias).zip(dy.iter());
                                for (at, ((dr, sum), dx)) in row.zip(places) {
                                    let d = dx * dropout.at(at as u32);
                                    dr.write(d);
                                    *sum += d;
                                }
                            }
                            None => for (sum, dx) in dbias.iter_mut().zip(dy.iter()) {
                                *sum += dx;
                            },
                        }
                    }
                    [dbias, dgamma, dbeta]
                })
            })
            .collect();
        let vectors = [0, 1, 2]
            .map(|which| wrap(add_up(sums.iter().map(|sums| &sums[which][..]), width), [width]));
        // without dropout the two summands have the same gradient
        let dr = match dropout {
            // SAFETY: every row has been written
            Some(_) => wrap(unsafe { dr.assume_init() }, shape),
            None => dy.clone(),
        };
        let [dbias, dgamma, dbeta] = vectors;
        [dy, dr, dbias, dgamma, dbeta].map(Some)
    }
}
