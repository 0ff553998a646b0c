use std::sync::Arc;

use burn::backend::tensor::FloatTensor;
use burn::backend::{DispatchKindConversion, DispatchTensor};
use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{DType, Device, Tensor};
use dsokr_kernels::{
    Attention, Dropout, Engine, Operation, Sequences, SparseBatch, attention, attention_first, bag,
    linear_gelu, masked, of_backend, run,
};
use rand::Rng;

use super::activation::Activation;
use super::affine::{Affine, Norm, add};
use super::architecture::Architecture;
use super::local::{self, Scoring};
use super::positions::{Offsets, Relative, Rotations};
use crate::pass::{Masks, Pass};

/// Attention and a feed-forward layer, each with a residual path and normalisation, after it,
/// `x ← norm(x + attention(x))`, `x ← norm(x + down(gelu(up(x))))`, or before it.
#[derive(Module, Debug)]
pub(super) struct Layer {
    /// Queries, keys and values side by side: one product instead of three.
    pub(super) qkv: Affine,
    /// The normalisations of each head of queries and of keys.
    pub(super) query_norm: Option<Norm>,
    pub(super) key_norm: Option<Norm>,
    pub(super) output: Affine,
    pub(super) attention_norm: Option<Norm>,
    /// The normalisation of what attention adds to its input.
    pub(super) attention_result_norm: Option<Norm>,
    /// The units, and behind all of them their factors, where they have any.
    pub(super) up: Affine,
    pub(super) down: Affine,
    pub(super) feed_forward_norm: Norm,
    /// The normalisation of what the feed-forward layer adds to its input.
    pub(super) feed_forward_result_norm: Option<Norm>,
}

/// Dropout sites of one layer.
const SITES: u64 = 4;

/// The arguments that all layers share.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) architecture: Architecture,
    pub(super) sequences: Arc<Sequences>,
    pub(super) pass: Pass,
    /// The angles of queries and keys, of rotary positions.
    pub(super) rotations: Option<Rotations>,
    /// What the distances between tokens change in attention.
    pub(super) relative: Option<Relative>,
}

impl Shared {
    /// Returns the vectors that the attention of a layer makes of its input `[n, d]`.
    fn attend(&self, input: Tensor<2>, layer: &Layer, index: usize) -> Tensor<2> {
        let Architecture { position_kind, heads, scaled_scores, precision, .. } =
            &self.architecture;
        let settings = self.attention(index, |masks| masks.squares);
        let qkv = layer.qkv.forward(input, *precision);
        let qkv = layer.with_normalised_heads(qkv, &self.architecture);
        let qkv = match &self.rotations {
            Some(rotations) => {
                let turned = heads + self.architecture.key_heads();
                rotations.apply(qkv, position_kind, index, turned)
            }
            None => qkv,
        };
        let qkv = with_keys_of_each_head(qkv, &self.architecture);
        let window = self.architecture.window(index);
        let is_whole = window.is_whole(self.sequences.longest());
        if *scaled_scores && is_whole && self.relative.is_none() {
            return attention(qkv, settings);
        }
        let mut scoring =
            Scoring { are_scaled: *scaled_scores, added: None, offsets: None, window };
        match &self.relative {
            Some(Relative::Scores(added)) => scoring.added = Some(added.clone()),
            Some(Relative::Offsets(offsets)) => {
                scoring.offsets = Some(self.offsets(offsets, &layer.qkv, index));
            }
            None => {}
        }
        local::attention(qkv, scoring, &settings)
    }

    /// Returns the queries and keys that a layer makes of the vectors for distances, each `[2 longest − 1, d]`.
    fn offsets(&self, offsets: &Offsets, affine: &Affine, index: usize) -> [Tensor<2>; 2] {
        let Architecture { layers, dropout, precision, .. } = self.architecture;
        let width = self.architecture.attention_width();
        // the same elements for all texts of a batch
        let dropout = self.pass.dropout(offset_site(layers, index), dropout);
        let rows = offsets.dropped(dropout);
        [0, 1].map(|part| {
            let projected = affine.part(rows.clone(), part * width, (part + 1) * width, precision);
            offsets.each_distance(wide(projected))
        })
    }

