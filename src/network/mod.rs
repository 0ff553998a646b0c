//! Neural encoders as learners: a recipe, the frozen basis as the last layer, and the training loop.

mod cross_fit;

use std::borrow::Cow;
use std::path::Path;

use burn::tensor::Device;
use dsokr_basis::random::generator;
use dsokr_basis::{Basis, Kernel};
use dsokr_nn::{Encoder, FrozenBasis, Model, parameters};
use tracing::info;

use crate::config::{Checked, Config, EncoderSettings, KernelConfig};
use crate::folds::{held_out_folds, rest};
use crate::learner::{Fitted, Learner, Predictor, StoredRun, Task};
use crate::memory::{self, Need};
use crate::run_dir::{Folder, HeldOut, PreparationFiles};
use crate::run_files::BASIS;
use crate::{Error, Prepare, Recipe, Start};
use dsokr_data::{Dataset, InputKind, Split};
use dsokr_train::{Best, embed};

use cross_fit::CrossFit;

/// A trained encoder with its frozen basis.
pub struct Network<R: Recipe> {
    /// Its settings.
    pub recipe: R,
    /// The preparation of texts or vectors.
    pub preparation: R::Preparation,
    /// The encoder and the basis.
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
}

impl<R: Recipe> EncoderSettings for R {
    fn validate(&self) -> Result<(), Error> {
        Recipe::validate(self)
    }

    fn check_compatible(&self, config: &Config) -> Result<(), Error> {
        let plain = matches!(
            config.output.kernel,
            Some(KernelConfig::Fixed(Kernel::Linear | Kernel::Cosine))
        );
        if config.sketch.full && !plain {
            let allowed = "false: encoders without a sketch learn feature rows as they are, for the \
                           kernels linear and cosine";
            return Err(Error::value("sketch.full", true, allowed));
        }
        Ok(())
    }

    fn shares_training(&self) -> bool {
        true
    }

    fn reads(&self) -> InputKind {
        match self.reads_vectors() {
            true => InputKind::Vectors,
            false => InputKind::Texts,
        }
    }
}

impl<R: Recipe> Learner for R {
    fn needs(
        &self,
        config: &Checked,
        dataset: &Dataset,
        coordinates: usize,
    ) -> Result<Vec<Need>, Error> {
        let train = &dataset.train;
        let preparation = R::Preparation::fit(&self.preparation(), train)?;
        let inputs = preparation.inputs(train)?;
        let (n, validation) = (train.ids.len(), dataset.validation.ids.len());
        let need =
            |pairs| needs(self, config, &preparation, &inputs, [pairs, validation], coordinates);
        let decoding = &config.decoding;
        let hubs = decoding.hubs.clone().unwrap_or_default();
        let rest = n - n.div_ceil(hubs.folds().max(1)).min(n);
        if !hubs.refits() {
            return Ok(need(rest));
        }
        let mut needs = need(n);
        if decoding.needs_held_out() {
            let (trainings, part) = (hubs.answered() as f64, need(rest));
            let total = |of: fn(&Need) -> f64| trainings * part.iter().map(of).sum::<f64>();
            needs.push(Need {
                multiplications: total(|need| need.multiplications),
                traffic: total(|need| need.traffic),
                // the answers; each training comes after the one before
                ..Need::memory(
                    "decoding.hubs",
                    "trainings without a part of the pairs",
                    8.0 * (n * coordinates) as f64,
                )
            });
        }
        Ok(needs)
    }

