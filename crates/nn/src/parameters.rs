//! A module's parameters by name, as files hold them and `--resume` restores them.

use std::any::Any;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Deref;

use burn::backend::flex::FlexTensor;
use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::tensor::{Tensor, TensorData};
use dsokr_kernels::{Gradient, is_whole, on_cpu_engine, primitive, wrap};

use crate::error::{Error, check_names};
use crate::gradients::Gradients;

/// A parameter: its shape and its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Shape, outermost dimension first.
    pub shape: Vec<usize>,
    /// Values in row-major order.
    pub values: Values,
}

/// The values of a tensor in row-major order. On the CPU engine they share the tensor's memory, which is
/// copied when one of the two is changed.
#[derive(Clone, derive_more::Debug)]
#[debug("{:?}", &**self)]
pub struct Values(FlexTensor);

impl Values {
    /// Creates the values of a float tensor of any device.
    pub fn from_tensor<const D: usize>(tensor: Tensor<D>) -> Self {
        let tensor = tensor.inner();
        if on_cpu_engine(&tensor) {
            let shared = primitive(tensor.clone());
            if is_whole(&shared) {
                return Self(shared);
            }
        }
        let data = tensor.into_data().convert::<f32>();
        data.try_into_vec::<f32>().unwrap_or_default().into()
    }
}

impl Deref for Values {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        self.0.as_slice::<f32>().unwrap_or_default()
    }
}

impl From<Vec<f32>> for Values {
    fn from(values: Vec<f32>) -> Self {
        let length = values.len();
        Self(wrap(values, [length]))
    }
}

impl PartialEq for Values {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

/// Parameters by path in the module, such as `encoder.layers.0.query.weight`.
pub type Parameters = BTreeMap<String, Parameter>;

/// A float parameter of any number of dimensions, and its gradient.
pub trait FloatParameter {
    /// Returns the identity of the parameter.
    fn id(&self) -> ParamId;

    /// Returns the shape of the parameter, outermost dimension first.
    fn shape(&self) -> Vec<usize>;

    /// Returns whether a gradient must reach it.
    fn is_trained(&self) -> bool;

    /// Returns whether it is on a device with autodiff, without which it has no gradient.
    fn has_autodiff(&self) -> bool;

    /// Returns whether it holds 32-bit floats of the CPU engine.
    fn is_on_cpu_engine(&self) -> bool;

    /// Returns the values of the parameter. On the CPU engine they share its memory until it is trained on.
    fn values(&self) -> Values;

    /// Returns the values of the parameter as a vector on its device, without autodiff.
    fn flat(&self) -> Tensor<1>;

    /// Returns values in the parameter's type as a vector on its device, without autodiff.
    fn vector(&self, values: Values) -> Tensor<1>;

    /// Returns the gradient of the parameter as a vector. A gradient [by rows](dsokr_kernels::RowGradient) has the
    /// numbers of these rows.
    fn flat_gradient(&self, gradients: &Gradients) -> Option<Tensor<1>>;

    /// Returns the sum of the squares of its gradient.
    fn squared_gradient(&self, gradients: &Gradients) -> Option<f32>;

    /// Multiplies its gradient.
    fn scale_gradient(&self, gradients: &mut Gradients, factor: f32);

    /// Takes the values of its gradient, row-major, all of them also where it is by rows.
    fn take_gradient(&self, gradients: &mut Gradients) -> Option<Vec<f32>>;

    /// Sets its gradient.
    fn set_gradient(&self, gradients: &mut Gradients, values: Vec<f32>);
}

impl<const D: usize> FloatParameter for Param<Tensor<D>> {
    fn id(&self) -> ParamId {
        self.id
    }

    fn shape(&self) -> Vec<usize> {
        self.lazy_shape().to_vec()
    }

    fn is_trained(&self) -> bool {
        self.val().is_require_grad()
    }

    fn has_autodiff(&self) -> bool {
        self.val().is_autodiff()
    }

    fn is_on_cpu_engine(&self) -> bool {
        on_cpu_engine(&self.val())
    }

    fn values(&self) -> Values {
        Values::from_tensor(self.val())
    }

    fn flat(&self) -> Tensor<1> {
        self.val().inner().flatten(0, D - 1)
    }

    fn vector(&self, values: Values) -> Tensor<1> {
        let weights = self.val().inner();
        Tensor::from_data(values.0.into_data(), (&weights.device(), weights.dtype()))
    }

