//! The same operations composed of Burn's, for devices other than the CPU engine. The fused operations are
//! tested against them.

use burn::tensor::{DType, Device, IndexingUpdateOp, Int, Tensor, TensorData, activation, module};

use super::attention::{Attention, Sequences};
use super::bag::SparseBatch;
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

pub fn attention(qkv: Tensor<2>, setting: &Attention, stride: usize) -> Tensor<2> {
    let (texts, d, device) = (setting.sequences.texts(), qkv.dims()[1] / 3, qkv.device());
    let [q, k, v] = padded(qkv, setting, stride);
    let result = attend(q, k, v, &setting.sequences, setting.dropout, false);
    let result = result.swap_dims(1, 2).reshape([texts * stride, d]);
    let places = setting.sequences.lengths().enumerate();
    let places = places.flat_map(|(i, n)| (i * stride..i * stride + n).map(|place| place as i32));
    result.select(0, integers(places.collect(), &device))
}

pub fn attention_first(
    q: Tensor<2>,
    kv: Tensor<2>,
    setting: &Attention,
    stride: usize,
) -> Tensor<2> {
    let ([texts, d], heads) = (q.dims(), setting.heads);
    let [k, v] = padded(kv, setting, stride);
    let q = q.reshape([texts, heads, 1, d / heads]);
    attend(q, k, v, &setting.sequences, setting.dropout, true).reshape([texts, d])
}

