//! Searches: the best candidates of queries, and what explains them.

use std::collections::BTreeSet;

use dsokr_core::{Cancellation, Processes};
use dsokr_decode::Pool;
use dsokr_decode::report::ReliabilityBin;
use dsokr_molecule::{Molecule, ring_systems};
use dsokr_spectra::{Adduct, Spectrum};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::Limits;
use super::candidates::{Properties, groups};
use super::description::{About, Outputs};
use super::explanations::{ExplainedPeak, Explainer, QueryWords};
use super::filter::FilterRequest;
use super::model::{Known, Model};
use super::problem::Problem;
use super::queries::{Asked, Endpoint};
use crate::config::candidate_rule::CandidateRule;
use crate::decoding::decoder::PredictedOutput;
use crate::decoding::filter::{fingerprint, tanimoto};
use crate::error::{Error, ensure};
use crate::run;
use crate::run::{Calibration, Hit, Quantile, Wanted};

/// Training texts that explain an answer.
const NEAREST: usize = 3;

/// Queries: exactly one of `texts`, `vectors` and `coordinates`.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchRequest {
    /// The name of a model; default: the first one.
    pub model: Option<String>,
    /// Texts, for models that read texts.
    #[schema(example = json!(["A carboxylic acid with a bromine atom on a benzene ring."]))]
    pub texts: Option<Vec<String>>,
    /// Vectors, for models that read vectors.
    pub vectors: Option<Vec<Vec<f32>>>,
    /// Predicted coordinates, made by any program, for models that are not ensembles.
    pub coordinates: Option<Vec<Vec<f32>>>,
    /// The most hits for each query. With several queries it is limited further: `GET /api/models` has the most hits
    /// of all queries together.
    #[serde(default = "ten")]
    #[schema(default = 10, minimum = 1, maximum = 1000)]
    pub top: usize,
    /// Number of hits to leave out, for further pages.
    #[serde(default)]
    #[schema(default = 0, minimum = 0)]
    pub skip: usize,
    /// Which candidates are wanted.
    pub filter: Option<FilterRequest>,
    /// The candidates of each spectrum: `mass:PPM`, those with the precursor's mass within so many millionths,
    /// `formula`, those of the formula that it names, or `all`; default: `mass:10` where candidates are molecules.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "mass:10")]
    pub candidates: Option<CandidateRule>,
    /// In the place of the best `top` hits, the smallest set that holds a right output with this probability, among the
    /// `candidates`; absent with `filter` and `skip`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 0.9)]
    pub coverage: Option<f64>,
    /// Whether molecules that are not candidates are searched too, as `decoding.beyond` says, or else with its defaults;
    /// default: whether the configuration has `decoding.beyond`. Absent with `coverage`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beyond: Option<bool>,
    /// Whether answers say which training texts are nearest to the query, what hits share with their
    /// molecules, and which peaks of a spectrum they explain.
    #[serde(default)]
    pub explain: bool,
    /// How far a peak may be from the m/z of a part of a candidate's ion that explains it, in millionths.
    #[serde(default = "ten_ppm")]
    #[schema(default = 10.0, minimum = 0.001, maximum = 1000.0)]
    pub tolerance: f64,
}

dsokr_core::defaults! {
    ten_ppm: f64 = 10.0,
    ten: usize = 10,
}

