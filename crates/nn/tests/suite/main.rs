//! Encoders, their contract, what they are made of, and pretrained folders.

use burn::tensor::{Device, Tensor};

mod composed;
mod contract;
mod dropout;
mod encoders;
mod fused;
mod gradient_hooks;
mod onnx;
mod pretrained;
mod transformer;

fn host<const D: usize>(x: Tensor<D>) -> Vec<f32> {
    x.into_data().convert::<f32>().try_to_vec::<f32>().unwrap()
}

/// The GPU of a build with the feature `wgpu` or `cuda`. Of a build with both, DSOKR_TEST_GPU names one.
fn gpu() -> Option<Device> {
    #[cfg(feature = "wgpu")]
    if !cfg!(feature = "cuda") || std::env::var("DSOKR_TEST_GPU").is_ok_and(|gpu| gpu == "wgpu") {
        return Some(Device::wgpu(burn::tensor::DeviceKind::DefaultDevice));
    }
    #[cfg(feature = "cuda")]
    return Some(Device::cuda(0));
    #[cfg(not(feature = "cuda"))]
    None
}
