//! A module's parameters by name, as files hold them and `--resume` restores them.

use std::collections::BTreeMap;
use std::ops::Deref;

use burn::backend::flex::FlexTensor;
use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::{Tensor, TensorData};

use crate::device::on_cpu_engine;
use crate::error::check_names;
use crate::fused::{is_whole, primitive, wrap};
use crate::{Error, RowGradient};

/// One parameter: its shape, its values, and the identity under which the optimiser keeps its state.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Identity of the parameter; `None` in a file of weights only.
    pub id: Option<u64>,
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
    /// The values of a float tensor of any device.
    fn from_tensor<const D: usize>(tensor: Tensor<D>) -> Self {
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
    /// Its identity.
    fn id(&self) -> ParamId;

    /// Its shape, outermost dimension first.
    fn shape(&self) -> Vec<usize>;

    /// Whether a gradient must reach it.
    fn is_trained(&self) -> bool;

    /// Its values. On the CPU engine they share its memory until it is trained on.
    fn values(&self) -> Values;

    /// Its gradient as a vector, for a parameter that is not a table [by rows](RowGradient).
    fn flat_gradient(&self, gradients: &GradientsParams) -> Option<Tensor<1>>;

    /// The sum of the squares of its gradient.
    fn squared_gradient(&self, gradients: &GradientsParams) -> Option<f32>;

    /// Multiplies its gradient.
    fn scale_gradient(&self, gradients: &mut GradientsParams, factor: f32);

    /// Takes the values of its gradient, row-major.
    fn take_gradient(&self, gradients: &mut GradientsParams) -> Option<Vec<f32>>;

    /// Sets its gradient.
    fn set_gradient(&self, gradients: &mut GradientsParams, values: Vec<f32>);
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

    fn values(&self) -> Values {
        Values::from_tensor(self.val())
    }

    fn flat_gradient(&self, gradients: &GradientsParams) -> Option<Tensor<1>> {
        Some(gradients.get::<D>(self.id)?.flatten(0, D - 1))
    }

    fn squared_gradient(&self, gradients: &GradientsParams) -> Option<f32> {
        let (_, values) = RowGradient::split(gradients.get::<D>(self.id)?, &self.val());
        let mut squares = values.square();
        // Burn adds up so many in an order that differs from run to run
        if squares.shape().num_elements() >= 1 << 22 {
            squares = squares.sum_dim(D - 1);
        }
        Some(squares.sum().into_scalar::<f32>())
    }

    fn scale_gradient(&self, gradients: &mut GradientsParams, factor: f32) {
        let Some(gradient) = gradients.remove::<D>(self.id) else { return };
        let (rows, values) = RowGradient::split(gradient, &self.val());
        let scaled = values * factor;
        let scaled = match rows {
            Some(rows) => Tensor::cat(vec![rows, scaled], 1),
            None => scaled,
        };
        gradients.register(self.id, scaled);
    }

    fn take_gradient(&self, gradients: &mut GradientsParams) -> Option<Vec<f32>> {
        let gradient = gradients.remove::<D>(self.id)?.into_data();
        gradient.convert::<f32>().try_into_vec::<f32>().ok()
    }

    fn set_gradient(&self, gradients: &mut GradientsParams, values: Vec<f32>) {
        let weights = self.val().inner();
        let gradient = TensorData::new(values, weights.shape());
        gradients.register(self.id, Tensor::<D>::from_data(gradient, &weights.device()));
    }
}

/// Calls `each` with path and tensor of every float parameter of `module`, in the order of its fields.
pub fn visit<M: Module>(module: &M, each: impl FnMut(&str, &dyn FloatParameter)) {
    struct Visitor<F> {
        path: Vec<String>,
        each: F,
    }

    impl<F: FnMut(&str, &dyn FloatParameter)> ModuleVisitor for Visitor<F> {
        fn enter_module(&mut self, name: &str, _container: &str) {
            self.path.push(name.to_string());
        }

        fn exit_module(&mut self, _name: &str, _container: &str) {
            self.path.pop();
        }

        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            (self.each)(&self.path.join("."), param);
        }
    }

    module.visit(&mut Visitor { path: Vec::new(), each });
}

/// The value of `of` for every float parameter, in the order of the module's fields.
pub(crate) fn each<M: Module, T>(
    module: &M,
    mut of: impl FnMut(&str, &dyn FloatParameter) -> T,
) -> Vec<T> {
    let mut all = Vec::new();
    visit(module, |name, parameter| all.push(of(name, parameter)));
    all
}

/// All float parameters of `module`. On the CPU engine they share its memory until it is trained on.
pub fn collect<M: Module>(module: &M) -> Parameters {
    let read = |name: &str, found: &dyn FloatParameter| {
        let id = Some(found.id().val());
        (name.to_owned(), Parameter { id, shape: found.shape(), values: found.values() })
    };
    each(module, read).into_iter().collect()
}

/// The paths of all float parameters.
pub fn names<M: Module>(module: &M) -> Vec<String> {
    each(module, |name, _| name.to_owned())
}

/// Number of parameters that a gradient must reach.
pub(crate) fn trainable<M: Module>(module: &M) -> usize {
    each(module, |_, parameter| usize::from(parameter.is_trained())).iter().sum()
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
    let missing = missing.map(|(name, shape)| (name.clone(), shape.clone()));
    let unknown = parameters.iter().filter(|(name, _)| !expected.contains_key(*name));
    let unknown = unknown.map(|(name, parameter)| (name.clone(), parameter.shape.clone()));
    check_names(|| "not the parameters of this model".into(), missing, unknown)?;
    for (name, parameter) in parameters {
        let (shape, expected) = (&parameter.shape, &expected[name]);
        if shape != expected || parameter.values.len() != shape.iter().product::<usize>() {
            let (found, expected) = (shape.clone(), expected.clone());
            return Err(Error::Shape { tensor: format!("parameter `{name}`"), found, expected });
        }
    }
    check_finite(parameters)
}

/// Replaces the parameters of `module`; shapes and trainability stay the same. Values that share no memory are
/// moved and not copied.
///
/// # Errors
/// A parameter that is missing, unknown, of a different shape or not finite; the module is consumed.
pub fn restore<M: Module>(module: M, mut parameters: Parameters) -> Result<M, Error> {
    struct Restorer(std::vec::IntoIter<Parameter>);

    impl ModuleMapper for Restorer {
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            let Some(parameter) = self.0.next() else { unreachable!("the names were compared") };
            let id = parameter.id.map_or(param.id, ParamId::from);
            let (bytes, _, dtype) = parameter.values.0.into_data().into_parts();
            let data = TensorData::from_bytes(bytes, parameter.shape, dtype);
            let tensor = Tensor::from_data(data, &param.lazy_device());
            param.transform_for_load(tensor, id)
        }
    }

    let expected = each(&module, |name, parameter| (name.to_owned(), parameter.shape()));
    let expected = expected.into_iter().collect();
    check(&parameters, &expected)?;
    let in_order: Vec<_> =
        names(&module).iter().filter_map(|name| parameters.remove(name)).collect();
    Ok(module.map(&mut Restorer(in_order.into_iter())))
}
