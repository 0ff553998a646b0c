//! The choice of a solver with its options, and what each of them costs.

use std::fmt::Display;
use std::slice::from_ref;

use dsokr_core::loss::Square;
use dsokr_core::processes::Held;
use dsokr_core::{Error, Processes, RowWeights};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use crate::features::InputSketch;
use crate::lipschitz::{LipschitzProblem, Offset, Stop};
use crate::loss::{Loss, tag};
use crate::output_matrix::OutputMatrix;
use crate::ridge::{COMPARED, ConjugateGradients, DivideAndConquer, SAMPLED, equal_parts};
use crate::summary::Arithmetic;

/// How a kernel machine is fitted.
///
/// In a configuration file, a table with the solver's `name` and its options:
///
/// ```
/// use dsokr_machines::Solver;
///
/// let text = r#"{"name": "conjugate-gradients", "sketch": {"size": 500}, "iterations": 20}"#;
/// let Solver::ConjugateGradients(options) = serde_json::from_str(text)? else { panic!() };
/// assert_eq!((options.sketch.size, options.tolerance), (500, 1e-8));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum Solver {
    /// Ridge regression on all training inputs: one Cholesky factor of an n × n matrix.
    #[default]
    ClosedForm(ClosedForm),
    /// Ridge regression in the span of a sketch of the inputs, in one pass over the rows.
    Sketched(Sketched),
    /// The system of `sketched`, solved by preconditioned conjugate gradients: for thousands of sketched inputs.
    ConjugateGradients(ConjugateGradients),
    /// The mean of `sketched` models on parts of the rows (divide and conquer).
    DivideAndConquer(DivideAndConquer),
    /// A Lipschitz loss in the span of a sketch of the inputs.
    Lipschitz(Lipschitz),
}

/// Ridge regression on all training inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClosedForm {
    /// The numbers that the system is solved in (default: double).
    #[serde(default)]
    pub precision: Arithmetic,
}

/// Ridge regression in the span of a sketch of the inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sketched {
    /// The sketch of the inputs.
    pub sketch: InputSketch,
}

/// A Lipschitz loss in the span of a sketch of the inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lipschitz {
    /// The sketch of the inputs.
    pub sketch: InputSketch,
    /// The loss. The pinball loss takes numbers as outputs.
    pub loss: Loss,
    /// b of `f(x) = b + h(x)`; if left out, `constant` with the pinball loss and `zero` with others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<Offset>,
    /// The rule that ends the iterations.
    #[serde(default)]
    pub stop: Stop,
}

impl Lipschitz {
    /// Returns the problem for one λ. Where no output matrix is set, the matrix of quantiles has γ = 1, and other
    /// losses have the identity.
    pub(crate) fn problem(
        &self,
        width: usize,
        lambda: f64,
        output: Option<&OutputMatrix>,
    ) -> Result<LipschitzProblem, Error> {
        let (offset, default) = match self.loss.levels() {
            Some(levels) => (Offset::Constant, OutputMatrix::quantiles(levels, 1.0)),
            None => (Offset::Zero, OutputMatrix::identity(width)),
        };
        let offset = self.offset.unwrap_or(offset);
        let output = output.cloned().map_or(default, Ok)?;
        Ok(LipschitzProblem { loss: self.loss.clone(), output, lambda, offset })
    }
}

/// What a solver can do beside a fit for one λ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SolverAbilities {
    /// It minimises squared errors, and has leave-one-out predictions and errors for every λ
    /// ([`PreparedSolver::spectrum`](crate::PreparedSolver::spectrum)).
    pub leave_one_out: bool,
    /// Several processes share its fits.
    pub shared: bool,
    /// It compares all training inputs with each other, and gives the model of a prefix of the rows with that of all
    /// ([`PreparedSolver::fit_with_prefix`](crate::PreparedSolver::fit_with_prefix)).
    pub compares_all_inputs: bool,
    /// It minimises any [`Loss`], which is a setting.
    pub lipschitz: bool,
}

impl Solver {
    /// Returns one solver of every kind, in the order in which messages name them.
    fn all() -> [Self; 5] {
        let sketch = InputSketch::subsampling(1);
        [
            Self::ClosedForm(ClosedForm::default()),
            Self::Sketched(Sketched { sketch: sketch.clone() }),
            Self::ConjugateGradients(ConjugateGradients::new(sketch.clone())),
            Self::DivideAndConquer(DivideAndConquer { sketch: sketch.clone(), parts: 1 }),
            Self::Lipschitz(Lipschitz {
                sketch,
                loss: Loss::Square(Square {}),
                offset: None,
                stop: Stop::default(),
            }),
        ]
    }

