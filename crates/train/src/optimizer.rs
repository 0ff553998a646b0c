use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::module::{Module, ParamGroup};
use burn::optim::{
    AdamState, AdaptiveMomentumState, GradientsParams, ModuleOptimizer, Optimizer, OptimizerRecord,
};
use burn::tensor::{Bytes, Device, Tensor};
use dsokr_nn::fused::{Adam, Updates, owned, primitive};
use dsokr_nn::{RowGradient, on_cpu_engine};
use rayon::prelude::*;

use crate::{OptimizerName, TrainingConfig};

/// The optimiser of a model: gradient descent, `w ← w − lr · g`, or Adam with decoupled weight decay λ, the arithmetic of
/// PyTorch's `AdamW`: `w ← (1 − lr·λ) w − lr · (m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + ε)`.
///
/// On the CPU engine a parameter takes one parallel pass in place over weights, moments and gradient, and on a GPU many
/// parameters take one kernel; Burn's own optimisers make one pass for each operation. The state is that of Burn's Adam.
pub struct Update {
    rules: ModuleOptimizer,
    updates: Updates,
}

impl Update {
    /// The optimiser of a configuration: the main rule, and the groups' rules for the parameters that they name.
    pub fn from_config(config: &TrainingConfig) -> Self {
        let updates = Updates::default();
        let own =
            |name, factor| Rule { name, config: config.clone(), factor, updates: updates.clone() };
        let main = ModuleOptimizer::from(own(config.optimizer, 1.0));
        let rules = config.groups.iter().fold(main, |optimizer, group| {
            let own = own(group.optimizer, group.learning_rate / config.learning_rate);
            optimizer.with_group(ParamGroup::from_predicate(&group.parameters), own, None)
        });
        Self { rules, updates }
    }

    /// The optimiser with a state that [`state`](Self::state) gave.
    pub(crate) fn with_state(self, bytes: Vec<u8>) -> Result<Self, String> {
        let record = OptimizerRecord::from_bytes(Bytes::from_bytes_vec(bytes));
        let record = record.map_err(|error| error.to_string())?;
        Ok(Self { rules: self.rules.load_record(record), ..self })
    }

    /// The moments of all parameters.
    pub(crate) fn state(&self) -> Result<Vec<u8>, String> {
        let bytes = self.rules.into_bytes().map_err(|error| error.to_string())?;
        Ok(bytes.to_vec())
    }

    /// The model after a step at a learning rate. On a GPU a `factor` `[1]` multiplies the gradients.
    pub fn step<M: Module>(
        &mut self,
        rate: f64,
        model: M,
        gradients: GradientsParams,
        factor: Option<Tensor<1>>,
    ) -> M {
        self.updates.scale(factor);
        let model = self.rules.step(rate, model, gradients);
        self.updates.finish();
        model
    }
}

/// The rule of a group of parameters.
#[derive(Clone, Debug)]
struct Rule {
    name: OptimizerName,
    config: TrainingConfig,
    /// The group's learning rate as a multiple of the schedule's.
    factor: f64,
    updates: Updates,
}

impl Optimizer for Rule {
    type State<const D: usize> = AdamState<D>;

    fn step<const D: usize>(
        &self,
        lr: f64,
        weights: Tensor<D>,
        gradient: Tensor<D>,
        state: Option<AdamState<D>>,
    ) -> (Tensor<D>, Option<AdamState<D>>) {
        let lr = lr * self.factor;
        let TrainingConfig { beta1, beta2, epsilon, weight_decay, .. } = self.config;
        let decay = match self.name {
            OptimizerName::Sgd if on_cpu_engine(&weights) => {
                return (descend(weights, gradient, lr as f32), None);
            }
            OptimizerName::Sgd => {
                return (weights - self.updates.scaled(gradient) * lr as f32, None);
            }
            OptimizerName::Adam => 0.0,
            OptimizerName::AdamW => weight_decay,
        };
        let zeros = || AdaptiveMomentumState::new(0, weights.zeros_like(), weights.zeros_like());
        let state = state.map_or_else(zeros, |state| state.momentum);
        let time = state.time + 1;
        let power = |beta: f32| 1.0 - f64::from(beta).powf(time as f64);
        let step = Adam {
            beta1,
            beta2,
            rate: (lr / power(beta1)) as f32,
            scale: power(beta2).sqrt().recip() as f32,
            epsilon,
            keep: (1.0 - lr * f64::from(decay)) as f32,
        };
        let tensors = [weights, gradient, state.moment_1, state.moment_2];
        let [weights, first, second] = self.updates.adam(step, tensors);
        (weights, Some(AdamState::new(AdaptiveMomentumState::new(time, first, second))))
    }

    fn to_device<const D: usize>(mut state: AdamState<D>, device: &Device) -> AdamState<D> {
        state.momentum = state.momentum.to_device(device);
        state
    }
}

/// Number of elements that one task updates.
const CHUNK: usize = 1 << 14;

fn descend<const D: usize>(weights: Tensor<D>, gradient: Tensor<D>, lr: f32) -> Tensor<D> {
    let by_rows = RowGradient::is(&gradient, &weights);
    let [mut w, g] = [weights, gradient].map(host);
    let gradient = g.as_slice::<f32>().unwrap_or_default();
    if by_rows {
        let width = w.layout().shape()[1];
        RowGradient::add_to(w.storage_mut::<f32>(), width, gradient, -lr);
        return Tensor::from_primitive::<Flex>(w);
    }
    w.storage_mut::<f32>()
        .par_chunks_mut(CHUNK)
        .zip(gradient.par_chunks(CHUNK))
        .for_each(|(w, g)| w.iter_mut().zip(g).for_each(|(w, g)| *w -= lr * g));
    Tensor::from_primitive::<Flex>(w)
}

/// The memory of a tensor of the CPU engine.
fn host<const D: usize>(tensor: Tensor<D>) -> FlexTensor {
    owned(primitive(tensor))
}
