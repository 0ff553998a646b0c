//! Which peaks of a spectrum the formula of a candidate explains.

use std::collections::HashMap;

use dsokr_basis::Cancellation;
use dsokr_data::spectra::{Adduct, Spectrum, Subformulas};
use dsokr_molecule::{ElementCounts, Molecule};
use serde::Serialize;
use utoipa::ToSchema;

use crate::Error;

/// A peak that a candidate explains: a part of its ion has the peak's m/z.
#[derive(Clone, Serialize, ToSchema)]
pub(super) struct ExplainedPeak {
    /// The place of the peak in the spectrum, from 0.
    pub peak: usize,
    /// The formula of the nearest such part.
    pub formula: String,
    /// How far the peak is above the part, in millionths of its m/z.
    pub ppm: f64,
}

/// What explains the peaks of a spectrum.
pub(super) struct Explainer<'a> {
    spectrum: &'a Spectrum,
    adduct: Adduct,
    ppm: f64,
    /// What each formula explains, which candidates share.
    known: HashMap<ElementCounts, Option<Vec<ExplainedPeak>>>,
}

impl<'a> Explainer<'a> {
    /// Parts of ions with the spectrum's adduct count where they are within `ppm` millionths of a peak.
    pub(super) fn new(spectrum: &'a Spectrum, ppm: f64) -> Result<Self, Error> {
        Ok(Self { spectrum, adduct: spectrum.ion()?, ppm, known: HashMap::new() })
    }

    /// The peaks that a molecule explains; none known of labels that are no molecules, and of formulas with too many parts.
    pub(super) fn of(&mut self, smiles: &str) -> Result<Option<Vec<ExplainedPeak>>, Error> {
        Cancellation::current().check()?;
        let Ok(molecule) = Molecule::parse(smiles) else { return Ok(None) };
        let atoms = molecule.composition();
        if let Some(known) = self.known.get(&atoms) {
            return Ok(known.clone());
        }
        let found = self.explained(&atoms);
        self.known.insert(atoms, found.clone());
        Ok(found)
    }

    fn explained(&self, atoms: &ElementCounts) -> Option<Vec<ExplainedPeak>> {
        let Some(ion) = Subformulas::new(atoms, &self.adduct) else { return Some(Vec::new()) };
        let mut explained = Vec::new();
        for (at, peak) in self.spectrum.peaks.iter().enumerate() {
            let parts = ion.at(peak.mz, self.ppm).ok()?;
            let far = |mz: f64| (peak.mz - mz) / mz * 1e6;
            let nearest = parts.iter().min_by(|a, b| far(a.mz).abs().total_cmp(&far(b.mz).abs()));
            explained.extend(nearest.map(|own| ExplainedPeak {
                peak: at,
                formula: own.formula(),
                ppm: far(own.mz),
            }));
        }
        Some(explained)
    }
}
