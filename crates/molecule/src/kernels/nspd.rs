//! The neighbourhood subgraph pairwise distance kernel (Costa and De Grave 2010).
//!
//! N_r^v is the subgraph induced by the nodes at most r edges from v, with v as its root.
//! `k_{r,d}(G, G')` counts the pairs (A, B), (A', B') with A ≅ A' and B ≅ B', over all ordered pairs
//! of nodes at distance d in G and in G', A and B being their neighbourhoods of radius r;
//! `k(G, G') = Σ_{r ≤ r*} Σ_{d ≤ d*} k_{r,d}(G, G')`, each k_{r,d} normalised to `k_{r,d}(G, G) = 1` or not.

use std::f64::consts::SQRT_2;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use super::counts::{Counts, edge_word, merged, normalise};
use crate::graph::{Distances, Graph};
use crate::refinement::{mix, sorted};

/// Starts of the codes of a (distance, label) pair, a node and an edge of a neighbourhood.
const PAIR: u64 = 0x510e_527f_ade6_82d1;
const NODE: u64 = 0x9b05_688c_2b3e_6c1f;
const EDGE: u64 = 0x1f83_d9ab_fb41_bd6b;

/// The pairs of neighbourhoods that the kernel counts, and their weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(default, deny_unknown_fields)]
pub struct Nspd {
    /// r*, the largest radius, 0 to 20.
    #[default = 3]
    pub radius: usize,
    /// d*, the largest distance, 0 to 20.
    #[default = 4]
    pub distance: usize,
    /// Whether neighbourhoods also have to agree in the labels of their edges.
    #[default = true]
    pub edge_labels: bool,
    /// Whether each (r, d) has the same weight, its part of the row being scaled to norm 1, as
    /// in the paper.
    #[default = true]
    pub normalised: bool,
}

impl Nspd {
    /// Adds the features of all (r, d).
    ///
    /// A pair of nodes is counted once, with its neighbourhoods in the order of their hashes, and
    /// stands for both of its orders: c pairs of different neighbourhoods have the value √2 c,
    /// which gives 2 c c' as the ordered pairs would in two features; c pairs of equal ones 2 c.
    pub(super) fn count(self, graph: &Graph, prefix: u64, counts: &mut Counts) {
        let hashes = neighborhood_hashes(graph, self.radius, self.edge_labels);
        let width = self.distance + 1;
        // a block for each (r, d): the pairs of two equal neighbourhoods, and the others
        let mut blocks: Vec<[Counts; 2]> = Vec::new();
        blocks.resize_with((self.radius + 1) * width, Default::default);
        let prefixes: Vec<u64> = (0..blocks.len())
            .map(|block| mix(mix(prefix, (block / width) as u64), (block % width) as u64))
            .collect();
        let mut distances = Distances::new(graph);
        for node in 0..graph.len() {
            distances.search(graph, node, self.distance, |_| true);
            for &other in distances.reached().iter().filter(|&&other| other >= node) {
                let distance = distances.distance_to(other).unwrap_or(0);
                for (radius, hashes) in hashes.iter().enumerate() {
                    let block = radius * width + distance;
                    let a = hashes[node];
                    let b = hashes[other];
                    let feature = mix(mix(prefixes[block], a.min(b)), a.max(b));
                    blocks[block][usize::from(a != b)].add(feature);
                }
            }
        }
        for (number, block) in blocks.into_iter().enumerate() {
            // at distance 0 a node is paired with itself, which has one order
            let weights = [if number % width == 0 { 1.0 } else { 2.0 }, SQRT_2];
            let mut values = block.map(|mut counts| counts.finish());
            for (values, weight) in values.iter_mut().zip(weights) {
                values.iter_mut().for_each(|(_, value)| *value *= weight);
            }
            let [equal, unequal] = values;
            let mut values = merged(equal, unequal);
            if self.normalised {
                normalise(&mut values);
            }
            counts.add_values(values);
        }
    }
}

