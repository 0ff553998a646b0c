//! Fused operations against their compositions.

use burn::tensor::{Device, Tensor};

mod composed;
mod dropout;
mod fused;

fn host<const D: usize>(x: Tensor<D>) -> Vec<f32> {
    x.into_data().convert::<f32>().try_to_vec::<f32>().unwrap()
}

/// Returns the GPU of a build with the feature `wgpu` or `cuda`. In a build with both, DSOKR_TEST_GPU names one.
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
