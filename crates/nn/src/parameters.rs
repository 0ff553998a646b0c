//! A module's parameters by name: what files hold, and what `--resume` restores.

use std::borrow::Cow;
use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::{Tensor, TensorData};

use crate::Error;

/// One parameter: where it sits in the module (`encoder.layers.0.query.weight`), its values, and the
/// identity under which the optimiser keeps its state.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter<'a> {
    /// Identity of the parameter; `None` in a file that only holds weights.
    pub id: Option<u64>,
    /// Shape, outermost dimension first.
    pub shape: Vec<usize>,
    /// Values in row-major order.
    pub values: Cow<'a, [f32]>,
}

/// Parameters by their path in the module.
pub type Parameters<'a> = BTreeMap<String, Parameter<'a>>;

/// Copies all float parameters out of `module`.
pub fn collect<M: Module>(module: &M) -> Parameters<'static> {
    let mut collector = Collector { path: Vec::new(), found: BTreeMap::new() };
    module.visit(&mut collector);
    collector.found
}

/// The paths of all float parameters.
pub fn names<M: Module>(module: &M) -> Vec<String> {
    Names::of(module).into_iter().map(|(name, _)| name).collect()
}

/// The first parameter with a value that is NaN or infinite.
pub fn not_finite<'p>(parameters: &'p Parameters) -> Option<&'p str> {
    let broken = |parameter: &Parameter| parameter.values.iter().any(|v| !v.is_finite());
    parameters.iter().find(|(_, parameter)| broken(parameter)).map(|(name, _)| name.as_str())
}

/// Puts `parameters` into `module`, whose shapes and trainability stay as they are.
///
/// # Errors
/// A parameter that is missing, unknown, of another shape or not finite; the module is consumed.
pub fn restore<M: Module>(module: M, parameters: &Parameters) -> Result<M, Error> {
    let mut restorer =
        Restorer { path: Vec::new(), parameters, used: 0, missing: Vec::new(), error: None };
    let module = module.map(&mut restorer);
    if let Some(error) = restorer.error {
        return Err(error);
    }
    if let Some(first) = restorer.missing.first() {
        return Err(Error::MissingParameter {
            missing: restorer.missing.len(),
            first: first.clone(),
        });
    }
    if restorer.used != parameters.len() {
        let known = names(&module);
        let name = parameters.keys().find(|name| !known.contains(name)).cloned();
        return Err(Error::UnknownParameter { name: name.unwrap_or_default() });
    }
    Ok(module)
}

struct Collector {
    path: Vec<String>,
    found: Parameters<'static>,
}

impl ModuleVisitor for Collector {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.push(name.to_string());
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let tensor = param.val();
        let shape = tensor.dims().to_vec();
        let data = tensor.into_data().convert::<f32>();
        let values = data.try_to_vec::<f32>().unwrap_or_default();
        let parameter = Parameter { id: Some(param.id.val()), shape, values: Cow::Owned(values) };
        self.found.insert(self.path.join("."), parameter);
    }
}

/// Number of parameters that a gradient must reach.
pub(crate) fn trainable<M: Module>(module: &M) -> usize {
    Names::of(module).iter().filter(|(_, trainable)| *trainable).count()
}

/// `Ok` if every gradient is finite.
pub(crate) fn check_gradients<M: Module>(
    module: &M,
    gradients: &GradientsParams,
) -> Result<(), String> {
    let mut finite = Finite { gradients, path: Vec::new(), found: Ok(()) };
    module.visit(&mut finite);
    finite.found
}

struct Finite<'a> {
    gradients: &'a GradientsParams,
    path: Vec<String>,
    found: Result<(), String>,
}

impl ModuleVisitor for Finite<'_> {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.push(name.to_string());
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.get::<D>(param.id)
            && !gradient.sum().into_scalar::<f32>().is_finite()
        {
            self.found = Err(format!("the gradient of {} is not finite", self.path.join(".")));
        }
    }
}

struct Names {
    path: Vec<String>,
    /// Path, and whether the parameter is trained.
    found: Vec<(String, bool)>,
}

impl Names {
    fn of<M: Module>(module: &M) -> Vec<(String, bool)> {
        let mut names = Self { path: Vec::new(), found: Vec::new() };
        module.visit(&mut names);
        names.found
    }
}

impl ModuleVisitor for Names {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.push(name.to_string());
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.found.push((self.path.join("."), param.val().is_require_grad()));
    }
}

struct Restorer<'a> {
    path: Vec<String>,
    parameters: &'a Parameters<'a>,
    used: usize,
    missing: Vec<String>,
    error: Option<Error>,
}

impl ModuleMapper for Restorer<'_> {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.push(name.to_string());
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let name = self.path.join(".");
        let Some(parameter) = self.parameters.get(&name) else {
            self.missing.push(name);
            return param;
        };
        self.used += 1;
        let expected = param.lazy_shape().to_vec();
        if parameter.shape != expected {
            self.error = Some(Error::Shape { name, found: parameter.shape.clone(), expected });
            return param;
        }
        if let Some(element) = parameter.values.iter().position(|v| !v.is_finite()) {
            self.error = Some(Error::NotFinite { name, element });
            return param;
        }
        let id = parameter.id.map_or(param.id, ParamId::from);
        let data = TensorData::new(parameter.values.to_vec(), parameter.shape.clone());
        let tensor = Tensor::from_data(data, &param.lazy_device());
        param.transform_for_load(tensor, id)
    }
}
