//! Molecules, compared by a graph kernel.

use dsokr_molecule::graph::Graph;
use dsokr_molecule::kernels::GraphKernel;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::graphs::{graph_rows, validate};
use super::{FeatureFacts, FittedRows, OutputKind, OutputTable};
use crate::structure::{self, Structure};
use crate::table::Table;
use crate::{Error, Truth};

/// Counts of what a graph kernel compares, of molecules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoleculeGraphFeatures {
    /// The column, e.g. `smiles`.
    pub column: String,
    /// What is counted.
    pub graph: GraphKernel,
}

impl MoleculeGraphFeatures {
    fn molecules(&self, table: &Table) -> Result<Vec<Structure>, Error> {
        structure::column(table, &self.column, Structure::parse)
    }
}

impl OutputKind for MoleculeGraphFeatures {
    fn facts(&self) -> FeatureFacts<'_> {
        FeatureFacts { column: Some(&self.column), is_compared: true, ..Default::default() }
    }

    fn validate(&self, key: &str) -> Result<(), Error> {
        validate(&self.graph, key)
    }

    fn bad_rows(&self, table: &Table) -> Result<Vec<(usize, Error)>, Error> {
        structure::bad_rows(table, &self.column)
    }

    fn truth(&self, table: &Table) -> Result<Option<Truth>, Error> {
        Ok(Some(Truth::Molecules(self.molecules(table)?)))
    }

    fn truth_of_labels(&self, labels: &[&str]) -> Result<Option<Truth>, Error> {
        let molecules = labels.iter().map(|label| Structure::of_candidate(label));
        Ok(Some(Truth::Molecules(molecules.collect::<Result<_, _>>()?)))
    }

    fn read(&self, from: &mut OutputTable) -> Result<FittedRows, Error> {
        let molecules = self.molecules(from.table)?;
        let graphs: Vec<&Graph> = molecules.iter().map(|molecule| &molecule.graph).collect();
        let rows = graph_rows(&self.graph, &graphs, from.fitted)?;
        from.truth = Some(Truth::Molecules(molecules));
        Ok(rows)
    }
}
