use std::any::Any;
use std::collections::{BTreeMap, HashMap};

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::module::{Module, ModuleMapper, Param, ParamId};
use burn::tensor::Tensor;
use dsokr_kernels::{Adam, Updates, on_cpu_engine, owned, primitive, values};
use dsokr_nn::parameters::{Path, visit};
use dsokr_nn::{Gradient, Gradients, Values};
use rayon::prelude::*;

use crate::checkpoint::Moments;
use crate::config::{OptimizerName, TrainingConfig};
use crate::error::Error;

/// The optimiser of a model: gradient descent, `w ← w − lr · g`, or Adam with decoupled weight decay λ, the arithmetic of
/// PyTorch's `AdamW`: `w ← (1 − lr·λ) w − lr · (m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + ε)`.
///
/// On the CPU engine a parameter takes one parallel pass in place over weights, moments and gradient, and on a GPU many
/// parameters take one kernel; Burn's own optimisers make one pass for each operation. What is known of a parameter, its
/// rule and Adam's state, is found by its identity, which a step does not change; checkpoints name it by its path.
pub struct Update {
    config: TrainingConfig,
    /// The main rule, and those of the groups. The last one that names a parameter counts.
    rules: Vec<Rule>,
    parameters: HashMap<ParamId, Tracked>,
    updates: Updates,
}

/// The rule of a group of parameters.
struct Rule {
    /// A part of the paths of the parameters.
    parameters: String,
    name: OptimizerName,
    /// The group's learning rate as a multiple of the schedule's.
    factor: f64,
}

/// What is known of a parameter.
struct Tracked {
    path: String,
    /// The number of its rule.
    rule: usize,
    /// Adam's state, once a step has changed the parameter.
    state: Option<State>,
}

/// Adam's state of a parameter.
struct State {
    /// Steps that have changed the parameter.
    steps: u64,
    /// The means of its gradients and of their squares.
    moments: [Tensor<1>; 2],
}

impl Tracked {
    fn new(path: &str, rules: &[Rule], state: Option<State>) -> Self {
        let applies = |rule: &Rule| path.contains(&rule.parameters);
        // the main rule applies to all parameters
        let rule = rules.iter().rposition(applies).unwrap_or(0);
        Self { path: path.to_owned(), rule, state }
    }
}

impl Update {
    /// The optimiser of a configuration: the main rule, and the groups' rules for the parameters that they name.
    pub fn from_config(config: &TrainingConfig) -> Self {
        let main = Rule { parameters: String::new(), name: config.optimizer, factor: 1.0 };
        let groups = config.groups.iter().map(|group| Rule {
            parameters: group.parameters.clone(),
            name: group.optimizer,
            factor: group.learning_rate / config.learning_rate,
        });
        let rules = [main].into_iter().chain(groups).collect();
        let parameters = HashMap::new();
        Self { config: config.clone(), rules, parameters, updates: Updates::default() }
    }

    /// The optimiser of `model` with moments that [`moments`](Self::moments) gave.
    ///
    /// # Errors
    /// [`Error::Optimizer`] for moments of a parameter that the model does not have, or of another size.
    pub(crate) fn with_moments<M: Module>(
        mut self,
        moments: BTreeMap<String, Moments>,
        model: &M,
    ) -> Result<Self, Error> {
        let mut left = moments;
        let mut outcome = Ok(());
        visit(model, |name, parameter| {
            let Some(Moments { steps, first, second }) = left.remove(name) else { return };
            let expected = parameter.shape().iter().product::<usize>();
            if [&first, &second].iter().any(|values| values.len() != expected) {
                let found = format!("{} and {} moments of {name}", first.len(), second.len());
                outcome = Err(Error::Optimizer(format!("{found}, which has {expected} values")));
                return;
            }
            let moments = [first, second].map(|values| parameter.vector(values));
            let tracked = Tracked::new(name, &self.rules, Some(State { steps, moments }));
            self.parameters.insert(parameter.id(), tracked);
        });
        outcome?;
        if let Some(name) = left.keys().next() {
            let message = format!("moments of {name}, which is no parameter of the model");
            return Err(Error::Optimizer(message));
        }
        Ok(self)
    }

    /// Adam's state of each parameter, by its path. On the CPU engine the moments share its memory until the next step.
    pub(crate) fn moments(&self) -> BTreeMap<String, Moments> {
        let states = self.parameters.values().filter_map(|Tracked { path, state, .. }| {
            let State { steps, moments } = state.as_ref()?;
            let [first, second] = moments.clone().map(Values::from_tensor);
            Some((path.clone(), Moments { steps: *steps, first, second }))
        });
        states.collect()
    }

