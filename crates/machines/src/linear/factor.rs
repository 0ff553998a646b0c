use std::ops::Range;

use dsokr_basis::eigenbasis::{cholesky, sum_over_ranks};
use dsokr_core::message::number;
use dsokr_core::random::{generator, unit};
use dsokr_core::{Cancellation, Error, Processes};
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::{PANEL, SIDES, Scalar, check_finite, product};
use crate::row_groups::runs_of_groups;
use crate::summary::Arithmetic;

/// Steps of the power iteration in each direction.
const STEPS: usize = 6;

/// The lower half of a symmetric matrix, in panels of [`PANEL`] rows from column 0 to the diagonal.
///
/// Half the memory of the matrix; a panel is one operand of the products of a factorisation.
#[derive(Clone, Debug)]
pub(crate) struct Panels<T> {
    /// The number of rows.
    pub(crate) size: usize,
    panels: Vec<Mat<T>>,
}

/// Returns the rows of panel `at` of a matrix of the given size.
fn rows_of(at: usize, size: usize) -> Range<usize> {
    at * PANEL..size.min((at + 1) * PANEL)
}

impl<T: Scalar> Panels<T> {
    /// Creates a matrix of zeros.
    pub(crate) fn zeros(size: usize) -> Self {
        let panel = |at| Mat::zeros(rows_of(at, size).len(), rows_of(at, size).end);
        Self { size, panels: (0..size.div_ceil(PANEL)).map(panel).collect() }
    }

    /// Creates the matrix from its panels: `panel(rows)` gives the rows of the matrix from column 0 to `rows.end`.
    pub(crate) fn try_new<E>(
        size: usize,
        mut panel: impl FnMut(Range<usize>) -> Result<Mat<T>, E>,
    ) -> Result<Self, E> {
        let panels = (0..size.div_ceil(PANEL)).map(|at| panel(rows_of(at, size)));
        Ok(Self { size, panels: panels.collect::<Result<_, E>>()? })
    }

    /// Returns an element of the lower half, `column ≤ row`.
    pub(crate) fn at(&self, row: usize, column: usize) -> T {
        self.panels[row / PANEL][(row % PANEL, column)]
    }

    /// Adds to the diagonal.
    pub(crate) fn add_to_diagonal(&mut self, value: T) {
        self.add_diagonal(|_| value);
    }

    /// Adds a diagonal matrix. `value` gives the element of each row.
    pub(crate) fn add_diagonal(&mut self, value: impl Fn(usize) -> T) {
        for (at, panel) in self.panels.iter_mut().enumerate() {
            (0..panel.nrows()).for_each(|i| panel[(i, at * PANEL + i)] += value(at * PANEL + i));
        }
    }

    /// Adds a scaled matrix of the same size.
    pub(crate) fn add_scaled(&mut self, factor: T, other: &Self) {
        self.panels.par_iter_mut().zip(&other.panels).for_each(|(panel, other)| {
            for (column, other) in panel.col_iter_mut().zip(other.col_iter()) {
                column
                    .iter_mut()
                    .zip(other.iter())
                    .for_each(|(value, &other)| *value += factor * other);
            }
        });
    }

    /// Adds the lower half of `Aᵀ B`, which is symmetric, for A and B with a row for each term.
    pub(crate) fn add_product(&mut self, a: MatRef<T>, b: MatRef<T>) {
        let size = self.size;
        self.panels.par_iter_mut().enumerate().for_each(|(at, panel)| {
            let rows = rows_of(at, size);
            let left = a.subcols(rows.start, rows.len()).transpose();
            panel.par_col_chunks_mut(SIDES).enumerate().for_each(|(task, out)| {
                let right = b.subcols(task * SIDES, out.ncols());
                matmul(out, Accum::Add, left, right, T::from_f64(1.0), Par::Seq);
            });
        });
    }

    /// Returns the sum of the diagonal.
    pub(crate) fn trace(&self) -> f64 {
        (0..self.size).map(|i| self.at(i, i).wide()).sum()
    }

