//! Attention and sums of table rows composed of Burn's operations, for devices other than the CPU engine.

use std::ops::Range;

use burn::tensor::{DType, Device, IndexingUpdateOp, Int, Tensor, TensorData, activation};

use super::attention::{Attention, Sequences};
use super::bag::SparseBatch;

pub fn bag(table: Tensor<2>, batch: &SparseBatch) -> Tensor<2> {
    let (device, dtype) = (table.device(), table.dtype());
    let rows = batch.starts.windows(2).enumerate();
    let rows: Vec<i32> = rows.flat_map(|(i, w)| vec![i as i32; w[1] - w[0]]).collect();
    let zeros = Tensor::<2>::zeros([batch.rows(), table.dims()[1]], (&device, dtype));
    if rows.is_empty() {
        return zeros;
    }
    let ids: Vec<i32> = batch.indices.iter().map(|&i| i as i32).collect();
    let weights = TensorData::new(batch.values.clone(), [batch.values.len(), 1]);
    let weights = Tensor::from_data(weights, (&device, dtype));
    let entries = table.select(0, integers(ids, &device)) * weights;
    zeros.select_assign(0, integers(rows, &device), entries, IndexingUpdateOp::Add)
}

pub fn attention(qkv: Tensor<2>, own: &Attention) -> Tensor<2> {
    let (texts, stride) = (own.sequences.texts(), own.sequences.longest());
    let (d, device) = (qkv.dims()[1] / 3, qkv.device());
    let [q, k, v] = padded(qkv, own);
    let result = attend(q, k, v, own).swap_dims(1, 2).reshape([texts * stride, d]);
    let places = own.sequences.lengths().enumerate();
    let places = places.flat_map(|(i, n)| (i * stride..i * stride + n).map(|place| place as i32));
    result.select(0, integers(places.collect(), &device))
}

pub fn attention_first(q: Tensor<2>, kv: Tensor<2>, own: &Attention) -> Tensor<2> {
    let ([texts, d], heads) = (q.dims(), own.heads);
    let [k, v] = padded(kv, own);
    attend(q.reshape([texts, heads, 1, d / heads]), k, v, own).reshape([texts, d])
}

/// The parts of token vectors that lie side by side, `[texts, heads, stride, d_h]` each.
fn padded<const PARTS: usize>(x: Tensor<2>, own: &Attention) -> [Tensor<4>; PARTS] {
    let Attention { sequences, heads, .. } = own;
    let (texts, stride) = (sequences.texts(), sequences.longest());
    let (width, device) = (x.dims()[1], x.device());
    let d = width / PARTS;
    let padded = x.select(0, integers(padded_rows(sequences), &device));
    let padded = padded.reshape([texts, stride, width]);
    std::array::from_fn(|i| {
        let part = padded.clone().slice([0..texts, 0..stride, i * d..(i + 1) * d]);
        part.reshape([texts, stride, *heads, d / heads]).swap_dims(1, 2)
    })
}

/// `softmax(q kᵀ / √d_h) v` for `[texts, heads, queries, d_h]` and `[texts, heads, stride, d_h]`,
/// where keys beyond a text's length are ignored.
fn attend(q: Tensor<4>, k: Tensor<4>, v: Tensor<4>, own: &Attention) -> Tensor<4> {
    let [texts, heads, queries, width] = q.dims();
    let (stride, device, narrow) = (k.dims()[2], q.device(), v.dtype());
    let scores = q.matmul(k.swap_dims(2, 3)).cast(DType::F32);
    let mut scores = scores * (width as f64).sqrt().recip();
    let lengths = own.sequences.lengths();
    if lengths.clone().any(|length| length < stride) {
        let beyond: Vec<f32> = lengths
            .flat_map(|length| (0..stride).map(move |j| if j < length { 0.0 } else { -1e9 }))
            .collect();
        let beyond = TensorData::new(beyond, [texts, 1, 1, stride]);
        scores = scores + Tensor::<4>::from_data(beyond, &device);
    }
    let mut probabilities = activation::softmax(scores, 3);
    if let Some(dropout) = own.dropout {
        let elements = numbers(&own.sequences, [texts, heads, queries, stride], &device);
        let shape = elements.shape();
        let factors = dropout.factors(elements.flatten::<1>(0, 3)).reshape(shape);
        probabilities = probabilities * factors;
    }
    probabilities.cast(narrow).matmul(v)
}

/// The number of each probability among all, counted as in the fused operation: text by text, head by
/// head, row by row and without padding. Of one query a text has one row.
fn numbers(
    sequences: &Sequences,
    [texts, heads, queries, stride]: [usize; 4],
    device: &Device,
) -> Tensor<4, Int> {
    let mut before = 0u32;
    let (mut starts, mut widths, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
    for length in sequences.lengths() {
        let size = (length * length.min(queries)) as u32;
        starts.push(before as i32);
        widths.push(length as i32);
        sizes.push(size as i32);
        before = before.wrapping_add(size.wrapping_mul(heads as u32));
    }
    let column = |values: Vec<i32>| integers(values, device).reshape([texts, 1, 1, 1]);
    let count = |n: usize| integers((0..n as i32).collect(), device);
    column(starts)
        + column(sizes) * count(heads).reshape([1, heads, 1, 1])
        + column(widths) * count(queries).reshape([1, 1, queries, 1])
        + count(stride).reshape([1, 1, 1, stride])
}

/// The source row of each row of a batch in which every text has the length of the longest; padding repeats the
/// text's first row.
pub fn padded_rows(sequences: &Sequences) -> Vec<i32> {
    let stride = sequences.longest();
    let row = |rows: &Range<usize>, j| rows.start + if j < rows.len() { j } else { 0 };
    let text = |rows: Range<usize>| (0..stride).map(move |j| row(&rows, j) as i32);
    sequences.ranges().flat_map(text).collect()
}

/// 32-bit integers on a device, whatever its default.
pub fn integers(values: Vec<i32>, device: &Device) -> Tensor<1, Int> {
    let length = values.len();
    Tensor::from_data(TensorData::new(values, [length]), (device, DType::I32))
}
