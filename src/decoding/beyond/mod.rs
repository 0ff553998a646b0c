//! Decoding by search in the space of molecules: the one with the highest score, whether a table holds it or not.
//!
//! For any molecule c there are features, coordinates ψ̃(c), a constant b(c), and the share u(c) that the basis does not
//! know. The search climbs by [`Moves`] on `⟨z, ψ̃(c)⟩ + b(c) − w u(c)`, combined over the models, from the best
//! candidates. It keeps a beam of the best molecules of each query; a round makes the neighbours of those that have none
//! yet, the best first, as many as its share of the evaluations allows. What was evaluated for one query is known to all.
//! Rerankers choose among the best that were found.

mod beam;
mod keep;
mod nearest;
mod pool;

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use dsokr_core::{Cancellation, Processes};
use dsokr_data::{FittedFeatures, Outputs};
use dsokr_decode::{
    CandidateBlocks, Candidates, Combination, Ensemble, Hit, OutOfPoolScores, PerQuery,
    Pool as CandidatePool, Queries, RowHit, top_rows,
};
use dsokr_molecule::{Element, Molecule, Moves, Palette};
use rayon::prelude::*;
use serde::Serialize;

use self::beam::{Beam, ScoredMolecule};
use self::keep::Keep;
pub(crate) use self::keep::Restrictions;
use self::nearest::ByDistance;
use self::pool::{MoleculeEvaluator, MoleculePool, as_searched};
use crate::config::{BeyondConfig, Checked};
use crate::decoding::filter::FoundFilter;
use crate::error::{Error, ensure, ensure_run};
use crate::run_dir::{FEATURES, held_out};
use crate::targets::OutputSpace;

/// The most candidates whose molecules make the palette of moves.
const PALETTE: usize = 10_000;

/// Bytes of evaluated molecules that a block of queries may need, and that are kept for later queries.
const MEMORY: usize = 1 << 29;

/// The most queries of a block, which make their moves together.
const BLOCK: usize = 32;

/// Labels of candidates that are read at once.
const READ_TOGETHER: usize = 4096;

/// Time of work without a line in the log.
const SILENCE: Duration = Duration::from_secs(2);

/// Candidates that are compared with a molecule that was found.
const COMPARED: usize = 4;

/// Searches molecules beyond the candidates of models.
#[derive(derive_more::Debug)]
#[debug("BeyondSearch({settings:?})")]
pub struct BeyondSearch {
    settings: BeyondConfig,
    keep: Keep,
    /// The candidates that have what is to be kept, ascending, once a query has asked for them.
    holders: OnceLock<Vec<u32>>,
    /// The placer of each model.
    placers: Vec<Placer>,
    palette: Palette,
    /// The molecules that earlier queries have evaluated, except while a search has them.
    molecules: Mutex<MoleculePool>,
}

/// The parts of a model that place new molecules, without its space.
pub(crate) struct Placer {
    fitted: FittedFeatures,
    /// Held-out predictions of unit length, where candidates are corrected for hubs.
    held_out: Option<Vec<f32>>,
}

/// The reason why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub enum SearchEnd {
    /// Converged: no single move from the best molecules improves the score.
    Neighbours,
    /// `decoding.beyond.rounds`.
    Rounds,
    /// `decoding.beyond.evaluations`.
    Evaluations,
}

/// Facts about a search and the output that it found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct SearchFacts {
    /// Whether it is a candidate already.
    pub in_table: bool,
    /// Whether it has what `decoding.beyond` keeps, such as a formula, and what the rule for the query's candidates leaves, such
    /// as the precursor's mass; false where nothing that was found has it.
    pub kept: bool,
    /// The share of it that the basis does not know, from 0 to 1, of several models in the mean; absent where outputs are
    /// not sketched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<f64>,
    /// Number of molecules whose score was computed for this query.
    pub evaluated: usize,
    /// The reason why the search ended.
    pub ended: SearchEnd,
    /// The id of the candidate that is nearest to it in the kernel's feature space.
    pub nearest: String,
    /// The label of that candidate.
    pub nearest_label: String,
    /// The atoms that it has more or fewer of than that candidate, such as `C +1, H +2, O -1`; empty where both have the
    /// same formula, or the candidate is not a SMILES.
    pub difference: String,
}

