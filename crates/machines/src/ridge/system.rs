//! Fits with every training input as an anchor: IOKR, ISOKR, Kernel Dependency Estimation. The factored system of the
//! inputs is shared by fits of any targets.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use dsokr_basis::features::read;
use dsokr_core::{Error, RowWeights};
use faer::Mat;
use rayon::prelude::*;

use super::left_out::solve_positive;
use super::model::{KernelModel, Weights};
use super::spectrum::Spectrum;
use crate::features::{FeatureMap, TrainingInputs};
use crate::linear::{Factor, Panels, Scalar, not_positive, row_major};
use crate::row_groups::RowGroups;
use crate::summary::{Arithmetic, Inputs, RidgeSummary, Solution, Summary};
use crate::targets::{Targets, check, check_lambda};

/// Fits `ĥ(x) = Σ_i α_i(x) ψ(y_i)`, `α(x) = (K + nλI)⁻¹ k^x`, on all training rows; with
/// [weights](Targets::with_weights) w it is `α(x) = (K + λ Σw diag(1/w))⁻¹ k^x`. The model of a precomputed kernel
/// predicts by [`predict_gram`](crate::KernelModel::predict_gram).
///
/// With the targets of [`OutputSpace::training`](crate::OutputSpace::training) it is IOKR, with the targets of a
/// sketched basis ISOKR, with the leading coordinates of a basis of every output Kernel Dependency Estimation (thesis,
/// sections 2.2 and 4.2).
///
/// Memory: half the Gram matrix, n²/2 numbers of the precision, and n × p targets. Time: n²/2
/// evaluations of the kernel in `f64`, n³/3 multiplications for the Cholesky factor and 2n² for
/// each coordinate. The numbers do not depend on the number of threads.
///
/// ```
/// use dsokr_basis::{Features, Kernel, features::{BitRows, DenseRows}};
/// use dsokr_machines::{TrainingInputs, OutputSpace, Arithmetic, fit};
///
/// let x = Features::Dense(DenseRows::new(1, vec![0.0, 1.0, 2.0, 3.0])?);
/// let y = Features::Bits(BitRows::from_indices(2, [vec![0], vec![0], vec![1], vec![1]])?);
/// let (space, targets) = OutputSpace::training(Kernel::Linear, &y)?;
/// let fitted = fit(&TrainingInputs::rows(Kernel::Gaussian { gamma: 0.5 }, &x), &targets, 1e-3, Arithmetic::Double)?;
/// let z = fitted.model.predict(&Features::Dense(DenseRows::new(1, vec![0.5])?))?;
/// assert!(z[0] > 0.9 && z[1] < 0.1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Shape`] unless there is a row of targets for each input; the errors of [`RidgeSystem::new`].
pub fn fit(
    inputs: &TrainingInputs,
    targets: &Targets,
    lambda: f64,
    precision: Arithmetic,
) -> Result<Fitted, Error> {
    check(inputs.len(), targets, lambda)?;
    Arc::new(RidgeSystem::new(inputs, &targets.weights, lambda, precision)?).fit(targets)
}

/// The Cholesky factor of `K + λ Σw diag(1/w)` of n inputs, `K + nλI` without weights w: it depends on the inputs,
/// their kernel, weights and λ, and [fits](Self::fit) any targets.
///
/// Memory: half the Gram matrix, n²/2 numbers of the precision. Time: n²/2 evaluations of the kernel in
/// `f64`, n³/3 multiplications. The numbers do not depend on the number of threads.
#[derive(Debug)]
pub struct RidgeSystem {
    map: FeatureMap,
    inputs: usize,
    /// w of each input.
    weights: RowWeights,
    lambda: f64,
    precision: Arithmetic,
    factor: AnyFactor,
    /// The diagonal of `(K + nλI)⁻¹`, computed when first used.
    diagonal: OnceLock<Vec<f64>>,
    /// An estimate of the condition number, computed when first used.
    condition: OnceLock<f64>,
}

/// A Cholesky factor of either precision.
#[derive(Debug)]
enum AnyFactor {
    Single(Factor<f32>),
    Double(Factor<f64>),
}

