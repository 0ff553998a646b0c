//! Graphs of any kind and molecules, compared by a graph kernel.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use dsokr_core::store::check_inside;
use dsokr_molecule::Molecule;
use dsokr_molecule::graph::{Graph, NamedGraph, parse_json_lines, read_json_lines, read_tudataset};
use dsokr_molecule::kernels::GraphKernel;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FeatureFacts, FittedColumns, FittedRows, OutputKind, OutputTable, sparse};
use crate::error::{CANDIDATES, Error};
use crate::root::{A_BYTE_OF_NUMBERS, DataRoot, size};
use crate::table::Table;
use crate::truth::{Structure, Truth, bad_rows, column};

/// Counts of what a graph kernel compares, of graphs of any kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphFeatures {
    /// JSON lines (.jsonl) with a graph each, or a folder in the layout of the TUDataset collection, whose files bear
    /// its name. Outputs are found by the ids of the graphs, or else by the numbers of the graphs, from 1.
    pub file: String,
    /// The kernel whose features are counted.
    pub graph: GraphKernel,
}

impl OutputKind for GraphFeatures {
    fn validate(&self, key: &str) -> Result<(), Error> {
        check_inside(&format!("{key}.file"), &self.file)?;
        validate(&self.graph, key)
    }

    fn memory(&self, root: &DataRoot) -> f64 {
        graphs_memory(&root.file(&self.file))
    }

    fn truth_of_labels(&self, labels: &[&str]) -> Result<Option<Truth>, Error> {
        let graphs = labels.iter().map(|label| one(label, CANDIDATES));
        Ok(Some(Truth::Graphs(graphs.collect::<Result<_, _>>()?)))
    }

    fn read(&self, from: &mut OutputTable) -> Result<FittedRows, Error> {
        let named = graphs(&from.files.take(&self.file)?, from.table, from.id)?;
        let graphs: Vec<&Graph> = named.iter().map(|named| &named.graph).collect();
        let rows = graph_rows(&self.graph, &graphs, from.fitted)?;
        from.labels = named.iter().map(NamedGraph::json_line).collect();
        from.truth = Some(Truth::Graphs(named));
        Ok(rows)
    }
}

/// Counts of what a graph kernel compares, of molecules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoleculeGraphFeatures {
    /// The column, e.g. `smiles`.
    pub column: String,
    /// The kernel whose features are counted.
    pub graph: GraphKernel,
}

impl MoleculeGraphFeatures {
    fn molecules(&self, table: &Table) -> Result<Vec<Structure>, Error> {
        column(table, &self.column, Structure::parse)
    }

    /// Returns the molecules of a table, whose column `from` may have read already.
    fn structures(&self, from: &OutputTable) -> Result<Vec<Structure>, Error> {
        let Some(molecules) = from.molecules.get(&self.column) else {
            return self.molecules(from.table);
        };
        let texts = from.table.column(&self.column)?.par_iter().zip(molecules);
        let structure = |(smiles, molecule): (&String, &Molecule)| Structure {
            smiles: smiles.clone(),
            graph: Graph::from(molecule),
        };
        Ok(texts.map(structure).collect())
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
        bad_rows(table, &self.column)
    }

    fn truth(&self, table: &Table) -> Result<Option<Truth>, Error> {
        Ok(Some(Truth::Molecules(self.molecules(table)?)))
    }

    fn truth_of_labels(&self, labels: &[&str]) -> Result<Option<Truth>, Error> {
        let molecules = labels.iter().map(|label| Structure::from_label(label));
        Ok(Some(Truth::Molecules(molecules.collect::<Result<_, _>>()?)))
    }

    fn read(&self, from: &mut OutputTable) -> Result<FittedRows, Error> {
        let molecules = self.structures(from)?;
        let graphs: Vec<&Graph> = molecules.iter().map(|molecule| &molecule.graph).collect();
        let rows = graph_rows(&self.graph, &graphs, from.fitted)?;
        from.truth = Some(Truth::Molecules(molecules));
        Ok(rows)
    }
}

/// Returns bytes that the graphs of a file or a folder take.
pub(crate) fn graphs_memory(path: &Path) -> f64 {
    let files = fs::read_dir(path).into_iter().flatten().flatten();
    let inside: f64 = files.map(|entry| size(&entry.path())).sum();
    A_BYTE_OF_NUMBERS * (inside + size(path))
}

impl GraphFeatures {
    /// Returns the rows of graphs that are texts, one JSON object each.
    pub(super) fn of_texts(
        &self,
        texts: &[String],
        fitted: Option<&FittedColumns>,
    ) -> Result<FittedRows, Error> {
        let graph = |text: &String| Ok(one(text, "the inputs")?.graph);
        // a parallel collection into a `Result` would give any thread's error
        let all: Vec<Result<Graph, Error>> = texts.par_iter().map(graph).collect();
        let all = all.into_iter().collect::<Result<Vec<_>, _>>()?;
        graph_rows(&self.graph, &all.iter().collect::<Vec<_>>(), fitted)
    }
}

/// Checks a kernel of features under a key.
fn validate(kernel: &GraphKernel, key: &str) -> Result<(), Error> {
    Ok(kernel.validate().map_err(|error| error.of(format!("{key}.graph.")))?)
}

/// Returns the rows of graphs.
fn graph_rows(
    kernel: &GraphKernel,
    graphs: &[&Graph],
    fitted: Option<&FittedColumns>,
) -> Result<FittedRows, Error> {
    let (features, rows) = kernel.rows(graphs, fitted.map(|fitted| &fitted.features[..]))?;
    Ok(sparse((FittedColumns { width: rows.width(), features, ..FittedColumns::default() }, rows)))
}

/// Returns the graphs of a file, JSON lines or a folder of the TUDataset collection, in the order of a table's
/// ids.
pub(crate) fn graphs(path: &Path, table: &Table, id: &str) -> Result<Vec<NamedGraph>, Error> {
    let graphs = if path.is_dir() {
        read_tudataset(path, &path.file_name().unwrap_or_default().to_string_lossy())?
    } else {
        read_json_lines(path)?
    };
    let mut rows = HashMap::with_capacity(graphs.len());
    for (row, graph) in graphs.iter().enumerate() {
        if let Some(first) = rows.insert(graph.id.as_str(), row) {
            let id = &graph.id;
            let first = first + 1;
            let second = row + 1;
            let message = format!("id {id:?} names graph {first} and graph {second}");
            return Err(Error::file(path, message));
        }
    }
    let places = table.places(id, &rows, format!("the graphs of {}", path.display()))?;
    places.map(|place| place.map(|at| graphs[at].clone())).collect()
}

/// Returns the graph of a text that errors call `name`.
fn one(text: &str, name: &str) -> Result<NamedGraph, Error> {
    let graph = parse_json_lines(text.as_bytes(), Path::new(name))?.pop();
    graph.ok_or_else(|| Error::file(Path::new(name), "no graph"))
}