/// The best molecule for a query, with its score.
pub(crate) struct FoundMolecule {
    pub smiles: String,
    pub score: f64,
    pub facts: SearchFacts,
}

/// A model that molecules are scored by.
#[derive(Clone, Copy)]
pub(crate) struct SearchedModel<'a> {
    pub candidates: &'a Candidates,
    pub space: &'a OutputSpace,
    pub config: &'a Checked,
}

impl Placer {
    /// Creates the placer of a model with the features that it was trained with. `held_out` are predictions for training
    /// inputs by models that were not trained on that pair, which candidates that are corrected for hubs need.
    ///
    /// # Errors
    /// Predictions whose dimension differs from that of the candidates.
    pub(crate) fn new(
        candidates: &Candidates,
        fitted: FittedFeatures,
        held_out: Option<&[f32]>,
    ) -> Result<Self, Error> {
        let unit =
            |predictions| Ok::<_, Error>(Queries::new(candidates.dim(), predictions)?.normalised());
        let held_out = held_out.filter(|_| candidates.hubs().is_some()).map(unit).transpose()?;
        Ok(Self { fitted, held_out })
    }

    /// Places molecules: their features, coordinates and constants are those of candidates that are added to the run.
    ///
    /// # Errors
    /// Features that cannot be computed.
    pub(crate) fn place(
        &self,
        model: &SearchedModel,
        labels: Vec<String>,
        molecules: Vec<Molecule>,
    ) -> Result<(Candidates, Outputs), Error> {
        let SearchedModel { candidates, space, config } = *model;
        let outputs = config.source().made(labels, molecules, &self.fitted)?;
        let placed = space.candidates(&outputs, &Processes::default())?;
        let placed = match &self.held_out {
            Some(unit) => placed.with_hubs_like(candidates, unit)?,
            None => placed,
        };
        Ok((placed, outputs))
    }

    /// Opens the placer of a trained run in a folder.
    ///
    /// # Errors
    /// As [`new`](Self::new); a run whose model was made from its parts, without features.
    pub(crate) fn open(run: &Path, candidates: &Candidates) -> Result<Self, Error> {
        let features = run.join(FEATURES);
        let message =
            format_args!("no {FEATURES}, by which new molecules are placed: train it again");
        ensure_run(features.exists(), run, message)?;
        let fitted = FittedFeatures::load(&features)?;
        Ok(Self { fitted, held_out: held_out::of_hubs(run, candidates)? })
    }
}

impl BeyondSearch {
    /// A search by models, at least one, each with its configuration, whose outputs have moves, and its candidates.
    ///
    /// # Errors
    /// Settings that are out of range; candidates that are not molecules.
    pub(crate) fn new(
        settings: BeyondConfig,
        models: &[(&Checked, &Candidates)],
        placers: Vec<Placer>,
    ) -> Result<Self, Error> {
        settings.validate()?;
        let keep = Keep::from_config(&settings)?;
        let candidates = models[0].1;
        let step = candidates.len().div_ceil(PALETTE).max(1);
        let labels = (0..candidates.len()).step_by(step).map(|at| candidates.label(at));
        let labels: Vec<&str> = labels.collect();
        let molecules = labels.par_iter().filter_map(|label| Molecule::parse(label).ok());
        let molecules: Vec<Molecule> = molecules.collect();
        ensure(!molecules.is_empty(), "decoding.beyond", "candidates without SMILES", "molecules")?;
        let mut palette = Molecule::palette(&molecules);
        palette.moves = settings.evaluations.div_ceil(settings.rounds);
        if settings.unusual {
            palette.environments = None;
        }
        // graphs leave charges, hydrogens and configurations out
        if models.iter().all(|(config, _)| config.output.features.are_graphs()) {
            let charges = BTreeSet::new();
            let radicals = BTreeSet::new();
            palette = Palette { charges, radicals, stereo: false, ..palette };
        }
        let dims: Vec<usize> = models.iter().map(|(_, candidates)| candidates.dim()).collect();
        let molecules = Mutex::new(MoleculePool::new(&dims));
        let holders = OnceLock::new();
        Ok(Self { settings, keep, holders, placers, palette, molecules })
    }

