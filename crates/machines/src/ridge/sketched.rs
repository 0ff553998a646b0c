//! Fitting in the span of a sketch of the inputs: SIOKR, SISOKR; and the mean of models on parts of the rows (thesis,
//! perspectives).

use std::ops::Range;
use std::sync::Arc;

use dsokr_basis::features::read;
use dsokr_basis::kernel::IntoKernel;
use dsokr_basis::{Block, Features, Processes, RowKind, RowSource};
use faer::Mat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::model::{Expansion, RidgeModel, Weights};
use super::sketched_inputs::{InputSketch, RidgeProblem, SketchedInputs, blocks, factored};
use crate::linear::{Factor, Panels, row_major};
use crate::summary::{Inputs, RidgeSummary, Solution, Summary};
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
    let RidgeProblem { kernel, rows, targets, lambda, seed } = problem;
    let n = rows.len();
    check(n, targets, lambda)?;
    let inputs = SketchedInputs::draw(kernel, rows, sketch, seed)?;
    let (ridge, processes) = (n as f64 * lambda, Processes::current());
    let mut system = Panels::zeros(inputs.len());
    let mut sides = Mat::<f64>::zeros(inputs.len(), targets.width());
    for range in blocks(processes.part(n), inputs.len()) {
        let features = inputs.features(&read(rows, range.clone())?)?;
        system.add_product(features.transpose(), features.transpose());
        targets.add_products(range, features.as_ref(), &mut sides);
    }
    system.sum(&processes)?;
    processes.sum_matrix(&mut sides)?;
    system.add_scaled(ridge, &inputs.penalty()?);
    system.check_finite("kernel matrix")?;
    let (factor, jitter) = factored(system, ridge)?;
    factor.solve(sides.as_mut())?;
    let weights = Weights::Double(row_major(inputs.expand(sides).as_ref())?);
    let solved = RidgeSummary::new(Inputs::Sketched, factor.condition()?);
    let solution = Solution::Ridge(RidgeSummary { jitter, ..solved });
    let (unknowns, width) = (inputs.len(), targets.width());
    let summary = Summary { rows: n, unknowns, width, lambda, solution };
    let (kernel, anchors) = (Arc::clone(&inputs.kernel), Arc::clone(&inputs.anchors));
    let model = RidgeModel::new(Expansion::Kernel { kernel, anchors }, weights, summary);
    Ok(SketchedFit { model, inputs, factor })
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
        let processes = Processes::current();
        let own = processes.part(n);
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
        Ok(processes.join(out)?)
    }
}

/// The mean of models on parts of the rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Averaged {
    /// The sketch of the inputs of each part.
    pub sketch: InputSketch,
    /// B, the number of parts, 1 to n.
    pub parts: usize,
}

/// Fits the mean `ĥ = (1/B) Σ ĥ_b` of models on B runs of consecutive rows, of sizes that differ by one
/// at most; part b is sketched with seed + b. Rows should be in no order. The ranks of the scope share the
/// fit of each part, as in [`fit_sketched`].
///
/// The summary holds the sum of the unknowns of the parts, and the largest of their condition numbers
/// and jitters.
///
/// # Errors
/// [`Error::Value`] unless there are from 1 to n parts; as [`fit_sketched`], m being at most the
/// number of rows in a part.
pub fn fit_averaged(
    problem: RidgeProblem<impl IntoKernel>,
    Averaged { sketch, parts }: &Averaged,
) -> Result<RidgeModel, Error> {
    let RidgeProblem { kernel, rows, targets, lambda, seed } = problem;
    let (n, parts) = (rows.len(), *parts);
    check(n, targets, lambda)?;
    Error::check_range("number of parts", parts, 1, n)?;
    let kernel = kernel.into_kernel();
    let mut anchors = Features::empty(rows.kind(), rows.width())?;
    let (mut weights, mut unknowns) = (Vec::new(), 0);
    let mut worst = RidgeSummary::new(Inputs::Sketched, 0.0);
    for part in 0..parts {
        let range = part * n / parts..(part + 1) * n / parts;
        let problem = RidgeProblem {
            kernel: Arc::clone(&kernel),
            rows: &RowRange { of: rows, range: range.clone() },
            targets: &targets.select(&range.collect::<Vec<_>>())?,
            lambda,
            seed: seed.wrapping_add(part as u64),
        };
        let fitted = fit_sketched(problem, sketch)?;
        anchors.append(&fitted.inputs.anchors)?;
        let own = 0..fitted.inputs.anchors.len() * targets.width();
        weights.extend(own.map(|at| fitted.model.weights.at(at) / parts as f64));
        unknowns += fitted.inputs.len();
        if let Some(solution) = fitted.model.summary.ridge() {
            worst.condition = worst.condition.max(solution.condition);
            worst.jitter = worst.jitter.max(solution.jitter);
        }
    }
    let solution = Solution::Ridge(worst);
    let summary = Summary { rows: n, unknowns, width: targets.width(), lambda, solution };
    let map = Expansion::Kernel { kernel, anchors: Arc::new(anchors) };
    Ok(RidgeModel::new(map, Weights::Double(weights), summary))
}

/// Consecutive rows of a source.
struct RowRange<'a> {
    of: &'a dyn RowSource,
    range: Range<usize>,
}

impl RowSource for RowRange<'_> {
    fn len(&self) -> usize {
        self.range.len()
    }

    fn width(&self) -> usize {
        self.of.width()
    }

    fn kind(&self) -> RowKind {
        self.of.kind()
    }

    fn block(&self, rows: Range<usize>) -> Result<Block<'_>, dsokr_basis::Error> {
        let (start, end, len) = (rows.start, rows.end, self.range.len());
        if end > len {
            return Err(dsokr_basis::Error::range(start, end, len));
        }
        // saturating, so that a range beyond the part is beyond the whole
        let within = |row: usize| self.range.start.saturating_add(row);
        self.of.block(within(start)..within(end))
    }
}
