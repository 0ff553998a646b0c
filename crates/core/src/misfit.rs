//! Rows and matrices that do not fit.

use std::fmt::{self, Display, Formatter};

/// How rows or a matrix differ from what is needed: the value of [`Error::Shape`](crate::error::Error::Shape).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Misfit {
    /// Two things that belong together have different lengths.
    Length {
        /// The things that are counted, in the plural. It is a text because every caller counts something else.
        what: String,
        /// How many there are.
        found: usize,
        /// How many are needed.
        expected: usize,
    },
    /// Rows of a different width.
    Width {
        /// The columns of the rows.
        found: usize,
        /// The columns that are needed.
        expected: usize,
    },
    /// Rows of a different kind, such as dense rows where sparse rows are needed.
    Kind {
        /// The name of their kind.
        found: String,
        /// The name of the kind that is needed.
        expected: String,
    },
    /// Rows of a kind that a kernel is not defined on.
    Kernel {
        /// The name of the kernel.
        kernel: String,
        /// The name of the kind of the rows.
        found: String,
        /// The names of the kinds that it is defined on.
        allowed: Vec<String>,
    },
    /// Rows beyond the end of a set of rows.
    Range {
        /// The first row that was asked for.
        start: usize,
        /// The row behind the last one.
        end: usize,
        /// The number of rows of the set.
        len: usize,
    },
    /// There are fewer rows than a computation needs.
    Rows {
        /// How many there are.
        found: usize,
        /// How many are needed.
        least: usize,
    },
    /// A width of 0, or one that 32-bit numbers of columns do not reach.
    Columns {
        /// The width.
        width: usize,
    },
    /// Values that do not fill their last row.
    Ragged {
        /// The number of values.
        values: usize,
        /// The number of values of a row.
        per_row: usize,
    },
    /// Sparse rows with a number of columns that is not their number of values.
    Entries {
        /// The number of columns.
        columns: usize,
        /// The number of values.
        values: usize,
    },
    /// An offset of sparse rows that is below the one before it, or not the end of the values.
    Offset {
        /// The position among the offsets, from 0.
        position: usize,
        /// The offset.
        found: usize,
        /// The least that it can be.
        least: usize,
        /// The most that it can be.
        most: usize,
    },
    /// A source of rows has given a different number of rows than it was asked for.
    Block {
        /// The first row that was asked for.
        start: usize,
        /// The row behind the last one.
        end: usize,
        /// How many rows it has given.
        found: usize,
    },
    /// Sources of rows that lie side by side have different numbers of rows.
    Sources {
        /// The number of rows of one.
        found: usize,
        /// The number of rows of the first.
        expected: usize,
    },
    /// A kernel matrix that is not symmetric.
    Asymmetric {
        /// The row of an element, from 0.
        row: usize,
        /// The column, from 0.
        column: usize,
        /// The element.
        value: f64,
        /// The element on the other side of the diagonal.
        mirrored: f64,
    },
    /// A kernel matrix with an eigenvalue below 0.
    Indefinite {
        /// The smallest eigenvalue.
        smallest: f64,
        /// The largest eigenvalue.
        largest: f64,
    },
}

impl Display for Misfit {
    fn fmt(&self, out: &mut Formatter) -> fmt::Result {
        match self {
            Self::Length { what, found, expected } => {
                write!(out, "{found} {what}, expected {expected}")
            }
            Self::Width { found, expected } => {
                write!(out, "rows of width {found} where width {expected} is needed")
            }
            Self::Kind { found, expected } => {
                write!(out, "{found} rows where {expected} rows are needed")
            }
            Self::Kernel { kernel, found, allowed } => {
                let allowed = allowed.join(" or ");
                write!(out, "kernel {kernel} is not defined on {found} rows, allowed: {allowed}")
            }
            Self::Range { start, end, len } => write!(out, "rows {start}..{end} of a set of {len}"),
            Self::Rows { found: 0, least: 1 } => write!(out, "no rows: at least one is needed"),
            Self::Rows { found, least } => write!(out, "{found} rows: at least {least} are needed"),
            Self::Columns { width: 0 } => {
                write!(out, "rows of width 0: at least one column is needed")
            }
            Self::Columns { width } => {
                write!(out, "rows of width {width}: at most {} columns are allowed", u32::MAX)
            }
            Self::Ragged { values, per_row } => {
                write!(out, "{values} values are not a whole number of rows of {per_row}")
            }
            Self::Entries { columns, values } => {
                write!(out, "{columns} column indices for {values} values")
            }
            Self::Offset { position, found, least, most } => {
                write!(out, "sparse offset {position} is {found}, allowed {least}..={most}")
            }
            Self::Block { start, end, found } => {
                write!(out, "a row source returned {found} rows for rows {start}..{end}")
            }
            Self::Sources { found, expected } => {
                write!(out, "sources have {found} and {expected} rows, expected equal numbers")
            }
            Self::Asymmetric { row, column, value, mirrored } => write!(
                out,
                "the kernel matrix is not symmetric: [{row}, {column}] is {value}, [{column}, {row}] is {mirrored}"
            ),
            Self::Indefinite { smallest, largest } => write!(
                out,
                "the kernel matrix is not positive semi-definite: its smallest eigenvalue is {smallest}, its largest \
                 is {largest}"
            ),
        }
    }
}
