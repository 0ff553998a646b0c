#![doc = include_str!("../README.md")]
//!
//! ## Contents
//!
//! | method | how | targets |
//! |---|---|---|
//! | IOKR | [`fit`] | [`OutputSpace::training`] |
//! | ISOKR | [`fit`] | [`OutputSpace::basis`] of a sketch |
//! | SIOKR | [`fit_sketched`] | [`OutputSpace::training`] |
//! | SISOKR | [`fit_sketched`] | [`OutputSpace::basis`] of a sketch |
//! | SIOKR, SISOKR with many anchors | [`fit_conjugate_gradients`], [`fit_divide_and_conquer`] | either |
//! | Kernel Dependency Estimation | [`fit`] | the leading coordinates of a basis of every output |
//! | joint quantile regression | [`fit_lipschitz`] with [`Loss::Pinball`] | [`Targets::repeated`] |
//! | IOKR with robust losses | [`fit_lipschitz`] | [`Targets::from_projection`] |
//!
//! Kernels, rows, sketches and bases come from `dsokr-basis`, on the input side as on the output side. A
//! [`KernelModel`] maps input rows to coordinates, which are the queries of `dsokr-decode`;
//! [`OutputSpace::points`] are its candidates. A [`Solver`] is any of the methods, as a configuration
//! file names it. λ is chosen by [`Spectrum`], for all its values from one eigendecomposition.
//! Precomputed kernels become one by [`alignf`] and [`combine`], for [`fit`]. [`OutputEmbedding`]
//! learns few directions of an output space: reduced rank regression, and Output Embedding Learning.

mod embedding;
mod features;
mod linear;
mod lipschitz;
mod loss;
mod output_matrix;
mod prepared;
mod ridge;
mod row_groups;
mod solver;
mod summary;
mod targets;

pub use embedding::OutputEmbedding;
pub use features::{GramMatrix, InputSketch, TrainingInputs, nystrom_features};
pub use lipschitz::{
    InputFeatures, LipschitzProblem, Offset, Stop, coverage, crossing_loss, fit_lipschitz,
    pinball_loss,
};
pub use loss::{Loss, Pinball};
pub use output_matrix::{Coupling, OutputMatrix};
pub use prepared::PreparedSolver;
pub use ridge::{
    ConjugateGradients, DivideAndConquer, Fitted, KernelModel, KernelWeighting, LastSystem,
    OutputSpace, Points, PrefixFit, RidgeProblem, RidgeSystem, ScaledRows, Scaling, SketchedFit,
    Spectrum, TargetGram, alignf, combine, fit, fit_conjugate_gradients, fit_divide_and_conquer,
    fit_sketched, held_out_weights,
};
pub use row_groups::RowGroups;
pub use solver::{
    ClosedForm, Cost, DOUBLE, FitSize, Lipschitz, Sketched, Solver, SolverAbilities,
    eigendecomposition,
};
pub use summary::{
    Arithmetic, Convergence, Inputs, LipschitzSummary, RidgeSummary, Solution, Summary,
};
pub use targets::{LARGEST_LAMBDA, Targets};
