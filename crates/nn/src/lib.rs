//! Encoders for deep sketched output kernel regression.
//!
//! An [`Encoder`] maps a batch of inputs to coordinates `z ∈ R^p` in a sketched eigenbasis. A
//! [`Model`] is an encoder followed by that basis as a frozen last layer ([`FrozenBasis`]), so it
//! predicts a point of the output kernel's feature space:
//!
//! ```
//! use burn::tensor::Device;
//! use dsokr_basis::random::generator;
//! use dsokr_nn::{FrozenBasis, MlpConfig, Model, Pass, contract};
//!
//! let device = Device::flex().autodiff();
//! let mut random = generator(7, "parameters", 0);
//! // from 4 features to p = 2 coordinates, which start near the mean of the targets
//! let encoder = MlpConfig::default().init(4, &[0.1, -0.2], &mut random, &device);
//! let inputs = [vec![1.0, 0.0, 0.5, 2.0], vec![0.0, 1.0, 0.5, 1.0]];
//! contract::check(&encoder, &inputs)?;
//!
//! // a basis of rank 2 over 3 atoms
//! let basis = FrozenBasis::new(vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0], 2, &device);
//! let model = Model::new(encoder, basis);
//! let batch = [&inputs[0], &inputs[1]];
//! assert_eq!(model.coordinates(&batch, Pass::Evaluate).dims(), [2, 2]);
//! assert_eq!(model.feature_point(&batch, Pass::Evaluate).dims(), [2, 3]);
//! # Ok::<(), String>(())
//! ```
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
mod mlp;
mod model;
mod padding;
mod pass;
mod token_ids;

pub use bag::{NgramBag, NgramBagConfig};
pub use encoder::Encoder;
pub use error::{Error, NamedShapes};
pub use frozen::FrozenBasis;
pub use mlp::{Mlp, MlpConfig};
pub use model::Model;
pub use padding::{Padded, pad};
pub use pass::{Dropout, Pass, dropout};
pub use token_ids::{TokenIds, TokenIdsBuilder};
pub use transformer::{Pooling, Transformer, TransformerConfig};

/// The program of the README, which runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
