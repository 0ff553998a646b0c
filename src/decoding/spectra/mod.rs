//! What a spectrum says of molecules: the evidence by which a reranker compares both.

mod library;
mod parts;
mod profile;

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use dsokr_core::Error;
use dsokr_decode::Evidence;
use dsokr_molecule::Molecule;
use dsokr_spectra::PeakExplainer;
use serde::{Deserialize, Serialize};

use self::library::{Library, LibraryIndex, Nearest};
use self::profile::{Profile, Statistics};
use crate::decoding::fingerprint::Fingerprint;

/// How far a candidate's ion may be from the precursor, in millionths, for its fragments to be looked at.
const WINDOW: f64 = 20.0;

/// Sharpness T of the weights of similar training spectra, `∝ exp(T s)`.
const SHARPNESS: [f64; 2] = [5.0, 20.0];

/// Numbers of a candidate: those of its mass, of its fragments, and of similar spectra.
const MASS: usize = 2;
const SIMILAR: usize = 4 + SHARPNESS.len();

/// What a spectrum says of molecules, by training spectra whose molecules are known.
///
/// The numbers of a candidate c are
///
/// - how near its ion is to the precursor, from 1 at the same mass to 0 at 20 ppm, and whether it is within 20 ppm. Only then its
///   fragments are looked at ([`PeakExplainer`]); others have the least numbers that any candidate within has;
/// - its score by its fragments, as a share of the largest, and the share of `√(intensity · m/z)` that fragments of a cost of at
///   most 1, 2, 3 and any explain, and the share of peaks;
/// - how usual its fragments are for these peaks, and what they lost for these neutral losses, among all training spectra and
///   among the most similar ones ([`Statistics`]);
/// - how alike it is (Tanimoto, Morgan fingerprints) to the molecules of the training spectra that are most similar (mean of the
///   cosines of peaks and of neutral losses): to the most similar one, the most alike, `max sⱼ Tⱼ`, the mean, and means with
///   weights `∝ exp(5 s)` and `∝ exp(20 s)`.
#[derive(Debug)]
pub(crate) struct SpectrumEvidence {
    library: Arc<Library>,
    index: LibraryIndex,
    molecules: Arc<MoleculeCache>,
}

/// What a file keeps.
#[derive(Serialize, Deserialize)]
struct StoredSpectra {
    tolerance: f64,
    adduct: String,
    pairs: Vec<(String, Option<String>)>,
}

/// The most molecules that are kept for later queries: about 50 MB.
const MOST_KEPT: usize = 100_000;

/// What is compared of a candidate, by its label; none of one that is not a SMILES.
type MoleculeCache = RwLock<HashMap<String, Option<Arc<Weighed>>>>;

/// A molecule as a candidate.
#[derive(Debug)]
struct Weighed {
    /// The mass in Da of its atoms.
    mass: f64,
    fingerprint: Fingerprint,
}

impl Weighed {
    fn new(smiles: &str) -> Option<Self> {
        let molecule = Molecule::parse(smiles).ok()?;
        Some(Self { mass: molecule.neutral_mass(), fingerprint: Fingerprint::new(&molecule) })
    }
}

/// Training spectra with their molecules, which the evidence for several folds shares.
#[derive(Clone, Debug)]
pub(crate) struct TrainingSpectra {
    library: Arc<Library>,
    molecules: Arc<MoleculeCache>,
}

impl TrainingSpectra {
    /// Reads pairs of a spectrum and a SMILES, none where it is not known. Peaks are explained within `tolerance` millionths,
    /// and spectra that name no adduct have this one.
    ///
    /// # Errors
    /// A text that is no spectrum.
    pub fn read(
        pairs: Vec<(String, Option<String>)>,
        tolerance: f64,
        adduct: &str,
    ) -> Result<Self, Error> {
        let library = Arc::new(Library::read(pairs, tolerance, adduct)?);
        Ok(Self { library, molecules: Arc::default() })
    }

    /// Returns about how many bytes a spectrum takes, with this text: in the library, and in the indices of the first fold
    /// and of another one or of all pairs, which are there at once.
    pub fn bytes(text: &str) -> usize {
        let peaks = text.bytes().filter(|&byte| byte == b':').count();
        text.len() + Library::bytes(peaks) + 2 * LibraryIndex::bytes(peaks)
    }

    /// Returns the evidence by some of the pairs.
    pub fn evidence(&self, pairs: &[usize]) -> SpectrumEvidence {
        SpectrumEvidence {
            index: LibraryIndex::new(&self.library, pairs),
            library: Arc::clone(&self.library),
            molecules: Arc::clone(&self.molecules),
        }
    }
}

impl SpectrumEvidence {
    /// How many numbers there are of a candidate.
    pub const LEN: usize = MASS + Profile::LEN + SIMILAR;

