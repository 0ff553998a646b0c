//! Every fused operation against the composition of Burn's own: value and gradients, with and without
//! dropout; and against itself on other numbers of threads.

use std::cell::Cell;

use burn::tensor::{DType, Device, TensorData};
use dsokr_basis::random::generator;

use super::*;
use crate::{Pass, RowGradient, init};

fn device() -> Device {
    Device::flex().autodiff()
}

/// Normal numbers, other ones at every call, the same ones in every run.
fn random<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    // every test has a thread of its own
    thread_local!(static CALLS: Cell<u64> = const { Cell::new(0) });
    let call = CALLS.replace(CALLS.get() + 1);
    let mut generator = generator(1, "test", call);
    init::normal(shape, 1.0, &mut generator, &device()).val()
}

fn host<const D: usize>(x: Tensor<D>) -> Vec<f32> {
    x.into_data().try_to_vec::<f32>().unwrap()
}

/// Largest difference over the largest value, or over 1 where all are smaller: the normal distribution
/// is computed to an absolute error.
fn difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    let largest = b.iter().fold(0.0f32, |m, v| m.max(v.abs()));
    let apart = a.iter().zip(b).fold(0.0f32, |m, (a, b)| m.max((a - b).abs()));
    assert!(apart.is_finite());
    apart / largest.max(1.0)
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
    Inputs(matrices.map(random), vectors.map(|length| random([length])))
}

impl<const M: usize, const V: usize> Inputs<M, V> {
    /// The value of an operation, then gradients of `Σ c ∘ y` for a fixed c that is not constant.
    fn outcome(&self, of: impl Fn([Tensor<2>; M], [Tensor<1>; V]) -> Tensor<2>) -> Vec<Vec<f32>> {
        let Self(matrices, vectors) = self;
        let y = of(matrices.clone(), vectors.clone());
        let n: usize = y.dims().iter().product();
        let weights: Vec<f32> = (0..n).map(|i| ((i * 7919 % 101) as f32 - 50.0) / 50.0).collect();
        let weights = Tensor::<2>::from_data(TensorData::new(weights, y.dims()), &device());
        let value = host(y.clone());
        let grads = (y * weights).sum().backward();
        let of_matrices = matrices.iter().map(|x| host(x.grad(&grads).unwrap()));
        let of_vectors = vectors.iter().map(|x| host(x.grad(&grads).unwrap()));
        [value].into_iter().chain(of_matrices).chain(of_vectors).collect()
    }

    /// Checks that two operations agree.
    fn agree(
        &self,
        what: &str,
        fused: impl Fn([Tensor<2>; M], [Tensor<1>; V]) -> Tensor<2>,
        composed: impl Fn([Tensor<2>; M], [Tensor<1>; V]) -> Tensor<2>,
    ) {
        let outcomes = self.outcome(fused).into_iter().zip(self.outcome(composed));
        for (i, (a, b)) in outcomes.enumerate() {
            let apart = difference(&a, &b);
            assert!(apart < 2e-6, "{what}, part {i}: {apart}");
        }
    }
}

const FULL: Precision = Precision::F32;
const SIZES: [(usize, usize, usize); 3] = [(1, 1, 1), (3, 5, 7), (130, 33, 65)];

#[test]
fn linear_operations_agree() {
    for (n, k, m) in SIZES {
        inputs([[n, k], [k, m]], []).agree(
            "product",
            |[x, w], []| product(x, w, FULL),
            |[x, w], []| composed::product(x, w, FULL),
        );
        let inputs = inputs([[n, k], [k, m]], [m]);
        inputs.agree(
            "linear",
            |[x, w], [b]| linear(x, w, b, FULL),
            |[x, w], [b]| composed::linear(x, w, b, FULL),
        );
        for dropout in dropouts() {
            inputs.agree(
                "linear_gelu",
                |[x, w], [b]| linear_gelu(x, w, b, FULL, dropout),
                |[x, w], [b]| composed::linear_gelu(x, w, b, FULL, dropout),
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
                |[x, r], vectors| residual_norm(x, r, vectors, 1e-5, dropout),
                |[x, r], vectors| composed::residual_norm(x, r, vectors, 1e-5, dropout),
            );
        }
    }
}