    /// Returns the names of the solvers with an ability, for a message.
    ///
    /// ```
    /// use dsokr_machines::Solver;
    ///
    /// let names = Solver::names(|abilities| abilities.leave_one_out);
    /// assert_eq!(names, "\"closed-form\" or \"sketched\"");
    /// ```
    pub fn names(have: impl Fn(SolverAbilities) -> bool) -> String {
        let solvers = Self::all().into_iter().filter(|solver| have(solver.abilities()));
        let mut names: Vec<String> = solvers.map(|solver| format!("{:?}", solver.name())).collect();
        match names.pop() {
            Some(last) if !names.is_empty() => format!("{} or {last}", names.join(", ")),
            last => last.unwrap_or_default(),
        }
    }

    /// Returns what the solver can do.
    pub fn abilities(&self) -> SolverAbilities {
        let none = SolverAbilities {
            leave_one_out: false,
            shared: false,
            compares_all_inputs: false,
            lipschitz: false,
        };
        match self {
            Self::ClosedForm(_) => {
                SolverAbilities { leave_one_out: true, compares_all_inputs: true, ..none }
            }
            Self::Sketched(_) => SolverAbilities { leave_one_out: true, shared: true, ..none },
            Self::ConjugateGradients(_) | Self::DivideAndConquer(_) => {
                SolverAbilities { shared: true, ..none }
            }
            Self::Lipschitz(_) => SolverAbilities { lipschitz: true, ..none },
        }
    }

    /// Returns the name in configuration files.
    pub fn name(&self) -> String {
        tag(self)
    }

    /// Returns the sketch of the inputs, if there is one.
    pub fn sketch(&self) -> Option<&InputSketch> {
        match self {
            Self::ClosedForm(_) => None,
            Self::Sketched(Sketched { sketch })
            | Self::ConjugateGradients(ConjugateGradients { sketch, .. })
            | Self::DivideAndConquer(DivideAndConquer { sketch, .. })
            | Self::Lipschitz(Lipschitz { sketch, .. }) => Some(sketch),
        }
    }

    /// Returns which of n training rows each process reads, beside the rows of the sketch, where these processes share the
    /// fits: about one in P. All rows, for a solver that they do not share.
    pub fn held(&self, processes: &Processes, n: usize, weights: &RowWeights) -> Held {
        match self {
            Self::Sketched(_) | Self::ConjugateGradients(_) => {
                Held::parts(processes, from_ref(&(0..n)))
            }
            Self::DivideAndConquer(options) => {
                Held::parts(processes, &equal_parts(n, weights, options.parts))
            }
            Self::ClosedForm(_) | Self::Lipschitz(_) => Held::all(n),
        }
    }

    /// Checks the options, as far as they do not depend on data.
    ///
    /// # Errors
    /// [`Error::Value`] with the option, its value and what is allowed.
    pub fn validate(&self) -> Result<(), Error> {
        if let Some(InputSketch { size, method }) = self.sketch() {
            Error::check_count("size of the sketch", *size)?;
            method.validate_parameters().map_err(|error| error.of("sketch.method."))?;
        }
        match self {
            Self::ClosedForm(_) | Self::Sketched(_) => Ok(()),
            Self::ConjugateGradients(options) => options.validate(),
            Self::DivideAndConquer(options) => Error::check_count("number of parts", options.parts),
            Self::Lipschitz(options) => {
                let width = options.loss.levels().map_or(1, <[f64]>::len);
                options.loss.validate(width)?;
                options.problem(width, 1.0, None)?;
                options.stop.validate()
            }
        }
    }

    /// Returns the error that says that only the solvers `allowed` are possible.
    pub(crate) fn unfit(&self, allowed: impl Display) -> Error {
        Error::value("the solver", self.name(), allowed)
    }
}

