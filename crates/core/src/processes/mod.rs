//! Processes that work on one task together, and what they exchange.
//!
//! Work that several processes share is given their [`Processes`] as an argument; without it, a process works
//! by itself, whatever thread it is on. Everything here comes down to one operation, [`Exchange::exchange`], which moves
//! bytes and adds nothing up. Sums are taken here, in the order of ranks: they depend on the number of ranks and on
//! nothing else, so the same job gives the same bits.

use std::fmt::Display;
use std::ops::{AddAssign, Range};
use std::rc::Rc;

use bytemuck::{Pod, bytes_of, cast_slice, cast_slice_mut, pod_collect_to_vec, pod_read_unaligned};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;

mod held;
mod rows;
mod threads;

pub use held::Held;
pub use rows::AllRows;
pub use threads::{Background, same_on_threads, threads};

/// The most numbers that are added up at once: the size of a sum's buffer.
const BUCKET: usize = 1 << 20;

/// A way to move bytes between P ranks, numbered from 0.
///
/// All ranks call the same operations in the same order, each on one thread at a time.
pub trait Exchange {
    /// Returns the number of this rank.
    fn rank(&self) -> usize;

    /// Returns the number P of ranks.
    fn size(&self) -> usize;

    /// Returns the local rank: the number of ranks before this one on its machine; by default all ranks are on one.
    fn local_rank(&self) -> usize {
        self.rank()
    }

    /// Gives `parts[i]` to rank i, this rank included, and returns what each rank gives to this one.
    ///
    /// # Errors
    /// [`Error::Process`] for a rank that cannot be reached.
    fn exchange(&self, parts: &[&[u8]]) -> Result<Vec<Vec<u8>>, Error>;

    /// Returns the same exchange for a different thread, which waits without keeping a processor busy. The two are
    /// never called at the same time. `None`, the default, where only one thread may exchange.
    fn beside(&self) -> Option<Box<dyn Exchange + Send>> {
        None
    }

