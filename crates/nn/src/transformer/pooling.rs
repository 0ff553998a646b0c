use std::sync::Arc;

use burn::tensor::Tensor;
use dsokr_kernels::{Sequences, SparseBatch, bag, means};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::onnx::{Attribute, Graph, Type, Value};

/// The token vectors of a text that the head reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pooling {
    /// The first token's, `[CLS]`.
    First,
    /// The mean over the text's tokens.
    Mean,
    /// The largest over the text's tokens, coordinate by coordinate.
    Max,
    /// The sum over the text's tokens, divided by the square root of their number.
    MeanSqrtLength,
    /// The mean over the text's tokens with the weights 1, 2, 3, …, as for models that read from left to right
    /// (Muennighoff, SGPT: GPT Sentence Embeddings for Semantic Search, 2022).
    WeightedMean,
    /// The last token's.
    Last,
}

/// What makes one vector of the token vectors of a text: the vectors of one or several kinds of pooling, side by side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Readout {
    /// The kinds of pooling, at least one.
    pub pooling: Vec<Pooling>,
    /// The number of tokens at the start of each text that are not pooled, such as those of a prompt. A text of no
    /// more tokens keeps its last one.
    pub skipped: usize,
}

impl From<Pooling> for Readout {
    fn from(pooling: Pooling) -> Self {
        Self { pooling: vec![pooling], skipped: 0 }
    }
}

impl Readout {
    /// Returns whether it reads nothing but the first token of each text.
    pub(super) fn is_first(&self) -> bool {
        self.pooling == [Pooling::First] && self.skipped == 0
    }

    /// Returns the vectors `[texts, modes · d]` of the first `texts` texts, from those of all tokens `[n, d]`.
    pub(super) fn read(
        &self,
        x: &Tensor<2>,
        sequences: &Arc<Sequences>,
        texts: usize,
    ) -> Tensor<2> {
        let mut parts: Vec<Tensor<2>> =
            self.pooling.iter().map(|&pooling| self.pool(pooling, x, sequences, texts)).collect();
        if parts.len() == 1 { parts.remove(0) } else { Tensor::cat(parts, 1) }
    }

    fn pool(
        &self,
        pooling: Pooling,
        x: &Tensor<2>,
        sequences: &Arc<Sequences>,
        texts: usize,
    ) -> Tensor<2> {
        let x = x.clone();
        // the rows of the tokens that are pooled, and the number of those before them in their text
        let rows = || {
            sequences.ranges().take(texts).map(|text| {
                let skipped = self.skipped.min(text.len() - 1);
                (text.start + skipped..text.end, skipped)
            })
        };
        let weighted = |x: Tensor<2>, weight: &dyn Fn(usize, usize, usize) -> f32| {
            let mut batch = SparseBatch { starts: vec![0], ..SparseBatch::default() };
            for (tokens, skipped) in rows() {
                let count = tokens.len();
                batch.values.extend((0..count).map(|at| weight(at, count, skipped)));
                batch.indices.extend(tokens.map(|row| row as u32));
                batch.starts.push(batch.indices.len());
            }
            bag(x, Arc::new(batch), None)
        };
        let selected = |x: Tensor<2>, rows: &mut dyn Iterator<Item = usize>| {
            bag(x, Arc::new(SparseBatch::selection(rows.map(|row| row as u32))), None)
        };
        match pooling {
            Pooling::First => selected(x, &mut rows().map(|(tokens, _)| tokens.start)),
            Pooling::Last => selected(x, &mut rows().map(|(tokens, _)| tokens.end - 1)),
            Pooling::Mean if self.skipped == 0 => means(x, sequences, texts),
            Pooling::Mean => weighted(x, &|_, count, _| 1.0 / count as f32),
            Pooling::MeanSqrtLength => weighted(x, &|_, count, _| 1.0 / (count as f32).sqrt()),
            Pooling::WeightedMean => weighted(x, &|at, count, skipped| {
                // the sum of the weights skipped + 1, …, skipped + count
                let total = count * skipped + count * (count + 1) / 2;
                (skipped + at + 1) as f32 / total as f32
            }),
            Pooling::Max => {
                let [_, width] = x.dims();
                let stride = sequences.longest();
                // padding repeats the first of the tokens, so the maximum is the same
                let mut padded = rows().flat_map(|(tokens, _)| {
                    (0..stride).map(move |j| tokens.start + if j < tokens.len() { j } else { 0 })
                });
                let x = selected(x, &mut padded).reshape([texts, stride, width]);
                x.max_dim(1).reshape([texts, width])
            }
        }
    }

