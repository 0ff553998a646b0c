//! The heavy code: products of blocks of rows with each other, with a sketch, with a basis.

use std::ops::{AddAssign, Mul, Range};

use dsokr_core::Error;
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::sparse::sorted_by_place;
use super::{Block, DenseBlock, Features, RowSource, SparseBlock, check_alike, simd};

/// Rows of the right block in one task.
const TILE: usize = 128;

/// Columns of Φ whose products with a sketch one task adds up: a multiple of 64, whole words of bits.
pub(crate) const SPAN: usize = 256;

/// Rows of a sketch with few entries whose products with Φ one task adds up.
const STRIPE: usize = 32;

/// Sparse rows to be multiplied with fewer than this many others are not sorted by column first.
const FEW: usize = 16;

/// Computes `⟨a_i, b_j⟩` for all pairs of rows, `a.len()` × `b.len()`, in `f64`.
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

/// Returns the products of all rows of a with each row j of b, after `f(products, j)`, in parallel over tiles of b.
pub(crate) fn inner_columns(
    a: &Block,
    b: &Block,
    f: impl Fn(&mut [f64], usize) + Sync,
) -> Result<Mat<f64>, Error> {
    check_alike((b.kind(), b.width()), (a.kind(), a.width()))?;
    let mut out = Mat::zeros(a.len(), b.len());
    if a.is_empty() || b.is_empty() {
        return Ok(out);
    }
    let tiles = out.par_col_chunks_mut(TILE).enumerate();
    // all columns of a tile at once, or one after another
    let fill = |tile: &(dyn Fn(usize, MatMut<f64>) + Sync), column: &Column| {
        tiles.for_each(|(at, mut out)| {
            let start = at * TILE;
            tile(start, out.as_mut());
            for j in 0..out.ncols() {
                match out.as_mut().col_mut(j).try_as_col_major_mut() {
                    Some(products) => {
                        let products = products.as_slice_mut();
                        column(start + j, products);
                        f(products, start + j);
                    }
                    None => unreachable!("the columns of a new matrix are contiguous"),
                }
            }
        });
    };
    match (a, b) {
        (Block::Dense(a), Block::Dense(b)) => {
            let wide = widen(a.values());
            let lhs = MatRef::from_row_major_slice(&wide, a.len(), a.width());
            let tile = |start: usize, out: MatMut<f64>| {
                let count = out.ncols();
                let width = b.width();
                let wide = widen(&b.values()[start * width..(start + count) * width]);
                let rhs = MatRef::from_column_major_slice(&wide, width, count);
                matmul(out, Accum::Replace, lhs, rhs, 1.0, Par::Seq);
            };
            fill(&tile, &|_, _| {});
        }
        (Block::Bits(a), Block::Bits(b)) => {
            fill(&|_, _| {}, &|j, out| simd::common_ones(a.values(), b.row(j), out));
        }
        (Block::Sparse(a), Block::Sparse(b)) => {
            let index = (b.len() >= FEW).then(|| ByColumn::new(a, |_| true));
            let merge = |j: usize, out: &mut [f64]| {
                out.iter_mut().enumerate().for_each(|(i, x)| *x = merged(a.row(i), b.row(j)));
            };
            fill(&|_, _| {}, &|j, out| match &index {
                // to the zeros of a new matrix
                Some(index) => index.add_products(b.row(j), out),
                None => merge(j, out),
            });
        }
        _ => return Err(Error::kind(b.kind(), a.kind())),
    }
    Ok(out)
}

/// A function that fills in the products with row j.
type Column<'a> = dyn Fn(usize, &mut [f64]) + Sync + 'a;

