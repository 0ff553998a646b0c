//! A learner that learns in steps: a linear map from vectors to coordinates, which gradient descent fits. It keeps a
//! checkpoint, goes on from it when its run is resumed, and several processes fit it together.
//!
//! ```sh
//! cargo run --release --example learner_in_steps
//! ```

use burn::tensor::Device;
use dsokr::config::Checked;
use dsokr::core::store::Tensor;
use dsokr::data::{InputKind, Split};
use dsokr::targets::{OutputTargets, Problem};
use dsokr::{
    Abilities, Cancellation, Config, Error, Evaluator, Event, Fit, Fitted, Learner, Observer,
    Predictor, RunDir, fit, register,
};
use serde::{Deserialize, Serialize};

/// The keys of `[encoder]`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GradientDescent {
    steps: u64,
    rate: f64,
}

/// The training inputs, and what they are fitted to.
struct Descent<'a> {
    settings: &'a GradientDescent,
    problem: &'a Problem,
    inputs: Vec<Vec<f32>>,
}

/// The fitted model z = Wᵀx.
struct LinearMap {
    /// Columns of the inputs, and coordinates.
    shape: [usize; 2],
    /// W, row-major.
    weights: Vec<f64>,
}

/// The file of the fitted model in the run directory.
const FILE: &str = "linear-map.safetensors";

/// A checkpoint is kept after so many steps.
const CHECKPOINT_EVERY: u64 = 10;

fn rows(split: &Split) -> Result<Vec<Vec<f32>>, Error> {
    let vectors = split.inputs.vectors()?;
    Ok((0..split.inputs.len()).map(|row| vectors.dense_row(row)).collect())
}

impl LinearMap {
    fn coordinates(&self, input: &[f32]) -> Vec<f64> {
        let mut z = vec![0.0; self.shape[1]];
        for (value, weights) in input.iter().zip(self.weights.chunks(self.shape[1])) {
            for (z, weight) in z.iter_mut().zip(weights) {
                *z += f64::from(*value) * weight;
            }
        }
        z
    }

    fn tensor(&self) -> Tensor<'_> {
        Tensor::f64("weights", &self.shape, &self.weights)
    }
}

impl Learner for GradientDescent {
    fn abilities(&self) -> Abilities<'_> {
        Abilities { reads: InputKind::Vectors, shares_training: true, ..Abilities::default() }
    }

    fn prepare<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Fit + 'a>, Error> {
        let inputs = rows(&problem.dataset.train)?;
        Ok(Box::new(Descent { settings: self, problem, inputs }))
    }

    fn load(
        &self,
        run: &RunDir,
        _: &Checked,
        _: usize,
        _: &Device,
    ) -> Result<Box<dyn Predictor>, Error> {
        let stored = run.read_tensors(FILE)?;
        let shape: [usize; 2] = stored.json("value")?;
        let weights = stored.shaped("weights", &shape)?;
        Ok(Box::new(LinearMap { shape, weights }))
    }
}

impl Fit for Descent<'_> {
    fn fit(
        &mut self,
        targets: &OutputTargets,
        _: &Evaluator,
        run: Option<&mut RunDir>,
        observer: &mut dyn Observer,
    ) -> Result<Fitted, Error> {
        let run = run.as_deref();
        let ranks = &self.problem.ranks;
        let targets = targets.coordinates()?;
        let pairs = self.inputs.len();
        let shape = [self.inputs[0].len(), targets.len() / pairs];
        let mut map = LinearMap { shape, weights: vec![0.0; shape[0] * shape[1]] };

        // every process goes on from the checkpoint of a run that was interrupted
        let mut first = 0;
        if let Some(run) = run
            && let Some(stored) = ranks.agree(run.read_checkpoint())?
        {
            first = stored.json("value")?;
            map.weights = stored.shaped("weights", &shape)?;
        }
        // a shared file system may show one of them an older file, or none
        ranks.check_same("checkpoint's step", &first.to_string())?;
        observer.event(&Event::Start { step: first, total: self.settings.steps });
        for step in first..self.settings.steps {
            // all processes end where one of them is cancelled
            ranks.agree(Cancellation::current().check())?;

            // the gradient of the square loss: of this process's part of the pairs, and then of all pairs
            let mut gradient = vec![0.0; map.weights.len()];
            for pair in ranks.part(pairs) {
                let input = &self.inputs[pair];
                let target = &targets[pair * shape[1]..][..shape[1]];
                let z = map.coordinates(input);
                for (value, gradient) in input.iter().zip(gradient.chunks_mut(shape[1])) {
                    for ((gradient, z), target) in gradient.iter_mut().zip(&z).zip(target) {
                        *gradient += f64::from(*value) * (z - f64::from(*target));
                    }
                }
            }
            ranks.sum(&mut gradient)?;
            for (weight, gradient) in map.weights.iter_mut().zip(&gradient) {
                *weight -= self.settings.rate * gradient / pairs as f64;
            }

            let done = step + 1;
            if let Some(run) = run
                && ranks.is_first()
                && done % CHECKPOINT_EVERY == 0
            {
                run.write_checkpoint(&done, &[map.tensor()])?;
                observer.event(&Event::Checkpoint { step: done });
            }
        }
        observer.event(&Event::End { step: self.settings.steps });
        Ok(Fitted::new(map))
    }
}

impl Predictor for LinearMap {
    fn predict(&self, split: &Split) -> Result<Vec<f32>, Error> {
        let z = rows(split)?.into_iter().flat_map(|input| self.coordinates(&input));
        Ok(z.map(|value| value as f32).collect())
    }

    fn save(&self, run: &mut RunDir) -> Result<(), Error> {
        run.write_tensors(FILE, &self.shape, &[self.tensor()])
    }
}

/// A configuration with drawn pairs of vectors.
pub const CONFIG: &str = r#"
[data]
source = "synthetic"
train = 60
validation = 20
test = 20
unlabelled = 0
inputs = 6
outputs = 8
input_decay = 1.0
map = { kind = "low-rank", rank = 4 }
noise = { variance = 0.0 }

[output]
kernel = { name = "linear" }

[sketch]
size = 4

[encoder]
kind = "gradient-descent"
steps = 45
rate = 0.5

[evaluation]
metric = "squared_error"
"#;

/// Trains by [`CONFIG`], and prints the report.
pub fn main() -> Result<(), Error> {
    register::<GradientDescent>("gradient-descent")?;
    let config = Config::parse(CONFIG, &[])?;
    let folder = std::env::temp_dir().join(format!("learner-in-steps-{}", std::process::id()));
    let trained = fit(&config, &folder)?;
    println!("{}", trained.report);
    std::fs::remove_dir_all(&folder).map_err(dsokr::core::Error::io(&folder))?;
    Ok(())
}
