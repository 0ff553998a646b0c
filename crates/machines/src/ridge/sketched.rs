//! Fitting in the span of a sketch of the inputs: SIOKR, SISOKR.

use std::sync::Arc;

use dsokr_basis::features::read;
use dsokr_basis::kernel::IntoKernel;
use dsokr_basis::{Processes, RowSource};
use faer::Mat;

use super::model::{Expansion, RidgeModel, Weights};
use super::problem::{InputSketch, RidgeProblem};
use super::row_range::RowRange;
use super::sketched_inputs::{SketchedInputs, blocks, factored};
use crate::linear::{Factor, Panels, row_major};
use crate::summary::{Arithmetic, Inputs, RidgeSummary, Solution, Summary};
use crate::targets::check;
use crate::{Error, Targets};

/// A model in the span of an input sketch, with what leave-one-out predictions need beside it.
#[derive(Clone, Debug)]
pub struct SketchedFit {
    /// The model.
    pub model: RidgeModel,
    inputs: SketchedInputs,
    factor: Factor<f64>,
}

/// Fits in the span of m sketched inputs: `ĥ(x) = Ψᵀ K_X R_Xᵀ (R_X K_X² R_Xᵀ + nλ K̃_X)⁻¹ R_X k^x`
/// (thesis, proposition 4.2), in one pass over the rows.
///
/// With the targets of [`OutputSpace::training`](crate::OutputSpace::training) it is SIOKR, with
/// those of a sketched basis SISOKR. `R_X K_X² R_Xᵀ` and `R_X K_X Ψ` are summed over blocks of rows
/// in `f64`, so memory does not depend on n: three times m²/2 numbers, m × p, and 64 MiB for a block
/// (with a dense sketch every row is an anchor, and all of them are kept). Time: n·a evaluations of
/// the kernel, n m²/2 + m³/3 multiplications, n m + 2m² for each coordinate. The numbers do not
/// depend on the number of threads.
///
/// The [`Processes`] of the scope share the sums. All of them call this function with the same problem, and each
/// reads its part of the rows. All ranks get the same model. It differs from that of one process by rounding alone.
///
/// Where the sketched inputs are numerically dependent, 1e-14 of the mean diagonal is added, or ten
/// times as much until the system is positive definite, and [`RidgeSummary::jitter`] says so.
///
/// # Errors
/// As [`fit`](crate::fit()); those of the sketch, among them `SketchSize` for m > n.
pub fn fit_sketched(
    problem: RidgeProblem<impl IntoKernel>,
    sketch: &InputSketch,
) -> Result<SketchedFit, Error> {
    let (rows, lambda) = (problem.rows.len(), problem.lambda);
    let width = problem.targets.width();
    let Solved { inputs, factor, weights, solution } = solve(problem, sketch)?;
    let solution = Solution::Ridge(solution);
    let summary = Summary { rows, unknowns: inputs.len(), width, lambda, solution };
    let (kernel, anchors) = (Arc::clone(&inputs.kernel), Arc::new(inputs.anchors.clone()));
    let map = Expansion::Kernel { kernel, anchors };
    let model = RidgeModel::new(map, Weights::Double(weights), summary);
    Ok(SketchedFit { model, inputs, factor })
}

/// The solution of a sketched system.
pub(super) struct Solved {
    pub inputs: SketchedInputs,
    pub factor: Factor<f64>,
    /// Weights of the anchors' kernel functions, a × p row-major.
    pub weights: Vec<f64>,
    pub solution: RidgeSummary,
}

/// Solves the system of [`fit_sketched`].
pub(super) fn solve(
    problem: RidgeProblem<impl IntoKernel>,
    sketch: &InputSketch,
) -> Result<Solved, Error> {
    let RidgeProblem { kernel, rows, targets, lambda, seed } = problem;
    let n = rows.len();
    check(n, targets, lambda)?;
    let inputs = SketchedInputs::draw(kernel, rows, sketch, seed)?;
    let (ridge, ranks) = (n as f64 * lambda, Processes::current());
    let mut system = Panels::zeros(inputs.len());
    let mut sides = Mat::<f64>::zeros(inputs.len(), targets.width());
    for range in blocks(ranks.part(n), inputs.len()) {
        let features = inputs.features(&read(rows, range.clone())?)?;
        system.add_product(features.transpose(), features.transpose());
        targets.add_products(range, features.as_ref(), &mut sides);
    }
    system.sum(&ranks)?;
    ranks.sum_matrix(&mut sides)?;
    system.add_scaled(ridge, &inputs.penalty()?);
    system.check_finite("kernel matrix")?;
    let (factor, jitter) = factored(system, ridge)?;
    factor.solve(sides.as_mut())?;
    let weights = row_major(inputs.expand(sides).as_ref())?;
    let solution = RidgeSummary {
        inputs: Inputs::Sketched,
        condition: factor.condition()?,
        jitter,
        precision: Arithmetic::Double,
        convergence: None,
    };
    Ok(Solved { inputs, factor, weights, solution })
}

impl SketchedFit {
    /// What the model would predict for each training row had it been fitted on the others, with the
    /// same sketch and the same nλ: `z_{−i} = ψ_i − (ψ_i − z_i) / (1 − h_i)`,
    /// `h_i = t_iᵀ (Σ t tᵀ + nλ K̃)⁻¹ t_i`, n × p row-major. No refitting: one more pass over the rows.
    ///
    /// # Errors
    /// [`Error::Length`] for rows or targets that are not those of the fit; [`Error::Basis`] for a row that the
    /// others say nothing of, `1 − h_i ≤ 0` up to rounding, under a λ that is too small; errors from reading the
    /// rows.
    pub fn leave_one_out(
        &self,
        rows: &dyn RowSource,
        targets: &Targets,
    ) -> Result<Vec<f32>, Error> {
        let (n, width) = (self.model.summary.rows, self.model.width);
        Error::check_length("rows", rows.len(), n)?;
        Error::check_length("rows of targets", targets.len(), n)?;
        Error::check_length("coordinates", targets.width(), width)?;
        let ranks = Processes::current();
        let own = ranks.part(n);
        let targets = targets.dense::<f64>(own.clone());
        let mut out = self.model.predict(&RowRange { of: rows, range: own.clone() })?;
        for range in blocks(own.clone(), self.inputs.len()) {
            let mut features = self.inputs.features(&read(rows, range.clone())?)?;
            self.factor.whiten(features.as_mut())?;
            for (row, column) in range.zip(features.col_iter()) {
                let left = 1.0 - column.squared_norm_l2();
                // the sum has as many terms as the column
                if left.is_nan() || left <= f64::EPSILON * self.inputs.len() as f64 {
                    let lambda = self.model.summary.lambda;
                    return Err(Error::numeric(format!(
                        "the leave-one-out prediction of row {row} divides by {left:e}: raise lambda, which is \
                         {lambda:e}"
                    )));
                }
                let row = row - own.start;
                for (j, out) in out[row * width..(row + 1) * width].iter_mut().enumerate() {
                    let target = targets[(row, j)];
                    *out = (target - (target - f64::from(*out)) / left) as f32;
                }
            }
        }
        Ok(ranks.join(out)?)
    }
}
