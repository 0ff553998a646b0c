use thiserror::Error;

/// Why a graph kernel gives no features.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KernelError {
    /// A parameter out of range.
    #[error("graph kernel {kernel}: {parameter} = {value}; allowed: {allowed}")]
    Parameter {
        /// The kernel, by its name in configuration files.
        kernel: &'static str,
        /// Its parameter.
        parameter: &'static str,
        /// The value found.
        value: usize,
        /// The values allowed.
        allowed: String,
    },
    /// Kernels nested deeper than is sensible.
    #[error("graph kernel: {depth} kernels one inside another; allowed: at most {allowed}")]
    Nesting {
        /// Kernels found, the outermost included.
        depth: usize,
        /// The most allowed.
        allowed: usize,
    },
    /// Graphs to fit a vocabulary on that have no feature.
    #[error("graph kernel {kernel}: none of the {graphs} graphs has a feature")]
    NoFeatures {
        /// The kernel, by its name in configuration files.
        kernel: &'static str,
        /// Number of graphs.
        graphs: usize,
    },
    /// Stored features that do not increase, so they are not those of a vocabulary.
    #[error(
        "feature {position} of the vocabulary, {found:#018x}, does not exceed the one before it, {previous:#018x}"
    )]
    FeatureOrder {
        /// Position in the list, from 0.
        position: usize,
        /// The feature there.
        found: u64,
        /// The one before.
        previous: u64,
    },
    /// Rows that the features do not allow, e.g. more columns than can be numbered.
    #[error(transparent)]
    Rows(#[from] dsokr_basis::Error),
}
