//! Fits of a solver to the same inputs.

use std::sync::Arc;

use dsokr_basis::eigenbasis::multiply;
use dsokr_basis::{Basis, SketchOptions};
use dsokr_core::{Error, Processes};
use faer::Mat;

use crate::features::{ComparedInputs, InputSketch, TrainingInputs};
use crate::lipschitz::{InputFeatures, fit_lipschitz};
use crate::output_matrix::{Coupling, OutputMatrix};
use crate::ridge::{
    KernelModel, LastSystem, OutputSpace, PrefixFit, RidgeProblem, SAMPLED, Spectrum,
    fit_conjugate_gradients, fit_divide_and_conquer, fit_sketched,
};
use crate::solver::{ClosedForm, Sketched, Solver};
use crate::summary::{Arithmetic, Inputs, RidgeSummary};
use crate::targets::{Targets, check};

impl Solver {
    /// Prepares the work that every fit to these inputs shares. For a Lipschitz loss this computes the features of the
    /// inputs. The closed form takes the factored system of an earlier fit from `systems`, and leaves its own there.
    /// `seed` draws the sketch.
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
    /// Rows that the kernel does not take; the errors of the sketch.
    pub fn prepare<'a>(
        &self,
        inputs: TrainingInputs<'a>,
        seed: u64,
        systems: LastSystem,
    ) -> Result<PreparedSolver<'a>, Error> {
        let (compared, features) = match self {
            Self::ClosedForm(_) => (None, None),
            Self::Sketched(_) | Self::ConjugateGradients(_) | Self::DivideAndConquer(_) => {
                (Some(ComparedInputs::new(&inputs)?), None)
            }
            Self::Lipschitz(options) => {
                let compared = ComparedInputs::new(&inputs)?;
                let InputSketch { size, method } = &options.sketch;
                let options = SketchOptions::new(method.clone(), *size).with_seed(seed);
                let basis = Basis::fit(Arc::clone(compared.kernel()), compared.rows(), &options)?;
                let features = InputFeatures::new(basis, compared.rows())?;
                (Some(compared), Some(features))
            }
        };
        let solver = self.clone();
        let output = None;
        let processes = Processes::default();
        Ok(PreparedSolver { solver, inputs, compared, seed, systems, features, output, processes })
    }
}

/// Factors of a closed form that take less time than an eigendecomposition of as many unknowns.
const FACTORS: usize = 16;

/// The most rows of a closed form whose kernel matrix is decomposed for several eigenvalues of M: the decomposition takes 24 n²
/// bytes, and a factor 4 n² in double precision.
const DECOMPOSED: usize = 10_000;

/// The solvers that are allowed with a Gram matrix.
const OF_GRAM: &str = "a different one with a precomputed kernel";

/// A solver and its training inputs, for fits to any targets with several λ.
#[derive(derive_more::Debug)]
#[debug("PreparedSolver({solver:?}, {inputs:?})")]
pub struct PreparedSolver<'a> {
    solver: Solver,
    inputs: TrainingInputs<'a>,
    /// The inputs as rows, for a solver that compares rows.
    compared: Option<ComparedInputs<'a>>,
    seed: u64,
    systems: LastSystem,
    /// The features of the inputs, for a Lipschitz loss.
    features: Option<InputFeatures>,
    output: Option<Coupling>,
    processes: Processes,
}

