//! From files to a data set: tables, feature matrices, kernels, multi-label files, lists of
//! candidates, and the join of pairs with outputs.

mod candidate_lists;
pub mod config;
mod dataset;
mod error;
pub mod feature_file;
mod graphs;
mod inputs;
mod kernels;
pub mod multi_label;
mod npy;
mod official;
mod outputs;
mod pool;
mod root;
mod row_index;
mod selected;
mod structure;
mod synthetic;
pub mod table;
mod tables;
mod truth;

pub use candidate_lists::{CandidateLists, read_candidate_lists};
pub use config::{InputKind, SplitName};
pub use dataset::{Dataset, Source, Split};
pub use error::Error;
pub use inputs::Inputs;
pub use kernels::KernelRows;
pub use npy::read_matrix;
pub use outputs::Outputs;
pub use root::{DataRoot, check_inside};
pub use selected::Selected;
pub use structure::Structure;
pub use truth::Truth;

/// The program of the README, which runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
