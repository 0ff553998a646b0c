use burn::backend::Cube;
use burn::tensor::DType;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::mask::{Mask, argument, factor};
use super::sums::add_up_three;
use super::{LANES, buffer, element, empty, empty_of, grid, has_planes, sides};
use crate::fused::Operation;
use crate::fused::norm::ResidualNorm;

/// Rows that a cube works on at the same time, and rows of one group of lanes in the backward pass.
const GROUPS: u32 = 4;
const ROWS: u32 = 8;

/// The sum over the lanes of a group; all lanes get it.
#[cube]
fn lane_sum(value: f32, scratch: &mut Shared<[f32]>, #[comptime] planes: bool) -> f32 {
    if comptime!(planes) {
        plane_sum(value)
    } else {
        let own = UNIT_POS as usize;
        scratch[own] = value;
        sync_cube();
        #[unroll]
        for step in 0..5u32 {
            let apart = comptime!(16u32 >> step);
            if UNIT_POS_X < apart {
                let other = scratch[own + apart as usize];
                scratch[own] += other;
            }
            sync_cube();
        }
        let total = scratch[(UNIT_POS_Y * LANES) as usize];
        sync_cube();
        total
    }
}

#[cube(launch_unchecked)]
fn residual_norm<F: Float>(
    x: &[f32],
    r: &[F],
    bias: &[f32],
    gamma: &[f32],
    beta: &[f32],
    y: &mut [f32],
    standard: &mut [f32],
    inverse: &mut [f32],
    rows: u32,
    epsilon: f32,
    mask: Mask,
    #[comptime] dropped: bool,
    #[comptime] width: u32,
    #[comptime] planes: bool,
    #[define(F)] _element: ElemType,
) {
    let mut scratch = Shared::<[f32]>::new_slice(comptime!((GROUPS * LANES) as usize));
    let each = comptime!(width.div_ceil(LANES));
    let row = CUBE_POS_X * GROUPS + UNIT_POS_Y;
    let mut z = Array::<f32>::new(comptime!(each as usize));
    let mut sum = 0.0f32;
    #[unroll]
    for k in 0..each {
        let column = k * LANES + UNIT_POS_X;
        let mut value = 0.0f32;
        if row < rows && column < width {
            let i = row * width + column;
            let added = f32::cast_from(r[i as usize]) + bias[column as usize];
            value = x[i as usize] + added * factor(&mask, i, dropped);
        }
        z[k as usize] = value;
        sum += value;
    }
    let mean = lane_sum(sum, &mut scratch, planes) / width as f32;
    let mut squares = 0.0f32;
    #[unroll]
    for k in 0..each {
        let column = k * LANES + UNIT_POS_X;
        let apart = z[k as usize] - mean;
        if column < width {
            squares += apart * apart;
        }
    }
    let variance = lane_sum(squares, &mut scratch, planes) / width as f32;
    let scale = 1.0f32 / (variance + epsilon).sqrt();
    if row < rows {
        #[unroll]
        for k in 0..each {
            let column = k * LANES + UNIT_POS_X;
            if column < width {
                let i = (row * width + column) as usize;
                let s = (z[k as usize] - mean) * scale;
                standard[i] = s;
                y[i] = s * gamma[column as usize] + beta[column as usize];
            }
        }
        if UNIT_POS_X == 0 {
            inverse[row as usize] = scale;
        }
    }
}

