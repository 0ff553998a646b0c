//! Initial values of parameters, drawn from a generator that the caller passes: the same seed gives
//! the same model whatever else the process has drawn.

use burn::module::Param;
use burn::nn::conv::{Conv1d, Conv1dConfig};
use burn::nn::{Linear, PaddingConfig1d};
use burn::tensor::{Device, Tensor, TensorData};
use rand::{Rng, RngExt};

/// Uniform on `[−bound, bound]`.
pub fn uniform<const D: usize>(
    shape: [usize; D],
    bound: f32,
    generator: &mut impl Rng,
    device: &Device,
) -> Param<Tensor<D>> {
    let values: Vec<f32> = (0..shape.iter().product())
        .map(|_| bound * (2.0 * generator.random::<f32>() - 1.0))
        .collect();
    Param::from_tensor(Tensor::from_data(TensorData::new(values, shape), device))
}

/// Normal with mean 0 and the given standard deviation (Box–Muller).
pub fn normal<const D: usize>(
    shape: [usize; D],
    deviation: f32,
    generator: &mut impl Rng,
    device: &Device,
) -> Param<Tensor<D>> {
    let values: Vec<f32> = (0..shape.iter().product())
        .map(|_| {
            let (u, v): (f32, f32) = (generator.random(), generator.random());
            // 1 − u lies in (0, 1], so the logarithm is finite
            deviation * (-2.0 * (1.0 - u).ln()).sqrt() * (std::f32::consts::TAU * v).cos()
        })
        .collect();
    Param::from_tensor(Tensor::from_data(TensorData::new(values, shape), device))
}

/// All elements equal to `value`.
pub fn constant<const D: usize>(
    shape: [usize; D],
    value: f32,
    device: &Device,
) -> Param<Tensor<D>> {
    Param::from_tensor(Tensor::full(shape, value, device))
}

/// A vector of given values.
pub fn vector(values: &[f32], device: &Device) -> Param<Tensor<1>> {
    Param::from_tensor(Tensor::from_data(TensorData::new(values.to_vec(), [values.len()]), device))
}

/// A linear layer with PyTorch's default: weight and bias uniform on ±1/√inputs.
pub fn linear(inputs: usize, outputs: usize, generator: &mut impl Rng, device: &Device) -> Linear {
    let bound = 1.0 / (inputs as f32).sqrt();
    Linear {
        weight: uniform([inputs, outputs], bound, generator, device),
        bias: Some(uniform([outputs], bound, generator, device)),
    }
}

/// A convolution over `span` neighbouring positions, `[batch, inputs, length]` to `[batch, outputs,
/// length]`, with zeros beyond the ends; weights and bias uniform on `±1/√(inputs · span)`, PyTorch's
/// default.
pub fn convolution(
    inputs: usize,
    outputs: usize,
    span: usize,
    generator: &mut impl Rng,
    device: &Device,
) -> Conv1d {
    let bound = 1.0 / ((inputs * span) as f32).sqrt();
    let config = Conv1dConfig::new(inputs, outputs, span).with_padding(PaddingConfig1d::Same);
    // parameters are drawn when they are first used: those of Burn's own never are
    let mut convolution = config.init(device);
    convolution.weight = uniform([outputs, inputs, span], bound, generator, device);
    convolution.bias = Some(uniform([outputs], bound, generator, device));
    convolution
}

/// The last layer of an encoder: the bias at `offset`, best the mean of the targets, so that training
/// does not begin by looking for it, and weights uniform on ±1/√(inputs · p) for p coordinates.
///
/// Targets have a norm of about 1 whatever p is. For inputs of unit variance the answers are then at a
/// squared distance of about 1/3 of the offset; with ±1/√inputs it would be p/3, and the first epochs
/// would go by with unlearning it.
pub fn head(inputs: usize, offset: &[f32], generator: &mut impl Rng, device: &Device) -> Linear {
    let bound = 1.0 / ((inputs * offset.len()) as f32).sqrt();
    Linear {
        weight: uniform([inputs, offset.len()], bound, generator, device),
        bias: Some(vector(offset, device)),
    }
}
