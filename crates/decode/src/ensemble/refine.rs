use std::collections::HashMap;

use super::Member;
use crate::{Candidates, Error};

/// The common refinement of the classes of several members.
///
/// Two candidates share a refined row if they share a row under every member. Candidates are those
/// of the first member, in its order; refined rows are numbered as they first appear.
#[derive(Debug)]
pub(super) struct Refinement {
    /// Refined row of each candidate.
    pub class: Vec<u32>,
    /// Row under member t of refined row r: `rows[t][r]`.
    pub rows: Vec<Vec<u32>>,
    /// Candidates that share each refined row.
    pub multiplicities: Vec<u32>,
    /// The candidates of refined row r: `members[offsets[r]..offsets[r + 1]]`, ascending.
    offsets: Vec<usize>,
    members: Vec<u32>,
}

impl Refinement {
    pub(super) fn of(members: &[Member]) -> Result<Self, Error> {
        let Some((first, others)) = members.split_first() else {
            return Err(Error::NoMembers);
        };
        let count = first.candidates.len();
        let mut class: Vec<u32> = (0..count).map(|c| first.candidates.class_of(c)).collect();
        let mut classes = vec![class.clone()];
        for member in others {
            let theirs = classes_of(first, member)?;
            let mut refined = HashMap::new();
            for (class, &theirs) in class.iter_mut().zip(&theirs) {
                let next = refined.len() as u32;
                *class = *refined.entry((*class, theirs)).or_insert(next);
            }
            classes.push(theirs);
        }
        let distinct = class.iter().max().map_or(0, |&last| last as usize + 1);
        let mut multiplicities = vec![0; distinct];
        class.iter().for_each(|&row| multiplicities[row as usize] += 1);
        let mut offsets = vec![0];
        offsets.extend(multiplicities.iter().scan(0, |end, &count| {
            *end += count as usize;
            Some(*end)
        }));
        let (mut next, mut listed) = (offsets.clone(), vec![0; count]);
        let mut rows = vec![vec![0; distinct]; members.len()];
        for (candidate, &row) in class.iter().enumerate() {
            listed[next[row as usize]] = candidate as u32;
            next[row as usize] += 1;
            for (rows, class) in rows.iter_mut().zip(&classes) {
                rows[row as usize] = class[candidate];
            }
        }
        Ok(Self { class, rows, multiplicities, offsets, members: listed })
    }

    /// Number of refined rows.
    pub(super) fn distinct(&self) -> usize {
        self.multiplicities.len()
    }

    /// Candidates of a refined row, ascending.
    pub(super) fn members(&self, row: usize) -> &[u32] {
        &self.members[self.offsets[row]..self.offsets[row + 1]]
    }
}

/// The rows under a member of the candidates of the first member, found by id.
fn classes_of(first: &Member, member: &Member) -> Result<Vec<u32>, Error> {
    let (ours, theirs): (&Candidates, &Candidates) = (first.candidates, member.candidates);
    let differs = |id: &String, has: &Member, lacks: &Member| Error::MemberCandidates {
        id: id.clone(),
        has: format!("{:?}", has.name),
        lacks: format!("{:?}", lacks.name),
    };
    let of = |(at, id): (usize, &String)| {
        // The same order is usual, and then nothing is searched.
        let candidate = match theirs.ids().get(at) == Some(id) {
            true => at,
            false => theirs.find(id).ok_or_else(|| differs(id, first, member))?,
        };
        Ok::<u32, Error>(theirs.class_of(candidate))
    };
    let classes = ours.ids().iter().enumerate().map(of).collect::<Result<_, _>>()?;
    match theirs.ids().iter().find(|id| ours.find(id).is_none()) {
        // Ids are unique, so that as many of them are the same ones.
        Some(id) if theirs.len() != ours.len() => Err(differs(id, member, first)),
        _ => Ok(classes),
    }
}
