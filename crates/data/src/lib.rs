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
mod graphs;
mod inputs;
mod kernels;
mod load;
mod memory;
pub mod multi_label;
mod npy;
mod npy_write;
mod official;
mod output_rows;
mod outputs;
mod pool;
mod queries;
mod rankings;
mod root;
mod row_index;
mod selected;
mod source;
mod structure;
mod synthetic;
pub mod table;
mod tables;
mod truth;

pub use candidate_lists::{CandidateLists, read_candidate_lists};
pub use config::{InputKind, SplitName};
pub use dataset::{Dataset, Split};
pub use error::Error;
pub use fitted::FittedFeatures;
pub use inputs::Inputs;
pub use kernels::KernelRows;
pub use npy::read_matrix;
pub use npy_write::{write_matrix, write_vector};
pub use outputs::Outputs;
pub use root::{DataRoot, check_inside};
pub use selected::Selected;
pub use source::Source;
pub use structure::Structure;
pub use truth::Truth;
