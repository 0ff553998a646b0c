use crate::error::ensure;
use dsokr_basis::Kernel;
use dsokr_data::InputKind;
use dsokr_data::config::{OutputFeatures, TextConfig};
use dsokr_machines::{KernelWeighting, Solver};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::abilities::HeldOutPredictions;
use super::adapted::{Lowered, lower};
use super::machine_inputs::{linear, linear_kernel, vectors};
use super::rules::{Rule, check};
use super::{
    AnswersConfig, BinWeights, ColumnScaling, Config, EmbeddingConfig, InputSummandConfig,
    KernelConfig, Lambda, LambdaChoice, MachineInputsConfig, NgramWeights, OutputMatrixConfig,
};
use crate::error::Error;

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
    /// The way in which one of several λ is chosen; `leave-one-out` where that is known, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda_by: Option<LambdaChoice>,
    /// The coordinates of predictions.
    #[serde(default)]
    pub answers: AnswersConfig,
    /// How the columns of outputs share what they learn; if left out, not at all, and quantiles by `γ = 1`.
    pub output_matrix: Option<OutputMatrixConfig>,
}

impl KernelMachineConfig {
    /// Ridge regression in closed form with the linear kernel, onto all coordinates.
    pub fn new(inputs: MachineInputsConfig, lambda: Lambda) -> Self {
        Self {
            inputs,
            kernel: linear_kernel(),
            kernels: Vec::new(),
            weights: None,
            solver: Solver::default(),
            lambda,
            lambda_by: None,
            answers: AnswersConfig::default(),
            output_matrix: None,
        }
    }

    /// The kernels of a sum whose weights are above 0; none for one kernel.
    pub fn summands(&self) -> impl Iterator<Item = &InputSummandConfig> {
        self.kernels.iter().filter(|kernel| kernel.weight > 0.0)
    }

    /// The kind of inputs that it reads; a sum of kernels reads texts, or spectra as texts.
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

    /// Whether the texts that it reads must be mass spectra.
    pub(crate) fn reads_spectra(&self) -> bool {
        if self.kernels.is_empty() {
            self.inputs.are_spectra()
        } else {
            self.summands().any(|summand| summand.inputs.are_spectra())
        }
    }

    /// Whether columns of inputs have weights that a first fit learns.
    pub(crate) fn learns_columns(&self) -> bool {
        matches!(
            self.inputs,
            MachineInputsConfig::Ngrams { weights: NgramWeights::Learned, .. }
                | MachineInputsConfig::Spectra { weights: BinWeights::Learned, .. }
        )
    }

    /// Checks the kernels of a sum.
    fn validate_kernels(&self) -> Result<(), Error> {
        let several = !self.kernels.is_empty();
        let rules = [
            Rule {
                key: "encoder.weights",
                refused_when: !several && self.weights.is_some(),
                because: "one kernel has no weights; remove it",
            },
            Rule {
                key: "encoder.inputs",
                refused_when: several && self.inputs != vectors(),
                because: "encoder.kernels have inputs of their own; remove it",
            },
            Rule {
                key: "encoder.kernel",
                refused_when: several && *self.kernel != linear(),
                because: "encoder.kernels are kernels themselves; remove it",
            },
        ];
        check(self, "encoder", &rules)?;
        if !several {
            return Ok(());
        }
        for (at, InputSummandConfig { inputs, kernel, weight }) in self.kernels.iter().enumerate() {
            let key = |name: &str| format!("encoder.kernels[{at}].{name}");
            let holds = *weight >= 0.0 && weight.is_finite();
            ensure(holds, key("weight"), weight, "a finite number not below 0")?;
            let rule = Rule {
                key: &key("weight"),
                refused_when: self.weights.is_some() && *weight != 1.0,
                because: "encoder.weights finds it; remove it",
            };
            check(self, "encoder", &[rule])?;
            let summed = match inputs {
                MachineInputsConfig::Ngrams { weights, .. } => *weights == NgramWeights::TfIdf,
                MachineInputsConfig::Spectra { weights, .. } => *weights == BinWeights::Equal,
                MachineInputsConfig::Features { .. } | MachineInputsConfig::Mixtures(_) => true,
                MachineInputsConfig::Vectors { .. } | MachineInputsConfig::Kernels { .. } => false,
            };
            let allowed = "inputs of kind \"ngrams\", \"features\", \"spectra\" or \"mixtures\" without learned weights";
            ensure(summed, key("inputs"), "others", allowed)?;
            inputs.validate(&key("inputs"), kernel, &key("kernel"))?;
        }
        let any = self.summands().next().is_some();
        ensure(any, "encoder.kernels", "weights that are all 0", "at least one above 0")
    }

