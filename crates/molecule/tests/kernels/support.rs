//! Random graphs, orders of nodes, and products of features.

use dsokr_molecule::graph::Graph;
use dsokr_molecule::kernels::GraphKernel;
use proptest::prelude::*;

/// Returns graphs of up to `most` nodes with three node labels and two edge labels, sparse to complete.
pub fn graphs(most: usize) -> impl Strategy<Value = Graph> {
    (0..=most, 1u32..=10).prop_flat_map(|(nodes, share)| {
        let pairs = nodes * nodes.saturating_sub(1) / 2;
        let labels = prop::collection::vec(0u64..3, nodes);
        let edges = prop::collection::vec((0u32..10, 1u64..3), pairs);
        (labels, edges).prop_map(move |(labels, drawn)| {
            let pairs = (0..nodes).flat_map(|b| (0..b).map(move |a| (a, b)));
            let edges: Vec<_> = pairs
                .zip(drawn)
                .filter(|&(_, (draw, _))| draw < share)
                .map(|((a, b), (_, label))| (a, b, label))
                .collect();
            Graph::new(labels, &edges).unwrap()
        })
    })
}

/// Returns a graph and the same graph with its nodes in another order.
pub fn reordered(most: usize) -> impl Strategy<Value = (Graph, Graph)> {
    graphs(most).prop_flat_map(|graph| {
        let order = Just((0..graph.len()).collect::<Vec<_>>()).prop_shuffle();
        order.prop_map(move |order| (graph.clone(), permuted(&graph, &order)))
    })
}

/// Returns the graph in which node i is node `order[i]`; edges are listed backwards, their ends swapped.
pub fn permuted(graph: &Graph, order: &[usize]) -> Graph {
    let mut labels = vec![0; graph.len()];
    order.iter().zip(graph.labels()).for_each(|(&to, &label)| labels[to] = label);
    let mut edges: Vec<_> = graph.edges().map(|(a, b, l)| (order[b], order[a], l)).collect();
    edges.reverse();
    Graph::new(labels, &edges).unwrap()
}

/// Returns every kernel with every switch, and nested ones.
pub fn all_kernels() -> Vec<GraphKernel> {
    [
        r#"{"name": "vertex-histogram"}"#,
        r#"{"name": "vertex-histogram", "edge_labels": true}"#,
        r#"{"name": "shortest-path"}"#,
        r#"{"name": "shortest-path", "edge_labels": true}"#,
        r#"{"name": "weisfeiler-lehman"}"#,
        r#"{"name": "weisfeiler-lehman", "iterations": 3, "edge_labels": true}"#,
        r#"{"name": "weisfeiler-lehman", "iterations": 2, "base": {"name": "shortest-path"}}"#,
        r#"{"name": "weisfeiler-lehman", "iterations": 2, "base": {"name": "core"}}"#,
        r#"{"name": "core"}"#,
        r#"{"name": "core", "base": {"name": "shortest-path", "edge_labels": true}}"#,
        r#"{"name": "core", "base": {"name": "nspd", "radius": 1, "distance": 2}}"#,
        r#"{"name": "nspd", "radius": 2, "distance": 3}"#,
        r#"{"name": "nspd", "radius": 3, "distance": 3, "normalised": false}"#,
        r#"{"name": "nspd", "radius": 2, "distance": 2, "edge_labels": false, "normalised": false}"#,
        r#"{"name": "weisfeiler-lehman", "iterations": 1, "base": {"name": "nspd", "radius": 1}}"#,
        r#"{"name": "sum", "kernels": [{"name": "shortest-path"}, {"name": "nspd", "radius": 1, "distance": 2}]}"#,
    ]
    .iter()
    .map(|text| serde_json::from_str(text).unwrap())
    .collect()
}

/// Returns a kernel from its JSON text.
pub fn kernel(text: &str) -> GraphKernel {
    serde_json::from_str(text).unwrap()
}

/// Returns the raw kernel of two graphs: the inner product of their features.
pub fn value(kernel: &GraphKernel, a: &Graph, b: &Graph) -> f64 {
    let a = kernel.features(a).unwrap();
    let b = kernel.features(b).unwrap();
    let common = |&(feature, value): &(u64, f64)| {
        let at = b.binary_search_by_key(&feature, |&(feature, _)| feature).ok()?;
        Some(value * b[at].1)
    };
    a.iter().filter_map(common).sum()
}
