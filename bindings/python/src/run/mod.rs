//! Training, and trained models.

mod evaluation;
mod failure;
mod runs;

use std::path::PathBuf;

use dsokr::config::{Config, Override};
use dsokr::device::Processor;
use dsokr::train::{Event, LogLine, Observer};
use dsokr::{Request, Scores};
use pyo3::prelude::*;

use crate::arrays::Listener;
use crate::errors::Failure;
use crate::work::{Teller, heard, work};

pub use evaluation::{Evaluation, compare_runs};
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
) -> PyResult<(PathBuf, Vec<String>)> {
    let parse =
        |text: &String| text.parse().map_err(|error: String| Failure::argument("set", error));
    let overrides = overrides.iter().map(parse).collect::<Result<Vec<Override>, _>>()?;
    let processor = processor(device)?;
    let trained = heard(py, listener.as_ref(), |teller| {
        let config = match &text {
            Some(text) => Config::parse(text, &overrides)?,
            None => Config::load_with(&config, &overrides)?,
        };
        let root = config.data_root(data.as_deref())?;
        let request = Request { config: &config, root, out, resume, processor, force };
        request.run(&mut Progress(teller))
    })?;
    Ok((trained.path, trained.advice))
}

/// Writes the quickstart data and configuration into a folder, and returns the configuration's path.
#[pyfunction]
pub fn quickstart(py: Python, folder: PathBuf) -> PyResult<PathBuf> {
    work(py, || dsokr::quickstart::write(&folder))
}

fn processor(device: &str) -> Result<Processor, Failure> {
    device.parse().map_err(|error: String| Failure::argument("device", error))
}

/// Tells the lines of the log.
struct Progress<'a>(&'a Teller);

impl Observer for Progress<'_> {
    fn event(&mut self, event: &Event) {
        if let Event::Evaluation { line, .. } = event
            && let Some(line) = line.downcast_ref::<LogLine<Scores>>()
            && let Ok(text) = serde_json::to_string(line)
        {
            self.0.tell(text);
        }
    }
}
