//! The fits of sketches and bases to training outputs.

use std::sync::Arc;

use dsokr_core::{Error, Processes};

use super::Basis;
use super::leverage::scores;
use crate::features::RowSource;
use crate::kernel::IntoKernel;
use crate::sketch::{Sketch, SketchKind, SketchOptions};

impl Basis {
    /// Fits a basis on the training outputs `rows` with a sketch of m rows (`options.size`).
    ///
    /// A kernel that is linear in scaled features costs O(n m d) time, and memory that does not depend on n. `R Φ` is
    /// summed block by block, in `f32` within a block (a rounded `R Φ` belongs to a slightly different sketch) and in
    /// `f64` between blocks, and `K̃ = (R Φ)(R Φ)ᵀ` in `f64`. In addition to these matrices, O(m d + min(m, d)²), every
    /// thread has a block of rows with its m columns of R and, for dense rows, its m × d product in `f32` (or more
    /// blocks, while they take at most 8 MiB). The other kernels, and rows so wide that m · d exceeds 2²⁶ (n-grams
    /// hashed into millions of columns), cost a² / 2 kernel evaluations in `f64` and O(m a) memory, where a is the
    /// number of anchors. An n × n matrix is never formed, but with a dense sketch a = n.
    ///
    /// The result depends on the options and the rows, not on the number of threads. This process works alone;
    /// [`fit_shared`](Self::fit_shared) divides the work.
    ///
    /// # Errors
    /// [`Error::Shape`] without rows, [`Error::Value`] for m > n and a tolerance outside of its
    /// range, the other errors of the kernel's and the sketch's validation, [`Error::ZeroMatrix`] when every k(y, y) is
    /// 0, [`Error::Numeric`] when features are so large that the kernel is not finite, and errors
    /// from reading the rows. A constant kernel has rank 1 and is accepted.
    pub fn fit(
        kernel: impl IntoKernel,
        rows: &dyn RowSource,
        options: &SketchOptions,
    ) -> Result<Self, Error> {
        Self::fit_shared(&Processes::default(), kernel, rows, options)
    }

    /// Fits like [`fit`](Self::fit), where these processes share the work. All of them call this function with the same
    /// options and rows, and each reads its blocks of the rows; with [anchors](Self::anchors) each reads all anchors.
    /// All get the basis that one process would get, bit for bit.
    ///
    /// # Errors
    /// The errors of [`fit`](Self::fit); the errors of [`Processes::gather`].
    pub fn fit_shared(
        processes: &Processes,
        kernel: impl IntoKernel,
        rows: &dyn RowSource,
        options: &SketchOptions,
    ) -> Result<Self, Error> {
        let kernel = kernel.into_kernel();
        kernel.validate(rows.kind())?;
        options.validate(rows.len())?;
        let drawn = Sketch::fit(processes, options, Arc::clone(&kernel), rows)?;
        Self::from_sketch(processes, kernel, rows, &drawn, options.tolerance)
    }
}

impl Sketch {
    /// Draws a sketch of any kind for the given outputs; only the leverage-score kind reads them, and these
    /// processes share its work.
    ///
    /// # Errors
    /// Errors of [`draw`](Self::draw), [`by_scores`](Self::by_scores) and [`scores`].
    pub fn fit(
        processes: &Processes,
        options: &SketchOptions,
        kernel: impl IntoKernel,
        rows: &dyn RowSource,
    ) -> Result<Self, Error> {
        let &SketchOptions { ref kind, size, seed, .. } = options;
        kind.validate(size, rows.len())?;
        if let SketchKind::Leverage { lambda, pilot } = *kind {
            let scores = scores(kernel, rows, lambda, pilot, seed, processes)?;
            return Self::by_scores(kind, size, &scores, seed);
        }
        Self::draw(kind, size, rows.len(), seed)
    }
}
