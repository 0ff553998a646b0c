use std::fmt::Display;
use std::path::Path;

/// The largest λ: the squares of nλ, from which the condition of a system is computed, are finite.
pub const LARGEST_LAMBDA: f64 = 1e100;

/// Everything that can go wrong in this crate; each message says what was found and what is allowed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the crate `dsokr-basis`: of a kernel, a sketch, a basis, rows or a file; a system that is
    /// numerically singular.
    #[error(transparent)]
    Basis(#[from] dsokr_basis::Error),
    /// A number or a choice is outside of its range.
    #[error("{what} is {value}, allowed: {allowed}")]
    Value {
        /// What was asked for.
        what: String,
        /// The value found.
        value: String,
        /// The values allowed.
        allowed: String,
    },
    /// Two things that belong together have different lengths.
    #[error("{found} {what}, expected {expected}")]
    Length {
        /// What there are too few or too many of.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many are needed.
        expected: usize,
    },
    /// A value is NaN or infinite.
    #[error("{what}, row {row}, column {column}: {value} is not a finite number")]
    NotFinite {
        /// What holds it.
        what: &'static str,
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The value found.
        value: f64,
    },
    /// A matrix that must be symmetric is not.
    #[error(
        "{what} is not symmetric: [{row}, {column}] is {value}, [{column}, {row}] is {mirrored}"
    )]
    NotSymmetric {
        /// Which matrix.
        what: &'static str,
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The element there.
        value: f64,
        /// The element mirrored at the diagonal.
        mirrored: f64,
    },
    /// A matrix has a negative eigenvalue.
    #[error(
        "{what} is not positive semi-definite: its smallest eigenvalue is {smallest}, its largest \
         {largest}"
    )]
    NotSemidefinite {
        /// Which matrix.
        what: &'static str,
        /// The smallest eigenvalue.
        smallest: f64,
        /// The largest eigenvalue.
        largest: f64,
    },
    /// One of several kernel matrices cannot be used.
    #[error("kernel {kernel}: {source}")]
    Kernel {
        /// Its position, from 0.
        kernel: usize,
        /// What is wrong with it.
        source: Box<Error>,
    },
}

impl Error {
    pub(crate) fn value(what: impl Display, value: impl Display, allowed: impl Display) -> Self {
        let [what, value, allowed] = [what.to_string(), value.to_string(), allowed.to_string()];
        Self::Value { what, value, allowed }
    }

    /// Unless a number or a choice is allowed.
    pub(crate) fn check(
        holds: bool,
        what: impl Display,
        value: impl Display,
        allowed: impl Display,
    ) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self::value(what, value, allowed)) }
    }

    /// Unless there is at least one.
    pub(crate) fn check_count(what: &str, count: usize) -> Result<(), Self> {
        Self::check(count > 0, what, count, "at least 1")
    }

    /// Unless `low ≤ value ≤ high`.
    pub(crate) fn check_range(
        what: &str,
        value: usize,
        low: usize,
        high: usize,
    ) -> Result<(), Self> {
        let holds = (low..=high).contains(&value);
        Self::check(holds, what, value, format_args!("{low}..={high}"))
    }

    /// Unless `found` equals `expected`.
    pub(crate) fn check_length(
        what: &'static str,
        found: usize,
        expected: usize,
    ) -> Result<(), Self> {
        if found == expected { Ok(()) } else { Err(Self::Length { what, found, expected }) }
    }

    /// Unless λ is a number above 0, at most [`LARGEST_LAMBDA`].
    pub(crate) fn check_lambda(lambda: f64) -> Result<(), Self> {
        let holds = lambda > 0.0 && lambda <= LARGEST_LAMBDA;
        Self::check(holds, "lambda", lambda, "numbers above 0, at most 1e100")
    }

    /// Unless all values of rows of `width` numbers are finite.
    pub(crate) fn check_finite<T: Copy + Into<f64>>(
        what: &'static str,
        width: usize,
        values: &[T],
    ) -> Result<(), Self> {
        match values.iter().position(|&value| !value.into().is_finite()) {
            Some(at) => {
                let (row, column, value) = (at / width, at % width, values[at].into());
                Err(Self::NotFinite { what, row, column, value })
            }
            None => Ok(()),
        }
    }

    /// The parts of a file contradict one another, or what the file belongs to.
    pub(crate) fn file(path: &Path, message: impl Display) -> Self {
        dsokr_basis::Error::file(path, message).into()
    }

    /// The problem has no numerically meaningful solution: a singular system, a constant or zero kernel, an
    /// overflow.
    pub(crate) fn numeric(message: impl Into<String>) -> Self {
        dsokr_basis::Error::Numeric(message.into()).into()
    }
}
