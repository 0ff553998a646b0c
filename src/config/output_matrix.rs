use dsokr_basis::Kernel;
use dsokr_core::store::check_inside;
use dsokr_data::{DataRoot, read_matrix};
use dsokr_machines::{Coupling, OutputMatrix, Solver};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Config;
use crate::error::Error;
use crate::error::ensure;

/// M of a decomposable kernel `k(x, x') M`, a symmetric, positive semi-definite d × d matrix that says how the d
/// columns of outputs share what they learn (thesis, section 3.2.2): the larger M_ij, the closer columns i and j are
/// predicted. A ridge regression is solved for each eigenvalue of M. A learned M is of the coordinates of answers.
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
    /// 2.6.1, equation 2.133), with any output kernel. M is 0 where λ is too large.
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
    /// Checks what does not depend on data, with a solver, the levels of a pinball loss, and whether answers are in `all`
    /// coordinates.
    pub(super) fn validate(
        &self,
        solver: &Solver,
        levels: Option<&[f64]>,
        all: bool,
    ) -> Result<(), Error> {
        match self {
            Self::Learned { rank } => {
                let found = rank.unwrap_or(1);
                ensure(found > 0, "encoder.output_matrix.rank", found, "at least 1")?;
                let has_spectrum = matches!(solver, Solver::ClosedForm(_) | Solver::Sketched(_));
                let name = format!("{:?}", solver.name());
                let allowed =
                    "\"closed-form\" or \"sketched\", with a learned encoder.output_matrix";
                ensure(has_spectrum, "encoder.solver.name", name, allowed)?;
            }
            Self::Dense { file } | Self::Laplacian { file, .. } => {
                check_inside("encoder.output_matrix.file", file)?;
            }
            Self::Quantiles { gamma } => {
                let allowed = "\"dense\", \"laplacian\" or \"learned\"; \"quantiles\" only with the pinball loss";
                ensure(levels.is_some(), "encoder.output_matrix.kind", "\"quantiles\"", allowed)?;
                OutputMatrix::quantiles(levels.unwrap_or_default(), *gamma)?;
            }
        }
        ensure(all, KEY, "given", "absent: encoder.answers are those of other coordinates")
    }

    /// Checks the settings of outputs and decoding.
    pub(super) fn check_compatible(&self, levels: bool, config: &Config) -> Result<(), Error> {
        let second = config.decoding.second_look.is_none();
        ensure(second, KEY, "given", "absent, with decoding.second_look")?;
        let allowed = "false, with encoder.output_matrix: a sketch of at least as many columns as outputs have spans all";
        ensure(levels || !config.sketch.full, "sketch.full", true, allowed)?;
        if let Self::Learned { .. } = self {
            return Ok(());
        }
        let kernel = config.output.single_kernel()?;
        let name = kernel.name();
        let allowed = "\"linear\", with encoder.output_matrix";
        ensure(**kernel == Kernel::Linear, "output.kernel.name", name, allowed)?;
        config.output.check_untempered("no tempering, with encoder.output_matrix")
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
