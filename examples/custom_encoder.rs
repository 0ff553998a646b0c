//! A custom encoder, from its definition to a search. book/src/custom-encoder.md explains it, and
//! custom_encoder.toml beside this file has its settings.
//!
//! ```sh
//! cargo run --release --example custom_encoder
//! ```

use burn::module::Module;
use burn::nn::{Embedding, Linear, conv::Conv1d};
use burn::tensor::{Tensor, activation::gelu};
use dsokr::nn::{Encoder, Padded, Pass, TokenIds, dropout, init, pad};
use dsokr::{Config, Error, Recipe, Request, Run, Start, TokenInputs, TokenInputsConfig};
use dsokr::{contract, register, train::Lines};

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
        let (width, Start { offset, random, device }) = (self.width, start);
        let weight = init::normal([tokens.vocabulary(), width], 1.0, random, device);
        let convolution = init::convolution(width, width, self.span, random, device);
        let head = init::head(width, offset, random, device);
        Ok(Convolution { table: Embedding { weight }, convolution, head })
    }
}

fn main() -> Result<(), Error> {
    register::<ConvolutionConfig>("convolution")?;
    let config = &Config::load("examples/custom_encoder.toml")?;
    let dataset = config.source().load(&config.data_root(None)?)?;
    let recipe: Option<&ConvolutionConfig> = config.encoder.get();
    recipe.map_or(Ok(()), |recipe| contract::check(recipe, &dataset.train))?;

    // trains, keeps the best model in a run directory, and evaluates it on the test split
    let trained = Request::new(config)?.run(&mut Lines)?;
    println!("\n{}\nrun directory: {}\n", trained.report, trained.path.display());

    // reads it again, as any program can that registers the kind
    let run = Run::open(&trained.path)?;
    for hit in run.search("A carboxylic acid with a bromine atom on a benzene ring.", 5)?.hits {
        println!("{:.4}  {}", hit.score, hit.label);
    }
    Ok(())
}
