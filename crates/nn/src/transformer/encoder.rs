use burn::module::{Module, Param};
use burn::nn::{LayerNorm, LayerNormConfig, Linear};
use burn::tensor::{Device, Int, Tensor, TensorData, activation};
use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::attention::attention;
use super::tokens::{PAD, TokensConfig};
use crate::mlp::check_dropout;
use crate::pass::dropout;
use crate::{Encoder, Error, Pass, init};

/// Which of a text's token vectors the head reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pooling {
    /// The first token's, `[CLS]`.
    First,
    /// The mean over the text's tokens.
    Mean,
}

/// A transformer encoder over tokens, trained from scratch: post-norm layers with GELU, learned
/// positions, one linear head.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TransformerConfig {
    /// How texts become tokens.
    pub tokens: TokensConfig,
    /// Longest text in tokens; the rest is cut off and the number of cut texts reported.
    pub max_length: usize,
    /// Number of layers.
    pub layers: usize,
    /// Width d of the token vectors.
    pub width: usize,
    /// Attention heads; must divide `width`.
    pub heads: usize,
    /// Width of the feed-forward layers.
    pub feed_forward: usize,
    /// Share of units dropped in training, in `[0, 1)`: embeddings, attention probabilities and
    /// the output of each sub-layer.
    pub dropout: f32,
    /// Which token vectors the head reads.
    pub pooling: Pooling,
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
        }
    }
}

impl TransformerConfig {
    /// Checks sizes and rates.
    ///
    /// # Errors
    /// A size of 0, heads that do not divide the width, or a dropout outside `[0, 1)`.
    pub fn validate(&self) -> Result<(), Error> {
        let sizes = [
            ("max_length", self.max_length),
            ("layers", self.layers),
            ("width", self.width),
            ("heads", self.heads),
            ("feed_forward", self.feed_forward),
        ];
        if let Some((key, _)) = sizes.into_iter().find(|(_, size)| *size == 0) {
            return Err(Error::Setting { key, found: "0".into(), allowed: "at least 1".into() });
        }
        if !self.width.is_multiple_of(self.heads) {
            let allowed = format!("a divisor of width = {}", self.width);
            return Err(Error::Setting { key: "heads", found: self.heads.to_string(), allowed });
        }
        self.tokens.validate()?;
        check_dropout("dropout", self.dropout)
    }

    /// Draws a transformer over `vocabulary` tokens with as many coordinates as `offset` has, the
    /// bias of the head; embeddings normal with deviation 0.02 as in BERT, layers as PyTorch's linear
    /// default.
    pub fn init(
        &self,
        vocabulary: usize,
        offset: &[f32],
        generator: &mut impl Rng,
        device: &Device,
    ) -> Transformer {
        let (d, ff) = (self.width, self.feed_forward);
        let norm = || LayerNormConfig::new(d).with_epsilon(1e-12).init(device);
        let tokens = init::normal([vocabulary, d], 0.02, generator, device);
        let positions = init::normal([self.max_length, d], 0.02, generator, device);
        let layers = (0..self.layers)
            .map(|_| Layer {
                qkv: init::linear(d, 3 * d, generator, device),
                output: init::linear(d, d, generator, device),
                attention_norm: norm(),
                rise: init::linear(d, ff, generator, device),
                fall: init::linear(ff, d, generator, device),
                feed_forward_norm: norm(),
            })
            .collect();
        Transformer {
            tokens,
            positions,
            norm: norm(),
            layers,
            head: init::head(d, offset, generator, device),
            heads: self.heads,
            dropout: self.dropout,
            mean: self.pooling == Pooling::Mean,
        }
    }
}

/// See [`TransformerConfig`].
#[derive(Module, Debug)]
pub struct Transformer {
    tokens: Param<Tensor<2>>,
    positions: Param<Tensor<2>>,
    norm: LayerNorm,
    layers: Vec<Layer>,
    head: Linear,
    #[module(skip)]
    heads: usize,
    #[module(skip)]
    dropout: f32,
    #[module(skip)]
    mean: bool,
}

#[derive(Module, Debug)]
struct Layer {
    qkv: Linear,
    output: Linear,
    attention_norm: LayerNorm,
    rise: Linear,
    fall: Linear,
    feed_forward_norm: LayerNorm,
}

impl Layer {
    fn forward(
        &self,
        x: Tensor<3>,
        mask: Option<Tensor<4>>,
        heads: usize,
        pass: Pass,
        site: u64,
        p: f32,
    ) -> Tensor<3> {
        let context = attention(self.qkv.forward(x.clone()), mask, heads, pass, site, p);
        let context = dropout(self.output.forward(context), pass, site + 1, p);
        let x = self.attention_norm.forward(x + context);
        let hidden = activation::gelu(self.rise.forward(x.clone()));
        let hidden = self.fall.forward(dropout(hidden, pass, site + 2, p));
        self.feed_forward_norm.forward(x + dropout(hidden, pass, site + 3, p))
    }
}

/// Dropout places of one layer, and one for the embeddings.
const SITES: u64 = 4;

impl Encoder for Transformer {
    type Input = Vec<u32>;

    fn dimension(&self) -> usize {
        self.head.weight.dims()[1]
    }

    fn length(&self, input: &Vec<u32>) -> usize {
        input.len()
    }

    fn forward(&self, batch: &[&Vec<u32>], pass: Pass) -> Tensor<2> {
        let device = self.tokens.device();
        let length = batch.iter().map(|ids| ids.len()).max().unwrap_or(0);
        let mut ids = vec![PAD as i32; batch.len() * length];
        let mut mask = vec![0.0f32; batch.len() * length];
        let mut weights = mask.clone();
        for (i, text) in batch.iter().enumerate() {
            let row = i * length..(i + 1) * length;
            for (id, token) in ids[row.clone()].iter_mut().zip(text.iter()) {
                *id = *token as i32;
            }
            mask[row.clone()][text.len()..].fill(-1e9);
            weights[row][..text.len()].fill(1.0 / text.len() as f32);
        }
        let padded = batch.iter().any(|text| text.len() < length);
        let ids =
            Tensor::<1, Int>::from_data(TensorData::new(ids, [batch.len() * length]), &device);
        let d = self.tokens.dims()[1];
        let positions = self.positions.val().slice([0..length, 0..d]).unsqueeze::<3>();
        let x = self.tokens.val().select(0, ids).reshape([batch.len(), length, d]) + positions;
        let mut x = dropout(self.norm.forward(x), pass, 0, self.dropout);
        let mask = padded.then(|| {
            Tensor::<4>::from_data(TensorData::new(mask, [batch.len(), 1, 1, length]), &device)
        });
        for (i, layer) in self.layers.iter().enumerate() {
            let site = 1 + SITES * i as u64;
            x = layer.forward(x, mask.clone(), self.heads, pass, site, self.dropout);
        }
        let pooled = if self.mean {
            let weights = TensorData::new(weights, [batch.len(), 1, length]);
            Tensor::<3>::from_data(weights, &device).matmul(x)
        } else {
            x.slice([0..batch.len(), 0..1, 0..d])
        };
        self.head.forward(pooled.reshape([batch.len(), d]))
    }
}
