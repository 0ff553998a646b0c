//! Two graphs as the search sees them, with small codes in place of edge labels, and what edits of them cost.

use std::ops::Deref;

use crate::graph::{Arc, Graph};

/// The costs of edits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EditCosts {
    /// 1 each.
    Unit,
    /// Costs that leave a largest common subgraph of edges. Nodes cost nothing. The label of an edge is its weight: a
    /// removed edge costs its weight, and a kept edge costs the difference to the weight of the edge that it becomes.
    /// An edge can become an edge whose ends have the same labels.
    Common,
}

/// One of the two graphs, whose edges are labelled with their codes.
pub(super) struct Side {
    graph: Graph,
    /// The kind by which the bound tells nodes at the other end of an edge apart: a number of the label where these
    /// must be equal, else 0.
    pub(super) kinds: Vec<usize>,
    /// Edge code of every pair of nodes, 0 where there is no edge.
    dense: Vec<u32>,
}

impl Deref for Side {
    type Target = Graph;

    fn deref(&self) -> &Graph {
        &self.graph
    }
}

impl Side {
    fn new(graph: &Graph, labels: &[u64], names: &[u64]) -> Self {
        let kind = |label: &u64| names.binary_search(label).unwrap_or(0);
        let kinds = graph.labels().iter().map(kind).collect();
        let code = |label| labels.partition_point(|&other| other < label) as u64 + 1;
        let n = graph.len();
        let graph = graph.clone().with_edge_labels(code);
        let mut dense = vec![0; n * n];
        for node in 0..n {
            graph.arcs(node).iter().for_each(|arc| dense[node * n + arc.node] = arc.label as u32);
        }
        Self { graph, kinds, dense }
    }

    /// Returns the code of the edge between two nodes, 0 if there is none.
    pub(super) fn edge(&self, a: usize, b: usize) -> usize {
        self.dense[a * self.len() + b] as usize
    }

    /// Returns the least node that each node can be exchanged with: equal labels and equal edges to all
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

/// Edge codes are counted in at most so many classes, by remainder. The bound takes codes of one class for equal, so it
/// keeps at least the edges that can be kept, and stays a bound.
const CLASSES: usize = 1024;

/// Two graphs, the one with fewer nodes first.
///
/// With unit costs some best edit path deletes no node of the smaller graph: one that deletes u and
/// inserts v costs no less if u becomes v. So an edit path is a full assignment: row u, a node of
/// the smaller graph or one of the `large.len() − small.len()` blanks behind them, goes to a node
/// of the larger graph; what a blank goes to is inserted.
pub(super) struct Instance {
    pub(super) small: Side,
    pub(super) large: Side,
    pub(super) edit_costs: EditCosts,
    /// The cost of an edge that is deleted or inserted, by its code from 1 on; code 0 stands for no edge.
    pub(super) weights: Vec<i32>,
    /// Number of different kinds of nodes.
    kinds: usize,
    /// Whether `small` is the second of the graphs given.
    swapped: bool,
}

impl Instance {
    pub(super) fn new(a: &Graph, b: &Graph, edit_costs: EditCosts) -> Self {
        let distinct = |mut labels: Vec<u64>| {
            labels.sort_unstable();
            labels.dedup();
            labels
        };
        let labels = distinct(a.edges().chain(b.edges()).map(|edge| edge.2).collect());
        let (names, weights) = match edit_costs {
            EditCosts::Unit => (Vec::new(), vec![1; labels.len()]),
            EditCosts::Common => {
                let names = a.labels().iter().chain(b.labels()).copied().collect();
                (distinct(names), labels.iter().map(|&weight| weight as i32).collect())
            }
        };
        let swapped = a.len() > b.len();
        let (small, large) = if swapped { (b, a) } else { (a, b) };
        Self {
            small: Side::new(small, &labels, &names),
            large: Side::new(large, &labels, &names),
            edit_costs,
            weights: [vec![0], weights].concat(),
            kinds: names.len().max(1),
            swapped,
        }
    }

    /// Returns the number of different edge labels; their codes are 1 to this.
    pub(super) fn codes(&self) -> usize {
        self.weights.len() - 1
    }

    /// Returns whether u may become v.
    pub(super) fn keeps(&self, u: usize, v: usize) -> bool {
        match self.edit_costs {
            EditCosts::Unit => true,
            EditCosts::Common => self.small.labels()[u] == self.large.labels()[v],
        }
    }

