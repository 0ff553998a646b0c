//! Properties that hold for every kernel on every graph.

use dsokr_basis::kernel::OutputKernel;
use dsokr_basis::{Features, Kernel};
use dsokr_molecule::Molecule;
use dsokr_molecule::graph::Graph;
use dsokr_molecule::kernels::{GraphKernel, GraphVocabulary};
use faer::Side;
use proptest::prelude::*;

use crate::support::{all_kernels, graphs, kernel, reordered, value};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn the_order_of_nodes_does_not_matter((graph, other) in reordered(12)) {
        for kernel in all_kernels() {
            prop_assert_eq!(
                kernel.features(&graph).unwrap(),
                kernel.features(&other).unwrap(),
                "{:?}", kernel
            );
        }
    }

    #[test]
    fn gram_matrices_are_positive_semi_definite(
        list in prop::collection::vec(graphs(7), 2..8),
        extra in graphs(8),
    ) {
        for kernel in all_kernels() {
            let fitted = GraphVocabulary::fit_rows(kernel.clone(), &list);
            let Ok((vocabulary, rows)) = fitted else {
                prop_assert!(list.iter().all(|graph| kernel.features(graph).unwrap().is_empty()));
                continue;
            };
            // one graph that was not fitted takes part too
            let extra = vocabulary.rows(std::slice::from_ref(&extra)).unwrap();
            for base in [Kernel::Linear, Kernel::Cosine] {
                let mut rows = Features::Sparse(rows.clone());
                rows.append(&Features::Sparse(extra.clone())).unwrap();
                let gram = base.block(&rows, &rows).unwrap();
                let trace: f64 = (0..gram.nrows()).map(|i| gram[(i, i)]).sum();
                let values = gram.self_adjoint_eigenvalues(Side::Lower).unwrap();
                let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
                prop_assert!(smallest >= -1e-9 * trace, "{:?}: {} of {}", kernel, smallest, trace);
            }
        }
    }

    #[test]
    fn rows_give_the_kernel(a in graphs(8), b in graphs(8), c in graphs(8)) {
        let fitted = [a, b];
        for kernel in all_kernels() {
            let Ok((vocabulary, _)) = GraphVocabulary::fit_rows(kernel.clone(), &fitted) else {
                continue;
            };
            let all = [fitted[0].clone(), fitted[1].clone(), c.clone()];
            let rows = Features::Sparse(vocabulary.rows(&all).unwrap());
            let gram = Kernel::Linear.block(&rows, &rows).unwrap();
            let normalised = Kernel::Cosine.block(&rows, &rows).unwrap();
            for i in 0..3 {
                for j in 0..3 {
                    // exact up to f32: at least one of the two was fitted, or they are the same
                    let expected = value(&kernel, &all[i], &all[j]);
                    let near = (gram[(i, j)] - expected).abs() <= 1e-6 * expected.max(1.0);
                    prop_assert!(near, "{:?}: {} and not {}", kernel, gram[(i, j)], expected);
                    let norms = [i, j].map(|at| value(&kernel, &all[at], &all[at]));
                    let expected = match norms {
                        // two zero rows are equal
                        [0.0, 0.0] => 1.0,
                        [0.0, _] | [_, 0.0] => 0.0,
                        [a, b] => expected / (a * b).sqrt(),
                    };
                    prop_assert!((normalised[(i, j)] - expected).abs() <= 1e-6);
                }
            }
        }
    }
}

