//! The answer to a query of a search, and what explains it: the nearest training texts, shared parts of molecules, and
//! peaks of spectra.

use std::collections::BTreeSet;

use dsokr_core::Processes;
use dsokr_decode::report::ReliabilityBin;
use dsokr_molecule::{Molecule, ring_systems};
use dsokr_spectra::Spectrum;
use serde::Serialize;
use utoipa::ToSchema;

use super::candidates::{Properties, groups};
use super::description::Outputs;
use super::explanations::{ExplainedFragments, ExplainedPeak, Explainer, QueryWords};
use super::model::Model;
use super::refusal::Refusal;
use crate::decoding::decoder::PredictedOutput;
use crate::decoding::fingerprint::Fingerprint;
use crate::error::Error;
use crate::run::{self, Hit, Quantile};

/// Training texts that explain an answer.
const NEAREST: usize = 3;

/// The answer to a query.
#[derive(Serialize, ToSchema)]
pub(super) struct Answer {
    /// The best candidates, best first. Duplicates are one hit.
    pub hits: Vec<ExplainedHit>,
    /// With `coverage`, whether these are all of the set; false where it has more than an answer may have hits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole: Option<bool>,
    /// The predicted output where it need not be a candidate: the best of all outputs, or the label set with the
    /// largest expected F1, with that F1 as its score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact: Option<PredictedOutput>,
    /// The best molecules of a search beyond the candidates, best first, `top` of them at most.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beyond: Vec<DrawnOutput>,
    /// Predicted quantiles, of models of numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quantiles: Vec<Quantile>,
    /// What is doubtful about the query, such as a text of which the model knows no part, or a spectrum of a polarity that it
    /// was not trained on; about a set of several candidates of which none is likely enough; and that a search beyond the
    /// candidates found nothing that passes a filter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cautions: Vec<String>,
    /// How sure the first place of all candidates is, which a filter may leave out of `hits`; absent while it is `pending`,
    /// where different candidates share it, where the model knows no part of the query, or where validation queries are not
    /// known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// Fields that this answer lacks because the server still computes, after its start, what they need: `confidence`. The
    /// same request has them later.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<&'static str>,
    /// The training texts nearest to the query, with `explain`: by words, or by the peaks of spectra.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nearest: Vec<Nearest>,
    /// The words of the query that training texts have and lack, with `explain`, where the model reads n-grams of words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<QueryWords>,
    /// Number of candidates that the rule `candidates` leaves to this query, before any filter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub competing: Option<usize>,
    /// The query on one line where it is a spectrum, with `explain`: the precursor's m/z, `adduct=` and `formula=` where
    /// they are known, and each peak as `m/z:intensity`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spectrum: Option<String>,
}

/// A molecule that a search found.
#[derive(Serialize, ToSchema)]
pub(super) struct DrawnOutput {
    #[serde(flatten)]
    pub output: PredictedOutput,
    /// With `explain`, a drawing as SVG in which what differs from the nearest candidate is marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drawing: Option<String>,
}

impl DrawnOutput {
    /// Draws an output that a search found, if answers are explained.
    pub(super) fn new(output: PredictedOutput, explain: bool) -> Self {
        let nearest = output.search.as_ref().filter(|_| explain).map(|facts| &facts.nearest_label);
        let parsed =
            nearest.map(|label| [&output.label, label].map(|smiles| Molecule::parse(smiles)));
        let drawing = match parsed {
            Some([Ok(molecule), Ok(nearest)]) => Some(molecule.svg_with_difference(&nearest)),
            Some([Ok(molecule), Err(_)]) => Some(molecule.svg()),
            Some([Err(_), _]) | None => None,
        };
        Self { output, drawing }
    }
}

/// A candidate with its place among all.
#[derive(Serialize, ToSchema)]
pub(super) struct ExplainedHit {
    /// The candidate, its rank and its score.
    #[serde(flatten)]
    pub hit: Hit,
    /// Its properties.
    #[serde(flatten)]
    pub properties: Properties,
    /// The parts that it shares with the molecule of each of the nearest training texts, with `explain`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<Shared>,
    /// The peaks of the spectrum that parts of the ion explain, with `explain`, where its formula does not have too many
    /// parts and the molecule names no isotopes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explained: Option<Vec<ExplainedPeak>>,
    /// The peaks of the spectrum that fragments of the molecule explain, with `explain`, where it does not have too many
    /// atoms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fragments: Option<ExplainedFragments>,
    /// The ion of the molecule, with `explain`, where the query is a spectrum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ion: Option<CandidateIon>,
}

