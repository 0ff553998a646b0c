//! A custom predictor without a neural network: the mean target of the training texts that share most
//! words with the query. This program is the whole command `dsokr` with its kind of `[encoder]`.
//!
//! ```sh
//! cargo run --release --example custom_predictor -- train examples/custom_predictor.toml
//! cargo run --release --example custom_predictor -- search runs/custom_predictor "A carboxylic acid"
//! ```

use std::collections::BTreeSet;

use burn::tensor::Device;
use dsokr::cli::{kind, main_with};
use dsokr::config::Checked;
use dsokr::targets::{OutputTargets, Problem};
use dsokr::{Error, Fit, Fitted, Learner, Predictor, RunDir, data::Split};
use serde::{Deserialize, Serialize};

/// The keys of `[encoder]`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NeighboursConfig {
    neighbours: usize,
}

/// The training texts as sets of words, with their targets: what the fit leaves behind.
#[derive(Serialize, Deserialize)]
struct Neighbours {
    count: usize,
    texts: Vec<BTreeSet<String>>,
    targets: Vec<f32>,
}

const FILE: &str = "neighbours.json";

fn words(text: &str) -> BTreeSet<String> {
    text.split_whitespace().map(str::to_lowercase).collect()
}

impl Learner for NeighboursConfig {
    fn prepare<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Fit + 'a>, Error> {
        let texts = problem.dataset.train.inputs.texts()?;
        let texts: Vec<_> = texts.iter().map(|text| words(text)).collect();
        Ok(Box::new(move |targets: &OutputTargets| {
            let texts = texts.clone();
            let targets = targets.coordinates()?;
            Ok(Fitted::new(Neighbours { count: self.neighbours, texts, targets }))
        }))
    }

    fn load(
        &self,
        run: &RunDir,
        _: &Checked,
        _: usize,
        _: &Device,
    ) -> Result<Box<dyn Predictor>, Error> {
        let read: Result<Neighbours, _> = serde_json::from_str(&run.read_text(FILE)?);
        Ok(Box::new(read.map_err(|e| dsokr::core::Error::file(&run.path().join(FILE), e))?))
    }
}

impl Predictor for Neighbours {
    fn predict(&self, split: &Split) -> Result<Vec<f32>, Error> {
        let width = self.targets.len() / self.texts.len();
        let mut z = Vec::new();
        for query in split.inputs.texts()?.iter().map(|text| words(text)) {
            let mut order: Vec<usize> = (0..self.texts.len()).collect();
            order.sort_by_key(|&i| std::cmp::Reverse(self.texts[i].intersection(&query).count()));
            let nearest = &order[..self.count.min(order.len())];
            z.extend((0..width).map(|j| {
                let sum: f32 = nearest.iter().map(|&i| self.targets[i * width + j]).sum();
                sum / nearest.len() as f32
            }));
        }
        Ok(z)
    }

    fn save(&self, run: &mut RunDir) -> Result<(), Error> {
        let text = serde_json::to_string(self).map_err(|e| Error::Serialise(e.to_string()))?;
        run.write_text(FILE, &text)
    }
}

/// Runs the command with the kind `neighbours`.
pub fn main() -> std::process::ExitCode {
    main_with(&[kind::<NeighboursConfig>("neighbours")])
}