fn layouts() -> Vec<Arc<Sequences>> {
    vec![
        Arc::new(Sequences::packed([1])),
        Arc::new(Sequences::packed([5, 1, 40, 17])),
        Arc::new(Sequences::packed([5, 1, 9])),
    ]
}

#[test]
fn attention_agrees_whatever_the_padding() {
    for (dropout, sequences) in
        dropouts().into_iter().flat_map(|d| layouts().into_iter().map(move |s| (d, s)))
    {
        let setting =
            |heads| Setting { sequences: sequences.clone(), heads, dropout, precision: FULL };
        for (heads, d) in [(1, 4), (3, 24), (4, 64)] {
            let inputs = inputs([[sequences.rows(), 3 * d]], []);
            for stride in [sequences.longest(), 64, 256] {
                inputs.agree(
                    "attention",
                    |[qkv], []| attention(qkv, &sequences, heads, FULL, dropout),
                    |[qkv], []| composed::attention(qkv, &setting(heads), stride),
                );
            }
        }
        inputs([[sequences.texts(), 24], [sequences.rows(), 48]], []).agree(
            "first",
            |[q, kv], []| attention_first(q, kv, &sequences, 3, FULL, dropout),
            |[q, kv], []| composed::attention_first(q, kv, &setting(3), 48),
        );
    }
}

#[test]
fn attention_of_first_tokens_is_that_of_the_first_rows() {
    let sequences = Arc::new(Sequences::packed([5, 1, 40]));
    let (n, heads, d) = (sequences.rows(), 4, 32);
    let starts = || integers(sequences.starts().map(|s| s as i32).collect(), &device());
    inputs([[n, 3 * d]], []).agree(
        "first rows",
        |[qkv], []| {
            let q = qkv.clone().slice([0..n, 0..d]).select(0, starts());
            attention_first(q, qkv.slice([0..n, d..3 * d]), &sequences, heads, FULL, None)
        },
        |[qkv], []| attention(qkv, &sequences, heads, FULL, None).select(0, starts()),
    );
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
        |[table], []| bag(table, batch.clone(), false),
        |[table], []| composed::bag(table, &batch),
    );
}

#[test]
fn a_gradient_by_rows_is_the_rows_of_the_gradient() {
    let table = random([50, 7]);
    let batch = |indices: Vec<u32>| {
        let values = indices.iter().map(|&index| index as f32 - 9.5).collect();
        Arc::new(SparseBatch { starts: vec![0, indices.len() / 2, indices.len()], indices, values })
    };
    for indices in [vec![4, 17, 49, 0, 17, 3], vec![]] {
        let gradient = |y: Tensor<2>| {
            let gradients = (y.clone() * y + 1.0).sum().backward();
            table.grad(&gradients).unwrap()
        };
        let batch = batch(indices.clone());
        let dense = gradient(bag(table.clone(), batch.clone(), false));
        let by_rows = gradient(bag(table.clone(), batch, true));
        let inner = table.clone().inner();
        assert!(!RowGradient::is(&dense, &inner) && RowGradient::is(&by_rows, &inner));
        let [numbers, rows] = RowGradient::split(by_rows).map(host);
        let touched = std::collections::BTreeSet::from_iter(indices);
        assert_eq!(numbers, touched.iter().map(|&row| row as f32).collect::<Vec<_>>());
        let dense = host(dense);
        let expected = touched.iter().flat_map(|&row| &dense[row as usize * 7..][..7]);
        assert!(rows.iter().eq(expected), "bit for bit");
        assert_eq!(rows.iter().any(|value| *value != 0.0), !touched.is_empty());
    }
}

