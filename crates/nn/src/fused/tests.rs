//! Every fused operation against the composition of Burn's own: value and gradients, with and without
//! dropout; and against itself on other numbers of threads.

use std::cell::Cell;

use burn::tensor::{Device, TensorData};
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
    [None, Pass::Train { key: 11 }.dropout(3, 0.25)]
}

/// Value, then gradients of `Σ c ∘ y` for a fixed c that is not constant.
macro_rules! outcome {
    ($y:expr, $($x:expr),*) => {{
        let y = $y;
        let n: usize = y.dims().iter().product();
        let weights: Vec<f32> = (0..n).map(|i| ((i * 7919 % 101) as f32 - 50.0) / 50.0).collect();
        let weights = Tensor::<2>::from_data(TensorData::new(weights, y.dims()), &device());
        let value = host(y.clone());
        let grads = (y * weights).sum().backward();
        vec![value, $(host($x.grad(&grads).unwrap())),*]
    }};
}

fn agree(what: &str, fused: &[Vec<f32>], composed: &[Vec<f32>]) {
    for (i, (a, b)) in fused.iter().zip(composed).enumerate() {
        let apart = difference(a, b);
        assert!(apart < 2e-6, "{what}, part {i}: {apart}");
    }
}

#[test]
fn linear_agrees() {
    for (n, k, m) in [(1, 1, 1), (3, 5, 7), (130, 33, 65)] {
        let (x, w, b) = (random([n, k]), random([k, m]), random([m]));
        let fused = outcome!(linear(x.clone(), w.clone(), b.clone(), Precision::F32), x, w, b);
        let composed =
            outcome!(composed::linear(x.clone(), w.clone(), b.clone(), Precision::F32), x, w, b);
        agree("linear", &fused, &composed);
    }
}

#[test]
fn product_agrees() {
    for (n, k, m) in [(1, 1, 1), (3, 5, 7), (130, 33, 65)] {
        let (x, w) = (random([n, k]), random([k, m]));
        let fused = outcome!(product(x.clone(), w.clone(), Precision::F32), x, w);
        agree("product", &fused, &outcome!(x.clone().matmul(w.clone()), x, w));
    }
}

#[test]
fn linear_gelu_agrees() {
    for dropout in dropouts() {
        for (n, k, m) in [(1, 1, 1), (3, 5, 7), (130, 33, 65)] {
            let (x, w, b) = (random([n, k]), random([k, m]), random([m]));
            let args = || (x.clone(), w.clone(), b.clone());
            let ((x1, w1, b1), (x2, w2, b2)) = (args(), args());
            let fused = outcome!(linear_gelu(x1, w1, b1, Precision::F32, dropout), x, w, b);
            let composed =
                outcome!(composed::linear_gelu(x2, w2, b2, Precision::F32, dropout), x, w, b);
            agree("linear_gelu", &fused, &composed);
        }
    }
}

