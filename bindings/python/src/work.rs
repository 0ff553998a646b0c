//! Work outside of the interpreter's lock.

use std::any::Any;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use dsokr_basis::{Block, Features, RowKind, RowSource};
use dsokr_decode::{CandidateBlocks, ScoreBlock};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::errors::Failure;

/// How long a signal may wait.
const LOOK: Duration = Duration::from_millis(20);

/// Runs `f` on the threads of the package, without the interpreter's lock.
///
/// Meanwhile the caller's thread looks for signals. After one, [`Stop`] tells `f`, whose result is
/// dropped. A panic is an error as any other.
pub fn work<T: Send, E: Into<Failure> + Send>(
    py: Python,
    f: impl FnOnce(&Stop) -> Result<T, E> + Send,
) -> PyResult<T> {
    match run(py, None, f)? {
        (_, Some(signal)) => Err(signal),
        (result, None) => Ok(result?),
    }
}

/// As [`work`], with a callable of Python that hears on the caller's thread what `f` [tells](Stop::tell)
/// it. What it raises stops `f` as a signal does. Why `f` ended is the cause of either exception.
#[cfg(feature = "run")]
pub fn heard<T: Send, E: Into<Failure> + Send>(
    py: Python,
    listener: Option<&Py<PyAny>>,
    f: impl FnOnce(&Stop) -> Result<T, E> + Send,
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
    listener: Option<&Py<PyAny>>,
    f: impl FnOnce(&Stop) -> Result<T, E> + Send,
) -> PyResult<(Result<T, Failure>, Option<PyErr>)> {
    let pool = pool()?;
    let (lines, receive) = channel();
    let stop = Stop { asked: Arc::default(), lines };
    let asked = stop.asked.clone();
    Ok(py.detach(move || {
        thread::scope(|scope| {
            let pool = &pool;
            let worker = scope.spawn(move || pool.install(|| f(&stop)));
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
                asked.store(signal.is_some(), Relaxed);
            }
            let result = match worker.join() {
                Ok(result) => result.map_err(Into::into),
                Err(panic) => Err(internal(panic.as_ref())),
            };
            (result, signal)
        })
    }))
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

/// What a listener hears.
struct Line {
    text: String,
    _heard: Sender<()>,
}

/// Whether the work is to end, and who listens to it.
pub struct Stop {
    asked: Arc<AtomicBool>,
    #[cfg_attr(not(feature = "run"), expect(dead_code, reason = "a training alone tells lines"))]
    lines: Sender<Line>,
}

#[cfg(feature = "run")]
impl Stop {
    /// Whether the work is to end.
    pub fn asked(&self) -> bool {
        self.asked.load(Relaxed)
    }

    /// Tells the listener a text, and waits until it has returned.
    pub fn tell(&self, text: String) {
        let (_heard, returned) = channel();
        if self.lines.send(Line { text, _heard }).is_ok() {
            // nothing is sent: the other end is dropped
            let _ = returned.recv();
        }
    }
}

impl Stop {
    /// The same rows, which end the work that reads them.
    pub fn rows<'a>(&'a self, rows: &'a dyn RowSource) -> Stoppable<'a, dyn RowSource + 'a> {
        Stoppable { stop: self, source: rows }
    }

    /// The same candidates, which end the work that reads them.
    pub fn candidates<'a>(
        &'a self,
        candidates: &'a dyn CandidateBlocks,
    ) -> Stoppable<'a, dyn CandidateBlocks + 'a> {
        Stoppable { stop: self, source: candidates }
    }

    /// # Errors
    /// One that nobody sees, after a signal.
    pub fn check(&self) -> Result<(), dsokr_basis::Error> {
        match self.asked.load(Relaxed) {
            true => Err(dsokr_basis::Error::Unsupported("interrupted".into())),
            false => Ok(()),
        }
    }
}

/// A source of blocks that has none after a signal.
pub struct Stoppable<'a, S: ?Sized> {
    stop: &'a Stop,
    source: &'a S,
}

impl RowSource for Stoppable<'_, dyn RowSource + '_> {
    fn len(&self) -> usize {
        self.source.len()
    }

    fn width(&self) -> usize {
        self.source.width()
    }

    fn kind(&self) -> RowKind {
        self.source.kind()
    }

    fn parts(&self) -> Vec<(RowKind, usize)> {
        self.source.parts()
    }

    fn block(&self, rows: Range<usize>) -> Result<Block<'_>, dsokr_basis::Error> {
        self.stop.check()?;
        self.source.block(rows)
    }

    fn select(&self, indices: &[usize]) -> Result<Features, dsokr_basis::Error> {
        self.stop.check()?;
        self.source.select(indices)
    }
}

impl CandidateBlocks for Stoppable<'_, dyn CandidateBlocks + '_> {
    fn dim(&self) -> usize {
        self.source.dim()
    }

    fn rows(&self) -> usize {
        self.source.rows()
    }

    fn candidates(&self) -> u64 {
        self.source.candidates()
    }

    fn block(&self, rows: Range<usize>) -> Result<ScoreBlock<'_>, dsokr_decode::Error> {
        self.stop.check()?;
        self.source.block(rows)
    }
}