    /// Computes [`read`](Self::read) as operators of ONNX, from token vectors `[batch, length, d]`; `mask`, floats
    /// `[batch, length]`, is 1 for tokens, which stand before padding.
    pub(super) fn onnx(&self, graph: &mut Graph, x: &Value, mask: &Value) -> Value {
        let along_text = graph.int(1);
        // 1, 2, 3, … for the tokens of each text
        let places = graph.node("CumSum", &[mask, &along_text], &[]);
        let pooled =
            if self.skipped == 0 { mask.clone() } else { self.onnx_pooled(graph, mask, &places) };
        let mut parts = Vec::new();
        for &pooling in &self.pooling {
            parts.push(onnx_pool(graph, pooling, x, mask, &pooled, &places));
        }
        let parts: Vec<&Value> = parts.iter().collect();
        match parts[..] {
            [only] => only.clone(),
            _ => graph.node("Concat", &parts, &[("axis", Attribute::Int(-1))]),
        }
    }
}

impl Readout {
    /// Returns 1 for the tokens behind the skipped ones, of which the last token of a text is none.
    fn onnx_pooled(&self, graph: &mut Graph, mask: &Value, places: &Value) -> Value {
        let along_text = graph.ints(&[1]);
        let each = [("keepdims", Attribute::Int(1))];
        let lengths = graph.node("ReduceSum", &[mask, &along_text], &each);
        let one = graph.floats(&[], &[1.0]);
        let all_but_last = graph.node("Sub", &[&lengths, &one], &[]);
        let skipped = graph.floats(&[], &[self.skipped as f32]);
        let skipped = graph.node("Min", &[&skipped, &all_but_last], &[]);
        let behind = graph.node("Greater", &[places, &skipped], &[]);
        let behind = graph.cast(&behind, Type::Float);
        graph.node("Mul", &[mask, &behind], &[])
    }
}

/// Returns one kind of pooling as operators of ONNX. `pooled` is 1 for the tokens that are pooled, and `places` counts the
/// tokens of a text from 1 on.
fn onnx_pool(
    graph: &mut Graph,
    pooling: Pooling,
    x: &Value,
    mask: &Value,
    pooled: &Value,
    places: &Value,
) -> Value {
    let texts = graph.ints(&[1]);
    let last = graph.ints(&[2]);
    let once = [("keepdims", Attribute::Int(0))];
    let each = [("keepdims", Attribute::Int(1))];
    let weights = match pooling {
        Pooling::Max => {
            let one = graph.floats(&[], &[1.0]);
            let large = graph.floats(&[], &[1e9]);
            let outside = graph.node("Sub", &[pooled, &one], &[]);
            let outside = graph.node("Mul", &[&outside, &large], &[]);
            let outside = graph.node("Unsqueeze", &[&outside, &last], &[]);
            let x = graph.node("Add", &[x, &outside], &[]);
            return graph.node("ReduceMax", &[&x, &texts], &once);
        }
        Pooling::Mean => {
            let count = graph.node("ReduceSum", &[pooled, &texts], &each);
            graph.node("Div", &[pooled, &count], &[])
        }
        Pooling::MeanSqrtLength => {
            let count = graph.node("ReduceSum", &[pooled, &texts], &each);
            let root = graph.node("Sqrt", &[&count], &[]);
            graph.node("Div", &[pooled, &root], &[])
        }
        Pooling::WeightedMean => {
            let weights = graph.node("Mul", &[pooled, places], &[]);
            let total = graph.node("ReduceSum", &[&weights, &texts], &each);
            graph.node("Div", &[&weights, &total], &[])
        }
        Pooling::First | Pooling::Last => {
            // the place of the token: the first that is pooled, or the last of all
            let place = if pooling == Pooling::Last {
                graph.node("ReduceSum", &[mask, &texts], &each)
            } else {
                let all = graph.node("ReduceSum", &[mask, &texts], &each);
                let count = graph.node("ReduceSum", &[pooled, &texts], &each);
                let before = graph.node("Sub", &[&all, &count], &[]);
                let one = graph.floats(&[], &[1.0]);
                graph.node("Add", &[&before, &one], &[])
            };
            let here = graph.node("Equal", &[places, &place], &[]);
            let here = graph.cast(&here, Type::Float);
            graph.node("Mul", &[&here, mask], &[])
        }
    };
    let weights = graph.node("Unsqueeze", &[&weights, &last], &[]);
    let x = graph.node("Mul", &[x, &weights], &[]);
    graph.node("ReduceSum", &[&x, &texts], &once)
}
