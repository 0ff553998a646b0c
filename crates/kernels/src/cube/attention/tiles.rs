//! Operations of a unit of attention on its part of a row, in registers, and on a tile of rows in shared memory. Rows
//! are of vectors, in 32 bits whatever they have in memory.
//!
//! Where units share a row, each has every so many vectors of it, so that they read shared memory side by side.

use cubecl::prelude::*;

use super::super::total;
use super::place::Shape;

/// Returns the scalar product of a row and one of a tile. The unit's part begins at `position`. Units that share a row
/// take it together.
#[cube]
pub fn dot<N: Size>(
    a: &Array<Vector<f32, N>>,
    tile: &Shared<[Vector<f32, N>]>,
    position: u32,
    #[comptime] shape: Shape,
) -> f32 {
    let vectors = comptime!(shape.own());
    let mut sum = Vector::<f32, N>::new(0.0f32);
    #[unroll]
    for c in 0..vectors {
        sum += a[c as usize] * tile[(position + c * shape.parts) as usize];
    }
    over_parts(total::<N>(sum), shape)
}

/// Returns the scalar product of two rows of the same units.
#[cube]
pub fn product<N: Size>(
    a: &Array<Vector<f32, N>>,
    b: &Array<Vector<f32, N>>,
    #[comptime] shape: Shape,
) -> f32 {
    let vectors = comptime!(shape.own());
    let mut sum = Vector::<f32, N>::new(0.0f32);
    #[unroll]
    for c in 0..vectors {
        sum += a[c as usize] * b[c as usize];
    }
    over_parts(total::<N>(sum), shape)
}

/// Returns the sum of the values of the units that share a row.
#[cube]
fn over_parts(value: f32, #[comptime] shape: Shape) -> f32 {
    let mut sum = value;
    if comptime!(shape.parts > 1) {
        sum += plane_shuffle_xor(sum, 1u32);
    }
    if comptime!(shape.parts > 2) {
        sum += plane_shuffle_xor(sum, 2u32);
    }
    sum
}

/// Computes `a ← a + factor · row`.
#[cube]
pub fn add<N: Size>(
    a: &mut Array<Vector<f32, N>>,
    factor: f32,
    tile: &Shared<[Vector<f32, N>]>,
    position: u32,
    #[comptime] shape: Shape,
) {
    let vectors = comptime!(shape.own());
    let factor = Vector::<f32, N>::new(factor);
    #[unroll]
    for c in 0..vectors {
        a[c as usize] += factor * tile[(position + c * shape.parts) as usize];
    }
}

#[cube]
pub fn multiply<N: Size>(a: &mut Array<Vector<f32, N>>, factor: f32, #[comptime] shape: Shape) {
    let vectors = comptime!(shape.own());
    let factor = Vector::<f32, N>::new(factor);
    #[unroll]
    for c in 0..vectors {
        a[c as usize] *= factor;
    }
}

#[cube]
pub fn read<F: Float, N: Size>(
    from: &[Vector<F, N>],
    position: u32,
    factor: f32,
    #[comptime] shape: Shape,
) -> Array<Vector<f32, N>> {
    let vectors = comptime!(shape.own());
    let mut values = Array::<Vector<f32, N>>::new(comptime!(vectors as usize));
    let factor = Vector::<f32, N>::new(factor);
    #[unroll]
    for c in 0..vectors {
        let at = position + c * shape.parts;
        values[c as usize] = Vector::<f32, N>::cast_from(from[at as usize]) * factor;
    }
    values
}

#[cube]
pub fn zeros<N: Size>(#[comptime] shape: Shape) -> Array<Vector<f32, N>> {
    let vectors = comptime!(shape.own());
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
    #[comptime] shape: Shape,
) {
    let vectors = comptime!(shape.own());
    let factor = Vector::<f32, N>::new(factor);
    #[unroll]
    for c in 0..vectors {
        let at = position + c * shape.parts;
        to[at as usize] = Vector::<F, N>::cast_from(values[c as usize] * factor);
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
