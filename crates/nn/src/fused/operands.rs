//! What matrix products are of: strided operands in 32 bits or rounded to bfloat16.

use half::bf16;
use rayon::prelude::*;

use crate::Precision;

/// A matrix in memory: its values from the first on, and the distances between rows and between columns, of
/// which one is 1.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub values: &'a [f32],
    pub row: usize,
    pub column: usize,
}

impl<'a> View<'a> {
    /// A matrix whose rows are `width` values apart.
    pub fn rows(values: &'a [f32], width: usize) -> Self {
        Self { values, row: width, column: 1 }
    }

    /// The transpose.
    pub fn transposed(self) -> Self {
        Self { row: self.column, column: self.row, ..self }
    }

    pub fn covers(&self, rows: usize, columns: usize) -> bool {
        let last = rows.saturating_sub(1) * self.row + columns.saturating_sub(1) * self.column;
        rows * columns == 0 || last < self.values.len()
    }

    /// Its values rounded to bfloat16, row by row.
    pub fn rounded(&self, rows: usize, columns: usize) -> Vec<f32> {
        let mut values = vec![0.0; rows * columns];
        let all = values.par_chunks_mut(columns.max(1)).with_min_len(64).enumerate();
        all.for_each(|(i, row)| {
            for (j, value) in row.iter_mut().enumerate() {
                *value = bf16::from_f32(self.values[i * self.row + j * self.column]).to_f32();
            }
        });
        values
    }
}

/// Whether a product may use the thread pool.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// Only the calling thread.
    One,
    /// All threads of the pool.
    All,
}

/// `factor · a b [+ bias]` for a `[m, k]`, b `[k, n]` and a bias `[n]` that is added to every row. The order
/// of summation does not depend on the number of threads.
#[derive(Clone, Copy)]
pub struct Product<'a> {
    /// m, n and k.
    pub sizes: (usize, usize, usize),
    pub a: View<'a>,
    pub b: View<'a>,
    pub factor: f32,
    pub bias: Option<&'a [f32]>,
    /// What is multiplied: 32 bits, or the operands rounded to bfloat16, to the nearest and, in the middle, to the
    /// even one. Sums have 32 bits.
    pub precision: Precision,
    pub threads: Threads,
}
