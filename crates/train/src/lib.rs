#![doc = include_str!("../README.md")]
//!
//! ## How it goes together
//!
//! [`train`] minimises `mean ‖z − ψ̃(y)‖²`, or a different loss, over batches of inputs and targets,
//! keeps checkpoints in a [`CheckpointSink`], stops early, and resumes bit for bit. A [`Task`] holds
//! [`Pairs`] and a function that evaluates the model.

mod batches;
mod checkpoint;
mod config;
mod control;
mod error;
mod evaluation;
mod gradients;
mod hooks;
mod loss;
mod optimizer;
mod progress;
mod steps;
mod sums;
mod task;

pub use batches::embed;
pub use checkpoint::{
    Checkpoint, CheckpointSink, LogLine, Moments, StepNumbers, check_basis, read_parameters,
};
pub use config::{Decay, Every, GroupConfig, LossConfig, OptimizerName, TrainingConfig};
pub use control::{Control, RateChange};
pub use error::Error;
pub use loss::mean_loss;
pub use optimizer::Update;
pub use steps::train;
pub use task::{Best, Event, Lines, Observer, Outcome, Pairs, Task, Validation};
