use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::module::ParamGroup;
use burn::optim::{AdamState, AdaptiveMomentumState, ModuleOptimizer, Optimizer};
use burn::tensor::{Device, Tensor};
use dsokr_nn::fused::{owned, primitive};
use dsokr_nn::{RowGradient, is_cpu_engine};
use rayon::prelude::*;

use crate::{OptimizerName, TrainingConfig};

/// The update rule of an optimiser.
#[derive(Clone, Debug)]
enum Rule {
    /// `w ← w − lr · g`.
    Sgd,
    /// Adam with decoupled weight decay λ, the arithmetic of PyTorch's `AdamW`:
    /// `w ← (1 − lr·λ) w − lr · (m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + ε)`.
    Adam { beta1: f32, beta2: f32, epsilon: f32, weight_decay: f32 },
}

/// The optimiser of a group of parameters.
///
/// On the CPU engine it is one parallel pass in place over weights, moments and gradient; Burn's
/// own optimisers make one pass for each operation. On other devices it uses Burn's operations. The
/// state is that of Burn's Adam.
#[derive(Clone, Debug)]
pub struct Update {
    rule: Rule,
    /// The group's learning rate as a multiple of the schedule's.
    factor: f64,
}

impl Update {
    /// Burn's optimiser of a module under a configuration: the main rule, and the groups' rules for
    /// the parameters that they name.
    pub fn from_config(config: &TrainingConfig) -> ModuleOptimizer {
        let rule = |name| match name {
            OptimizerName::Sgd => Rule::Sgd,
            OptimizerName::Adam | OptimizerName::AdamW => {
                let TrainingConfig { beta1, beta2, epsilon, .. } = *config;
                let decays = name == OptimizerName::AdamW;
                let weight_decay = if decays { config.weight_decay } else { 0.0 };
                Rule::Adam { beta1, beta2, epsilon, weight_decay }
            }
        };
        let main = Self { rule: rule(config.optimizer), factor: 1.0 };
        config.groups.iter().fold(ModuleOptimizer::from(main), |optimizer, group| {
            let factor = group.learning_rate / config.learning_rate;
            let own = Self { rule: rule(group.optimizer), factor };
            optimizer.with_group(ParamGroup::from_predicate(&group.parameters), own, None)
        })
    }
}

