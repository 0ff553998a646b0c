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

mod assignment;
mod costs;
mod instance;
mod limit;
mod mapping;
mod outline;
mod search;

use rayon::prelude::*;

use crate::graph::Graph;
use instance::Instance;

pub use limit::Limit;
pub use mapping::mapping_cost;

/// Most nodes of either graph in a search, 1,024.
///
/// One state takes time that grows with the cube of the number of nodes. Larger graphs, and those of
/// more than [`MAX_SEARCHED_EDGES`], get bounds without a search: from the labels of nodes and edges
/// alone, and from nodes paired by label and degree.
pub const MAX_SEARCHED: usize = 1024;

/// Most edges of both graphs together, times the nodes of the larger one, in a search, 2²⁴: 16,384
/// edges with 1,024 nodes, all that there can be with 256.
///
/// A search remembers what it changes on its way down, 24 bytes for each of them at most, which with
/// the rest is less than 512 MiB a thread; for sparse graphs of 100 nodes it is less than 1 MiB.
pub const MAX_SEARCHED_EDGES: usize = 1 << 24;

/// What is known of the edit distance of two graphs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditDistance {
    /// The distance is at least this: proven.
    pub lower: usize,
    /// The distance is at most this: what `mapping` costs.
    pub upper: usize,
    /// The best edit path found: what each node of the first graph becomes, none where it is deleted
    /// ([`mapping_cost`]).
    pub mapping: Vec<Option<usize>>,
    /// States that were bounded.
    pub states: u64,
}

impl EditDistance {
    /// The distance, where it is known: `lower = upper`.
    pub fn exact(&self) -> Option<usize> {
        (self.lower == self.upper).then_some(self.upper)
    }
}

/// The edit distance of two graphs, or bounds of it where the search reaches its limit.
///
/// Under [`Limit::NONE`] it is exact, in time that may be exponential in the number of nodes, unless a
/// graph is too large to be searched ([`MAX_SEARCHED`], [`MAX_SEARCHED_EDGES`]). Graphs may be empty, and have several components.
///
/// ```
/// use dsokr_molecule::ged::{Limit, edit_distance};
/// use dsokr_molecule::{Molecule, graph::Graph};
///
/// let graph = |smiles| Molecule::parse(smiles).map(|molecule| Graph::from(&molecule));
/// let (benzene, pyridine) = (graph("c1ccccc1")?, graph("c1ccncc1")?);
/// assert_eq!(edit_distance(&benzene, &pyridine, &Limit::NONE).exact(), Some(1));
/// let cyclohexane = graph("C1CCCCC1")?;
/// assert_eq!(edit_distance(&benzene, &cyclohexane, &Limit::NONE).exact(), Some(3));
/// let (a, b) = (benzene.without_edge_labels(), cyclohexane.without_edge_labels());
/// assert_eq!(edit_distance(&a, &b, &Limit::NONE).exact(), Some(0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn edit_distance(a: &Graph, b: &Graph, limit: &Limit) -> EditDistance {
    let (nodes, edges) = (a.len().max(b.len()), a.edge_count() + b.edge_count());
    if nodes > MAX_SEARCHED || edges.saturating_mul(nodes) > MAX_SEARCHED_EDGES {
        return outline::outline(a, b);
    }
    let instance = Instance::new(a, b);
    let bounds = search::search(&instance, limit);
    let real = instance.small.len();
    let mapping = if instance.swapped {
        let mut mapping = vec![None; a.len()];
        (0..real).zip(&bounds.columns).for_each(|(row, &column)| mapping[column] = Some(row));
        mapping
    } else {
        bounds.columns[..real].iter().map(|&column| Some(column)).collect()
    };
    EditDistance { lower: bounds.lower, upper: bounds.upper, mapping, states: bounds.states }
}

/// The [edit distances](edit_distance) of many pairs, in parallel on the current rayon pool, in the
/// order of the pairs. The limit holds for each pair.
pub fn edit_distances(pairs: &[(&Graph, &Graph)], limit: &Limit) -> Vec<EditDistance> {
    // one at a time: hard pairs take a thousand times as long as easy ones
    pairs.par_iter().with_max_len(1).map(|(a, b)| edit_distance(a, b, limit)).collect()
}
