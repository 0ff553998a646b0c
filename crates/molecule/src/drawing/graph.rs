//! Drawings of graphs as SVG, and the points of their nodes.

use std::fmt::Write;

use super::{MIDDLE, Point, blank, circle, line, opened, svg_text, text};
use crate::graph::{Distances, Graph, NamedGraph};

/// The most nodes of a graph that is drawn.
const MOST: usize = 100;

/// The most characters of a label that are shown.
const SHOWN: usize = 8;

/// Size of the letters of nodes, and about half the width of one.
const FONT: f64 = 11.0;
const HALF_LETTER: f64 = 3.2;

/// The smallest radius of a node, and the space between the nodes of an edge.
const RADIUS: f64 = 9.0;
const GAP: f64 = 24.0;

impl NamedGraph {
    /// Returns a drawing as a self-contained SVG document: nodes are circles around their labels, edges lines with
    /// their labels. Labels 0 are left out, and long ones cut. A graph of more than 100 nodes is not
    /// drawn: the document says how many nodes and edges it has.
    ///
    /// ```
    /// use std::path::Path;
    /// use dsokr_molecule::graph::parse_json_lines;
    ///
    /// let text = r#"{"nodes": ["red", "blue"], "edges": [[0, 1, "strong"]]}"#;
    /// let svg = parse_json_lines(text.as_bytes(), Path::new("graphs"))?[0].svg();
    /// assert!(svg.contains(">red</text>") && svg.contains(">strong</text>"));
    /// # Ok::<(), dsokr_molecule::Error>(())
    /// ```
    pub fn svg(&self) -> String {
        let graph = &self.graph;
        if graph.is_empty() || graph.len() > MOST {
            return svg_text(&format!("{} nodes, {} edges", graph.len(), graph.edge_count()));
        }
        let labels: Vec<String> = graph.labels().iter().map(|&label| self.shown(label)).collect();
        let letters = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
        let radius = RADIUS.max(letters as f64 * HALF_LETTER + 3.0);
        let points = scaled(&layout(graph), radius);
        let mut svg = opened(&points, radius + 4.0, &[]);
        for (from, to, label) in graph.edges() {
            let ends @ [[x1, y1], [x2, y2]] = [points[from], points[to]];
            line(&mut svg, ends, 1.5, "");
            let label = self.shown(label);
            if !label.is_empty() {
                let middle = [(x1 + x2) / 2.0, (y1 + y2) / 2.0];
                let half = [(label.chars().count() as f64 + 0.5) * HALF_LETTER, FONT / 2.0];
                blank(&mut svg, middle, half);
                write_label(&mut svg, middle, &label);
            }
        }
        for (&[x, y], label) in points.iter().zip(&labels) {
            // writing to a string cannot fail
            let _ = writeln!(
                svg,
                "  <circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{radius:.2}\" fill=\"#eaf1f8\" \
                 stroke=\"black\" stroke-width=\"1.2\"/>"
            );
            if !label.is_empty() {
                write_label(&mut svg, [x, y], label);
            }
        }
        svg + "</svg>\n"
    }

    /// Returns a label as drawings show it; empty for 0, which stands for labels that files leave out.
    fn shown(&self, label: u64) -> String {
        let written = if label == 0 { String::new() } else { self.written(label) };
        if written.chars().count() > SHOWN {
            written.chars().take(SHOWN - 1).chain(['…']).collect()
        } else {
            written
        }
    }
}

/// Writes a label with its middle at a point.
fn write_label(svg: &mut String, [x, y]: Point, label: &str) {
    text(svg, [x, y + MIDDLE * FONT], FONT, "", label);
}

/// Returns points with the length of an edge as unit, so far apart that circles of a radius do not meet.
fn scaled(points: &[Point], radius: f64) -> Vec<Point> {
    let apart = points
        .iter()
        .enumerate()
        .flat_map(|(at, [x, y])| points[..at].iter().map(move |[x2, y2]| (x - x2).hypot(y - y2)));
    let nearest = apart.fold(1.0, f64::min);
    let edge = 2.0 * radius + GAP;
    // dense graphs grow, up to a bound
    let unit = edge.max((2.0 * radius + 6.0) / nearest.max(1.0 / 3.0));
    points.iter().map(|[x, y]| [x * unit, y * unit]).collect()
}

