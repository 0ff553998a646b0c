//! The table `[encoder]` of a kernel machine. The rules between its keys are in `kernel_machine_rules.rs`.

use dsokr_data::InputKind;
use dsokr_machines::{KernelWeighting, Solver};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::abilities::HeldOutPredictions;
use super::lowered::{Lowered, lower};
use super::machine_inputs::{linear_kernel, vectors};
use super::{
    BinWeights, EmbeddingConfig, InputSummandConfig, KernelConfig, Lambda, LambdaChoice,
    MachineInputsConfig, NgramWeights, OutputMatrixConfig, PredictionsConfig,
};
use crate::encoders::WordsRead;

/// A kernel machine onto the targets: `ĥ(x) = Σ_i α_i(x) ψ̃(y_i)`, by default ridge regression in closed
/// form, `α(x) = (K + nλI)⁻¹ k^x`.
///
/// With `sketch.full` it is IOKR, with a sketch of the outputs ISOKR; with the solver `sketched` in
/// addition SIOKR and SISOKR. `[training]` is not used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelMachineConfig {
    /// The inputs that the kernel compares; vectors as they are, if left out.
    #[serde(default = "vectors")]
    pub inputs: MachineInputsConfig,
    /// The input kernel.
    #[serde(default = "linear_kernel")]
    pub kernel: KernelConfig,
    /// Several kernels, whose weighted sum is the input kernel, in the place of `inputs` and `kernel`. Kernels should be
    /// of one scale: 1 for an input with itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<InputSummandConfig>,
    /// How the weights of `kernels` are chosen, which have none of their own then: `uniform`, all the same, `alignf`,
    /// those best aligned with the one output kernel on the training pairs, or `held-out`, those with the least
    /// leave-one-out error on up to 750 training pairs, which are drawn.
    pub weights: Option<KernelWeighting>,
    /// How it is fitted; in closed form on all training inputs, if left out.
    #[serde(default)]
    pub solver: Solver,
    /// λ of `(1/n) Σ ‖ĥ(x_i) − ψ̃(y_i)‖² + λ ‖ĥ‖²`, one number or several to choose from. With the solver `lipschitz` and a loss
    /// other than the square, it is that of `(1/n) Σ ℓ(ĥ(x_i), ψ̃(y_i)) + ½ λ ‖ĥ‖²`: twice the λ of the thesis, equation 5.15,
    /// which has no ½.
    pub lambda: Lambda,
    /// The way in which one of several λ is chosen; `leave-one-out` where that is known, if left out. Pairs that
    /// `data.splits.group` keeps together are left out together; else, if most validation outputs are in no training
    /// pair, the pairs of one output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda_by: Option<LambdaChoice>,
    /// The coordinates of predictions.
    #[serde(default)]
    pub predictions: PredictionsConfig,
    /// How the columns of outputs share what they learn; if left out, not at all, and quantiles by `γ = 1`.
    pub output_matrix: Option<OutputMatrixConfig>,
}

impl KernelMachineConfig {
    /// Describes ridge regression in closed form with the linear kernel, onto all coordinates.
    pub fn new(inputs: MachineInputsConfig, lambda: Lambda) -> Self {
        Self {
            inputs,
            kernel: linear_kernel(),
            kernels: Vec::new(),
            weights: None,
            solver: Solver::default(),
            lambda,
            lambda_by: None,
            predictions: PredictionsConfig::default(),
            output_matrix: None,
        }
    }

    /// Returns the kernels of a sum whose weights are above 0; none for one kernel.
    pub fn summands(&self) -> impl Iterator<Item = &InputSummandConfig> {
        self.kernels.iter().filter(|kernel| kernel.weight > 0.0)
    }

    /// Returns the inputs of every kernel that is compared: those of the one kernel, or of the kernels of a sum.
    pub(crate) fn all_inputs(&self) -> impl Iterator<Item = &MachineInputsConfig> {
        let one = self.kernels.is_empty().then_some(&self.inputs);
        one.into_iter().chain(self.summands().map(|summand| &summand.inputs))
    }

    /// Returns the kind of inputs that it reads; a sum of kernels reads texts, or spectra as texts.
    pub(crate) fn reads(&self) -> InputKind {
        if !self.kernels.is_empty() {
            return InputKind::Texts;
        }
        match self.inputs {
            MachineInputsConfig::Ngrams { .. }
            | MachineInputsConfig::Features { .. }
            | MachineInputsConfig::Spectra { .. }
            | MachineInputsConfig::Mixtures(_) => InputKind::Texts,
            MachineInputsConfig::Vectors { .. } => InputKind::Vectors,
            MachineInputsConfig::Kernels { .. } => InputKind::Kernels,
        }
    }

    /// Returns whether the texts that it reads must be mass spectra.
    pub(crate) fn reads_spectra(&self) -> bool {
        self.all_inputs().any(MachineInputsConfig::are_spectra)
    }

