//! Two graphs as the search sees them: small codes in place of edge labels, looked up in one step.

use crate::graph::{Arc, Graph};

/// One of the two graphs, whose edges are labelled with their codes.
pub(super) struct Side {
    graph: Graph,
    /// Edge code of every pair of nodes, 0 where there is no edge.
    dense: Vec<u32>,
}

impl Side {
    fn new(graph: &Graph, labels: &[u64]) -> Self {
        let code = |label| labels.partition_point(|&other| other < label) as u64 + 1;
        let (graph, n) = (graph.clone().with_edge_labels(code), graph.len());
        let mut dense = vec![0; n * n];
        for node in 0..n {
            graph.arcs(node).iter().for_each(|arc| dense[node * n + arc.node] = arc.label as u32);
        }
        Self { graph, dense }
    }

    pub(super) fn len(&self) -> usize {
        self.graph.len()
    }

    pub(super) fn labels(&self) -> &[u64] {
        self.graph.labels()
    }

    pub(super) fn arcs(&self, node: usize) -> &[Arc] {
        self.graph.arcs(node)
    }

    /// Code of the edge between two nodes, 0 if there is none.
    pub(super) fn edge(&self, a: usize, b: usize) -> usize {
        self.dense[a * self.len() + b] as usize
    }

    /// The least node that each node can be exchanged with: equal labels and equal edges to all
    /// other nodes.
    pub(super) fn twins(&self) -> Vec<usize> {
        let alike = |a: usize, b: usize| {
            let others = |node: usize, twin: usize| {
                self.arcs(node).iter().filter(move |arc| arc.node != twin)
            };
            self.labels()[a] == self.labels()[b]
                && self.arcs(a).len() == self.arcs(b).len()
                && others(a, b).eq(others(b, a))
        };
        let first = |node| (0..node).find(|&other| alike(other, node)).unwrap_or(node);
        (0..self.len()).map(first).collect()
    }
}

/// Two graphs, the one with fewer nodes first.
///
/// With unit costs some best edit path deletes no node of the smaller graph: one that deletes u and
/// inserts v costs no less if u becomes v. So an edit path is a full assignment: row u, a node of
/// the smaller graph or one of the `large.len() − small.len()` blanks behind them, goes to a node
/// of the larger graph; what a blank goes to is inserted.
pub(super) struct Instance {
    pub(super) small: Side,
    pub(super) large: Side,
    /// Number of different edge labels; their codes are 1 to this.
    pub(super) codes: usize,
    /// Whether `small` is the second of the graphs given.
    pub(super) swapped: bool,
}

impl Instance {
    pub(super) fn new(a: &Graph, b: &Graph) -> Self {
        let mut labels: Vec<u64> = a.edges().chain(b.edges()).map(|edge| edge.2).collect();
        labels.sort_unstable();
        labels.dedup();
        let swapped = a.len() > b.len();
        let (small, large) = if swapped { (b, a) } else { (a, b) };
        Self {
            small: Side::new(small, &labels),
            large: Side::new(large, &labels),
            codes: labels.len(),
            swapped,
        }
    }

    /// Number of rows, and of columns.
    pub(super) fn len(&self) -> usize {
        self.large.len()
    }

    /// What the assignment `columns` of all rows costs.
    pub(super) fn cost(&self, columns: &[usize]) -> usize {
        let (small, large) = (&self.small, &self.large);
        let renamed = (0..small.len()).filter(|&u| small.labels()[u] != large.labels()[columns[u]]);
        let nodes = large.len() - small.len() + renamed.count();
        let saved: usize = (0..small.len()).map(|u| self.saved(columns, u, columns[u])).sum();
        nodes + small.graph.edge_count() + large.graph.edge_count() - saved / 2
    }

    /// What the edges at node u save against deleting and inserting them, if u goes to `column` and
    /// its neighbours go where `columns` says: 2 for an edge that is kept, 1 for one relabelled.
    pub(super) fn saved(&self, columns: &[usize], u: usize, column: usize) -> usize {
        let worth = |arc: &Arc| match self.large.edge(column, columns[arc.node]) {
            0 => 0,
            found if found == arc.label as usize => 2,
            _ => 1,
        };
        self.small.arcs(u).iter().map(worth).sum()
    }
}

#[cfg(test)]
mod tests {
    use dsokr_basis::random::{below, generator};

    use super::*;

    /// Whether exchanging two nodes leaves the graph as it is.
    fn exchangeable(graph: &Graph, a: usize, b: usize) -> bool {
        let place = |node: usize| match node {
            node if node == a => b,
            node if node == b => a,
            node => node,
        };
        let labels = (0..graph.len()).map(|node| graph.labels()[place(node)]).collect();
        let edges: Vec<_> = graph.edges().map(|(i, j, l)| (place(i), place(j), l)).collect();
        Graph::new(labels, &edges).is_ok_and(|exchanged| exchanged == *graph)
    }

    #[test]
    fn twins_are_nodes_that_can_be_exchanged() {
        let mut found = 0;
        for seed in 0..300 {
            let mut random = generator(seed, "test graph", 0);
            let nodes = 1 + below(&mut random, 7) as usize;
            let labels = (0..nodes).map(|_| below(&mut random, 2)).collect();
            let pairs = (0..nodes).flat_map(|a| (0..a).map(move |b| (a, b)));
            let mut edges: Vec<_> =
                pairs.map(|(a, b)| (a, b, below(&mut random, 2 + seed % 2))).collect();
            edges.retain(|edge| edge.2 > 0);
            let graph = Graph::new(labels, &edges).unwrap();
            let twins = Instance::new(&graph, &graph).large.twins();
            for (node, &twin) in twins.iter().enumerate() {
                let first = (0..=node).find(|&other| exchangeable(&graph, node, other));
                assert_eq!(Some(twin), first, "node {node} of {graph:?}");
                found += usize::from(twin < node);
            }
        }
        assert!(found > 50, "{found}");
    }
}
