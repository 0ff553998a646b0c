//! The eigenbasis of the sketched covariance, and the coordinates of outputs in it.
//!
//! `K̃ = R K Rᵀ = U D Uᵀ`, `Ω = D^{-1/2} Uᵀ`, `ψ̃(y) = Ω R k^y` with `k^y = (k(y, y_i))_i`: the
//! coordinates of ψ(y) in the orthonormal basis `e_j = σ_j^{-1/2} Σ_i (Rᵀu_j)_i ψ(y_i)` of the space
//! that the sketch spans (thesis, proposition 5.2 and equation 2.73).
//!
//! A [`Tempering`] changes the spectrum of a basis. The result is a basis again, of a different kernel.

mod algebra;
mod file;
mod fit;
pub mod leverage;
mod project;
mod sketched;
mod subspace;
mod sum;
mod tempering;

use std::sync::Arc;

use dsokr_core::Error;
use faer::{Mat, MatRef};

use crate::features::{Features, RowKind, check_alike};
use crate::kernel::OutputKernel;
use crate::sketch::{Mixing, SketchOptions};

pub use algebra::{Eigen, cholesky, leading, multiply, sum_over_ranks, symmetric_eigen};
pub use project::Projection;
pub use tempering::Tempering;

use sum::SummedBases;
use tempering::Tempered;

/// A frozen basis of p functions, fitted on the training outputs.
///
/// For a kernel that is linear in scaled features ([`OutputKernel::feature_scale`]), on rows with
/// m · d ≤ 2²⁶, it is one p × d matrix `Ω R Φ`, whatever the sketch and the number of outputs. For
/// the other kernels, and for wider rows, it is the rows of the a anchors and the p × a matrix `Ω W`, or, where these are
/// fewer numbers, the p × m matrix Ω and the entries of W.
#[derive(Clone, Debug)]
pub struct Basis {
    kernel: Arc<dyn OutputKernel>,
    options: SketchOptions,
    trained_rows: usize,
    pub(crate) spectrum: Vec<f64>,
    pub(crate) kind: RowKind,
    pub(crate) width: usize,
    map: Projector,
    tempered: Option<Tempered>,
}

/// How coordinates are computed.
#[derive(Clone, Debug)]
enum Projector {
    /// `ψ̃(y) = s(⟨y,y⟩) M y`.
    Linear {
        /// M, p × d row-major.
        matrix: Vec<f32>,
        /// Mᵀ, d × p row-major, for rows of bits and sparse rows; empty for dense rows.
        transposed: Vec<f32>,
        /// ψ̃(0), p numbers, where the zero row has its own feature and some anchor in it is not zero. Else the list is
        /// empty, and ψ̃(0) = 0.
        zero: Vec<f32>,
    },
    /// `ψ̃(y) = A (k(y, anchor_j))_j`. In `f64`: entries of A grow as `σ_p^{-1/2}` and cancel.
    Anchored {
        /// Aᵀ, a × p row-major; with a mixing W Gᵀ, m × p row-major, of `A = G W`.
        weights: Vec<f64>,
        /// W, m × a, where it and G are fewer numbers than A.
        mixing: Option<Mixing>,
        /// The rows of the anchors.
        anchors: Features,
    },
    /// `ψ̃(y) = T (√w_i ψ̃_i(y))_i`, the coordinates of several bases.
    Sum {
        /// The bases, with their weights.
        sum: SummedBases,
        /// T, p × P row-major; empty for the identity.
        turn: Vec<f32>,
    },
}

impl Basis {
    /// Returns the kernel that it was fitted with, before any tempering.
    pub fn kernel(&self) -> &dyn OutputKernel {
        self.kernel.as_ref()
    }

    /// Returns the sketch that it was fitted with: its distribution, m, the seed, and the eigenvalue cut-off.
    pub fn options(&self) -> &SketchOptions {
        &self.options
    }

    /// Returns n, the number of outputs it was fitted on.
    pub fn trained_rows(&self) -> usize {
        self.trained_rows
    }

    /// Returns the p eigenvalues that were kept, descending: of K̃, or, for a [tempered](Self::tempered) basis, of the
    /// covariance of the outputs that it was tempered with.
    pub fn spectrum(&self) -> &[f64] {
        &self.spectrum
    }

    /// Returns the kind of the rows that it was fitted on, and that it projects.
    pub fn kind(&self) -> RowKind {
        self.kind
    }

