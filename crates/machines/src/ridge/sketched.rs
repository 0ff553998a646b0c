//! Fits in the span of sketched inputs: SIOKR, SISOKR; and the mean of models on parts of the rows (thesis,
//! perspectives).

use std::ops::Range;
use std::sync::Arc;

use dsokr_basis::features::Selected;
use dsokr_basis::kernel::IntoKernel;
use dsokr_basis::{Features, RowSource};
use dsokr_core::{Cancellation, Error, Processes, RowWeights};
use faer::{Accum, Mat};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::left_out::{GroupRun, leave_out, replace_by_group};
use super::model::{KernelModel, Weights};
use crate::features::{AnchorFeatures, FeatureMap, InputSketch, blocks};
use crate::linear::{Factor, PANEL, Panels, not_positive, product, row_major};
use crate::summary::{Arithmetic, Inputs, RidgeSummary, Solution, Summary};
use crate::targets::{SideSums, Targets, check_shared, check_sizes};

/// The condition number of a system above which its solution costs predictions digits that numbers of 32 bits have.
const ACCURATE: f64 = 1e12;

/// A ridge regression in the span of sketched inputs: the least of
/// `Σ_i w_i ‖ĥ(x_i) − ψ_i‖² / Σ_i w_i + λ ‖ĥ‖²` with the [weights](Targets::with_weights) of the targets.
#[derive(Clone, Copy, derive_more::Debug)]
#[debug("RidgeProblem({} rows, λ = {lambda})", rows.len())]
pub struct RidgeProblem<'a, K> {
    /// The input kernel.
    pub kernel: K,
    /// The n training inputs.
    pub rows: &'a dyn RowSource,
    /// ψ, a row for each input.
    pub targets: &'a Targets,
    /// λ, above 0.
    pub lambda: f64,
    /// The seed of the sketch.
    pub seed: u64,
    /// The processes that share the sums over rows. Each of them fits the same problem, and reads its part of the rows
    /// beside those of the sketch; of the targets it needs [its part](crate::Solver::held) alone.
    pub processes: &'a Processes,
}

/// A model in the span of an input sketch, with the numbers that leave-one-out predictions need in addition.
#[derive(Clone, Debug)]
pub struct SketchedFit {
    /// The model.
    pub model: KernelModel,
    features: AnchorFeatures,
    /// The weights of these features, m × p.
    weights: Mat<f64>,
    factor: Factor<f64>,
    /// The processes that have shared the fit.
    processes: Processes,
}

/// Fits in the span of m sketched inputs: `ĥ(x) = Ψᵀ K_X R_Xᵀ (R_X K_X² R_Xᵀ + nλ K̃_X)⁻¹ R_X k^x`
/// (thesis, proposition 4.2), in one pass over the rows.
///
/// With the targets of [`OutputSpace::training`](crate::OutputSpace::training) it is SIOKR, with the targets of a
/// sketched basis SISOKR. `R_X K_X² R_Xᵀ` and `R_X K_X Ψ` are summed over blocks of rows in `f64`, so memory does not
/// depend on n: three times m²/2 numbers, twice m × p, and 64 MiB for a block (with a dense sketch every row is an anchor,
/// and all of them are kept). Time: n·a evaluations of the kernel, n m²/2 + m³/3 multiplications, n m + 2m² for each
/// coordinate. The numbers do not depend on the number of threads.
///
/// The [processes](RidgeProblem::processes) share the sums. All of them call this function with the same problem, and each
/// reads its part of the rows. All ranks get the same model. It differs from that of one process only by rounding.
///
/// Where the sketched inputs are numerically dependent, so that the system has no Cholesky factor or a condition number
/// above 1e12, K̃ is replaced by its part with the eigenvalues above 1e-12 of the largest, in one pass more, as
/// [`Spectrum::sketched`](crate::Spectrum::sketched) does. [`Summary::unknowns`] is then the number of these
/// eigenvalues.
///
/// # Errors
/// The errors of [`fit`](crate::fit()); the errors of the sketch, among them [`Error::Value`] for m > n.
pub fn fit_sketched(
    problem: RidgeProblem<impl IntoKernel>,
    sketch: &InputSketch,
) -> Result<SketchedFit, Error> {
    let RidgeProblem { kernel, rows, targets, lambda, seed, processes } = problem;
    let n = rows.len();
    check_shared(processes, n, targets, lambda)?;
    let mut features = AnchorFeatures::sketched(processes, kernel, rows, sketch, seed)?;
    let ridge = targets.total_weight() * lambda;
    let penalty = features.penalty(processes)?;
    let (mut system, mut sides) = normal_equations(processes, &features, rows, targets)?;
    system.add_scaled(ridge, &penalty);
    system.check_finite("kernel matrix")?;
    let mut factored = Factor::new(system)?;
    let mut condition = condition_of(&factored)?;
    if condition > ACCURATE {
        drop(factored);
        features = features.whitened(&penalty)?;
        (system, sides) = normal_equations(processes, &features, rows, targets)?;
        system.add_to_diagonal(ridge);
        factored = Factor::new(system)?;
        condition = condition_of(&factored)?;
    }
    let unknowns = features.len();
    let factor = factored.map_err(|row| not_positive(row, unknowns, ridge, Arithmetic::Double))?;
    factor.solve(sides.as_mut())?;
    let (map, weights) = features.compact(sides.clone());
    let weights = Weights::Double(row_major(weights.as_ref())?);
    let solution = Solution::Ridge(RidgeSummary::new(Inputs::Sketched, condition));
    let width = targets.width();
    let summary = Summary { rows: n, unknowns, width, lambda, solution };
    let model = KernelModel::new(map, weights, summary);
    Ok(SketchedFit { model, features, weights: sides, factor, processes: processes.clone() })
}

