//! Compares every fused operation on 32-bit numbers, on the CPU engine and on a GPU where the features have one, with
//! its [composition](composed) on 64-bit numbers. Further tests: products of rounded operands; elementary functions;
//! any number of threads.

mod rounding;

use std::collections::BTreeSet;
use std::sync::Arc;

use burn::module::ParamId;
use burn::tensor::{DType, Device, Tensor, TensorData};
use dsokr_core::random::generator;
use dsokr_kernels::{
    Adam, Attention, Dropout, Gradient, Precision, RowGradients, Sequences, SparseBatch, Updates,
    attention, attention_first, bag, clip, linear, linear_gelu, masked, means, places, product,
    residual_norm,
};
use dsokr_nn::{Pass, init};
use half::bf16;

use crate::{composed, host};

const FULL: Precision = Precision::F32;
const SIZES: [(usize, usize, usize); 4] = [(1, 1, 1), (3, 5, 7), (130, 33, 65), (2048, 256, 384)];

fn dropouts() -> [Option<Dropout>; 2] {
    [None, Pass::train(11).dropout(3, 0.25)]
}

fn layouts() -> [Arc<Sequences>; 3] {
    [vec![1], vec![5, 1, 40, 17, 130], vec![5, 1, 9]]
        .map(|lengths| Arc::new(Sequences::packed(lengths)))
}

/// Random matrices and vectors.
struct Inputs<const M: usize, const V: usize>([Tensor<2>; M], [Tensor<1>; V]);

fn inputs<const M: usize, const V: usize>(
    matrices: [[usize; 2]; M],
    vectors: [usize; V],
) -> Inputs<M, V> {
    let mut random = generator(1, "test", 0);
    let device = Device::flex();
    let matrices = matrices.map(|shape| init::normal(shape, 1.0, &mut random, &device).val());
    Inputs(matrices, vectors.map(|n| init::normal([n], 1.0, &mut random, &device).val()))
}

fn leaf<const D: usize>(x: &Tensor<D>, dtype: DType) -> Tensor<D> {
    leaf_on(&Device::flex(), x, dtype)
}

fn leaf_on<const D: usize>(device: &Device, x: &Tensor<D>, dtype: DType) -> Tensor<D> {
    x.clone().cast(dtype).to_device(device).autodiff().require_grad()
}

/// Returns the devices whose operations are compared, and the bounds on their errors.
fn devices() -> Vec<(Device, f32)> {
    [(Device::flex(), 2e-6)].into_iter().chain(crate::gpu().map(|gpu| (gpu, 2e-5))).collect()
}

/// Returns numbers that are not constant, as many as a matrix has.
fn factors([rows, columns]: [usize; 2]) -> Vec<f32> {
    (0..rows * columns).map(|i| ((i * 7919 % 101) as f32 - 50.0) / 50.0).collect()
}

impl<const M: usize, const V: usize> Inputs<M, V> {
    /// Returns the value of an operation, then the gradients of `Σ c ∘ y` for fixed [`factors`] c.
    fn outcome(
        &self,
        dtype: DType,
        function: impl Fn([Tensor<2>; M], [Tensor<1>; V]) -> Tensor<2>,
    ) -> Vec<Vec<f32>> {
        self.outcome_on(&Device::flex(), dtype, function)
    }

    fn outcome_on(
        &self,
        device: &Device,
        dtype: DType,
        function: impl Fn([Tensor<2>; M], [Tensor<1>; V]) -> Tensor<2>,
    ) -> Vec<Vec<f32>> {
        let matrices = self.0.each_ref().map(|x| leaf_on(device, x, dtype));
        let vectors = self.1.each_ref().map(|x| leaf_on(device, x, dtype));
        let y = function(matrices.clone(), vectors.clone());
        let c = TensorData::new(factors(y.dims()), y.dims());
        let c = Tensor::<2>::from_data(c, (&y.device(), dtype));
        let grads = (y.clone() * c).sum().backward();
        let of_matrices = matrices.iter().map(|x| host(x.grad(&grads).unwrap()));
        let of_vectors = vectors.iter().map(|x| host(x.grad(&grads).unwrap()));
        [host(y)].into_iter().chain(of_matrices).chain(of_vectors).collect()
    }

