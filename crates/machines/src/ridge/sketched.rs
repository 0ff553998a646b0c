//! Fitting in the space that an input sketch spans, block by block: SIOKR, SISOKR, large n.

use std::ops::Range;
use std::sync::Arc;

use dsokr_basis::features::read;
use dsokr_basis::{Block, Features, OutputKernel, RowSource, Sketch, SketchKind, SketchOptions};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use crate::ridge::fit::{Inputs, Precision, Summary, check, row_major};
use crate::ridge::linear::{Factor, PANEL, Panels};
use crate::ridge::model::{Map, Model, Weights};
use crate::ridge::{Error, TargetBlock, TargetSource};

/// Numbers in a block of training rows: 64 MiB of sketched kernel values.
const BLOCK: usize = 8 << 20;

/// Rows sketched by one task.
const ROWS: usize = 128;

/// Anchors in one product.
const ANCHORS: usize = 1024;

/// Steps of the jitter on the diagonal, from 1e-14 of the mean diagonal, times 10 each.
const JITTERS: i32 = 6;

/// Features of the sketch: `t(x) = R k^x`, m numbers, with `R = W S`.
#[derive(Clone, Debug)]
pub(crate) struct SketchedInputs {
    kernel: Arc<dyn OutputKernel>,
    anchors: Features,
    /// W, m × a; none where R only picks rows, for then the anchors' own kernel functions span the
    /// same space, whatever their weights.
    mixing: Option<Mat<f64>>,
}

impl SketchedInputs {
    /// Draws a sketch of the training rows.
    pub(crate) fn draw(
        kernel: impl OutputKernel + 'static,
        rows: &dyn RowSource,
        sketch: &SketchKind,
        m: usize,
        seed: u64,
    ) -> Result<Self, Error> {
        let kernel: Arc<dyn OutputKernel> = Arc::new(kernel);
        kernel.validate(rows.kind())?;
        let drawn = Sketch::fit(&SketchOptions::new(sketch, m).with_seed(seed), &kernel, rows)?;
        let anchors = rows.select(&drawn.anchors())?;
        kernel.check(&anchors.all())?;
        let picks = matches!(sketch, SketchKind::Subsampling { .. } | SketchKind::Leverage { .. });
        let mixing = (!picks).then(|| drawn.mixing());
        Ok(Self { kernel, anchors, mixing })
    }

    /// Number of features: m, or the number of distinct rows that were picked.
    pub(crate) fn len(&self) -> usize {
        self.mixing.as_ref().map_or(self.anchors.len(), Mat::nrows)
    }

    /// `R k^x` of each row, m × rows.
    pub(crate) fn features(&self, rows: &Block) -> Result<Mat<f64>, Error> {
        self.kernel.check(rows)?;
        let Some(mixing) = &self.mixing else {
            return Ok(self.kernel.block(&self.anchors.all(), rows)?);
        };
        let mut out = Mat::zeros(self.len(), rows.len());
        for start in (0..self.anchors.len()).step_by(ANCHORS) {
            let range = start..self.anchors.len().min(start + ANCHORS);
            let gram = self.kernel.block(&self.anchors.block(range.clone())?, rows)?;
            let mixing = mixing.as_ref().subcols(range.start, range.len());
            let tasks = out.par_col_chunks_mut(ROWS).enumerate();
            tasks.for_each(|(task, out)| {
                let gram = gram.as_ref().subcols(task * ROWS, out.ncols());
                matmul(out, Accum::Add, mixing, gram, 1.0, Par::Seq);
            });
        }
        Ok(out)
    }

    /// `K̃ = R K Rᵀ`.
    pub(crate) fn penalty(&self) -> Result<Panels<f64>, Error> {
        let m = self.len();
        let Some(mixing) = &self.mixing else {
            return Panels::try_new(m, |rows| {
                let (low, high) =
                    (self.anchors.block(rows.clone())?, self.anchors.block(0..rows.end)?);
                Ok(self.kernel.block(&low, &high)?)
            });
        };
        let mut penalty = Panels::zeros(m);
        for start in (0..self.anchors.len()).step_by(ANCHORS) {
            let range = start..self.anchors.len().min(start + ANCHORS);
            let features = self.features(&self.anchors.block(range.clone())?)?;
            let mixing = mixing.as_ref().subcols(range.start, range.len());
            penalty.add_product(mixing.transpose(), features.transpose());
        }
        Ok(penalty)
    }

