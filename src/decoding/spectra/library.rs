//! Training spectra whose molecules are known.

use std::sync::Arc;

use dsokr_core::Error;
use dsokr_molecule::{AtomSet, Molecule};
use dsokr_spectra::{PeakExplainer, Spectrum};
use rayon::prelude::*;

use super::parts::{ROUNDS, codes};
use crate::decoding::fingerprint::Fingerprint;

/// How many training spectra a spectrum is compared with, the most similar ones.
const NEAREST: usize = 30;

/// Losses below this mass in Da are the precursor itself.
const LEAST_LOSS: f64 = 0.5;

/// Spectra, and the molecules of those whose molecule is known.
#[derive(Debug)]
pub(super) struct Library {
    spectra: Vec<LibrarySpectrum>,
    /// How far a peak may be from another, and from a fragment, in millionths.
    pub tolerance: f64,
    /// The adduct of spectra that name none.
    pub adduct: String,
}

#[derive(Debug)]
struct LibrarySpectrum {
    text: String,
    smiles: Option<String>,
    /// The fingerprint of the molecule; none where it is not known.
    fingerprint: Option<Arc<Fingerprint>>,
    /// Its peaks, and its neutral losses.
    lines: [Vec<Line>; 2],
}

/// A peak or a neutral loss.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// m/z of the peak, or the mass in Da that was lost.
    pub mass: f64,
    /// √(intensity · m/z) of the peak over the length of all of the spectrum.
    pub weight: f64,
    /// Codes of the part of the molecule; none of a peak without one.
    pub part: Option<[u64; ROUNDS.len()]>,
}

/// Returns the peaks of a spectrum and its neutral losses, the molecule of which is not known.
pub(super) fn lines(spectrum: &Spectrum) -> [Vec<Line>; 2] {
    let precursor = spectrum.precursor_mz();
    let all = spectrum.peaks().iter().map(|peak| (peak.mz, (peak.intensity * peak.mz).sqrt()));
    let scaled = |lines: &mut dyn Iterator<Item = (f64, f64)>| -> Vec<Line> {
        let mut lines: Vec<Line> =
            lines.map(|(mass, weight)| Line { mass, weight, part: None }).collect();
        let length = lines.iter().map(|line| line.weight * line.weight).sum::<f64>().sqrt();
        lines.iter_mut().for_each(|line| line.weight /= length);
        lines
    };
    let peaks = scaled(&mut all.clone());
    let mut losses = all.map(|(mz, weight)| (precursor - mz, weight));
    // in the order of peaks, with those that are none
    let mut losses = scaled(&mut losses);
    losses.iter_mut().filter(|line| line.mass < LEAST_LOSS).for_each(|line| line.weight = 0.0);
    [peaks, losses]
}

impl LibrarySpectrum {
    fn read(
        text: String,
        smiles: Option<String>,
        tolerance: f64,
        adduct: &str,
    ) -> Result<Self, Error> {
        let spectrum = text.parse::<Spectrum>()?.or_adduct(adduct)?;
        let mut lines = lines(&spectrum);
        let molecule = smiles.as_deref().and_then(|smiles| Molecule::parse(smiles).ok());
        let explainer = PeakExplainer::new(&spectrum, tolerance).ok();
        if let (Some(molecule), Some(explainer)) = (&molecule, explainer)
            && let Some(explanation) = explainer.explain(molecule)
        {
            let all = all_atoms(molecule);
            for peak in &explanation.peaks {
                lines[0][peak.peak].part = Some(codes(molecule, peak.set));
                lines[1][peak.peak].part = Some(codes(molecule, all & !peak.set));
            }
        }
        let fingerprint = molecule.map(|molecule| Arc::new(Fingerprint::new(&molecule)));
        Ok(Self { text, smiles, fingerprint, lines })
    }
}

/// Returns the atoms of a molecule that is small enough to be broken.
pub(super) fn all_atoms(molecule: &Molecule) -> AtomSet {
    AtomSet::MAX >> (AtomSet::BITS as usize - molecule.atoms().len())
}

impl Library {
    /// Returns the bytes of a spectrum with so many peaks, without its text.
    pub fn bytes(peaks: usize) -> usize {
        2 * peaks * size_of::<Line>() + size_of::<LibrarySpectrum>() + size_of::<Fingerprint>()
    }

