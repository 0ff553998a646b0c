//! How each parameter is optimised: its optimiser, rate and decay.

use dsokr_core::Error;
use dsokr_core::message::first_of;

use super::groups::{GroupConfig, OptimizerName};
use super::training::{NOT_NEGATIVE, TrainingConfig};

/// The weight decay where none is named.
const WEIGHT_DECAY: f32 = 0.01;

/// How one parameter is optimised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rule {
    pub optimizer: OptimizerName,
    /// Its largest learning rate as a multiple of the training's.
    pub factor: f64,
    /// Its decoupled weight decay λ.
    pub weight_decay: f32,
    pub momentum: f32,
}

impl TrainingConfig {
    /// Returns how each of a model's parameters is optimised, given their paths and numbers of dimensions in the order of the
    /// model's fields.
    pub(crate) fn rules(&self, parameters: &[(String, usize)]) -> Vec<Rule> {
        let paths: Vec<&str> = parameters.iter().map(|(path, _)| path.as_str()).collect();
        let layers = NumberedLayers::find(&paths);
        let layers_above =
            |at, path: &str| layers.as_ref().map_or(0, |layers| layers.layers_above(at, path));
        if self.layer_decay != 1.0 {
            // the order in a module of PyTorch decides, so that a head may be among them
            let is_before = |(at, path): &(usize, &&str)| {
                Layer::of(path).is_none() && layers_above(*at, path) > 0
            };
            let before = paths.iter().enumerate().filter(is_before);
            let before: Vec<String> = before.map(|(_, path)| (*path).to_owned()).collect();
            if !before.is_empty() {
                let before = first_of(before);
                tracing::info!(
                    "training.layer_decay counts what comes before the layers as embeddings: {before}"
                );
            }
        }
        let rule = |(at, (path, dimensions)): (usize, &(String, usize))| {
            let group = self.groups.iter().rfind(|group| group.holds(path));
            let named = group.and_then(|group| group.optimizer).unwrap_or(self.optimizer);
            let is_matrix = *dimensions == 2;
            let optimizer = match named {
                OptimizerName::Muon if !is_matrix => OptimizerName::AdamW,
                other => other,
            };
            // biases, weights of normalisation and the temperature are vectors
            let by_default = if *dimensions < 2 { 0.0 } else { self.weight_decay() };
            let weight_decay = group.and_then(|group| group.weight_decay).unwrap_or(by_default);
            let own_rate = group.and_then(|group| group.learning_rate);
            let factor = own_rate.map_or(1.0, |rate| rate / self.learning_rate);
            Rule {
                optimizer,
                factor: factor * self.layer_decay.powi(layers_above(at, path)),
                weight_decay: if optimizer.decays() { weight_decay } else { 0.0 },
                momentum: self.momentum.unwrap_or(optimizer.momentum()),
            }
        };
        parameters.iter().enumerate().map(rule).collect()
    }

    /// Returns the weight decay of matrices that no group names: where the configuration leaves it out, 0.01, and 0 if no
    /// optimiser decays.
    pub fn weight_decay(&self) -> f32 {
        let groups = self.groups.iter().filter_map(|group| group.optimizer);
        let decays = groups.chain([self.optimizer]).any(OptimizerName::decays);
        self.weight_decay.unwrap_or(if decays { WEIGHT_DECAY } else { 0.0 })
    }

    /// Returns whether one of these parameters is in a numbered layer, or below one, so that
    /// [`layer_decay`](Self::layer_decay) has something to lower.
    pub fn has_layers(parameters: &[String]) -> bool {
        parameters.iter().any(|path| Layer::of(path).is_some())
    }

    /// Returns the settings with the weight decay written out.
    pub fn resolved(self) -> Self {
        Self { weight_decay: Some(self.weight_decay()), ..self }
    }

    /// Checks the optimisers, their constants and the groups.
    pub(super) fn validate_groups(&self) -> Result<(), Error> {
        let groups = self.groups.iter().filter_map(|group| group.optimizer);
        let all: Vec<OptimizerName> = groups.chain([self.optimizer]).collect();
        let share = 0.0..1.0;
        if let Some(decay) = self.weight_decay {
            let key = "training.weight_decay";
            Error::ensure(decay.is_finite() && decay >= 0.0, key, decay, NOT_NEGATIVE)?;
            let decays = all.iter().any(|name| name.decays());
            let allowed = "0, unless an optimizer is \"adamw\", \"lion\" or \"muon\"";
            Error::ensure(decays || decay == 0.0, key, decay, allowed)?;
        }
        if let Some(momentum) = self.momentum {
            let key = "training.momentum";
            Error::ensure(share.contains(&momentum), key, momentum, "a number in [0, 1)")?;
            let has_momentum =
                |name: &OptimizerName| matches!(name, OptimizerName::Sgd | OptimizerName::Muon);
            let allowed = "left out, unless an optimizer is \"sgd\" or \"muon\"";
            Error::ensure(all.iter().any(has_momentum), key, momentum, allowed)?;
        }
        let layers = self.layer_decay;
        let holds = layers > 0.0 && layers <= 1.0;
        Error::ensure(holds, "training.layer_decay", layers, "a number above 0, at most 1")?;
        self.groups.iter().try_for_each(|group| self.validate_group(group))
    }