    /// The weights of the anchors' kernel functions, `Wᵀ B` for those of the features, a × p.
    pub(crate) fn expand(&self, weights: Mat<f64>) -> Mat<f64> {
        let Some(mixing) = &self.mixing else {
            return weights;
        };
        let mut out = Mat::zeros(mixing.ncols(), weights.ncols());
        out.par_row_chunks_mut(PANEL).enumerate().for_each(|(task, out)| {
            let mixing = mixing.as_ref().subcols(task * PANEL, out.nrows());
            matmul(out, Accum::Replace, mixing.transpose(), weights.as_ref(), 1.0, Par::Seq);
        });
        out
    }

    /// The kernel and the anchors.
    pub(crate) fn into_parts(self) -> (Arc<dyn OutputKernel>, Features) {
        (self.kernel, self.anchors)
    }
}

/// Ranges of rows whose features fit into a block.
pub(crate) fn blocks(n: usize, features: usize) -> impl Iterator<Item = Range<usize>> {
    let rows = (BLOCK / features.max(1)).clamp(PANEL, 1 << 16);
    (0..n).step_by(rows).map(move |start| start..n.min(start + rows))
}

/// A model in the span of an input sketch, with what leave-one-out predictions need beside it.
#[derive(Clone, Debug)]
pub struct SketchedFit {
    /// The model.
    pub model: Model,
    inputs: SketchedInputs,
    factor: Factor<f64>,
}

/// Fits in the span of `m` sketched inputs: `ĥ(x) = Ψᵀ K_X R_Xᵀ (R_X K_X² R_Xᵀ + nλ K̃_X)⁻¹ R_X k^x`
/// (thesis, proposition 4.2), in one pass over the rows.
///
/// With the targets of [`OutputSpace::training`](crate::ridge::OutputSpace::training) it is SIOKR, with
/// those of a sketched basis SISOKR. `R_X K_X² R_Xᵀ` and `R_X K_X Ψ` are summed over blocks of rows
/// in `f64`, so memory does not depend on n: three times m²/2 numbers, m × p, and 64 MiB for a block
/// (with a dense sketch every row is an anchor, and all of them are kept). Time: n·a evaluations of
/// the kernel, n m²/2 + m³/3 multiplications, n m + 2m² for each coordinate. The numbers do not
/// depend on the number of threads.
///
/// Where the sketched inputs are dependent to rounding, 1e-14 of the mean diagonal is added, or ten
/// times as much until the system is positive definite, and [`Summary::jitter`] says so.
///
/// # Errors
/// As [`fit`](crate::ridge::fit()); those of the sketch, among them `SketchSize` for m > n.
pub fn fit_sketched(
    kernel: impl OutputKernel + 'static,
    rows: &dyn RowSource,
    targets: &dyn TargetSource,
    sketch: &SketchKind,
    m: usize,
    seed: u64,
    lambda: f64,
) -> Result<SketchedFit, Error> {
    let n = rows.len();
    check(n, targets, lambda)?;
    let inputs = SketchedInputs::draw(kernel, rows, sketch, m, seed)?;
    let (size, rank) = (inputs.len(), targets.rank());
    let ridge = n as f64 * lambda;
    let mut system = Panels::zeros(size);
    let mut sides = Mat::<f64>::zeros(size, rank);
    for range in blocks(n, size) {
        let features = inputs.features(&read(rows, range.clone())?)?;
        system.add_product(features.transpose(), features.transpose());
        add_sides(&mut sides, features.as_ref(), &targets.block(range)?)?;
    }
    system.add_scaled(ridge, &inputs.penalty()?);
    if let Some((row, column, value)) = system.first_not_finite() {
        return Err(Error::NotFinite { what: "kernel matrix", row, column, value });
    }
    let (factor, jitter) = factored(system, ridge)?;
    factor.solve(sides.as_mut());
    let condition = factor.condition();
    let summary = Summary {
        inputs: Inputs::Sketched,
        rows: n,
        unknowns: size,
        rank,
        lambda,
        condition,
        jitter,
        precision: Precision::Double,
        convergence: None,
    };
    let weights = Weights::Double(row_major(inputs.expand(sides).as_ref())?);
    let (kernel, anchors) = (Arc::clone(&inputs.kernel), inputs.anchors.clone());
    let map = Map::Kernel { kernel, anchors };
    Ok(SketchedFit { model: Model::new(map, weights, rank, summary), inputs, factor })
}

