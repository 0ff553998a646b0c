//! Drawings of graphs as SVG.

use std::fmt::Write;

use super::{MIDDLE, Point, blank, layout::layout, opened, svg_text, text};
use crate::graph::NamedGraph;

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
    /// A drawing as a self-contained SVG document: nodes are circles around their labels, edges lines with
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
        let labels: Vec<String> = graph.labels().iter().map(|&own| self.shown(own)).collect();
        let letters = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
        let radius = RADIUS.max(letters as f64 * HALF_LETTER + 3.0);
        let points = scaled(&layout(graph), radius);
        let mut svg = opened(&points, radius + 4.0);
        for (from, to, label) in graph.edges() {
            let ([x1, y1], [x2, y2]) = (points[from], points[to]);
            // writing to a string cannot fail
            let _ = writeln!(
                svg,
                "  <line x1=\"{x1:.2}\" y1=\"{y1:.2}\" x2=\"{x2:.2}\" y2=\"{y2:.2}\" stroke=\"black\" \
                 stroke-width=\"1.5\"/>"
            );
            let label = self.shown(label);
            if !label.is_empty() {
                let middle = [(x1 + x2) / 2.0, (y1 + y2) / 2.0];
                let half = [(label.chars().count() as f64 + 0.5) * HALF_LETTER, FONT / 2.0];
                blank(&mut svg, middle, half);
                write_label(&mut svg, middle, &label);
            }
        }
        for (&[x, y], label) in points.iter().zip(&labels) {
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

    /// A label as drawings show it; empty for 0, which stands for labels that files leave out.
    fn shown(&self, label: u64) -> String {
        let written = if label == 0 { String::new() } else { self.written(label) };
        match written.chars().count() > SHOWN {
            true => written.chars().take(SHOWN - 1).chain(['…']).collect(),
            false => written,
        }
    }
}

/// Writes a label with its middle at a point.
fn write_label(svg: &mut String, [x, y]: Point, label: &str) {
    text(svg, [x, y + MIDDLE * FONT], FONT, "", label);
}

/// Points with the length of an edge as unit, so far apart that circles of a radius do not meet.
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