    fn flat_gradient(&self, gradients: &Gradients) -> Option<Tensor<1>> {
        match gradients.rows(self.id) {
            Some(rows) => Some(rows.vector()),
            None => gradients.dense::<D>(self.id).map(|gradient| gradient.flatten(0, D - 1)),
        }
    }

    fn squared_gradient(&self, gradients: &Gradients) -> Option<f32> {
        match gradients.rows(self.id) {
            Some(rows) => Some(total(rows.squares()).into_scalar::<f32>()),
            None => gradients
                .dense::<D>(self.id)
                .map(|gradient| total(gradient.square()).into_scalar::<f32>()),
        }
    }

    fn scale_gradient(&self, gradients: &mut Gradients, factor: f32) {
        let scaled = match gradients.take::<D>(self.id) {
            None => return,
            Some(Gradient::Dense(gradient)) => Gradient::Dense(gradient * factor),
            Some(Gradient::Rows(mut gradient)) => {
                gradient.scale(factor);
                Gradient::Rows(gradient)
            }
        };
        gradients.set(self.id, scaled);
    }

    fn take_gradient(&self, gradients: &mut Gradients) -> Option<Vec<f32>> {
        match gradients.take::<D>(self.id)? {
            Gradient::Rows(rows) => Some(rows.dense(self.shape().iter().product())),
            Gradient::Dense(gradient) => {
                gradient.into_data().convert::<f32>().try_into_vec::<f32>().ok()
            }
        }
    }

    fn set_gradient(&self, gradients: &mut Gradients, values: Vec<f32>) {
        let weights = self.val().inner();
        let gradient = TensorData::new(values, weights.shape());
        let gradient = Tensor::<D>::from_data(gradient, &weights.device());
        gradients.set(self.id, Gradient::Dense(gradient));
    }
}

/// The number of elements from which on Burn adds up in an order that differs from run to run.
const UNORDERED: usize = 1 << 22;

/// Returns the sum `[1]` of all elements, in an order that does not depend on the threads.
pub fn total<const D: usize>(tensor: Tensor<D>) -> Tensor<1> {
    let size = tensor.shape().num_elements();
    if size < UNORDERED {
        return tensor.sum();
    }
    let flat = tensor.flatten::<1>(0, D - 1);
    let part = |first: usize| flat.clone().narrow(0, first, (UNORDERED / 2).min(size - first));
    let parts = (0..size).step_by(UNORDERED / 2).map(part);
    Tensor::cat(parts.map(Tensor::sum).collect(), 0).sum()
}

/// The path of a module in the model that holds it, such as `encoder.layers.0`.
#[derive(Clone, Debug, Default)]
struct Path {
    path: String,
    /// The length of the path of each module around it.
    outer: Vec<usize>,
}

impl Path {
    /// Enters a field of the module.
    fn enter(&mut self, name: &str) {
        self.outer.push(self.path.len());
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(name);
    }

    /// Leaves the field that was entered last.
    fn leave(&mut self) {
        self.path.truncate(self.outer.pop().unwrap_or_default());
    }

    /// Returns the path.
    fn as_str(&self) -> &str {
        &self.path
    }
}

/// Calls `each` with path and tensor of every float parameter of `module`, in the order of its fields.
pub fn visit<M: Module>(module: &M, each: impl FnMut(&str, &dyn FloatParameter)) {
    struct Visitor<F> {
        path: Path,
        each: F,
    }

    impl<F: FnMut(&str, &dyn FloatParameter)> ModuleVisitor for Visitor<F> {
        fn enter_module(&mut self, name: &str, _container: &str) {
            self.path.enter(name);
        }

        fn exit_module(&mut self, _name: &str, _container: &str) {
            self.path.leave();
        }

        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            (self.each)(self.path.as_str(), param);
        }
    }

    module.visit(&mut Visitor { path: Path::default(), each });
}

/// Calls `each` as [`visit`] does, and once for a parameter that several modules share, with its first path.
pub fn visit_distinct<M: Module>(module: &M, mut each: impl FnMut(&str, &dyn FloatParameter)) {
    let mut seen = HashSet::new();
    visit(module, |name, parameter| {
        if seen.insert(parameter.id()) {
            each(name, parameter);
        }
    });
}

