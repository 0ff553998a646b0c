//! Sums over the rows of a matrix, in two kernels: of blocks of rows, and of the blocks; and over units.

use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::{
    BlockPlace, LANES, UNITS, block_place, buffer, count, element, empty, sides, spread, vector,
};

/// Rows of one block.
const ROWS: usize = 64;

/// Units that share the blocks of a column.
const SHARED: u32 = UNITS / LANES;

/// Sums the rows of each block; `width` counts vectors of N elements.
#[cube(launch_unchecked)]
fn block_sums<F: Float, N: Size>(
    x: &[Vector<F, N>],
    sums: &mut [Vector<f32, N>],
    rows: u32,
    blocks: u32,
    width: u32,
    #[comptime] block: u32,
    #[define(F)] _element: ElemType,
) {
    let BlockPlace { block: block_number, column } = block_place(width);
    if column < width && block_number < blocks {
        let first = block_number * block;
        let last = min(first + block, rows);
        let mut sum = Vector::<f32, N>::new(0.0f32);
        for row in first..last {
            sum += Vector::<f32, N>::cast_from(x[(row * width + column) as usize]);
        }
        sums[(block_number * width + column) as usize] = sum;
    }
}

/// Adds up the sums of blocks for the vectors y, which lie one behind the other in a block.
#[cube(launch_unchecked)]
fn total_sums(sums: &[f32], y: &mut Sequence<Box<[f32]>>, blocks: u32, width: u32) {
    let columns = comptime!(y.len() as u32) * width;
    let mut scratch = Shared::<[f32]>::new_slice(comptime!(UNITS as usize));
    let column = CUBE_POS as u32 * LANES + UNIT_POS_X;
    let mut sum = 0.0f32;
    if column < columns {
        let mut block = UNIT_POS_Y;
        while block < blocks {
            sum += sums[(block * columns + column) as usize];
            block += SHARED;
        }
    }
    scratch[UNIT_POS as usize] = sum;
    sync_cube();
    if UNIT_POS_Y == 0 {
        let mut total = 0.0f32;
        #[unroll]
        for lane in 0..SHARED {
            total += scratch[(lane * LANES + UNIT_POS_X) as usize];
        }
        #[unroll]
        for part in 0..y.len() {
            // in the vectors before, and in those behind as it wraps around, it is not below the width
            let at = column - comptime!(part as u32) * width;
            if at < width {
                y.index_mut(part)[at as usize] = total;
            }
        }
    }
}

/// Returns the sums over blocks of so many rows, `[blocks, width]`.
fn sums_of_blocks(x: &CubeTensor, block: usize) -> CubeTensor {
    let (rows, width) = sides(x);
    let blocks = rows.div_ceil(block).max(1);
    let lanes = vector(width);
    let sums = empty(x, [blocks, width]);
    // SAFETY: units beyond the columns do nothing, and rows end at the last
    unsafe {
        block_sums::launch_unchecked(
            &x.client,
            spread(x, blocks * (width / lanes).div_ceil(UNITS as usize)),
            CubeDim::new_1d(UNITS),
            lanes,
            buffer(x),
            buffer(&sums),
            count(rows),
            count(blocks),
            count(width / lanes),
            count(block),
            element(x),
        );
    }
    sums
}

/// Returns the sums over the rows of `[rows, width]`.
pub fn column_sums(x: &CubeTensor) -> CubeTensor {
    let [y] = add_up(&sums_of_blocks(x, ROWS));
    y
}

/// Returns the sum of the rows of `[parts, width]`, of few and long ones.
pub fn sum_of_parts(parts: &CubeTensor) -> CubeTensor {
    sums_of_blocks(parts, sides(parts).0)
}

/// Returns the sum of the rows of `[blocks, parts · width]`, as so many vectors.
pub fn add_up<const PARTS: usize>(sums: &CubeTensor) -> [CubeTensor; PARTS] {
    let (blocks, columns) = sides(sums);
    let y = [(); PARTS].map(|()| empty(sums, [columns / PARTS]));
    let mut parts = SequenceArg::new();
    y.iter().for_each(|part| parts.push(buffer(part)));
    // SAFETY: units beyond the columns write nothing
    unsafe {
        total_sums::launch_unchecked(
            &sums.client,
            spread(sums, columns.div_ceil(LANES as usize)),
            CubeDim::new_2d(LANES, SHARED),
            buffer(sums),
            parts,
            count(blocks),
            count(columns / PARTS),
        );
    }
    y
}

/// Returns the sum over each `units` that follow one another, a power of two; all of them get it.
#[cube]
pub fn sum_of_units(value: f32, scratch: &mut Shared<[f32]>, #[comptime] units: u32) -> f32 {
    let position = UNIT_POS as usize;
    let place = UNIT_POS % units;
    scratch[position] = value;
    sync_cube();
    #[unroll]
    for step in 0..comptime!(units.ilog2()) {
        let apart = comptime!(units >> (step + 1));
        if place < apart {
            let other = scratch[position + apart as usize];
            scratch[position] += other;
        }
        sync_cube();
    }
    let total = scratch[(UNIT_POS - place) as usize];
    sync_cube();
    total
}
