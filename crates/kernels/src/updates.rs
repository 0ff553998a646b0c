//! The optimiser's step of many parameters.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use burn::tensor::{DType, Tensor};

use crate::adam::Adam;
#[cfg(feature = "cube")]
use crate::cube::{self, Queue};
#[cfg(feature = "cube")]
use crate::device::is_cpu_engine;
use crate::device::on_cpu_engine;
use crate::row_gradient::Gradient;

/// Steps of the parameters of a model. On the CPU engine each is made at once. On a GPU they are collected until
/// [`finish`](Self::finish), and then made in few launches, in place; before that, the tensors that
/// [`adam`](Self::adam) returns have the values of before the step.
#[derive(Clone, Debug, Default)]
pub struct Updates {
    factor: Arc<Mutex<Option<Tensor<1>>>>,
    #[cfg(feature = "cube")]
    queue: Queue,
}

impl Updates {
    fn factor(&self) -> MutexGuard<'_, Option<Tensor<1>>> {
        self.factor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the factor of gradients on devices other than the CPU engine: see [`clip`].
    pub fn scale(&self, factor: Option<Tensor<1>>) {
        *self.factor() = factor;
    }

    /// Returns a gradient times the factor.
    pub fn scaled<const D: usize>(&self, gradient: Gradient<D>) -> Gradient<D> {
        let Some(factor) = self.factor().clone() else { return gradient };
        match gradient {
            Gradient::Dense(gradient) => {
                let factor = factor.cast(gradient.dtype());
                Gradient::Dense(gradient * factor.reshape([1; D]))
            }
            Gradient::Rows(mut gradient) => {
                gradient.scale(factor.cast(DType::F32).into_scalar::<f32>());
                Gradient::Rows(gradient)
            }
        }
    }

    /// Returns weights after a step of Adam, and m and v as vectors.
    pub fn adam<const D: usize>(
        &self,
        step: Adam,
        weights: Tensor<D>,
        gradient: Gradient<D>,
        moments: [Tensor<1>; 2],
    ) -> (Tensor<D>, [Tensor<1>; 2]) {
        if on_cpu_engine(&weights) {
            return step.step(weights, self.scaled(gradient), moments);
        }
        #[cfg(feature = "cube")]
        if weights.dtype() == DType::F32 && cube::is_gpu(&weights.device()) {
            let gradient = gradient.dense(&weights).cast(DType::F32);
            return self.queue.adam(step, weights, gradient, moments);
        }
        let gradient = self.scaled(gradient).dense(&weights).cast(weights.dtype());
        step.step_of_tensors(weights, gradient, moments)
    }

    /// Makes the steps that have been collected.
    pub fn finish(&self) {
        #[cfg(feature = "cube")]
        self.queue.finish(self.factor().take());
    }
}

/// The norm of gradients, and what scales them to a limit.
#[derive(Clone, Debug)]
pub struct Clip {
    /// The factor `[1]`: 1 where the norm is below the limit, and NaN where it is not finite.
    pub factor: Tensor<1>,
    /// The norm `[1]` over all gradients together.
    pub norm: Tensor<1>,
}

/// Returns the norm of gradients over all together, and the factor that scales them to norm `limit` if theirs is larger.
/// Nothing is read from their device.
pub fn clip(gradients: Vec<Tensor<1>>, limit: f32) -> Clip {
    #[cfg(feature = "cube")]
    if !is_cpu_engine(&gradients[0].device()) {
        let [factor, norm] = cube::clip(gradients, limit);
        return Clip { factor, norm };
    }
    let squares = gradients.into_iter().map(|gradient| gradient.square().sum());
    let norm = Tensor::cat(squares.collect(), 0).sum().sqrt();
    // the product is NaN for an infinite length
    let factor = (norm.clone().recip() * limit).clamp_max(1.0) + norm.clone() * 0.0;
    Clip { factor, norm }
}
