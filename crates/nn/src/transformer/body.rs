use std::sync::Arc;

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};
use rand::Rng;

use super::layer::{Layer, Norm, Shared};
use super::{Architecture, Pooling};
use crate::fused::{self, Sequences, SparseBatch, bag, integers};
use crate::pass::dropout;
use crate::{Pass, init};

/// A transformer without its head: from token ids to one vector of width d a text.
///
/// Texts of a batch lie one after the other without padding ([`Sequences::packed`]), so that a batch
/// costs what its tokens are.
#[derive(Module, Debug)]
pub struct Body {
    tokens: Param<Tensor<2>>,
    positions: Param<Tensor<2>>,
    types: Option<Param<Tensor<2>>>,
    norm: Norm,
    layers: Vec<Layer>,
    #[module(skip)]
    architecture: Architecture,
}

impl Body {
    /// Draws parameters: embeddings normal with deviation 0.02 as in BERT, layers as PyTorch's linear
    /// default.
    pub fn init(architecture: &Architecture, generator: &mut impl Rng, device: &Device) -> Self {
        let Architecture { vocabulary, positions, types, width, layers, .. } = *architecture;
        let mut table = |rows| init::normal([rows, width], 0.02, generator, device);
        Self {
            tokens: table(vocabulary),
            positions: table(positions),
            types: (types > 0).then(|| table(types)),
            norm: Norm::init(width, device),
            layers: (0..layers).map(|_| Layer::init(architecture, generator, device)).collect(),
            architecture: architecture.clone(),
        }
    }

    /// What it is made of.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// The device of its parameters.
    pub fn device(&self) -> Device {
        self.tokens.device()
    }

    /// Vectors `[n, d]` of all tokens of non-empty texts, before the first layer.
    fn embed(&self, batch: &[&[u32]], pass: Pass) -> Tensor<2> {
        let Architecture { first_position, width, epsilon, dropout: p, .. } = self.architecture;
        let first = first_position as u32;
        let ids = batch.iter().flat_map(|ids| ids.iter().copied());
        let places = batch.iter().flat_map(|ids| first..first + ids.len() as u32);
        let mut positions = self.positions.val();
        if let Some(types) = &self.types {
            positions = positions + types.val().slice([0..1, 0..width]);
        }
        let (tokens, positions) = (bag(self.tokens.val(), rows(ids)), bag(positions, rows(places)));
        dropout(self.norm.forward(tokens, positions, epsilon, None), pass, 0, p)
    }

    /// Vectors `[n, d]` of all tokens behind the last layer, text after text.
    ///
    /// # Panics
    /// If a text is empty or longer than [`Architecture::longest`], or a token not in the vocabulary:
    /// whoever makes the ids sees to that.
    pub fn hidden(&self, batch: &[&[u32]], pass: Pass) -> Tensor<2> {
        let sequences = self.sequences(batch);
        self.layers(self.embed(batch, pass), &sequences, pass)
    }

    /// All layers on given vectors `[n, d]`.
    pub fn layers(&self, x: Tensor<2>, sequences: &Arc<Sequences>, pass: Pass) -> Tensor<2> {
        let shared = Shared { architecture: &self.architecture, sequences, pass };
        let layers = self.layers.iter().enumerate();
        layers.fold(x, |x, (index, layer)| layer.forward(x, shared, index))
    }

    /// All layers on given vectors `[n, d]`, but the last for each text's first token alone:
    /// `[texts, d]`.
    pub fn layers_first(&self, x: Tensor<2>, sequences: &Arc<Sequences>, pass: Pass) -> Tensor<2> {
        let shared = Shared { architecture: &self.architecture, sequences, pass };
        let last = self.layers.len() - 1;
        let layers = self.layers[..last].iter().enumerate();
        let x = layers.fold(x, |x, (index, layer)| layer.forward(x, shared, index));
        self.layers[last].forward_first(x, shared, last)
    }

    /// One vector a text, `[texts, d]`.
    ///
    /// # Panics
    /// As [`hidden`](Self::hidden).
    pub fn pooled(&self, batch: &[&[u32]], pooling: Pooling, pass: Pass) -> Tensor<2> {
        let sequences = self.sequences(batch);
        let x = self.embed(batch, pass);
        match pooling {
            Pooling::First => self.layers_first(x, &sequences, pass),
            Pooling::Mean => {
                let x = self.layers(x, &sequences, pass);
                let weights = sequences.lengths().iter();
                let values =
                    weights.flat_map(|&n| std::iter::repeat_n(1.0 / n as f32, n)).collect();
                let starts = sequences.starts().iter().copied().chain([sequences.rows()]).collect();
                let indices = (0..sequences.rows() as u32).collect();
                bag(x, Arc::new(SparseBatch { starts, indices, values }))
            }
            Pooling::Max => {
                let device = x.device();
                let x = self.layers(x, &sequences, pass);
                let (stride, width) = (sequences.longest(), self.architecture.width);
                // padding repeats a token of the text, which changes no maximum
                let rows = integers(fused::padded_rows(&sequences, stride), &device);
                let x = x.select(0, rows).reshape([batch.len(), stride, width]);
                x.max_dim(1).reshape([batch.len(), width])
            }
        }
    }

    fn sequences(&self, batch: &[&[u32]]) -> Arc<Sequences> {
        let sequences = Sequences::packed(batch.iter().map(|ids| ids.len()));
        let (found, longest) = (sequences.longest(), self.architecture.longest());
        assert!(found <= longest, "a text of {found} tokens, {longest} have positions");
        Arc::new(sequences)
    }

    /// Freezes the embeddings and the lowest `layers` layers: training leaves them as they are.
    pub fn freeze(mut self, layers: usize) -> Self {
        let frozen = |param: Param<Tensor<2>>| param.set_require_grad(false);
        self.tokens = frozen(self.tokens);
        self.positions = frozen(self.positions);
        self.types = self.types.map(frozen);
        self.norm = self.norm.no_grad();
        let all = self.layers.into_iter().enumerate();
        self.layers =
            all.map(|(i, layer)| if i < layers { layer.no_grad() } else { layer }).collect();
        self
    }
}

/// One table row each.
fn rows(ids: impl Iterator<Item = u32>) -> Arc<SparseBatch> {
    let indices: Vec<u32> = ids.collect();
    let n = indices.len();
    Arc::new(SparseBatch { starts: (0..=n).collect(), indices, values: vec![1.0; n] })
}
