//! A hash of a Kekulé structure that does not depend on the numbering of its atoms.

use super::builder::Builder;
use crate::graph::{Distances, Graph};
use crate::refinement::{mix, unordered};

/// Rounds of refinement of a hash, whose first colours know the distances of all atoms.
const ROUNDS: usize = 4;

impl Builder {
    /// Returns the atoms, labelled by what is known of each, and the bonds, labelled by their orders.
    pub(super) fn graph(&self) -> Graph {
        let edges = self.bonds.iter().map(|bond| (bond.atoms[0], bond.atoms[1], bond.order as u64));
        Graph::from_checked((0..self.len()).map(|atom| self.color(atom)).collect(), edges)
    }

    /// Returns a hash that structures share which differ in the numbers of their atoms only; none where there are
    /// configurations, which it does not see. Distances between atoms are part of it, because refinement by itself does
    /// not tell two rings of five atoms from rings of six that share a bond.
    pub(super) fn hash(&self) -> Option<u64> {
        if self.is_configured() {
            return None;
        }
        let mut graph = self.graph();
        let mut search = Distances::new(&graph);
        let color = |atom: usize| {
            search.search(&graph, atom, usize::MAX, |_| true);
            let far = |&other| search.distance_to(other).unwrap_or(0) as u64;
            let words =
                search.reached().iter().map(|other| mix(graph.labels()[*other], far(other)));
            // a sum, which has no order
            words.fold(graph.labels()[atom], u64::wrapping_add)
        };
        graph.labels = (0..self.len()).map(color).collect();
        let kept = graph.refined(ROUNDS).into_iter().zip(&self.removed);
        Some(unordered(kept.filter(|colored| !colored.1).map(|colored| colored.0).collect(), 0))
    }
}
