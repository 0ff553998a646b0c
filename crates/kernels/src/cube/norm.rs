use burn::backend::Cube;
use burn::tensor::DType;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::mask::{argument, factors};
use super::sums::{add_up, sum_of_units};
use super::{
    LANES, UNITS, buffer, count, cubes, element, empty, empty_of, has_planes, sides, spread, total,
    vector,
};
use crate::dropout::Dropout;
use crate::norm::ResidualNorm;
use crate::operation::{Operation, narrow};

/// Rows that a cube works on at the same time, and rows of one group of lanes in the backward pass.
const GROUPS: u32 = 4;
const ROWS: u32 = 8;

/// Returns the sum over the lanes of a group; all lanes get it.
#[cube]
fn lane_sum(value: f32, scratch: &mut Shared<[f32]>, #[comptime] planes: bool) -> f32 {
    if comptime!(planes) { plane_sum(value) } else { sum_of_units(value, scratch, LANES) }
}

/// Computes the normalised sum of x and the residual r; `width` counts vectors of N elements.
#[cube(launch_unchecked)]
fn residual_norm<F: Float, N: Size>(
    x: &[Vector<f32, N>],
    r: &[Vector<F, N>],
    bias: &[Vector<f32, N>],
    gamma: &[Vector<f32, N>],
    beta: &[Vector<f32, N>],
    y: &mut [Vector<f32, N>],
    standard: &mut [Vector<f32, N>],
    inverse: &mut [f32],
    rows: u32,
    epsilon: f32,
    mask: Dropout,
    #[comptime] dropped: bool,
    #[comptime] width: u32,
    #[comptime] planes: bool,
    #[define(F)] _element: ElemType,
) {
    let lanes = N::value();
    let lanes = comptime!(lanes as u32);
    let mut scratch = Shared::<[f32]>::new_slice(comptime!((GROUPS * LANES) as usize));
    let each = comptime!(width.div_ceil(LANES));
    let columns = comptime!((width * lanes) as f32);
    let row = CUBE_POS as u32 * GROUPS + UNIT_POS_Y;
    let mut z = Array::<Vector<f32, N>>::new(comptime!(each as usize));
    let mut sum = Vector::<f32, N>::new(0.0f32);
    #[unroll]
    for k in 0..each {
        let column = k * LANES + UNIT_POS_X;
        let mut value = Vector::<f32, N>::new(0.0f32);
        if row < rows && column < width {
            let i = row * width + column;
            let added = Vector::<f32, N>::cast_from(r[i as usize]) + bias[column as usize];
            value = x[i as usize] + added * factors::<N>(&mask, i * lanes, dropped);
        }
        z[k as usize] = value;
        sum += value;
    }
    let mean = lane_sum(total::<N>(sum), &mut scratch, planes) / columns;
    let mean = Vector::<f32, N>::new(mean);
    let mut squares = Vector::<f32, N>::new(0.0f32);
    #[unroll]
    for k in 0..each {
        let column = k * LANES + UNIT_POS_X;
        let apart = z[k as usize] - mean;
        if column < width {
            squares += apart * apart;
        }
    }
    let variance = lane_sum(total::<N>(squares), &mut scratch, planes) / columns;
    let divisor = 1.0f32 / (variance + epsilon).sqrt();
    let scale = Vector::<f32, N>::new(divisor);
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
            inverse[row as usize] = divisor;
        }
    }
}

