//! Explanations of an answer: the training texts nearest to a query, and the peaks of a spectrum that the formula of a
//! candidate and its fragments explain.

use std::collections::{BTreeSet, HashMap};

use dsokr_basis::features::SparseRows;
use dsokr_basis::{Features, Kernel};
use dsokr_core::Cancellation;
use dsokr_data::Split;
use dsokr_data::featurizers::{NgramConfig, NgramKind, TfIdf};
use dsokr_molecule::{ElementCounts, Molecule, exact_mass};
use dsokr_spectra::{FragmentPeak, PeakExplainer, PeakSource, Spectrum, Subformulas};
use serde::Serialize;
use utoipa::ToSchema;

use crate::encoders::WordsRead;
use crate::encoders::inputs::PrepareRows;
use crate::encoders::spectrum_inputs::{MixtureConfig, MixtureInputs};
use crate::error::Error;

/// Training texts, and what a query is compared with.
pub(super) struct Training {
    pairs: Split,
    compared: Compared,
}

enum Compared {
    /// Words of so many characters and more: the cosine of [`TfIdf`] weights, of the words that training texts have, and the
    /// texts that have each word, with its weight in them.
    Words(NgramConfig, TfIdf, SparseRows),
    /// The peaks of spectra, by the probability product kernel.
    Peaks(Features),
}

/// How peaks of spectra are compared.
const PEAKS: MixtureInputs = MixtureInputs(MixtureConfig {
    source: PeakSource::Peaks,
    deviation: 0.005,
    power: 0.5,
    intensity_deviation: None,
});

impl Training {
    /// Indexes training pairs, whose inputs must be texts, those of `spectra` where they are. Words count that the model reads.
    pub(super) fn new(pairs: Split, spectra: bool, read: WordsRead) -> Result<Self, String> {
        let compared = if spectra {
            PEAKS.rows(&pairs).map(|rows| Compared::Peaks(rows.into_owned()))
        } else {
            words(&pairs, read)
        };
        Ok(Self { pairs, compared: compared.map_err(|error| error.to_string())? })
    }

    /// Returns the `count` nearest texts, the nearest first, with their ids and similarities; fewer if less have anything in
    /// common with the query.
    ///
    /// # Errors
    /// A query that is not a spectrum, where training texts are.
    pub(super) fn nearest(
        &self,
        query: &str,
        count: usize,
    ) -> Result<Vec<(&str, &str, f64)>, Error> {
        let texts = self.pairs.inputs.texts()?;
        let similarity: Vec<f64> = match &self.compared {
            Compared::Words(_, words, having) => {
                let mut similarity = vec![0.0_f32; texts.len()];
                for (word, weight) in words.transform(query) {
                    let (having, weights) = having.row(word as usize);
                    for (&at, weight_in_text) in having.iter().zip(weights) {
                        similarity[at as usize] += weight * weight_in_text;
                    }
                }
                similarity.into_iter().map(f64::from).collect()
            }
            Compared::Peaks(rows) => {
                let query = PeakSource::Peaks.positions(PEAKS.0.power, &[query.parse()?])?;
                let values = PEAKS.kernel(&Kernel::Linear).block(&Features::Sparse(query), rows)?;
                values.row(0).iter().copied().collect()
            }
        };
        let mut order: Vec<usize> = (0..texts.len()).filter(|&at| similarity[at] > 0.0).collect();
        order.sort_by(|&a, &b| similarity[b].total_cmp(&similarity[a]));
        let shown =
            |at: usize| (self.pairs.ids[at].as_str(), texts[at].as_str(), similarity[at].min(1.0));
        Ok(order.into_iter().take(count).map(shown).collect())
    }

    /// Returns the words of a query that are as long as those the model reads, and whether it reads these `alone`; `None` of
    /// spectra.
    pub(super) fn words(&self, query: &str, alone: bool) -> Option<QueryWords> {
        let Compared::Words(block, vocabulary, _) = &self.compared else { return None };
        let query = query.to_lowercase();
        let letters = |letter: char| letter.is_alphanumeric() || letter == '_';
        let words = query.split(|letter| !letters(letter));
        let shortest = block.shortest_word();
        let words = words.filter(|word| word.chars().take(shortest).count() == shortest);
        let words: BTreeSet<&str> = words.collect();
        let (known, unknown): (Vec<&str>, Vec<&str>) =
            words.into_iter().partition(|word| !vocabulary.transform(word).is_empty());
        let unknown = unknown.into_iter().map(str::to_owned).collect();
        Some(QueryWords { known: known.len(), unknown, alone })
    }
}

/// The words of a query, each once, by whether any training text has them.
#[derive(Serialize, ToSchema)]
pub(super) struct QueryWords {
    /// Number of words that training texts have.
    pub known: usize,
    /// The words that no training text has, in the order of the alphabet.
    pub unknown: Vec<String>,
    /// Whether the model reads n-grams of words alone: then the order of candidates means nothing where no word is known.
    pub alone: bool,
}

fn words(pairs: &Split, read: WordsRead) -> Result<Compared, Error> {
    let texts = pairs.inputs.texts()?;
    let words = NgramConfig::new(NgramKind::Words, 1, 1);
    let block = NgramConfig { min_characters: read.shortest(), ..words };
    let words = TfIdf::fit(std::slice::from_ref(&block), texts.iter().map(String::as_str))?;
    let having = words.rows(texts)?.transposed()?;
    Ok(Compared::Words(block, words, having))
}

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

