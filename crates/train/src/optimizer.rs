use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::module::ParamGroup;
use burn::optim::{AdamState, AdaptiveMomentumState, ModuleOptimizer, Optimizer};
use burn::tensor::{Device, Tensor};
use dsokr_nn::fused::{Adam, owned, primitive};
use dsokr_nn::{RowGradient, on_cpu_engine};
use rayon::prelude::*;

use crate::{OptimizerName, TrainingConfig};

/// The optimiser of a group of parameters: gradient descent, `w ← w − lr · g`, or Adam with decoupled weight decay λ,
/// the arithmetic of PyTorch's `AdamW`: `w ← (1 − lr·λ) w − lr · (m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + ε)`.
///
/// On the CPU engine it is one parallel pass in place over weights, moments and gradient; Burn's
/// own optimisers make one pass for each operation. On other devices it uses Burn's operations. The
/// state is that of Burn's Adam.
#[derive(Clone, Debug)]
pub struct Update {
    name: OptimizerName,
    config: TrainingConfig,
    /// The group's learning rate as a multiple of the schedule's.
    factor: f64,
}

impl Update {
    /// Burn's optimiser of a module under a configuration: the main rule, and the groups' rules for
    /// the parameters that they name.
    pub fn from_config(config: &TrainingConfig) -> ModuleOptimizer {
        let own = |name, factor| Self { name, config: config.clone(), factor };
        let main = ModuleOptimizer::from(own(config.optimizer, 1.0));
        config.groups.iter().fold(main, |optimizer, group| {
            let own = own(group.optimizer, group.learning_rate / config.learning_rate);
            optimizer.with_group(ParamGroup::from_predicate(&group.parameters), own, None)
        })
    }
}

impl Optimizer for Update {
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
            OptimizerName::Sgd => return (descend(weights, gradient, lr as f32), None),
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
        let [weights, first, second] =
            step.step([weights, gradient, state.moment_1, state.moment_2]);
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
    if !on_cpu_engine(&weights) {
        return weights - gradient * lr;
    }
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
