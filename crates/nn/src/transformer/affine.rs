//! What layers are made of: linear maps and normalisation, with or without vectors that they add.

use burn::module::{Module, Param};
use burn::tensor::{DType, Device, Tensor};
use dsokr_kernels::{Dropout, Precision, linear, masked, residual_norm};
use rand::Rng;

use super::architecture::Architecture;
use crate::init;
use crate::onnx::{Attribute, Graph, Value};

/// `x w + b`.
#[derive(Module, Debug)]
pub(super) struct Affine {
    pub(super) weight: Param<Tensor<2>>,
    /// b; models without one add nothing.
    bias: Option<Param<Tensor<1>>>,
}

impl Affine {
    /// Draws weight and bias uniformly on ±1/√inputs, PyTorch's default.
    pub(super) fn init(
        inputs: usize,
        outputs: usize,
        has_bias: bool,
        generator: &mut impl Rng,
        device: &Device,
    ) -> Self {
        let bound = 1.0 / (inputs as f32).sqrt();
        Self {
            weight: init::uniform([inputs, outputs], bound, generator, device),
            bias: has_bias.then(|| init::uniform([outputs], bound, generator, device)),
        }
    }

    /// Returns b, or zeros.
    pub(super) fn bias(&self) -> Tensor<1> {
        match &self.bias {
            Some(bias) => bias.val(),
            None => Tensor::zeros([self.weight.val().dims()[1]], &self.weight.device()),
        }
    }

    /// Returns `x w`; the next operation adds the bias.
    pub(super) fn product(&self, x: Tensor<2>, precision: Precision) -> Tensor<2> {
        dsokr_kernels::product(x, self.weight.val(), precision)
    }

    /// Computes `x w + b`.
    pub(super) fn forward(&self, x: Tensor<2>, precision: Precision) -> Tensor<2> {
        match &self.bias {
            Some(bias) => linear(x, self.weight.val(), bias.val(), precision),
            None => self.product(x, precision),
        }
    }

    /// Computes only the outputs `from..to` of [`forward`](Self::forward).
    pub(super) fn part(
        &self,
        x: Tensor<2>,
        from: usize,
        to: usize,
        precision: Precision,
    ) -> Tensor<2> {
        let weight = self.weight.val();
        let inputs = weight.dims()[0];
        let bias = self.bias().narrow(0, from, to - from);
        linear(x, weight.slice([0..inputs, from..to]), bias, precision)
    }

    pub(super) fn onnx(&self, graph: &mut Graph, x: &Value) -> Value {
        graph.linear(x, &self.weight, self.bias.as_ref())
    }
}

/// Normalisation of token vectors: `standardised ∘ gamma + beta`, or with 1 + gamma in the place of gamma.
#[derive(Module, Debug)]
pub(super) struct Norm {
    gamma: Param<Tensor<1>>,
    /// Models without one add nothing.
    beta: Option<Param<Tensor<1>>>,
    /// Whether it subtracts the mean.
    #[module(skip)]
    is_centred: bool,
    /// Whether it multiplies by 1 + gamma.
    #[module(skip)]
    adds_one: bool,
}

impl Norm {
    pub(super) fn init(d: usize, architecture: &Architecture, device: &Device) -> Self {
        let adds_one = architecture.norm_adds_one;
        Self {
            gamma: init::constant([d], if adds_one { 0.0 } else { 1.0 }, device),
            beta: architecture.norm_bias.then(|| init::constant([d], 0.0, device)),
            is_centred: architecture.norm_centred,
            adds_one,
        }
    }

    /// Returns the factors of standardised vectors.
    fn factors(&self) -> Tensor<1> {
        let gamma = self.gamma.val();
        if self.adds_one { gamma + 1.0 } else { gamma }
    }

    /// Returns beta, or zeros.
    fn beta(&self) -> Tensor<1> {
        match &self.beta {
            Some(beta) => beta.val(),
            None => Tensor::zeros(self.gamma.val().dims(), &self.gamma.device()),
        }
    }

