//! λ from one eigendecomposition: leave-one-out predictions for every λ.

use std::sync::Arc;

use dsokr_basis::eigenbasis::{Eigen, leading, multiply};
use dsokr_basis::features::Selected;
use dsokr_basis::kernel::IntoKernel;
use dsokr_basis::{RowSource, Sketch, SketchKind};
use dsokr_core::{Cancellation, Error, Processes};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::left_out::{leave_out, solve_positive};
use super::output::OutputSpace;
use crate::features::{AnchorFeatures, InputSketch, TrainingInputs, blocks};
use crate::linear::{PANEL, Panels, SIDES};
use crate::output_matrix::OutputMatrix;
use crate::row_groups::RowGroups;
use crate::targets::{SideSums, Targets, check, check_lambda, check_shared};

/// Eigenvalues up to this share of the largest one are rounding errors.
const TOLERANCE: f64 = 1e-14;

/// The value of 1 − h of a row below which it is a difference of numbers near 1 that have most digits in common.
const CANCELLED: f64 = 1e-8;

/// The value below which such a difference is nothing but rounding.
const LOST: f64 = 1e-12;

/// The most rows of a sketched input whose held-out predictions are computed: their mean error is that of all rows but for
/// less than a hundredth.
pub(crate) const COMPARED: usize = 10_000;

/// The most rows by which the λ of a closed form is chosen: the time of an eigendecomposition goes with the cube of their
/// number.
pub(crate) const SAMPLED: usize = 5_000;

/// `K = U S Uᵀ` of the training rows with `Uᵀ Ψ`: what predictions for held-out training rows need
/// for every λ. With [weights](Targets::with_weights) w it is `W^½ K W^½` with `W^½ Ψ`, `W = diag(w)`. Rows of one
/// [group](Targets::grouped) are left out together.
///
/// For a sketched input K is the Gram matrix of the projected inputs, of rank at most m. Of more than 10,000 rows all are
/// fitted, and held-out predictions are those of 10,000 rows that the seed draws, the compared rows; of whole groups where
/// there are some, which may be fewer rows. A width is chosen by a loop around it, with a spectrum for each kernel. For a
/// single λ
/// [`Fitted::leave_one_out`](crate::Fitted::leave_one_out) is cheaper: two Cholesky factors' time and
/// all cores, where an eigendecomposition takes some thirty.
#[derive(Clone, Debug)]
pub struct Spectrum {
    /// n, the number of training rows.
    pub(super) rows: usize,
    /// Σ w over the training rows; n without weights.
    pub(super) total_weight: f64,
    /// Σ w over the compared rows.
    compared_weight: f64,
    /// The processes that each have their part of the rows; this one alone, where it has all of them.
    pub(super) processes: Processes,
    /// U of the compared rows, rows × r.
    pub(super) vectors: Mat<f64>,
    /// S, descending.
    pub(super) values: Vec<f64>,
    /// √w of each of the compared rows.
    pub(super) roots: Vec<f64>,
    /// The groups of several compared rows that are left out together.
    pub(super) groups: Vec<Vec<usize>>,
    /// W^½ Ψ of the compared rows, rows × p.
    pub(super) targets: Mat<f64>,
    /// Uᵀ Ψ, r × p.
    pub(super) turned: Mat<f64>,
    /// The features of sketched inputs.
    pub(super) sketched: Option<SketchedRows>,
}

/// The features of sketched inputs whose inner products a spectrum decomposes.
#[derive(Clone, Debug)]
pub(super) struct SketchedRows {
    /// Features whose inner products are `P K P`.
    pub(super) features: AnchorFeatures,
    /// `V S^{-½}`, r × r: the vectors of rows from their features, `U = W^½ Tᵀ V S^{-½}`.
    pub(super) turn: Mat<f64>,
}

