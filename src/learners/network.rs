//! Neural encoders as learners: a recipe and the training loop.

use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use dsokr_basis::{Kernel, Projection};
use dsokr_core::Processes;
use dsokr_data::{InputKind, Split};
use dsokr_nn::onnx::{Graph, Value};
use dsokr_nn::{Encoder, Model, device_memory, parameters};
use dsokr_train::{
    Best, Checkpoint, Observer, Outcome, Pairs, TrainingConfig, Validation, embed, mean_loss, train,
};
use tracing::info;

use crate::config::{Abilities, Checked, Config};
use crate::decoding::evaluator::Evaluator;
use crate::encoders::inputs::{Prepare, Recipe};
use crate::error::{Error, ensure};
use crate::learners::learner::{Fit, Fitted, Learner, Predictor};
use crate::learners::memory;
use crate::learners::new_model::{check_groups, new_model};
use crate::run_dir::{PreparationFile, RunDir};
use crate::targets::memory::Need;
use crate::targets::{OutputTargets, Problem};

/// A trained encoder.
#[derive(derive_more::Debug)]
#[debug("Network({recipe:?})")]
pub struct Network<R: Recipe> {
    /// Its settings.
    pub recipe: R,
    /// The preparation of texts or vectors.
    pub preparation: Arc<R::Preparation>,
    /// The encoder.
    pub model: Model<R::Encoder>,
    /// Number of inputs that are encoded at once.
    pub batch: usize,
}

impl<R: Recipe> Predictor for Network<R> {
    fn predict(&self, split: &Split) -> Result<Vec<f32>, Error> {
        Ok(embed(&self.model, &self.preparation.inputs(split)?, self.batch)?)
    }

    fn knows(&self, split: &Split) -> Result<Vec<bool>, Error> {
        self.preparation.knows(split)
    }

    fn vector_width(&self) -> Option<usize> {
        self.preparation.vector_width()
    }

    fn preparation(&self) -> Result<Vec<PreparationFile>, Error> {
        self.preparation.files()
    }

    fn input_files(&self) -> Result<Vec<PreparationFile>, Error> {
        self.preparation.input_files()
    }

    fn save(&self, run: &mut RunDir) -> Result<(), Error> {
        let parameters = parameters::collect(&self.model);
        parameters::check_finite(&parameters)?;
        run.save_best(&parameters, run.logged_best_step()?)
    }

    fn export(&self, folder: &Path, unit_length: bool) -> Result<(), Error> {
        self.recipe.export(&self.preparation, &self.model.encoder, folder, unit_length)
    }

    fn onnx(&self, graph: &mut Graph) -> Option<Value> {
        self.model.encoder.onnx(graph)
    }
}

impl<R: Recipe> Learner for R {
    fn check(&self, config: &Config) -> Result<(), Error> {
        Recipe::validate(self)?;
        let kernel = config.output.kernel.as_deref();
        let plain = matches!(kernel, Some(Kernel::Linear | Kernel::Cosine));
        let allowed = "false: encoders without a sketch learn feature rows as they are, for the \
                       kernels linear and cosine";
        ensure(!config.sketch.full || plain, "sketch.full", true, allowed)
    }

    fn abilities(&self) -> Abilities<'_> {
        let reads = if self.reads_vectors() { InputKind::Vectors } else { InputKind::Texts };
        Abilities {
            reads,
            spectra: self.reads_spectra(),
            formulas: self.needs_formulas(),
            words: self.words_read(),
            shares_training: true,
            trains_in_steps: true,
            needs_validation: true,
            chosen_on_validation: Some("checkpoints are"),
            weighs_pairs: true,
            ..Abilities::default()
        }
    }

    fn prepare<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Fit + 'a>, Error> {
        Ok(Box::new(PreparedNetwork::new(self, problem)?))
    }

    fn load(
        &self,
        run: &RunDir,
        config: &Checked,
        width: usize,
        device: &Device,
    ) -> Result<Box<dyn Predictor>, Error> {
        let preparation = R::Preparation::load(&self.preparation(), run.path())?;
        let best = run.clone().prepared(&preparation.files()?)?.best()?;
        let model = new_model(self, config, &preparation, &vec![0.0; width], device, true)?;
        let model = parameters::restore(model, best)?;
        let batch = config.evaluation.batch;
        let preparation = Arc::new(preparation);
        Ok(Box::new(Network { recipe: self.clone(), preparation, model, batch }))
    }
}

