//! Neural encoders as learners: a recipe and the training loop.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use dsokr_basis::{Kernel, Projection};
use dsokr_core::random::generator;
use dsokr_core::{Processes, RowWeights};
use dsokr_data::{InputKind, Split};
use dsokr_decode::CandidateBlocks;
use dsokr_nn::onnx::{Graph, Value};
use dsokr_nn::{Encoder, Model, Start, device_memory, parameters};
use dsokr_train::{Best, Observer, Pairs, TrainingConfig, embed, train};
use tracing::{info, warn};

use crate::config::folds::rest;
use crate::config::{Abilities, Checked, Config};
use crate::encoders::inputs::{Prepare, Recipe};
use crate::error::{Error, ensure};
use crate::learners::learner::{Fit, Fitted, Learner, Predictor, StoredRun, Task};
use crate::learners::memory::{self, Need};
use crate::metrics::scores::Scores;
use crate::run_dir::{Folder, HeldOut, PreparationFiles};
use crate::targets::TrainingOutputs;

/// A trained encoder.
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

    fn preparation(&self) -> Result<Vec<(&'static str, String)>, Error> {
        self.preparation.files()
    }

    fn save(&self, folder: &mut Folder) -> Result<(), Error> {
        let parameters = parameters::collect(&self.model);
        parameters::check_finite(&parameters)?;
        folder.save_best(&parameters)
    }

    fn export(&self, folder: &Path, unit_length: bool) -> Result<(), Error> {
        self.recipe.export(&self.preparation, &self.model.encoder, folder, unit_length)
    }

    fn onnx(&self, graph: &mut Graph) -> Option<Value> {
        self.model.encoder.onnx(graph)
    }
}

impl<R: Recipe> Learner for R {
    fn validate(&self) -> Result<(), Error> {
        Recipe::validate(self)
    }

    fn check_compatible(&self, config: &Config) -> Result<(), Error> {
        let kernel = config.output.kernel.as_deref();
        let plain = matches!(kernel, Some(Kernel::Linear | Kernel::Cosine));
        let allowed = "false: encoders without a sketch learn feature rows as they are, for the \
                       kernels linear and cosine";
        ensure(!config.sketch.full || plain, "sketch.full", true, allowed)
    }

    fn abilities(&self) -> Abilities<'_> {
        let reads = if self.reads_vectors() { InputKind::Vectors } else { InputKind::Texts };
        let spectra = self.reads_spectra();
        Abilities {
            reads,
            spectra,
            shares_training: true,
            weighs_pairs: true,
            ..Abilities::default()
        }
    }

    fn prepare<'a>(&'a self, outputs: &'a TrainingOutputs<'a>) -> Result<Box<dyn Fit + 'a>, Error> {
        Ok(Box::new(Prepared::new(self, outputs)?))
    }

    fn load(&self, run: &StoredRun) -> Result<Box<dyn Predictor>, Error> {
        let preparation = R::Preparation::load(&self.preparation(), run.path)?;
        let prepared = PreparationFiles::new(preparation.files()?)?;
        let best = Folder::open(run.path, run.space.into(), &prepared).best()?;
        let offset = vec![0.0; run.candidates.dim()];
        let model = new_model(self, run.config, &preparation, &offset, run.device, true)?;
        let model = parameters::restore(model, best)?;
        let batch = run.config.evaluation.batch;
        let preparation = Arc::new(preparation);
        Ok(Box::new(Network { recipe: self.clone(), preparation, model, batch }))
    }
}

/// A network with the inputs that it is trained on.
struct Prepared<'a, R: Recipe> {
    recipe: &'a R,
    outputs: &'a TrainingOutputs<'a>,
    preparation: Arc<R::Preparation>,
    /// The part of the pairs that the encoder does not see, where it is not trained anew without each part.
    held: Option<Vec<usize>>,
    /// Those of the other pairs.
    inputs: Vec<<R::Preparation as Prepare>::Input>,
    /// Their weights.
    weights: RowWeights,
}

impl<'a, R: Recipe> Prepared<'a, R> {
    fn new(recipe: &'a R, outputs: &'a TrainingOutputs<'a>) -> Result<Self, Error> {
        let config = outputs.config;
        let train = &outputs.dataset.train;
        let settings = recipe.preparation();
        let preparation = match outputs.resumed {
            Some(path) => R::Preparation::load(&settings, path)?,
            None => R::Preparation::fit(&settings, train)?,
        };
        let n = train.ids.len();
        let held = match &config.decoding.hubs {
            Some(hubs) if !hubs.refits() => {
                hubs.parts().draw(outputs.dataset, config.seed)?.into_iter().next()
            }
            Some(_) | None => None,
        };
        let learned = match &held {
            Some(held) => &train.select(&rest(held, n))?,
            None => train,
        };
        let inputs = preparation.inputs(learned)?;
        let weights = learned.weights.clone();
        Ok(Self { recipe, outputs, preparation: Arc::new(preparation), held, inputs, weights })
    }

