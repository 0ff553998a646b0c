//! The vertex histogram kernel (Sugiyama and Borgwardt 2015): `k(G, G') = Σ_l c_l(G) c_l(G')`, with
//! c_l the number of nodes labelled l.

use super::counts::Counts;
use super::edge_word;
use crate::graph::Graph;
use crate::refinement::mix;

/// Keeps edges apart from nodes.
const EDGES: u64 = 1;

/// Counts the labels of the nodes; with edge labels also the edges, as (label of one end, label of
/// the edge, label of the other end).
pub(super) fn count(graph: &Graph, edge_labels: bool, prefix: u64, counts: &mut Counts) {
    let labels = graph.labels();
    labels.iter().for_each(|&label| counts.add(mix(prefix, label)));
    if edge_labels {
        let prefix = mix(prefix, EDGES);
        for (a, b, label) in graph.edges() {
            // an edge has no direction: its smaller end first
            let (low, high) = (labels[a].min(labels[b]), labels[a].max(labels[b]));
            counts.add(mix(mix(mix(prefix, low), high), edge_word(label, true)));
        }
    }
}
