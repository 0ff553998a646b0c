//! A custom encoder, in a program that is the whole command `dsokr` with its kind of `[encoder]`.
//! book/src/custom-encoder.md explains it.
//!
//! ```sh
//! cargo run --release --example custom_encoder -- train examples/custom_encoder.toml
//! cargo run --release --example custom_encoder -- search runs/custom_encoder "A carboxylic acid"
//! ```

use burn::module::Module;
use burn::nn::{Embedding, Linear, conv::Conv1d};
use burn::tensor::{Tensor, activation::gelu};
use dsokr::cli::{kind, main_with};
#[cfg(test)]
use dsokr::data::{Inputs, Split};
use dsokr::nn::{Encoder, Padded, Pass, TokenIds, dropout, init, pad};
use dsokr::{Error, Recipe, Start, TokenInputs, TokenInputsConfig};

/// The keys of `[encoder]`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ConvolutionConfig {
    inputs: TokenInputsConfig,
    width: usize,
    span: usize,
}

/// Vectors of tokens, a convolution over them, the mean over the text, and a linear head.
#[derive(Module, Debug)]
struct Convolution {
    table: Embedding,
    convolution: Conv1d,
    head: Linear,
}

impl Encoder for Convolution {
    type Input = TokenIds;

    fn dimension(&self) -> usize {
        self.head.weight.dims()[1]
    }

    fn forward(&self, batch: &[&TokenIds], pass: Pass) -> Tensor<2> {
        let Padded { ids, mask, lengths } = pad(batch, &self.table.weight.device());
        // zeros after a text's end, as after the end of a batch
        let vectors = self.table.forward(ids) * mask.clone();
        let spans = gelu(self.convolution.forward(vectors.swap_dims(1, 2))).swap_dims(1, 2);
        let mean = (spans * mask).sum_dim(1).squeeze_dim::<2>(1) / lengths;
        self.head.forward(dropout(mean, pass, 0, 0.1))
    }
}

impl Recipe for ConvolutionConfig {
    type Preparation = TokenInputs;
    type Encoder = Convolution;

    fn preparation(&self) -> TokenInputsConfig {
        self.inputs.clone()
    }

    fn encoder(&self, tokens: &TokenInputs, start: Start) -> Result<Convolution, Error> {
        let width = self.width;
        let Start { offset, random, device } = start;
        let weight = init::normal([tokens.vocabulary(), width], 1.0, random, device);
        let convolution = init::convolution(width, width, self.span, random, device);
        let head = init::head(width, offset, random, device);
        Ok(Convolution { table: Embedding { weight }, convolution, head })
    }
}

fn main() -> std::process::ExitCode {
    main_with(&[kind::<ConvolutionConfig>("convolution")])
}

#[test]
fn it_keeps_the_contract() -> Result<(), Error> {
    let recipe = ConvolutionConfig { inputs: TokenInputsConfig::default(), width: 8, span: 2 };
    let texts: Vec<String> = (0..8).map(|n| "a carbon atom, ".repeat(n) + "an acid").collect();
    let split = Split::new(texts.clone(), Inputs::Texts(texts), vec![None; 8]);
    dsokr::contract::check(&recipe, &split)
}
