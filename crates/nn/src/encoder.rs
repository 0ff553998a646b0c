//! The trait of encoders, and the model that a training fits.

use std::borrow::Cow;

use burn::module::{Module, ModuleDisplay, Param};
use burn::tensor::{Device, Tensor};
use dsokr_kernels::RowGradients;

use crate::onnx::{Graph, Value};
use crate::pass::{Masks, Pass};

/// A Burn module that maps a batch of inputs to coordinates in the sketched eigenbasis.
///
/// An implementation collates the batch itself (padding, offsets, …) on the device of its parameters.
#[expect(unused_variables)]
pub trait Encoder: Module + ModuleDisplay + 'static {
    /// One input, prepared once before training: token ids, a sparse row, a feature vector.
    type Input: Send + Sync;

    /// Returns the dimension p of the output.
    fn dimension(&self) -> usize;

    /// Encodes a non-empty batch: `z` of shape `[batch, p]`.
    ///
    /// In evaluation row i depends on `batch[i]` only, up to rounding. In training it also depends on dropout masks,
    /// which [`dropout`](crate::dropout) draws from the pass.
    fn forward(&self, batch: &[&Self::Input], pass: Pass) -> Tensor<2>;

    /// Returns the cost of one input in any unit, such as tokens. Batches group inputs of similar length, so
    /// that padding costs little. By default all inputs have the same length.
    fn length(&self, input: &Self::Input) -> usize {
        1
    }

    /// Returns the number of entries of an input, such as tokens, that [`entry_dropout`](Pass::entry_dropout) counts
    /// one by one (default: none).
    fn entries(&self, input: &Self::Input) -> usize {
        0
    }

    /// Returns the encoder whose tables give their gradients [by rows](dsokr_kernels::RowGradient) to `gradients` when
    /// a batch reads few of their rows (default: Burn gets all gradients). Training asks for it where gradients are
    /// neither summed over parts of a batch nor over processes.
    fn with_row_gradients(self, gradients: &RowGradients) -> Self {
        self
    }

    /// Adds the encoder to an ONNX graph: its inputs, and what makes `z` `[batch, p]` of them, as
    /// [`forward`](Self::forward) in evaluation does (default: it has no form in ONNX).
    fn onnx(&self, graph: &mut Graph) -> Option<Value> {
        None
    }
}

/// An encoder and what is trained with it: the content of a run's `encoder.safetensors`.
#[derive(Module, Debug)]
pub struct Model<E: Module> {
    /// Maps inputs to coordinates.
    pub encoder: E,
    /// ln 1/τ for a loss with a temperature τ, shape `[1]`. Predictions do not depend on it.
    pub scale: Option<Param<Tensor<1>>>,
}

impl<E: Encoder> Model<E> {
    /// Creates the model of an encoder.
    pub fn new(encoder: E) -> Self {
        Self { encoder, scale: None }
    }

    /// Returns the model with a temperature τ that is trained with the encoder.
    pub fn with_temperature(self, temperature: f64, device: &Device) -> Self {
        let scale = Tensor::from_floats([-temperature.ln() as f32], device);
        Self { scale: Some(Param::from_tensor(scale)), ..self }
    }

    /// Returns the training pass over the part of a batch behind the inputs `preceding`, with the dropout masks of a
    /// pass over the whole batch: processes that share a batch encode a part each.
    pub fn pass_after<'i>(&self, key: u64, preceding: impl Iterator<Item = &'i E::Input>) -> Pass
    where
        E::Input: 'i,
    {
        let mut all = Masks { key, ..Masks::default() };
        for input in preceding {
            let length = self.encoder.length(input) as u32;
            all.inputs = all.inputs.wrapping_add(1);
            all.lengths = all.lengths.wrapping_add(length);
            all.squares = all.squares.wrapping_add(length.wrapping_mul(length));
            all.entries = all.entries.wrapping_add(self.encoder.entries(input) as u32);
        }
        Pass::Train(all)
    }
}

/// The size of a part of a model, counted from its settings before any memory is taken. The numbers are `f64`, because
/// configured sizes may overflow an integer.
#[derive(Clone, Debug, PartialEq)]
pub struct PartSize {
    /// The keys of the settings that determine it.
    pub keys: Cow<'static, str>,
    /// Number of parameters.
    pub parameters: f64,
    /// Numbers that a training step keeps of one input for the backward pass.
    pub activations: f64,
    /// Bytes of such a number on a GPU, which keeps those between products of bfloat16 in 16 bits; the CPU engine keeps
    /// all in 32.
    pub gpu_width: f64,
    /// The number of multiplications of the forward pass of one input. A multiplication that takes less time than one
    /// in 32 bits counts as less than one.
    pub products: f64,
}

impl PartSize {
    /// Returns the same with keys of the table `table`.
    pub fn inside(self, table: &str) -> Self {
        let keys = self.keys.split(" × ").map(|key| format!("{table}.{key}"));
        Self { keys: keys.collect::<Vec<_>>().join(" × ").into(), ..self }
    }
}

/// Returns linear layers `widths[0] → widths[1] → …` on one vector.
pub(crate) fn layers_size(keys: &'static str, widths: &[usize]) -> PartSize {
    let products = widths.windows(2).map(|pair| pair[0] as f64 * pair[1] as f64).sum();
    let biases: f64 = widths.iter().skip(1).map(|&width| width as f64).sum();
    // the activations of a layer: its output, GELU, the mask of dropout, and the slope of one of them
    let keys = keys.into();
    let parameters = products + biases;
    PartSize { keys, parameters, activations: 4.0 * biases, gpu_width: 4.0, products }
}
