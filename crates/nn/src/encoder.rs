use burn::module::{Module, ModuleDisplay};
use burn::tensor::Tensor;

use crate::Pass;

/// A Burn module that maps a batch of its own inputs to coordinates in the sketched eigenbasis.
///
/// An implementation collates the batch itself (padding, offsets, …), on the device of its own
/// parameters; the trainer knows nothing about inputs but their [`length`](Encoder::length).
pub trait Encoder: Module + ModuleDisplay {
    /// One input, prepared once before training: token ids, a sparse row, a feature vector.
    type Input: Send + Sync;

    /// Dimension p of the output.
    fn dimension(&self) -> usize;

    /// Encodes a non-empty batch: `z` of shape `[batch, p]`.
    ///
    /// Row i depends on `batch[i]` alone, except that dropout masks depend on its place in the
    /// batch: neither the batch's other members nor its size change the result in evaluation
    /// beyond rounding.
    fn forward(&self, batch: &[&Self::Input], pass: Pass) -> Tensor<2>;

    /// How much work one input is, in any unit (tokens, say). Batches are made of inputs of similar
    /// length, so that padding costs little. The default, one for all, makes no difference.
    fn length(&self, input: &Self::Input) -> usize {
        let _ = input;
        1
    }
}
