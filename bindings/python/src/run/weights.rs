//! The parameters and buffers of a module of PyTorch, as parameters of a model.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use burn::backend::DispatchTensor;
use burn::module::{
    Content, Module, ModuleDisplay, ModuleDisplayDefault, ModuleMapper, ModuleVisitor, Param,
};
use burn::tensor::{Device, Tensor, TensorData};
use dsokr::nn::Values;

/// A parameter or buffer as it is when the module is opened.
pub struct Opened {
    /// Its name in the module.
    pub name: String,
    /// Its shape: of one or two dimensions.
    pub shape: Vec<usize>,
    pub values: Vec<f32>,
    /// Whether gradients reach it.
    pub is_trained: bool,
}

/// The parameters and buffers of a module under their names there. Buffers have no gradients; a pass of training changes
/// them, and a step keeps what its passes have made of them.
#[derive(Clone, Debug)]
pub struct Weights {
    parameters: Vec<Named>,
    /// The buffers, which clones share: a pass has a shared reference alone.
    buffers: Arc<Mutex<Buffers>>,
}

/// Buffers, and what passes since the last step have made of them.
#[derive(Clone, Debug)]
struct Buffers {
    kept: Vec<Named>,
    changed: Option<Vec<Vec<f32>>>,
}

#[derive(Clone, Debug)]
struct Named {
    name: String,
    value: Value,
}

#[derive(Clone, Debug)]
enum Value {
    Vector(Param<Tensor<1>>),
    Matrix(Param<Tensor<2>>),
}

/// Evaluates an expression for a vector, or the same one for a matrix.
macro_rules! either {
    ($value:expr, $param:ident => $of_param:expr) => {
        match $value {
            Value::Vector($param) => $of_param,
            Value::Matrix($param) => $of_param,
        }
    };
}

impl Value {
    fn new(shape: &[usize], values: Vec<f32>, is_trained: bool, device: &Device) -> Self {
        fn param<const D: usize>(
            shape: [usize; D],
            values: Vec<f32>,
            is_trained: bool,
            device: &Device,
        ) -> Param<Tensor<D>> {
            let tensor = Tensor::from_data(TensorData::new(values, shape), device);
            Param::from_tensor(tensor).set_require_grad(is_trained)
        }

        match *shape {
            [rows, columns] => Self::Matrix(param([rows, columns], values, is_trained, device)),
            _ => Self::Vector(param([values.len()], values, is_trained, device)),
        }
    }

    fn is_tracked(&self) -> bool {
        either!(self, param => param.val().is_require_grad())
    }

    /// Returns the values, which share the tensor's memory.
    fn values(&self) -> Values {
        either!(self, param => Values::from_tensor(param.val()))
    }

    /// Returns the parameter with other values.
    fn with_values(self, values: Vec<f32>) -> Self {
        fn replaced<const D: usize>(param: Param<Tensor<D>>, values: Vec<f32>) -> Param<Tensor<D>> {
            let data = TensorData::new(values, param.lazy_shape());
            let tensor = Tensor::from_data(data, &param.lazy_device());
            let id = param.id;
            param.transform_for_load(tensor, id)
        }

        match self {
            Self::Vector(param) => Self::Vector(replaced(param, values)),
            Self::Matrix(param) => Self::Matrix(replaced(param, values)),
        }
    }

    fn each(self, change: &mut impl Change) -> Self {
        match self {
            Self::Vector(param) => Self::Vector(change.of(param)),
            Self::Matrix(param) => Self::Matrix(change.of(param)),
        }
    }
}

/// A change of a parameter of any number of dimensions.
trait Change {
    fn of<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>>;
}

struct Mapped<'a, M>(&'a mut M);

impl<M: ModuleMapper> Change for Mapped<'_, M> {
    fn of<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        self.0.map_float(param)
    }
}

struct Moved<'a>(&'a Device);

impl Change for Moved<'_> {
    fn of<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.to_device(self.0)
    }
}

struct Forked<'a>(&'a Device);

impl Change for Forked<'_> {
    fn of<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.fork(self.0)
    }
}

struct Valid;

impl Change for Valid {
    fn of<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.valid()
    }
}

struct Training;

impl Change for Training {
    fn of<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        Module::train(param)
    }
}

impl Weights {
    /// Creates the parameters and buffers of a module that has been opened.
    pub fn new(parameters: Vec<Opened>, buffers: Vec<Opened>, device: &Device) -> Self {
        let named = |Opened { name, shape, values, is_trained }: Opened| Named {
            name,
            value: Value::new(&shape, values, is_trained, device),
        };
        let kept = buffers.into_iter().map(named).collect();
        Self {
            parameters: parameters.into_iter().map(named).collect(),
            buffers: Arc::new(Mutex::new(Buffers { kept, changed: None })),
        }
    }