/// The gradients of x and r, and sums over blocks of rows for those of bias, gamma and beta.
#[cube(launch_unchecked)]
fn residual_norm_backward<F: Float>(
    standard: &[f32],
    inverse: &[f32],
    gamma: &[f32],
    dy: &[f32],
    dx: &mut [f32],
    dr: &mut [F],
    sums: &mut [f32],
    rows: u32,
    mask: Mask,
    #[comptime] dropped: bool,
    #[comptime] apart: bool,
    #[comptime] width: u32,
    #[comptime] planes: bool,
    #[define(F)] _element: ElemType,
) {
    let mut scratch = Shared::<[f32]>::new_slice(comptime!((GROUPS * LANES) as usize));
    let each = comptime!(width.div_ceil(LANES));
    let group = CUBE_POS_X * GROUPS + UNIT_POS_Y;
    let mut dbias = Array::<f32>::new(comptime!(each as usize));
    let mut dgamma = Array::<f32>::new(comptime!(each as usize));
    let mut dbeta = Array::<f32>::new(comptime!(each as usize));
    let mut scaled = Array::<f32>::new(comptime!(each as usize));
    #[unroll]
    for k in 0..each {
        dbias[k as usize] = 0.0f32;
        dgamma[k as usize] = 0.0f32;
        dbeta[k as usize] = 0.0f32;
    }
    for step in 0..ROWS {
        let row = group * ROWS + step;
        let mut sum = 0.0f32;
        let mut along = 0.0f32;
        #[unroll]
        for k in 0..each {
            let column = k * LANES + UNIT_POS_X;
            let mut value = 0.0f32;
            if row < rows && column < width {
                let i = (row * width + column) as usize;
                let (d, s) = (dy[i], standard[i]);
                dgamma[k as usize] += d * s;
                dbeta[k as usize] += d;
                value = d * gamma[column as usize];
                along += value * s;
            }
            scaled[k as usize] = value;
            sum += value;
        }
        let mean = lane_sum(sum, &mut scratch, planes) / width as f32;
        let along = lane_sum(along, &mut scratch, planes) / width as f32;
        if row < rows {
            let scale = inverse[row as usize];
            #[unroll]
            for k in 0..each {
                let column = k * LANES + UNIT_POS_X;
                if column < width {
                    let i = row * width + column;
                    let s = standard[i as usize];
                    let d = (scaled[k as usize] - mean - s * along) * scale;
                    dx[i as usize] = d;
                    let kept = d * factor(&mask, i, dropped);
                    if comptime!(apart) {
                        dr[i as usize] = F::cast_from(kept);
                    }
                    dbias[k as usize] += kept;
                }
            }
        }
    }
    let base = group * (3 * width);
    #[unroll]
    for k in 0..each {
        let column = k * LANES + UNIT_POS_X;
        if column < width {
            sums[(base + column) as usize] = dbias[k as usize];
            sums[(base + width + column) as usize] = dgamma[k as usize];
            sums[(base + 2 * width + column) as usize] = dbeta[k as usize];
        }
    }
}

impl Operation<Cube, 5> for ResidualNorm {
    /// `(z − mean) / √(variance + ε)` of the rows z that are normalised, the divisors' inverses, gamma; the type of the
    /// numbers of r.
    type Saved = ([CubeTensor; 3], DType);

    fn forward(&self, inputs: [CubeTensor; 5], _: bool) -> (CubeTensor, Self::Saved) {
        let [x, r, bias, gamma, beta] = inputs;
        let (rows, width) = sides(&x);
        let [y, standard] = [(); 2].map(|()| empty(&x, [rows, width]));
        let inverse = empty(&x, [rows]);
        let (mask, dropped) = argument(self.dropout);
        // SAFETY: units beyond the last row or column write nothing
        unsafe {
            residual_norm::launch_unchecked(
                &x.client,
                grid(rows.div_ceil(GROUPS as usize), 1),
                CubeDim::new_2d(LANES, GROUPS),
                buffer(&x),
                buffer(&r),
                buffer(&bias),
                buffer(&gamma),
                buffer(&beta),
                buffer(&y),
                buffer(&standard),
                buffer(&inverse),
                rows as u32,
                self.epsilon as f32,
                mask,
                dropped,
                width as u32,
                has_planes(&x),
                element(&r),
            );
        }
        (y, ([standard, inverse, gamma], r.dtype))
    }

    fn backward(
        self,
        ([standard, inverse, gamma], dtype): Self::Saved,
        dy: CubeTensor,
        _: [bool; 5],
    ) -> [Option<CubeTensor>; 5] {
        let (rows, width) = sides(&standard);
        let cubes = rows.div_ceil((GROUPS * ROWS) as usize).max(1);
        let dx = empty(&dy, [rows, width]);
        let sums = empty(&dy, [cubes * GROUPS as usize, 3 * width]);
        let (mask, dropped) = argument(self.dropout);
        // without dropout the two summands have the same gradient
        let apart = dropped || dtype != dx.dtype;
        let dr = empty_of(dtype, &dy, if apart { [rows, width] } else { [1, 1] });
        // SAFETY: units beyond the last row or column write nothing
        unsafe {
            residual_norm_backward::launch_unchecked(
                &dy.client,
                grid(cubes, 1),
                CubeDim::new_2d(LANES, GROUPS),
                buffer(&standard),
                buffer(&inverse),
                buffer(&gamma),
                buffer(&dy),
                buffer(&dx),
                buffer(&dr),
                buffer(&sums),
                rows as u32,
                mask,
                dropped,
                apart,
                width as u32,
                has_planes(&dy),
                element(&dr),
            );
        }
        let [dbias, dgamma, dbeta] = add_up_three(&sums);
        let dr = if apart { dr } else { dx.clone() };
        [dx, dr, dbias, dgamma, dbeta].map(Some)
    }
}
