use burn::module::{Module, ModuleDisplay};
use burn::tensor::Tensor;

use crate::Pass;

/// A Burn module that maps a batch of inputs to coordinates in the sketched eigenbasis.
///
/// An implementation collates the batch itself (padding, offsets, …) on the device of its parameters.
pub trait Encoder: Module + ModuleDisplay {
    /// One input, prepared once before training: token ids, a sparse row, a feature vector.
    type Input: Send + Sync;

    /// Dimension p of the output.
    fn dimension(&self) -> usize;

    /// Encodes a non-empty batch: `z` of shape `[batch, p]`.
    ///
    /// In evaluation row i depends on `batch[i]` only, up to rounding. In training it also depends on dropout masks,
    /// which [`dropout`](crate::dropout) draws from the pass.
    fn forward(&self, batch: &[&Self::Input], pass: Pass) -> Tensor<2>;

    /// The cost of one input in any unit, such as tokens. Batches group inputs of similar length, so
    /// that padding costs little. By default all inputs have the same length.
    fn length(&self, input: &Self::Input) -> usize {
        let _ = input;
        1
    }

    /// Number of entries of an input, such as tokens, that [`entry_dropout`](Pass::entry_dropout) counts one by one
    /// (default: none).
    fn entries(&self, input: &Self::Input) -> usize {
        let _ = input;
        0
    }

    /// The encoder with gradients [by rows](crate::RowGradient) for tables of which a batch reads few rows
    /// (default: all its gradients have the shapes of their parameters). Training asks for it where the
    /// optimiser leaves a parameter without gradient as it is.
    fn with_row_gradients(self) -> Self {
        self
    }
}
