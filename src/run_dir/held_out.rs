//! Predictions for training inputs that a run keeps.

use std::collections::BTreeMap;
use std::path::Path;

use dsokr_basis::features::MappedRows;
use dsokr_basis::{Block, RowSource};
use dsokr_core::random::generator;
use dsokr_core::store::{Contents, Stored, Tensor};
use dsokr_decode::{CandidateBlocks, Candidates, Queries};
use rand::seq::index::sample;

use super::HELD_OUT;
use crate::error::Error;

const KIND: &str = "held-out";
/// The version of the layout; answers of version 1 have 32 bits always.
const VERSION: u32 = 2;

/// Training pairs whose predictions weights are fitted to.
const PAIRS: usize = 1500;

/// Predictions for training inputs by models that were not fitted to their pair.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldOut {
    /// The training pairs, in rising order.
    pub pairs: Vec<usize>,
    /// The id of the output of each pair.
    pub ids: Vec<String>,
    /// The coordinates of each prediction, `[pairs × p]` row-major.
    pub predictions: Vec<f32>,
    /// The text of each pair, where a reranker compares words and has not seen the pairs.
    pub texts: Option<Vec<String>>,
}

impl HeldOut {
    /// Predictions `[pairs × p]` for some training pairs, of which `ids` are the outputs of all.
    pub fn new(pairs: Vec<usize>, ids: &[String], predictions: Vec<f32>) -> Self {
        let ids = pairs.iter().map(|&pair| ids[pair].clone()).collect();
        Self { pairs, ids, predictions, texts: None }
    }

    /// Predictions `[n × p]` for all training pairs, whose outputs have these ids.
    pub fn all(ids: &[String], predictions: Vec<f32>) -> Self {
        Self { pairs: (0..ids.len()).collect(), ids: ids.to_vec(), predictions, texts: None }
    }

    /// The number p of coordinates of a prediction.
    fn width(&self) -> usize {
        self.predictions.len() / self.pairs.len().max(1)
    }

    /// Writes them to a file, the predictions as they are (`whole`) or at unit length in 16 bits.
    ///
    /// A coordinate in 16 bits differs by 2⁻¹¹ of itself at most, or by 2⁻²⁵. So a similarity to a point of unit
    /// length differs by 2⁻¹¹ + √p 2⁻²⁵ at most, where p is the number of coordinates.
    pub(crate) fn save(&self, path: &Path, whole: bool) -> Result<(), Error> {
        let n = self.pairs.len();
        let p = self.width();
        let ids = self.ids.join("\0");
        let pairs: Vec<u64> = self.pairs.iter().map(|&pair| pair as u64).collect();
        // any character may be in a text
        let texts = self.texts.as_ref().map(|texts| serde_json::json!(texts).to_string());
        let mut tensors = vec![
            Tensor::u64("pairs", &[n], &pairs),
            if whole {
                Tensor::f32("answers", &[n, p], &self.predictions)
            } else {
                let unit = Queries::new(p, &self.predictions)?.normalised();
                Tensor::f16("answers", &[n, p], &unit)
            },
            Tensor::u8("ids", &[ids.len()], ids.as_bytes()),
        ];
        if let Some(texts) = &texts {
            tensors.push(Tensor::u8("texts", &[texts.len()], texts.as_bytes()));
        }
        Ok(Contents::new(KIND, VERSION, &BTreeMap::new(), &tensors).write(path)?)
    }

    /// The predictions for some of the pairs.
    pub(crate) fn select(&self, pairs: &[usize]) -> Self {
        let p = self.width();
        let find = |pair: &usize| self.pairs.binary_search(pair).ok();
        let places: Vec<usize> = pairs.iter().filter_map(find).collect();
        let pick = |all: &Vec<String>| places.iter().map(|&place| all[place].clone()).collect();
        let rows = places.iter().flat_map(|place| &self.predictions[place * p..][..p]);
        Self {
            pairs: pairs.to_vec(),
            ids: pick(&self.ids),
            predictions: rows.copied().collect(),
            texts: self.texts.as_ref().map(pick),
        }
    }
}

/// Some of a number of pairs, drawn by a seed to fit weights to, in rising order.
pub(crate) fn drawn_pairs(count: usize, seed: u64) -> Vec<usize> {
    let mut drawn = generator(seed, "held-out", 0);
    let mut pairs = sample(&mut drawn, count, count.min(PAIRS)).into_vec();
    pairs.sort_unstable();
    pairs
}

/// The held-out predictions of a run at unit length, by which its candidates were corrected for hubs; none of candidates that were not.
pub(crate) fn of_hubs(run: &Path, candidates: &Candidates) -> Result<Option<Vec<f32>>, Error> {
    if candidates.hubs().is_none() {
        return Ok(None);
    }
    let dim = candidates.dim();
    let predictions = load(&run.join(HELD_OUT), dim)?.predictions;
    Ok(Some(Queries::new(dim, &predictions)?.normalised()))
}

/// Reads predictions of p coordinates.
pub(crate) fn load(path: &Path, p: usize) -> Result<HeldOut, Error> {
    let stored = Stored::open_versions(path, KIND, 1..=VERSION)?;
    let wrong = |message: String| Error::run(path, message);
    let (_, pairs) = stored.read::<u64>("pairs", 1)?;
    let (_, shape) = stored.describe("answers")?;
    let string = |name: &str| -> Result<String, Error> {
        let (_, bytes) = stored.read::<u8>(name, 1)?;
        String::from_utf8(bytes.to_vec()).map_err(|e| wrong(format!("{name}: {e}")))
    };
    let ids: Vec<String> = string("ids")?.split('\0').map(String::from).collect();
    let read_texts = || -> Result<Vec<String>, Error> {
        serde_json::from_str(&string("texts")?).map_err(|e| wrong(format!("texts: {e}")))
    };
    let texts = stored.describe("texts").is_ok().then(read_texts).transpose()?;
    let n = pairs.len();
    if shape != [n, p] || ids.len() != n || texts.as_ref().is_some_and(|texts| texts.len() != n) {
        return Err(wrong(format!(
            "{n} pairs, {} ids and answers {shape:?}; expected as many ids, answers and texts as pairs, of {p} \
             coordinates",
            ids.len()
        )));
    }
    let pairs = pairs.iter().map(|&pair| pair as usize).collect();
    let predictions = match MappedRows::from_stored(&stored, "answers")?.block(0..n)? {
        Block::Dense(rows) => rows.values().to_vec(),
        Block::Bits(_) | Block::Sparse(_) => return Err(wrong("answers are bits".into())),
    };
    Ok(HeldOut { pairs, ids, predictions, texts })
}
