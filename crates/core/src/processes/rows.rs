//! Rows that are divided among processes, which rank 0 reads.

use std::fmt::Display;
use std::ops::Range;

use bytemuck::{Pod, bytes_of, cast_slice, pod_collect_to_vec};

use super::Processes;
use crate::error::Error;

/// Returns a range of rows that are divided among processes, those that rank 0 holds first.
pub type AllRows<'a, T> = &'a dyn Fn(Range<usize>) -> Result<Vec<T>, Error>;

impl Processes {
    /// Does `work` on rank 0, which reads rows that are divided among all ranks: `held` returns the numbers of those
    /// rows of a range that a rank holds. The other ranks give theirs until the work is done, and get `None`. Memory is
    /// that of the rows that are read at once. An error of rank 0 is an error of all.
    ///
    /// ```
    /// use dsokr_core::Error;
    /// use dsokr_core::processes::threads;
    ///
    /// let numbers: Vec<u32> = (0..10).collect();
    /// let read = threads(3, |processes| {
    ///     let part = processes.part(10);
    ///     let held = |rows: std::ops::Range<usize>| -> Vec<u32> {
    ///         let rows = rows.start.max(part.start)..rows.end.min(part.end);
    ///         rows.map(|row| numbers[row]).collect()
    ///     };
    ///     processes.with_rows(held, |all| Ok::<_, Error>([all(2..7)?, all(9..10)?]))
    /// });
    /// let read: Vec<_> = read.into_iter().collect::<Result<_, Error>>()?;
    /// assert_eq!(read, [Some([vec![2, 3, 4, 5, 6], vec![9]]), None, None]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of `work`; the errors of [`gather`](Self::gather).
    pub fn with_rows<T: Pod, R, E: From<Error> + Display>(
        &self,
        held: impl Fn(Range<usize>) -> Vec<T>,
        work: impl FnOnce(AllRows<'_, T>) -> Result<R, E>,
    ) -> Result<Option<R>, E> {
        let done = if self.is_first() {
            let all = |rows: Range<usize>| -> Result<Vec<T>, Error> {
                let question = [rows.start as u64, rows.end as u64];
                self.broadcast(|| bytes_of(&question).to_vec())?;
                let given = self.give_to_first(cast_slice(&held(rows)))?;
                let numbers = |bytes: Vec<u8>| -> Vec<T> { pod_collect_to_vec(&bytes) };
                Ok(given.into_iter().map(numbers).collect::<Vec<_>>().concat())
            };
            let done = work(&all);
            // no question ends the work of the others
            let ended = self.broadcast(Vec::new);
            done.and_then(|done| Ok(ended.map(|_| Some(done))?))
        } else {
            self.answer(held).map(|()| None).map_err(E::from)
        };
        self.agree(done)
    }

    /// Gives the rows that this rank holds to rank 0, whenever that reads some.
    fn answer<T: Pod>(&self, held: impl Fn(Range<usize>) -> Vec<T>) -> Result<(), Error> {
        loop {
            let question: Vec<u64> = pod_collect_to_vec(&self.broadcast(Vec::new)?);
            let [start, end] = question[..] else { return Ok(()) };
            self.give_to_first(cast_slice(&held(start as usize..end as usize)))?;
        }
    }

    /// Gives bytes to rank 0, and returns there those of every rank, in the order of ranks; on other ranks empty ones.
    fn give_to_first(&self, message: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let Some(exchange) = &self.0 else { return Ok(vec![message.to_vec()]) };
        let mut parts = vec![b"".as_slice(); exchange.size()];
        parts[0] = message;
        exchange.exchange(&parts)
    }
}
