//! Rows of all QM9 molecules under a graph kernel.

use std::time::Instant;

use dsokr_molecule::Molecule;
use dsokr_molecule::graph::Graph;
use dsokr_molecule::kernels::{GraphKernel, GraphVocabulary};
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::{Failure, data};

/// WL-VH, unless another kernel is asked for.
const DEFAULT: &str = r#"{"name": "weisfeiler-lehman", "iterations": 5}"#;

pub fn run(kernel: Option<&str>) -> Result<Value, Failure> {
    let kernel: GraphKernel = serde_json::from_str(kernel.unwrap_or(DEFAULT))?;
    let text = std::fs::read_to_string(data("qm9/smiles.txt"))?;
    let start = Instant::now();
    let graph = |smiles| Molecule::parse(smiles).map(|molecule| Graph::from(&molecule));
    let graphs = text.par_lines().map(graph).collect::<Result<Vec<_>, _>>()?;
    let parse_s = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let (vocabulary, rows) = GraphVocabulary::fit_rows(kernel.clone(), &graphs)?;
    let features_s = start.elapsed().as_secs_f64();
    let bytes = 8 * (rows.entries() + rows.len() + 1);
    Ok(json!({
        "kernel": kernel,
        "graphs": graphs.len(),
        "parse_s": parse_s,
        "features_s": features_s,
        "entries": rows.entries(),
        "width": vocabulary.width(),
        "rows_mib": bytes as f64 / f64::from(1 << 20),
    }))
}
