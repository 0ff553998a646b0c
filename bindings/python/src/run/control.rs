//! What a callback asks of a training.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};

use dsokr::train;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::PyTypeInfo;
use pyo3::inspect::PyStaticExpr::{self, Attribute, List, Name, Subscript, Tuple};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Hint, Table, Typed};
use crate::errors::Failure;
use crate::work::Callback;

/// What is done with the training on its thread, which waits for the callback.
type Act = Box<dyn FnOnce(&train::Control) + Send>;

/// A training at a step or an evaluation, while its callback runs.
#[pyclass(frozen, module = "dsokr._dsokr")]
pub struct Control {
    /// The way to the training; none once the callback has returned, and for a model without steps.
    acts: Mutex<Option<Sender<Act>>>,
}

/// A listener: `collections.abc.Callable[[str, Control], object]`.
impl Hint for Py<PyAny> {
    const TYPE: PyStaticExpr = Subscript {
        value: &Attribute { value: &Name { id: "collections.abc" }, attr: "Callable" },
        slice: &Tuple {
            elts: &[
                List { elts: &[Name { id: "str" }, Control::TYPE_HINT] },
                Name { id: "object" },
            ],
        },
    };
}

/// Calls the listener with a text and the training that it is about, on the caller's thread, and does meanwhile what it
/// asks for.
pub fn tell(callback: &Callback, text: String, training: Option<&train::Control>) {
    let (acts, asked) = channel::<Act>();
    let acts = training.map(|_| acts);
    let call = move |py: Python, listener: &Py<PyAny>| {
        let control = Py::new(py, Control { acts: Mutex::new(acts) })?;
        let returned = listener.call1(py, (text, &control));
        control.get().close();
        returned.map(drop)
    };
    let serve = || {
        for act in asked {
            if let Some(training) = training {
                act(training);
            }
        }
    };
    callback.call(call, serve);
}

impl Control {
    fn close(&self) {
        self.acts.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Returns what a function makes of the training, on its thread.
    fn ask<T: Send + 'static>(
        &self,
        py: Python,
        function: impl FnOnce(&train::Control) -> T + Send + 'static,
    ) -> PyResult<T> {
        let (reply, answer) = channel();
        let act: Act = Box::new(move |training| {
            // nobody waits where the caller has been interrupted
            let _ = reply.send(function(training));
        });
        let over = || {
            let message = "a training is asked for something within its callback, at a step or an evaluation of an encoder";
            Failure::Argument(message.into())
        };
        let acts = self.acts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        acts.ok_or_else(over)?.send(act).map_err(|_| over())?;
        Ok(py.detach(move || answer.recv()).map_err(|_| over())?)
    }
}

#[pymethods]
impl Control {
    /// Ends the training here, as an early stop does.
    fn stop(&self, py: Python) -> PyResult<()> {
        self.ask(py, |training| training.stop())
    }

    /// Asks for an evaluation after the step that has been done.
    fn evaluate(&self, py: Python) -> PyResult<()> {
        self.ask(py, |training| training.evaluate())
    }

    /// Sets the learning rate of all further steps.
    fn set_learning_rate(&self, py: Python, rate: f64) -> PyResult<()> {
        check("rate", rate)?;
        self.ask(py, move |training| training.set_learning_rate(rate))
    }

    /// Multiplies the learning rate of all further steps.
    fn scale_learning_rate(&self, py: Python, factor: f64) -> PyResult<()> {
        check("factor", factor)?;
        self.ask(py, move |training| training.scale_learning_rate(factor))
    }

    /// Returns the learning rate of the next step.
    #[getter]
    fn learning_rate(&self, py: Python) -> PyResult<f64> {
        self.ask(py, |training| training.learning_rate())
    }

    /// Returns the parameters of the model by name.
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Table<'py>> {
        let parameters = self.ask(py, |training| training.parameters())?;
        let all = PyDict::new(py);
        for (name, parameter) in &parameters {
            let values = PyArray1::from_slice(py, &parameter.values);
            all.set_item(name, values.reshape(parameter.shape.clone())?)?;
        }
        Ok(Typed(all))
    }
}

fn check(name: &str, number: f64) -> Result<(), Failure> {
    if number > 0.0 && number.is_finite() {
        return Ok(());
    }
    Err(Failure::argument(name, format!("{number}, expected a finite number above 0")))
}
