//! Kernel machines as learners: IOKR and its sketched forms, machines under Lipschitz losses, and
//! learned output embeddings.

mod embedding;
mod inputs;
mod lipschitz;
mod predictor;
mod solver;

use std::sync::Arc;

use dsokr_basis::{Kernel, OutputKernel, RowSource};
use dsokr_machines::OutputSpace;

use crate::Error;
use crate::Metric;
use crate::config::{Checked, Config, EmbeddingConfig, RidgeConfig};
use crate::evaluator::Evaluator;
use crate::learner::{ClosedForm, Fitted, Learner, Predictor, StoredRun, Task};
use crate::targets::{OutputTargets, TrainingOutputs};
use dsokr_data::{Dataset, InputKind};
use dsokr_train::Event;

use embedding::EmbeddingSearch;
use inputs::{MachineInputs, MachineRows};
use lipschitz::LipschitzProblem;
use predictor::KernelMachine;
use solver::Solver;

impl Learner for RidgeConfig {
    fn validate(&self) -> Result<(), Error> {
        Self::validate(self)
    }

    fn check_compatible(&self, config: &Config) -> Result<(), Error> {
        Self::check_compatible(self, config.sketch.full, &config.decoding)?;
        if self.levels().is_some() && config.output.kernel != Kernel::Linear {
            let (name, allowed) =
                (config.output.kernel.name(), "\"linear\": quantiles are of numbers");
            return Err(Error::value("output.kernel.name", name, allowed));
        }
        if config.evaluation.metric == Metric::SquaredError && config.sketch.full {
            let allowed = "another figure: with sketch.full or decoding.hubs it is not known here";
            return Err(Error::value("evaluation.metric", config.evaluation.metric, allowed));
        }
        Ok(())
    }

    fn reads(&self) -> InputKind {
        match (&self.ngrams, self.kernels) {
            (Some(_), _) => InputKind::Texts,
            (None, None) => InputKind::Vectors,
            (None, Some(_)) => InputKind::Kernels,
        }
    }

    fn needs_cpu(&self) -> bool {
        true
    }

    fn levels(&self) -> Option<&[f64]> {
        Self::levels(self)
    }

    fn targets(&self, outputs: &TrainingOutputs) -> Result<OutputTargets, Error> {
        let config = outputs.config();
        if let Some(levels) = self.levels() {
            return OutputTargets::numbers(levels, outputs);
        }
        let rows = outputs.rows();
        let (space, targets) = match config.sketch.full {
            true => OutputSpace::training(config.output.kernel.clone(), &rows)?,
            false => {
                let mixed = self.embedding.as_ref().is_some_and(EmbeddingConfig::is_mixed);
                OutputSpace::basis(outputs.basis(mixed)?, self.rank, &rows)?
            }
        };
        Ok(OutputTargets::Points { space, targets })
    }

    fn fit(&self, task: &mut Task) -> Result<Fitted, Error> {
        let outputs = TrainingOutputs::new(task.config, task.dataset, None);
        let inputs = match task.resumed() {
            Some(path) => MachineInputs::load(self, path)?,
            None => MachineInputs::fit(self, &task.dataset.train, &outputs)?,
        };
        let machine = PreparedMachine::new(self, task.config, task.dataset, inputs)?;
        if let Some(embedding) = &self.embedding {
            embedding.ranks_in(task.targets.width())?;
        }
        task.begin(machine.inputs.files()?)?;
        let pairs = machine.rows.len();
        let unknowns = self.sketch.as_ref().map_or(pairs, |sketch| sketch.size);
        let coordinates = task.targets.width();
        task.observer.event(&Event::Solving { pairs, unknowns, coordinates });
        ClosedForm::fit(&machine, task.targets, task.evaluator)
    }

    fn load(&self, run: &StoredRun) -> Result<Box<dyn Predictor>, Error> {
        Ok(Box::new(KernelMachine::load(self, run)?))
    }

    fn closed_form<'a>(
        &'a self,
        config: &'a Checked,
        dataset: &'a Dataset,
        outputs: &TrainingOutputs,
    ) -> Result<Option<Box<dyn ClosedForm + 'a>>, Error> {
        if self.embedding.is_some() {
            let allowed = "absent: a training run chooses embeddings";
            return Err(Error::value("encoder.embedding", "given", allowed));
        }
        let inputs = MachineInputs::fit(self, &dataset.train, outputs)?;
        Ok(Some(Box::new(PreparedMachine::new(self, config, dataset, inputs)?)))
    }
}

/// A kernel machine with its training and validation inputs as rows.
struct PreparedMachine<'a> {
    settings: &'a RidgeConfig,
    config: &'a Checked,
    dataset: &'a Dataset,
    inputs: Arc<MachineInputs>,
    rows: MachineRows<'a>,
    validation: MachineRows<'a>,
}

impl<'a> PreparedMachine<'a> {
    fn new(
        settings: &'a RidgeConfig,
        config: &'a Checked,
        dataset: &'a Dataset,
        inputs: MachineInputs,
    ) -> Result<Self, Error> {
        let rows = inputs.rows(&dataset.train)?;
        if let MachineRows::Features(rows) = &rows {
            settings.kernel.validate(rows.kind())?;
        }
        let validation = inputs.rows(&dataset.validation)?;
        Ok(Self { settings, config, dataset, inputs: Arc::new(inputs), rows, validation })
    }
}

impl ClosedForm for PreparedMachine<'_> {
    fn fit(&self, targets: &OutputTargets, evaluator: &Evaluator) -> Result<Fitted, Error> {
        let Self { settings, config, dataset, rows, validation, .. } = self;
        let (mut held_out, mut curve) = (None, None);
        let model = match targets {
            OutputTargets::Quantiles { levels, observed } => {
                LipschitzProblem::quantiles(settings, rows.features()?, levels, observed)?
                    .best(evaluator, validation.features()?)?
            }
            OutputTargets::Points { space, .. } if settings.loss.is_some() => {
                let outputs = TrainingOutputs::new(config, dataset, None);
                LipschitzProblem::points(settings, rows.features()?, space, &outputs.rows())?
                    .best(evaluator, validation.features()?)?
            }
            OutputTargets::Points { space, targets } => {
                let solver = Solver::new(settings, rows, targets, config.seed)?;
                let model = match (&settings.embedding, space.as_basis()) {
                    (Some(embedding), Some(basis)) => {
                        let outputs = TrainingOutputs::new(config, dataset, None);
                        let unlabelled = match embedding.is_mixed() {
                            true => basis.project(&outputs.unlabelled()?)?.coordinates,
                            false => Vec::new(),
                        };
                        let search = EmbeddingSearch {
                            settings: embedding,
                            evaluator,
                            solver: &solver,
                            training: rows,
                            validation,
                            unlabelled: &unlabelled,
                        };
                        let (model, found) = search.best(settings.every_lambda())?;
                        curve = Some(found);
                        model
                    }
                    _ => {
                        let hubs = config.decoding.hubs.is_some();
                        let (model, left_out) = solver.solve(solver.lambda(space)?, hubs)?;
                        held_out = left_out;
                        model
                    }
                };
                model.into()
            }
            // the targets of this learner are one of the two above
            OutputTargets::Basis { .. } => return Err(targets.unexpected()),
        };
        let summary = Some(model.summary().to_string());
        let machine = KernelMachine { inputs: Arc::clone(&self.inputs), model, curve };
        Ok(Fitted { held_out, summary, ..Fitted::new(machine) })
    }
}
