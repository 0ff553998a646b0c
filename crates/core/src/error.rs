use std::fmt::Display;
use std::io::ErrorKind;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use crate::message::shown;
use crate::misfit::Misfit;
use crate::place::Place;

/// The errors of this crate and of the crates that compute. Each message holds the place, the value and what is
/// expected.
///
/// A variant holds values where a caller can do something with them. It holds a text where a caller can only show it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused to read or write a file.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// A file that is missing, damaged, of a different kind or version, or that contradicts itself.
    #[error("{}{}: {message}", path.display(), line.map_or_else(String::new, |line| format!(":{line}")))]
    File {
        /// The file.
        path: PathBuf,
        /// The line, where it matters.
        line: Option<usize>,
        /// The contents, and what is expected. It is a text, because readers of files of other crates say it too.
        message: String,
    },
    /// A file that does not exist.
    #[error("{}: no such file", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A number is NaN or infinite.
    #[error("{what}{}row {row}, column {column}: {value} is not a finite number", if what.is_empty() { "" } else { ", " })]
    NotFinite {
        /// The container of the number; empty for feature rows.
        what: &'static str,
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The value.
        value: f64,
    },
    /// A number of a query, a candidate or a score is NaN or infinite.
    #[error("{place}: {value} is not a finite number")]
    NotFiniteAt {
        /// The place of the number: a text with the names of a query, a candidate and a member.
        place: String,
        /// The number.
        value: f32,
    },
    /// A row that holds what is not allowed.
    #[error("row {row}: {message}")]
    Row {
        /// Row, from 0.
        row: usize,
        /// The value, and what is allowed. It is a text, because kernels of users say what they allow.
        message: String,
    },
    /// A number or a choice is outside of its range.
    #[error("{key} = {found}: {}", wanted(allowed))]
    Value {
        /// The name of the key, after the name of its container.
        key: Place,
        /// The value of the key as it is displayed: it can be of any type.
        found: String,
        /// The values allowed, in words.
        allowed: String,
    },
    /// A value that is possible by itself, and that other values rule out.
    #[error("{key} = {value}: {because}")]
    Refused {
        /// The name of the key, after the name of its container.
        key: Place,
        /// The value.
        value: String,
        /// Why it is not possible, and what to give in its place.
        because: String,
    },
    /// There is less than is needed.
    #[error("{found}, at least {least} {} needed", if *least == 1 { "is" } else { "are" })]
    TooFew {
        /// The thing that there is too little of, in words with its number.
        found: String,
        /// How many are needed.
        least: usize,
    },
    /// A number, with what it is of, is outside of its range.
    #[error("{found}, allowed: {allowed}")]
    OutOfRange {
        /// The number and what it counts, in words.
        found: String,
        /// The numbers allowed, in words.
        allowed: String,
    },
    /// Inputs that contradict one another. The text names both sides.
    #[error("{0}")]
    Inconsistent(String),
    /// Rows or a matrix of a number, kind or width that does not fit, or a matrix that is not a kernel matrix.
    #[error("{0}")]
    Shape(Misfit),
    /// A positive semi-definite matrix that is zero, where its leading eigenvectors are needed.
    #[error(
        "{what} is zero (largest eigenvalue {largest}): are all rows zero, as those of constant columns are once these \
         are standardised or centred?"
    )]
    ZeroMatrix {
        /// The matrix, in words.
        what: &'static str,
        /// The largest eigenvalue.
        largest: f64,
    },
    /// A computation that overflows, does not converge, or meets a numerically singular matrix. The text has its
    /// numbers and the remedy, which differ from computation to computation.
    #[error("{0}")]
    Numeric(String),
    /// An operation that does not exist for these data or this object. The text says why, and what exists.
    #[error("{0}")]
    Unsupported(String),
    /// A rank of a job of several processes that cannot be reached, or whose work differs from the work of the others.
    #[error("rank {rank}: {message}")]
    Process {
        /// The number of the rank, from 0.
        rank: usize,
        /// The error of the rank as a text, which is what ranks send to one another.
        message: String,
    },
    /// An error in one of several items of an argument, such as a matrix in a list.
    #[error("{what} {number}: {source}")]
    Item {
        /// The kind of items, in words.
        what: &'static str,
        /// The position of the item, from 0.
        number: usize,
        /// The error of the item.
        source: Box<Error>,
    },
    /// An error in one of several parts, such as a member of an ensemble.
    #[error("{place}: {source}")]
    At {
        /// The name of the part.
        place: String,
        /// The error.
        source: Box<Error>,
    },
    /// A part of a program, such as a kernel or an encoder, that does not do what its trait promises: what a contract suite
    /// finds.
    #[error("the {part} breaks its contract: {breach}")]
    Contract {
        /// The part: `kernel` or `encoder`.
        part: &'static str,
        /// The first promise that is not kept, in words.
        breach: String,
    },
    /// [`Cancellation::cancel`](crate::Cancellation::cancel) has ended the work.
    #[error("the work was cancelled")]
    Cancelled,
}