    fn validate_group(&self, group: &GroupConfig) -> Result<(), Error> {
        let name = &group.parameters;
        let allowed = "a part of a parameter's path";
        Error::ensure(!name.is_empty(), "training.groups.parameters", "\"\"", allowed)?;
        if let Some(rate) = group.learning_rate {
            let holds = (rate as f32).is_finite() && rate >= 0.0;
            Error::ensure(holds, "training.groups.learning_rate", rate, NOT_NEGATIVE)?;
        }
        if let Some(decay) = group.weight_decay {
            let key = "training.groups.weight_decay";
            Error::ensure(decay.is_finite() && decay >= 0.0, key, decay, NOT_NEGATIVE)?;
            let decays = group.optimizer.unwrap_or(self.optimizer).decays();
            let allowed = "0, unless the group's optimizer is \"adamw\", \"lion\" or \"muon\"";
            Error::ensure(decays || decay == 0.0, key, decay, allowed)?;
        }
        Ok(())
    }
}

/// The module of a model whose numbered layers are counted.
struct NumberedLayers<'p> {
    /// Its path, with the point behind it.
    holder: &'p str,
    /// The number of the last layer.
    last: usize,
    /// The place of the first parameter of a layer among all parameters.
    first: usize,
}

impl<'p> NumberedLayers<'p> {
    /// Finds the module with the most layers, of those whose layers have parts if there are any: a bag beside a transformer
    /// has an MLP, and it may have more layers than the transformer.
    fn find(paths: &[&'p str]) -> Option<Self> {
        let numbered = || paths.iter().filter_map(|path| Layer::of(path));
        let holder = numbered().max_by_key(|layer| (layer.has_parts, layer.number))?.holder;
        let last =
            numbered().filter(|layer| layer.holder == holder).map(|layer| layer.number).max()?;
        let is_own = |path: &&str| Layer::of(path).is_some_and(|layer| layer.holder == holder);
        let first = paths.iter().position(is_own)?;
        Some(Self { holder, last, first })
    }

    /// Returns the number of layers from a parameter to what is above all layers: 1 in the last layer, and one more than
    /// there are layers for what comes before the first in the same module or beside it, such as embeddings. It is 0 for
    /// all other parameters.
    fn layers_above(&self, at: usize, path: &str) -> i32 {
        match Layer::of(path) {
            Some(layer) if layer.holder == self.holder => 1 + (self.last - layer.number) as i32,
            None if at < self.first && path.starts_with(self.parent()) => 2 + self.last as i32,
            Some(_) | None => 0,
        }
    }

    /// Returns the path of the module that the holder is a part of, with the point behind it: encoders of PyTorch often
    /// have their embeddings beside the module of the layers, as `bert.embeddings` is beside `bert.encoder`.
    fn parent(&self) -> &str {
        let holder = self.holder.strip_suffix('.').unwrap_or(self.holder);
        holder.rfind('.').map_or("", |end| &holder[..=end])
    }
}

/// The names of lists of layers, here and in models of PyTorch.
const LISTS: [&str; 5] = ["layers", "layer", "blocks", "block", "h"];

/// The layer that a parameter is in.
struct Layer<'p> {
    /// The path of the module that holds it, with the point behind it: `encoder.body.` of
    /// `encoder.body.layers.3.query.weight`.
    holder: &'p str,
    number: usize,
    /// Whether the parameter is one of a part of the layer, as that of `query` is, and not of the layer itself, as in
    /// `layers.3.weight` of an MLP.
    has_parts: bool,
}

impl<'p> Layer<'p> {
    fn of(path: &'p str) -> Option<Self> {
        let mut start = 0;
        for name in path.split('.') {
            let behind = path[start + name.len()..].strip_prefix('.');
            let mut behind = behind.into_iter().flat_map(|rest| rest.split('.'));
            let number = behind.next().and_then(|number| number.parse().ok());
            if let Some(number) = number
                && LISTS.contains(&name)
            {
                let has_parts = behind.count() > 1;
                return Some(Self { holder: &path[..start], number, has_parts });
            }
            start += name.len() + 1;
        }
        None
    }
}
