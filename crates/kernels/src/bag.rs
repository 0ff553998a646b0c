use std::sync::Arc;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::module::ParamId;
use rayon::prelude::*;

use crate::operation::{Operation, Shared, sides, values, wrap};
use crate::row_gradient::{RowGradient, RowGradients};
use crate::simd::{ROWS_AHEAD, add_scaled, prefetch};

/// Sparse rows of one batch, one after the other.
#[derive(Clone, Debug, Default)]
pub struct SparseBatch {
    /// Row i is `starts[i]..starts[i + 1]` of the other two; one longer than the batch.
    pub starts: Vec<usize>,
    /// Feature indices, each below the number of rows of the table.
    pub indices: Vec<u32>,
    /// The values of the entries.
    pub values: Vec<f32>,
}

impl SparseBatch {
    /// Creates rows with one entry of value 1 each: y_i is row `rows_i` of the table.
    pub fn selection(rows: impl Iterator<Item = u32>) -> Self {
        let indices: Vec<u32> = rows.collect();
        let n = indices.len();
        Self { starts: (0..=n).collect(), indices, values: vec![1.0; n] }
    }

    /// Returns whether each row has one entry of value 1.
    #[cfg(feature = "cube")]
    pub fn is_selection(&self) -> bool {
        self.rows() == self.indices.len()
            && self.starts.iter().enumerate().all(|(i, &start)| i == start)
            && self.values.iter().all(|&value| value == 1.0)
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }
}

/// `y_i = Σ_j values_j · table[indices_j]` over row i's entries.
#[derive(Clone)]
pub struct Bag {
    pub batch: Arc<SparseBatch>,
    /// The table's identity, and what takes its gradient [by rows](RowGradient) on the CPU engine.
    pub by_rows: Option<(ParamId, RowGradients)>,
}

impl Operation<Flex, 1> for Bag {
    /// Number of rows of the table.
    type Saved = usize;

    fn forward(&self, [table]: [FlexTensor; 1], _: bool) -> (FlexTensor, Self::Saved) {
        let (rows, width) = sides(&table);
        let batch = &self.batch;
        let table = values(&table);
        let mut y = vec![0.0f32; batch.rows() * width];
        let row = |j: usize| &table[batch.indices[j] as usize * width..][..width];
        y.par_chunks_mut(width.max(1)).enumerate().for_each(|(i, y)| {
            let entries = batch.starts[i]..batch.starts[i + 1];
            for j in entries.clone() {
                if j + ROWS_AHEAD < entries.end {
                    prefetch(row(j + ROWS_AHEAD));
                }
                add_scaled(y, batch.values[j], row(j));
            }
        });
        (wrap(y, [batch.rows(), width]), rows)
    }

    /// Computes `dtable[index] += value · dy_row`, every row in the order of the batch, whatever the number of threads.
    /// A gradient by rows has only the rows that the batch names, and Burn gets none.
    fn backward(self, rows: usize, dy: FlexTensor, [wanted]: [bool; 1]) -> [Option<FlexTensor>; 1] {
        if !wanted {
            return [None];
        }
        let (_, width) = sides(&dy);
        let dy = values(&dy);
        let entries = by_table_row(&self.batch);
        let touched: Vec<_> = entries.chunk_by(|a, b| a.0 == b.0).collect();
        let count = if self.by_rows.is_some() { touched.len() } else { rows };
        let mut gradient = vec![0.0f32; count * width];
        let target = Shared(gradient.as_mut_ptr());
        touched.par_iter().enumerate().for_each(|(at, entries)| {
            let row = if self.by_rows.is_some() { at } else { entries[0].0 as usize };
            // SAFETY: the row lies in the gradient, and only this task writes it
            let out = unsafe { std::slice::from_raw_parts_mut(target.at(row * width), width) };
            for &(_, row, value) in *entries {
                add_scaled(out, value, &dy[row as usize * width..][..width]);
            }
        });
        let Some((table, gradients)) = self.by_rows else {
            return [Some(wrap(gradient, [rows, width]))];
        };
        let numbers = touched.iter().map(|entries| entries[0].0).collect();
        gradients.add(table, RowGradient::new(numbers, gradient, width));
        [None]
    }
}

/// Returns the table row, row of the batch and value of each entry, sorted by table rows.
pub fn by_table_row(batch: &SparseBatch) -> Vec<(u32, u32, f32)> {
    let mut entries = Vec::with_capacity(batch.indices.len());
    for i in 0..batch.rows() {
        let row = batch.starts[i]..batch.starts[i + 1];
        entries.extend(row.map(|j| (batch.indices[j], i as u32, batch.values[j])));
    }
    // a stable sort keeps the entries of one table row in the order of the batch
    entries.par_sort_by_key(|entry| entry.0);
    entries
}