impl Spectrum {
    /// Creates the spectrum of all training inputs, from one eigendecomposition of an n × n matrix.
    ///
    /// # Errors
    /// The errors of [`fit`](crate::fit()).
    pub fn full(inputs: &TrainingInputs, targets: &Targets) -> Result<Self, Error> {
        let rows = inputs.len();
        check(rows, targets, 1.0)?;
        let total_weight = targets.total_weight();
        let groups = targets.groups.several();
        let (roots, targets) = targets.weighted_block(0..rows);
        let mut gram = inputs.gram()?.whole();
        for (column, root) in gram.col_iter_mut().zip(&roots) {
            column.iter_mut().zip(&roots).for_each(|(value, of_row)| *value *= root * of_row);
        }
        let Eigen { values, vectors } = leading(gram, TOLERANCE)?;
        let mut turned = Mat::zeros(vectors.ncols(), targets.ncols());
        product(turned.as_mut(), vectors.transpose(), targets.as_ref());
        Ok(Self {
            rows,
            total_weight,
            compared_weight: total_weight,
            processes: Processes::default(),
            vectors,
            values,
            roots,
            groups,
            targets,
            turned,
            sketched: None,
        })
    }

    /// Creates the spectrum of at most `most` of the training inputs, which the seed draws, whole groups of them. Its
    /// errors estimate the errors of all rows: λ multiplies the number of rows, so the same λ smooths a sample as much as
    /// the whole.
    ///
    /// # Errors
    /// The errors of [`fit`](crate::fit()).
    pub fn sampled(
        inputs: &TrainingInputs,
        targets: &Targets,
        most: usize,
        seed: u64,
    ) -> Result<Self, Error> {
        if inputs.len() <= most {
            return Self::full(inputs, targets);
        }
        check(inputs.len(), targets, 1.0)?;
        let sample = drawn_rows(inputs.len(), most, seed, &targets.groups)?;
        let targets = targets.select(&sample)?;
        match inputs {
            TrainingInputs::Rows(rows, kernel) => {
                let rows = Selected::new(*rows, &sample);
                Self::full(&TrainingInputs::rows(Arc::clone(kernel), &rows), &targets)
            }
            TrainingInputs::Gram(gram) => {
                Self::full(&TrainingInputs::Gram(&gram.principal(&sample)), &targets)
            }
        }
    }

    /// Creates the spectrum of inputs projected on the span of a sketch, drawn as in
    /// [`fit_sketched`](crate::fit_sketched): `P K P`, from one eigendecomposition of an m × m matrix and n m²
    /// multiplications, in one pass over the rows, whose memory does not depend on n. Each of the processes has
    /// its part of the rows; all of them compute what follows from the sums.
    ///
    /// # Errors
    /// The errors of [`fit_sketched`](crate::fit_sketched).
    pub fn sketched(
        kernel: impl IntoKernel,
        rows: &dyn RowSource,
        targets: &Targets,
        sketch: &InputSketch,
        seed: u64,
        processes: &Processes,
    ) -> Result<Self, Error> {
        check_shared(processes, rows.len(), targets, 1.0)?;
        let drawn = AnchorFeatures::sketched(processes, kernel, rows, sketch, seed)?;
        let penalty = drawn.penalty(processes)?;
        // features whose inner products are P K P
        let features = drawn.whitened(&penalty)?;
        let n = rows.len();
        let r = features.len();
        let part = processes.part(n);
        let compared = drawn_rows(n, COMPARED, seed, &targets.groups)?;
        let groups = targets.groups.select(&compared).of_part(processes, &compared, n)?;
        let compared_weight = compared.iter().map(|&row| targets.weights.get(row)).sum();
        let compared_here: Vec<usize> =
            compared.into_iter().filter(|row| part.contains(row)).collect();
        let mut compared_features = Mat::<f64>::zeros(compared_here.len(), r);
        let mut gram = Panels::zeros(r);
        let mut sides = SideSums::new(targets, r);
        let mut kept = compared_here.iter().enumerate().peekable();
        let stage = Cancellation::current().stage("normal equations of every lambda", part.len());
        for range in blocks(part, r) {
            stage.advance(range.len())?;
            let mut block = features.of_rows(rows, range.clone())?;
            targets.weigh(range.clone(), &mut block);
            gram.add_product(block.transpose(), block.transpose());
            sides.add(range.clone(), block.as_ref());
            while let Some((place, row)) = kept.next_if(|&(_, &row)| row < range.end) {
                compared_features
                    .row_mut(place)
                    .copy_from(block.col(row - range.start).transpose());
            }
        }
        drop(stage);
        gram.sum(processes)?;
        let sides = sides.of_all_ranks(processes)?;
        let Eigen { values, vectors: turn } = leading(gram.whole(), TOLERANCE)?;
        let mut vectors = Mat::zeros(compared_here.len(), values.len());
        product(vectors.as_mut(), compared_features.as_ref(), turn.as_ref());
        let vectors = Eigen::over_roots(&values, vectors);
        let turn = Eigen::over_roots(&values, turn);
        let mut turned = Mat::zeros(values.len(), targets.width());
        product(turned.as_mut(), turn.transpose(), sides.as_ref());
        let total_weight = targets.total_weight();
        let (roots, targets) =
            targets.select(&compared_here)?.weighted_block(0..compared_here.len());
        Ok(Self {
            rows: n,
            total_weight,
            compared_weight,
            processes: processes.clone(),
            vectors,
            values,
            roots,
            groups,
            targets,
            turned,
            sketched: Some(SketchedRows { features, turn }),
        })
    }

