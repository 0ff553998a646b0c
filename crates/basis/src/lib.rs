//! The output side of Deep Sketched Output Kernel Regression.
//!
//! Structured outputs become rows of features ([`features`]), a [`kernel`] is a scalar function of
//! the products of two rows, or any function of them ([`OutputKernel`]), a [`sketch`] compresses the training outputs, and the
//! [`eigenbasis`] turns any output y into p coordinates `ψ̃(y) = Ω R k^y`, such that
//! `⟨ψ̃(y), ψ̃(y')⟩ ≈ k(y, y')`. Those coordinates are the targets of training and the
//! candidates of decoding. [`leverage`] scores say how large a sketch should be, [`store`] is
//! the one file format, and [`random`] the one source of randomness.
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
//! # Ok::<(), dsokr_basis::Error>(())
//! ```

#[cfg(target_endian = "big")]
compile_error!("files hold little-endian numbers that are read in place");

mod cancellation;
mod defaults;
mod error;
mod place;
mod versions;
mod weights;

pub mod assignment;
pub mod eigenbasis;
pub mod features;
pub mod kernel;
pub mod leverage;
pub mod loss;
pub mod memory;
pub mod processes;
pub mod random;
pub mod sketch;
pub mod store;

pub use cancellation::Cancellation;
pub use eigenbasis::{Basis, Projection, Tempering};
pub use error::Error;
pub use faer::Mat;
pub use features::{Block, Features, RowKind, RowSource};
pub use kernel::{Kernel, OutputKernel};
pub use place::{Argument, ArgumentStyle, Place, print_arguments_as};
pub use processes::Processes;
pub use sketch::{Sketch, SketchKind, SketchOptions};
pub use weights::RowWeights;

/// Reads a variant without parameters in a table with a tag: serde ignores unknown keys next to one.
fn no_parameters<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}
    serde::Deserialize::deserialize(deserializer).map(|Nothing {}| ())
}

/// The program of the README, which runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
