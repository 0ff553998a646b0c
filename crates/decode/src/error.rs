use std::fmt::Display;
use std::path::Path;

/// Everything that can go wrong in this crate; every message carries the offending values.
///
/// Queries and candidates are named by their ids where they have one, else by `#` and their
/// position from 0.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Numbers, lists and files that are not allowed or do not belong together, what does not exist for a kernel or a
    /// rule, or the file system.
    #[error(transparent)]
    Basis(#[from] dsokr_basis::Error),
    /// A number is NaN or infinite.
    #[error("{place}: {value} is not a finite number")]
    NotFinite {
        /// Where it is.
        place: String,
        /// The number.
        value: f32,
    },
    /// An error in one of several parts, such as a member of an ensemble.
    #[error("{place}: {source}")]
    At {
        /// The part.
        place: String,
        /// The error.
        source: Box<Error>,
    },
}

impl Error {
    pub(crate) fn file(path: &Path, line: Option<usize>, message: impl Display) -> Self {
        dsokr_basis::Error::at_line(path, line, message).into()
    }

    /// Less than is needed.
    pub fn too_few(found: impl Display, least: usize) -> Self {
        let are = if least == 1 { "is" } else { "are" };
        Self::inconsistent(format_args!("{found}, at least {least} {are} needed"))
    }

    /// A number, with what it is of, outside of its range.
    pub fn out_of_range(found: impl Display, allowed: impl Display) -> Self {
        Self::inconsistent(format_args!("{found}, allowed: {allowed}"))
    }

    /// Inputs that contradict one another.
    pub(crate) fn inconsistent(message: impl Display) -> Self {
        dsokr_basis::Error::Shape(message.to_string()).into()
    }

    /// An operation that does not exist for this kernel or rule.
    pub(crate) fn unsupported(message: impl Display) -> Self {
        dsokr_basis::Error::Unsupported(message.to_string()).into()
    }

    pub(crate) fn at(self, place: String) -> Self {
        Self::At { place, source: Box::new(self) }
    }
}

/// Refuses what does not hold, with an error that is made only then.
pub(crate) fn ensure(holds: bool, error: impl FnOnce() -> Error) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(error()) }
}

/// Refuses a number unless it `holds`; what it is and what is allowed are formatted only then.
pub(crate) fn check_range(
    holds: bool,
    found: impl Display,
    allowed: impl Display,
) -> Result<(), Error> {
    ensure(holds, || Error::out_of_range(found, allowed))
}

/// Refuses inputs that contradict one another.
pub(crate) fn check_consistent(holds: bool, message: impl Display) -> Result<(), Error> {
    ensure(holds, || Error::inconsistent(message))
}

/// Refuses fewer than `least` of what there is.
pub(crate) fn check_least(count: usize, least: usize, found: impl Display) -> Result<(), Error> {
    ensure(count >= least, || Error::too_few(found, least))
}

/// Refuses lists that belong together and have different lengths.
pub(crate) fn check_len(what: &str, found: usize, expected: usize) -> Result<(), Error> {
    Ok(dsokr_basis::Error::check_length(what, found, expected)?)
}

/// Refuses a number that is not finite; `place` says where one is.
pub(crate) fn all_finite<T: Copy + Into<f32>>(
    values: &[T],
    place: impl FnOnce(usize) -> String,
) -> Result<(), Error> {
    match values.iter().position(|&value| !value.into().is_finite()) {
        None => Ok(()),
        Some(at) => Err(Error::NotFinite { place: place(at), value: values[at].into() }),
    }
}

/// Refuses values that are not a whole number of rows.
pub(crate) fn check_whole_rows(what: &str, values: usize, dim: usize) -> Result<(), Error> {
    check_consistent(
        values.is_multiple_of(dim),
        format_args!("{what}: {values} values are not a whole number of rows of {dim}"),
    )
}

/// Refuses to evaluate no queries.
pub(crate) fn check_queries(count: usize) -> Result<(), Error> {
    check_least(count, 1, "no queries")
}

/// The error for a gold candidate that is not among those of its query.
pub(crate) fn missing_gold(query: &str, gold: &str) -> Error {
    Error::inconsistent(format_args!(
        "query {query}: its gold candidate {gold} is not among its candidates"
    ))
}
