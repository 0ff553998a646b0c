//! Predictions for training inputs that a run keeps.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use dsokr_basis::features::MappedRows;
use dsokr_basis::{Block, RowSource};
use dsokr_core::random::generator;
use dsokr_core::store::{Contents, Stored, Tensor};
use dsokr_decode::{CandidateBlocks, Candidates, Queries};
use rand::seq::index::sample;

use super::{FURTHER_FITS, HELD_OUT, RunDir};
use crate::error::Error;

const KIND: &str = "held-out";
/// The version of the layout.
const VERSION: u32 = 3;

/// Training pairs whose predictions weights are fitted to.
const PAIRS: usize = 1500;

/// Why a run with held-out predictions and a reranker has no reranker that has not seen some of their pairs.
pub(crate) const KNOWS_ALL: &str = "no reranker could be fitted without a part of its examples, whose pairs are one group or have one \
                                    output, or of which only that part has outputs among the first candidates";

/// Predictions for training inputs by models that were not fitted to their pair.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldOut {
    /// The training pairs, in rising order.
    pub pairs: Vec<usize>,
    /// The id of the output of each pair.
    pub ids: Vec<String>,
    /// The coordinates of each prediction, `[pairs × p]` row-major.
    pub predictions: Vec<f32>,
    /// The number of the group of each pair; empty where none has another pair in its group.
    pub groups: Vec<u64>,
}

/// A fold of the training pairs that a reranker was fitted without, which the run keeps beside the one that has seen all.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct UnseenPairs {
    /// The training pairs, in rising order.
    pub pairs: Vec<usize>,
    /// The text of each pair, where the reranker compares texts.
    pub texts: Option<Vec<String>>,
    /// Predictions for the pairs by the model without the fold, `[pairs × p]`; none where the held-out predictions of the run
    /// leave out whole groups too. Those that a reranker compares with leave each pair out alone, and know its copies.
    pub predictions: Option<Vec<f32>>,
}

impl UnseenPairs {
    /// Returns the texts of some of the pairs; none where nothing keeps them.
    pub(crate) fn texts_of(&self, pairs: &[usize]) -> Option<Vec<String>> {
        let texts = self.texts.as_ref()?;
        let text = |pair| Some(texts[self.pairs.binary_search(pair).ok()?].clone());
        pairs.iter().map(text).collect()
    }
}

impl HeldOut {
    /// Creates predictions `[pairs × p]` for some of the training pairs; `all_ids` are the ids of the outputs of all training
    /// pairs.
    ///
    /// # Panics
    /// If a pair is none of the training pairs.
    pub fn new(pairs: Vec<usize>, all_ids: &[String], predictions: Vec<f32>) -> Self {
        let ids = pairs.iter().map(|&pair| all_ids[pair].clone()).collect();
        Self { pairs, ids, predictions, groups: Vec::new() }
    }

    /// Creates predictions `[n × p]` for all training pairs, whose outputs have these ids.
    pub fn all(ids: &[String], predictions: Vec<f32>) -> Self {
        Self { predictions, ids: ids.to_vec(), pairs: (0..ids.len()).collect(), groups: Vec::new() }
    }

    /// Returns the predictions with the group of each pair, of `groups` of all training pairs that the data name.
    pub(crate) fn grouped(self, groups: Option<&[Vec<usize>]>) -> Self {
        let Some(groups) = groups else { return self };
        let mut group_of = vec![0; groups.iter().map(Vec::len).sum()];
        for (number, group) in groups.iter().enumerate() {
            group.iter().for_each(|&pair| group_of[pair] = number as u64);
        }
        let groups = self.pairs.iter().map(|&pair| group_of[pair]).collect();
        Self { groups, ..self }
    }

    /// Joins predictions of several models, each for other training pairs; `all_ids` are the ids of the outputs of all
    /// training pairs.
    pub(crate) fn joined(all: impl IntoIterator<Item = Self>, all_ids: &[String]) -> Self {
        let mut rows: Vec<(usize, Vec<f32>)> = Vec::new();
        for predicted in all {
            let width = predicted.width().max(1);
            let predictions = predicted.predictions.chunks_exact(width).map(<[f32]>::to_vec);
            rows.extend(predicted.pairs.iter().copied().zip(predictions));
        }
        rows.sort_unstable_by_key(|(pair, _)| *pair);
        let (pairs, predictions): (Vec<usize>, Vec<Vec<f32>>) = rows.into_iter().unzip();
        Self::new(pairs, all_ids, predictions.concat())
    }

