use burn::backend::Cube;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::{buffer, empty, grid, sides, upload, zeros};
use crate::fused::Operation;
use crate::fused::bag::{Bag, by_table_row};

/// Units of a cube, each of which adds up columns of one row.
const COLUMNS: u32 = 128;

/// `y_i = Σ_j values_j · table[indices_j]` over the entries from `starts_i` to `starts_{i + 1}`. Without `several`,
/// only entry i, with value 1. With `targets` the sum is row `rows_i` of y, not row i.
#[cube(launch_unchecked)]
fn weighted_sums(
    table: &[f32],
    starts: &[u32],
    indices: &[u32],
    values: &[u32],
    rows: &[u32],
    y: &mut [f32],
    width: u32,
    #[comptime] several: bool,
    #[comptime] targets: bool,
) {
    let i = CUBE_POS_X;
    let column = CUBE_POS_Y * CUBE_DIM_X + UNIT_POS_X;
    if column < width {
        let mut sum = 0.0f32;
        if comptime!(several) {
            for j in starts[i as usize]..starts[i as usize + 1] {
                let value = f32::reinterpret(values[j as usize]);
                sum += value * table[(indices[j as usize] * width + column) as usize];
            }
        } else {
            sum = table[(indices[i as usize] * width + column) as usize];
        }
        let mut row = i;
        if comptime!(targets) {
            row = rows[i as usize];
        }
        y[(row * width + column) as usize] = sum;
    }
}

impl Operation<Cube, 1> for Bag {
    /// Number of rows of the table.
    type Saved = usize;

    fn forward(&self, [table]: [CubeTensor; 1], _: bool) -> (CubeTensor, usize) {
        let ((rows, width), batch) = (sides(&table), &self.batch);
        let y = empty(&table, [batch.rows(), width]);
        if batch.is_selection() {
            launch(&table, [&[], &batch.indices, &[], &[]], &y, batch.rows());
        } else {
            let starts: Vec<u32> = batch.starts.iter().map(|&start| start as u32).collect();
            let lists = [&starts, &batch.indices, bits(&batch.values), &[]];
            launch(&table, lists, &y, batch.rows());
        }
        (y, rows)
    }

    /// `dtable[index] += value · dy_row`, every row in the order of the batch. It has all rows of the table.
    fn backward(self, rows: usize, dy: CubeTensor, [wanted]: [bool; 1]) -> [Option<CubeTensor>; 1] {
        if !wanted {
            return [None];
        }
        let (_, width) = sides(&dy);
        let entries = by_table_row(&self.batch);
        let touched: Vec<_> = entries.chunk_by(|a, b| a.0 == b.0).collect();
        let gradient = if touched.len() == rows {
            empty(&dy, [rows, width])
        } else {
            zeros(&dy, [rows, width])
        };
        let mut starts = vec![0u32];
        starts.extend(touched.iter().scan(0, |sum, entries| {
            *sum += entries.len() as u32;
            Some(*sum)
        }));
        let targets: Vec<u32> = touched.iter().map(|entries| entries[0].0).collect();
        let sources: Vec<u32> = entries.iter().map(|entry| entry.1).collect();
        let values: Vec<f32> = entries.iter().map(|entry| entry.2).collect();
        launch(&dy, [&starts, &sources, bits(&values), &targets], &gradient, touched.len());
        [Some(gradient)]
    }
}

fn bits(values: &[f32]) -> &[u32] {
    bytemuck::cast_slice(values)
}

fn launch(table: &CubeTensor, lists: [&[u32]; 4], y: &CubeTensor, rows: usize) {
    if rows == 0 {
        return;
    }
    let (_, width) = sides(table);
    let [starts, indices, values, targets] = lists.map(|list| upload(table, list));
    // SAFETY: units beyond the columns do nothing; indices are below the number of rows, which `fused::bag` checks
    unsafe {
        weighted_sums::launch_unchecked(
            &table.client,
            grid(rows, width.div_ceil(COLUMNS as usize)),
            CubeDim::new_1d(COLUMNS),
            buffer(table),
            starts,
            indices,
            values,
            targets,
            buffer(y),
            width as u32,
            !lists[0].is_empty(),
            !lists[3].is_empty(),
        );
    }
}
