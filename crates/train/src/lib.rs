//! The training loop of deep sketched output kernel regression, for any
//! [`Encoder`](dsokr_nn::Encoder).
//!
//! [`train`] minimises `mean ‖z − ψ̃(y)‖²`, or a different loss, over batches of inputs and
//! targets, keeps
//! checkpoints in a [`CheckpointSink`], stops early, and resumes bit for bit. It reads no files of
//! data and knows no metric: a [`Task`] holds inputs, targets and a function that evaluates the
//! model.

pub mod batches;
mod checkpoint;
mod clip;
mod config;
mod embed;
mod error;
mod gradients;
mod known;
mod loss;
mod loss_config;
mod optimizer;
mod progress;
mod schedule;
mod steps;

pub use checkpoint::{Checkpoint, check_basis, read_parameters};
pub use clip::clip;
pub use config::{Decay, GroupConfig, OptimizerName, TrainingConfig};
pub use embed::embed;
pub use error::Error;
pub use loss_config::LossConfig;
pub use optimizer::Update;
pub use progress::{Event, Lines, Observer};
pub use schedule::learning_rate;
pub use steps::{CheckpointSink, LogLine, Outcome, Task, Validation, train};

/// The program of the README, which runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
