//! What a fit takes, counted from its settings before any memory is taken.

use crate::{Arithmetic, Solver};

/// Memory and work of a fit. The numbers are no integers because settings may ask for more than an integer
/// holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Bytes beside the inputs and the targets.
    pub bytes: f64,
    /// Multiplications beside those of the kernel's values.
    pub multiplications: f64,
}

impl Solver {
    /// What fitting `pairs` pairs with `coordinates` coordinates takes, for `lambdas` values of λ, on
    /// `threads` threads.
    pub fn cost(&self, pairs: usize, coordinates: usize, lambdas: usize, threads: usize) -> Cost {
        let [n, p, fits, threads] =
            [pairs, coordinates, lambdas, threads].map(|count| count as f64);
        // several λ are compared in the eigenvectors of the system
        let spectrum = |size: f64| if lambdas > 1 { 32.0 * size * size } else { 0.0 };
        let cubes = if lambdas > 1 { 10.0 } else { 0.4 };
        let sketched = |m: f64| Cost {
            bytes: 8.0 * (2.0 + threads) * m * m + 24.0 * m * p + spectrum(m),
            multiplications: n * m * (0.5 * m + p) + m * m * (cubes * m + p),
        };
        let size = self.sketch().map_or(0, |sketch| sketch.size) as f64;
        match self {
            Self::ClosedForm(options) => {
                let number = match options.precision {
                    Arithmetic::Single => 4.0,
                    Arithmetic::Double => 8.0,
                };
                Cost {
                    bytes: 0.6 * number * n * n + 24.0 * n * p + spectrum(n),
                    multiplications: cubes * n.powi(3) + 2.0 * n * n * p,
                }
            }
            Self::Sketched(_) => sketched(size),
            Self::ConjugateGradients(options) => {
                let Cost { bytes, multiplications } = sketched(size);
                let steps = 2.0 * options.iterations as f64 * n * size * p;
                let work = fits * (multiplications + steps);
                let kept = (8.0 * n * size).min(options.memory as f64);
                Cost { bytes: bytes + kept + 48.0 * size * p, multiplications: work }
            }
            Self::Averaged(_) => {
                let Cost { bytes, multiplications } = sketched(size);
                Cost { bytes: 2.0 * bytes, multiplications: fits * multiplications }
            }
            Self::Lipschitz(_) => {
                let Cost { bytes, multiplications } = sketched(size);
                let steps = 200.0 * n * size * p;
                let work = fits * (multiplications + steps);
                // the gradient, that of a part of the rows on each thread, and the weights of a step
                let steps = 8.0 * (threads + 8.0) * size * p;
                Cost { bytes: bytes + 24.0 * n * (size + p) + steps, multiplications: work }
            }
        }
    }
}