/// The ion of a candidate, by the adduct of the spectrum.
#[derive(Serialize, ToSchema)]
pub(super) struct CandidateIon {
    /// The adduct; of several that the spectrum leaves open the one whose ion is nearest to the precursor.
    pub adduct: String,
    /// m/z of the ion, each atom being of the most abundant isotope or of the one that is written.
    pub mz: f64,
    /// How far the precursor's m/z is above it, in millionths.
    pub ppm: f64,
}

impl CandidateIon {
    /// Returns the ion of a molecule with this mass in Da.
    fn new(spectrum: &Spectrum, mass: f64) -> Option<Self> {
        let (adduct, ion) = spectrum.ion_of(mass).ok()?;
        let mz = ion.mz(mass);
        let ppm = (spectrum.precursor_mz() - mz) / mz * 1e6;
        Some(Self { adduct: adduct.to_owned(), mz, ppm })
    }
}

/// How often first candidates with such a gap to the next score were right, or with the nearest gaps where no query
/// has such a one.
#[derive(Serialize, ToSchema)]
pub(super) struct Confidence {
    /// The gap of this query, among all candidates.
    pub gap: f32,
    /// Share of these validation queries whose first candidate was right.
    pub right: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Number of these queries.
    pub queries: usize,
    /// Number of their groups, each of which counts as one query; absent where every query is independent of the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<usize>,
    /// Their smallest gap.
    pub from: f64,
    /// Their largest gap.
    pub to: f64,
}