    /// Returns the number p of coordinates of a prediction.
    fn width(&self) -> usize {
        self.predictions.len() / self.pairs.len().max(1)
    }

    /// Writes them to a file, with the pairs that a reranker of the run has not seen; the predictions as they are (`whole`)
    /// or at unit length in 16 bits.
    ///
    /// A coordinate in 16 bits differs by 2⁻¹¹ of itself at most, or by 2⁻²⁵. So a similarity to a point of unit
    /// length differs by 2⁻¹¹ + √p 2⁻²⁵ at most, where p is the number of coordinates.
    pub(crate) fn save(
        &self,
        path: &Path,
        unseen: Option<&UnseenPairs>,
        whole: bool,
    ) -> Result<(), Error> {
        let n = self.pairs.len();
        let p = self.width();
        let ids = self.ids.join("\0");
        let numbers =
            |pairs: &[usize]| -> Vec<u64> { pairs.iter().map(|&pair| pair as u64).collect() };
        let pairs = numbers(&self.pairs);
        let unseen_pairs = unseen.map(|unseen| numbers(&unseen.pairs));
        // any character may be in a text
        let texts = unseen.and_then(|unseen| unseen.texts.as_ref());
        let texts = texts.map(|texts| serde_json::json!(texts).to_string());
        let mut tensors = vec![
            Tensor::u64("pairs", &[n], &pairs),
            if whole {
                Tensor::f32("predictions", &[n, p], &self.predictions)
            } else {
                let unit = Queries::new(p, &self.predictions)?.normalised();
                Tensor::f16("predictions", &[n, p], &unit)
            },
            Tensor::u8("ids", &[ids.len()], ids.as_bytes()),
        ];
        if !self.groups.is_empty() {
            tensors.push(Tensor::u64("groups", &[n], &self.groups));
        }
        if let Some(pairs) = &unseen_pairs {
            tensors.push(Tensor::u64("unseen_pairs", &[pairs.len()], pairs));
            let predictions = unseen.and_then(|unseen| unseen.predictions.as_ref());
            if let Some(predictions) = predictions {
                tensors.push(Tensor::f32("unseen_predictions", &[pairs.len(), p], predictions));
            }
        }
        if let Some(texts) = &texts {
            tensors.push(Tensor::u8("texts", &[texts.len()], texts.as_bytes()));
        }
        Ok(Contents::new(KIND, VERSION, &BTreeMap::new(), &tensors).write(path)?)
    }

    /// Returns the predictions for some of the pairs.
    pub(crate) fn select(&self, pairs: &[usize]) -> Self {
        let p = self.width();
        let find = |pair: &usize| self.pairs.binary_search(pair).ok();
        let places: Vec<usize> = pairs.iter().filter_map(find).collect();
        let rows = places.iter().flat_map(|place| &self.predictions[place * p..][..p]);
        Self {
            pairs: pairs.to_vec(),
            ids: places.iter().map(|&place| self.ids[place].clone()).collect(),
            predictions: rows.copied().collect(),
            groups: if self.groups.is_empty() {
                Vec::new()
            } else {
                places.iter().map(|&place| self.groups[place]).collect()
            },
        }
    }
}

/// The predictions of models that were fitted anew without some pairs, which a run keeps until it is complete.
impl RunDir {
    /// Returns the predictions of the further fit of a number; none where it has not been made.
    ///
    /// # Errors
    /// A file that is damaged, or of predictions with a different number of coordinates.
    pub(crate) fn kept_fit(&self, number: usize, p: usize) -> Result<Option<HeldOut>, Error> {
        let file = self.file_of_fit(number);
        file.exists().then(|| load(&file, p)).transpose()
    }

    /// Keeps the predictions of the further fit of a number.
    pub(crate) fn keep_fit(&self, number: usize, predicted: &HeldOut) -> Result<(), Error> {
        let folder = self.path().join(FURTHER_FITS);
        fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
        predicted.save(&self.file_of_fit(number), None, true)
    }

