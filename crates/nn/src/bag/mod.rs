//! The n-gram bag: a text becomes a sparse TF-IDF row ([`TfIdf`]), the row a weighted sum of embeddings
//! ([`fused::bag`](crate::fused::bag)), and a linear path and an MLP map the sum to coordinates.

mod beside;
mod encoder;

pub use beside::BagBeside;
pub use dsokr_basis::features::{NgramConfig, NgramKind, SparseRow, TfIdf};
pub use encoder::{NgramBag, NgramBagConfig};