    /// Refuses the matrix unless all elements are finite numbers.
    pub(crate) fn check_finite(&self, what: &'static str) -> Result<(), Error> {
        let mut panels = self.panels.iter().enumerate();
        panels.try_for_each(|(at, panel)| {
            check_finite(what, panel.as_ref(), |i, j| (at * PANEL + i, j))
        })
    }

    /// Returns the same matrix in `f32`.
    pub(crate) fn single(&self) -> Panels<f32> {
        let single = |panel: &Mat<T>| {
            Mat::from_fn(panel.nrows(), panel.ncols(), |i, j| panel[(i, j)].wide() as f32)
        };
        Panels { size: self.size, panels: self.panels.iter().map(single).collect() }
    }

    /// Returns the whole matrix, both halves.
    pub(crate) fn whole(&self) -> Mat<f64> {
        let element = |i: usize, j: usize| self.at(i.max(j), i.min(j)).wide();
        Mat::from_fn(self.size, self.size, element)
    }
}

impl Panels<f64> {
    /// Replaces the matrix by its sum over all ranks.
    pub(crate) fn sum(&mut self, processes: &Processes) -> Result<(), Error> {
        self.panels.iter_mut().try_for_each(|panel| sum_over_ranks(processes, panel))
    }
}

/// Returns the elements of a matrix, row by row; an element that is not finite is an error.
pub(crate) fn row_major<T: Scalar>(matrix: MatRef<T>) -> Result<Vec<T>, Error> {
    const ROWS: usize = 64;
    let columns = matrix.ncols();
    let mut out = vec![T::from_f64(0.0); matrix.nrows() * columns];
    out.par_chunks_mut(ROWS * columns).enumerate().for_each(|(chunk, out)| {
        for j in 0..columns {
            let column = matrix.col(j).subrows(chunk * ROWS, out.len() / columns);
            column.iter().enumerate().for_each(|(i, &value)| out[i * columns + j] = value);
        }
    });
    Error::check_finite("weights", columns, &out)?;
    Ok(out)
}

/// `L` of `A = L Lᵀ`, lower triangular, in the panels of A; what is above the diagonal is not read.
#[derive(Clone, Debug)]
pub(crate) struct Factor<T> {
    lower: Panels<T>,
}

/// Returns the error for a system of `size` unknowns with `ridge` = nλ, found at `row` not to be positive definite in the
/// precision that it was factored in.
pub(crate) fn not_positive(row: usize, size: usize, ridge: f64, precision: Arithmetic) -> Error {
    let remedy = match precision {
        Arithmetic::Single => "raise lambda, scale the inputs, or solve in double precision",
        Arithmetic::Double => "raise lambda, or scale the inputs",
    };
    let ridge = number(ridge);
    Error::Numeric(format!(
        "the system of {size} unknowns is not numerically positive definite (row {row}, n·lambda = {ridge}); {remedy}"
    ))
}

impl<T: Scalar> Factor<T> {
    /// Factors a matrix in its own memory, `n³/3` multiplications and additions.
    ///
    /// Left-looking: a column of blocks takes one long product for each block below the diagonal,
    /// then its diagonal block is factored and the others are solved with it. A matrix has no factor where it
    /// is found not to be positive definite at a row, which is then given.
    pub(crate) fn new(mut matrix: Panels<T>) -> Result<Result<Self, usize>, Error> {
        let size = matrix.size;
        let count = matrix.panels.len();
        // the products of a column of blocks: those above its diagonal times those from there on
        let products = |at: usize| at * (count - at);
        let name = format!("factor of {size} unknowns");
        let stage = Cancellation::current().stage(name, (0..count).map(products).sum());
        for at in 0..count {
            if at > 0 {
                stage.advance(products(at))?;
            }
            let columns = rows_of(at, size);
            let Some((current, below)) = matrix.panels[at..].split_first_mut() else { break };
            let (left, diagonal) = current.as_mut().split_at_col_mut(columns.start);
            let left = left.as_ref();
            let update = |out: MatMut<T>, solved: MatRef<T>| {
                matmul(out, Accum::Add, solved, left.transpose(), T::from_f64(-1.0), Par::Seq);
            };
            let mut diagonal = diagonal.subcols_mut(0, columns.len());
            // The diagonal block is one of the tasks.
            rayon::join(
                || update(diagonal.as_mut(), left),
                || {
                    below.par_iter_mut().for_each(|panel| {
                        let (solved, rest) = panel.as_mut().split_at_col_mut(columns.start);
                        update(rest.subcols_mut(0, columns.len()), solved.as_ref());
                    });
                },
            );
            if let Err(row) = cholesky(diagonal.as_mut()) {
                return Ok(Err(at * PANEL + row));
            }
            let diagonal = diagonal.as_ref();
            // X = C L⁻ᵀ, that is L Xᵀ = Cᵀ.
            below.par_iter_mut().for_each(|panel| {
                let block = panel.as_mut().subcols_mut(columns.start, columns.len());
                solve_lower_triangular_in_place(diagonal, block.transpose_mut(), Par::Seq);
            });
        }
        Ok(Ok(Self { lower: matrix }))
    }

