use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::Tensor;
#[cfg(feature = "cube")]
use cubecl::prelude::*;
use rayon::prelude::*;

use super::bag::RowGradient;
use super::operation::{owned, primitive};

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
    /// Weights, m and v after a step on the CPU engine, from weights, gradient, m and v, in one pass and in place. Of a
    /// gradient [by rows](RowGradient), it is 0 in the other rows.
    pub fn step<const D: usize>(self, tensors: [Tensor<D>; 4]) -> [Tensor<D>; 3] {
        let width = tensors[0].dims()[D - 1].max(1);
        let by_rows = RowGradient::is(&tensors[1], &tensors[0]);
        let [mut w, g, mut m, mut v] = tensors.map(host);
        let gradient = g.as_slice::<f32>().unwrap_or_default();
        let rows = if by_rows { RowGradient::rows(gradient, width) } else { Vec::new() };
        let chunk = if by_rows { CHUNK.div_ceil(width) * width } else { CHUNK };
        w.storage_mut::<f32>()
            .par_chunks_mut(chunk)
            .zip(m.storage_mut::<f32>().par_chunks_mut(chunk))
            .zip(v.storage_mut::<f32>().par_chunks_mut(chunk))
            .enumerate()
            .for_each(|(task, ((w, m), v))| {
                let first = task * chunk;
                if !by_rows {
                    let g = &gradient[first..][..w.len()];
                    return self.update(w, m, v, |i| g[i]);
                }
                let from = rows.partition_point(|(row, _)| row * width < first);
                let mut own = rows[from..].iter();
                let mut next = own.next();
                let states = w.chunks_mut(width).zip(m.chunks_mut(width)).zip(v.chunks_mut(width));
                for (row, ((w, m), v)) in (first / width..).zip(states) {
                    match next.filter(|(number, _)| *number == row) {
                        Some((_, g)) => {
                            self.update(w, m, v, |i| g[i]);
                            next = own.next();
                        }
                        None => self.update(w, m, v, |_| 0.0),
                    }
                }
            });
        [w, m, v].map(Tensor::from_primitive::<Flex>)
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

/// The memory of a tensor of the CPU engine.
fn host<const D: usize>(tensor: Tensor<D>) -> FlexTensor {
    owned(primitive(tensor))
}
