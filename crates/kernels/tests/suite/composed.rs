//! The fused operations composed of Burn's own, text by text, in any type of numbers: what tests compare with.

use burn::tensor::{Tensor, TensorData, activation, module};
use dsokr_kernels::{Dropout, Sequences, SparseBatch};

/// Returns `x` times the factors of dropout of the elements from number `first` on.
fn masked(x: Tensor<2>, dropout: Option<Dropout>, first: u32) -> Tensor<2> {
    let Some(mask) = dropout else { return x };
    let factors: Vec<f32> =
        (0..x.dims().iter().product::<usize>() as u32).map(|i| mask.after(first).at(i)).collect();
    let factors = TensorData::new(factors, x.dims());
    let factors = Tensor::<2>::from_data(factors, (&x.device(), x.dtype()));
    x * factors
}

pub fn linear(x: Tensor<2>, w: Tensor<2>, b: Tensor<1>) -> Tensor<2> {
    x.matmul(w) + b.unsqueeze::<2>()
}

pub fn linear_gelu(
    x: Tensor<2>,
    w: Tensor<2>,
    b: Tensor<1>,
    dropout: Option<Dropout>,
) -> Tensor<2> {
    masked(activation::gelu(linear(x, w, b)), dropout, 0)
}

pub fn residual_norm(
    x: Tensor<2>,
    r: Tensor<2>,
    [bias, gamma, beta]: [Tensor<1>; 3],
    epsilon: f64,
    dropout: Option<Dropout>,
) -> Tensor<2> {
    let sum = x + masked(r + bias.unsqueeze::<2>(), dropout, 0);
    module::layer_norm(sum, gamma, Some(beta), epsilon)
}

/// Returns the attention of the queries of each text, `queries(i)`, to its keys and values, side by side in `kv`.
fn attend(
    queries: impl Fn(usize) -> Tensor<2>,
    kv: Tensor<2>,
    sequences: &Sequences,
    heads: usize,
    dropout: Option<Dropout>,
) -> Tensor<2> {
    let d = kv.dims()[1] / 2;
    let width = d / heads;
    let mut number = 0u32;
    let texts = sequences.ranges().enumerate().map(|(text, rows)| {
        let q = queries(text);
        let kv = kv.clone().slice([rows]);
        let heads = (0..heads).map(|head| {
            let part = |x: &Tensor<2>, from: usize| x.clone().narrow(1, from + head * width, width);
            let scores = part(&q, 0).matmul(part(&kv, 0).transpose());
            let p = activation::softmax(scores * (width as f64).sqrt().recip(), 1);
            let first = number;
            number += p.dims().iter().product::<usize>() as u32;
            masked(p, dropout, first).matmul(part(&kv, d))
        });
        Tensor::cat(heads.collect(), 1)
    });
    Tensor::cat(texts.collect(), 0)
}

pub fn attention(
    qkv: Tensor<2>,
    sequences: &Sequences,
    heads: usize,
    dropout: Option<Dropout>,
) -> Tensor<2> {
    let d = qkv.dims()[1] / 3;
    let all: Vec<_> = sequences.ranges().collect();
    let q = qkv.clone().narrow(1, 0, d);
    let queries = |text: usize| q.clone().slice([all[text].clone()]);
    attend(queries, qkv.narrow(1, d, 2 * d), sequences, heads, dropout)
}

pub fn attention_first(
    q: Tensor<2>,
    kv: Tensor<2>,
    sequences: &Sequences,
    heads: usize,
    dropout: Option<Dropout>,
) -> Tensor<2> {
    attend(|text| q.clone().narrow(0, text, 1), kv, sequences, heads, dropout)
}

/// Returns the rows of a table for the places of each text's tokens, from row `first` on.
pub fn places(table: Tensor<2>, sequences: &Sequences, first: usize) -> Tensor<2> {
    let texts = sequences.lengths().map(|length| table.clone().narrow(0, first, length));
    Tensor::cat(texts.collect(), 0)
}

pub fn means(x: Tensor<2>, sequences: &Sequences, texts: usize) -> Tensor<2> {
    let texts = sequences.ranges().take(texts).map(|rows| x.clone().slice([rows]).mean_dim(0));
    Tensor::cat(texts.collect(), 0)
}

pub fn bag(table: Tensor<2>, batch: &SparseBatch) -> Tensor<2> {
    let rows = batch.rows();
    let columns = table.dims()[0];
    let mut weights = vec![0.0f32; rows * columns];
    for row in 0..rows {
        for j in batch.starts[row]..batch.starts[row + 1] {
            weights[row * columns + batch.indices[j] as usize] += batch.values[j];
        }
    }
    let weights = TensorData::new(weights, [rows, columns]);
    Tensor::<2>::from_data(weights, (&table.device(), table.dtype())).matmul(table)
}
