//! Approximate ridge leverage scores: how much each output adds to the space of the others.
//!
//! The sum of the exact scores is the effective dimension `d(λ) = tr K (K + nλI)⁻¹`. Scores from some columns of K are
//! at most the exact ones, and their sum is at most the number of columns. Where the sorted scores level off is a first
//! guess of the sketch size (thesis, section 5.3.1; Alaoui and Mahoney 2015).

use dsokr_core::{Error, Processes};
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::Basis;
use super::algebra::{add_gram_of_rows, cholesky};
use crate::features::product::widen;
use crate::features::{self, RowSource};
use crate::kernel::IntoKernel;
use crate::sketch::{Sketch, SketchKind, SketchOptions};

/// Rows in a block of B.
const ROWS: usize = 1024;

/// Blocks whose coordinates are held at once.
const BLOCKS: usize = 8;

/// Rows whose scores one task computes.
const SCORED: usize = 128;

/// Returns the approximate ridge leverage score of each row, `ℓ̃_i = B_i (BᵀB + nλI)⁻¹ B_iᵀ`, in [0, 1].
///
/// B (n × s) with `B Bᵀ = K_{·S} K_{SS}⁺ K_{S·} ≈ K` comes from s = `pilot` columns S, which `seed` samples
/// uniformly without replacement: its rows are the coordinates in the basis of a sub-sampling
/// sketch. With s = n, which a larger `pilot` means too, the scores are exact, `(K (K + nλI)⁻¹)_ii`, up to `f32`
/// coordinates (about `1e-7 · k(y,y) / nλ`); with fewer they are at most these, and add up to s at most. Two passes over
/// the rows; O(s²) memory in addition to a block. The processes share the work, as in [`Basis::fit_shared`].
///
/// # Errors
/// Errors of [`Basis::fit`] with a sub-sampling sketch; [`Error::Value`] for λ that is not a finite number above 0, or a
/// pilot of 0; [`Error::Numeric`] for a λ so small compared with k(y,y) that `BᵀB + nλI` is numerically singular.
pub fn scores(
    kernel: impl IntoKernel,
    rows: &dyn RowSource,
    lambda: f64,
    pilot: usize,
    seed: u64,
    processes: &Processes,
) -> Result<Vec<f64>, Error> {
    let kernel = kernel.into_kernel();
    kernel.validate(rows.kind())?;
    SketchKind::Leverage { lambda, pilot }.validate(1, rows.len())?;
    // parts and folds of the rows have fewer than all of them
    let pilot = pilot.min(rows.len());
    let uniform = SketchKind::Subsampling { replacement: false };
    let drawn = Sketch::draw(&uniform, pilot, rows.len(), seed)?;
    let basis = Basis::from_sketch(processes, kernel, rows, &drawn, SketchOptions::TOLERANCE)?;
    let rank = basis.dimension();

    let n = rows.len();
    let project = |start: usize, count: usize| {
        let start = n.min(start);
        let projection = basis.project_range(rows, start..n.min(start + count))?;
        Ok::<_, Error>(projection.into_coordinates())
    };
    let mut covariance = Mat::<f64>::zeros(rank, rank);
    // some blocks of each rank at once
    let at_once = BLOCKS * ROWS;
    for start in (0..n).step_by(at_once * processes.size()) {
        let projected = project(start + at_once * processes.rank(), at_once)?;
        for blocks in processes.gather_numbers(&projected)? {
            for block in blocks.chunks(ROWS * rank) {
                let wide = widen(block);
                let b = MatRef::from_column_major_slice(&wide, rank, wide.len() / rank);
                // the lower half, which the factor reads
                add_gram_of_rows(&mut covariance, b, |_| true);
            }
        }
    }
    let ridge = n as f64 * lambda;
    (0..rank).for_each(|j| covariance[(j, j)] += ridge);
    // L Lᵀ = BᵀB + nλI, in place, on one thread: s is small
    cholesky(covariance.as_mut()).map_err(|_| {
        Error::Numeric(format!(
            "a {rank} x {rank} matrix is numerically not positive definite; raise the ridge"
        ))
    })?;

    let mut scores = Vec::new();
    let rank_rows = processes.part_in_blocks(n, ROWS);
    for part in features::ranges(rank_rows, at_once) {
        let mut wide = widen(&project(part.start, part.len())?);
        let solved = wide.par_chunks_mut(SCORED * rank).map(|part| {
            let mut b = MatMut::from_column_major_slice_mut(part, rank, part.len() / rank);
            solve_lower_triangular_in_place(covariance.as_ref(), b.as_mut(), Par::Seq);
            b.as_ref().col_iter().map(|column| column.squared_norm_l2()).collect()
        });
        scores.extend(solved.collect::<Vec<Vec<f64>>>().concat());
    }
    processes.join(scores)
}