impl RidgeSystem {
    /// Creates the system of some inputs with their weights.
    ///
    /// # Errors
    /// [`Error::Value`] for a λ that is not above 0; [`Error::Shape`] unless there is one weight for each input, or
    /// none; the kernel's checks; [`Error::NotFinite`] for kernel
    /// values that overflow; [`Error::Numeric`] for a λ too small for the precision, and for a precomputed kernel of
    /// zeros; [`Error::Shape`] for asymmetry beyond 1e-8 of the largest value; and an eigenvalue
    /// below −1e-8 of the trace.
    pub fn new(
        inputs: &TrainingInputs,
        weights: &RowWeights,
        lambda: f64,
        precision: Arithmetic,
    ) -> Result<Self, Error> {
        check_lambda(lambda)?;
        weights.check(inputs.len())?;
        let map = FeatureMap::every(inputs)?;
        let factor = match precision {
            Arithmetic::Double => AnyFactor::Double(factored(inputs.gram()?, weights, lambda)?),
            Arithmetic::Single => {
                AnyFactor::Single(factored(inputs.gram_single()?, weights, lambda)?)
            }
        };
        let inputs = inputs.len();
        let weights = weights.clone();
        let diagonal = OnceLock::new();
        let condition = OnceLock::new();
        Ok(Self { map, inputs, weights, lambda, precision, factor, diagonal, condition })
    }

    /// Returns the model of the weights `(K + nλI)⁻¹ Ψ`, 2n² multiplications for each coordinate.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is a row of targets for each input; [`Error::Value`] for targets with other
    /// weights.
    pub fn fit(self: &Arc<Self>, targets: &Targets) -> Result<Fitted, Error> {
        let n = self.inputs;
        let lambda = self.lambda;
        check(n, targets, lambda)?;
        let allowed = "those of the system";
        Error::ensure(self.weights == targets.weights, "weights of rows", "others", allowed)?;
        let weights = match &self.factor {
            AnyFactor::Single(factor) => Weights::Single(solved(factor, targets, n)?),
            AnyFactor::Double(factor) => Weights::Double(solved(factor, targets, n)?),
        };
        let condition = self.condition()?;
        let inputs = match self.map {
            FeatureMap::Anchors(_) => Inputs::Full,
            FeatureMap::Given { .. } | FeatureMap::Basis(_) => Inputs::Precomputed,
        };
        let precision = self.precision;
        let solution = RidgeSummary { precision, ..RidgeSummary::new(inputs, condition) };
        let solution = Solution::Ridge(solution);
        let summary = Summary { rows: n, unknowns: n, width: targets.width(), lambda, solution };
        let model = KernelModel::new(self.map.clone(), weights, summary);
        Ok(Fitted { model, system: Arc::clone(self) })
    }

    /// Returns an estimate of the condition number, which the first call computes.
    fn condition(&self) -> Result<f64, Error> {
        if let Some(condition) = self.condition.get() {
            return Ok(*condition);
        }
        let condition = match &self.factor {
            AnyFactor::Single(factor) => factor.condition()?,
            AnyFactor::Double(factor) => factor.condition()?,
        };
        Ok(*self.condition.get_or_init(|| condition))
    }

    /// Returns the diagonal of `(K + nλI)⁻¹`: n³/3 multiplications at the first call.
    pub(super) fn inverse_diagonal(&self) -> Result<&[f64], Error> {
        if let Some(diagonal) = self.diagonal.get() {
            return Ok(diagonal);
        }
        let diagonal = match &self.factor {
            AnyFactor::Single(factor) => factor.inverse_diagonals(0)?,
            AnyFactor::Double(factor) => factor.inverse_diagonals(0)?,
        };
        let [diagonal, _] = diagonal;
        Ok(self.diagonal.get_or_init(|| diagonal))
    }

    /// Returns the parts of the inverse of the block of the first `rows` that held-out predictions of them take, among them
    /// the diagonal, which is given.
    fn inverse_parts<'d>(
        &self,
        diagonal: &'d [f64],
        groups: &RowGroups,
        rows: usize,
    ) -> Result<InverseParts<'d>, Error> {
        let first: Vec<usize> = (0..rows).collect();
        let groups = groups.select(&first).several();
        let blocks = match &self.factor {
            AnyFactor::Single(factor) => factor.inverse_blocks(&groups, rows)?,
            AnyFactor::Double(factor) => factor.inverse_blocks(&groups, rows)?,
        };
        Ok(InverseParts { diagonal, groups: groups.into_iter().zip(blocks).collect() })
    }

    /// Returns whether it is the system of these feature rows; never of a precomputed kernel.
    fn is_of(
        &self,
        inputs: &TrainingInputs,
        weights: &RowWeights,
        lambda: f64,
        precision: Arithmetic,
    ) -> Result<bool, Error> {
        let FeatureMap::Anchors(features) = &self.map else {
            return Ok(false);
        };
        let TrainingInputs::Rows(rows, kernel) = inputs else {
            return Ok(false);
        };
        // built-in kernels have their parameters next to the name, other kernels within it
        let same_kernel = features.kernel.name() == kernel.name()
            && features.kernel.built_in() == kernel.built_in();
        Ok(same_kernel
            && (self.lambda, self.precision, &self.weights) == (lambda, precision, weights)
            && *features.anchors == read(*rows, 0..rows.len())?)
    }
}

