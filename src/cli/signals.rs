//! The signals that ask the command to end: Ctrl-C (SIGINT), SIGTERM and SIGHUP.
//!
//! A training ends after its step and saves its state; a server ends after what has begun. All other work ends at once:
//! what is half written is removed. Standard error says what is saved and how to go on, and the exit code is 128 and the
//! number of the signal, as shells have it. A second signal ends the process at once.

use std::sync::atomic::{AtomicI32, Ordering::SeqCst};
use std::sync::{LazyLock, Mutex, PoisonError};

use dsokr_core::Cancellation;
use dsokr_core::store::end_writing;

use super::output;
use crate::error::Error;
#[cfg(unix)]
use crate::nohup::is_ignored;
use crate::run_dir::remove_made_folders;

/// The exit code of a process that a signal has ended is this and the number of the signal.
const CODE: u8 = 128;

/// The cancellation of the command's work.
pub static INTERRUPT: LazyLock<Cancellation> = LazyLock::new(Cancellation::default);

/// The number of the first signal, 0 before.
static FIRST: AtomicI32 = AtomicI32::new(0);

/// What the first signal does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Response {
    /// It ends the process.
    End,
    /// It cancels the work, which saves its state and ends.
    Cancel,
    /// Nothing: the work waits for signals too, and ends by itself.
    Leave,
}

static RESPONSE: Mutex<Response> = Mutex::new(Response::End);

/// Says what is saved and how to go on.
type Advice = Box<dyn Fn() -> String + Send>;

static ADVICE: Mutex<Option<Advice>> = Mutex::new(None);

/// Held by the thread that ends the process.
static ENDING: Mutex<()> = Mutex::new(());

/// Sets what the first signal does from now on.
pub fn respond(response: Response) {
    *RESPONSE.lock().unwrap_or_else(PoisonError::into_inner) = response;
}

/// Sets what standard error says of what is saved and how to go on, if a signal ends the work from now on.
pub fn advise(advice: impl Fn() -> String + Send + 'static) {
    *ADVICE.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(advice));
}

/// Waits for signals from now on. Under nohup SIGHUP stays ignored; SIGINT, which shells have the jobs of a script in the
/// background ignore, does not, since whoever sends it to this process wants it to end. SIGXFSZ is ignored, so that a file
/// which grows beyond its limit (`ulimit -f`) is an error of the write, as on a full disk.
#[cfg(unix)]
pub fn listen() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    // SAFETY: no handler is set that could run
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter();
    let wanted = wanted.filter(|&signal| signal != SIGHUP || !is_ignored(signal));
    let started = Signals::new(wanted.collect::<Vec<_>>()).and_then(|mut signals| {
        let wait = move || signals.forever().for_each(received);
        std::thread::Builder::new().name("signals".into()).spawn(wait)
    });
    if let Err(error) = started {
        tracing::warn!("a signal will end the command without a word: {error}");
    }
}

/// Waits for Ctrl-C from now on.
#[cfg(not(unix))]
pub fn listen() {
    const INTERRUPTED: i32 = 2;
    if let Err(error) = ctrlc::set_handler(|| received(INTERRUPTED)) {
        tracing::warn!("Ctrl-C will end the command without a word: {error}");
    }
}

fn received(signal: i32) {
    let is_first = FIRST.compare_exchange(0, signal, SeqCst, SeqCst).is_ok();
    let response = *RESPONSE.lock().unwrap_or_else(PoisonError::into_inner);
    match response {
        Response::Cancel if is_first => INTERRUPT.cancel(),
        Response::Leave if is_first => {}
        Response::End | Response::Cancel | Response::Leave => end(signal, None),
    }
}

/// Returns the exit code of work that a signal has ended; none where no signal came.
pub fn code() -> Option<u8> {
    let signal = FIRST.load(SeqCst);
    (signal != 0).then_some(CODE + signal as u8)
}

/// Ends the process if its work has ended with an error because of a signal.
pub fn end_if_received(error: &Error) {
    let signal = FIRST.load(SeqCst);
    if signal != 0 {
        end(signal, interrupted(error));
    }
}

/// Returns how far a training has come, whose state is saved; none of one without a step, and of other work, which was only
/// cancelled.
fn interrupted(error: &Error) -> Option<String> {
    if let Error::Member { name, source } = error {
        return Some(format!("member {name}: {}", interrupted(source)?));
    }
    let Error::Interrupted { step } = error else { return None };
    (*step > 0).then(|| format!("interrupted at step {step}"))
}

/// Ends the process, with what is said of how far the work has come, and the advice for it.
fn end(signal: i32, state: Option<String>) -> ! {
    let ending = ENDING.lock().unwrap_or_else(PoisonError::into_inner);
    end_writing();
    remove_made_folders();
    output::clear();
    let advice = ADVICE.lock().unwrap_or_else(PoisonError::into_inner);
    let advice =
        advice.as_ref().map_or_else(|| "nothing is half written".into(), |advice| advice());
    let name = match signal {
        1 => "SIGHUP",
        15 => "SIGTERM",
        _ => "SIGINT",
    };
    let state = state.map(|state| format!("{state}; ")).unwrap_or_default();
    output::print_error(format_args!("stopped by {name}: {state}{advice}"));
    std::mem::forget(ending);
    std::process::exit(i32::from(CODE) + signal)
}
