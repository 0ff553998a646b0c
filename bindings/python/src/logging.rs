//! Events of the library as records of the logger `dsokr` of Python's `logging`.

use pyo3::prelude::*;
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::{DefaultVisitor, Writer};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// The name of the logger.
pub const LOGGER: &str = "dsokr";

/// Passes events on, from information upwards.
struct Logging;

/// Makes records of all events from now on. A subscriber that a different module has set stays.
pub fn start() {
    let layer = Logging.with_filter(Targets::new().with_target(LOGGER, LevelFilter::INFO));
    // the module is loaded a second time
    let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer));
}

impl<S: Subscriber> Layer<S> for Logging {
    fn on_event(&self, event: &Event, _: Context<S>) {
        // without an interpreter, at its end, nobody reads records
        Python::try_attach(|py| {
            if let Err(error) = log(py, event) {
                error.write_unraisable(py, None);
            }
        });
    }
}

fn log(py: Python, event: &Event) -> PyResult<()> {
    let level = match *event.metadata().level() {
        Level::ERROR => 40,
        Level::WARN => 30,
        _ => 20,
    };
    let logger = py.import("logging")?.call_method1("getLogger", (LOGGER,))?;
    if !logger.call_method1("isEnabledFor", (level,))?.is_truthy()? {
        return Ok(());
    }
    let mut text = String::new();
    event.record(&mut DefaultVisitor::new(Writer::new(&mut text), true));
    logger.call_method1("log", (level, "%s", text)).map(drop)
}
