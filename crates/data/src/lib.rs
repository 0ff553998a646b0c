#![doc = include_str!("../README.md")]
//!
//! ## How it goes together
//!
//! A [`Source`] is what a configuration says: where pairs come from ([`config::DataConfig`]), what
//! outputs are ([`config::OutputSource`]), and a seed. [`Source::load`] reads a [`Dataset`]: splits of
//! pairs, whose inputs are texts, vectors or values of kernels, and the [`Outputs`] with a row of
//! features each, which kernels compare. Nothing here learns.

mod candidate_lists;
pub mod config;
mod dataset;
mod error;
pub mod feature_file;
mod fitted;
mod inputs;
mod kernels;
mod kinds;
mod memory;
pub mod multi_label;
mod npy;
mod npy_write;
mod output_features;
mod output_source;
mod outputs;
mod pairs;
mod root;
mod selected;
mod source;
mod structure;
pub mod table;
mod tagged;
mod texts;
mod truth;

pub use candidate_lists::{CandidateLists, read_candidate_lists};
pub use dataset::{Dataset, Split, SplitName};
pub use error::Error;
pub use fitted::FittedFeatures;
pub use inputs::{InputKind, Inputs};
pub use kernels::KernelRows;
pub use npy::read_matrix;
pub use npy_write::{write_matrix, write_vector};
pub use outputs::Outputs;
pub use root::{DataRoot, check_inside};
pub use selected::Selected;
pub use source::Source;
pub use structure::Structure;
pub use truth::Truth;
