//! Rows that are divided among processes.

use std::ops::Range;

use super::Processes;
use crate::error::Error;

/// Which of n rows a process holds: those of some ranges. What belongs to the others is held by other processes.
///
/// ```
/// use dsokr_core::processes::Held;
///
/// let held = Held::new(10, [2..4, 7..9]);
/// assert_eq!((held.rows(), held.len()), (10, 4));
/// assert_eq!(held.place(&(7..9)), Some(2..4));
/// assert_eq!(held.place(&(3..8)), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    rows: usize,
    /// Ascending, none of them empty or next to the one before.
    ranges: Vec<Range<usize>>,
    /// The number of held rows before each range.
    places: Vec<usize>,
}

impl Held {
    /// Creates a `Held` with the rows of some ranges, of `rows` rows. Each range begins where the one before ends, or
    /// behind it.
    ///
    /// # Panics
    /// Where ranges overlap, descend, or have rows beyond `rows`.
    pub fn new(rows: usize, ranges: impl IntoIterator<Item = Range<usize>>) -> Self {
        let mut held = Self { rows, ranges: Vec::new(), places: Vec::new() };
        let mut len = 0;
        for range in ranges.into_iter().filter(|range| !range.is_empty()) {
            let before = held.ranges.last().map_or(0, |last| last.end);
            assert!(before <= range.start && range.end <= rows, "{range:?} of {rows} rows");
            let place = len;
            len += range.len();
            match held.ranges.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                Some(_) | None => {
                    held.ranges.push(range);
                    held.places.push(place);
                }
            }
        }
        held
    }

    /// Creates a `Held` with all of `rows` rows.
    pub fn all(rows: usize) -> Self {
        Self::new(rows, std::iter::once(0..rows))
    }

    /// Creates a `Held` with this process's [`part`](Processes::part) of each of some groups of rows, which follow one another.
    pub fn parts(processes: &Processes, groups: &[Range<usize>]) -> Self {
        let rows = groups.last().map_or(0, |last| last.end);
        let part = |group: &Range<usize>| {
            let part = processes.part(group.len());
            group.start + part.start..group.start + part.end
        };
        Self::new(rows, groups.iter().map(part))
    }

    /// Returns n, the number of rows that all processes hold together.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of rows that this process holds.
    pub fn len(&self) -> usize {
        self.ranges.iter().map(Range::len).sum()
    }

    /// Returns the part of all rows that this process holds; 1 where there are none.
    pub fn share(&self) -> f64 {
        if self.rows == 0 { 1.0 } else { self.len() as f64 / self.rows as f64 }
    }

    /// Returns whether this process holds no row.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns the rows that this process holds, as ascending ranges.
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.ranges
    }

    /// Returns each row that this process holds, ascending.
    pub fn each(&self) -> impl Iterator<Item = usize> + '_ {
        self.ranges.iter().cloned().flatten()
    }

    /// Returns the places of some rows among those that this process holds; `None` unless it holds all of them.
    pub fn place(&self, rows: &Range<usize>) -> Option<Range<usize>> {
        if rows.is_empty() {
            return Some(0..0);
        }
        let at = self.ranges.partition_point(|range| range.end <= rows.start);
        let range = self.ranges.get(at)?;
        let is_within = range.start <= rows.start && rows.end <= range.end;
        let first = self.places[at] + rows.start.checked_sub(range.start)?;
        is_within.then_some(first..first + rows.len())
    }

    /// Returns which of some rows, in the order given, this process holds.
    pub fn select(&self, rows: &[usize]) -> Self {
        let is_held = |&(_, row): &(usize, &usize)| self.place(&(*row..row + 1)).is_some();
        let held = rows.iter().enumerate().filter(is_held);
        Self::new(rows.len(), held.map(|(at, _)| at..at + 1))
    }

    /// Checks that this process holds all of some rows, which an error calls `what`.
    ///
    /// # Errors
    /// [`Error::Unsupported`].
    pub fn check(&self, what: &str, rows: &Range<usize>) -> Result<(), Error> {
        if self.place(rows).is_some() {
            return Ok(());
        }
        let message = format!(
            "{what} of rows {rows:?}: this process holds those of {} of {} rows, not all of these",
            self.len(),
            self.rows
        );
        Err(Error::Unsupported(message))
    }

    /// Passes a value through all rows in their order: `add` takes the value and the next rows that this process holds, and
    /// every process gets what comes after the last row. The bits are those of one process that holds all rows.
    ///
    /// # Errors
    /// The errors of [`Processes::gather`].
    pub fn fold(
        &self,
        processes: &Processes,
        mut value: Vec<f64>,
        mut add: impl FnMut(&mut [f64], Range<usize>),
    ) -> Result<Vec<f64>, Error> {
        let bounds: Vec<u64> =
            self.ranges.iter().flat_map(|range| [range.start as u64, range.end as u64]).collect();
        let all = processes.gather_numbers(&bounds)?;
        let holds_all = |bounds: &Vec<u64>| *bounds == [0, self.rows as u64];
        if all.iter().all(holds_all) {
            add(&mut value, 0..self.rows);
            return Ok(value);
        }
        let mut steps: Vec<([u64; 2], usize)> = Vec::new();
        for (rank, bounds) in all.iter().enumerate() {
            steps.extend(bounds.as_chunks::<2>().0.iter().map(|&bounds| (bounds, rank)));
        }
        steps.sort_unstable();
        for ([start, end], rank) in steps {
            let is_own = rank == processes.rank();
            if is_own {
                add(&mut value, start as usize..end as usize);
            }
            let passed_on = if is_own { value.as_slice() } else { &[] };
            value = processes.gather_numbers(passed_on)?.concat();
        }
        Ok(value)
    }
}
