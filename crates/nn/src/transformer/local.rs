//! Attention with numbers or products that are added to scores, with scores that are not scaled, and to some tokens of a
//! text only: what the fused operation does not do. Scores of all pairs of tokens of a batch are stored, padded to the longest text.

use std::sync::Arc;

use burn::tensor::activation::softmax;
use burn::tensor::{DType, Device, Tensor, TensorData};
use dsokr_kernels::{Attention, Dropout, Sequences, SparseBatch, bag};
use rayon::prelude::*;

use super::positions::Window;

/// Added to the scores of pairs that do not attend.
const OUTSIDE: f32 = -1e9;

/// What makes scores of the products of queries and keys.
pub(super) struct Scoring {
    /// Whether products are divided by √d_h.
    pub(super) are_scaled: bool,
    /// What is added, `[1, heads, longest, longest]`.
    pub(super) added: Option<Tensor<4>>,
    /// Queries and keys of the distances from −(longest − 1) to longest − 1, each `[2 longest − 1, d]`, whose products with keys
    /// and queries are added before scores are scaled.
    pub(super) offsets: Option<[Tensor<2>; 2]>,
    /// Which tokens a token attends to.
    pub(super) window: Window,
}

/// Returns `softmax(q kᵀ / √d_h + added) v` per head, as [`attention`](dsokr_kernels::attention) of `qkv` `[n, 3 d]`
/// does for scores that are scaled, without `added` and to all tokens. With offsets scores are divided by `√(3 d_h)`, as
/// three products make them.
///
/// Products have 32 bits. Dropout drops the same probabilities as in the fused operation.
pub(super) fn attention(qkv: Tensor<2>, scoring: Scoring, settings: &Attention) -> Tensor<2> {
    let Scoring { are_scaled, added, offsets, window } = scoring;
    let Attention { sequences, heads, dropout, .. } = settings;
    let device = qkv.device();
    let [_, triple] = qkv.dims();
    let width = triple / 3;
    let head = width / heads;
    let texts = sequences.texts();
    let longest = sequences.longest();
    // padding repeats the first token of a text, so that no value is undefined
    let rows = sequences.ranges().flat_map(|text| {
        (0..longest).map(move |at| (text.start + if at < text.len() { at } else { 0 }) as u32)
    });
    let padded = bag(qkv.cast(DType::F32), Arc::new(SparseBatch::selection(rows)), None);
    let [q, k, v] = [0, 1, 2].map(|part| {
        let part = padded.clone().narrow(1, part * width, width);
        part.reshape([texts, longest, *heads, head]).swap_dims(1, 2)
    });
    let mut products = 1;
    let mut scores = q.clone().matmul(k.clone().transpose());
    if let Some([queries, keys]) = offsets {
        products = 3;
        let by_head = |rows: Tensor<2>| {
            let rows = rows.reshape([2 * longest - 1, *heads, head]);
            rows.permute([1, 2, 0]).unsqueeze_dim::<4>(0)
        };
        // from the longest distance on: the one of a query from itself on are those to keys before it
        let to_keys = by_distance(q.matmul(by_head(keys.flip([0]))));
        let to_queries = by_distance(k.matmul(by_head(queries)));
        scores = scores + to_keys + to_queries.transpose();
    }
    if are_scaled {
        scores = scores * (1.0 / ((products * head) as f32).sqrt());
    }
    scores = scores + outside_texts(sequences, &device);
    if let Some(added) = added {
        scores = scores + added;
    }
    if !window.is_whole(longest) {
        scores = scores + outside_window(longest, window, &device);
    }
    let mut probabilities = softmax(scores, 3);
    if let Some(dropout) = dropout {
        probabilities = probabilities * kept(sequences, *heads, *dropout, &device);
    }
    let context = probabilities.matmul(v).swap_dims(1, 2).reshape([texts * longest, width]);
    let tokens = sequences.lengths().enumerate();
    let tokens =
        tokens.flat_map(|(text, length)| (0..length).map(move |at| (text * longest + at) as u32));
    bag(context, Arc::new(SparseBatch::selection(tokens)), None)
}

/// Returns the products of tokens i and j at the distance j − i, `[texts, heads, longest, longest]`, of the products of
/// tokens with all distances from −(longest − 1) to longest − 1, `[texts, heads, longest, 2 longest − 1]`.
fn by_distance(products: Tensor<4>) -> Tensor<4> {
    let [texts, heads, longest, distances] = products.dims();
    // with one more column, the products of the next token begin one column earlier in each row
    let column = Tensor::zeros([texts, heads, longest, 1], &products.device());
    let flat = Tensor::cat(vec![products, column], 3);
    let flat = flat.reshape([texts, heads, longest * (distances + 1)]);
    let flat = flat.narrow(2, longest - 1, longest * distances);
    flat.reshape([texts, heads, longest, distances]).narrow(3, 0, longest)
}

/// Returns `[texts, 1, 1, longest]`: 0 for the tokens of a text.
fn outside_texts(sequences: &Sequences, device: &Device) -> Tensor<4> {
    let longest = sequences.longest();
    let values: Vec<f32> = sequences
        .lengths()
        .flat_map(|length| (0..longest).map(move |at| if at < length { 0.0 } else { OUTSIDE }))
        .collect();
    Tensor::from_data(TensorData::new(values, [sequences.texts(), 1, 1, longest]), device)
}

/// Returns `[1, 1, longest, longest]`: 0 for queries and keys in their window.
fn outside_window(longest: usize, window: Window, device: &Device) -> Tensor<4> {
    let outside =
        |query: usize, key: usize| if window.contains(query, key) { 0.0 } else { OUTSIDE };
    let values: Vec<f32> =
        (0..longest).flat_map(|query| (0..longest).map(move |key| outside(query, key))).collect();
    Tensor::from_data(TensorData::new(values, [1, 1, longest, longest]), device)
}

/// Returns the factor of each probability `[texts, heads, longest, longest]`. Those of a text are numbered as if there
/// were no padding, as the fused operation numbers them.
fn kept(sequences: &Sequences, heads: usize, dropout: Dropout, device: &Device) -> Tensor<4> {
    let longest = sequences.longest();
    let mut values = vec![0.0f32; sequences.texts() * heads * longest * longest];
    let mut first = 0u32;
    let mut blocks = Vec::new();
    for length in sequences.lengths() {
        for _ in 0..heads {
            blocks.push((length, dropout.after(first)));
            first = first.wrapping_add((length * length) as u32);
        }
    }
    values.par_chunks_mut(longest * longest).zip(blocks).for_each(|(block, (length, dropout))| {
        for query in 0..length {
            for key in 0..length {
                block[query * longest + key] = dropout.at((query * length + key) as u32);
            }
        }
    });
    let shape = [sequences.texts(), heads, longest, longest];
    Tensor::from_data(TensorData::new(values, shape), device)
}
