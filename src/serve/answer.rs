//! Answers, as the library computes them.

use std::borrow::Cow;

use dsokr_basis::{Cancellation, Processes};
use dsokr_data::Truth;
use dsokr_decode::report::ReliabilityBin;
use dsokr_decode::{CandidateBlocks, Candidates, Decoded};
use dsokr_molecule::{Molecule, functional_groups, ring_systems};
use serde::Serialize;

use super::filter::{Molecules, Wanted, fingerprint, tanimoto};
use super::model::Known;
use super::problem::Problem;
use super::queries::Given;
use super::requests::{
    CandidatesRequest, DrawingRequest, EmbedRequest, Filter, RankRequest, SearchRequest,
};
use super::responses::{
    Answer, Candidate, CandidatesResponse, Confidence, EmbedResponse, ExplainedHit,
    MoleculeProperties, Nearest, Outputs, Properties, RankResponse, Ranked, SearchResponse, Shared,
};
use super::{Limits, Model};
use crate::Error;
use crate::run::Hit;

/// Training texts that explain an answer.
const NEAREST: usize = 3;

/// A request about a model.
pub(super) trait Endpoint: Serialize + Send + 'static {
    /// What other ranks know it by.
    const NAME: &'static str;

    /// What it asks for.
    type Answer: Send + 'static;

    /// The name of the model; none for the first one.
    fn model(&self) -> Option<&str>;

    /// The queries that it has.
    fn given(&self) -> Given<'_> {
        Given::default()
    }

    /// What of a model must be read before.
    fn needs(&self) -> Option<Known> {
        None
    }

    fn answer(&self, model: &Model, limits: &Limits) -> Result<Self::Answer, Problem>;
}

impl Endpoint for SearchRequest {
    const NAME: &'static str = "search";
    type Answer = SearchResponse;

    fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    fn given(&self) -> Given<'_> {
        Given::any(&self.texts, &self.vectors, &self.coordinates)
    }

    fn needs(&self) -> Option<Known> {
        let explained = (self.explain && self.texts.is_some()).then_some(Known::Texts);
        self.filter.as_ref().map(|_| Known::Properties).or(explained)
    }

    fn answer(&self, model: &Model, limits: &Limits) -> Result<SearchResponse, Problem> {
        if !(1..=limits.hits).contains(&self.top) {
            return Err(Problem::value("top", self.top, format!("1 to {}", limits.hits)));
        }
        let queries = self.given().queries(limits)?;
        limits.check_all("top", queries.len().saturating_mul(self.top))?;
        let kept = self.filter.as_ref().map(|filter| Kept::of(model, filter)).transpose()?;
        let places = self.skip..self.skip.saturating_add(self.top);
        let wanted = kept.as_ref().map(|kept| kept.each.as_slice());
        let answers = model.runs.distinct(&queries.ask(model)?, places, wanted)?;
        let candidates = model.runs.candidates();
        let explained = |(query, answer)| {
            Cancellation::current().check().map_err(Error::from)?;
            explained(model, queries.text(query).filter(|_| self.explain), answer)
        };
        Ok(SearchResponse {
            model: model.name().to_owned(),
            notice: model.notice(),
            candidates,
            wanted: kept.as_ref().map_or(candidates, |kept| kept.count),
            answers: answers.into_iter().enumerate().map(explained).collect::<Result<_, _>>()?,
        })
    }
}

/// The candidates that pass a filter.
struct Kept {
    /// Whether each candidate does, of those that this process holds.
    each: Vec<bool>,
    /// How many of all do.
    count: usize,
}

impl Kept {
    fn of(model: &Model, filter: &Filter) -> Result<Self, Problem> {
        let wanted = Wanted::read(filter)?;
        if model.outputs != Outputs::Molecules {
            let found = format!("given, for {:?}", model.outputs).to_lowercase();
            return Err(Problem::value("filter", found, "absent: candidates are no molecules"));
        }
        let Some(molecules) = model.molecules() else {
            let found = format!("given, for {} candidates", model.runs.candidates());
            let most = Molecules::MOST;
            let allowed = format!("absent: at most {most} candidates can be filtered");
            return Err(Problem::value("filter", found, allowed));
        };
        let each = molecules.wanted(&wanted);
        let count = match model.runs.shards() {
            None => each.iter().filter(|&&wanted| wanted).count(),
            Some(shards) => shards.count_wanted(&each).map_err(Error::from)?,
        };
        Ok(Self { each, count })
    }
}

