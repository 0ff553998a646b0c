//! A module of PyTorch as an encoder of the trainer: `encoder.kind = "module"`.
//!
//! Its parameters and buffers are parameters of Burn's under their names in the module, so that optimisers, groups,
//! checkpoints, resumption and files of runs are those of every encoder. A pass copies them into the module, which computes
//! coordinates, and their gradient.

use std::path::Path;
use std::sync::Arc;

use burn::backend::Flex;
use burn::backend::tensor::FloatTensor;
use burn::module::{Module, Param};
use burn::tensor::{Tensor, TensorData};
use dsokr::config::EncoderTable;
use dsokr::data::Split;
use dsokr::nn::{Encoder, Pass, init};
use dsokr::{Error, Prepare, Recipe, Start};
use dsokr_basis::RowSource;
use dsokr_core::{Argument, Cancellation};
use dsokr_kernels::{Operation, apply, is_cpu_engine, values, wrap};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::weights::{Opened, Weights};
use crate::arrays::matrix;
use crate::errors::Failure;

/// The name of the kind.
const KIND: &str = "module";

/// Makes `encoder.kind = "module"` known.
///
/// # Errors
/// A different learner of this name.
pub fn start() -> Result<(), Error> {
    dsokr::register::<ModuleConfig>(KIND)
}

/// The keys of `[encoder]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModuleConfig {
    /// Whether the module reads feature vectors, a matrix, instead of a list of texts.
    vectors: bool,
    /// The package's `Encoder`, which makes the module; none where Python has given none.
    #[serde(skip)]
    encoder: Option<Held>,
}

impl ModuleConfig {
    /// Returns the `[encoder]` table of an `encoder` of Python's functions.
    pub fn table(py: Python, encoder: Option<Py<PyAny>>) -> PyResult<Option<EncoderTable>> {
        let Some(encoder) = encoder else { return Ok(None) };
        let vectors = encoder.getattr(py, "vectors")?.extract(py)?;
        let settings = Self { vectors, encoder: Some(Held(Arc::new(encoder))) };
        Ok(Some(EncoderTable::from_learner(settings).map_err(Failure::from)?))
    }
}

/// Texts or vectors as they are.
pub struct Unprepared;

/// The input of one pair.
#[derive(Clone)]
pub enum Input {
    Text(String),
    Vector(Vec<f32>),
}

impl Prepare for Unprepared {
    type Settings = ModuleConfig;
    type Input = Input;

    fn fit(_: &ModuleConfig, _: &Split) -> Result<Self, Error> {
        Ok(Self)
    }

    fn inputs(&self, split: &Split) -> Result<Vec<Input>, Error> {
        match split.inputs.texts() {
            Ok(texts) => Ok(texts.iter().cloned().map(Input::Text).collect()),
            Err(_) => {
                let rows = split.inputs.vectors()?;
                Ok((0..rows.len()).map(|row| Input::Vector(rows.dense_row(row))).collect())
            }
        }
    }

    fn load(_: &ModuleConfig, _: &Path) -> Result<Self, Error> {
        Ok(Self)
    }
}

impl Recipe for ModuleConfig {
    type Preparation = Unprepared;
    type Encoder = Foreign;

    fn reads_vectors(&self) -> bool {
        self.vectors
    }

    fn preparation(&self) -> Self {
        self.clone()
    }

    fn encoder(&self, _: &Unprepared, start: Start) -> Result<Foreign, Error> {
        let Start { offset, random, device } = start;
        if !is_cpu_engine(device) {
            return Err(Error::value(
                Argument::new("device"),
                "a GPU",
                "cpu, for a module of PyTorch",
            ));
        }
        let seed = random.next_u64() >> 1;
        let allowed = if self.vectors {
            "the module that was trained, which reads vectors"
        } else {
            "the module that was trained, which reads texts"
        };
        let none = || Error::value(Argument::new("encoder"), "None", allowed);
        let given = self.encoder.as_ref().ok_or_else(none)?;
        let opened = Python::attach(|py| {
            let opened = given.0.bind(py).call_method1("open", (offset.len(), seed))?;
            let parameters = tensors(&opened.getattr("parameters")?)?;
            let buffers = tensors(&opened.getattr("buffers")?)?;
            let weights = Weights::new(parameters, buffers, device);
            Ok::<_, PyErr>((weights, Held(Arc::new(opened.unbind()))))
        });
        match opened {
            Ok((module, held)) => {
                Ok(Foreign { module, offset: init::vector(offset, device), held })
            }
            Err(error) => {
                let message = error.to_string();
                Cancellation::current().cancel_because(error);
                Err(Error::value(Argument::new("encoder"), message, "a module of PyTorch"))
            }
        }
    }
}

/// Returns the parameters or buffers of an `_Opened` module.
fn tensors(all: &Bound<PyAny>) -> PyResult<Vec<Opened>> {
    let mut opened = Vec::new();
    for each in all.try_iter()? {
        let (name, shape, values, is_trained) = each?.extract()?;
        let values: Bound<PyArray1<f32>> = values;
        opened.push(Opened { name, shape, values: values.to_vec()?, is_trained });
    }
    Ok(opened)
}

/// An object of the package's `_module`: an `Encoder`, or an `_Opened` module and what it keeps for a gradient.
#[derive(Clone, derive_more::Debug)]
#[debug("a module of PyTorch")]
pub struct Held(Arc<Py<PyAny>>);

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A module of PyTorch, whose coordinates are z = b + module(x).
#[derive(Module, Debug)]
pub struct Foreign {
    /// The parameters and buffers of the module.
    module: Weights,
    /// b, which begins as the mean of the targets and is trained.
    offset: Param<Tensor<1>>,
    #[module(skip)]
    held: Held,
}