    fn fit(&self, task: &mut Task) -> Result<Fitted, Error> {
        let config = task.config;
        let mut device = task.device.clone().autodiff();
        if Recipe::recomputes(self) && *task.device != Device::flex() {
            device = device.gradient_checkpointing();
        }
        let (basis, targets) = task.targets.basis()?;
        let train = &task.dataset.train;
        let settings = self.preparation();
        let preparation = match task.resumed() {
            Some(path) => R::Preparation::load(&settings, path)?,
            None => R::Preparation::fit(&settings, train)?,
        };
        // the part of the pairs that this encoder does not see, with the inputs and targets of the others
        let n = train.ids.len();
        let held = match config.decoding.hubs.as_ref().is_some_and(|hubs| !hubs.refits()) {
            true => held_out_folds(config, n)?.into_iter().next(),
            false => None,
        };
        let (train, targets) = match &held {
            Some(held) => {
                let rest = rest(held, n);
                (Cow::Owned(train.select(&rest)?), Cow::Owned(targets.select(&rest)))
            }
            None => (Cow::Borrowed(train), Cow::Borrowed(targets)),
        };
        let (train, targets) = (&*train, &*targets);
        let inputs = preparation.inputs(train)?;
        let sizes = [train.ids.len(), task.dataset.validation.ids.len()];
        memory::check(
            &needs(self, config, &preparation, &inputs, sizes, basis.rank()),
            task.force,
        )?;
        let restored = task.resumed().is_some_and(Folder::has_checkpoint);
        let model =
            new_model(self, config, basis, &preparation, &targets.mean(), &device, restored)?;
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
        let (evaluator, batch) = (task.evaluator, config.evaluation.batch);
        let validate = |model: &Model<R::Encoder>| {
            Ok(evaluator.validation(&embed(model, &validation, batch)?)?)
        };
        let training = dsokr_train::Task {
            config: &config.training,
            seed: config.seed,
            device: &device,
            inputs: &inputs,
            targets: &targets.coordinates,
            residuals: &targets.residuals,
            validate: &validate,
        };
        let outcome = ranks
            .scope(|| dsokr_train::train(&training, model, start, &mut folder, task.observer))?;
        if !ranks.is_first() {
            let network =
                Network { recipe: self.clone(), preparation, model: outcome.model, batch };
            return Ok(Fitted { saved: true, ..Fitted::new(network) });
        }
        let model = match outcome.best {
            Best::Last => outcome.model,
            Best::Given(best) => parameters::restore(outcome.model, best)?,
            Best::Stored => parameters::restore(outcome.model, folder.best()?)?,
        };
        let held_out = match (held, config.decoding.needs_held_out()) {
            (Some(held), _) => {
                let inputs = preparation.inputs(&task.dataset.train.select(&held)?)?;
                Some(HeldOut { answers: embed(&model, &inputs, batch)?, pairs: held })
            }
            (None, true) => {
                let cross = CrossFit {
                    recipe: self,
                    config,
                    dataset: task.dataset,
                    basis,
                    targets,
                    preparation: &preparation,
                    device: &device,
                    validate: &validate,
                };
                Some(cross.answers(task.observer)?)
            }
            (None, false) => None,
        };
        let network = Network { recipe: self.clone(), preparation, model, batch };
        Ok(Fitted { saved: true, held_out, ..Fitted::new(network) })
    }

    fn load(&self, run: &StoredRun) -> Result<Box<dyn Predictor>, Error> {
        let basis = Basis::load(&run.path.join(BASIS))?;
        let preparation = R::Preparation::load(&self.preparation(), run.path)?;
        let prepared = PreparationFiles::new(preparation.files()?)?;
        let best = Folder::open(run.path, run.space.into(), &prepared).best()?;
        let offset = vec![0.0; basis.rank()];
        let model = new_model(self, run.config, &basis, &preparation, &offset, run.device, true)?;
        let model = parameters::restore(model, best)?;
        let batch = run.config.evaluation.batch;
        Ok(Box::new(Network { recipe: self.clone(), preparation, model, batch }))
    }
}

/// What training needs, with prepared training inputs; `sizes` are the numbers of training and
/// validation pairs.
fn needs<R: Recipe>(
    recipe: &R,
    config: &Checked,
    preparation: &R::Preparation,
    inputs: &[<R::Preparation as Prepare>::Input],
    sizes: [usize; 2],
    coordinates: usize,
) -> Vec<Need> {
    let parts = recipe.size(preparation, inputs, coordinates);
    memory::of_training(&parts, &config.training, sizes, config.evaluation.batch)
}

/// A model with parameters drawn from the configuration's seed, and `offset` as its last bias; or one
/// whose parameters are about to be `restored`.
fn new_model<R: Recipe>(
    recipe: &R,
    config: &Checked,
    basis: &Basis,
    preparation: &R::Preparation,
    offset: &[f32],
    device: &Device,
    restored: bool,
) -> Result<Model<R::Encoder>, Error> {
    let mut random = generator(config.seed, "parameters", 0);
    let start = Start { offset, random: &mut random, device };
    let encoder = match restored {
        true => recipe.uninitialised(preparation, start)?,
        false => recipe.encoder(preparation, start)?,
    };
    let (found, expected) = (encoder.dimension(), basis.rank());
    if found != expected {
        return Err(Error::Dimension { found, expected });
    }
    let matrix = basis.matrix().values.into_owned();
    let model = Model::new(encoder, FrozenBasis::new(matrix, expected, device));
    Ok(match config.training.loss.temperature() {
        Some(temperature) => model.with_temperature(temperature, device),
        None => model,
    })
}

/// A group that holds no parameter is a spelling mistake.
fn check_groups<E: Encoder>(config: &Checked, model: &Model<E>) -> Result<(), Error> {
    let names: Vec<String> = parameters::names(model);
    for group in &config.training.groups {
        if !names.iter().any(|name| name.contains(&group.parameters)) {
            return Err(Error::value(
                "training.groups.parameters",
                format!("{:?}", group.parameters),
                format!("a part of one of {}", names.join(", ")),
            ));
        }
    }
    Ok(())
}