    /// Ends the [`wait`](Self::wait) of all other ranks; called on rank 0. Does nothing by default.
    ///
    /// # Errors
    /// [`Error::Process`] for a rank that cannot be reached.
    fn wake(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Waits until rank 0 calls [`wake`](Self::wake), however long, without keeping a processor busy; called on the other
    /// ranks. Does nothing by default: the exchange that follows waits.
    ///
    /// # Errors
    /// [`Error::Process`] for a rank that cannot be reached.
    fn wait(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// The processes that share some work; by default only this process.
///
/// ```
/// use dsokr_core::processes::{Processes, threads};
///
/// let sums = threads(3, |processes| {
///     let mut values = [1.0f32, processes.rank() as f32];
///     processes.sum(&mut values)?;
///     Ok::<_, dsokr_core::Error>(values)
/// });
/// for values in sums {
///     assert_eq!(values?, [3.0, 0.0 + 1.0 + 2.0]);
/// }
/// assert_eq!(Processes::default().size(), 1);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
///
/// The processes stay on the thread that has joined the job: what calls them is as collective as its caller, and a worker of
/// a pool cannot have them.
///
/// ```compile_fail
/// use dsokr_core::processes::Processes;
///
/// let processes = Processes::default();
/// std::thread::scope(|threads| {
///     threads.spawn(|| processes.rank());
/// });
/// ```
#[derive(Clone, derive_more::Debug, Default)]
#[debug("rank {} of {}", self.rank(), self.size())]
pub struct Processes(Option<Rc<dyn Exchange>>);

impl Processes {
    /// Creates the ranks that an exchange connects.
    pub fn new(exchange: impl Exchange + 'static) -> Self {
        Self(Some(Rc::new(exchange)))
    }

    /// Returns the number of this rank, from 0.
    pub fn rank(&self) -> usize {
        self.0.as_ref().map_or(0, |exchange| exchange.rank())
    }

    /// Returns the number P of ranks.
    pub fn size(&self) -> usize {
        self.0.as_ref().map_or(1, |exchange| exchange.size())
    }

    /// Returns the local rank: the number of ranks before this one on its machine.
    pub fn local_rank(&self) -> usize {
        self.0.as_ref().map_or(0, |exchange| exchange.local_rank())
    }

    /// Returns whether this is rank 0, the only one that writes.
    pub fn is_first(&self) -> bool {
        self.rank() == 0
    }

    /// Returns this rank's part of `n` things: the parts of all ranks follow one another and differ by at most one.
    pub fn part(&self, n: usize) -> Range<usize> {
        part(n, self.rank(), self.size())
    }

    /// Returns this rank's [`part`](Self::part) of `n` rows in blocks of `block` rows: it begins with a whole block.
    pub fn part_in_blocks(&self, n: usize, block: usize) -> Range<usize> {
        let Range { start, end } = self.part(n.div_ceil(block));
        n.min(start * block)..n.min(end * block)
    }

    /// Ends the [`wait`](Self::wait) of the other ranks; called on rank 0.
    ///
    /// # Errors
    /// The errors of [`Exchange::wake`].
    pub fn wake(&self) -> Result<(), Error> {
        self.0.as_ref().map_or(Ok(()), |exchange| exchange.wake())
    }

    /// Waits until rank 0 [wakes](Self::wake) this rank, however long; called on the other ranks.
    ///
    /// # Errors
    /// The errors of [`Exchange::wait`].
    pub fn wait(&self) -> Result<(), Error> {
        self.0.as_ref().map_or(Ok(()), |exchange| exchange.wait())
    }

    /// Returns the bytes of every rank, in the order of ranks.
    ///
    /// # Errors
    /// [`Error::Process`] for a rank that cannot be reached.
    pub fn gather(&self, message: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        match &self.0 {
            Some(exchange) => exchange.exchange(&vec![message; exchange.size()]),
            None => Ok(vec![message.to_vec()]),
        }
    }

    /// Returns the numbers that every rank gives, in the order of ranks.
    ///
    /// # Errors
    /// The errors of [`gather`](Self::gather).
    pub fn gather_numbers<T: Pod>(&self, values: &[T]) -> Result<Vec<Vec<T>>, Error> {
        let numbers = |bytes: Vec<u8>| pod_collect_to_vec(&bytes);
        Ok(self.gather(cast_slice(values))?.into_iter().map(numbers).collect())
    }

    /// Returns the numbers that all ranks give, those of rank 0 first. A single process gets its numbers back.
    ///
    /// Memory is that of the result, of this rank's numbers, and of a few MiB for each rank: they are sent a part at a time.
    ///
    /// # Errors
    /// The errors of [`gather`](Self::gather).
    pub fn join<T: Pod>(&self, part: Vec<T>) -> Result<Vec<T>, Error> {
        if self.size() == 1 {
            return Ok(part);
        }
        let lengths = self.gather_numbers(&[part.len() as u64])?.concat();
        let lengths: Vec<usize> = lengths.into_iter().map(|length| length as usize).collect();
        let mut joined = vec![T::zeroed(); lengths.iter().sum()];
        let longest = lengths.iter().copied().max().unwrap_or_default();
        for start in (0..longest).step_by(BUCKET) {
            let within = |length: usize| start.min(length)..(start + BUCKET).min(length);
            let given = self.gather(cast_slice(&part[within(part.len())]))?;
            let mut first = 0;
            for (rank, (bytes, &length)) in given.iter().zip(&lengths).enumerate() {
                let places = within(length);
                if bytes.len() != places.len() * size_of::<T>() {
                    let message =
                        format!("it gives {} bytes of {} numbers", bytes.len(), places.len());
                    return Err(Error::Process { rank, message });
                }
                let places = first + places.start..first + places.end;
                cast_slice_mut(&mut joined[places]).copy_from_slice(bytes);
                first += length;
            }
        }
        Ok(joined)
    }

    /// Returns this rank's [`part`](Self::part) of each list of `n` numbers that a rank gives, for each rank, in their
    /// order. The rank can then add the numbers up in any order of the lists.
    ///
    /// # Errors
    /// The errors of [`gather`](Self::gather).
    pub fn divide<T: Pod>(&self, lists: Vec<Vec<T>>, n: usize) -> Result<Vec<Vec<Vec<T>>>, Error> {
        let Some(exchange) = &self.0 else { return Ok(vec![lists]) };
        let part = |rank: usize| {
            let part = part(n, rank, self.size());
            lists.iter().flat_map(|list| &list[part.clone()]).copied().collect::<Vec<T>>()
        };
        let parts: Vec<Vec<T>> = (0..self.size()).map(part).collect();
        let parts: Vec<&[u8]> = parts.iter().map(|part| cast_slice(part)).collect();
        let part_bytes = self.part(n).len().max(1) * size_of::<T>();
        let apart =
            |bytes: &Vec<u8>| bytes.chunks_exact(part_bytes).map(pod_collect_to_vec).collect();
        Ok(exchange.exchange(&parts)?.iter().map(apart).collect())
    }

    /// Returns the bytes of rank 0, which `message_of_first` makes there. It is not called on other ranks.
    ///
    /// # Errors
    /// The errors of [`gather`](Self::gather).
    pub fn broadcast(&self, message_of_first: impl FnOnce() -> Vec<u8>) -> Result<Vec<u8>, Error> {
        let message = if self.is_first() { message_of_first() } else { Vec::new() };
        Ok(self.gather(&message)?.into_iter().next().unwrap_or_default())
    }

    /// Returns the number of rank 0.
    ///
    /// # Errors
    /// The errors of [`gather`](Self::gather).
    pub fn broadcast_number<T: Pod>(&self, value: T) -> Result<T, Error> {
        Ok(pod_read_unaligned(&self.broadcast(|| bytes_of(&value).to_vec())?))
    }

    /// Replaces values by their sums over all ranks, taken in the order of ranks. A single process changes nothing.
    ///
    /// Each rank adds up its share of the values and gives the sums to all others, so that a rank sends and
    /// receives about twice the values, however many ranks there are.
    ///
    /// # Errors
    /// The errors of [`gather`](Self::gather); values that are not as many on every rank.
    pub fn sum<T: Pod + AddAssign>(&self, values: &mut [T]) -> Result<(), Error> {
        let Some(exchange) = &self.0 else { return Ok(()) };
        for bucket in values.chunks_mut(BUCKET) {
            let share = bucket.len().div_ceil(exchange.size()).max(1);
            let mut shares: Vec<&[u8]> = bucket.chunks(share).map(cast_slice).collect();
            shares.resize(exchange.size(), &[]);
            let given = exchange.exchange(&shares)?;
            let count = shares[exchange.rank()].len() / size_of::<T>();
            let mut sum: Vec<T> = Vec::with_capacity(count);
            for (rank, part) in given.iter().enumerate() {
                if part.len() != count * size_of::<T>() {
                    let message =
                        format!("it gives {} bytes of a sum of {count} numbers", part.len());
                    return Err(Error::Process { rank, message });
                }
                let part = part.chunks_exact(size_of::<T>()).map(pod_read_unaligned::<T>);
                match rank {
                    0 => sum.extend(part),
                    _ => sum.iter_mut().zip(part).for_each(|(sum, value)| *sum += value),
                }
            }
            let sums = self.gather(cast_slice(&sum))?;
            for (bucket, sums) in bucket.chunks_mut(share).zip(&sums) {
                cast_slice_mut(bucket).copy_from_slice(sums);
            }
        }
        Ok(())
    }

    /// Returns the result of this rank, if no rank has failed: an error of one ends the work of all, which would
    /// wait for it in the next exchange. A single process changes nothing.
    ///
    /// # Errors
    /// Its own; [`Error::Process`] with the first rank that has failed; the errors of [`gather`](Self::gather).
    pub fn agree<T, E: From<Error> + Display>(&self, result: Result<T, E>) -> Result<T, E> {
        if self.size() == 1 {
            return result;
        }
        let message = result.as_ref().err().map_or_else(String::new, E::to_string);
        let all = self.gather(message.as_bytes())?;
        match all.iter().position(|message| !message.is_empty()) {
            Some(rank) if result.is_ok() => {
                let message = String::from_utf8_lossy(&all[rank]).into_owned();
                Err(Error::Process { rank, message }.into())
            }
            Some(_) | None => result,
        }
    }

    /// Returns the result of `work` on rank 0, on all ranks. An error of rank 0 is an error of all.
    ///
    /// # Errors
    /// The errors of [`agree`](Self::agree); a result that cannot be written as JSON or read again.
    pub fn of_first<T, E>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E>
    where
        T: Serialize + DeserializeOwned,
        E: From<Error> + From<serde_json::Error> + Display,
    {
        if self.size() == 1 {
            return work();
        }
        let compute = || {
            let value = self.is_first().then(work).transpose()?;
            let text = value.as_ref().map_or(Ok(Vec::new()), serde_json::to_vec)?;
            Ok((value, text))
        };
        let (value, text) = self.agree::<_, E>(compute())?;
        let text = self.broadcast(|| text)?;
        value.map_or_else(|| Ok(serde_json::from_slice(&text)?), Ok)
    }

    /// Refuses a text that is not the same on every rank, such as a version; `what` names it.
    ///
    /// # Errors
    /// [`Error::Process`] with the first rank that differs from rank 0 and both texts.
    pub fn check_same(&self, what: &str, own_text: &str) -> Result<(), Error> {
        let all = self.gather(own_text.as_bytes())?;
        let Some(rank) = all.iter().position(|text| *text != all[0]) else { return Ok(()) };
        let [differing, first] = [&all[rank], &all[0]].map(|text| String::from_utf8_lossy(text));
        Err(Error::Process {
            rank,
            message: format!("its {what} is {differing}, that of rank 0 is {first}"),
        })
    }
}

/// Returns the part `at` of `parts` parts of `n` things, which follow one another and differ by at most one.
pub fn part(n: usize, at: usize, parts: usize) -> Range<usize> {
    let bound = |at: usize| (n as u128 * at as u128 / parts as u128) as usize;
    bound(at)..bound(at + 1)
}
