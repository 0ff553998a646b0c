//! The best molecules that were found for a query.

use std::collections::HashSet;

use dsokr_decode::{Member, OutOfPoolScores};
use rayon::prelude::*;

use super::SearchEnd;
use super::keep::Restrictions;
use super::pool::MoleculePool;
use crate::config::BeyondConfig;
use crate::config::candidate_rule::MoleculeRule;
use crate::decoding::filter::FoundFilter;
use crate::error::Error;

/// Molecules that one of so many atoms leads to, an atom, before it is known: about what molecules of ten atoms do.
const ATOM_REACH: usize = 40;

/// A molecule with its score for a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ScoredMolecule {
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
    further: &'a OutOfPoolScores<'a>,
    settings: &'a BeyondConfig,
    /// The molecules that the search starts with.
    starts: Vec<u32>,
    /// The best molecules of all.
    best: Vec<ScoredMolecule>,
    /// The best of those that have what is to be kept.
    best_kept: Vec<ScoredMolecule>,
    /// The formula that is kept, where it is that of the first candidate.
    formula: Option<String>,
    /// The molecules that the rule for its candidates leaves; none where these are all.
    rule: Option<&'a MoleculeRule>,
    /// The filter of candidates.
    filter: Option<&'a FoundFilter>,
    seen: HashSet<u32>,
    moved: HashSet<u32>,
    /// The most new molecules that one molecule has led to so far.
    reach: usize,
    /// How many molecules an answer has.
    count: usize,
}

