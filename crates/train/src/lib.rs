//! Training for deep sketched output kernel regression: configuration, data sets, the loop,
//! checkpoints, and run directories.
//!
//! Data flows one way. A [`config`] is read and checked; a [`data::Dataset`] is loaded;
//! [`fit`] fits the basis on the training outputs, projects targets and candidates, and prepares
//! inputs; the [`trainer`] minimises `mean ‖z − ψ̃(y)‖²` for any
//! [`Encoder`](dsokr_nn::Encoder); a [`run::Run`] is what is left on disk, and all that evaluation
//! and search read.

pub mod config;
pub mod data;
pub mod fit;
pub mod run;
pub mod trainer;

mod error;
mod prepare;

pub use error::Error;
