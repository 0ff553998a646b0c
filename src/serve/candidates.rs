//! Coordinates of queries, ranks of chosen candidates, and candidates by id: as JSON and as drawings.

use crate::error::{ensure, listed};
use std::borrow::Cow;
use std::collections::BTreeMap;

use dsokr_core::Processes;
use dsokr_data::Truth;
use dsokr_decode::{CandidateBlocks, Candidates, Decoded};
use dsokr_molecule::{Molecule, functional_groups};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Limits;
use super::description::{About, Outputs};
use super::model::Model;
use super::queries::{Endpoint, QueryKind, RequestQueries};
use super::refusal::Refusal;
use crate::error::Error;

/// Queries: exactly one of `texts` and `vectors`.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EmbedRequest {
    /// The name of a model; default: the first one.
    pub model: Option<String>,
    /// The member of an ensemble, by the names that `GET /api/models` lists; an ensemble has no coordinates of
    /// its own.
    pub member: Option<String>,
    /// Texts, for models that read texts.
    #[schema(example = json!(["A carboxylic acid with a bromine atom on a benzene ring."]))]
    pub texts: Option<Vec<String>>,
    /// Vectors, for models that read vectors.
    pub vectors: Option<Vec<Vec<f32>>>,
}

/// Queries, exactly one of `texts`, `vectors` and `coordinates`, with candidates to rank.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RankRequest {
    /// The name of a model; default: the first one.
    pub model: Option<String>,
    /// Texts, for models that read texts.
    #[schema(example = json!(["A carboxylic acid with a bromine atom on a benzene ring."]))]
    pub texts: Option<Vec<String>>,
    /// Vectors, for models that read vectors.
    pub vectors: Option<Vec<Vec<f32>>>,
    /// Predicted coordinates, made by any program, for models that are not ensembles.
    pub coordinates: Option<Vec<Vec<f32>>>,
    /// Ids of candidates: a list for each query. `GET /api/models` has the most ids of all lists together.
    #[schema(example = json!([["60726"]]))]
    pub ids: Vec<Vec<String>>,
}

/// Candidates by id.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CandidatesRequest {
    /// The name of a model; default: the first one.
    pub model: Option<String>,
    /// Ids.
    #[schema(example = json!(["60726"]))]
    pub ids: Vec<String>,
}

/// A candidate to draw.
#[derive(Deserialize, Serialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct DrawingRequest {
    /// The name of a model; default: the first one.
    pub model: Option<String>,
    /// The id of the candidate.
    pub id: String,
    /// Atoms of a molecule to mark, with the bonds between them: from 0 in the order of its SMILES without folded hydrogens,
    /// with commas between.
    #[param(example = "0,1,2")]
    pub atoms: Option<String>,
}

/// A candidate.
#[derive(Serialize, ToSchema)]
pub(super) struct Candidate {
    /// Its id.
    pub id: String,
    /// Its label: the SMILES of a molecule, a set of labels, a ranking, a number or a graph.
    pub label: String,
    /// Further columns, such as a price, by name: the cell of each as the table of outputs has it. Absent where candidates
    /// have none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub columns: BTreeMap<String, String>,
    /// Its properties.
    #[serde(flatten)]
    pub properties: Properties,
}

/// Properties of a candidate.
#[derive(Default, Serialize, ToSchema)]
pub(super) struct Properties {
    /// Where a public database describes it, if its id is one of PubChem, ChEBI or an InChIKey.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Properties of a molecule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub molecule: Option<MoleculeProperties>,
}

/// Properties of a molecule.
#[derive(Clone, Serialize, ToSchema)]
pub(super) struct MoleculeProperties {
    /// Its formula in Hill's order.
    pub formula: String,
    /// Its molar mass in g/mol.
    pub mass: f64,
    /// Its mass in Da, each atom being of the most abundant isotope or of the one that is written.
    pub monoisotopic: f64,
    /// Its functional groups.
    pub groups: Vec<String>,
}

/// Predicted coordinates.
#[derive(Serialize, ToSchema)]
pub(super) struct EmbedResponse {
    #[serde(flatten)]
    pub about: About,
    /// The coordinates of each query, before any scaling of `decoding`.
    pub coordinates: Vec<Vec<f32>>,
}

/// Ranks of candidates.
#[derive(Serialize, ToSchema)]
pub(super) struct RankResponse {
    #[serde(flatten)]
    pub about: About,
    /// Number of candidates, duplicates counted.
    pub candidates: usize,
    /// The ranked candidates of each query, in the order of the request.
    pub answers: Vec<Vec<Ranked>>,
}

/// The rank of a candidate among all.
#[derive(Serialize, ToSchema)]
pub(super) struct Ranked {
    /// The candidate.
    pub id: String,
    /// Number of candidates with a higher score.
    pub above: u64,
    /// Number of other candidates with the same score, duplicates included.
    pub tied: u64,
    /// The mean rank over the orders of the ties.
    pub rank: f64,
    /// Its score.
    pub score: f32,
}

/// Candidates.
#[derive(Serialize, ToSchema)]
pub(super) struct CandidatesResponse {
    #[serde(flatten)]
    pub about: About,
    /// The candidates, in the order of the request.
    pub candidates: Vec<Candidate>,
}

