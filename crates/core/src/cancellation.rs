mod stage;

use std::any::Any;
use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::LocalKey;
use std::time::Duration;

use crate::error::Error;
use stage::RunningStages;
pub use stage::{Stage, StageReport};

thread_local! {
    static CURRENT: RefCell<Option<Cancellation>> = const { RefCell::new(None) };
}

/// Calls `work` with a value in the place of this thread's, which comes back, also after a panic.
pub(crate) fn scoped<V: Default, T>(
    current: &'static LocalKey<RefCell<V>>,
    value: V,
    work: impl FnOnce() -> T,
) -> T {
    struct Outer<V: Default + 'static>(&'static LocalKey<RefCell<V>>, V);
    impl<V: Default> Drop for Outer<V> {
        fn drop(&mut self) {
            self.0.set(std::mem::take(&mut self.1));
        }
    }
    let _outer = Outer(current, current.replace(value));
    work()
}

/// A request to end long work from another thread or a signal handler. Clones share the request.
///
/// The work is what runs within [`scope`](Self::scope): fits, projections, ranks and predictions of all crates.
/// It checks for the request between blocks of rows, of candidates or of a factorisation, and
/// then returns [`Error::Cancelled`]. A training ends after its step and stores its state.
///
/// ```
/// use dsokr_core::{Cancellation, Error};
///
/// /// Work in blocks, as fits do it.
/// fn fit() -> Result<usize, Error> {
///     let cancellation = Cancellation::current();
///     (0..10).try_fold(0, |sum, block| cancellation.check().map(|()| sum + block))
/// }
///
/// let cancellation = Cancellation::default();
/// let button = cancellation.clone();
/// std::thread::spawn(move || button.cancel()).join().unwrap();
/// assert!(matches!(cancellation.scope(fit), Err(Error::Cancelled)));
/// assert_eq!(fit()?, 45); // outside of the scope
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Cancellation {
    requested: Arc<AtomicBool>,
    cause: Arc<Mutex<Option<Cause>>>,
    pub(crate) running: RunningStages,
}

/// Why work was cancelled: an error of the code that the work has called.
type Cause = Box<dyn Any + Send>;

impl fmt::Debug for Cancellation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("Cancellation").field(&self.is_cancelled()).finish()
    }
}

impl Cancellation {
    /// Requests the end of the work. It is safe to call in a signal handler.
    pub fn cancel(&self) {
        self.requested.store(true, Relaxed);
    }

    /// Requests the end of the work because of an error, which the one who began the work [takes](Self::take_cause).
    /// The first cause is kept.
    ///
    /// It is for code that cannot return an error, such as a pass of an encoder that calls a different language.
    pub fn cancel_because(&self, cause: impl Any + Send) {
        self.cause().get_or_insert_with(|| Box::new(cause));
        self.cancel();
    }

    /// Takes the cause of the end, if it had one.
    pub fn take_cause(&self) -> Option<Box<dyn Any + Send>> {
        self.cause().take()
    }

    fn cause(&self) -> std::sync::MutexGuard<'_, Option<Cause>> {
        self.cause.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a request for a part of the work that is to be finished even if the whole is cancelled. The part has the
    /// same cause and the same stages as the whole.
    pub fn for_part(&self) -> Self {
        Self { requested: Arc::default(), cause: self.cause.clone(), running: self.running.clone() }
    }

    /// Begins a stage of the work, of so many parts; 0 parts where their number is not known. The stage ends when it
    /// is dropped.
    pub fn stage(&self, name: impl Into<Cow<'static, str>>, parts: usize) -> Stage {
        Stage::begin(self.clone(), name.into(), parts)
    }

    /// Returns the stages of the work that run now, in the order in which they began: each contains those behind it. It can be
    /// called by any thread, for example by one that shows progress.
    pub fn stages(&self) -> Vec<StageReport> {
        self.running.reports()
    }

    /// Returns whether the end has been requested.
    pub fn is_cancelled(&self) -> bool {
        self.requested.load(Relaxed)
    }

    /// Checks that the end has not been requested.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if it has been.
    pub fn check(&self) -> Result<(), Error> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Calls `work`, which [`cancel`](Self::cancel) ends. An inner scope hides the outer one.
    ///
    /// The scope covers the calling thread. The parallel loops of all crates take the request on the thread that calls
    /// them, before they are divided, so that every worker checks it. A thread that `work` starts by other means begins
    /// without a scope: it gets the request and opens one.
    ///
    /// ```
    /// use dsokr_core::Cancellation;
    ///
    /// let cancellation = Cancellation::default();
    /// cancellation.cancel();
    /// let heard = cancellation.scope(|| {
    ///     let request = Cancellation::current();
    ///     let part = || request.scope(|| Cancellation::current().is_cancelled());
    ///     std::thread::scope(|threads| threads.spawn(part).join())
    /// });
    /// assert!(heard.unwrap());
    /// ```
    pub fn scope<T>(&self, work: impl FnOnce() -> T) -> T {
        scoped(&CURRENT, Some(self.clone()), work)
    }

    /// Returns the request that the innermost scope of this thread checks for.
    ///
    /// Parallel work takes it before it is divided, and its tasks check what they were given: a worker of a pool has no
    /// scope of its own, and while a thread of a pool waits, it may run tasks of another scope.
    pub fn current() -> Self {
        CURRENT.with_borrow(Clone::clone).unwrap_or_default()
    }

    /// Returns the result of `work`, which cannot check for a request itself.
    ///
    /// Within a scope it runs on a thread of its own. A cancelled caller does not wait for it: its
    /// result is dropped.
    ///
    /// # Errors
    /// [`Error::Cancelled`]; [`Error::Unsupported`] where no thread can be started.
    pub fn wait_for<T: Send + 'static>(
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        /// How long a request may wait.
        const LOOK: Duration = Duration::from_millis(20);
        let Some(scope) = CURRENT.with_borrow(Clone::clone) else {
            return Ok(work());
        };
        let (sender, receiver) = channel();
        let started = std::thread::Builder::new().spawn(move || drop(sender.send(work())));
        let thread = started
            .map_err(|error| Error::Unsupported(format!("no thread could be started: {error}")))?;
        loop {
            match receiver.recv_timeout(LOOK) {
                Ok(done) => return Ok(done),
                Err(RecvTimeoutError::Timeout) => scope.check()?,
                // it has panicked
                Err(RecvTimeoutError::Disconnected) => match thread.join() {
                    Ok(()) => return Err(Error::Cancelled),
                    Err(panic) => std::panic::resume_unwind(panic),
                },
            }
        }
    }
}