/// A training pair whose text is near to the query.
#[derive(Serialize, ToSchema)]
pub(super) struct Nearest {
    /// The id of its output.
    pub id: String,
    /// Its text.
    pub text: String,
    /// The text as that of the query in `spectrum`, where it is a spectrum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spectrum: Option<String>,
    /// Cosine similarity of the TF-IDF weights of words, from 0 to 1; of spectra the probability product kernel of their
    /// peaks, with square roots of intensities and a deviation of 0.005 Da.
    pub similarity: f64,
    /// The label of its output, where this is a candidate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// The parts that a candidate shares with a training molecule.
#[derive(Serialize, ToSchema)]
pub(super) struct Shared {
    /// The id of the training molecule.
    pub id: String,
    /// Tanimoto similarity of Morgan fingerprints.
    pub similarity: f64,
    /// Functional groups that both have.
    pub groups: Vec<String>,
    /// Ring systems that both have.
    pub rings: Vec<String>,
}

/// Returns an answer, explained by the training texts nearest to `text`, and where this is a spectrum by parts of ions
/// within `ppm` millionths of its peaks. It has a confidence where all candidates compete and one alone is the first, and
/// none where the query's are `listed`.
pub(super) fn explained(
    processes: &Processes,
    model: &Model,
    text: Option<&str>,
    ppm: f64,
    answer: run::Answer,
    listed: bool,
) -> Result<Answer, Refusal> {
    let nearest = text.map_or(Ok(Vec::new()), |text| nearest(processes, model, text))?;
    let neighbour = |near: &Nearest| {
        let molecule = model.molecule(near.label.as_deref()?)?;
        Some((near.id.clone(), Parts::new(&molecule)))
    };
    let neighbours: Vec<(String, Parts)> = nearest.iter().filter_map(neighbour).collect();
    let spectrum = text.filter(|_| model.reads_spectra()).map(|text| model.run.spectrum(text));
    let spectrum = spectrum.transpose()?;
    let molecules = spectrum.as_ref().filter(|_| model.outputs == Outputs::Molecules);
    let mut peaks = molecules.and_then(|spectrum| Explainer::new(spectrum, ppm));
    let explained = |hit: Hit| {
        let molecule = model.molecule(&hit.label);
        let molecule = molecule.as_ref();
        let mut explained = None;
        let mut fragments = None;
        if let (Some(peaks), Some(molecule)) = (&mut peaks, molecule) {
            explained = peaks.explained_by(molecule)?;
            fragments = peaks.fragments_of(molecule);
        }
        let mut shared = Vec::new();
        if let Some(molecule) = molecule.filter(|_| !neighbours.is_empty()) {
            let parts = Parts::new(molecule);
            shared.extend(neighbours.iter().map(|(id, other)| parts.shared(id, other)));
        }
        let properties = Properties::new(model, &hit.id, molecule);
        // its mass as it is, not the rounded one of the properties
        let ion = spectrum
            .as_ref()
            .zip(molecule)
            .and_then(|(spectrum, molecule)| CandidateIon::new(spectrum, molecule.neutral_mass()));
        Ok::<_, Error>(ExplainedHit { hit, properties, shared, explained, fragments, ion })
    };
    let run::Answer { hits, exact, quantiles, gap, cautions, competing, .. } = answer;
    let hits = hits.into_iter().map(explained).collect::<Result<_, _>>()?;
    // where candidates have one score, none is the first
    let gap = gap.filter(|&gap| !listed && gap > 0.0);
    let confidence = gap.and_then(|gap| confidence(model, gap));
    let pending = match gap {
        Some(_) if model.reliability_is_pending() => vec!["confidence"],
        Some(_) | None => Vec::new(),
    };
    let words = text.and_then(|text| model.words(text));
    let spectrum = spectrum.map(|spectrum| spectrum.to_string());
    Ok(Answer {
        hits,
        whole: None,
        exact,
        beyond: Vec::new(),
        quantiles,
        cautions,
        confidence,
        pending,
        nearest,
        words,
        competing,
        spectrum,
    })
}

/// Returns the training texts nearest to a text, which the first of several ranks has found.
fn nearest(processes: &Processes, model: &Model, text: &str) -> Result<Vec<Nearest>, Refusal> {
    let training = processes.is_first().then(|| model.training().ok()).flatten();
    let nearest = training.map(|training| training.nearest(text, NEAREST)).transpose();
    let nearest = nearest?.unwrap_or_default();
    let ids: Vec<&str> = nearest.iter().map(|&(id, ..)| id).collect();
    let ids = processes.broadcast(|| serde_json::to_vec(&ids).unwrap_or_default());
    let ids: Vec<String> =
        serde_json::from_slice(&ids.map_err(Error::from)?).map_err(Refusal::failed)?;
    let (places, candidates) = model.run.find(processes, &ids)?;
    let near = |((id, text, similarity), place): ((&str, &str, f64), &Option<usize>)| {
        let label = place.map(|at| candidates.label(at).to_owned());
        let spectrum = model.reads_spectra().then(|| model.run.spectrum(text)).transpose()?;
        let spectrum = spectrum.map(|spectrum| spectrum.to_string());
        let [id, text] = [id, text].map(str::to_owned);
        Ok::<_, Refusal>(Nearest { id, text, spectrum, similarity, label })
    };
    nearest.into_iter().zip(&places).map(near).collect()
}

/// Returns how often first candidates with such a gap were right, or with the nearest ones where there are none.
fn confidence(model: &Model, gap: f32) -> Option<Confidence> {
    let &ReliabilityBin { right, low, high, queries, groups, from, to, .. } =
        ReliabilityBin::nearest(model.reliability()?, gap.into())?;
    Some(Confidence { gap, right, low, high, queries, groups, from, to })
}

/// The parts that two molecules may share.
struct Parts {
    groups: Vec<String>,
    rings: Vec<String>,
    fingerprint: Fingerprint,
}

impl Parts {
    fn new(molecule: &Molecule) -> Self {
        let rings = ring_systems(molecule);
        let rings: BTreeSet<_> = rings.iter().map(|system| system.name(molecule)).collect();
        Self {
            groups: groups(molecule),
            rings: rings.into_iter().collect(),
            fingerprint: Fingerprint::new(molecule),
        }
    }

    fn shared(&self, id: &str, other: &Self) -> Shared {
        let both = |ours: &[String], theirs: &[String]| {
            ours.iter().filter(|name| theirs.contains(name)).cloned().collect()
        };
        Shared {
            id: id.to_owned(),
            similarity: self.fingerprint.tanimoto(&other.fingerprint),
            groups: both(&self.groups, &other.groups),
            rings: both(&self.rings, &other.rings),
        }
    }
}
