//! Kernel machines as learners: IOKR and its sketched forms, machines with Lipschitz losses, and
//! learned output embeddings.

mod cross_fit;
mod embedding;
mod inputs;
mod predictor;
mod solver;
mod weights;

use std::borrow::Cow;
use std::sync::Arc;

use dsokr_basis::{OutputKernel, RowSource};
use dsokr_data::{Dataset, InputKind};
use dsokr_machines::{Cost, KernelModel, LastSystem, OutputSpace, Solver, Targets};
use dsokr_train::Event;

use crate::config::{
    AnswersConfig, Checked, Config, EmbeddingConfig, EncoderSettings, HeldOutWeights,
    KernelMachineConfig, MachineInputsConfig,
};
use crate::evaluator::Evaluator;
use crate::fit::second_look_need;
use crate::learner::{
    Choice, ClosedForm, CrossFitted, Fitted, Learner, Predictor, StoredRun, Task,
};
use crate::memory::Need;
use crate::run_dir::HeldOut;
use crate::targets::{OutputTargets, TrainingOutputs};
use crate::{Error, memory};

use embedding::EmbeddingSearch;
use inputs::{MachineInputs, MachineRows};
use predictor::KernelMachine;
use solver::{LambdaSearch, advice_on_unlike, scaled, scaling, training_set, unknowns};

impl EncoderSettings for KernelMachineConfig {
    fn validate(&self) -> Result<(), Error> {
        Self::validate(self)
    }

    fn check_compatible(&self, config: &Config) -> Result<(), Error> {
        Self::check_compatible(self, config)
    }

    fn reads(&self) -> InputKind {
        match &self.inputs {
            MachineInputsConfig::Ngrams { .. } => InputKind::Texts,
            MachineInputsConfig::Vectors { .. } => InputKind::Vectors,
            MachineInputsConfig::Kernels { .. } => InputKind::Kernels,
        }
    }

    fn needs_cpu(&self) -> bool {
        true
    }

    fn shares_training(&self) -> bool {
        match self.solver {
            Solver::Sketched(_) | Solver::ConjugateGradients(_) | Solver::Averaged(_) => true,
            Solver::ClosedForm(_) | Solver::Lipschitz(_) => false,
        }
    }

    fn levels(&self) -> Option<&[f64]> {
        Self::levels(self)
    }
}

impl Learner for KernelMachineConfig {
    fn targets(&self, outputs: &TrainingOutputs) -> Result<OutputTargets, Error> {
        let config = outputs.config();
        if let Some(levels) = self.levels() {
            return OutputTargets::numbers(levels, outputs);
        }
        let rows = outputs.rows();
        if config.sketch.full {
            let (space, targets) = OutputSpace::training(outputs.kernel()?.clone(), &rows)?;
            return Ok(OutputTargets::Points { space, targets });
        }
        let mixed = self.embedding().is_some_and(EmbeddingConfig::is_mixed);
        let rank = match self.answers {
            AnswersConfig::Leading { rank } => Some(rank),
            AnswersConfig::All {} | AnswersConfig::Embedded(_) => None,
        };
        let basis = match outputs.lacks_weights() {
            true => weights::weighted_basis(self, outputs)?,
            false => outputs.basis(mixed)?,
        };
        // a Lipschitz loss also depends on the part of an output outside the basis
        let projected = match self.is_lipschitz() {
            true => Some(Targets::from_projection(&basis.project(&rows)?)?),
            false => None,
        };
        let (space, targets) = OutputSpace::basis(basis, rank, &rows)?;
        let targets = projected.unwrap_or(targets);
        Ok(OutputTargets::Points { space, targets })
    }

    fn needs(
        &self,
        config: &Checked,
        dataset: &Dataset,
        coordinates: usize,
    ) -> Result<Vec<Need>, Error> {
        // without a sketch the targets are places of outputs, which the factor is not applied to
        let coordinates = if config.sketch.full { 0 } else { coordinates };
        let (pairs, lambdas) = (dataset.train.ids.len(), self.lambda.values().len());
        let Cost { bytes, multiplications } = self.cost(pairs, coordinates, lambdas);
        let keys = match self.solver.sketch() {
            Some(_) => "encoder.solver.sketch.size",
            None => "encoder.solver.name",
        };
        let machine = Need { multiplications, ..Need::memory(keys, "the kernel machine", bytes) };
        let weighing = config.output.weights.map(|HeldOutWeights::HeldOut| {
            let need = weights::need(self, config, dataset);
            // the rest comes when it has been given back
            let rest = memory::of_outputs(config, dataset);
            let rest = rest.iter().chain([&machine]).map(|need| need.bytes).sum::<f64>();
            Need { bytes: (need.bytes - rest).max(0.0), ..need }
        });
        let looking = config.decoding.second_look.as_ref().map(|settings| {
            let fit = |pairs| self.cost(pairs, coordinates, 1);
            second_look_need(settings, config, dataset, coordinates, fit)
        });
        Ok([machine].into_iter().chain(weighing).chain(looking).collect())
    }

    fn fit(&self, task: &mut Task) -> Result<Fitted, Error> {
        let needs = self.needs(task.config, task.dataset, task.targets.width())?;
        // the weights of kernels have been fitted with the targets
        memory::check(&needs[..1], task.force)?;
        let systems = task.systems.clone();
        let outputs = TrainingOutputs::new(task.config, task.dataset, None, systems);
        let inputs = match task.resumed() {
            Some(path) => MachineInputs::load(self, path)?,
            None => MachineInputs::fit(self, &task.dataset.train, &outputs)?,
        };
        let machine =
            PreparedMachine::new(self, task.config, task.dataset, inputs, task.systems.clone())?;
        if let Some(embedding) = self.embedding() {
            embedding.ranks_in(task.targets.width())?;
        }
        task.begin(machine.inputs.files()?)?;
        let pairs = machine.rows.len();
        let unknowns = unknowns(&self.solver, pairs);
        let coordinates = task.targets.width();
        task.observer.event(&Event::Solving { pairs, unknowns, coordinates });
        task.ranks.scope(|| ClosedForm::fit(&machine, task.targets, task.evaluator))
    }

