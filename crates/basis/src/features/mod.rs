//! Outputs as rows of features: dense numbers, packed bits, or sparse counts.
//!
//! A [`Block`] holds rows in memory, its own ([`Features`]) or borrowed; a [`MappedRows`] reads them
//! from a file. Both are a [`RowSource`], which hands out [`Block`]s of rows, and so is anything that
//! makes rows on the fly. Featurizers ([`NgramVocabulary`], [`TfIdf`], [`kemeny_signs`], [`hamming_one_hot`], [`LabelVocabulary`])
//! make rows of structured objects and know no kernels.

mod bits;
mod block;
mod by_column;
mod column_index;
mod dense;
mod distinct;
mod joined;
mod labels;
mod mapped;
mod ngram;
mod ngram_block;
mod ngram_config;
mod packed;
pub(crate) mod product;
mod ranking;
pub(crate) mod simd;
mod sparse;
mod tf_idf;

pub use bits::{BitBlock, BitRows};
pub use block::{Block, Features, RowSource, read};
pub use column_index::ColumnIndex;
pub use dense::{DenseBlock, DenseRows};
pub use distinct::{Distinct, distinct};
pub use joined::{JoinedRows, PartRows};
pub use labels::LabelVocabulary;
pub use mapped::MappedRows;
pub use ngram::{NgramOptions, NgramVocabulary, bucket};
pub use ngram_config::{NgramConfig, NgramKind};
pub use packed::{Packed, PackedBlock};
pub use product::inner;
pub use ranking::{hamming_one_hot, kemeny_signs};
pub use sparse::{SparseBlock, SparseRows};
pub use tf_idf::{SparseRow, TfIdf};

pub use crate::RowKind;

use crate::Error;

/// Checks a width: at least one column, and columns that `u32` can number.
pub(crate) fn check_width(width: usize) -> Result<(), Error> {
    match width {
        0 => Err(Error::Shape("rows of width 0: at least one column is needed".into())),
        width if u32::try_from(width).is_err() => Err(Error::too_wide(width)),
        _ => Ok(()),
    }
}