    /// Returns doubled cost of u becoming v, without edges.
    pub(super) fn node(&self, u: usize, v: usize) -> i32 {
        match self.edit_costs {
            EditCosts::Unit => 2 * i32::from(self.small.labels()[u] != self.large.labels()[v]),
            EditCosts::Common => 0,
        }
    }

    /// Returns doubled cost of inserting a node, without edges.
    pub(super) fn blank(&self) -> i32 {
        match self.edit_costs {
            EditCosts::Unit => 2,
            EditCosts::Common => 0,
        }
    }

    /// Returns the cost of an edge becoming a different one; their codes say whether either is absent; `kept` is whether
    /// their ends may become one another.
    pub(super) fn edge(&self, kept: bool, ours: usize, theirs: usize) -> i32 {
        let [weight, other_weight] = [ours, theirs].map(|code| self.weights[code]);
        match self.edit_costs {
            EditCosts::Unit => i32::from(ours != theirs),
            EditCosts::Common if kept => (weight - other_weight).abs(),
            EditCosts::Common => weight + other_weight,
        }
    }

    /// Returns the class in which the bound counts an edge, by its code and the kind of the node at its other end.
    pub(super) fn class(&self, kind: usize, code: u64) -> usize {
        match self.edit_costs {
            EditCosts::Unit => code as usize % CLASSES,
            EditCosts::Common => kind % self.kinds_told() * self.codes() + code as usize - 1,
        }
    }

    /// Returns the number of kinds that the bound tells apart.
    fn kinds_told(&self) -> usize {
        self.kinds.min(CLASSES / self.codes().max(1)).max(1)
    }

    pub(super) fn classes(&self) -> usize {
        match self.edit_costs {
            EditCosts::Unit => CLASSES.min(self.codes() + 1),
            EditCosts::Common => self.kinds_told() * self.codes(),
        }
    }

    /// Returns the number of rows, and of columns.
    pub(super) fn len(&self) -> usize {
        self.large.len()
    }

    /// Returns the node that each node of the first graph given becomes under the assignment `columns`.
    pub(super) fn mapping(&self, columns: &[usize]) -> Vec<Option<usize>> {
        let columns = &columns[..self.small.len()];
        if !self.swapped {
            return columns.iter().map(|&column| Some(column)).collect();
        }
        let mut mapping = vec![None; self.len()];
        columns.iter().enumerate().for_each(|(row, &column)| mapping[column] = Some(row));
        mapping
    }

    /// Returns the cost of the assignment `columns` of all rows.
    pub(super) fn cost(&self, columns: &[usize]) -> usize {
        let small = &self.small;
        let large = &self.large;
        let blanks = (large.len() - small.len()) as i32 * self.blank();
        let nodes = blanks + (0..small.len()).map(|u| self.node(u, columns[u])).sum::<i32>();
        let saved: i32 = (0..small.len()).map(|u| self.saved(columns, u, columns[u])).sum();
        let weight = |(_, _, code)| self.weights[code as usize];
        let edges: i32 = small.edges().chain(large.edges()).map(weight).sum();
        (nodes / 2 + edges - saved / 2) as usize
    }

    /// Returns the saving of the edges at node u against deleting and inserting them, if u goes to `column` and
    /// its neighbours go where `columns` says: with unit costs 2 for an edge that is kept, 1 for one relabelled.
    pub(super) fn saved(&self, columns: &[usize], u: usize, column: usize) -> i32 {
        let kept = self.keeps(u, column);
        let worth = |arc: &Arc| {
            let to = columns[arc.node];
            let code = arc.label as usize;
            let kept = kept && self.keeps(arc.node, to);
            match self.large.edge(column, to) {
                0 => 0,
                other_code => {
                    self.weights[code] + self.weights[other_code]
                        - self.edge(kept, code, other_code)
                }
            }
        };
        self.small.arcs(u).iter().map(worth).sum()
    }

    /// Returns the cost of the labels of u and of `column`, less the saving of the edges of u there.
    pub(super) fn part(&self, columns: &[usize], u: usize) -> i32 {
        self.node(u, columns[u]) / 2 - self.saved(columns, u, columns[u])
    }
}
