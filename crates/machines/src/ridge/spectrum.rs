//! λ from one eigendecomposition: leave-one-out and k-fold predictions for every λ.

use dsokr_basis::eigenbasis::leading;
use dsokr_basis::features::read;
use dsokr_basis::random::{below, generator};
use dsokr_basis::{OutputKernel, RowSource};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::fit::gram;
use super::output::OutputSpace;
use super::precomputed;
use super::problem::InputSketch;
use super::sketched_inputs::{SketchedInputs, blocks};
use crate::linear::{Factor, PANEL, Panels, SIDES};
use crate::targets::check;
use crate::{Error, Targets};

/// Eigenvalues up to this share of the largest one are rounding errors.
const TOLERANCE: f64 = 1e-14;

/// `K = U S Uᵀ` of the training rows with `Uᵀ Ψ`: what predictions for held-out training rows need
/// for every λ.
///
/// For a sketched input K is the Gram matrix of the projected inputs, of rank at most m. A width is
/// chosen by a loop around it, with a spectrum for each kernel. For one λ alone
/// [`Fitted::leave_one_out`](crate::Fitted::leave_one_out) is cheaper: two Cholesky factors' time and
/// all cores, where an eigendecomposition takes some thirty and runs on one.
#[derive(Clone, Debug)]
pub struct Spectrum {
    /// U, n × r.
    vectors: Mat<f64>,
    /// S, descending.
    values: Vec<f64>,
    /// Ψ, n × p.
    targets: Mat<f64>,
    /// Uᵀ Ψ, r × p.
    turned: Mat<f64>,
}

/// Which rows are left out together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaveOut {
    /// Each row by itself.
    One,
    /// The rows of each fold; every row in one fold.
    Folds(Vec<Vec<usize>>),
}

impl LeaveOut {
    /// `count` folds of n rows, drawn with a seed, of sizes that differ by one at most.
    ///
    /// # Errors
    /// [`Error::Value`] unless there are from 2 to n folds.
    pub fn folds(n: usize, count: usize, seed: u64) -> Result<Self, Error> {
        Error::check_range("number of folds", count, 2, n)?;
        let mut random = generator(seed, "folds", 0);
        let mut order: Vec<usize> = (0..n).collect();
        for last in (1..n).rev() {
            order.swap(last, below(&mut random, last as u64 + 1) as usize);
        }
        let mut folds = vec![Vec::new(); count];
        order.into_iter().enumerate().for_each(|(at, row)| folds[at % count].push(row));
        folds.iter_mut().for_each(|fold| fold.sort_unstable());
        Ok(Self::Folds(folds))
    }
}

impl Spectrum {
    /// Of all training inputs: one eigendecomposition of an n × n matrix, on one thread.
    ///
    /// # Errors
    /// As [`fit`](crate::fit()).
    pub fn full(
        kernel: &dyn OutputKernel,
        rows: &dyn RowSource,
        targets: &Targets,
    ) -> Result<Self, Error> {
        check(rows.len(), targets, 1.0)?;
        kernel.validate(rows.kind())?;
        kernel.check(&read(rows, 0..rows.len())?)?;
        Self::of(&gram::<f64>(kernel, rows)?, targets)
    }

    /// Of a precomputed Gram matrix.
    ///
    /// # Errors
    /// As [`fit_gram`](crate::fit_gram).
    pub fn of_gram(gram: MatRef<f64>, targets: &Targets) -> Result<Self, Error> {
        check(gram.nrows(), targets, 1.0)?;
        Self::of(&precomputed::checked(gram)?, targets)
    }