    /// The search of a model in training, whose outputs have these features, with its held-out predictions.
    ///
    /// # Errors
    /// As [`new`](Self::new) and [`Placer::new`].
    pub(crate) fn of_training(
        settings: &BeyondConfig,
        config: &Checked,
        candidates: &Candidates,
        features: &FittedFeatures,
        held_out: Option<&[f32]>,
    ) -> Result<Self, Error> {
        let placer = Placer::new(candidates, features.clone(), held_out)?;
        Self::new(settings.clone(), &[(config, candidates)], vec![placer])
    }

    /// Returns the `count` best molecules for each query of an ensemble, whose members are `models`, best first; at least one, or
    /// none where candidates are filtered and nothing that was met passes.
    ///
    /// # Errors
    /// As [`Ensemble::out_of_pool_scores`]; a search that is cancelled; features that cannot be computed.
    pub(crate) fn best(
        &self,
        models: &[SearchedModel],
        ensemble: &Ensemble,
        rule: &Combination,
        pool: CandidatePool,
        restrictions: &Restrictions,
        count: usize,
    ) -> Result<Vec<Vec<FoundMolecule>>, Error> {
        let candidates = models[0].candidates;
        let start_count = self.settings.starts.min(candidates.len());
        let (further, mut ranked) = ensemble.out_of_pool_scores(pool, rule, start_count)?;
        if ranked.iter().any(Vec::is_empty) {
            // a query without candidates, such as a mass that none has, starts with the best of all
            let all = ensemble.top_k(CandidatePool::Shared, rule, start_count)?;
            for (ranked, all) in ranked.iter_mut().zip(all).filter(|(ranked, _)| ranked.is_empty())
            {
                *ranked = all;
            }
        }
        let filter = restrictions.filter.as_ref();
        let holders = self.ranked_holders(candidates, filter, ensemble, rule, pool)?;
        let both = ranked.iter().zip(&holders);
        let starts: Vec<Vec<&str>> =
            both.map(|(best, holders)| self.starts(candidates, best, holders)).collect();
        let further = &further;
        // taken out meanwhile: a search beside this one begins with no molecules
        let mut molecules = {
            let mut kept = self.kept_molecules();
            let none = kept.cleared();
            std::mem::replace(&mut *kept, none)
        };
        let most = MEMORY / molecules.bytes_of(self.settings.evaluations).max(1);
        let block = most.clamp(1, BLOCK);
        let said = Instant::now();
        let pool = &mut molecules;
        let mut climb = Climb { search: self, models, further, restrictions, pool, count, said };
        let mut all = Vec::with_capacity(starts.len());
        for (starts, first) in starts.chunks(block).zip((0..).step_by(block)) {
            if climb.pool.bytes() > MEMORY {
                *climb.pool = climb.pool.cleared();
            }
            all.extend(climb.best(first, starts)?);
        }
        let mut kept = self.kept_molecules();
        if kept.bytes() < molecules.bytes() {
            *kept = molecules;
        }
        Ok(all)
    }

