//! Fused operations: one pass over memory where Burn's operations take many, with hand-written backward
//! passes, on the CPU engine. On every other device the same functions are compositions of Burn's
//! operations, which Burn fuses there.
//!
//! | function | value |
//! |---|---|
//! | [`linear`] | `x w + b` |
//! | [`product`] | `x w`, where the next operation adds the bias |
//! | [`linear_gelu`] | `dropout(gelu(x w + b))`, with the exact (erf) GELU |
//! | [`residual_norm`] | `layer_norm(x + dropout(r + bias)) ∘ gamma + beta` |
//! | [`attention`] | softmax attention of every token to the tokens of its text |
//! | [`attention_first`] | the same for only the first token of each text |
//! | [`bag`] | weighted sums of table rows |
//!
//! Token vectors are rows of one matrix; [`Sequences`] assigns them to texts. Dropout is a function of a
//! key and of the element's number ([`Dropout`]), so no mask is stored. Results are the same bit for bit
//! whatever the number of threads; sums over rows are taken in blocks of fixed size for that reason.
//!
//! Products take their operands in 32 bits or, with [`Precision::Bf16`], rounded to bfloat16, and add up in 32
//! bits. AVX-512 BF16 multiplies such operands where the processor has it.
//!
//! `cargo bench --bench train_step` measures them; notes/benchmarks.md has the figures.

mod attention;
mod bag;
mod composed;
#[cfg(target_arch = "x86_64")]
mod dot;
mod linear;
mod norm;
mod operation;
mod product;
mod simd;

use std::sync::Arc;

use burn::tensor::{Device, Tensor, activation, module};

use crate::device::{is_cpu_engine, on_cpu_engine};
use crate::pass::masked;
use crate::{Dropout, Precision};
pub use attention::{Attention, Sequences};
use bag::Bag;
pub use bag::{RowGradient, SparseBatch};
pub(crate) use composed::{integers, padded_rows};
use linear::{AffineGelu, Linear};
use norm::ResidualNorm;
pub use operation::{CpuOp, apply, owned, primitive};
pub(crate) use operation::{contiguous, is_whole, values, wrap};
use product::multiplies_bf16;

/// Whether the fused loops compute products of a tensor like this one.
fn is_fused(x: &Tensor<2>, precision: Precision) -> bool {
    precision != Precision::F16 && on_cpu_engine(x)
}

/// Whether this device's operations round the operands of products in `precision` and multiply them in 32 bits,
/// because the processor has no instructions for such products. It takes longer than 32 bits throughout.
pub fn emulated(precision: Precision, device: &Device) -> bool {
    precision == Precision::Bf16 && is_cpu_engine(device) && !multiplies_bf16()
}

/// The time of a training step in `precision` on the CPU engine as a share of that in 32 bits. It is 0.6 for bfloat16
/// where the processor has instructions for it: the book's page on benchmarks measures 0.57 to 0.61 for whole steps
/// and epochs. Otherwise it is 1, because nothing else was measured.
pub(crate) fn step_time(precision: Precision) -> f64 {
    if precision == Precision::Bf16 && multiplies_bf16() { 0.6 } else { 1.0 }
}

/// `x w + b` for x `[n, k]`, w `[k, m]`, b `[m]`. On devices other than the CPU engine the result has the
/// type of `precision`.
///
/// # Panics
/// If the shapes do not fit.
pub fn linear(x: Tensor<2>, w: Tensor<2>, b: Tensor<1>, precision: Precision) -> Tensor<2> {
    check_linear(&x, &w, &b);
    if !is_fused(&x, precision) {
        let [x, w] = [x, w].map(|x| precision.to_compute(x));
        return x.matmul(w) + precision.to_compute(b).unsqueeze::<2>();
    }
    apply(Linear(precision), [x.into_dispatch(), w.into_dispatch(), b.into_dispatch()])
}

/// `x w` for x `[n, k]`, w `[k, m]`.
///
/// # Panics
/// If the shapes do not fit.
pub fn product(x: Tensor<2>, w: Tensor<2>, precision: Precision) -> Tensor<2> {
    assert!(x.dims()[1] == w.dims()[0], "x {:?}, w {:?}", x.dims(), w.dims());
    if !is_fused(&x, precision) {
        let [x, w] = [x, w].map(|x| precision.to_compute(x));
        return precision.to_f32(x.matmul(w));
    }
    apply(Linear(precision), [x, w].map(Tensor::into_dispatch))
}

