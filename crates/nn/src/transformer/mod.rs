//! Transformer encoders: a [`Body`] with learned positions and post-norm layers as in BERT, or as its [`Architecture`]
//! says, pooling, and a linear head make a [`Transformer`]. One that is trained from scratch learns its own
//! [`Tokenizer`](crate::pretrained::Tokenizer).

mod activation;
mod affine;
mod architecture;
mod body;
mod graph;
mod layer;
mod local;
mod peaks;
mod pooling;
mod positions;
mod sentence;
mod tokens;

use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::Tensor;
use dsokr_kernels::Precision;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use crate::encoder::{Encoder, PartSize};
use crate::error::Error;
use crate::init::{self, Start};
use crate::onnx::{Graph, Value};
use crate::pass::Pass;
use crate::token_ids::TokenIds;
pub use activation::Activation;
pub use architecture::{Architecture, MaskedTokens, NormPlace};
pub use body::Body;
pub use peaks::{PeakList, PeakTransformer, PeakTransformerConfig};
pub use pooling::{Pooling, Readout};
pub use positions::{DistanceVectors, Distances, Positions};
pub use sentence::{Dense, SentenceLayer, SentenceLayers};
pub use tokens::{TokenKind, TokensConfig};

/// A transformer encoder that is trained from scratch: post-norm layers with GELU, learned positions
/// and a linear head.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct TransformerConfig {
    /// How texts become tokens.
    pub tokens: TokensConfig,
    /// Longest text in tokens; longer texts are truncated, and their number is reported.
    #[default(128)]
    pub max_length: usize,
    /// Number of layers.
    #[default(2)]
    pub layers: usize,
    /// Width d of the token vectors.
    #[default(128)]
    pub width: usize,
    /// Number of attention heads; must divide `width`.
    #[default(4)]
    pub heads: usize,
    /// Width of the feed-forward layers.
    #[default(512)]
    pub feed_forward: usize,
    /// Share of units dropped in training, in `[0, 1)`: of embeddings, attention probabilities, inner units of feed-forward
    /// layers and sub-layers' outputs.
    #[default(0.1)]
    pub dropout: f32,
    /// The token vectors that the head reads.
    #[default(Pooling::Mean)]
    pub pooling: Pooling,
    /// The numbers that matrix products multiply; all else has 32 bits. `bf16` is fast on GPUs
    /// and on CPUs with AVX-512 BF16, `tf32` on NVIDIA GPUs from Ampere.
    pub precision: Precision,
    /// Layers keep only their input and are computed again in the backward pass: about a third more
    /// time, a fraction of the memory.
    pub activation_checkpointing: bool,
}

impl TransformerConfig {
    /// Checks sizes and rates.
    ///
    /// # Errors
    /// A size of 0, a number of heads that does not divide the width, or a dropout outside `[0, 1)`.
    pub fn validate(&self) -> Result<(), Error> {
        self.tokens.validate()?;
        self.architecture(1).validate()
    }

    pub(crate) fn architecture(&self, vocabulary: usize) -> Architecture {
        Architecture {
            vocabulary,
            positions: self.max_length,
            layers: self.layers,
            width: self.width,
            heads: self.heads,
            feed_forward: self.feed_forward,
            dropout: self.dropout,
            attention_dropout: self.dropout,
            inner_dropout: self.dropout,
            precision: self.precision,
            recompute: self.activation_checkpointing,
            ..Architecture::default()
        }
    }

    /// Returns the size of the encoder over `vocabulary` tokens with `coordinates` coordinates, on texts of `length`
    /// tokens.
    pub fn size(&self, vocabulary: usize, length: f64, coordinates: usize) -> Vec<PartSize> {
        self.architecture(vocabulary).size(length, &[self.width, coordinates])
    }

    /// Draws a transformer over `vocabulary` tokens; the offset becomes the bias of the head.
    pub fn init(&self, vocabulary: usize, start: Start) -> Transformer {
        let body = Body::init(&self.architecture(vocabulary), start.random, start.device);
        Transformer::new(body, self.pooling, start)
    }
}

/// A [`Body`], pooling, layers of a model of sentence-transformers if there are any, and a linear head.
#[derive(Module, Debug)]
pub struct Transformer {
    /// Maps texts to vectors.
    pub body: Body,
    /// The layers between pooling and head.
    pub sentence: SentenceLayers,
    /// A linear layer onto the coordinates.
    pub head: Linear,
    /// What makes one vector of the token vectors of a text.
    #[module(skip)]
    pub readout: Readout,
}

impl Transformer {
    /// Draws a head; the offset becomes its bias.
    pub fn new(body: Body, readout: impl Into<Readout>, start: Start) -> Self {
        Self::behind(body, readout, SentenceLayers::none(), start)
    }

    /// Draws a head behind further layers; the offset becomes its bias.
    ///
    /// Vectors of unit length are multiplied by √width before the head, so that it reads numbers of unit variance as
    /// from other layers: initial predictions and rates of learning mean the same.
    pub fn behind(
        body: Body,
        readout: impl Into<Readout>,
        sentence: SentenceLayers,
        Start { offset, random, device }: Start,
    ) -> Self {
        let readout = readout.into();
        let pooled = body.architecture.width * readout.pooling.len();
        let head = init::head(sentence.width(pooled), offset, random, device);
        Self { body, sentence, head, readout }
    }

    /// Returns the vectors `[texts, width]` that the head reads: of a folder of sentence-transformers, what its
    /// `encode` returns.
    ///
    /// # Panics
    /// The panics of [`Body::hidden`].
    pub fn embed(&self, texts: &[&[u32]], pass: Pass) -> Tensor<2> {
        self.sentence.forward(self.body.pooled(texts, self.readout.clone(), pass))
    }

    /// Returns the factor of the vectors before the head.
    pub(crate) fn head_scale(&self) -> f32 {
        if self.sentence.ends_at_unit_length() {
            let [width, _] = self.head.weight.dims();
            (width as f32).sqrt()
        } else {
            1.0
        }
    }
}

impl Encoder for Transformer {
    type Input = TokenIds;

    fn dimension(&self) -> usize {
        self.head.weight.dims()[1]
    }

    fn length(&self, input: &TokenIds) -> usize {
        input.len()
    }

    fn forward(&self, batch: &[&TokenIds], pass: Pass) -> Tensor<2> {
        let texts: Vec<&[u32]> = batch.iter().map(|ids| &***ids).collect();
        let mut x = self.embed(&texts, pass);
        let scale = self.head_scale();
        if scale != 1.0 {
            x = x * scale;
        }
        self.head.forward(x)
    }

    fn onnx(&self, graph: &mut Graph) -> Option<Value> {
        let x = self.body.onnx(graph, &self.readout);
        let mut x = self.sentence.onnx(graph, x);
        let scale = self.head_scale();
        if scale != 1.0 {
            let scale = graph.floats(&[], &[scale]);
            x = graph.node("Mul", &[&x, &scale], &[]);
        }
        Some(graph.linear(&x, &self.head.weight, self.head.bias.as_ref()))
    }
}
