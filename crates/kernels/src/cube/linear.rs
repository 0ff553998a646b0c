use burn::backend::Cube;
use burn::tensor::DType;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::mask::{argument, factors};
use super::product::{narrow, of_product, operands, product};
use super::sums::{add_up, column_sums};
use super::{
    BlockPlace, UNITS, block_place, buffer, count, cubes, element, empty, empty_of, in_type, sides,
    spread, vector,
};
use crate::dropout::Dropout;
use crate::linear::{AffineGelu, Linear};
use crate::operation::{Operation, narrow as as_narrow};

#[cube(launch_unchecked)]
fn add_bias<F: Float, N: Size>(
    x: &mut [Vector<F, N>],
    bias: &[Vector<f32, N>],
    vectors: u32,
    width: u32,
    #[define(F)] _element: ElemType,
) {
    let i = ABSOLUTE_POS;
    if i < vectors as usize {
        let sum = Vector::<f32, N>::cast_from(x[i]) + bias[i % width as usize];
        x[i] = Vector::<F, N>::cast_from(sum);
    }
}

impl<const N: usize> Operation<Cube, N> for Linear {
    /// x and w, as they are multiplied, and the type of the numbers of x.
    type Saved = ([CubeTensor; 2], DType);

    fn reads(&self, given: [DType; N]) -> [DType; N] {
        std::array::from_fn(|input| if input < 2 { as_narrow(given[input]) } else { DType::F32 })
    }

    fn forward(&self, inputs: [CubeTensor; N], _: bool) -> (CubeTensor, Self::Saved) {
        let factors = operands([&inputs[0], &inputs[1]], self.0);
        let y = product(narrow(self.0), &factors[0], &factors[1], self.0);
        if let Some(bias) = inputs.get(2) {
            let length = y.meta.num_elements();
            let (_, width) = sides(&y);
            let lanes = vector(width);
            // SAFETY: units beyond the length do nothing
            unsafe {
                add_bias::launch_unchecked(
                    &y.client,
                    cubes(&y, length / lanes),
                    CubeDim::new_1d(UNITS),
                    lanes,
                    buffer(&y),
                    buffer(bias),
                    count(length / lanes),
                    count(width / lanes),
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

/// Rows of a block, and units of a cube, of the backward pass.
const ROWS: usize = 32;
const COLUMNS: u32 = 128;

/// `1/√2` and `1/√(2π)`.
const HALF_ROOT: f32 = std::f32::consts::FRAC_1_SQRT_2;
const DENSITY: f32 = 0.398_942_3;

#[cube]
fn normal<N: Size>(v: Vector<f32, N>) -> Vector<f32, N> {
    let one = Vector::<f32, N>::new(1.0f32);
    (one + Erf::erf(v * Vector::new(HALF_ROOT))) * Vector::new(0.5f32)
}

#[cube(launch_unchecked)]
fn gelu<F: Float, N: Size>(
    h: &[Vector<F, N>],
    bias: &[Vector<f32, N>],
    y: &mut [Vector<F, N>],
    vectors: u32,
    width: u32,
    mask: Dropout,
    #[comptime] dropped: bool,
    #[define(F)] _element: ElemType,
) {
    let i = ABSOLUTE_POS;
    if i < vectors as usize {
        let lanes = N::value();
        let lanes = comptime!(lanes as u32);
        let v = Vector::<f32, N>::cast_from(h[i]) + bias[i % width as usize];
        let value = v * normal::<N>(v) * factors::<N>(&mask, i as u32 * lanes, dropped);
        y[i] = Vector::<F, N>::cast_from(value);
    }
}

/// Computes the gradient of `h + b`, and its sums over blocks of rows. A unit has some columns of a block.
#[cube(launch_unchecked)]
fn gelu_backward<F: Float, N: Size>(
    h: &[Vector<F, N>],
    bias: &[Vector<f32, N>],
    dy: &[Vector<F, N>],
    dh: &mut [Vector<F, N>],
    sums: &mut [Vector<f32, N>],
    rows: u32,
    blocks: u32,
    width: u32,
    mask: Dropout,
    #[comptime] dropped: bool,
    #[comptime] block: u32,
    #[define(F)] _element: ElemType,
) {
    let BlockPlace { block: block_number, column } = block_place(width);
    if column < width && block_number < blocks {
        let lanes = N::value();
        let lanes = comptime!(lanes as u32);
        let first = block_number * block;
        let last = min(first + block, rows);
        let b = bias[column as usize];
        let mut sum = Vector::<f32, N>::new(0.0f32);
        for row in first..last {
            let i = row * width + column;
            let v = Vector::<f32, N>::cast_from(h[i as usize]) + b;
            let pdf = (v * v * Vector::new(-0.5f32)).exp() * Vector::new(DENSITY);
            let slope = (normal::<N>(v) + v * pdf) * factors::<N>(&mask, i * lanes, dropped);
            let d = Vector::<f32, N>::cast_from(dy[i as usize]) * slope;
            dh[i as usize] = Vector::<F, N>::cast_from(d);
            sum += d;
        }
        sums[(block_number * width + column) as usize] = sum;
    }
}

impl Operation<Cube, 3> for AffineGelu {
    /// x and w, as they are multiplied, and the type of the numbers of x; their product; b.
    type Saved = ([CubeTensor; 2], DType, [CubeTensor; 2]);

    fn reads(&self, [x, w, _]: [DType; 3]) -> [DType; 3] {
        [as_narrow(x), as_narrow(w), DType::F32]
    }

    fn forward(&self, [x, w, b]: [CubeTensor; 3], _: bool) -> (CubeTensor, Self::Saved) {
        let factors = operands([&x, &w], self.precision);
        let h = product(narrow(self.precision), &factors[0], &factors[1], self.precision);
        let length = h.meta.num_elements();
        let (_, width) = sides(&h);
        let lanes = vector(width);
        let y = empty_of(h.dtype, &h, h.meta.shape().clone());
        let (mask, dropped) = argument(self.dropout);
        // SAFETY: units beyond the length do nothing
        unsafe {
            gelu::launch_unchecked(
                &h.client,
                cubes(&h, length / lanes),
                CubeDim::new_1d(UNITS),
                lanes,
                buffer(&h),
                buffer(&b),
                buffer(&y),
                count(length / lanes),
                count(width / lanes),
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
        let blocks = rows.div_ceil(ROWS).max(1);
        let lanes = vector(width);
        let dy = in_type(dy, h.dtype);
        let dh = empty_of(h.dtype, &h, [rows, width]);
        let sums = empty(&h, [blocks, width]);
        let (mask, dropped) = argument(self.dropout);
        // SAFETY: units beyond the columns do nothing, and rows end at the last
        unsafe {
            gelu_backward::launch_unchecked(
                &h.client,
                spread(&h, blocks * (width / lanes).div_ceil(COLUMNS as usize)),
                CubeDim::new_1d(COLUMNS),
                lanes,
                buffer(&h),
                buffer(&b),
                buffer(&dy),
                buffer(&dh),
                buffer(&sums),
                count(rows),
                count(blocks),
                count(width / lanes),
                mask,
                dropped,
                ROWS as u32,
                element(&h),
            );
        }
        let [dx, dw] = of_product(&factors, dtype, &dh, self.precision, [x, w]);
        let [db] = add_up(&sums);
        [dx, dw, Some(db)]
    }
}
