//! Predicted molecules compared with the true ones as molecules, not as graphs.

use std::collections::BTreeSet;

use dsokr_molecule::ged::{EditDistance, edit_distance};
use dsokr_molecule::graph::Graph;
use dsokr_molecule::{HashedFeatures, Molecule, Morgan};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::metrics::molecules::limit;
use crate::metrics::queries::{check_queries, mean};
use crate::metrics::table::Table;

/// Graph edit distances, with unit costs, of the first candidates from the true molecules.
///
/// The prediction is the first of tied candidates in the set.
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
    /// Distances of either kind that the search did not prove; their upper bound counts.
    pub unproven: usize,
}

impl MoleculeScores {
    /// Returns the metrics of pairs of a true and a predicted molecule, with both distances of each pair, and 1 where they are
    /// the same graph.
    pub(crate) fn with_queries(pairs: &[(&Graph, &Graph)]) -> Result<(Self, [Vec<f64>; 3]), Error> {
        check_queries(pairs)?;
        let both = pairs.par_iter().with_max_len(1).map(|&(a, b)| {
            let limit = limit(a.len().max(b.len()));
            let [bare_a, bare_b] = [a, b].map(|graph| graph.clone().without_edge_labels());
            (edit_distance(&bare_a, &bare_b, &limit), edit_distance(a, b, &limit))
        });
        let (bare, bonds): (Vec<EditDistance>, Vec<EditDistance>) = both.unzip();
        let unproven =
            bare.iter().chain(&bonds).filter(|distance| distance.exact().is_none()).count();
        let upper =
            |all: Vec<EditDistance>| all.iter().map(|distance| distance.upper as f64).collect();
        let [bare, bonds]: [Vec<f64>; 2] = [bare, bonds].map(upper);
        let same: Vec<f64> = bonds.iter().map(|&edits| f64::from(edits == 0.0)).collect();
        let [(ged, ged_se), (ged_bonds, ged_bonds_se), (exact, _)] =
            [&bare, &bonds, &same].map(|values| mean(values));
        let scores = Self { ged, ged_se, ged_bonds, ged_bonds_se, exact, unproven };
        Ok((scores, [bare, bonds, same]))
    }
}

/// How near predicted molecules are to the true ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StructureScores {
    /// Share of predictions with the canonical SMILES of the true molecule.
    pub exact_molecule: f64,
    /// The molecule without configurations.
    pub exact_without_stereo: f64,
    /// Mean Tanimoto coefficient of the features of Morgan fingerprints of radius 2, not folded: common ones by those of
    /// either.
    pub tanimoto: f64,
}

/// A molecule as it is compared.
struct Compared {
    whole: String,
    flat: String,
    features: BTreeSet<u32>,
}

impl Compared {
    /// Reads a label; none where it is not a SMILES.
    fn from_label(label: &str) -> Option<Self> {
        let molecule = Molecule::parse(label).ok()?;
        let features = Morgan::default().codes(&molecule).into_keys().collect();
        let whole = molecule.canonical_smiles();
        Some(Self { whole, flat: molecule.without_stereo().canonical_smiles(), features })
    }
}

impl StructureScores {
    /// Compares pairs of a true and a predicted molecule as SMILES; none where a true one cannot be read, or there are none.
    pub(crate) fn from_pairs(pairs: &[(&str, &str)]) -> Option<Self> {
        let one = |&(truth, predicted): &(&str, &str)| {
            let truth = Compared::from_label(truth)?;
            let Some(prediction) = Compared::from_label(predicted) else { return Some([0.0; 3]) };
            let common = truth.features.intersection(&prediction.features).count();
            let either = truth.features.len() + prediction.features.len() - common;
            let same = |same| if same { 1.0 } else { 0.0 };
            let tanimoto = common as f64 / either.max(1) as f64;
            Some([
                same(truth.whole == prediction.whole),
                same(truth.flat == prediction.flat),
                tanimoto,
            ])
        };
        let all: Vec<[f64; 3]> = pairs.par_iter().map(one).collect::<Option<_>>()?;
        let mean = |at: usize| all.iter().map(|scores| scores[at]).sum::<f64>() / all.len() as f64;
        let [exact_molecule, exact_without_stereo, tanimoto] = [0, 1, 2].map(mean);
        (!all.is_empty()).then_some(Self { exact_molecule, exact_without_stereo, tanimoto })
    }
}

/// The metrics of molecules that a search found beyond the candidates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BeyondScores {
    /// Edit distances, where outputs are compared as graphs.
    #[serde(flatten)]
    pub graphs: Option<MoleculeScores>,
    /// How near they are as molecules; none where true molecules are not known.
    #[serde(flatten)]
    pub molecules: Option<StructureScores>,
    /// The scores of the first candidates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<StructureScores>,
    /// Share of molecules that are not candidates.
    pub outside: f64,
    /// Mean number of molecules that were scored for a query.
    pub evaluated: f64,
}

impl BeyondScores {
    /// Returns a table of the scores of first candidates, which a row of this name has, and of those beyond, for people.
    pub(crate) fn text(&self, name: &str) -> String {
        let row = |name: &str, scores: &StructureScores| {
            let values =
                [scores.exact_molecule, scores.exact_without_stereo, scores.tanimoto].into_iter();
            let cells = values.zip([14, 14, 8]).map(|(value, width)| format!("{value:>width$.3}"));
            [name.to_owned()].into_iter().chain(cells).collect::<Vec<_>>()
        };
        let rows = self.candidates.iter().map(|scores| row(name, scores));
        let rows = rows.chain(self.molecules.iter().map(|scores| row("beyond", scores)));
        let names = ["          ", "exact molecule", "without stereo", "Tanimoto"];
        let table = match self.molecules {
            Some(_) => Table::new(names, 1).with(rows).text(),
            None => String::new(),
        };
        let outside = 100.0 * self.outside;
        let evaluated = self.evaluated;
        table
            + &format!(
                "{name}, beyond: {outside:.1} % are not candidates; {evaluated:.0} molecules were scored a query\n"
            )
    }
}
