use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::cancellation::Cancellation;
use crate::error::Error;

/// A stage of long work, from its beginning until it is dropped. It counts how much of the work is done, and ends the
/// work when its [`Cancellation`] asks for that.
///
/// ```
/// use dsokr_core::{Cancellation, Error};
///
/// let cancellation = Cancellation::default();
/// let sum = cancellation.scope(|| {
///     let stage = Cancellation::current().stage("adding numbers", 4);
///     (0..4).try_fold(0, |sum, number| {
///         stage.advance(1)?;
///         // another thread sees the same
///         let reports = cancellation.stages();
///         assert_eq!((reports[0].name.as_str(), reports[0].done), ("adding numbers", number + 1));
///         assert_eq!(reports[0].to_string(), format!("adding numbers {} %", 25 * (number + 1)));
///         Ok::<usize, Error>(sum + number)
///     })
/// })?;
/// assert_eq!(sum, 6);
/// assert!(cancellation.stages().is_empty());
/// # Ok::<(), Error>(())
/// ```
#[derive(derive_more::Debug)]
#[debug("Stage({:?}, {} of {} parts)", counter.name, counter.done.load(Relaxed), counter.parts)]
pub struct Stage {
    counter: Arc<Counter>,
    cancellation: Cancellation,
}

impl Stage {
    pub(crate) fn begin(cancellation: Cancellation, name: Cow<'static, str>, parts: usize) -> Self {
        let counter =
            Arc::new(Counter { name, parts, done: AtomicUsize::new(0), begun: Instant::now() });
        cancellation.running.stages().push(Arc::clone(&counter));
        Self { counter, cancellation }
    }

    /// Counts parts of the work that are done, or begin. It can be called by several threads.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if the end of the work has been requested.
    pub fn advance(&self, parts: usize) -> Result<(), Error> {
        self.cancellation.check()?;
        self.count(parts);
        Ok(())
    }

    /// Counts parts as [`advance`](Self::advance) does, in work that goes on until it is done.
    pub fn count(&self, parts: usize) {
        self.counter.done.fetch_add(parts, Relaxed);
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let mut stages = self.cancellation.running.stages();
        stages.retain(|counter| !Arc::ptr_eq(counter, &self.counter));
    }
}

/// How far a [`Stage`] is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageReport {
    /// What the stage does.
    pub name: String,
    /// The parts that are done or at work.
    pub done: usize,
    /// The number of parts; 0 where it is not known.
    pub parts: usize,
    /// The time since the stage began.
    pub elapsed: Duration,
}

impl fmt::Display for StageReport {
    /// Writes the name, with the share that is done where the number of parts is known: `projection 40 %`.
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let Self { name, done, parts, .. } = self;
        out.write_str(name)?;
        if *parts > 0 {
            write!(out, " {} %", 100 * done.min(parts) / parts)?;
        }
        Ok(())
    }
}

struct Counter {
    name: Cow<'static, str>,
    parts: usize,
    done: AtomicUsize,
    begun: Instant,
}

/// The stages that run, in the order in which they began. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct RunningStages(Arc<Mutex<Vec<Arc<Counter>>>>);

impl RunningStages {
    fn stages(&self) -> MutexGuard<'_, Vec<Arc<Counter>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn reports(&self) -> Vec<StageReport> {
        let report = |counter: &Arc<Counter>| StageReport {
            name: counter.name.to_string(),
            done: counter.done.load(Relaxed),
            parts: counter.parts,
            elapsed: counter.begun.elapsed(),
        };
        self.stages().iter().map(report).collect()
    }
}