    /// Reads spectra and their molecules.
    pub fn read(
        pairs: Vec<(String, Option<String>)>,
        tolerance: f64,
        adduct: &str,
    ) -> Result<Self, Error> {
        let spectra = pairs.into_par_iter();
        let spectra =
            spectra.map(|(text, smiles)| LibrarySpectrum::read(text, smiles, tolerance, adduct));
        let spectra = spectra.collect::<Result<_, Error>>()?;
        Ok(Self { spectra, tolerance, adduct: adduct.to_owned() })
    }

    /// Reads a spectrum, which has the library's adduct where it names none.
    pub fn spectrum(&self, text: &str) -> Result<Spectrum, Error> {
        text.parse::<Spectrum>()?.or_adduct(&self.adduct)
    }
}

/// Some spectra of a library by the masses of their lines.
#[derive(Debug)]
pub(super) struct LibraryIndex {
    library: Arc<Library>,
    used: Vec<usize>,
    /// The peaks, and the neutral losses, by mass, each with the number of its spectrum.
    lines: [Vec<(Line, usize)>; 2],
}

/// A training spectrum that is similar to a spectrum.
pub(super) struct Nearest {
    pub spectrum: usize,
    /// The mean of the cosines of peaks and of neutral losses.
    pub similarity: f64,
    pub fingerprint: Arc<Fingerprint>,
}

impl LibraryIndex {
    /// Returns the bytes of a spectrum with so many peaks.
    pub fn bytes(peaks: usize) -> usize {
        2 * peaks * size_of::<(Line, usize)>()
    }

    /// Indexes some spectra.
    pub fn new(library: &Arc<Library>, used: &[usize]) -> Self {
        let lines = [0, 1].map(|kind| {
            let of =
                |&at: &usize| library.spectra[at].lines[kind].iter().map(move |line| (*line, at));
            let mut lines: Vec<(Line, usize)> = used.iter().flat_map(of).collect();
            lines.retain(|(line, _)| line.weight > 0.0);
            lines.sort_by(|a, b| a.0.mass.total_cmp(&b.0.mass));
            lines
        });
        Self { library: Arc::clone(library), used: used.to_vec(), lines }
    }

    /// Returns the texts of the spectra and their molecules.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        let spectra = self.used.iter().map(|&at| &self.library.spectra[at]);
        spectra.map(|spectrum| (spectrum.text.as_str(), spectrum.smiles.as_deref()))
    }

    /// Returns the lines of one kind near a mass, each with the number of its spectrum; `mz` is that of the peak, which the
    /// tolerance is a share of.
    pub fn near(&self, kind: usize, mass: f64, mz: f64) -> &[(Line, usize)] {
        let lines = &self.lines[kind];
        let tolerance = mz * self.library.tolerance * 1e-6;
        let from = lines.partition_point(|(line, _)| line.mass < mass - tolerance);
        let count = lines[from..].iter().take_while(|(line, _)| line.mass <= mass + tolerance);
        &lines[from..from + count.count()]
    }

    /// Returns the most similar spectra whose molecule is known, the most similar first.
    pub fn nearest(&self, spectrum: &Spectrum) -> Vec<Nearest> {
        let mut similarity = vec![0.0; self.library.spectra.len()];
        for (kind, lines) in lines(spectrum).iter().enumerate() {
            for (line, peak) in lines.iter().zip(spectrum.peaks()) {
                for (other, at) in self.near(kind, line.mass, peak.mz) {
                    similarity[*at] += line.weight * other.weight / 2.0;
                }
            }
        }
        let is_comparable =
            |&at: &usize| similarity[at] > 0.0 && self.library.spectra[at].fingerprint.is_some();
        let mut nearest: Vec<usize> = self.used.iter().copied().filter(is_comparable).collect();
        nearest.sort_by(|&a, &b| similarity[b].total_cmp(&similarity[a]).then(a.cmp(&b)));
        nearest.truncate(NEAREST);
        let near = |at: usize| {
            let fingerprint = Arc::clone(self.library.spectra[at].fingerprint.as_ref()?);
            Some(Nearest { spectrum: at, similarity: similarity[at].min(1.0), fingerprint })
        };
        nearest.into_iter().filter_map(near).collect()
    }
}
