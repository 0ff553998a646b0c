//! Work outside of the interpreter's lock.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dsokr_core::Cancellation;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::arrays::Listener;
use crate::errors::Failure;

/// How long a signal may wait.
const LOOK: Duration = Duration::from_millis(20);

/// Runs `f` on the threads that all calls share, without the interpreter's lock.
///
/// Meanwhile the caller's thread looks for signals. One cancels `f`, whose result is dropped. A panic is
/// an error as any other. `f` calls no code of Python, which may wait for a call that needs these threads.
pub fn work<T: Send, E: Into<Failure> + Send>(
    py: Python,
    f: impl FnOnce() -> Result<T, E> + Send,
) -> PyResult<T> {
    finished(run(py, false, None, |_| f())?)
}

/// Works as [`work`] does, for `f` that calls a module of PyTorch: on threads of its own.
#[cfg(feature = "run")]
pub fn work_apart<T: Send, E: Into<Failure> + Send>(
    py: Python,
    f: impl FnOnce() -> Result<T, E> + Send,
) -> PyResult<T> {
    finished(run(py, true, None, |_| f())?)
}

fn finished<T>((result, raised): (Result<T, Failure>, Option<PyErr>)) -> PyResult<T> {
    match raised {
        Some(raised) => Err(raised),
        None => Ok(result?),
    }
}

/// Works as [`work_apart`] does, with a callable of Python that `f` [calls](Callback::call) on the caller's thread. What it raises cancels
/// `f` as a signal does. Why `f` ended is the cause of either exception.
#[cfg(feature = "run")]
pub fn work_with<T: Send, E: Into<Failure> + Send>(
    py: Python,
    listener: Option<&Listener>,
    f: impl FnOnce(&Callback) -> Result<T, E> + Send,
) -> PyResult<T> {
    let (result, raised) = run(py, true, listener, f)?;
    let Some(raised) = raised else { return Ok(result?) };
    if let Err(failure) = result
        && raised.cause(py).is_none()
    {
        raised.set_cause(py, Some(failure.into()));
    }
    Err(raised)
}

/// Returns the result of `f`, and the exception that stopped it.
fn run<T: Send, E: Into<Failure> + Send>(
    py: Python,
    calls_python: bool,
    listener: Option<&Listener>,
    f: impl FnOnce(&Callback) -> Result<T, E> + Send,
) -> PyResult<(Result<T, Failure>, Option<PyErr>)> {
    let threads = Threads::of_call(calls_python)?;
    let (calls, receive) = channel();
    let callback = Callback { calls };
    let cancellation = Cancellation::default();
    // the cancellation of the call whose module or log handler makes this one
    let outer = Cancellation::current();
    Ok(py.detach(move || {
        let done = Mutex::new(None);
        let signal = threads.pool().in_place_scope(|scope| {
            let done = &done;
            let cancellation = &cancellation;
            scope.spawn(move |_| {
                let work = AssertUnwindSafe(|| cancellation.scope(|| f(&callback)));
                *done.lock().unwrap_or_else(PoisonError::into_inner) = Some(catch_unwind(work));
            });
            let mut signal = None;
            loop {
                let raised = match receive.recv_timeout(LOOK) {
                    Err(RecvTimeoutError::Disconnected) => break,
                    _ if signal.is_some() => continue,
                    Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals()),
                    // `_returned` is dropped when the listener has returned
                    Ok(Message { call, _returned }) => Python::attach(|py| match listener {
                        Some(listener) => call(py, listener),
                        None => Ok(()),
                    }),
                };
                signal = raised.err();
                if signal.is_some() || outer.is_cancelled() {
                    cancellation.cancel();
                }
            }
            signal
        });
        let result = match done.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(Ok(result)) => result.map_err(Into::into),
            Some(Err(panic)) => Err(internal(panic.as_ref())),
            None => Err(Failure::Other("the work did not come to its end".into())),
        };
        let cause = cancellation.take_cause().and_then(|cause| cause.downcast().ok());
        (result, cause.map(|raised: Box<PyErr>| *raised).or(signal))
    }))
}

fn internal(panic: &(dyn Any + Send)) -> Failure {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    Failure::Other(format!("an error within dsokr, please report it: {text}"))
}