    /// The first λ, by which machines are fitted whose predictions choose something else.
    pub(crate) fn first_lambda(&self) -> f64 {
        self.lambda.values().first().copied().unwrap_or(f64::NAN)
    }

    /// The learned embedding of the outputs, if predictions have one.
    pub(crate) fn embedding(&self) -> Option<&EmbeddingConfig> {
        let AnswersConfig::Embedded(embedding) = &self.answers else { return None };
        Some(embedding)
    }

    /// Whether the loss is a Lipschitz one.
    pub(crate) fn is_lipschitz(&self) -> bool {
        matches!(self.solver, Solver::Lipschitz(_))
    }

    /// Whether leave-one-out predictions are known in closed form.
    pub(crate) fn has_held_out_answers(&self) -> bool {
        self.is_least_squares() && self.embedding().is_none()
    }

    /// Whether λ is chosen on the validation split: it is one of several, and no leave-one-out errors choose it.
    pub(crate) fn chooses_on_validation(&self) -> bool {
        self.lambda.values().len() > 1 && !self.chooses_by_held_out()
    }

    /// Whether leave-one-out errors choose one of several λ.
    fn chooses_by_held_out(&self) -> bool {
        self.is_least_squares() && self.lambda_by != Some(LambdaChoice::Validation)
    }

    /// Whether a fit looks at no validation pairs.
    pub(crate) fn fits_without_validation(&self) -> bool {
        let given = matches!(self.lambda, Lambda::One(_)) && !self.is_lipschitz();
        self.embedding().is_none() && (given || self.chooses_by_held_out())
    }

    /// The predictions for training pairs that a machine gives without having seen them.
    pub(crate) fn held_out(&self) -> HeldOutPredictions {
        if !self.has_held_out_answers() {
            HeldOutPredictions::None
        } else if matches!(self.inputs, MachineInputsConfig::Kernels { .. }) {
            HeldOutPredictions::Pairs
        } else if self.solver.sketch().is_some() {
            HeldOutPredictions::Parts
        } else {
            HeldOutPredictions::PartOfFit
        }
    }

