//! The heavy code: products of blocks of rows with each other, with a sketch, with a basis.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::by_column::ByColumn;
use super::{BitBlock, Block, DenseBlock, SparseBlock, simd};
use crate::Error;

/// Rows of the right block in one task.
const TILE: usize = 128;

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
    inner_map(a, b, |product, _, _| product)
}

/// `f(⟨a_i, b_j⟩, i, j)` for all pairs of rows, in parallel over tiles of b.
pub(crate) fn inner_map(
    a: &Block,
    b: &Block,
    f: impl Fn(f64, usize, usize) -> f64 + Sync,
) -> Result<Mat<f64>, Error> {
    inner_columns(a, b, |column, j| {
        column.iter_mut().enumerate().for_each(|(i, value)| *value = f(*value, i, j));
    })
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
    let finish = |start: usize, mut tile: MatMut<f64>| {
        for j in 0..tile.ncols() {
            let mut column = tile.as_mut().col_mut(j);
            match column.as_mut().try_as_col_major_mut() {
                // The columns of a new matrix are contiguous.
                Some(column) => f(column.as_slice_mut(), start + j),
                None => {
                    let mut values: Vec<f64> = column.as_ref().iter().copied().collect();
                    f(&mut values, start + j);
                    column.iter_mut().zip(values).for_each(|(out, value)| *out = value);
                }
            }
        }
    };
    match (a, b) {
        (Block::Dense(a), Block::Dense(b)) => {
            let wide = widen(a.values());
            let lhs = MatRef::from_row_major_slice(&wide, a.len(), a.width());
            tiles.for_each(|(tile, mut out)| {
                let start = tile * TILE;
                dense_tile(lhs, b, start, out.as_mut());
                finish(start, out);
            });
        }
        (Block::Bits(a), Block::Bits(b)) => tiles.for_each(|(tile, mut out)| {
            let start = tile * TILE;
            bits_tile(a, b, start, out.as_mut());
            finish(start, out);
        }),
        (Block::Sparse(a), Block::Sparse(b)) => {
            let index = (b.len() >= FEW).then(|| ByColumn::new(a, |_| true));
            tiles.for_each(|(tile, mut out)| {
                let start = tile * TILE;
                sparse_tile(a, index.as_ref(), b, start, out.as_mut());
                finish(start, out);
            });
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
    let per_row = b.words_per_row();
    let mut column = vec![0.0; a.len()];
    for j in 0..out.ncols() {
        let at = (start + j) * per_row;
        simd::common_ones(a.words(), &b.words()[at..at + per_row], &mut column);
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
    matmul(
        MatMut::from_row_major_slice_mut(&mut out, m, width),
        Accum::Replace,
        MatRef::from_column_major_slice(columns, m, len),
        MatRef::from_row_major_slice(rows.values(), len, width),
        1.0,
        Par::Seq,
    );
    out
}

/// Adds `R_B Φ_B` of several blocks of bits or sparse rows to `out`, m × d with m contiguous.
///
/// Parallel over the columns of Φ, so that an element is always summed in the order of the rows.
pub(crate) fn sketch_sparse(blocks: &[(Vec<f32>, Block)], m: usize, out: &mut [f64]) {
    // A multiple of 64 columns: whole words of packed bits.
    const SPAN: usize = 256;
    out.par_chunks_mut(m * SPAN).enumerate().for_each(|(span, out)| {
        let start = span * SPAN;
        let end = start + out.len() / m;
        for (columns, block) in blocks {
            for (row, weights) in columns.chunks_exact(m).enumerate() {
                let mut add = |column: usize, value: f32| {
                    let at = (column - start) * m;
                    simd::add_scaled_f64(&mut out[at..at + m], value.into(), weights);
                };
                match block {
                    Block::Bits(block) => {
                        let per_row = block.words_per_row();
                        let words = &block.words()[row * per_row..(row + 1) * per_row];
                        let words = words.iter().enumerate().take(end.div_ceil(64));
                        for (at, &word) in words.skip(start / 64) {
                            ones(word, |bit| add(64 * at + bit, 1.0));
                        }
                    }
                    Block::Sparse(block) => {
                        let (columns, values) = block.row(row);
                        let low = columns.partition_point(|&column| (column as usize) < start);
                        for (&column, &value) in columns[low..].iter().zip(&values[low..]) {
                            if column as usize >= end {
                                break;
                            }
                            add(column as usize, value);
                        }
                    }
                    Block::Dense(block) => {
                        let width = block.width();
                        let values = &block.values()[row * width + start..row * width + end];
                        values.iter().enumerate().for_each(|(at, &value)| add(start + at, value));
                    }
                }
            }
        }
    });
}

/// `out = Y Mᵀ`: the coordinates of dense rows, n × p row-major; `matrix` is M, p × d row-major.
pub(crate) fn project_dense(matrix: &[f32], rows: &DenseBlock, out: &mut [f32]) {
    let (len, width) = (rows.len(), rows.width());
    let rank = matrix.len() / width;
    matmul(
        MatMut::from_column_major_slice_mut(out, rank, len),
        Accum::Replace,
        MatRef::from_row_major_slice(matrix, rank, width),
        MatRef::from_column_major_slice(rows.values(), width, len),
        1.0,
        Par::Seq,
    );
}

/// As [`project_dense`], summed in `f64`.
pub(crate) fn project_dense_wide(matrix: &[f32], rows: &DenseBlock, out: &mut [f64]) {
    let (len, width) = (rows.len(), rows.width());
    let rank = matrix.len() / width;
    let (matrix, rows) = (widen(matrix), widen(rows.values()));
    matmul(
        MatMut::from_column_major_slice_mut(out, rank, len),
        Accum::Replace,
        MatRef::from_row_major_slice(&matrix, rank, width),
        MatRef::from_column_major_slice(&rows, width, len),
        1.0,
        Par::Seq,
    );
}

/// As [`project_dense`] for bits and sparse rows; `transposed` is Mᵀ, d × p row-major.
pub(crate) fn project_sparse(transposed: &[f32], rank: usize, rows: &Block, out: &mut [f32]) {
    out.fill(0.0);
    for (row, out) in out.chunks_exact_mut(rank).enumerate() {
        entries(rows, row, |column, value| {
            simd::add_scaled(out, value, &transposed[column * rank..(column + 1) * rank]);
        });
    }
}

/// As [`project_sparse`], summed in `f64`.
pub(crate) fn project_sparse_wide(transposed: &[f32], rank: usize, rows: &Block, out: &mut [f64]) {
    out.fill(0.0);
    for (row, out) in out.chunks_exact_mut(rank).enumerate() {
        entries(rows, row, |column, value| {
            let column = &transposed[column * rank..(column + 1) * rank];
            simd::add_scaled_f64(out, value.into(), column);
        });
    }
}

/// Calls `add` with column and value of every stored entry of a row.
fn entries(rows: &Block, row: usize, mut add: impl FnMut(usize, f32)) {
    match rows {
        Block::Bits(block) => {
            let per_row = block.words_per_row();
            let words = &block.words()[row * per_row..(row + 1) * per_row];
            for (at, &word) in words.iter().enumerate() {
                ones(word, |bit| add(64 * at + bit, 1.0));
            }
        }
        Block::Sparse(block) => {
            let (columns, values) = block.row(row);
            columns.iter().zip(values).for_each(|(&column, &value)| add(column as usize, value));
        }
        Block::Dense(block) => {
            let width = block.width();
            let values = &block.values()[row * width..(row + 1) * width];
            values.iter().enumerate().for_each(|(column, &value)| add(column, value));
        }
    }
}

/// `Σ vᵢ²` in `f64`.
pub(crate) fn squared_norm(values: &[f32]) -> f64 {
    simd::squared_norm(values)
}

/// Calls `found` with the position of every one of a word, from the lowest.
fn ones(mut word: u64, mut found: impl FnMut(usize)) {
    while word != 0 {
        found(word.trailing_zeros() as usize);
        word &= word - 1;
    }
}

fn widen(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| value.into()).collect()
}
