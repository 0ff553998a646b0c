//! Answers, as the library computes them.

use dsokr_data::Truth;
use dsokr_decode::CandidateBlocks;
use dsokr_molecule::{Molecule, functional_groups, ring_systems};

use super::filter::{Molecules, Wanted, fingerprint, tanimoto};
use super::problem::Problem;
use super::queries::Queries;
use super::requests::{EmbedRequest, Filter, RankRequest, SearchRequest};
use super::responses::{
    Answer, Candidate, CandidatesResponse, Confidence, EmbedResponse, Exact, Hit,
    MoleculeProperties, Nearest, Outputs, Quantile, RankResponse, Ranked, SearchResponse, Shared,
};
use super::{Limits, Model};
use crate::run::{DistinctAnswer, DistinctHit};

/// Training texts that explain an answer.
const NEAREST: usize = 3;

pub(super) fn search(
    model: &Model,
    limits: &Limits,
    request: &SearchRequest,
) -> Result<SearchResponse, Problem> {
    if !(1..=limits.hits).contains(&request.top) {
        return Err(Problem::value("top", request.top, format!("1 to {}", limits.hits)));
    }
    let queries = Queries::of_search(request, limits)?;
    let wanted = request.filter.as_ref().map(|filter| wanted(model, filter)).transpose()?;
    let asked = queries.ask(model)?;
    let places = request.skip..request.skip.saturating_add(request.top);
    let keep = |_: &_, candidate: usize| wanted.as_ref().is_none_or(|wanted| wanted[candidate]);
    let answers = model.runs.distinct(&asked, places, keep)?;
    let candidates = model.run().candidates.len();
    let counted = |wanted: &Vec<bool>| wanted.iter().filter(|&&wanted| wanted).count();
    let shown = |(query, answer)| {
        let text = queries.text(query).filter(|_| request.explain);
        shown(model, text, answer)
    };
    Ok(SearchResponse {
        model: model.name().to_owned(),
        notice: model.notice(),
        candidates,
        wanted: wanted.as_ref().map_or(candidates, counted),
        answers: answers.into_iter().enumerate().map(shown).collect(),
    })
}

/// Whether each candidate passes a filter.
fn wanted(model: &Model, filter: &Filter) -> Result<Vec<bool>, Problem> {
    let wanted = Wanted::read(filter)?;
    if model.outputs != Outputs::Molecules {
        let found = format!("given, for {:?}", model.outputs).to_lowercase();
        return Err(Problem::value("filter", found, "absent: candidates are no molecules"));
    }
    let Some(molecules) = model.molecules() else {
        let found = format!("given, for {} candidates", model.run().candidates.len());
        let allowed = format!("absent: at most {} candidates can be filtered", Molecules::MOST);
        return Err(Problem::value("filter", found, allowed));
    };
    Ok(molecules.wanted(&wanted))
}

/// An answer, explained by the training texts nearest to `text`.
fn shown(model: &Model, text: Option<&str>, answer: DistinctAnswer) -> Answer {
    let DistinctAnswer { hits, gap, further } = answer;
    let nearest: Vec<Nearest> = match (text, model.training()) {
        (Some(text), Ok(training)) => training
            .nearest(text, NEAREST)
            .into_iter()
            .map(|(id, text, similarity)| {
                let candidates = &model.run().candidates;
                let label = candidates.find(id).map(|at| candidates.label(at).to_owned());
                Nearest { id: id.to_owned(), text: text.to_owned(), similarity, label }
            })
            .collect(),
        (Some(_) | None, _) => Vec::new(),
    };
    let known: Vec<(&str, Parts)> = nearest
        .iter()
        .filter(|_| model.outputs == Outputs::Molecules)
        .filter_map(|near| Some((near.id.as_str(), Parts::of(near.label.as_deref()?)?)))
        .collect();
    let quantiles = further.quantiles.as_ref();
    let shown = |found: DistinctHit| {
        let DistinctHit { candidate: at, duplicates, score, rank, tied, gap } = found;
        let mut candidate = candidate(model, at);
        if let (true, Some(quantiles)) = (candidate.label.is_empty(), quantiles) {
            // read when it was scored
            let number = quantiles.number(&model.run().candidates, at);
            candidate.label = number.map_or_else(|_| String::new(), |number| number.to_string());
        }
        let shared = match known.is_empty() {
            true => Vec::new(),
            false => Parts::of(&candidate.label).map_or_else(Vec::new, |own| {
                known.iter().map(|(id, other)| own.shared(id, other)).collect()
            }),
        };
        let id = |at: usize| model.run().candidates.id(at).to_owned();
        let duplicates = duplicates.into_iter().map(id).collect();
        Hit { rank, candidate, score, gap, tied, duplicates, shared }
    };
    let hits = hits.into_iter().map(shown).collect();
    let exact = further.exact.map(|exact| Exact { label: exact.label, score: exact.score });
    let quantiles =
        further.quantiles.into_iter().flat_map(|own| own.levels.into_iter().zip(own.values));
    let quantiles = quantiles.map(|(level, value)| Quantile { level, value }).collect();
    let confidence = gap.and_then(|gap| confidence(model, gap));
    Answer { hits, exact, quantiles, confidence, nearest }
}