    /// Returns whether these spectra must name the formula of their molecule.
    pub(crate) fn needs_formulas(&self) -> bool {
        self.all_inputs().any(MachineInputsConfig::need_formulas)
    }

    /// Returns how far it reads texts by their words.
    pub(crate) fn words_read(&self) -> WordsRead {
        WordsRead::of_parts(self.all_inputs().map(MachineInputsConfig::words_read))
    }

    /// Returns whether columns of inputs have weights that a first fit learns.
    pub(crate) fn learns_columns(&self) -> bool {
        matches!(
            self.inputs,
            MachineInputsConfig::Ngrams { weights: NgramWeights::Learned, .. }
                | MachineInputsConfig::Spectra { weights: BinWeights::Learned, .. }
        )
    }

    /// Returns the first λ, by which machines are fitted whose predictions choose something else.
    pub(crate) fn first_lambda(&self) -> f64 {
        self.lambda.values().first().copied().unwrap_or(f64::NAN)
    }

    /// Returns the learned embedding of the outputs, if predictions have one.
    pub(crate) fn embedding(&self) -> Option<&EmbeddingConfig> {
        let PredictionsConfig::Embedded(embedding) = &self.predictions else { return None };
        Some(embedding)
    }

    /// Returns whether the solver is `lipschitz`, which minimises any loss.
    pub(crate) fn is_lipschitz(&self) -> bool {
        self.solver.abilities().lipschitz
    }

    /// Returns whether leave-one-out predictions are known in closed form.
    pub(crate) fn has_held_out_predictions(&self) -> bool {
        self.is_least_squares() && self.embedding().is_none()
    }

    /// Returns whether λ is chosen on the validation split: it is one of several, and no leave-one-out errors choose it.
    pub(crate) fn chooses_on_validation(&self) -> bool {
        self.lambda.values().len() > 1 && !self.chooses_by_held_out()
    }

    /// Returns whether leave-one-out errors choose one of several λ.
    fn chooses_by_held_out(&self) -> bool {
        self.is_least_squares() && self.lambda_by != Some(LambdaChoice::Validation)
    }

    /// Returns whether a fit looks at no validation pairs.
    pub(crate) fn fits_without_validation(&self) -> bool {
        let given = matches!(self.lambda, Lambda::One(_)) && !self.is_lipschitz();
        self.embedding().is_none() && (given || self.chooses_by_held_out())
    }

    /// Returns the predictions for training pairs that a machine gives without having seen them.
    pub(crate) fn held_out(&self) -> HeldOutPredictions {
        if !self.has_held_out_predictions() {
            HeldOutPredictions::None
        } else if matches!(self.inputs, MachineInputsConfig::Kernels { .. }) {
            HeldOutPredictions::Pairs
        } else if self.solver.abilities().compares_all_inputs {
            HeldOutPredictions::PartOfFit
        } else {
            HeldOutPredictions::Parts
        }
    }

    /// Returns what is chosen on validation pairs, as the beginning of a sentence.
    pub(crate) fn chosen_on_validation(&self) -> Option<&'static str> {
        if self.embedding().is_some() {
            Some("ranks and λ are")
        } else if self.chooses_on_validation() {
            Some("λ is")
        } else {
            None
        }
    }

    /// Returns the settings for so many training pairs, and the sizes that are lowered; none where they stay as they are.
    pub(crate) fn for_pairs(&self, pairs: usize) -> Option<(Self, Vec<Lowered>)> {
        let mut adapted = self.clone();
        let mut lowered = Vec::new();
        lower_solver_sizes(&mut adapted.solver, pairs, &mut lowered);
        (!lowered.is_empty()).then_some((adapted, lowered))
    }

    /// Returns whether the solver is that of least squares in closed form, of all inputs or of a sketch.
    pub(super) fn is_least_squares(&self) -> bool {
        self.solver.abilities().leave_one_out
    }

    /// Returns the levels of the quantiles that predictions are, if they are quantiles.
    pub(crate) fn levels(&self) -> Option<&[f64]> {
        let Solver::Lipschitz(options) = &self.solver else { return None };
        options.loss.levels()
    }
}

/// Lowers the sizes of a solver that depend on the number of training pairs.
fn lower_solver_sizes(solver: &mut Solver, pairs: usize, lowered: &mut Vec<Lowered>) {
    let (sketch, most) = match solver {
        Solver::ClosedForm(_) => return,
        Solver::Sketched(sketched) => (&mut sketched.sketch, pairs),
        Solver::DivideAndConquer(settings) => (&mut settings.sketch, pairs / settings.parts.max(1)),
        Solver::ConjugateGradients(iterated) => {
            if let Some(sample) = &mut iterated.sample {
                lower("encoder.solver.sample", sample, pairs, lowered);
            }
            (&mut iterated.sketch, pairs)
        }
        Solver::Lipschitz(lipschitz) => (&mut lipschitz.sketch, pairs),
    };
    lower("encoder.solver.sketch.size", &mut sketch.size, most, lowered);
}
