//! The n-gram bag: texts become sparse TF-IDF rows ([`TfIdf`]), a row becomes a weighted sum of
//! embedding rows ([`fused::bag`](crate::fused::bag)), and a linear path beside an MLP maps it to coordinates.

mod encoder;

pub use dsokr_basis::features::{NgramConfig, NgramKind, SparseRow, TfIdf};
pub use encoder::{NgramBag, NgramBagConfig};