/// Returns the value of `value` for every float parameter, in the order of the module's fields.
pub(crate) fn each<M: Module, T>(
    module: &M,
    mut value: impl FnMut(&str, &dyn FloatParameter) -> T,
) -> Vec<T> {
    let mut all = Vec::new();
    visit(module, |name, parameter| all.push(value(name, parameter)));
    all
}

/// Returns all float parameters of `module`. On the CPU engine they share its memory until it is trained on.
pub fn collect<M: Module>(module: &M) -> Parameters {
    let read = |name: &str, parameter: &dyn FloatParameter| {
        (name.to_owned(), Parameter { shape: parameter.shape(), values: parameter.values() })
    };
    each(module, read).into_iter().collect()
}

/// Returns the paths of all float parameters.
pub fn names<M: Module>(module: &M) -> Vec<String> {
    each(module, |name, _| name.to_owned())
}

/// Returns whether some parameter is on a device with autodiff, without which no parameter has a gradient; true of a module
/// without parameters.
pub fn have_autodiff<M: Module>(module: &M) -> bool {
    let parameters = each(module, |_, parameter| parameter.has_autodiff());
    parameters.is_empty() || parameters.contains(&true)
}

/// Returns the number of parameters that a gradient must reach.
pub(crate) fn trainable<M: Module>(module: &M) -> usize {
    each(module, |_, parameter| usize::from(parameter.is_trained())).iter().sum()
}

/// Returns the first value that is NaN or infinite: its parameter and its place there.
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

/// Checks that names and shapes equal those of `expected`, and that all values are finite.
pub(crate) fn check(
    parameters: &Parameters,
    expected: &BTreeMap<String, Vec<usize>>,
) -> Result<(), Error> {
    let missing = expected.iter().filter(|(name, _)| !parameters.contains_key(*name));
    let missing = missing.map(|(name, shape)| (name.clone(), shape.clone()));
    let unknown = parameters.iter().filter(|(name, _)| !expected.contains_key(*name));
    let unknown = unknown.map(|(name, parameter)| (name.clone(), parameter.shape.clone()));
    check_names(|| "not the parameters of this model".into(), missing, unknown)?;
    for (name, parameter) in parameters {
        let shape = &parameter.shape;
        let expected = &expected[name];
        if shape != expected || parameter.values.len() != shape.iter().product::<usize>() {
            let actual = shape.clone();
            let expected = expected.clone();
            return Err(Error::Shape {
                tensor: format!("parameter `{name}`"),
                found: actual,
                expected,
            });
        }
    }
    check_finite(parameters)
}

/// Replaces the parameters of `module`; shapes and trainability stay the same, and so do parameters that modules share.
/// Values that share no memory are moved and not copied.
///
/// # Errors
/// A parameter that is missing, unknown, of a different shape or not finite; the module is consumed.
pub fn restore<M: Module>(module: M, mut parameters: Parameters) -> Result<M, Error> {
    struct Restorer {
        parameters: std::vec::IntoIter<Parameter>,
        /// The parameters that have been replaced, which a different module may share.
        replaced: HashMap<ParamId, Box<dyn Any>>,
    }

    impl ModuleMapper for Restorer {
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            let Some(parameter) = self.parameters.next() else {
                unreachable!("the names were compared")
            };
            let id = param.id;
            let shared = self.replaced.get(&id);
            if let Some(shared) = shared.and_then(|shared| shared.downcast_ref::<Tensor<D>>()) {
                let (id, _, mapper) = param.consume();
                return Param::from_mapped_value(id, shared.clone(), mapper);
            }
            let (bytes, _, dtype) = parameter.values.0.into_data().into_parts();
            let data = TensorData::from_bytes(bytes, parameter.shape, dtype);
            let tensor = Tensor::from_data(data, &param.lazy_device());
            let replaced = param.transform_for_load(tensor, id);
            self.replaced.insert(id, Box::new(replaced.val()));
            replaced
        }
    }

    let expected = each(&module, |name, parameter| (name.to_owned(), parameter.shape()));
    let expected = expected.into_iter().collect();
    check(&parameters, &expected)?;
    let in_order: Vec<_> =
        names(&module).iter().filter_map(|name| parameters.remove(name)).collect();
    let parameters = in_order.into_iter();
    Ok(module.map(&mut Restorer { parameters, replaced: HashMap::new() }))
}