    /// Returns the attention of a layer; `preceding` rows of probabilities precede these in the batch.
    fn attention(&self, index: usize, preceding: impl Fn(Masks) -> u32) -> Attention {
        let Architecture { heads, attention_dropout, precision, .. } = self.architecture;
        let dropout = self.pass.row_dropout(site(index, 0), attention_dropout, heads, preceding);
        Attention { sequences: self.sequences.clone(), heads, dropout, precision }
    }
}

impl Layer {
    /// Draws a layer; `has_attention_norm` says whether its attention has a normalisation.
    pub(super) fn init(
        architecture: &Architecture,
        has_attention_norm: bool,
        generator: &mut impl Rng,
        device: &Device,
    ) -> Self {
        let Architecture { width: d, feed_forward, head_norm, .. } = *architecture;
        let Architecture { attention_bias, output_bias, feed_forward_bias, .. } = *architecture;
        let attention = architecture.attention_width();
        let projected = attention + 2 * architecture.key_width();
        let units = architecture.inner_units();
        let norm_of_heads =
            || head_norm.then(|| Norm::init(architecture.head_width(), architecture, device));
        let norm_of_result =
            || architecture.normalises_results().then(|| Norm::init(d, architecture, device));
        let mut affine =
            |inputs, outputs, has_bias| Affine::init(inputs, outputs, has_bias, generator, device);
        Self {
            qkv: affine(d, projected, attention_bias),
            query_norm: norm_of_heads(),
            key_norm: norm_of_heads(),
            output: affine(attention, d, output_bias),
            attention_norm: has_attention_norm.then(|| Norm::init(d, architecture, device)),
            attention_result_norm: norm_of_result(),
            up: affine(d, units, feed_forward_bias),
            down: affine(feed_forward, d, feed_forward_bias),
            feed_forward_norm: Norm::init(d, architecture, device),
            feed_forward_result_norm: norm_of_result(),
        }
    }

    /// Returns the layer's input, what distances give, and the layer's parameters. The input fills the places of those that the
    /// layer lacks, which have no gradient.
    fn inputs(&self, x: Tensor<2>, relative: Option<&Relative>) -> [DispatchTensor; INPUTS] {
        struct Inputs(Vec<DispatchTensor>);

        impl ModuleVisitor for Inputs {
            fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
                self.0.push(param.val().into_dispatch());
            }
        }

