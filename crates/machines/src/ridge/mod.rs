//! Kernel ridge regression and its sketched forms.

mod alignment;
mod averaged;
mod conjugate;
mod file;
mod fit;
mod gram;
mod linear_index;
mod model;
mod model_file;
mod output;
mod precomputed;
mod problem;
mod relevance;
mod row_range;
mod scaling;
mod sketched;
mod sketched_inputs;
mod spectrum;
mod system;
mod training_inputs;

pub use alignment::{Ideal, KernelWeighting, alignf, combine};
pub use averaged::{Averaged, fit_averaged};
pub use conjugate::{ConjugateGradients, fit_conjugate_gradients};
pub use fit::{fit, fit_gram};
pub use model::RidgeModel;
pub use output::{OutputSpace, Points};
pub use problem::{InputSketch, RidgeProblem};
pub use scaling::Scaling;
pub use sketched::{SketchedFit, fit_sketched};
pub use spectrum::Spectrum;
pub use system::{Fitted, LastSystem, RidgeSystem};
pub use training_inputs::TrainingInputs;