/// Returns a mass with six decimals, as masses of isotopes have them: sums of these have further digits that mean nothing.
fn rounded(mass: f64) -> f64 {
    (mass * 1e6).round() / 1e6
}

impl Properties {
    /// Returns the properties of a candidate with this id, which is this molecule, if it is one.
    pub(super) fn new(model: &Model, id: &str, molecule: Option<&Molecule>) -> Self {
        let molecule = molecule.map(|molecule| MoleculeProperties {
            formula: molecule.formula(),
            mass: rounded(molecule.molar_mass()),
            monoisotopic: rounded(molecule.neutral_mass()),
            groups: groups(molecule),
        });
        let config = model.run.config();
        let facts = config.data.facts();
        let column = facts.id.unwrap_or(&config.output.id);
        let column = Some(column).filter(|_| !facts.numbered);
        Self { link: link(column, id), molecule }
    }
}

/// Returns the page of a public database about an id of a column, or of no column where ids are the numbers of rows: of
/// PubChem for the ids of a column `cid` and for InChIKeys, whole or the first block, and of ChEBI for ids such as
/// CHEBI:15377.
fn link(column: Option<&str>, id: &str) -> Option<String> {
    let is_number =
        |text: &str| (1..=10).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    let is_cid = column.is_some_and(|column| column.eq_ignore_ascii_case("cid"));
    if is_cid && is_number(id) {
        return Some(format!("https://pubchem.ncbi.nlm.nih.gov/compound/{id}"));
    }
    let chebi = id.strip_prefix("CHEBI:").or_else(|| id.strip_prefix("ChEBI:"));
    if chebi.is_some_and(is_number) {
        return Some(format!("https://www.ebi.ac.uk/chebi/searchId.do?chebiId={id}"));
    }
    let blocks: Vec<&str> = id.split('-').collect();
    let lengths: Vec<usize> = blocks.iter().map(|block| block.len()).collect();
    let is_key = lengths == [14] || lengths == [14, 10, 1];
    let is_upper =
        blocks.iter().all(|block| block.bytes().all(|letter| letter.is_ascii_uppercase()));
    (is_key && is_upper).then(|| format!("https://pubchem.ncbi.nlm.nih.gov/#query={id}"))
}

/// Returns the names of the functional groups of a molecule.
pub(super) fn groups(molecule: &Molecule) -> Vec<String> {
    functional_groups(molecule).into_keys().map(|group| group.name()).collect()
}

impl Endpoint for EmbedRequest {
    const NAME: &'static str = "embed";
    const KINDS: &'static [QueryKind] = &[QueryKind::Texts, QueryKind::Vectors];
    type Answer = EmbedResponse;

    fn queries(&self) -> RequestQueries<'_> {
        let queries = RequestQueries::from_model(&self.model);
        queries.with_inputs(Self::KINDS, &self.texts, &self.vectors)
    }

    fn answer(
        &self,
        _processes: &Processes,
        model: &Model,
        limits: &Limits,
    ) -> Result<EmbedResponse, Refusal> {
        let allowed = listed(model.run.names().iter().map(String::as_str));
        let member = match (&self.member, model.run.members()) {
            (None, [member]) => member,
            (None, _) => Err(Error::value("member", "absent", format!("one of {allowed}")))?,
            (Some(name), [_]) => {
                let allowed = "absent: the model is no ensemble, and has no members";
                return Err(Refusal::not_found("member", name, allowed));
            }
            (Some(name), members) => {
                let at = model.run.names().iter().position(|other| other == name);
                &members[at.ok_or_else(|| Refusal::not_found("member", name, &allowed))?]
            }
        };
        let queries = self.queries().check(limits)?.read(member)?;
        let z = member.coordinates(&queries)?;
        let coordinates = z.chunks_exact(member.candidates.dim()).map(<[f32]>::to_vec).collect();
        Ok(EmbedResponse { about: model.about(), coordinates })
    }
}

impl Endpoint for RankRequest {
    const NAME: &'static str = "rank";
    const KINDS: &'static [QueryKind] =
        &[QueryKind::Texts, QueryKind::Vectors, QueryKind::Coordinates];
    type Answer = RankResponse;

    fn queries(&self) -> RequestQueries<'_> {
        RequestQueries::from_model(&self.model)
            .with_inputs(Self::KINDS, &self.texts, &self.vectors)
            .with_coordinates(&self.coordinates)
    }

    fn answer(
        &self,
        processes: &Processes,
        model: &Model,
        limits: &Limits,
    ) -> Result<RankResponse, Refusal> {
        let queries = self.queries().check(limits)?;
        let found = format!("{} lists", self.ids.len());
        let allowed = format!("a list for each query: {}", queries.len());
        ensure(self.ids.len() == queries.len(), "ids", found, allowed)?;
        limits.check_all("ids", self.ids.iter().map(Vec::len).sum())?;
        self.ids.iter().try_for_each(|ids| check_count(limits, ids))?;
        let all = self.ids.concat();
        all_found(model.run.numbers(processes, &all)?, &all)?;
        let decoded =
            model.run.rank_candidates(&queries.predict(processes, model, None)?, &self.ids)?;
        let ranked = |(id, decoded): (&String, Decoded)| {
            let (rank, score) = decoded.rank.zip(decoded.gold_score)?;
            let above = rank.above();
            let tied = rank.tied() - 1;
            Some(Ranked { id: id.clone(), above, tied, rank: rank.expected_rank(), score })
        };
        let each =
            |(ids, decoded): (&Vec<String>, Vec<_>)| ids.iter().zip(decoded).map(ranked).collect();
        let answers = self.ids.iter().zip(decoded).map(each).collect::<Option<_>>();
        let answers = answers.ok_or_else(|| Refusal::failed("a candidate without a rank"))?;
        let candidates = model.run.candidates();
        Ok(RankResponse { about: model.about(), candidates, answers })
    }
}

