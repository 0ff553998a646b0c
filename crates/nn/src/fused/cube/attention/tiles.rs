//! What a unit of attention does with its own row, in registers, and with a tile of rows in shared memory. Rows are of
//! vectors, in 32 bits whatever they have in memory.

use cubecl::prelude::*;

use super::super::total;

/// The scalar product of a unit's row and a row of a tile.
#[cube]
pub fn dot<N: Size>(
    a: &Array<Vector<f32, N>>,
    tile: &Shared<[Vector<f32, N>]>,
    row: u32,
    #[comptime] vectors: u32,
) -> f32 {
    let mut sum = Vector::<f32, N>::new(0.0f32);
    #[unroll]
    for c in 0..vectors {
        sum += a[c as usize] * tile[(row * vectors + c) as usize];
    }
    total::<N>(sum)
}

/// `a ← a + factor · row`.
#[cube]
pub fn add<N: Size>(
    a: &mut Array<Vector<f32, N>>,
    factor: f32,
    tile: &Shared<[Vector<f32, N>]>,
    row: u32,
    #[comptime] vectors: u32,
) {
    let factor = Vector::<f32, N>::new(factor);
    #[unroll]
    for c in 0..vectors {
        a[c as usize] += factor * tile[(row * vectors + c) as usize];
    }
}

#[cube]
pub fn read<F: Float, N: Size>(
    from: &[Vector<F, N>],
    position: u32,
    factor: f32,
    #[comptime] vectors: u32,
) -> Array<Vector<f32, N>> {
    let mut values = Array::<Vector<f32, N>>::new(comptime!(vectors as usize));
    let factor = Vector::<f32, N>::new(factor);
    #[unroll]
    for c in 0..vectors {
        values[c as usize] = Vector::<f32, N>::cast_from(from[(position + c) as usize]) * factor;
    }
    values
}

#[cube]
pub fn zeros<N: Size>(#[comptime] vectors: u32) -> Array<Vector<f32, N>> {
    let mut values = Array::<Vector<f32, N>>::new(comptime!(vectors as usize));
    #[unroll]
    for c in 0..vectors {
        values[c as usize] = Vector::new(0.0f32);
    }
    values
}

#[cube]
pub fn write<F: Float, N: Size>(
    values: &Array<Vector<f32, N>>,
    factor: f32,
    to: &mut [Vector<F, N>],
    position: u32,
    #[comptime] vectors: u32,
) {
    let factor = Vector::<f32, N>::new(factor);
    #[unroll]
    for c in 0..vectors {
        to[(position + c) as usize] = Vector::<F, N>::cast_from(values[c as usize] * factor);
    }
}

/// Copies `rows` rows of a tile, whose first vector lies at `position`.
#[cube]
pub fn load<F: Float, N: Size>(
    from: &[Vector<F, N>],
    position: u32,
    rows: u32,
    tile: &mut Shared<[Vector<f32, N>]>,
    #[comptime] stride: u32,
    #[comptime] vectors: u32,
) {
    let mut slot = UNIT_POS;
    while slot < rows * vectors {
        let at = position + (slot / vectors) * stride + slot % vectors;
        tile[slot as usize] = Vector::<f32, N>::cast_from(from[at as usize]);
        slot += CUBE_DIM;
    }
}
