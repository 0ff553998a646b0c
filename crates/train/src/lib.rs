//! The training loop of deep sketched output kernel regression, for any
//! [`Encoder`](dsokr_nn::Encoder).
//!
//! [`train`] minimises `mean ‖z − ψ̃(y)‖²`, or a different loss, over batches of inputs and targets,
//! keeps checkpoints in a [`CheckpointSink`], stops early, and resumes bit for bit. It reads no files of
//! data and knows no metric: a [`Task`] holds inputs, targets and a function that evaluates the
//! model.
//!
//! ```
//! use burn::tensor::Device;
//! use dsokr_basis::random::generator;
//! use dsokr_nn::{FrozenBasis, Mlp, MlpConfig, Model};
//! use dsokr_train::{Lines, Task, TrainingConfig, Validation, embed, train};
//!
//! let device = Device::flex().autodiff();
//! let encoder = MlpConfig::default().init(1, &[0.0], &mut generator(0, "parameters", 0), &device);
//! let model = Model::new(encoder, FrozenBasis::new(vec![1.0], 1, &device));
//!
//! let inputs: Vec<Vec<f32>> = (0..64).map(|i| vec![i as f32 / 64.0]).collect();
//! let targets: Vec<f32> = inputs.iter().map(|x| x[0].sin()).collect();
//! let error = |model: &Model<Mlp>| {
//!     let errors = embed(model, &inputs, 32).into_iter().zip(&targets);
//!     errors.map(|(z, y)| f64::from(z - y).powi(2)).sum::<f64>() / 64.0
//! };
//! let task = Task {
//!     config: &TrainingConfig { warmup: 0, ..TrainingConfig::default() },
//!     seed: 0,
//!     device: &device,
//!     inputs: &inputs,
//!     targets: &targets,
//!     residuals: &[0.0; 64],
//!     validate: &|model: &Model<Mlp>| Ok(Validation { metrics: error(model), score: -error(model) }),
//! };
//! let before = error(&model);
//! // `()` keeps no checkpoints, `Lines` prints the progress
//! let outcome = train(&task, model, None, &mut (), &mut Lines)?;
//! assert!(error(&outcome.model) < before);
//! # Ok::<(), dsokr_train::Error>(())
//! ```

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
pub use loss_config::{Contrastive, LossConfig, Softmax};
pub use optimizer::Update;
pub use progress::{Event, Lines, Observer};
pub use schedule::learning_rate;
pub use steps::{CheckpointSink, LogLine, Outcome, Task, Validation, train};

/// The program of the README, which runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
