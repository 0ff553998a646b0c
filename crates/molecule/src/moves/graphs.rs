//! Moves of graphs of any kind.

use std::collections::BTreeMap;

use super::{Moves, usual};
use crate::graph::Graph;

/// The labels that moves may put into a graph, from graphs that are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphPalette {
    /// The labels of nodes that at least one known graph in 1,000 has, ascending.
    pub labels: Vec<u64>,
    /// The labels of edges that at least one known graph in 1,000 has, ascending.
    pub edge_labels: Vec<u64>,
    /// The number of nodes of the largest known graph, which no neighbour exceeds.
    pub nodes: usize,
}

type Edges = Vec<(usize, usize, u64)>;

impl Moves for Graph {
    type Palette = GraphPalette;

    fn palette(graphs: &[Self]) -> GraphPalette {
        let edge_labels = |graph: &Self| graph.edges().map(|(_, _, label)| label).collect();
        GraphPalette {
            labels: usual(graphs, |graph| graph.labels().iter().copied().collect()).collect(),
            edge_labels: usual(graphs, edge_labels).collect(),
            nodes: graphs.iter().map(Self::len).max().unwrap_or(0),
        }
    }

    /// Returns labels and edges in canonical order. A graph whose order is not found may have several keys.
    fn key(&self) -> String {
        let (graph, _) = self.ordered();
        let labels: Vec<String> = graph.labels().iter().map(u64::to_string).collect();
        let edges: Vec<String> =
            graph.edges().map(|(a, b, label)| format!("{a}-{b}:{label}")).collect();
        format!("{};{}", labels.join(","), edges.join(","))
    }

    /// Returns a node or an edge with a different label; a node more, joined to one node or none; such a node less; an
    /// edge more or less.
    fn neighbours(&self, palette: &GraphPalette) -> Vec<(String, Self)> {
        let labels = self.labels();
        let edges: Edges = self.edges().collect();
        let mut neighbours: Vec<(Vec<u64>, Edges)> = Vec::new();
        if self.len() < palette.nodes {
            let with = palette.labels.iter().map(|&label| [labels, &[label]].concat());
            neighbours.extend(with.map(|labels| (labels, edges.clone())));
        }
        for node in 0..self.len() {
            for &label in palette.labels.iter().filter(|&&label| label != labels[node]) {
                let mut other = labels.to_vec();
                other[node] = label;
                neighbours.push((other, edges.clone()));
            }
            if self.len() < palette.nodes {
                for &label in &palette.labels {
                    let with = [labels, &[label]].concat();
                    neighbours.extend(palette.edge_labels.iter().map(|&edge| {
                        (with.clone(), [&edges[..], &[(node, self.len(), edge)]].concat())
                    }));
                }
            }
            if self.arcs(node).len() <= 1 && self.len() > 1 {
                let moved = |other: usize| other - usize::from(other > node);
                let others = (0..self.len()).filter(|&other| other != node);
                let kept = edges.iter().filter(|&&(a, b, _)| a != node && b != node);
                neighbours.push((
                    others.map(|other| labels[other]).collect(),
                    kept.map(|&(a, b, label)| (moved(a), moved(b), label)).collect(),
                ));
            }
            for other in (0..node).filter(|&o| self.arcs(node).iter().all(|arc| arc.node != o)) {
                neighbours.extend(palette.edge_labels.iter().map(|&label| {
                    (labels.to_vec(), [&edges[..], &[(other, node, label)]].concat())
                }));
            }
        }
        for at in 0..edges.len() {
            let mut without = edges.clone();
            let (a, b, present) = without.remove(at);
            for &label in palette.edge_labels.iter().filter(|&&label| label != present) {
                neighbours.push((labels.to_vec(), [&without[..], &[(a, b, label)]].concat()));
            }
            neighbours.push((labels.to_vec(), without));
        }
        let graphs =
            neighbours.into_iter().filter_map(|(labels, edges)| Self::new(labels, &edges).ok());
        let mut all: BTreeMap<String, Self> = graphs.map(|graph| (graph.key(), graph)).collect();
        all.remove(&self.key());
        all.into_iter().collect()
    }
}
