//! Encoders for deep sketched output kernel regression.
//!
//! An [`Encoder`] maps a batch of its own inputs to coordinates `z ∈ R^p` in a sketched
//! eigenbasis; a [`Model`] is an encoder followed by that basis as a frozen last layer
//! ([`FrozenBasis`]), so that it predicts a point of the output kernel's feature space.
//!
//! Three encoders are built in ([`BuiltIn`] holds whichever a configuration names):
//! [`NgramBag`] (TF-IDF n-grams, with a linear path beside an MLP), [`Mlp`] (dense features) and
//! [`Transformer`] (tokens; drawn, or of the BERT family and read by [`pretrained`]). Anything else
//! that implements [`Encoder`] trains the same way; [`contract::check`] says whether it keeps what
//! that trait promises, and [`pad`], [`dropout`], [`fused`] and [`init`] are there to write one with.
//!
//! Nothing here draws from a global random state: parameters are drawn from a generator that is
//! passed in ([`init`]), and dropout is a function of a [`Pass`]'s key alone.

pub mod bag;
pub mod contract;
pub mod fused;
pub mod init;
pub mod parameters;
pub mod pretrained;
pub mod transformer;

mod built_in;
mod encoder;
mod error;
mod frozen;
mod mlp;
mod model;
mod padding;
mod pass;
mod token_ids;

pub use bag::{NgramBag, NgramBagConfig};
pub use built_in::{BuiltIn, BuiltInInput};
pub use encoder::Encoder;
pub use error::{Error, NamedShapes};
pub use frozen::FrozenBasis;
pub use mlp::{Mlp, MlpConfig};
pub use model::Model;
pub use padding::{Padded, pad};
pub use pass::{Dropout, Pass, dropout};
pub use token_ids::{TokenIds, TokenIdsBuilder};
pub use transformer::{Pooling, Transformer, TransformerConfig};
