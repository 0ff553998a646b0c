//! Numbers of edges on shortest paths from one node, by breadth-first search.

use crate::graph::Graph;

/// The distance of a node that was not reached.
const FAR: u32 = u32::MAX;

/// Breadth-first search from one node at a time; its memory is used again.
pub(crate) struct Distances {
    distance: Vec<u32>,
    /// The nodes reached, by increasing distance.
    reached: Vec<usize>,
}

impl Distances {
    pub(crate) fn new(graph: &Graph) -> Self {
        Self { distance: vec![FAR; graph.len()], reached: Vec::new() }
    }

    /// Searches from `source` as far as `limit` edges, only through nodes that `allowed` admits.
    pub(crate) fn search(
        &mut self,
        graph: &Graph,
        source: usize,
        limit: usize,
        allowed: impl Fn(usize) -> bool,
    ) {
        self.reached.iter().for_each(|&node| self.distance[node] = FAR);
        self.reached.clear();
        self.reached.push(source);
        self.distance[source] = 0;
        let mut next = 0;
        while let Some(&node) = self.reached.get(next) {
            next += 1;
            let distance = self.distance[node];
            if distance as usize >= limit {
                break;
            }
            for arc in graph.arcs(node) {
                if self.distance[arc.node] == FAR && allowed(arc.node) {
                    self.distance[arc.node] = distance + 1;
                    self.reached.push(arc.node);
                }
            }
        }
    }

    /// The nodes that the last search reached, by increasing distance, the source first.
    pub(crate) fn reached(&self) -> &[usize] {
        &self.reached
    }

    /// The distance of a node from the source, `None` if it was not reached.
    pub(crate) fn of(&self, node: usize) -> Option<usize> {
        let distance = self.distance[node];
        (distance != FAR).then_some(distance as usize)
    }
}