/// Answers to a search.
#[derive(Serialize, ToSchema)]
pub(super) struct SearchResponse {
    #[serde(flatten)]
    pub about: About,
    /// Number of candidates, duplicates counted.
    pub candidates: usize,
    /// Number of candidates that the filter keeps, duplicates counted.
    pub wanted: usize,
    /// The pairs that the sets of candidates were calibrated on, with `coverage`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// An answer for each query.
    pub answers: Vec<Answer>,
}

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
    /// What is doubtful about the query, such as a spectrum of a polarity that the model was not trained on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cautions: Vec<String>,
    /// How sure the first place is; absent while it is `pending`, or where validation queries are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// Fields that this answer lacks because the server still computes, after its start, what they need: `confidence`. The
    /// same request has them later.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<&'static str>,
    /// The training texts nearest to the query, with `explain`: by words, or by the peaks of spectra.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nearest: Vec<Nearest>,
    /// The words of the query that training texts have and lack, with `explain`, where queries are texts.
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
    fn new(output: PredictedOutput, explain: bool) -> Self {
        let nearest = output.search.as_ref().filter(|_| explain).map(|facts| &facts.nearest_label);
        let parsed = nearest.map(|label| [&output.label, label].map(|own| Molecule::parse(own)));
        let drawing = match parsed {
            Some([Ok(own), Ok(nearest)]) => Some(own.svg_with_difference(&nearest)),
            Some([Ok(own), Err(_)]) => Some(own.svg()),
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
    /// parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explained: Option<Vec<ExplainedPeak>>,
    /// The ion of the molecule, with `explain`, where the query is a spectrum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ion: Option<CandidateIon>,
}

/// The ion of a candidate, by the adduct of the spectrum.
#[derive(Serialize, ToSchema)]
pub(super) struct CandidateIon {
    /// The adduct.
    pub adduct: String,
    /// m/z of the ion, of the most abundant isotopes.
    pub mz: f64,
    /// How far the precursor's m/z is above it, in millionths.
    pub ppm: f64,
}

impl CandidateIon {
    /// The ion of a molecule with this mass in Da.
    fn new(spectrum: &Spectrum, mass: f64) -> Option<Self> {
        let ion = spectrum.ion().ok()?;
        let adduct = spectrum.adduct().unwrap_or(Adduct::PROTONATED);
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

impl Endpoint for SearchRequest {
    const NAME: &'static str = "search";
    type Answer = SearchResponse;

    fn asked(&self) -> Asked<'_> {
        let coordinates = Some(&self.coordinates);
        Asked::from_model(&self.model).queries(&self.texts, &self.vectors, coordinates)
    }

    fn needs(&self) -> Option<Known> {
        let explained = (self.explain && self.texts.is_some()).then_some(Known::Texts);
        let filter = self.filter.as_ref().and_then(|filter| filter.read().ok());
        let reads_molecules = filter.is_some_and(|filter| filter.reads_molecules());
        if reads_molecules { Some(Known::Properties) } else { explained }
    }

    fn answer(
        &self,
        processes: &Processes,
        model: &Model,
        limits: &Limits,
    ) -> Result<SearchResponse, Problem> {
        let allowed = format!("1 to {}", limits.hits);
        ensure((1..=limits.hits).contains(&self.top), "top", self.top, allowed)?;
        let ppm = self.tolerance;
        let allowed = "a number of millionths, 0.001 to 1000";
        ensure((1e-3..=1e3).contains(&ppm), "tolerance", ppm, allowed)?;
        let queries = self.asked().check(limits)?;
        limits.check_all("top", queries.len().saturating_mul(self.top))?;
        let filter = self.filter.as_ref().map(FilterRequest::read).transpose()?;
        let wanted = filter.map(|filter| model.runs.wanted(processes, &filter)).transpose()?;
        let places = self.skip..self.skip.saturating_add(self.top);
        let each = wanted.as_ref().map(Wanted::each);
        if let Some(CandidateRule::Lists(file)) = &self.candidates {
            let allowed = "\"mass:PPM\", \"formula\" or \"all\"";
            return Err(Error::value("candidates", format_args!("{file:?}"), allowed).into());
        }
        let among = match &self.coordinates {
            // coordinates are of no spectrum
            Some(_) => self.candidates.clone(),
            None => model.runs.rule_of_search(self.candidates.as_ref()),
        };
        let among = among.as_ref();
        let asked = queries.ask(processes, model, among)?;
        let mut calibration = None;
        let mut whole = Vec::new();
        let answers = match self.coverage {
            None => model.runs.distinct_by(model.search(self.beyond)?, &asked, places, each)?,
            Some(coverage) => {
                let whole_sets = each.is_none() && self.skip == 0;
                let allowed = "absent, with filter and skip";
                ensure(whole_sets, "coverage", coverage, allowed)?;
                let allowed = "absent, with coverage";
                ensure(self.beyond.is_none(), "beyond", json!(self.beyond), allowed)?;
                let sets = model.runs.sets(processes, coverage, None, among, None)?;
                let most = limits.hits.min(limits.all_hits / queries.len());
                let found = model.runs.candidate_sets(&asked, &sets, most)?;
                calibration = Some(sets.calibration);
                whole = found.iter().map(|set| set.whole).collect();
                found.into_iter().map(|set| set.answer).collect()
            }
        };
        let candidates = model.runs.candidates();
        let explained = |(query, answer): (usize, run::Answer)| {
            Cancellation::current().check().map_err(Error::from)?;
            let text = queries.text(query).filter(|_| self.explain);
            let beyond = answer.beyond.iter().cloned();
            let beyond = beyond.map(|own| DrawnOutput::new(own, self.explain)).collect();
            let answer =
                explained(processes, model, text, self.tolerance, answer, among.is_some())?;
            let competing = match asked.pool() {
                Pool::Shared => None,
                Pool::PerQuery(lists) => Some(lists.list(query).len()),
            };
            let whole = whole.get(query).copied();
            Ok::<_, Problem>(Answer { whole, beyond, competing, ..answer })
        };
        Ok(SearchResponse {
            about: model.about(),
            candidates,
            wanted: wanted.map_or(candidates, |wanted| wanted.count()),
            calibration,
            answers: answers.into_iter().enumerate().map(explained).collect::<Result<_, _>>()?,
        })
    }
}

/// An answer, explained by the training texts nearest to `text`, and where this is a spectrum by parts of ions within `ppm`
/// millionths of its peaks. How sure it is is known where all candidates compete, and not where those of the query are
/// `listed`.
fn explained(
    processes: &Processes,
    model: &Model,
    text: Option<&str>,
    ppm: f64,
    answer: run::Answer,
    listed: bool,
) -> Result<Answer, Problem> {
    let nearest = text.map_or(Ok(Vec::new()), |text| nearest(processes, model, text))?;
    let known: Vec<(&str, Parts)> = nearest
        .iter()
        .filter(|_| model.outputs == Outputs::Molecules)
        .filter_map(|near| Some((near.id.as_str(), Parts::from_smiles(near.label.as_deref()?)?)))
        .collect();
    let spectrum = text.filter(|_| model.reads_spectra()).map(str::parse::<Spectrum>);
    let spectrum = spectrum.transpose().map_err(Error::from)?;
    let molecules = spectrum.as_ref().filter(|_| model.outputs == Outputs::Molecules);
    let mut peaks = molecules.and_then(|spectrum| Explainer::new(spectrum, ppm));
    let explained = |hit: Hit| {
        let explained = peaks.as_mut().map(|peaks| peaks.of(&hit.label)).transpose()?.flatten();
        let own = if known.is_empty() { None } else { Parts::from_smiles(&hit.label) };
        let shared =
            own.iter().flat_map(|own| known.iter().map(|(id, other)| own.shared(id, other)));
        let shared = shared.collect();
        let properties = Properties::from_label(model, &hit.id, &hit.label);
        let mass = properties.molecule.as_ref().map(|molecule| molecule.monoisotopic);
        let ion = spectrum.as_ref().zip(mass).and_then(|(own, mass)| CandidateIon::new(own, mass));
        Ok::<_, Error>(ExplainedHit { hit, properties, shared, explained, ion })
    };
    let run::Answer { hits, exact, quantiles, gap, cautions, .. } = answer;
    let hits = hits.into_iter().map(explained).collect::<Result<_, _>>()?;
    let gap = gap.filter(|_| !listed);
    let confidence = gap.and_then(|gap| confidence(model, gap));
    let pending = match gap {
        Some(_) if model.reliability_is_pending() => vec!["confidence"],
        Some(_) | None => Vec::new(),
    };
    let words = text.and_then(|text| model.training().ok()?.words(text));
    let spectrum = spectrum.map(|own| own.to_string());
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
        competing: None,
        spectrum,
    })
}

