//! The training loop, for any [`Encoder`](dsokr_nn::Encoder).

pub mod batches;
mod checkpoint;
mod clip;
mod embed;
mod gradients;
mod known;
mod loss;
mod optimizer;
mod progress;
mod schedule;
mod steps;

pub use checkpoint::Checkpoint;
pub(crate) use checkpoint::{check_basis, read_parameters};
pub use clip::clip;
pub use embed::embed;
pub use optimizer::Update;
pub use progress::{Event, Lines, Observer};
pub use schedule::learning_rate;
pub use steps::{CheckpointSink, LogLine, Outcome, Task, train};