    /// Removes the predictions of all further fits.
    pub(crate) fn forget_fits(&self) -> Result<(), Error> {
        let folder = self.path().join(FURTHER_FITS);
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io(&folder)(error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn file_of_fit(&self, number: usize) -> PathBuf {
        self.path().join(FURTHER_FITS).join(format!("{}.safetensors", number + 1))
    }
}

/// Returns some of a number of pairs, drawn by a seed to fit weights to, in rising order.
pub(crate) fn drawn_pairs(count: usize, seed: u64) -> Vec<usize> {
    let mut drawn = generator(seed, "held-out", 0);
    let mut pairs = sample(&mut drawn, count, count.min(PAIRS)).into_vec();
    pairs.sort_unstable();
    pairs
}

/// Returns the held-out predictions of a run at unit length, by which its candidates were corrected for hubs; none for candidates
/// that were not corrected.
pub(crate) fn load_for_hubs(
    run: &Path,
    candidates: &Candidates,
) -> Result<Option<Vec<f32>>, Error> {
    if candidates.hubs().is_none() {
        return Ok(None);
    }
    let dim = candidates.dim();
    let predictions = load(&run.join(HELD_OUT), dim)?.predictions;
    Ok(Some(Queries::new(dim, &predictions)?.normalised()))
}

/// Reads predictions of p coordinates.
pub(crate) fn load(path: &Path, p: usize) -> Result<HeldOut, Error> {
    let stored = Stored::open(path, KIND, VERSION)?;
    let wrong = |message: String| Error::run(path, message);
    let pairs = read_pairs(&stored, "pairs")?;
    let (_, shape) = stored.describe("predictions")?;
    let ids: Vec<String> = read_string(&stored, "ids")?.split('\0').map(String::from).collect();
    let n = pairs.len();
    if shape != [n, p] || ids.len() != n {
        return Err(wrong(format!(
            "{n} pairs, {} ids and predictions {shape:?}; expected as many ids and predictions as pairs, of {p} coordinates",
            ids.len()
        )));
    }
    let predictions = read_rows(&stored, "predictions", n)?;
    let groups = if stored.describe("groups").is_ok() {
        stored.read::<u64>("groups", 1)?.1.to_vec()
    } else {
        Vec::new()
    };
    if !groups.is_empty() && groups.len() != n {
        let count = groups.len();
        return Err(wrong(format!("{count} groups of {n} pairs; expected one each")));
    }
    Ok(HeldOut { pairs, ids, predictions, groups })
}

/// Returns whether the run has a reranker that has not seen some pairs, by the file of held-out predictions.
///
/// # Errors
/// A file that is missing or damaged.
pub(crate) fn has_unseen(path: &Path) -> Result<bool, Error> {
    Ok(Stored::open(path, KIND, VERSION)?.has("unseen_pairs"))
}

/// Reads the pairs that a reranker of the run has not seen from the file of held-out predictions of p coordinates.
///
/// # Errors
/// A file that is missing, damaged, or of a run without such a reranker.
pub(crate) fn load_unseen(path: &Path, p: usize) -> Result<UnseenPairs, Error> {
    let stored = Stored::open(path, KIND, VERSION)?;
    let wrong = |message: String| Error::run(path, message);
    let pairs = read_pairs(&stored, "unseen_pairs")?;
    let n = pairs.len();
    let predictions = match stored.describe("unseen_predictions") {
        Ok((_, shape)) if shape == [n, p] => Some(read_rows(&stored, "unseen_predictions", n)?),
        Ok((_, shape)) => {
            return Err(wrong(format!("unseen predictions {shape:?}; expected [{n}, {p}]")));
        }
        Err(_) => None,
    };
    if stored.describe("texts").is_err() {
        return Ok(UnseenPairs { pairs, texts: None, predictions });
    }
    let text = read_string(&stored, "texts")?;
    let texts: Vec<String> =
        serde_json::from_str(&text).map_err(|error| wrong(format!("texts: {error}")))?;
    if texts.len() != n {
        let count = texts.len();
        return Err(wrong(format!("{count} texts of {n} unseen pairs; expected one each")));
    }
    Ok(UnseenPairs { pairs, texts: Some(texts), predictions })
}

/// Reads n rows of numbers.
fn read_rows(stored: &Stored, name: &str, n: usize) -> Result<Vec<f32>, Error> {
    match MappedRows::from_stored(stored, name)?.block(0..n)? {
        Block::Dense(rows) => Ok(rows.values().to_vec()),
        Block::Bits(_) | Block::Sparse(_) => {
            Err(Error::run(stored.path(), format!("{name} are bits")))
        }
    }
}

fn read_pairs(stored: &Stored, name: &str) -> Result<Vec<usize>, Error> {
    let (_, pairs) = stored.read::<u64>(name, 1)?;
    Ok(pairs.iter().map(|&pair| pair as usize).collect())
}

fn read_string(stored: &Stored, name: &str) -> Result<String, Error> {
    let (_, bytes) = stored.read::<u8>(name, 1)?;
    let wrong = |error| Error::run(stored.path(), format!("{name}: {error}"));
    String::from_utf8(bytes.to_vec()).map_err(wrong)
}
