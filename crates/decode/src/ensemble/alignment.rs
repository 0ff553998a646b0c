//! The candidates of several models, joined by id.

use std::collections::HashMap;

use dsokr_core::Error;

use super::member::{Member, member_error};
use crate::blocks::CandidateBlocks;
use crate::candidates::Candidates;
use crate::classes::Classes;
use crate::error::check_consistent;

/// The candidates of several models, joined by id: the rows of an ensemble, and the row of each under every member.
///
/// It takes time and memory in proportion to the candidates. Models whose candidates do not change are aligned once,
/// for all ensembles of their predictions ([`Ensemble::aligned`](crate::Ensemble::aligned)).
#[derive(Clone, Debug)]
pub struct Alignment {
    /// The common refinement of the classes of the members: two candidates share a row if they share one under every
    /// member. Rows are numbered as they first appear, in the order of the first member's candidates.
    pub(super) classes: Classes,
    /// Row under member t of row r: `rows[t][r]`.
    pub(super) rows: Vec<Vec<u32>>,
    /// The number of rows of each member.
    distinct: Vec<usize>,
}

impl Alignment {
    /// Aligns the candidates of models, each with the name that errors call it, with those of the first one.
    ///
    /// # Errors
    /// [`Error::TooFew`] for no models; [`Error::Inconsistent`] with the first id that is a candidate of one model and
    /// not of the other.
    pub fn new(members: &[(&str, &Candidates)]) -> Result<Self, Error> {
        let none = || Error::too_few("an ensemble of no members", 1);
        let (first, others) = members.split_first().ok_or_else(none)?;
        let count = first.1.len();
        let mut class: Vec<u32> = (0..count).map(|c| first.1.class_of(c)).collect();
        let mut by_member = vec![class.clone()];
        for member in others {
            let theirs = classes_of(*first, *member)?;
            let mut refined = HashMap::new();
            for (class, &theirs) in class.iter_mut().zip(&theirs) {
                let next = refined.len() as u32;
                *class = *refined.entry((*class, theirs)).or_insert(next);
            }
            by_member.push(theirs);
        }
        let distinct = class.iter().max().map_or(0, |&last| last as usize + 1);
        let classes = Classes::new(class, distinct);
        let first_candidate = |row: usize| classes.members(row..row + 1)[0] as usize;
        let rows = |class_of_member: &Vec<u32>| {
            (0..distinct).map(|row| class_of_member[first_candidate(row)]).collect()
        };
        let rows = by_member.iter().map(rows).collect();
        let distinct = members.iter().map(|(_, candidates)| candidates.rows()).collect();
        Ok(Self { classes, rows, distinct })
    }

    /// Refuses members whose candidates cannot be those that were aligned.
    pub(super) fn check(&self, members: &[Member]) -> Result<(), Error> {
        Error::check_length("aligned members", self.rows.len(), members.len())?;
        for (&expected, member) in self.distinct.iter().zip(members) {
            let distinct = member.candidates.rows();
            let message =
                format_args!("{expected} distinct rows were aligned, {distinct} are given");
            check_consistent(expected == distinct, message)
                .map_err(|error| member_error(member, error))?;
        }
        Ok(())
    }
}

/// Returns the rows under a member of the candidates of the first member, found by id.
fn classes_of(first: (&str, &Candidates), member: (&str, &Candidates)) -> Result<Vec<u32>, Error> {
    let (first_name, ours) = first;
    let (member_name, theirs) = member;
    let differs = |id: &str, has: &str, lacks: &str| {
        Error::inconsistent(format_args!(
            "candidate {id:?} of ensemble member {has:?} is not a candidate of {lacks:?}"
        ))
    };
    let class_of_id = |(at, id): (usize, &str)| {
        // The same order is usual, and then nothing is searched.
        let candidate = if at < theirs.len() && theirs.id(at) == id {
            at
        } else {
            theirs.find(id).ok_or_else(|| differs(id, first_name, member_name))?
        };
        Ok::<u32, Error>(theirs.class_of(candidate))
    };
    let classes = ours.ids().enumerate().map(class_of_id).collect::<Result<_, _>>()?;
    if theirs.len() != ours.len()
        && let Some(id) = theirs.ids().find(|id| ours.find(id).is_none())
    {
        return Err(differs(id, member_name, first_name));
    }
    Ok(classes)
}