    /// What is chosen on validation pairs, as the beginning of a sentence.
    pub(crate) fn chosen_on_validation(&self) -> Option<&'static str> {
        if self.embedding().is_some() {
            Some("ranks and λ are")
        } else if self.chooses_on_validation() {
            Some("λ is")
        } else {
            None
        }
    }

    /// The settings for so many training pairs, and the sizes that are lowered; none where they stay as they are.
    pub(crate) fn for_pairs(&self, pairs: usize) -> Option<(Self, Vec<Lowered>)> {
        let mut adapted = self.clone();
        let mut lowered = Vec::new();
        lower_solver_sizes(&mut adapted.solver, pairs, &mut lowered);
        (!lowered.is_empty()).then_some((adapted, lowered))
    }

    /// Whether the solver is that of least squares in closed form, of all inputs or of a sketch.
    fn is_least_squares(&self) -> bool {
        matches!(self.solver, Solver::ClosedForm(_) | Solver::Sketched(_))
    }

    /// Levels of the quantiles that predictions are, if they are quantiles.
    pub(crate) fn levels(&self) -> Option<&[f64]> {
        let Solver::Lipschitz(options) = &self.solver else { return None };
        options.loss.levels()
    }

    /// Checks which settings of the outputs, of decoding and of evaluation these are compatible with.
    pub(crate) fn check_compatible(&self, config: &Config) -> Result<(), Error> {
        self.check_features(config)?;
        self.check_held_out(config)?;
        let full = config.sketch.full;
        let predicts_all = matches!(self.answers, AnswersConfig::All {});
        check(
            config,
            "",
            &[Rule {
                key: "sketch.full",
                refused_when: full && !predicts_all,
                because: "encoder.answers are coordinates of a basis; set it to false",
            }],
        )?;
        let quantiles = self.levels().is_some();
        if let Some(matrix) = &self.output_matrix {
            matrix.check_compatible(quantiles, config)?;
        }
        check(
            config,
            "",
            &[
                Rule {
                    key: "sketch.full",
                    refused_when: quantiles && !full,
                    because: "with the pinball loss numbers are predicted, which are not sketched; set it to true",
                },
                Rule {
                    key: "sketch.full",
                    refused_when: self.is_lipschitz() && !quantiles && full,
                    because: "the solver \"lipschitz\" needs a basis; set it to false",
                },
                Rule {
                    key: "decoding.normalise",
                    refused_when: quantiles && config.decoding.normalise,
                    because: "quantiles have no unit length; set it to false",
                },
                Rule {
                    key: "output.scaling",
                    refused_when: quantiles && config.output.scaling != ColumnScaling::None,
                    because: "quantiles are in the units of the numbers; set it to \"none\"",
                },
                Rule {
                    key: "output.kernel.name",
                    refused_when: quantiles && **config.output.single_kernel()? != linear(),
                    because: "quantiles are of numbers; set it to \"linear\"",
                },
            ],
        )
    }

    /// Checks that features of inputs are made from the inputs of the data.
    fn check_features(&self, config: &Config) -> Result<(), Error> {
        let facts = config.data.facts();
        let summands = self.kernels.iter().map(|summand| &summand.inputs);
        for inputs in std::iter::once(&self.inputs).chain(summands) {
            let MachineInputsConfig::Features { features } = inputs else { continue };
            let file = match features {
                OutputFeatures::Graphs(graphs) => Some(&*graphs.file),
                _ => None,
            };
            let key = "encoder.inputs.features.file";
            let allowed =
                format!("{:?}, the file of graphs of data.inputs", facts.graphs.unwrap_or("none"));
            ensure(file == facts.graphs, key, format!("{:?}", file.unwrap_or("none")), &allowed)?;
            if let Some(TextConfig { column, .. }) = facts.texts {
                let compared = features.column().unwrap_or_default();
                let key = "encoder.inputs.features.column";
                let allowed = format!("{column:?}, the column of data.inputs");
                ensure(compared == column, key, format!("{compared:?}"), &allowed)?;
            }
        }
        Ok(())
    }

    /// Checks that held-out predictions exist where decoding needs them.
    fn check_held_out(&self, config: &Config) -> Result<(), Error> {
        let decoding = &config.decoding;
        let hubs = decoding.hubs.as_ref();
        let exact = "a kernel machine knows its leave-one-out predictions; remove it";
        let needs_held_out = [
            ("decoding.hubs", hubs.is_some()),
            ("decoding.second_look", decoding.second_look.is_some()),
            ("decoding.held_out", decoding.held_out),
        ];
        let solver = format!(
            "the solver {:?} has no leave-one-out predictions in closed form; remove it",
            self.solver.name()
        );
        let mut rules = vec![
            Rule {
                key: "decoding.hubs.folds",
                refused_when: hubs.is_some_and(|hubs| hubs.folds.is_some()),
                because: exact,
            },
            Rule {
                key: "decoding.hubs.answered",
                refused_when: hubs.is_some_and(|hubs| hubs.answered.is_some()),
                because: exact,
            },
            Rule {
                key: "decoding.hubs.refit",
                refused_when: hubs.is_some_and(|hubs| hubs.refit.is_some()),
                because: exact,
            },
        ];
        for (key, needed) in needs_held_out {
            rules.push(Rule {
                key,
                refused_when: needed && !self.is_least_squares(),
                because: &solver,
            });
            rules.push(Rule {
                key,
                refused_when: needed && self.embedding().is_some(),
                because: "the learned embedding of encoder.answers has seen the outputs that held-out predictions \
                          must not see; remove it",
            });
        }
        check(config, "", &rules)
    }

    pub(crate) fn validate(&self) -> Result<(), Error> {
        self.validate_kernels()?;
        self.inputs.validate("encoder.inputs", &self.kernel, "encoder.kernel")?;
        let learned = self.learns_columns();
        let linear = matches!(*self.kernel, Kernel::Linear | Kernel::Cosine);
        let rules = [
            Rule {
                key: "encoder.kernel.name",
                refused_when: learned && !linear,
                because: "encoder.inputs.weights = \"learned\" needs \"linear\" or \"cosine\"",
            },
            Rule {
                key: "encoder.solver.name",
                refused_when: learned && !matches!(self.solver, Solver::ClosedForm(_)),
                because: "encoder.inputs.weights = \"learned\" needs \"closed-form\"",
            },
        ];
        check(self, "encoder", &rules)?;
        let none = self.levels().is_some_and(<[f64]>::is_empty);
        ensure(!none, "encoder.solver.loss.levels", "[]", "at least one level")?;
        self.solver.validate().map_err(|error| error.of("encoder.solver: "))?;
        if let Some(matrix) = &self.output_matrix {
            let all = matches!(self.answers, AnswersConfig::All {});
            matrix.validate(&self.solver, self.levels(), all)?;
        }
        let solver_takes_answers = match &self.answers {
            AnswersConfig::All {} => true,
            AnswersConfig::Leading { rank } => {
                ensure(*rank > 0, "encoder.answers.rank", rank, "at least 1")?;
                !self.is_lipschitz()
            }
            AnswersConfig::Embedded(embedding) => {
                embedding.validate()?;
                self.is_least_squares()
            }
        };
        let by_leave_one_out = self.lambda_by == Some(LambdaChoice::LeaveOneOut);
        let rules = [
            Rule {
                key: "encoder.answers",
                refused_when: !solver_takes_answers,
                because: "only the solvers \"closed-form\" and \"sketched\" take it; remove it",
            },
            Rule {
                key: "encoder.lambda_by",
                refused_when: by_leave_one_out && !self.has_held_out_answers(),
                because: "this solver, or a learned embedding, has no leave-one-out errors; set it to \"validation\"",
            },
        ];
        check(self, "encoder", &rules)?;
        self.lambda.validate("encoder.lambda")
    }

    /// Refuses a solver that needs more training pairs, before anything is written.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] of the key.
    pub(crate) fn check_pairs(&self, pairs: usize) -> Result<(), Error> {
        let (key, count, parts) = match &self.solver {
            Solver::DivideAndConquer(settings) => ("parts", settings.parts, settings.parts),
            Solver::ConjugateGradients(settings) => ("sample", settings.sample.unwrap_or(1), 1),
            Solver::ClosedForm(_) | Solver::Sketched(_) | Solver::Lipschitz(_) => ("name", 1, 1),
        };
        let allowed = format_args!("1 to {pairs}, the number of training pairs");
        let holds = (1..=pairs).contains(&count);
        ensure(holds, format_args!("encoder.solver.{key}"), count, allowed)?;
        let size = self.solver.sketch().map_or(1, |sketch| sketch.size);
        let most = pairs / parts;
        let of = if parts > 1 { " of a part" } else { "" };
        let allowed = format_args!("at most {most}, the number of training pairs{of}");
        ensure(size <= most, "encoder.solver.sketch.size", size, allowed)
    }
}

/// Lowers the sizes of a solver that depend on the number of training pairs.
fn lower_solver_sizes(solver: &mut Solver, pairs: usize, lowered: &mut Vec<Lowered>) {
    let (sketch, most) = match solver {
        Solver::ClosedForm(_) => return,
        Solver::Sketched(sketched) => (&mut sketched.sketch, pairs),
        Solver::DivideAndConquer(averaged) => (&mut averaged.sketch, pairs / averaged.parts.max(1)),
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
