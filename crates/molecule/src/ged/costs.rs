//! Lower bounds of the costs of giving a row to a column, kept up to date as rows are settled.
//!
//! Costs are doubled, so that half an edge is a whole number. The cost of u going to v is 2 if their
//! labels differ, 2 for every edge to a settled node that would be inserted, deleted or relabelled,
//! and half of that, 1, for every edge to open nodes that must be, as the labels of those at u and of
//! those at v have it: each is seen from both of its ends. The cheapest assignment under these costs
//! is a lower bound of the distance (branch matches anchored in what is settled: Chang, Feng, Yao,
//! Qin, Zhang 2020, "Speeding up GED verification for graph similarity search").
//!
//! Where a common subgraph is looked for, an edge costs its weight in the place of 1, and its halves are paired by
//! weight among those with equal labels at their other ends.

use super::instance::{EditCosts, Instance, Side};
use crate::graph::Arc;

/// Number of edges to open nodes, by node and class, and the weight of all of them.
struct Open {
    classes: usize,
    by_class: Vec<u32>,
    all: Vec<u32>,
}

impl Open {
    fn new(side: &Side, instance: &Instance) -> Self {
        let classes = instance.classes();
        let mut by_class = vec![0; side.len() * classes];
        let mut all = vec![0; side.len()];
        for node in 0..side.len() {
            for arc in side.arcs(node) {
                by_class[node * classes + instance.class(side.kinds[arc.node], arc.label)] += 1;
                all[node] += instance.weights[arc.label as usize] as u32;
            }
        }
        Self { classes, by_class, all }
    }

    fn of(&self, node: usize) -> &[u32] {
        &self.by_class[node * self.classes..][..self.classes]
    }

    /// Notes that the edge of a class and a weight at a node is no longer open (`change` −1), or open again (+1).
    fn change(&mut self, node: usize, (class, weight): (usize, i32), change: i32) {
        let count = &mut self.by_class[node * self.classes + class];
        *count = count.wrapping_add_signed(change);
        self.all[node] = self.all[node].wrapping_add_signed(change * weight);
    }
}

/// Returns the cost of the cheapest matching of edges with these counts by weight, increasing with the code: the
/// distance of both distributions on a line, an unmatched edge lying at 0.
fn apart(weights: &[i32], ours: &[u32], theirs: &[u32]) -> i32 {
    let mut more = 0;
    let mut cost = 0;
    for at in (0..ours.len()).rev() {
        more += ours[at] as i32 - theirs[at] as i32;
        cost += more.abs() * (weights[at + 1] - weights[at]);
    }
    cost
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
        let small = &instance.small;
        let large = &instance.large;
        let rows = small.len();
        let n = large.len();
        let distinct = |node| {
            let arcs = small.arcs(node).iter();
            let class = |arc: &Arc| instance.class(small.kinds[arc.node], arc.label);
            let mut classes: Vec<usize> = arcs.map(class).collect();
            classes.sort_unstable();
            classes.dedup();
            classes
        };
        let mut costs = Self {
            instance,
            all: vec![0; (rows + 1) * n],
            exact: vec![instance.blank(); (rows + 1) * n],
            small: Open::new(small, instance),
            large: Open::new(large, instance),
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
                costs.exact[at] = instance.node(row, column);
                costs.all[at] = costs.exact[at] + costs.open(row, column);
            }
        }
        for column in 0..n {
            costs.all[rows * n + column] = instance.blank() + costs.large.all[column] as i32;
        }
        costs
    }

    /// Returns the costs of a row, by column.
    pub(super) fn row(&self, row: usize) -> &[i32] {
        let n = self.instance.len();
        &self.all[row.min(self.settled.len()) * n..][..n]
    }

    /// Returns half of what edges to open nodes at u and at v cost that no matching of them by class keeps, doubled.
    fn open(&self, u: usize, v: usize) -> i32 {
        let ours = self.small.of(u);
        let theirs = self.large.of(v);
        let all = [self.small.all[u], self.large.all[v]];
        match self.instance.edit_costs {
            EditCosts::Unit => {
                let kept = |&class: &usize| ours[class].min(theirs[class]);
                (all[0].max(all[1]) - self.classes[u].iter().map(kept).sum::<u32>()) as i32
            }
            EditCosts::Common if !self.instance.keeps(u, v) => (all[0] + all[1]) as i32,
            EditCosts::Common => {
                let codes = self.instance.codes().max(1);
                let kinds = ours.chunks_exact(codes).zip(theirs.chunks_exact(codes));
                kinds.map(|(ours, theirs)| apart(&self.instance.weights, ours, theirs)).sum()
            }
        }
    }

    /// Returns the exact part of the doubled cost of u going to v.
    pub(super) fn exact(&self, u: usize, v: usize) -> i32 {
        self.exact[u * self.instance.len() + v]
    }

    /// Returns the number of edges of a node of the smaller graph to settled ones.
    pub(super) fn settled_edges(&self, u: usize) -> usize {
        self.instance.small.arcs(u).iter().filter(|arc| self.settled[arc.node]).count()
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
        let small = &self.instance.small;
        let large = &self.instance.large;
        let kept = self.instance.keeps(u, v);
        for &Arc { node: row, label: code } in small.arcs(u) {
            if self.settled[row] {
                continue;
            }
            self.touched[row] = true;
            for &column in columns {
                let kept = kept && self.instance.keeps(row, column);
                let cost = self.instance.edge(kept, code as usize, large.edge(v, column));
                let exact = self.exact[row * n + column] + 2 * cost;
                self.set(row * n + column, exact, exact + self.open(row, column));
            }
        }
        for &Arc { node: column, label: code } in large.arcs(v) {
            if self.taken[column] {
                continue;
            }
            let weight = self.instance.weights[code as usize];
            for &row in rows.iter().take_while(|&&row| row < blanks) {
                if !self.touched[row] {
                    let exact = self.exact[row * n + column] + 2 * weight;
                    self.set(row * n + column, exact, exact + self.open(row, column));
                }
            }
            let at = blanks * n + column;
            self.set(at, self.exact[at] + 2 * weight, self.all[at] + weight);
        }
        small.arcs(u).iter().for_each(|arc| self.touched[arc.node] = false);
    }

    /// Undoes the last [`settle`](Self::settle), which settled u and v.
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
        let Self { instance, small, large, .. } = self;
        for (node, side, open) in [(u, &instance.small, small), (v, &instance.large, large)] {
            for arc in side.arcs(node) {
                let class = instance.class(side.kinds[node], arc.label);
                open.change(arc.node, (class, instance.weights[arc.label as usize]), change);
            }
        }
    }

    fn set(&mut self, at: usize, exact: i32, all: i32) {
        self.changed.push((at as u32, self.exact[at], self.all[at]));
        self.exact[at] = exact;
        self.all[at] = all;
    }
}
