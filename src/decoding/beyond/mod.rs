//! Decoding by search in the space of molecules: the one with the highest score, whether a table holds it or not.
//!
//! For any molecule c there are features, coordinates ψ̃(c), a constant b(c), and the share u(c) that the basis does not
//! know. The search climbs by [`Moves`] on `⟨z, ψ̃(c)⟩ + b(c) − w u(c)`, combined over the models, from the best
//! candidates. It keeps a beam of the best molecules of each query; a round makes the neighbours of those that have none
//! yet, the best first, as many as its share of the evaluations allows. What was evaluated for one query is known to all.
//! Rerankers choose among the best that were found.

mod beam;
mod climb;
mod keep;
mod nearest;
mod placer;
mod pool;

use std::collections::{BTreeSet, HashSet};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use dsokr_core::Cancellation;
use dsokr_data::FittedFeatures;
use dsokr_decode::{
    CandidateBlocks, Candidates, Combination, Ensemble, Hit, PerQuery, Pool as CandidatePool,
};
use dsokr_molecule::{Molecule, Moves, Palette};
use rayon::prelude::*;
use serde::Serialize;

use self::climb::Climb;
use self::keep::Keep;
pub(crate) use self::keep::Restrictions;
pub(crate) use self::placer::{Placer, SearchedModel};
use self::pool::{MoleculePool, as_searched};
use crate::config::{BeyondConfig, Checked};
use crate::decoding::filter::FoundFilter;
use crate::error::{Error, ensure};

/// The most candidates whose molecules make the palette of moves.
const PALETTE: usize = 10_000;

/// Bytes of evaluated molecules that a block of queries may need, and that are kept for later queries.
const MEMORY: usize = 1 << 29;

/// The most queries of a block, which make their moves together.
const BLOCK: usize = 32;

/// Labels of candidates that are read at once.
const READ_TOGETHER: usize = 4096;

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

impl BeyondSearch {
    /// Creates a search by models, at least one, each with its configuration, whose outputs have moves, and its candidates.
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

    /// Creates the search of a model in training, whose outputs have these features, with its held-out predictions.
    ///
    /// # Errors
    /// As [`new`](Self::new) and [`Placer::new`].
    pub(crate) fn for_training(
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