/// Returns hashes of N_r^v, for r from 0 to `radius` and every node v: equal for isomorphic rooted
/// neighbourhoods.
///
/// This is the graph invariant of the paper. The code of a node is made of its distance from the root and the
/// (distance, label) of all nodes of the neighbourhood as seen from it. The code of an edge is made of the codes of its
/// ends and its label. The result is the hash of all codes, sorted. Distances are taken within the neighbourhood, which
/// is a graph of its own. Codes of nodes take part too, because a single node has no edge. As in the paper,
/// neighbourhoods that differ and have the same invariant are taken for equal.
fn neighborhood_hashes(graph: &Graph, radius: usize, edge_labels: bool) -> Vec<Vec<u64>> {
    let mut hashes = vec![vec![0; graph.len()]; radius + 1];
    let mut from_root = Distances::new(graph);
    let mut hasher = Hasher {
        graph,
        edge_labels,
        within: Distances::new(graph),
        in_whole: vec![None; graph.len() * (radius + 1)],
        radius,
        codes: vec![0; graph.len()],
        nodes: Vec::new(),
        words: Vec::new(),
    };
    for root in 0..graph.len() {
        from_root.search(graph, root, radius, |_| true);
        let mut last = None;
        for (radius, hashes) in hashes.iter_mut().enumerate() {
            let inside = |&node: &usize| from_root.distance_to(node).is_some_and(|d| d <= radius);
            let members = from_root.reached().partition_point(inside);
            hashes[root] = match last {
                // no node is farther away, so the neighbourhood is the one before
                Some((before, hash)) if before == members => hash,
                _ => hasher.hash(&from_root, members),
            };
            last = Some((members, hashes[root]));
        }
    }
    hashes
}

/// Hashes one neighbourhood after the other; its memory is used again.
struct Hasher<'g> {
    graph: &'g Graph,
    edge_labels: bool,
    /// Distances inside of a neighbourhood.
    within: Distances,
    /// Codes of nodes in neighbourhoods that are all of a connected part, where of the root only their distance from it counts.
    /// Each node has one for each distance up to `radius`.
    in_whole: Vec<Option<u64>>,
    /// The largest distance from a root.
    radius: usize,
    /// Codes of the nodes of the neighbourhood.
    codes: Vec<u64>,
    /// The reached nodes as a list.
    nodes: Vec<u64>,
    words: Vec<u64>,
}

impl Hasher<'_> {
    /// Returns the hash of the subgraph induced by the first `members` nodes of a search from its root.
    fn hash(&mut self, from_root: &Distances, members: usize) -> u64 {
        let Self { graph, edge_labels, within, in_whole, radius: largest, codes, nodes, words } =
            self;
        let labels = graph.labels();
        let members = &from_root.reached()[..members];
        let radius = members.last().and_then(|&node| from_root.distance_to(node)).unwrap_or(0);
        let inside = |node: usize| from_root.distance_to(node).is_some_and(|d| d <= radius);
        let ends_inside = |&node: &usize| graph.arcs(node).iter().all(|arc| inside(arc.node));
        let is_whole = members.iter().all(ends_inside);
        nodes.clear();
        for &node in members {
            let distance = from_root.distance_to(node).unwrap_or(0);
            let known = &mut in_whole[node * (*largest + 1) + distance];
            codes[node] = match *known {
                Some(code) if is_whole => code,
                Some(_) | None => {
                    within.search(graph, node, usize::MAX, inside);
                    words.clear();
                    words.extend(within.reached().iter().map(|&other| {
                        mix(mix(PAIR, within.distance_to(other).unwrap_or(0) as u64), labels[other])
                    }));
                    sorted(words, mix(NODE, distance as u64))
                }
            };
            if is_whole {
                *known = Some(codes[node]);
            }
            nodes.push(codes[node]);
        }
        words.clear();
        for &node in members {
            for arc in graph.arcs(node).iter().filter(|arc| arc.node > node && inside(arc.node)) {
                let a = codes[node];
                let b = codes[arc.node];
                let ends = mix(mix(EDGE, a.min(b)), a.max(b));
                words.push(mix(ends, edge_word(arc.label, *edge_labels)));
            }
        }
        let size = nodes.len() as u64;
        sorted(words, sorted(nodes, size))
    }
}