    /// The model after a step at a learning rate. On a GPU a `factor` `[1]` multiplies the gradients. A parameter that
    /// several modules share is changed once, and a parameter without a gradient stays as it is.
    pub fn step<M: Module>(
        &mut self,
        rate: f64,
        model: M,
        gradients: impl Into<Gradients>,
        factor: Option<Tensor<1>>,
    ) -> M {
        self.updates.scale(factor);
        let gradients = gradients.into();
        let path = Path::default();
        let changed = HashMap::new();
        let model = model.map(&mut Step { update: self, rate, gradients, path, changed });
        self.updates.finish();
        model
    }

    /// A parameter's weights after a step. They and the gradient have no autodiff.
    fn change<const D: usize>(
        &mut self,
        id: ParamId,
        path: &str,
        rate: f64,
        weights: Tensor<D>,
        gradient: Gradient<D>,
    ) -> Tensor<D> {
        let tracked = self.parameters.entry(id);
        let tracked = tracked.or_insert_with(|| Tracked::new(path, &self.rules, None));
        let rule = &self.rules[tracked.rule];
        let rate = rate * rule.factor;
        let TrainingConfig { beta1, beta2, epsilon, weight_decay, .. } = self.config;
        let decay = match rule.name {
            OptimizerName::Sgd => {
                return descend(weights, self.updates.scaled(gradient), rate as f32);
            }
            OptimizerName::Adam => 0.0,
            OptimizerName::AdamW => weight_decay,
        };
        let zeros = || weights.zeros_like().flatten(0, D - 1);
        let State { steps, moments } =
            tracked.state.take().unwrap_or_else(|| State { steps: 0, moments: [zeros(), zeros()] });
        let steps = steps + 1;
        let power = |beta: f32| 1.0 - f64::from(beta).powf(steps as f64);
        let adam = Adam {
            beta1,
            beta2,
            rate: (rate / power(beta1)) as f32,
            scale: power(beta2).sqrt().recip() as f32,
            epsilon,
            keep: (1.0 - rate * f64::from(decay)) as f32,
        };
        let (weights, moments) = self.updates.adam(adam, weights, gradient, moments);
        tracked.state = Some(State { steps, moments });
        weights
    }
}

/// A step on its way through a module.
struct Step<'a> {
    update: &'a mut Update,
    rate: f64,
    gradients: Gradients,
    /// The path of the module that it is in.
    path: Path,
    /// The parameters that have been changed, which a different module may share.
    changed: HashMap<ParamId, Box<dyn Any>>,
}

impl ModuleMapper for Step<'_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.enter(name);
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.leave();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let (id, weights, mapper) = param.consume();
        let Some(gradient) = self.gradients.take::<D>(id) else {
            let changed = self.changed.get(&id).and_then(|shared| shared.downcast_ref());
            let weights = changed.cloned().unwrap_or(weights);
            return Param::from_mapped_value(id, weights, mapper);
        };
        let learns = weights.is_require_grad();
        let checkpointing = weights.gradient_checkpointing_strategy();
        let path = self.path.as_str();
        let weights = self.update.change(id, path, self.rate, weights.inner(), gradient);
        let mut weights = Tensor::from_inner(weights);
        if let Some(strategy) = checkpointing {
            weights = weights.with_gradient_checkpointing_strategy(strategy);
        }
        let weights = weights.set_require_grad(learns);
        self.changed.insert(id, Box::new(weights.clone()));
        Param::from_mapped_value(id, weights, mapper)
    }
}

/// Number of elements that one task updates.
const CHUNK: usize = 1 << 14;

/// Weights after a step of gradient descent.
fn descend<const D: usize>(weights: Tensor<D>, gradient: Gradient<D>, lr: f32) -> Tensor<D> {
    if !on_cpu_engine(&weights) {
        let gradient = gradient.dense(&weights);
        return weights - gradient * lr;
    }
    let mut w = host(weights);
    match gradient {
        Gradient::Rows(gradient) => gradient.add_to(w.storage_mut::<f32>(), -lr),
        Gradient::Dense(gradient) => {
            let gradient = host(gradient);
            w.storage_mut::<f32>()
                .par_chunks_mut(CHUNK)
                .zip(values(&gradient).par_chunks(CHUNK))
                .for_each(|(w, g)| w.iter_mut().zip(g).for_each(|(w, g)| *w -= lr * g));
        }
    }
    Tensor::from_primitive::<Flex>(w)
}

/// The memory of a tensor of the CPU engine.
fn host<const D: usize>(tensor: Tensor<D>) -> FlexTensor {
    owned(primitive(tensor))
}