    /// Checks that the fused and the composed operation agree.
    fn agree(
        &self,
        what: &str,
        fused: impl Fn([Tensor<2>; M], [Tensor<1>; V]) -> Tensor<2>,
        composed: impl Fn([Tensor<2>; M], [Tensor<1>; V]) -> Tensor<2>,
    ) {
        let expected = self.outcome(DType::F64, composed);
        for (device, bound) in devices() {
            let outcome = self.outcome_on(&device, DType::F32, &fused);
            for (i, (a, b)) in outcome.iter().zip(&expected).enumerate() {
                let apart = difference(a, b);
                assert!(apart < bound, "{what}, part {i}, {device:?}: {apart}");
            }
        }
    }
}

/// Returns the largest difference over the largest value, or over 1 where all are smaller: the normal distribution is
/// computed to an absolute error.
fn difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    let largest = b.iter().fold(1.0f32, |m, v| m.max(v.abs()));
    let apart = a.iter().zip(b).fold(0.0f32, |m, (a, b)| m.max((a - b).abs()));
    assert!(a.iter().all(|v| v.is_finite()));
    apart / largest
}

#[test]
fn linear_operations_and_norms_agree() {
    for (n, k, m) in SIZES {
        let two = inputs([[n, k], [k, m]], []);
        two.agree("product", |[x, w], []| product(x, w, FULL), |[x, w], []| x.matmul(w));
        let inputs = inputs([[n, k], [k, m]], [m]);
        inputs.agree(
            "linear",
            |[x, w], [b]| linear(x, w, b, FULL),
            |[x, w], [b]| composed::linear(x, w, b),
        );
        for dropout in dropouts() {
            inputs.agree(
                "gelu",
                |[x, w], [b]| linear_gelu(x, w, b, FULL, dropout),
                |[x, w], [b]| composed::linear_gelu(x, w, b, dropout),
            );
        }
    }
    for (dropout, (n, d)) in dropouts()
        .into_iter()
        .flat_map(|dropout| [(1, 3), (5, 32), (130, 65)].map(|s| (dropout, s)))
    {
        inputs([[n, d]; 2], [d; 3]).agree(
            "norm",
            |[x, r], vectors| residual_norm(x, r, vectors, 1e-5, dropout),
            |[x, r], vectors| composed::residual_norm(x, r, vectors, 1e-5, dropout),
        );
    }
}

fn own(
    sequences: &Arc<Sequences>,
    heads: usize,
    precision: Precision,
    dropout: Option<Dropout>,
) -> Attention {
    Attention { sequences: sequences.clone(), heads, dropout, precision }
}

#[test]
fn attention_agrees() {
    for (dropout, sequences) in dropouts().into_iter().flat_map(|d| layouts().map(|s| (d, s))) {
        let texts = sequences.texts();
        let rows = sequences.rows();
        for (heads, d) in [(1, 4), (3, 24), (4, 64), (1, 64), (1, 128), (1, 66)] {
            inputs([[rows, 3 * d]], []).agree(
                "attention",
                |[qkv], []| attention(qkv, own(&sequences, heads, FULL, dropout)),
                |[qkv], []| composed::attention(qkv, &sequences, heads, dropout),
            );
            inputs([[texts, d], [rows, 2 * d]], []).agree(
                "first",
                |[q, kv], []| attention_first(q, kv, own(&sequences, heads, FULL, dropout)),
                |[q, kv], []| composed::attention_first(q, kv, &sequences, heads, dropout),
            );
        }
    }
}

