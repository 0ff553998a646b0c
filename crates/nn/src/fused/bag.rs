use std::mem::MaybeUninit;
use std::sync::Arc;

use burn::backend::flex::FlexTensor;
use rayon::prelude::*;

use super::buffer::{UninitBuffer, contiguous, sides, values, wrap};
use super::operation::CpuOp;
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
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }
}

/// `y_i = Σ_j values_j · table[indices_j]` over row i's entries.
#[derive(Clone)]
pub struct Bag {
    pub batch: Arc<SparseBatch>,
    /// Whether the gradient of the table is [by rows](super::RowGradient).
    pub by_rows: bool,
}

impl CpuOp<1> for Bag {
    /// Number of rows of the table.
    type Saved = usize;

    fn forward(&self, [table]: [FlexTensor; 1]) -> (FlexTensor, Self::Saved) {
        (forward(&table, &self.batch), sides(&table).0)
    }

    fn backward(self, rows: usize, dy: FlexTensor, [wanted]: [bool; 1]) -> [Option<FlexTensor>; 1] {
        let dy = contiguous(dy);
        [wanted.then(|| match self.by_rows {
            false => backward(&self.batch, rows, &dy),
            true => backward_by_rows(&self.batch, &dy),
        })]
    }
}

fn forward(table: &FlexTensor, batch: &SparseBatch) -> FlexTensor {
    let width = table.layout().shape()[1];
    let table = values(table);
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
    wrap(y, [batch.rows(), width])
}

/// `dtable[index] += value · dy_row`. Each task owns a range of table rows, so one thread sums every element
/// in the order of the batch, whatever the number of threads.
fn backward(batch: &SparseBatch, rows: usize, dy: &FlexTensor) -> FlexTensor {
    let width = dy.layout().shape()[1];
    let dy = values(dy);
    let entries = by_table_row(batch);
    let mut dtable = vec![0.0f32; rows * width];
    let tasks = 4 * rayon::current_num_threads();
    let per_task = rows.div_ceil(tasks).max(1);
    dtable.par_chunks_mut(per_task * width.max(1)).enumerate().for_each(|(task, chunk)| {
        let first = (task * per_task) as u32;
        let from = entries.partition_point(|entry| entry.0 < first);
        let to = entries.partition_point(|entry| entry.0 < first + per_task as u32);
        for &(index, row, value) in &entries[from..to] {
            let target = (index - first) as usize * width;
            add_scaled(&mut chunk[target..target + width], value, row_of(dy, row, width));
        }
    });
    wrap(dtable, [rows, width])
}

/// As [`backward`], of the rows that the batch names alone: each follows its number, in the order of the
/// table.
fn backward_by_rows(batch: &SparseBatch, dy: &FlexTensor) -> FlexTensor {
    let width = dy.layout().shape()[1];
    let dy = values(dy);
    let entries = by_table_row(batch);
    let rows: Vec<_> = entries.chunk_by(|a, b| a.0 == b.0).collect();
    let mut gradient = UninitBuffer::new(rows.len() * (1 + width));
    gradient.places().par_chunks_mut(1 + width).zip(&rows).for_each(|(out, entries)| {
        out.fill(MaybeUninit::new(0.0));
        // SAFETY: filled
        let (number, out) = unsafe { out.assume_init_mut() }.split_at_mut(1);
        number[0] = entries[0].0 as f32;
        entries.iter().for_each(|&(_, row, value)| add_scaled(out, value, row_of(dy, row, width)));
    });
    // SAFETY: every row of it is filled
    wrap(unsafe { gradient.written() }, [rows.len(), 1 + width])
}

/// Table row, row of the batch and value of each entry, sorted by table rows.
fn by_table_row(batch: &SparseBatch) -> Vec<(u32, u32, f32)> {
    let mut entries = Vec::with_capacity(batch.indices.len());
    for i in 0..batch.rows() {
        for j in batch.starts[i]..batch.starts[i + 1] {
            entries.push((batch.indices[j], i as u32, batch.values[j]));
        }
    }
    // a stable sort keeps the entries of one table row in the order of the batch
    entries.par_sort_by_key(|entry| entry.0);
    entries
}

fn row_of(values: &[f32], row: u32, width: usize) -> &[f32] {
    &values[row as usize * width..][..width]
}