    /// Reads what [`text`](Evidence::text) has written.
    ///
    /// # Errors
    /// Another text, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let stored: StoredSpectra =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        let StoredSpectra { tolerance, adduct, pairs } = stored;
        let all: Vec<usize> = (0..pairs.len()).collect();
        let spectra = TrainingSpectra::read(pairs, tolerance, &adduct);
        Ok(spectra.map_err(|error| error.to_string())?.evidence(&all))
    }

    /// Returns what is compared of the candidate with a label.
    fn weighed(&self, label: &str) -> Option<Arc<Weighed>> {
        let kept = self.molecules.read().ok().and_then(|kept| kept.get(label).cloned());
        kept.unwrap_or_else(|| {
            let weighed = Weighed::new(label).map(Arc::new);
            if let Ok(mut kept) = self.molecules.write() {
                if kept.len() >= MOST_KEPT {
                    kept.clear();
                }
                kept.insert(label.to_owned(), weighed.clone());
            }
            weighed
        })
    }
}

impl Evidence for SpectrumEvidence {
    fn len(&self) -> usize {
        Self::LEN
    }

    fn first(&self) -> usize {
        Self::LEN
    }

    fn values(&self, text: &str, labels: &[&str]) -> Result<Vec<f32>, Error> {
        let spectrum = self.library.spectrum(text)?;
        // none of an adduct that is not known
        let adducts = spectrum.ions().unwrap_or_default();
        let explainer = PeakExplainer::new(&spectrum, self.library.tolerance).ok();
        let nearest = self.index.nearest(&spectrum);
        let statistics =
            explainer.as_ref().map(|_| Statistics::new(&self.index, &spectrum, &nearest));
        let mut masses = Vec::with_capacity(labels.len());
        let mut profiles: Vec<Option<Profile>> = Vec::with_capacity(labels.len());
        let mut similar = Vec::with_capacity(labels.len());
        for label in labels {
            let weighed = self.weighed(label);
            let far = weighed.as_ref().map_or(f64::INFINITY, |candidate| {
                let far = adducts.iter().map(|adduct| {
                    let mz = adduct.mz(candidate.mass);
                    ((spectrum.precursor_mz() - mz) / mz * 1e6).abs()
                });
                far.fold(f64::INFINITY, f64::min)
            });
            let is_near = far <= WINDOW;
            masses.push([(1.0 - far / WINDOW).max(0.0), f64::from(u8::from(is_near))]);
            profiles.push(match (&explainer, &statistics) {
                (Some(explainer), Some(statistics)) if is_near => {
                    Profile::new(explainer, statistics, &spectrum, label)
                }
                _ => None,
            });
            similar.push(similar_numbers(&nearest, weighed.as_deref()));
        }
        let least = Profile::least(&profiles);
        let mut values = Vec::with_capacity(labels.len() * Self::LEN);
        for ((mass, profile), similar) in masses.iter().zip(&profiles).zip(&similar) {
            let profile = profile.as_ref().map_or(&least, |profile| &profile.numbers);
            let row = mass.iter().chain(profile).chain(similar);
            values.extend(row.map(|&value| value as f32));
        }
        Ok(values)
    }

    fn text(&self) -> String {
        let owned =
            |(text, smiles): (&str, Option<&str>)| (text.to_owned(), smiles.map(String::from));
        let stored = StoredSpectra {
            tolerance: self.library.tolerance,
            adduct: self.library.adduct.clone(),
            pairs: self.index.pairs().map(owned).collect(),
        };
        serde_json::json!(stored).to_string()
    }
}

/// Returns how alike a candidate is to the molecules of the nearest training spectra.
fn similar_numbers(nearest: &[Nearest], candidate: Option<&Weighed>) -> [f64; SIMILAR] {
    let mut numbers = [0.0; SIMILAR];
    let Some(candidate) = candidate else { return numbers };
    let alike = nearest.iter().map(|near| candidate.fingerprint.tanimoto(&near.fingerprint));
    let alike: Vec<f64> = alike.collect();
    let Some(&first) = alike.first() else { return numbers };
    let weighted = nearest.iter().zip(&alike).map(|(near, alike)| near.similarity * alike);
    numbers[0] = first;
    numbers[1] = alike.iter().copied().fold(0.0, f64::max);
    numbers[2] = weighted.fold(0.0, f64::max);
    numbers[3] = alike.iter().sum::<f64>() / alike.len() as f64;
    for (number, sharpness) in numbers[4..].iter_mut().zip(SHARPNESS) {
        let top = nearest[0].similarity;
        let shares = nearest.iter().map(|near| (sharpness * (near.similarity - top)).exp());
        let shares: Vec<f64> = shares.collect();
        let sum: f64 = shares.iter().zip(&alike).map(|(share, alike)| share * alike).sum();
        *number = sum / shares.iter().sum::<f64>();
    }
    numbers
}
