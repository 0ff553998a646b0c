use burn::module::{Module, ModuleDisplay};
use burn::tensor::Tensor;

use crate::{Pass, Place};

/// A Burn module that maps a batch of inputs to coordinates in the sketched eigenbasis.
///
/// An implementation collates the batch itself (padding, offsets, …) on the device of its parameters.
/// The trainer knows only the [`length`](Encoder::length) of an input. Where several processes train an encoder, its
/// fields are best in the order of their use in the [forward pass](Encoder::forward): gradients of the last ones are
/// exchanged first, while the [backward pass goes on](crate::HandOver).
pub trait Encoder: Module + ModuleDisplay {
    /// One input, prepared once before training: token ids, a sparse row, a feature vector.
    type Input: Send + Sync;

    /// Dimension p of the output.
    fn dimension(&self) -> usize;

    /// Encodes a non-empty batch: `z` of shape `[batch, p]`.
    ///
    /// In evaluation row i depends on `batch[i]` alone, up to rounding. In training its dropout mask
    /// depends on its place in the batch too: with a [`TrainPart`](Pass::TrainPart) of a batch, row i is that
    /// of the whole batch, if all dropout is taken from [`dropout`](crate::dropout) on tensors whose first
    /// dimension is that of the inputs, or counted from the pass's [`place`](Pass::place).
    fn forward(&self, batch: &[&Self::Input], pass: Pass) -> Tensor<2>;

    /// The cost of one input in any unit, such as tokens. Batches group inputs of similar length, so
    /// that padding costs little. By default all inputs have the same length.
    fn length(&self, input: &Self::Input) -> usize {
        let _ = input;
        1
    }

    /// The place of a part of a batch behind the inputs that precede it, from which the part's dropout masks
    /// are counted. By default their lengths are those of [`length`](Self::length).
    fn place(&self, preceding: &[&Self::Input]) -> Place {
        Place::behind(preceding.iter().map(|input| self.length(input)))
    }

    /// The encoder with gradients [by rows](crate::RowGradient) for tables of which a batch reads few rows
    /// (default: all its gradients have the shapes of their parameters). Training asks for it where the
    /// optimiser leaves a parameter without gradient as it is.
    fn with_row_gradients(self) -> Self {
        self
    }
}
