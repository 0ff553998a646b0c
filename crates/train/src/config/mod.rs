//! The `[training]` table of a configuration.

mod decay;
mod every;
mod groups;
mod loss;
mod rules;
mod schedule;
mod training;

pub use decay::Decay;
pub use every::Every;
pub use groups::{GroupConfig, OptimizerName};
pub use loss::LossConfig;
pub(crate) use rules::Rule;
pub use training::TrainingConfig;
