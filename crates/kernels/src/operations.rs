//! The operations on tensors, with checks of their shapes.

use std::sync::Arc;

use burn::module::ParamId;
use burn::tensor::Tensor;

use crate::attention::{Attention, Sequences};
use crate::bag::{Bag, SparseBatch};
use crate::dropout::Dropout;
use crate::linear::{AffineGelu, Linear};
use crate::masked::Masked;
use crate::norm::ResidualNorm;
use crate::operation::run;
use crate::precision::Precision;
use crate::row_gradient::RowGradients;
use crate::rows::{Kind, Rows};

/// Computes `x w + b` for x `[n, k]`, w `[k, m]`, b `[m]`. On a GPU the result has the type of `precision`.
///
/// # Panics
/// If the shapes do not fit.
pub fn linear(x: Tensor<2>, w: Tensor<2>, b: Tensor<1>, precision: Precision) -> Tensor<2> {
    check_linear(&x, &w, &b);
    run(Linear(precision), [x.into_dispatch(), w.into_dispatch(), b.into_dispatch()])
}

/// Returns `x w` for x `[n, k]`, w `[k, m]`. On a GPU the result has the type of `precision`.
///
/// # Panics
/// If the shapes do not fit.
pub fn product(x: Tensor<2>, w: Tensor<2>, precision: Precision) -> Tensor<2> {
    assert!(x.dims()[1] == w.dims()[0], "x {:?}, w {:?}", x.dims(), w.dims());
    run(Linear(precision), [x, w].map(Tensor::into_dispatch))
}

/// Computes `dropout(gelu(x w + b))` for x `[n, k]`, w `[k, m]`, b `[m]`; elements are numbered row by row. On a GPU
/// the result has the type of `precision`.
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
    let inputs = [x.into_dispatch(), w.into_dispatch(), b.into_dispatch()];
    run(AffineGelu { precision, dropout }, inputs)
}

fn check_linear(x: &Tensor<2>, w: &Tensor<2>, b: &Tensor<1>) {
    let x = x.dims();
    let w = w.dims();
    let b = b.dims();
    assert!(x[1] == w[0] && w[1] == b[0], "x {x:?}, w {w:?}, b {b:?}");
}

/// Computes `layer_norm(x + dropout(r + bias)) ∘ gamma + beta` over the rows of x and r `[n, d]`, with `epsilon`
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
    let [x, r] = [x, r].map(Tensor::into_dispatch);
    let [bias, gamma, beta] = [bias, gamma, beta].map(Tensor::into_dispatch);
    run(ResidualNorm { epsilon, dropout }, [x, r, bias, gamma, beta])
}

/// Computes `softmax(q kᵀ / √d_h) v` per head (Vaswani et al. 2017), every token attending to the tokens of
/// its own text.
///
/// `qkv` `[n, 3d]` holds queries, keys and values side by side, each with its heads side by side; n is
/// [`Sequences::rows`]. Returns `[n, d]`. Dropout applies to probabilities, which are numbered text by text,
/// head by head, row by row.
///
/// # Panics
/// If the shapes do not fit, or `heads` does not divide d.
pub fn attention(qkv: Tensor<2>, settings: Attention) -> Tensor<2> {
    let [n, triple] = qkv.dims();
    let fits = n == settings.sequences.rows() && triple.is_multiple_of(3 * settings.heads);
    assert!(fits, "qkv [{n}, {triple}]");
    run(settings, [qkv.into_dispatch()])
}

/// Computes [`attention`] of only the first token of each text: `q` `[texts, d]`, and keys and values side by side
/// in `kv` `[n, 2d]`; returns `[texts, d]`. Probabilities are numbered text by text, head by head.
///
/// # Panics
/// If the shapes do not fit, or `heads` does not divide d.
pub fn attention_first(q: Tensor<2>, kv: Tensor<2>, settings: Attention) -> Tensor<2> {
    let [texts, d] = q.dims();
    let [n, double] = kv.dims();
    let fits = texts == settings.sequences.texts() && n == settings.sequences.rows();
    let fits = fits && double == 2 * d && d.is_multiple_of(settings.heads);
    assert!(fits, "q [{texts}, {d}], kv [{n}, {double}]");
    run(settings, [q, kv].map(Tensor::into_dispatch))
}

/// Returns weighted sums of table rows: `y_i = Σ_j values_j · table[indices_j]` over row i's entries, shape
/// `[batch, width]`, differentiable in the table.
///
/// With `by_rows` the gradient of the table costs what the batch touches on the CPU engine: these [`RowGradients`] take
/// it under the identity of the table, and Burn gets none. A GPU gives Burn the gradient of all rows.
///
/// # Panics
/// If an index is not below the number of rows of the table.
pub fn bag(
    table: Tensor<2>,
    batch: Arc<SparseBatch>,
    by_rows: Option<(ParamId, RowGradients)>,
) -> Tensor<2> {
    let rows = table.dims()[0];
    if let Some(entry) = batch.indices.iter().position(|&index| index as usize >= rows) {
        let row = batch.starts.partition_point(|&start| start <= entry) - 1;
        let column = batch.indices[entry];
        panic!("row {row} of a batch has column {column}, the table has {rows} rows");
    }
    run(Bag { batch, by_rows }, [table.into_dispatch()])
}

/// Returns, for each token, the row of a table `[rows, d]` for its position in the text, `[n, d]`; the first position
/// has row `first`.
///
/// # Panics
/// If the table has no row for a place.
pub fn places(table: Tensor<2>, sequences: &Arc<Sequences>, first: usize) -> Tensor<2> {
    let rows = table.dims()[0];
    let longest = sequences.longest();
    assert!(first + longest <= rows, "{longest} places from row {first} on, of {rows}");
    let operation = Rows { sequences: sequences.clone(), kind: Kind::Places(first) };
    run(operation, [table.into_dispatch()])
}

/// Returns the mean of the rows of x `[n, d]` of each of the first `texts` texts, `[texts, d]`.
///
/// # Panics
/// If there are fewer texts, or rows.
pub fn means(x: Tensor<2>, sequences: &Arc<Sequences>, texts: usize) -> Tensor<2> {
    let n = x.dims()[0];
    assert!(texts <= sequences.texts() && n == sequences.rows(), "x [{n}], {texts} texts");
    run(Rows { sequences: sequences.clone(), kind: Kind::Means(texts) }, [x.into_dispatch()])
}

/// Returns `x` with dropout, if there is any; elements are counted in row-major order.
pub fn masked<const D: usize>(x: Tensor<D>, dropout: Option<Dropout>) -> Tensor<D> {
    match dropout {
        Some(mask) => run(Masked(mask), [x.into_dispatch()]),
        None => x,
    }
}
