//! Transformer encoders: a [`Body`] with learned positions and post-norm layers as in BERT, pooling,
//! and a linear head make a [`Transformer`]. One that is trained from scratch learns its own [`Tokens`].

mod architecture;
mod body;
mod encoder;
mod layer;
mod recompute;
mod tokens;

pub use architecture::Architecture;
pub use body::{Body, Pooling};
pub use encoder::{Transformer, TransformerConfig};
pub use tokens::{TokenKind, Tokens, TokensConfig};