impl Foreign {
    /// Returns b.
    pub fn offset(&self) -> Vec<f32> {
        self.offset.val().into_data().iter().collect()
    }
}

impl Encoder for Foreign {
    type Input = Input;

    fn dimension(&self) -> usize {
        self.offset.dims()[0]
    }

    fn length(&self, input: &Input) -> usize {
        match input {
            Input::Text(text) => text.len().max(1),
            Input::Vector(_) => 1,
        }
    }

    fn forward(&self, batch: &[&Input], pass: Pass) -> Tensor<2> {
        let inputs = Arc::new(batch.iter().copied().cloned().collect());
        let sizes = [batch.len(), self.dimension()];
        let tracked = self.module.tracked();
        let call = Call {
            held: self.held.clone(),
            weights: self.module.clone(),
            tracked: tracked.clone(),
            inputs,
            key: pass.key(),
            sizes,
            // the backward pass may be on a different thread
            cancellation: Cancellation::current(),
        };
        let offset = self.offset.val();
        let z = if tracked.is_empty() {
            let (z, _) = call.pass(&[], false);
            Tensor::<2>::from_data(TensorData::new(z, sizes), &offset.device())
        } else {
            apply::<Flex, _, 1, 2>(call, [self.module.joined(&tracked)])
        };
        z + offset.unsqueeze::<2>()
    }
}

/// A pass through the module.
#[derive(Clone)]
struct Call {
    held: Held,
    weights: Weights,
    /// The places of the parameters that gradients reach.
    tracked: Vec<usize>,
    inputs: Arc<Vec<Input>>,
    key: Option<u64>,
    /// Inputs and coordinates.
    sizes: [usize; 2],
    /// The cancellation of the work that the pass belongs to.
    cancellation: Cancellation,
}

impl Call {
    /// Returns the coordinates, and the state that PyTorch keeps for the gradient; zeros and none after an exception, which ends the
    /// work. `parameters` are those at the places `tracked`. A pass of training whose gradient is `kept` changes the
    /// buffers.
    fn pass(&self, parameters: &[f32], kept: bool) -> (Vec<f32>, Option<Held>) {
        match Python::attach(|py| self.coordinates(py, parameters, kept)) {
            Ok((z, graph)) => (z, Some(graph)),
            Err(error) => {
                self.cancellation.cancel_because(error);
                (vec![0.0; self.sizes.iter().product()], None)
            }
        }
    }

    fn coordinates(
        &self,
        py: Python,
        parameters: &[f32],
        kept: bool,
    ) -> PyResult<(Vec<f32>, Held)> {
        let mut texts = Vec::new();
        let mut vectors = Vec::new();
        for input in self.inputs.iter() {
            match input {
                Input::Text(text) => texts.push(text.as_str()),
                Input::Vector(vector) => vectors.push(vector.as_slice()),
            }
        }
        let inputs = match vectors.first() {
            None => texts.into_pyobject(py)?,
            Some(first) => matrix(py, vectors.concat(), vectors.len(), first.len())?.0.into_any(),
        };
        let joined = PyArray1::from_slice(py, parameters);
        let others = self.weights.others(&self.tracked).into_iter();
        let others: Vec<_> =
            others.map(|(at, values)| (at, PyArray1::from_slice(py, &values))).collect();
        let buffers = self.weights.buffers();
        let buffers: Vec<_> =
            buffers.iter().map(|values| PyArray1::from_slice(py, values)).collect();
        let key = self.key.map(|key| key >> 1);
        let arguments = (inputs, key, self.tracked.clone(), joined, others, buffers);
        let returned = self.held.0.bind(py).call_method1("forward", arguments)?;
        let (z, graph, buffers): Returned = returned.extract()?;
        if kept && self.key.is_some() {
            let values = buffers.iter().map(PyArrayMethods::to_vec);
            self.weights.change_buffers(values.collect::<Result<_, _>>()?);
        }
        Ok((z.to_vec()?, Held(Arc::new(graph.unbind()))))
    }
}

/// What the module's `forward` returns: coordinates, what `backward` needs, and the buffers behind the pass.
type Returned<'py> = (Bound<'py, PyArray2<f32>>, Bound<'py, PyAny>, Vec<Bound<'py, PyArray1<f32>>>);

impl Operation<Flex, 1> for Call {
    /// The state that PyTorch keeps, none after an exception; and the number of values of the joined parameters.
    type Saved = (Option<Held>, usize);

    fn forward(
        &self,
        [parameters]: [FloatTensor<Flex>; 1],
        keep: bool,
    ) -> (FloatTensor<Flex>, Self::Saved) {
        let parameters = values(&parameters);
        let (z, graph) = self.pass(parameters, keep);
        (wrap(z, self.sizes), (graph, parameters.len()))
    }

    fn backward(
        self,
        (graph, length): Self::Saved,
        dz: FloatTensor<Flex>,
        _: [bool; 1],
    ) -> [Option<FloatTensor<Flex>>; 1] {
        let gradient = graph.map(|graph| {
            Python::attach(|py| {
                let dz = PyArray1::from_slice(py, values(&dz)).reshape(self.sizes)?;
                let arguments = (graph.0.bind(py), dz, self.tracked.clone());
                let gradient = self.held.0.bind(py).call_method1("backward", arguments)?;
                gradient.extract::<Bound<PyArray1<f32>>>()?.to_vec().map_err(PyErr::from)
            })
        });
        let gradient = match gradient {
            Some(Ok(gradient)) => gradient,
            Some(Err(error)) => {
                self.cancellation.cancel_because(error);
                vec![0.0; length]
            }
            None => vec![0.0; length],
        };
        [Some(wrap(gradient, [length]))]
    }
}
