//! Training, and trained models.

mod evaluation;
mod failure;
mod module;
mod runs;

use std::path::PathBuf;

use dsokr::config::{Config, Override};
use dsokr::device::Processor;
use dsokr::train::{Event, LogLine, Observer};
use dsokr::{Request, Scores, SolvedLine};
use pyo3::prelude::*;
use tracing::info;

use crate::arrays::Listener;
use crate::errors::Failure;
use crate::logging::LOGGER;
use crate::work::{Callback, work, work_with};

pub use evaluation::{Evaluation, compare_runs};
use module::ModuleConfig;
pub use module::start;
pub use runs::Runs;

/// Trains the model of a configuration, of a file or, with `text`, of this TOML; `overrides` are `section.key=value`, and `listener` hears the
/// lines of the log as JSON. Returns the run directory and the advice on the configuration.
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
    encoder: Option<Py<PyAny>>,
) -> PyResult<(PathBuf, Vec<String>)> {
    let encoder = ModuleConfig::table(py, encoder)?;
    let parse =
        |text: &String| text.parse().map_err(|error: String| Failure::argument("set", error));
    let overrides = overrides.iter().map(parse).collect::<Result<Vec<Override>, _>>()?;
    let processor = processor(device)?;
    let trained = work_with(py, listener.as_ref(), |callback| {
        let config = match &text {
            Some(text) => Config::parse(text, &overrides)?,
            None => Config::load_with(&config, &overrides)?,
        }
        .given(encoder.as_ref());
        let root = config.data_root(data.as_deref())?;
        let request = Request { config: &config, root, out, resume, processor, force };
        request.run(&mut Progress(callback))
    })?;
    Ok((trained.path().to_path_buf(), trained.advice))
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
/// path.
#[pyfunction]
pub fn write_pairs(py: Python, folder: PathBuf, lines: Vec<String>) -> PyResult<PathBuf> {
    work(py, || dsokr::write_pairs(&folder, &lines))
}

fn processor(device: &str) -> Result<Processor, Failure> {
    device.parse().map_err(|error: String| Failure::argument("device", error))
}

/// Tells the lines of the log, and logs how far the training is.
struct Progress<'a>(&'a Callback);

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
            self.0.tell(text);
        }
    }
}