    fn cross_fit(
        &self,
        task: &Task,
        without: &[Vec<usize>],
    ) -> Result<Option<Vec<CrossFitted>>, Error> {
        cross_fit::cross_fit(self, task, without).map(Some)
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
        if self.embedding().is_some() {
            let allowed = "absent: a training run chooses embeddings";
            return Err(Error::value("encoder.answers", "embedded", allowed));
        }
        let inputs = MachineInputs::fit(self, &dataset.train, outputs)?;
        Ok(Some(Box::new(PreparedMachine::new(
            self,
            config,
            dataset,
            inputs,
            outputs.systems().clone(),
        )?)))
    }
}

/// A kernel machine with its training and validation inputs as rows.
struct PreparedMachine<'a> {
    settings: &'a KernelMachineConfig,
    config: &'a Checked,
    dataset: &'a Dataset,
    inputs: Arc<MachineInputs>,
    rows: MachineRows<'a>,
    validation: MachineRows<'a>,
    systems: LastSystem,
}

impl<'a> PreparedMachine<'a> {
    fn new(
        settings: &'a KernelMachineConfig,
        config: &'a Checked,
        dataset: &'a Dataset,
        inputs: MachineInputs,
        systems: LastSystem,
    ) -> Result<Self, Error> {
        let rows = inputs.rows(&dataset.train)?;
        if let MachineRows::Features(rows) = &rows {
            settings.kernel.validate(rows.kind())?;
        }
        let validation = inputs.rows(&dataset.validation)?;
        let inputs = Arc::new(inputs);
        Ok(Self { settings, config, dataset, inputs, rows, validation, systems })
    }
}

impl ClosedForm for PreparedMachine<'_> {
    fn fit(&self, targets: &OutputTargets, evaluator: &Evaluator) -> Result<Fitted, Error> {
        let Self { settings, config, dataset, rows, validation, systems, .. } = self;
        let (space, targets) = match targets {
            OutputTargets::Points { space, targets } => (Some(space), Cow::Borrowed(targets)),
            OutputTargets::Quantiles { levels, observed } => {
                let observed: Vec<f64> = observed.iter().copied().map(f64::from).collect();
                (None, Cow::Owned(Targets::repeated(levels.len(), &observed)?))
            }
            // the targets of this learner are one of the two above
            OutputTargets::Basis { .. } => return Err(targets.unexpected()),
        };
        let first = LastSystem::default();
        let first = training_set(settings, rows, &targets, config.seed, &first);
        let scaling = scaling(settings, first)?;
        let scaled = scaled(scaling.as_ref(), rows)?;
        let training = training_set(settings, &scaled, &targets, config.seed, systems);
        let prepared = settings.solver.prepare(training)?;
        let scaling = scaling.as_ref();
        let search = LambdaSearch { settings, scaling, prepared, evaluator, validation };
        let basis = space.and_then(OutputSpace::as_basis);
        let lambdas = settings.lambda.values();
        let lambda = |chosen| Choice {
            key: "encoder.lambda".into(),
            chosen,
            tried: lambdas.to_vec(),
            bounds: [0.0, f64::INFINITY],
        };
        let mut advice = None;
        let (model, held_out, curve, choices) = match (settings.embedding(), basis) {
            (Some(embedding), Some(basis)) => {
                let outputs = TrainingOutputs::new(config, dataset, None, systems.clone());
                let unlabelled = match embedding.is_mixed() {
                    true => basis.project_shared(&outputs.unlabelled()?)?.coordinates,
                    false => Vec::new(),
                };
                let search = EmbeddingSearch {
                    settings: embedding,
                    solver: &search,
                    training: rows,
                    unlabelled: &unlabelled,
                };
                let (model, curve) = search.best(lambdas)?;
                let tried = curve.points.iter().map(|point| point.rank as f64).collect();
                let rank = Choice {
                    key: "encoder.answers.ranks".into(),
                    chosen: curve.chosen.rank as f64,
                    tried,
                    bounds: [1.0, basis.rank() as f64],
                };
                let choices = vec![lambda(curve.chosen.lambda), rank];
                (KernelModel::Ridge(model), None, Some(curve), choices)
            }
            _ => {
                let best = search.best(space, config.decoding.needs_held_out())?;
                let choices = match best.flat {
                    true => Vec::new(),
                    false => vec![lambda(best.lambda)],
                };
                if best.flat {
                    advice = advice_on_unlike(settings, &scaled)?;
                }
                (best.model, best.held_out, None, choices)
            }
        };
        let mut summary = model.summary().to_string();
        if let (Some(basis), Some(_)) = (basis, config.output.weights) {
            summary += &format!(", {}", weights::summary(basis, dataset.outputs.rows.as_ref()));
        }
        let summary = Some(summary);
        let machine = KernelMachine { inputs: Arc::clone(&self.inputs), model, curve };
        let held_out = held_out.map(|answers| HeldOut::all(rows.len(), answers));
        let advice = advice.into_iter().collect();
        Ok(Fitted { held_out, summary, choices, advice, ..Fitted::new(machine) })
    }
}
