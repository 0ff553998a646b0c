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

/// Every operation on numbers of 32 bits, which is fused, against the same on those of 64 bits, which is composed: value
/// and gradients, with and without dropout.
#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dsokr_basis::random::generator;

    use super::*;
    use crate::fused::{
        attention, attention_first, bag, linear, linear_gelu, product, residual_norm,
    };
    use crate::{Dropout, Pass, Precision, RowGradient, init};

    fn host<const D: usize>(x: Tensor<D>) -> Vec<f32> {
        x.into_data().convert::<f32>().try_to_vec::<f32>().unwrap()
    }

    fn dropouts() -> [Option<Dropout>; 2] {
        [None, Pass::train(11).dropout(3, 0.25)]
    }

    /// Random leaves of a graph.
    fn leaves<const N: usize, const D: usize>(shapes: [[usize; D]; N]) -> [Tensor<D>; N] {
        let (mut random, device) = (generator(1, "test", D as u64), Device::flex().autodiff());
        shapes.map(|shape| init::normal(shape, 1.0, &mut random, &device).val())
    }

    fn agree<const M: usize, const V: usize>(
        what: &str,
        matrices: [[usize; 2]; M],
        vectors: [usize; V],
        of: impl Fn([Tensor<2>; M], [Tensor<1>; V]) -> Tensor<2>,
    ) {
        let (matrices, vectors) = (leaves(matrices), leaves(vectors.map(|length| [length])));
        // the value, then gradients of `Σ c ∘ y` for a fixed c that is not constant
        let outcome = |dtype: DType| -> Vec<Vec<f32>> {
            fn leaf<const D: usize>(x: &Tensor<D>, dtype: DType) -> Tensor<D> {
                x.clone().inner().cast(dtype).autodiff().require_grad()
            }
            let matrices = matrices.each_ref().map(|x| leaf(x, dtype));
            let vectors = vectors.each_ref().map(|x| leaf(x, dtype));
            let y = of(matrices.clone(), vectors.clone());
            let n: usize = y.dims().iter().product();
            let c: Vec<f32> = (0..n).map(|i| ((i * 7919 % 101) as f32 - 50.0) / 50.0).collect();
            let c = Tensor::<2>::from_data(TensorData::new(c, y.dims()), (&y.device(), dtype));
            let grads = (y.clone() * c).sum().backward();
            let of_matrices = matrices.iter().map(|x| host(x.grad(&grads).unwrap()));
            let of_vectors = vectors.iter().map(|x| host(x.grad(&grads).unwrap()));
            [host(y)].into_iter().chain(of_matrices).chain(of_vectors).collect()
        };
        let outcomes = outcome(DType::F32).into_iter().zip(outcome(DType::F64));
        for (i, (a, b)) in outcomes.enumerate() {
            assert_eq!(a.len(), b.len());
            // the normal distribution is computed to an absolute error
            let largest = b.iter().fold(1.0f32, |m, v| m.max(v.abs()));
            let apart = a.iter().zip(&b).fold(0.0f32, |m, (a, b)| m.max((a - b).abs()));
            assert!(apart < 2e-6 * largest, "{what}, part {i}: {apart}");
        }
    }

    const FULL: Precision = Precision::F32;

    #[test]
    fn linear_operations_agree() {
        for (n, k, m) in [(1, 1, 1), (3, 5, 7), (130, 33, 65)] {
            let shapes = [[n, k], [k, m]];
            agree("product", shapes, [], |[x, w], []| product(x, w, FULL));
            agree("linear", shapes, [m], |[x, w], [b]| linear(x, w, b, FULL));
            for dropout in dropouts() {
                let gelu = |[x, w]: [_; 2], [b]: [_; 1]| linear_gelu(x, w, b, FULL, dropout);
                agree("linear_gelu", shapes, [m], gelu);
            }
        }
    }

    #[test]
    fn residual_norm_agrees() {
        for dropout in dropouts() {
            for (n, d) in [(1, 3), (5, 32), (130, 65)] {
                let norm = |[x, r]: [_; 2], vectors| residual_norm(x, r, vectors, 1e-5, dropout);
                agree("norm", [[n, d]; 2], [d; 3], norm);
            }
        }
    }

    #[test]
    fn attention_agrees() {
        for (dropout, lengths) in dropouts().into_iter().flat_map(|dropout| {
            [vec![1], vec![5, 1, 40, 17], vec![5, 1, 9]].map(|lengths| (dropout, lengths))
        }) {
            let sequences = &Arc::new(Sequences::packed(lengths));
            let (texts, rows) = (sequences.texts(), sequences.rows());
            for (heads, d) in [(1, 4), (3, 24), (4, 64)] {
                let all =
                    |[qkv]: [_; 1], []: [_; 0]| attention(qkv, sequences, heads, FULL, dropout);
                agree("attention", [[rows, 3 * d]], [], all);
                let first = |[q, kv]: [_; 2], []: [_; 0]| {
                    attention_first(q, kv, sequences, heads, FULL, dropout)
                };
                agree("first", [[texts, d], [rows, 2 * d]], [], first);
            }
        }
    }

    #[test]
    fn bag_agrees() {
        // the middle row is empty; an index occurs in two rows
        let batch = Arc::new(SparseBatch {
            starts: vec![0, 3, 3, 5],
            indices: vec![4, 17, 49, 0, 17],
            values: vec![0.5, -1.0, 2.0, 1.5, 0.25],
        });
        agree("bag", [[50, 7]], [], |[table], []| bag(table, batch.clone(), false));
    }

    #[test]
    fn a_gradient_by_rows_is_the_rows_of_the_gradient() {
        let [table] = leaves([[50, 7]]);
        for indices in [vec![4, 17, 49, 0, 17, 3], vec![]] {
            let values = indices.iter().map(|&index| index as f32 - 9.5).collect();
            let starts = vec![0, indices.len() / 2, indices.len()];
            let batch = Arc::new(SparseBatch { starts, indices: indices.clone(), values });
            let gradient = |by_rows| {
                let y = bag(table.clone(), batch.clone(), by_rows);
                let gradient = table.grad(&(y.clone() * y + 1.0).sum().backward()).unwrap();
                RowGradient::split(gradient, &table.clone().inner())
            };
            let ((None, dense), (Some(numbers), rows)) = (gradient(false), gradient(true)) else {
                panic!("only the second gradient is by rows")
            };
            let touched = std::collections::BTreeSet::from_iter(indices);
            assert_eq!(host(numbers), touched.iter().map(|&row| row as f32).collect::<Vec<_>>());
            let (dense, rows) = (host(dense), host(rows));
            let expected = touched.iter().flat_map(|&row| &dense[row as usize * 7..][..7]);
            assert!(rows.iter().eq(expected), "bit for bit");
            assert_eq!(rows.iter().any(|value| *value != 0.0), !touched.is_empty());
        }
    }
}
