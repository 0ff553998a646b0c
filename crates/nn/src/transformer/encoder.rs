use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::{Device, Tensor};
use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tokens::TokensConfig;
use super::{Architecture, Body, Pooling};
use crate::{Encoder, Error, PartSize, Pass, Precision, TokenIds, init};

/// A transformer encoder that is trained from scratch: post-norm layers with GELU, learned positions
/// and a linear head.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TransformerConfig {
    /// How texts become tokens.
    pub tokens: TokensConfig,
    /// Longest text in tokens; longer texts are truncated, and their number is reported.
    pub max_length: usize,
    /// Number of layers.
    pub layers: usize,
    /// Width d of the token vectors.
    pub width: usize,
    /// Number of attention heads; must divide `width`.
    pub heads: usize,
    /// Width of the feed-forward layers.
    pub feed_forward: usize,
    /// Share of units dropped in training, in `[0, 1)`: of embeddings, attention probabilities and
    /// sub-layers' outputs.
    pub dropout: f32,
    /// Which token vectors the head reads.
    pub pooling: Pooling,
    /// The numbers that matrix products multiply; all else has 32 bits. `bf16` is fast on GPUs
    /// and on CPUs with AVX-512 BF16, `f16` on GPUs.
    pub precision: Precision,
    /// Layers keep only their input and are computed again in the backward pass: about a third more
    /// time, a fraction of the memory.
    pub activation_checkpointing: bool,
}

impl Default for TransformerConfig {
    fn default() -> Self {
        Self {
            tokens: TokensConfig::default(),
            max_length: 128,
            layers: 2,
            width: 128,
            heads: 4,
            feed_forward: 512,
            dropout: 0.1,
            pooling: Pooling::Mean,
            precision: Precision::F32,
            activation_checkpointing: false,
        }
    }
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
            first_position: 0,
            types: 0,
            layers: self.layers,
            width: self.width,
            heads: self.heads,
            feed_forward: self.feed_forward,
            epsilon: 1e-12,
            dropout: self.dropout,
            attention_dropout: self.dropout,
            inner_dropout: self.dropout,
            precision: self.precision,
            recompute: self.activation_checkpointing,
        }
    }

    /// Its size over `vocabulary` tokens with `coordinates` coordinates, on texts of `length` tokens.
    pub fn size(&self, vocabulary: usize, length: f64, coordinates: usize) -> Vec<PartSize> {
        self.architecture(vocabulary).size(length, coordinates)
    }

    /// Draws a transformer over `vocabulary` tokens with `offset.len()` coordinates; `offset` becomes
    /// the bias of the head.
    pub fn init(
        &self,
        vocabulary: usize,
        offset: &[f32],
        generator: &mut impl Rng,
        device: &Device,
    ) -> Transformer {
        let body = Body::init(&self.architecture(vocabulary), generator, device);
        Transformer::new(body, self.pooling, offset, generator)
    }
}

/// A [`Body`], pooling and a linear head.
#[derive(Module, Debug)]
pub struct Transformer {
    body: Body,
    head: Linear,
    #[module(skip)]
    pooling: Pooling,
}

impl Transformer {
    /// Draws a head with `offset.len()` coordinates; `offset` becomes its bias.
    pub fn new(body: Body, pooling: Pooling, offset: &[f32], generator: &mut impl Rng) -> Self {
        let (width, device) = (body.architecture().width, body.device());
        let head = init::head(width, offset, generator, &device);
        Self { body, head, pooling }
    }

    /// The transformer without pooling and head.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// Which token vectors the head reads.
    pub fn pooling(&self) -> Pooling {
        self.pooling
    }

    /// The head, a linear layer onto the coordinates.
    pub fn head(&self) -> &Linear {
        &self.head
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
        self.head.forward(self.body.pooled(&texts, self.pooling, pass))
    }
}