        let mut inputs = Inputs(vec![x.clone().into_dispatch()]);
        inputs.0.extend(relative.map(Relative::tensor));
        self.visit(&mut inputs);
        assert!(inputs.0.len() <= INPUTS, "a layer of more than {INPUTS} inputs and parameters");
        inputs.0.resize_with(INPUTS, || x.clone().into_dispatch());
        inputs.0.try_into().unwrap_or_else(|_| unreachable!("they were made as many"))
    }

    /// Normalises each head of queries and of keys, side by side with values in `qkv`, where the layer does so.
    fn with_normalised_heads(&self, qkv: Tensor<2>, architecture: &Architecture) -> Tensor<2> {
        let (Some(query_norm), Some(key_norm)) = (&self.query_norm, &self.key_norm) else {
            return qkv;
        };
        let head = architecture.head_width();
        let qkv = wide(qkv);
        let [n, _] = qkv.dims();
        let mut parts = Vec::new();
        let mut start = 0;
        for (norm, width) in
            [(query_norm, architecture.attention_width()), (key_norm, architecture.key_width())]
        {
            let heads = qkv.clone().narrow(1, start, width).reshape([n * width / head, head]);
            parts.push(norm.alone(heads, architecture.epsilon).reshape([n, width]));
            start += width;
        }
        parts.push(qkv.narrow(1, start, architecture.key_width()));
        Tensor::cat(parts, 1)
    }

    /// Returns the new vectors `[n, d]` of all tokens; `index` is the layer's number, which determines its dropout
    /// sites.
    pub(super) fn forward(&self, x: Tensor<2>, shared: &Shared, index: usize) -> Tensor<2> {
        let Architecture { epsilon, .. } = shared.architecture;
        let input = match &self.attention_norm {
            Some(norm) if shared.architecture.normalises_before() => norm.alone(x.clone(), epsilon),
            _ => x.clone(),
        };
        let context = shared.attend(input, self, index);
        self.after_attention(x, context, shared, index, |masks| masks.lengths)
    }

    /// Returns the new vectors `[texts, d]` of each text's first token: exactly those rows of
    /// [`forward`](Self::forward), except that training drops different units. If only first tokens are
    /// pooled, the last layer needs no more.
    pub(super) fn forward_first(&self, x: Tensor<2>, shared: &Shared, index: usize) -> Tensor<2> {
        let Architecture { precision, .. } = shared.architecture;
        let d = shared.architecture.attention_width();
        let starts = shared.sequences.ranges().map(|rows| rows.start as u32);
        let first = bag(x.clone(), Arc::new(SparseBatch::selection(starts)), None);
        let q = self.qkv.part(first.clone(), 0, d, precision);
        let kv = self.qkv.part(x, d, 3 * d, precision);
        let context = attention_first(q, kv, shared.attention(index, |masks| masks.lengths));
        self.after_attention(first, context, shared, index, |masks| masks.inputs)
    }

    /// Returns the rest of the layer; `preceding` rows of x precede these in the batch.
    fn after_attention(
        &self,
        x: Tensor<2>,
        context: Tensor<2>,
        Shared { architecture, pass, .. }: &Shared,
        index: usize,
        preceding: impl Fn(Masks) -> u32,
    ) -> Tensor<2> {
        let Architecture { epsilon, dropout, width, feed_forward, precision, .. } = *architecture;
        let mask = |place, probability, width| {
            pass.row_dropout(site(index, place), probability, width, &preceding)
        };
        let y = self.output.product(context, precision);
        let attention_mask = mask(1, dropout, width);
        let inner_mask = mask(2, architecture.inner_dropout(), feed_forward);
        let last_mask = mask(3, dropout, width);
        match &self.attention_norm {
            Some(norm) if !architecture.normalises_before() => {
                let x = norm.forward(x, y, self.output.bias(), epsilon, attention_mask);
                let inner = self.inner(x.clone(), architecture, inner_mask);
                let y = self.down.product(inner, precision);
                self.feed_forward_norm.forward(x, y, self.down.bias(), epsilon, last_mask)
            }
            _ => {
                let norm = self.attention_result_norm.as_ref().map(|norm| (norm, epsilon));
                let x = add(x, y, &self.output, norm, attention_mask);
                let input = self.feed_forward_norm.alone(x.clone(), epsilon);
                let inner = self.inner(input, architecture, inner_mask);
                let y = self.down.product(inner, precision);
                let norm = self.feed_forward_result_norm.as_ref().map(|norm| (norm, epsilon));
                add(x, y, &self.down, norm, last_mask)
            }
        }
    }

    /// Returns the inner units of the feed-forward layer.
    fn inner(
        &self,
        x: Tensor<2>,
        architecture: &Architecture,
        dropout: Option<Dropout>,
    ) -> Tensor<2> {
        let Architecture { feed_forward, activation, gated, precision, .. } = *architecture;
        if gated {
            let both = wide(self.up.forward(x, precision));
            let units = activation.apply(both.clone().narrow(1, 0, feed_forward));
            return masked(units * both.narrow(1, feed_forward, feed_forward), dropout);
        }
        if activation == Activation::Gelu {
            let w = self.up.weight.val();
            return linear_gelu(x, w, self.up.bias(), precision, dropout);
        }
        masked(activation.apply(wide(self.up.forward(x, precision))), dropout)
    }

    /// Computes [`forward`](Self::forward), keeps only its input, and computes the layer again in the backward pass
    /// (activation checkpointing; Chen et al. 2016). Dropout repeats itself, since its masks are functions of
    /// the pass's key. `None` outside training.
    pub(super) fn recomputed(
        &self,
        x: &Tensor<2>,
        shared: &Shared,
        index: usize,
    ) -> Option<Tensor<2>> {
        let recomputed = || {
            let rotations = shared.rotations.as_ref();
            let rotations = rotations.map(|rotations| rotations.each(Tensor::inner));
            let relative = shared.relative.clone().map(Relative::inner);
            let shared = Shared { rotations, relative, ..shared.clone() };
            Recomputed { layer: self.valid(), shared, index }
        };
        let inputs = || self.inputs(x.clone(), shared.relative.as_ref());
        x.is_autodiff().then(|| run(recomputed(), inputs()))
    }
}

