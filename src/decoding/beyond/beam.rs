//! The best molecules that were found for a query.

use std::collections::HashSet;

use dsokr_decode::{Further, Member};
use rayon::prelude::*;

use super::SearchEnd;
use super::pool::Evaluated;
use crate::config::BeyondConfig;
use crate::error::Error;

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
    /// The number of the query.
    query: usize,
    /// Its coordinates for each model.
    z: Vec<&'a [f32]>,
    further: &'a Further<'a>,
    settings: &'a BeyondConfig,
    /// The molecules that the search starts with.
    starts: Vec<u32>,
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
    /// How many molecules an answer has.
    count: usize,
}

impl<'a> Beam<'a> {
    /// The search for a query, whose answer has `count` molecules.
    pub fn new(
        query: usize,
        further: &'a Further<'a>,
        settings: &'a BeyondConfig,
        count: usize,
    ) -> Self {
        let own = |member: &'a Member| {
            let dim = member.queries.dim();
            &member.queries.rows()[query * dim..][..dim]
        };
        let z = further.members().iter().map(own).collect();
        Self {
            query,
            z,
            further,
            settings,
            starts: Vec::new(),
            best: Vec::new(),
            best_kept: Vec::new(),
            formula: None,
            seen: HashSet::new(),
            moved: HashSet::new(),
            reach: 0,
            count,
        }
    }

    /// Number of molecules whose score was computed.
    pub fn evaluated(&self) -> usize {
        self.seen.len()
    }

    /// The best molecules, best first, as many as an answer has: of those that have what is to be kept, or of all where none
    /// has. Where models have a second look, of the best and the starts those that are best after it.
    pub fn best(&self, known: &Evaluated) -> Result<Vec<Found>, Error> {
        let kept = !self.best_kept.is_empty();
        let best = if kept { &self.best_kept } else { &self.best };
        if !self.further.looks() {
            return Ok(best.iter().take(self.count).copied().collect());
        }
        // however many an answer has, the first is the same
        let first = best.iter().take(self.settings.beam);
        let mut all: Vec<u32> = first.map(|found| found.molecule).collect();
        let starts = self.starts.iter().filter(|&&own| self.seen.contains(&own));
        for &start in starts.filter(|&&own| self.keeps(known, own) == kept) {
            if !all.contains(&start) {
                all.push(start);
            }
        }
        let outputs = known.candidates(&all)?;
        let less = |model: usize, at: usize| known.penalty(all[at], model, self.settings.unknown);
        let scores = self.further.scores(self.query, &outputs, less)?;
        let mut found = Vec::new();
        for (&molecule, score) in all.iter().zip(scores) {
            place(&mut found, Found { molecule, score, kept }, self.count, known);
        }
        Ok(found)
    }

    /// Whether a molecule has what is to be kept.
    fn keeps(&self, known: &Evaluated, molecule: u32) -> bool {
        let own = self.formula.as_deref();
        own.is_none_or(|formula| formula == known.of(molecule).formula) && known.of(molecule).kept
    }

    /// The reason why the search ended.
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
        let beam = self.settings.beam;
        let kept = self.best_kept.iter().filter(|_| restricted).take(beam);
        let all = kept.chain(self.best.iter().take(beam)).map(|found| found.molecule);
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
            0 => ATOM_REACH * known.of(first).atoms,
            reach => reach,
        };
        next.truncate((left / rounds / reach.max(1)).max(1));
        self.moved.extend(&next);
        next
    }

    /// Scores what the search of each query starts with, and keeps the best.
    pub fn start_all(beams: &mut [Self], known: &Evaluated, starts: Vec<Vec<u32>>) {
        beams.par_iter_mut().zip(starts).for_each(|(beam, own)| {
            beam.offer(known, &own);
            beam.starts = own;
        });
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
            self.formula = molecules.first().map(|&first| known.of(first).formula.clone());
        }
        for &molecule in molecules {
            if self.seen.len() >= self.settings.evaluations {
                return;
            }
            if !self.seen.insert(molecule) {
                continue;
            }
            let scores = known.scores(molecule, &self.z, self.settings.unknown);
            let score = self.further.combined(self.query, scores);
            let kept = self.keeps(known, molecule);
            let found = Found { molecule, score, kept };
            // those to move from, and those that an answer has
            let width = self.settings.beam.max(self.count);
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
        order
            .then_with(|| known.of(own.molecule).label.cmp(&known.of(found.molecule).label))
            .is_lt()
    };
    let at = best.partition_point(before);
    if at < width {
        best.insert(at, found);
        best.truncate(width);
    }
}
