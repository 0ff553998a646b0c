//! Kernel machines as learners: IOKR and its sketched forms, machines with Lipschitz losses, and
//! learned output embeddings.

mod inputs;
mod output;
mod predictor;
mod prepared;
mod solver;

use std::borrow::Cow;
use std::sync::Arc;

use burn::tensor::Device;
use dsokr_basis::RowSource;
use dsokr_basis::features::Selected;
use dsokr_machines::{
    Cost, Coupling, KernelModel, LastSystem, OutputSpace, Solver, Targets, TrainingInputs,
};
use dsokr_train::{Event, check_basis};

use crate::config::folds::{repeated, rest};
use crate::config::{
    Abilities, AnswersConfig, Config, EmbeddingConfig, HeldOutWeights, KernelMachineConfig,
};
use crate::decoding::evaluator::Evaluator;
use crate::error::Error;
use crate::learners::choice::Choice;
use crate::learners::learner::{CrossFitted, Fit, Fitted, Learner, Predictor, StoredRun, Task};
use crate::learners::memory;
use crate::learners::memory::Need;
use crate::run_dir::{EmbeddingCurve, HeldOut, OUTPUTS, PreparationFiles, check_preparation};
use crate::targets::{OutputSpace as TargetSpace, OutputTargets, TargetValues, TrainingOutputs};
use inputs::{MachineInputs, MachineRows};
use output::in_space;
use predictor::KernelMachine;
use solver::{LambdaSearch, Scaled, advice_on_unlike, in_places, scaled_inputs};

impl Learner for KernelMachineConfig {
    fn validate(&self) -> Result<(), Error> {
        Self::validate(self)
    }

    fn check_compatible(&self, config: &Config) -> Result<(), Error> {
        Self::check_compatible(self, config)
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            reads: self.reads(),
            spectra: self.reads_spectra(),
            closed_form: true,
            shares_training: matches!(
                self.solver,
                Solver::Sketched(_) | Solver::ConjugateGradients(_) | Solver::Averaged(_)
            ),
            weighs_pairs: true,
            levels: self.levels(),
        }
    }

    fn prepare<'a>(&'a self, outputs: &'a TrainingOutputs<'a>) -> Result<Box<dyn Fit + 'a>, Error> {
        Ok(Box::new(PreparedMachine::new(self, outputs)?))
    }

    fn load(&self, run: &StoredRun) -> Result<Box<dyn Predictor>, Error> {
        let Some(file) = KernelModel::open(run.path)? else {
            let name =
                if self.is_lipschitz() { "machine.safetensors" } else { "ridge.safetensors" };
            return Err(Error::no_model(&run.path.join(name)));
        };
        let inputs = MachineInputs::load(self, run.path)?;
        check_basis(&file, run.space)?;
        check_preparation(&file, &PreparationFiles::new(inputs.files()?)?.fingerprint())?;
        let model = inputs.model(&file)?;
        let inputs = Arc::new(inputs);
        let model = Arc::new(model);
        let curve = EmbeddingCurve::read(run.path)?;
        Ok(Box::new(KernelMachine { inputs, model, curve }))
    }
}

/// A kernel machine with its training and validation inputs as rows.
struct PreparedMachine<'a> {
    settings: &'a KernelMachineConfig,
    outputs: &'a TrainingOutputs<'a>,
    inputs: Arc<MachineInputs>,
    rows: MachineRows<'a>,
    validation: MachineRows<'a>,
    /// M of the columns of outputs.
    output: Option<Coupling>,
    /// The pairs that the second look answers, where no machine is fitted anew.
    answered: Option<Vec<usize>>,
    /// The model of the embedding that was chosen.
    embedded: Option<(Arc<KernelModel>, EmbeddingCurve)>,
}

impl<'a> PreparedMachine<'a> {
    fn new(
        settings: &'a KernelMachineConfig,
        outputs: &'a TrainingOutputs<'a>,
    ) -> Result<Self, Error> {
        let dataset = outputs.dataset;
        let config = outputs.config;
        settings.check_pairs(dataset.train.ids.len())?;
        let mut inputs = match outputs.resumed {
            Some(path) => MachineInputs::load(settings, path)?,
            None => MachineInputs::fit(settings, &dataset.train, outputs)?,
        };
        inputs.fit_kernel(settings, &dataset.train, config.seed)?;
        let rows = inputs.rows(&dataset.train)?;
        if let MachineRows::Features(rows, kernel) = &rows {
            kernel.validate(rows.kind())?;
        }
        let validation = inputs.rows(&dataset.validation)?;
        let levels = settings.levels().unwrap_or_default();
        let output = settings.output_matrix.as_ref();
        let output = output.map(|own| own.coupling(levels, outputs.root)).transpose()?;
        let look = config.decoding.second_look.as_ref().filter(|look| !look.refit);
        let parts = look.map(|look| look.parts().draw(dataset, config.seed)).transpose()?;
        let answered = parts.and_then(|parts| parts.into_iter().next());
        let inputs = Arc::new(inputs);
        let embedded = None;
        Ok(Self { settings, outputs, inputs, rows, validation, output, answered, embedded })
    }

