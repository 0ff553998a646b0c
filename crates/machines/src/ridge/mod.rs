//! Kernel ridge regression and its sketched forms.

mod alignment;
mod conjugate;
mod coupled;
mod learned;
mod left_out;
mod model;
mod model_file;
mod output;
mod output_file;
mod points;
mod predictions;
mod relevance;
mod repeated;
mod scaling;
mod sketched;
mod spectrum;
mod system;
mod weighting;

pub use alignment::{TargetGram, alignf, combine};
pub use conjugate::{ConjugateGradients, fit_conjugate_gradients};
pub use model::KernelModel;
pub(crate) use model::Weights;
pub use output::OutputSpace;
pub use points::Points;
pub use scaling::{ScaledRows, Scaling};
pub(crate) use sketched::equal_parts;
pub use sketched::{
    DivideAndConquer, RidgeProblem, SketchedFit, fit_divide_and_conquer, fit_sketched,
};
pub use spectrum::Spectrum;
pub(crate) use spectrum::{COMPARED, SAMPLED};
pub use system::{Fitted, LastSystem, PrefixFit, RidgeSystem, fit};
pub use weighting::{KernelWeighting, held_out_weights};
