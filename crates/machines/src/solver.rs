use std::sync::Arc;

use dsokr_basis::{Basis, Features, OutputKernel, RowSource, SketchOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lipschitz::{
    InputFeatures, LipschitzProblem, Offset, OutputMatrix, Stop, fit_lipschitz,
};
use crate::loss::{Loss, tag};
use crate::ridge::{
    Averaged, ConjugateGradients, GramKernel, InputSketch, LastSystem, Leading, RidgeProblem,
    Spectrum, TrainingInputs, fit_averaged, fit_conjugate_gradients, fit_sketched,
};
use crate::targets::check;
use crate::{Arithmetic, Error, KernelModel, Targets};

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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum Solver {
    /// Ridge regression on all training inputs: one Cholesky factor of an n × n matrix.
    ClosedForm(ClosedForm),
    /// Ridge regression in the span of a sketch of the inputs, in one pass over the rows.
    Sketched(Sketched),
    /// As `sketched`, by preconditioned conjugate gradients: for thousands of sketched inputs.
    ConjugateGradients(ConjugateGradients),
    /// The mean of `sketched` models on parts of the rows.
    Averaged(Averaged),
    /// A Lipschitz loss in the span of a sketch of the inputs.
    Lipschitz(Lipschitz),
}

impl Default for Solver {
    fn default() -> Self {
        Self::ClosedForm(ClosedForm::default())
    }
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
    /// The loss. The pinball loss takes numbers as outputs, and starts from their quantiles.
    pub loss: Loss,
    /// γ of the output matrix `M_ij = exp(−γ (τ_i − τ_j)²)` of the pinball loss, 0 and above (default: 1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coupling: Option<f64>,
    /// When to stop.
    #[serde(default)]
    pub stop: Stop,
}

impl Lipschitz {
    /// The problem for one λ.
    fn problem(&self, width: usize, lambda: f64) -> Result<LipschitzProblem, Error> {
        let (output, offset) = match self.loss.levels() {
            Some(levels) => {
                let coupling = self.coupling.unwrap_or(1.0);
                (OutputMatrix::quantiles(levels, coupling)?, Offset::Constant)
            }
            None => (OutputMatrix::identity(width)?, Offset::Zero),
        };
        Ok(LipschitzProblem { loss: self.loss.clone(), output, lambda, offset })
    }
}

impl Solver {
    /// The name in configuration files.
    pub fn name(&self) -> String {
        tag(self)
    }

    /// The sketch of the inputs, if there is one.
    pub fn sketch(&self) -> Option<&InputSketch> {
        match self {
            Self::ClosedForm(_) => None,
            Self::Sketched(Sketched { sketch })
            | Self::ConjugateGradients(ConjugateGradients { sketch, .. })
            | Self::Averaged(Averaged { sketch, .. })
            | Self::Lipschitz(Lipschitz { sketch, .. }) => Some(sketch),
        }
    }

    /// Checks the options, as far as they do not depend on data.
    ///
    /// # Errors
    /// [`Error::Value`] with the option, its value and what is allowed.
    pub fn validate(&self) -> Result<(), Error> {
        Error::check_count("size of the sketch", self.sketch().map_or(1, |sketch| sketch.size))?;
        match self {
            Self::ClosedForm(_) | Self::Sketched(_) => Ok(()),
            Self::ConjugateGradients(options) => options.validate(),
            Self::Averaged(options) => Error::check_count("number of parts", options.parts),
            Self::Lipschitz(options) => {
                if let (Some(coupling), None) = (options.coupling, options.loss.levels()) {
                    let allowed = "absent, or a pinball loss beside it";
                    return Err(Error::value("coupling", coupling, allowed));
                }
                let width = options.loss.levels().map_or(1, <[f64]>::len);
                options.loss.validate(width)?;
                options.problem(width, 1.0)?;
                options.stop.validate()
            }
        }
    }

    /// What every fit to these inputs has in common: a Lipschitz loss computes their features. The closed form
    /// finds the factored system of an earlier fit among `systems`, and leaves its own there. `seed` draws the
    /// sketch.
    ///
    /// ```
    /// use dsokr_basis::{Features, Kernel, features::DenseRows};
    /// use dsokr_machines::{LastSystem, Solver, Targets, TrainingInputs};
    ///
    /// let x = Features::Dense(DenseRows::new(1, vec![0.0, 1.0, 2.0, 3.0])?);
    /// let inputs = TrainingInputs::rows(Kernel::Gaussian { gamma: 0.5 }, &x);
    /// let prepared = Solver::default().prepare(inputs, 0, LastSystem::default())?;
    /// // one factored system for both
    /// let (rising, _) = prepared.fit(&Targets::new(1, [0.0, 1.0, 2.0, 3.0])?, 1e-3, false)?;
    /// let (falling, _) = prepared.fit(&Targets::new(1, [3.0, 2.0, 1.0, 0.0])?, 1e-3, false)?;
    /// assert!(rising.predict(&x)?[3] > 2.5 && falling.predict(&x)?[3] < 0.5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Rows that the kernel does not take; those of the sketch.
    pub fn prepare<'a>(
        &self,
        inputs: TrainingInputs<'a>,
        seed: u64,
        systems: LastSystem,
    ) -> Result<PreparedSolver<'a>, Error> {
        let numbered = match (self, &inputs) {
            (
                Self::Sketched(_) | Self::ConjugateGradients(_) | Self::Averaged(_),
                TrainingInputs::Gram(gram),
            ) => {
                // a matrix that is no kernel is refused before it is copied
                inputs.gram()?;
                Some(GramKernel::of(*gram)?)
            }
            _ => None,
        };
        let features = match (self, &inputs) {
            (Self::Lipschitz(options), TrainingInputs::Rows(rows, kernel)) => {
                let InputSketch { size, method } = &options.sketch;
                let options = SketchOptions::new(method, *size).with_seed(seed);
                let basis = Basis::fit(Arc::clone(kernel), *rows, &options)?;
                Some(InputFeatures::new(basis, *rows)?)
            }
            _ => None,
        };
        Ok(PreparedSolver { solver: self.clone(), inputs, numbered, seed, systems, features })
    }

    /// The error unless the solver is `allowed`.
    fn unfit(&self, allowed: &str) -> Error {
        Error::value("the solver", self.name(), allowed)
    }
}