    /// The memory and time of the fit of the machine by itself.
    fn machine_need(&self, coordinates: usize) -> Need {
        let Self { settings, outputs, rows, .. } = self;
        // without a sketch the targets are places of outputs, which the factor is not applied to
        let coordinates = if outputs.config.sketch.full { 0 } else { coordinates };
        let lambdas = settings.lambda.values().len();
        let Cost { bytes, multiplications } = settings.cost(rows.len(), coordinates, lambdas);
        let keys = match settings.solver.sketch() {
            Some(_) => "encoder.solver.sketch.size",
            None => "encoder.solver.name",
        };
        Need { multiplications, ..Need::memory(keys, "the kernel machine", bytes) }
    }
}

impl Fit for PreparedMachine<'_> {
    fn targets(&self, outputs: &TrainingOutputs) -> Result<OutputTargets, Error> {
        let settings = self.settings;
        let config = outputs.config;
        if let Some(levels) = settings.levels() {
            return OutputTargets::numbers(levels, outputs);
        }
        let rows = outputs.rows();
        let weights = &outputs.dataset.train.weights;
        if config.sketch.full {
            let kernel = outputs.kernel()?.clone();
            return Ok(OutputTargets::points(OutputSpace::training_weighted(
                kernel, &rows, weights,
            )?));
        }
        let mixed = settings.embedding().is_some_and(EmbeddingConfig::is_mixed);
        let rank = match settings.answers {
            AnswersConfig::Leading { rank } => Some(rank),
            AnswersConfig::All {} | AnswersConfig::Embedded(_) => None,
        };
        let basis = if outputs.lacks_weights() {
            output::weighted_basis(settings, &self.rows, outputs)?
        } else {
            outputs.basis(mixed)?
        };
        // a Lipschitz loss also depends on the part of an output outside the basis
        let projected = if settings.is_lipschitz() {
            Some(Targets::from_projection(&basis.project(&rows)?)?.weighted(weights)?)
        } else {
            None
        };
        let (space, targets) = OutputSpace::basis_weighted(basis, rank, &rows, weights)?;
        Ok(OutputTargets::points((space, projected.unwrap_or(targets))))
    }

    fn refined_targets(
        &mut self,
        targets: &OutputTargets,
        evaluator: &Evaluator,
        force: bool,
    ) -> Result<Option<OutputTargets>, Error> {
        let Self { settings, outputs, ref rows, .. } = *self;
        let TargetSpace::Machine(space) = &targets.space else {
            return Ok(None);
        };
        let TargetValues::Points(values) = &targets.values else {
            return Ok(None);
        };
        let Some(embedding) = settings.embedding() else {
            return Ok(None);
        };
        if self.embedded.is_some() {
            return Ok(None);
        }
        // a resumed run that has chosen
        if let Some(path) = outputs.resumed
            && let Some(curve) = EmbeddingCurve::read(path)?
            && let Some(file) = KernelModel::open(path)?
        {
            let space = OutputSpace::load(&path.join(OUTPUTS), space.as_basis().cloned())?;
            self.embedded = Some((Arc::new(self.inputs.model(&file)?), curve));
            return Ok(Some(OutputTargets::points((space, values.clone()))));
        }
        memory::check(&[self.machine_need(space.dimension())], force)?;
        embedding.ranks_in(space.dimension())?;
        let unlabelled = match (embedding.is_mixed(), space.as_basis()) {
            (true, Some(basis)) => basis.project_shared(&outputs.unlabelled()?)?.coordinates,
            _ => Vec::new(),
        };
        let inputs = rows.training();
        let scaled = &settings.scale(&inputs, values, rows.len(), outputs.config.seed)?;
        let search =
            self.search(&scaled_inputs(inputs, scaled), scaled, values, evaluator, None)?;
        let (model, embedding, curve) = search.best_embedding(embedding, rows, &unlabelled)?;
        let refined = OutputTargets::points(space.embedded(&embedding, values)?);
        self.embedded = Some((Arc::new(model), curve));
        Ok(Some(refined))
    }

    fn needs(&self, coordinates: usize, _: &Device) -> Vec<Need> {
        let settings = self.settings;
        let config = self.outputs.config;
        let dataset = self.outputs.dataset;
        let machine = self.machine_need(coordinates);
        let weighing = config.output.weights.map(|HeldOutWeights::HeldOut| {
            let need = output::need(settings, config, dataset);
            // the rest comes when it has been given back
            let rest = memory::of_outputs(config, dataset);
            let rest = rest.iter().chain([&machine]).map(|need| need.bytes).sum::<f64>();
            Need { bytes: (need.bytes - rest).max(0.0), ..need }
        });
        let looking = config.decoding.second_look.as_ref().map(|look| {
            let fit = |pairs| settings.cost(pairs, coordinates, 1);
            memory::of_second_look(look, config, dataset, coordinates, fit)
        });
        [machine].into_iter().chain(weighing).chain(looking).collect()
    }

    fn fit(&self, task: &mut Task) -> Result<Fitted, Error> {
        let coordinates = task.targets.space.width();
        memory::check(&[self.machine_need(coordinates)], task.force)?;
        task.begin(self.inputs.files()?)?;
        let pairs = self.rows.len();
        let unknowns = self.settings.solver.sketch().map_or(pairs, |sketch| sketch.size);
        task.observer.event(&Event::Solving { pairs, unknowns, coordinates });
        task.ranks.scope(|| self.solved(task.targets, task.evaluator))
    }

    fn solve(
        &self,
        targets: &OutputTargets,
        evaluator: &Evaluator,
    ) -> Result<Option<Fitted>, Error> {
        self.solved(targets, evaluator).map(Some)
    }

    /// By the first λ. Inputs are prepared with all training inputs, as for leave-one-out
    /// answers; columns are scaled by the other pairs only.
    fn without(
        &self,
        targets: &OutputTargets,
        parts: &[Vec<usize>],
    ) -> Result<Option<Vec<CrossFitted>>, Error> {
        let Self { settings, outputs, rows, .. } = self;
        let seed = outputs.config.seed;
        let output = in_space(self.output.as_ref(), &targets.space)?;
        let TargetValues::Points(targets) = &targets.values else {
            return Err(targets.unexpected());
        };
        let (features, kernel) = rows.features()?;
        let mut fitted = Vec::new();
        for held in parts {
            let rest = rest(held, rows.len());
            let known = Selected::new(features, &rest);
            let targets = targets.select(&rest)?;
            let inputs = TrainingInputs::rows(Arc::clone(kernel), &known);
            let systems = LastSystem::default();
            let (model, leave_one_out) =
                settings.fit_once(inputs, &targets, seed, systems, output.clone())?;
            fitted.push(cross_fitted(&model, features, [held, &rest], leave_one_out)?);
            tracing::info!(pairs = rest.len(), answered = held.len(), "fitted without a part");
        }
        Ok(Some(fitted))
    }
}

