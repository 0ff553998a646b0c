use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::Builder;

use super::{Exchange, Processes};
use crate::error::Error;

/// Ranks that are threads of one process.
#[derive(Clone)]
struct Threads {
    rank: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Arc<Mutex<Vec<Receiver<Vec<u8>>>>>,
}

impl Exchange for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn exchange(&self, parts: &[&[u8]]) -> Result<Vec<Vec<u8>>, Error> {
        let ended = |rank: usize| Error::Process { rank, message: "it has ended".into() };
        for (rank, (to, part)) in self.to.iter().zip(parts).enumerate() {
            to.send(part.to_vec()).map_err(|_| ended(rank))?;
        }
        let from = self.from.lock().map_err(|_| ended(self.rank))?;
        let given = from.iter().enumerate();
        given.map(|(rank, from)| from.recv().map_err(|_| ended(rank))).collect()
    }

    fn beside(&self) -> Option<Box<dyn Exchange + Send>> {
        Some(Box::new(self.clone()))
    }
}

/// Calls `work` on `size` threads at once, each of which is one of `size` ranks, and returns the results
/// in the order of ranks: a job of several processes in one, for tests.
///
/// # Panics
/// If `work` panics.
pub fn threads<T: Send>(size: usize, work: impl Fn(&Processes) -> T + Sync) -> Vec<T> {
    let (mut to, mut from): (Vec<Vec<_>>, Vec<Vec<_>>) =
        (0..size).map(|_| (Vec::with_capacity(size), Vec::with_capacity(size))).unzip();
    for to in &mut to {
        for from in &mut from {
            let (sender, receiver) = channel();
            to.push(sender);
            from.push(receiver);
        }
    }
    let work = &work;
    std::thread::scope(|scope| {
        let ranks = to.into_iter().zip(from).enumerate().map(|(rank, (to, from))| {
            let threads = Threads { rank, to, from: Arc::new(Mutex::new(from)) };
            scope.spawn(move || work(&Processes::new(threads)))
        });
        let started: Vec<_> = ranks.collect();
        let ended = started.into_iter().map(|thread| match thread.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect()
    })
}

/// Returns the result of `work` on `size` [`threads`], which is the same on all of them and in a second job.
///
/// # Panics
/// If it is not the same, and if `work` panics.
pub fn same_on_threads<T: PartialEq + Send>(
    size: usize,
    work: impl Fn(&Processes) -> T + Sync,
) -> T {
    let mut all: Vec<T> = (0..2).flat_map(|_| threads(size, &work)).collect();
    assert!(all.iter().all(|rank| *rank == all[0]), "{size} ranks differ");
    all.remove(0)
}

/// Sums over all ranks, which a separate thread takes in turn while this one computes.
///
/// ```
/// use dsokr_core::processes::threads;
///
/// let sums = threads(2, |processes| {
///     let Some(background) = processes.background() else { return Ok(Vec::new()) };
///     background.starter().send(vec![1.0, processes.rank() as f32]).ok();
///     background.receive()
/// });
/// for values in sums {
///     assert_eq!(values?, [2.0, 1.0]);
/// }
/// # Ok::<(), dsokr_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Background {
    rank: usize,
    started: Sender<Vec<f32>>,
    sums: Receiver<Result<Vec<f32>, Error>>,
}

impl Processes {
    /// Returns sums in the background; `None` for a single process, and where only one thread may exchange. All ranks
    /// start the same sums in the same order, and give one another nothing else from the start of a sum until they have
    /// it.
    pub fn background(&self) -> Option<Background> {
        let exchange = self.0.as_ref()?.beside()?;
        let (started, waiting) = channel::<Vec<f32>>();
        let (done, sums) = channel();
        let take_sums = move || {
            let exchange: Box<dyn Exchange> = exchange;
            let processes = Self(Some(Rc::from(exchange)));
            for mut values in waiting {
                let sum = processes.sum(&mut values).map(|()| values);
                if done.send(sum).is_err() {
                    return;
                }
            }
        };
        Builder::new().name("sums".into()).spawn(take_sums).ok()?;
        Some(Background { rank: self.rank(), started, sums })
    }
}

impl Background {
    /// Returns the sender for values whose [sum](Processes::sum) is taken. Any thread may send.
    pub fn starter(&self) -> Sender<Vec<f32>> {
        self.started.clone()
    }

    /// Returns the next sum, in the order in which they were started; waits for it.
    ///
    /// # Errors
    /// The errors of [`Processes::sum`].
    pub fn receive(&self) -> Result<Vec<f32>, Error> {
        let ended = || Error::Process {
            rank: self.rank,
            message: "its thread that takes sums has ended".into(),
        };
        self.sums.recv().map_err(|_| ended())?
    }
}