    /// Replaces the right-hand sides B by `A⁻¹ B`, 2 n² multiplications and additions a column, for A itself or, where
    /// B has fewer rows, for its leading block of as many.
    pub(crate) fn solve(&self, mut sides: MatMut<T>) -> Result<(), Error> {
        let cancellation = &Cancellation::current();
        let stage = cancellation.stage("solving for the coordinates", sides.ncols());
        sides.as_mut().par_col_chunks_mut(SIDES).try_for_each(|mut sides| {
            stage.advance(sides.ncols())?;
            // Rows of zeros on top stay zeros: sides that pick some rows start where they do.
            let zero = T::from_f64(0.0);
            let first = sides
                .as_ref()
                .col_iter()
                .filter_map(|column| column.iter().position(|&value| value != zero));
            let Some(first) = first.min() else {
                return Ok(());
            };
            let below = sides.as_mut().split_at_row_mut(first / PANEL * PANEL).1;
            self.forward(below, first / PANEL, cancellation)?;
            self.backward(sides, cancellation)
        })
    }

    /// Computes `L⁻¹ B`, in parallel over the columns.
    pub(crate) fn whiten(&self, mut sides: MatMut<T>) -> Result<(), Error> {
        let cancellation = &Cancellation::current();
        let parts = sides.as_mut().par_col_chunks_mut(SIDES);
        parts.try_for_each(|sides| self.forward(sides, 0, cancellation))
    }

    /// Computes `L⁻ᵀ B`, in parallel over the columns.
    pub(crate) fn whiten_transposed(&self, mut sides: MatMut<T>) -> Result<(), Error> {
        let cancellation = &Cancellation::current();
        let parts = sides.as_mut().par_col_chunks_mut(SIDES);
        parts.try_for_each(|sides| self.backward(sides, cancellation))
    }

    /// Returns two diagonals: that of `A⁻¹`, the squared lengths of the columns of `L⁻¹` (`n³/3` operations), and that
    /// of the inverse of the leading block of `block` rows, from the first elements of these columns.
    pub(crate) fn inverse_diagonals(&self, block: usize) -> Result<[Vec<f64>; 2], Error> {
        let size = self.lower.size;
        let cancellation = &Cancellation::current();
        let name = format!("diagonal of the inverse of {size} unknowns");
        // a column of the inverse factor begins at its diagonal
        let products = |first: usize| (size - first).div_ceil(PANEL).pow(2);
        let stage = cancellation.stage(name, (0..size).step_by(PANEL).map(products).sum());
        let mut whole = vec![0.0; size];
        let mut leading = vec![0.0; size];
        let chunks = whole.par_chunks_mut(PANEL).zip(leading.par_chunks_mut(PANEL));
        chunks.enumerate().try_for_each(|(panel, (out, leading))| {
            let first = panel * PANEL;
            stage.advance(products(first))?;
            let mut columns = Mat::<T>::zeros(size - first, out.len());
            (0..out.len()).for_each(|j| columns[(j, j)] = T::from_f64(1.0));
            self.forward(columns.as_mut(), panel, cancellation)?;
            for ((out, leading), column) in out.iter_mut().zip(leading).zip(columns.col_iter()) {
                let square = |value: &T| value.wide() * value.wide();
                *leading = column.iter().take(block.saturating_sub(first)).map(square).sum();
                *out = column.iter().map(square).sum();
            }
            Ok::<_, Error>(())
        })?;
        leading.truncate(block);
        Ok([whole, leading])
    }

