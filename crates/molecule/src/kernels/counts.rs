//! The features of one graph while they are being counted, by each kernel.

use super::GraphKernel;
use crate::graph::{Arc, Distances, Graph};
use crate::refinement::{mix, sorted};

/// The word of every edge where labels do not count, and the start of its word where they do.
const EDGE: u64 = 0xbb67_ae85_84ca_a73b;

/// Keeps edges apart from nodes in vertex histograms.
const EDGES: u64 = 1;

/// Starts the new label of a node.
const NODE: u64 = 0x3c6e_f372_fe94_f82b;

/// Occurrences that are kept apart before they are counted together.
const PENDING: usize = 1 << 16;

/// A multiset of features, each a 64-bit hash, with a value: how often it occurs, or a weight.
///
/// Pending features are bounded, so a graph with 10⁸ shortest paths needs memory only for the
/// distinct ones.
#[derive(Default)]
pub(super) struct Counts {
    /// Features that occurred once more, in the order they were found.
    pending: Vec<u64>,
    /// Features with their values, by increasing feature.
    counted: Vec<(u64, f64)>,
}

impl Counts {
    /// Counts one occurrence.
    #[inline]
    pub(super) fn add(&mut self, feature: u64) {
        if self.pending.len() >= PENDING.max(2 * self.counted.len()) {
            self.settle();
        }
        self.pending.push(feature);
    }

    /// Adds features with values, by increasing feature.
    pub(super) fn add_values(&mut self, values: Vec<(u64, f64)>) {
        let counted = std::mem::take(&mut self.counted);
        self.counted = merged(counted, values);
    }

    /// Returns all features with their values, by increasing feature; leaves none.
    pub(super) fn finish(&mut self) -> Vec<(u64, f64)> {
        self.settle();
        std::mem::take(&mut self.counted)
    }

    fn settle(&mut self) {
        self.pending.sort_unstable();
        let runs = self.pending.chunk_by(|a, b| a == b);
        let runs = runs.map(|run| (run[0], run.len() as f64)).collect();
        self.pending.clear();
        self.add_values(runs);
    }
}

/// Returns two lists by increasing feature as one; values of the same feature are added up.
pub(super) fn merged(a: Vec<(u64, f64)>, b: Vec<(u64, f64)>) -> Vec<(u64, f64)> {
    if a.is_empty() {
        return b;
    }
    if b.is_empty() {
        return a;
    }
    // the stable sort finds the two runs and merges them
    let mut all = [a, b].concat();
    all.sort_by_key(|&(feature, _)| feature);
    all.dedup_by(|(next, value), (feature, sum)| {
        let same = next == feature;
        if same {
            *sum += *value;
        }
        same
    });
    all
}

/// Scales values to norm 1; an empty list stays as it is.
pub(super) fn normalise(values: &mut [(u64, f64)]) {
    let norm = values.iter().map(|(_, value)| value * value).sum::<f64>().sqrt();
    values.iter_mut().for_each(|(_, value)| *value /= norm);
}

/// Returns the word that an edge adds to a hash: its label, if labels count.
///
/// [`mix`] tells two pairs apart if the first parts are well mixed; labels that are small whole
/// numbers are not.
#[inline]
pub(super) fn edge_word(label: u64, edge_labels: bool) -> u64 {
    if edge_labels { mix(EDGE, label) } else { EDGE }
}

/// Counts the features of the vertex histogram kernel (Sugiyama and Borgwardt 2015): `k(G, G') = Σ_l c_l(G) c_l(G')`, with
/// c_l the number of nodes labelled l.
///
/// Counts the labels of the nodes; with edge labels also the edges, as (label of one end, label of
/// the edge, label of the other end).
pub(super) fn vertex_histogram(graph: &Graph, edge_labels: bool, prefix: u64, counts: &mut Counts) {
    let labels = graph.labels();
    labels.iter().for_each(|&label| counts.add(mix(prefix, label)));
    if edge_labels {
        let prefix = mix(prefix, EDGES);
        for (a, b, label) in graph.edges() {
            // an edge has no direction: its smaller end first
            let low = labels[a].min(labels[b]);
            let high = labels[a].max(labels[b]);
            counts.add(mix(mix(mix(prefix, low), high), edge_word(label, true)));
        }
    }
}