    fn kept_molecules(&self) -> MutexGuard<'_, MoleculePool> {
        self.molecules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the best candidates of each query that have what is to be kept and pass the filter, as many as it starts
    /// with; none where nothing is kept or filtered.
    fn ranked_holders(
        &self,
        candidates: &Candidates,
        filter: Option<&FoundFilter>,
        ensemble: &Ensemble,
        rule: &Combination,
        pool: CandidatePool,
    ) -> Result<Vec<Vec<Hit>>, Error> {
        let queries = ensemble.queries();
        let kept = if self.keep.is_restricted() { Some(self.holders(candidates)?) } else { None };
        let holders = match (kept, filter) {
            (None, None) => Vec::new(),
            (Some(kept), None) => kept.to_vec(),
            (None, Some(filter)) => filter.wanted.clone(),
            (Some(kept), Some(filter)) => {
                let is_kept = |candidate: &&u32| kept.binary_search(candidate).is_ok();
                filter.wanted.iter().filter(is_kept).copied().collect()
            }
        };
        if holders.is_empty() {
            return Ok(vec![Vec::new(); queries]);
        }
        let lists = match pool {
            CandidatePool::Shared => PerQuery::repeated(holders, queries, candidates)?,
            CandidatePool::PerQuery(lists) => {
                let has_it = |candidate: &u32| holders.binary_search(candidate).is_ok();
                let of_query =
                    |query| lists.list(query).iter().copied().filter(has_it).collect::<Vec<u32>>();
                let lists: Vec<Vec<u32>> = (0..queries).map(of_query).collect();
                PerQuery::new(&lists, candidates)?
            }
        };
        let count = self.settings.starts.min(candidates.len());
        Ok(ensemble.top_k(CandidatePool::PerQuery(&lists), rule, count)?)
    }

    /// Returns the labels that the search gives to some of the candidates; none to those that are not SMILES.
    pub(crate) fn labels(&self, candidates: &Candidates, some: &[u32]) -> HashSet<String> {
        let label = |&candidate: &u32| {
            let molecule = Molecule::parse(candidates.label(candidate as usize)).ok()?;
            Some(as_searched(molecule, &self.palette).key())
        };
        some.par_iter().filter_map(label).collect()
    }

    /// Returns the candidates that have what is to be kept, ascending.
    ///
    /// # Errors
    /// A search that is cancelled.
    fn holders(&self, candidates: &Candidates) -> Result<&[u32], Error> {
        if let Some(holders) = self.holders.get() {
            return Ok(holders);
        }
        let cancellation = Cancellation::current();
        let has_it = |candidate: &u32| {
            let label = candidates.label(*candidate as usize);
            if !self.keep.may_hold(label) {
                return false;
            }
            if self.keep.is_of_atoms() {
                return true;
            }
            let molecule = Molecule::parse(label).ok();
            let molecule = molecule.map(|molecule| as_searched(molecule, &self.palette));
            molecule.is_some_and(|molecule| self.keep.holds(&molecule, &molecule.formula()))
        };
        let mut holders: Vec<u32> = Vec::new();
        for first in (0..candidates.len()).step_by(READ_TOGETHER) {
            cancellation.check()?;
            let end = candidates.len().min(first + READ_TOGETHER);
            holders.par_extend((first as u32..end as u32).into_par_iter().filter(has_it));
        }
        Ok(self.holders.get_or_init(|| holders))
    }

    /// Returns the labels of the candidates that the search for a query starts with, of its best candidates and the best of those
    /// that have what is to be kept: the best one, then those that have it, then others. A search from other molecules
    /// seldom reaches those that have it, so that a single start is one of them.
    fn starts<'c>(
        &self,
        candidates: &'c Candidates,
        best: &[Hit],
        holders: &[Hit],
    ) -> Vec<&'c str> {
        let count = self.settings.starts;
        let has_room = count > 1 || self.settings.keeps_first_formula();
        let first = best.iter().take(usize::from(has_room));
        let mut seen = BTreeSet::new();
        let all = first.chain(holders).chain(best).map(|hit| hit.candidate);
        let chosen = all.filter(|&candidate| seen.insert(candidate)).take(count);
        chosen.map(|candidate| candidates.label(candidate)).collect()
    }
}

/// A search for some queries.
struct Climb<'a> {
    search: &'a BeyondSearch,
    models: &'a [SearchedModel<'a>],
    further: &'a OutOfPoolScores<'a>,
    restrictions: &'a Restrictions,
    pool: &'a mut MoleculePool,
    /// How many molecules an answer has.
    count: usize,
    /// When the log had its last line.
    said: Instant,
}

impl Climb<'_> {
    /// Returns the best molecules of a block of queries from the number `first` on, from candidates with these labels.
    fn best(
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
