//! Sketched kernel machines with Lipschitz losses.

mod output;
mod solver;

use std::collections::BTreeMap;
use std::path::Path;

use dsokr_basis::eigenbasis::multiply;
use dsokr_basis::features::read;
use dsokr_basis::store::{self, Stored, Tensor};
use dsokr_basis::{Basis, RowSource};
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

pub use output::{Offset, OutputMatrix, coverage, crossing_loss, pinball_loss};
pub use solver::{InputFeatures, Stop};

use crate::loss::Loss;
use crate::summary::{Solution, Summary};
use crate::targets::check;
use crate::{Error, Targets};

/// The kind of the file.
const KIND: &str = "machine";

/// The version of its layout.
const VERSION: u32 = 2;

/// Rows predicted at once.
const ROWS: usize = 8192;

/// What a machine minimises: `(1/n) Σ_i ℓ(f(x_i), y_i) + c λ ‖f − b‖²`, c being [`Loss::penalty`].
#[derive(Clone, Debug)]
pub struct LipschitzProblem {
    /// ℓ.
    pub loss: Loss,
    /// M of the kernel `k M`, whose norm is that of `f − b`.
    pub output: OutputMatrix,
    /// λ, above 0. With the square loss and M = I it is the λ of a ridge regression.
    pub lambda: f64,
    /// b.
    pub offset: Offset,
}

/// A fitted sketched kernel machine,
/// `f(x) = b + Σ_i k(x, x_i) M [Rᵀ Γ]_i = b + Vᵀ z(x)` (thesis, sections 3.2.2 and 3.2.3).
///
/// `z(x) = D^{-1/2} Uᵀ R k^x` are the coordinates of the input in the basis of a sketch R, which is the
/// [`Basis`] of the crate `dsokr-basis`, fitted on the training *inputs*.
#[derive(Clone, Debug)]
pub struct LipschitzModel {
    /// The basis of the inputs.
    pub basis: Box<Basis>,
    /// V, p × d row-major.
    pub weights: Vec<f64>,
    /// b, d numbers.
    pub offset: Vec<f64>,
    /// What was fitted, and how well.
    pub summary: Summary,
}

impl LipschitzModel {
    /// Fits a machine on the features of the training inputs.
    ///
    /// Memory: n (p + 2 d) numbers. Time: 2 n p d multiplications a step. The numbers do not depend on
    /// the number of threads. A fit that reaches the step limit is no error: see
    /// [`LipschitzSummary::converged`](crate::LipschitzSummary::converged).
    ///
    /// ```
    /// use dsokr_basis::{Basis, Features, Kernel, SketchKind, SketchOptions, features::DenseRows};
    /// use dsokr_machines::{
    ///     InputFeatures, LipschitzModel, LipschitzProblem, Loss, Offset, OutputMatrix, Stop, Targets,
    /// };
    ///
    /// // The median of y given x, of which one y is wrong.
    /// let x: Vec<f32> = (0..40).map(|i| i as f32 / 10.0).collect();
    /// let mut y: Vec<f64> = x.iter().map(|&x| f64::from(x).sin()).collect();
    /// y[20] = 1000.0;
    /// let x = Features::Dense(DenseRows::new(1, x)?);
    /// let every = SketchKind::Subsampling { replacement: false };
    /// let basis = Basis::fit(Kernel::Gaussian { gamma: 1.0 }, &x, &SketchOptions::new(&every, 20))?;
    /// let problem = LipschitzProblem {
    ///     loss: Loss::pinball([0.5]),
    ///     output: OutputMatrix::identity(1)?,
    ///     lambda: 1e-4,
    ///     offset: Offset::Constant,
    /// };
    /// let targets = Targets::new(1, y)?;
    /// let features = InputFeatures::new(basis, &x)?;
    /// let machine = LipschitzModel::fit(&features, &targets, &problem, &Stop::default())?;
    /// assert!(machine.summary.lipschitz().is_some_and(|solution| solution.converged));
    /// assert!((machine.predict(&x)?[20] - 2.0f32.sin()).abs() < 0.1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Value`] for a λ that is not above 0; [`Error::Shape`] unless there are targets for each
    /// input and as many outputs as M has; the errors of the loss and of the stopping rule;
    /// [`Error::Numeric`] where values overflow.
    pub fn fit(
        features: &InputFeatures,
        targets: &Targets,
        problem: &LipschitzProblem,
        stop: &Stop,
    ) -> Result<Self, Error> {
        let LipschitzProblem { loss, output, lambda, offset } = problem;
        check(features.rows.ncols(), targets, *lambda)?;
        Error::check_length("targets a row", targets.width(), output.width())?;
        loss.validate(targets.width())?;
        stop.validate()?;
        let offset = offset.of(loss, targets)?;
        // the solver's penalty is (λ/2) ‖f − b‖²
        let penalty = 2.0 * loss.penalty() * lambda;
        let (solved, solution) =
            solver::solve(features, &targets.minus(&offset)?, loss, output, penalty, stop)?;
        // V = Qᵀ B: back to the coordinates of the basis.
        let turned = multiply(features.rotation.transpose(), solved.as_ref());
        let (p, d) = (turned.nrows(), turned.ncols());
        let weights = (0..p * d).map(|at| turned[(at / d, at % d)]).collect();
        let (rows, lambda, solution) = (targets.len(), *lambda, Solution::Lipschitz(solution));
        let summary = Summary { rows, unknowns: p, width: d, lambda, solution };
        Ok(Self { basis: Box::new(features.basis.clone()), weights, offset, summary })
    }