/// Returns the factor of `K + λ Σw diag(1/w)`, in the precision of the numbers T.
fn factored<T: Scalar>(
    mut gram: Panels<T>,
    weights: &RowWeights,
    lambda: f64,
) -> Result<Factor<T>, Error> {
    let inputs = gram.size;
    let ridge = weights.total(inputs) * lambda;
    gram.add_diagonal(|row| T::from_f64(ridge / weights.get(row)));
    Factor::new(gram)?.map_err(|row| not_positive(row, inputs, ridge, T::PRECISION))
}

/// Computes `(K + nλI)⁻¹ Ψ` of the first rows, row-major; 0 for the others, so that models of some and of all share
/// anchors.
fn solved<T: Scalar>(factor: &Factor<T>, targets: &Targets, rows: usize) -> Result<Vec<T>, Error> {
    let mut alpha = targets.dense::<T>(0..rows);
    factor.solve(alpha.as_mut())?;
    let mut weights = row_major(alpha.as_ref())?;
    weights.resize(targets.len() * targets.width(), T::from_f64(0.0));
    Ok(weights)
}

/// A model with the system that gave it.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The model.
    pub model: KernelModel,
    system: Arc<RidgeSystem>,
}

impl Fitted {
    /// Returns, for each training row, the prediction of a model fitted without it, with the same nλ (or λ Σw):
    /// `z_{−i} = ψ_i − α_i / ((K + nλI)⁻¹)_ii`, n × p row-major. Rows of one [group](Targets::grouped) are left out
    /// together, by the block of the inverse in the place of its diagonal. Nothing is refitted; the diagonal takes n³/3
    /// multiplications, the blocks of groups at most n² for each row.
    ///
    /// # Errors
    /// [`Error::Shape`] for targets that are not those of the fit; [`Error::Numeric`] for a block without a Cholesky
    /// factor, because λ is too small.
    pub fn leave_one_out(&self, targets: &Targets) -> Result<Vec<f32>, Error> {
        let n = self.model.summary.rows;
        let width = self.model.width;
        Error::check_length("rows of targets", targets.len(), n)?;
        Error::check_length("coordinates", targets.width(), width)?;
        let parts =
            self.system.inverse_parts(self.system.inverse_diagonal()?, &targets.groups, n)?;
        parts.predictions(&self.model, targets)
    }

    /// Returns the model of the first `rows` inputs, with the same nλ, and the leave-one-out predictions of both
    /// models. The factor of a leading block of `K + nλI` is a block of its factor, and so is its inverse. So pairs
    /// that come last are left out exactly, without refitting: this takes 2m² multiplications for each coordinate with
    /// m = `rows`, and n³/3 for both diagonals.
    ///
    /// # Errors
    /// The errors of [`leave_one_out`](Self::leave_one_out); [`Error::Value`] unless there are 1 to n rows.
    pub fn with_prefix(&self, targets: &Targets, rows: usize) -> Result<PrefixFit, Error> {
        let n = self.model.summary.rows;
        Error::check_length("rows of targets", targets.len(), n)?;
        Error::check_length("coordinates", targets.width(), self.model.width)?;
        Error::check_range("rows of the prefix", rows, 1..=n)?;
        let (weights, [whole, prefix]) = match &self.system.factor {
            AnyFactor::Single(factor) => {
                let weights = Weights::Single(solved(factor, targets, rows)?);
                (weights, factor.inverse_diagonals(rows)?)
            }
            AnyFactor::Double(factor) => {
                let weights = Weights::Double(solved(factor, targets, rows)?);
                (weights, factor.inverse_diagonals(rows)?)
            }
        };
        let summary = Summary { rows, unknowns: rows, ..self.model.summary.clone() };
        let model = self.model.with_weights(weights, summary);
        let of_prefix = self.system.inverse_parts(&prefix, &targets.groups, rows)?;
        let held_out_of_prefix = of_prefix.predictions(&model, targets)?;
        let of_all = self.system.inverse_parts(&whole, &targets.groups, n)?;
        let held_out_of_all = of_all.predictions(&self.model, targets)?;
        Ok(PrefixFit { model, held_out_of_prefix, held_out_of_all })
    }
}