    /// Returns the block of the inverse of each group of rows, of the leading block of `size` rows: the columns of `L⁻¹`
    /// times themselves. This takes at most `size²` operations a row.
    pub(crate) fn inverse_blocks(
        &self,
        groups: &[Vec<usize>],
        size: usize,
    ) -> Result<Vec<Mat<f64>>, Error> {
        if groups.is_empty() {
            return Ok(Vec::new());
        }
        let cancellation = &Cancellation::current();
        let rows: usize = groups.iter().map(Vec::len).sum();
        let stage = cancellation.stage(format!("blocks of the inverse of {size} unknowns"), rows);
        let of_run = |run: &&[Vec<usize>]| {
            let rows: Vec<usize> = run.iter().flatten().copied().collect();
            stage.advance(rows.len())?;
            let first = rows.iter().min().map_or(0, |row| row / PANEL);
            let top = first * PANEL;
            let mut columns = Mat::<T>::zeros(size - top, rows.len());
            for (column, row) in rows.iter().enumerate() {
                columns[(row - top, column)] = T::from_f64(1.0);
            }
            self.forward(columns.as_mut(), first, cancellation)?;
            let mut start = 0;
            let blocks = run.iter().map(|group| {
                let part = columns.as_ref().subcols(start, group.len());
                start += group.len();
                let wide = Mat::from_fn(part.nrows(), part.ncols(), |i, j| part[(i, j)].wide());
                let mut block = Mat::zeros(group.len(), group.len());
                product(block.as_mut(), Accum::Replace, wide.transpose(), wide.as_ref(), PANEL);
                block
            });
            Ok::<_, Error>(blocks.collect::<Vec<_>>())
        };
        // a parallel collection into a `Result` would give any thread's error
        let blocks: Vec<Result<Vec<Mat<f64>>, Error>> =
            runs_of_groups(groups, PANEL).par_iter().map(of_run).collect();
        Ok(blocks.into_iter().collect::<Result<Vec<_>, Error>>()?.into_iter().flatten().collect())
    }

    /// Returns the panels of the leading block of so many rows, with their rows.
    fn leading(
        &self,
        size: usize,
    ) -> impl DoubleEndedIterator<Item = (Range<usize>, MatRef<'_, T>)> {
        let panels = self.lower.panels[..size.div_ceil(PANEL)].iter().enumerate();
        panels.map(move |(at, panel)| {
            let rows = rows_of(at, size);
            (rows.clone(), panel.as_ref().submatrix(0, 0, rows.len(), rows.end))
        })
    }

    /// Computes `L⁻¹ B` on one thread, where the rows of B above panel `first` are zero and not among `sides`. L is the
    /// leading block of the rows that B has.
    fn forward(
        &self,
        mut sides: MatMut<T>,
        first: usize,
        cancellation: &Cancellation,
    ) -> Result<(), Error> {
        let top = first * PANEL;
        for (rows, panel) in self.leading(top + sides.nrows()).skip(first) {
            cancellation.check()?;
            let (solved, rest) = sides.as_mut().split_at_row_mut(rows.start - top);
            let mut out = rest.subrows_mut(0, rows.len());
            let left = panel.subcols(top, rows.start - top);
            matmul(out.as_mut(), Accum::Add, left, solved.as_ref(), T::from_f64(-1.0), Par::Seq);
            let diagonal = panel.subcols(rows.start, rows.len());
            solve_lower_triangular_in_place(diagonal, out, Par::Seq);
        }
        Ok(())
    }

