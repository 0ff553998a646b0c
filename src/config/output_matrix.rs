//! The table `[encoder.output_matrix]` of kernel machines: how the columns of outputs share what they learn.

use dsokr_basis::Kernel;
use dsokr_core::store::check_inside;
use dsokr_data::{DataRoot, read_matrix};
use dsokr_machines::{Coupling, OutputMatrix, Solver};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Config;
use super::rules::{Rule, check};
use crate::error::{Error, ensure};

/// M of a decomposable kernel `k(x, x') M`, a symmetric, positive semi-definite d × d matrix that says how the d
/// columns of outputs share what they learn (thesis, section 3.2.2): the larger M_ij, the closer columns i and j are
/// predicted. A ridge regression splits into one for each eigenvalue of M. A learned M is of the coordinates of predictions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum OutputMatrixConfig {
    /// A given matrix.
    Dense {
        /// The matrix, a .npy file in the folder of the data.
        file: String,
    },
    /// `M = (μL + (1 − μ)I)⁻¹`, with the Laplacian L of a graph whose vertices are the columns (thesis, example 2.12).
    Laplacian {
        /// Its symmetric adjacency matrix, the weights of the edges: a .npy file in the folder of the data.
        file: String,
        /// μ, from 0, which is the identity, to below 1.
        weight: f64,
    },
    /// Learned with the ridge regression: f and M minimise `(1/n) Σ_i ‖f(x_i) − ψ̃(y_i)‖² + λ(‖f‖² + tr M)` (thesis, section
    /// 2.6.1, equation 2.133, whose λ is n times this one), with any output kernel. M is 0 where λ is too large.
    Learned {
        /// The largest rank of M; default: any.
        rank: Option<usize>,
    },
    /// `M_ij = exp(−γ (τ_i − τ_j)²)` of the levels of the pinball loss.
    Quantiles {
        /// γ, 0 and above.
        gamma: f64,
    },
}

const KEY: &str = "encoder.output_matrix";

impl OutputMatrixConfig {
    /// Checks what does not depend on data, with a solver, the levels of a pinball loss, and whether predictions are in `all`
    /// coordinates.
    pub(super) fn validate(
        &self,
        solver: &Solver,
        levels: Option<&[f64]>,
        all: bool,
    ) -> Result<(), Error> {
        match self {
            Self::Learned { rank } => {
                let rank = rank.unwrap_or(1);
                ensure(rank > 0, "encoder.output_matrix.rank", rank, "at least 1")?;
                let name = format!("{:?}", solver.name());
                let solvers = Solver::names(|abilities| abilities.leave_one_out);
                let allowed = format_args!("{solvers} with a learned encoder.output_matrix");
                let has_spectrum = solver.abilities().leave_one_out;
                ensure(has_spectrum, "encoder.solver.name", name, allowed)?;
            }
            Self::Dense { file } | Self::Laplacian { file, .. } => {
                check_inside("encoder.output_matrix.file", file)?;
            }
            Self::Quantiles { gamma } => {
                let allowed = "\"dense\", \"laplacian\" or \"learned\" without the pinball loss";
                ensure(levels.is_some(), "encoder.output_matrix.kind", "\"quantiles\"", allowed)?;
                OutputMatrix::quantiles(levels.unwrap_or_default(), *gamma)?;
            }
        }
        if all {
            return Ok(());
        }
        Err(Error::refused(KEY, "given", "encoder.predictions are other coordinates; remove it"))
    }

    /// Checks the settings of outputs and decoding.
    pub(super) fn check_compatible(&self, levels: bool, config: &Config) -> Result<(), Error> {
        let rules = [
            Rule {
                key: KEY,
                refused_when: config.decoding.reranker.is_some(),
                because: "decoding.reranker does not take it; remove one of them",
            },
            Rule {
                key: "sketch.full",
                refused_when: !levels && config.sketch.full,
                because: "encoder.output_matrix needs a basis, and a sketch of as many columns as outputs have spans all; \
                          set it to false",
            },
        ];
        check(config, "", &rules)?;
        if let Self::Learned { .. } = self {
            return Ok(());
        }
        let linear = **config.output.single_kernel()? == Kernel::Linear;
        let because = "encoder.output_matrix couples columns of outputs, which needs \"linear\"";
        check(config, "", &[Rule { key: "output.kernel.name", refused_when: !linear, because }])?;
        config.output.check_untempered("encoder.output_matrix needs a kernel without tempering")
    }

    /// Reads the files in the folder of the data, and makes the matrix.
    pub(crate) fn coupling(&self, levels: &[f64], root: &DataRoot) -> Result<Coupling, Error> {
        let read = |file: &String| {
            let path = root.file(file);
            Ok::<_, Error>((read_matrix(&path)?, format!("{}: ", path.display())))
        };
        let (matrix, place) = match self {
            Self::Learned { rank } => return Ok(Coupling::Learned { rank: *rank }),
            Self::Dense { file } => {
                let (matrix, place) = read(file)?;
                (OutputMatrix::new(matrix.as_ref()), place)
            }
            Self::Laplacian { file, weight } => {
                let (matrix, place) = read(file)?;
                (OutputMatrix::laplacian(matrix.as_ref(), *weight), place)
            }
            Self::Quantiles { gamma } => {
                (OutputMatrix::quantiles(levels, *gamma), format!("{KEY}: "))
            }
        };
        Ok(matrix.map_err(|error| error.of(&place))?.into())
    }
}
