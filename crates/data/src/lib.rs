#![doc = include_str!("../README.md")]
//!
//! ## How it goes together
//!
//! A [`Source`] is what a configuration says: where pairs come from ([`config::DataConfig`]), what
//! outputs are ([`config::OutputSource`]), and a seed. [`Source::load`] reads a [`Dataset`]: splits of
//! pairs, whose inputs are texts, vectors or values of kernels, and the [`Outputs`] with a row of
//! features each, which kernels compare. Nothing here learns.

pub mod cells;
pub mod config;
mod dataset;
mod error;
pub mod feature_file;
pub mod featurizers;
mod folds;
mod groups;
mod input_columns;
mod inputs;
mod joined;
mod kinds;
pub mod library;
mod memory;
pub mod multi_label;
mod npy;
mod npz;
mod output_features;
mod outputs;
mod pairs;
#[cfg(feature = "parquet")]
mod parquet;
mod root;
mod rounding;
mod shared;
pub mod table;
mod truth;
mod vectors;

pub use config::Source;
pub use dataset::{Dataset, Split, SplitName};
pub use error::Error;
pub use folds::divide;
pub use groups::{VARIED, canonical, connected, groups_of_cells};
pub use input_columns::{InputColumns, NamedColumns, Numbering};
pub use inputs::{InputKind, Inputs, KernelRows};
pub use npy::{read_matrix, write_matrix, write_vector};
pub use output_features::{FittedFeatures, ReadTexts, TextFeatures};
pub use outputs::Outputs;
pub use pairs::{Official, read_official};
pub use root::DataRoot;
pub use shared::{input_numbers, text_numbers};
pub use truth::{LabelSet, Structure, Truth};
pub use vectors::{FileRows, Vectors};
