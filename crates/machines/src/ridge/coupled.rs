//! Ridge regressions of a decomposable kernel `k(x, x') M`: every eigenvalue of M from one spectrum of the inputs.

use std::ops::Range;

use dsokr_basis::RowSource;
use dsokr_basis::eigenbasis::multiply;
use dsokr_core::{Cancellation, Error};
use faer::{Accum, Mat, MatRef};

use super::left_out::replace_by_group;
use super::model::{KernelModel, Weights};
use super::spectrum::{SketchedRows, Spectrum, TurnedTargets};
use crate::features::{FeatureMap, TrainingInputs, blocks};
use crate::linear::{PANEL, product, row_major};
use crate::output_matrix::OutputMatrix;
use crate::summary::{Arithmetic, RidgeSummary, Solution, Summary};
use crate::targets::{Targets, check_lambda};

/// The eigenvalues of an output matrix.
struct Parts {
    /// Orthonormal eigenvectors of M, p × R.
    vectors: Mat<f64>,
    /// nλ/μ of each distinct eigenvalue μ of M, with the columns of its eigenvectors.
    ridges: Vec<(f64, Range<usize>)>,
}

impl Spectrum {
    fn parts(&self, lambda: f64, output: &OutputMatrix) -> Parts {
        let (vectors, parts) = output.eigenvectors();
        let ridge = |(value, columns)| (self.total_weight * lambda / value, columns);
        Parts { vectors, ridges: parts.into_iter().map(ridge).collect() }
    }

    /// Returns `Σ_g diag(share(s, ρ_g)) Uᵀ Ψ V_g V_gᵀ`, r × p, for the eigenvalues s of the inputs.
    fn filtered(&self, parts: &Parts, share: impl Fn(f64, f64) -> f64) -> Mat<f64> {
        let mut rotated = Mat::zeros(self.turned.nrows(), parts.vectors.ncols());
        let turned = self.turned.as_ref();
        product(rotated.as_mut(), Accum::Replace, turned, parts.vectors.as_ref(), PANEL);
        for (ridge, columns) in &parts.ridges {
            for column in columns.clone() {
                let values = rotated.col_mut(column).iter_mut().zip(&self.values);
                values.for_each(|(value, &s)| *value *= share(s, *ridge));
            }
        }
        let mut filtered = Mat::zeros(rotated.nrows(), parts.vectors.nrows());
        let transposed = parts.vectors.transpose();
        product(filtered.as_mut(), Accum::Replace, rotated.as_ref(), transposed, PANEL);
        filtered
    }

    /// Returns the model of training inputs, which are those of the spectrum; see
    /// [`PreparedSolver::with_output`](crate::PreparedSolver::with_output).
    ///
    /// # Errors
    /// [`Error::Value`] for a λ that is not above 0; [`Error::NotFinite`] for weights that overflow.
    pub(crate) fn coupled_model(
        &self,
        inputs: &TrainingInputs,
        lambda: f64,
        output: &OutputMatrix,
        solution: RidgeSummary,
    ) -> Result<KernelModel, Error> {
        check_lambda(lambda)?;
        let parts = self.parts(lambda, output);
        let weights = self.coupled_weights(&parts);
        let unknowns = weights.nrows();
        let (map, weights) = match &self.sketched {
            Some(sketched) => sketched.features.compact(weights),
            None => (FeatureMap::every(inputs)?, weights),
        };
        let weights = row_major(weights.as_ref())?;
        let weights = match solution.precision {
            Arithmetic::Single => Weights::Single(weights.iter().map(|&w| w as f32).collect()),
            Arithmetic::Double => Weights::Double(weights),
        };
        let largest = parts.ridges.first().map_or(0.0, |(ridge, _)| *ridge);
        let condition = self.condition(largest);
        let solution = Solution::Ridge(RidgeSummary { condition, ..solution });
        let width = output.width;
        let summary = Summary { rows: self.rows, unknowns, width, lambda, solution };
        Ok(KernelModel::new(map, weights, summary))
    }

    /// Returns the weights of the features of sketched inputs, else of the kernel's values with all inputs.
    fn coupled_weights(&self, parts: &Parts) -> Mat<f64> {
        let (vectors, filtered) = match &self.sketched {
            Some(sketched) => (&sketched.turn, self.filtered(parts, |s, ridge| s / (s + ridge))),
            None => (&self.vectors, self.filtered(parts, |s, ridge| 1.0 / (s + ridge))),
        };
        let mut weights = Mat::zeros(vectors.nrows(), filtered.ncols());
        product(weights.as_mut(), Accum::Replace, vectors.as_ref(), filtered.as_ref(), PANEL);
        if self.sketched.is_none() {
            for column in weights.col_iter_mut() {
                column.iter_mut().zip(&self.roots).for_each(|(value, root)| *value *= root);
            }
        }
        weights
    }

