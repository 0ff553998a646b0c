use std::path::Path;

use burn::tensor::Device;
use dsokr_basis::random::generator;
use dsokr_basis::{Basis, RowSource};
use dsokr_decode::{CandidateBlocks, Candidates, Hit, Pool, Queries};
use dsokr_nn::{Encoder, FrozenBasis, Model, parameters};

use super::{BASIS, Folder, Prepared, machine};
use crate::config::{Checked, EncoderConfig};
use crate::scores::{Evaluation, Origin, evaluate};
use crate::trainer::{Keeper, check_basis, embed};
use crate::{Error, Preparation, Prepare, Recipe, Start};
use dsokr_data::{Split, Truth};

/// A trained run, read from its directory alone. Its encoder's recipe is an `R`, by default that of
/// the built-in encoders.
pub struct Run<R: Recipe = EncoderConfig> {
    /// The resolved configuration.
    pub config: Checked<R>,
    /// The candidates.
    pub candidates: Candidates,
    /// What answers.
    pub predictor: Predictor<R>,
}

/// What turns inputs into coordinates `z ∈ R^p`.
pub enum Predictor<R: Recipe = EncoderConfig> {
    /// An encoder with a frozen basis.
    Network(Network<R>),
    /// A kernel machine.
    Machine(Machine),
}

impl<R: Recipe> Predictor<R> {
    /// The encoder, if it is one.
    pub fn network(&self) -> Option<&Network<R>> {
        match self {
            Self::Network(network) => Some(network),
            Self::Machine(_) => None,
        }
    }
}

/// An encoder with a frozen basis as its last layer.
pub struct Network<R: Recipe = EncoderConfig> {
    /// The eigenbasis.
    pub basis: Basis,
    /// What turns texts or vectors into inputs.
    pub preparation: R::Preparation,
    /// The best model.
    pub model: Model<R::Encoder>,
}

/// A kernel machine.
pub struct Machine {
    /// What turns texts or vectors into rows.
    pub preparation: Preparation,
    /// The fitted model.
    pub model: Answers,
    /// From where its candidates' coordinates count.
    pub(crate) origin: Origin,
}

/// A fitted kernel machine.
#[derive(Clone, Debug)]
pub enum Answers {
    /// In closed form.
    Ridge(dsokr_machines::ridge::Model),
    /// Under a Lipschitz loss.
    Lipschitz(dsokr_machines::Machine),
}

impl Answers {
    /// Coordinates `z` of input rows, `[rows × p]` row-major.
    ///
    /// # Errors
    /// Rows of another kind or width; a prediction that overflows.
    pub fn predict(&self, rows: &dyn RowSource) -> Result<Vec<f32>, Error> {
        match self {
            Self::Ridge(model) => Ok(model.predict(rows)?),
            Self::Lipschitz(machine) => Ok(machine.predict(rows)?),
        }
    }

    /// What was fitted, and how well.
    pub fn summary(&self) -> String {
        match self {
            Self::Ridge(model) => model.summary().to_string(),
            Self::Lipschitz(machine) => machine.summary().to_string(),
        }
    }
}