/// Refuses a list of too many ids.
fn check_count(limits: &Limits, ids: &[String]) -> Result<(), Refusal> {
    let allowed = format!("at most {}", limits.hits);
    ensure(ids.len() <= limits.hits, "ids", format!("{} ids", ids.len()), allowed)?;
    Ok(())
}

/// Returns the places of ids. Each must be that of a candidate.
fn all_found(places: Vec<Option<usize>>, ids: &[String]) -> Result<Vec<usize>, Refusal> {
    let unknown = |id| Refusal::not_found("id", id, "the id of a candidate");
    places.into_iter().zip(ids).map(|(place, id)| place.ok_or_else(|| unknown(id))).collect()
}

/// Returns the candidates of a list of ids, by their places among those that come with them.
fn find<'a>(
    processes: &Processes,
    model: &'a Model,
    limits: &Limits,
    ids: &[String],
) -> Result<(Vec<usize>, Cow<'a, Candidates>), Refusal> {
    check_count(limits, ids)?;
    let (places, candidates) = model.run.find(processes, ids)?;
    Ok((all_found(places, ids)?, candidates))
}

impl Endpoint for CandidatesRequest {
    const NAME: &'static str = "candidates";
    type Answer = CandidatesResponse;

    fn queries(&self) -> RequestQueries<'_> {
        RequestQueries::from_model(&self.model)
    }

    fn answer(
        &self,
        processes: &Processes,
        model: &Model,
        limits: &Limits,
    ) -> Result<CandidatesResponse, Refusal> {
        let (places, candidates) = find(processes, model, limits, &self.ids)?;
        let candidate = |at: usize| {
            let id = candidates.id(at).to_owned();
            let label = candidates.label(at).to_owned();
            let properties = Properties::new(model, &id, model.molecule(&label).as_ref());
            let columns = candidates.columns().further(at);
            let columns = columns.map(|(name, cell)| (name.to_owned(), cell.to_owned())).collect();
            Candidate { id, label, columns, properties }
        };
        let candidates = places.into_iter().map(candidate).collect();
        Ok(CandidatesResponse { about: model.about(), candidates })
    }
}

impl DrawingRequest {
    /// Returns the atoms of the molecule to mark.
    fn marked(&self, molecule: &Molecule) -> Result<Vec<usize>, Error> {
        let Some(atoms) = &self.atoms else { return Ok(Vec::new()) };
        let count = molecule.atoms().len();
        let number = |atom: &str| atom.trim().parse().ok().filter(|&atom: &usize| atom < count);
        let numbers: Option<Vec<usize>> = atoms.split(',').map(number).collect();
        let allowed = format!("numbers of atoms below {count}, with commas between, such as 0,1,2");
        numbers.ok_or_else(|| Error::value("atoms", format!("{atoms:?}"), allowed))
    }
}

impl Endpoint for DrawingRequest {
    const NAME: &'static str = "drawing";
    type Answer = String;

    fn queries(&self) -> RequestQueries<'_> {
        RequestQueries::from_model(&self.model)
    }

    fn answer(
        &self,
        processes: &Processes,
        model: &Model,
        limits: &Limits,
    ) -> Result<String, Refusal> {
        let (places, candidates) = find(processes, model, limits, std::slice::from_ref(&self.id))?;
        let label = candidates.label(places[0]);
        let drawn = match model.outputs {
            Outputs::Molecules => match model.molecule(label) {
                Some(molecule) => Some(molecule.svg_with_marked(&self.marked(&molecule)?)),
                None => None,
            },
            Outputs::Graphs => {
                let allowed = "absent: atoms are marked in molecules only";
                ensure(self.atoms.is_none(), "atoms", "given, for a graph", allowed)?;
                let features = &model.run.config().output.features;
                let truth = features.truth_of_labels([label]).map_err(Error::from)?;
                let graphs = if let Some(Truth::Graphs(graphs)) = truth { graphs } else { vec![] };
                graphs.first().map(|graph| graph.svg())
            }
            Outputs::Labels
            | Outputs::Classes
            | Outputs::Rankings
            | Outputs::Numbers
            | Outputs::Other => None,
        };
        let allowed = "a candidate that is a molecule or a graph";
        drawn.ok_or_else(|| Refusal::not_found("id", &self.id, allowed))
    }
}
