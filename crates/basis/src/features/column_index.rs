use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::SparseBlock;
use super::by_column::ByColumn;
use crate::Error;

/// Rows of queries in one task.
const ROWS: usize = 128;

/// A column that more than one row in this many has is frequent: there a dense product is cheaper
/// than visiting the rows that have it.
const FREQUENT: usize = 10;

/// Sparse rows by their columns, for products of many pairs in `f32`.
///
/// A pair costs what the two rows have in common, instead of what one of them holds: the rare columns
/// are lists of rows, the frequent ones a dense matrix. On TF-IDF rows of n-grams, where common
/// columns are few, that is some twenty times less than [`inner`](super::inner), whose sums are
/// in `f64`.
///
/// ```
/// use dsokr_basis::features::{ColumnIndex, SparseRows};
///
/// let rows = SparseRows::new(3, vec![0, 2, 3], vec![0, 2, 2], vec![1.0, 2.0, 4.0])?;
/// let products = ColumnIndex::new(&rows).products(&rows, 2)?;
/// assert_eq!((products[(0, 0)], products[(1, 0)], products[(1, 1)]), (5.0, 8.0, 16.0));
/// # Ok::<(), dsokr_basis::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ColumnIndex {
    width: usize,
    rows: usize,
    /// For each column its place among the frequent ones, or none.
    place: Vec<u32>,
    /// The frequent columns, one row after another.
    dense: Vec<f32>,
    frequent: usize,
    /// The entries of the other columns.
    rare: ByColumn,
}

const RARE: u32 = u32::MAX;

impl ColumnIndex {
    /// Of the given rows.
    pub fn new(rows: &SparseBlock) -> Self {
        let (width, len) = (rows.width(), rows.len());
        let mut count = vec![0usize; width];
        for row in 0..len {
            rows.row(row).0.iter().for_each(|&column| count[column as usize] += 1);
        }
        let (mut place, mut frequent) = (vec![RARE; width], 0);
        for (place, &count) in place.iter_mut().zip(&count) {
            if count > len / FREQUENT {
                *place = frequent as u32;
                frequent += 1;
            }
        }
        let rare = ByColumn::new(rows, |column| place[column as usize] == RARE);
        let mut dense = vec![0.0; len * frequent];
        for row in 0..len {
            let (columns, own) = rows.row(row);
            for (&column, &value) in columns.iter().zip(own) {
                match place[column as usize] {
                    RARE => {}
                    place => dense[row * frequent + place as usize] = value,
                }
            }
        }
        Self { width, rows: len, place, dense, frequent, rare }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// `⟨x_i, q_j⟩` of the first `limit` rows with each query, `limit` × queries, in parallel.
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
        out.par_col_chunks_mut(ROWS).enumerate().for_each(|(task, out)| {
            self.task(queries, task * ROWS, out);
        });
        Ok(out)
    }

    fn task(&self, queries: &SparseBlock, start: usize, mut out: MatMut<f32>) {
        let (limit, count) = (out.nrows(), out.ncols());
        if self.frequent > 0 && limit > 0 {
            let mut own = vec![0.0f32; self.frequent * count];
            for (j, own) in own.chunks_exact_mut(self.frequent).enumerate() {
                let (columns, values) = queries.row(start + j);
                for (&column, &value) in columns.iter().zip(values) {
                    if let Some(own) = own.get_mut(self.place[column as usize] as usize) {
                        *own = value;
                    }
                }
            }
            let rows = &self.dense[..limit * self.frequent];
            let rows = MatRef::from_row_major_slice(rows, limit, self.frequent);
            let own = MatRef::from_column_major_slice(&own, self.frequent, count);
            matmul(out.as_mut(), Accum::Replace, rows, own, 1.0, Par::Seq);
        }
        let mut sum = vec![0.0f32; limit];
        for j in 0..count {
            sum.fill(0.0);
            self.rare.add_products(queries.row(start + j), &mut sum);
            out.as_mut().col_mut(j).iter_mut().zip(&sum).for_each(|(out, sum)| *out += sum);
        }
    }
}
