//! Work outside of the interpreter's lock.

use std::any::Any;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use dsokr_basis::Cancellation;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::arrays::Listener;
use crate::errors::Failure;

/// How long a signal may wait.
const LOOK: Duration = Duration::from_millis(20);

/// Runs `f` on the threads of the package, without the interpreter's lock.
///
/// Meanwhile the caller's thread looks for signals. One cancels `f`, whose result is dropped. A panic is
/// an error as any other.
pub fn work<T: Send, E: Into<Failure> + Send>(
    py: Python,
    f: impl FnOnce() -> Result<T, E> + Send,
) -> PyResult<T> {
    match run(py, None, |_| f())? {
        (_, Some(signal)) => Err(signal),
        (result, None) => Ok(result?),
    }
}

/// As [`work`], with a callable of Python that hears on the caller's thread what `f` [tells](Teller::tell)
/// it. What it raises cancels `f` as a signal does. Why `f` ended is the cause of either exception.
#[cfg(feature = "run")]
pub fn heard<T: Send, E: Into<Failure> + Send>(
    py: Python,
    listener: Option<&Listener>,
    f: impl FnOnce(&Teller) -> Result<T, E> + Send,
) -> PyResult<T> {
    let (result, signal) = run(py, listener, f)?;
    match (result, signal) {
        (Ok(_), Some(signal)) => Err(signal),
        (Err(failure), Some(signal)) => {
            signal.set_cause(py, Some(failure.into()));
            Err(signal)
        }
        (result, None) => Ok(result?),
    }
}

/// The result of `f`, and the exception that stopped it.
fn run<T: Send, E: Into<Failure> + Send>(
    py: Python,
    listener: Option<&Listener>,
    f: impl FnOnce(&Teller) -> Result<T, E> + Send,
) -> PyResult<(Result<T, Failure>, Option<PyErr>)> {
    let pool = pool()?;
    let (lines, receive) = channel();
    let (teller, cancellation) = (Teller { lines }, Cancellation::default());
    Ok(py.detach(move || {
        thread::scope(|scope| {
            let (pool, cancellation) = (&pool, &cancellation);
            let worker = scope.spawn(move || pool.install(|| cancellation.scope(|| f(&teller))));
            let mut signal = None;
            loop {
                let raised = match receive.recv_timeout(LOOK) {
                    Err(RecvTimeoutError::Disconnected) => break,
                    _ if signal.is_some() => continue,
                    Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals()),
                    // `_heard` is dropped when the listener has returned
                    Ok(Line { text, _heard }) => Python::attach(|py| match listener {
                        Some(listener) => listener.call1(py, (text,)).map(drop),
                        None => Ok(()),
                    }),
                };
                signal = raised.err();
                if signal.is_some() {
                    cancellation.cancel();
                }
            }
            let result = match worker.join() {
                Ok(result) => result.map_err(Into::into),
                Err(panic) => Err(internal(panic.as_ref())),
            };
            let raised = RAISED.lock().unwrap_or_else(PoisonError::into_inner).take();
            (result, raised.or(signal))
        })
    }))
}

/// The exception of a callable of Python within the work at hand.
static RAISED: Mutex<Option<PyErr>> = Mutex::new(None);

/// Ends the work at hand, which raises this exception.
#[cfg(feature = "run")]
pub fn raise(error: PyErr) {
    RAISED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    Cancellation::current().cancel();
}

fn internal(panic: &(dyn Any + Send)) -> Failure {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    Failure::Other(format!("an error within dsokr, please report it: {text}"))
}

/// The threads of this process. A fork has none of those of its parent, and gets its own.
fn pool() -> Result<Arc<ThreadPool>, Failure> {
    static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);
    let mut held = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((owner, pool)) = &*held
        && *owner == process
    {
        return Ok(pool.clone());
    }
    let pool = ThreadPoolBuilder::new()
        .build()
        .map_err(|error| Failure::Other(format!("threads could not be started: {error}")))?;
    let pool = Arc::new(pool);
    // the threads of a parent process cannot be ended from here
    std::mem::forget(held.replace((process, pool.clone())));
    Ok(pool)
}

/// A line for a listener.
struct Line {
    text: String,
    _heard: Sender<()>,
}

/// Tells the listener texts.
pub struct Teller {
    #[cfg_attr(not(feature = "run"), expect(dead_code, reason = "only a training tells lines"))]
    lines: Sender<Line>,
}

#[cfg(feature = "run")]
impl Teller {
    /// Tells the listener a text, and waits until it has returned.
    pub fn tell(&self, text: String) {
        let (_heard, returned) = channel();
        if self.lines.send(Line { text, _heard }).is_ok() {
            // nothing is sent: the other end is dropped
            let _ = returned.recv();
        }
    }
}