    /// Of inputs projected on the span of a sketch, as [`fit_sketched`](crate::fit_sketched) draws
    /// it: `P K P`, from one eigendecomposition of an m × m matrix, n m² multiplications and n × m
    /// numbers.
    ///
    /// # Errors
    /// As [`fit_sketched`](crate::fit_sketched).
    pub fn sketched(
        kernel: impl OutputKernel + 'static,
        rows: &dyn RowSource,
        targets: &Targets,
        sketch: &InputSketch,
        seed: u64,
    ) -> Result<Self, Error> {
        check(rows.len(), targets, 1.0)?;
        let inputs = SketchedInputs::draw(kernel, rows, sketch, seed)?;
        let n = rows.len();
        let penalty = leading(inputs.penalty()?.whole(), TOLERANCE.max(1e-12))?;
        // T = D^{-1/2} Uᵀ R k^x: features whose inner products are P K P.
        let mut whitened = penalty.vectors;
        for (j, value) in penalty.values.iter().enumerate() {
            whitened.col_mut(j).iter_mut().for_each(|element| *element /= value.sqrt());
        }
        let r = whitened.ncols();
        let mut features = Mat::<f64>::zeros(n, r);
        for range in blocks(n, inputs.len()) {
            let block = inputs.features(&read(rows, range.clone())?)?;
            let out = features.as_mut().subrows_mut(range.start, range.len());
            product(out, block.transpose(), whitened.as_ref());
        }
        let mut gram = Panels::zeros(r);
        gram.add_product(features.as_ref(), features.as_ref());
        let eigen = leading(gram.whole(), TOLERANCE)?;
        let mut vectors = Mat::zeros(n, eigen.values.len());
        product(vectors.as_mut(), features.as_ref(), eigen.vectors.as_ref());
        for (j, value) in eigen.values.iter().enumerate() {
            vectors.col_mut(j).iter_mut().for_each(|element| *element /= value.sqrt());
        }
        Ok(Self::with(vectors, eigen.values, targets))
    }

    fn of(gram: &Panels<f64>, targets: &Targets) -> Result<Self, Error> {
        let eigen = leading(gram.whole(), TOLERANCE)?;
        Ok(Self::with(eigen.vectors, eigen.values, targets))
    }

    fn with(vectors: Mat<f64>, values: Vec<f64>, targets: &Targets) -> Self {
        let targets = targets.dense::<f64>();
        let mut turned = Mat::zeros(values.len(), targets.ncols());
        product(turned.as_mut(), vectors.transpose(), targets.as_ref());
        Self { vectors, values, targets, turned }
    }

    /// The eigenvalues of K above rounding, descending.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// `(σ_1 + nλ) / (σ_n + nλ)`, the condition number of `K + nλI`.
    pub fn condition(&self, lambda: f64) -> f64 {
        let n = self.targets.nrows();
        let ridge = n as f64 * lambda;
        let last = if self.values.len() == n { self.values.last() } else { None };
        let first = self.values.first().copied().unwrap_or(0.0);
        (first + ridge) / (last.copied().unwrap_or(0.0) + ridge)
    }

    /// What a model that was fitted without the row, or without its fold, predicts for each training
    /// row, n × p row-major: what a decoder ranks, to choose λ by any metric.
    ///
    /// nλ is that of all n rows, with or without the rows that are left out. For a fold F it is
    /// `ψ_F − (I − H_FF)⁻¹ (Ψ − HΨ)_F` with the hat matrix `H = K (K + nλI)⁻¹`; for single rows that is
    /// a division. No refitting.
    ///
    /// # Errors
    /// [`Error::Value`] for a λ that is not above 0; [`Error::Value`] and [`Error::Length`] for folds that
    /// do not hold every row once; [`Error::Numeric`] where `I − H_FF` is numerically singular.
    pub fn predictions(&self, lambda: f64, left_out: &LeaveOut) -> Result<Vec<f32>, Error> {
        let residuals = self.residuals(lambda, left_out)?;
        let (n, p) = (residuals.nrows(), residuals.ncols());
        let mut out = vec![0.0f32; n * p];
        out.par_chunks_mut(p).enumerate().for_each(|(i, out)| {
            for (j, out) in out.iter_mut().enumerate() {
                *out = (self.targets[(i, j)] - residuals[(i, j)]) as f32;
            }
        });
        Ok(out)
    }

    /// The mean squared distance of held-out predictions from their targets in the output kernel's
    /// feature space, for each λ of a grid.
    ///
    /// # Errors
    /// As [`predictions`](Self::predictions); [`Error::Value`] for an empty grid; [`Error::Length`] for a space of
    /// other coordinates.
    pub fn errors(
        &self,
        grid: &[f64],
        left_out: &LeaveOut,
        space: &OutputSpace,
    ) -> Result<Vec<f64>, Error> {
        if grid.is_empty() {
            return Err(no_lambda());
        }
        let error = |&lambda: &f64| {
            let residuals = self.residuals(lambda, left_out)?;
            let lengths = space.squared_lengths(residuals.transpose())?;
            Ok(lengths.iter().sum::<f64>() / lengths.len() as f64)
        };
        grid.iter().map(error).collect()
    }

