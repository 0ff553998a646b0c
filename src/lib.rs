//! Training for deep sketched output kernel regression: configuration, data sets, the loop,
//! checkpoints, and run directories.
//!
//! Data flows one way. A [`config`] is read and checked; a [`Dataset`](dsokr_data::Dataset) is loaded;
//! [`fit`] fits the basis on the training outputs, projects targets and candidates, and prepares
//! inputs; the [`trainer`] minimises `mean ‖z − ψ̃(y)‖²`, or another loss, for any
//! [`Encoder`](dsokr_nn::Encoder); a [`run::Run`] is what is left on disk, and all that evaluation
//! and search read. What makes inputs and encoder is a [`Recipe`]: that of the built-in ones, or
//! one's own.

pub mod config;
pub mod contract;
pub mod device;
pub mod fit;
pub mod inputs;
pub mod run;
pub mod sketch;
pub mod targets;

mod encoders;
mod error;
mod evaluator;
mod kernel_machine;
mod kinds;
mod learner;
mod metric;
mod network;
mod quantiles;
mod recipe;
mod scores;

/// The pages whose code is run.
#[cfg(doctest)]
#[doc = include_str!("../docs/custom-encoder.md")]
mod pages {}

pub use dsokr_basis as basis;
pub use dsokr_data as data;
pub use dsokr_decode as decode;
pub use dsokr_machines as machines;
pub use dsokr_molecule as molecule;
pub use dsokr_nn as nn;
pub use dsokr_train as train;

pub use error::Error;
pub use evaluator::Evaluator;
pub use inputs::{PretrainedInputs, TokenInputs, TokenInputsConfig};
pub use kinds::{EncoderTable, register};
pub use learner::{ClosedForm, Fitted, Learner, Predictor, StoredRun, Task};
pub use metric::Metric;
pub use network::Network;
pub use quantiles::{Coverage, QuantileScores, Quantiles};
pub use recipe::{Prepare, Recipe, Start};
pub use scores::{Evaluation, MoleculeScores, Origin, OutputScores, Scores, drawing};
