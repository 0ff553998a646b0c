//! The closed-form family: input output kernel regression and its sketched forms.
//!
//! | method | inputs | outputs |
//! |---|---|---|
//! | IOKR | [`fit`] | [`OutputSpace::training`] |
//! | ISOKR | [`fit`] | [`OutputSpace::basis`] of a sketch |
//! | SIOKR | [`fit_sketched`] | [`OutputSpace::training`] |
//! | SISOKR | [`fit_sketched`] | [`OutputSpace::basis`] of a sketch |
//! | SIOKR, SISOKR with many anchors | [`fit_conjugate_gradients`] | either |
//! | Kernel Dependency Estimation | [`fit`] | the leading coordinates of a basis of every output |
//!
//! Kernels, rows, sketches and bases are those of `dsokr-basis`, on the input side as on the output
//! side. A [`Model`] maps input rows to coordinates, which are the queries of `dsokr-decode`;
//! [`OutputSpace::points`] are its candidates. λ is chosen by [`Spectrum`], for all its values from
//! one eigendecomposition. Precomputed kernels become one by [`alignf`] and [`combine`], for [`fit_gram`].
//!
//! ```
//! use dsokr_basis::features::{BitRows, DenseRows};
//! use dsokr_basis::{Basis, Features, Kernel, SketchKind, SketchOptions};
//! use dsokr_decode::{CandidateParts, Candidates, Queries, top_k};
//! use dsokr_machines::ridge::{OutputSpace, fit_sketched};
//!
//! let x = Features::Dense(DenseRows::new(1, vec![0.0, 1.0, 2.0, 3.0])?);
//! let y = Features::Bits(BitRows::from_indices(3, [vec![0], vec![0, 1], vec![1], vec![2]])?);
//! let every = SketchKind::Subsampling { replacement: false };
//! let basis = Basis::fit(Kernel::Tanimoto, &y, &SketchOptions::new(SketchKind::Gaussian, 4))?;
//! let (space, targets) = OutputSpace::basis(basis, None, &y)?;
//! let kernel = Kernel::Gaussian { gamma: 1.0 };
//! let fitted = fit_sketched(kernel, &x, &targets, &every, 4, 0, 1e-4)?;
//!
//! let points = space.points(&y)?;
//! let ids = ["a", "b", "c", "d"].map(String::from).to_vec();
//! let candidates = Candidates::new(CandidateParts {
//!     ids,
//!     dim: points.rank,
//!     coordinates: points.coordinates,
//!     constants: points.constants,
//!     ..CandidateParts::default()
//! })?;
//! let z = fitted.model.predict(&x)?;
//! let best = top_k(&Queries::new(points.rank, &z)?, &candidates, 1)?;
//! assert_eq!(candidates.id(best[3][0].candidate), "d");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod alignment;
mod average;
mod conjugate;
mod error;
mod file;
mod fit;
mod linear;
mod linear_index;
mod model;
mod output;
mod precomputed;
mod scaling;
mod sketched;
mod spectrum;
mod targets;

pub use alignment::{Alignment, Combination, Ideal, alignf, combine};
pub use average::{Average, fit_parts, stack_points, stack_predictions};
pub use conjugate::{ConjugateGradients, Convergence, fit_conjugate_gradients};
pub use error::Error;
pub use fit::{Fitted, Inputs, Precision, Summary, fit, fit_gram};
pub use model::Model;
pub use output::{OutputSpace, Points, Projected};
pub use scaling::Scaling;
pub use sketched::{SketchedFit, fit_sketched};
pub use spectrum::{LeaveOut, Spectrum};
pub use targets::{TargetBlock, TargetSource, Targets};
