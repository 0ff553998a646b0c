use dsokr_basis::{Cancellation, Error};
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::{Accum, Mat, MatMut, Par};
use rayon::prelude::*;

use super::panels::rows_of;
use super::{Factor, PANEL, SIDES, Scalar};

impl<T: Scalar> Factor<T> {
    /// Replaces the right-hand sides B by `A⁻¹ B`, 2 n² multiplications and additions a column.
    pub(crate) fn solve(&self, mut sides: MatMut<T>) -> Result<(), Error> {
        let cancellation = &Cancellation::current();
        sides.as_mut().par_col_chunks_mut(SIDES).try_for_each(|mut sides| {
            // Rows of zeros on top stay zeros: sides that pick some rows start where they do.
            let zero = T::of(0.0);
            let first = sides
                .as_ref()
                .col_iter()
                .filter_map(|column| column.iter().position(|&value| value != zero));
            let Some(first) = first.min() else {
                return Ok(());
            };
            self.forward(sides.as_mut(), first / PANEL, cancellation)?;
            self.backward(sides, cancellation)
        })
    }

    /// `L⁻¹ B`, in parallel over the columns.
    pub(crate) fn whiten(&self, mut sides: MatMut<T>) -> Result<(), Error> {
        let cancellation = &Cancellation::current();
        let parts = sides.as_mut().par_col_chunks_mut(SIDES);
        parts.try_for_each(|sides| self.forward(sides, 0, cancellation))
    }

    /// `L⁻ᵀ B`, in parallel over the columns.
    pub(crate) fn whiten_transposed(&self, mut sides: MatMut<T>) -> Result<(), Error> {
        let cancellation = &Cancellation::current();
        let parts = sides.as_mut().par_col_chunks_mut(SIDES);
        parts.try_for_each(|sides| self.backward(sides, cancellation))
    }

    /// The diagonal of `A⁻¹`: squared lengths of the columns of `L⁻¹`, `n³/3` operations.
    pub(crate) fn inverse_diagonal(&self) -> Result<Vec<f64>, Error> {
        let (size, cancellation) = (self.size(), &Cancellation::current());
        let mut diagonal = vec![0.0; size];
        diagonal.par_chunks_mut(SIDES).enumerate().try_for_each(|(chunk, out)| {
            let start = chunk * SIDES;
            let top = start - start % PANEL;
            let mut columns = Mat::<T>::zeros(size - top, out.len());
            (0..out.len()).for_each(|j| columns[(start - top + j, j)] = T::of(1.0));
            self.forward_from(columns.as_mut(), top / PANEL, cancellation)?;
            for (out, column) in out.iter_mut().zip(columns.col_iter()) {
                *out = column.iter().map(|value| value.wide() * value.wide()).sum();
            }
            Ok(())
        })?;
        Ok(diagonal)
    }

    /// `L⁻¹ B` on one thread, where the rows of B above panel `first` are zero.
    fn forward(
        &self,
        sides: MatMut<T>,
        first: usize,
        cancellation: &Cancellation,
    ) -> Result<(), Error> {
        let (_, sides) = sides.split_at_row_mut(first * PANEL);
        self.forward_from(sides, first, cancellation)
    }

    /// As [`forward`](Self::forward) of sides that are given without their rows of zeros.
    pub(super) fn forward_from(
        &self,
        mut sides: MatMut<T>,
        first: usize,
        cancellation: &Cancellation,
    ) -> Result<(), Error> {
        let top = first * PANEL;
        for (at, panel) in self.lower.panels.iter().enumerate().skip(first) {
            cancellation.check()?;
            let rows = rows_of(at, self.size());
            let (known, rest) = sides.as_mut().split_at_row_mut(rows.start - top);
            let mut out = rest.subrows_mut(0, rows.len());
            let left = panel.as_ref().subcols(top, rows.start - top);
            matmul(out.as_mut(), Accum::Add, left, known.as_ref(), T::of(-1.0), Par::Seq);
            let diagonal = panel.as_ref().subcols(rows.start, rows.len());
            solve_lower_triangular_in_place(diagonal, out, Par::Seq);
        }
        Ok(())
    }

    /// `L⁻ᵀ B` on one thread.
    pub(super) fn backward(
        &self,
        mut sides: MatMut<T>,
        cancellation: &Cancellation,
    ) -> Result<(), Error> {
        for (at, panel) in self.lower.panels.iter().enumerate().rev() {
            cancellation.check()?;
            let rows = rows_of(at, self.size());
            let (above, rest) = sides.as_mut().split_at_row_mut(rows.start);
            let mut block = rest.subrows_mut(0, rows.len());
            let diagonal = panel.as_ref().subcols(rows.start, rows.len());
            solve_upper_triangular_in_place(diagonal.transpose(), block.as_mut(), Par::Seq);
            let left = panel.as_ref().subcols(0, rows.start);
            let minus = T::of(-1.0);
            matmul(above, Accum::Add, left.transpose(), block.as_ref(), minus, Par::Seq);
        }
        Ok(())
    }
}
