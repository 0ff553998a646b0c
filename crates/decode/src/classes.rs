use std::borrow::Cow;
use std::ops::Range;

use dsokr_basis::store::Array;

/// Candidates grouped by the distinct row that they share.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Classes {
    /// Each of so many candidates has the row of its own number.
    Single(usize),
    /// Rows of any number of candidates.
    Shared(Shared),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shared {
    /// Row of each candidate.
    of: Vec<u32>,
    /// The candidates of row r: `members[offsets[r]..offsets[r + 1]]`, ascending.
    offsets: Array<u64>,
    members: Array<u32>,
}

impl Classes {
    /// Groups candidates by the rows `0..rows` that `of` gives them.
    pub(crate) fn new(of: Vec<u32>, rows: usize) -> Self {
        if rows == of.len() && of.iter().copied().eq(0..) {
            return Self::Single(rows);
        }
        let mut offsets = vec![0u64; rows + 1];
        of.iter().for_each(|&row| offsets[row as usize + 1] += 1);
        (0..rows).for_each(|row| offsets[row + 1] += offsets[row]);
        let (mut next, mut members) = (offsets.clone(), vec![0; of.len()]);
        for (candidate, &row) in (0..).zip(&of) {
            let next = &mut next[row as usize];
            members[*next as usize] = candidate;
            *next += 1;
        }
        Self::Shared(Shared { of, offsets: offsets.into(), members: members.into() })
    }

    /// The groups of `count` candidates that a file holds, or what is wrong with them.
    pub(crate) fn stored(
        offsets: Array<u64>,
        members: Array<u32>,
        rows: usize,
        count: usize,
    ) -> Result<Self, String> {
        const NONE: u32 = u32::MAX;
        if offsets.len() != rows + 1 || members.len() != count {
            return Err(format!(
                "{} row offsets and {} members for {rows} rows and {count} ids",
                offsets.len(),
                members.len()
            ));
        }
        let mut of = vec![NONE; count];
        for row in 0..rows {
            let range = offsets[row] as usize..offsets[row + 1] as usize;
            let Some(listed) = members.get(range) else {
                return Err(format!("row offsets {row} and {} are out of order", row + 1));
            };
            if listed.is_empty() {
                return Err(format!("row {row} has no members"));
            }
            if let Some(pair) = listed.windows(2).find(|pair| pair[1] <= pair[0]) {
                return Err(format!("row {row} has the member {} behind {}", pair[1], pair[0]));
            }
            for &member in listed {
                match of.get_mut(member as usize) {
                    Some(of) if *of == NONE => *of = row as u32,
                    _ => return Err(format!("row {row} has the member {member}")),
                }
            }
        }
        match of.iter().position(|&row| row == NONE) {
            Some(candidate) => Err(format!("candidate {candidate} belongs to no row")),
            None if rows == count && of.iter().copied().eq(0..) => Ok(Self::Single(rows)),
            None => Ok(Self::Shared(Shared { of, offsets, members })),
        }
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::Single(rows) => *rows,
            Self::Shared(shared) => shared.offsets.len() - 1,
        }
    }

    /// Row of a candidate.
    pub(crate) fn of(&self, candidate: usize) -> u32 {
        match self {
            Self::Single(_) => candidate as u32,
            Self::Shared(shared) => shared.of[candidate],
        }
    }

    /// How many candidates share each of some rows.
    pub(crate) fn counts(&self, rows: Range<usize>) -> Vec<u32> {
        match self {
            Self::Single(_) => vec![1; rows.len()],
            Self::Shared(Shared { offsets, .. }) => {
                let ends = offsets[rows.start..=rows.end].windows(2);
                ends.map(|ends| (ends[1] - ends[0]) as u32).collect()
            }
        }
    }

    /// How many candidates share a row.
    pub(crate) fn count(&self, row: usize) -> u32 {
        match self {
            Self::Single(_) => 1,
            Self::Shared(Shared { offsets, .. }) => (offsets[row + 1] - offsets[row]) as u32,
        }
    }

    /// Candidates of consecutive rows, row by row, those of a row ascending.
    pub(crate) fn members(&self, rows: Range<usize>) -> Cow<'_, [u32]> {
        match self {
            Self::Single(_) => (rows.start as u32..rows.end as u32).collect(),
            Self::Shared(Shared { offsets, members, .. }) => {
                members[offsets[rows.start] as usize..offsets[rows.end] as usize].into()
            }
        }
    }

    /// Where the candidates of each row start in the list of all, and where the last ends.
    pub(crate) fn offsets(&self) -> Cow<'_, [u64]> {
        match self {
            Self::Single(rows) => (0..=*rows as u64).collect(),
            Self::Shared(shared) => shared.offsets[..].into(),
        }
    }
}
