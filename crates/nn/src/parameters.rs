//! A module's parameters by name, as files hold them and `--resume` restores them.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::{Tensor, TensorData};

use crate::{Error, NamedShapes, Values};

/// One parameter: its shape, its values, and the identity under which the optimiser keeps its state.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Identity of the parameter; `None` in a file of weights alone.
    pub id: Option<u64>,
    /// Shape, outermost dimension first.
    pub shape: Vec<usize>,
    /// Values in row-major order.
    pub values: Values,
}

/// Parameters by path in the module, such as `encoder.layers.0.query.weight`.
pub type Parameters = BTreeMap<String, Parameter>;

/// All float parameters of `module`. On the CPU engine they share its memory until it is trained on.
pub fn collect<M: Module>(module: &M) -> Parameters {
    let mut collector = Collector { path: Vec::new(), parameters: BTreeMap::new() };
    module.visit(&mut collector);
    collector.parameters
}

/// The paths of all float parameters.
pub fn names<M: Module>(module: &M) -> Vec<String> {
    places(module).into_iter().map(|place| place.name).collect()
}

/// Number of parameters that a gradient must reach.
pub(crate) fn trainable<M: Module>(module: &M) -> usize {
    places(module).iter().filter(|place| place.trained).count()
}

/// The first value that is NaN or infinite: its parameter and its place there.
pub fn not_finite(parameters: &Parameters) -> Option<(&str, usize)> {
    parameters.iter().find_map(|(name, parameter)| {
        let element = parameter.values.iter().position(|v| !v.is_finite())?;
        Some((name.as_str(), element))
    })
}

/// Checks that all values are finite.
///
/// # Errors
/// [`Error::NotFinite`] with the first that is not.
pub fn check_finite(parameters: &Parameters) -> Result<(), Error> {
    not_finite(parameters).map_or(Ok(()), |(name, element)| {
        Err(Error::NotFinite { tensor: format!("parameter `{name}`"), element })
    })
}

/// Checks that names and shapes are those of `expected`, and that all values are finite.
pub(crate) fn check(
    parameters: &Parameters,
    expected: &BTreeMap<String, Vec<usize>>,
) -> Result<(), Error> {
    let missing = expected.iter().filter(|(name, _)| !parameters.contains_key(*name));
    let missing = NamedShapes(missing.map(|(name, shape)| (name.clone(), shape.clone())).collect());
    let unknown = parameters.iter().filter(|(name, _)| !expected.contains_key(*name));
    let unknown = unknown.map(|(name, parameter)| (name.clone(), parameter.shape.clone()));
    let unknown = NamedShapes(unknown.collect());
    if !(missing.0.is_empty() && unknown.0.is_empty()) {
        let place = "not the parameters of this model".into();
        return Err(Error::Names { place, missing, unknown });
    }
    for (name, parameter) in parameters {
        let (shape, expected) = (&parameter.shape, &expected[name]);
        if shape != expected || parameter.values.len() != shape.iter().product::<usize>() {
            let tensor = format!("parameter `{name}`");
            return Err(Error::Shape { tensor, found: shape.clone(), expected: expected.clone() });
        }
    }
    check_finite(parameters)
}

/// Replaces the parameters of `module`; shapes and trainability stay the same. Values that share no memory are
/// moved and not copied.
///
/// # Errors
/// A parameter that is missing, unknown, of a different shape or not finite; the module is consumed.
pub fn restore<M: Module>(module: M, parameters: Parameters) -> Result<M, Error> {
    let expected = places(&module).into_iter().map(|place| (place.name, place.shape)).collect();
    check(&parameters, &expected)?;
    Ok(module.map(&mut Restorer { path: Vec::new(), parameters }))
}

/// Keeps `self.path` the path of the module that is visited.
macro_rules! keep_path {
    () => {
        fn enter_module(&mut self, name: &str, _container: &str) {
            self.path.push(name.to_string());
        }

        fn exit_module(&mut self, _name: &str, _container: &str) {
            self.path.pop();
        }
    };
}

struct Collector {
    path: Vec<String>,
    parameters: Parameters,
}

impl ModuleVisitor for Collector {
    keep_path!();

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let tensor = param.val();
        let shape = tensor.dims().to_vec();
        let parameter = Parameter { id: Some(param.id.val()), shape, values: Values::of(tensor) };
        self.parameters.insert(self.path.join("."), parameter);
    }
}

/// `Ok` if every gradient is finite.
pub(crate) fn check_gradients<M: Module>(
    module: &M,
    gradients: &GradientsParams,
) -> Result<(), String> {
    let mut finite = Finite { gradients, path: Vec::new(), outcome: Ok(()) };
    module.visit(&mut finite);
    finite.outcome
}

struct Finite<'a> {
    gradients: &'a GradientsParams,
    path: Vec<String>,
    outcome: Result<(), String>,
}

impl ModuleVisitor for Finite<'_> {
    keep_path!();

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.get::<D>(param.id)
            && !gradient.sum().into_scalar::<f32>().is_finite()
        {
            self.outcome = Err(format!("the gradient of {} is not finite", self.path.join(".")));
        }
    }
}

/// Where a parameter sits, without its values.
struct Place {
    name: String,
    shape: Vec<usize>,
    trained: bool,
}

fn places<M: Module>(module: &M) -> Vec<Place> {
    let mut visitor = Places { path: Vec::new(), places: Vec::new() };
    module.visit(&mut visitor);
    visitor.places
}

struct Places {
    path: Vec<String>,
    places: Vec<Place>,
}

impl ModuleVisitor for Places {
    keep_path!();

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let (name, shape) = (self.path.join("."), param.lazy_shape().to_vec());
        self.places.push(Place { name, shape, trained: param.val().is_require_grad() });
    }
}

struct Restorer {
    path: Vec<String>,
    parameters: Parameters,
}

impl ModuleMapper for Restorer {
    keep_path!();

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some(parameter) = self.parameters.remove(&self.path.join(".")) else {
            unreachable!("the names were compared");
        };
        let id = parameter.id.map_or(param.id, ParamId::from);
        let data = TensorData::new(parameter.values.into_owned(), parameter.shape);
        let tensor = Tensor::from_data(data, &param.lazy_device());
        param.transform_for_load(tensor, id)
    }
}