/// What the fragments of a candidate explain of a spectrum: connected parts that at most two cuts of its bonds leave, where
/// a cut breaks one bond, or two of a ring.
#[derive(Clone, Serialize, ToSchema)]
pub(super) struct ExplainedFragments {
    /// `Σ √(intensity · m/z) exp(−cost / 2)` over the explained peaks, as a share of `Σ √(intensity · m/z)` over all.
    pub score: f64,
    /// The explained peaks, in the order of the spectrum.
    pub peaks: Vec<FragmentOfPeak>,
}

/// A peak with the fragment of the least cost that explains it.
#[derive(Clone, Serialize, ToSchema)]
pub(super) struct FragmentOfPeak {
    /// The place of the peak in the spectrum, from 0.
    pub peak: usize,
    /// m/z of the peak.
    pub mz: f64,
    /// The atoms of the fragment, from 0 in the order of the SMILES without folded hydrogens, as `GET /api/drawing` marks
    /// them.
    pub atoms: Vec<usize>,
    /// The bonds that are broken, each as the two atoms that it joins.
    pub broken: Vec<[usize; 2]>,
    /// The formula of the fragment's ion, without its charge, with the isotopes that the molecule names: `C2[2H3]O`.
    pub formula: String,
    /// Hydrogens that the ion has more than these atoms have in the molecule, below 0 for fewer.
    pub hydrogens: i32,
    /// The cost: 1 for each single bond that is broken, 0.75 at another element than carbon, 1.5 for aromatic bonds, 2 for
    /// double bonds, 3 for triple bonds, and 0.25 for each hydrogen that is moved.
    pub cost: f64,
    /// How far the peak is above the ion, in millionths.
    pub ppm: f64,
}

/// Explains the peaks of a spectrum.
pub(super) struct Explainer<'a> {
    spectrum: &'a Spectrum,
    fragments: PeakExplainer,
    ppm: f64,
    /// The peaks that each formula explains, which candidates share.
    by_formula: HashMap<ElementCounts, Option<Vec<ExplainedPeak>>>,
}

impl<'a> Explainer<'a> {
    /// Creates the explainer of a spectrum, by parts of ions with its adduct, of several the one nearest to the precursor, within
    /// `ppm` millionths of a peak; none of an adduct that is not known.
    pub(super) fn new(spectrum: &'a Spectrum, ppm: f64) -> Option<Self> {
        let fragments = PeakExplainer::new(spectrum, ppm).ok()?;
        Some(Self { spectrum, fragments, ppm, by_formula: HashMap::new() })
    }

    /// Returns what the fragments of a molecule explain; `None` for molecules that are too large to be broken.
    pub(super) fn fragments_of(&self, molecule: &Molecule) -> Option<ExplainedFragments> {
        let explanation = self.fragments.explain(molecule)?;
        let of_peak = |peak: &FragmentPeak| FragmentOfPeak {
            peak: peak.peak,
            mz: self.spectrum.peaks()[peak.peak].mz,
            atoms: peak.atoms().collect(),
            broken: peak.broken.iter().map(|&bond| molecule.bonds()[bond].atoms).collect(),
            formula: peak.formula(molecule),
            hydrogens: peak.hydrogens,
            cost: peak.cost,
            ppm: peak.ppm,
        };
        let peaks = explanation.peaks.iter().map(of_peak).collect();
        Some(ExplainedFragments {
            score: explanation.score / self.fragments.largest_score(),
            peaks,
        })
    }

    /// Returns the peaks that a molecule explains; `None` for molecules that name isotopes, and for formulas with too many parts.
    pub(super) fn explained_by(
        &mut self,
        molecule: &Molecule,
    ) -> Result<Option<Vec<ExplainedPeak>>, Error> {
        Cancellation::current().check()?;
        // the parts of a formula are of the most abundant isotopes
        if molecule.atoms().iter().any(|atom| atom.isotope.is_some()) {
            return Ok(None);
        }
        let atoms = molecule.composition();
        if let Some(peaks) = self.by_formula.get(&atoms) {
            return Ok(peaks.clone());
        }
        let peaks = self.explained(&atoms);
        self.by_formula.insert(atoms, peaks.clone());
        Ok(peaks)
    }

    fn explained(&self, atoms: &ElementCounts) -> Option<Vec<ExplainedPeak>> {
        let (_, adduct) = self.spectrum.ion_of(exact_mass(atoms)).ok()?;
        let Some(ion) = Subformulas::new(atoms, &adduct) else { return Some(Vec::new()) };
        let mut explained = Vec::new();
        for (at, peak) in self.spectrum.peaks().iter().enumerate() {
            let parts = ion.at(peak.mz, self.ppm).ok()?;
            let far = |mz: f64| (peak.mz - mz) / mz * 1e6;
            let nearest = parts.iter().min_by(|a, b| far(a.mz).abs().total_cmp(&far(b.mz).abs()));
            explained.extend(nearest.map(|part| ExplainedPeak {
                peak: at,
                formula: part.formula(),
                ppm: far(part.mz),
            }));
        }
        Some(explained)
    }
}
