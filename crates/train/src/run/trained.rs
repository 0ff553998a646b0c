use std::path::Path;

use burn::tensor::Device;
use dsokr_basis::Basis;
use dsokr_basis::random::generator;
use dsokr_decode::{Candidates, Hit, Pool, Queries, Rank};
use dsokr_nn::{BuiltIn, FrozenBasis, Model, parameters};

use super::Folder;
use crate::Error;
use crate::config::Checked;
use crate::data::Split;
use crate::prepare::Preparation;
use crate::trainer::{check_basis, embed};

/// A trained run, read from its directory alone.
pub struct Run {
    /// The resolved configuration.
    pub config: Checked,
    /// The eigenbasis.
    pub basis: Basis,
    /// The candidates.
    pub candidates: Candidates,
    preparation: Preparation,
    model: Model<BuiltIn>,
}

impl Run {
    /// Reads a run directory.
    ///
    /// # Errors
    /// A file that is missing, damaged, of another version, or that belongs to another basis; a run
    /// without an evaluation has no model yet.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let config = Folder::config(path)?;
        let basis = Basis::load(&path.join("basis.safetensors"))?;
        let stored = Candidates::open(&path.join("candidates.safetensors"))?;
        check_basis(&stored, &basis.fingerprint())?;
        let candidates = Candidates::read(&stored)?;
        let preparation = Preparation::load(&config.encoder, path)?;
        let best = Folder::open(path, &basis, &preparation)?.best()?;
        let offset = vec![0.0; basis.rank()];
        let model = new_model(&config, &basis, &preparation, &offset, &Device::flex());
        let model = parameters::restore(model, &best)?;
        Ok(Self { config, basis, candidates, preparation, model })
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

    /// The `top` best candidates for a text, best first.
    ///
    /// # Errors
    /// `top` above the number of candidates, or an encoder that reads no text.
    pub fn search(&self, text: &str, top: usize) -> Result<Vec<Hit>, Error> {
        let (input, cut) = self.preparation.text(text)?;
        if cut {
            tracing::warn!("the text is longer than encoder.max_length and was cut");
        }
        if input.is_empty() {
            tracing::warn!("nothing of the text is known: every such text has this answer");
        }
        let z = embed(&self.model, &[input], 1);
        let queries = Queries::new(self.basis.rank(), &z)?;
        let hits = Pool::Shared.top_k(&queries, &self.candidates, top)?;
        Ok(hits.into_iter().next().unwrap_or_default())
    }
}

/// A model with parameters drawn from the configuration's seed, and `offset` as its last bias.
pub(crate) fn new_model(
    config: &Checked,
    basis: &Basis,
    preparation: &Preparation,
    offset: &[f32],
    device: &Device,
) -> Model<BuiltIn> {
    let mut random = generator(config.seed, "parameters", 0);
    let encoder = preparation.encoder(&config.encoder, offset, &mut random, device);
    let matrix = basis.matrix().values.into_owned();
    Model::new(encoder, FrozenBasis::new(matrix, basis.rank(), device))
}

/// Ranks the gold of each id under coordinates `z` `[queries × p]`.
pub(crate) fn rank(
    ids: &[String],
    z: &[f32],
    basis: &Basis,
    candidates: &Candidates,
    pool: Pool,
    config: &Checked,
) -> Result<Vec<Option<Rank>>, Error> {
    let queries = Queries::named(ids, basis.rank(), z)?;
    let gold = pool.gold(ids, ids, candidates, config.evaluation.missing_gold)?;
    Ok(pool.rank(&queries, &gold, candidates)?)
}
