use serde::{Deserialize, Serialize};

use crate::ridge::Error;

/// How [`fit_conjugate_gradients`](crate::ridge::fit_conjugate_gradients()) solves its system, and when it stops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ConjugateGradients {
    /// The residual of every coordinate as a share of its right-hand side at which it is solved, in
    /// the norm of the preconditioned system; between 0 and 1 (default: 1e-8).
    pub tolerance: f64,
    /// The most iterations, at least 1 (default: 100). A fit that needs more says so in
    /// [`Summary::convergence`](crate::ridge::Summary::convergence).
    pub iterations: usize,
    /// s, the rows that the preconditioner is made of, 1 to n (default: eight for each unknown, or all
    /// rows where there are fewer). More make it better, at s m²/2 multiplications.
    pub sample: Option<usize>,
    /// Bytes of sketched kernel values, 8 n m in all, that are kept between iterations; what is above is
    /// computed again in each (default: 2³⁰).
    pub memory: usize,
}

impl Default for ConjugateGradients {
    fn default() -> Self {
        Self { tolerance: 1e-8, iterations: 100, sample: None, memory: 1 << 30 }
    }
}

impl ConjugateGradients {
    /// Checks the settings for n rows.
    pub(super) fn check(&self, n: usize) -> Result<(), Error> {
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) {
            return Err(Error::Tolerance { value: self.tolerance });
        }
        let range = |what, found, high| Err(Error::Range { what, found, low: 1, high });
        match (self.iterations, self.sample) {
            (0, _) => range("number of iterations", 0, usize::MAX),
            (_, Some(sample)) if sample == 0 || sample > n => {
                range("rows of the sample", sample, n)
            }
            _ => Ok(()),
        }
    }
}

/// How far conjugate gradients came.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Convergence {
    /// Iterations taken, each one pass over the rows.
    pub iterations: usize,
    /// The largest relative residual of a coordinate, as the recurrence has it.
    pub residual: f64,
    /// What was asked for.
    pub tolerance: f64,
}

impl Convergence {
    /// Whether every coordinate reached the tolerance.
    pub fn converged(&self) -> bool {
        self.residual <= self.tolerance
    }
}

impl std::fmt::Display for Convergence {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        let not = if self.converged() { "" } else { "not " };
        let Self { iterations, residual, tolerance } = self;
        write!(
            out,
            "{not}converged in {iterations} iterations to a residual of {residual:.1e} \
             (asked for: {tolerance:.1e})"
        )
    }
}
