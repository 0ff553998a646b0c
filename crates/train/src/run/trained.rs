use std::path::Path;

use burn::tensor::Device;
use dsokr_basis::Basis;
use dsokr_basis::random::generator;
use dsokr_decode::{Candidates, Hit, Pool, Queries, Rank};
use dsokr_nn::{Encoder, FrozenBasis, Model, parameters};

use super::{Folder, Prepared};
use crate::config::{Checked, EncoderConfig};
use crate::data::{Split, Structure, inputs};
use crate::scores::{Scores, compare, predicted};
use crate::trainer::{Keeper, check_basis, embed};
use crate::{Error, Prepare, Recipe, Start};

/// A trained run, read from its directory alone. Its encoder's recipe is an `R`, by default that of
/// the built-in encoders.
pub struct Run<R: Recipe = EncoderConfig> {
    /// The resolved configuration.
    pub config: Checked<R>,
    /// The eigenbasis.
    pub basis: Basis,
    /// The candidates.
    pub candidates: Candidates,
    /// What turns texts or vectors into inputs.
    pub preparation: R::Preparation,
    /// The best model.
    pub model: Model<R::Encoder>,
}

/// What [`Run::evaluate`] finds.
pub struct Evaluation {
    /// The figures.
    pub scores: Scores,
    /// The ranks, as [`Run::rank`] gives them.
    pub ranks: Vec<Option<Rank>>,
    /// True molecules and the predicted ones, where outputs are molecules.
    pub molecules: Option<(Vec<Structure>, Vec<Structure>)>,
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

    /// Reads a run directory, its model onto a device.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_on(path: &Path, device: &Device) -> Result<Self, Error> {
        let config = Folder::config::<R>(path)?;
        let basis = Basis::load(&path.join("basis.safetensors"))?;
        let stored = Candidates::open(&path.join("candidates.safetensors"))?;
        check_basis(&stored, &basis.fingerprint())?;
        let candidates = Candidates::read(&stored)?;
        let preparation = R::Preparation::load(config.encoder.preparation(), path)?;
        let prepared = Prepared::of(&preparation)?;
        let best = Folder::open(path, &basis, &prepared).best()?;
        let offset = vec![0.0; basis.rank()];
        let model = new_model(&config, &basis, &preparation, &offset, device, true)?;
        let model = parameters::restore(model, &best)?;
        Ok(Self { config, basis, candidates, preparation, model })
    }

    /// Writes a run directory that [`open`](Self::open) reads, for a model that something else than
    /// [`fit::run`](crate::fit::run) has trained. It holds no state to resume from, no log and no
    /// metrics.
    ///
    /// # Errors
    /// [`Error::RunExists`]; a parameter that is not finite; what the file system reports.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        if path.exists() {
            return Err(Error::RunExists { path: path.into() });
        }
        let parameters = parameters::collect(&self.model);
        for (name, parameter) in &parameters {
            if let Some(element) = parameter.values.iter().position(|v| !v.is_finite()) {
                return Err(dsokr_nn::Error::NotFinite { name: name.clone(), element }.into());
            }
        }
        let prepared = Prepared::of(&self.preparation)?;
        let (config, basis, candidates) = (&self.config, &self.basis, &self.candidates);
        // no data have the empty fingerprint, so `--resume` refuses the directory
        let mut folder = Folder::create(path, config, basis, candidates, &prepared, "")?;
        Keeper::best(&mut folder, &parameters)
    }

    /// Ranks each query's gold candidate, the one with the query's id.
    ///
    /// # Errors
    /// A gold that is not a candidate, unless the configuration counts it as rank ∞.
    pub fn rank(&self, split: &Split, pool: Pool) -> Result<Vec<Option<Rank>>, Error> {
        let inputs = self.preparation.inputs(split)?;
        let z = embed(&self.model, &inputs, self.config.evaluation.batch);
        rank(&split.ids, &z, &self.basis, &self.candidates, pool, &self.config)
    }

    /// What the model is worth on a split, whose true molecules are compared with the predicted ones
    /// where it has them.
    ///
    /// # Errors
    /// As [`rank`](Self::rank).
    pub fn evaluate(&self, split: &Split, pool: Pool) -> Result<Evaluation, Error> {
        let inputs = self.preparation.inputs(split)?;
        let z = embed(&self.model, &inputs, self.config.evaluation.batch);
        let ranks = rank(&split.ids, &z, &self.basis, &self.candidates, pool, &self.config)?;
        let metrics = pool.metrics(&ranks, &self.candidates)?;
        let known = match &split.structures {
            Some(truth) => Some(truth.clone()),
            None => self.structures(&split.ids)?,
        };
        let Some(truth) = known else {
            return Ok(Evaluation { scores: metrics.into(), ranks, molecules: None });
        };
        let predicted = predicted(&z, self.basis.rank(), &self.candidates, pool)?;
        let scores = Scores { ranks: metrics, molecules: Some(compare(&truth, &predicted)?) };
        Ok(Evaluation { scores, ranks, molecules: Some((truth, predicted)) })
    }

    /// The molecules that the candidates with these ids are; none where one is no candidate, or outputs
    /// are no molecules.
    fn structures(&self, ids: &[String]) -> Result<Option<Vec<Structure>>, Error> {
        if self.config.output.structure().is_none() {
            return Ok(None);
        }
        let found: Option<Vec<usize>> = ids.iter().map(|id| self.candidates.find(id)).collect();
        let read = |found: Vec<usize>| {
            let labels = found.into_iter().map(|candidate| self.candidates.label(candidate));
            labels.map(Structure::of_candidate).collect()
        };
        found.map(read).transpose()
    }

    /// The `top` best candidates for a text, best first.
    ///
    /// # Errors
    /// `top` above the number of candidates, or an encoder that reads no text.
    pub fn search(&self, text: &str, top: usize) -> Result<Vec<Hit>, Error> {
        let mut query = Split::query(text);
        query.texts = inputs(query.texts, &self.config).map_err(|(_, reason)| Error::Value {
            key: "the query".into(),
            found: format!("{text:?} ({reason})"),
            allowed: "a SMILES, since data.more_smiles is set".into(),
        })?;
        let inputs = self.preparation.inputs(&query)?;
        let z = embed(&self.model, &inputs, 1);
        let queries = Queries::new(self.basis.rank(), &z)?;
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
    Ok(Model::new(encoder, FrozenBasis::new(matrix, expected, device)))
}

/// Ranks the gold of each id under coordinates `z` `[queries × p]`.
pub(crate) fn rank<R>(
    ids: &[String],
    z: &[f32],
    basis: &Basis,
    candidates: &Candidates,
    pool: Pool,
    config: &Checked<R>,
) -> Result<Vec<Option<Rank>>, Error> {
    let queries = Queries::named(ids, basis.rank(), z)?;
    let gold = pool.gold(ids, ids, candidates, config.evaluation.missing_gold)?;
    Ok(pool.rank(&queries, &gold, candidates)?)
}