/// What the cost of a fit depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FitSize {
    /// n, the number of training pairs.
    pub pairs: usize,
    /// The number of different targets that the pairs have ([`OutputSpace::held_targets`](crate::OutputSpace::held_targets)).
    pub targets: usize,
    /// p, the number of coordinates of a target.
    pub coordinates: usize,
    /// The number of values of λ that are compared.
    pub lambdas: usize,
    /// The number of threads.
    pub threads: usize,
}

/// Memory and work of a fit. The numbers are `f64` because configured sizes may overflow an
/// integer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Bytes in addition to the inputs and the targets.
    pub bytes: f64,
    /// The multiplications in addition to the evaluations of the kernel, each counted as the number of multiplications in
    /// single precision that all threads do in the same time.
    pub multiplications: f64,
}

/// Multiplications in single precision that take as long as one in double precision.
pub const DOUBLE: f64 = 2.0;

/// Returns the work of an eigendecomposition of a matrix of this size, which runs on one of the threads.
pub fn eigendecomposition(size: f64, threads: f64) -> f64 {
    10.0 * DOUBLE * threads * size.powi(3)
}

impl Solver {
    /// Returns the cost of a fit.
    pub fn cost(&self, size: &FitSize) -> Cost {
        let FitSize { pairs, targets, coordinates, lambdas, threads } = *size;
        let [n, targets, p, fits, threads] =
            [pairs, targets, coordinates, lambdas, threads].map(|count| count as f64);
        // several λ are compared in the eigenvectors of the system
        let spectrum = |size: f64| if lambdas > 1 { 32.0 * size * size } else { 0.0 };
        let m = self.sketch().map_or(0, |sketch| sketch.size) as f64;
        let bytes = 8.0 * (2.0 + threads) * m * m + 24.0 * m * p + spectrum(m);
        // the normal equations, the sums of each target's rows, the factor, and the solutions
        let pass = 0.5 * n * m * m;
        let sums = targets * m * p;
        let solution = m.powi(3) / 3.0 + m * m * p;
        let multiplications = DOUBLE * (pass + sums + solution);
        match self {
            Self::ClosedForm(options) => {
                let (number, precision) = match options.precision {
                    Arithmetic::Single => (4.0, 1.0),
                    Arithmetic::Double => (8.0, DOUBLE),
                };
                let compared = n.min(SAMPLED as f64);
                let comparison = if lambdas > 1 {
                    eigendecomposition(compared, threads) + DOUBLE * fits * compared * compared * p
                } else {
                    0.0
                };
                Cost {
                    bytes: 0.6 * number * n * n + 24.0 * n * p + spectrum(compared),
                    multiplications: comparison + precision * (0.3 * n.powi(3) + n * n * p),
                }
            }
            Self::Sketched(_) if lambdas > 1 => {
                // a pass over the rows with features whose penalty is the identity, whose products of few columns take
                // twice as long, and the errors of every λ of the rows that are compared
                let compared = n.min(COMPARED as f64);
                let kept = compared * (16.0 * m + 24.0 * p);
                let whitened = DOUBLE * (5.0 * pass + sums);
                let errors = DOUBLE * fits * compared * m * p;
                let comparison = whitened + 2.0 * eigendecomposition(m, threads) + errors;
                Cost { bytes: bytes + kept, multiplications: multiplications + comparison }
            }
            Self::Sketched(_) => Cost { bytes, multiplications },
            Self::ConjugateGradients(options) => {
                let (sample, iterations) = options.expected(pairs, options.sketch.size);
                // the preconditioner has the sample's rows in the place of all, and factors of its system and of the kernel's
                let pass = DOUBLE * 0.5 * (sample - n) * m * m;
                let factor = DOUBLE * m.powi(3) / 3.0;
                let steps = DOUBLE * 2.0 * iterations * n * m * p;
                let kept = (8.0 * n * m).min(options.memory as f64);
                let multiplications = fits * (multiplications + pass + factor + steps);
                Cost { bytes: bytes + kept + 48.0 * m * p, multiplications }
            }
            Self::DivideAndConquer(_) => {
                Cost { bytes: 2.0 * bytes, multiplications: fits * multiplications }
            }
            Self::Lipschitz(_) => {
                let multiplications = fits * (multiplications + 200.0 * n * m * p);
                // the gradient, that of a part of the rows on each thread, and the weights of a step
                let steps = 8.0 * (threads + 8.0) * m * p;
                Cost { bytes: bytes + 24.0 * n * (m + p) + steps, multiplications }
            }
        }
    }
}