/// The parts of token vectors that lie side by side, `[texts, heads, stride, d_h]` each.
fn padded<const PARTS: usize>(
    x: Tensor<2>,
    Attention { sequences, heads, .. }: &Attention,
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

/// Every fused operation against the composition of Burn's own: value and gradients, with and without dropout.
#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dsokr_basis::random::generator;

    use super::*;
    use crate::fused;
    use crate::{Pass, RowGradient, init};

    fn host<const D: usize>(x: Tensor<D>) -> Vec<f32> {
        x.into_data().try_to_vec::<f32>().unwrap()
    }

    fn dropouts() -> [Option<Dropout>; 2] {
        [None, Pass::train(11).dropout(3, 0.25)]
    }

    /// Random matrices and vectors.
    struct Inputs<const M: usize, const V: usize>([Tensor<2>; M], [Tensor<1>; V]);

    fn inputs<const M: usize, const V: usize>(
        matrices: [[usize; 2]; M],
        vectors: [usize; V],
    ) -> Inputs<M, V> {
        let (mut random, device) = (generator(1, "test", 0), Device::flex().autodiff());
        let matrices = matrices.map(|shape| init::normal(shape, 1.0, &mut random, &device).val());
        let vector = |length| init::normal([length], 1.0, &mut random, &device).val();
        Inputs(matrices, vectors.map(vector))
    }

    impl<const M: usize, const V: usize> Inputs<M, V> {
        /// The value of an operation, then gradients of `Σ c ∘ y` for a fixed c that is not constant.
        fn outcome(
            &self,
            of: impl Fn([Tensor<2>; M], [Tensor<1>; V]) -> Tensor<2>,
        ) -> Vec<Vec<f32>> {
            let Self(matrices, vectors) = self;
            let y = of(matrices.clone(), vectors.clone());
            let n: usize = y.dims().iter().product();
            let weights: Vec<f32> =
                (0..n).map(|i| ((i * 7919 % 101) as f32 - 50.0) / 50.0).collect();
            let weights = Tensor::<2>::from_data(TensorData::new(weights, y.dims()), &y.device());
            let value = host(y.clone());
            let grads = (y * weights).sum().backward();
            let of_matrices = matrices.iter().map(|x| host(x.grad(&grads).unwrap()));
            let of_vectors = vectors.iter().map(|x| host(x.grad(&grads).unwrap()));
            [value].into_iter().chain(of_matrices).chain(of_vectors).collect()
        }

        /// Checks that two operations agree, relatively to the largest value, or to 1 where all are smaller: the
        /// normal distribution is computed to an absolute error.
        fn agree(
            &self,
            what: &str,
            fused: impl Fn([Tensor<2>; M], [Tensor<1>; V]) -> Tensor<2>,
            composed: impl Fn([Tensor<2>; M], [Tensor<1>; V]) -> Tensor<2>,
        ) {
            let outcomes = self.outcome(fused).into_iter().zip(self.outcome(composed));
            for (i, (a, b)) in outcomes.enumerate() {
                assert_eq!(a.len(), b.len());
                let largest = b.iter().fold(1.0f32, |m, v| m.max(v.abs()));
                let apart = a.iter().zip(b).fold(0.0f32, |m, (a, b)| m.max((a - b).abs()));
                assert!(apart < 2e-6 * largest, "{what}, part {i}: {apart}");
            }
        }
    }

    const FULL: Precision = Precision::F32;

    #[test]
    fn linear_operations_agree() {
        for (n, k, m) in [(1, 1, 1), (3, 5, 7), (130, 33, 65)] {
            inputs([[n, k], [k, m]], []).agree(
                "product",
                |[x, w], []| fused::product(x, w, FULL),
                |[x, w], []| product(x, w, FULL),
            );
            let inputs = inputs([[n, k], [k, m]], [m]);
            inputs.agree(
                "linear",
                |[x, w], [b]| fused::linear(x, w, b, FULL),
                |[x, w], [b]| linear(x, w, b, FULL),
            );
            for dropout in dropouts() {
                inputs.agree(
                    "linear_gelu",
                    |[x, w], [b]| fused::linear_gelu(x, w, b, FULL, dropout),
                    |[x, w], [b]| linear_gelu(x, w, b, FULL, dropout),
                );
            }
        }
    }

    #[test]
    fn residual_norm_agrees() {
        for dropout in dropouts() {
            for (n, d) in [(1, 3), (5, 32), (130, 65)] {
                inputs([[n, d]; 2], [d; 3]).agree(
                    "norm",
                    |[x, r], vectors| fused::residual_norm(x, r, vectors, 1e-5, dropout),
                    |[x, r], vectors| residual_norm(x, r, vectors, 1e-5, dropout),
                );
            }
        }
    }

    #[test]
    fn attention_agrees_whatever_the_padding() {
        for (dropout, lengths) in dropouts().into_iter().flat_map(|dropout| {
            [vec![1], vec![5, 1, 40, 17], vec![5, 1, 9]].map(|lengths| (dropout, lengths))
        }) {
            let sequences = Arc::new(Sequences::packed(lengths));
            let setting =
                |heads| Attention { sequences: sequences.clone(), heads, dropout, precision: FULL };
            for (heads, d) in [(1, 4), (3, 24), (4, 64)] {
                let inputs = inputs([[sequences.rows(), 3 * d]], []);
                for stride in [sequences.longest(), 64, 256] {
                    inputs.agree(
                        "attention",
                        |[qkv], []| fused::attention(qkv, &sequences, heads, FULL, dropout),
                        |[qkv], []| attention(qkv, &setting(heads), stride),
                    );
                }
            }
            inputs([[sequences.texts(), 24], [sequences.rows(), 48]], []).agree(
                "first",
                |[q, kv], []| fused::attention_first(q, kv, &sequences, 3, FULL, dropout),
                |[q, kv], []| attention_first(q, kv, &setting(3), 48),
            );
        }
    }

    #[test]
    fn bag_agrees() {
        // the middle row is empty; an index occurs in two rows
        let batch = SparseBatch {
            starts: vec![0, 3, 3, 5],
            indices: vec![4, 17, 49, 0, 17],
            values: vec![0.5, -1.0, 2.0, 1.5, 0.25],
        };
        let batch = Arc::new(batch);
        inputs([[50, 7]], []).agree(
            "bag",
            |[table], []| fused::bag(table, batch.clone(), false),
            |[table], []| bag(table, &batch),
        );
    }

    #[test]
    fn a_gradient_by_rows_is_the_rows_of_the_gradient() {
        let Inputs([table], []) = inputs([[50, 7]], []);
        for indices in [vec![4, 17, 49, 0, 17, 3], vec![]] {
            let values = indices.iter().map(|&index| index as f32 - 9.5).collect();
            let starts = vec![0, indices.len() / 2, indices.len()];
            let batch = Arc::new(SparseBatch { starts, indices: indices.clone(), values });
            let gradient = |by_rows| {
                let y = fused::bag(table.clone(), batch.clone(), by_rows);
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
