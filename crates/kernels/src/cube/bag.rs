use burn::backend::Cube;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;
use cubecl::server::Handle;

use super::{UNITS, array, buffer, count, cubes, empty, sides, upload, vector, zeros};
use crate::bag::{Bag, SparseBatch, by_table_row};
use crate::operation::Operation;

/// Computes `y_i = Σ_j values_j · table[indices_j]` over the entries from `starts_i` to `starts_{i + 1}`. Here and
/// below `width` counts vectors of N elements. A unit has one vector.
#[cube(launch_unchecked)]
fn weighted_sums<N: Size>(
    table: &[Vector<f32, N>],
    starts: &[u32],
    indices: &[u32],
    values: &[f32],
    y: &mut [Vector<f32, N>],
    rows: u32,
    width: u32,
) {
    let at = ABSOLUTE_POS as u32;
    if at < rows * width {
        let row = at / width;
        let mut sum = Vector::<f32, N>::new(0.0f32);
        for j in starts[row as usize]..starts[row as usize + 1] {
            let value = Vector::new(values[j as usize]);
            sum += value * table[(indices[j as usize] * width + at % width) as usize];
        }
        y[at as usize] = sum;
    }
}

/// The rows of a table and of a batch that an entry has.
#[derive(CubeType, Clone, Copy)]
struct Entry {
    table: u32,
    batch: u32,
}

/// Returns the entry j of `count`. `numbers` has both rows of an entry as one number, or first all of the table and
/// then all of the batch.
#[cube]
fn entry(numbers: &[u32], j: u32, rows: u32, count: u32, #[comptime] apart: bool) -> Entry {
    let number = numbers[j as usize];
    if comptime!(apart) {
        Entry { table: number, batch: numbers[(count + j) as usize] }
    } else {
        Entry { table: number / rows, batch: number % rows }
    }
}

/// Copies a row of the table to a row of y for each entry.
#[cube(launch_unchecked)]
fn selected<N: Size>(
    table: &[Vector<f32, N>],
    numbers: &[u32],
    y: &mut [Vector<f32, N>],
    rows: u32,
    count: u32,
    width: u32,
    #[comptime] apart: bool,
) {
    let at = ABSOLUTE_POS as u32;
    if at < count * width {
        let source = entry(numbers, at / width, rows, count, apart);
        let column = at % width;
        y[(source.batch * width + column) as usize] =
            table[(source.table * width + column) as usize];
    }
}

/// Vectors of entries that one launch of [`table_sums`] has at most. A unit counts them in 32 bits, and a large batch has more
/// than 2³² of them.
const MOST_VECTORS: usize = 1 << 24;

/// Sums the gradients for each row of a table that has entries; `values` are theirs, or all are 1. The units of a row's first entry
/// add up. A launch has the units of the entries from `begin` to `end`.
#[cube(launch_unchecked)]
fn table_sums<N: Size>(
    dy: &[Vector<f32, N>],
    numbers: &[u32],
    values: &[f32],
    gradient: &mut [Vector<f32, N>],
    rows: u32,
    begin: u32,
    end: u32,
    count: u32,
    width: u32,
    #[comptime] apart: bool,
    #[comptime] weighted: bool,
) {
    let at = ABSOLUTE_POS as u32;
    if at < (end - begin) * width {
        let mut j = begin + at / width;
        let column = at % width;
        let row = entry(numbers, j, rows, count, apart).table;
        let mut is_of_row = true;
        if j > 0 {
            is_of_row = entry(numbers, j - 1, rows, count, apart).table != row;
        }
        let first = is_of_row;
        let mut sum = Vector::<f32, N>::new(0.0f32);
        while is_of_row {
            let from = entry(numbers, j, rows, count, apart).batch * width + column;
            let mut value = dy[from as usize];
            if comptime!(weighted) {
                value *= Vector::new(values[j as usize]);
            }
            sum += value;
            j += 1;
            is_of_row = false;
            if j < count {
                is_of_row = entry(numbers, j, rows, count, apart).table == row;
            }
        }
        if first {
            gradient[(row * width + column) as usize] = sum;
        }
    }
}

