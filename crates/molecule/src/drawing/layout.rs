//! Points in the plane for the nodes of a graph.

use super::Point;
use crate::graph::Graph;
use crate::kernels::distances::Distances;

/// Rounds of the descent with equal weights, which unfold the graph, and with those of the stress.
const UNFOLDING: usize = 200;
const ROUNDS: usize = 100;

/// Points whose distances follow those in the graph, with the length of an edge as unit.
///
/// Minimises the stress `Σ (|x_i − x_j| − d_ij)² / d_ij²` (Kamada and Kawai 1989) by majorization, one
/// node at a time (Gansner, Koren and North 2004). It starts from a circle on which the nodes lie in the
/// order of a depth-first search, with rounds in which all pairs have one weight. Parts that no path joins
/// lie one edge further apart than the longest path. The longer side lies across.
pub(super) fn layout(graph: &Graph) -> Vec<Point> {
    let nodes = graph.len();
    let apart = distances(graph);
    let mut points = circle(graph);
    for round in 0..UNFOLDING + ROUNDS {
        for node in 0..nodes {
            let (mut sum, mut weights) = ([0.0; 2], 0.0);
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

/// Numbers of edges on shortest paths, `[nodes × nodes]`.
fn distances(graph: &Graph) -> Vec<f64> {
    let nodes = graph.len();
    let mut search = Distances::new(graph);
    let mut paths: Vec<Option<usize>> = Vec::with_capacity(nodes * nodes);
    for source in 0..nodes {
        search.search(graph, source, usize::MAX, |_| true);
        paths.extend((0..nodes).map(|node| search.of(node)));
    }
    let longest = paths.iter().flatten().max().copied().unwrap_or(0);
    paths.into_iter().map(|path| path.unwrap_or(longest + 1) as f64).collect()
}

/// The nodes on a circle, each beside those that a depth-first search finds before and after it.
fn circle(graph: &Graph) -> Vec<Point> {
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
    let point = super::circle(graph.len(), 1.0);
    places.into_iter().map(|place| point(place.unwrap_or_default())).collect()
}

/// The points turned so that they spread most from left to right.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn stress(graph: &Graph) -> f64 {
        let (points, apart) = (layout(graph), distances(graph));
        let pairs = (0..graph.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
        let one = |(a, b): (usize, usize)| {
            let wanted = apart[a * graph.len() + b];
            let [x, y] = [0, 1].map(|axis| points[a][axis] - points[b][axis]);
            (x.hypot(y) / wanted - 1.0).powi(2)
        };
        pairs.map(one).sum()
    }

    #[test]
    fn distances_are_those_of_the_graph_where_the_plane_has_room() {
        let path: Vec<_> = (1..8).map(|node| (node - 1, node, 0)).collect();
        let line = Graph::new(vec![0; 8], &path).unwrap();
        assert!(stress(&line) < 0.01, "{}", stress(&line));
        let points = layout(&line);
        assert!((points[0][0] - points[7][0]).abs() > 6.8, "{points:?}");
        let triangle = Graph::new(vec![0; 3], &[(0, 1, 0), (1, 2, 0), (2, 0, 0)]).unwrap();
        assert!(stress(&triangle) < 1e-9);
        let parts = Graph::new(vec![0; 4], &[(0, 1, 0), (2, 3, 0)]).unwrap();
        assert!(layout(&parts).iter().flatten().all(|x| x.is_finite()));
        assert!(stress(&parts) < 0.2, "{}", stress(&parts));
        let one = Graph::new(vec![0], &[]).unwrap();
        assert!(layout(&one).iter().flatten().all(|x| x.is_finite()));
    }
}