    /// Computes `L⁻ᵀ B` on one thread, for the leading block of the rows that B has.
    fn backward(&self, mut sides: MatMut<T>, cancellation: &Cancellation) -> Result<(), Error> {
        for (rows, panel) in self.leading(sides.nrows()).rev() {
            cancellation.check()?;
            let (above, rest) = sides.as_mut().split_at_row_mut(rows.start);
            let mut block = rest.subrows_mut(0, rows.len());
            let diagonal = panel.subcols(rows.start, rows.len());
            solve_upper_triangular_in_place(diagonal.transpose(), block.as_mut(), Par::Seq);
            let left = panel.subcols(0, rows.start);
            let minus = T::from_f64(-1.0);
            matmul(above, Accum::Add, left.transpose(), block.as_ref(), minus, Par::Seq);
        }
        Ok(())
    }

    /// Returns an estimate from below of the condition number `σ_1 / σ_n` of the factored matrix, by a few
    /// steps of the power iteration on it and on its inverse; infinite where it is beyond the range of numbers.
    pub(crate) fn condition(&self) -> Result<f64, Error> {
        let cancellation = &Cancellation::current();
        let largest = self.power("condition/largest", |vector| Ok(self.multiply(vector)))?;
        let smallest = self.power("condition/smallest", |mut vector| {
            self.forward(vector.as_mut(), 0, cancellation)?;
            self.backward(vector.as_mut(), cancellation)?;
            Ok(vector)
        })?;
        let condition = largest * smallest;
        Ok(if condition.is_nan() { f64::INFINITY } else { condition })
    }

    /// Returns the length that a unit vector grows to in the last of some steps.
    fn power(
        &self,
        purpose: &str,
        step: impl Fn(Mat<T>) -> Result<Mat<T>, Error>,
    ) -> Result<f64, Error> {
        let mut random = generator(0, purpose, 0);
        let mut vector =
            Mat::from_fn(self.lower.size, 1, |_, _| T::from_f64(unit(&mut random) - 0.5));
        let mut length = 0.0;
        let length_of = |vector: &Mat<T>| {
            let squares = vector.col(0).iter().map(|value| value.wide() * value.wide());
            squares.sum::<f64>().sqrt()
        };
        for _ in 0..=STEPS {
            length = length_of(&vector);
            if !(length > 0.0 && length.is_finite()) {
                break;
            }
            let scale = 1.0 / length;
            vector
                .col_mut(0)
                .iter_mut()
                .for_each(|value| *value = T::from_f64(value.wide() * scale));
            vector = step(vector)?;
        }
        Ok(length_of(&vector).max(length))
    }

    /// Computes `L Lᵀ v`.
    fn multiply(&self, vector: Mat<T>) -> Mat<T> {
        let size = self.lower.size;
        let one = T::from_f64(1.0);
        let mut inner = Mat::<T>::zeros(size, 1);
        for (at, panel) in self.lower.panels.iter().enumerate() {
            let rows = rows_of(at, size);
            let part = vector.as_ref().subrows(rows.start, rows.len());
            let left = panel.as_ref().subcols(0, rows.start);
            let above = inner.as_mut().subrows_mut(0, rows.start);
            matmul(above, Accum::Add, left.transpose(), part, one, Par::Seq);
            for j in 0..rows.len() {
                let terms = (j..rows.len()).map(|i| panel[(i, rows.start + j)] * part[(i, 0)]);
                inner[(rows.start + j, 0)] += terms.sum::<T>();
            }
        }
        let mut out = Mat::<T>::zeros(size, 1);
        for (at, panel) in self.lower.panels.iter().enumerate() {
            let rows = rows_of(at, size);
            let left = panel.as_ref().subcols(0, rows.start);
            let mut below = out.as_mut().subrows_mut(rows.start, rows.len());
            let solved = inner.as_ref().subrows(0, rows.start);
            matmul(below.as_mut(), Accum::Replace, left, solved, one, Par::Seq);
            for i in 0..rows.len() {
                let terms =
                    (0..=i).map(|j| panel[(i, rows.start + j)] * inner[(rows.start + j, 0)]);
                below[(i, 0)] += terms.sum::<T>();
            }
        }
        out
    }
}