/// An answer, explained by the training texts nearest to `text`.
fn explained(
    model: &Model,
    text: Option<&str>,
    answer: crate::run::Answer,
) -> Result<Answer, Problem> {
    let nearest = text.map_or(Ok(Vec::new()), |text| nearest(model, text))?;
    let known: Vec<(&str, Parts)> = nearest
        .iter()
        .filter(|_| model.outputs == Outputs::Molecules)
        .filter_map(|near| Some((near.id.as_str(), Parts::of(near.label.as_deref()?)?)))
        .collect();
    let explained = |hit: Hit| {
        let own = if known.is_empty() { None } else { Parts::of(&hit.label) };
        let shared =
            own.iter().flat_map(|own| known.iter().map(|(id, other)| own.shared(id, other)));
        let (properties, shared) = (properties(model, &hit.id, &hit.label), shared.collect());
        ExplainedHit { hit, properties, shared }
    };
    let crate::run::Answer { hits, exact, quantiles, gap } = answer;
    let hits = hits.into_iter().map(explained).collect();
    let confidence = gap.and_then(|gap| confidence(model, gap));
    Ok(Answer { hits, exact, quantiles, confidence, nearest })
}

/// The training texts nearest to a text, which the first of several ranks has found.
fn nearest(model: &Model, text: &str) -> Result<Vec<Nearest>, Problem> {
    let ranks = Processes::current();
    let training = ranks.is_first().then(|| model.training());
    let found = match training {
        Some(Ok(training)) => training.nearest(text, NEAREST),
        Some(Err(_)) | None => Vec::new(),
    };
    let ids: Vec<&str> = found.iter().map(|&(id, ..)| id).collect();
    let ids = ranks.broadcast(|| serde_json::to_vec(&ids).unwrap_or_default());
    let ids: Vec<String> =
        serde_json::from_slice(&ids.map_err(Error::from)?).map_err(Problem::failed)?;
    let (places, candidates) = model.runs.find(&ids)?;
    let near = |((id, text, similarity), place): ((&str, &str, f64), &Option<usize>)| {
        let label = place.map(|at| candidates.label(at).to_owned());
        Nearest { id: id.to_owned(), text: text.to_owned(), similarity, label }
    };
    Ok(found.into_iter().zip(&places).map(near).collect())
}

/// How often first candidates with such a gap were right, or with the nearest ones where there are none.
fn confidence(model: &Model, gap: f32) -> Option<Confidence> {
    let bin = ReliabilityBin::nearest(model.reliability()?, gap.into())?;
    let (right, low, high) = (bin.right, bin.low, bin.high);
    Some(Confidence { gap, right, low, high, queries: bin.queries, from: bin.from, to: bin.to })
}

/// What two molecules may share.
struct Parts {
    groups: Vec<String>,
    rings: Vec<String>,
    fingerprint: Box<[u32]>,
}

impl Parts {
    fn of(smiles: &str) -> Option<Self> {
        let molecule = Molecule::parse(smiles).ok()?;
        let mut rings: Vec<String> =
            ring_systems(&molecule).iter().map(|system| system.name(&molecule)).collect();
        rings.sort();
        rings.dedup();
        Some(Self { groups: groups(&molecule), rings, fingerprint: fingerprint(&molecule) })
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

fn groups(molecule: &Molecule) -> Vec<String> {
    functional_groups(molecule).into_keys().map(|group| group.name()).collect()
}

/// What is known of a candidate.
fn properties(model: &Model, id: &str, label: &str) -> Properties {
    let molecule = Some(label).filter(|_| model.outputs == Outputs::Molecules);
    let molecule = molecule.and_then(|label| Molecule::parse(label).ok());
    let molecule = molecule.map(|molecule| MoleculeProperties {
        formula: molecule.formula(),
        mass: molecule.molar_mass(),
        groups: groups(&molecule),
    });
    let cids = model.runs.config().output.id.eq_ignore_ascii_case("cid");
    let is_cid = cids && id.len() <= 10 && id.bytes().all(|digit| digit.is_ascii_digit());
    let link = is_cid.then(|| format!("https://pubchem.ncbi.nlm.nih.gov/compound/{id}"));
    Properties { link, molecule }
}

impl Endpoint for EmbedRequest {
    const NAME: &'static str = "embed";
    type Answer = EmbedResponse;

    fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    fn given(&self) -> Given<'_> {
        Given::inputs(&self.texts, &self.vectors)
    }

    fn answer(&self, model: &Model, limits: &Limits) -> Result<EmbedResponse, Problem> {
        let (members, names) = (model.runs.members(), model.runs.names());
        let allowed = names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
        let run = match (&self.member, members) {
            (None, [run]) => run,
            (None, _) => {
                return Err(Problem::value("member", "absent", format!("one of {allowed}")));
            }
            (Some(name), _) => {
                let at = names.iter().position(|own| own == name);
                &members[at.ok_or_else(|| Problem::not_found("member", name, &allowed))?]
            }
        };
        let z = run.coordinates(&self.given().queries(limits)?.read(run)?)?;
        let coordinates = z.chunks_exact(run.candidates.dim()).map(<[f32]>::to_vec).collect();
        Ok(EmbedResponse { model: model.name().to_owned(), notice: model.notice(), coordinates })
    }
}

impl Endpoint for RankRequest {
    const NAME: &'static str = "rank";
    type Answer = RankResponse;

    fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    fn given(&self) -> Given<'_> {
        Given::any(&self.texts, &self.vectors, &self.coordinates)
    }

    fn answer(&self, model: &Model, limits: &Limits) -> Result<RankResponse, Problem> {
        let queries = self.given().queries(limits)?;
        if self.ids.len() != queries.len() {
            let found = format!("{} lists", self.ids.len());
            let allowed = format!("a list for each query: {}", queries.len());
            return Err(Problem::value("ids", found, allowed));
        }
        limits.check_all("ids", self.ids.iter().map(Vec::len).sum())?;
        for ids in &self.ids {
            check_count(limits, ids)?;
            known(model.runs.numbers(ids)?, ids)?;
        }
        let decoded = model.runs.rank_candidates(&queries.ask(model)?, &self.ids)?;
        let ranked = |(id, decoded): (&String, Decoded)| {
            let (rank, score) = decoded.rank.zip(decoded.gold_score)?;
            let (above, tied) = (rank.above(), rank.tied());
            Some(Ranked { id: id.clone(), above, tied, rank: rank.expected_rank(), score })
        };
        let answers = self.ids.iter().zip(decoded);
        let answers = answers.map(|(ids, decoded)| ids.iter().zip(decoded).map(ranked).collect());
        let answers = answers.collect::<Option<_>>();
        let answers = answers.ok_or_else(|| Problem::failed("a candidate without a rank"))?;
        let candidates = model.runs.candidates();
        let (name, notice) = (model.name().to_owned(), model.notice());
        Ok(RankResponse { model: name, notice, candidates, answers })
    }
}

/// Refuses a list of too many ids.
fn check_count(limits: &Limits, ids: &[String]) -> Result<(), Problem> {
    if ids.len() > limits.hits {
        let allowed = format!("at most {}", limits.hits);
        return Err(Problem::value("ids", format!("{} ids", ids.len()), allowed));
    }
    Ok(())
}

/// The places of ids, each of which must be that of a candidate.
fn known(places: Vec<Option<usize>>, ids: &[String]) -> Result<Vec<usize>, Problem> {
    let unknown = |id| Problem::not_found("id", id, "the id of a candidate");
    places.into_iter().zip(ids).map(|(place, id)| place.ok_or_else(|| unknown(id))).collect()
}

/// Candidates of a list of ids, by their places among those that come with them.
fn find<'a>(
    model: &'a Model,
    limits: &Limits,
    ids: &[String],
) -> Result<(Vec<usize>, Cow<'a, Candidates>), Problem> {
    check_count(limits, ids)?;
    let (places, candidates) = model.runs.find(ids)?;
    Ok((known(places, ids)?, candidates))
}

impl Endpoint for CandidatesRequest {
    const NAME: &'static str = "candidates";
    type Answer = CandidatesResponse;

    fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    fn answer(&self, model: &Model, limits: &Limits) -> Result<CandidatesResponse, Problem> {
        let (places, candidates) = find(model, limits, &self.ids)?;
        let candidate = |at: usize| {
            let (id, label) = (candidates.id(at).to_owned(), candidates.label(at).to_owned());
            let properties = properties(model, &id, &label);
            Candidate { id, label, properties }
        };
        let candidates = places.into_iter().map(candidate).collect();
        let (name, notice) = (model.name().to_owned(), model.notice());
        Ok(CandidatesResponse { model: name, notice, candidates })
    }
}

impl Endpoint for DrawingRequest {
    const NAME: &'static str = "drawing";
    type Answer = String;

    fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    fn answer(&self, model: &Model, limits: &Limits) -> Result<String, Problem> {
        let (places, candidates) = find(model, limits, std::slice::from_ref(&self.id))?;
        let label = candidates.label(places[0]);
        let drawn = match model.outputs {
            Outputs::Molecules => Molecule::parse(label).ok().map(|molecule| molecule.svg()),
            Outputs::Graphs => {
                let features = &model.runs.config().output.features;
                match features.truth_of_labels([label]).map_err(Error::from)? {
                    Some(Truth::Graphs(graphs)) => graphs.first().map(|graph| graph.svg()),
                    Some(Truth::Molecules(_) | Truth::Labels(_) | Truth::Rankings(_)) | None => {
                        None
                    }
                }
            }
            Outputs::Labels | Outputs::Rankings | Outputs::Numbers | Outputs::Other => None,
        };
        let allowed = "a candidate that is a molecule or a graph";
        drawn.ok_or_else(|| Problem::not_found("id", &self.id, allowed))
    }
}
