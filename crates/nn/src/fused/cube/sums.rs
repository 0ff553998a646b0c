//! Sums over the rows of a matrix, in two kernels: of blocks of rows, and of the blocks.

use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::{LANES, UNITS, buffer, cubes, element, empty, grid, sides, vector};

/// Rows of one block.
const ROWS: usize = 64;

/// Units that share the blocks of a column.
const SHARED: u32 = UNITS / LANES;

#[cube(launch_unchecked)]
fn block_sums<F: Float>(
    x: &[F],
    sums: &mut [f32],
    rows: u32,
    width: u32,
    #[comptime] block: u32,
    #[define(F)] _element: ElemType,
) {
    let column = CUBE_POS_Y * CUBE_DIM_X + UNIT_POS_X;
    if column < width {
        let first = CUBE_POS_X * block;
        let last = min(first + block, rows);
        let mut sum = 0.0f32;
        for row in first..last {
            sum += f32::cast_from(x[(row * width + column) as usize]);
        }
        sums[(CUBE_POS_X * width + column) as usize] = sum;
    }
}

/// The sum of a column over the blocks, in the units whose place in y is 0.
#[cube]
fn column_sum(sums: &[f32], blocks: u32, width: u32, column: u32, #[comptime] shared: u32) -> f32 {
    let mut parts = Shared::<[f32]>::new_slice(comptime!((shared * LANES) as usize));
    let mut sum = 0.0f32;
    if column < width {
        let mut block = UNIT_POS_Y;
        while block < blocks {
            sum += sums[(block * width + column) as usize];
            block += shared;
        }
    }
    parts[UNIT_POS as usize] = sum;
    sync_cube();
    let mut total = 0.0f32;
    if UNIT_POS_Y == 0 {
        #[unroll]
        for lane in 0..shared {
            total += parts[(lane * LANES + UNIT_POS_X) as usize];
        }
    }
    total
}

#[cube(launch_unchecked)]
fn one_sum(sums: &[f32], y: &mut [f32], blocks: u32, width: u32, #[comptime] shared: u32) {
    let column = CUBE_POS as u32 * LANES + UNIT_POS_X;
    let total = column_sum(sums, blocks, width, column, shared);
    if UNIT_POS_Y == 0 && column < width {
        y[column as usize] = total;
    }
}

#[cube(launch_unchecked)]
fn three_sums(
    sums: &[f32],
    a: &mut [f32],
    b: &mut [f32],
    c: &mut [f32],
    blocks: u32,
    width: u32,
    #[comptime] shared: u32,
) {
    let column = CUBE_POS_X * LANES + UNIT_POS_X;
    let total = column_sum(sums, blocks, 3 * width, column, shared);
    if UNIT_POS_Y == 0 {
        if column < width {
            a[column as usize] = total;
        } else if column < 2 * width {
            b[(column - width) as usize] = total;
        } else if column < 3 * width {
            c[(column - 2 * width) as usize] = total;
        }
    }
}

/// The sums over the rows of `[rows, width]`.
pub fn column_sums(x: &CubeTensor) -> CubeTensor {
    let (rows, width) = sides(x);
    let sums = empty(x, [rows.div_ceil(ROWS).max(1), width]);
    // SAFETY: units beyond the columns do nothing, and rows end at the last
    unsafe {
        block_sums::launch_unchecked(
            &x.client,
            grid(rows.div_ceil(ROWS), width.div_ceil(UNITS as usize)),
            CubeDim::new_1d(UNITS),
            buffer(x),
            buffer(&sums),
            rows as u32,
            width as u32,
            ROWS as u32,
            element(x),
        );
    }
    add_up(&sums)
}

/// The sum of the rows of `[blocks, width]`.
pub fn add_up(sums: &CubeTensor) -> CubeTensor {
    let (blocks, width) = sides(sums);
    let y = empty(sums, [width]);
    // SAFETY: units beyond the columns write nothing
    unsafe {
        one_sum::launch_unchecked(
            &sums.client,
            cubes(sums, width.div_ceil(LANES as usize) * UNITS as usize),
            CubeDim::new_2d(LANES, SHARED),
            buffer(sums),
            buffer(&y),
            blocks as u32,
            width as u32,
            SHARED,
        );
    }
    y
}

#[cube(launch_unchecked)]
fn part_sums<N: Size>(
    parts: &[Vector<f32, N>],
    y: &mut [Vector<f32, N>],
    vectors: u32,
    #[comptime] count: u32,
) {
    let i = ABSOLUTE_POS;
    if i < vectors as usize {
        let mut sum = parts[i];
        #[unroll]
        for part in 1..count {
            sum += parts[part as usize * vectors as usize + i];
        }
        y[i] = sum;
    }
}

/// The sum of the rows of `[parts, width]`, of few and long ones.
pub fn sum_of_parts(parts: &CubeTensor) -> CubeTensor {
    let (count, width) = sides(parts);
    let y = empty(parts, [width]);
    let lanes = vector(width);
    // SAFETY: units beyond the vectors do nothing
    unsafe {
        part_sums::launch_unchecked(
            &parts.client,
            cubes(parts, width / lanes),
            CubeDim::new_1d(UNITS),
            lanes,
            buffer(parts),
            buffer(&y),
            (width / lanes) as u32,
            count as u32,
        );
    }
    y
}

/// The sum of the rows of `[blocks, 3 · width]`, as three vectors.
pub fn add_up_three(sums: &CubeTensor) -> [CubeTensor; 3] {
    let (blocks, columns) = sides(sums);
    let y = [(); 3].map(|()| empty(sums, [columns / 3]));
    // SAFETY: units beyond the columns write nothing
    unsafe {
        three_sums::launch_unchecked(
            &sums.client,
            grid(columns.div_ceil(LANES as usize), 1),
            CubeDim::new_2d(LANES, SHARED),
            buffer(sums),
            buffer(&y[0]),
            buffer(&y[1]),
            buffer(&y[2]),
            blocks as u32,
            (columns / 3) as u32,
            SHARED,
        );
    }
    y
}