/// A kernel that looked at nothing would pass the properties above.
#[test]
fn kernels_tell_graphs_apart() {
    let path = |labels: [u64; 4], bonds: [u64; 3]| {
        let edges: Vec<_> = (0..3).map(|i| (i, i + 1, bonds[i])).collect();
        Graph::new(labels.to_vec(), &edges).unwrap()
    };
    let plain = path([6, 6, 6, 8], [1, 1, 1]);
    let moved = path([6, 6, 8, 6], [1, 1, 1]);
    let double = path([6, 6, 6, 8], [1, 2, 1]);
    let other = path([6, 6, 7, 8], [1, 1, 1]);
    let same =
        |kernel: &GraphKernel, a, b| kernel.features(a).unwrap() == kernel.features(b).unwrap();
    for kernel in all_kernels() {
        assert!(!same(&kernel, &plain, &other), "{kernel:?}: labels");
        let histogram = matches!(kernel, GraphKernel::VertexHistogram { edge_labels: false });
        assert_eq!(same(&kernel, &plain, &moved), histogram, "{kernel:?}: structure");
        let bonds = serde_json::to_string(&kernel).unwrap().contains(r#""edge_labels":true"#);
        assert_eq!(same(&kernel, &plain, &double), !bonds, "{kernel:?}: bonds");
    }
}

/// Labels that are whole numbers next to each other, as TUDataset files have them: edge and node labels
/// must not be confounded.
#[test]
fn small_labels_do_not_fall_together() {
    let mut seen = std::collections::BTreeSet::new();
    let wl = kernel(r#"{"name": "weisfeiler-lehman", "iterations": 1, "edge_labels": true}"#);
    for a in 0..40 {
        for b in 0..=a {
            for edge in 0..40 {
                let graph = Graph::new(vec![a, b], &[(0, 1, edge)]).unwrap();
                let features = wl.features(&graph).unwrap().into_iter();
                let features: Vec<_> =
                    features.map(|(feature, count)| (feature, count as u64)).collect();
                assert!(seen.insert(features), "{a} {b} {edge}");
            }
        }
    }
}

#[test]
fn a_graph_without_nodes_has_no_features() {
    let empty = Graph::new(Vec::new(), &[]).unwrap();
    for kernel in all_kernels() {
        assert!(kernel.features(&empty).unwrap().is_empty());
    }
}

/// Two stars without an edge between them. From a leaf every node of its star is at most two edges away.
#[test]
fn neighbourhoods_of_large_stars_are_counted() {
    const LEAVES: usize = 1000;
    let star = |hub: usize| (1..=LEAVES).map(move |leaf| (hub, hub + leaf, 1));
    let edges: Vec<_> = star(0).chain(star(LEAVES + 1)).collect();
    let stars = Graph::new(vec![6; 2 * (LEAVES + 1)], &edges).unwrap();
    let pairs = r#"{"name": "nspd", "radius": 3, "distance": 0, "normalised": false}"#;
    let pairs = kernel(pairs);
    // radius 0: all nodes; radius 1, and then 2 and 3: all leaves, and both hubs
    let leaves = 2.0 * LEAVES as f64;
    let expected = (leaves + 2.0).powi(2) + 3.0 * (leaves.powi(2) + 4.0);
    assert_eq!(value(&pairs, &stars, &stars), expected);
    // the first star alone has half of them
    let first: Vec<_> = star(0).collect();
    let one = Graph::new(vec![6; LEAVES + 1], &first).unwrap();
    assert_eq!(value(&pairs, &one, &stars), expected / 2.0);
}

/// A chain of 1,000 nodes and a complete graph, under every kernel: what they count is known.
#[test]
fn large_graphs_are_counted() {
    let edges: Vec<_> = (0..999).map(|i| (i, i + 1, 1)).collect();
    let chain = Graph::new(vec![6; 1000], &edges).unwrap();
    let paths = kernel(r#"{"name": "shortest-path"}"#).features(&chain).unwrap();
    assert_eq!(paths.len(), 999);
    assert_eq!(paths.iter().map(|&(_, count)| count).sum::<f64>(), 999_000.0);
    for kernel in all_kernels() {
        assert!(!kernel.features(&chain).unwrap().is_empty());
    }
    let edges: Vec<_> = (0..60).flat_map(|b| (0..b).map(move |a| (a, b, 1))).collect();
    let complete = Graph::new(vec![6; 60], &edges).unwrap();
    let core = kernel(r#"{"name": "core", "base": {"name": "vertex-histogram"}}"#);
    // cores 0 to 59 are the whole graph
    assert_eq!(core.features(&complete).unwrap().len(), 60);
    assert!(core.features(&complete).unwrap().iter().all(|&(_, count)| count == 60.0));
}

#[test]
fn a_sum_is_that_of_the_normalised_kernels() {
    let parts = [r#"{"name": "shortest-path"}"#, r#"{"name": "core"}"#, r#"{"name": "nspd"}"#];
    let sum = kernel(&format!(r#"{{"name": "sum", "kernels": [{}]}}"#, parts.join(", ")));
    let graphs = ["CC(=O)Oc1ccccc1C(=O)O", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "C"]
        .map(|smiles| Graph::from(&Molecule::parse(smiles).unwrap()));
    for a in &graphs {
        for b in &graphs {
            let normalised = |part: &&str| {
                let part = kernel(part);
                let norm = (value(&part, a, a) * value(&part, b, b)).sqrt();
                // one atom has no path
                if norm > 0.0 { value(&part, a, b) / norm } else { 0.0 }
            };
            let expected: f64 = parts.iter().map(normalised).sum();
            assert!((value(&sum, a, b) - expected).abs() < 1e-12);
        }
    }
    for (summands, count) in [(String::new(), 0), (vec![parts[0]; 17].join(", "), 17)] {
        let error = kernel(&format!(r#"{{"name": "sum", "kernels": [{summands}]}}"#))
            .validate()
            .unwrap_err();
        let said = error.to_string();
        assert!(
            said.contains(&format!("kernels = {count} kernels")) && said.contains("1 to 16"),
            "{said}"
        );
    }
}
