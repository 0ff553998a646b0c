//! The rules of a kernel machine: between its own keys, and with the rest of the configuration.

use dsokr_basis::Kernel;
use dsokr_data::config::{OutputFeatures, TextConfig};
use dsokr_machines::{Solver, SolverAbilities};

use super::machine_inputs::{linear, vectors};
use super::rules::{Rule, check};
use super::{
    BinWeights, ColumnScaling, Config, InputSummandConfig, KernelMachineConfig, LambdaChoice,
    MachineInputsConfig, NgramWeights, PredictionsConfig,
};
use crate::error::{Error, ensure};

impl KernelMachineConfig {
    pub(crate) fn validate(&self) -> Result<(), Error> {
        self.validate_kernels()?;
        self.inputs.validate("encoder.inputs", &self.kernel, "encoder.kernel")?;
        let learned = self.learns_columns();
        let linear = matches!(*self.kernel, Kernel::Linear | Kernel::Cosine);
        let learning = format!(
            "encoder.inputs.weights = \"learned\" needs {}",
            Solver::names(|abilities| abilities.compares_all_inputs)
        );
        let rules = [
            Rule {
                key: "encoder.kernel.name",
                refused_when: learned && !linear,
                because: "encoder.inputs.weights = \"learned\" needs \"linear\" or \"cosine\"",
            },
            Rule {
                key: "encoder.solver.name",
                refused_when: learned && !self.solver.abilities().compares_all_inputs,
                because: &learning,
            },
        ];
        check(self, "encoder", &rules)?;
        let none = self.levels().is_some_and(<[f64]>::is_empty);
        ensure(!none, "encoder.solver.loss.levels", "[]", "at least one level")?;
        self.solver.validate().map_err(|error| error.of("encoder.solver: "))?;
        if let Some(matrix) = &self.output_matrix {
            let all = matches!(self.predictions, PredictionsConfig::All {});
            matrix.validate(&self.solver, self.levels(), all)?;
        }
        self.validate_predictions()?;
        let by_leave_one_out = self.lambda_by == Some(LambdaChoice::LeaveOneOut);
        let rule = Rule {
            key: "encoder.lambda_by",
            refused_when: by_leave_one_out && !self.has_held_out_predictions(),
            because: "this solver, or a learned embedding, has no leave-one-out errors; set it to \"validation\"",
        };
        check(self, "encoder", &[rule])?;
        self.lambda.validate("encoder.lambda")
    }

    /// Checks the coordinates of predictions, and that the solver predicts them.
    fn validate_predictions(&self) -> Result<(), Error> {
        let needs;
        let can_predict: fn(SolverAbilities) -> bool;
        match &self.predictions {
            PredictionsConfig::All {} => return Ok(()),
            PredictionsConfig::Leading { rank } => {
                ensure(*rank > 0, "encoder.predictions.rank", rank, "at least 1")?;
                needs = "leading coordinates need";
                can_predict = |abilities| !abilities.lipschitz;
            }
            PredictionsConfig::Embedded(embedding) => {
                embedding.validate()?;
                needs = "a learned embedding needs";
                can_predict = |abilities| abilities.leave_one_out;
            }
        }
        let solvers = Solver::names(can_predict);
        let rule = Rule {
            key: "encoder.predictions",
            refused_when: !can_predict(self.solver.abilities()),
            because: &format!("{needs} encoder.solver.name {solvers}; remove it"),
        };
        check(self, "encoder", &[rule])
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

    /// Checks which settings of the outputs, of decoding and of evaluation these are compatible with.
    pub(crate) fn check_compatible(&self, config: &Config) -> Result<(), Error> {
        self.check_features(config)?;
        let full = config.sketch.full;
        let predicts_all = matches!(self.predictions, PredictionsConfig::All {});
        check(
            config,
            "",
            &[Rule {
                key: "sketch.full",
                refused_when: full && !predicts_all,
                because: "encoder.predictions are coordinates of a basis; set it to false",
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
            let mut file = None;
            if let OutputFeatures::Graphs(graphs) = features {
                file = Some(&*graphs.file);
            }
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
        let of_part = if parts > 1 { " of a part" } else { "" };
        let allowed = format_args!("at most {most}, the number of training pairs{of_part}");
        ensure(size <= most, "encoder.solver.sketch.size", size, allowed)
    }
}
