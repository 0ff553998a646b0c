//! Burn's CPU engine among the devices.

use burn::tensor::{DType, Device, Tensor};

/// Returns whether a device is Burn's CPU engine, with or without autodiff.
pub fn is_cpu_engine(device: &Device) -> bool {
    device.clone().without_autodiff() == Device::flex()
}

/// Returns whether a tensor holds 32-bit floats of the CPU engine, which the fused loops compute.
pub fn on_cpu_engine<const D: usize>(x: &Tensor<D>) -> bool {
    x.dtype() == DType::F32 && is_cpu_engine(&x.device())
}
