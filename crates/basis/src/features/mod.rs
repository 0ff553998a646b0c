//! Outputs as rows of features: dense numbers, packed bits, or sparse counts.
//!
//! A [`Block`] holds rows in memory, owned ([`Features`]) or borrowed; a [`MappedRows`] reads them from a file. Both
//! are a [`RowSource`], which hands out [`Block`]s of rows, and so is anything that computes rows on the fly.
//! `dsokr-data` makes rows of texts, labels and rankings, `dsokr-molecule` of molecules.

mod block;
mod distinct;
mod held;
mod joined;
mod mapped;
mod packed;
pub(crate) mod product;
pub(crate) mod simd;
mod sparse;
mod spread;

pub use block::{Block, Features, RowSource, ranges, read};
pub use distinct::{Distinct, distinct};
pub use held::HeldRows;
pub use joined::{JoinedRows, PartRows, Selected};
pub use mapped::MappedRows;
pub use packed::{BitBlock, BitRows, DenseBlock, DenseRows, Packed, PackedBlock};
pub use product::{ColumnIndex, inner};
pub use sparse::{SparseBlock, SparseRow, SparseRows, common_columns, sorted_by_place};
pub use spread::Spread;

use dsokr_core::{Error, Misfit};

/// The three kinds of feature rows.
#[derive(Clone, Copy, Debug, derive_more::Display, PartialEq, Eq, Hash)]
#[display(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RowKind {
    /// `f32` numbers, every column stored.
    Dense,
    /// Bits, one a column.
    #[display("bit")]
    Bits,
    /// `f32` numbers, only the non-zero columns stored.
    Sparse,
}

impl std::str::FromStr for RowKind {
    type Err = ();

    /// Reads the name that the kind is displayed by.
    fn from_str(name: &str) -> Result<Self, ()> {
        let mut kinds = [Self::Dense, Self::Bits, Self::Sparse].into_iter();
        kinds.find(|kind| kind.to_string() == name).ok_or(())
    }
}

/// Checks a width of rows: at least one column, and columns that `u32` can number.
///
/// # Errors
/// [`Error::Shape`].
pub fn check_width(width: usize) -> Result<(), Error> {
    match width {
        0 => Err(Error::Shape(Misfit::Columns { width })),
        width if u32::try_from(width).is_err() => Err(Error::too_wide(width)),
        _ => Ok(()),
    }
}

/// Checks that rows have the kind and width of others.
pub(crate) fn check_alike(actual: (RowKind, usize), needed: (RowKind, usize)) -> Result<(), Error> {
    match (actual.0 == needed.0, actual.1 == needed.1) {
        (true, true) => Ok(()),
        (true, false) => Err(Error::width(actual.1, needed.1)),
        (false, _) => Err(Error::kind(actual.0, needed.0)),
    }
}
