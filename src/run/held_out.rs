//! Answers to training inputs that a run keeps.

use std::collections::BTreeMap;
use std::path::Path;

use dsokr_basis::random::generator;
use dsokr_basis::store::{Contents, Stored, Tensor};
use rand::seq::index::sample;

use crate::{Error, HeldOut};

const FILE: &str = "held-out.safetensors";
const KIND: &str = "held-out";
const VERSION: u32 = 1;

/// Training pairs whose answers weights are fitted to.
const PAIRS: usize = 1500;

/// Held-out answers of a run, with the ids of the outputs of their pairs.
pub(super) struct StoredAnswers {
    pub held_out: HeldOut,
    pub ids: Vec<String>,
}

impl StoredAnswers {
    /// The answers to some of its pairs, and the ids of their outputs.
    pub fn of(&self, pairs: &[usize]) -> (Vec<f32>, Vec<&str>) {
        let Self { held_out: HeldOut { pairs: known, answers }, ids } = self;
        let p = answers.len() / known.len().max(1);
        let places = pairs.iter().filter_map(|pair| known.binary_search(pair).ok());
        let row = |at: usize| (&answers[at * p..][..p], ids[at].as_str());
        let (rows, ids): (Vec<&[f32]>, Vec<&str>) = places.map(row).unzip();
        (rows.concat(), ids)
    }
}

/// Some of a number of pairs, drawn by a seed to fit weights to, in rising order.
pub(crate) fn drawn_pairs(count: usize, seed: u64) -> Vec<usize> {
    let mut drawn = generator(seed, "held-out", 0);
    let mut pairs = sample(&mut drawn, count, count.min(PAIRS)).into_vec();
    pairs.sort_unstable();
    pairs
}

/// Writes answers into a run directory; `ids` are those of all training pairs.
pub(super) fn save(run: &Path, held_out: &HeldOut, ids: &[String]) -> Result<(), Error> {
    let HeldOut { pairs, answers } = held_out;
    let own: Vec<&str> = pairs.iter().map(|&pair| ids[pair].as_str()).collect();
    let (own, n) = (own.join("\0"), pairs.len());
    let pairs: Vec<u64> = pairs.iter().map(|&pair| pair as u64).collect();
    let tensors = [
        Tensor::u64("pairs", &[n], &pairs),
        Tensor::f32("answers", &[n, answers.len() / n.max(1)], answers),
        Tensor::u8("ids", &[own.len()], own.as_bytes()),
    ];
    Ok(Contents::new(KIND, VERSION, &BTreeMap::new(), &tensors).write(&run.join(FILE))?)
}

/// Reads the answers of a run with p coordinates.
pub(super) fn load(run: &Path, p: usize) -> Result<StoredAnswers, Error> {
    let path = run.join(FILE);
    let stored = Stored::open(&path, KIND, VERSION)?;
    let wrong = |message: String| Error::Run { path: path.clone(), message };
    let (_, pairs) = stored.u64("pairs", 1)?;
    let (shape, answers) = stored.f32("answers", 2)?;
    let (_, ids) = stored.u8("ids", 1)?;
    let ids = std::str::from_utf8(&ids).map_err(|e| wrong(format!("ids: {e}")))?;
    let ids: Vec<String> = ids.split('\0').map(String::from).collect();
    let n = pairs.len();
    if shape != [n, p] || ids.len() != n {
        return Err(wrong(format!(
            "{n} pairs, {} ids and answers {shape:?}; expected as many ids and answers as pairs, of {p} \
             coordinates",
            ids.len()
        )));
    }
    let pairs = pairs.iter().map(|&pair| pair as usize).collect();
    Ok(StoredAnswers { held_out: HeldOut { pairs, answers: answers.into_owned() }, ids })
}
