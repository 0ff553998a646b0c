//! A transformer encoder trained from scratch: tokens ([`Tokens`]), learned positions, post-norm
//! layers as in BERT, pooling, and a linear head.

mod architecture;
mod attention;
mod encoder;
mod tokens;

pub use architecture::Architecture;
pub use encoder::{Pooling, Transformer, TransformerConfig};
pub use tokens::{TokenKind, Tokens, TokensConfig};
