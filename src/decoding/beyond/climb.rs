//! The rounds of a search for a block of queries.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use dsokr_core::Cancellation;
use dsokr_decode::{CandidateBlocks, OutOfPoolScores, Queries, RowHit, top_rows};
use dsokr_molecule::{Element, Molecule, Moves};
use rayon::prelude::*;

use super::beam::{Beam, ScoredMolecule};
use super::keep::Restrictions;
use super::nearest::ByDistance;
use super::pool::{MoleculeEvaluator, MoleculePool, as_searched};
use super::{BeyondSearch, FoundMolecule, SearchFacts, SearchedModel};
use crate::error::{Error, ensure};

/// Time of work without a line in the log.
const SILENCE: Duration = Duration::from_secs(2);

/// Candidates that are compared with a molecule that was found.
const COMPARED: usize = 4;

/// A search for some queries.
pub(super) struct Climb<'a> {
    pub search: &'a BeyondSearch,
    pub models: &'a [SearchedModel<'a>],
    pub further: &'a OutOfPoolScores<'a>,
    pub restrictions: &'a Restrictions,
    pub pool: &'a mut MoleculePool,
    /// How many molecules an answer has.
    pub count: usize,
    /// When the log had its last line.
    pub said: Instant,
}

impl Climb<'_> {
    /// Returns the best molecules of a block of queries from the number `first` on, from candidates with these labels.
    pub fn best(
        &mut self,
        first: usize,
        starts: &[Vec<&str>],
    ) -> Result<Vec<Vec<FoundMolecule>>, Error> {
        let Self { search, models, further, restrictions, count, .. } = *self;
        let BeyondSearch { settings, keep, placers, palette, .. } = search;
        let cancellation = Cancellation::current();
        let weight = settings.unknown;
        let evaluator = MoleculeEvaluator { models, placers, keep, palette, weight };
        let read = evaluator.read(self.pool, starts)?;
        let queries = first..first + starts.len();
        let beam = |query| Beam::new(query, further, settings, restrictions, count);
        let mut beams: Vec<Beam> = queries.map(beam).collect();
        Beam::start_all(&mut beams, self.pool, read);
        for left in (1..=settings.rounds).rev() {
            cancellation.check()?;
            let moved = beams.iter_mut().map(|beam| beam.next(self.pool, left));
            let moved: Vec<Vec<u32>> = moved.collect();
            if moved.iter().all(Vec::is_empty) {
                break;
            }
            evaluator.expand(self.pool, &moved)?;
            Beam::offer_neighbours(&mut beams, self.pool, &moved);
            if self.said.elapsed() > SILENCE {
                let scored: usize = beams.iter().map(Beam::evaluated).sum();
                let round = settings.rounds - left + 1;
                let queries = beams.len();
                tracing::info!(round, queries, scored, "search beyond the candidates");
                self.said = Instant::now();
            }
        }
        self.named(&beams)
    }

    /// Returns the best molecules of each beam, each with the candidate nearest to it.
    fn named(&self, beams: &[Beam]) -> Result<Vec<Vec<FoundMolecule>>, Error> {
        let pool = &*self.pool;
        let candidates = self.models[0].candidates;
        let best = beams.par_iter().map(|beam| beam.best(pool));
        let best = best.collect::<Result<Vec<Vec<ScoredMolecule>>, Error>>()?;
        let allowed = "candidates whose labels are SMILES, and at least one evaluation";
        let none = beams.iter().any(|beam| beam.evaluated() == 0);
        ensure(!none, "decoding.beyond", "a query without a start", allowed)?;
        let points = best.iter().flatten().flat_map(|scored| pool.point(scored.molecule));
        let points: Vec<f32> = points.copied().collect();
        let mut near = Vec::new();
        if !points.is_empty() {
            let count = COMPARED.min(candidates.distinct());
            let placed = Queries::new(candidates.dim(), &points)?;
            near = top_rows(&placed, &ByDistance(candidates), count)?;
        }
        let mut near = near.into_iter();
        let named = |(best, beam): (Vec<ScoredMolecule>, &Beam)| {
            let named = best.into_iter().zip(near.by_ref());
            named.map(|(scored, near)| self.predicted(scored, beam, &near)).collect()
        };
        Ok(best.into_iter().zip(beams).map(named).collect())
    }

    /// Returns a molecule of a beam, where `near` are the rows of the candidates nearest to it.
    fn predicted(&self, scored: ScoredMolecule, beam: &Beam, near: &[RowHit]) -> FoundMolecule {
        let pool = &*self.pool;
        let candidates = self.models[0].candidates;
        let label = pool.molecule(scored.molecule).label.as_str();
        let members = near.iter().map(|hit| candidates.members(hit.row as u32));
        let members: Vec<u32> =
            members.flat_map(|equal| equal.iter().take(8).copied().collect::<Vec<_>>()).collect();
        let is_it = |&&at: &&u32| {
            let candidate = Molecule::parse(candidates.label(at as usize));
            candidate
                .is_ok_and(|molecule| as_searched(molecule, &self.search.palette).key() == label)
        };
        let same = members.iter().find(is_it);
        let nearest = same.or(members.first()).map_or(0, |&at| at as usize);
        let facts = SearchFacts {
            in_table: same.is_some(),
            kept: scored.kept,
            unknown: pool.unknown(scored.molecule),
            evaluated: beam.evaluated(),
            ended: beam.ended(pool),
            nearest: candidates.id(nearest).to_owned(),
            nearest_label: candidates.label(nearest).to_owned(),
            difference: difference(candidates.label(nearest), label),
        };
        FoundMolecule { smiles: label.to_owned(), score: scored.score, facts }
    }
}

/// Returns the atoms that the second molecule has in addition, and those that it lacks.
fn difference(from: &str, to: &str) -> String {
    let [Ok(from), Ok(to)] = [from, to].map(Molecule::parse) else { return String::new() };
    let [from, to] = [from, to].map(|molecule| molecule.composition());
    // carbon before hydrogen, as in formulas
    let place = |element: &Element| (*element != Element::C, *element);
    let elements: BTreeSet<_> = from.keys().chain(to.keys()).map(place).collect();
    let more = elements.into_iter().filter_map(|(_, element)| {
        let [before, after] =
            [&from, &to].map(|atoms| atoms.get(&element).map_or(0, |&n| n as i64));
        (before != after).then(|| format!("{} {:+}", element.symbol(), after - before))
    });
    more.collect::<Vec<_>>().join(", ")
}
