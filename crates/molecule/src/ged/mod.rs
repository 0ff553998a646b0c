//! Exact graph edit distance with unit costs.
//!
//! The distance of two labelled graphs is the least number of edits that turn one into the other:
//! insert, delete or relabel a node, insert, delete or relabel an edge, 1 each. A node can be
//! deleted when it has no edges any more. Without bond labels: distance of the graphs
//! [without edge labels](crate::graph::Graph::without_edge_labels).
//!
//! It is NP-hard. The search assigns nodes of the smaller graph to nodes of the larger one, depth
//! first under a threshold that rises by one until an assignment is found (iterative deepening A*,
//! Korf 1985). A state is bounded from below by the cheapest assignment of what is open, with half of
//! every open edge at either end and all of every edge to what is settled (Chang et al. 2020), from
//! above by what that assignment itself costs after exchanges of pairs. Both are kept from state to
//! state and repaired. So small molecules take microseconds, and a search that is [limited](Limit)
//! ends with bounds that are proven.

mod common;
mod costs;
mod instance;
mod search;

use std::collections::BTreeMap;

use dsokr_core::Cancellation;
use rayon::prelude::*;

use crate::graph::Graph;
use instance::{EditCosts, Instance};

pub use common::{MyopicDistance, myopic_distance};
pub use search::Limit;

/// The most nodes of either graph in a search, 1,024.
///
/// The time of one state grows with the cube of the number of nodes. Larger graphs, and graphs with more than
/// [`MAX_SEARCHED_EDGES`], get bounds without a search: from the labels of nodes and edges alone, and from nodes paired
/// by label and degree.
pub const MAX_SEARCHED: usize = 1024;

/// The most edges of both graphs together, times the nodes of the larger one, in a search: 2²⁴. With 1,024 nodes this
/// allows 16,384 edges, with 256 nodes all that there can be.
///
/// A search remembers what it changes on its way down, 24 bytes for each of them at most, which with
/// the rest is less than 512 MiB a thread; for sparse graphs of 100 nodes it is less than 1 MiB.
pub const MAX_SEARCHED_EDGES: usize = 1 << 24;

/// Bounds of the edit distance of two graphs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditDistance {
    /// The distance is at least this: proven.
    pub lower: usize,
    /// The distance is at most this: what `mapping` costs.
    pub upper: usize,
    /// The best edit path found: what each node of the first graph becomes, none where it is deleted, its edges
    /// before it. Nodes of the second graph that no node becomes are inserted.
    pub mapping: Vec<Option<usize>>,
    /// States that were bounded.
    pub states: u64,
}

impl EditDistance {
    /// Returns the distance, where it is known: `lower = upper`.
    pub fn exact(&self) -> Option<usize> {
        (self.lower == self.upper).then_some(self.upper)
    }
}

/// Returns the edit distance of two graphs, or bounds of it where the search reaches its limit.
///
/// Under [`Limit::NONE`] it is exact, in time that may be exponential in the number of nodes, unless a
/// graph is too large to be searched ([`MAX_SEARCHED`], [`MAX_SEARCHED_EDGES`]). Graphs may be empty, and have several
/// components.
///
/// ```
/// use dsokr_molecule::ged::{Limit, edit_distance};
/// use dsokr_molecule::{Molecule, graph::Graph};
///
/// let graph = |smiles| Molecule::parse(smiles).map(|molecule| Graph::from(&molecule));
/// let benzene = graph("c1ccccc1")?;
/// let pyridine = graph("c1ccncc1")?;
/// assert_eq!(edit_distance(&benzene, &pyridine, &Limit::NONE).exact(), Some(1));
/// let cyclohexane = graph("C1CCCCC1")?;
/// assert_eq!(edit_distance(&benzene, &cyclohexane, &Limit::NONE).exact(), Some(3));
/// let a = benzene.without_edge_labels();
/// let b = cyclohexane.without_edge_labels();
/// assert_eq!(edit_distance(&a, &b, &Limit::NONE).exact(), Some(0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn edit_distance(a: &Graph, b: &Graph, limit: &Limit) -> EditDistance {
    let nodes = a.len().max(b.len());
    let edges = a.edge_count() + b.edge_count();
    if nodes > MAX_SEARCHED || edges.saturating_mul(nodes) > MAX_SEARCHED_EDGES {
        return outline(a, b);
    }
    search::search(&Instance::new(a, b, EditCosts::Unit), limit, usize::MAX).0
}

