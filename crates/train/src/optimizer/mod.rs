//! The optimiser of a model, and the average of its parameters.

mod average;
mod steps;
mod values;

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

use burn::module::{Module, ModuleMapper, Param, ParamId};
use burn::tensor::Tensor;
use dsokr_kernels::{Adam, Updates};
use dsokr_nn::parameters::visit;
use dsokr_nn::{Gradient, Gradients, Values};

pub(crate) use self::average::Average;
use self::steps::{Signed, descend, lion, momentum, muon};
use self::values::with_values;
use crate::checkpoint::Moments;
use crate::config::{OptimizerName, Rule, TrainingConfig};
use crate::error::Error;

/// The optimiser of a model: gradient descent, `w ← w − lr · g`, with momentum or without; Adam with decoupled weight decay
/// λ, the arithmetic of PyTorch's `AdamW`:
/// `w ← (1 − lr·λ) w − lr · (m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + ε)`; Lion; or Muon. Vectors are not decayed, unless their
/// group says so.
///
/// On the CPU engine a parameter takes one parallel pass in place over weights, moments and gradient, and on a GPU many
/// parameters take one kernel; Burn's own optimisers make one pass for each operation. What is known of a parameter, its
/// rule and Adam's state, is found by its identity, which a step does not change; checkpoints name it by its path.
pub struct Update {
    config: TrainingConfig,
    parameters: HashMap<ParamId, Tracked>,
    /// The moving average of the parameters, where the configuration asks for one.
    average: Option<Average>,
    updates: Updates,
}

impl fmt::Debug for Update {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.debug_struct("Update")
            .field("optimizer", &self.config.optimizer)
            .field("parameters", &self.parameters.len())
            .finish_non_exhaustive()
    }
}

/// What is known of a parameter.
struct Tracked {
    path: String,
    rule: Rule,
    /// The state of its optimiser, once a step has changed the parameter.
    state: Option<State>,
}

/// The state of a parameter's optimiser.
struct State {
    /// Steps that have changed the parameter.
    steps: u64,
    /// The mean of its gradients, or their sum under momentum.
    first: Tensor<1>,
    /// Adam's mean of their squares.
    second: Option<Tensor<1>>,
}

impl Update {
    /// Creates the optimiser of a model as a configuration says: of each parameter that of the last group that holds it, or of
    /// the training.
    pub fn new<M: Module>(config: &TrainingConfig, model: &M) -> Self {
        let mut ids = Vec::new();
        let mut parameters = Vec::new();
        visit(model, |path, parameter| {
            ids.push(parameter.id());
            parameters.push((path.to_owned(), parameter.shape().len()));
        });
        let rules = config.rules(&parameters);
        let tracked = parameters.into_iter().zip(rules).map(|((path, _), rule)| Tracked {
            path,
            rule,
            state: None,
        });
        let mut all = HashMap::new();
        for (id, tracked) in ids.into_iter().zip(tracked) {
            // modules that share a parameter know it by its first path
            all.entry(id).or_insert(tracked);
        }
        let average = (config.ema > 0.0).then(|| Average::new(config.ema));
        Self { config: config.clone(), parameters: all, average, updates: Updates::default() }
    }

    /// Returns the model without gradients of the parameters whose rate is 0.
    pub(crate) fn freeze<M: Module>(&self, model: M) -> M {
        struct Freeze<'a>(&'a Update);