#[test]
fn bags_agree_and_gradients_by_rows_are_rows_of_the_gradient() {
    // the middle row is empty; an index occurs in two rows
    let batch = Arc::new(SparseBatch {
        starts: vec![0, 3, 3, 5],
        indices: vec![4, 17, 49, 0, 17],
        values: vec![0.5, -1.0, 2.0, 1.5, 0.25],
    });
    let inputs = inputs([[50, 7]], []);
    let selection = Arc::new(SparseBatch::selection([3, 0, 3, 49].into_iter()));
    for batch in [&batch, &selection] {
        inputs.agree(
            "bag",
            |[table], []| bag(table, batch.clone(), None),
            |[table], []| composed::bag(table, batch),
        );
    }
    let table = leaf(&inputs.0[0], DType::F32);
    for indices in [vec![4, 17, 49, 0, 17, 3], vec![]] {
        let values = indices.iter().map(|&index| index as f32 - 9.5).collect();
        let starts = vec![0, indices.len() / 2, indices.len()];
        let batch = Arc::new(SparseBatch { starts, indices: indices.clone(), values });
        let id = ParamId::new();
        let gradient = |by_rows: Option<RowGradients>| {
            let y = bag(table.clone(), batch.clone(), by_rows.map(|gradients| (id, gradients)));
            table.grad(&(y.clone() * y + 1.0).sum().backward())
        };
        let dense = host(gradient(None).unwrap());
        let gradients = RowGradients::default();
        assert!(gradient(Some(gradients.clone())).is_none(), "Burn gets none");
        let rows = gradients.take().remove(&id).unwrap();
        let touched = BTreeSet::from_iter(indices);
        assert!(rows.rows().iter().eq(&touched));
        let expected = touched.iter().flat_map(|&row| &dense[row as usize * 7..][..7]);
        assert!(rows.values().iter().eq(expected), "bit for bit");
        assert!(rows.dense(50 * 7) == dense);
        assert_eq!(rows.values().iter().any(|value| *value != 0.0), !touched.is_empty());
        assert!(gradients.take().is_empty());
    }
}

#[test]
fn gradients_by_rows_of_two_uses_of_a_table_add_up() {
    let Inputs([table], []) = inputs([[50, 7]], []);
    let table = leaf(&table, DType::F32);
    let id = ParamId::new();
    let gradients = RowGradients::default();
    let uses = [[4, 17, 49], [0, 17, 18]].map(|rows| SparseBatch::selection(rows.into_iter()));
    let loss = |by_rows: Option<RowGradients>| {
        let y = uses.each_ref().map(|rows| {
            bag(
                table.clone(),
                Arc::new(rows.clone()),
                by_rows.clone().map(|batch_rows| (id, batch_rows)),
            )
        });
        let [a, b] = y;
        (a * b).sum().backward()
    };
    let dense = host(table.grad(&loss(None)).unwrap());
    loss(Some(gradients.clone()));
    let rows = gradients.take().remove(&id).unwrap();
    assert_eq!(rows.rows(), [0, 4, 17, 18, 49]);
    assert!(rows.dense(50 * 7) == dense);
}

#[test]
fn places_and_means_agree() {
    for (sequences, width) in layouts().into_iter().zip([3, 6, 8]) {
        let rows = sequences.rows();
        let texts = sequences.texts();
        inputs([[sequences.longest() + 3, width]], []).agree(
            "places",
            |[table], []| places(table, &sequences, 2),
            |[table], []| composed::places(table, &sequences, 2),
        );
        for read in [texts, texts.div_ceil(2)] {
            inputs([[rows, width]], []).agree(
                "means",
                |[x], []| means(x, &sequences, read),
                |[x], []| composed::means(x, &sequences, read),
            );
        }
    }
}

/// Vulkan has at most 65,535 cubes in a dimension; row numbers of the table and of the batch are more than 2³² pairs.
#[test]
fn a_batch_may_have_more_rows_than_a_gpu_has_cubes_in_a_dimension() {
    let rows = 70_001;
    let inputs = inputs([[rows, 2]], []);
    let [table, c] = [host(inputs.0[0].clone()), factors([rows, 2])];
    let order: Vec<u32> = (0..rows).map(|i| (i * 7919 % rows) as u32).collect();
    let mut batch = SparseBatch::selection(order.iter().copied());
    for value in [1.0, 0.5] {
        batch.values.fill(value);
        let mut y = vec![0.0; 2 * rows];
        let mut gradient = vec![0.0; 2 * rows];
        for (i, row) in order.iter().map(|&row| row as usize).enumerate() {
            for column in 0..2 {
                y[2 * i + column] = value * table[2 * row + column];
                gradient[2 * row + column] = value * c[2 * i + column];
            }
        }
        let batch = Arc::new(batch.clone());
        for (device, _) in devices() {
            let operation =
                |[table]: [Tensor<2>; 1], []: [Tensor<1>; 0]| bag(table, batch.clone(), None);
            let outcome = inputs.outcome_on(&device, DType::F32, operation);
            assert!(outcome == [y.clone(), gradient.clone()], "{value} on {device:?}");
        }
    }
    // a cube normalises four rows
    let Inputs([x], [b]) = self::inputs([[4 * rows, 3]], [3]);
    for (device, _) in devices() {
        let x = x.clone().to_device(&device);
        let b = b.clone().to_device(&device);
        let norm =
            |x: Tensor<2>| residual_norm(x.clone(), x, [(); 3].map(|()| b.clone()), 1e-5, None);
        let last = norm(x.clone().narrow(0, 4 * rows - 10, 10));
        assert_eq!(host(norm(x).narrow(0, 4 * rows - 10, 10)), host(last), "{device:?}");
    }
}

