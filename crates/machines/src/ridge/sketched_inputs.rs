//! Features of sketched inputs, and the systems that are made of them.

use std::ops::Range;
use std::sync::Arc;

use dsokr_basis::features::ranges;
use dsokr_basis::kernel::IntoKernel;
use dsokr_basis::{
    Block, Cancellation, Features, OutputKernel, Processes, RowSource, Sketch, SketchKind,
    SketchOptions,
};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::linear::{Factor, PANEL, Panels, not_positive, product};
use crate::{Error, Targets};

/// Numbers in a block of training rows: 64 MiB of sketched kernel values.
const BLOCK: usize = 8 << 20;

/// Rows sketched by one task.
const ROWS: usize = 128;

/// Anchors in one product.
const ANCHORS: usize = 1024;

/// Steps of the jitter on the diagonal, from 1e-14 of the mean diagonal, times 10 each.
const JITTERS: i32 = 6;

/// A ridge regression in the span of sketched inputs: the least of
/// `(1/n) Σ_i ‖ĥ(x_i) − ψ_i‖² + λ ‖ĥ‖²`.
#[derive(Clone, Copy)]
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
}

/// The sketch of the inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InputSketch {
    /// Its size m, at most the number of training pairs.
    pub size: usize,
    /// How it is drawn (default: sub-sampling without replacement).
    #[serde(default = "subsampling")]
    pub method: SketchKind,
}

impl InputSketch {
    /// m inputs drawn without replacement.
    pub fn subsampling(size: usize) -> Self {
        Self { size, method: subsampling() }
    }
}

fn subsampling() -> SketchKind {
    SketchKind::Subsampling { replacement: false }
}

/// Features of the sketch: `t(x) = R k^x`, m numbers, with `R = W S`.
#[derive(Clone, Debug)]
pub(crate) struct SketchedInputs {
    pub(crate) kernel: Arc<dyn OutputKernel>,
    pub(crate) anchors: Arc<Features>,
    /// W, m × a; none where R only picks rows, for then the anchors' own kernel functions span the
    /// same space, whatever their weights.
    mixing: Option<Mat<f64>>,
}

impl SketchedInputs {
    /// Draws a sketch of the training rows.
    pub(crate) fn draw(
        kernel: impl IntoKernel,
        rows: &dyn RowSource,
        InputSketch { size, method }: &InputSketch,
        seed: u64,
    ) -> Result<Self, Error> {
        let kernel = kernel.into_kernel();
        kernel.validate(rows.kind())?;
        let drawn = Sketch::fit(
            &SketchOptions::new(method, *size).with_seed(seed),
            Arc::clone(&kernel),
            rows,
        )?;
        let anchors = Arc::new(rows.select(&drawn.anchors())?);
        kernel.check(&anchors)?;
        let mixing = (!method.picks_rows()).then(|| drawn.mixing());
        Ok(Self { kernel, anchors, mixing })
    }

    /// Number of features: m, or the number of distinct rows that were picked.
    pub(crate) fn len(&self) -> usize {
        self.mixing.as_ref().map_or(self.anchors.len(), Mat::nrows)
    }

    /// `R k^x` of each row, m × rows.
    pub(crate) fn features(&self, rows: &Block) -> Result<Mat<f64>, Error> {
        let cancellation = Cancellation::current();
        cancellation.check()?;
        self.kernel.check(rows)?;
        let Some(mixing) = &self.mixing else {
            return Ok(self.kernel.block(&self.anchors, rows)?);
        };
        let mut out = Mat::zeros(self.len(), rows.len());
        for range in ranges(0..self.anchors.len(), ANCHORS) {
            cancellation.check()?;
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
        let (m, cancellation) = (self.len(), Cancellation::current());
        let Some(mixing) = &self.mixing else {
            return Panels::try_new(m, |rows| {
                cancellation.check()?;
                let (low, high) =
                    (self.anchors.block(rows.clone())?, self.anchors.block(0..rows.end)?);
                Ok(self.kernel.block(&low, &high)?)
            });
        };
        let (mut penalty, processes) = (Panels::zeros(m), Processes::current());
        for range in ranges(processes.part_in_blocks(self.anchors.len(), ANCHORS), ANCHORS) {
            let features = self.features(&self.anchors.block(range.clone())?)?;
            let mixing = mixing.as_ref().subcols(range.start, range.len());
            penalty.add_product(mixing.transpose(), features.transpose());
        }
        penalty.sum(&processes)?;
        Ok(penalty)
    }

    /// The weights of the anchors' kernel functions, `Wᵀ B` for those of the features, a × p.
    pub(crate) fn expand(&self, weights: Mat<f64>) -> Mat<f64> {
        let Some(mixing) = &self.mixing else {
            return weights;
        };
        let mut out = Mat::zeros(mixing.ncols(), weights.ncols());
        product(out.as_mut(), Accum::Replace, mixing.transpose(), weights.as_ref(), PANEL);
        out
    }
}

/// Ranges of rows whose features fit into a block.
pub(crate) fn blocks(of: Range<usize>, features: usize) -> impl Iterator<Item = Range<usize>> {
    ranges(of, (BLOCK / features.max(1)).clamp(PANEL, 1 << 16))
}

/// The Cholesky factor of the system, with as little added to the diagonal as it needs.
pub(crate) fn factored(system: Panels<f64>, ridge: f64) -> Result<(Factor<f64>, f64), Error> {
    let mean = system.trace() / system.size as f64;
    let mut failed = 0;
    let steps = (0..JITTERS).map(|step| mean * 1e-14 * 10f64.powi(step));
    for jitter in std::iter::once(0.0).chain(steps) {
        let mut shifted = system.clone();
        if jitter != 0.0 {
            shifted.add_to_diagonal(jitter);
        }
        match Factor::new(shifted)? {
            Ok(factor) => return Ok((factor, jitter)),
            Err(row) => failed = row,
        }
    }
    Err(not_positive(failed, system.size, ridge))
}