/// A network with the inputs that it is trained on.
struct PreparedNetwork<'a, R: Recipe> {
    recipe: &'a R,
    problem: &'a Problem,
    preparation: Arc<R::Preparation>,
    /// The inputs of the training pairs.
    inputs: Vec<<R::Preparation as Prepare>::Input>,
    /// The model that the training starts from, once it has been made.
    model: Option<Model<R::Encoder>>,
    /// The checksum of the weights of a file that this model starts from.
    initial_weights: Option<String>,
}

impl<'a, R: Recipe> PreparedNetwork<'a, R> {
    fn new(recipe: &'a R, problem: &'a Problem) -> Result<Self, Error> {
        let train = &problem.dataset.train;
        let settings = recipe.preparation();
        let preparation = match &problem.saved {
            Some(run) => R::Preparation::load(&settings, run.path())?,
            None => R::Preparation::fit(&settings, train)?,
        };
        let inputs = preparation.inputs(train)?;
        let preparation = Arc::new(preparation);
        Ok(Self { recipe, problem, preparation, inputs, model: None, initial_weights: None })
    }

    /// Returns whether the training goes on from a state of the run.
    fn is_restored(&self) -> bool {
        self.problem.saved.as_ref().is_some_and(RunDir::has_checkpoint)
    }

    /// Returns the settings of the training, whose batches are split where a GPU has no memory for them, and what it needs.
    fn training(&self, coordinates: usize) -> (TrainingConfig, Vec<Need>) {
        let config = &self.problem.config;
        let parts = self.recipe.size(&self.preparation, &self.inputs, coordinates);
        let sizes = [self.inputs.len(), self.problem.dataset.validation.ids.len()];
        let gpu = device_memory(&self.problem.device);
        let needs = |training: &TrainingConfig| {
            memory::of_training(&parts, training, sizes, config.evaluation.batch, gpu)
        };
        let training = memory::split_batches(&config.training, needs);
        let needs = needs(&training);
        (training, needs)
    }

    /// Returns the settings of the training that all ranks share: they cut batches alike, as the GPU with the least memory needs.
    fn shared_training(&self, coordinates: usize) -> Result<TrainingConfig, Error> {
        let (mut training, _) = self.training(coordinates);
        let at_once = self.problem.ranks.gather_numbers(&[training.at_once() as u64])?.concat();
        if let Some(least) = at_once.into_iter().min().filter(|&n| n < training.at_once() as u64) {
            training.micro_batch = least as usize;
        }
        Ok(training)
    }

    /// Returns the model that the training starts from.
    fn new_model(&self, targets: &Projection) -> Result<Model<R::Encoder>, Error> {
        let config = &self.problem.config;
        let (training, _) = self.training(targets.dimension());
        if training.micro_batch != config.training.micro_batch {
            tracing::warn!(
                batch = training.batch,
                at_once = training.at_once(),
                "batches are encoded in parts, since the GPU has no memory for a whole one"
            );
        }
        let device = self.problem.device.clone().autodiff();
        let is_restored = self.is_restored();
        let offset = targets.mean(&self.problem.dataset.train.weights)?;
        let model =
            new_model(self.recipe, config, &self.preparation, &offset, &device, is_restored)?;
        check_groups(config, &model)?;
        let parameters = burn::module::Module::num_params(&model.encoder);
        info!(parameters, "model made");
        Ok(model)
    }
}

