//! The output side of Deep Sketched Output Kernel Regression.
//!
//! Structured outputs become rows of features ([`features`]). A [`kernel`] is a scalar function of the products of two
//! rows, or any function of them ([`OutputKernel`]). A [`sketch`] compresses the training outputs, and the
//! [`eigenbasis`] turns any output y into p coordinates `ψ̃(y) = Ω R k^y`, such that `⟨ψ̃(y), ψ̃(y')⟩ ≈ k(y, y')`.
//! These coordinates are the targets of training and the candidates of decoding. [`leverage`] scores say how large a
//! sketch should be.
//!
//! ```
//! use dsokr_basis::{Basis, Features, Kernel, SketchKind, SketchOptions, features::DenseRows};
//!
//! let rows = Features::Dense(DenseRows::new(2, vec![1.0, 0.0, 0.6, 0.8, 0.0, 2.0])?);
//! let basis = Basis::fit(Kernel::Cosine, &rows, &SketchOptions::new(SketchKind::Gaussian, 3))?;
//! let targets = basis.project(&rows)?;
//! let product: f32 = (0..basis.dimension())
//!     .map(|j| targets.row(0)[j] * targets.row(1)[j])
//!     .sum();
//! assert_eq!(basis.dimension(), 2);
//! assert!((product - 0.6).abs() < 1e-6);
//! # Ok::<(), dsokr_core::Error>(())
//! ```

mod parameters;

pub mod eigenbasis;
pub mod features;
pub mod kernel;
pub mod sketch;

pub use eigenbasis::{Basis, Projection, Tempering, leverage};
// the type that a kernel of a user returns, of the version that it has to be
pub use faer::Mat;
pub use features::{Block, Features, RowKind, RowSource};
pub use kernel::{Kernel, OutputKernel};
pub use sketch::{Sketch, SketchKind, SketchOptions};

/// The program of the README, which runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
