use std::sync::Arc;

use burn::backend::tensor::FloatTensor;
use burn::backend::{DispatchKindConversion, DispatchTensor};
use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, Tensor};
use dsokr_kernels::{
    Attention, Dropout, Engine, Operation, Precision, Sequences, SparseBatch, attention,
    attention_first, bag, linear, linear_gelu, masked, of_backend, residual_norm, run,
};
use rand::Rng;

use super::Architecture;
use super::activation::Activation;
use crate::init;
use crate::onnx::{Attribute, Graph, Value};
use crate::pass::{Masks, Pass};

/// `x w + b`.
#[derive(Module, Debug)]
pub(super) struct Affine {
    weight: Param<Tensor<2>>,
    bias: Param<Tensor<1>>,
}

impl Affine {
    /// PyTorch's default: weight and bias uniform on ±1/√inputs.
    fn init(inputs: usize, outputs: usize, generator: &mut impl Rng, device: &Device) -> Self {
        let bound = 1.0 / (inputs as f32).sqrt();
        Self {
            weight: init::uniform([inputs, outputs], bound, generator, device),
            bias: init::uniform([outputs], bound, generator, device),
        }
    }

    /// `x w`; the next operation adds the bias.
    fn product(&self, x: Tensor<2>, precision: Precision) -> Tensor<2> {
        dsokr_kernels::product(x, self.weight.val(), precision)
    }

    /// Computes `x w + b`.
    fn forward(&self, x: Tensor<2>, precision: Precision) -> Tensor<2> {
        linear(x, self.weight.val(), self.bias.val(), precision)
    }

    /// [`forward`](Self::forward) for only the outputs `from..to`.
    fn part(&self, x: Tensor<2>, from: usize, to: usize, precision: Precision) -> Tensor<2> {
        let weight = self.weight.val();
        let inputs = weight.dims()[0];
        let bias = self.bias.val().narrow(0, from, to - from);
        linear(x, weight.slice([0..inputs, from..to]), bias, precision)
    }

    fn onnx(&self, graph: &mut Graph, x: &Value) -> Value {
        graph.linear(x, &self.weight, Some(&self.bias))
    }
}

/// Layer normalisation of token vectors: `standardised ∘ gamma + beta`.
#[derive(Module, Debug)]
pub(super) struct Norm {
    gamma: Param<Tensor<1>>,
    beta: Param<Tensor<1>>,
}

impl Norm {
    pub(super) fn init(d: usize, device: &Device) -> Self {
        Self { gamma: init::constant([d], 1.0, device), beta: init::constant([d], 0.0, device) }
    }

    /// Computes `norm(x + dropout(r + bias))`.
    pub(super) fn forward(
        &self,
        x: Tensor<2>,
        r: Tensor<2>,
        bias: Tensor<1>,
        epsilon: f64,
        dropout: Option<Dropout>,
    ) -> Tensor<2> {
        residual_norm(x, r, [bias, self.gamma.val(), self.beta.val()], epsilon, dropout)
    }

    /// Computes `norm(x + r)`, as operators of ONNX.
    pub(super) fn onnx(&self, graph: &mut Graph, x: &Value, r: &Value, epsilon: f64) -> Value {
        let sum = graph.node("Add", &[x, r], &[]);
        let gamma = graph.parameter(&self.gamma);
        let beta = graph.parameter(&self.beta);
        let attributes = [("epsilon", Attribute::Float(epsilon as f32))];
        graph.node("LayerNormalization", &[&sum, &gamma, &beta], &attributes)
    }
}

/// Attention and a feed-forward layer, each followed by a residual path and normalisation:
/// `x ← norm(x + attention(x))`, `x ← norm(x + down(gelu(up(x))))`.
#[derive(Module, Debug)]
pub(super) struct Layer {
    /// Queries, keys and values side by side: one product instead of three.
    qkv: Affine,
    output: Affine,
    attention_norm: Norm,
    up: Affine,
    down: Affine,
    feed_forward_norm: Norm,
}

/// Dropout sites of one layer.
const SITES: u64 = 4;

/// The arguments that all layers share.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) architecture: Architecture,
    pub(super) sequences: Arc<Sequences>,
    pub(super) pass: Pass,
}

impl Shared {
    /// Returns the attention of a layer; `preceding` rows of probabilities precede these in the batch.
    fn attention(&self, index: usize, preceding: impl Fn(Masks) -> u32) -> Attention {
        let Architecture { heads, attention_dropout, precision, .. } = self.architecture;
        let dropout = self.pass.row_dropout(site(index, 0), attention_dropout, heads, preceding);
        Attention { sequences: self.sequences.clone(), heads, dropout, precision }
    }
}

impl Layer {
    pub(super) fn init(
        architecture: &Architecture,
        generator: &mut impl Rng,
        device: &Device,
    ) -> Self {
        let d = architecture.width;
        let ff = architecture.feed_forward;
        Self {
            qkv: Affine::init(d, 3 * d, generator, device),
            output: Affine::init(d, d, generator, device),
            attention_norm: Norm::init(d, device),
            up: Affine::init(d, ff, generator, device),
            down: Affine::init(ff, d, generator, device),
            feed_forward_norm: Norm::init(d, device),
        }
    }

    /// Returns the layer's input and its parameters.
    fn inputs(&self, x: Tensor<2>) -> [DispatchTensor; INPUTS] {
        struct Inputs(Vec<DispatchTensor>);

        impl ModuleVisitor for Inputs {
            fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
                self.0.push(param.val().into_dispatch());
            }
        }