impl<'a> Beam<'a> {
    /// Creates the search for a query, whose answer has `count` molecules.
    pub fn new(
        query: usize,
        further: &'a OutOfPoolScores<'a>,
        settings: &'a BeyondConfig,
        restrictions: &'a Restrictions,
        count: usize,
    ) -> Self {
        let prediction = |member: &'a Member| {
            let dim = member.queries.dim();
            &member.queries.rows()[query * dim..][..dim]
        };
        let z = further.members().iter().map(prediction).collect();
        Self {
            query,
            z,
            further,
            settings,
            starts: Vec::new(),
            best: Vec::new(),
            best_kept: Vec::new(),
            formula: None,
            rule: restrictions.rules.get(query).and_then(Option::as_ref),
            filter: restrictions.filter.as_ref(),
            seen: HashSet::new(),
            moved: HashSet::new(),
            reach: 0,
            count,
        }
    }

    /// Returns the number of molecules whose score was computed.
    pub fn evaluated(&self) -> usize {
        self.seen.len()
    }

    /// Returns the best molecules, best first, as many as an answer has: of those that have what is to be kept, or of all
    /// where none has, but where candidates are filtered none. Where models have a reranker, of the best and the starts
    /// those that are best after it.
    pub fn best(&self, pool: &MoleculePool) -> Result<Vec<ScoredMolecule>, Error> {
        let kept = !self.best_kept.is_empty();
        if !kept && self.filter.is_some() {
            return Ok(Vec::new());
        }
        let best = if kept { &self.best_kept } else { &self.best };
        if !self.further.reranks() {
            return Ok(best.iter().take(self.count).copied().collect());
        }
        // however many an answer has, the first is the same
        let first = best.iter().take(self.settings.beam);
        let mut all: Vec<u32> = first.map(|scored| scored.molecule).collect();
        let starts = self.starts.iter().filter(|&&start| self.seen.contains(&start));
        for &start in starts.filter(|&&start| self.keeps(pool, start) == kept) {
            if !all.contains(&start) {
                all.push(start);
            }
        }
        let outputs = pool.candidates(&all)?;
        let less = |model: usize, at: usize| pool.penalty(all[at], model, self.settings.unknown);
        let scores = self.further.scores(self.query, &outputs, less)?;
        let mut reranked = Vec::new();
        for (&molecule, score) in all.iter().zip(scores) {
            place(&mut reranked, ScoredMolecule { molecule, score, kept }, self.count, pool);
        }
        Ok(reranked)
    }

    /// Returns whether a molecule has what is to be kept.
    fn keeps(&self, pool: &MoleculePool, molecule: u32) -> bool {
        let required = self.formula.as_deref();
        let molecule = pool.molecule(molecule);
        molecule.kept
            && required.is_none_or(|formula| formula == molecule.formula)
            && self.rule.is_none_or(|rule| rule.holds(molecule.mass, &molecule.formula))
            && self.filter.is_none_or(|filter| filter.holds(&molecule.label))
    }

    /// Returns whether some molecule may lack what is to be kept.
    fn is_restricted(&self, pool: &MoleculePool) -> bool {
        let has_own = self.formula.is_some() || self.rule.is_some() || self.filter.is_some();
        has_own || pool.is_restricted()
    }

    /// Returns the reason why the search ended.
    pub fn ended(&self, pool: &MoleculePool) -> SearchEnd {
        match (self.left(), self.unmoved(pool).is_empty()) {
            (0, _) => SearchEnd::Evaluations,
            (_, true) => SearchEnd::Neighbours,
            (_, false) => SearchEnd::Rounds,
        }
    }

    /// Returns the number of molecules that may still be scored.
    fn left(&self) -> usize {
        self.settings.evaluations.saturating_sub(self.seen.len())
    }

    /// Returns the molecules of the beam that have not been moved from, the best first.
    fn unmoved(&self, pool: &MoleculePool) -> Vec<u32> {
        let restricted = self.is_restricted(pool);
        let beam = self.settings.beam;
        let kept = self.best_kept.iter().filter(|_| restricted).take(beam);
        let all = kept.chain(self.best.iter().take(beam)).map(|scored| scored.molecule);
        let mut unmoved = Vec::new();
        for molecule in all.filter(|molecule| !self.moved.contains(molecule)) {
            if !unmoved.contains(&molecule) {
                unmoved.push(molecule);
            }
        }
        unmoved
    }

    /// Returns the molecules of the beam to move from now, the best first: those that have not been moved from, as many as a
    /// share of the evaluations that are left allows where `rounds` are left, at least 1. The first time it is one for each
    /// [`ATOM_REACH`] evaluations an atom.
    pub fn next(&mut self, pool: &MoleculePool, rounds: usize) -> Vec<u32> {
        let left = self.left();
        if left == 0 {
            return Vec::new();
        }
        let mut next = self.unmoved(pool);
        let Some(&first) = next.first() else { return next };
        let reach = match self.reach {
            0 => ATOM_REACH * pool.molecule(first).atoms,
            reach => reach,
        };
        next.truncate((left / rounds / reach.max(1)).max(1));
        self.moved.extend(&next);
        next
    }

    /// Scores what the search of each query starts with, and keeps the best.
    pub fn start_all(beams: &mut [Self], pool: &MoleculePool, starts: Vec<Vec<u32>>) {
        beams.par_iter_mut().zip(starts).for_each(|(beam, first)| {
            beam.offer(pool, &first);
            beam.starts = first;
        });
    }

    /// Scores what some molecules lead to, for each query.
    pub fn offer_neighbours(beams: &mut [Self], pool: &MoleculePool, moved: &[Vec<u32>]) {
        beams.par_iter_mut().zip(moved).for_each(|(beam, moved)| {
            for molecule in moved {
                let neighbours = pool.neighbours(*molecule);
                beam.reach = beam.reach.max(neighbours.len());
                beam.offer(pool, neighbours);
            }
        });
    }

    fn offer(&mut self, pool: &MoleculePool, molecules: &[u32]) {
        if self.settings.keeps_first_formula() && self.formula.is_none() {
            self.formula = molecules.first().map(|&first| pool.molecule(first).formula.clone());
        }
        for &molecule in molecules {
            if self.seen.len() >= self.settings.evaluations {
                return;
            }
            if !self.seen.insert(molecule) {
                continue;
            }
            let scores = pool.scores(molecule, &self.z, self.settings.unknown);
            let score = self.further.combined(self.query, scores);
            let kept = self.keeps(pool, molecule);
            let scored = ScoredMolecule { molecule, score, kept };
            // molecules to move from, and molecules that an answer has
            let width = self.settings.beam.max(self.count);
            place(&mut self.best, scored, width, pool);
            if kept {
                place(&mut self.best_kept, scored, width, pool);
            }
        }
    }
}

/// Puts a molecule into its place among the best; of equal scores the first by its label comes first.
fn place(
    best: &mut Vec<ScoredMolecule>,
    scored: ScoredMolecule,
    width: usize,
    pool: &MoleculePool,
) {
    let before = |other: &ScoredMolecule| {
        let order = scored.score.total_cmp(&other.score);
        order
            .then_with(|| {
                pool.molecule(other.molecule).label.cmp(&pool.molecule(scored.molecule).label)
            })
            .is_lt()
    };
    let at = best.partition_point(before);
    if at < width {
        best.insert(at, scored);
        best.truncate(width);
    }
}
