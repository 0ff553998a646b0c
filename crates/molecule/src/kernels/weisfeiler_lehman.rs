//! The Weisfeiler–Lehman framework (Shervashidze et al. 2011): `k(G, G') = Σ_{i=0..h} k_base(G_i, G'_i)`,
//! where the nodes of G_i are labelled with the trees of depth i below them.

use super::counts::Counts;
use super::{GraphKernel, edge_word};
use crate::graph::Graph;
use crate::refinement::{mix, sorted};

/// Starts the new label of a node.
const NODE: u64 = 0x3c6e_f372_fe94_f82b;

/// Counts the base kernel's features of G_0 to G_h, each level for itself.
pub(super) fn count(
    graph: &Graph,
    iterations: usize,
    edge_labels: bool,
    base: &GraphKernel,
    prefix: u64,
    counts: &mut Counts,
) {
    base.count(graph, mix(prefix, 0), counts);
    let mut graph = graph.clone();
    let mut labels = Vec::new();
    let mut around = Vec::new();
    for iteration in 1..=iterations {
        labels.clear();
        labels.extend((0..graph.len()).map(|node| {
            let label = |arc: &crate::graph::Arc| {
                mix(edge_word(arc.label, edge_labels), graph.labels()[arc.node])
            };
            around.clear();
            around.extend(graph.arcs(node).iter().map(label));
            sorted(&mut around, mix(NODE, graph.labels()[node]))
        }));
        graph.labels.copy_from_slice(&labels);
        base.count(&graph, mix(prefix, iteration as u64), counts);
    }
}