/// What a solver must not be beside a Gram matrix.
const OF_GRAM: &str = "another one beside a precomputed kernel: lipschitz needs rows";

/// A solver and its training inputs, for fits to any targets with several λ.
pub struct PreparedSolver<'a> {
    solver: Solver,
    inputs: TrainingInputs<'a>,
    /// Of a precomputed kernel and a solver that compares rows: the kernel of numbers of inputs, and these.
    numbered: Option<(Arc<dyn OutputKernel>, Features)>,
    seed: u64,
    systems: LastSystem,
    /// Of a Lipschitz loss.
    features: Option<InputFeatures>,
}

impl PreparedSolver<'_> {
    /// The model for one λ; if `leave_one_out`, also its prediction of each training row by a model of
    /// the others. `targets` has a row for each input.
    ///
    /// # Errors
    /// Those of [`RidgeSystem::new`](crate::RidgeSystem::new), [`RidgeSystem::fit`](crate::RidgeSystem::fit), [`fit_sketched`], [`fit_conjugate_gradients`], [`fit_averaged`] and
    /// [`fit_lipschitz`]; [`Error::Value`] for a precomputed kernel and a solver that needs rows, and for a
    /// solver that has no leave-one-out predictions in closed form.
    pub fn fit(
        &self,
        targets: &Targets,
        lambda: f64,
        leave_one_out: bool,
    ) -> Result<(KernelModel, Option<Vec<f32>>), Error> {
        if let Solver::ClosedForm(ClosedForm { precision }) = self.solver {
            check(self.inputs.len(), targets, lambda)?;
            let systems = &self.systems;
            let system = systems.get(&self.inputs, &targets.weights, lambda, precision)?;
            let fitted = system.fit(targets)?;
            let held_out = leave_one_out.then(|| fitted.leave_one_out(targets)).transpose()?;
            return Ok((fitted.model, held_out));
        }
        let (rows, kernel) = self.compared()?;
        let seed = self.seed;
        let problem = RidgeProblem { kernel, rows, targets, lambda, seed };
        let model = match (&self.solver, &self.features) {
            (Solver::ClosedForm(_), _) | (Solver::Lipschitz(_), None) => {
                return Err(self.solver.unfit(OF_GRAM));
            }
            (Solver::Sketched(options), _) => {
                let fitted = fit_sketched(problem, &options.sketch)?;
                let held_out = leave_one_out.then(|| fitted.leave_one_out(rows, targets));
                return Ok((self.answering(fitted.model), held_out.transpose()?));
            }
            (Solver::ConjugateGradients(options), _) => fit_conjugate_gradients(problem, options)?,
            (Solver::Averaged(options), _) => fit_averaged(problem, options)?,
            (Solver::Lipschitz(options), Some(features)) => {
                let problem = options.problem(targets.width(), lambda)?;
                fit_lipschitz(features, targets, &problem, &options.stop)?
            }
        };
        match leave_one_out {
            true => Err(self.solver.unfit("closed-form or sketched for leave-one-out predictions")),
            false => Ok((self.answering(model), None)),
        }
    }

    /// As [`fit`](Self::fit) with leave-one-out predictions, and beside it the model of the first `rows` rows with the same
    /// nλ, from one factored system ([`Fitted::with_leading`](crate::Fitted::with_leading)).
    ///
    /// # Errors
    /// Those of [`fit`](Self::fit) and of [`Fitted::with_leading`](crate::Fitted::with_leading); [`Error::Value`] for
    /// another solver than the closed form.
    pub fn fit_with_leading(
        &self,
        targets: &Targets,
        lambda: f64,
        rows: usize,
    ) -> Result<(KernelModel, Leading), Error> {
        let Solver::ClosedForm(ClosedForm { precision }) = self.solver else {
            return Err(self.solver.unfit("closed-form for the model of leading rows"));
        };
        check(self.inputs.len(), targets, lambda)?;
        let system = self.systems.get(&self.inputs, &targets.weights, lambda, precision)?;
        let fitted = system.fit(targets)?;
        let leading = fitted.with_leading(targets, rows)?;
        Ok((fitted.model, leading))
    }

    /// Rows and the kernel that compares them, of a precomputed kernel the numbers of inputs.
    fn compared(&self) -> Result<(&dyn RowSource, Arc<dyn OutputKernel>), Error> {
        match (&self.inputs, &self.numbered) {
            (TrainingInputs::Rows(rows, kernel), _) => Ok((*rows, Arc::clone(kernel))),
            (TrainingInputs::Gram(_), Some((kernel, numbers))) => Ok((numbers, Arc::clone(kernel))),
            (TrainingInputs::Gram(_), None) => Err(self.solver.unfit(OF_GRAM)),
        }
    }

    /// The model, which takes values of the kernel where that was precomputed.
    fn answering(&self, model: KernelModel) -> KernelModel {
        if self.numbered.is_some() { model.of_precomputed(self.inputs.len()) } else { model }
    }

    /// The spectrum that gives leave-one-out errors for every λ at once; none for a solver of which
    /// λ is chosen on validation data.
    ///
    /// # Errors
    /// As [`fit`](Self::fit).
    pub fn spectrum(&self, targets: &Targets) -> Result<Option<Spectrum>, Error> {
        let spectrum = match (&self.solver, &self.inputs) {
            (Solver::ClosedForm(_), inputs) => Spectrum::full(inputs, targets),
            (Solver::Sketched(Sketched { sketch }), _) => {
                let (rows, kernel) = self.compared()?;
                Spectrum::sketched(kernel, rows, targets, sketch, self.seed)
            }
            (Solver::ConjugateGradients(_) | Solver::Averaged(_) | Solver::Lipschitz(_), _) => {
                return Ok(None);
            }
        };
        spectrum.map(Some)
    }
}

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
        let m = self.sketch().map_or(0, |sketch| sketch.size) as f64;
        let bytes = 8.0 * (2.0 + threads) * m * m + 24.0 * m * p + spectrum(m);
        let multiplications = n * m * (0.5 * m + p) + m * m * (cubes * m + p);
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
            Self::Sketched(_) => Cost { bytes, multiplications },
            Self::ConjugateGradients(options) => {
                let steps = 2.0 * options.iterations as f64 * n * m * p;
                let kept = (8.0 * n * m).min(options.memory as f64);
                let multiplications = fits * (multiplications + steps);
                Cost { bytes: bytes + kept + 48.0 * m * p, multiplications }
            }
            Self::Averaged(_) => {
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
