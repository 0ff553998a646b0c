//! Fitting with every training input as an anchor: IOKR, ISOKR, Kernel Dependency Estimation.

use std::sync::Arc;

use dsokr_basis::features::read;
use dsokr_basis::{Block, OutputKernel, RowSource};
use faer::{Mat, MatRef};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::ridge::conjugate::Convergence;
use crate::ridge::linear::{Factor, Panels, Scalar};
use crate::ridge::linear_index::LinearIndex;
use crate::ridge::model::{Map, Model, Weights};
use crate::ridge::{Error, TargetSource, Targets, precomputed};

/// What a system is solved in.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// `f32`: half the memory and time. For condition numbers up to about 1e5, which a large nλ
    /// ensures; see [`Summary::condition`].
    Single,
    /// `f64`.
    #[default]
    Double,
}

/// Which rows carry a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Inputs {
    /// Every training input.
    Full,
    /// Those that a sketch touches.
    Sketched,
    /// Every training input, through a Gram matrix that was given.
    Precomputed,
}

/// What was fitted, and how well conditioned it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Which rows carry the model.
    pub inputs: Inputs,
    /// n, the number of training rows.
    pub rows: usize,
    /// Number of unknowns of the system for each coordinate: n, or m with an input sketch.
    pub unknowns: usize,
    /// p, the number of coordinates.
    pub rank: usize,
    /// λ of `(1/n) Σ ‖ĥ(x_i) − ψ(y_i)‖² + λ ‖ĥ‖²`.
    pub lambda: f64,
    /// Condition number of the system that was solved, estimated from below (power iteration).
    pub condition: f64,
    /// What had to be added to the diagonal for the system to be positive definite to rounding.
    pub jitter: f64,
    /// What it was solved in.
    pub precision: Precision,
    /// How far conjugate gradients came; none for a system that was factored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub convergence: Option<Convergence>,
}

impl std::fmt::Display for Summary {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(
            out,
            "{} rows, {} unknowns, {} coordinates, lambda {:e}, condition about {:.1e}",
            self.rows, self.unknowns, self.rank, self.lambda, self.condition
        )?;
        if self.jitter != 0.0 {
            write!(out, ", {:.1e} added to the diagonal", self.jitter)?;
        }
        match &self.convergence {
            Some(convergence) => write!(out, ", {convergence}"),
            None => Ok(()),
        }
    }
}

/// A model with what leave-one-out predictions need beside it.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The model.
    pub model: Model,
    factor: Factors,
}

#[derive(Clone, Debug)]
enum Factors {
    Single(Factor<f32>),
    Double(Factor<f64>),
}

