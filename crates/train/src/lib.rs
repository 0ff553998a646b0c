#![doc = include_str!("../README.md")]
//!
//! ## How it goes together
//!
//! [`train`] minimises `mean ‖z − ψ̃(y)‖²`, or a different loss, over batches of inputs and targets,
//! keeps checkpoints in a [`CheckpointSink`], stops early, and resumes bit for bit. A [`Task`] holds
//! inputs, targets and a function that evaluates the model.

pub mod batches;
mod checkpoint;
mod config;
mod embed;
mod error;
mod gradients;
mod loss;
mod loss_config;
mod optimizer;
#[cfg(test)]
mod problem;
mod progress;
mod schedule;
mod shared;
mod sink;
mod steps;
mod sums;
mod task;

pub use checkpoint::{Checkpoint, check_basis, read_parameters};
pub use config::{Decay, GroupConfig, OptimizerName, TrainingConfig};
pub use embed::embed;
pub use error::Error;
pub use loss_config::{Contrastive, LossConfig, Softmax};
pub use optimizer::Update;
pub use progress::{Event, Lines, Observer};
pub use schedule::learning_rate;
pub use sink::{CheckpointSink, LogLine};
pub use steps::train;
pub use task::{Best, Outcome, Task, Validation};