/// The threads of a call.
struct Threads {
    pools: &'static Pools,
    /// Threads that no other call uses; those that all share where there are none.
    borrowed: Option<ThreadPool>,
}

impl Threads {
    /// Returns the threads of a call. One that waits for code of Python has threads of its own: that code may wait for calls that
    /// need the shared ones, of which there may be only one. So has a call from a thread of a pool, such as that of a log's
    /// handler, which the pool waits for.
    fn of_call(calls_python: bool) -> Result<Self, Failure> {
        let pools = Pools::of_process()?;
        let apart = calls_python || rayon::current_thread_index().is_some();
        let borrowed = if apart { Some(pools.take()?) } else { None };
        Ok(Self { pools, borrowed })
    }

    fn pool(&self) -> &ThreadPool {
        self.borrowed.as_ref().unwrap_or(&self.pools.shared)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.pools.idle().extend(self.borrowed.take());
    }
}

/// Makes what is otherwise made by the first call, of rayon and of the access to NumPy: a fork during that call would wait for
/// it for ever.
pub fn start() {
    crossbeam_epoch::default_collector();
    Python::attach(|py| drop(PyArray1::from_vec(py, vec![0.0_f32]).readonly()));
}

/// The threads of a process. They do not end before the process does, and a call starts none: a thread that ends takes a lock of
/// the standard library, which a fork would inherit.
struct Pools {
    /// The process: a fork has none of the threads of its parent.
    process: u32,
    shared: ThreadPool,
    /// The pools of calls that have ended.
    idle: Mutex<Vec<ThreadPool>>,
}

/// Without a lock, which a fork would inherit from a thread that it does not have.
static POOLS: AtomicPtr<Pools> = AtomicPtr::new(std::ptr::null_mut());

impl Pools {
    /// Returns the pools of this process, made where there are none. A forked child cannot end the pools of its parent.
    fn of_process() -> Result<&'static Self, Failure> {
        let process = std::process::id();
        let current = POOLS.load(Ordering::Acquire);
        // SAFETY: null, or a pointer of `Box::into_raw` below that nobody frees
        if let Some(pools) = unsafe { current.as_ref() }
            && pools.process == process
        {
            return Ok(pools);
        }
        let pools = Self { process, shared: new_pool()?, idle: Mutex::default() };
        let pools = Box::into_raw(Box::new(pools));
        match POOLS.compare_exchange(current, pools, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: as above
            Ok(_) => Ok(unsafe { &*pools }),
            Err(_) => {
                // SAFETY: a thread that was quicker has stored its own; this one was not shared
                drop(unsafe { Box::from_raw(pools) });
                Self::of_process()
            }
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<ThreadPool>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a pool that no call uses.
    fn take(&self) -> Result<ThreadPool, Failure> {
        let idle = self.idle().pop();
        idle.map_or_else(new_pool, Ok)
    }
}

fn new_pool() -> Result<ThreadPool, Failure> {
    ThreadPoolBuilder::new()
        .build()
        .map_err(|error| Failure::Other(format!("threads could not be started: {error}")))
}

/// A call of the callable of Python.
type Call = Box<dyn FnOnce(Python, &Py<PyAny>) -> PyResult<()> + Send>;

/// A call that the thread of the work waits for.
struct Message {
    call: Call,
    _returned: Sender<()>,
}

/// Calls a callable of Python, from the thread of the work.
pub struct Callback {
    #[cfg_attr(not(feature = "run"), expect(dead_code, reason = "only a training has a callable"))]
    calls: Sender<Message>,
}

#[cfg(feature = "run")]
impl Callback {
    /// Has the caller's thread make a call, does something `meanwhile`, and waits until the call has returned.
    pub fn call(
        &self,
        call: impl FnOnce(Python, &Py<PyAny>) -> PyResult<()> + Send + 'static,
        meanwhile: impl FnOnce(),
    ) {
        let (_returned, returned) = channel();
        // what the call holds is dropped where nobody makes it any more
        let is_sent = self.calls.send(Message { call: Box::new(call), _returned }).is_ok();
        meanwhile();
        if is_sent {
            // nothing is sent: the other end is dropped
            let _ = returned.recv();
        }
    }
}