    /// `f(x)` of input rows, q × d row-major; for targets that are coordinates, the rows of
    /// `dsokr_decode::Queries`. Dense rows are taken as rows of the kind of those that it was fitted with.
    ///
    /// # Errors
    /// Rows of a different kind that are not dense, or of another width, [`Error::NotFinite`] for a prediction
    /// that overflows `f32`, and errors from reading the rows.
    pub fn predict(&self, rows: &dyn RowSource) -> Result<Vec<f32>, Error> {
        let kind = self.basis.row_kind();
        if rows.kind() != kind {
            return self.predict(&read(rows, 0..rows.len())?.into_kind(kind)?);
        }
        let (p, d) = (self.basis.dimension(), self.offset.len());
        let weights = MatRef::from_row_major_slice(&self.weights, p, d);
        let mut predicted = Vec::with_capacity(rows.len().saturating_mul(d));
        self.basis.project_blocks(rows, ROWS, |range, block| {
            let features: Vec<f64> = block.coordinates.iter().map(|&value| value.into()).collect();
            let features = MatRef::from_column_major_slice(&features, p, range.len());
            let mut out = vec![0.0f64; range.len() * d];
            let sums = MatMut::from_column_major_slice_mut(&mut out, d, range.len());
            matmul(sums, Accum::Replace, weights.transpose(), features, 1.0, Par::Seq);
            for (at, row) in out.chunks_exact(d).enumerate() {
                for (column, (value, offset)) in row.iter().zip(&self.offset).enumerate() {
                    let value = value + offset;
                    let single = value as f32;
                    if !single.is_finite() {
                        let (what, row) = ("predictions", range.start + at);
                        return Err(Error::NotFinite { what, row, column, value });
                    }
                    predicted.push(single);
                }
            }
            Ok(())
        })?;
        Ok(predicted)
    }

    /// Writes the machine to a file, atomically: kind `machine`, version 2. The basis has
    /// [a file of its own](Basis::save).
    ///
    /// Metadata: `summary` (JSON), `inputs` (the basis's [fingerprint](Basis::fingerprint)). Tensors:
    /// `weights` F64 `[p, d]`, `offset` F64 `[d]`. `belongs` is further metadata, what the machine
    /// belongs to.
    ///
    /// # Errors
    /// `Io` of the crate `dsokr-basis`.
    pub fn save(&self, path: &Path, belongs: &BTreeMap<String, String>) -> Result<(), Error> {
        let entries = [
            // names and finite numbers: serialising them cannot fail
            ("summary", serde_json::to_string(&self.summary).unwrap_or_default()),
            ("inputs", self.basis.fingerprint()),
        ];
        let mut metadata = belongs.clone();
        metadata.extend(entries.map(|(key, value)| (key.to_owned(), value)));
        let (p, d) = (self.basis.dimension(), self.offset.len());
        let tensors = [
            Tensor::f64("weights", &[p, d], &self.weights),
            Tensor::f64("offset", &[d], &self.offset),
        ];
        store::Contents::new(KIND, VERSION, &metadata, &tensors).write(path)
    }

    /// Reads a machine that [`save`](Self::save) wrote, with the basis that it was fitted on.
    ///
    /// # Errors
    /// Those of a file that is missing, damaged, or of another kind or version;
    /// [`Error::File`] for parts that do not belong together, or a different basis.
    pub fn load(path: &Path, basis: Basis) -> Result<Self, Error> {
        Self::from_stored(&Self::open(path)?, basis)
    }

    pub(crate) fn open(path: &Path) -> Result<Stored, Error> {
        Stored::open(path, KIND, VERSION)
    }

    /// [`load`](Self::load) of an opened file.
    pub(crate) fn from_stored(stored: &Stored, basis: Basis) -> Result<Self, Error> {
        let path = stored.path();
        let bad = |message: String| Err(Error::file(path, message));
        let (expected, given) = (stored.metadata("inputs")?, basis.fingerprint());
        if given != expected {
            return bad(format!("fitted on the basis {expected}, not on {given}"));
        }
        let summary = stored.json("summary")?;
        let (shape, weights) = stored.read::<f64>("weights", 2)?;
        let (_, offset) = stored.read::<f64>("offset", 1)?;
        let expected = [basis.dimension(), offset.len()];
        if shape != expected || offset.is_empty() {
            return bad(format!("weights have shape {shape:?}, expected {expected:?}"));
        }
        if weights.iter().chain(offset.iter()).any(|value| !value.is_finite()) {
            return bad("weights or offset hold a number that is not finite".into());
        }
        let (weights, offset) = (weights.to_vec(), offset.to_vec());
        Ok(Self { basis: Box::new(basis), weights, offset, summary })
    }
}