/// Computes `⟨x, y⟩` of two sparse rows by walking both.
fn merged(x: (&[u32], &[f32]), y: (&[u32], &[f32])) -> f64 {
    let mut i = 0;
    let mut j = 0;
    let mut sum = 0.0;
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

/// Returns `R_B Φ_B` of one block of dense rows, m × d row-major, in `f32`, for the columns of R_B, rows of m numbers.
pub(crate) fn sketch_dense(columns: &DenseBlock, rows: &DenseBlock) -> Vec<f32> {
    let len = rows.len();
    let m = columns.width();
    let width = rows.width();
    let mut out = vec![0.0; m * width];
    let product = MatMut::from_row_major_slice_mut(&mut out, m, width);
    let columns = MatRef::from_column_major_slice(columns.values(), m, len);
    let rows = MatRef::from_row_major_slice(rows.values(), len, width);
    matmul(product, Accum::Replace, columns, rows, 1.0, Par::Seq);
    out
}

/// Adds `R_B Φ_B` of several blocks to `out`, rows of an m × d matrix from `first` on, row-major, for rows Φ_B that are
/// dense and columns R_B that are sparse.
///
/// Parallel over the rows of R, so that an element is always summed in the order of the rows of Φ.
pub(crate) fn sketch_dense_rows(
    blocks: &[(Features, Block)],
    width: usize,
    first: usize,
    out: &mut [f64],
) {
    out.par_chunks_mut(STRIPE * width).enumerate().for_each(|(stripe, out)| {
        let start = first + stripe * STRIPE;
        let end = start + out.len() / width;
        for (columns, block) in blocks {
            let Block::Dense(rows) = block else { continue };
            for row in 0..rows.len() {
                columns.entries(row, start..end, |at, weight| {
                    let out = &mut out[(at - start) * width..][..width];
                    simd::add_scaled_f64(out, weight.into(), rows.row(row));
                });
            }
        }
    });
}

/// Adds `R_B Φ_B` of several blocks of bits or sparse rows to `out`, the columns of an m × d matrix from
/// `first` on, which is a multiple of [`SPAN`], with m contiguous.
///
/// Parallel over the columns of Φ, so that an element is always summed in the order of the rows.
pub(crate) fn sketch_other_rows(
    blocks: &[(Features, Block)],
    m: usize,
    first: usize,
    out: &mut [f64],
) {
    out.par_chunks_mut(m * SPAN).enumerate().for_each(|(span, out)| {
        let start = first + span * SPAN;
        let end = start + out.len() / m;
        for (columns, block) in blocks {
            for row in 0..block.len() {
                block.entries(row, start..end, |column, value| {
                    let out = &mut out[(column - start) * m..][..m];
                    match columns {
                        Block::Dense(columns) => {
                            simd::add_scaled_f64(out, value.into(), columns.row(row));
                        }
                        Block::Sparse(columns) => {
                            for (at, weight) in columns.cells(row) {
                                out[at as usize] += f64::from(value) * f64::from(weight);
                            }
                        }
                        Block::Bits(_) => unreachable!("a sketch has numbers, not bits"),
                    }
                });
            }
        }
    });
}

/// Returns the same numbers in `f64`.
pub(crate) fn widen(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| value.into()).collect()
}

/// The entries of sparse rows, column by column: a product with another row then touches only the
/// entries that it has in common with it.
#[derive(Clone, Debug)]
struct ByColumn {
    /// The columns that occur, if they are few among all; else every column has a place.
    occurring: Option<Vec<u32>>,
    /// Entries of place k are `offsets[k]..offsets[k + 1]`.
    offsets: Vec<usize>,
    /// (row, value), by increasing row within a column; a product of more rows than `u32` numbers
    /// would not fit in any memory.
    entries: Vec<(u32, f32)>,
}

impl ByColumn {
    /// Creates the lists of the entries whose column is kept.
    fn new(rows: &SparseBlock, keep: impl Fn(u32) -> bool) -> Self {
        let row = |row: usize| rows.cells(row).filter(|&(column, _)| keep(column));
        let all = || (0..rows.len()).flat_map(row);
        let count = all().count();
        let occurring = (rows.width() > 4 * count).then(|| {
            let mut columns: Vec<u32> = all().map(|(column, _)| column).collect();
            columns.sort_unstable();
            columns.dedup();
            columns
        });
        let places = occurring.as_ref().map_or(rows.width(), Vec::len);
        let row = |at: usize| row(at).map(move |(column, value)| (column, (at as u32, value)));
        let cells = (0..rows.len()).flat_map(row);
        let placed = cells.filter_map(|(column, cell)| Some((place(&occurring, column)?, cell)));
        let (offsets, entries) = sorted_by_place(places, placed);
        Self { occurring, offsets, entries }
    }

    /// Adds `⟨row_i, y⟩` to the i-th number of `products`, in the order of the columns; only for as many
    /// rows as there are numbers.
    fn add_products<T>(&self, y: (&[u32], &[f32]), products: &mut [T])
    where
        T: Copy + From<f32> + Mul<Output = T> + AddAssign,
    {
        // Most columns hold few entries: what is asked for each of them is asked outside of the loop.
        match &self.occurring {
            Some(columns) => self.add_at(y, products, |column| columns.binary_search(&column).ok()),
            None => self.add_at(y, products, |column| Some(column as usize)),
        }
    }

    #[inline]
    fn add_at<T>(
        &self,
        y: (&[u32], &[f32]),
        products: &mut [T],
        place: impl Fn(u32) -> Option<usize>,
    ) where
        T: Copy + From<f32> + Mul<Output = T> + AddAssign,
    {
        for (&column, &value) in y.0.iter().zip(y.1) {
            let Some(place) = place(column) else { continue };
            let value = T::from(value);
            for &(row, entry) in &self.entries[self.offsets[place]..self.offsets[place + 1]] {
                // rows increase
                let Some(sum) = products.get_mut(row as usize) else { break };
                *sum += T::from(entry) * value;
            }
        }
    }
}