/// The training texts nearest to a text, which the first of several ranks has found.
fn nearest(processes: &Processes, model: &Model, text: &str) -> Result<Vec<Nearest>, Problem> {
    let training = processes.is_first().then(|| model.training().ok()).flatten();
    let found = training.map(|training| training.nearest(text, NEAREST)).transpose();
    let found = found?.unwrap_or_default();
    let ids: Vec<&str> = found.iter().map(|&(id, ..)| id).collect();
    let ids = processes.broadcast(|| serde_json::to_vec(&ids).unwrap_or_default());
    let ids: Vec<String> =
        serde_json::from_slice(&ids.map_err(Error::from)?).map_err(Problem::failed)?;
    let (places, candidates) = model.runs.find(processes, &ids)?;
    let near = |((id, text, similarity), place): ((&str, &str, f64), &Option<usize>)| {
        let label = place.map(|at| candidates.label(at).to_owned());
        Nearest { id: id.to_owned(), text: text.to_owned(), similarity, label }
    };
    Ok(found.into_iter().zip(&places).map(near).collect())
}

/// How often first candidates with such a gap were right, or with the nearest ones where there are none.
fn confidence(model: &Model, gap: f32) -> Option<Confidence> {
    let &ReliabilityBin { right, low, high, queries, from, to, .. } =
        ReliabilityBin::nearest(model.reliability()?, gap.into())?;
    Some(Confidence { gap, right, low, high, queries, from, to })
}

/// The parts that two molecules may share.
struct Parts {
    groups: Vec<String>,
    rings: Vec<String>,
    fingerprint: Box<[u32]>,
}

impl Parts {
    fn from_smiles(smiles: &str) -> Option<Self> {
        let molecule = Molecule::parse(smiles).ok()?;
        let rings = ring_systems(&molecule);
        let rings: BTreeSet<_> = rings.iter().map(|system| system.name(&molecule)).collect();
        let groups = groups(&molecule);
        let rings = rings.into_iter().collect();
        Some(Self { groups, rings, fingerprint: fingerprint(&molecule) })
    }

    fn shared(&self, id: &str, other: &Self) -> Shared {
        let both = |own: &[String], other: &[String]| {
            own.iter().filter(|name| other.contains(name)).cloned().collect()
        };
        Shared {
            id: id.to_owned(),
            similarity: tanimoto(&self.fingerprint, &other.fingerprint),
            groups: both(&self.groups, &other.groups),
            rings: both(&self.rings, &other.rings),
        }
    }
}