    /// Returns the width of the rows that it was fitted on, and that it projects.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns how it was [tempered](Self::tempered); one that changes nothing where it was not.
    pub fn tempering(&self) -> Tempering {
        self.tempered.as_ref().map_or_else(Tempering::default, |tempered| tempered.tempering)
    }

    /// Returns the vector subtracted from the product of the frozen matrix with scaled rows, or with
    /// the kernel's values with the anchors: `Λ^{−α/2} Vᵀ μ`, p numbers, for a basis that was
    /// tempered and centred.
    pub fn offset(&self) -> Option<&[f64]> {
        let tempered = self.tempered.as_ref().filter(|tempered| tempered.tempering.centred);
        tempered.map(|tempered| &tempered.offset[..])
    }

    /// Returns whether `k(y, y) = 1` for every output: of the tempered kernel for a basis that was
    /// [tempered](Self::tempered); else of the [`kernel`](Self::kernel).
    ///
    /// It is the k(y, y) that [`squared_norms`](Projection::squared_norms) hold. Decoding needs no
    /// constants then.
    pub fn is_normalised(&self) -> bool {
        match &self.tempered {
            Some(tempered) => tempered.tempering.normalised,
            None => self.kernel.is_normalised(),
        }
    }

    /// Returns p, the number of coordinates: eigenvalues above `σ_1 · tolerance`.
    pub fn dimension(&self) -> usize {
        self.spectrum.len()
    }

    /// Returns the rows of the anchors; none where the basis is one matrix `Ω R Φ`, which is for a kernel
    /// that is linear in scaled features on rows with m · d ≤ 2²⁶, and of a [sum](Self::sum).
    pub fn anchors(&self) -> Option<&Features> {
        if let Projector::Anchored { anchors, .. } = &self.map { Some(anchors) } else { None }
    }

    /// Returns the [`anchors`](Self::anchors) with the matrix A, p × a, of `ψ̃(y) = A (k(y, anchor_j))_j`.
    pub fn expansion(&self) -> Option<(&Features, Mat<f64>)> {
        let Projector::Anchored { weights, mixing, anchors } = &self.map else { return None };
        let p = self.dimension();
        let weights = MatRef::from_column_major_slice(weights, p, weights.len() / p);
        let matrix = match mixing {
            Some(mixing) => mixing.turned(weights),
            None => weights.to_owned(),
        };
        Some((anchors, matrix))
    }

    /// Returns the coordinates of the zero row, p numbers. They exist where the basis is one matrix, the kernel is
    /// normalised and the sketch has taken a zero row, which then has a feature of its own in addition to those of the
    /// matrix. None where the coordinates are zeros or computed as for any other row.
    pub fn zero_row(&self) -> Option<&[f32]> {
        let Projector::Linear { zero, .. } = &self.map else { return None };
        (!zero.is_empty()).then_some(zero)
    }

    /// Returns the direction in feature space that coordinates z stand for: `w = (Ω R Φ)ᵀ z`, d numbers with
    /// `⟨z, ψ̃(y)⟩ = s(⟨y,y⟩) ⟨w, y⟩` for every row y but the [`zero_row`](Self::zero_row), s the kernel's
    /// [`feature_scale`](OutputKernel::feature_scale). None where there are [`anchors`](Self::anchors),
    /// and for a [tempered](Self::tempered) basis, whose coordinates are shifted and scaled by what
    /// depends on the whole row.
    ///
    /// With it outputs can be searched for beyond any list of candidates.
    ///
    /// # Errors
    /// [`Error::Shape`] when z is not p numbers.
    pub fn feature_direction(&self, z: &[f32]) -> Result<Option<Vec<f32>>, Error> {
        if z.len() != self.dimension() {
            return Err(Error::width(z.len(), self.dimension()));
        }
        let Projector::Linear { matrix, .. } = &self.map else {
            return Ok(None);
        };
        if self.tempered.is_some() {
            return Ok(None);
        }
        let mut direction = vec![0.0f64; self.width];
        for (&z, row) in z.iter().zip(matrix.chunks_exact(self.width)) {
            direction.iter_mut().zip(row).for_each(|(w, &m)| *w += f64::from(z) * f64::from(m));
        }
        Ok(Some(direction.into_iter().map(|w| w as f32).collect()))
    }

    /// Checks that rows can be projected.
    fn check_rows(&self, kind: RowKind, width: usize) -> Result<(), Error> {
        check_alike((kind, width), (self.kind, self.width))
    }
}