    /// The λ of a grid with the least of [`errors`](Self::errors), the first of equal ones.
    ///
    /// # Errors
    /// As [`errors`](Self::errors).
    pub fn best(
        &self,
        grid: &[f64],
        left_out: &LeaveOut,
        space: &OutputSpace,
    ) -> Result<f64, Error> {
        let errors = self.errors(grid, left_out, space)?;
        let best = errors.iter().zip(grid).min_by(|a, b| a.0.total_cmp(b.0));
        best.map(|(_, &lambda)| lambda).ok_or_else(no_lambda)
    }

    /// The difference of Ψ from what is predicted without the row or its fold, n × p.
    fn residuals(&self, lambda: f64, left_out: &LeaveOut) -> Result<Mat<f64>, Error> {
        let n = self.targets.nrows();
        Error::check_lambda(lambda)?;
        let ridge = n as f64 * lambda;
        // (I − H)Ψ = (I − UUᵀ)Ψ + U diag(nλ / (s + nλ)) UᵀΨ; the first part is 0 for r = n.
        let shrink: Vec<f64> = self.values.iter().map(|value| ridge / (value + ridge)).collect();
        let full = self.values.len() == n;
        let factor = |j: usize| if full { shrink[j] } else { shrink[j] - 1.0 };
        let scaled = Mat::from_fn(self.turned.nrows(), self.turned.ncols(), |i, j| {
            factor(i) * self.turned[(i, j)]
        });
        let mut residuals = Mat::zeros(n, self.targets.ncols());
        product(residuals.as_mut(), self.vectors.as_ref(), scaled.as_ref());
        if !full {
            residuals += &self.targets;
        }
        let own = if full { 0.0 } else { 1.0 };
        match left_out {
            LeaveOut::One => {
                let left: Vec<f64> = (0..n)
                    .into_par_iter()
                    .map(|i| {
                        let row = self.vectors.row(i);
                        let terms = row.iter().enumerate();
                        own + terms.map(|(j, value)| factor(j) * value * value).sum::<f64>()
                    })
                    .collect();
                for column in residuals.col_iter_mut() {
                    column.iter_mut().zip(&left).for_each(|(value, left)| *value /= left);
                }
            }
            LeaveOut::Folds(folds) => {
                check_folds(folds, n)?;
                for fold in folds {
                    let size = fold.len();
                    let rows =
                        Mat::from_fn(size, self.values.len(), |i, j| self.vectors[(fold[i], j)]);
                    let weighted =
                        Mat::from_fn(size, self.values.len(), |i, j| factor(j) * rows[(i, j)]);
                    let mut left = Panels::zeros(size);
                    left.add_product(weighted.transpose(), rows.transpose());
                    left.add_to_diagonal(own);
                    let factor = Factor::new(left).map_err(|at| at.error(size, ridge))?;
                    let mut held =
                        Mat::from_fn(size, residuals.ncols(), |i, j| residuals[(fold[i], j)]);
                    factor.solve(held.as_mut());
                    for (i, &row) in fold.iter().enumerate() {
                        residuals.row_mut(row).copy_from(held.row(i));
                    }
                }
            }
        }
        Ok(residuals)
    }
}

fn no_lambda() -> Error {
    Error::none("number of lambdas to choose from")
}

/// Every row in one fold.
fn check_folds(folds: &[Vec<usize>], n: usize) -> Result<(), Error> {
    let mut seen = vec![false; n];
    for &row in folds.iter().flatten() {
        Error::check_range("row of a fold", row, 0, n.saturating_sub(1))?;
        if std::mem::replace(&mut seen[row], true) {
            return Err(Error::value("row of a fold", row, "a row that is in no other fold"));
        }
    }
    Error::check_length("rows in folds", seen.iter().filter(|&&seen| seen).count(), n)
}

/// `out = a b`, in parallel over parts of the result.
fn product(mut out: MatMut<f64>, a: MatRef<f64>, b: MatRef<f64>) {
    out.as_mut().par_row_chunks_mut(PANEL).enumerate().for_each(|(task, mut out)| {
        let a = a.subrows(task * PANEL, out.nrows());
        out.as_mut().par_col_chunks_mut(SIDES).enumerate().for_each(|(task, out)| {
            let b = b.subcols(task * SIDES, out.ncols());
            matmul(out, Accum::Replace, a, b, 1.0, Par::Seq);
        });
    });
}