/// The model of the first rows of a fit, and leave-one-out predictions of both.
#[derive(Clone, Debug)]
pub struct PrefixFit {
    /// The model of the first m rows. It has all anchors, with weights 0 behind the first m. Its summary has the λ and
    /// the condition number of the whole fit.
    pub model: KernelModel,
    /// The leave-one-out predictions of the model of the first m rows, m × p row-major.
    pub held_out_of_prefix: Vec<f32>,
    /// The leave-one-out predictions of the whole fit, n × p row-major.
    pub held_out_of_all: Vec<f32>,
}

/// The parts of the inverse of a system that held-out predictions take.
struct InverseParts<'d> {
    /// The diagonal.
    diagonal: &'d [f64],
    /// The groups of several rows that are left out together, with their blocks.
    groups: Vec<(Vec<usize>, Mat<f64>)>,
}

impl InverseParts<'_> {
    /// Computes `ψ_i − α_i / d_i` with the diagonal d, and `ψ_G − D⁻¹ α_G` of a group with the block D.
    fn predictions(self, model: &KernelModel, targets: &Targets) -> Result<Vec<f32>, Error> {
        const ROWS: usize = 64;
        let n = model.summary.rows;
        let width = model.width;
        let diagonal = self.diagonal;
        let mut out = vec![0.0f32; n * width];
        out.par_chunks_mut(ROWS * width).enumerate().for_each(|(chunk, out)| {
            let first = chunk * ROWS;
            let targets = targets.dense::<f64>(first..first + out.len() / width);
            for (at, out) in out.iter_mut().enumerate() {
                let row = at / width;
                let j = at % width;
                let alpha = model.weights.at(first * width + at);
                *out = (targets[(row, j)] - alpha / diagonal[first + row]) as f32;
            }
        });
        for (group, block) in self.groups {
            let alpha = |i: usize, j: usize| model.weights.at(group[i] * width + j);
            let mut left_out = Mat::from_fn(group.len(), width, alpha);
            if !solve_positive(block, left_out.as_mut(), f64::MIN_POSITIVE) {
                return Err(Spectrum::lost(model.summary.lambda));
            }
            for (place, &row) in group.iter().enumerate() {
                let target = targets.dense::<f64>(row..row + 1);
                for j in 0..width {
                    out[row * width + j] = (target[(0, j)] - left_out[(place, j)]) as f32;
                }
            }
        }
        Ok(out)
    }
}

/// Keeps the last factored system of feature rows, for successive fits of different targets.
/// Clones share it.
#[derive(Clone, Debug, Default)]
pub struct LastSystem(Arc<Mutex<Option<Arc<RidgeSystem>>>>);

impl LastSystem {
    /// Returns the kept system if it belongs to these rows, to a kernel of the same
    /// [name](dsokr_basis::OutputKernel::name) and parameters, and to the same weights, λ and precision. Otherwise a
    /// new system replaces it. The system of a precomputed kernel is not kept. Calls on several threads at once do not
    /// wait for each other: each computes the system that it needs, and the last of them is kept.
    ///
    /// # Errors
    /// The errors of [`RidgeSystem::new`].
    pub fn get(
        &self,
        inputs: &TrainingInputs,
        weights: &RowWeights,
        lambda: f64,
        precision: Arithmetic,
    ) -> Result<Arc<RidgeSystem>, Error> {
        let new = || Ok(Arc::new(RidgeSystem::new(inputs, weights, lambda, precision)?));
        if matches!(inputs, TrainingInputs::Gram(_)) {
            return new();
        }
        let kept = self.kept().clone();
        if let Some(system) = kept
            && system.is_of(inputs, weights, lambda, precision)?
        {
            return Ok(system);
        }
        // frees its memory before the new one takes as much
        self.clear();
        // the lock is not held here: a thread of a pool that waits for parallel work runs other tasks, which may call this
        let system = new()?;
        *self.kept() = Some(Arc::clone(&system));
        Ok(system)
    }

    /// Drops the kept system.
    pub fn clear(&self) {
        let kept = self.kept().take();
        drop(kept);
    }

    /// Returns the slot, locked. Nothing panics while it is.
    fn kept(&self) -> MutexGuard<'_, Option<Arc<RidgeSystem>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
