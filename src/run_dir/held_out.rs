//! Answers to training inputs that a run keeps.

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

/// Training pairs whose answers weights are fitted to.
const PAIRS: usize = 1500;

/// Answers to training inputs by models that were fitted without their pair.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldOut {
    /// The training pairs that are answered, in rising order.
    pub pairs: Vec<usize>,
    /// Their coordinates `[pairs × p]`.
    pub answers: Vec<f32>,
}

impl HeldOut {
    /// Answers to all training inputs `[n × p]`.
    pub fn all(n: usize, answers: Vec<f32>) -> Self {
        Self { pairs: (0..n).collect(), answers }
    }
}

/// Held-out answers of a run, with the ids of the outputs of their pairs.
pub(crate) struct StoredAnswers {
    pub held_out: HeldOut,
    pub ids: Vec<String>,
    /// The texts of the pairs, of a part that a second look with words has not seen.
    pub texts: Option<Vec<String>>,
}

impl StoredAnswers {
    /// Those of a run whose training pairs have these ids.
    pub fn new(held_out: HeldOut, ids: &[String], texts: Option<Vec<String>>) -> Self {
        let ids = held_out.pairs.iter().map(|&pair| ids[pair].clone()).collect();
        Self { held_out, ids, texts }
    }

    /// Writes them to a file, the answers as they are (`whole`) or at unit length in 16 bits.
    ///
    /// A coordinate in 16 bits differs by 2⁻¹¹ of itself at most, or by 2⁻²⁵. So a similarity to a point of unit
    /// length differs by 2⁻¹¹ + √p 2⁻²⁵ at most, where p is the number of coordinates.
    pub fn save(&self, path: &Path, whole: bool) -> Result<(), Error> {
        let Self { held_out: HeldOut { pairs, answers }, ids, texts } = self;
        let n = pairs.len();
        let p = answers.len() / pairs.len().max(1);
        let ids = ids.join("\0");
        let pairs: Vec<u64> = pairs.iter().map(|&pair| pair as u64).collect();
        // any character may be in a text
        let texts = texts.as_ref().map(|texts| serde_json::json!(texts).to_string());
        let mut tensors = vec![
            Tensor::u64("pairs", &[n], &pairs),
            if whole {
                Tensor::f32("answers", &[n, p], answers)
            } else {
                Tensor::f16("answers", &[n, p], &Queries::new(p, answers)?.normalised())
            },
            Tensor::u8("ids", &[ids.len()], ids.as_bytes()),
        ];
        if let Some(texts) = &texts {
            tensors.push(Tensor::u8("texts", &[texts.len()], texts.as_bytes()));
        }
        Ok(Contents::new(KIND, VERSION, &BTreeMap::new(), &tensors).write(path)?)
    }

    /// Those of some of its pairs.
    pub fn select(&self, pairs: &[usize]) -> Self {
        let HeldOut { pairs: known, answers } = &self.held_out;
        let p = answers.len() / known.len().max(1);
        let at: Vec<usize> =
            pairs.iter().filter_map(|pair| known.binary_search(pair).ok()).collect();
        let of = |all: &Vec<String>| at.iter().map(|&at| all[at].clone()).collect();
        let answers = at.iter().flat_map(|at| &answers[at * p..][..p]).copied().collect();
        let held_out = HeldOut { pairs: pairs.to_vec(), answers };
        Self { held_out, ids: of(&self.ids), texts: self.texts.as_ref().map(of) }
    }
}

/// Some of a number of pairs, drawn by a seed to fit weights to, in rising order.
pub(crate) fn drawn_pairs(count: usize, seed: u64) -> Vec<usize> {
    let mut drawn = generator(seed, "held-out", 0);
    let mut pairs = sample(&mut drawn, count, count.min(PAIRS)).into_vec();
    pairs.sort_unstable();
    pairs
}

/// The answers of a run at unit length, which its candidates were corrected for hubs by; none of candidates that were not.
pub(crate) fn of_hubs(run: &Path, candidates: &Candidates) -> Result<Option<Vec<f32>>, Error> {
    if candidates.hubs().is_none() {
        return Ok(None);
    }
    let dim = candidates.dim();
    let answers = load(&run.join(HELD_OUT), dim)?.held_out.answers;
    Ok(Some(Queries::new(dim, &answers)?.normalised()))
}

/// Reads answers of p coordinates.
pub(crate) fn load(path: &Path, p: usize) -> Result<StoredAnswers, Error> {
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
    let answers = match MappedRows::from_stored(&stored, "answers")?.block(0..n)? {
        Block::Dense(rows) => rows.values().to_vec(),
        Block::Bits(_) | Block::Sparse(_) => return Err(wrong("answers are bits".into())),
    };
    Ok(StoredAnswers { held_out: HeldOut { pairs, answers }, ids, texts })
}
