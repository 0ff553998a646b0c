//! The best molecules that were found for a query.

use std::collections::HashSet;

use rayon::prelude::*;

use super::SearchEnd;
use super::pool::Evaluated;
use crate::config::BeyondConfig;

/// Molecules that one of so many atoms leads to, an atom, before it is known: about what molecules of ten atoms do.
const ATOM_REACH: usize = 40;

/// A molecule with its score for a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Found {
    pub molecule: u32,
    pub score: f64,
    /// Whether it has what is to be kept.
    pub kept: bool,
}

/// The state of the search for one query.
pub(super) struct Beam<'a> {
    z: &'a [f32],
    settings: &'a BeyondConfig,
    /// The best molecules of all.
    best: Vec<Found>,
    /// The best of those that have what is to be kept.
    best_kept: Vec<Found>,
    /// The formula that is kept, where it is that of the first candidate.
    formula: Option<String>,
    seen: HashSet<u32>,
    moved: HashSet<u32>,
    /// The most new molecules that one molecule has led to so far.
    reach: usize,
}

impl<'a> Beam<'a> {
    pub fn new(z: &'a [f32], settings: &'a BeyondConfig) -> Self {
        let (best, best_kept) = (Vec::new(), Vec::new());
        let (seen, moved) = (HashSet::new(), HashSet::new());
        Self { z, settings, best, best_kept, formula: None, seen, moved, reach: 0 }
    }

    /// Number of molecules whose score was computed.
    pub fn evaluated(&self) -> usize {
        self.seen.len()
    }

    /// The best molecule: of those that have what is to be kept, or of all where none has.
    pub fn best(&self) -> Option<Found> {
        self.best_kept.first().or(self.best.first()).copied()
    }

    /// What ended the search.
    pub fn ended(&self, known: &Evaluated) -> SearchEnd {
        match (self.left(), self.unmoved(known).is_empty()) {
            (0, _) => SearchEnd::Evaluations,
            (_, true) => SearchEnd::Neighbours,
            (_, false) => SearchEnd::Rounds,
        }
    }

    /// Number of molecules that may still be scored.
    fn left(&self) -> usize {
        self.settings.evaluations.saturating_sub(self.seen.len())
    }

    /// The molecules of the beam that have not been moved from, the best first.
    fn unmoved(&self, known: &Evaluated) -> Vec<u32> {
        let restricted = self.formula.is_some() || known.is_restricted();
        let kept = self.best_kept.iter().filter(|_| restricted);
        let all = kept.chain(&self.best).map(|found| found.molecule);
        let mut unmoved = Vec::new();
        for molecule in all.filter(|molecule| !self.moved.contains(molecule)) {
            if !unmoved.contains(&molecule) {
                unmoved.push(molecule);
            }
        }
        unmoved
    }

    /// The molecules of the beam to move from now, the best first: those that have not been moved from, as many as a
    /// share of the evaluations that are left allows where `rounds` are left, at least 1. The first time it is one for each
    /// [`ATOM_REACH`] evaluations an atom.
    pub fn next(&mut self, known: &Evaluated, rounds: usize) -> Vec<u32> {
        let left = self.left();
        if left == 0 {
            return Vec::new();
        }
        let mut next = self.unmoved(known);
        let Some(&first) = next.first() else { return next };
        let reach = match self.reach {
            0 => ATOM_REACH * known.atoms(first),
            reach => reach,
        };
        next.truncate((left / rounds / reach.max(1)).max(1));
        self.moved.extend(&next);
        next
    }

    /// Scores molecules for each query, and keeps the best.
    pub fn offer_all(beams: &mut [Self], known: &Evaluated, molecules: &[Vec<u32>]) {
        beams.par_iter_mut().zip(molecules).for_each(|(beam, own)| beam.offer(known, own));
    }

    /// Scores what some molecules lead to, for each query.
    pub fn offer_neighbours(beams: &mut [Self], known: &Evaluated, moved: &[Vec<u32>]) {
        beams.par_iter_mut().zip(moved).for_each(|(beam, moved)| {
            for molecule in moved {
                let neighbours = known.neighbours(*molecule);
                beam.reach = beam.reach.max(neighbours.len());
                beam.offer(known, neighbours);
            }
        });
    }

    fn offer(&mut self, known: &Evaluated, molecules: &[u32]) {
        if self.settings.keeps_first_formula() && self.formula.is_none() {
            self.formula = molecules.first().map(|&first| known.formula(first).to_owned());
        }
        for &molecule in molecules {
            if self.seen.len() >= self.settings.evaluations {
                return;
            }
            if !self.seen.insert(molecule) {
                continue;
            }
            let score = known.score(molecule, self.z, self.settings.unknown);
            let own = self.formula.as_deref();
            let kept = own.is_none_or(|formula| formula == known.formula(molecule))
                && known.is_kept(molecule);
            let found = Found { molecule, score, kept };
            let width = self.settings.beam;
            place(&mut self.best, found, width, known);
            if kept {
                place(&mut self.best_kept, found, width, known);
            }
        }
    }
}

/// Puts a molecule into its place among the best; of equal scores the first by its label comes first.
fn place(best: &mut Vec<Found>, found: Found, width: usize, known: &Evaluated) {
    let before = |own: &Found| {
        let order = found.score.total_cmp(&own.score);
        order.then_with(|| known.label(own.molecule).cmp(known.label(found.molecule))).is_lt()
    };
    let at = best.partition_point(before);
    if at < width {
        best.insert(at, found);
        best.truncate(width);
    }
}
