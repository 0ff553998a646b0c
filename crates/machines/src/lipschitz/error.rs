use std::path::PathBuf;

/// Everything that can go wrong in this crate; each variant carries the offending values.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A kernel, a sketch, a basis, rows or a file of the crate `dsokr-basis`.
    #[error(transparent)]
    Basis(#[from] dsokr_basis::Error),
    /// The regularisation is not above 0.
    #[error("lambda is {value}, allowed: finite numbers above 0")]
    Lambda {
        /// The value found.
        value: f64,
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
    /// A size or a count that cannot be honoured.
    #[error("{what} is {found}, allowed: {low}..={high}")]
    Range {
        /// What was asked for.
        what: &'static str,
        /// The number found.
        found: usize,
        /// The least allowed.
        low: usize,
        /// The greatest allowed.
        high: usize,
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
    /// A residual outside of a basis is a squared distance.
    #[error("the residual of row {row} is {value}, allowed: finite numbers, 0 and above")]
    Residual {
        /// Row, from 0.
        row: usize,
        /// The value found.
        value: f64,
    },
    /// A parameter is outside of its range.
    #[error("{of}: {parameter} = {value}, allowed: {allowed}")]
    Parameter {
        /// What has the parameter: a loss, an output matrix, the stopping rule.
        of: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// Its value.
        value: f64,
        /// The values allowed.
        allowed: &'static str,
    },
    /// Quantile levels must increase strictly within (0, 1).
    #[error("quantile level {position} is {value}, allowed: above {low}, below 1")]
    Level {
        /// Its position, from 0.
        position: usize,
        /// Its value.
        value: f64,
        /// The level before it; 0 for the first one.
        low: f64,
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
    /// A matrix is not positive semi-definite, or zero.
    #[error(
        "{what} is not positive semi-definite and above zero: its smallest eigenvalue is \
         {smallest}, its largest {largest}"
    )]
    NotSemidefinite {
        /// Which matrix.
        what: &'static str,
        /// The smallest eigenvalue.
        smallest: f64,
        /// The largest eigenvalue.
        largest: f64,
    },
    /// The objective stopped being a finite number.
    #[error("the objective is {value} after {steps} steps: values overflow; rescale the targets")]
    Overflow {
        /// The objective.
        value: f64,
        /// Number of steps done.
        steps: usize,
    },
    /// A machine is loaded with another basis than the one that it was fitted on.
    #[error("{}: fitted on the basis {expected}, not on {found}", path.display())]
    OtherBasis {
        /// The file.
        path: PathBuf,
        /// Fingerprint of the basis given.
        found: String,
        /// Fingerprint in the file.
        expected: String,
    },
    /// The parts of a machine's file contradict one another.
    #[error("{}: {reason}", path.display())]
    BadFile {
        /// The file.
        path: PathBuf,
        /// What contradicts what.
        reason: String,
    },
}
