use std::fmt::Display;

use dsokr_core::Error;

/// Refuses what does not hold, with an error that is made only then.
pub(crate) fn ensure(holds: bool, error: impl FnOnce() -> Error) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(error()) }
}

/// Refuses a number unless it `holds`; what it is and what is allowed are formatted only then.
pub(crate) fn ensure_allowed(
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

/// Refuses a number that is not finite; `place` says where one is.
pub(crate) fn all_finite<T: Copy + Into<f32>>(
    values: &[T],
    place: impl FnOnce(usize) -> String,
) -> Result<(), Error> {
    match values.iter().position(|&value| !value.into().is_finite()) {
        None => Ok(()),
        Some(at) => Err(Error::NotFiniteAt { place: place(at), value: values[at].into() }),
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

/// Returns the error for a gold candidate that is not among the candidates of its query.
pub(crate) fn missing_gold(query: &str, gold: &str) -> Error {
    Error::inconsistent(format_args!(
        "query {query}: its gold candidate {gold} is not among its candidates"
    ))
}