/// Returns the advice for a value: to be one that is allowed, or to be removed.
fn wanted(allowed: &str) -> String {
    match allowed.strip_prefix("absent") {
        Some(reason) => format!("remove it{reason}"),
        None => format!("expected {allowed}"),
    }
}

impl Error {
    /// Returns what makes the error of a file that the operating system refused to read or write: for `map_err`.
    pub fn io(path: &Path) -> impl Fn(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path: path.clone(), source }
    }

    /// Creates the error for a file whose content is not what is expected.
    pub fn file(path: &Path, message: impl Display) -> Self {
        Self::at_line(path, None, message)
    }

    /// Creates the error for a line of a file, or a whole file, whose content is not what is expected.
    pub fn at_line(path: &Path, line: impl Into<Option<usize>>, message: impl Display) -> Self {
        let path = path.to_owned();
        let line = line.into();
        let message = message.to_string();
        Self::File { path, line, message }
    }

    /// Creates the error for rows of the kind `found` where `expected` ones are needed.
    pub fn kind(found: impl Display, expected: impl Display) -> Self {
        let found = found.to_string();
        let expected = expected.to_string();
        Self::Shape(Misfit::Kind { found, expected })
    }

    /// Creates the error for rows of the width `found` where `expected` is needed.
    pub fn width(found: usize, expected: usize) -> Self {
        Self::Shape(Misfit::Width { found, expected })
    }

    /// Creates the error for the rows `start..end` of a set of `len`, which has fewer.
    pub fn range(start: usize, end: usize, len: usize) -> Self {
        Self::Shape(Misfit::Range { start, end, len })
    }

    /// Creates the error for no rows where at least one is needed.
    pub fn no_rows() -> Self {
        Self::Shape(Misfit::Rows { found: 0, least: 1 })
    }

    /// Creates the error for rows wider than 32-bit indices address.
    pub fn too_wide(width: usize) -> Self {
        Self::Shape(Misfit::Columns { width })
    }

    /// Creates the error for a row that holds what is not allowed.
    pub fn row(row: usize, message: impl Display) -> Self {
        Self::Row { row, message: message.to_string() }
    }

    /// Creates the error for a column of a row that has only `width` columns.
    pub fn column(row: usize, column: usize, width: usize) -> Self {
        Self::row(row, format!("column {column} is outside of 0..{width}"))
    }

    /// Creates the error for less than is needed.
    pub fn too_few(found: impl Display, least: usize) -> Self {
        Self::TooFew { found: found.to_string(), least }
    }

    /// Creates the error for a number outside of its range; `found` says what it counts.
    pub fn out_of_range(found: impl Display, allowed: impl Display) -> Self {
        Self::OutOfRange { found: found.to_string(), allowed: allowed.to_string() }
    }

    /// Creates the error for inputs that contradict one another.
    pub fn inconsistent(message: impl Display) -> Self {
        Self::Inconsistent(message.to_string())
    }

    /// Creates the error for an operation that does not exist for these data or this object.
    pub fn unsupported(message: impl Display) -> Self {
        Self::Unsupported(message.to_string())
    }

    /// Creates the error for a part of a program that does not do what its trait promises.
    pub fn contract(part: &'static str, breach: impl Display) -> Self {
        Self::Contract { part, breach: breach.to_string() }
    }

    /// Returns the kind of the file system's error, as [`std::io::Error::kind`] does; none for an error that is not about the
    /// file system. A file that is missing is [`ErrorKind::NotFound`], whichever variant says it.
    ///
    /// ```
    /// use std::io::ErrorKind;
    /// use std::path::Path;
    ///
    /// use dsokr_core::store::Stored;
    ///
    /// let error = Stored::open(Path::new("no-such-file.safetensors"), "model", 1).unwrap_err();
    /// assert_eq!(error.io_kind(), Some(ErrorKind::NotFound));
    /// assert!(error.is_not_found());
    /// ```
    pub fn io_kind(&self) -> Option<ErrorKind> {
        match self {
            Self::Io { source, .. } => Some(source.kind()),
            Self::Missing { .. } => Some(ErrorKind::NotFound),
            Self::Item { source, .. } | Self::At { source, .. } => source.io_kind(),
            Self::File { .. }
            | Self::NotFinite { .. }
            | Self::NotFiniteAt { .. }
            | Self::Row { .. }
            | Self::Value { .. }
            | Self::Refused { .. }
            | Self::TooFew { .. }
            | Self::OutOfRange { .. }
            | Self::Inconsistent(_)
            | Self::Shape(_)
            | Self::ZeroMatrix { .. }
            | Self::Numeric(_)
            | Self::Unsupported(_)
            | Self::Process { .. }
            | Self::Contract { .. }
            | Self::Cancelled => None,
        }
    }

    /// Returns whether a file or folder does not exist.
    pub fn is_not_found(&self) -> bool {
        self.io_kind() == Some(ErrorKind::NotFound)
    }

    /// Returns the same error with the part that it is in.
    pub fn at(self, place: String) -> Self {
        Self::At { place, source: Box::new(self) }
    }

    /// Creates the error for a number or a choice that is not allowed.
    pub fn value(key: impl Into<Place>, found: impl Display, allowed: impl Display) -> Self {
        let found = shown(found);
        let allowed = allowed.to_string();
        Self::Value { key: key.into(), found, allowed }
    }

    /// Creates the error for a value that is possible by itself, and that other values rule out.
    pub fn refused(key: impl Into<Place>, value: impl Display, because: impl Display) -> Self {
        let value = shown(value);
        let because = because.to_string();
        Self::Refused { key: key.into(), value, because }
    }

    /// Returns this error with the name of the container before the key of the value. An argument is part of nothing.
    pub fn of(mut self, what: impl Display) -> Self {
        let (Self::Value { key, .. } | Self::Refused { key, .. }) = &mut self else { return self };
        if let Place::Key(key) = key {
            *key = format!("{what}{key}");
        }
        self
    }

    /// Refuses a number or a choice unless it `holds`.
    ///
    /// # Errors
    /// [`Error::Value`].
    pub fn ensure(
        holds: bool,
        key: impl Into<Place>,
        found: impl Display,
        allowed: impl Display,
    ) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self::value(key, found, allowed)) }
    }

    /// Refuses numbers outside of a range.
    ///
    /// # Errors
    /// [`Error::Value`].
    pub fn check_range(
        key: impl Into<Place>,
        found: usize,
        allowed: RangeInclusive<usize>,
    ) -> Result<(), Self> {
        let least = allowed.start();
        let most = allowed.end();
        Self::ensure(allowed.contains(&found), key, found, format_args!("{least}..={most}"))
    }

    /// Refuses none where at least one is needed.
    ///
    /// # Errors
    /// [`Error::Value`].
    pub fn check_count(key: impl Into<Place>, count: usize) -> Result<(), Self> {
        Self::ensure(count > 0, key, count, "at least 1")
    }

    /// Refuses two things that belong together and have different lengths.
    ///
    /// # Errors
    /// [`Error::Shape`].
    pub fn check_length(what: &str, found: usize, expected: usize) -> Result<(), Self> {
        if found == expected {
            Ok(())
        } else {
            Err(Self::Shape(Misfit::Length { what: what.to_owned(), found, expected }))
        }
    }

    /// Refuses rows of `width` numbers that are not all finite; `what` holds them.
    ///
    /// # Errors
    /// [`Error::NotFinite`].
    pub fn check_finite<T: Copy + Into<f64>>(
        what: &'static str,
        width: usize,
        values: &[T],
    ) -> Result<(), Self> {
        match values.iter().position(|&value| !value.into().is_finite()) {
            Some(at) => {
                let row = at / width;
                let column = at % width;
                let value = values[at].into();
                Err(Self::NotFinite { what, row, column, value })
            }
            None => Ok(()),
        }
    }

    /// Returns the same error with its row, counted within a block, counted from the first row of all.
    pub fn at_rows(mut self, absolute: impl Fn(usize) -> usize) -> Self {
        if let Self::Row { row, .. } | Self::NotFinite { row, .. } = &mut self {
            *row = absolute(*row);
        }
        self
    }
}