/// How often first candidates with such a gap were right.
fn confidence(model: &Model, gap: f32) -> Option<Confidence> {
    let bins = model.reliability()?;
    let below = bins.iter().rev().find(|bin| bin.from <= f64::from(gap));
    let bin = below.or(bins.first())?;
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

/// A candidate with its properties.
pub(super) fn candidate(model: &Model, at: usize) -> Candidate {
    let candidates = &model.run().candidates;
    let (id, label) = (candidates.id(at).to_owned(), candidates.label(at).to_owned());
    let molecule = match model.outputs {
        Outputs::Molecules => Molecule::parse(&label).ok().map(|molecule| MoleculeProperties {
            formula: molecule.formula(),
            mass: molecule.molar_mass(),
            groups: groups(&molecule),
        }),
        Outputs::Graphs
        | Outputs::Labels
        | Outputs::Rankings
        | Outputs::Numbers
        | Outputs::Other => None,
    };
    let cids = model.runs.config().output.id.eq_ignore_ascii_case("cid");
    let is_cid = cids && id.len() <= 10 && id.bytes().all(|digit| digit.is_ascii_digit());
    let link = is_cid.then(|| format!("https://pubchem.ncbi.nlm.nih.gov/compound/{id}"));
    Candidate { id, label, link, molecule }
}

pub(super) fn embed(
    model: &Model,
    limits: &Limits,
    request: &EmbedRequest,
) -> Result<EmbedResponse, Problem> {
    let members = model.runs.members();
    let names = || {
        let names: Vec<String> =
            model.runs.names().iter().map(|name| format!("{name:?}")).collect();
        names.join(", ")
    };
    let run = match (&request.member, members) {
        (None, [run]) => run,
        (None, _) => return Err(Problem::value("member", "absent", format!("one of {}", names()))),
        (Some(name), _) => {
            let at = model.runs.names().iter().position(|own| own == name);
            &members[at.ok_or_else(|| Problem::not_found("member", name, &names()))?]
        }
    };
    let split = Queries::of_embed(request, limits)?.read(run)?;
    let z = run.coordinates(&split)?;
    let coordinates = z.chunks_exact(run.candidates.dim()).map(<[f32]>::to_vec).collect();
    Ok(EmbedResponse { model: model.name().to_owned(), notice: model.notice(), coordinates })
}

pub(super) fn rank(
    model: &Model,
    limits: &Limits,
    request: &RankRequest,
) -> Result<RankResponse, Problem> {
    let queries = Queries::of_rank(request, limits)?;
    if request.ids.len() != queries.len() {
        let found = format!("{} lists", request.ids.len());
        let allowed = format!("a list for each query, of which there are {}", queries.len());
        return Err(Problem::value("ids", found, allowed));
    }
    request.ids.iter().try_for_each(|ids| find(model, limits, ids).map(|_| ()))?;
    let decoded = model.runs.rank_candidates(&queries.ask(model)?, &request.ids)?;
    let mut answers = Vec::with_capacity(decoded.len());
    for (ids, decoded) in request.ids.iter().zip(decoded) {
        let ranked = ids.iter().zip(decoded).map(|(id, decoded)| {
            let (rank, score) = decoded.rank.zip(decoded.gold_score)?;
            let (above, tied) = (rank.above(), rank.tied());
            Some(Ranked { id: id.clone(), above, tied, rank: rank.expected_rank(), score })
        });
        let ranked = ranked.collect::<Option<Vec<_>>>();
        answers.push(ranked.ok_or_else(|| Problem::failed("a candidate without a rank"))?);
    }
    let candidates = model.run().candidates.len();
    let (name, notice) = (model.name().to_owned(), model.notice());
    Ok(RankResponse { model: name, notice, candidates, answers })
}

/// Candidates of a list of ids.
fn find(model: &Model, limits: &Limits, ids: &[String]) -> Result<Vec<usize>, Problem> {
    if ids.len() > limits.hits {
        let allowed = format!("at most {}", limits.hits);
        return Err(Problem::value("ids", format!("{} ids", ids.len()), allowed));
    }
    ids.iter().map(|id| place(model, id)).collect()
}

fn place(model: &Model, id: &str) -> Result<usize, Problem> {
    let unknown = || Problem::not_found("id", id, "the id of a candidate");
    model.run().candidates.find(id).ok_or_else(unknown)
}

pub(super) fn candidates(
    model: &Model,
    limits: &Limits,
    ids: &[String],
) -> Result<CandidatesResponse, Problem> {
    let places = find(model, limits, ids)?;
    let candidates = places.into_iter().map(|at| candidate(model, at)).collect();
    Ok(CandidatesResponse { model: model.name().to_owned(), notice: model.notice(), candidates })
}

pub(super) fn drawing(model: &Model, id: &str) -> Result<String, Problem> {
    let label = model.run().candidates.label(place(model, id)?);
    let no_drawing = || Problem::not_found("id", id, "a candidate that is a molecule or a graph");
    match model.outputs {
        Outputs::Molecules => Ok(Molecule::parse(label).map_err(|_| no_drawing())?.svg()),
        Outputs::Graphs => {
            let features = &model.runs.config().output.features;
            match Truth::of_labels([label].into_iter(), features).map_err(crate::Error::from)? {
                Some(Truth::Graphs(graphs)) => {
                    graphs.first().map(|graph| graph.svg()).ok_or_else(no_drawing)
                }
                Some(Truth::Molecules(_) | Truth::Labels(_) | Truth::Rankings(_)) | None => {
                    Err(no_drawing())
                }
            }
        }
        Outputs::Labels | Outputs::Rankings | Outputs::Numbers | Outputs::Other => {
            Err(no_drawing())
        }
    }
}
