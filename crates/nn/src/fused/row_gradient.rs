use burn::tensor::Tensor;
use rayon::prelude::*;

use super::simd::{ROWS_AHEAD, add_scaled, prefetch};

/// The gradient of a table `[rows, p]` of which only some rows have one: a tensor `[touched, 1 + p]` in the
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

    /// The numbers of the rows, and their gradients.
    pub fn split<const D: usize>(gradient: Tensor<D>) -> [Tensor<D>; 2] {
        let columns = gradient.dims()[1];
        [gradient.clone().narrow(1, 0, 1), gradient.narrow(1, 1, columns - 1)]
    }

    /// Adds `factor` times a gradient of this form to its rows of a table, both row-major on the CPU; `width` is p.
    pub fn add_to(table: &mut [f32], width: usize, gradient: &[f32], factor: f32) {
        let gradient: Vec<(usize, &[f32])> =
            gradient.chunks(1 + width).map(|row| (row[0] as usize, &row[1..])).collect();
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
