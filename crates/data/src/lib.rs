//! From files to a data set: tables, feature matrices, kernels, multi-label files, graphs, lists of
//! candidates, and the join of pairs with outputs.
//!
//! A [`Source`] is what a configuration says: where pairs come from ([`config::DataConfig`]), what
//! outputs are ([`config::OutputSource`]), and a seed. [`Source::load`] reads a [`Dataset`]: splits of
//! pairs, whose inputs are texts, vectors or values of kernels, and the [`Outputs`] with a row of
//! features each, which kernels compare. Nothing here learns.
//!
//! ```
//! use dsokr_data::config::{DataConfig, OutputFeatures, OutputSource};
//! use dsokr_data::{DataRoot, Source};
//!
//! let folder = tempfile::tempdir()?;
//! let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
//! write("outputs.tsv", "id\tname\n7\tethanol\n9\tacetic acid\n")?;
//! write("train.tsv", "id\tdescription\n7\tan alcohol\n9\tan acid\n")?;
//! write("validation.tsv", "id\tdescription\n9\tthe acid of vinegar\n")?;
//!
//! let data: DataConfig = toml::from_str("folder = '.'")?;
//! let features: OutputFeatures =
//!     toml::from_str("kind = 'ngrams'\ncolumn = 'name'\nmin = 1\nmax = 3")?;
//! let outputs = OutputSource {
//!     table: Some("outputs.tsv"),
//!     id: "id",
//!     label: Some("name"),
//!     candidate: None,
//!     only_training: false,
//!     features: &features,
//! };
//! let root = DataRoot::find(data.folder(), None, Some(folder.path()))?;
//! let dataset = Source { data: &data, outputs, seed: 0 }.load(&root)?;
//!
//! assert_eq!(dataset.train.inputs.texts()?, ["an alcohol", "an acid"]);
//! assert_eq!(dataset.validation.outputs, [Some(1)]);
//! assert_eq!((dataset.outputs.rows.len(), &*dataset.outputs.labels[1]), (2, "acetic acid"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
mod npy_write;
mod official;
mod outputs;
mod pool;
mod queries;
mod rankings;
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
pub use npy_write::{write_matrix, write_vector};
pub use outputs::Outputs;
pub use root::{DataRoot, check_inside};
pub use selected::Selected;
pub use structure::Structure;
pub use truth::Truth;

/// The program of the README, which runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