/// The number of rounds of the descent: first with equal weights, which unfold the graph, then with the weights of the
/// stress.
const UNFOLDING: usize = 200;
const ROUNDS: usize = 100;

/// Returns points whose distances follow those in the graph, with the length of an edge as unit.
///
/// Minimises the stress `Σ (|x_i − x_j| − d_ij)² / d_ij²` (Kamada and Kawai 1989) by majorization, one
/// node at a time (Gansner, Koren and North 2004). It starts from a circle on which the nodes lie in the
/// order of a depth-first search, with rounds in which all pairs have one weight. Parts that no path joins
/// lie one edge further apart than the longest path. The longer side lies across.
fn layout(graph: &Graph) -> Vec<Point> {
    let nodes = graph.len();
    let apart = distances(graph);
    let mut points = on_circle(graph);
    for round in 0..UNFOLDING + ROUNDS {
        for node in 0..nodes {
            let mut sum = [0.0; 2];
            let mut weights = 0.0;
            for other in (0..nodes).filter(|&other| other != node) {
                let wanted = apart[node * nodes + other];
                let weight = if round < UNFOLDING { 1.0 } else { 1.0 / (wanted * wanted) };
                let from = [0, 1].map(|axis| points[node][axis] - points[other][axis]);
                let factor = wanted / from[0].hypot(from[1]).max(1e-9);
                for axis in [0, 1] {
                    sum[axis] += weight * (points[other][axis] + factor * from[axis]);
                }
                weights += weight;
            }
            if weights > 0.0 {
                points[node] = sum.map(|sum| sum / weights);
            }
        }
    }
    turned(points)
}

/// Returns numbers of edges on shortest paths, `[nodes × nodes]`.
fn distances(graph: &Graph) -> Vec<f64> {
    let nodes = graph.len();
    let mut search = Distances::new(graph);
    let mut paths: Vec<Option<usize>> = Vec::with_capacity(nodes * nodes);
    for source in 0..nodes {
        search.search(graph, source, usize::MAX, |_| true);
        paths.extend((0..nodes).map(|node| search.distance_to(node)));
    }
    let longest = paths.iter().flatten().max().copied().unwrap_or(0);
    paths.into_iter().map(|path| path.unwrap_or(longest + 1) as f64).collect()
}

/// Returns the nodes on a circle, each next to those that a depth-first search finds before and after it.
fn on_circle(graph: &Graph) -> Vec<Point> {
    let mut places = vec![None; graph.len()];
    let mut next = 0;
    for start in 0..graph.len() {
        let mut open = vec![start];
        while let Some(node) = open.pop() {
            if places[node].is_none() {
                places[node] = Some(next);
                next += 1;
                open.extend(graph.arcs(node).iter().rev().map(|arc| arc.node));
            }
        }
    }
    let point = circle(graph.len(), 1.0);
    places.into_iter().map(|place| point(place.unwrap_or_default())).collect()
}

/// Returns the points turned so that they spread most from left to right.
fn turned(points: Vec<Point>) -> Vec<Point> {
    let count = points.len().max(1) as f64;
    let mean = [0, 1].map(|axis| points.iter().map(|point| point[axis]).sum::<f64>() / count);
    let product = |a: usize, b: usize| -> f64 {
        points.iter().map(|point| (point[a] - mean[a]) * (point[b] - mean[b])).sum()
    };
    let angle = 0.5 * (2.0 * product(0, 1)).atan2(product(0, 0) - product(1, 1));
    let (sin, cos) = angle.sin_cos();
    points.into_iter().map(|[x, y]| [cos * x + sin * y, cos * y - sin * x]).collect()
}
