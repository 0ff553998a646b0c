use burn::backend::Cube;
use burn::tensor::DType;
use burn_cubecl::kernel::cast;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::mask::{Mask, argument, factor};
use super::product::{narrow, of_product, operands, product_of};
use super::sums::{ROWS, add_up, column_sums};
use super::{UNITS, buffer, cubes, element, empty, empty_of, grid, sides};
use crate::fused::Operation;
use crate::fused::linear::{AffineGelu, Linear};

#[cube(launch_unchecked)]
fn add_bias<F: Float>(
    x: &mut [F],
    bias: &[f32],
    length: u32,
    width: u32,
    #[define(F)] _element: ElemType,
) {
    let i = ABSOLUTE_POS;
    if i < length as usize {
        x[i] = F::cast_from(f32::cast_from(x[i]) + bias[i % width as usize]);
    }
}

impl<const N: usize> Operation<Cube, N> for Linear {
    /// x and w, as they are multiplied, and the type of the numbers of x.
    type Saved = ([CubeTensor; 2], DType);

    fn forward(&self, inputs: [CubeTensor; N], _: bool) -> (CubeTensor, Self::Saved) {
        let factors = operands([&inputs[0], &inputs[1]], self.0);
        let y = product_of(narrow(self.0), &factors[0], &factors[1], self.0);
        if let Some(bias) = inputs.get(2) {
            let (length, (_, width)) = (y.meta.num_elements(), sides(&y));
            // SAFETY: units beyond the length do nothing
            unsafe {
                add_bias::launch_unchecked(
                    &y.client,
                    cubes(length),
                    CubeDim::new_1d(UNITS),
                    buffer(&y),
                    buffer(bias),
                    length as u32,
                    width as u32,
                    element(&y),
                );
            }
        }
        (y, (factors, inputs[0].dtype))
    }

    fn backward(
        self,
        (factors, dtype): Self::Saved,
        dy: CubeTensor,
        wanted: [bool; N],
    ) -> [Option<CubeTensor>; N] {
        let db = (wanted.get(2) == Some(&true)).then(|| column_sums(&dy));
        let [dx, dw] = of_product(&factors, dtype, &dy, self.0, [wanted[0], wanted[1]]);
        let mut gradients = [dx, dw, db].into_iter();
        std::array::from_fn(|_| gradients.next().flatten())
    }
}

/// `1/√2` and `1/√(2π)`.
const HALF_ROOT: f32 = std::f32::consts::FRAC_1_SQRT_2;
const DENSITY: f32 = 0.398_942_3;

#[cube(launch_unchecked)]
fn gelu<F: Float>(
    h: &[F],
    bias: &[f32],
    y: &mut [F],
    length: u32,
    width: u32,
    mask: Mask,
    #[comptime] dropped: bool,
    #[define(F)] _element: ElemType,
) {
    let i = ABSOLUTE_POS;
    if i < length as usize {
        let v = f32::cast_from(h[i]) + bias[i % width as usize];
        let cdf = 0.5f32 * (1.0f32 + Erf::erf(v * HALF_ROOT));
        y[i] = F::cast_from(v * cdf * factor(&mask, i as u32, dropped));
    }
}

/// The gradient of `h + b`, and its sums over blocks of rows.
#[cube(launch_unchecked)]
fn gelu_backward<F: Float>(
    h: &[F],
    bias: &[f32],
    dy: &[F],
    dh: &mut [F],
    sums: &mut [f32],
    rows: u32,
    width: u32,
    mask: Mask,
    #[comptime] dropped: bool,
    #[comptime] block: u32,
    #[define(F)] _element: ElemType,
) {
    let column = CUBE_POS_Y * CUBE_DIM_X + UNIT_POS_X;
    if column < width {
        let first = CUBE_POS_X * block;
        let last = min(first + block, rows);
        let b = bias[column as usize];
        let mut sum = 0.0f32;
        for row in first..last {
            let i = row * width + column;
            let v = f32::cast_from(h[i as usize]) + b;
            let cdf = 0.5f32 * (1.0f32 + Erf::erf(v * HALF_ROOT));
            let pdf = DENSITY * (-0.5f32 * v * v).exp();
            let d = f32::cast_from(dy[i as usize]) * (cdf + v * pdf) * factor(&mask, i, dropped);
            dh[i as usize] = F::cast_from(d);
            sum += d;
        }
        sums[(CUBE_POS_X * width + column) as usize] = sum;
    }
}

impl Operation<Cube, 3> for AffineGelu {
    /// x and w, as they are multiplied, and the type of the numbers of x; their product; b.
    type Saved = ([CubeTensor; 2], DType, [CubeTensor; 2]);

    fn forward(&self, [x, w, b]: [CubeTensor; 3], _: bool) -> (CubeTensor, Self::Saved) {
        let factors = operands([&x, &w], self.precision);
        let h = product_of(narrow(self.precision), &factors[0], &factors[1], self.precision);
        let (length, (_, width)) = (h.meta.num_elements(), sides(&h));
        let y = empty_of(h.dtype, &h, h.meta.shape().clone());
        let (mask, dropped) = argument(self.dropout);
        // SAFETY: units beyond the length do nothing
        unsafe {
            gelu::launch_unchecked(
                &h.client,
                cubes(length),
                CubeDim::new_1d(UNITS),
                buffer(&h),
                buffer(&b),
                buffer(&y),
                length as u32,
                width as u32,
                mask,
                dropped,
                element(&h),
            );
        }
        (y, (factors, x.dtype, [h, b]))
    }

    fn backward(
        self,
        (factors, dtype, [h, b]): Self::Saved,
        dy: CubeTensor,
        [x, w, _]: [bool; 3],
    ) -> [Option<CubeTensor>; 3] {
        let (rows, width) = sides(&h);
        let blocks = rows.div_ceil(ROWS);
        let dy = if dy.dtype == h.dtype { dy } else { cast(dy, h.dtype) };
        let dh = empty_of(h.dtype, &h, [rows, width]);
        let sums = empty(&h, [blocks.max(1), width]);
        let (mask, dropped) = argument(self.dropout);
        // SAFETY: units beyond the columns do nothing, and rows end at the last
        unsafe {
            gelu_backward::launch_unchecked(
                &h.client,
                grid(blocks, width.div_ceil(UNITS as usize)),
                CubeDim::new_1d(UNITS),
                buffer(&h),
                buffer(&b),
                buffer(&dy),
                buffer(&dh),
                buffer(&sums),
                rows as u32,
                width as u32,
                mask,
                dropped,
                ROWS as u32,
                element(&h),
            );
        }
        let [dx, dw] = of_product(&factors, dtype, &dh, self.precision, [x, w]);
        [dx, dw, Some(add_up(&sums))]
    }
}
