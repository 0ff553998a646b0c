//! The masses of candidates that are molecules, by which spectra choose theirs.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use dsokr_decode::Candidates;
use dsokr_molecule::{ElementCounts, Formula, exact_mass};
use dsokr_spectra::{Adduct, Spectrum};
use rayon::prelude::*;

use crate::error::{Error, ensure};
use crate::metrics::molecules::are_smiles;

/// Masses in Da that differ by less may be those of one formula.
const SAME: f64 = 1e-6;

/// Masses of candidates that are molecules, read when they are first needed. The candidates are the same in each call.
#[derive(Default)]
pub(crate) struct CandidateMasses {
    are_smiles: OnceLock<bool>,
    masses: OnceLock<Masses>,
}

impl CandidateMasses {
    /// Returns whether the labels of candidates are SMILES, which tell masses.
    pub fn are_known(&self, candidates: &Candidates) -> bool {
        *self.are_smiles.get_or_init(|| are_smiles(candidates))
    }

    /// Reads the masses of candidates.
    ///
    /// # Errors
    /// Candidates that are not molecules.
    pub fn read(&self, candidates: &Candidates) -> Result<&Masses, Error> {
        if let Some(masses) = self.masses.get() {
            return Ok(masses);
        }
        let allowed = "the column of the SMILES of candidates, whose masses and formulas are compared with spectra";
        ensure(self.are_known(candidates), "output.label", "a column of other labels", allowed)?;
        // a thread that waits for its parallel loops may work on another request, which must not wait for this one
        let read = Masses::from_candidates(candidates);
        Ok(self.masses.get_or_init(|| read))
    }
}

/// What the precursor of a spectrum may be.
pub(super) struct Ions {
    mz: f64,
    /// Its possible adducts; none of an adduct that is not known.
    adducts: Vec<Adduct>,
}

impl Ions {
    /// Reads the ions of a spectrum, which have the adduct `default` where it names none.
    pub fn of(spectrum: &Spectrum, default: &Adduct) -> Self {
        let adducts = match spectrum.ions() {
            Ok(none) if none.is_empty() => vec![default.clone()],
            Ok(adducts) => adducts,
            Err(_) => Vec::new(),
        };
        Self { mz: spectrum.precursor_mz(), adducts }
    }

    /// Returns the masses in Da that the molecule may have with each adduct, from the least to the largest within so many
    /// millionths.
    pub fn masses(&self, ppm: f64) -> Vec<[f64; 2]> {
        let range =
            |adduct: &Adduct| [-ppm, ppm].map(|ppm| adduct.mass(self.mz * (1.0 + ppm * 1e-6)));
        self.adducts.iter().map(range).collect()
    }
}

/// The masses of candidates. Candidates whose labels are not SMILES have none.
pub(crate) struct Masses {
    /// The mass in Da of the atoms of each, by increasing mass.
    by_mass: Vec<(f64, u32)>,
    /// The candidates that name isotopes, so that their formula does not tell their mass.
    labelled: Vec<u32>,
}

impl Masses {
    /// Reads masses from the labels of candidates.
    fn from_candidates(candidates: &Candidates) -> Self {
        let read = |candidate: usize| {
            let formula = Formula::parse(candidates.label(candidate)).ok()?;
            let mass = formula.neutral_mass;
            let is_labelled = (mass - exact_mass(&formula.atoms)).abs() > SAME;
            Some((mass, candidate as u32, is_labelled))
        };
        let all: Vec<_> = (0..candidates.len()).into_par_iter().filter_map(read).collect();
        let labelled = all.iter().filter(|(.., is_labelled)| *is_labelled);
        let labelled = labelled.map(|&(_, candidate, _)| candidate).collect();
        let mut by_mass: Vec<(f64, u32)> =
            all.into_iter().map(|(mass, candidate, _)| (mass, candidate)).collect();
        by_mass.par_sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        Self { by_mass, labelled }
    }

    /// Returns the candidates from one mass to another.
    fn between(&self, low: f64, high: f64) -> impl Iterator<Item = u32> {
        let from = self.by_mass.partition_point(|&(mass, _)| mass < low);
        let near = self.by_mass[from..].iter().take_while(move |&&(mass, _)| mass <= high);
        near.map(|&(_, candidate)| candidate)
    }

    /// Returns the candidates that may be the molecule of these ions; all of `count` where their adduct is not known.
    pub(super) fn of_ions(&self, ions: &Ions, ppm: f64, count: usize) -> Vec<u32> {
        if ions.adducts.is_empty() {
            return (0..count as u32).collect();
        }
        let mut list = Vec::new();
        for [low, high] in ions.masses(ppm) {
            list.extend(self.between(low, high));
        }
        list.sort_unstable();
        // two adducts may have the same candidate
        list.dedup();
        list
    }

    /// Returns the candidates of each of some formulas, ascending: of those with its mass, and of those that name isotopes.
    pub(super) fn of_formulas(
        &self,
        formulas: &HashSet<&ElementCounts>,
        candidates: &Candidates,
    ) -> HashMap<ElementCounts, Vec<u32>> {
        let atoms = |candidate: u32| {
            Formula::parse(candidates.label(candidate as usize)).ok().map(|formula| formula.atoms)
        };
        let labelled: Vec<(ElementCounts, u32)> = self
            .labelled
            .par_iter()
            .filter_map(|&candidate| Some((atoms(candidate)?, candidate)))
            .collect();
        let list = |&formula: &&ElementCounts| {
            let mass = exact_mass(formula);
            let near: Vec<u32> = self.between(mass - SAME, mass + SAME).collect();
            let mut list: Vec<u32> = near
                .into_par_iter()
                .filter(|&candidate| atoms(candidate).as_ref() == Some(formula))
                .collect();
            let labelled = labelled.iter().filter(|(atoms, _)| atoms == formula);
            list.extend(labelled.map(|&(_, candidate)| candidate));
            list.sort_unstable();
            (formula.clone(), list)
        };
        formulas.par_iter().map(list).collect()
    }
}
