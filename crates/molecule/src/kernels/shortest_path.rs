//! The shortest-path kernel (Borgwardt and Kriegel 2005), with Dirac kernels on labels and lengths:
//! the number of pairs of equal (label of start, length, label of end), over all ordered pairs of
//! different nodes that a path joins.

use super::counts::Counts;
use super::distances::Distances;
use super::edge_word;
use crate::graph::Graph;
use crate::refinement::{mix, sorted};

/// Counts (label of start, length, label of end) of all ordered pairs of different nodes.
///
/// With edge labels two paths also have to agree in the labels of their edges, in their order. Where
/// several shortest paths join two nodes, it is the tree that they form, read from the end back to
/// the start, that has to agree.
pub(super) fn count(graph: &Graph, edge_labels: bool, prefix: u64, counts: &mut Counts) {
    let labels = graph.labels();
    let mut distances = Distances::new(graph);
    let mut trees = vec![0; if edge_labels { graph.len() } else { 0 }];
    let mut branches = Vec::new();
    for source in 0..graph.len() {
        distances.search(graph, source, usize::MAX, |_| true);
        let start = mix(prefix, labels[source]);
        for &node in &distances.reached()[1..] {
            let length = distances.of(node).unwrap_or(0);
            let mut feature = mix(mix(start, length as u64), labels[node]);
            if edge_labels {
                branches.clear();
                let before = graph.arcs(node).iter().filter(|arc| {
                    distances.of(arc.node).is_some_and(|distance| distance + 1 == length)
                });
                // the source ends every branch; whose tree it is must not show
                let tree = |node: usize| if node == source { 0 } else { trees[node] };
                branches.extend(before.map(|arc| mix(edge_word(arc.label, true), tree(arc.node))));
                trees[node] = sorted(&mut branches, length as u64);
                feature = mix(feature, trees[node]);
            }
            counts.add(feature);
        }
    }
}