/// Returns an estimate of the condition number of a system; infinite where it has no Cholesky factor.
fn condition_of(factored: &Result<Factor<f64>, usize>) -> Result<f64, Error> {
    factored.as_ref().map_or(Ok(f64::INFINITY), Factor::condition)
}

/// Computes `R_X K_X² R_Xᵀ` and `R_X K_X Ψ`, with the weights of the targets.
fn normal_equations(
    processes: &Processes,
    features: &AnchorFeatures,
    rows: &dyn RowSource,
    targets: &Targets,
) -> Result<(Panels<f64>, Mat<f64>), Error> {
    let mut system = Panels::zeros(features.len());
    let mut sides = SideSums::new(targets, features.len());
    let rank_rows = processes.part(rows.len());
    let stage = Cancellation::current().stage("normal equations", rank_rows.len());
    for range in blocks(rank_rows, features.len()) {
        stage.advance(range.len())?;
        let mut columns = features.of_rows(rows, range.clone())?;
        targets.weigh(range.clone(), &mut columns);
        system.add_product(columns.transpose(), columns.transpose());
        sides.add(range, columns.as_ref());
    }
    system.sum(processes)?;
    Ok((system, sides.of_all_ranks(processes)?))
}

impl SketchedFit {
    /// Returns, for each training row, the prediction of a model fitted without it, with the same sketch and the same
    /// nλ (λ Σw with weights): `z_{−i} = ψ_i − (ψ_i − z_i) / (1 − h_i)`, `h_i = w_i t_iᵀ (Σ w t tᵀ + nλ K̃)⁻¹ t_i`, n ×
    /// p row-major. Nothing is refitted: this takes one more pass over the rows, in 64 bits, for `1 − h_i` falls with λ
    /// and so does the difference that it divides. Rows of one [group](Targets::grouped) are left out together, and read
    /// once more: the block of the hat matrix of a group takes the place of h.
    ///
    /// # Errors
    /// [`Error::Shape`] for rows or targets that are not those of the fit; [`Error::Numeric`] for a row about which the
    /// others say nothing, `1 − h_i ≤ 0` up to rounding, because λ is too small; [`Error::Unsupported`] for a group that
    /// is divided between processes; [`Error::NotFinite`] for a prediction that overflows `f32`; errors from reading the
    /// rows.
    pub fn leave_one_out(
        &self,
        rows: &dyn RowSource,
        targets: &Targets,
    ) -> Result<Vec<f32>, Error> {
        let n = self.model.summary.rows;
        let width = self.model.width;
        Error::check_length("rows", rows.len(), n)?;
        Error::check_length("rows of targets", targets.len(), n)?;
        Error::check_length("coordinates", targets.width(), width)?;
        let rank_rows = self.processes.part(n);
        targets.held.check("targets", &rank_rows)?;
        let all: Vec<usize> = (0..n).collect();
        let groups = targets.groups.of_part(&self.processes, &all, n)?;
        let mut is_grouped = vec![false; rank_rows.len()];
        groups.iter().flatten().for_each(|&place| is_grouped[place] = true);
        let least = f64::EPSILON * self.features.len() as f64;
        let rank_targets = targets.dense::<f64>(rank_rows.clone());
        let mut out = vec![0.0f32; rank_rows.len() * width];
        let stage = Cancellation::current().stage("leave-one-out predictions", rank_rows.len());
        for range in blocks(rank_rows.clone(), self.features.len().max(width)) {
            stage.advance(range.len())?;
            let mut columns = self.features.of_rows(rows, range.clone())?;
            let mut predicted = Mat::zeros(range.len(), width);
            let weights = self.weights.as_ref();
            product(predicted.as_mut(), Accum::Replace, columns.transpose(), weights, PANEL);
            targets.weigh(range.clone(), &mut columns);
            self.factor.whiten(columns.as_mut())?;
            let whitened = range.zip(columns.col_iter()).zip(predicted.row_iter());
            for ((row, column), predicted) in whitened {
                if is_grouped[row - rank_rows.start] {
                    continue;
                }
                let left = 1.0 - column.squared_norm_l2();
                // the sum has as many terms as the column
                if left.is_nan() || left <= least {
                    let lambda = self.model.summary.lambda;
                    return Err(Error::Numeric(format!(
                        "the leave-one-out prediction of row {row} divides by {left:e}: raise lambda, which is \
                         {lambda:e}"
                    )));
                }
                let row = row - rank_rows.start;
                let out = &mut out[row * width..(row + 1) * width];
                for (j, (out, value)) in out.iter_mut().zip(predicted.iter()).enumerate() {
                    let target = rank_targets[(row, j)];
                    *out = (target - (target - value) / left) as f32;
                }
            }
        }
        drop(stage);
        let most =
            blocks(0..n, self.features.len().max(width)).next().map_or(1, |block| block.len());
        replace_by_group(&mut out, rows, targets, rank_rows.start, &groups, most, |run| {
            self.without_groups(run)
        })?;
        Error::check_finite("leave-one-out predictions", width, &out)?;
        self.processes.join(out)
    }

