use std::ops::Range;

use dsokr_basis::Processes;
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use rayon::prelude::*;

use super::{PANEL, Scalar, check_finite};
use crate::Error;

/// The lower half of a symmetric matrix, in panels of [`PANEL`] rows from column 0 to the diagonal.
///
/// Half the memory of the matrix; a panel is one operand of the products of a factorisation.
#[derive(Clone, Debug)]
pub(crate) struct Panels<T> {
    /// The number of rows.
    pub(crate) size: usize,
    pub(super) panels: Vec<Mat<T>>,
}

/// The rows of panel `at` of a matrix of the given size.
pub(crate) fn rows_of(at: usize, size: usize) -> Range<usize> {
    at * PANEL..size.min((at + 1) * PANEL)
}

impl<T: Scalar> Panels<T> {
    /// A matrix of zeros.
    pub(crate) fn zeros(size: usize) -> Self {
        let panel = |at| Mat::zeros(rows_of(at, size).len(), rows_of(at, size).end);
        Self { size, panels: (0..size.div_ceil(PANEL)).map(panel).collect() }
    }

    /// From its panels: `panel(rows)` gives the rows of the matrix from column 0 to `rows.end`.
    pub(crate) fn try_new<E>(
        size: usize,
        mut panel: impl FnMut(Range<usize>) -> Result<Mat<T>, E>,
    ) -> Result<Self, E> {
        let panels = (0..size.div_ceil(PANEL)).map(|at| panel(rows_of(at, size)));
        Ok(Self { size, panels: panels.collect::<Result<_, E>>()? })
    }

    /// An element of the lower half, `column ≤ row`.
    pub(crate) fn at(&self, row: usize, column: usize) -> T {
        self.panels[row / PANEL][(row % PANEL, column)]
    }

    /// Adds to the diagonal.
    pub(crate) fn add_to_diagonal(&mut self, value: T) {
        for (at, panel) in self.panels.iter_mut().enumerate() {
            (0..panel.nrows()).for_each(|i| panel[(i, at * PANEL + i)] += value);
        }
    }

    /// Adds another matrix of the same size, scaled.
    pub(crate) fn add_scaled(&mut self, factor: T, other: &Self) {
        self.panels.par_iter_mut().zip(&other.panels).for_each(|(panel, other)| {
            for (own, other) in panel.col_iter_mut().zip(other.col_iter()) {
                own.iter_mut().zip(other.iter()).for_each(|(own, &other)| *own += factor * other);
            }
        });
    }

    /// Adds the lower half of `Aᵀ B`, which is symmetric, for A and B with a row for each term.
    pub(crate) fn add_product(&mut self, a: MatRef<T>, b: MatRef<T>) {
        let size = self.size;
        self.panels.par_iter_mut().enumerate().for_each(|(at, panel)| {
            let of = rows_of(at, size);
            let (left, right) = (a.subcols(of.start, of.len()), b.subcols(0, of.end));
            let one = T::of(1.0);
            matmul(panel.as_mut(), Accum::Add, left.transpose(), right, one, Par::Seq);
        });
    }

    /// The sum of the diagonal.
    pub(crate) fn trace(&self) -> f64 {
        (0..self.size).map(|i| self.at(i, i).wide()).sum()
    }

    /// Unless all elements are finite numbers.
    pub(crate) fn check_finite(&self, what: &'static str) -> Result<(), Error> {
        let mut panels = self.panels.iter().enumerate();
        panels.try_for_each(|(at, panel)| {
            check_finite(what, panel.as_ref(), |i, j| (at * PANEL + i, j))
        })
    }

    /// The same matrix in `f32`.
    pub(crate) fn single(&self) -> Panels<f32> {
        let single = |panel: &Mat<T>| {
            Mat::from_fn(panel.nrows(), panel.ncols(), |i, j| panel[(i, j)].wide() as f32)
        };
        Panels { size: self.size, panels: self.panels.iter().map(single).collect() }
    }

    /// The whole matrix, both halves.
    pub(crate) fn whole(&self) -> Mat<f64> {
        let element = |i: usize, j: usize| self.at(i.max(j), i.min(j)).wide();
        Mat::from_fn(self.size, self.size, element)
    }
}

impl Panels<f64> {
    /// Replaces it by the sum of those of all ranks.
    pub(crate) fn sum(&mut self, ranks: &Processes) -> Result<(), Error> {
        self.panels.iter_mut().try_for_each(|panel| Ok(ranks.sum_matrix(panel)?))
    }
}

/// The rows of a matrix one after another; an element that is not finite is an error.
pub(crate) fn row_major<T: Scalar>(matrix: MatRef<T>) -> Result<Vec<T>, Error> {
    const ROWS: usize = 64;
    let columns = matrix.ncols();
    let mut out = vec![T::of(0.0); matrix.nrows() * columns];
    out.par_chunks_mut(ROWS * columns).enumerate().for_each(|(chunk, out)| {
        for j in 0..columns {
            let column = matrix.col(j).subrows(chunk * ROWS, out.len() / columns);
            column.iter().enumerate().for_each(|(i, &value)| out[i * columns + j] = value);
        }
    });
    Error::check_finite("weights", columns, &out)?;
    Ok(out)
}
