//! The heavy code: products of blocks of rows with each other, with a sketch, with a basis.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::column_index::ByColumn;
use super::{BitBlock, Block, DenseBlock, RowSource, SparseBlock, simd};
use crate::Error;

/// Rows of the right block in one task.
const TILE: usize = 128;

/// Columns of Φ whose products with a sketch one task adds up: a multiple of 64, whole words of bits.
pub(crate) const SPAN: usize = 256;

/// Sparse rows to be multiplied with fewer than this many others are not sorted by column first.
const FEW: usize = 16;

/// `⟨a_i, b_j⟩` for all pairs of rows, `a.len()` × `b.len()`, in `f64`.
///
/// Dense: a matrix product; bits: counts of common ones; sparse: sums over common columns.
/// `f32` products are exact in `f64`, so the result carries rounding of 1e-16, not of 1e-7, and
/// survives a relative eigenvalue cut-off of 1e-10.
///
/// # Errors
/// [`Error::Shape`] for blocks that differ in kind or width.
pub fn inner(a: &Block, b: &Block) -> Result<Mat<f64>, Error> {
    inner_columns(a, b, |_, _| {})
}

/// The products of all rows of a with each row j of b, after `f(products, j)`, in parallel over tiles of b.
pub(crate) fn inner_columns(
    a: &Block,
    b: &Block,
    f: impl Fn(&mut [f64], usize) + Sync,
) -> Result<Mat<f64>, Error> {
    if a.width() != b.width() {
        return Err(Error::width(b.width(), a.width()));
    }
    let mut out = Mat::zeros(a.len(), b.len());
    if a.is_empty() || b.is_empty() {
        return Ok(out);
    }
    let tiles = out.par_col_chunks_mut(TILE).enumerate();
    let fill = |products: &(dyn Fn(usize, MatMut<f64>) + Sync)| {
        tiles.for_each(|(tile, mut out)| {
            let start = tile * TILE;
            products(start, out.as_mut());
            for j in 0..out.ncols() {
                match out.as_mut().col_mut(j).try_as_col_major_mut() {
                    Some(column) => f(column.as_slice_mut(), start + j),
                    None => unreachable!("the columns of a new matrix are contiguous"),
                }
            }
        });
    };
    match (a, b) {
        (Block::Dense(a), Block::Dense(b)) => {
            let wide = widen(a.values());
            let lhs = MatRef::from_row_major_slice(&wide, a.len(), a.width());
            fill(&|start, out| dense_tile(lhs, b, start, out));
        }
        (Block::Bits(a), Block::Bits(b)) => fill(&|start, out| bits_tile(a, b, start, out)),
        (Block::Sparse(a), Block::Sparse(b)) => {
            let index = (b.len() >= FEW).then(|| ByColumn::new(a, |_| true));
            fill(&|start, out| sparse_tile(a, index.as_ref(), b, start, out));
        }
        _ => return Err(Error::kind(b.kind(), a.kind())),
    }
    Ok(out)
}

fn dense_tile(lhs: MatRef<f64>, b: &DenseBlock, start: usize, out: MatMut<f64>) {
    let (count, width) = (out.ncols(), b.width());
    let wide = widen(&b.values()[start * width..(start + count) * width]);
    let rhs = MatRef::from_column_major_slice(&wide, width, count);
    matmul(out, Accum::Replace, lhs, rhs, 1.0, Par::Seq);
}

fn bits_tile(a: &BitBlock, b: &BitBlock, start: usize, mut out: MatMut<f64>) {
    let mut column = vec![0.0; a.len()];
    for j in 0..out.ncols() {
        simd::common_ones(a.words(), b.row(start + j), &mut column);
        column.iter().enumerate().for_each(|(i, &count)| out[(i, j)] = count);
    }
}

fn sparse_tile(
    a: &SparseBlock,
    index: Option<&ByColumn>,
    b: &SparseBlock,
    start: usize,
    mut out: MatMut<f64>,
) {
    let mut products = vec![0.0; a.len()];
    for j in 0..out.ncols() {
        let y = b.row(start + j);
        match index {
            Some(index) => {
                products.fill(0.0);
                index.add_products(y, &mut products);
            }
            None => {
                products.iter_mut().enumerate().for_each(|(i, x)| *x = merged(a.row(i), y));
            }
        }
        products.iter().enumerate().for_each(|(i, &product)| out[(i, j)] = product);
    }
}

/// `⟨x, y⟩` of two sparse rows by walking both.
fn merged(x: (&[u32], &[f32]), y: (&[u32], &[f32])) -> f64 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while i < x.0.len() && j < y.0.len() {
        match x.0[i].cmp(&y.0[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                sum += f64::from(x.1[i]) * f64::from(y.1[j]);
                i += 1;
                j += 1;
            }
        }
    }
    sum
}

/// `R_B Φ_B` of one block of dense rows, m × d row-major, in `f32`.
///
/// `columns` holds R_B, m × `rows.len()` with m contiguous.
pub(crate) fn sketch_dense(columns: &[f32], m: usize, rows: &DenseBlock) -> Vec<f32> {
    let (len, width) = (rows.len(), rows.width());
    let mut out = vec![0.0; m * width];
    let product = MatMut::from_row_major_slice_mut(&mut out, m, width);
    let columns = MatRef::from_column_major_slice(columns, m, len);
    let rows = MatRef::from_row_major_slice(rows.values(), len, width);
    matmul(product, Accum::Replace, columns, rows, 1.0, Par::Seq);
    out
}

/// Adds `R_B Φ_B` of several blocks of bits or sparse rows to `out`, the columns of an m × d matrix from
/// `first` on, which is a multiple of [`SPAN`], with m contiguous.
///
/// Parallel over the columns of Φ, so that an element is always summed in the order of the rows.
pub(crate) fn sketch_sparse(blocks: &[(Vec<f32>, Block)], m: usize, first: usize, out: &mut [f64]) {
    out.par_chunks_mut(m * SPAN).enumerate().for_each(|(span, out)| {
        let start = first + span * SPAN;
        let end = start + out.len() / m;
        for (columns, block) in blocks {
            for (row, weights) in columns.chunks_exact(m).enumerate() {
                block.entries(row, start..end, |column, value| {
                    let at = (column - start) * m;
                    simd::add_scaled_f64(&mut out[at..at + m], value.into(), weights);
                });
            }
        }
    });
}

/// The same numbers in `f64`.
pub(crate) fn widen(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| value.into()).collect()
}
