//! Features of inputs: the numbers that the weights of a machine multiply.
//!
//! A [`FeatureMap`] owns them, whatever they are: kernel values with anchors, their combinations by a sketch, given
//! values of a precomputed kernel, or coordinates in a basis. Fits ask it for columns of features, for the penalty of
//! their weights and for the same functions by kernel values alone; models for features of new inputs.

mod compared;
mod linear_index;
mod map;
mod precomputed;
mod sketched;
mod training;

pub(crate) use compared::ComparedInputs;
pub(crate) use linear_index::scales;
pub(crate) use map::{AnchorFeatures, FeatureMap, blocks, given_only};
pub use precomputed::nystrom_features;
pub use sketched::InputSketch;
pub(crate) use training::checked;
pub use training::{GramMatrix, TrainingInputs};