/// A launch of a bag's backward pass has a unit for each of at most 2²⁴ vectors of four numbers.
#[test]
fn a_batch_may_have_more_entries_than_a_launch_sums() {
    const WIDTH: usize = 64;
    let table_rows = 1_009;
    let rows = 1_000;
    let entries = (1 << 20) + 70_001;
    let indices: Vec<u32> = (0..entries).map(|j| (j * 7919 % table_rows) as u32).collect();
    let values: Vec<f32> = (0..entries).map(|j| 0.5 * (1 + j % 3) as f32).collect();
    // multiples of a half, which are exact
    let mut sums = vec![0.0f32; table_rows];
    for (&index, value) in indices.iter().zip(&values) {
        sums[index as usize] += value;
    }
    let starts = (0..=rows).map(|i| i * entries / rows).collect();
    let batch = Arc::new(SparseBatch { starts, indices, values });
    let Inputs([table], []) = inputs([[table_rows, WIDTH]], []);
    for (device, _) in devices() {
        let table = leaf_on(&device, &table, DType::F32);
        let y = bag(table.clone(), batch.clone(), None);
        let gradient = host(table.grad(&y.sum().backward()).unwrap());
        let expected = sums.iter().flat_map(|sum| [sum; WIDTH]);
        assert!(gradient.iter().eq(expected), "{device:?}");
    }
}

/// A launch of the backward passes has a cube for 32 rows, or 64, and attention one for each text.
#[test]
fn backward_passes_and_attention_may_have_more_cubes_than_a_gpu_has_in_a_dimension() {
    let texts = 70_001;
    let sequences = Arc::new(Sequences::packed(vec![1; texts]));
    let Inputs([qkv], []) = inputs([[texts, 6]], []);
    for (device, _) in devices() {
        // a token that attends to itself only has its own value
        let y = attention(qkv.clone().to_device(&device), own(&sequences, 2, FULL, None));
        assert_eq!(host(y), host(qkv.clone().narrow(1, 4, 2)), "{device:?}");
    }
    let rows = 65_536 * 64 + 1;
    let Inputs([x, w], [b]) = inputs([[rows, 1], [1, 1]], [1]);
    for (device, bound) in devices() {
        let [x, w] = [&x, &w].map(|x| leaf_on(&device, x, DType::F32));
        let b = leaf_on(&device, &b, DType::F32);
        let vectors = || [(); 3].map(|()| b.clone());
        let sums = |y: Tensor<2>| host(b.grad(&y.sum().backward()).unwrap())[0];
        let actual = sums(linear(x.clone(), w.clone(), b.clone(), FULL));
        assert!((actual / rows as f32 - 1.0).abs() < bound, "{actual} on {device:?}");
        // the gradients of the last rows are those of these rows by themselves
        let last = |y: &dyn Fn(Tensor<2>) -> Tensor<2>| {
            let tail = x.clone().inner().narrow(0, rows - 10, 10);
            let tail = leaf_on(&device, &tail, DType::F32);
            let of_tail = host(tail.grad(&y(tail.clone()).sum().backward()).unwrap());
            let of_all = x.grad(&y(x.clone()).sum().backward()).unwrap();
            assert_eq!(host(of_all.narrow(0, rows - 10, 10)), of_tail, "{device:?}");
        };
        last(&|x| linear_gelu(x, w.clone(), b.clone(), FULL, None));
        last(&|x| residual_norm(x.clone(), x, vectors(), 1e-5, None));
    }
}