impl<R: Recipe> Run<R> {
    /// Reads a run directory.
    ///
    /// # Errors
    /// A file that is missing, damaged, of another version, or that belongs to another basis; a run
    /// without an evaluation has no model yet.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::open_on(path, &Device::flex())
    }

    /// Reads a run directory, its encoder onto a device.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_on(path: &Path, device: &Device) -> Result<Self, Error> {
        let config = Folder::config::<R>(path)?;
        if config.ensemble.is_some() {
            let message = "an ensemble: open it as one, or one of its members/";
            return Err(Error::Run { path: path.into(), message: message.into() });
        }
        let stored = Candidates::open(&path.join("candidates.safetensors"))?;
        let candidates = Candidates::read(&stored)?;
        let predictor = match config.encoder.ridge() {
            Some(settings) => Predictor::Machine(machine::open(path, settings, &stored)?),
            None => {
                let basis = Basis::load(&path.join(BASIS))?;
                check_basis(&stored, &basis.fingerprint())?;
                let preparation = R::Preparation::load(config.encoder.preparation(), path)?;
                let prepared = Prepared::of(&preparation)?;
                let best = Folder::open(path, basis.fingerprint(), &prepared).best()?;
                let offset = vec![0.0; basis.rank()];
                let model = new_model(&config, &basis, &preparation, &offset, device, true)?;
                let model = parameters::restore(model, &best)?;
                Predictor::Network(Network { basis, preparation, model })
            }
        };
        Ok(Self { config, candidates, predictor })
    }

    /// Writes a run directory that [`open`](Self::open) reads, for an encoder that something else than
    /// [`fit::run`](crate::fit::run) has trained. It holds no state to resume from, no log and no
    /// metrics.
    ///
    /// # Errors
    /// [`Error::RunExists`]; a parameter that is not finite; [`Error::Value`] for a kernel machine; what
    /// the file system reports.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        if path.exists() {
            return Err(Error::RunExists { path: path.into() });
        }
        let Predictor::Network(network) = &self.predictor else {
            return Err(Error::Value {
                key: "encoder.kind".into(),
                found: "\"ridge\"".into(),
                allowed: "an encoder: the run directory of a kernel machine can be copied".into(),
            });
        };
        let parameters = parameters::collect(&network.model);
        parameters::check_finite(&parameters)?;
        let prepared = Prepared::of(&network.preparation)?;
        // no data have the empty fingerprint, so `--resume` refuses the directory
        let space = network.basis.fingerprint();
        let mut folder =
            Folder::create(path, &self.config, &self.candidates, &prepared, space, "", |here| {
                Ok(network.basis.save(&here.join(BASIS))?)
            })?;
        Keeper::best(&mut folder, &parameters)
    }

    /// Coordinates `z` of each pair's input, `[pairs × p]` row-major, as the model answers.
    ///
    /// # Errors
    /// Inputs that cannot be prepared.
    pub fn coordinates(&self, split: &Split) -> Result<Vec<f32>, Error> {
        match &self.predictor {
            Predictor::Network(network) => {
                let inputs = network.preparation.inputs(split)?;
                Ok(embed(&network.model, &inputs, self.config.evaluation.batch))
            }
            Predictor::Machine(Machine { preparation, model, .. }) => {
                model.predict(&preparation.rows(split)?)
            }
        }
    }

    /// What the model is worth on a split: ranks of each query's gold candidate, the one with the
    /// query's id, and where outputs are molecules or sets of labels, how far the predicted ones are
    /// from the true ones.
    ///
    /// # Errors
    /// A gold that is not a candidate, unless the configuration counts it as rank ∞.
    pub fn evaluate(&self, split: &Split, pool: Pool) -> Result<Evaluation, Error> {
        let z = self.coordinates(split)?;
        let truth = self.known_truth(split)?;
        let candidates = (&self.candidates, self.origin());
        evaluate(&split.ids, truth, &z, candidates, pool, &self.config)
    }

    /// From where the candidates' coordinates count.
    pub(crate) fn origin(&self) -> &Origin {
        match &self.predictor {
            Predictor::Network(_) => &Origin::Zero,
            Predictor::Machine(machine) => &machine.origin,
        }
    }

    /// What a split's outputs are, where that is known and predictions are judged by it.
    pub(crate) fn known_truth(&self, split: &Split) -> Result<Option<Truth>, Error> {
        match &split.truth {
            Some(truth) => Ok(Some(truth.clone())),
            None => self.truth(&split.ids),
        }
    }

    /// What the candidates with these ids are; none where one is no candidate, or nothing but ranks is
    /// said of outputs.
    fn truth(&self, ids: &[String]) -> Result<Option<Truth>, Error> {
        let found: Option<Vec<usize>> = ids.iter().map(|id| self.candidates.find(id)).collect();
        let Some(found) = found else { return Ok(None) };
        let labels = found.into_iter().map(|candidate| self.candidates.label(candidate));
        Ok(Truth::of_labels(labels, &self.config.output.features)?)
    }

    /// The `top` best candidates for a text, best first.
    ///
    /// # Errors
    /// `top` above the number of candidates, or a model that reads no text.
    pub fn search(&self, text: &str, top: usize) -> Result<Vec<Hit>, Error> {
        let z = self.coordinates(&Split::query(&self.config.source().query(text)?))?;
        let z = self.config.decoding.scaled(&z, self.candidates.dim())?;
        let queries = Queries::new(self.candidates.dim(), &z)?;
        let hits = Pool::Shared.top_k(&queries, &self.candidates, top)?;
        Ok(hits.into_iter().next().unwrap_or_default())
    }
}

/// A model with parameters drawn from the configuration's seed, and `offset` as its last bias; or one
/// whose parameters are about to be `restored`.
pub(crate) fn new_model<R: Recipe>(
    config: &Checked<R>,
    basis: &Basis,
    preparation: &R::Preparation,
    offset: &[f32],
    device: &Device,
    restored: bool,
) -> Result<Model<R::Encoder>, Error> {
    let mut random = generator(config.seed, "parameters", 0);
    let start = Start { offset, random: &mut random, device };
    let encoder = if restored {
        config.encoder.shell(preparation, start)?
    } else {
        config.encoder.encoder(preparation, start)?
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
