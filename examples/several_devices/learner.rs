//! An encoder as Burn's learner takes it: a step's loss and gradients, the update, the rate.

use burn::lr_scheduler::{LrScheduler, LrSchedulerRecord, module_lr_scheduler::ModuleLearningRate};
use burn::module::Module;
use burn::optim::{GradientsParams, ModuleOptimizer};
use burn::tensor::{Tensor, TensorData};
use burn_train::{InferenceStep, RegressionOutput, TrainOutput, TrainStep};
use dsokr::config::TrainingConfig;
use dsokr::nn::{Encoder, Transformer};
use dsokr::train::{clip, learning_rate};

use crate::pairs::Part;

/// The part of a [`Model`](dsokr::nn::Model) that learns. The frozen basis stays behind: it would be
/// copied to every device for nothing.
#[derive(Module, Debug)]
pub struct Learning {
    pub encoder: Transformer,
    /// Largest length of the gradients of a step; 0 for any.
    #[module(skip)]
    pub clip: f32,
}

impl Learning {
    /// `(Σ ‖z − ψ̃(y)‖² + r(y)) / count` over a part of a batch, with z and targets.
    fn loss(&self, part: &Part) -> RegressionOutput {
        let Part { pairs, rows, count, pass } = part;
        let p = self.encoder.dimension();
        let inputs: Vec<_> = rows.iter().map(|&i| &pairs.inputs[i]).collect();
        let targets = rows.iter().flat_map(|&i| pairs.targets[i * p..(i + 1) * p].iter().copied());
        let targets = TensorData::new(targets.collect(), [rows.len(), p]);
        let outside = rows.iter().map(|&i| pairs.residuals[i]).sum::<f64>() / count;
        let z = self.encoder.forward(&inputs, *pass);
        let targets = Tensor::<2>::from_data(targets, &z.device());
        let loss = (z.clone() - targets.clone()).square().sum() / *count as f32 + outside as f32;
        RegressionOutput::new(loss, z, targets)
    }
}

impl TrainStep for Learning {
    type Input = Part;
    type Output = RegressionOutput;

    fn step(&self, part: Part) -> TrainOutput<RegressionOutput> {
        let output = self.loss(&part);
        // with several devices this returns the mean of their gradients
        let gradients = output.loss.backward();
        TrainOutput::new(self, gradients, output)
    }

    fn optimize(
        self,
        optimizer: &mut ModuleOptimizer,
        rate: ModuleLearningRate,
        mut gradients: GradientsParams,
    ) -> Self {
        if self.clip > 0.0 {
            clip(&self, &mut gradients, self.clip);
        }
        optimizer.step(rate, self, gradients)
    }
}

impl InferenceStep for Learning {
    type Input = Part;
    type Output = RegressionOutput;

    fn step(&self, part: Part) -> RegressionOutput {
        self.loss(&part)
    }
}

/// The trainer's warm-up and decay.
#[derive(Clone)]
pub struct Schedule {
    pub config: TrainingConfig,
    /// Steps done.
    pub step: u64,
    /// Steps of the whole training.
    pub total: u64,
}

impl LrScheduler for Schedule {
    fn step(&mut self) -> f64 {
        let rate = learning_rate(&self.config, self.step, self.total);
        self.step += 1;
        rate
    }

    // this example has no checkpoints: nothing is recorded, and nothing read back
    fn to_record(&self) -> LrSchedulerRecord {
        LrSchedulerRecord::new()
    }

    fn load_record(&mut self, _: LrSchedulerRecord) {}
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use burn::data::dataloader::{DataLoader, split::split_dataloader};
    use burn::module::ParamId;
    use burn::tensor::Device;
    use dsokr::basis::random::generator;
    use dsokr::nn::{MlpConfig, TransformerInput, parameters};

    use super::*;
    use crate::pairs::{Loader, Order, Pairs};

    /// What the all-reduce of several GPUs computes, worked out here on one CPU.
    #[test]
    fn the_mean_of_the_devices_gradients_is_the_gradient_of_the_batch() {
        let device = Device::flex().autodiff();
        let config = MlpConfig { hidden: vec![6], dropout: 0.0 };
        let encoder = config.init(5, &[0.0, 0.0], &mut generator(1, "parameters", 0), &device);
        let learning = Learning { encoder: Transformer::Mlp(encoder), clip: 0.0 };
        let vector = |i: usize| (0..5).map(|j| ((i * 5 + j) % 7) as f32 - 3.0).collect();
        let pairs = Arc::new(Pairs {
            inputs: (0..20).map(|i| TransformerInput::Dense(vector(i))).collect(),
            lengths: vec![1; 20],
            targets: (0..40).map(|i| (i % 3) as f32).collect(),
            residuals: (0..20).map(|i| i as f64 / 20.0).collect(),
        });
        let values = |part| -> (f64, Vec<f32>) {
            let TrainOutput { grads, item } = TrainStep::step(&learning, part);
            let all = parameters::collect(&learning).into_values().flat_map(|parameter| {
                let id = ParamId::from(parameter.id.unwrap());
                let data = match parameter.shape.len() {
                    1 => grads.get::<1>(id).unwrap().into_data(),
                    _ => grads.get::<2>(id).unwrap().into_data(),
                };
                data.try_to_vec::<f32>().unwrap()
            });
            let all = all.collect();
            (f64::from(item.loss.into_scalar::<f32>()), all)
        };
        for devices in [2, 3, 5] {
            let loader = Loader::new(pairs.clone(), Order::Train { seed: 0 }, 20, devices);
            let loader: Arc<dyn DataLoader<Part>> = Arc::new(loader);
            let first = |loader: &Arc<dyn DataLoader<Part>>| loader.iter().next().unwrap().unwrap();
            let (loss, whole) = values(first(&loader));
            assert!(whole.iter().any(|v| v.abs() > 0.05));
            let places = vec![Device::flex(); devices];
            let parts: Vec<_> = split_dataloader(loader, &places)
                .iter()
                .map(|share| values(first(share)))
                .collect();
            let mean = |get: &dyn Fn(&(f64, Vec<f32>)) -> f64| {
                parts.iter().map(get).sum::<f64>() / devices as f64
            };
            assert!((mean(&|part| part.0) - loss).abs() < 1e-5 * loss, "{devices} devices");
            for (i, &expected) in whole.iter().enumerate() {
                let found = mean(&|part| f64::from(part.1[i]));
                assert!((found - f64::from(expected)).abs() < 1e-5, "{devices} devices, {i}");
            }
        }
    }
}
