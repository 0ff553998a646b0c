//! The contract that every [`OutputKernel`] keeps, as a check that runs on any of them, custom ones
//! included.

use std::fmt::Display;

use dsokr_core::Error;
use faer::{Mat, Side};

use super::{OutputKernel, diagonal, gram};
use crate::features::{Block, RowSource, inner};

/// The tolerance for rounding, as a share of the largest value.
const TOLERANCE: f64 = 1e-12;

/// Checks a kernel on three or more rows that it is defined on; some dozens are enough, since time
/// grows with the cube of their number.
///
/// - It accepts the rows, and all values are finite.
/// - A value depends only on its two rows: other blocks and other numbers of threads give the same
///   Gram matrix, the first to 1e-12 of its largest value, the second bit for bit.
/// - The matrix is symmetric and positive semi-definite, both to 1e-12 of the largest (eigen)value.
/// - The diagonal equals the matrix's, and is 1 for every row if the kernel is normalised.
/// - A kernel with a feature scale is the inner product of scaled rows, and 1 for two zero rows if it is
///   normalised.
///
/// # Errors
/// [`Error::Contract`] with the first breach; an error of the kernel, such as rows of a kind that it does not accept.
pub fn check(kernel: &dyn OutputKernel, rows: &dyn RowSource) -> Result<(), Error> {
    let n = rows.len();
    if n < 3 {
        return breach(format_args!("three rows are needed, not {n}"));
    }
    kernel.validate(rows.kind())?;
    let all = rows.block(0..n)?;
    kernel.check(&all)?;
    let whole = on_threads(1, || gram(kernel, &all, &all))?;
    let mut largest = 0.0f64;
    for (i, j) in pairs(n) {
        let value = whole[(i, j)];
        if !value.is_finite() {
            return breach(format_args!("k({i}, {j}) is {value}"));
        }
        largest = largest.max(value.abs());
    }
    let close = |a: f64, b: f64| (a - b).abs() <= TOLERANCE * largest;
    if on_threads(3, || gram(kernel, &all, &all))? != whole {
        return breach("a different number of threads gives different values");
    }
    for start in 0..n {
        // blocks of several sizes: one row, and the rows behind it
        for end in [start + 1, n] {
            let part = rows.block(start..end)?;
            let part_gram = gram(kernel, &part, &all)?;
            let mut part_pairs = pairs(n).filter(|(i, _)| (start..end).contains(i));
            if let Some((i, j)) =
                part_pairs.find(|&(i, j)| !close(part_gram[(i - start, j)], whole[(i, j)]))
            {
                return breach(format_args!(
                    "k({i}, {j}) has a different value in a block of rows {start}..{end}"
                ));
            }
        }
    }
    if let Some((i, j)) = pairs(n).find(|&(i, j)| !close(whole[(i, j)], whole[(j, i)])) {
        return breach(format_args!(
            "k({i}, {j}) = {}, k({j}, {i}) = {}",
            whole[(i, j)],
            whole[(j, i)]
        ));
    }
    check_diagonal(kernel, &all, &whole, close)?;
    check_scale(kernel, &all, &whole, close)?;
    let values = whole
        .self_adjoint_eigenvalues(Side::Lower)
        .map_err(|e| Error::Numeric(format!("the eigenvalues of the Gram matrix: {e:?}")))?;
    let (least, most) = values.iter().fold((0.0f64, 0.0f64), |(a, b), &v| (a.min(v), b.max(v)));
    if least < -TOLERANCE * most {
        return breach(format_args!(
            "not positive semi-definite: eigenvalues from {least} to {most}"
        ));
    }
    Ok(())
}

fn check_diagonal(
    kernel: &dyn OutputKernel,
    all: &Block,
    gram: &Mat<f64>,
    close: impl Fn(f64, f64) -> bool,
) -> Result<(), Error> {
    let values = diagonal(kernel, all)?;
    for (i, &value) in values.iter().enumerate() {
        let expected = gram[(i, i)];
        if !close(value, expected) {
            return breach(format_args!(
                "the diagonal of row {i} is {value}, k({i}, {i}) = {expected}"
            ));
        }
        if kernel.is_normalised() && !close(value, 1.0) {
            return breach(format_args!("the kernel is normalised, but k({i}, {i}) = {value}"));
        }
    }
    Ok(())
}

fn check_scale(
    kernel: &dyn OutputKernel,
    all: &Block,
    gram: &Mat<f64>,
    close: impl Fn(f64, f64) -> bool,
) -> Result<(), Error> {
    let products = inner(all, all)?;
    let norms = all.squared_norms();
    let scales: Option<Vec<f64>> =
        norms.iter().map(|&squared| kernel.feature_scale(squared)).collect();
    let Some(scales) = scales else { return Ok(()) };
    let linear = |i: usize, j: usize| {
        if norms[i] + norms[j] == 0.0 && kernel.is_normalised() {
            1.0
        } else {
            scales[i] * scales[j] * products[(i, j)]
        }
    };
    match pairs(all.len()).find(|&(i, j)| !close(gram[(i, j)], linear(i, j))) {
        Some((i, j)) => breach(format_args!(
            "k({i}, {j}) = {}, the product of the scaled rows is {}",
            gram[(i, j)],
            linear(i, j)
        )),
        None => Ok(()),
    }
}

fn pairs(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(move |i| (0..n).map(move |j| (i, j)))
}

fn on_threads<T: Send>(
    threads: usize,
    compute: impl FnOnce() -> Result<T, Error> + Send,
) -> Result<T, Error> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(Error::unsupported)?.install(compute)
}

fn breach(message: impl Display) -> Result<(), Error> {
    Err(Error::contract("kernel", message))
}
