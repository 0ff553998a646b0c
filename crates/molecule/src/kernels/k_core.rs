//! The core framework (Nikolentzos et al. 2018): `k(G, G') = Σ_i k_base(C_i, C'_i)` for i from 0 to
//! the smaller of the two degeneracies, C_i the i-core of G.
//!
//! The i-core is the largest subgraph in which every node has at least i neighbours; the degeneracy
//! is the largest i for which there is one. Beyond it cores are empty and have no features, so the
//! smaller degeneracy ends the sum by itself.

use super::GraphKernel;
use super::counts::Counts;
use crate::graph::Graph;
use crate::refinement::mix;

/// Counts the base kernel's features of every core, each core for itself.
pub(super) fn count(graph: &Graph, base: &GraphKernel, prefix: u64, counts: &mut Counts) {
    let cores = core_numbers(graph);
    let degeneracy = cores.iter().copied().max().unwrap_or(0);
    for core in 0..=degeneracy {
        let prefix = mix(prefix, core as u64);
        let keep: Vec<bool> = cores.iter().map(|&own| own >= core).collect();
        if keep.contains(&false) {
            base.count(&graph.induced(&keep), prefix, counts);
        } else {
            base.count(graph, prefix, counts);
        }
    }
}

/// The largest i such that the node is in the i-core, for every node.
///
/// A node of smallest degree is removed again and again (Batagelj and Zaveršnik 2003); O(n + edges).
pub(super) fn core_numbers(graph: &Graph) -> Vec<usize> {
    let mut degrees: Vec<usize> = (0..graph.len()).map(|node| graph.arcs(node).len()).collect();
    let largest = degrees.iter().copied().max().unwrap_or(0);
    // nodes by the degree they had when they were put there; those that lost a neighbour since
    // are put in the next lower list once more
    let mut by_degree = vec![Vec::new(); largest + 1];
    degrees.iter().enumerate().for_each(|(node, &degree)| by_degree[degree].push(node));
    let mut removed = vec![false; graph.len()];
    let (mut core, mut degree) = (0, 0);
    while degree <= largest {
        let Some(node) = by_degree[degree].pop() else {
            degree += 1;
            continue;
        };
        if removed[node] || degrees[node] != degree {
            continue;
        }
        removed[node] = true;
        core = core.max(degree);
        for arc in graph.arcs(node).iter().filter(|arc| !removed[arc.node]) {
            degrees[arc.node] -= 1;
            by_degree[degrees[arc.node]].push(arc.node);
        }
        degrees[node] = core;
        degree = degree.saturating_sub(1);
    }
    degrees
}
