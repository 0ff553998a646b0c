//! The command `dsokr`, for programs with a learner of their own too. Results go to standard output, progress and
//! logs to standard error. The exit code is 0 for success, 1 for a failed run, 2 for a wrong request, and 128 + n where
//! signal n has ended the work.
//!
//! A program of three lines is the whole command, with a kind of `[encoder]` that is not built in; see
//! `examples/custom_predictor.rs`:
//!
//! ```
//! # use dsokr::config::KernelMachineConfig as MyConfig;
//! fn main() -> std::process::ExitCode {
//! # if false {
//!     dsokr::cli::main_with(&[dsokr::cli::kind::<MyConfig>("mine")])
//! # } else { std::process::ExitCode::SUCCESS }
//! }
//! ```

mod allocation;
mod answers;
mod arguments;
mod candidates;
mod compare;
mod config_reference;
mod cv;
mod demo;
mod embed;
mod evaluate;
mod evaluation;
mod export;
#[cfg(feature = "fetch")]
mod fetch;
mod hints;
mod init;
mod log;
#[cfg(feature = "mpi")]
pub mod mpi;
mod output;
mod plot;
mod predict;
mod progress;
mod queries;
mod quickstart;
mod rank;
mod report;
mod score;
mod search;
#[cfg(feature = "serve")]
mod serve;
mod signals;
mod sketch;
mod sweep;
mod train;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use dsokr_core::Processes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, ensure};
use crate::learners::learner::{Learner, register};
use output::{NAME, print_error};

pub use allocation::Allocator;

/// Deep Sketched Output Kernel Regression: trains models that predict structured objects.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Only print warnings on standard error.
    // behind the arguments of the subcommand, before --help
    #[arg(long, short, global = true, display_order = 998)]
    quiet: bool,
}

