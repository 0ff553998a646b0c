//! Groups of training rows that held-out predictions leave out together.

use std::ops::Range;
use std::sync::Arc;

use dsokr_core::processes::part;
use dsokr_core::random::{generator, shuffle};
use dsokr_core::{Error, Processes, grouped};

/// The training rows that held-out predictions leave out together: rows that say nearly the same, such as several
/// measurements of one molecule. A prediction for one of them by a model that has the others is no held-out prediction.
///
/// ```
/// use dsokr_machines::{RowGroups, Targets};
///
/// // the first row and the third one; the second row is alone
/// let groups = RowGroups::new(3, &[vec![0, 2], vec![1]])?;
/// let targets = Targets::new(1, [0.5, 2.0, 0.75])?.grouped(&groups)?;
/// # Ok::<(), dsokr_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowGroups {
    /// The number of the group of each row; empty where each row is alone.
    group_of: Arc<[usize]>,
}

impl RowGroups {
    /// Creates the groups of rows that are each left out alone, however many there are.
    pub fn alone() -> Self {
        Self::default()
    }

    /// Creates the groups of so many rows. A row that is in none of them is alone.
    ///
    /// # Errors
    /// [`Error::Value`] for a row beyond the last one, and for a row that is in two groups or twice in one.
    pub fn new(rows: usize, groups: &[Vec<usize>]) -> Result<Self, Error> {
        let mut group_of: Vec<Option<usize>> = vec![None; rows];
        for group in groups {
            let Some(&first) = group.first() else { continue };
            for &row in group {
                let allowed = format_args!("below {rows}, the number of rows");
                Error::ensure(row < rows, "row of a group", row, allowed)?;
                let allowed = "each row in one group, once";
                Error::ensure(group_of[row].is_none(), "row of a group", row, allowed)?;
                group_of[row] = Some(first);
            }
        }
        if groups.iter().all(|group| group.len() < 2) {
            return Ok(Self::alone());
        }
        let group = |(row, first): (usize, Option<usize>)| first.unwrap_or(row);
        Ok(Self { group_of: group_of.into_iter().enumerate().map(group).collect() })
    }

    /// Checks that there is a group for each of `rows` rows, or that each row is alone.
    ///
    /// # Errors
    /// [`Error::Shape`].
    pub fn check(&self, rows: usize) -> Result<(), Error> {
        if self.group_of.is_empty() {
            return Ok(());
        }
        Error::check_length("rows of groups", self.group_of.len(), rows)
    }

    /// Checks that each group of `rows` rows is in the part of one process.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a group that is divided between processes.
    pub fn check_parts(&self, processes: &Processes, rows: usize) -> Result<(), Error> {
        let all: Vec<usize> = (0..rows).collect();
        self.of_part(processes, &all, rows).map(|_| ())
    }

    /// Returns the groups of some rows, in the order given.
    ///
    /// # Panics
    /// With a row that has none.
    pub fn select(&self, rows: &[usize]) -> Self {
        if self.group_of.is_empty() {
            return Self::alone();
        }
        Self { group_of: rows.iter().map(|&row| self.group_of[row]).collect() }
    }

    /// Returns the groups of several rows, in the order of their first rows; rows ascend.
    pub(crate) fn several(&self) -> Vec<Vec<usize>> {
        let mut groups = self.all();
        groups.retain(|group| group.len() > 1);
        groups
    }

    /// Returns all groups, in the order of their first rows; none where each row is alone.
    fn all(&self) -> Vec<Vec<usize>> {
        grouped(&self.group_of)
    }

    /// Returns rows of whole groups, which the seed draws, at most `most` of them, in increasing order; the rows of the
    /// smallest group where none has so few. Returns none where each row is alone.
    pub(crate) fn draw(&self, most: usize, seed: u64) -> Option<Vec<usize>> {
        let mut groups = self.all();
        if groups.iter().all(|group| group.len() < 2) {
            return None;
        }
        shuffle(&mut groups, &mut generator(seed, "rows left out together", 0));
        let mut drawn: Vec<usize> = Vec::new();
        for group in &groups {
            if drawn.len() + group.len() <= most {
                drawn.extend(group);
            }
        }
        if drawn.is_empty() {
            drawn = groups.into_iter().min_by_key(Vec::len).unwrap_or_default();
        }
        drawn.sort_unstable();
        Some(drawn)
    }

    /// Returns the groups of several rows whose rows this process has. These are the groups of the rows `rows` of n, in
    /// increasing order; a group has places among those of them that are in the part of the process.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a group that is divided between processes.
    pub(crate) fn of_part(
        &self,
        processes: &Processes,
        rows: &[usize],
        n: usize,
    ) -> Result<Vec<Vec<usize>>, Error> {
        let groups = self.several();
        let size = processes.size();
        let places = |part: Range<usize>| {
            let place = |bound: usize| rows.partition_point(|&row| row < bound);
            place(part.start)..place(part.end)
        };
        let parts: Vec<Range<usize>> = (0..size).map(|rank| places(part(n, rank, size))).collect();
        let is_within =
            |group: &[usize], part: &Range<usize>| group.iter().all(|place| part.contains(place));
        let is_whole = |group: &Vec<usize>| parts.iter().any(|part| is_within(group, part));
        if !groups.iter().all(is_whole) {
            let message = "rows that are left out together are divided between processes: fit with one process, or \
                           choose lambda without leave-one-out errors";
            return Err(Error::Unsupported(message.into()));
        }
        let rank_part = &parts[processes.rank()];
        let held = groups.into_iter().filter(|group| is_within(group, rank_part));
        let place =
            |group: Vec<usize>| group.into_iter().map(|place| place - rank_part.start).collect();
        Ok(held.map(place).collect())
    }
}

/// Returns groups in their order in runs of at most so many rows; a larger group is a run of its own.
pub(crate) fn runs_of_groups(groups: &[Vec<usize>], most: usize) -> Vec<&[Vec<usize>]> {
    let mut runs = Vec::new();
    let mut start = 0;
    let mut rows = 0;
    for (at, group) in groups.iter().enumerate() {
        if at > start && rows + group.len() > most {
            runs.push(&groups[start..at]);
            start = at;
            rows = 0;
        }
        rows += group.len();
    }
    if start < groups.len() {
        runs.push(&groups[start..]);
    }
    runs
}

/// Returns the groups of rows that follow one another, group by group, as places among them.
pub(crate) fn places_of(groups: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut start = 0;
    let places = groups.iter().map(|group| {
        let first = start;
        start += group.len();
        (first..start).collect()
    });
    places.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_beyond_the_last_one_and_rows_of_two_groups_are_refused() {
        let message = |groups: &[Vec<usize>]| RowGroups::new(4, groups).unwrap_err().to_string();
        let beyond = "row of a group = 9: expected below 4, the number of rows";
        assert_eq!(message(&[vec![9]]), beyond);
        assert_eq!(message(&[vec![0, 1], vec![2, 9]]), beyond);
        let twice = "row of a group = 1: expected each row in one group, once";
        assert_eq!(message(&[vec![0, 1], vec![1, 2]]), twice);
        assert_eq!(message(&[vec![1, 1]]), twice);
        assert_eq!(RowGroups::new(4, &[vec![2], vec![]]).unwrap(), RowGroups::alone());
    }
}