        let mut inputs = Inputs(vec![x.into_dispatch()]);
        self.visit(&mut inputs);
        inputs.0.try_into().unwrap_or_else(|_| unreachable!("a layer has twelve parameters"))
    }

    /// New vectors `[n, d]` of all tokens; `index` is the layer's number, which determines its dropout
    /// sites.
    pub(super) fn forward(&self, x: Tensor<2>, shared: &Shared, index: usize) -> Tensor<2> {
        let qkv = self.qkv.forward(x.clone(), shared.architecture.precision);
        let context = attention(qkv, shared.attention(index, |masks| masks.squares));
        self.after_attention(x, context, shared, index, |masks| masks.lengths)
    }

    /// New vectors `[texts, d]` of each text's first token: exactly those rows of
    /// [`forward`](Self::forward), except that training drops different units. If only first tokens are
    /// pooled, the last layer needs no more.
    pub(super) fn forward_first(&self, x: Tensor<2>, shared: &Shared, index: usize) -> Tensor<2> {
        let Architecture { width: d, precision, .. } = shared.architecture;
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
        let Architecture {
            epsilon,
            dropout,
            inner_dropout,
            width,
            feed_forward,
            activation,
            precision,
            ..
        } = *architecture;
        let mask = |place, probability, width| {
            pass.row_dropout(site(index, place), probability, width, &preceding)
        };
        let y = self.output.product(context, precision);
        let bias = self.output.bias.val();
        let x = self.attention_norm.forward(x, y, bias, epsilon, mask(1, dropout, width));
        let w = self.up.weight.val();
        let b = self.up.bias.val();
        let inner_mask = mask(2, inner_dropout, feed_forward);
        let inner = if activation == Activation::Gelu {
            linear_gelu(x.clone(), w, b, precision, inner_mask)
        } else {
            masked(activation.apply(linear(x.clone(), w, b, precision)), inner_mask)
        };
        let y = self.down.product(inner, precision);
        let bias = self.down.bias.val();
        self.feed_forward_norm.forward(x, y, bias, epsilon, mask(3, dropout, width))
    }

    /// [`forward`](Self::forward) in evaluation, as operators of ONNX, on vectors `[batch, length, d]`. `outside`, of
    /// shape `[batch, 1, 1, length]`, is a large negative number at padding.
    pub(super) fn onnx(
        &self,
        graph: &mut Graph,
        x: &Value,
        outside: &Value,
        architecture: &Architecture,
    ) -> Value {
        let Architecture { width, heads, epsilon, .. } = *architecture;
        let head = width / heads;
        let qkv = self.qkv.onnx(graph, x);
        let shape = graph.ints(&[0, 0, 3, heads as i64, head as i64]);
        let qkv = graph.node("Reshape", &[&qkv, &shape], &[]);
        // queries and values `[batch, heads, length, d_h]`, keys `[batch, heads, d_h, length]`
        let orders = [[0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]];
        let [q, k, v] = [0, 1, 2].map(|which| {
            let index = graph.int(which);
            let part = graph.node("Gather", &[&qkv, &index], &[("axis", Attribute::Int(2))]);
            let order = Attribute::Ints(&orders[which as usize]);
            graph.node("Transpose", &[&part], &[("perm", order)])
        });
        let scale = graph.floats(&[], &[1.0 / (head as f32).sqrt()]);
        let scores = graph.node("MatMul", &[&q, &k], &[]);
        let scores = graph.node("Mul", &[&scores, &scale], &[]);
        let scores = graph.node("Add", &[&scores, outside], &[]);
        let probabilities = graph.node("Softmax", &[&scores], &[("axis", Attribute::Int(-1))]);
        let context = graph.node("MatMul", &[&probabilities, &v], &[]);
        let order = Attribute::Ints(&[0, 2, 1, 3]);
        let context = graph.node("Transpose", &[&context], &[("perm", order)]);
        let shape = graph.ints(&[0, 0, width as i64]);
        let context = graph.node("Reshape", &[&context, &shape], &[]);
        let y = self.output.onnx(graph, &context);
        let x = self.attention_norm.onnx(graph, x, &y, epsilon);
        let inner = self.up.onnx(graph, &x);
        let inner = architecture.activation.onnx(graph, &inner);
        let y = self.down.onnx(graph, &inner);
        self.feed_forward_norm.onnx(graph, &x, &y, epsilon)
    }

    /// [`forward`](Self::forward) that keeps only its input and computes the layer again in the backward pass
    /// (activation checkpointing; Chen et al. 2016). Dropout repeats itself, since its masks are functions of
    /// the pass's key. `None` outside training.
    pub(super) fn recomputed(
        &self,
        x: &Tensor<2>,
        shared: &Shared,
        index: usize,
    ) -> Option<Tensor<2>> {
        let recomputed = || Recomputed { layer: self.valid(), shared: shared.clone(), index };
        x.is_autodiff().then(|| run(recomputed(), self.inputs(x.clone())))
    }
}

/// Returns the dropout site of a place in a layer; site 0 belongs to the embeddings.
fn site(layer: usize, place: u64) -> u64 {
    1 + SITES * layer as u64 + place
}

/// A layer's input and its parameters.
const INPUTS: usize = 13;

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
        let y = layer.forward(x.clone(), &self.shared, self.index);
        let mut gradients = (y * dy.autodiff()).sum().backward();
        layer.inputs(x).map(|leaf| {
            // of any number of dimensions
            let leaf = Tensor::<1>::from_dispatch(leaf);
            leaf.grad_remove(&mut gradients)
                .map(|gradient| of_backend::<B>(gradient.into_dispatch()))
        })
    }
}
