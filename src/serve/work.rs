//! Computations outside of the threads that read and write connections.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use dsokr_core::{Cancellation, Processes};
use tokio::sync::{Semaphore, oneshot};

use super::Limits;
use super::refusal::Refusal;

/// Workers with a queue of limited length.
pub(super) struct Workers {
    place: Place,
    /// Requests that are computed or wait.
    pub(super) inside: AtomicUsize,
    most: usize,
}

/// The threads that compute requests.
enum Place {
    /// Threads of their own, so many at once.
    Threads(Arc<Semaphore>),
    /// The thread of [`Workers::work`], which computes one after the other with other ranks.
    Ranks(Sender<Option<Task>>, Mutex<Receiver<Option<Task>>>),
}

/// A computation of processes, on the thread that has joined them.
type Task = Box<dyn FnOnce(&Processes) + Send>;

impl Workers {
    /// Creates as many workers as the limits say, or of several ranks one.
    pub(super) fn new(processes: &Processes, limits: &Limits) -> Self {
        let (place, workers) = match processes.size() {
            1 => {
                let workers = limits.workers.max(1);
                (Place::Threads(Arc::new(Semaphore::new(workers))), workers)
            }
            _ => {
                let (sender, receiver) = channel();
                (Place::Ranks(sender, Mutex::new(receiver)), 1)
            }
        };
        Self { place, inside: AtomicUsize::new(0), most: workers + limits.waiting }
    }

    /// Returns whether [`work`](Self::work) computes.
    pub(super) fn are_ranks(&self) -> bool {
        matches!(self.place, Place::Ranks(..))
    }

    /// Computes with these processes on this thread, until [`end`](Self::end).
    pub(super) fn work(&self, processes: &Processes) {
        if let Place::Ranks(_, tasks) = &self.place {
            let tasks = tasks.lock().unwrap_or_else(PoisonError::into_inner);
            while let Ok(Some(task)) = tasks.recv() {
                task(processes);
            }
        }
    }

    /// Ends [`work`](Self::work) after what waits.
    pub(super) fn end(&self) {
        if let Place::Ranks(sender, _) = &self.place {
            let _ = sender.send(None);
        }
    }

    /// Returns the result of a computation by the processes that it is given, which is cancelled when nobody waits for it any more: the
    /// client has gone, or the time for the request is over. One of several ranks goes on once it has begun, with the others.
    pub(super) async fn compute<T: Send + 'static>(
        &self,
        compute: impl FnOnce(&Processes) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let cancellation = Cancellation::default();
        let request = Inside(&self.inside, cancellation.clone());
        if request.0.fetch_add(1, Relaxed) >= self.most {
            return Err(Refusal::later("too many requests wait already: try again"));
        }
        let ended = || Refusal::failed("the workers have ended");
        let free = match &self.place {
            Place::Threads(free) => Arc::clone(free),
            Place::Ranks(tasks, _) => {
                let (answer, computed) = oneshot::channel();
                let task = move |processes: &Processes| {
                    if !cancellation.is_cancelled() {
                        drop(answer.send(compute(processes)));
                    }
                };
                tasks.send(Some(Box::new(task))).map_err(|_| ended())?;
                return computed.await.unwrap_or_else(|_| Err(ended()));
            }
        };
        let Ok(worker) = free.acquire_owned().await else { return Err(ended()) };
        let computed = tokio::task::spawn_blocking(move || {
            let result = cancellation.scope(|| compute(&Processes::default()));
            drop(worker);
            result
        });
        computed.await.unwrap_or_else(|error| Err(Refusal::failed(error)))
    }
}

/// Computes on threads that give way to answers, and yet get a share of the processors' time beside other work; on systems other
/// than Linux, an equal one.
pub(super) fn in_background(compute: impl FnOnce() + Send) {
    /// A third of the time of a thread that answers, where both want a processor; 19 would be a seventieth.
    #[cfg(target_os = "linux")]
    const NICENESS: libc::c_int = 5;
    let lower = |_| {
        // SAFETY: a system call without pointers; in Linux it concerns only the calling thread
        #[cfg(target_os = "linux")]
        unsafe {
            libc::setpriority(libc::PRIO_PROCESS, 0, NICENESS);
        }
    };
    match rayon::ThreadPoolBuilder::new().start_handler(lower).build() {
        Ok(pool) => pool.install(compute),
        Err(_) => compute(),
    }
}

/// A request that is computed or waits. When it ends or its connection is closed, it leaves the queue, and its
/// computation is cancelled, whose result nobody waits for any more.
struct Inside<'a>(&'a AtomicUsize, Cancellation);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
        self.1.cancel();
    }
}
