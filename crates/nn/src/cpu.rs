//! What differs on Burn's CPU engine.

use burn::tensor::{DType, Device, Gradients, Tensor};

/// Whether a device is Burn's CPU engine, with or without autodiff.
pub fn is_cpu_engine(device: &Device) -> bool {
    device.clone().without_autodiff() == Device::flex()
}

/// Whether a tensor holds 32-bit floats of the CPU engine, which the fused loops compute.
pub(crate) fn on_cpu_engine<const D: usize>(x: &Tensor<D>) -> bool {
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