impl<R: Recipe> Fit for PreparedNetwork<'_, R> {
    fn files(&self) -> Result<Vec<PreparationFile>, Error> {
        self.preparation.files()
    }

    fn needs(&self, coordinates: usize) -> Vec<Need> {
        self.training(coordinates).1
    }

    fn start(&mut self, targets: &OutputTargets) -> Result<(), Error> {
        let (_, targets) = targets.basis()?;
        self.model = Some(self.new_model(targets)?);
        if !self.is_restored() {
            self.initial_weights = self.recipe.initial_weights(&self.preparation)?;
        }
        Ok(())
    }

    fn initial_weights(&self) -> Option<String> {
        self.initial_weights.clone()
    }

    fn fit(
        &mut self,
        targets: &OutputTargets,
        evaluator: &Evaluator,
        mut run: Option<&mut RunDir>,
        observer: &mut dyn Observer,
    ) -> Result<Fitted, Error> {
        let (basis, targets) = targets.basis()?;
        let model = match self.model.take() {
            Some(model) => model,
            None => self.new_model(targets)?,
        };
        let config = &self.problem.config;
        let ranks = &self.problem.ranks;
        let training = self.shared_training(targets.dimension())?;
        let validation = ValidationLoss {
            inputs: self.preparation.inputs(&self.problem.dataset.validation)?,
            batch: config.evaluation.batch,
            targets: self.problem.validation_targets(basis)?,
            training: &training,
        };
        let validate = |model: &Model<R::Encoder>| {
            let z = embed(model, &validation.inputs, validation.batch)?;
            let loss = validation.loss(model, &z)?;
            Ok(Validation { loss, ..evaluator.validation(&z)? })
        };
        let weights = self.problem.dataset.train.weights.as_slice();
        let pairs = Pairs::new(&self.inputs, targets.coordinates(), targets.residuals())?;
        let task = dsokr_train::Task {
            config: &training,
            seed: config.seed,
            device: &self.problem.device.clone().autodiff(),
            pairs: pairs.weighted(weights)?,
            ranks,
            validate: &validate,
        };
        let outcome = match &mut run {
            Some(run) => {
                let start = resumed(run, ranks)?;
                train(&task, model, start, &mut **run, observer)?
            }
            None => train(&task, model, None, &mut (), observer)?,
        };
        let (model, saved) = match run {
            Some(run) if ranks.is_first() => best_of_run(outcome, run)?,
            Some(_) => (outcome.model, true),
            None => (best_in_memory(outcome)?, false),
        };
        let preparation = Arc::clone(&self.preparation);
        let batch = config.evaluation.batch;
        let network = Network { recipe: self.recipe.clone(), preparation, model, batch };
        Ok(Fitted { saved, ..Fitted::new(network) })
    }
}

/// The validation pairs, for the loss of a model on them.
struct ValidationLoss<'a, I> {
    inputs: Vec<I>,
    /// Number of inputs that are encoded at once.
    batch: usize,
    /// The pairs whose outputs have features, and the coordinates of these outputs.
    targets: (Vec<usize>, Projection),
    training: &'a TrainingConfig,
}

impl<I> ValidationLoss<'_, I> {
    /// Returns the loss of the predictions z for the validation inputs; none where it is not finite.
    fn loss<E: Encoder>(
        &self,
        model: &Model<E>,
        z: &[f32],
    ) -> Result<Option<f64>, dsokr_train::Error> {
        let (pairs, targets) = &self.targets;
        let p = targets.dimension();
        let predictions: Vec<f32> =
            pairs.iter().flat_map(|&pair| &z[pair * p..][..p]).copied().collect();
        let coordinates = targets.coordinates();
        let loss = mean_loss(self.training, model, &predictions, coordinates, targets.residuals())?;
        Ok(Some(loss).filter(|loss| loss.is_finite()))
    }
}

/// Returns the best model of a training that a run keeps, and whether its file is in the run.
fn best_of_run<E: Encoder>(
    outcome: Outcome<E>,
    run: &mut RunDir,
) -> Result<(Model<E>, bool), Error> {
    let Outcome { model, best, .. } = outcome;
    match best {
        Best::Last => Ok((model, true)),
        Best::Given(best) => Ok((parameters::restore(model, best)?, true)),
        Best::Checkpoint if run.has_best() => Ok((parameters::restore(model, run.best()?)?, true)),
        Best::Checkpoint => {
            let run = run.path().display();
            tracing::warn!(
                "{run}: the file of the best parameters is gone, and those of the last checkpoint take their place"
            );
            Ok((model, false))
        }
    }
}

/// Returns the best model of a training that no run keeps.
fn best_in_memory<E: Encoder>(outcome: Outcome<E>) -> Result<Model<E>, Error> {
    let Outcome { model, best, .. } = outcome;
    match best {
        Best::Last | Best::Checkpoint => Ok(model),
        Best::Given(best) => Ok(parameters::restore(model, best)?),
    }
}

/// Returns the state that the training of a run goes on from, whose log and checkpoints end there.
fn resumed(run: &mut RunDir, ranks: &Processes) -> Result<Option<Checkpoint>, Error> {
    let start = ranks.agree(run.last_checkpoint())?;
    let step = start.as_ref().map_or(0, |checkpoint| checkpoint.step);
    // a shared file system may show one of them an older file, or none
    ranks.check_same("checkpoint's step", &step.to_string())?;
    if ranks.is_first() {
        run.rewind(step)?;
    }
    Ok(start)
}
