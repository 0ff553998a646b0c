//! Initial values of parameters. They are drawn from a generator that the caller passes, so the same
//! seed gives the same model whatever else the process has drawn.

use burn::module::Param;
use burn::nn::conv::{Conv1d, Conv1dConfig};
use burn::nn::{Linear, PaddingConfig1d};
use burn::tensor::{Device, Tensor, TensorData};
use dsokr_core::random::Generator;
use rand::{Rng, RngExt};

/// The initial state of an encoder.
#[derive(derive_more::Debug)]
#[debug("Start({} coordinates)", offset.len())]
pub struct Start<'a> {
    /// The mean of the targets, p numbers. As the bias of the last layer ([`head`]) it need not be learned.
    pub offset: &'a [f32],
    /// The generator of all parameters, so that a seed determines a model.
    pub random: &'a mut Generator,
    /// The device of the parameters.
    pub device: &'a Device,
}

/// Returns a parameter whose elements are drawn uniformly from `[−bound, bound]`.
pub fn uniform<const D: usize>(
    shape: [usize; D],
    bound: f32,
    generator: &mut impl Rng,
    device: &Device,
) -> Param<Tensor<D>> {
    drawn(shape, device, || bound * (2.0 * generator.random::<f32>() - 1.0))
}

/// Returns a parameter whose elements are drawn from a normal distribution with mean 0 and the given standard deviation
/// (Box–Muller).
pub fn normal<const D: usize>(
    shape: [usize; D],
    deviation: f32,
    generator: &mut impl Rng,
    device: &Device,
) -> Param<Tensor<D>> {
    drawn(shape, device, || {
        let u: f32 = generator.random();
        let v: f32 = generator.random();
        // 1 − u lies in (0, 1], so the logarithm is finite
        deviation * (-2.0 * (1.0 - u).ln()).sqrt() * (std::f32::consts::TAU * v).cos()
    })
}

fn drawn<const D: usize>(
    shape: [usize; D],
    device: &Device,
    draw: impl FnMut() -> f32,
) -> Param<Tensor<D>> {
    let values: Vec<f32> = std::iter::repeat_with(draw).take(shape.iter().product()).collect();
    Param::from_tensor(Tensor::from_data(TensorData::new(values, shape), device))
}

/// Returns a parameter whose elements are all `value`.
pub fn constant<const D: usize>(
    shape: [usize; D],
    value: f32,
    device: &Device,
) -> Param<Tensor<D>> {
    Param::from_tensor(Tensor::full(shape, value, device))
}

/// Returns a vector of the given values.
pub fn vector(values: &[f32], device: &Device) -> Param<Tensor<1>> {
    Param::from_tensor(Tensor::from_data(TensorData::new(values.to_vec(), [values.len()]), device))
}

/// Returns a linear layer with PyTorch's default: weight and bias uniform on ±1/√inputs.
pub fn linear(inputs: usize, outputs: usize, generator: &mut impl Rng, device: &Device) -> Linear {
    let bound = 1.0 / (inputs as f32).sqrt();
    Linear {
        weight: uniform([inputs, outputs], bound, generator, device),
        bias: Some(uniform([outputs], bound, generator, device)),
    }
}

/// Returns a convolution over `span` neighbouring positions from `[batch, inputs, length]` to
/// `[batch, outputs, length]`, padded with zeros; weights and bias are uniform on
/// `±1/√(inputs · span)`, PyTorch's default.
pub fn convolution(
    inputs: usize,
    outputs: usize,
    span: usize,
    generator: &mut impl Rng,
    device: &Device,
) -> Conv1d {
    let bound = 1.0 / ((inputs * span) as f32).sqrt();
    let config = Conv1dConfig::new(inputs, outputs, span).with_padding(PaddingConfig1d::Same);
    // Burn draws parameters on first use: those of `config.init` are replaced before
    let mut convolution = config.init(device);
    convolution.weight = uniform([outputs, inputs, span], bound, generator, device);
    convolution.bias = Some(uniform([outputs], bound, generator, device));
    convolution
}

/// Returns the last layer of an encoder with p coordinates: its bias is `offset`, ideally the mean of the
/// targets, which spares training the search for it; weights are uniform on ±1/√(inputs · p).
///
/// Targets have a norm of about 1 whatever p is. For inputs of unit variance the initial predictions
/// have a squared distance of about 1/3 from the offset; with ±1/√inputs it would be p/3, and the
/// first epochs would be spent on unlearning it.
pub fn head(inputs: usize, offset: &[f32], generator: &mut impl Rng, device: &Device) -> Linear {
    let bound = 1.0 / ((inputs * offset.len()) as f32).sqrt();
    Linear {
        weight: uniform([inputs, offset.len()], bound, generator, device),
        bias: Some(vector(offset, device)),
    }
}