    /// Computes `norm(x)`.
    pub(super) fn alone(&self, x: Tensor<2>, epsilon: f64) -> Tensor<2> {
        if !self.is_centred {
            return self.by_mean_square(x, epsilon);
        }
        let [rows, width] = x.dims();
        let device = x.device();
        let nothing = Tensor::zeros([rows, width], &device);
        self.forward(x, nothing, Tensor::zeros([width], &device), epsilon, None)
    }

    /// Computes `norm(x + dropout(r + bias))`.
    pub(super) fn forward(
        &self,
        x: Tensor<2>,
        r: Tensor<2>,
        bias: Tensor<1>,
        epsilon: f64,
        dropout: Option<Dropout>,
    ) -> Tensor<2> {
        if !self.is_centred {
            return self.by_mean_square(plus(x, r, Some(bias), dropout), epsilon);
        }
        residual_norm(x, r, [bias, self.factors(), self.beta()], epsilon, dropout)
    }

    /// Computes `x / √(mean(x²) + epsilon) ∘ gamma + beta`.
    fn by_mean_square(&self, x: Tensor<2>, epsilon: f64) -> Tensor<2> {
        let root = (x.clone().square().mean_dim(1) + epsilon).sqrt();
        let y = x / root * self.factors().unsqueeze::<2>();
        match &self.beta {
            Some(beta) => y + beta.val().unsqueeze::<2>(),
            None => y,
        }
    }

    /// Computes `norm(x)`, as operators of ONNX.
    pub(super) fn onnx(&self, graph: &mut Graph, x: &Value, epsilon: f64) -> Value {
        let mut gamma = graph.parameter(&self.gamma);
        if self.adds_one {
            let one = graph.floats(&[], &[1.0]);
            gamma = graph.node("Add", &[&gamma, &one], &[]);
        }
        if !self.is_centred {
            let square = graph.node("Mul", &[x, x], &[]);
            let axis = graph.ints(&[-1]);
            let mean = graph.node("ReduceMean", &[&square, &axis], &[]);
            let epsilon = graph.floats(&[], &[epsilon as f32]);
            let mean = graph.node("Add", &[&mean, &epsilon], &[]);
            let root = graph.node("Sqrt", &[&mean], &[]);
            let standardised = graph.node("Div", &[x, &root], &[]);
            let y = graph.node("Mul", &[&standardised, &gamma], &[]);
            let Some(beta) = &self.beta else { return y };
            let beta = graph.parameter(beta);
            return graph.node("Add", &[&y, &beta], &[]);
        }
        let attributes = [("epsilon", Attribute::Float(epsilon as f32))];
        match &self.beta {
            Some(beta) => {
                let beta = graph.parameter(beta);
                graph.node("LayerNormalization", &[x, &gamma, &beta], &attributes)
            }
            None => graph.node("LayerNormalization", &[x, &gamma], &attributes),
        }
    }
}

/// Computes `x + dropout(norm(y + b))`, or without a normalisation `x + dropout(y + b)`.
pub(super) fn add(
    x: Tensor<2>,
    y: Tensor<2>,
    layer: &Affine,
    norm: Option<(&Norm, f64)>,
    dropout: Option<Dropout>,
) -> Tensor<2> {
    let bias = layer.bias.as_ref().map(Param::val);
    let Some((norm, epsilon)) = norm else { return plus(x, y, bias, dropout) };
    let y = with_bias(y, x.dtype(), bias);
    plus(x, norm.alone(y, epsilon), None, dropout)
}

/// Computes `x + dropout(y + bias)`.
fn plus(
    x: Tensor<2>,
    y: Tensor<2>,
    bias: Option<Tensor<1>>,
    dropout: Option<Dropout>,
) -> Tensor<2> {
    let y = with_bias(y, x.dtype(), bias);
    x + masked(y, dropout)
}

/// Computes `y + bias` in numbers of this type: products in 16 bits are added in 32.
fn with_bias(y: Tensor<2>, dtype: DType, bias: Option<Tensor<1>>) -> Tensor<2> {
    let y = y.cast(dtype);
    match bias {
        Some(bias) => y + bias.unsqueeze::<2>(),
        None => y,
    }
}