/// The entries of a batch by rows of the table.
#[derive(Clone, Debug)]
pub struct Sorted {
    numbers: Handle,
    /// The values; none if all are 1.
    values: Option<Handle>,
    /// Whether a number has only one row.
    apart: bool,
}

impl Sorted {
    fn of(batch: &SparseBatch, table: &CubeTensor, table_rows: usize, weighted: bool) -> Self {
        let entries = by_table_row(batch);
        let rows = batch.rows();
        let apart = u32::try_from(table_rows * rows).is_err();
        let numbers: Vec<u32> = if apart {
            entries.iter().map(|entry| entry.0).chain(entries.iter().map(|entry| entry.1)).collect()
        } else {
            entries.iter().map(|&(table, batch, _)| table * rows as u32 + batch).collect()
        };
        let values = || entries.iter().map(|entry| entry.2).collect::<Vec<f32>>();
        let values = weighted.then(|| upload(table, &values()));
        Self { numbers: upload(table, &numbers), values, apart }
    }
}

impl Operation<Cube, 1> for Bag {
    /// Number of rows of the table, and the entries if each row has one of value 1.
    type Saved = (usize, Option<Sorted>);

    fn forward(&self, [table]: [CubeTensor; 1], _: bool) -> (CubeTensor, Self::Saved) {
        let (table_rows, width) = sides(&table);
        let batch = &self.batch;
        let rows = batch.rows();
        let entries = batch.indices.len();
        let lanes = vector(width);
        let y = empty(&table, [rows, width]);
        let grid = (cubes(&table, rows * width / lanes), CubeDim::new_1d(UNITS));
        let client = &table.client;
        let columns = count(width / lanes);
        // the largest place of a vector
        count(table_rows.max(rows) * (width / lanes));
        if !batch.is_selection() {
            let starts: Vec<u32> = batch.starts.iter().map(|&start| count(start)).collect();
            // SAFETY: units beyond the rows do nothing; indices are below the number of rows of the table, which
            // `fused::bag` checks, here and below
            unsafe {
                weighted_sums::launch_unchecked(
                    client,
                    grid.0,
                    grid.1,
                    lanes,
                    buffer(&table),
                    array(&upload(&table, &starts)),
                    array(&upload(&table, &batch.indices)),
                    array(&upload(&table, &batch.values)),
                    buffer(&y),
                    count(rows),
                    columns,
                );
            }
            return (y, (table_rows, None));
        }
        let sorted = Sorted::of(batch, &table, table_rows, false);
        // SAFETY: units beyond the entries do nothing
        unsafe {
            selected::launch_unchecked(
                client,
                grid.0,
                grid.1,
                lanes,
                buffer(&table),
                array(&sorted.numbers),
                buffer(&y),
                count(rows),
                count(entries),
                columns,
                sorted.apart,
            );
        }
        (y, (table_rows, Some(sorted)))
    }

    /// Computes `dtable[index] += value · dy_row`, every row in the order of the batch. It has all rows of the table.
    fn backward(
        self,
        (table_rows, sorted): Self::Saved,
        dy: CubeTensor,
        [wanted]: [bool; 1],
    ) -> [Option<CubeTensor>; 1] {
        if !wanted {
            return [None];
        }
        let (rows, width) = sides(&dy);
        let entries = self.batch.indices.len();
        let sorted = sorted.unwrap_or_else(|| Sorted::of(&self.batch, &dy, table_rows, true));
        let gradient = zeros(&dy, [table_rows, width]);
        let lanes = vector(width);
        let columns = width / lanes;
        let most = (MOST_VECTORS / columns.max(1)).max(1);
        for begin in (0..entries).step_by(most) {
            let end = entries.min(begin + most);
            // SAFETY: units beyond the entries do nothing; without values none are read
            unsafe {
                table_sums::launch_unchecked(
                    &dy.client,
                    cubes(&dy, (end - begin) * columns),
                    CubeDim::new_1d(UNITS),
                    lanes,
                    buffer(&dy),
                    array(&sorted.numbers),
                    array(sorted.values.as_ref().unwrap_or(&sorted.numbers)),
                    buffer(&gradient),
                    count(rows),
                    count(begin),
                    count(end),
                    count(entries),
                    count(columns),
                    sorted.apart,
                    sorted.values.is_some(),
                );
            }
        }
        [Some(gradient)]
    }
}