/// Counts the features of the shortest-path kernel (Borgwardt and Kriegel 2005), with Dirac kernels on labels and lengths:
/// the number of pairs of equal (label of start, length, label of end), over all ordered pairs of
/// different nodes that a path joins.
///
/// Counts (label of start, length, label of end) of all ordered pairs of different nodes.
///
/// With edge labels two paths also have to agree in the labels of their edges, in their order. Where
/// several shortest paths join two nodes, it is the tree that they form, read from the end back to
/// the start, that has to agree.
pub(super) fn shortest_path(graph: &Graph, edge_labels: bool, prefix: u64, counts: &mut Counts) {
    let labels = graph.labels();
    let mut distances = Distances::new(graph);
    let mut trees = vec![0; if edge_labels { graph.len() } else { 0 }];
    let mut branches = Vec::new();
    for source in 0..graph.len() {
        distances.search(graph, source, usize::MAX, |_| true);
        let start = mix(prefix, labels[source]);
        for &node in &distances.reached()[1..] {
            let length = distances.distance_to(node).unwrap_or(0);
            let mut feature = mix(mix(start, length as u64), labels[node]);
            if edge_labels {
                branches.clear();
                let before = graph.arcs(node).iter().filter(|arc| {
                    distances.distance_to(arc.node).is_some_and(|distance| distance + 1 == length)
                });
                // the source ends every branch; whose tree it is must not show
                let tree = |node: usize| if node == source { 0 } else { trees[node] };
                branches.extend(before.map(|arc| mix(edge_word(arc.label, true), tree(arc.node))));
                trees[node] = sorted(&mut branches, length as u64);
                feature = mix(feature, trees[node]);
            }
            counts.add(feature);
        }
    }
}

/// Counts the features of the Weisfeiler–Lehman framework (Shervashidze et al. 2011): `k(G, G') = Σ_{i=0..h} k_base(G_i, G'_i)`,
/// where the nodes of G_i are labelled with the trees of depth i below them.
///
/// Counts the base kernel's features of G_0 to G_h, each level for itself.
pub(super) fn weisfeiler_lehman(
    graph: &Graph,
    iterations: usize,
    edge_labels: bool,
    base: &GraphKernel,
    prefix: u64,
    counts: &mut Counts,
) {
    base.count(graph, mix(prefix, 0), counts);
    let mut graph = graph.clone();
    let mut labels = Vec::new();
    let mut around = Vec::new();
    for iteration in 1..=iterations {
        labels.clear();
        labels.extend((0..graph.len()).map(|node| {
            let label = |a: &Arc| mix(edge_word(a.label, edge_labels), graph.labels()[a.node]);
            around.clear();
            around.extend(graph.arcs(node).iter().map(label));
            sorted(&mut around, mix(NODE, graph.labels()[node]))
        }));
        graph.labels.copy_from_slice(&labels);
        base.count(&graph, mix(prefix, iteration as u64), counts);
    }
}

/// Counts the features of the core framework (Nikolentzos et al. 2018): `k(G, G') = Σ_i k_base(C_i, C'_i)` for i from 0 to
/// the smaller of the two degeneracies, C_i the i-core of G.
///
/// The i-core is the largest subgraph in which every node has at least i neighbours; the degeneracy
/// is the largest i for which there is one. Beyond it cores are empty and have no features, so the
/// smaller degeneracy ends the sum by itself.
///
/// Counts the base kernel's features of every core, each core for itself.
pub(super) fn core(graph: &Graph, base: &GraphKernel, prefix: u64, counts: &mut Counts) {
    let cores = core_numbers(graph);
    for core in 0..=cores.iter().copied().max().unwrap_or(0) {
        let prefix = mix(prefix, core as u64);
        let keep: Vec<bool> = cores.iter().map(|&node_core| node_core >= core).collect();
        base.count(&graph.induced(&keep), prefix, counts);
    }
}

/// Returns the largest i such that the node is in the i-core, for every node.
///
/// A node of smallest degree is removed again and again (Batagelj and Zaveršnik 2003); O(n + edges).
fn core_numbers(graph: &Graph) -> Vec<usize> {
    let mut degrees: Vec<usize> = (0..graph.len()).map(|node| graph.arcs(node).len()).collect();
    let largest = degrees.iter().copied().max().unwrap_or(0);
    // nodes by the degree they had when they were put there; those that lost a neighbour since
    // are put in the next lower list once more
    let mut by_degree = vec![Vec::new(); largest + 1];
    degrees.iter().enumerate().for_each(|(node, &degree)| by_degree[degree].push(node));
    let mut removed = vec![false; graph.len()];
    let mut core = 0;
    let mut degree = 0;
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

/// Counts the features of the sum of normalised kernels, `k(G, G') = Σ_i k_i(G, G') / √(k_i(G, G) k_i(G', G'))`: what one kernel
/// does not see, a different one does.
///
/// Adds the features of each kernel, scaled to norm 1.
pub(super) fn sum(graph: &Graph, kernels: &[GraphKernel], prefix: u64, counts: &mut Counts) {
    for (number, kernel) in kernels.iter().enumerate() {
        let mut kernel_counts = Counts::default();
        kernel.count(graph, mix(prefix, number as u64), &mut kernel_counts);
        let mut values = kernel_counts.finish();
        normalise(&mut values);
        counts.add_values(values);
    }
}