/// Fits `ĥ(x) = Σ_i α_i(x) ψ(y_i)`, `α(x) = (K + nλI)⁻¹ k^x`, on all training rows.
///
/// With the targets of [`OutputSpace::training`](crate::ridge::OutputSpace::training) it is IOKR, with
/// those of a sketched basis ISOKR, with the leading coordinates of a basis of every output Kernel
/// Dependency Estimation (thesis, sections 2.2 and 4.2).
///
/// Memory: half the Gram matrix, n²/2 numbers of the precision, and n × p targets. Time: n²/2
/// evaluations of the kernel in `f64`, n³/3 multiplications for the Cholesky factor and 2n² for
/// each coordinate. The numbers do not depend on the number of threads.
///
/// ```
/// use dsokr_basis::{Features, Kernel, features::{BitRows, DenseRows}};
/// use dsokr_machines::ridge::{OutputSpace, Precision, fit};
///
/// let x = Features::Dense(DenseRows::new(1, vec![0.0, 1.0, 2.0, 3.0])?);
/// let y = Features::Bits(BitRows::from_indices(2, [vec![0], vec![0], vec![1], vec![1]])?);
/// let (space, targets) = OutputSpace::training(Kernel::Linear, &y)?;
/// let fitted = fit(Kernel::Gaussian { gamma: 0.5 }, &x, &targets, 1e-3, Precision::Double)?;
/// let z = fitted.model.predict(&Features::Dense(DenseRows::new(1, vec![0.5])?))?;
/// assert!(z[0] > 0.9 && z[1] < 0.1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Lambda`]; [`Error::Length`] unless there is a row of targets for each input; the
/// kernel's checks; [`Error::NotFinite`] for kernel values that overflow; [`Error::NotPositive`] for
/// a λ too small for the precision.
pub fn fit(
    kernel: impl OutputKernel + 'static,
    rows: &dyn RowSource,
    targets: &Targets,
    lambda: f64,
    precision: Precision,
) -> Result<Fitted, Error> {
    let n = rows.len();
    check(n, targets, lambda)?;
    kernel.validate(rows.kind())?;
    let all = read(rows, 0..n)?;
    kernel.check(&all)?;
    let inputs = Inputs::Full;
    let (weights, summary, factor) = match precision {
        Precision::Double => {
            let gram = gram::<f64>(&kernel, rows)?;
            solve(gram, targets, lambda, inputs, precision, Weights::Double, Factors::Double)?
        }
        Precision::Single => {
            let gram = single(&kernel, rows, &all)?;
            solve(gram, targets, lambda, inputs, precision, Weights::Single, Factors::Single)?
        }
    };
    let mut anchors = dsokr_basis::Features::empty(rows.kind(), rows.width())?;
    anchors.append(&all)?;
    let map = Map::Kernel { kernel: Arc::new(kernel), anchors };
    let rank = targets.rank();
    Ok(Fitted { model: Model::new(map, weights, rank, summary), factor })
}

/// Fits on the Gram matrix of a precomputed kernel, n × n.
///
/// The model's input rows are dense rows of the kernel's values with the n training inputs.
///
/// # Errors
/// As [`fit`]; [`Error::ZeroGram`]; [`Error::NotSymmetric`] beyond 1e-8 of the largest value; [`Error::NotSemidefinite`]
/// for an eigenvalue below −1e-8 of the trace.
pub fn fit_gram(
    gram: MatRef<f64>,
    targets: &Targets,
    lambda: f64,
    precision: Precision,
) -> Result<Fitted, Error> {
    let n = gram.nrows();
    check(n, targets, lambda)?;
    let gram = precomputed::checked(gram)?;
    let inputs = Inputs::Precomputed;
    let (weights, summary, factor) = match precision {
        Precision::Double => {
            solve(gram, targets, lambda, inputs, precision, Weights::Double, Factors::Double)?
        }
        Precision::Single => {
            let single = Panels::try_new(n, |rows| {
                let element = |i: usize, j: usize| {
                    let (row, column) = (rows.start + i, j);
                    gram.at(row.max(column), row.min(column)) as f32
                };
                Ok::<_, Error>(Mat::from_fn(rows.len(), rows.end, element))
            })?;
            solve(single, targets, lambda, inputs, precision, Weights::Single, Factors::Single)?
        }
    };
    let rank = targets.rank();
    let model = Model::new(Map::Rows { width: n }, weights, rank, summary);
    Ok(Fitted { model, factor })
}

/// Checks λ, and that rows and targets belong together.
pub(crate) fn check(n: usize, targets: &dyn TargetSource, lambda: f64) -> Result<(), Error> {
    if !(lambda > 0.0 && lambda.is_finite()) {
        return Err(Error::Lambda { value: lambda });
    }
    if n == 0 {
        return Err(dsokr_basis::Error::NoRows.into());
    }
    match targets.len() {
        found if found != n => Err(Error::Length { what: "rows of targets", found, expected: n }),
        _ => Ok(()),
    }
}

/// The lower half of the Gram matrix of the rows.
pub(crate) fn gram<T: Scalar>(
    kernel: &dyn OutputKernel,
    rows: &dyn RowSource,
) -> Result<Panels<T>, Error> {
    let gram = Panels::try_new(rows.len(), |range| {
        let values = kernel.block(&read(rows, range.clone())?, &read(rows, 0..range.end)?)?;
        Ok::<_, Error>(Mat::from_fn(values.nrows(), values.ncols(), |i, j| T::of(values[(i, j)])))
    })?;
    match gram.first_not_finite() {
        Some((row, column, value)) => {
            Err(Error::NotFinite { what: "kernel matrix", row, column, value })
        }
        None => Ok(gram),
    }
}

