//! What differs between devices: Burn's CPU engine, and the precision of products.

use burn::tensor::{DType, Device, Gradients, Tensor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a device is Burn's CPU engine, with or without autodiff.
pub fn is_cpu_engine(device: &Device) -> bool {
    device.clone().without_autodiff() == Device::flex()
}

/// Whether a tensor holds 32-bit floats of the CPU engine, which the fused loops compute.
pub fn on_cpu_engine<const D: usize>(x: &Tensor<D>) -> bool {
    x.dtype() == DType::F32 && is_cpu_engine(&x.device())
}

/// The result of `work`, which runs on a thread of Rayon's pool if `device` is the CPU engine.
///
/// A thread outside the pool falls asleep for each parallel loop and is woken at its end. A training step has hundreds
/// of them, which matters where batches are small. Within the pool the thread takes part in the loops.
pub fn in_pool<T: Send>(device: &Device, work: impl FnOnce() -> T + Send) -> T {
    if is_cpu_engine(device) { rayon::scope(|_| work()) } else { work() }
}

/// The gradients of a loss, by a backward pass [in the pool](in_pool).
pub fn backward(loss: Tensor<1>) -> Gradients {
    in_pool(&loss.device(), move || loss.backward())
}

/// The numbers that a transformer multiplies in its matrix products. Parameters, their gradients, sums,
/// normalisation, softmax and loss have 32 bits (mixed precision; Micikevicius et al. 2018).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32 bits throughout.
    #[default]
    F32,
    /// 19 bits: the exponent of 32-bit numbers and 10 bits of fraction. On NVIDIA GPUs from Ampere.
    Tf32,
    /// 16 bits with the exponent of 32-bit numbers, on GPUs and on CPUs, where AVX-512 BF16 makes products
    /// about twice as fast.
    Bf16,
}