    /// Returns, for each compared row, the prediction of a model fitted without it, and without the other rows of its
    /// group, row-major.
    ///
    /// nλ counts all n rows (λ Σw with weights). With the hat matrix `H = K (K + nλI)⁻¹` the prediction is
    /// `ψ_i − (Ψ − HΨ)_i / (1 − H_ii)`; the predictions for a group G are `ψ_G − (I − H_GG)⁻¹ (Ψ − HΨ)_G`. Nothing is
    /// refitted.
    ///
    /// # Errors
    /// [`Error::Value`] for a λ that is not above 0; [`Error::Numeric`] for a λ so small that a row is predicted by
    /// itself alone, `H_ii = 1` but for rounding.
    pub fn leave_one_out(&self, lambda: f64) -> Result<Vec<f32>, Error> {
        let residuals = self.residuals(lambda, self.whole())?.ok_or_else(|| Self::lost(lambda));
        let residuals = self.processes.agree(residuals)?;
        let n = residuals.nrows();
        let p = residuals.ncols();
        let cells = (0..n).flat_map(|i| (0..p).map(move |j| (i, j)));
        let prediction = |at: (usize, usize)| (self.targets[at] - residuals[at]) / self.roots[at.0];
        let predictions: Vec<f32> = cells.map(|at| prediction(at) as f32).collect();
        self.processes.join(predictions)
    }

    /// Returns the error for a λ for which a row is predicted by itself alone.
    pub(super) fn lost(lambda: f64) -> Error {
        Error::Numeric(format!(
            "lambda {lambda} is too small for leave-one-out predictions: a training row is predicted by itself \
             alone; raise lambda"
        ))
    }

    /// Returns the mean squared distance of [leave-one-out predictions](Self::leave_one_out) from their targets
    /// in the output kernel's feature space, weighted by w, for each λ of a grid; infinite for a λ so small that a row
    /// is predicted by itself alone, or that the system of all rows has no Cholesky factor.
    ///
    /// # Errors
    /// [`Error::Value`] for a λ that is not above 0 and for an empty grid;
    /// [`Error::Shape`] for a space of other coordinates.
    pub fn errors(&self, grid: &[f64], space: &OutputSpace) -> Result<Vec<f64>, Error> {
        Error::check_count("number of lambdas to choose from", grid.len())?;
        let stage = Cancellation::current().stage("leave-one-out errors", grid.len());
        let error = |&lambda: &f64| {
            let residuals = self.residuals(lambda, self.whole())?;
            let sum = match residuals.filter(|_| self.has_factor(lambda)) {
                Some(residuals) => space.squared_lengths(residuals.transpose())?.iter().sum(),
                None => f64::INFINITY,
            };
            // a λ may take most of a minute, so that it counts when it is done
            stage.advance(1)?;
            self.mean(sum)
        };
        grid.iter().map(error).collect()
    }

