use burn::module::Module;
use burn::tensor::Tensor;

use crate::bag::SparseRow;
use crate::{Encoder, Mlp, NgramBag, Pass, TokenIds, Transformer};

/// Whichever built-in encoder a configuration names.
#[derive(Module, Debug)]
// one value a process, and every variant holds its tensors behind pointers
#[allow(clippy::large_enum_variant)]
pub enum BuiltIn {
    /// TF-IDF n-grams.
    NgramBag(NgramBag),
    /// Dense features.
    Mlp(Mlp),
    /// Tokens.
    Transformer(Transformer),
}

/// The input of a [`BuiltIn`] encoder, of the kind that it takes.
#[derive(Clone, Debug, PartialEq)]
pub enum BuiltInInput {
    /// A TF-IDF row.
    Ngrams(SparseRow),
    /// A feature vector.
    Dense(Vec<f32>),
    /// Token ids.
    Tokens(TokenIds),
}

/// The inputs of one kind; inputs are prepared for the encoder they are given to, so another kind in
/// a batch is a mistake of the program.
fn of_kind<'a, T>(
    batch: &[&'a BuiltInInput],
    get: impl Fn(&'a BuiltInInput) -> Option<&'a T>,
) -> Vec<&'a T> {
    let inputs: Vec<&T> = batch.iter().copied().filter_map(get).collect();
    assert_eq!(inputs.len(), batch.len(), "inputs prepared for another encoder");
    inputs
}

impl Encoder for BuiltIn {
    type Input = BuiltInInput;

    fn dimension(&self) -> usize {
        match self {
            Self::NgramBag(encoder) => encoder.dimension(),
            Self::Mlp(encoder) => encoder.dimension(),
            Self::Transformer(encoder) => encoder.dimension(),
        }
    }

    fn forward(&self, batch: &[&BuiltInInput], pass: Pass) -> Tensor<2> {
        use BuiltInInput::{Dense, Ngrams, Tokens};
        match self {
            Self::NgramBag(encoder) => {
                let rows = of_kind(batch, |x| if let Ngrams(row) = x { Some(row) } else { None });
                encoder.forward(&rows, pass)
            }
            Self::Mlp(encoder) => {
                let rows = of_kind(batch, |x| if let Dense(row) = x { Some(row) } else { None });
                encoder.forward(&rows, pass)
            }
            Self::Transformer(encoder) => {
                let ids = of_kind(batch, |x| if let Tokens(ids) = x { Some(ids) } else { None });
                encoder.forward(&ids, pass)
            }
        }
    }

    fn length(&self, input: &BuiltInInput) -> usize {
        match (self, input) {
            (Self::Transformer(encoder), BuiltInInput::Tokens(ids)) => encoder.length(ids),
            _ => 1,
        }
    }
}
