//! Gram matrices of GraKeL, raw and normalised.

use std::io::{BufRead, BufReader};

use dsokr_basis::kernel::OutputKernel;
use dsokr_basis::{Features, Kernel};
use dsokr_molecule::graph::{Graph, label};
use dsokr_molecule::kernels::{GraphKernel, GraphVocabulary};
use serde_json::Value;

use crate::data::data;
use crate::support::kernel;

/// Returns the first graphs of the golden file, read without the library's own loader.
fn graphs(folder: &std::path::Path, count: usize) -> Vec<Graph> {
    let file = std::fs::File::open(folder.join("rdkit_graphs.jsonl")).unwrap();
    let graph = |line: std::io::Result<String>| {
        let row: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let atoms = row["atoms"].as_array().unwrap();
        let labels = atoms.iter().map(|atom| label(atom.as_str().unwrap())).collect();
        let bonds = row["bonds"].as_array().unwrap().iter().map(|bond| {
            let part = |i: usize| bond[i].as_u64().unwrap();
            (part(0) as usize, part(1) as usize, part(2))
        });
        Graph::new(labels, &bonds.collect::<Vec<_>>()).unwrap()
    };
    let graphs: Vec<_> = BufReader::new(file).lines().take(count).map(graph).collect();
    assert_eq!(graphs.len(), count);
    graphs
}

fn compare(test: &str, graph_kernel: GraphKernel, key: &str) {
    let Some(folder) = data(test, "golden") else {
        return;
    };
    let bytes = std::fs::read(folder.join("graph_kernels_first60.safetensors")).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let graphs = graphs(&folder, 60);
    let (vocabulary, rows) = GraphVocabulary::fit_rows(graph_kernel, &graphs).unwrap();
    assert_eq!(rows, vocabulary.rows(&graphs).unwrap());
    let rows = Features::Sparse(rows);
    for (kernel, key) in
        [(Kernel::Linear, key.to_owned()), (Kernel::Cosine, format!("{key}_normalized"))]
    {
        let tensor = file.tensor(&key).unwrap();
        assert_eq!(tensor.shape(), [60, 60]);
        let (numbers, _) = tensor.data().as_chunks::<8>();
        let gram = kernel.block(&rows, &rows).unwrap();
        for (at, &bytes) in numbers.iter().enumerate() {
            let ours = gram[(at / 60, at % 60)];
            let theirs = f64::from_le_bytes(bytes);
            assert!(
                (ours - theirs).abs() <= 1e-9 * theirs.abs().max(1.0),
                "{key}, entry {at}: {ours}, expected {theirs}"
            );
        }
    }
}

#[test]
fn vertex_histogram_is_grakel_s() {
    compare("vertex_histogram_is_grakel_s", kernel(r#"{"name": "vertex-histogram"}"#), "vh");
}

#[test]
fn shortest_path_is_grakel_s() {
    compare("shortest_path_is_grakel_s", kernel(r#"{"name": "shortest-path"}"#), "sp");
}

#[test]
fn weisfeiler_lehman_subtree_is_grakel_s() {
    let wl = kernel(r#"{"name": "weisfeiler-lehman", "iterations": 5}"#);
    compare("weisfeiler_lehman_subtree_is_grakel_s", wl, "wl_vh_5");
}

#[test]
fn core_weisfeiler_lehman_is_grakel_s() {
    let core =
        kernel(r#"{"name": "core", "base": {"name": "weisfeiler-lehman", "iterations": 5}}"#);
    compare("core_weisfeiler_lehman_is_grakel_s", core, "core_wl");
}
