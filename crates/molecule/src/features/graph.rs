//! What a graph kernel compares, as feature rows.

use dsokr_basis::features::SparseRows;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::featurizer::MoleculeFeatures;
use crate::graph::Graph;
use crate::kernels::{GraphKernel, GraphVocabulary};
use crate::{Error, Molecule};

/// The features of a graph kernel, a column for each that occurs in the molecules
/// ([`GraphVocabulary::fit_rows`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphCounts {
    /// The kernel.
    pub kernel: GraphKernel,
}

impl MoleculeFeatures for GraphCounts {
    fn validate(&self) -> Result<(), Error> {
        self.kernel.validate().map_err(|error| error.below("graph features", "kernel"))
    }

    fn counts(&self, molecules: &[Molecule]) -> Result<SparseRows, Error> {
        Ok(self.fit(molecules)?.1)
    }

    fn fit(&self, molecules: &[Molecule]) -> Result<(Vec<u64>, SparseRows), Error> {
        self.validate()?;
        let graphs: Vec<Graph> = molecules.par_iter().map(Graph::from).collect();
        let (vocabulary, rows) = GraphVocabulary::fit_rows(self.kernel.clone(), &graphs)?;
        Ok((vocabulary.features().to_vec(), rows))
    }

    fn counts_in(&self, columns: &[u64], molecules: &[Molecule]) -> Result<SparseRows, Error> {
        self.validate()?;
        let graphs: Vec<Graph> = molecules.par_iter().map(Graph::from).collect();
        GraphVocabulary::from_features(self.kernel.clone(), columns.to_vec())?.rows(&graphs)
    }
}
