//! Products of 16 bits, values that are not numbers, and errors of functions.

use super::*;

#[test]
fn bfloat16_operations_are_near_those_in_32_bits() {
    /// Compares the value and the gradients of the first inputs: of `parts` numbers in all.
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
        near("linear", 3, |by| inputs.outcome(DType::F32, |[x, w], [b]| linear(x, w, b, by)));
        for dropout in dropouts() {
            near("gelu", 4, |by| {
                inputs.outcome(DType::F32, |[x, w], [b]| linear_gelu(x, w, b, by, dropout))
            });
        }
    }
    // of one token, attention's gradients of queries and keys are zero
    for (dropout, sequences) in
        dropouts().into_iter().flat_map(|d| layouts().into_iter().skip(1).map(move |s| (d, s)))
    {
        let heads = 3;
        let d = 24;
        let all = inputs([[sequences.rows(), 3 * d]], []);
        near("attention", 2, |by| {
            all.outcome(DType::F32, |[qkv], []| attention(qkv, own(&sequences, heads, by, dropout)))
        });
        let first = inputs([[sequences.texts(), d], [sequences.rows(), 2 * d]], []);
        near("first", 1, |by| {
            first.outcome(DType::F32, |[q, kv], []| {
                attention_first(q, kv, own(&sequences, heads, by, dropout))
            })
        });
    }
}

#[test]
fn a_layer_in_16_bits_is_near_one_in_32_on_a_gpu_that_multiplies_them() {
    let sequences = Arc::new(Sequences::packed([31, 64, 7, 90, 128, 3, 189]));
    let n = sequences.rows();
    let d = 96;
    let heads = 4;
    let all = inputs([[n, d], [d, 3 * d], [d, d]], [3 * d, d, d, d, d]);
    let layer = |by| {
        let all = &all;
        let sequences = sequences.clone();
        move |device: &Device| {
            all.outcome_on(device, DType::F32, |[x, w1, w2], [b1, b2, bias, gamma, beta]| {
                let drop = |site| Pass::train(5).dropout(site, 0.1);
                // weights of a layer are small
                let w1 = w1 * 0.1;
                let w2 = w2 * 0.1;
                let qkv = linear(x.clone(), w1, b1, by);
                let context = attention(qkv, own(&sequences, heads, by, drop(1)));
                let inner = linear_gelu(context, w2.clone(), b2, by, drop(2));
                let inner = product(inner, w2, by);
                residual_norm(x, inner, [bias, gamma, beta], 1e-12, drop(3))
            })
        }
    };
    let expected = layer(FULL)(&Device::flex());
    let gpu = crate::gpu();
    for (gpu, (n, k, m)) in gpu.iter().flat_map(|gpu| SIZES.map(|sizes| (gpu, sizes))) {
        let inputs = inputs([[n, k], [k, m]], [m]);
        let [full, narrow] =
            [(Device::flex(), FULL), (gpu.clone(), Precision::Bf16)].map(|(on, by)| {
                let by = if by.check(&on).is_ok() { by } else { FULL };
                inputs.outcome_on(&on, DType::F32, |[x, w], [b]| {
                    linear_gelu(x, w, b, by, dropouts()[1]).cast(DType::F32)
                })
            });
        for (i, (a, b)) in narrow.iter().zip(&full).enumerate() {
            let apart = difference(a, b);
            assert!(apart < 4e-2, "[{n}, {k}, {m}], part {i}: {apart}");
        }
    }
    if let Some(gpu) = gpu {
        for (by, bound) in [(FULL, 2e-5), (Precision::Tf32, 5e-3), (Precision::Bf16, 4e-2)] {
            if by.check(&gpu).is_ok() {
                let outcome = layer(by)(&gpu);
                for (i, (a, b)) in outcome.iter().zip(&expected).enumerate() {
                    let apart = difference(a, b);
                    assert!(apart < bound, "{by:?}, part {i}: {apart}");
                }
            }
        }
    }
}

/// Computes `a b [+ bias]` of rounded operands in 64 bits, and a bound on its error in 32 bits.
fn exact(
    (m, n, k): (usize, usize, usize),
    a: impl Fn(usize, usize) -> f32,
    b: impl Fn(usize, usize) -> f32,
    bias: Option<&[f32]>,
) -> Vec<(f64, f64)> {
    let rounded = |v| f64::from(bf16::from_f32(v).to_f32());
    let value = |(i, j)| {
        let terms = (0..k).map(|q| rounded(a(i, q)) * rounded(b(q, j)));
        let start = bias.map_or(0.0, |bias: &[f32]| f64::from(bias[j]));
        let size = terms.clone().map(f64::abs).sum::<f64>() + start.abs();
        (start + terms.sum::<f64>(), (k + 2) as f64 * 2f64.powi(-24) * size)
    };
    (0..m).flat_map(|i| (0..n).map(move |j| (i, j))).map(value).collect()
}

