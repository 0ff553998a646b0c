use burn::module::{Module, ModuleDisplay};
use burn::tensor::Tensor;

use crate::{Encoder, NgramBag, Pass};

/// A bag of n-grams and a different encoder of the same text: the sum of their coordinates.
#[derive(Module, Debug)]
pub struct BagBeside<E: Module> {
    /// The bag.
    pub bag: NgramBag,
    /// The other encoder.
    pub beside: E,
}

impl<E: Encoder + ModuleDisplay> Encoder for BagBeside<E> {
    /// The inputs of both.
    type Input = (<NgramBag as Encoder>::Input, E::Input);

    fn dimension(&self) -> usize {
        self.beside.dimension()
    }

    fn length(&self, (_, input): &Self::Input) -> usize {
        self.beside.length(input)
    }

    fn entries(&self, (row, _): &Self::Input) -> usize {
        self.bag.entries(row)
    }

    fn forward(&self, batch: &[&Self::Input], pass: Pass) -> Tensor<2> {
        let (rows, inputs): (Vec<_>, Vec<_>) = batch.iter().map(|both| (&both.0, &both.1)).unzip();
        self.bag.forward(&rows, pass) + self.beside.forward(&inputs, pass)
    }

    fn with_row_gradients(self) -> Self {
        let Self { bag, beside } = self;
        Self { bag: bag.with_row_gradients(), beside: beside.with_row_gradients() }
    }
}
