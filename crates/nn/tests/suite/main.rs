//! Encoders, their contract, what they are made of, and pretrained folders.

use burn::tensor::Tensor;

mod contract;
mod encoders;
mod gradient_hooks;
mod onnx;
mod pretrained;
mod transformer;

fn host<const D: usize>(x: Tensor<D>) -> Vec<f32> {
    x.into_data().convert::<f32>().try_to_vec::<f32>().unwrap()
}
