//! Bounds for graphs that are too large to be searched, in time and memory that grow hardly faster
//! than the graphs.

use super::EditDistance;
use super::mapping::mapping_cost;
use crate::graph::Graph;

/// Nodes and edges compared by their labels alone for the lower bound; nodes of equal labels paired
/// by decreasing degree, then what is left over, for the upper one.
pub(super) fn outline(a: &Graph, b: &Graph) -> EditDistance {
    let nodes = edits(a.labels().to_vec(), b.labels().to_vec());
    let labels = |graph: &Graph| graph.edges().map(|edge| edge.2).collect();
    let lower = nodes + edits(labels(a), labels(b));
    let order = |graph: &Graph| {
        let key = |&node: &usize| (graph.labels()[node], usize::MAX - graph.arcs(node).len(), node);
        let mut nodes: Vec<usize> = (0..graph.len()).collect();
        nodes.sort_unstable_by_key(key);
        nodes
    };
    let (ours, theirs) = (order(a), order(b));
    let mut mapping = vec![None; a.len()];
    let (mut i, mut j) = (0, 0);
    let (mut left, mut right) = (Vec::new(), Vec::new());
    while i < ours.len() || j < theirs.len() {
        let label = |graph: &Graph, node: Option<&usize>| node.map(|&node| graph.labels()[node]);
        match (label(a, ours.get(i)), label(b, theirs.get(j))) {
            (Some(x), Some(y)) if x == y => {
                mapping[ours[i]] = Some(theirs[j]);
                (i, j) = (i + 1, j + 1);
            }
            (Some(x), y) if y.is_none_or(|y| x < y) => {
                left.push(ours[i]);
                i += 1;
            }
            _ => {
                right.push(theirs[j]);
                j += 1;
            }
        }
    }
    left.into_iter().zip(right).for_each(|(node, to)| mapping[node] = Some(to));
    // the mapping is one by construction; that of nothing costs what both graphs hold
    let nothing = a.len() + b.len() + a.edge_count() + b.edge_count();
    let upper = mapping_cost(a, b, &mapping).unwrap_or(nothing);
    EditDistance { lower, upper, mapping, states: 0 }
}

/// Insertions, deletions and changes that turn one multiset into another.
fn edits(mut ours: Vec<u64>, mut theirs: Vec<u64>) -> usize {
    ours.sort_unstable();
    theirs.sort_unstable();
    let (mut i, mut j, mut common) = (0, 0, 0);
    while i < ours.len() && j < theirs.len() {
        let order = ours[i].cmp(&theirs[j]);
        common += usize::from(order.is_eq());
        i += usize::from(order.is_le());
        j += usize::from(order.is_ge());
    }
    ours.len().max(theirs.len()) - common
}
