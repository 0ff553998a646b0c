//! Events of the library as records of the logger `dsokr` of Python's `logging`.

use std::fmt::{Debug, Write};

use pyo3::prelude::*;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// The logger.
const NAME: &str = "dsokr";

/// Passes events on, from information upwards.
struct Logging;

/// From now on events are records. A subscriber that another module has set stays.
pub fn start() {
    // the module is loaded a second time
    let _ = tracing::subscriber::set_global_default(Logging);
}

impl Subscriber for Logging {
    fn enabled(&self, of: &Metadata) -> bool {
        *of.level() <= Level::INFO && of.target().starts_with(NAME)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::INFO)
    }

    fn new_span(&self, _: &Attributes) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event) {
        // none is heard while the interpreter ends
        Python::try_attach(|py| {
            if let Err(error) = log(py, event) {
                error.write_unraisable(py, None);
            }
        });
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn log(py: Python, event: &Event) -> PyResult<()> {
    let level = match *event.metadata().level() {
        Level::ERROR => 40,
        Level::WARN => 30,
        _ => 20,
    };
    let logger = py.import("logging")?.call_method1("getLogger", (NAME,))?;
    if !logger.call_method1("isEnabledFor", (level,))?.is_truthy()? {
        return Ok(());
    }
    let mut text = Text::default();
    event.record(&mut text);
    let text = text.message + &text.fields;
    logger.call_method1("log", (level, "%s", text)).map(drop)
}

/// An event as the command writes it: the message, and the fields after it.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // a String takes everything
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}