    /// Returns the predictions for the rows of whole groups by models without the group, row-major.
    fn without_groups(&self, run: GroupRun<'_>) -> Result<Vec<f32>, Error> {
        let GroupRun { numbers, rows, targets, groups } = run;
        let width = self.model.width;
        let all = 0..numbers.len();
        let mut columns = self.features.of_rows(rows, all.clone())?;
        let dense = targets.dense::<f64>(all.clone());
        let mut residuals = dense.clone();
        let mut predicted = Mat::zeros(numbers.len(), width);
        let weights = self.weights.as_ref();
        product(predicted.as_mut(), Accum::Replace, columns.transpose(), weights, PANEL);
        residuals -= predicted;
        targets.weigh(all, &mut columns);
        self.factor.whiten(columns.as_mut())?;
        let root = |row: usize| targets.weights.get(row).sqrt();
        let least = f64::EPSILON * self.features.len() as f64;
        for group in groups {
            let Some(&first) = group.first() else { continue };
            let vectors = columns.as_ref().subcols(first, group.len()).transpose();
            let mut left_out = Mat::from_fn(group.len(), width, |i, j| {
                root(first + i) * residuals[(first + i, j)]
            });
            if !leave_out(vectors, left_out.as_mut(), least) {
                let lambda = self.model.summary.lambda;
                return Err(Error::Numeric(format!(
                    "the other rows say nothing about row {} without its group: raise lambda, which is {lambda:e}",
                    numbers[first]
                )));
            }
            for (place, row) in left_out.row_iter().enumerate() {
                for (j, value) in row.iter().enumerate() {
                    residuals[(first + place, j)] = value / root(first + place);
                }
            }
        }
        let mut predictions = Vec::with_capacity(numbers.len() * width);
        for row in 0..numbers.len() {
            predictions.extend((0..width).map(|j| (dense[(row, j)] - residuals[(row, j)]) as f32));
        }
        Ok(predictions)
    }
}