impl PreparedSolver<'_> {
    /// Returns this problem with the processes that share its fits, where the solver can be shared. All of them call the same
    /// fits in the same order. Otherwise this process fits alone.
    pub fn shared_by(self, processes: &Processes) -> Self {
        Self { processes: processes.clone(), ..self }
    }

    /// Returns this problem with the output matrix M of a decomposable kernel `k(x, x') M`. M replaces the identity,
    /// and with the pinball loss [`OutputMatrix::quantiles`](crate::OutputMatrix::quantiles) with γ = 1.
    ///
    /// With `M = Σ_g μ_g V_g V_gᵀ` a ridge regression splits into one for each eigenvalue, `f(x) = Σ_g V_g f_g(x)`,
    /// whose targets are `V_gᵀ ψ` and whose λ is λ/μ_g (thesis, section 3.2.2). Together they solve the system
    /// `(K ⊗ M + nλ I)`. A sketched system, a closed form of at most 10,000 rows with more than 16 distinct eigenvalues, and one whose matrix is
    /// learned take one [`Spectrum`] of the inputs for all of them; other fits a system for each. A learned matrix is
    /// learned anew for each λ.
    pub fn with_output(self, output: Option<impl Into<Coupling>>) -> Self {
        Self { output: output.map(Into::into), ..self }
    }

    /// Returns the model for one λ; if `leave_one_out`, also its prediction of each training row by a model of
    /// the others. `targets` has a row for each input.
    ///
    /// # Errors
    /// The errors of [`RidgeSystem::new`](crate::RidgeSystem::new), [`RidgeSystem::fit`](crate::RidgeSystem::fit),
    /// [`fit_sketched`], [`fit_conjugate_gradients`], [`fit_divide_and_conquer`] and [`fit_lipschitz`];
    /// [`Error::Value`] for a precomputed kernel and a solver that needs rows, and for a solver that has no
    /// leave-one-out predictions in closed form, or of no [`spectrum`](Self::spectrum) with a learned output matrix,
    /// and for a λ for which that is 0.
    pub fn fit(
        &self,
        targets: &Targets,
        lambda: f64,
        leave_one_out: bool,
    ) -> Result<(KernelModel, Option<Vec<f32>>), Error> {
        let output = match self.output.as_ref().filter(|_| self.features.is_none()) {
            None => return self.fit_identity(targets, lambda, leave_one_out),
            Some(Coupling::Given(output)) => output,
            Some(Coupling::Learned { rank }) => {
                let spectrum = self.learned(targets)?;
                let output_matrix = spectrum.output_matrix(lambda, *rank)?;
                let allowed = "a smaller number: the learned output matrix is 0";
                let output =
                    output_matrix.ok_or_else(|| Error::value("lambda", lambda, allowed))?;
                return self.fit_coupled(&spectrum, targets, lambda, &output, leave_one_out);
            }
        };
        Error::check_length("targets a row", targets.width(), output.width)?;
        if self.shares_spectrum(output)
            && let Some(spectrum) = self.spectrum(targets)?
        {
            return self.fit_coupled(&spectrum, targets, lambda, output, leave_one_out);
        }
        let mut whole: Option<(KernelModel, Mat<f64>)> = None;
        let (all, parts) = output.eigenvectors();
        for (value, columns) in parts {
            let vectors = all.subcols(columns.start, columns.len());
            let turned = targets.times(vectors)?;
            let (model, held_out) = self.fit_identity(&turned, lambda / value, leave_one_out)?;
            let model = model.mapped(vectors)?;
            let held_out = held_out.unwrap_or_default();
            let rows = held_out.len() / vectors.ncols();
            let g = vectors.ncols();
            let held_out = Mat::from_fn(g, rows, |i, j| f64::from(held_out[j * g + i]));
            let held_out = multiply(vectors, held_out.as_ref());
            whole = Some(match whole {
                None => (model, held_out),
                Some((sum, all)) => (sum.plus(model), all + held_out),
            });
        }
        let (mut model, held_out) = whole.ok_or_else(Error::no_rows)?;
        model.summary.lambda = lambda;
        model.summary.width = output.width;
        let values = held_out.col_iter().flat_map(|row| row.iter().map(|&value| value as f32));
        Ok((model, leave_one_out.then(|| values.collect())))
    }

    /// Returns whether one spectrum of the inputs takes less time than a system for each distinct eigenvalue of M.
    fn shares_spectrum(&self, output: &OutputMatrix) -> bool {
        let (_, parts) = output.eigenvectors();
        match &self.solver {
            Solver::ClosedForm(_) => parts.len() > FACTORS && self.inputs.len() <= DECOMPOSED,
            Solver::Sketched(_) => parts.len() > 1,
            Solver::ConjugateGradients(_) | Solver::DivideAndConquer(_) | Solver::Lipschitz(_) => {
                false
            }
        }
    }

    /// Fits for all eigenvalues of M from one spectrum of the inputs.
    fn fit_coupled(
        &self,
        spectrum: &Spectrum,
        targets: &Targets,
        lambda: f64,
        output: &OutputMatrix,
        leave_one_out: bool,
    ) -> Result<(KernelModel, Option<Vec<f32>>), Error> {
        let (inputs, precision) = match (&self.solver, &self.inputs) {
            (Solver::ClosedForm(options), TrainingInputs::Rows(..)) => {
                (Inputs::Full, options.precision)
            }
            (Solver::ClosedForm(options), TrainingInputs::Gram(_)) => {
                (Inputs::Precomputed, options.precision)
            }
            (
                Solver::Sketched(_)
                | Solver::ConjugateGradients(_)
                | Solver::DivideAndConquer(_)
                | Solver::Lipschitz(_),
                _,
            ) => (Inputs::Sketched, Arithmetic::Double),
        };
        let solution = RidgeSummary { precision, ..RidgeSummary::new(inputs, 0.0) };
        let mut model = spectrum.coupled_model(&self.inputs, lambda, output, solution)?;
        let rows = self.compared.as_ref().map(ComparedInputs::rows);
        if rows.is_some() {
            model = self.for_given_inputs(model)?;
        }
        let held_out =
            leave_one_out.then(|| spectrum.coupled_leave_one_out(rows, targets, lambda, output));
        Ok((model, held_out.transpose()?))
    }

    /// Fits like [`fit`](Self::fit), with M = I where the loss is the square loss.
    fn fit_identity(
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
        let compared = self.compared()?;
        let rows = compared.rows();
        let kernel = Arc::clone(compared.kernel());
        let seed = self.seed;
        let processes = &self.processes;
        let problem = RidgeProblem { kernel, rows, targets, lambda, seed, processes };
        let model = match (&self.solver, &self.features) {
            (Solver::ClosedForm(_), _) | (Solver::Lipschitz(_), None) => {
                return Err(self.solver.unfit(OF_GRAM));
            }
            (Solver::Sketched(options), _) => {
                let fitted = fit_sketched(problem, &options.sketch)?;
                let held_out = leave_one_out.then(|| fitted.leave_one_out(rows, targets));
                return Ok((self.for_given_inputs(fitted.model)?, held_out.transpose()?));
            }
            (Solver::ConjugateGradients(options), _) => fit_conjugate_gradients(problem, options)?,
            (Solver::DivideAndConquer(options), _) => fit_divide_and_conquer(problem, options)?,
            (Solver::Lipschitz(options), Some(features)) => {
                let output = match &self.output {
                    Some(Coupling::Learned { .. }) => return Err(self.learns_no_output()),
                    Some(Coupling::Given(output)) => Some(output),
                    None => None,
                };
                let problem = options.problem(targets.width(), lambda, output)?;
                fit_lipschitz(features, targets, &problem, &options.stop)?
            }
        };
        if leave_one_out {
            let names = Solver::names(|abilities| abilities.leave_one_out);
            Err(self.solver.unfit(format_args!("{names} for leave-one-out predictions")))
        } else {
            Ok((self.for_given_inputs(model)?, None))
        }
    }

    /// Fits like [`fit`](Self::fit) with leave-one-out predictions, together with the model of the first `rows` rows
    /// with the same nλ. Both come from one factored system ([`Fitted::with_prefix`](crate::Fitted::with_prefix)).
    ///
    /// # Errors
    /// The errors of [`fit`](Self::fit) and of [`Fitted::with_prefix`](crate::Fitted::with_prefix); [`Error::Value`]
    /// for a solver other than the closed form.
    pub fn fit_with_prefix(
        &self,
        targets: &Targets,
        lambda: f64,
        rows: usize,
    ) -> Result<(KernelModel, PrefixFit), Error> {
        let Solver::ClosedForm(ClosedForm { precision }) = self.solver else {
            let names = Solver::names(|abilities| abilities.compares_all_inputs);
            let allowed = format_args!("{names} for the model of a prefix of the rows");
            return Err(self.solver.unfit(allowed));
        };
        let allowed = "the identity, for the model of a prefix of the rows";
        Error::ensure(self.output.is_none(), "the output matrix", "given", allowed)?;
        check(self.inputs.len(), targets, lambda)?;
        let system = self.systems.get(&self.inputs, &targets.weights, lambda, precision)?;
        let fitted = system.fit(targets)?;
        let prefix = fitted.with_prefix(targets, rows)?;
        Ok((fitted.model, prefix))
    }

    /// Returns the inputs of a solver that compares rows.
    fn compared(&self) -> Result<&ComparedInputs<'_>, Error> {
        self.compared.as_ref().ok_or_else(|| self.solver.unfit(OF_GRAM))
    }

    /// Returns the model, which takes values of the kernel where that was precomputed.
    fn for_given_inputs(&self, model: KernelModel) -> Result<KernelModel, Error> {
        match self.compared()?.given() {
            Some(inputs) => model.by_numbers(inputs),
            None => Ok(model),
        }
    }

    /// Returns the mean squared leave-one-out errors of targets in a space for each λ of a grid, from one
    /// [`Spectrum`]; none for a solver whose λ is chosen on validation data. The errors of a closed form are those of
    /// at most 5,000 rows ([`Spectrum::sampled`]).
    ///
    /// # Errors
    /// The errors of [`fit`](Self::fit) and [`Spectrum::errors`].
    pub fn errors(
        &self,
        targets: &Targets,
        grid: &[f64],
        space: &OutputSpace,
    ) -> Result<Option<Vec<f64>>, Error> {
        let spectrum = if self.solver.abilities().compares_all_inputs {
            Some(Spectrum::sampled(&self.inputs, targets, SAMPLED, self.seed)?)
        } else {
            self.spectrum(targets)?
        };
        let Some(spectrum) = spectrum else { return Ok(None) };
        let error = |output: &Coupling, &lambda: &f64| match output {
            Coupling::Given(output) => spectrum.error_with(lambda, output),
            Coupling::Learned { rank } => match spectrum.output_matrix(lambda, *rank)? {
                Some(output) => spectrum.error_with(lambda, &output),
                None => spectrum.error_of_zero(),
            },
        };
        match &self.output {
            None => spectrum.errors(grid, space),
            Some(output) => grid.iter().map(|lambda| error(output, lambda)).collect(),
        }
        .map(Some)
    }

    /// Returns the spectrum that an output matrix is learned from.
    fn learned(&self, targets: &Targets) -> Result<Spectrum, Error> {
        self.spectrum(targets)?.ok_or_else(|| self.learns_no_output())
    }

    /// Returns the error for a solver that cannot learn an output matrix.
    fn learns_no_output(&self) -> Error {
        let names = Solver::names(|abilities| abilities.leave_one_out);
        self.solver.unfit(format_args!("{names}, with a learned output matrix"))
    }

    /// Returns the spectrum that gives leave-one-out errors for every λ at once; none for a solver whose
    /// λ is chosen on validation data.
    ///
    /// # Errors
    /// The errors of [`fit`](Self::fit).
    pub fn spectrum(&self, targets: &Targets) -> Result<Option<Spectrum>, Error> {
        let spectrum = match (&self.solver, &self.inputs) {
            (Solver::ClosedForm(_), inputs) => Spectrum::full(inputs, targets),
            (Solver::Sketched(Sketched { sketch }), _) => {
                let compared = self.compared()?;
                let kernel = Arc::clone(compared.kernel());
                Spectrum::sketched(
                    kernel,
                    compared.rows(),
                    targets,
                    sketch,
                    self.seed,
                    &self.processes,
                )
            }
            (
                Solver::ConjugateGradients(_) | Solver::DivideAndConquer(_) | Solver::Lipschitz(_),
                _,
            ) => {
                return Ok(None);
            }
        };
        spectrum.map(Some)
    }
}