    /// The predictions of encoders that were trained without the pair. There is one encoder for each
    /// fold that is answered, trained with the same settings.
    fn held_out(
        &self,
        targets: &Projection,
        training: &dsokr_train::Task<R::Encoder, Scores>,
        observer: &mut dyn Observer,
    ) -> Result<HeldOut, Error> {
        let Self { recipe, outputs, preparation, .. } = self;
        let config = outputs.config;
        let split = &outputs.dataset.train;
        let n = split.ids.len();
        let hubs = config.decoding.hubs.clone().unwrap_or_default();
        let folds = hubs.parts().draw(outputs.dataset, config.seed)?;
        let mut found: Vec<(usize, Vec<f32>)> = Vec::new();
        for (at, held) in folds.iter().enumerate() {
            let fold = at + 1;
            let folds = folds.len();
            let pairs = n - held.len();
            info!(fold, folds, pairs, "training for held-out answers");
            let rest = rest(held, n);
            let learned = split.select(&rest)?;
            let inputs = preparation.inputs(&learned)?;
            let targets = targets.select(&rest);
            let offset = targets.mean(&learned.weights);
            let device = training.device;
            let model = new_model(*recipe, config, preparation, &offset, device, false)?;
            let pairs = Pairs::new(&inputs, &targets.coordinates, &targets.residuals)?;
            let pairs = pairs.weighted(learned.weights.as_slice())?;
            let task = dsokr_train::Task { pairs, ranks: &Processes::default(), ..*training };
            let outcome = train(&task, model, None, &mut (), observer)?;
            let model = match outcome.best {
                Best::Given(best) => parameters::restore(outcome.model, best)?,
                Best::Last | Best::Stored => outcome.model,
            };
            let inputs = preparation.inputs(&split.select(held)?)?;
            let z = embed(&model, &inputs, config.evaluation.batch)?;
            let rows = z.chunks_exact(targets.dimension).map(<[f32]>::to_vec);
            found.extend(held.iter().copied().zip(rows));
        }
        found.sort_unstable_by_key(|(pair, _)| *pair);
        let (pairs, answers): (Vec<usize>, Vec<Vec<f32>>) = found.into_iter().unzip();
        Ok(HeldOut { pairs, answers: answers.concat() })
    }

    /// The settings of a training on so many pairs, whose batches are split where a GPU has no memory for them, and what
    /// it needs.
    fn training(
        &self,
        pairs: usize,
        coordinates: usize,
        device: &Device,
    ) -> (TrainingConfig, Vec<Need>) {
        let config = self.outputs.config;
        let parts = self.recipe.size(&self.preparation, &self.inputs, coordinates);
        let sizes = [pairs, self.outputs.dataset.validation.ids.len()];
        let gpu = device_memory(device);
        let needs = |training: &TrainingConfig| {
            memory::of_training(&parts, training, sizes, config.evaluation.batch, gpu)
        };
        let training = memory::split_batches(&config.training, needs);
        let needs = needs(&training);
        (training, needs)
    }
}

