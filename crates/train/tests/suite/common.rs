//! Small training problems with two coordinates.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use dsokr_basis::features::SparseRow;
use dsokr_core::Processes;
use dsokr_core::random::{Generator, generator};
use dsokr_nn::bag::NgramBag;
use dsokr_nn::parameters::collect;
use dsokr_nn::{BagConfig, Encoder, Mlp, MlpConfig, Model, Pass, Start};
use dsokr_train::{
    CheckpointSink, Decay, Error, OptimizerName, Outcome, Pairs, StepNumbers, Task, TrainingConfig,
    Validation, train,
};

pub fn device() -> Device {
    Device::flex().autodiff()
}

/// Inputs, targets and the settings to train with.
#[derive(Clone)]
pub struct Problem<I> {
    pub config: TrainingConfig,
    pub inputs: Vec<I>,
    pub targets: Vec<f32>,
    pub residuals: Vec<f64>,
    pub weights: Vec<f64>,
    pub ranks: Processes,
}

/// Loss and learning rate of each step.
#[derive(Default)]
pub struct Steps(pub Vec<(f64, f64)>);

impl CheckpointSink<f64> for Steps {
    fn step(&mut self, numbers: StepNumbers) -> Result<(), Error> {
        self.0.push((numbers.loss, numbers.learning_rate));
        Ok(())
    }
}

impl<I: Send + Sync> Problem<I> {
    pub fn new(config: TrainingConfig, inputs: Vec<I>, targets: &[f32]) -> Self {
        let targets = targets.to_vec();
        let residuals = vec![0.25; inputs.len()];
        let weights = Vec::new();
        Self { config, inputs, targets, residuals, weights, ranks: Processes::default() }
    }

    pub fn shared_by(self, ranks: &Processes) -> Self {
        Self { ranks: ranks.clone(), ..self }
    }

    pub fn train<E: Encoder<Input = I>>(
        &self,
        model: Model<E>,
        steps: &mut Steps,
    ) -> Result<Outcome<E>, Error> {
        let validate = &|_: &Model<E>| Ok(Validation { metrics: 0.0, score: 0.0, loss: None });
        let pairs = Pairs::new(&self.inputs, &self.targets, &self.residuals)?;
        let pairs = pairs.weighted(&self.weights)?;
        let ranks = &self.ranks;
        let device = &device();
        let task = Task { config: &self.config, seed: 0, device, pairs, ranks, validate };
        train(&task, model, None, steps, &mut ())
    }

    /// Returns loss and gradients of all pairs as one batch: those of a step of descent at rate 1.
    pub fn gradients<E: Encoder<Input = I>>(
        mut self,
        model: Model<E>,
    ) -> (f64, BTreeMap<String, Vec<f32>>) {
        self.config = one_step(self.config);
        let mut steps = Steps::default();
        let before = values(&model);
        let after = values(&self.train(model, &mut steps).unwrap().model);
        let moved = |(name, before): (String, Vec<f32>)| {
            let moved = before.iter().zip(&after[&name]).map(|(before, after)| before - after);
            (name.clone(), moved.collect())
        };
        // the first of several ranks hears of steps
        let loss = steps.0.first().map_or(f64::NAN, |(loss, _)| *loss);
        (loss, before.into_iter().map(moved).collect())
    }
}

/// Returns the configuration of one step of descent at rate 1 on one batch.
pub fn one_step(config: TrainingConfig) -> TrainingConfig {
    TrainingConfig {
        epochs: 1,
        batch: 1000,
        warmup: 0,
        decay: Decay::None,
        learning_rate: 1.0,
        optimizer: OptimizerName::Sgd,
        ..config
    }
}

/// Creates a module with parameters of this type. One of 64 bits is trained on the CPU engine as modules are on other devices.
pub fn cast<M: Module>(module: M, dtype: DType) -> M {
    struct Cast(DType);

    impl ModuleMapper for Cast {
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            param.map(|tensor| tensor.inner().cast(self.0).autodiff().require_grad())
        }
    }

    module.map(&mut Cast(dtype))
}

/// Returns the values of all parameters.
pub fn values<M: Module>(module: &M) -> BTreeMap<String, Vec<f32>> {
    let parameters = collect(module).into_iter();
    parameters.map(|(name, parameter)| (name, parameter.values.to_vec())).collect()
}

/// Returns the largest difference of two models' parameters.
pub fn apart(a: &BTreeMap<String, Vec<f32>>, b: &BTreeMap<String, Vec<f32>>) -> f32 {
    assert!(a.keys().eq(b.keys()));
    let pairs = a.values().flatten().zip(b.values().flatten());
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// Rows of a table, which are what inputs are encoded as.
#[derive(Module, Debug)]
pub struct Table {
    pub rows: Param<Tensor<2>>,
}

impl Table {
    pub fn new(values: &[f32], width: usize) -> Self {
        let data = TensorData::new(values.to_vec(), [values.len() / width, width]);
        Self { rows: Param::from_tensor(Tensor::from_data(data, &device())) }
    }
}

impl Encoder for Table {
    type Input = i32;

    fn dimension(&self) -> usize {
        self.rows.dims()[1]
    }

    fn forward(&self, batch: &[&i32], _: Pass) -> Tensor<2> {
        let rows: Vec<i32> = batch.iter().map(|&&row| row).collect();
        self.rows.val().select(0, Tensor::<1, Int>::from_ints(rows.as_slice(), &device()))
    }
}

/// Two modules that share a parameter.
#[derive(Module, Debug)]
pub struct Shared {
    pub one: Table,
    pub other: Table,
}

impl Shared {
    pub fn new(values: &[f32], width: usize) -> Self {
        let table = Table::new(values, width);
        Self { one: table.clone(), other: table }
    }
}

impl Encoder for Shared {
    type Input = i32;

    fn dimension(&self) -> usize {
        self.one.dimension()
    }

    fn forward(&self, batch: &[&i32], pass: Pass) -> Tensor<2> {
        self.one.forward(batch, pass) + self.other.forward(batch, pass) * 2.0
    }
}

fn start<'a>(offset: &'a [f32], random: &'a mut Generator, device: &'a Device) -> Start<'a> {
    Start { offset, random, device }
}

/// Creates an MLP with two coordinates.
pub fn mlp(inputs: usize, hidden: &[usize], dropout: f32) -> Mlp {
    let config = MlpConfig { hidden: hidden.to_vec(), dropout };
    config.init(inputs, start(&[0.1; 2], &mut generator(1, "parameters", 0), &device()))
}

/// Draws `n` inputs of five features.
pub fn dense(n: usize) -> Vec<Vec<f32>> {
    (0..n).map(|i| (0..5).map(|j| ((i * 5 + j) as f32).sin()).collect()).collect()
}

/// Creates a bag of n-grams with two coordinates.
pub fn bag(linear: bool, features: usize) -> NgramBag {
    let config = BagConfig { linear, embedding: 4, ..BagConfig::default() };
    config.init(features, start(&[0.5, 0.0], &mut generator(1, "parameters", 0), &device()))
}

/// Draws `n` inputs of a bag of at least 40.
pub fn rows(n: u32) -> Vec<SparseRow> {
    let row = |i| vec![(i, 0.5), (3 * i + 2, -1.0), (39, 0.1)];
    (0..n).map(row).collect()
}
