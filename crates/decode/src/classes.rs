//! Which candidates share a distinct row, so that duplicates are scored once.

use std::borrow::Cow;
use std::fmt::Arguments;
use std::ops::Range;

use dsokr_core::Error;
use dsokr_core::store::Array;

/// Candidates grouped by the distinct row that they share.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Classes {
    /// Number of rows.
    pub rows: usize,
    /// The row of each candidate; empty, as the other lists, where the row of each candidate is its number.
    row_of: Vec<u32>,
    /// The candidates of row r: `members[offsets[r]..offsets[r + 1]]`, ascending.
    offsets: Array<u64>,
    members: Array<u32>,
}

impl Classes {
    /// Creates the classes in which the row of each candidate is its number.
    pub(crate) fn single(rows: usize) -> Self {
        Self { rows, row_of: Vec::new(), offsets: Vec::new().into(), members: Vec::new().into() }
    }

    /// Groups candidates by the rows `0..rows` that `row_of` gives them.
    pub(crate) fn new(row_of: Vec<u32>, rows: usize) -> Self {
        if rows == row_of.len() && row_of.iter().copied().eq(0..) {
            return Self::single(rows);
        }
        let mut offsets = vec![0u64; rows + 1];
        row_of.iter().for_each(|&row| offsets[row as usize + 1] += 1);
        (0..rows).for_each(|row| offsets[row + 1] += offsets[row]);
        let mut next = offsets.clone();
        let mut members = vec![0; row_of.len()];
        for (candidate, &row) in (0..).zip(&row_of) {
            let next = &mut next[row as usize];
            members[*next as usize] = candidate;
            *next += 1;
        }
        Self { rows, row_of, offsets: offsets.into(), members: members.into() }
    }

    /// Creates the groups of `count` candidates that a file holds; `check` refuses what is wrong with them.
    pub(crate) fn stored(
        offsets: Array<u64>,
        members: Array<u32>,
        rows: usize,
        count: usize,
        check: impl Fn(bool, Arguments) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        const NONE: u32 = u32::MAX;
        let starts = offsets.len();
        let listed = members.len();
        let expected = format_args!("for {rows} rows and {count} ids");
        check(
            starts == rows + 1 && listed == count,
            format_args!("{starts} row offsets and {listed} members {expected}"),
        )?;
        let mut row_of = vec![NONE; count];
        for row in 0..rows {
            let row_members = members.get(offsets[row] as usize..offsets[row + 1] as usize);
            let row_members = row_members.unwrap_or_default();
            let next = row + 1;
            check(
                !row_members.is_empty(),
                format_args!("row offsets {row} and {next} hold no members"),
            )?;
            let mut least = 0;
            for &member in row_members {
                let place = row_of.get_mut(member as usize);
                let place = place.filter(|slot| **slot == NONE && member >= least);
                let expected = "expected those of no other row, ascending";
                check(
                    place.is_some(),
                    format_args!("row {row} has the member {member}, {expected}"),
                )?;
                place.into_iter().for_each(|slot| *slot = row as u32);
                least = member + 1;
            }
        }
        let left = row_of.iter().position(|&row| row == NONE);
        let candidate = left.unwrap_or_default();
        check(left.is_none(), format_args!("candidate {candidate} belongs to no row"))?;
        if rows == count && row_of.iter().copied().eq(0..) {
            Ok(Self::single(rows))
        } else {
            Ok(Self { rows, row_of, offsets, members })
        }
    }

    /// Returns whether the row of each candidate is its number.
    pub(crate) fn is_single(&self) -> bool {
        self.row_of.is_empty()
    }

    /// Returns the row of a candidate.
    pub(crate) fn row_of_candidate(&self, candidate: usize) -> u32 {
        if self.is_single() { candidate as u32 } else { self.row_of[candidate] }
    }

    /// Returns how many candidates share each of some rows.
    pub(crate) fn counts(&self, rows: Range<usize>) -> Vec<u32> {
        if self.is_single() {
            return vec![1; rows.len()];
        }
        let ends = self.offsets[rows.start..=rows.end].windows(2);
        ends.map(|ends| (ends[1] - ends[0]) as u32).collect()
    }

    /// Returns how many candidates share a row.
    pub(crate) fn count(&self, row: usize) -> u32 {
        if self.is_single() { 1 } else { (self.offsets[row + 1] - self.offsets[row]) as u32 }
    }

    /// Returns the candidates of consecutive rows, row by row, ascending within a row.
    pub(crate) fn members(&self, rows: Range<usize>) -> Cow<'_, [u32]> {
        if self.is_single() {
            (rows.start as u32..rows.end as u32).collect()
        } else {
            let [start, end] = [rows.start, rows.end].map(|row| self.offsets[row] as usize);
            self.members[start..end].into()
        }
    }

    /// Returns the position at which the candidates of each row start in the list of all, and where the last ends.
    pub(crate) fn offsets(&self) -> Cow<'_, [u64]> {
        if self.is_single() { (0..=self.rows as u64).collect() } else { self.offsets[..].into() }
    }
}
