//! The same operations composed of Burn's, for devices other than the CPU engine. The fused operations are
//! tested against them.

use burn::tensor::{DType, Device, IndexingUpdateOp, Int, Tensor, TensorData, activation, module};

use super::bag::SparseBatch;
use super::heads::Setting;
use super::sequences::Sequences;
use crate::pass::masked;
use crate::{Dropout, Precision};

pub fn linear(x: Tensor<2>, w: Tensor<2>, b: Tensor<1>, precision: Precision) -> Tensor<2> {
    let [x, w] = [x, w].map(|x| precision.to_compute(x));
    x.matmul(w) + precision.to_compute(b).unsqueeze::<2>()
}

pub fn product(x: Tensor<2>, w: Tensor<2>, precision: Precision) -> Tensor<2> {
    let [x, w] = [x, w].map(|x| precision.to_compute(x));
    precision.to_f32(x.matmul(w))
}

pub fn linear_gelu(
    x: Tensor<2>,
    w: Tensor<2>,
    b: Tensor<1>,
    precision: Precision,
    dropout: Option<Dropout>,
) -> Tensor<2> {
    let input = precision.to_f32(linear(x, w, b, precision));
    masked(activation::gelu(input), dropout)
}

pub fn residual_norm(
    x: Tensor<2>,
    r: Tensor<2>,
    [bias, gamma, beta]: [Tensor<1>; 3],
    epsilon: f64,
    dropout: Option<Dropout>,
) -> Tensor<2> {
    module::layer_norm(x + masked(r + bias.unsqueeze::<2>(), dropout), gamma, Some(beta), epsilon)
}

pub fn bag(table: Tensor<2>, batch: &SparseBatch) -> Tensor<2> {
    let device = table.device();
    let width = table.dims()[1];
    let rows = batch.starts.windows(2).enumerate();
    let rows: Vec<i32> = rows.flat_map(|(i, w)| vec![i as i32; w[1] - w[0]]).collect();
    let zeros = Tensor::<2>::zeros([batch.rows(), width], &device);
    if rows.is_empty() {
        return zeros;
    }
    let ids: Vec<i32> = batch.indices.iter().map(|&i| i as i32).collect();
    let weights = TensorData::new(batch.values.clone(), [batch.values.len(), 1]);
    let entries = table.select(0, integers(ids, &device)) * Tensor::from_data(weights, &device);
    zeros.select_assign(0, integers(rows, &device), entries, IndexingUpdateOp::Add)
}

pub fn attention(qkv: Tensor<2>, setting: &Setting, stride: usize) -> Tensor<2> {
    let (texts, d, device) = (setting.sequences.texts(), qkv.dims()[1] / 3, qkv.device());
    let [q, k, v] = padded(qkv, setting, stride);
    let result = attend(q, k, v, &setting.sequences, setting.dropout, false);
    let result = result.swap_dims(1, 2).reshape([texts * stride, d]);
    let places = setting.sequences.lengths().enumerate();
    let places = places.flat_map(|(i, n)| (i * stride..i * stride + n).map(|place| place as i32));
    result.select(0, integers(places.collect(), &device))
}

pub fn attention_first(q: Tensor<2>, kv: Tensor<2>, setting: &Setting, stride: usize) -> Tensor<2> {
    let ([texts, d], heads) = (q.dims(), setting.heads);
    let [k, v] = padded(kv, setting, stride);
    let q = q.reshape([texts, heads, 1, d / heads]);
    attend(q, k, v, &setting.sequences, setting.dropout, true).reshape([texts, d])
}

/// The parts of token vectors that lie side by side, `[texts, heads, stride, d_h]` each.
fn padded<const PARTS: usize>(
    x: Tensor<2>,
    Setting { sequences, heads, .. }: &Setting,
    stride: usize,
) -> [Tensor<4>; PARTS] {
    let (texts, width, device) = (sequences.texts(), x.dims()[1], x.device());
    let d = width / PARTS;
    let padded = x.select(0, integers(padded_rows(sequences, stride), &device));
    let padded = padded.reshape([texts, stride, width]);
    std::array::from_fn(|i| {
        let part = padded.clone().slice([0..texts, 0..stride, i * d..(i + 1) * d]);
        part.reshape([texts, stride, *heads, d / heads]).swap_dims(1, 2)
    })
}

/// `softmax(q kᵀ / √d_h) v` for `[texts, heads, queries, d_h]` and `[texts, heads, stride, d_h]`,
/// where keys beyond a text's length are ignored.
fn attend(
    q: Tensor<4>,
    k: Tensor<4>,
    v: Tensor<4>,
    sequences: &Sequences,
    dropout: Option<Dropout>,
    one_query: bool,
) -> Tensor<4> {
    let [texts, heads, queries, width] = q.dims();
    let stride = k.dims()[2];
    let device = q.device();
    let scale = (width as f64).sqrt().recip();
    let narrow = v.dtype();
    let scores = q.matmul(k.swap_dims(2, 3)).cast(DType::F32);
    let mut scores = scores * scale;
    if sequences.lengths().any(|length| length < stride) {
        let lengths = sequences.lengths();
        let beyond: Vec<f32> = lengths
            .flat_map(|length| (0..stride).map(move |j| if j < length { 0.0 } else { -1e9 }))
            .collect();
        let beyond = TensorData::new(beyond, [texts, 1, 1, stride]);
        scores = scores + Tensor::<4>::from_data(beyond, &device);
    }
    let mut probabilities = activation::softmax(scores, 3);
    if let Some(dropout) = dropout {
        let elements = numbers(sequences, [texts, heads, queries, stride], one_query, &device);
        let shape = elements.shape();
        let factors = dropout.factors(elements.flatten::<1>(0, 3)).reshape(shape);
        probabilities = probabilities * factors;
    }
    probabilities.cast(narrow).matmul(v)
}

/// The number of each probability among all, counted as in the fused operation: text by text, head by
/// head, row by row and without padding.
fn numbers(
    sequences: &Sequences,
    [texts, heads, queries, stride]: [usize; 4],
    one_query: bool,
    device: &Device,
) -> Tensor<4, Int> {
    let mut before = 0u32;
    let (mut starts, mut widths, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
    for length in sequences.lengths() {
        let size = if one_query { length } else { length * length } as u32;
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

/// The source row of each row of a batch in which every text has `stride` rows; padding repeats the text's
/// first row.
pub fn padded_rows(sequences: &Sequences, stride: usize) -> Vec<i32> {
    let ranges = sequences.ranges();
    let text = |range: std::ops::Range<usize>| {
        (0..stride)
            .map(move |j| (if j < range.len() { range.start + j } else { range.start }) as i32)
    };
    ranges.flat_map(text).collect()
}

/// 32-bit integers on a device, whatever its default.
pub fn integers(values: Vec<i32>, device: &Device) -> Tensor<1, Int> {
    let length = values.len();
    Tensor::from_data(TensorData::new(values, [length]), (device, DType::I32))
}
