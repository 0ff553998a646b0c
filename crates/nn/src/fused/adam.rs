use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::Tensor;
use rayon::prelude::*;

use super::operation::{owned, primitive};

/// The constants of one step of Adam with decoupled weight decay λ, the arithmetic of PyTorch's `AdamW`:
/// `w ← (1 − lr·λ) w − lr · (m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + ε)`.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// Weights, m and v after a step on the CPU engine, from weights, gradient, m and v, in one pass and in place.
    pub fn step<const D: usize>(self, tensors: [Tensor<D>; 4]) -> [Tensor<D>; 3] {
        let [mut w, g, mut m, mut v] = tensors.map(host);
        let gradient = g.as_slice::<f32>().unwrap_or_default();
        w.storage_mut::<f32>()
            .par_chunks_mut(CHUNK)
            .zip(m.storage_mut::<f32>().par_chunks_mut(CHUNK))
            .zip(v.storage_mut::<f32>().par_chunks_mut(CHUNK))
            .zip(gradient.par_chunks(CHUNK))
            .for_each(|(((w, m), v), g)| {
                let Self { beta1, beta2, rate, scale, epsilon, keep } = self;
                for i in 0..w.len() {
                    m[i] = beta1 * m[i] + (1.0 - beta1) * g[i];
                    v[i] = beta2 * v[i] + (1.0 - beta2) * g[i] * g[i];
                    w[i] = keep * w[i] - rate * m[i] / (v[i].sqrt() * scale + epsilon);
                }
            });
        [w, m, v].map(Tensor::from_primitive::<Flex>)
    }
}

/// The memory of a tensor of the CPU engine.
fn host<const D: usize>(tensor: Tensor<D>) -> FlexTensor {
    owned(primitive(tensor))
}