    /// Returns the condition number of `K + ρI`, on the span of sketched inputs.
    fn condition(&self, ridge: f64) -> f64 {
        let largest = self.values.first().copied().unwrap_or(0.0);
        let whole = self.sketched.is_some() || self.values.len() == self.rows;
        let smallest = self.values.last().filter(|_| whole).copied().unwrap_or(0.0);
        (largest + ridge) / (smallest + ridge)
    }

    /// Returns, for each training row, the prediction of a [coupled model](Self::coupled_model) that is fitted without it,
    /// and without the other rows of its group, n × p row-major. Sketched inputs are read once more.
    ///
    /// # Errors
    /// The errors of [`leave_one_out`](Self::leave_one_out); errors from reading the rows.
    pub(crate) fn coupled_leave_one_out(
        &self,
        rows: Option<&dyn RowSource>,
        targets: &Targets,
        lambda: f64,
        output: &OutputMatrix,
    ) -> Result<Vec<f32>, Error> {
        let (Some(SketchedRows { features, turn }), Some(rows)) = (&self.sketched, rows) else {
            let vectors = self.vectors.as_ref();
            let targets = self.targets.as_ref();
            return self.coupled_rows(vectors, targets, &self.roots, &self.groups, lambda, output);
        };
        let rank_rows = self.processes.part(self.rows);
        let all: Vec<usize> = (0..self.rows).collect();
        let groups = targets.groups.of_part(&self.processes, &all, self.rows)?;
        let left_out = |rows: &dyn RowSource,
                        targets: &Targets,
                        range: Range<usize>,
                        groups: &[Vec<usize>]| {
            let mut columns = features.of_rows(rows, range.clone())?;
            targets.weigh(range.clone(), &mut columns);
            let mut vectors = Mat::zeros(range.len(), turn.ncols());
            let transposed = columns.transpose();
            product(vectors.as_mut(), Accum::Replace, transposed, turn.as_ref(), PANEL);
            let (roots, block) = targets.weighted_block(range);
            self.coupled_rows(vectors.as_ref(), block.as_ref(), &roots, groups, lambda, output)
        };
        let stage = Cancellation::current().stage("leave-one-out predictions", rank_rows.len());
        let mut predictions = Vec::with_capacity(rank_rows.len() * output.width);
        for range in blocks(rank_rows.clone(), features.len()) {
            stage.advance(range.len())?;
            predictions.extend(left_out(rows, targets, range, &[])?);
        }
        let most = blocks(0..self.rows, features.len()).next().map_or(1, |block| block.len());
        replace_by_group(&mut predictions, rows, targets, rank_rows.start, &groups, most, |run| {
            left_out(run.rows, run.targets, 0..run.numbers.len(), run.groups)
        })?;
        self.processes.join(predictions)
    }

    /// Returns the predictions for some rows without the row, from their vectors U, `W^½ Ψ` and √w. Rows of a group are
    /// left out together.
    fn coupled_rows(
        &self,
        vectors: MatRef<f64>,
        targets: MatRef<f64>,
        roots: &[f64],
        groups: &[Vec<usize>],
        lambda: f64,
        output: &OutputMatrix,
    ) -> Result<Vec<f32>, Error> {
        let (turn, parts) = output.eigenvectors();
        let mut held_out = Mat::zeros(targets.nrows(), turn.ncols());
        product(held_out.as_mut(), Accum::Replace, targets, turn.as_ref(), PANEL);
        let turned = multiply(self.turned.as_ref(), turn.as_ref());
        for (value, columns) in parts {
            let mut part = held_out.as_mut().subcols_mut(columns.start, columns.len());
            let targets = TurnedTargets {
                targets: part.as_ref(),
                turned: turned.as_ref().subcols(columns.start, columns.len()),
            };
            let residuals = self.residuals_of(lambda / value, vectors, targets, groups)?;
            part -= residuals.ok_or_else(|| Self::lost(lambda / value))?;
        }
        let mut predictions = Mat::zeros(targets.nrows(), output.width);
        let transposed = turn.transpose();
        product(predictions.as_mut(), Accum::Replace, held_out.as_ref(), transposed, PANEL);
        let rows = predictions.row_iter().zip(roots);
        Ok(rows
            .flat_map(|(row, root)| {
                row.iter().map(|value| (value / root) as f32).collect::<Vec<_>>()
            })
            .collect())
    }
}