/// Kernels of GPUs do not check the types of what they read.
#[test]
fn inputs_of_16_bits_are_widened_and_their_gradients_have_16_bits() {
    let sequences = Arc::new(Sequences::packed([5, 1, 9]));
    let n = sequences.rows();
    let batch = Arc::new(SparseBatch::selection([3, 0, 3, 14].into_iter()));
    let Inputs([x, w], [b]) = inputs([[n, 12], [12, 12]], [12]);
    type Operation<'a> = &'a dyn Fn(Tensor<2>, Tensor<2>, Tensor<1>) -> Tensor<2>;
    let dropout = Pass::train(11).dropout(3, 0.25);
    let operations: [(&str, Operation); 8] = [
        ("masked", &|x, _, _| masked(x, dropout)),
        ("bag", &|x, _, _| bag(x, batch.clone(), None)),
        ("means", &|x, _, _| means(x, &sequences, 2)),
        ("places", &|x, _, _| places(x, &sequences, 2)),
        ("linear", &|x, w, b| linear(x, w, b, FULL)),
        ("linear_gelu", &|x, w, b| linear_gelu(x, w, b, FULL, dropout)),
        ("norm", &|x, _, b| residual_norm(x.clone(), x, [(); 3].map(|()| b.clone()), 1e-5, None)),
        ("attention", &|x, _, _| attention(x, own(&sequences, 2, FULL, None))),
    ];
    // a GPU without numbers of 16 bits leaves its results as the memory was
    let has_numbers = |(device, _): &(Device, f32)| Precision::Bf16.check(device).is_ok();
    for (device, bound) in devices().into_iter().filter(has_numbers) {
        for (name, operation) in operations {
            let results = |dtype| {
                // values that 16 bits hold
                let there = |x: &Tensor<2>| leaf_on(&device, &x.clone().cast(DType::BF16), dtype);
                let x = there(&x);
                let w = there(&w);
                let b = leaf_on(&device, &b.clone().cast(DType::BF16), dtype);
                let y = operation(x.clone(), w, b).cast(DType::F32);
                let gradient = x.grad(&y.clone().square().sum().backward()).unwrap();
                assert_eq!(gradient.dtype(), dtype, "{name}");
                (host(y), host(gradient.cast(DType::BF16)))
            };
            let (narrow, gradient) = results(DType::BF16);
            let (full, same) = results(DType::F32);
            // a GPU's products of 16 bits have results of 16 bits
            let rounded = if device == Device::flex() { bound } else { 1e-2 };
            assert!(difference(&narrow, &full) < rounded, "{name} on {device:?}");
            assert!(difference(&gradient, &same) < 1e-2, "gradient of {name} on {device:?}");
        }
    }
}

#[test]
#[should_panic(expected = "an operation reads F32, and an input has F64: cast it before")]
fn inputs_of_64_bits_are_refused() {
    let Inputs([x], []) = inputs([[3, 4]], []);
    masked(x.cast(DType::F64), Pass::train(11).dropout(3, 0.25));
}

#[test]
fn results_are_the_same_bit_for_bit_whatever_the_number_of_threads() {
    let sequences = Arc::new(Sequences::packed([31, 64, 7, 90, 128, 3]));
    let n = sequences.rows();
    let d = 96;
    let heads = 4;
    let inputs = inputs([[n, d], [d, 3 * d], [d, d]], [3 * d, d, d, d, d]);
    let run = |precision| {
        let drop = |site| Pass::train(5).dropout(site, 0.1);
        inputs.outcome(DType::F32, |[x, w1, w2], [b1, b2, bias, gamma, beta]| {
            let qkv = linear(x.clone(), w1, b1, precision);
            let context = attention(qkv, own(&sequences, heads, precision, drop(1)));
            let inner = linear_gelu(context, w2.clone(), b2, precision, drop(2));
            let inner = product(inner, w2, precision);
            residual_norm(x, inner, [bias, gamma, beta], 1e-12, drop(3))
        })
    };
    let with = |threads, precision| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(precision))
    };
    for precision in [FULL, Precision::Bf16] {
        let one = with(1, precision);
        for threads in [2, 3, 7] {
            let same = with(threads, precision) == one;
            assert!(same, "{precision:?}: {threads} threads differ from one");
        }
    }
}

