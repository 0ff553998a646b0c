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
    /// A Gram matrix is not symmetric.
    #[error(
        "the kernel matrix is not symmetric: [{row}, {column}] is {value}, [{column}, {row}] is \
         {mirrored}"
    )]
    NotSymmetric {
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The element there.
        value: f64,
        /// The element mirrored at the diagonal.
        mirrored: f64,
    },
    /// A Gram matrix is not positive semi-definite.
    #[error(
        "the kernel matrix is not positive semi-definite: its smallest eigenvalue is {smallest}, \
         its largest {largest}"
    )]
    NotSemidefinite {
        /// The smallest eigenvalue.
        smallest: f64,
        /// The largest eigenvalue.
        largest: f64,
    },
    /// A system to solve is singular to rounding.
    #[error(
        "the system of {size} unknowns is not positive definite to rounding (row {row}, \
         n·lambda = {ridge}); raise lambda, or solve in double precision"
    )]
    NotPositive {
        /// Number of unknowns.
        size: usize,
        /// Row at which it showed.
        row: usize,
        /// `nλ`.
        ridge: f64,
    },
    /// One of several kernel matrices is not what it should be.
    #[error("kernel {kernel}: {source}")]
    Kernel {
        /// Its position, from 0.
        kernel: usize,
        /// What is wrong with it.
        source: Box<Error>,
    },
    /// A kernel matrix holds zeros only.
    #[error("the kernel matrix is zero: no input is like any other, nor like itself")]
    ZeroGram,
    /// A kernel is zero when it is centred.
    #[error("kernel {kernel} is constant: it tells no input from another")]
    ConstantKernel {
        /// Its position, from 0.
        kernel: usize,
    },
    /// The outputs' Gram matrix is zero when it is centred.
    #[error("the outputs' kernel is constant: there is nothing to align with")]
    ConstantOutputs,
    /// No kernel is aligned with the outputs.
    #[error("no kernel is aligned with the outputs, the best centred alignment is {best}")]
    NotAligned {
        /// The largest centred alignment, at most 0.
        best: f64,
    },
    /// A weight of a kernel that a sum of kernels cannot have.
    #[error("the weight of kernel {kernel} is {value}, allowed: finite numbers from 0")]
    Weight {
        /// The kernel's position, from 0.
        kernel: usize,
        /// The weight found.
        value: f64,
    },
    /// A tolerance that no residual can be compared with.
    #[error("tolerance is {value}, allowed: numbers above 0 and below 1")]
    Tolerance {
        /// The value found.
        value: f64,
    },
    /// Conjugate gradients met a direction without curvature.
    #[error(
        "conjugate gradients, iteration {iteration}, coordinate {coordinate}: curvature {value}, \
         allowed: above 0; the system is singular to rounding: raise lambda"
    )]
    Curvature {
        /// Iteration, from 1.
        iteration: usize,
        /// Coordinate, from 0.
        coordinate: usize,
        /// The curvature, `dᵀ C d`.
        value: f64,
    },
    /// A row has no labels.
    #[error("row {row} has no labels, at least 1 is needed")]
    NoLabels {
        /// Row, from 0.
        row: usize,
    },
    /// Targets by blocks were asked of the identity on the training outputs.
    #[error("outputs are projected block by block in a basis; this space is the training outputs")]
    NoBasis,
    /// A grid of values to choose from is empty.
    #[error("no {what} to choose from, at least 1 is needed")]
    EmptyGrid {
        /// What is chosen.
        what: &'static str,
    },
    /// Models to average differ in what they predict.
    #[error("model {model} predicts {found} coordinates, the first one {expected}")]
    DifferentModels {
        /// Its position, from 0.
        model: usize,
        /// Number of coordinates.
        found: usize,
        /// Number of coordinates of the first model.
        expected: usize,
    },
    /// A query has no list of candidates.
    #[error("{}: no list of candidates for query {query:?}", path.display())]
    NoList {
        /// The file.
        path: PathBuf,
        /// The query.
        query: String,
    },
    /// The parts of a model's file contradict one another.
    #[error("{}: {reason}", path.display())]
    BadFile {
        /// The file.
        path: PathBuf,
        /// What contradicts what.
        reason: String,
    },
    /// The operating system refused to read a file.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A line of a data file is not what it should be.
    #[error("{}:{line}: {reason}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What was found, and what is allowed.
        reason: String,
    },
}
