//! Two graphs as the search sees them: small codes in place of edge labels, looked up in one step.

use crate::graph::Graph;

/// One of the two graphs.
pub(super) struct Side {
    pub(super) labels: Vec<u64>,
    /// Neighbours and edge codes of node i are `arcs[offsets[i]..offsets[i + 1]]`.
    offsets: Vec<usize>,
    arcs: Vec<(usize, usize)>,
    /// Edge code of every pair of nodes, 0 where there is no edge.
    dense: Vec<u32>,
}

impl Side {
    fn new(graph: &Graph, labels: &[u64]) -> Self {
        let n = graph.len();
        let (mut offsets, mut arcs, mut dense) = (vec![0], Vec::new(), vec![0; n * n]);
        for node in 0..n {
            for arc in graph.arcs(node) {
                let code = labels.partition_point(|&label| label < arc.label) + 1;
                arcs.push((arc.node, code));
                dense[node * n + arc.node] = code as u32;
            }
            offsets.push(arcs.len());
        }
        Self { labels: graph.labels().to_vec(), offsets, arcs, dense }
    }

    pub(super) fn len(&self) -> usize {
        self.labels.len()
    }

    pub(super) fn arcs(&self, node: usize) -> &[(usize, usize)] {
        &self.arcs[self.offsets[node]..self.offsets[node + 1]]
    }

    pub(super) fn edge_count(&self) -> usize {
        self.arcs.len() / 2
    }

    /// Code of the edge between two nodes, 0 if there is none.
    pub(super) fn edge(&self, a: usize, b: usize) -> usize {
        self.dense[a * self.len() + b] as usize
    }

    /// The least node that each node can be exchanged with: equal labels and equal edges to all
    /// other nodes.
    pub(super) fn twins(&self) -> Vec<usize> {
        let alike = |a: usize, b: usize| {
            let others =
                |node: usize, twin: usize| self.arcs(node).iter().filter(move |arc| arc.0 != twin);
            self.labels[a] == self.labels[b]
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
        let renamed = (0..small.len()).filter(|&u| small.labels[u] != large.labels[columns[u]]);
        let nodes = large.len() - small.len() + renamed.count();
        let saved: usize = (0..small.len()).map(|u| self.saved(columns, u, columns[u])).sum();
        nodes + small.edge_count() + large.edge_count() - saved / 2
    }

    /// What the edges at node u save against deleting and inserting them, if u goes to `column` and
    /// its neighbours go where `columns` says: 2 for an edge that is kept, 1 for one relabelled.
    pub(super) fn saved(&self, columns: &[usize], u: usize, column: usize) -> usize {
        let worth =
            |&(neighbour, code): &(usize, usize)| match self.large.edge(column, columns[neighbour])
            {
                0 => 0,
                found if found == code => 2,
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
