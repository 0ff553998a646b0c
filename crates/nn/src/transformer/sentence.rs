use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::activation::Activation;
use crate::init;
use crate::onnx::{Graph, Value};

/// A layer between pooling and head, as the modules of sentence-transformers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum SentenceLayer {
    /// `activation(x w + b)`.
    Dense {
        /// Number of inputs.
        inputs: usize,
        /// Number of outputs.
        outputs: usize,
        /// Whether there is a b.
        bias: bool,
        /// The function of each output.
        activation: Activation,
    },
    /// x scaled to unit length.
    Normalize,
}

/// The weights of a [`SentenceLayer::Dense`].
#[derive(Module, Debug)]
pub struct Dense {
    /// w, `[inputs, outputs]`.
    pub weight: Param<Tensor<2>>,
    /// b.
    pub bias: Option<Param<Tensor<1>>>,
}

/// The layers between pooling and head.
#[derive(Module, Debug)]
pub struct SentenceLayers {
    /// The weights of each [`SentenceLayer::Dense`], in their order.
    pub dense: Vec<Dense>,
    /// The layers, in their order.
    #[module(skip)]
    pub layers: Vec<SentenceLayer>,
}

/// The smallest length by which a vector is divided, as in PyTorch's `normalize`.
const SHORTEST: f32 = 1e-12;

impl SentenceLayers {
    /// Draws weights with PyTorch's default for linear layers.
    pub fn init(layers: &[SentenceLayer], generator: &mut impl Rng, device: &Device) -> Self {
        let mut dense = Vec::new();
        for layer in layers {
            let SentenceLayer::Dense { inputs, outputs, bias, .. } = *layer else { continue };
            let linear = init::linear(inputs, outputs, generator, device);
            dense
                .push(Dense { weight: linear.weight, bias: if bias { linear.bias } else { None } });
        }
        Self { dense, layers: layers.to_vec() }
    }

    /// Returns no layers.
    pub fn none() -> Self {
        Self { dense: Vec::new(), layers: Vec::new() }
    }

    /// Returns whether the last layer scales vectors to unit length.
    pub fn ends_at_unit_length(&self) -> bool {
        self.layers.last() == Some(&SentenceLayer::Normalize)
    }

    /// Returns the width of the vectors behind the layers, of `width` before them.
    pub fn width(&self, width: usize) -> usize {
        self.layers.iter().fold(width, |width, layer| match layer {
            SentenceLayer::Dense { outputs, .. } => *outputs,
            SentenceLayer::Normalize => width,
        })
    }

    /// Applies the layers to vectors of texts `[texts, width]`.
    pub fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        let mut dense = self.dense.iter();
        self.layers.iter().fold(x, |x, layer| match layer {
            SentenceLayer::Normalize => {
                let length = x.clone().square().sum_dim(1).clamp_min(SHORTEST * SHORTEST).sqrt();
                x / length
            }
            SentenceLayer::Dense { activation, .. } => {
                let Some(Dense { weight, bias }) = dense.next() else {
                    unreachable!("each dense layer has weights")
                };
                let product = x.matmul(weight.val());
                let sum = match bias {
                    Some(bias) => product + bias.val().unsqueeze::<2>(),
                    None => product,
                };
                activation.apply(sum)
            }
        })
    }

    /// Computes [`forward`](Self::forward) as operators of ONNX.
    pub(super) fn onnx(&self, graph: &mut Graph, x: Value) -> Value {
        let mut dense = self.dense.iter();
        self.layers.iter().fold(x, |x, layer| match layer {
            SentenceLayer::Normalize => graph.node("LpNormalization", &[&x], &[]),
            SentenceLayer::Dense { activation, .. } => {
                let Some(Dense { weight, bias }) = dense.next() else {
                    unreachable!("each dense layer has weights")
                };
                let sum = graph.linear(&x, weight, bias.as_ref());
                activation.onnx(graph, &sum)
            }
        })
    }
}
