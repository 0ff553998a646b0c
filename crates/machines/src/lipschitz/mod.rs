//! Sketched kernel machines with Lipschitz losses.

mod features;
mod model;
mod offset;
mod output;
mod quantiles;
mod solver;

pub use features::InputFeatures;
pub use model::{LipschitzModel, LipschitzProblem};
pub use offset::Offset;
pub use output::OutputMatrix;
pub use quantiles::{coverage, crossing_loss, pinball_loss};
pub use solver::Stop;