    /// Returns the places of the parameters that gradients reach.
    pub fn tracked(&self) -> Vec<usize> {
        let parameters = self.parameters.iter().enumerate();
        parameters.filter(|(_, each)| each.value.is_tracked()).map(|(at, _)| at).collect()
    }

    /// Returns the parameters at some places one after the other, as one vector that gradients reach.
    pub fn joined(&self, places: &[usize]) -> DispatchTensor {
        let flat = |&at: &usize| match &self.parameters[at].value {
            Value::Vector(param) => param.val(),
            Value::Matrix(param) => param.val().flatten(0, 1),
        };
        Tensor::cat(places.iter().map(flat).collect(), 0).into_dispatch()
    }

    /// Returns the values of the parameters at other places than these.
    pub fn others(&self, places: &[usize]) -> Vec<(usize, Values)> {
        let parameters = self.parameters.iter().enumerate();
        let others = parameters.filter(|(at, _)| !places.contains(at));
        others.map(|(at, each)| (at, each.value.values())).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Buffers> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the values of the buffers, as the last pass has left them.
    pub fn buffers(&self) -> Vec<Values> {
        let buffers = self.lock();
        match &buffers.changed {
            Some(changed) => changed.iter().cloned().map(Values::from).collect(),
            None => buffers.kept.iter().map(|each| each.value.values()).collect(),
        }
    }

    /// Notes what a pass has made of the buffers.
    pub fn change_buffers(&self, values: Vec<Vec<f32>>) {
        self.lock().changed = Some(values);
    }

    /// Returns the buffers behind a step.
    fn stepped(&self) -> Vec<Named> {
        let Buffers { kept, changed } = self.lock().clone();
        let Some(changed) = changed else { return kept };
        let pairs = kept.into_iter().zip(changed);
        pairs
            .map(|(Named { name, value }, values)| Named { name, value: value.with_values(values) })
            .collect()
    }

    /// Changes all parameters and all buffers.
    fn each(self, change: &mut impl Change) -> Self {
        let mut changed = |all: Vec<Named>| -> Vec<Named> {
            let each = |Named { name, value }| Named { name, value: value.each(change) };
            all.into_iter().map(each).collect()
        };
        let kept = changed(self.stepped());
        let parameters = changed(self.parameters);
        Self { parameters, buffers: Arc::new(Mutex::new(Buffers { kept, changed: None })) }
    }
}

/// What a parameter lies in, for visitors that tell containers apart.
const CONTAINER: &str = "Struct:Weights";

impl Module for Weights {
    fn collect_devices(&self, devices: Vec<Device>) -> Vec<Device> {
        let collect =
            |devices, each: &Named| either!(&each.value, param => param.collect_devices(devices));
        let devices = self.parameters.iter().fold(devices, collect);
        self.lock().kept.iter().fold(devices, collect)
    }

    fn fork(self, device: &Device) -> Self {
        self.each(&mut Forked(device))
    }

    fn to_device(self, device: &Device) -> Self {
        self.each(&mut Moved(device))
    }

    fn train(self) -> Self {
        self.each(&mut Training)
    }

    fn valid(&self) -> Self {
        self.clone().each(&mut Valid)
    }

    fn materialize(self) -> Self {
        self
    }

    fn visit<V: ModuleVisitor>(&self, visitor: &mut V) {
        let buffers = self.lock().kept.clone();
        for Named { name, value } in self.parameters.iter().chain(&buffers) {
            visitor.enter_module(name, CONTAINER);
            either!(value, param => visitor.visit_float(param));
            visitor.exit_module(name, CONTAINER);
        }
    }

    /// Maps the parameters and the buffers, which stay as the passes before have left them: a step of an optimiser maps a model.
    fn map<M: ModuleMapper>(mut self, mapper: &mut M) -> Self {
        let mut mapped = |all: Vec<Named>| {
            let mut done = Vec::with_capacity(all.len());
            for Named { name, value } in all {
                mapper.enter_module(&name, CONTAINER);
                let value = value.each(&mut Mapped(mapper));
                mapper.exit_module(&name, CONTAINER);
                done.push(Named { name, value });
            }
            done
        };
        let parameters = mapped(mem::take(&mut self.parameters));
        let kept = mapped(self.stepped());
        Self { parameters, buffers: Arc::new(Mutex::new(Buffers { kept, changed: None })) }
    }
}

impl ModuleDisplayDefault for Weights {
    fn content(&self, content: Content) -> Option<Content> {
        let names = self.parameters.iter().map(|each| each.name.as_str());
        content.add_formatted(&names.collect::<Vec<_>>().join(", ")).optional()
    }
}

impl ModuleDisplay for Weights {}