#[test]
fn rounded_products_and_their_gradients_are_within_their_error() {
    let small = [(1, 1, 1), (3, 5, 7), (8, 48, 2), (9, 49, 33), (1, 128, 32), (7, 15, 64)];
    let large = [(130, 65, 34), (17, 16, 769), (40, 100, 1537), (250, 31, 31), (2, 3, 0)];
    for (m, n, k) in small.into_iter().chain(large) {
        let inputs = inputs([[m, k], [k, n]], [n]);
        let [x, w] = inputs.0.each_ref().map(|x| host(x.clone()));
        let bias = host(inputs.1[0].clone());
        let dy = factors([m, n]);
        let x = |i: usize, j: usize| x[i * k + j];
        let w = |i: usize, j: usize| w[i * n + j];
        let dy = |i: usize, j: usize| dy[i * n + j];
        let outcome = inputs.outcome(DType::F32, |[x, w], [b]| linear(x, w, b, Precision::Bf16));
        let expected = [
            exact((m, n, k), x, w, Some(&bias)),
            exact((m, k, n), dy, |i, j| w(j, i), None),
            exact((k, n, m), |i, j| x(j, i), dy, None),
        ];
        for (part, (actual, expected)) in outcome.iter().zip(expected).enumerate() {
            assert_eq!(actual.len(), expected.len());
            for (value, (exact, bound)) in actual.iter().zip(expected) {
                let error = (f64::from(*value) - exact).abs();
                assert!(error <= bound, "[{m}, {n}, {k}], part {part}: {error} > {bound}");
            }
        }
    }
}

#[test]
fn values_that_are_not_numbers_stay() {
    let one = |a: f32, b: f32| {
        let [a, b] = [a, b].map(|v| Tensor::<2>::full([1, 1], v, &Device::flex()));
        product(a, b, Precision::Bf16).into_scalar::<f32>()
    };
    // the payload in the lowest bits is rounded away
    assert!(one(f32::from_bits(0x7f80_0001), 1.0).is_nan() && one(f32::INFINITY, 0.0).is_nan());
    assert_eq!(one(f32::INFINITY, -2.0), f32::NEG_INFINITY);
    assert_eq!(one(3.4e38, 1.0), f32::INFINITY, "beyond the largest bfloat16 number");
}

/// Returns values as a column, `[rows, 1]`.
fn column(values: Vec<f32>) -> Tensor<2> {
    let rows = values.len();
    Tensor::from_data(TensorData::new(values, [rows, 1]), &Device::flex())
}

#[test]
fn softmax_has_the_relative_error_of_its_exponential() {
    // texts of two tokens, of which one has a value: e^x / (1 + e^x)
    let x: Vec<f32> = (1..8_690).map(|i| i as f32 * -0.01 + 0.003).collect();
    let sequences = Arc::new(Sequences::packed(vec![2; x.len()]));
    let kv = x.iter().flat_map(|&x| [x, 1.0, 0.0, 0.0]).collect();
    let kv = TensorData::new::<f32, _>(kv, [2 * x.len(), 2]);
    let kv = Tensor::<2>::from_data(kv, &Device::flex());
    let actual =
        host(attention_first(column(vec![1.0; x.len()]), kv, own(&sequences, 1, FULL, None)));
    for (x, value) in x.into_iter().zip(actual) {
        let exact = f64::from(x).exp() / (1.0 + f64::from(x).exp());
        let error = (f64::from(value) - exact).abs() / exact;
        assert!(error < 4e-7, "{x}: {error}");
    }
}

#[test]
fn gelu_has_the_error_of_its_normal_distribution() {
    let density = |t: f64| (-0.5 * t * t).exp() / std::f64::consts::TAU.sqrt();
    // the integral of the density (Simpson), which is independent of the approximation
    let distribution = |x: f64| {
        let n = 20_000;
        let a = -10.0;
        let h = (x - a) / f64::from(n);
        let weight = |i| if i % 2 == 1 { 4.0 } else { 2.0 };
        let inner: f64 = (1..n).map(|i| density(a + h * f64::from(i)) * weight(i)).sum();
        (density(a) + inner + density(x)) * h / 3.0
    };
    let x: Vec<f32> = (-60..60).map(|i| i as f32 * 0.1 + 0.03).collect();
    let leaf = column(x.clone()).autodiff().require_grad();
    let [w, b] = [1.0, 0.0].map(|v| Tensor::<1>::full([1], v, &leaf.device()));
    let y = linear_gelu(leaf.clone(), w.unsqueeze(), b, FULL, None);
    let slopes = host(leaf.grad(&y.clone().sum().backward()).unwrap());
    for ((x, y), slope) in x.into_iter().map(f64::from).zip(host(y)).zip(slopes) {
        let cdf = distribution(x);
        assert!((f64::from(y) - x * cdf).abs() < 2e-7 * x.abs().max(1.0), "{x}");
        let error = (f64::from(slope) - cdf - x * density(x)).abs();
        assert!(error < 2e-7 * (1.0 + x.abs()), "{x}: {error}");
    }
}