impl PreparedMachine<'_> {
    /// The machine that is fitted to the targets.
    fn solved(&self, targets: &OutputTargets, evaluator: &Evaluator) -> Result<Fitted, Error> {
        if let Some((model, curve)) = self.embedded.clone() {
            return Ok(self.fitted_embedding(model, curve, targets));
        }
        let Self { settings, outputs, rows, .. } = self;
        let config = outputs.config;
        let (space, values) = match (&targets.space, &targets.values) {
            (TargetSpace::Machine(space), TargetValues::Points(own)) => {
                (Some(space), Cow::Borrowed(own))
            }
            (TargetSpace::Quantiles(levels), TargetValues::Numbers(observed)) => {
                let observed: Vec<f64> = observed.iter().copied().map(f64::from).collect();
                let targets = Targets::repeated(levels.len(), &observed)?;
                (None, Cow::Owned(targets.weighted(&outputs.dataset.train.weights)?))
            }
            // the targets of this learner are one of the two above
            _ => return Err(targets.unexpected()),
        };
        // pairs that are answered by a machine without them come last
        let n = rows.len();
        let order = self.answered.as_ref().map(|held| [&rest(held, n), held.as_slice()].concat());
        let leading = self.answered.as_ref().map(|held| n - held.len());
        let ordered = match &order {
            Some(order) => Some((Selected::new(rows.features()?.0, order), values.select(order)?)),
            None => None,
        };
        let (inputs, values) = match &ordered {
            Some((own, values)) => {
                let (_, kernel) = rows.features()?;
                (TrainingInputs::rows(Arc::clone(kernel), own), values)
            }
            None => (rows.training(), values.as_ref()),
        };
        let scaled = &settings.scale(&inputs, values, leading.unwrap_or(n), config.seed)?;
        let inputs = scaled_inputs(inputs, scaled);
        let search = self.search(&inputs, scaled, values, evaluator, leading)?;
        let output = in_space(self.output.as_ref(), &targets.space)?;
        let search = LambdaSearch { prepared: search.prepared.with_output(output), ..search };
        let best = search.best(space, config.decoding.needs_held_out())?;
        let left_out = match (best.leading, &order, leading) {
            (Some((model, leave_one_out)), Some(order), Some(leading)) => {
                let (rest, held) = order.split_at(leading);
                Some(cross_fitted(&model, rows.features()?.0, [held, rest], leave_one_out)?)
            }
            _ => None,
        };
        let mut choices = Vec::new();
        let mut advice = Vec::new();
        let lambda = Choice::new("encoder.lambda", best.lambda, settings.lambda.values());
        if best.flat {
            advice.extend(advice_on_unlike(settings, &inputs)?)
        } else {
            choices.push(lambda)
        }
        let held_out = best.held_out.map(|answers| {
            let answers = match &order {
                Some(order) => in_places(&answers, order),
                None => answers,
            };
            HeldOut::all(rows.len(), answers)
        });
        let fitted = self.fitted(Arc::new(best.model), None, targets);
        Ok(Fitted { held_out, left_out, choices, advice, ..fitted })
    }

    /// The search for λ with scaled inputs.
    fn search<'s>(
        &'s self,
        inputs: &TrainingInputs<'s>,
        scaled: &'s Option<Scaled>,
        targets: &'s Targets,
        evaluator: &'s Evaluator<'s>,
        leading: Option<usize>,
    ) -> Result<LambdaSearch<'s>, Error> {
        let Self { settings, outputs, validation, .. } = self;
        let seed = outputs.config.seed;
        let systems = outputs.systems.clone();
        let prepared = settings.solver.prepare(inputs.clone(), seed, systems)?;
        Ok(LambdaSearch { settings, scaled, prepared, targets, evaluator, validation, leading })
    }

    /// A fitted model with its summary.
    fn fitted(
        &self,
        model: Arc<KernelModel>,
        curve: Option<EmbeddingCurve>,
        targets: &OutputTargets,
    ) -> Fitted {
        let config = self.outputs.config;
        let dataset = self.outputs.dataset;
        let mut summary = model.summary.to_string();
        if let Some(basis) = targets.space.basis()
            && let Some(_) = config.output.weights
        {
            summary += &format!(", {}", output::summary(basis, dataset.outputs.rows.as_ref()));
        }
        let machine = KernelMachine { inputs: Arc::clone(&self.inputs), model, curve };
        Fitted { summary: Some(summary), ..Fitted::new(machine) }
    }

    /// The model of a chosen embedding.
    fn fitted_embedding(
        &self,
        model: Arc<KernelModel>,
        curve: EmbeddingCurve,
        targets: &OutputTargets,
    ) -> Fitted {
        let chosen = curve.chosen;
        let most = curve.points.iter().map(|point| point.rank).max();
        let tried: Vec<f64> = curve.points.iter().map(|point| point.rank as f64).collect();
        let rank = Choice::new("encoder.answers.ranks", chosen.rank as f64, &tried);
        let bounds = [1.0, most.unwrap_or_default() as f64];
        let mut choices = vec![Choice { bounds, ..rank }];
        choices.push(Choice::new("encoder.lambda", chosen.lambda, self.settings.lambda.values()));
        let first = self.settings.embedding().and_then(|own| own.lambda.as_ref());
        if let Some(tried) = first
            && let Some(lambda) = chosen.embedding_lambda
        {
            choices.push(Choice::new("encoder.answers.lambda", lambda, tried.values()));
        }
        Fitted { choices, ..self.fitted(model, Some(curve), targets) }
    }
}

/// The answers of a model that was fitted to the second of two parts of the pairs.
fn cross_fitted(
    model: &KernelModel,
    features: &dyn RowSource,
    [held, rest]: [&[usize]; 2],
    leave_one_out: Vec<f32>,
) -> Result<CrossFitted, Error> {
    let answers = |pairs: &[usize]| model.predict(&Selected::new(features, pairs));
    let pairs = held.to_vec();
    let fitted = answers(&repeated(rest))?;
    Ok(CrossFitted { pairs, answers: answers(held)?, leave_one_out, fitted })
}
