//! Work outside of the interpreter's lock.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
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
    let pool = pool()?;
    let stop = Stop(AtomicBool::new(false));
    let (result, signal) = py.detach(|| {
        thread::scope(|scope| {
            let (send, receive) = channel();
            let (pool, own) = (&pool, &stop);
            scope.spawn(move || {
                let run = || pool.install(|| f(own));
                let caught = catch_unwind(AssertUnwindSafe(run));
                // the receiver waits for it
                let _ = send.send(caught);
            });
            let mut signal = None;
            loop {
                match receive.recv_timeout(LOOK) {
                    Ok(result) => return (Some(result), signal),
                    Err(RecvTimeoutError::Disconnected) => return (None, signal),
                    Err(RecvTimeoutError::Timeout) if signal.is_none() => {
                        signal = Python::attach(|py| py.check_signals()).err();
                        stop.0.store(signal.is_some(), Relaxed);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
            }
        })
    });
    if let Some(signal) = signal {
        return Err(signal);
    }
    match result {
        Some(Ok(result)) => Ok(result.map_err(Into::into)?),
        Some(Err(panic)) => Err(internal(panic.as_ref()).into()),
        None => Err(Failure::Other("the work ended without a result".into()).into()),
    }
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

/// Whether the work is to end.
pub struct Stop(AtomicBool);

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
        match self.0.load(Relaxed) {
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
