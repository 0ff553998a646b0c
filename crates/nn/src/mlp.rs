//! Multi-layer perceptrons on dense vectors.

use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::{Tensor, TensorData};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use crate::encoder::{Encoder, PartSize, layers_size};
use crate::error::{Error, check};
use crate::init::{self, Start};
use crate::onnx::{Dimension, Graph, Type, Value};
use crate::pass::{Pass, check_dropout, dropout};
use crate::transformer::Activation;

/// A multi-layer perceptron on dense feature vectors. Without hidden layers it is linear: the
/// single-layer perceptron (SLP) of the thesis's synthetic experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct MlpConfig {
    /// Widths of the hidden layers; empty for the SLP.
    #[default(vec![512])]
    pub hidden: Vec<usize>,
    /// Share of hidden units dropped in training, in `[0, 1)`.
    #[default(0.1)]
    pub dropout: f32,
}

impl MlpConfig {
    /// Checks widths and rates.
    ///
    /// # Errors
    /// A hidden layer of width 0, or a dropout outside `[0, 1)`.
    pub fn validate(&self) -> Result<(), Error> {
        let hidden = format!("{:?}", self.hidden);
        check(!self.hidden.contains(&0), "hidden", hidden, "every width at least 1")?;
        check_dropout("dropout", self.dropout)
    }

    /// Returns the size of the encoder with `inputs` features and `coordinates` coordinates.
    pub fn size(&self, inputs: usize, coordinates: usize) -> PartSize {
        let widths = [&[inputs][..], &self.hidden, &[coordinates]].concat();
        let input = inputs as f64;
        let layers = layers_size("hidden", &widths);
        PartSize { activations: layers.activations + input, ..layers }
    }

    /// Draws an MLP from `inputs` features to as many coordinates as the offset has.
    pub fn init(&self, inputs: usize, Start { offset, random, device }: Start) -> Mlp {
        let mut layers = Vec::new();
        let mut width = inputs;
        for &next in &self.hidden {
            layers.push(init::linear(width, next, random, device));
            width = next;
        }
        layers.push(init::head(width, offset, random, device));
        Mlp { layers, dropout: self.dropout }
    }
}

/// Linear layers with GELU and dropout in between; see [`MlpConfig`].
#[derive(Module, Debug)]
pub struct Mlp {
    layers: Vec<Linear>,
    #[module(skip)]
    dropout: f32,
}

impl Mlp {
    /// Returns the same MLP with a last layer of zeros, so that its initial output is zero.
    pub(crate) fn with_zero_head(mut self) -> Self {
        if let Some(head) = self.layers.last_mut() {
            let device = head.weight.device();
            head.weight = init::constant(head.weight.dims(), 0.0, &device);
        }
        self
    }

    /// Applies the layers to a batch `[batch, inputs]`. Dropout takes the sites from `site + 1` on.
    pub fn apply(&self, mut x: Tensor<2>, pass: Pass, site: u64) -> Tensor<2> {
        for (i, layer) in self.layers.iter().enumerate() {
            if i > 0 {
                x = dropout(Activation::Gelu.apply(x), pass, site + i as u64, self.dropout);
            }
            x = layer.forward(x);
        }
        x
    }

    /// Computes [`apply`](Self::apply) in evaluation, as operators of ONNX.
    pub(crate) fn add_to(&self, graph: &mut Graph, mut x: Value) -> Value {
        for (i, layer) in self.layers.iter().enumerate() {
            if i > 0 {
                x = graph.node("Gelu", &[&x], &[]);
            }
            x = graph.linear(&x, &layer.weight, layer.bias.as_ref());
        }
        x
    }
}

impl Encoder for Mlp {
    type Input = Vec<f32>;

    fn dimension(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.weight.dims()[1])
    }

    /// Encodes rows of numbers.
    ///
    /// # Panics
    /// If a row does not have as many numbers as the MLP reads.
    fn forward(&self, batch: &[&Vec<f32>], pass: Pass) -> Tensor<2> {
        let weight = &self.layers[0].weight;
        let width = weight.dims()[0];
        for (row, input) in batch.iter().enumerate() {
            let numbers = input.len();
            assert!(
                numbers == width,
                "row {row} of a batch has {numbers} numbers, the MLP reads {width}"
            );
        }
        let shape = [batch.len(), width];
        let rows: Vec<f32> = batch.iter().flat_map(|row| row.iter().copied()).collect();
        let x = Tensor::from_data(TensorData::new(rows, shape), &weight.device());
        self.apply(x, pass, 0)
    }

    fn onnx(&self, graph: &mut Graph) -> Option<Value> {
        let shape = [Dimension::Any("batch"), Dimension::Size(self.layers[0].weight.dims()[0])];
        let x = graph.input("vectors", Type::Float, &shape, "one vector a row");
        Some(self.add_to(graph, x))
    }
}