/// Returns the [edit distances](edit_distance) of many pairs, in parallel on the current rayon pool, in the
/// order of the pairs. The limit holds for each pair.
///
/// # Errors
/// [`Cancelled`](dsokr_core::Error::Cancelled).
pub fn edit_distances(
    pairs: &[(&Graph, &Graph)],
    limit: &Limit,
) -> Result<Vec<EditDistance>, dsokr_core::Error> {
    let cancellation = Cancellation::current();
    // one at a time: hard pairs take a thousand times as long as easy ones
    let pairs = pairs.par_iter().with_max_len(1);
    pairs.map(|(a, b)| cancellation.check().map(|()| edit_distance(a, b, limit))).collect()
}

/// Returns the cost of the edit path that a mapping of nodes describes, no two of them to the same node.
fn mapping_cost(a: &Graph, b: &Graph, mapping: &[Option<usize>]) -> usize {
    let theirs: BTreeMap<_, _> = b.edges().map(|(i, j, label)| ((i, j), label)).collect();
    // two edits less for what is kept, a deletion and an insertion; one less for what is relabelled
    let saved = |ours: u64, theirs: u64| 2 - usize::from(ours != theirs);
    let nodes = a.labels().iter().zip(mapping);
    let nodes = nodes.filter_map(|(&label, to)| Some(saved(label, b.labels()[(*to)?])));
    let edges = a.edges().filter_map(|(i, j, label)| {
        let i = mapping[i]?;
        let j = mapping[j]?;
        Some(saved(label, *theirs.get(&(i.min(j), i.max(j)))?))
    });
    let everything = a.len() + b.len() + a.edge_count() + b.edge_count();
    everything - nodes.chain(edges).sum::<usize>()
}

/// Bounds for graphs that are too large to be searched, in time and memory that grow hardly faster than the graphs:
/// nodes and edges compared only by their labels for the lower one; nodes of equal labels paired by decreasing degree,
/// then what is left over, for the upper one.
fn outline(a: &Graph, b: &Graph) -> EditDistance {
    let mut by_label: BTreeMap<u64, [Vec<usize>; 2]> = BTreeMap::new();
    for (side, graph) in [a, b].into_iter().enumerate() {
        let mut nodes: Vec<usize> = (0..graph.len()).collect();
        nodes.sort_by_key(|&node| usize::MAX - graph.arcs(node).len());
        for node in nodes {
            by_label.entry(graph.labels()[node]).or_default()[side].push(node);
        }
    }
    let mut mapping = vec![None; a.len()];
    let mut common = 0;
    let mut left = Vec::new();
    let mut right = Vec::new();
    for [ours, theirs] in by_label.values() {
        let paired = ours.len().min(theirs.len());
        common += paired;
        ours.iter().zip(theirs).for_each(|(&node, &to)| mapping[node] = Some(to));
        left.extend(&ours[paired..]);
        right.extend(&theirs[paired..]);
    }
    left.into_iter().zip(right).for_each(|(node, to): (usize, usize)| mapping[node] = Some(to));
    let mut edges: BTreeMap<u64, [usize; 2]> = BTreeMap::new();
    a.edges().for_each(|edge| edges.entry(edge.2).or_default()[0] += 1);
    b.edges().for_each(|edge| edges.entry(edge.2).or_default()[1] += 1);
    common += edges.values().map(|[ours, theirs]| ours.min(theirs)).sum::<usize>();
    let lower = a.len().max(b.len()) + a.edge_count().max(b.edge_count()) - common;
    let upper = mapping_cost(a, b, &mapping);
    EditDistance { lower, upper, mapping, states: 0 }
}
