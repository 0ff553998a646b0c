//! Edit paths as mappings of nodes, and what they cost.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::graph::Graph;

/// Why a list is no mapping of the nodes of one graph to those of another. Nodes are numbered from 0.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MappingError {
    /// Another number of entries than the first graph has nodes.
    #[error("a mapping of {found} nodes for a graph of {expected}")]
    Length {
        /// Entries.
        found: usize,
        /// Nodes of the first graph.
        expected: usize,
    },
    /// An entry that is no node of the second graph.
    #[error("node {node} goes to node {to}; the second graph has {nodes} nodes, numbered from 0")]
    NoSuchNode {
        /// Node of the first graph.
        node: usize,
        /// What it goes to.
        to: usize,
        /// Nodes of the second graph.
        nodes: usize,
    },
    /// Two nodes go to the same one.
    #[error("nodes {} and {} both go to node {to}", nodes[0], nodes[1])]
    Shared {
        /// The two nodes of the first graph.
        nodes: [usize; 2],
        /// The node of the second graph.
        to: usize,
    },
}

/// Cost of the edit path from `a` to `b` that a mapping of nodes stands for.
///
/// Node i of `a` becomes node `mapping[i]` of `b`, or is deleted where that is none; the nodes of
/// `b` that nothing becomes are inserted. Each of these costs 1: a node deleted, inserted or
/// relabelled, an edge deleted, inserted or relabelled. Edges to a deleted node are deleted one by
/// one.
///
/// # Errors
/// [`MappingError::Length`], [`MappingError::NoSuchNode`], [`MappingError::Shared`].
///
/// ```
/// use dsokr_molecule::{Molecule, ged::mapping_cost, graph::Graph};
///
/// let graph = |smiles| Molecule::parse(smiles).map(|molecule| Graph::from(&molecule));
/// let (ethanol, acetaldehyde) = (graph("CCO")?, graph("CC=O")?);
/// let cost = |mapping: &[_]| mapping_cost(&ethanol, &acetaldehyde, mapping);
/// assert_eq!(cost(&[Some(0), Some(1), Some(2)])?, 1); // one bond relabelled
/// assert_eq!(cost(&[None, None, None])?, 10); // everything deleted and inserted
/// assert!(cost(&[Some(0), Some(1), Some(1)]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn mapping_cost(
    a: &Graph,
    b: &Graph,
    mapping: &[Option<usize>],
) -> Result<usize, MappingError> {
    if mapping.len() != a.len() {
        return Err(MappingError::Length { found: mapping.len(), expected: a.len() });
    }
    let mut origin = vec![None; b.len()];
    for (node, to) in mapping.iter().enumerate() {
        let Some(to) = *to else { continue };
        let Some(origin) = origin.get_mut(to) else {
            return Err(MappingError::NoSuchNode { node, to, nodes: b.len() });
        };
        if let Some(first) = origin.replace(node) {
            return Err(MappingError::Shared { nodes: [first, node], to });
        }
    }
    let deleted = mapping.iter().filter(|to| to.is_none()).count();
    let inserted = origin.iter().filter(|node| node.is_none()).count();
    let relabels = |node: usize, to: usize| a.labels()[node] != b.labels()[to];
    let relabelled =
        (0..a.len()).filter(|&node| mapping[node].is_some_and(|to| relabels(node, to)));
    let theirs: BTreeMap<_, _> = b.edges().map(|(i, j, label)| ((i, j), label)).collect();
    let (mut kept, mut renamed) = (0, 0);
    for (i, j, label) in a.edges() {
        let (Some(i), Some(j)) = (mapping[i], mapping[j]) else { continue };
        if let Some(&other) = theirs.get(&(i.min(j), i.max(j))) {
            kept += 1;
            renamed += usize::from(other != label);
        }
    }
    let edges = a.edge_count() + b.edge_count() - 2 * kept + renamed;
    Ok(deleted + inserted + relabelled.count() + edges)
}
