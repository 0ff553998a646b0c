use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Builder;

use super::{Exchange, Processes};
use crate::Error;

/// Sums over all ranks that a thread of its own takes, one after another, while this one computes.
///
/// ```
/// use dsokr_basis::processes::{Processes, threads};
///
/// let sums = threads(2, || {
///     let ranks = Processes::current();
///     let Some(background) = ranks.background() else { return Ok(Vec::new()) };
///     background.starter().send(vec![1.0, ranks.rank() as f32]).ok();
///     background.receive()
/// });
/// for values in sums {
///     assert_eq!(values?, [2.0, 1.0]);
/// }
/// # Ok::<(), dsokr_basis::Error>(())
/// ```
pub struct Background {
    rank: usize,
    started: Sender<Vec<f32>>,
    sums: Receiver<Result<Vec<f32>, Error>>,
}

impl Processes {
    /// Sums in the background; `None` alone, and where one thread alone may exchange. All ranks start the same sums in
    /// the same order, and give one another nothing else from the start of a sum until they have it.
    pub fn background(&self) -> Option<Background> {
        let exchange = self.0.as_ref()?.beside()?;
        let (started, waiting) = channel::<Vec<f32>>();
        let (done, sums) = channel();
        let take_sums = move || {
            let exchange: Box<dyn Exchange> = exchange;
            let ranks = Self(Some(Rc::from(exchange)));
            for mut values in waiting {
                let sum = ranks.sum(&mut values).map(|()| values);
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
    /// Where values are given whose [sum](Processes::sum) is taken, from any thread.
    pub fn starter(&self) -> Sender<Vec<f32>> {
        self.started.clone()
    }

    /// The next sum, in the order in which they were started; waits for it.
    ///
    /// # Errors
    /// As [`Processes::sum`].
    pub fn receive(&self) -> Result<Vec<f32>, Error> {
        let ended = || Error::Process {
            rank: self.rank,
            message: "its thread that takes sums has ended".into(),
        };
        self.sums.recv().map_err(|_| ended())?
    }
}
