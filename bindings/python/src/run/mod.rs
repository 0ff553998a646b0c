//! Training, and trained models.

mod control;
mod evaluation;
mod failure;
mod module;
mod runs;
mod weights;

use std::path::{Path, PathBuf};

use dsokr::config::{Checked, Config, Override};
use dsokr::data::InputKind;
use dsokr::device::Processor;
use dsokr::train::{Control as Training, Event, LogLine, Observer};
use dsokr::{Error, Request, Scores, SolvedLine};
use pyo3::prelude::*;
use serde::Serialize;
use tracing::info;

use crate::arrays::Listener;
use crate::errors::Failure;
use crate::logging::LOGGER;
use crate::work::{Callback, work, work_with};

pub use control::Control;
use control::tell;
pub use evaluation::{Evaluation, compare_runs};
use module::ModuleConfig;
pub use module::start;
pub use runs::Runs;

/// Trains the model of a configuration, of a file or, with `text`, of this TOML; `overrides` are `section.key=value`, and `listener` hears the
/// lines of the log as JSON, with `steps` also each step. Returns the run directory and the advice on the configuration.
#[pyfunction]
#[expect(clippy::too_many_arguments)]
pub fn train(
    py: Python,
    config: PathBuf,
    text: Option<String>,
    overrides: Vec<String>,
    out: Option<PathBuf>,
    resume: bool,
    data: Option<PathBuf>,
    device: &str,
    force: bool,
    listener: Option<Listener>,
    steps: bool,
    encoder: Option<Py<PyAny>>,
) -> PyResult<(PathBuf, Vec<String>)> {
    let encoder = ModuleConfig::table(py, encoder)?;
    let parse =
        |text: &String| text.parse().map_err(|error: String| Failure::argument("set", error));
    let overrides = overrides.iter().map(parse).collect::<Result<Vec<Override>, _>>()?;
    let processor = processor(device)?;
    let trained = work_with(py, listener.as_ref(), |callback| {
        let config = checked(&config, text.as_deref(), &overrides)?.given(encoder.as_ref());
        // members would change the parameters of one module, and the numbers that PyTorch draws, at the same time
        if encoder.is_some()
            && let Some(ensemble) = &config.ensemble
            && ensemble.parallel > 1
        {
            let allowed = "1, for a module of PyTorch";
            return Err(Error::value("ensemble.parallel", ensemble.parallel, allowed));
        }
        let root = config.data_root(data.as_deref())?;
        let request = Request { config: &config, root, out, resume, processor, force };
        request.run(&mut Progress { callback, steps })
    })?;
    Ok((trained.path().to_path_buf(), trained.advice))
}

/// Returns whether the encoder of a configuration reads vectors, of a file or, with `text`, of this TOML; false for one that cannot be
/// read, which whoever uses it refuses.
#[pyfunction]
pub fn reads_vectors(config: PathBuf, text: Option<String>, overrides: Vec<String>) -> bool {
    let overrides = overrides.iter().map(|text| text.parse::<Override>());
    let Ok(overrides) = overrides.collect::<Result<Vec<_>, _>>() else { return false };
    let config = checked(&config, text.as_deref(), &overrides);
    config.is_ok_and(|config| config.encoder.abilities().reads == InputKind::Vectors)
}

/// Returns the configuration of a file or, with `text`, of this TOML.
fn checked(file: &Path, text: Option<&str>, overrides: &[Override]) -> Result<Checked, Error> {
    match text {
        Some(text) => Config::parse(text, overrides),
        None => Config::load_with(file, overrides),
    }
}

/// Writes the quickstart data and configuration into a folder, and returns the configuration's path.
#[pyfunction]
pub fn quickstart(py: Python, folder: PathBuf) -> PyResult<PathBuf> {
    work(py, || dsokr::quickstart::write(&folder))
}

/// Trains the demonstration in a folder, and returns its run directory.
#[pyfunction]
pub fn demo(py: Python, folder: PathBuf) -> PyResult<PathBuf> {
    work(py, || dsokr::quickstart::demo(&folder))
}

/// Writes the lines of a table of pairs and the recommended configuration into a folder, and returns the configuration's
/// path; with an `encoder` that of its training.
#[pyfunction]
pub fn write_pairs(
    py: Python,
    folder: PathBuf,
    lines: Vec<String>,
    encoder: Option<Py<PyAny>>,
) -> PyResult<PathBuf> {
    let encoder = ModuleConfig::table(py, encoder)?;
    work(py, || dsokr::write_pairs(&folder, &lines, encoder))
}

fn processor(device: &str) -> Result<Processor, Failure> {
    device.parse().map_err(|error: String| Failure::argument("device", error))
}

/// Tells the lines of the log and steps, and logs how far the training is.
struct Progress<'a> {
    callback: &'a Callback,
    /// Whether the callback is called after each step too.
    steps: bool,
}

/// The numbers of a step that the callback gets.
#[derive(Serialize)]
struct Step {
    step: u64,
    epoch: f64,
    loss: f64,
    /// The rate of the next step.
    learning_rate: f64,
}

impl Observer for Progress<'_> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Start { step, total } => {
                info!(target: LOGGER, "training from step {step} to {total}");
            }
            Event::Estimate { left } => {
                info!(target: LOGGER, "about {} s of training, evaluations not counted", left.as_secs());
            }
            Event::Evaluation { left, .. } => {
                info!(target: LOGGER, "{event}; about {} s left", left.as_secs());
            }
            Event::EarlyStop { .. } | Event::Solving { .. } | Event::Solved { .. } => {
                info!(target: LOGGER, "{event}");
            }
            // too many for a log
            Event::Step { .. } | Event::Checkpoint { .. } | Event::End { .. } => {}
            // events of later versions
            _ => {}
        }
        let text = match event {
            Event::Step { step, epoch, loss, control } if self.steps => {
                let learning_rate = control.learning_rate();
                let step = Step { step: *step, epoch: *epoch, loss: *loss, learning_rate };
                serde_json::to_string(&step).ok()
            }
            Event::Evaluation { line, .. } => line
                .downcast_ref::<LogLine<Scores>>()
                .and_then(|line| serde_json::to_string(line).ok()),
            Event::Solved { scores, took, .. } => scores
                .downcast_ref::<Scores>()
                .map(|metrics| SolvedLine::new(took.as_secs_f64(), metrics.clone()))
                .and_then(|line| serde_json::to_string(&line).ok()),
            // nothing that a tracker records
            _ => None,
        };
        if let Some(text) = text {
            tell(self.callback, text, control(event));
        }
    }
}

/// Returns the training that an event is of, where it can be asked for something.
fn control<'a>(event: &Event<'a>) -> Option<&'a Training<'a>> {
    match event {
        Event::Step { control, .. } | Event::Evaluation { control, .. } => Some(control),
        _ => None,
    }
}
