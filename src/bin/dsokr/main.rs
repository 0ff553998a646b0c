//! The command `dsokr`, one file a subcommand. Results go to standard output, progress and logs to
//! standard error. The exit code is 0 for success, 1 for a failed run, 2 for a wrong request.

mod answers;
mod candidates;
mod combine;
mod compare;
mod config_reference;
mod embed;
mod evaluate;
mod evaluation;
mod export;
#[cfg(feature = "fetch")]
mod fetch;
#[cfg(feature = "mpi")]
mod job;
mod memory;
mod plot;
mod predict;
mod progress;
mod quickstart;
mod rank;
mod report;
mod search;
#[cfg(feature = "serve")]
mod serve;
mod sketch;
mod sweep;
mod texts;
mod train;

use std::borrow::Cow;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use clap::{Parser, Subcommand};
use dsokr::Error;
use dsokr::basis::Processes;
use tracing_subscriber::EnvFilter;

/// Deep Sketched Output Kernel Regression: trains models that predict structured objects.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Print warnings alone on standard error.
    #[arg(long, short, global = true)]
    quiet: bool,
}

/// The subcommands: variant, module, and whether several processes can share the work.
macro_rules! commands {
    ($($(#[$when:meta])? $name:ident $module:ident $shared:literal;)*) => {
        #[derive(Subcommand)]
        enum Command {
            $($(#[$when])? $name($module::Arguments),)*
        }

        impl Command {
            fn shares_work(&self) -> bool {
                match self {
                    $($(#[$when])? Self::$name(_) => $shared,)*
                }
            }

            fn run(&self) -> Result<(), Error> {
                match self {
                    $($(#[$when])? Self::$name(arguments) => $module::run(arguments),)*
                }
            }
        }
    };
}

commands! {
    Quickstart quickstart false;
    Train train true;
    Evaluate evaluate true;
    Compare compare false;
    Search search true;
    Candidates candidates false;
    #[cfg(feature = "serve")]
    Serve serve true;
    Predict predict false;
    Embed embed false;
    Rank rank false;
    Sketch sketch true;
    Sweep sweep false;
    Export export false;
    #[cfg(feature = "fetch")]
    Fetch fetch false;
    ConfigReference config_reference false;
}

fn main() -> ExitCode {
    memory::keep_pages();
    let cli = Cli::parse();
    #[cfg(feature = "mpi")]
    let job = match dsokr::mpi::Job::join() {
        Ok(job) => job,
        Err(error) => {
            print_error(format_args!("error: {error}"));
            return ExitCode::FAILURE;
        }
    };
    #[cfg(feature = "mpi")]
    let ranks = job.as_ref().map_or_else(Processes::alone, dsokr::mpi::Job::ranks);
    #[cfg(not(feature = "mpi"))]
    let ranks = Processes::alone();
    // other crates log warnings alone: GPU engines log every kernel that they tune
    let level = match (ranks.is_first(), cli.quiet) {
        (true, false) => "warn,dsokr=info,dsokr_train=info",
        (true, true) => "warn",
        // rank 0 says what all ranks have to say
        (false, _) => "error",
    };
    let filter = match std::env::var("DSOKR_LOG") {
        Ok(wanted) => EnvFilter::try_new(wanted).unwrap_or_else(|error| {
            print_error(format_args!("DSOKR_LOG is ignored: {error}"));
            EnvFilter::new(level)
        }),
        Err(_) => EnvFilter::new(level),
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(progress::Writer::default)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .with_timer(tracing_subscriber::fmt::time::uptime())
        .init();
    progress::QUIET.store(cli.quiet, Ordering::Relaxed);
    let work = || match ranks.size() > 1 && !cli.command.shares_work() {
        true => {
            let (found, allowed) = (ranks.size(), "1 for this command");
            Err(Error::value("number of processes", found, allowed))
        }
        false => cli.command.run(),
    };
    match ranks.scope(|| progress::INTERRUPT.scope(work)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let code = if error.is_request() { 2 } else { 1 };
            #[cfg(feature = "mpi")]
            if let Some(job) = &job {
                job::fail(job, &error, code);
            }
            progress::clear();
            print_error(format_args!("error: {error}"));
            ExitCode::from(code)
        }
    }
}

/// Writes a line to standard error, if anybody reads it. What the library calls an argument is a flag here.
fn print_error(line: std::fmt::Arguments) {
    use std::io::Write;
    let line = line.to_string().replace("the argument ", "--");
    drop(writeln!(std::io::stderr(), "{}", visible(&line)));
}

/// A text whose control characters, which terminals obey, are escaped as JSON escapes them, so that JSON stays what
/// it is. Line breaks and tabs stay.
fn visible(text: &str) -> Cow<'_, str> {
    let obeyed = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(obeyed) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| if obeyed(c) { format!("\\u{:04x}", u32::from(c)) } else { c.into() };
    Cow::Owned(text.chars().map(shown).collect())
}

/// Writes a result as exactly one JSON object, on one line.
fn print_json(result: &impl serde::Serialize) -> Result<(), Error> {
    print(&json_line(result)?)
}

/// A value as JSON, on one line.
fn json_line(value: &impl serde::Serialize) -> Result<String, Error> {
    Ok(serde_json::to_string(value).map_err(|e| Error::Serialise(e.to_string()))? + "\n")
}

/// Writes a result to standard output; a closed pipe is not an error.
fn print(text: &str) -> Result<(), Error> {
    print_part(text).map(|_| ())
}

/// Writes a part of a result to standard output; false once its reader has closed the pipe. Of several
/// processes the first one writes.
fn print_part(text: &str) -> Result<bool, Error> {
    use std::io::Write;
    if !Processes::current().is_first() {
        return Ok(true);
    }
    let mut out = std::io::stdout().lock();
    match out.write_all(visible(text).as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(e) => Err(Error::Io { path: "standard output".into(), message: e.to_string() }),
    }
}
