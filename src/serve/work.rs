//! What is computed outside of the threads that read and write connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use tokio::sync::Semaphore;

use super::problem::Problem;

/// Workers with a queue of limited length.
pub(super) struct Workers {
    free: Arc<Semaphore>,
    /// Requests that are computed or wait.
    inside: AtomicUsize,
    most: usize,
}

impl Workers {
    pub(super) fn new(workers: usize, waiting: usize) -> Self {
        let workers = workers.max(1);
        let (free, inside) = (Arc::new(Semaphore::new(workers)), AtomicUsize::new(0));
        Self { free, inside, most: workers + waiting }
    }

    /// Number of requests that are computed or wait.
    pub(super) fn inside(&self) -> usize {
        self.inside.load(Relaxed)
    }

    /// The result of a computation, which goes on to its end once it has begun.
    pub(super) async fn compute<T: Send + 'static>(
        &self,
        compute: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let place = Place(&self.inside);
        if place.0.fetch_add(1, Relaxed) >= self.most {
            return Err(Problem::overloaded());
        }
        let Ok(worker) = Arc::clone(&self.free).acquire_owned().await else {
            return Err(Problem::failed("the workers have ended"));
        };
        let computed = tokio::task::spawn_blocking(move || {
            let result = compute();
            drop(worker);
            result
        });
        computed.await.unwrap_or_else(|error| Err(Problem::failed(error)))
    }
}

/// Computes on threads that get what answers leave of the processors' time; on systems other than Linux, their share.
pub(super) fn in_background(compute: impl FnOnce() + Send) {
    let lower = |_| {
        // SAFETY: a system call without pointers; in Linux it concerns the calling thread alone
        #[cfg(target_os = "linux")]
        unsafe {
            libc::setpriority(libc::PRIO_PROCESS, 0, 19);
        }
    };
    match rayon::ThreadPoolBuilder::new().start_handler(lower).build() {
        Ok(pool) => pool.install(compute),
        Err(_) => compute(),
    }
}

/// A place in the queue, left when the request ends or its connection is closed.
struct Place<'a>(&'a AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}