fn place(occurring: &Option<Vec<u32>>, column: u32) -> Option<usize> {
    match occurring {
        Some(columns) => columns.binary_search(&column).ok(),
        None => Some(column as usize),
    }
}

/// Rows of queries in one task.
const QUERIES: usize = 128;

/// A column that more than one row in this many has is frequent: there a dense product is cheaper
/// than visiting the rows that have it.
const FREQUENT: usize = 10;

/// Sparse rows by their columns, for products of many pairs in `f32`.
///
/// A pair costs what the two rows have in common, instead of what one of them holds: the rare columns
/// are lists of rows, the frequent ones a dense matrix. On TF-IDF rows of n-grams, where common
/// columns are few, that is some twenty times less than [`inner`], whose sums are
/// in `f64`.
///
/// ```
/// use dsokr_basis::features::{ColumnIndex, SparseRows};
///
/// let rows = SparseRows::new(3, vec![0, 2, 3], vec![0, 2, 2], vec![1.0, 2.0, 4.0])?;
/// let products = ColumnIndex::new(&rows).products(&rows, 2)?;
/// assert_eq!((products[(0, 0)], products[(1, 0)], products[(1, 1)]), (5.0, 8.0, 16.0));
/// # Ok::<(), dsokr_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ColumnIndex {
    width: usize,
    rows: usize,
    /// The place of each column among the frequent ones, or none.
    place: Vec<u32>,
    /// The frequent columns, row by row.
    dense: Vec<f32>,
    frequent: usize,
    /// The entries of the other columns.
    rare: ByColumn,
}

const RARE: u32 = u32::MAX;

impl ColumnIndex {
    /// Creates the index of the given rows.
    pub fn new(rows: &SparseBlock) -> Self {
        let width = rows.width();
        let len = rows.len();
        let common = rows.common(len / FREQUENT + 1);
        let mut place = vec![RARE; width];
        (0..).zip(&common).for_each(|(at, &column)| place[column as usize] = at);
        let rare = ByColumn::new(rows, |column| place[column as usize] == RARE);
        let dense = frequent_columns(rows, 0..len, &place, common.len());
        let frequent = common.len();
        Self { width, rows: len, place, dense, frequent, rare }
    }

    /// Computes `⟨x_i, q_j⟩` of the first `limit` rows with each query, `limit` × queries, in parallel.
    ///
    /// A value depends on the two rows and on which columns are frequent, not on the number of
    /// threads.
    ///
    /// # Errors
    /// [`Error::Shape`] for queries of a width that differs, and for a limit above the number of rows.
    pub fn products(&self, queries: &SparseBlock, limit: usize) -> Result<Mat<f32>, Error> {
        if queries.width() != self.width {
            return Err(Error::width(queries.width(), self.width));
        }
        if limit > self.rows {
            return Err(Error::range(0, limit, self.rows));
        }
        let mut out = Mat::zeros(limit, queries.len());
        out.par_col_chunks_mut(QUERIES).enumerate().for_each(|(task, out)| {
            self.task(queries, task * QUERIES, out);
        });
        Ok(out)
    }

    fn task(&self, queries: &SparseBlock, start: usize, mut out: MatMut<f32>) {
        let limit = out.nrows();
        let count = out.ncols();
        if self.frequent > 0 && limit > 0 {
            let frequent =
                frequent_columns(queries, start..start + count, &self.place, self.frequent);
            let rows = &self.dense[..limit * self.frequent];
            let rows = MatRef::from_row_major_slice(rows, limit, self.frequent);
            let frequent = MatRef::from_column_major_slice(&frequent, self.frequent, count);
            matmul(out.as_mut(), Accum::Replace, rows, frequent, 1.0, Par::Seq);
        }
        let mut sum = vec![0.0f32; limit];
        for j in 0..count {
            sum.fill(0.0);
            self.rare.add_products(queries.row(start + j), &mut sum);
            out.as_mut().col_mut(j).iter_mut().zip(&sum).for_each(|(out, sum)| *out += sum);
        }
    }
}

/// Returns the `count` frequent columns of some rows, row by row.
fn frequent_columns(
    rows: &SparseBlock,
    range: Range<usize>,
    place: &[u32],
    count: usize,
) -> Vec<f32> {
    let mut dense = vec![0.0; range.len() * count];
    for (row, out) in range.zip(dense.chunks_exact_mut(count.max(1))) {
        for (column, value) in rows.cells(row) {
            // none of a rare one
            if let Some(out) = out.get_mut(place[column as usize] as usize) {
                *out = value;
            }
        }
    }
    dense
}
