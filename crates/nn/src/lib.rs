#![doc = include_str!("../README.md")]
//!
//! ## How it goes together
//!
//! An [`Encoder`] maps a batch of inputs to coordinates `z ∈ R^p` in a sketched eigenbasis. A
//! [`Model`] is an encoder followed by that basis as a frozen last layer ([`FrozenBasis`]), so it
//! predicts a point of the output kernel's feature space.
//!
//! | encoder | inputs |
//! |---|---|
//! | [`NgramBag`] | TF-IDF n-grams; a linear path beside an MLP |
//! | [`Mlp`] | dense features |
//! | [`Transformer`] | tokens; trained from scratch, or [`pretrained`] (BERT family) |
//!
//! Any other [`Encoder`] trains the same way. [`pad`], [`dropout`], [`fused`] and [`init`] help to
//! write one, and [`contract::check`] tests it.
//!
//! Nothing draws from a global random state: parameters come from a generator that the caller passes
//! ([`init`]), and dropout is a function of the [`Pass`]'s key alone.

pub mod bag;
pub mod contract;
pub mod fused;
pub mod init;
pub mod parameters;
pub mod pretrained;
pub mod transformer;

mod encoder;
mod error;
mod frozen;
mod hand_over;
mod mlp;
mod model;
mod padding;
mod pass;
mod pool;
mod precision;
mod size;
mod token_ids;
mod values;

pub use bag::{BagBeside, NgramBag, NgramBagConfig};
pub use encoder::Encoder;
pub use error::{Error, NamedShapes};
pub use frozen::FrozenBasis;
pub use fused::RowGradient;
pub use hand_over::{HandOver, Receive};
pub use mlp::{Mlp, MlpConfig};
pub use model::Model;
pub use padding::{Padded, pad};
pub use pass::{Dropout, Pass, Place, dropout};
pub use pool::{backward, in_pool};
pub use precision::Precision;
pub use size::PartSize;
pub use token_ids::{TokenIds, TokenIdsBuilder};
pub use transformer::{Pooling, Transformer, TransformerConfig};
pub use values::Values;
