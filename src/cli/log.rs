//! The log on standard error.

use std::fmt;
use std::io::IsTerminal;
use std::sync::atomic::Ordering;
use std::time::Instant;

use dsokr_core::message::{four_digits, number};
use tracing::field::{Field, Visit};
use tracing_subscriber::field::{MakeVisitor, VisitFmt, VisitOutput};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::{DefaultVisitor, Writer};
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::output::{self, print_error};

/// Logs to standard error, as `DSOKR_LOG` says or else what the command has to say. Only the `first` rank speaks.
pub fn start(first: bool, quiet: bool) {
    // other crates log only warnings: GPU engines log every kernel that they tune, and panics that are errors here
    let level = match (first, quiet) {
        (true, false) => "warn,cubecl_common=off,dsokr=info,dsokr_train=info",
        (true, true) => "warn,cubecl_common=off",
        // rank 0 says what all ranks have to say
        (false, _) => "error",
    };
    let default = || level.parse().expect("levels of targets");
    let filter = match std::env::var("DSOKR_LOG").map(|wanted| wanted.parse::<Targets>()) {
        // the finest lines of ureq have all that it sends, such as the token of the hub
        Ok(Ok(filter)) => filter.with_target("ureq", LevelFilter::WARN),
        Ok(Err(error)) => {
            print_error(format_args!("DSOKR_LOG is ignored: {error}"));
            default()
        }
        Err(_) => default(),
    };
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(output::Writer::default)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .with_timer(Elapsed { start: Instant::now() })
        .fmt_fields(ShortNumbers);
    tracing_subscriber::registry().with(lines).with(filter).init();
    output::QUIET.store(quiet, Ordering::Relaxed);
    output::SILENT.store(!first, Ordering::Relaxed);
}

/// The time since the start of the command, in seconds with one decimal.
struct Elapsed {
    start: Instant,
}

impl FormatTime for Elapsed {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        write!(writer, "{:7.1} s", self.start.elapsed().as_secs_f64())
    }
}

/// Fields of a line as by default, but with four digits of numbers.
struct ShortNumbers;

impl<'a> MakeVisitor<Writer<'a>> for ShortNumbers {
    type Visitor = ShortNumbersVisitor<'a>;

    fn make_visitor(&self, writer: Writer<'a>) -> Self::Visitor {
        ShortNumbersVisitor { fields: DefaultVisitor::new(writer, true) }
    }
}

/// Writes the fields of one line.
struct ShortNumbersVisitor<'a> {
    fields: DefaultVisitor<'a>,
}

impl Visit for ShortNumbersVisitor<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.fields.record_debug(field, &format_args!("{}", number(four_digits(value))));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.record_str(field, value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.fields.record_error(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.fields.record_debug(field, value);
    }
}

impl VisitOutput<fmt::Result> for ShortNumbersVisitor<'_> {
    fn finish(self) -> fmt::Result {
        self.fields.finish()
    }
}

impl VisitFmt for ShortNumbersVisitor<'_> {
    fn writer(&mut self) -> &mut dyn fmt::Write {
        self.fields.writer()
    }
}
