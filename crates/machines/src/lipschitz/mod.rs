//! Sketched kernel machines with Lipschitz losses.

mod design;
mod model;
mod offset;
mod output;
mod quantiles;
mod solver;

pub use model::{InputFeatures, LipschitzModel, LipschitzProblem};
pub use offset::Offset;
pub use output::OutputMatrix;
pub use quantiles::{coverage, crossing_loss, pinball_loss};
pub use solver::Stop;
