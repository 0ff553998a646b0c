use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::Tensor;
#[cfg(feature = "cube")]
use cubecl::prelude::*;
use rayon::prelude::*;

use crate::operation::{owned, primitive, values};
use crate::row_gradient::Gradient;

/// The constants of one step of Adam with decoupled weight decay λ, the arithmetic of PyTorch's `AdamW`:
/// `w ← (1 − lr·λ) w − lr · (m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + ε)`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "cube", derive(CubeType, CubeLaunch))]
pub struct Adam {
    /// Decay of the mean of gradients.
    pub beta1: f32,
    /// Decay of the mean of their squares.
    pub beta2: f32,
    /// `lr / (1 − β₁ᵗ)`.
    pub rate: f32,
    /// `1 / √(1 − β₂ᵗ)`.
    pub scale: f32,
    /// ε.
    pub epsilon: f32,
    /// `1 − lr·λ`.
    pub keep: f32,
}

/// Number of elements that one task updates.
const CHUNK: usize = 1 << 14;

impl Adam {
    /// Makes a step on the CPU engine, in one pass and in place. Returns the weights after it, and m and v as vectors.
    pub fn step<const D: usize>(
        self,
        weights: Tensor<D>,
        gradient: Gradient<D>,
        moments: [Tensor<1>; 2],
    ) -> (Tensor<D>, [Tensor<1>; 2]) {
        let width = weights.dims()[D - 1].max(1);
        let mut w = host(weights);
        let [mut m, mut v] = moments.map(host);
        match gradient {
            Gradient::Dense(gradient) => {
                let gradient = host(gradient);
                let gradient = values(&gradient);
                self.in_chunks(CHUNK, [&mut w, &mut m, &mut v], |first, [w, m, v]| {
                    let g = &gradient[first..][..w.len()];
                    self.update(w, m, v, |i| g[i]);
                });
            }
            // the gradient is 0 in the other rows
            Gradient::Rows(gradient) => {
                let chunk = CHUNK.div_ceil(width) * width;
                self.in_chunks(chunk, [&mut w, &mut m, &mut v], |first, [w, m, v]| {
                    let mut rows = gradient.behind(first / width);
                    let mut next = rows.next();
                    let states =
                        w.chunks_mut(width).zip(m.chunks_mut(width)).zip(v.chunks_mut(width));
                    for (row, ((w, m), v)) in (first / width..).zip(states) {
                        match next.filter(|(number, _)| *number == row) {
                            Some((_, g)) => {
                                self.update(w, m, v, |i| g[i]);
                                next = rows.next();
                            }
                            None => self.update(w, m, v, |_| 0.0),
                        }
                    }
                });
            }
        }
        let [m, v] = [m, v].map(Tensor::from_primitive::<Flex>);
        (Tensor::from_primitive::<Flex>(w), [m, v])
    }

    /// Calls `update` in parallel on chunks of weights, m and v, with the number of each one's first element.
    fn in_chunks(
        self,
        chunk: usize,
        [w, m, v]: [&mut FlexTensor; 3],
        update: impl Fn(usize, [&mut [f32]; 3]) + Sync,
    ) {
        w.storage_mut::<f32>()
            .par_chunks_mut(chunk)
            .zip(m.storage_mut::<f32>().par_chunks_mut(chunk))
            .zip(v.storage_mut::<f32>().par_chunks_mut(chunk))
            .enumerate()
            .for_each(|(task, ((w, m), v))| update(task * chunk, [w, m, v]));
    }

    /// Makes a [`step`](Self::step) by operations of Burn, for parameters of any type on any device.
    pub(super) fn step_of_tensors<const D: usize>(
        self,
        weights: Tensor<D>,
        gradient: Tensor<D>,
        moments: [Tensor<1>; 2],
    ) -> (Tensor<D>, [Tensor<1>; 2]) {
        let Self { beta1, beta2, rate, scale, epsilon, keep } = self;
        let shape = weights.shape();
        let [m, v] = moments.map(|moment| moment.reshape(shape.clone()));
        let m = m * beta1 + gradient.clone() * (1.0 - beta1);
        let v = v * beta2 + gradient.square() * (1.0 - beta2);
        let change = m.clone() * rate / (v.clone().sqrt() * scale + epsilon);
        (weights * keep - change, [m, v].map(|moment| moment.flatten(0, D - 1)))
    }

    #[inline(always)]
    fn update(self, w: &mut [f32], m: &mut [f32], v: &mut [f32], g: impl Fn(usize) -> f32) {
        let Self { beta1, beta2, rate, scale, epsilon, keep } = self;
        for i in 0..w.len() {
            m[i] = beta1 * m[i] + (1.0 - beta1) * g(i);
            v[i] = beta2 * v[i] + (1.0 - beta2) * g(i) * g(i);
            w[i] = keep * w[i] - rate * m[i] / (v[i].sqrt() * scale + epsilon);
        }
    }
}

/// Returns the memory of a tensor of the CPU engine.
fn host<const D: usize>(tensor: Tensor<D>) -> FlexTensor {
    owned(primitive(tensor))
}