/// As [`gram`] in `f32`; a kernel that is linear in scaled sparse rows by their common columns.
fn single(
    kernel: &dyn OutputKernel,
    rows: &dyn RowSource,
    all: &Block,
) -> Result<Panels<f32>, Error> {
    let Some(index) = LinearIndex::new(kernel, all) else {
        return gram(kernel, rows);
    };
    let gram = Panels::try_new(rows.len(), |range| {
        let block = read(rows, range.clone())?;
        Ok::<_, Error>(index.values(kernel, &block, range.end)?.transpose().to_owned())
    })?;
    match gram.first_not_finite() {
        Some((row, column, value)) => {
            Err(Error::NotFinite { what: "kernel matrix", row, column, value })
        }
        None => Ok(gram),
    }
}

/// `(K + nλI)⁻¹ Ψ` with the factor that gave it.
fn solve<T: Scalar>(
    mut gram: Panels<T>,
    targets: &Targets,
    lambda: f64,
    inputs: Inputs,
    precision: Precision,
    weights: impl Fn(Vec<T>) -> Weights,
    factors: impl Fn(Factor<T>) -> Factors,
) -> Result<(Weights, Summary, Factors), Error> {
    let (n, rank) = (gram.size(), targets.rank());
    let ridge = n as f64 * lambda;
    gram.add_to_diagonal(T::of(ridge));
    let factor =
        Factor::new(gram).map_err(|found| Error::NotPositive { size: n, row: found.row, ridge })?;
    let condition = factor.condition();
    let mut alpha = targets.dense::<T>();
    factor.solve(alpha.as_mut());
    let summary = Summary {
        inputs,
        rows: n,
        unknowns: n,
        rank,
        lambda,
        condition,
        jitter: 0.0,
        precision,
        convergence: None,
    };
    Ok((weights(row_major(alpha.as_ref())?), summary, factors(factor)))
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
    match out.iter().position(|value| !value.wide().is_finite()) {
        Some(at) => Err(Error::NotFinite {
            what: "weights",
            row: at / columns,
            column: at % columns,
            value: out[at].wide(),
        }),
        None => Ok(out),
    }
}

impl Fitted {
    /// What the model would predict for each training row had it been fitted on the others, with the
    /// same nλ: `z_{−i} = ψ_i − α_i / ((K + nλI)⁻¹)_ii`, n × p row-major. No refitting: n³/3
    /// multiplications for the diagonal.
    ///
    /// # Errors
    /// [`Error::Length`] for targets that are not those of the fit.
    pub fn leave_one_out(&self, targets: &Targets) -> Result<Vec<f32>, Error> {
        let (n, rank) = (self.model.summary.rows, self.model.rank);
        for (what, found, expected) in
            [("rows of targets", targets.len(), n), ("coordinates", targets.rank(), rank)]
        {
            if found != expected {
                return Err(Error::Length { what, found, expected });
            }
        }
        let diagonal = match &self.factor {
            Factors::Single(factor) => factor.inverse_diagonal(),
            Factors::Double(factor) => factor.inverse_diagonal(),
        };
        let mut out = vec![0.0f32; n * rank];
        let targets = targets.dense::<f64>();
        out.par_chunks_mut(rank).enumerate().for_each(|(i, out)| {
            for (j, out) in out.iter_mut().enumerate() {
                let alpha = match &self.model.weights {
                    Weights::Single(weights) => f64::from(weights[i * rank + j]),
                    Weights::Double(weights) => weights[i * rank + j],
                };
                *out = (targets[(i, j)] - alpha / diagonal[i]) as f32;
            }
        });
        Ok(out)
    }
}
