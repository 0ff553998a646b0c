//! Optimisers, the average of weights and schedules: against PyTorch's numbers, which `benches/optimizers.py` writes.

use std::cell::Cell;
use std::collections::BTreeMap;

use burn::module::{Module, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Tensor, TensorData};
use dsokr_core::Processes;
use dsokr_nn::Model;
use dsokr_train::{
    Decay, Every, OptimizerName, Pairs, Task, TrainingConfig, Update, Validation, train,
};
use serde_json::Value;

use crate::common::{Steps, device, mlp, values};

/// Two matrices and a vector.
#[derive(Module, Debug)]
struct Weights {
    wide: Param<Tensor<2>>,
    tall: Param<Tensor<2>>,
    bias: Param<Tensor<1>>,
}

type Named = BTreeMap<String, Vec<f32>>;

fn golden() -> Value {
    serde_json::from_str(include_str!("../golden/optimizers.json")).unwrap()
}

fn named(value: &Value) -> Named {
    serde_json::from_value(value.clone()).unwrap()
}

impl Weights {
    fn new(values: &Named) -> Self {
        let matrix = |name: &str, shape| {
            let data = TensorData::new(values[name].clone(), shape);
            Tensor::<2>::from_data(data, &device())
        };
        Self {
            wide: Param::from_tensor(matrix("wide", [3, 5])),
            tall: Param::from_tensor(matrix("tall", [6, 2])),
            bias: Param::from_tensor(Tensor::from_floats(&values["bias"][..], &device())),
        }
    }

    /// Returns a loss with these gradients.
    fn loss(&self, gradients: &Named) -> Tensor<1> {
        let factors = Self::new(gradients);
        let products = |weights: &Param<Tensor<2>>, factors: Param<Tensor<2>>| {
            (weights.val() * factors.val().detach()).sum()
        };
        products(&self.wide, factors.wide)
            + products(&self.tall, factors.tall)
            + (self.bias.val() * factors.bias.val().detach()).sum()
    }
}

/// Returns the weights after each of the golden steps, or their average.
fn stepped(config: &TrainingConfig) -> Vec<Named> {
    let golden = golden();
    let mut model = Weights::new(&named(&golden["start"]));
    let mut update = Update::new(config, &model);
    let steps = golden["gradients"].as_array().unwrap().iter().map(|gradients| {
        let loss = model.loss(&named(gradients));
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        model = update.step(0.01, model.clone(), gradients, None);
        values(&update.averaged(&model).unwrap_or(model.clone()))
    });
    steps.collect()
}

/// Returns the largest difference from golden weights after any step.
fn apart(found: &[Named], expected: &Value) -> f32 {
    let steps = found.iter().zip(expected.as_array().unwrap());
    steps.map(|(found, expected)| crate::common::apart(found, &named(expected))).fold(0.0, f32::max)
}

fn config(optimizer: OptimizerName, weight_decay: Option<f32>) -> TrainingConfig {
    TrainingConfig { optimizer, weight_decay, learning_rate: 0.01, ..TrainingConfig::default() }
}

#[test]
fn optimisers_make_the_steps_of_pytorch_with_decay_of_matrices_only() {
    let expected = &golden()["optimizers"];
    let momentum = TrainingConfig { momentum: Some(0.9), ..config(OptimizerName::Sgd, None) };
    for (name, config, bound) in [
        ("sgd", config(OptimizerName::Sgd, None), 1e-6),
        ("momentum", momentum, 1e-6),
        ("adam", config(OptimizerName::Adam, None), 1e-6),
        ("adamw", config(OptimizerName::AdamW, Some(0.1)), 1e-6),
        // PyTorch makes gradients orthogonal in 16 bits; steps here have elements of about 0.01
        ("muon", config(OptimizerName::Muon, Some(0.1)), 1e-3),
    ] {
        let apart = apart(&stepped(&config), &expected[name]);
        assert!(apart < bound, "{name}: {apart}");
    }
}

#[test]
fn the_moving_average_is_that_of_pytorch() {
    let config = TrainingConfig { ema: 0.8, ..config(OptimizerName::AdamW, Some(0.1)) };
    let found = stepped(&config);
    let apart = apart(&found, &golden()["ema"]);
    assert!(apart < 1e-6, "{apart}");
}

/// Returns the learning rates of 20 steps with an evaluation behind each, which has the golden score.
fn rates(config: TrainingConfig) -> Vec<f64> {
    let config = &TrainingConfig {
        learning_rate: 2.0,
        epochs: 20,
        evaluate_every: Every::Epochs(1),
        ..config
    };
    let scores: Vec<f64> = serde_json::from_value(golden()["scores"].clone()).unwrap();
    let evaluation = Cell::new(0);
    let validate = &|_: &Model<_>| {
        let score = scores[evaluation.replace(evaluation.get() + 1)];
        Ok(Validation { metrics: score, score, loss: None })
    };
    let inputs = [vec![1.0]];
    let task = Task {
        config,
        seed: 0,
        device: &device(),
        pairs: Pairs::new(&inputs, &[0.5; 2], &[0.0]).unwrap(),
        ranks: &Processes::default(),
        validate,
    };
    let mut steps = Steps::default();
    train(&task, Model::new(mlp(1, &[], 0.0)), None, &mut steps, &mut ()).unwrap();
    steps.0.into_iter().map(|(_, rate)| rate).collect()
}

#[test]
fn schedules_have_the_rates_of_pytorch() {
    let warmed = |decay| TrainingConfig { decay, warmup: 4, floor: 0.1, ..Default::default() };
    let plateau = TrainingConfig {
        decay: Decay::Plateau,
        warmup: 0,
        floor: 0.15,
        plateau_patience: Some(2),
        plateau_factor: Some(0.5),
        ..TrainingConfig::default()
    };
    let wsd = TrainingConfig { cooldown: Some(0.25), ..warmed(Decay::Wsd) };
    for (name, config) in [
        ("cosine", warmed(Decay::Cosine)),
        ("linear", warmed(Decay::Linear)),
        ("wsd", wsd),
        ("plateau", plateau),
    ] {
        let expected: Vec<f64> = serde_json::from_value(golden()["rates"][name].clone()).unwrap();
        let found = rates(config);
        let near = found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(near && found.len() == expected.len(), "{name}: {found:?}, not {expected:?}");
    }
}