    /// Returns whether K + nλI has a Cholesky factor: K with fewer eigenvalues than rows has others that are rounding, of
    /// either sign, which nλ must exceed: eigenvalues of n × n rounding errors of values of K, of which the largest
    /// eigenvalue is about n times. Sketched inputs have a system of their own, without them.
    fn has_factor(&self, lambda: f64) -> bool {
        let largest = self.values.first().copied().unwrap_or_default();
        let rounding = f64::EPSILON * largest / (self.rows as f64).sqrt();
        let is_singular = self.sketched.is_none() && self.values.len() < self.rows;
        !is_singular || self.total_weight * lambda > rounding
    }

    /// Returns the error of [`errors`](Self::errors) for one λ, for coordinates that an output matrix ties together.
    ///
    /// # Errors
    /// The errors of [`leave_one_out`](Self::leave_one_out).
    pub(crate) fn error_with(&self, lambda: f64, output: &OutputMatrix) -> Result<f64, Error> {
        let (vectors, parts) = output.eigenvectors();
        let mut targets = Mat::zeros(self.targets.nrows(), vectors.ncols());
        product(targets.as_mut(), self.targets.as_ref(), vectors.as_ref());
        let turned = multiply(self.turned.as_ref(), vectors.as_ref());
        // what M never reaches is an error for every λ
        let lost = self.targets.squared_norm_l2() - targets.squared_norm_l2();
        let squares = parts.iter().map(|(value, columns)| {
            let start = columns.start;
            let count = columns.len();
            let group = TurnedTargets {
                targets: targets.subcols(start, count),
                turned: turned.subcols(start, count),
            };
            let residuals = self.residuals(lambda / value, group)?;
            Ok(residuals.map_or(f64::INFINITY, |residuals| residuals.squared_norm_l2()))
        });
        self.mean(lost.max(0.0) + squares.sum::<Result<f64, Error>>()?)
    }

    /// Returns the mean squared length of the targets, as [`errors`](Self::errors) of predictions of 0.
    pub(crate) fn error_of_zero(&self) -> Result<f64, Error> {
        self.mean(self.targets.squared_norm_l2())
    }

    /// Returns a weighted sum over the compared rows, over the sum of their weights.
    fn mean(&self, sum: f64) -> Result<f64, Error> {
        let mut sum = [sum];
        self.processes.sum(&mut sum)?;
        Ok(sum[0] / self.compared_weight)
    }

