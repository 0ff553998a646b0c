//! Two graphs as the search sees them, with small codes in place of edge labels, and what giving a row to a column
//! costs at least, kept up to date as rows are settled.
//!
//! Costs are doubled, so that half an edge is a whole number. The cost of u going to v is 2 if their
//! labels differ, 2 for every edge to a settled node that would be inserted, deleted or relabelled,
//! and half of that, 1, for every edge to open nodes that must be, as the labels of those at u and of
//! those at v have it: each is seen from both of its ends. The cheapest assignment under these costs
//! is a lower bound of the distance (branch matches anchored in what is settled: Chang, Feng, Yao,
//! Qin, Zhang 2020, "Speeding up GED verification for graph similarity search").

use std::ops::Deref;

use crate::graph::{Arc, Graph};

/// One of the two graphs, whose edges are labelled with their codes.
pub(super) struct Side {
    graph: Graph,
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
    fn new(graph: &Graph, labels: &[u64]) -> Self {
        let code = |label| labels.partition_point(|&other| other < label) as u64 + 1;
        let (graph, n) = (graph.clone().with_edge_labels(code), graph.len());
        let mut dense = vec![0; n * n];
        for node in 0..n {
            graph.arcs(node).iter().for_each(|arc| dense[node * n + arc.node] = arc.label as u32);
        }
        Self { graph, dense }
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
    codes: usize,
    /// Whether `small` is the second of the graphs given.
    swapped: bool,
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

    /// What each node of the first graph given becomes under the assignment `columns`.
    pub(super) fn mapping(&self, columns: &[usize]) -> Vec<Option<usize>> {
        let columns = &columns[..self.small.len()];
        if !self.swapped {
            return columns.iter().map(|&column| Some(column)).collect();
        }
        let mut mapping = vec![None; self.len()];
        columns.iter().enumerate().for_each(|(row, &column)| mapping[column] = Some(row));
        mapping
    }

    /// What the assignment `columns` of all rows costs.
    pub(super) fn cost(&self, columns: &[usize]) -> usize {
        let (small, large) = (&self.small, &self.large);
        let renamed = (0..small.len()).filter(|&u| small.labels()[u] != large.labels()[columns[u]]);
        let nodes = large.len() - small.len() + renamed.count();
        let saved: usize = (0..small.len()).map(|u| self.saved(columns, u, columns[u])).sum();
        nodes + small.edge_count() + large.edge_count() - saved / 2
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

/// Edge codes are counted in at most so many classes, by remainder. Codes that share a class count as
/// equal in the bound alone, which stays one: it only keeps more edges than there are.
const CLASSES: usize = 1024;

fn class(code: u64) -> usize {
    code as usize % CLASSES
}

/// Number of edges to open nodes, by node and class of edge codes, and of all classes.
struct Open {
    classes: usize,
    by_class: Vec<u32>,
    all: Vec<u32>,
}

impl Open {
    fn new(side: &Side, codes: usize) -> Self {
        let classes = CLASSES.min(codes + 1);
        let mut by_class = vec![0; side.len() * classes];
        for node in 0..side.len() {
            let class = |arc: &Arc| node * classes + class(arc.label);
            side.arcs(node).iter().for_each(|arc| by_class[class(arc)] += 1);
        }
        let all = (0..side.len()).map(|node| side.arcs(node).len() as u32).collect();
        Self { classes, by_class, all }
    }

    fn of(&self, node: usize) -> &[u32] {
        &self.by_class[node * self.classes..][..self.classes]
    }

    /// The edge at the node that an arc leads to is no longer open (`change` −1), or open again (+1).
    fn change(&mut self, arc: &Arc, change: i32) {
        let count = &mut self.by_class[arc.node * self.classes + class(arc.label)];
        *count = count.wrapping_add_signed(change);
        self.all[arc.node] = self.all[arc.node].wrapping_add_signed(change);
    }
}

/// Doubled costs of all rows and columns that are not settled.
pub(super) struct Costs<'a> {
    instance: &'a Instance,
    /// Cost row by row; all blanks share the last row.
    all: Vec<i32>,
    /// The part that is exact: labels, and edges to settled nodes.
    exact: Vec<i32>,
    small: Open,
    large: Open,
    /// Classes of codes at each node of the smaller graph, each once.
    classes: Vec<Vec<usize>>,
    settled: Vec<bool>,
    taken: Vec<bool>,
    /// Places and values before the changes, and how many there were before each settled row.
    changed: Vec<(u32, i32, i32)>,
    marks: Vec<usize>,
    /// Rows that the row being settled is joined to.
    touched: Vec<bool>,
}

impl<'a> Costs<'a> {
    pub(super) fn new(instance: &'a Instance) -> Self {
        let (small, large) = (&instance.small, &instance.large);
        let (rows, n) = (small.len(), large.len());
        let distinct = |node| {
            let arcs = small.arcs(node).iter();
            let mut classes: Vec<usize> = arcs.map(|arc| class(arc.label)).collect();
            classes.sort_unstable();
            classes.dedup();
            classes
        };
        let mut costs = Self {
            instance,
            all: vec![0; (rows + 1) * n],
            exact: vec![2; (rows + 1) * n],
            small: Open::new(small, instance.codes),
            large: Open::new(large, instance.codes),
            classes: (0..rows).map(distinct).collect(),
            settled: vec![false; rows],
            taken: vec![false; n],
            changed: Vec::new(),
            marks: Vec::new(),
            touched: vec![false; rows],
        };
        for row in 0..rows {
            for column in 0..n {
                let at = row * n + column;
                costs.exact[at] = 2 * i32::from(small.labels()[row] != large.labels()[column]);
                costs.all[at] = costs.exact[at] + costs.open(row, column);
            }
        }
        for column in 0..n {
            costs.all[rows * n + column] = 2 + costs.large.all[column] as i32;
        }
        costs
    }

    /// Costs of a row, by column.
    pub(super) fn row(&self, row: usize) -> &[i32] {
        let n = self.instance.len();
        &self.all[row.min(self.settled.len()) * n..][..n]
    }

    /// Edges to open nodes at u and at v that no matching of them by label keeps.
    fn open(&self, u: usize, v: usize) -> i32 {
        let (ours, theirs) = (self.small.of(u), self.large.of(v));
        let kept: u32 = self.classes[u].iter().map(|&class| ours[class].min(theirs[class])).sum();
        (self.small.all[u].max(self.large.all[v]) - kept) as i32
    }

    /// The exact part of the doubled cost of u going to v.
    pub(super) fn exact(&self, u: usize, v: usize) -> i32 {
        self.exact[u * self.instance.len() + v]
    }

    /// Number of open edges of a node of the smaller graph.
    pub(super) fn open_edges(&self, u: usize) -> u32 {
        self.small.all[u]
    }

    /// Settles that u goes to v; `rows` and `columns` are the others that are not settled. Costs
    /// only grow.
    pub(super) fn settle(&mut self, u: usize, v: usize, rows: &[usize], columns: &[usize]) {
        let n = self.instance.len();
        let blanks = self.settled.len();
        self.marks.push(self.changed.len());
        self.settled[u] = true;
        self.taken[v] = true;
        self.count(u, v, -1);
        let (small, large) = (&self.instance.small, &self.instance.large);
        for &Arc { node: row, label: code } in small.arcs(u) {
            if self.settled[row] {
                continue;
            }
            self.touched[row] = true;
            for &column in columns {
                let broken = large.edge(v, column) != code as usize;
                let exact = self.exact[row * n + column] + 2 * i32::from(broken);
                self.set(row * n + column, exact, exact + self.open(row, column));
            }
        }
        for &Arc { node: column, .. } in large.arcs(v) {
            if self.taken[column] {
                continue;
            }
            for &row in rows.iter().take_while(|&&row| row < blanks) {
                if !self.touched[row] {
                    let exact = self.exact[row * n + column] + 2;
                    self.set(row * n + column, exact, exact + self.open(row, column));
                }
            }
            let at = blanks * n + column;
            self.set(at, self.exact[at] + 2, self.all[at] + 1);
        }
        small.arcs(u).iter().for_each(|arc| self.touched[arc.node] = false);
    }

    /// Takes the last [`settle`](Self::settle) back, which was that of u and v.
    pub(super) fn unsettle(&mut self, u: usize, v: usize) {
        let mark = self.marks.pop().unwrap_or(0);
        while self.changed.len() > mark {
            if let Some((at, exact, all)) = self.changed.pop() {
                self.exact[at as usize] = exact;
                self.all[at as usize] = all;
            }
        }
        self.count(u, v, 1);
        self.settled[u] = false;
        self.taken[v] = false;
    }

    /// Counts the edges at u and v as open or not.
    fn count(&mut self, u: usize, v: usize, change: i32) {
        let instance = self.instance;
        instance.small.arcs(u).iter().for_each(|arc| self.small.change(arc, change));
        instance.large.arcs(v).iter().for_each(|arc| self.large.change(arc, change));
    }

    fn set(&mut self, at: usize, exact: i32, all: i32) {
        self.changed.push((at as u32, self.exact[at], self.all[at]));
        self.exact[at] = exact;
        self.all[at] = all;
    }
}
