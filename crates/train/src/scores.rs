use std::ops::Deref;

use dsokr_decode::{Candidates, Metrics, Pool, Queries};
use dsokr_molecule::ged::{EditDistance, Limit, edit_distance};
use dsokr_molecule::graph::Graph;
use dsokr_molecule::{svg_column, svg_pair};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::data::Structure;

/// What the search for one edit distance may cost, in states times the cube of the number of atoms, which
/// is how the time for a state grows: about half a second. Molecules of QM9 need far less.
const WORK: u64 = 20_000_000;

/// Its limit in states, which are the same on every machine.
fn limit(a: &Graph, b: &Graph) -> Limit {
    let atoms = a.len().max(b.len()).max(1) as u64;
    Limit::NONE.states((WORK / atoms.saturating_pow(3)).max(1))
}

/// What an evaluation says about a split: ranks, and of predicted molecules also how far they are from
/// the true ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Of the ranks.
    #[serde(flatten)]
    pub ranks: Metrics,
    /// Of the predicted molecules, where outputs are molecules.
    #[serde(flatten)]
    pub molecules: Option<MoleculeScores>,
}

impl From<Metrics> for Scores {
    fn from(ranks: Metrics) -> Self {
        Self { ranks, molecules: None }
    }
}

impl Deref for Scores {
    type Target = Metrics;

    fn deref(&self) -> &Metrics {
        &self.ranks
    }
}

/// Graph edit distances, with unit costs, of the first candidates from the true molecules.
///
/// Of candidates that tie, the one that stands first in the set counts as predicted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MoleculeScores {
    /// Mean edit distance of the graphs whose nodes are labelled by element.
    pub ged: f64,
    /// Its standard error over the queries; 0 for one query.
    pub ged_se: f64,
    /// Mean edit distance of the graphs whose edges are labelled by bond order too.
    pub ged_bonds: f64,
    /// Its standard error over the queries; 0 for one query.
    pub ged_bonds_se: f64,
    /// Share of predictions at distance 0, bonds compared: the same graph.
    pub exact: f64,
    /// Distances of either kind that the search did not prove, for which their upper bound counts.
    pub unproven: usize,
}

impl MoleculeScores {
    /// Of pairs of a true and a predicted molecule.
    ///
    /// # Errors
    /// [`dsokr_decode::Error::NoQueries`].
    pub fn of(pairs: &[(&Graph, &Graph)]) -> Result<Self, Error> {
        if pairs.is_empty() {
            return Err(dsokr_decode::Error::NoQueries.into());
        }
        let both = pairs.par_iter().with_max_len(1).map(|&(a, b)| {
            let (bare_a, bare_b) =
                (a.clone().without_edge_labels(), b.clone().without_edge_labels());
            let limit = limit(a, b);
            (edit_distance(&bare_a, &bare_b, &limit), edit_distance(a, b, &limit))
        });
        let (bare, bonds): (Vec<EditDistance>, Vec<EditDistance>) = both.unzip();
        let ((ged, ged_se), (ged_bonds, ged_bonds_se)) = (mean(&bare), mean(&bonds));
        let same = bonds.iter().filter(|found| found.upper == 0).count();
        Ok(Self {
            ged,
            ged_se,
            ged_bonds,
            ged_bonds_se,
            exact: same as f64 / pairs.len() as f64,
            unproven: bare.iter().chain(&bonds).filter(|found| found.exact().is_none()).count(),
        })
    }
}

/// Mean upper bound and its standard error.
fn mean(found: &[EditDistance]) -> (f64, f64) {
    let n = found.len() as f64;
    let mean = found.iter().map(|found| found.upper as f64).sum::<f64>() / n;
    let squares: f64 = found.iter().map(|found| (found.upper as f64 - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0).max(1.0) / n).sqrt())
}

/// The molecules that coordinates `z` `[queries × p]` predict: the first candidate of each query.
pub(crate) fn predicted(
    z: &[f32],
    p: usize,
    candidates: &Candidates,
    pool: Pool,
) -> Result<Vec<Structure>, Error> {
    let first = pool.top_k(&Queries::new(p, z)?, candidates, 1)?;
    let first = first.iter().flatten().map(|hit| candidates.label(hit.candidate));
    first.map(Structure::of_candidate).collect()
}

/// Drawings of true molecules, each with the predicted one beside it, as one SVG document; captions
/// say the SMILES and the edit distance, bonds compared.
///
/// # Errors
/// None that molecules which have been read before can bring about.
pub fn drawing(truth: &[Structure], predicted: &[Structure]) -> Result<String, Error> {
    let pair = |(truth, predicted): (&Structure, &Structure)| -> Result<String, Error> {
        let (a, b) = (&truth.graph, &predicted.graph);
        let found = edit_distance(a, b, &limit(a, b));
        let (left, right) = (truth.molecule()?, predicted.molecule()?);
        let edits = match found.exact() {
            Some(1) => "1 edit".to_owned(),
            Some(edits) => format!("{edits} edits"),
            None => format!("{} to {} edits", found.lower, found.upper),
        };
        let caption = format!("{}: {edits}", predicted.smiles);
        Ok(svg_pair((&left, &truth.smiles), (&right, &caption)))
    };
    let pairs: Vec<String> = truth.iter().zip(predicted).map(pair).collect::<Result<_, _>>()?;
    Ok(svg_column(&pairs))
}

/// Scores of predicted molecules beside the true ones.
pub(crate) fn compare(
    truth: &[Structure],
    predicted: &[Structure],
) -> Result<MoleculeScores, Error> {
    let pairs: Vec<(&Graph, &Graph)> =
        truth.iter().zip(predicted).map(|(a, b)| (&a.graph, &b.graph)).collect();
    MoleculeScores::of(&pairs)
}
