//! A module of PyTorch as an encoder of the trainer: `encoder.kind = "module"`.
//!
//! Its parameters are one vector of Burn's, so that optimisers, checkpoints, resumption and files of runs are those of
//! every encoder. A pass copies them into the module, which computes coordinates, and their gradient.

use std::path::Path;
use std::sync::Arc;

use burn::backend::Flex;
use burn::backend::tensor::FloatTensor;
use burn::module::{Module, Param};
use burn::tensor::Tensor;
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
    /// The `[encoder]` table of an `encoder` of Python's functions.
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
        let allowed = "the module that was trained";
        let none = || Error::value(Argument::new("encoder"), "None", allowed);
        let given = self.encoder.as_ref().ok_or_else(none)?;
        let opened = Python::attach(|py| {
            let opened = given.0.bind(py).call_method1("open", (offset.len(), seed))?;
            let initial: Vec<f32> = opened.getattr("initial")?.extract()?;
            Ok::<_, PyErr>((Held(Arc::new(opened.unbind())), initial))
        });
        match opened {
            Ok((module, initial)) => Ok(Foreign {
                parameters: init::vector(&initial, device),
                offset: init::vector(offset, device),
                module,
            }),
            Err(error) => {
                let message = error.to_string();
                Cancellation::current().cancel_because(error);
                Err(Error::value(Argument::new("encoder"), message, "a module of PyTorch"))
            }
        }
    }
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
    /// The parameters of the module that are trained, one after the other.
    parameters: Param<Tensor<1>>,
    /// b, which begins as the mean of the targets.
    offset: Param<Tensor<1>>,
    #[module(skip)]
    module: Held,
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
        let module = self.module.clone();
        let key = pass.key();
        // the backward pass may be on a different thread
        let cancellation = Cancellation::current();
        let call = Call { module, inputs, key, sizes, cancellation };
        let z = apply::<Flex, _, 1, 2>(call, [self.parameters.val().into_dispatch()]);
        z + self.offset.val().unsqueeze::<2>()
    }
}

/// A pass through the module.
#[derive(Clone)]
struct Call {
    module: Held,
    inputs: Arc<Vec<Input>>,
    key: Option<u64>,
    /// Inputs and coordinates.
    sizes: [usize; 2],
    /// The cancellation of the work that the pass belongs to.
    cancellation: Cancellation,
}

impl Call {
    fn coordinates(&self, py: Python, parameters: &[f32]) -> PyResult<(Vec<f32>, Held)> {
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
        let parameters = PyArray1::from_slice(py, parameters);
        let key = self.key.map(|key| key >> 1);
        let returned = self.module.0.bind(py).call_method1("forward", (inputs, parameters, key))?;
        let (z, graph): (Bound<PyArray2<f32>>, Bound<PyAny>) = returned.extract()?;
        Ok((z.to_vec()?, Held(Arc::new(graph.unbind()))))
    }
}

/// An exception ends the work, whose numbers no longer matter.
impl Operation<Flex, 1> for Call {
    /// The state that PyTorch keeps for the gradient; none after an exception.
    type Saved = Option<Held>;

    fn forward(
        &self,
        [parameters]: [FloatTensor<Flex>; 1],
        _: bool,
    ) -> (FloatTensor<Flex>, Self::Saved) {
        let coordinates = Python::attach(|py| self.coordinates(py, values(&parameters)));
        let (z, graph) = match coordinates {
            Ok((z, graph)) => (z, Some(graph)),
            Err(error) => {
                self.cancellation.cancel_because(error);
                (vec![0.0; self.sizes.iter().product()], None)
            }
        };
        (wrap(z, self.sizes), graph)
    }

    fn backward(
        self,
        graph: Self::Saved,
        dz: FloatTensor<Flex>,
        [wanted]: [bool; 1],
    ) -> [Option<FloatTensor<Flex>>; 1] {
        let Some(graph) = graph.filter(|_| wanted) else { return [None] };
        let gradient = Python::attach(|py| {
            let dz = PyArray1::from_slice(py, values(&dz)).reshape(self.sizes)?;
            let arguments = (graph.0.bind(py), dz);
            let gradient = self.module.0.bind(py).call_method1("backward", arguments)?;
            gradient.extract::<Bound<PyArray1<f32>>>()?.to_vec().map_err(PyErr::from)
        });
        match gradient {
            Ok(gradient) => {
                let length = gradient.len();
                [Some(wrap(gradient, [length]))]
            }
            Err(error) => {
                self.cancellation.cancel_because(error);
                [None]
            }
        }
    }
}
