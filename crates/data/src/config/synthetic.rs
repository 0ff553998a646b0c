use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::check;

/// H of `y = H x + ε`. `H_0` has independent standard normal entries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SyntheticMap {
    /// `U H_0` with `rank` orthonormal columns U in random directions, and that many rows in `H_0`:
    /// outputs lie near a subspace (thesis, equation 5.21).
    LowRank {
        /// Dimension of the subspace, at most `outputs`.
        rank: usize,
    },
    /// `H_0`.
    Dense {},
    /// `C H_0` with the inputs' covariance C, as many outputs as inputs (thesis, section 4.5).
    Covariance {},
    /// `s (H_0 C H_0ᵀ) H_0`, whose outputs vary most where they can be predicted: the case in which
    /// reduced rank gains (reduced rank paper, section 5.1, β = 1/3). s makes the outputs vary as
    /// much as those of `H_0`.
    Aligned {},
}

/// ε of `y = H x + ε`, from `N(0, E)` with eigenvectors of E in random directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoiseConfig {
    /// The largest eigenvalue σ² of E.
    pub variance: f64,
    /// The j-th eigenvalue is `σ² j^−decay`; 0 gives the same noise in all directions.
    #[serde(default)]
    pub decay: f64,
}

/// Vectors that are drawn in place of files, the papers' synthetic least squares: inputs
/// `x ~ N(0, C)` and outputs `y = H x + ε`, everything drawn from `seed`.
///
/// The candidates are the outputs of validation and test pairs. Ids are numbers from 1: of training,
/// validation and test pairs, and of outputs without inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SyntheticConfig {
    /// Number of training pairs.
    pub train: usize,
    /// Number of validation pairs.
    pub validation: usize,
    /// Number of test pairs.
    #[serde(default)]
    pub test: usize,
    /// Number of outputs that come without an input.
    #[serde(default)]
    pub unlabelled: usize,
    /// Coordinates of an input.
    pub inputs: usize,
    /// Coordinates of an output.
    pub outputs: usize,
    /// The j-th eigenvalue of C is `j^−input_decay`; its eigenvectors are drawn.
    pub input_decay: f64,
    /// H.
    pub map: SyntheticMap,
    /// ε.
    pub noise: NoiseConfig,
}

impl SyntheticConfig {
    /// Bytes that drawing takes, by the keys that determine them.
    pub(crate) fn memory(&self) -> Vec<(&'static str, f64)> {
        let counts = [self.train, self.validation, self.test, self.unlabelled];
        let rows: f64 = counts.iter().map(|&count| count as f64).sum();
        let [from, to] = [self.inputs, self.outputs].map(|width| width as f64);
        // the roots of the covariances with their factors; the map with what it is made of
        vec![
            ("data.train × data.inputs", rows * (4.0 * from + 100.0)),
            ("data.train × data.outputs", 8.0 * rows * to),
            ("data.inputs", 16.0 * from * from),
            ("data.outputs", if self.noise.decay > 0.0 { 16.0 * to * to } else { 0.0 }),
            ("data.inputs × data.outputs", 12.0 * from * to),
        ]
    }

    pub(super) fn validate(&self) -> Result<(), Error> {
        let counts = [
            ("data.train", self.train),
            ("data.validation", self.validation),
            ("data.inputs", self.inputs),
            ("data.outputs", self.outputs),
        ];
        counts.iter().try_for_each(|&(key, count)| check(count > 0, key, count, "at least 1"))?;
        let numbers = [
            ("data.input_decay", self.input_decay),
            ("data.noise.variance", self.noise.variance),
            ("data.noise.decay", self.noise.decay),
        ];
        for (key, number) in numbers {
            check(number.is_finite() && number >= 0.0, key, number, "zero or a positive number")?;
        }
        match self.map {
            SyntheticMap::LowRank { rank } => {
                let holds = rank > 0 && rank <= self.outputs;
                let allowed = format!("1 to {}, the coordinates of an output", self.outputs);
                check(holds, "data.map.rank", rank, &allowed)
            }
            SyntheticMap::Covariance {} if self.inputs != self.outputs => {
                let allowed = format!("{}, as data.inputs, for this map", self.inputs);
                Err(Error::value("data.outputs", self.outputs, allowed))
            }
            _ => Ok(()),
        }
    }
}