/// The mean of models on parts of the rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DivideAndConquer {
    /// The sketch of the inputs of each part.
    pub sketch: InputSketch,
    /// B, the number of parts, 1 to n.
    pub parts: usize,
}

/// Fits the mean `ĥ = (1/B) Σ ĥ_b` of models on B runs of consecutive rows, whose weights have sums as equal as whole
/// rows allow: without weights their sizes differ by one at most. Part b is sketched with seed + b. Rows should be in
/// no order. The processes share the fit of each part, as in [`fit_sketched`].
///
/// The summary holds the sum of the unknowns of the parts, and the largest of their condition numbers.
///
/// # Errors
/// [`Error::Value`] unless there are from 1 to n parts; the errors of [`fit_sketched`], m being at most the
/// number of rows in a part.
pub fn fit_divide_and_conquer(
    problem: RidgeProblem<impl IntoKernel>,
    DivideAndConquer { sketch, parts }: &DivideAndConquer,
) -> Result<KernelModel, Error> {
    let RidgeProblem { kernel, rows, targets, lambda, seed, processes } = problem;
    let n = rows.len();
    let parts = *parts;
    check_sizes(n, targets, lambda)?;
    Error::check_range("number of parts", parts, 1..=n)?;
    let kernel = kernel.into_kernel();
    let mut anchors = Features::empty(rows.kind(), rows.width())?;
    let mut weights = Vec::new();
    let mut unknowns = 0;
    let mut worst = RidgeSummary::new(Inputs::Sketched, 0.0);
    let ranges = equal_parts(n, &targets.weights, parts);
    let fewest = ranges.iter().map(ExactSizeIterator::len).min().unwrap_or(n);
    let allowed =
        format!("at most {fewest}, the rows of the smallest of {parts} parts of equal weight");
    Error::ensure(sketch.size <= fewest, "size of the sketch", sketch.size, allowed)?;
    for (part, part_rows) in ranges.into_iter().enumerate() {
        let part_rows: Vec<usize> = part_rows.collect();
        let problem = RidgeProblem {
            kernel: Arc::clone(&kernel),
            rows: &Selected::new(rows, &part_rows),
            targets: &targets.select(&part_rows)?,
            lambda,
            seed: seed.wrapping_add(part as u64),
            processes,
        };
        let fitted = fit_sketched(problem, sketch)?;
        anchors.append(&fitted.features.anchors)?;
        let part_weights = row_major(fitted.model.anchor_weights().as_ref())?;
        weights.extend(part_weights.into_iter().map(|weight| weight / parts as f64));
        unknowns += fitted.features.len();
        if let Some(solution) = fitted.model.summary.ridge() {
            worst.condition = worst.condition.max(solution.condition);
        }
    }
    let solution = Solution::Ridge(worst);
    let summary = Summary { rows: n, unknowns, width: targets.width(), lambda, solution };
    let map = FeatureMap::anchors(kernel, Arc::new(anchors));
    Ok(KernelModel::new(map, Weights::Double(weights), summary))
}

/// Returns n rows in so many runs of at least one row, the sums of whose weights are as equal as whole rows allow. There are
/// at most n runs.
pub(crate) fn equal_parts(n: usize, weights: &RowWeights, parts: usize) -> Vec<Range<usize>> {
    let total = weights.total(n);
    let mut bounds = vec![0];
    let mut sum = 0.0;
    for row in 0..n {
        sum += weights.get(row);
        // the row ends every part whose share of the total is reached with the next one
        while sum * parts as f64 > bounds.len() as f64 * total && bounds.len() < parts {
            bounds.push(row);
        }
    }
    bounds.resize(parts, n);
    bounds.push(n);
    // rows of large weights would leave other parts without any
    for part in 1..parts {
        bounds[part] = bounds[part].max(bounds[part - 1] + 1).min(n - (parts - part));
    }
    bounds.windows(2).map(|bound| bound[0]..bound[1]).collect()
}
