//! Any bytes as a file of graphs, in both layouts. The first byte says which files there are; those
//! of the TUDataset layout are separated by the byte 0, which no text file holds.

#![no_main]

use std::fmt::Write;
use std::path::Path;

use dsokr_fuzz::{file, folder};
use dsokr_molecule::graph::{Graph, parse_json_lines, read_tudataset};
use dsokr_molecule::kernels::{GraphKernel, Nspd};
use libfuzzer_sys::fuzz_target;

/// Graphs up to this size are also taken apart by the kernels.
const SMALL: usize = 12;

fuzz_target!(|bytes: &[u8]| {
    let Some((&files, bytes)) = bytes.split_first() else {
        return;
    };
    let path = Path::new("fuzz");
    if files & 1 == 0 {
        let lines = parse_json_lines(bytes, path).unwrap_or_default();
        lines.iter().for_each(|line| check(&line.graph));
        return;
    }
    let mut parts = bytes.split(|&byte| byte == 0);
    for (name, bit) in [
        ("A", 0),
        ("graph_indicator", 0),
        ("node_labels", 1),
        ("edge_labels", 2),
        ("graph_labels", 3),
    ] {
        let name = format!("DS_{name}.txt");
        if files >> bit & 1 == 1 {
            file(&name, parts.next().unwrap_or_default());
        } else {
            let _ = std::fs::remove_file(folder().join(name));
        }
    }
    if let Ok(graphs) = read_tudataset(folder(), "DS") {
        let labelled = files >> 3 & 1 == 1;
        assert!(graphs.iter().all(|graph| graph.class.is_some() == labelled));
        graphs.iter().for_each(|graph| check(&graph.graph));
    }
});

/// Checks that a graph that was read can be written and read again, and has as many features as it must.
fn check(graph: &Graph) {
    let mut text = format!("{{\"nodes\": {:?}, \"edges\": [", graph.labels());
    for (at, (a, b, label)) in graph.edges().enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        let _ = write!(text, "{comma}[{b}, {a}, {label}]");
    }
    text.push_str("]}");
    let again = parse_json_lines(text.as_bytes(), Path::new("again")).unwrap();
    assert_eq!(again[0].graph, *graph);
    if graph.len() <= SMALL {
        let histogram = GraphKernel::VertexHistogram { edge_labels: true };
        let base = Box::new(GraphKernel::ShortestPath { edge_labels: true });
        let kernels = [
            GraphKernel::WeisfeilerLehman {
                iterations: 2,
                edge_labels: true,
                base: Box::new(histogram),
            },
            GraphKernel::Core { base },
            GraphKernel::Nspd(Nspd { radius: 2, distance: 2, edge_labels: true, normalised: true }),
        ];
        for kernel in kernels {
            let features = kernel.features(graph).unwrap();
            assert!(features.is_sorted_by(|a, b| a.0 < b.0));
            assert!(features.iter().all(|&(_, value)| value.is_finite() && value > 0.0));
        }
    }
}