/// Copies keys and values that several heads of queries share, so that queries, keys and values side by side are
/// `[n, 3 d]`.
fn with_keys_of_each_head(qkv: Tensor<2>, architecture: &Architecture) -> Tensor<2> {
    let key_heads = architecture.key_heads();
    let copies = architecture.heads / key_heads;
    if copies == 1 {
        return qkv;
    }
    let [n, projected] = qkv.dims();
    let attention = architecture.attention_width();
    let queries = qkv.clone().narrow(1, 0, attention);
    let both = qkv.narrow(1, attention, projected - attention);
    let both = both.reshape([n, 2 * key_heads, 1, architecture.head_width()]);
    let both = both.repeat_dim(2, copies).reshape([n, 2 * attention]);
    Tensor::cat(vec![queries, both], 1)
}

/// Returns products as 32-bit numbers: GPUs leave some in 16 bits, in which activations and their factors would be
/// rounded once more.
fn wide(x: Tensor<2>) -> Tensor<2> {
    x.cast(DType::F32)
}

/// Returns the dropout site of a place in a layer; site 0 belongs to the embeddings, and the first one behind all layers to
/// the last normalisation.
pub(super) fn site(layer: usize, place: u64) -> u64 {
    1 + SITES * layer as u64 + place
}

/// Returns the dropout site of the vectors for distances in a layer, behind that of the last normalisation.
fn offset_site(layers: usize, layer: usize) -> u64 {
    site(layers, 1) + layer as u64
}

/// A layer's input, what distances give, and the most parameters.
const INPUTS: usize = 14;

/// [`Layer::forward`] that keeps only its input and computes the layer again in the backward pass.
#[derive(Clone)]
struct Recomputed {
    layer: Layer,
    shared: Shared,
    index: usize,
}

impl<B: Engine> Operation<B, INPUTS> for Recomputed
where
    DispatchTensor: DispatchKindConversion<B>,
{
    /// The layer's input.
    type Saved = FloatTensor<B>;

    fn forward(
        &self,
        [x, ..]: [FloatTensor<B>; INPUTS],
        _: bool,
    ) -> (FloatTensor<B>, FloatTensor<B>) {
        let input = Tensor::from_primitive::<B>(x.clone());
        let y = self.layer.forward(input, &self.shared, self.index);
        (of_backend::<B>(y.into_dispatch()), x)
    }

    fn backward(
        self,
        x: FloatTensor<B>,
        dy: FloatTensor<B>,
        _: [bool; INPUTS],
    ) -> [Option<FloatTensor<B>>; INPUTS] {
        // a separate graph, which ends at new leaves
        let x = Tensor::<2>::from_primitive::<B>(x).autodiff().require_grad();
        let layer = self.layer.clone().train();
        let dy = Tensor::<2>::from_primitive::<B>(dy);
        let rotations = self.shared.rotations.as_ref();
        let rotations = rotations.map(|rotations| rotations.each(Tensor::autodiff));
        let relative = self.shared.relative.clone().map(Relative::leaf);
        let shared = Shared { rotations, relative: relative.clone(), ..self.shared };
        let y = layer.forward(x.clone(), &shared, self.index);
        let mut gradients = (y * dy.autodiff()).sum().backward();
        layer.inputs(x, relative.as_ref()).map(|leaf| {
            // a leaf may have any number of dimensions
            let leaf = Tensor::<1>::from_dispatch(leaf);
            leaf.grad_remove(&mut gradients)
                .map(|gradient| of_backend::<B>(gradient.into_dispatch()))
        })
    }
}
