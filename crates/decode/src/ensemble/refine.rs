use std::borrow::Cow;
use std::collections::HashMap;

use super::member::Member;
use crate::classes::Classes;
use crate::{Candidates, Error};

/// The common refinement of the classes of several members.
///
/// Two candidates share a refined row if they share a row under every member. Candidates are those
/// of the first member, in its order; refined rows are numbered as they first appear.
#[derive(Debug)]
pub(super) struct Refinement<'a> {
    /// Candidates by refined row.
    pub classes: Cow<'a, Classes>,
    /// Row under member t of refined row r: `rows[t][r]`.
    pub rows: Vec<Vec<u32>>,
}

impl<'a> Refinement<'a> {
    pub(super) fn of(members: &[Member<'a>]) -> Result<Self, Error> {
        let Some((first, others)) = members.split_first() else {
            return Err(Error::too_few("an ensemble of no members", 1));
        };
        if others.is_empty() {
            let classes = first.candidates.classes();
            let rows = vec![(0..classes.rows() as u32).collect()];
            return Ok(Self { classes: Cow::Borrowed(classes), rows });
        }
        let count = first.candidates.len();
        let mut class: Vec<u32> = (0..count).map(|c| first.candidates.class_of(c)).collect();
        let mut by_member = vec![class.clone()];
        for member in others {
            let theirs = classes_of(first, member)?;
            let mut refined = HashMap::new();
            for (class, &theirs) in class.iter_mut().zip(&theirs) {
                let next = refined.len() as u32;
                *class = *refined.entry((*class, theirs)).or_insert(next);
            }
            by_member.push(theirs);
        }
        let distinct = class.iter().max().map_or(0, |&last| last as usize + 1);
        let classes = Classes::new(class, distinct);
        let row = |of: &Vec<u32>, row: usize| of[classes.members(row..row + 1)[0] as usize];
        let rows = |of| (0..distinct).map(|at| row(of, at)).collect();
        Ok(Self { rows: by_member.iter().map(rows).collect(), classes: Cow::Owned(classes) })
    }
}

/// The rows under a member of the candidates of the first member, found by id.
fn classes_of(first: &Member, member: &Member) -> Result<Vec<u32>, Error> {
    let (ours, theirs): (&Candidates, &Candidates) = (first.candidates, member.candidates);
    let differs = |id: &str, has: &Member, lacks: &Member| {
        Error::Inconsistent(format!(
            "candidate {id:?} of ensemble member {:?} is not a candidate of {:?}",
            has.name, lacks.name
        ))
    };
    let of = |(at, id): (usize, &str)| {
        // The same order is usual, and then nothing is searched.
        let candidate = match at < theirs.len() && theirs.id(at) == id {
            true => at,
            false => theirs.find(id).ok_or_else(|| differs(id, first, member))?,
        };
        Ok::<u32, Error>(theirs.class_of(candidate))
    };
    let classes = ours.ids().enumerate().map(of).collect::<Result<_, _>>()?;
    match theirs.ids().find(|id| ours.find(id).is_none()) {
        // Ids are unique, so that as many of them are the same ones.
        Some(id) if theirs.len() != ours.len() => Err(differs(id, member, first)),
        _ => Ok(classes),
    }
}
