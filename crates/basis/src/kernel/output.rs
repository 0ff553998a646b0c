use std::fmt::Debug;
use std::sync::Arc;

use dsokr_core::Error;
use faer::Mat;

use super::Kernel;
use crate::features::{Block, RowKind};

/// A positive semi-definite kernel on feature rows.
///
/// [`Kernel`] holds the built-in ones. Any other function of two rows is one too: a basis is
/// [fitted](crate::Basis::fit) with it, projects with it, and is [loaded](crate::Basis::load_with)
/// with it. [`contract::check`](super::contract::check) says whether it keeps what is promised here.
///
/// ```
/// use dsokr_basis::kernel::{OutputKernel, contract};
/// use dsokr_basis::{Basis, Block, Features, Mat, SketchKind, SketchOptions, features::DenseRows};
/// use dsokr_core::Error;
///
/// /// `k(a, b) = Σ_j min(a_j, b_j)` on dense rows that are not negative.
/// #[derive(Debug)]
/// struct Intersection;
///
/// fn rows<'a>(block: &'a Block) -> Vec<&'a [f32]> {
///     match block {
///         Block::Dense(rows) => rows.values().chunks_exact(rows.width()).collect(),
///         _ => Vec::new(),
///     }
/// }
///
/// fn common(a: &[f32], b: &[f32]) -> f64 {
///     a.iter().zip(b).map(|(a, b)| f64::from(a.min(*b))).sum()
/// }
///
/// impl OutputKernel for Intersection {
///     fn name(&self) -> String {
///         "intersection".into()
///     }
///
///     fn block(&self, a: &Block, b: &Block) -> Result<Mat<f64>, Error> {
///         let a = rows(a);
///         let b = rows(b);
///         Ok(Mat::from_fn(a.len(), b.len(), |i, j| common(a[i], b[j])))
///     }
///
///     fn diagonal(&self, block: &Block) -> Result<Vec<f64>, Error> {
///         Ok(rows(block).into_iter().map(|row| common(row, row)).collect())
///     }
/// }
///
/// let counts = Features::Dense(DenseRows::new(2, vec![1.0, 2.0, 3.0, 0.0, 2.0, 2.0])?);
/// contract::check(&Intersection, &counts)?;
/// let every = SketchKind::Subsampling { replacement: false };
/// let basis = Basis::fit(Intersection, &counts, &SketchOptions::new(every, 3))?;
/// let targets = basis.project(&counts)?;
/// let product: f32 = targets.row(0).iter().zip(targets.row(2)).map(|(a, b)| a * b).sum();
/// assert!((product - 3.0).abs() < 1e-5);
/// # Ok::<(), Error>(())
/// ```
pub trait OutputKernel: Debug + Send + Sync {
    /// Returns the name and parameters, on one line: what identifies it in logs and in the file of a basis.
    fn name(&self) -> String;

    /// Returns which of the built-in kernels this is; none for a custom kernel.
    fn built_in(&self) -> Option<&Kernel> {
        None
    }

    /// Checks the parameters, and that the kernel is defined on rows of this kind. The default takes
    /// all kinds.
    ///
    /// # Errors
    /// [`Error::Value`] for a parameter outside of its range; [`Error::Shape`] for rows of a kind that
    /// the kernel is not defined on.
    fn validate(&self, rows: RowKind) -> Result<(), Error> {
        let _ = rows;
        Ok(())
    }

    /// Checks that the rows hold values that the kernel has a meaning for. The default takes all
    /// finite numbers.
    ///
    /// # Errors
    /// [`Error::Row`] with the first row that holds other values, counted from the start of the block.
    fn check(&self, rows: &Block) -> Result<(), Error> {
        let _ = rows;
        Ok(())
    }

    /// Computes `k(a_i, b_j)` for all pairs of rows, `a.len()` × `b.len()`, of rows of one kind and width.
    ///
    /// A value depends only on its two rows: beyond rounding not on the other rows of the blocks, and
    /// not at all on the number of threads.
    ///
    /// # Errors
    /// Errors of [`validate`](Self::validate); [`Error::Shape`] for rows that differ in kind or width.
    fn block(&self, a: &Block, b: &Block) -> Result<Mat<f64>, Error>;

    /// Computes `k(y, y)` of each row.
    ///
    /// # Errors
    /// The errors of [`block`](Self::block).
    fn diagonal(&self, rows: &Block) -> Result<Vec<f64>, Error>;

    /// Returns whether `k(y, y) = 1` for every row, the zero row too (default: false). Decoding then needs no
    /// constants.
    fn is_normalised(&self) -> bool {
        false
    }

    /// Returns s(⟨y,y⟩) for a kernel that is linear in scaled rows, `k(a, b) = ⟨s(⟨a,a⟩) a, s(⟨b,b⟩) b⟩`; none (the
    /// default) for other kernels. Where such a kernel is [normalised](Self::is_normalised), the zero row has a feature
    /// of its own: `k(0, 0) = 1`, and `k(0, b) = 0` for every other row b.
    ///
    /// Such a kernel needs no training rows after fitting (see [`Basis`](crate::Basis)).
    fn feature_scale(&self, squared_norm: f64) -> Option<f64> {
        let _ = squared_norm;
        None
    }
}

/// A kernel, or a shared one: what a basis keeps.
pub trait IntoKernel {
    /// Returns the kernel, shared.
    fn into_kernel(self) -> Arc<dyn OutputKernel>;
}

impl<K: OutputKernel + 'static> IntoKernel for K {
    fn into_kernel(self) -> Arc<dyn OutputKernel> {
        Arc::new(self)
    }
}

impl IntoKernel for Arc<dyn OutputKernel> {
    fn into_kernel(self) -> Arc<dyn OutputKernel> {
        self
    }
}

/// Returns the zero rows of a block under a kernel that gives them a feature of their own; none under the others.
pub fn zero_rows(kernel: &dyn OutputKernel, rows: &Block) -> Vec<usize> {
    if !kernel.is_normalised() {
        return Vec::new();
    }
    let norms = rows.squared_norms().into_iter().enumerate();
    norms.filter(|&(_, squared)| squared == 0.0).map(|(row, _)| row).collect()
}