        impl ModuleMapper for Freeze<'_> {
            fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
                let tracked = self.0.parameters.get(&param.id);
                if tracked.is_some_and(|tracked| tracked.rule.factor == 0.0) {
                    return param.set_require_grad(false);
                }
                param
            }
        }

        model.map(&mut Freeze(self))
    }

    /// Returns the optimiser of `model` with moments and averages that [`moments`](Self::moments) and [`average`](Self::average)
    /// gave.
    ///
    /// # Errors
    /// [`Error::Optimizer`] for those of a parameter that the model does not have, or of another size.
    pub(crate) fn with_state<M: Module>(
        mut self,
        moments: BTreeMap<String, Moments>,
        average: BTreeMap<String, Values>,
        model: &M,
    ) -> Result<Self, Error> {
        if let Some(all) = &mut self.average {
            all.restore(average, model)?;
        }
        let mut left = moments;
        let mut outcome = Ok(());
        visit(model, |name, parameter| {
            let Some(Moments { steps, first, second }) = left.remove(name) else { return };
            let expected = parameter.shape().iter().product::<usize>();
            let lengths: Vec<usize> =
                [Some(&first), second.as_ref()].into_iter().flatten().map(|m| m.len()).collect();
            if lengths.iter().any(|&length| length != expected) {
                let lengths = lengths.iter().map(usize::to_string).collect::<Vec<_>>();
                let found = format!("{} moments of {name}", lengths.join(" and "));
                outcome = Err(Error::Optimizer(format!("{found}, which has {expected} values")));
                return;
            }
            let first = parameter.vector(first);
            let second = second.map(|values| parameter.vector(values));
            if let Some(tracked) = self.parameters.get_mut(&parameter.id()) {
                tracked.state = Some(State { steps, first, second });
            }
        });
        outcome?;
        if let Some(name) = left.keys().next() {
            let message = format!("moments of {name}, which is no parameter of the model");
            return Err(Error::Optimizer(message));
        }
        Ok(self)
    }

    /// Returns the optimiser's state of each parameter, by its path. On the CPU engine the moments share its memory until the
    /// next step.
    pub(crate) fn moments(&self) -> BTreeMap<String, Moments> {
        let states = self.parameters.values().filter_map(|Tracked { path, state, .. }| {
            let State { steps, first, second } = state.as_ref()?;
            let first = Values::from_tensor(first.clone());
            let second = second.clone().map(Values::from_tensor);
            Some((path.clone(), Moments { steps: *steps, first, second }))
        });
        states.collect()
    }

    /// Returns the average of each of the model's parameters, by its path; none without an average.
    pub(crate) fn average<M: Module>(&self, model: &M) -> BTreeMap<String, Values> {
        self.average.as_ref().map(|average| average.values(model)).unwrap_or_default()
    }

    /// Returns the model with the average in place of its parameters, if there is one.
    pub fn averaged<M: Module>(&self, model: &M) -> Option<M> {
        self.average.as_ref().map(|average| average.model(model.clone()))
    }

    /// Returns the model after a step at a learning rate, which its average is moved towards. On a GPU a `factor` `[1]` multiplies the
    /// gradients. A parameter that several modules share is changed once. A parameter without a gradient stays as it is, and so does one of
    /// a model that the optimiser was not made for.
    pub fn step<M: Module>(
        &mut self,
        rate: f64,
        model: M,
        gradients: impl Into<Gradients>,
        factor: Option<Tensor<1>>,
    ) -> M {
        self.updates.scale(factor);
        let gradients = gradients.into();
        let changed = HashMap::new();
        let model = model.map(&mut Step { update: self, rate, gradients, changed });
        self.updates.finish();
        if let Some(average) = &mut self.average {
            average.update(&model);
        }
        model
    }

    /// Returns a parameter's weights after a step. They and the gradient have no autodiff.
    fn change<const D: usize>(
        &mut self,
        id: ParamId,
        rate: f64,
        weights: Tensor<D>,
        gradient: Gradient<D>,
    ) -> Tensor<D> {
        let Some(tracked) = self.parameters.get_mut(&id) else { return weights };
        let Rule { optimizer, factor, weight_decay, momentum: mu } = tracked.rule;
        let lr = rate * factor;
        let TrainingConfig { beta1, beta2, epsilon, .. } = self.config;
        let shape = weights.shape();
        let state = tracked.state.take();
        let steps = state.as_ref().map_or(0, |state| state.steps) + 1;
        let (weights, first, second) = match optimizer {
            OptimizerName::Sgd if mu == 0.0 => {
                return descend(weights, self.updates.scaled(gradient), lr as f32);
            }
            OptimizerName::Adam | OptimizerName::AdamW => {
                let power = |beta: f32| 1.0 - f64::from(beta).powf(steps as f64);
                let adam = Adam {
                    beta1,
                    beta2,
                    rate: (lr / power(beta1)) as f32,
                    scale: power(beta2).sqrt().recip() as f32,
                    epsilon,
                    keep: (1.0 - lr * f64::from(weight_decay)) as f32,
                };
                let zeros = || weights.zeros_like().flatten(0, D - 1);
                let (first, second) = state.map(|state| (state.first, state.second)).unzip();
                let first = first.unwrap_or_else(zeros);
                let second = second.flatten().unwrap_or_else(zeros);
                let (weights, moments) =
                    self.updates.adam(adam, weights, gradient, [first, second]);
                let [first, second] = moments;
                (weights, first, Some(second))
            }
            OptimizerName::Sgd | OptimizerName::Lion | OptimizerName::Muon => {
                let gradient = self.updates.scaled(gradient).dense(&weights);
                let gradient = gradient.cast(weights.dtype());
                let buffer = state.map(|state| state.first.reshape(shape));
                let (weights, first) = match optimizer {
                    OptimizerName::Lion => {
                        let step = Signed { lr, weight_decay, beta1, beta2 };
                        lion(step, weights, gradient, buffer)
                    }
                    OptimizerName::Muon => muon(weights, gradient, buffer, mu, lr, weight_decay),
                    OptimizerName::Sgd | OptimizerName::Adam | OptimizerName::AdamW => {
                        momentum(weights, gradient, buffer, mu, lr)
                    }
                };
                (weights, first.flatten(0, D - 1), None)
            }
        };
        tracked.state = Some(State { steps, first, second });
        weights
    }
}

/// A step on its way through a module.
struct Step<'a> {
    update: &'a mut Update,
    rate: f64,
    gradients: Gradients,
    /// The parameters that have been changed, which a different module may share.
    changed: HashMap<ParamId, Box<dyn Any>>,
}

impl ModuleMapper for Step<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let id = param.id;
        let gradient = self.gradients.take::<D>(id);
        let shared = self.changed.get(&id).and_then(|shared| shared.downcast_ref::<Tensor<D>>());
        let changed = match (gradient, shared) {
            (Some(gradient), _) => {
                let update = &mut *self.update;
                let rate = self.rate;
                with_values(param, |weights| update.change(id, rate, weights, gradient))
            }
            (None, Some(shared)) => {
                let shared = shared.clone();
                let (id, _, mapper) = param.consume();
                return Param::from_mapped_value(id, shared, mapper);
            }
            (None, None) => return param,
        };
        self.changed.insert(id, Box::new(changed.val()));
        changed
    }
}