impl<R: Recipe> Fit for Prepared<'_, R> {
    fn needs(&self, coordinates: usize, device: &Device) -> Vec<Need> {
        let needs = |pairs| self.training(pairs, coordinates, device).1;
        let decoding = &self.outputs.config.decoding;
        let n = self.outputs.len();
        let hubs = decoding.hubs.clone().unwrap_or_default();
        let rest = hubs.parts().rest(n);
        if !hubs.refits() {
            return needs(rest);
        }
        let mut all = needs(n);
        if decoding.needs_held_out() {
            let part = needs(rest);
            let parts = hubs.parts().answered as f64;
            let total = |of: fn(&Need) -> f64| parts * part.iter().map(of).sum::<f64>();
            // the answers; each training comes after the one before
            let what = "trainings without a part of the pairs";
            let bytes = 8.0 * (n * coordinates) as f64;
            all.push(Need {
                multiplications: total(|need| need.multiplications),
                traffic: total(|need| need.traffic),
                ..Need::memory("decoding.hubs", what, bytes)
            });
        }
        all
    }

    fn fit(&self, task: &mut Task) -> Result<Fitted, Error> {
        let Self { preparation, held, inputs, .. } = self;
        let recipe = self.recipe;
        let config = task.config;
        let device = task.device.clone().autodiff();
        let (basis, targets) = task.targets.basis()?;
        let targets = match held {
            Some(held) => Cow::Owned(targets.select(&rest(held, self.outputs.len()))),
            None => Cow::Borrowed(targets),
        };
        let targets = &*targets;
        let (training, needs) = self.training(inputs.len(), basis.dimension(), &device);
        memory::check(&needs, task.force)?;
        if training.micro_batch != config.training.micro_batch {
            let batch = training.batch;
            let at_once = training.at_once();
            warn!(
                batch,
                at_once,
                "batches are encoded in parts, since the GPU has no memory for a whole one"
            );
        }
        let restored = self.outputs.resumed.is_some_and(Folder::has_checkpoint);
        let offset = targets.mean(&self.weights);
        let model = new_model(recipe, config, preparation, &offset, &device, restored)?;
        check_groups(config, &model)?;
        info!(parameters = burn::module::Module::num_params(&model.encoder), "model made");

        let ranks = task.ranks;
        let folder = task.begin(preparation.files()?)?;
        let start = folder.last_checkpoint()?;
        if ranks.is_first() {
            folder.rewind_log(start.as_ref().map_or(0, |checkpoint| checkpoint.step))?;
        }
        let mut folder = folder.clone();
        let validation = preparation.inputs(&task.dataset.validation)?;
        let evaluator = task.evaluator;
        let batch = config.evaluation.batch;
        let validate = |model: &Model<R::Encoder>| {
            Ok(evaluator.validation(&embed(model, &validation, batch)?)?)
        };
        let pairs = Pairs::new(inputs, &targets.coordinates, &targets.residuals)?;
        let trained = dsokr_train::Task {
            config: &training,
            seed: config.seed,
            device: &device,
            pairs: pairs.weighted(self.weights.as_slice())?,
            ranks,
            validate: &validate,
        };
        let outcome = train(&trained, model, start, &mut folder, task.observer)?;
        let fitted = |model| {
            let preparation = Arc::clone(preparation);
            let network = Network { recipe: recipe.clone(), preparation, model, batch };
            Fitted { saved: true, ..Fitted::new(network) }
        };
        if !ranks.is_first() {
            return Ok(fitted(outcome.model));
        }
        let model = match outcome.best {
            Best::Last => outcome.model,
            Best::Given(best) => parameters::restore(outcome.model, best)?,
            Best::Stored => parameters::restore(outcome.model, folder.best()?)?,
        };
        let held_out = match (held, config.decoding.needs_held_out()) {
            (Some(held), _) => {
                let inputs = preparation.inputs(&task.dataset.train.select(held)?)?;
                Some(HeldOut { answers: embed(&model, &inputs, batch)?, pairs: held.clone() })
            }
            (None, true) => Some(self.held_out(targets, &trained, task.observer)?),
            (None, false) => None,
        };
        Ok(Fitted { held_out, ..fitted(model) })
    }
}

/// A model with parameters drawn from the configuration's seed, and `offset` as its last bias; or one
/// whose parameters are about to be `restored`.
fn new_model<R: Recipe>(
    recipe: &R,
    config: &Checked,
    preparation: &R::Preparation,
    offset: &[f32],
    device: &Device,
    restored: bool,
) -> Result<Model<R::Encoder>, Error> {
    let mut random = generator(config.seed, "parameters", 0);
    let start = Start { offset, random: &mut random, device };
    let encoder = if restored {
        recipe.uninitialised(preparation, start)?
    } else {
        recipe.encoder(preparation, start)?
    };
    let found = encoder.dimension();
    let expected = offset.len();
    if found != expected {
        let message = format!("it has {found} coordinates, the basis {expected}");
        return Err(Error::Contract(message));
    }
    let model = Model::new(encoder);
    Ok(match config.training.loss.temperature() {
        Some(temperature) => model.with_temperature(temperature, device),
        None => model,
    })
}

/// A group that holds no parameter is a spelling mistake.
fn check_groups<E: Encoder>(config: &Checked, model: &Model<E>) -> Result<(), Error> {
    let names: Vec<String> = parameters::names(model);
    config.training.groups.iter().try_for_each(|group| {
        let known = names.iter().any(|name| name.contains(&group.parameters));
        let key = "training.groups.parameters";
        let found = format_args!("{:?}", group.parameters);
        ensure(known, key, found, format_args!("a part of one of {}", names.join(", ")))
    })
}