#[test]
fn results_are_the_same_bit_for_bit_whatever_the_number_of_threads() {
    let sequences = Arc::new(Sequences::packed([31, 64, 7, 90, 128, 3]));
    let (n, d, heads) = (sequences.rows(), 96, 4);
    let inputs = inputs([[n, d], [d, 3 * d], [d, d]], [3 * d, d, d, d, d]);
    let run = |precision| {
        let drop = |site| Pass::train(5).dropout(site, 0.1);
        inputs.outcome(|[x, w1, w2], [b1, b2, bias, gamma, beta]| {
            let qkv = linear(x.clone(), w1, b1, precision);
            let context = attention(qkv, &sequences, heads, precision, drop(1));
            let inner = linear_gelu(context, w2.clone(), b2, precision, drop(2));
            let inner = product(inner, w2, precision);
            residual_norm(x, inner, [bias, gamma, beta], 1e-12, drop(3))
        })
    };
    let with = |threads, precision| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(precision))
    };
    for precision in [Precision::F32, Precision::Bf16] {
        let one = with(1, precision);
        for threads in [2, 3, 7] {
            let same = with(threads, precision) == one;
            assert!(same, "{precision:?}: {threads} threads differ from one");
        }
    }
}

/// The value of rounded operands is that of a 32-bit product of rounded numbers; gradients are near those
/// of the 32-bit operation.
#[test]
fn bfloat16_operations_are_near_those_in_32_bits() {
    /// The first `parts` of an outcome.
    fn near(what: &str, parts: usize, outcome: impl Fn(Precision) -> Vec<Vec<f32>>) {
        let outcomes = outcome(Precision::Bf16).into_iter().zip(outcome(FULL));
        for (i, (a, b)) in outcomes.take(parts).enumerate() {
            let apart = difference(&a, &b);
            assert!(apart > 0.0 && apart < 2e-2, "{what}, part {i}: {apart}");
        }
    }
    for (n, k, m) in &SIZES[1..] {
        let inputs = inputs([[*n, *k], [*k, *m]], [*m]);
        // the bias takes no part in products: its gradient is the same
        near("linear", 3, |by| inputs.outcome(|[x, w], [b]| linear(x, w, b, by)));
        for dropout in dropouts() {
            let gelu = |by| inputs.outcome(|[x, w], [b]| linear_gelu(x, w, b, by, dropout));
            near("linear_gelu", 4, gelu);
        }
        let rounded = |x: Tensor<2>| x.cast(DType::BF16).cast(DType::F32);
        let [x, w] = inputs.0;
        let value = host(product(x.clone(), w.clone(), Precision::Bf16));
        let same = host(product(rounded(x), rounded(w), FULL));
        assert!(difference(&value, &same) < 1e-6);
    }
    // of one token, attention's gradients of queries and keys are zero
    for sequences in &layouts()[1..] {
        let (heads, d) = (3, 24);
        for dropout in dropouts() {
            let all = inputs([[sequences.rows(), 3 * d]], []);
            let attend =
                |by| all.outcome(|[qkv], []| attention(qkv, sequences, heads, by, dropout));
            near("attention", 2, attend);
            let first = inputs([[sequences.texts(), d], [sequences.rows(), 2 * d]], []);
            near("first", 1, |by| {
                first.outcome(|[q, kv], []| attention_first(q, kv, sequences, heads, by, dropout))
            });
        }
    }
}

#[test]
fn evaluation_without_autodiff_gives_the_same_values() {
    let sequences = Arc::new(Sequences::packed([5, 1, 9]));
    let (n, d) = (sequences.rows(), 24);
    let Inputs([x, w], [b]) = inputs([[n, 3 * d], [3 * d, d]], [d]);
    for dropout in dropouts() {
        let values = |x: &Tensor<2>, w: &Tensor<2>, b: &Tensor<1>| {
            let y = linear_gelu(x.clone(), w.clone(), b.clone(), FULL, dropout);
            let vectors = [(); 3].map(|()| b.clone());
            let normal = residual_norm(y.clone(), y.clone(), vectors, 1e-12, dropout);
            [y, normal, attention(x.clone(), &sequences, 4, FULL, dropout)].map(host)
        };
        let recorded = values(&x, &w, &b);
        let plain = values(&x.clone().inner(), &w.clone().inner(), &b.clone().inner());
        assert!(recorded.iter().zip(&plain).all(|(a, b)| difference(a, b) < 1e-6));
        assert_eq!(recorded[2], plain[2]);
    }
}