#[test]
fn residual_norm_agrees() {
    for dropout in dropouts() {
        for (n, d) in [(1, 3), (5, 32), (130, 65)] {
            let (x, r, bias) = (random([n, d]), random([n, d]), random([d]));
            let (g, b) = (random([d]), random([d]));
            let args = || (x.clone(), r.clone(), bias.clone(), g.clone(), b.clone());
            let ((x1, r1, bias1, g1, b1), (x2, r2, bias2, g2, b2)) = (args(), args());
            let fused = residual_norm(x1, r1, bias1, g1, b1, 1e-5, dropout);
            let composed = composed::residual_norm(x2, r2, bias2, g2, b2, 1e-5, dropout);
            let (fused, composed) =
                (outcome!(fused, x, r, bias, g, b), outcome!(composed, x, r, bias, g, b));
            agree("norm", &fused, &composed);
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
    for dropout in dropouts() {
        for sequences in layouts() {
            for (heads, d) in [(1, 4), (3, 24), (4, 64)] {
                let qkv = random([sequences.rows(), 3 * d]);
                let fused = outcome!(
                    attention(qkv.clone(), &sequences, heads, Precision::F32, dropout),
                    qkv
                );
                for stride in [sequences.longest(), 64, 256] {
                    let setting = Setting {
                        sequences: sequences.clone(),
                        heads,
                        dropout,
                        operands: Operands::F32,
                    };
                    let composed = composed::attention(qkv.clone(), &setting, stride);
                    agree("attention", &fused, &outcome!(composed, qkv));
                }
            }
        }
    }
}

#[test]
fn attention_of_first_tokens_agrees() {
    for dropout in dropouts() {
        for sequences in layouts() {
            let (heads, d) = (3, 24);
            let (q, kv) = (random([sequences.len(), d]), random([sequences.rows(), 2 * d]));
            let fused =
                attention_first(q.clone(), kv.clone(), &sequences, heads, Precision::F32, dropout);
            let setting =
                Setting { sequences: sequences.clone(), heads, dropout, operands: Operands::F32 };
            let composed = composed::attention_first(q.clone(), kv.clone(), &setting, 48);
            agree("first", &outcome!(fused, q, kv), &outcome!(composed, q, kv));
        }
    }
}

#[test]
fn attention_of_first_tokens_is_that_of_the_first_rows() {
    let sequences = Arc::new(Sequences::packed([5, 1, 40]));
    let (heads, d) = (4, 32);
    let qkv = random([sequences.rows(), 3 * d]);
    let starts: Vec<i32> = sequences.starts().iter().map(|&s| s as i32).collect();
    let starts = integers(starts, &device());
    let all =
        attention(qkv.clone(), &sequences, heads, Precision::F32, None).select(0, starts.clone());
    let n = sequences.rows();
    let q = qkv.clone().slice([0..n, 0..d]).select(0, starts);
    let first = attention_first(
        q,
        qkv.clone().slice([0..n, d..3 * d]),
        &sequences,
        heads,
        Precision::F32,
        None,
    );
    agree("first rows", &outcome!(first, qkv), &outcome!(all, qkv));
}

#[test]
fn bag_agrees() {
    let table = random([50, 7]);
    // the middle row is empty; an index occurs in two rows
    let batch = SparseBatch {
        starts: vec![0, 3, 3, 5],
        indices: vec![4, 17, 49, 0, 17],
        values: vec![0.5, -1.0, 2.0, 1.5, 0.25],
    };
    let fused = outcome!(bag(table.clone(), Arc::new(batch.clone())), table);
    agree("bag", &fused, &outcome!(composed::bag(table.clone(), &batch), table));
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
        let (dense, by_rows) = (
            gradient(bag(table.clone(), batch.clone())),
            gradient(bag_by_rows(table.clone(), batch)),
        );
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
    let x = random([n, d]);
    let (w1, b1, w2, b2) = (random([d, 3 * d]), random([3 * d]), random([d, d]), random([d]));
    let (bias, gamma, beta) = (random([d]), random([d]), random([d]));
    let run = |precision| {
        let drop = |site| Pass::Train { key: 5 }.dropout(site, 0.1);
        let qkv = linear(x.clone(), w1.clone(), b1.clone(), precision);
        let context = attention(qkv, &sequences, heads, precision, drop(1));
        let inner = linear_gelu(context, w2.clone(), b2.clone(), precision, drop(2));
        let inner = product(inner, w2.clone(), precision);
        let [v1, v2, v3] = [&bias, &gamma, &beta].map(Tensor::clone);
        let y = residual_norm(x.clone(), inner, v1, v2, v3, 1e-12, drop(3));
        outcome!(y, x, w1, b1, w2, b2, bias, gamma, beta)
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
    let near = |what: &str, narrow: &[Vec<f32>], full: &[Vec<f32>]| {
        for (i, (a, b)) in narrow.iter().zip(full).enumerate() {
            let apart = difference(a, b);
            assert!(apart > 0.0 && apart < 2e-2, "{what}, part {i}: {apart}");
        }
    };
    let [narrow, full] = [Precision::Bf16, Precision::F32];
    for (n, k, m) in [(3, 5, 7), (130, 33, 65)] {
        let (x, w, b) = (random([n, k]), random([k, m]), random([m]));
        let args = || (x.clone(), w.clone(), b.clone());
        let linear = |precision| {
            let (x1, w1, b1) = args();
            let mut parts = outcome!(linear(x1, w1, b1, precision), x, w, b);
            // the bias takes no part in products: its gradient is the same
            parts.truncate(3);
            parts
        };
        near("linear", &linear(narrow), &linear(full));
        for dropout in dropouts() {
            let gelu = |precision| {
                let (x1, w1, b1) = args();
                outcome!(linear_gelu(x1, w1, b1, precision, dropout), x, w, b)
            };
            near("linear_gelu", &gelu(narrow), &gelu(full));
        }
        let rounded = |x: &Tensor<2>| x.clone().cast(DType::BF16).cast(DType::F32);
        let value = host(product(x.clone(), w.clone(), narrow));
        let same = host(product(rounded(&x), rounded(&w), full));
        assert!(difference(&value, &same) < 1e-6);
    }
    // of one token, attention's gradients of queries and keys are zero
    for sequences in &layouts()[1..] {
        let (heads, d) = (3, 24);
        for dropout in dropouts() {
            let qkv = random([sequences.rows(), 3 * d]);
            let all = |precision| {
                let y = attention(qkv.clone(), sequences, heads, precision, dropout);
                outcome!(y, qkv)
            };
            near("attention", &all(narrow), &all(full));
            let (q, kv) = (random([sequences.len(), d]), random([sequences.rows(), 2 * d]));
            let first = |precision| {
                let (q, kv) = (q.clone(), kv.clone());
                attention_first(q, kv, sequences, heads, precision, dropout)
            };
            near("first", &[host(first(narrow))], &[host(first(full))]);
        }
    }
}

#[test]
fn evaluation_without_autodiff_gives_the_same_values() {
    let sequences = Arc::new(Sequences::packed([5, 1, 9]));
    let (n, d) = (sequences.rows(), 24);
    let (x, w, b) = (random([n, 3 * d]), random([3 * d, d]), random([d]));
    let (xi, wi, bi) = (x.clone().inner(), w.clone().inner(), b.clone().inner());
    for dropout in dropouts() {
        let a = linear_gelu(x.clone(), w.clone(), b.clone(), Precision::F32, dropout);
        let same = linear_gelu(xi.clone(), wi.clone(), bi.clone(), Precision::F32, dropout);
        assert!(difference(&host(same.clone()), &host(a.clone())) < 1e-6);
        let v = || b.clone();
        let a = residual_norm(a.clone(), a, v(), v(), v(), 1e-12, dropout);
        let v = || bi.clone();
        let same = residual_norm(same.clone(), same, v(), v(), v(), 1e-12, dropout);
        assert!(difference(&host(same), &host(a)) < 1e-6);
        let a = host(attention(x.clone(), &sequences, 4, Precision::F32, dropout));
        assert_eq!(host(attention(xi.clone(), &sequences, 4, Precision::F32, dropout)), a);
    }
}
