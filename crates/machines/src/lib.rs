//! Kernel machines: models `f(x) = Σ_j k(x, a_j) A_j` that are fitted without gradient descent on
//! parameters.
//!
//! | method | how | targets |
//! |---|---|---|
//! | IOKR | [`fit`] | [`OutputSpace::training`] |
//! | ISOKR | [`fit`] | [`OutputSpace::basis`] of a sketch |
//! | SIOKR | [`fit_sketched`] | [`OutputSpace::training`] |
//! | SISOKR | [`fit_sketched`] | [`OutputSpace::basis`] of a sketch |
//! | SIOKR, SISOKR with many anchors | [`fit_conjugate_gradients`], [`fit_averaged`] | either |
//! | Kernel Dependency Estimation | [`fit`] | the leading coordinates of a basis of every output |
//! | joint quantile regression | [`LipschitzModel::fit`] with [`Loss::Pinball`] | [`Targets::repeated`] |
//! | IOKR with robust losses | [`LipschitzModel::fit`] | [`Targets::from_projection`] |
//!
//! Kernels, rows, sketches and bases are those of `dsokr-basis`, on the input side as on the output
//! side. A [`KernelModel`] maps input rows to coordinates, which are the queries of `dsokr-decode`;
//! [`OutputSpace::points`] are its candidates. A [`Solver`] is any of the methods, as a configuration
//! file names it. λ is chosen by [`Spectrum`], for all its values from one eigendecomposition.
//! Precomputed kernels become one by [`alignf`] and [`combine`], for [`fit_gram`]. [`OutputEmbedding`]
//! learns few directions of an output space: reduced rank regression, and Output Embedding Learning.
//!
//! ```
//! use dsokr_basis::{Features, Kernel, features::{BitRows, DenseRows}};
//! use dsokr_decode::{CandidateParts, Candidates, Queries, top_k};
//! use dsokr_machines::{InputSketch, OutputSpace, RidgeProblem, fit_sketched};
//!
//! let x = Features::Dense(DenseRows::new(1, vec![0.0, 1.0, 2.0, 3.0])?);
//! let y = Features::Bits(BitRows::from_indices(3, [vec![0], vec![0, 1], vec![1], vec![2]])?);
//! let (space, targets) = OutputSpace::training(Kernel::Tanimoto, &y)?;
//! let kernel = Kernel::Gaussian { gamma: 1.0 };
//! let problem = RidgeProblem { kernel, rows: &x, targets: &targets, lambda: 1e-4, seed: 0 };
//! let model = fit_sketched(problem, &InputSketch::subsampling(4))?.model;
//!
//! let points = space.points(&y)?;
//! let candidates = Candidates::new(CandidateParts {
//!     ids: ["a", "b", "c", "d"].map(String::from).to_vec(),
//!     dim: points.rank,
//!     coordinates: points.coordinates,
//!     constants: points.constants,
//!     ..CandidateParts::default()
//! })?;
//! let best = top_k(&Queries::new(points.rank, &model.predict(&x)?)?, &candidates, 1)?;
//! assert_eq!(candidates.id(best[3][0].candidate), "d");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod embedding;
mod error;
mod kernel_model;
mod linear;
mod lipschitz;
mod ridge;
mod solver;
mod summary;
mod targets;

pub use embedding::OutputEmbedding;
pub use error::Error;
pub use kernel_model::{KernelModel, StoredKernelModel};
pub use lipschitz::{
    InputFeatures, LipschitzModel, LipschitzProblem, Loss, Offset, OutputMatrix, Pinball, Stop,
    coverage, crossing_loss, pinball_loss,
};
pub use ridge::{
    Alignment, Averaged, Combination, ConjugateGradients, Fitted, Ideal, InputSketch, LeaveOut,
    OutputSpace, Points, Projected, RidgeModel, RidgeProblem, Scaling, SketchedFit, Spectrum,
    alignf, combine, fit, fit_averaged, fit_conjugate_gradients, fit_gram, fit_sketched,
};
pub use solver::{
    ClosedForm, Lipschitz, PreparedSolver, Sketched, Solver, TrainingInputs, TrainingSet,
};
pub use summary::{
    Convergence, Inputs, LipschitzSummary, Precision, RidgeSummary, Solution, Summary,
};
pub use targets::{TargetBlock, TargetSource, Targets};

/// The program of the README, which runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