/// Adds `T Ψ` of one block, m × p; `features` is T, m × rows.
pub(crate) fn add_sides(
    sides: &mut Mat<f64>,
    features: MatRef<f64>,
    targets: &TargetBlock,
) -> Result<(), Error> {
    match targets {
        TargetBlock::Coordinates(columns) => {
            if (columns.nrows(), columns.ncols()) != (sides.ncols(), features.ncols()) {
                let (found, expected) = (columns.nrows(), sides.ncols());
                return Err(Error::Length {
                    what: "numbers in a block of targets",
                    found,
                    expected,
                });
            }
            sides.par_row_chunks_mut(PANEL).enumerate().for_each(|(task, out)| {
                let own = features.subrows(task * PANEL, out.nrows());
                matmul(out, Accum::Add, own, columns.transpose(), 1.0, Par::Seq);
            });
        }
        TargetBlock::Classes(classes) => {
            if classes.len() != features.ncols() {
                let (found, expected) = (classes.len(), features.ncols());
                return Err(Error::Length { what: "rows in a block of targets", found, expected });
            }
            for (column, &class) in features.col_iter().zip(classes) {
                let high = sides.ncols().saturating_sub(1);
                let found = class as usize;
                if found > high {
                    return Err(Error::Range { what: "class", found, low: 0, high });
                }
                let out: MatMut<f64> = sides.as_mut().subcols_mut(found, 1);
                out.col_mut(0).iter_mut().zip(column.iter()).for_each(|(out, v)| *out += v);
            }
        }
    }
    Ok(())
}

/// The Cholesky factor of the system, with as little added to the diagonal as it needs.
pub(crate) fn factored(system: Panels<f64>, ridge: f64) -> Result<(Factor<f64>, f64), Error> {
    let size = system.size();
    let mean = system.trace() / size as f64;
    let mut row = match Factor::new(system.clone()) {
        Ok(factor) => return Ok((factor, 0.0)),
        Err(found) => found.row,
    };
    for step in 0..JITTERS {
        let jitter = mean * 1e-14 * 10f64.powi(step);
        let mut shifted = system.clone();
        shifted.add_to_diagonal(jitter);
        match Factor::new(shifted) {
            Ok(factor) => return Ok((factor, jitter)),
            Err(found) => row = found.row,
        }
    }
    Err(Error::NotPositive { size, row, ridge })
}

impl SketchedFit {
    /// What the model would predict for each training row had it been fitted on the others, with the
    /// same sketch and the same nλ: `z_{−i} = ψ_i − (ψ_i − z_i) / (1 − h_i)`,
    /// `h_i = t_iᵀ (Σ t tᵀ + nλ K̃)⁻¹ t_i`, n × p row-major. No refitting: one more pass over the rows.
    ///
    /// # Errors
    /// [`Error::Length`] for rows or targets that are not those of the fit; whatever reading them
    /// brings up.
    pub fn leave_one_out(
        &self,
        rows: &dyn RowSource,
        targets: &crate::ridge::Targets,
    ) -> Result<Vec<f32>, Error> {
        let (n, rank) = (self.model.summary.rows, self.model.rank);
        for (what, found, expected) in [
            ("rows", rows.len(), n),
            ("rows of targets", targets.len(), n),
            ("coordinates", targets.rank(), rank),
        ] {
            if found != expected {
                return Err(Error::Length { what, found, expected });
            }
        }
        let targets = targets.dense::<f64>();
        let mut out = self.model.predict(rows)?;
        for range in blocks(n, self.inputs.len()) {
            let mut features = self.inputs.features(&read(rows, range.clone())?)?;
            self.factor.whiten(features.as_mut());
            for (row, column) in range.zip(features.col_iter()) {
                let left = 1.0 - column.squared_norm_l2();
                for (j, out) in out[row * rank..(row + 1) * rank].iter_mut().enumerate() {
                    let target = targets[(row, j)];
                    *out = (target - (target - f64::from(*out)) / left) as f32;
                }
            }
        }
        Ok(out)
    }
}