/// The subcommands: variant, module, and whether several processes can share the work, which `run` is given then.
macro_rules! commands {
    ($($(#[$when:meta])? $name:ident $module:ident $work:ident;)*) => {
        #[derive(Subcommand)]
        enum Command {
            $($(#[$when])? $name($module::Arguments),)*
        }

        impl Command {
            fn shares_work(&self) -> bool {
                match self {
                    $($(#[$when])? Self::$name(_) => commands!(@can_share $work),)*
                }
            }

            fn run(&self, processes: &Processes) -> Result<(), Error> {
                match self {
                    $($(#[$when])? Self::$name(arguments) => {
                        commands!(@run $work $module processes arguments)
                    })*
                }
            }
        }
    };
    (@can_share shared) => { true };
    (@can_share alone) => { false };
    (@run shared $module:ident $processes:ident $arguments:ident) => {
        $module::run($processes, $arguments)
    };
    (@run alone $module:ident $processes:ident $arguments:ident) => {
        $module::run($arguments)
    };
}

commands! {
    Demo demo alone;
    Quickstart quickstart alone;
    Init init alone;
    Train train shared;
    Evaluate evaluate shared;
    Compare compare alone;
    Search search shared;
    Candidates candidates alone;
    #[cfg(feature = "serve")]
    Serve serve shared;
    Predict predict alone;
    Score score alone;
    Embed embed alone;
    Rank rank alone;
    Sketch sketch shared;
    Sweep sweep alone;
    Cv cv alone;
    Export export alone;
    #[cfg(feature = "fetch")]
    Fetch fetch alone;
    ConfigReference config_reference alone;
}

/// How long a rank that has failed waits for rank 0 to report what all of them have found.
#[cfg(feature = "mpi")]
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(1);

/// A kind of `[encoder]` table that is not built in.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    name: &'static str,
    register: fn(&'static str) -> Result<(), Error>,
}

/// Returns the kind `name`, which stands for the learner `T`, as [`register`] makes it.
pub const fn kind<T>(name: &'static str) -> Kind
where
    T: Learner + Serialize + DeserializeOwned + 'static,
{
    Kind { name, register: register::<T> }
}

/// Runs the command with the arguments of the process, as the `main` of `dsokr` does.
pub fn main() -> ExitCode {
    main_with(&[])
}

/// Runs the command as [`main`] does, with further kinds of `[encoder]` tables. Call it first in `main`: it decides how the process
/// allocates memory, logs and handles signals.
pub fn main_with(kinds: &[Kind]) -> ExitCode {
    dsokr_core::print_arguments_as(output::write_flag);
    keep_pages(true);
    allocation::end_where_refused();
    // Burn restores the moments of an optimiser on its default device, which must not be a GPU that nobody asked for
    #[cfg(any(feature = "wgpu", feature = "cuda"))]
    // SAFETY: no other thread exists yet
    unsafe {
        std::env::set_var("BURN_DEVICE", "flex");
    }
    let mut command = Cli::command().name(NAME.as_str());
    if *NAME != "dsokr" {
        command = command.version(concat!("(dsokr ", env!("CARGO_PKG_VERSION"), ")"));
    }
    let matches = command.try_get_matches_from_mut(std::env::args_os());
    let matches = matches.unwrap_or_else(|error| hints::with_hint(error, &command).exit());
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    #[cfg(feature = "mpi")]
    let job = match crate::cli::mpi::Job::join() {
        Ok(job) => job,
        Err(error) => {
            print_error(format_args!("error: {error}"));
            return ExitCode::FAILURE;
        }
    };
    #[cfg(feature = "mpi")]
    let ranks = job.as_ref().map_or_else(Processes::default, crate::cli::mpi::Job::ranks);
    #[cfg(not(feature = "mpi"))]
    let ranks = Processes::default();
    log::start(ranks.is_first(), cli.quiet);
    signals::listen();
    let work = || {
        allocation::start_threads()?;
        let can_share = ranks.size() == 1 || cli.command.shares_work();
        ensure(can_share, "number of processes", ranks.size(), "1 for this command")?;
        kinds.iter().try_for_each(|kind| (kind.register)(kind.name))?;
        cli.command.run(&ranks)
    };
    match signals::INTERRUPT.scope(work) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let failed = if error.is_request() { 2 } else { 1 };
            let code = signals::code().unwrap_or(failed);
            #[cfg(feature = "mpi")]
            if let Some(job) = &job {
                if !ranks.is_first() {
                    std::thread::sleep(PATIENCE);
                }
                output::clear();
                print_error(format_args!("rank {}: error: {error}", ranks.rank()));
                job.abort(code);
            }
            signals::end_if_received(&error);
            output::clear();
            print_error(format_args!("error: {error}"));
            ExitCode::from(code)
        }
    }
}

/// Keeps freed pages for the next step instead of returning them to the system; `large` is whether also those of blocks
/// of 4 MiB or more.
///
/// A training step frees and asks again for the same large buffers; by default glibc maps them anew
/// every time, and clearing fresh pages then costs more time than the arithmetic. The process's
/// memory stays at its peak, which the next step would need anyway. A kernel machine needs each of its matrices once,
/// and what is freed of one has no room for the next: with the 17,089 pairs of `configs/chebi20-all.toml` its peak is
/// 2.0 GB instead of 2.6, in the same time.
///
/// There are two arenas, and each keeps its own pages. With one arena, threads that read molecules
/// wait for its lock: on ChEBI-20 two threads read them in twelve seconds, and in six with two arenas.
///
/// A command may decide this for its users; a library must not. On systems other than Linux with
/// glibc this does nothing.
pub fn keep_pages(large: bool) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: mallopt(3) may be called at any time; the values are in the ranges that it documents, and it refuses others.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 4 << 20);
        libc::mallopt(libc::M_MMAP_MAX, if large { 0 } else { 1 << 16 });
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
        libc::mallopt(libc::M_TOP_PAD, 64 << 20);
        libc::mallopt(libc::M_ARENA_MAX, 2);
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = large;
}
