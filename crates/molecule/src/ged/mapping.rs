//! Edit paths as mappings of nodes, and what they cost.

use std::collections::BTreeMap;

use crate::Error;
use crate::graph::Graph;

/// Cost of the edit path from `a` to `b` that a mapping of nodes describes.
///
/// Node i of `a` becomes node `mapping[i]` of `b`, or is deleted where that is `None`; the nodes of
/// `b` that are not in `mapping` are inserted. Each of these costs 1: a node deleted, inserted or
/// relabelled, an edge deleted, inserted or relabelled. Edges to a deleted node are deleted one by
/// one.
///
/// # Errors
/// [`Error::Mapping`] for a list of another length than `a`, an entry that is no node of `b`, and one that
/// two nodes share.
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
pub fn mapping_cost(a: &Graph, b: &Graph, mapping: &[Option<usize>]) -> Result<usize, Error> {
    if mapping.len() != a.len() {
        let message = format!("a mapping of {} nodes for a graph of {}", mapping.len(), a.len());
        return Err(Error::Mapping { message });
    }
    let mut origin = vec![None; b.len()];
    for (node, to) in mapping.iter().enumerate() {
        let Some(to) = *to else { continue };
        let Some(origin) = origin.get_mut(to) else {
            let nodes = b.len();
            let message = format!(
                "node {node} goes to node {to}; the second graph has {nodes} nodes, numbered from 0"
            );
            return Err(Error::Mapping { message });
        };
        if let Some(first) = origin.replace(node) {
            let message = format!("nodes {first} and {node} both go to node {to}");
            return Err(Error::Mapping { message });
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