/// `dropout(gelu(x w + b))` for x `[n, k]`, w `[k, m]`, b `[m]`; elements are numbered row by row.
///
/// # Panics
/// If the shapes do not fit.
pub fn linear_gelu(
    x: Tensor<2>,
    w: Tensor<2>,
    b: Tensor<1>,
    precision: Precision,
    dropout: Option<Dropout>,
) -> Tensor<2> {
    check_linear(&x, &w, &b);
    if !is_fused(&x, precision) {
        let input = precision.to_f32(linear(x, w, b, precision));
        return masked(activation::gelu(input), dropout);
    }
    let inputs = [x.into_dispatch(), w.into_dispatch(), b.into_dispatch()];
    apply(AffineGelu { precision, dropout }, inputs)
}

fn check_linear(x: &Tensor<2>, w: &Tensor<2>, b: &Tensor<1>) {
    let (x, w, b) = (x.dims(), w.dims(), b.dims());
    assert!(x[1] == w[0] && w[1] == b[0], "x {x:?}, w {w:?}, b {b:?}");
}

/// `layer_norm(x + dropout(r + bias)) ∘ gamma + beta` over the rows of x and r `[n, d]`, with `epsilon`
/// added to the variance; elements of r are numbered row by row.
///
/// # Panics
/// If the shapes do not fit.
pub fn residual_norm(
    x: Tensor<2>,
    r: Tensor<2>,
    [bias, gamma, beta]: [Tensor<1>; 3],
    epsilon: f64,
    dropout: Option<Dropout>,
) -> Tensor<2> {
    let d = [x.dims()[1]];
    let vectors = [&bias, &gamma, &beta].map(Tensor::dims);
    assert!(x.dims() == r.dims() && vectors == [d; 3], "shapes differ");
    if !on_cpu_engine(&x) {
        let sum = x + masked(r + bias.unsqueeze::<2>(), dropout);
        return module::layer_norm(sum, gamma, Some(beta), epsilon);
    }
    let [x, r] = [x, r].map(Tensor::into_dispatch);
    let [bias, gamma, beta] = [bias, gamma, beta].map(Tensor::into_dispatch);
    apply(ResidualNorm { epsilon, dropout }, [x, r, bias, gamma, beta])
}

/// `softmax(q kᵀ / √d_h) v` per head (Vaswani et al. 2017), every token attending to the tokens of
/// its own text.
///
/// `qkv` `[n, 3d]` holds queries, keys and values side by side, each with its heads side by side; n is
/// [`Sequences::rows`]. Returns `[n, d]`. Dropout applies to probabilities, which are numbered text by text,
/// head by head, row by row.
///
/// # Panics
/// If the shapes do not fit, or `heads` does not divide d.
pub fn attention(qkv: Tensor<2>, own: Attention) -> Tensor<2> {
    let [n, triple] = qkv.dims();
    let fits = n == own.sequences.rows() && triple.is_multiple_of(3 * own.heads);
    assert!(fits, "qkv [{n}, {triple}]");
    match is_fused(&qkv, own.precision) {
        true => apply(own, [qkv.into_dispatch()]),
        false => composed::attention(qkv, &own),
    }
}

/// [`attention`] of only the first token of each text: `q` `[texts, d]`, and keys and values side by side
/// in `kv` `[n, 2d]`; returns `[texts, d]`. Probabilities are numbered text by text, head by head.
///
/// # Panics
/// If the shapes do not fit, or `heads` does not divide d.
pub fn attention_first(q: Tensor<2>, kv: Tensor<2>, own: Attention) -> Tensor<2> {
    let ([texts, d], [n, double]) = (q.dims(), kv.dims());
    let fits = texts == own.sequences.texts() && n == own.sequences.rows();
    let fits = fits && double == 2 * d && d.is_multiple_of(own.heads);
    assert!(fits, "q [{texts}, {d}], kv [{n}, {double}]");
    match is_fused(&q, own.precision) {
        true => apply(own, [q, kv].map(Tensor::into_dispatch)),
        false => composed::attention_first(q, kv, &own),
    }
}

/// Weighted sums of table rows: `y_i = Σ_j values_j · table[indices_j]` over row i's entries, shape
/// `[batch, width]`, differentiable in the table.
///
/// With `by_rows` the gradient of the table costs what the batch touches on the CPU engine: it is [by
/// rows](RowGradient). The table then has at most [`RowGradient::ROWS`] rows, and the graph may use it only here.
///
/// # Panics
/// If an index is not below the number of rows of the table; by rows for a larger table.
pub fn bag(table: Tensor<2>, batch: Arc<SparseBatch>, by_rows: bool) -> Tensor<2> {
    let rows = table.dims()[0];
    assert!(!by_rows || rows <= RowGradient::ROWS, "too many rows for a gradient by rows");
    assert!(batch.indices.iter().all(|&i| (i as usize) < rows), "index beyond the table");
    if !on_cpu_engine(&table) {
        return composed::bag(table, &batch);
    }
    apply(Bag { batch, by_rows }, [table.into_dispatch()])
}
