//! Moves of graphs of any kind.

use std::collections::BTreeMap;

use super::{Moves, usual};
use crate::graph::Graph;

/// The labels that moves may put into a graph, from graphs that are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphPalette {
    /// Labels of nodes: those of at least one known graph in 1,000, ascending.
    pub labels: Vec<u64>,
    /// Labels of edges, as those of nodes.
    pub edge_labels: Vec<u64>,
    /// The most nodes: those of the largest known graph.
    pub nodes: usize,
}

type Edges = Vec<(usize, usize, u64)>;

impl Moves for Graph {
    type Palette = GraphPalette;

    fn palette(known: &[Self]) -> GraphPalette {
        let edge_labels = |graph: &Self| graph.edges().map(|(_, _, label)| label).collect();
        GraphPalette {
            labels: usual(known, |graph| graph.labels().iter().copied().collect()).collect(),
            edge_labels: usual(known, edge_labels).collect(),
            nodes: known.iter().map(Self::len).max().unwrap_or(0),
        }
    }

    /// Labels and edges in canonical order. A graph whose order is not found may have several keys.
    fn key(&self) -> String {
        let (graph, _) = self.ordered();
        let labels: Vec<String> = graph.labels().iter().map(u64::to_string).collect();
        let edges: Vec<String> =
            graph.edges().map(|(a, b, label)| format!("{a}-{b}:{label}")).collect();
        format!("{};{}", labels.join(","), edges.join(","))
    }

    /// A node or an edge with a different label; a node more, joined to one node or none; such a node less; an edge more or
    /// less.
    fn neighbours(&self, palette: &GraphPalette) -> Vec<(String, Self)> {
        let labels = self.labels();
        let edges: Edges = self.edges().collect();
        let mut found: Vec<(Vec<u64>, Edges)> = Vec::new();
        if self.len() < palette.nodes {
            let with = palette.labels.iter().map(|&label| [labels, &[label]].concat());
            found.extend(with.map(|labels| (labels, edges.clone())));
        }
        for node in 0..self.len() {
            for &label in palette.labels.iter().filter(|&&label| label != labels[node]) {
                let mut other = labels.to_vec();
                other[node] = label;
                found.push((other, edges.clone()));
            }
            if self.len() < palette.nodes {
                for &label in &palette.labels {
                    let with = [labels, &[label]].concat();
                    found.extend(palette.edge_labels.iter().map(|&edge| {
                        (with.clone(), [&edges[..], &[(node, self.len(), edge)]].concat())
                    }));
                }
            }
            if self.arcs(node).len() <= 1 && self.len() > 1 {
                let moved = |other: usize| other - usize::from(other > node);
                let others = (0..self.len()).filter(|&other| other != node);
                let kept = edges.iter().filter(|&&(a, b, _)| a != node && b != node);
                found.push((
                    others.map(|other| labels[other]).collect(),
                    kept.map(|&(a, b, label)| (moved(a), moved(b), label)).collect(),
                ));
            }
            for other in (0..node).filter(|&o| self.arcs(node).iter().all(|arc| arc.node != o)) {
                found.extend(palette.edge_labels.iter().map(|&label| {
                    (labels.to_vec(), [&edges[..], &[(other, node, label)]].concat())
                }));
            }
        }
        for at in 0..edges.len() {
            let mut without = edges.clone();
            let (a, b, own) = without.remove(at);
            for &label in palette.edge_labels.iter().filter(|&&label| label != own) {
                found.push((labels.to_vec(), [&without[..], &[(a, b, label)]].concat()));
            }
            found.push((labels.to_vec(), without));
        }
        let graphs = found.into_iter().filter_map(|(labels, edges)| Self::new(labels, &edges).ok());
        let mut all: BTreeMap<String, Self> = graphs.map(|graph| (graph.key(), graph)).collect();
        all.remove(&self.key());
        all.into_iter().collect()
    }
}
