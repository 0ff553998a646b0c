//! A custom predictor without a neural network: the mean target of the training texts that share most
//! words with the query. Its settings are in custom_predictor.toml beside this file.
//!
//! ```sh
//! cargo run --release --example custom_predictor
//! ```

use std::collections::BTreeSet;

use dsokr::data::Split;
use dsokr::run::Folder;
use dsokr::targets::TrainingOutputs;
use dsokr::{Config, Error, Fit, Fitted, Learner, Predictor, Request, Run, StoredRun, Task};
use dsokr::{register, train::Lines};
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
    fn prepare<'a>(&'a self, outputs: &'a TrainingOutputs) -> Result<Box<dyn Fit + 'a>, Error> {
        let texts = outputs.dataset().train.inputs.texts()?;
        let texts: Vec<_> = texts.iter().map(|text| words(text)).collect();
        Ok(Box::new(move |task: &mut Task| {
            let (_, targets) = task.targets.basis()?;
            let (texts, targets) = (texts.clone(), targets.coordinates.clone());
            Ok(Fitted::new(Neighbours { count: self.neighbours, texts, targets }))
        }))
    }

    fn load(&self, run: &StoredRun) -> Result<Box<dyn Predictor>, Error> {
        let read: Result<Neighbours, _> = serde_json::from_str(&run.read_text(FILE)?);
        let path = run.path.join(FILE);
        Ok(Box::new(read.map_err(|e| Error::Run { path, message: e.to_string() })?))
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

    fn save(&self, folder: &mut Folder) -> Result<(), Error> {
        let text = serde_json::to_string(self).map_err(|e| Error::Serialise(e.to_string()))?;
        folder.write_text(FILE, &text)
    }
}

fn main() -> Result<(), Error> {
    register::<NeighboursConfig>("neighbours")?;
    let config = Config::load("examples/custom_predictor.toml")?;
    let trained = Request::new(&config)?.run(&mut Lines)?;
    println!("\n{}\nrun directory: {}\n", trained.report, trained.path.display());

    // reads it again, as another program would that registers the kind
    let run = Run::open(&trained.path)?;
    for hit in run.search("A carboxylic acid with a bromine atom on a benzene ring.", 5)?.hits {
        println!("{:.4}  {}", hit.score, hit.label);
    }
    Ok(())
}
