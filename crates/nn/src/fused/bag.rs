use std::sync::Arc;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::Tensor;
use rayon::prelude::*;

use super::operation::{Operation, Shared, sides, values, wrap};
use super::simd::{ROWS_AHEAD, add_scaled, prefetch};

/// Sparse rows of one batch, one after the other.
#[derive(Clone, Debug, Default)]
pub struct SparseBatch {
    /// Row i is `starts[i]..starts[i + 1]` of the other two; one longer than the batch.
    pub starts: Vec<usize>,
    /// Feature indices, each below the number of rows of the table.
    pub indices: Vec<u32>,
    /// Their values.
    pub values: Vec<f32>,
}

impl SparseBatch {
    /// Rows with one entry of value 1 each: y_i is row `rows_i` of the table.
    pub fn selection(rows: impl Iterator<Item = u32>) -> Self {
        let indices: Vec<u32> = rows.collect();
        let n = indices.len();
        Self { starts: (0..=n).collect(), indices, values: vec![1.0; n] }
    }

    /// Whether each row has one entry of value 1.
    #[cfg(feature = "cube")]
    pub fn is_selection(&self) -> bool {
        self.rows() == self.indices.len()
            && self.starts.iter().enumerate().all(|(i, &start)| i == start)
            && self.values.iter().all(|&value| value == 1.0)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }
}

/// `y_i = Σ_j values_j · table[indices_j]` over row i's entries.
#[derive(Clone)]
pub struct Bag {
    pub batch: Arc<SparseBatch>,
    /// Whether the gradient of the table is [by rows](RowGradient).
    pub by_rows: bool,
}

impl Operation<Flex, 1> for Bag {
    /// Number of rows of the table.
    type Saved = usize;

    fn forward(&self, [table]: [FlexTensor; 1], _: bool) -> (FlexTensor, Self::Saved) {
        let ((rows, width), batch) = (sides(&table), &self.batch);
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

    /// `dtable[index] += value · dy_row`, every row in the order of the batch, whatever the number of threads. By rows
    /// it has only the rows that the batch names: each follows its number, in the order of the table.
    fn backward(self, rows: usize, dy: FlexTensor, [wanted]: [bool; 1]) -> [Option<FlexTensor>; 1] {
        if !wanted {
            return [None];
        }
        let ((_, width), dy) = (sides(&dy), values(&dy));
        let entries = by_table_row(&self.batch);
        let touched: Vec<_> = entries.chunk_by(|a, b| a.0 == b.0).collect();
        let shape = if self.by_rows { [touched.len(), 1 + width] } else { [rows, width] };
        let mut gradient = vec![0.0f32; shape[0] * shape[1]];
        let target = Shared(gradient.as_mut_ptr());
        touched.par_iter().enumerate().for_each(|(at, entries)| {
            let index = entries[0].0;
            let row = if self.by_rows { at } else { index as usize };
            // SAFETY: the row lies in the gradient, and only this task writes it
            let out =
                unsafe { std::slice::from_raw_parts_mut(target.at(row * shape[1]), shape[1]) };
            let (number, out) = out.split_at_mut(shape[1] - width);
            number.fill(index as f32);
            for &(_, row, value) in *entries {
                add_scaled(out, value, &dy[row as usize * width..][..width]);
            }
        });
        [Some(wrap(gradient, shape))]
    }
}

/// Table row, row of the batch and value of each entry, sorted by table rows.
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

/// The gradient of a table `[rows, p]` where only some rows have one: a tensor `[touched, 1 + p]` in the
/// place of one of the table's shape. Each of its rows is the number of a table row, ascending, and that
/// row's gradient.
pub struct RowGradient;

impl RowGradient {
    /// The most rows of a table: their numbers are 32-bit floats, which are exact up to 2²⁴.
    pub const ROWS: usize = 1 << 24;

    /// Whether a gradient of a parameter is by rows.
    pub fn is<const D: usize>(gradient: &Tensor<D>, parameter: &Tensor<D>) -> bool {
        D == 2 && gradient.dims()[1] == parameter.dims()[1] + 1
    }

    /// The numbers of the rows, if a gradient of a parameter is by rows, and its values.
    pub fn split<const D: usize>(
        gradient: Tensor<D>,
        parameter: &Tensor<D>,
    ) -> (Option<Tensor<D>>, Tensor<D>) {
        if !Self::is(&gradient, parameter) {
            return (None, gradient);
        }
        let columns = gradient.dims()[1];
        (Some(gradient.clone().narrow(1, 0, 1)), gradient.narrow(1, 1, columns - 1))
    }

    /// The number of each row, and its gradient, of a row-major gradient of this form on the CPU; `width` is p.
    pub(super) fn rows(gradient: &[f32], width: usize) -> Vec<(usize, &[f32])> {
        gradient.chunks(1 + width).map(|row| (row[0] as usize, &row[1..])).collect()
    }

    /// Adds `factor` times a gradient of this form to its rows of a table, both row-major on the CPU; `width` is p.
    pub fn add_to(table: &mut [f32], width: usize, gradient: &[f32], factor: f32) {
        let gradient = Self::rows(gradient, width);
        let rows = table.len() / width.max(1);
        // each task owns a range of rows
        let per_task = rows.div_ceil(4 * rayon::current_num_threads()).max(1);
        table.par_chunks_mut(per_task * width.max(1)).enumerate().for_each(|(task, table)| {
            let first = task * per_task;
            let from = gradient.partition_point(|(row, _)| *row < first);
            let to = gradient.partition_point(|(row, _)| *row < first + per_task);
            let own = &gradient[from..to];
            for (at, (row, gradient)) in own.iter().enumerate() {
                if let Some((next, _)) = own.get(at + ROWS_AHEAD) {
                    prefetch(&table[(next - first) * width..][..width]);
                }
                add_scaled(&mut table[(row - first) * width..][..width], factor, gradient);
            }
        });
    }
}