    fn whole(&self) -> TurnedTargets<'_> {
        TurnedTargets { targets: self.targets.as_ref(), turned: self.turned.as_ref() }
    }

    /// Returns the difference of targets from the predictions without the row, times √w. None where a row is predicted by
    /// itself alone.
    fn residuals(
        &self,
        lambda: f64,
        targets: TurnedTargets<'_>,
    ) -> Result<Option<Mat<f64>>, Error> {
        self.residuals_of(lambda, self.vectors.as_ref(), targets, &self.groups)
    }

    /// Returns the [residuals](Self::residuals) of some rows, whose vectors U are given, with the groups of several of
    /// them that are left out together.
    pub(super) fn residuals_of(
        &self,
        lambda: f64,
        vectors: MatRef<f64>,
        targets: TurnedTargets<'_>,
        groups: &[Vec<usize>],
    ) -> Result<Option<Mat<f64>>, Error> {
        let TurnedTargets { targets, turned } = targets;
        let n = targets.nrows();
        check_lambda(lambda)?;
        let ridge = self.total_weight * lambda;
        // (I − H)Ψ = (I − UUᵀ)Ψ + U diag(nλ / (s + nλ)) UᵀΨ; the first part is 0 for r = n.
        let shrink: Vec<f64> = self.values.iter().map(|value| ridge / (value + ridge)).collect();
        let full = self.values.len() == self.rows;
        let factor = |j: usize| if full { shrink[j] } else { shrink[j] - 1.0 };
        let scale = |i: usize, j: usize| factor(i) * turned[(i, j)];
        let scaled = Mat::from_fn(turned.nrows(), turned.ncols(), scale);
        let mut residuals = Mat::zeros(n, targets.ncols());
        product(residuals.as_mut(), vectors, scaled.as_ref());
        if !full {
            residuals += targets;
        }
        let offset = if full { 0.0 } else { 1.0 };
        let mut is_grouped = vec![false; n];
        groups.iter().flatten().for_each(|&row| is_grouped[row] = true);
        let left = |i: usize| {
            // the residuals of a group are divided by none of these
            if is_grouped[i] {
                return 1.0;
            }
            let squares = || vectors.row(i).iter().map(|value| value * value).enumerate();
            let left = offset + squares().map(|(j, square)| factor(j) * square).sum::<f64>();
            if full || left > CANCELLED {
                return left;
            }
            // the part outside of the span and that within it, neither of which is negative
            let outside = 1.0 - squares().map(|(_, square)| square).sum::<f64>();
            outside.max(0.0) + squares().map(|(j, square)| shrink[j] * square).sum::<f64>()
        };
        let left: Vec<f64> = (0..n).into_par_iter().map(left).collect();
        let least = if full { f64::MIN_POSITIVE } else { LOST };
        if left.iter().any(|&left| left < least) {
            return Ok(None);
        }
        for column in residuals.col_iter_mut() {
            column.iter_mut().zip(&left).for_each(|(value, left)| *value /= left);
        }
        let without_group = |group: &Vec<usize>| {
            let mut left_out =
                Mat::from_fn(group.len(), residuals.ncols(), |i, j| residuals[(group[i], j)]);
            let root = |j: usize| if full { shrink[j].sqrt() } else { (1.0 - shrink[j]).sqrt() };
            let scaled =
                Mat::from_fn(group.len(), shrink.len(), |i, j| vectors[(group[i], j)] * root(j));
            let scaled = scaled.as_ref();
            let is_known = if full {
                // I − H = U diag(nλ / (s + nλ)) Uᵀ, without a difference
                let block = multiply(scaled, scaled.transpose());
                solve_positive(block, left_out.as_mut(), least)
            } else {
                leave_out(scaled, left_out.as_mut(), least)
            };
            is_known.then_some(left_out)
        };
        let left_out: Vec<Option<Mat<f64>>> = groups.par_iter().map(without_group).collect();
        for (group, left_out) in groups.iter().zip(left_out) {
            let Some(left_out) = left_out else { return Ok(None) };
            for (place, &row) in group.iter().enumerate() {
                residuals.row_mut(row).copy_from(left_out.row(place));
            }
        }
        Ok(Some(residuals))
    }
}

/// Targets of compared rows, or some of their coordinates.
#[derive(Clone, Copy)]
pub(super) struct TurnedTargets<'a> {
    /// `W^½ Ψ`.
    pub targets: MatRef<'a, f64>,
    /// `Uᵀ W^½ Ψ`.
    pub turned: MatRef<'a, f64>,
}

/// Returns at most `most` of n rows, which the seed draws without replacement, in increasing order. Groups are drawn whole. Where
/// each group has more rows than `most`, the smallest one is returned.
fn drawn_rows(n: usize, most: usize, seed: u64, groups: &RowGroups) -> Result<Vec<usize>, Error> {
    if n <= most {
        return Ok((0..n).collect());
    }
    if let Some(drawn) = groups.draw(most, seed) {
        return Ok(drawn);
    }
    let without_replacement = SketchKind::Subsampling { replacement: false };
    Ok(Sketch::draw(&without_replacement, most, n, seed)?.anchors())
}

/// Computes `out = a b`, in parallel over parts of the result.
fn product(mut out: MatMut<f64>, a: MatRef<f64>, b: MatRef<f64>) {
    out.as_mut().par_row_chunks_mut(PANEL).enumerate().for_each(|(task, mut out)| {
        let a = a.subrows(task * PANEL, out.nrows());
        out.as_mut().par_col_chunks_mut(SIDES).enumerate().for_each(|(task, out)| {
            let b = b.subcols(task * SIDES, out.ncols());
            matmul(out, Accum::Replace, a, b, 1.0, Par::Seq);
        });
    });
}