/// Computes the gradients of x and r, and sums over blocks of rows for the gradients of bias, gamma and beta.
#[cube(launch_unchecked)]
fn residual_norm_backward<F: Float, N: Size>(
    standard: &[Vector<f32, N>],
    inverse: &[f32],
    gamma: &[Vector<f32, N>],
    dy: &[Vector<f32, N>],
    dx: &mut [Vector<f32, N>],
    dr: &mut [Vector<F, N>],
    sums: &mut [Vector<f32, N>],
    rows: u32,
    groups: u32,
    mask: Dropout,
    #[comptime] dropped: bool,
    #[comptime] apart: bool,
    #[comptime] width: u32,
    #[comptime] planes: bool,
    #[define(F)] _element: ElemType,
) {
    let lanes = N::value();
    let lanes = comptime!(lanes as u32);
    let mut scratch = Shared::<[f32]>::new_slice(comptime!((GROUPS * LANES) as usize));
    let each = comptime!(width.div_ceil(LANES));
    let columns = comptime!((width * lanes) as f32);
    let group = CUBE_POS as u32 * GROUPS + UNIT_POS_Y;
    let mut dbias = Array::<Vector<f32, N>>::new(comptime!(each as usize));
    let mut dgamma = Array::<Vector<f32, N>>::new(comptime!(each as usize));
    let mut dbeta = Array::<Vector<f32, N>>::new(comptime!(each as usize));
    let mut scaled = Array::<Vector<f32, N>>::new(comptime!(each as usize));
    let mut standards = Array::<Vector<f32, N>>::new(comptime!(each as usize));
    #[unroll]
    for k in 0..each {
        dbias[k as usize] = Vector::new(0.0f32);
        dgamma[k as usize] = Vector::new(0.0f32);
        dbeta[k as usize] = Vector::new(0.0f32);
    }
    for step in 0..ROWS {
        let row = group * ROWS + step;
        let mut sum = Vector::<f32, N>::new(0.0f32);
        let mut along = Vector::<f32, N>::new(0.0f32);
        #[unroll]
        for k in 0..each {
            let column = k * LANES + UNIT_POS_X;
            let mut value = Vector::<f32, N>::new(0.0f32);
            let mut s = Vector::<f32, N>::new(0.0f32);
            if row < rows && column < width {
                let i = (row * width + column) as usize;
                let d = dy[i];
                s = standard[i];
                dgamma[k as usize] += d * s;
                dbeta[k as usize] += d;
                value = d * gamma[column as usize];
                along += value * s;
            }
            standards[k as usize] = s;
            scaled[k as usize] = value;
            sum += value;
        }
        let mean = lane_sum(total::<N>(sum), &mut scratch, planes) / columns;
        let mean = Vector::<f32, N>::new(mean);
        let along = lane_sum(total::<N>(along), &mut scratch, planes) / columns;
        let along = Vector::<f32, N>::new(along);
        if row < rows {
            let scale = Vector::<f32, N>::new(inverse[row as usize]);
            #[unroll]
            for k in 0..each {
                let column = k * LANES + UNIT_POS_X;
                if column < width {
                    let i = row * width + column;
                    let d = (scaled[k as usize] - mean - standards[k as usize] * along) * scale;
                    dx[i as usize] = d;
                    let kept = d * factors::<N>(&mask, i * lanes, dropped);
                    if comptime!(apart) {
                        dr[i as usize] = Vector::<F, N>::cast_from(kept);
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
        if group < groups && column < width {
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

    fn reads(&self, [_, r, ..]: [DType; 5]) -> [DType; 5] {
        let full = DType::F32;
        [full, narrow(r), full, full, full]
    }

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
                cubes(&x, rows.div_ceil(GROUPS as usize) * UNITS as usize),
                CubeDim::new_2d(LANES, GROUPS),
                vector(width),
                buffer(&x),
                buffer(&r),
                buffer(&bias),
                buffer(&gamma),
                buffer(&beta),
                buffer(&y),
                buffer(&standard),
                buffer(&inverse),
                count(rows),
                self.epsilon as f32,
                mask,
                dropped,
                count(width / vector(width)),
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
        let dr = empty_of(dtype, &dy, if apart { [rows, width] } else { [1, vector(width)] });
        // SAFETY: units beyond the last row or column write nothing
        unsafe {
            residual_norm_backward::launch_unchecked(
                &dy.client,
                spread(&dy, cubes),
                CubeDim::new_2d(LANES, GROUPS),
                vector(width),
                buffer(&standard),
                buffer(&inverse),
                buffer(&gamma),
                buffer(&dy),
                buffer(&dx),
                buffer(&dr),
                buffer(&sums),
                count(rows),
                count(cubes * GROUPS as usize),
                mask,
                dropped,
                apart,
                count(width / vector(width)),
                has_planes(&dy),
                element(&dr),
            );
        }
        let [dbias, dgamma, dbeta] = add_up(&sums);
        let dr = if apart { dr } else { dx.clone() };
        [dx, dr, dbias, dgamma, dbeta].map(Some)
    }
}
