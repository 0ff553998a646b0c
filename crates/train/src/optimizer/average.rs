//! The exponential moving average of a model's parameters.

use std::collections::{BTreeMap, HashMap};

use burn::backend::Flex;
use burn::module::{Module, ModuleMapper, Param, ParamId};
use burn::tensor::Tensor;
use dsokr_kernels::{on_cpu_engine, values};
use dsokr_nn::Values;
use dsokr_nn::parameters::visit;
use rayon::prelude::*;

use super::values::{host, with_values};
use crate::error::Error;

/// Number of elements that one task averages.
const CHUNK: usize = 1 << 14;

/// The exponential moving average a of a model's parameters w: w after the first step, and
/// `a ← a + (1 − decay) (w − a)` after each one behind it, as PyTorch's `AveragedModel` with `get_ema_multi_avg_fn`.
pub(crate) struct Average {
    decay: f32,
    /// The averages as vectors; none before the first step.
    values: HashMap<ParamId, Tensor<1>>,
}

impl Average {
    /// Creates the average with a decay, before the first step.
    pub fn new(decay: f32) -> Self {
        Self { decay, values: HashMap::new() }
    }

    /// Goes on from values that [`values`](Self::values) gave, if there are any.
    ///
    /// # Errors
    /// [`Error::Optimizer`] for averages that are not those of the model's parameters.
    pub fn restore<M: Module>(
        &mut self,
        stored: BTreeMap<String, Values>,
        model: &M,
    ) -> Result<(), Error> {
        let mut left = stored;
        let mut values = HashMap::new();
        let mut outcome = Ok(());
        let is_empty = left.is_empty();
        visit(model, |name, parameter| {
            let expected: usize = parameter.shape().iter().product();
            match left.remove(name) {
                Some(stored) if stored.len() == expected => {
                    values.insert(parameter.id(), parameter.vector(stored));
                }
                Some(stored) => {
                    let found = format!("averages of {} values of {name}", stored.len());
                    outcome = Err(Error::Optimizer(format!("{found}, which has {expected}")));
                }
                None if !is_empty && !values.contains_key(&parameter.id()) => {
                    outcome = Err(Error::Optimizer(format!("averages, but none of {name}")));
                }
                None => {}
            }
        });
        outcome?;
        if let Some(name) = left.keys().next() {
            let message = format!("an average of {name}, which is no parameter of the model");
            return Err(Error::Optimizer(message));
        }
        self.values = values;
        Ok(())
    }

    /// Averages the parameters after a step.
    pub fn update<M: Module>(&mut self, model: &M) {
        let mut weights = HashMap::new();
        visit(model, |_, parameter| {
            weights.entry(parameter.id()).or_insert_with(|| parameter.flat());
        });
        let rate = 1.0 - self.decay;
        for (id, weights) in weights {
            let average = match self.values.remove(&id) {
                Some(average) => nearer(average, weights, rate),
                None => weights,
            };
            self.values.insert(id, average);
        }
    }

    /// Returns a model with the average in place of its parameters.
    pub fn model<M: Module>(&self, model: M) -> M {
        struct Averaged<'a>(&'a HashMap<ParamId, Tensor<1>>);

        impl ModuleMapper for Averaged<'_> {
            fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
                match self.0.get(&param.id) {
                    Some(average) => {
                        let average = average.clone();
                        with_values(param, |weights| average.reshape(weights.shape()))
                    }
                    None => param,
                }
            }
        }

        model.map(&mut Averaged(&self.values))
    }

    /// Returns the averages by the paths of the parameters. On the CPU engine they share memory until the next step.
    pub fn values<M: Module>(&self, model: &M) -> BTreeMap<String, Values> {
        let mut all = BTreeMap::new();
        visit(model, |name, parameter| {
            if let Some(average) = self.values.get(&parameter.id()) {
                all.insert(name.to_owned(), Values::from_tensor(average.clone()));
            }
        });
        all
    }
}

/// Returns `a + rate · (w − a)`, in place on the CPU engine.
fn nearer(average: Tensor<1>, weights: Tensor<1>, rate: f32) -> Tensor<1> {
    if !on_cpu_engine(&average) {
        let apart = weights - average.clone();
        return average + apart * rate;
    }
    let mut a = host(average);
    let w = host(weights);
    a.storage_mut::<f32>()
        .par_chunks_mut(CHUNK)
        .zip(values(&w).par_chunks(CHUNK))
        .for_each(|(a, w)| a.iter_mut().zip(w).for_each(|(a, w)| *a += rate * (w - *a)));
    Tensor::from_primitive::<Flex>(a)
}
