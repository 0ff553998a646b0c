use std::borrow::Cow;
use std::ops::{Mul, MulAssign, SubAssign};

use faer::linalg::matmul::matmul;
use faer::traits::ComplexField;
use faer::{Accum, MatMut, MatRef, Par};

use crate::OutputKernel;
use crate::features::{Block, RowSource, product, simd};

/// The numbers that coordinates are computed in: `f32` or `f64`.
pub(super) trait Number:
    ComplexField + Copy + Default + Mul<Output = Self> + MulAssign + SubAssign
{
    /// The nearest number of this type.
    fn of(value: f64) -> Self;

    /// The same numbers in this type.
    fn numbers(values: &[f32]) -> Cow<'_, [Self]>;

    /// `out += factor · values`.
    fn add_scaled(out: &mut [Self], factor: f32, values: &[f32]);

    /// `s(⟨y,y⟩)` of each row, and the rows that they apply to.
    fn scaled<'a>(kernel: &dyn OutputKernel, rows: Block<'a>) -> (Vec<Self>, Block<'a>);

    /// `Σ v²` in `f64`, in eight sums so that it vectorises.
    fn squared_length(values: &[Self]) -> f64;

    /// Divides all values.
    fn divide(values: &mut [Self], length: f64);
}

impl Number for f32 {
    fn of(value: f64) -> Self {
        value as Self
    }

    fn numbers(values: &[f32]) -> Cow<'_, [Self]> {
        Cow::Borrowed(values)
    }

    fn add_scaled(out: &mut [Self], factor: f32, values: &[f32]) {
        simd::add_scaled(out, factor, values);
    }

    /// Rows are scaled themselves, and the scales are 1, where a scale is so large or so small that
    /// sums of unscaled numbers could overflow or lose digits.
    fn scaled<'a>(kernel: &dyn OutputKernel, rows: Block<'a>) -> (Vec<Self>, Block<'a>) {
        let (scales, rows) = f64::scaled(kernel, rows);
        if scales.iter().all(|&scale| scale == 0.0 || (1e-12..=1e12).contains(&scale)) {
            (scales.into_iter().map(|scale| scale as f32).collect(), rows)
        } else {
            (vec![1.0; scales.len()], rows.scaled(&scales))
        }
    }

    fn squared_length(values: &[Self]) -> f64 {
        simd::squared_norm(values)
    }

    fn divide(values: &mut [Self], length: f64) {
        let scale = length.recip() as f32;
        if scale.is_normal() {
            values.iter_mut().for_each(|value| *value *= scale);
        } else {
            values.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
        }
    }
}

impl Number for f64 {
    fn of(value: f64) -> Self {
        value
    }

    fn numbers(values: &[f32]) -> Cow<'_, [Self]> {
        Cow::Owned(product::widen(values))
    }

    fn add_scaled(out: &mut [Self], factor: f32, values: &[f32]) {
        simd::add_scaled_f64(out, factor.into(), values);
    }

    fn scaled<'a>(kernel: &dyn OutputKernel, rows: Block<'a>) -> (Vec<Self>, Block<'a>) {
        let scale = |squared| kernel.feature_scale(squared).unwrap_or(1.0);
        (rows.squared_norms().into_iter().map(scale).collect(), rows)
    }

    fn squared_length(values: &[Self]) -> f64 {
        let (groups, rest) = values.as_chunks::<8>();
        let mut sums = [0.0; 8];
        for group in groups {
            sums.iter_mut().zip(group).for_each(|(sum, value)| *sum += value * value);
        }
        sums.iter().sum::<f64>() + rest.iter().map(|value| value * value).sum::<f64>()
    }

    fn divide(values: &mut [Self], length: f64) {
        values.iter_mut().for_each(|value| *value /= length);
    }
}

/// `out = Y Mᵀ`: the coordinates of rows, n × p row-major. `matrix` is M, p × d row-major, and
/// `transposed` is Mᵀ, which bits and sparse rows are multiplied with.
pub(super) fn project<T: Number>(matrix: &[f32], transposed: &[f32], rows: &Block, out: &mut [T]) {
    let width = rows.width();
    let dimension = matrix.len() / width;
    if let Block::Dense(rows) = rows {
        return turn(matrix, width, &T::numbers(rows.values()), out);
    }
    out.fill(T::default());
    for (row, out) in out.chunks_exact_mut(dimension).enumerate() {
        rows.entries(row, 0..width, |column, value| {
            T::add_scaled(out, value, &transposed[column * dimension..(column + 1) * dimension]);
        });
    }
}

/// `out = X Mᵀ` for rows of `width` numbers, p numbers a row; `matrix` is M, p × width row-major.
pub(super) fn turn<T: Number>(matrix: &[f32], width: usize, rows: &[T], out: &mut [T]) {
    let (dimension, len) = (matrix.len() / width, rows.len() / width);
    let matrix = T::numbers(matrix);
    let out = MatMut::from_column_major_slice_mut(out, dimension, len);
    let matrix = MatRef::from_row_major_slice(&matrix, dimension, width);
    let rows = MatRef::from_column_major_slice(rows, width, len);
    matmul(out, Accum::Replace, matrix, rows, T::of(1.0), Par::Seq);
}