#[test]
fn evaluation_without_autodiff_gives_the_same_values() {
    let sequences = Arc::new(Sequences::packed([5, 1, 9]));
    let Inputs([x, w], [b]) = inputs([[sequences.rows(), 72], [72, 24]], [24]);
    for dropout in dropouts() {
        let values = |x: Tensor<2>, w: Tensor<2>, b: Tensor<1>| {
            let y = linear_gelu(x.clone(), w, b.clone(), FULL, dropout);
            let normal =
                residual_norm(y.clone(), y.clone(), [(); 3].map(|()| b.clone()), 1e-12, dropout);
            [y, normal, attention(x, own(&sequences, 4, FULL, dropout))].map(host)
        };
        let recorded = values(leaf(&x, DType::F32), leaf(&w, DType::F32), leaf(&b, DType::F32));
        let plain = values(x.clone(), w.clone(), b.clone());
        assert!(recorded.iter().zip(&plain).all(|(a, b)| difference(a, b) < 1e-6));
        assert_eq!(recorded[2], plain[2]);
    }
}

#[test]
fn a_step_of_adam_is_that_of_64_bits() {
    let settings =
        Adam { beta1: 0.9, beta2: 0.99, rate: 0.02, scale: 1.5, epsilon: 1e-5, keep: 0.999 };
    let Inputs(all, []) = inputs([[130, 33]; 4], []);
    let all = [all[0].clone(), all[1].clone(), all[2].clone(), all[3].clone().abs()];
    let [w, g, m, v] = all.each_ref().map(|x| host(x.clone()));
    let expected = (0..w.len()).map(|i| {
        let [w, g, m, v] = [w[i], g[i], m[i], v[i]].map(f64::from);
        let Adam { beta1, beta2, rate, scale, epsilon, keep } = settings;
        let [beta1, beta2, rate, scale] = [beta1, beta2, rate, scale].map(f64::from);
        let m = beta1 * m + (1.0 - beta1) * g;
        let v = beta2 * v + (1.0 - beta2) * g * g;
        let w = f64::from(keep) * w - rate * m / (v.sqrt() * scale + f64::from(epsilon));
        [w as f32, m as f32, v as f32]
    });
    let expected: Vec<[f32; 3]> = expected.collect();
    for (device, bound) in devices() {
        let updates = Updates::default();
        // in more than one launch, and of tensors that something else reads
        let there = all.each_ref().map(|x| x.clone().to_device(&device));
        let step = |[w, g, m, v]: [Tensor<2>; 4]| {
            let moments = [m, v].map(|x| x.flatten::<1>(0, 1));
            updates.adam(settings, w, Gradient::Dense(g), moments)
        };
        let steps: Vec<_> = (0..20).map(|_| step(there.clone())).collect();
        updates.finish();
        assert!(there.map(host) == all.each_ref().map(|x| host(x.clone())));
        let (w, [m, v]) = steps[19].clone();
        let updated = [host(w), host(m), host(v)];
        for (part, actual) in updated.iter().enumerate() {
            let expected: Vec<f32> = expected.iter().map(|all| all[part]).collect();
            assert!(difference(actual, &expected) < bound, "part {part} on {device:?}");
        }
    }
}

#[test]
fn gradients_are_clipped_by_their_norm() {
    let Inputs([a, b], []) = inputs([[130, 33], [1, 1]], []);
    for (device, bound) in devices() {
        let flat = || [&a, &b].map(|x| x.clone().to_device(&device).flatten::<1>(0, 1)).to_vec();
        let squares = [&a, &b].into_iter().flat_map(|x| host(x.clone()));
        let norm = squares.map(|v| f64::from(v).powi(2)).sum::<f64>().sqrt() as f32;
        for (limit, expected) in [(norm * 0.25, 0.25), (norm * 2.0, 1.0)] {
            let clipped = clip(flat(), limit);
            let actual = host(clipped.factor)[0];
            assert!((actual - expected).abs() < bound, "{actual} on {device:?}");
            let found = host(clipped.norm)[0];
            assert!((found / norm - 1.0).abs() < bound, "{found} for {norm} on {device:?}");
        }
        for wrong in [f32::NAN, f32::INFINITY] {
            let wrong = Tensor::<1>::from_floats([wrong], &device);
            assert!(host(clip([flat(), vec![wrong]].concat(), 1.0).factor)[0].is_nan());
        }
    }
}