/// The constants of one step of Adam.
#[derive(Clone, Copy)]
struct Step {
    beta1: f32,
    beta2: f32,
    /// `lr / (1 − β₁ᵗ)`.
    rate: f32,
    /// `1 / √(1 − β₂ᵗ)`.
    scale: f32,
    epsilon: f32,
    /// `1 − lr·λ`.
    keep: f32,
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
        let Rule::Adam { beta1, beta2, epsilon, weight_decay } = self.rule else {
            return (descend(weights, gradient, lr as f32), None);
        };
        let zeros = || AdaptiveMomentumState::new(0, weights.zeros_like(), weights.zeros_like());
        let state = state.map_or_else(zeros, |state| state.momentum);
        let time = state.time + 1;
        let power = |beta: f32| 1.0 - f64::from(beta).powf(time as f64);
        let step = Step {
            beta1,
            beta2,
            rate: (lr / power(beta1)) as f32,
            scale: power(beta2).sqrt().recip() as f32,
            epsilon,
            keep: (1.0 - lr * f64::from(weight_decay)) as f32,
        };
        let on_cpu = is_cpu_engine(&weights.device());
        let tensors = [weights, gradient, state.moment_1, state.moment_2];
        let [weights, first, second] =
            if on_cpu { fused(tensors, step) } else { composed(tensors, step) };
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
    if !is_cpu_engine(&weights.device()) {
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

/// The step of Adam on the CPU engine, from weights, gradient and moments to weights and moments.
fn fused<const D: usize>(tensors: [Tensor<D>; 4], step: Step) -> [Tensor<D>; 3] {
    let [mut w, g, mut m, mut v] = tensors.map(host);
    let gradient = g.as_slice::<f32>().unwrap_or_default();
    w.storage_mut::<f32>()
        .par_chunks_mut(CHUNK)
        .zip(m.storage_mut::<f32>().par_chunks_mut(CHUNK))
        .zip(v.storage_mut::<f32>().par_chunks_mut(CHUNK))
        .zip(gradient.par_chunks(CHUNK))
        .for_each(|(((w, m), v), g)| {
            let Step { beta1, beta2, rate, scale, epsilon, keep } = step;
            for i in 0..w.len() {
                m[i] = beta1 * m[i] + (1.0 - beta1) * g[i];
                v[i] = beta2 * v[i] + (1.0 - beta2) * g[i] * g[i];
                w[i] = keep * w[i] - rate * m[i] / (v[i].sqrt() * scale + epsilon);
            }
        });
    [w, m, v].map(Tensor::from_primitive::<Flex>)
}

/// The memory of a tensor of the CPU engine.
fn host<const D: usize>(tensor: Tensor<D>) -> FlexTensor {
    owned(primitive(tensor))
}

/// [`fused`] by Burn's own operations.
fn composed<const D: usize>([w, g, m, v]: [Tensor<D>; 4], step: Step) -> [Tensor<D>; 3] {
    let m = m * step.beta1 + g.clone() * (1.0 - step.beta1);
    let v = v * step.beta2 + g.square() * (1.0 - step.beta2);
    let direction = m.clone() / (v.clone().sqrt() * step.scale + step.epsilon);
    [w * step.keep - direction * step.rate, m, v]
}

#[cfg(test)]
mod tests {
    use burn::optim::{AdamWConfig, GradientsParams};
    use burn::tensor::Distribution;
    use dsokr_nn::parameters::collect;
    use dsokr_nn::{Encoder, Pass};

    use super::*;
    use crate::GroupConfig;
    use crate::problem::mlp;

    const NORMAL: Distribution = Distribution::Normal(0.0, 1.0);

    #[test]
    fn adam_agrees_with_burn_over_several_steps() {
        let device = Device::flex();
        let (beta1, beta2, epsilon, weight_decay) = (0.9, 0.999, 1e-5, 0.1);
        let rule = Rule::Adam { beta1, beta2, epsilon, weight_decay };
        let ours = Update { rule, factor: 1.0 };
        let theirs = AdamWConfig::new().with_epsilon(1e-5).with_weight_decay(0.1).build();
        let mut a = Tensor::<2>::random([33, 7], NORMAL, &device);
        let mut b = a.clone();
        let (mut state_a, mut state_b) = (None, None);
        for _ in 0..5 {
            let gradient = Tensor::<2>::random([33, 7], NORMAL, &device);
            (a, state_a) = ours.step(1e-2, a, gradient.clone(), state_a);
            (b, state_b) = theirs.step(1e-2, b, gradient, state_b);
        }
        assert!((a - b).abs().max().into_scalar::<f32>() < 1e-6);
    }

    #[test]
    fn fused_and_composed_agree() {
        let draw = || Tensor::<1>::random([40_000], NORMAL, &Device::flex());
        let tensors = [draw(), draw(), draw(), draw().square()];
        let step =
            Step { beta1: 0.8, beta2: 0.99, rate: 0.1, scale: 1.5, epsilon: 1e-3, keep: 0.9 };
        let both = fused(tensors.clone(), step).into_iter().zip(composed(tensors, step));
        for ((a, b), bound) in both.zip([1e-5, 1e-6, 1e-6]) {
            assert!((a - b).abs().max().into_scalar::<f32>() < bound);
        }
    }

    #[test]
    fn groups_have_their_own_rule_and_rate() {
        let device = Device::flex().autodiff();
        let encoder = mlp(1, &[], 0.0, &device);
        let (parameters, optimizer) = ("bias".into(), OptimizerName::Sgd);
        let groups = vec![GroupConfig { parameters, optimizer, learning_rate: 0.25 }];
        let (optimizer, learning_rate) = (OptimizerName::Adam, 0.1);
        let config =
            TrainingConfig { optimizer, learning_rate, groups, ..TrainingConfig::default() };
        let sum = encoder.forward(&[&vec![1.0]], Pass::Evaluate).sum() * 2.0;
        let gradients = GradientsParams::from_grads(sum.backward(), &encoder);
        let before = collect(&encoder);
        // halfway through a warm-up, both rates are halved
        let after = collect(&Update::from_config(&config).step(0.05, encoder, gradients));
        for (name, moved) in [("layers.0.bias", 0.125 * 2.0), ("layers.0.weight", 0.05)] {
            let values = before[name].values.iter().zip(&*after[name].values);
            assert!(values.into_iter().all(|(a, b)| (a - b - moved).abs() < 1e-5), "{name}");
        }
    }
}
