//! Kernels from their definitions, slowly and with names in place of hashes.

use std::collections::BTreeMap;

use dsokr_molecule::graph::Graph;
use proptest::prelude::*;

use crate::support::{graphs, kernel, value};

type Counted = BTreeMap<String, f64>;

fn add(counts: &mut Counted, name: String, value: f64) {
    *counts.entry(name).or_default() += value;
}

fn inner(a: &Counted, b: &Counted) -> f64 {
    a.iter().filter_map(|(name, value)| Some(value * b.get(name)?)).sum()
}

/// Returns lengths of shortest paths by Floyd and Warshall's algorithm; `None` where there is no path.
fn lengths(graph: &Graph) -> Vec<Vec<Option<usize>>> {
    let nodes = graph.len();
    let mut lengths = vec![vec![None; nodes]; nodes];
    lengths.iter_mut().enumerate().for_each(|(node, distances)| distances[node] = Some(0));
    for (a, b, _) in graph.edges() {
        lengths[a][b] = Some(1);
        lengths[b][a] = Some(1);
    }
    for via in 0..nodes {
        for a in 0..nodes {
            for b in 0..nodes {
                if let Some(x) = lengths[a][via]
                    && let Some(y) = lengths[via][b]
                {
                    lengths[a][b] = Some(lengths[a][b].map_or(x + y, |old| old.min(x + y)));
                }
            }
        }
    }
    lengths
}

fn shortest_paths(graph: &Graph, labels: &[String]) -> Counted {
    let lengths = lengths(graph);
    let mut counts = Counted::new();
    for a in 0..graph.len() {
        for b in (0..graph.len()).filter(|&b| b != a) {
            if let Some(length) = lengths[a][b] {
                add(&mut counts, format!("{} {length} {}", labels[a], labels[b]), 1.0);
            }
        }
    }
    counts
}

/// Returns all shortest paths between all ordered pairs of nodes, each pair named by the labels of its ends
/// and the tree of the edges' labels, written out.
fn labelled_paths(graph: &Graph) -> Counted {
    fn tree(graph: &Graph, lengths: &[Vec<Option<usize>>], from: usize, to: usize) -> String {
        if from == to {
            return String::new();
        }
        let length = lengths[from][to].unwrap();
        let before =
            graph.arcs(to).iter().filter(|arc| lengths[from][arc.node] == Some(length - 1));
        let mut branches: Vec<_> = before
            .map(|arc| format!("({} {})", arc.label, tree(graph, lengths, from, arc.node)))
            .collect();
        branches.sort();
        branches.concat()
    }
    let lengths = lengths(graph);
    let mut counts = Counted::new();
    for a in 0..graph.len() {
        for b in (0..graph.len()).filter(|&b| b != a && lengths[a][b].is_some()) {
            let start = graph.labels()[a];
            let end = graph.labels()[b];
            add(&mut counts, format!("{start} {} {end}", tree(graph, &lengths, a, b)), 1.0);
        }
    }
    counts
}

/// Returns the labels of each refinement, as texts that spell out the trees.
fn refinements(graph: &Graph, iterations: usize, edges: bool) -> Vec<Vec<String>> {
    let mut levels = vec![graph.labels().iter().map(u64::to_string).collect::<Vec<_>>()];
    for _ in 0..iterations {
        let labels = &levels[levels.len() - 1];
        let refined = (0..graph.len()).map(|node| {
            let name = |label: u64| if edges { label.to_string() } else { String::new() };
            let arcs = graph.arcs(node).iter();
            let mut around: Vec<_> =
                arcs.map(|arc| format!("[{}:{}]", name(arc.label), labels[arc.node])).collect();
            around.sort();
            format!("<{}{}>", labels[node], around.concat())
        });
        let refined = refined.collect();
        levels.push(refined);
    }
    levels
}

fn subtrees(graph: &Graph, iterations: usize, edges: bool) -> Counted {
    let mut counts = Counted::new();
    for (level, labels) in refinements(graph, iterations, edges).into_iter().enumerate() {
        labels.into_iter().for_each(|label| add(&mut counts, format!("{level} {label}"), 1.0));
    }
    counts
}

fn refined_paths(graph: &Graph, iterations: usize) -> Counted {
    let mut counts = Counted::new();
    for (level, labels) in refinements(graph, iterations, false).into_iter().enumerate() {
        for (name, value) in shortest_paths(graph, &labels) {
            add(&mut counts, format!("{level} {name}"), value);
        }
    }
    counts
}

/// Returns nodes of the k-core: those with fewer than k neighbours are taken away until none is left.
fn core(graph: &Graph, k: usize) -> Vec<bool> {
    let mut stays = vec![true; graph.len()];
    loop {
        let degree = |node: usize| graph.arcs(node).iter().filter(|arc| stays[arc.node]).count();
        let Some(node) = (0..graph.len()).find(|&node| stays[node] && degree(node) < k) else {
            return stays;
        };
        stays[node] = false;
    }
}

/// Returns the node labels of all cores up to the degeneracy.
fn core_histogram(graph: &Graph) -> Counted {
    let mut counts = Counted::new();
    for k in 0..=graph.len() {
        let stays = core(graph, k);
        for node in (0..graph.len()).filter(|&node| stays[node]) {
            add(&mut counts, format!("{k} {}", graph.labels()[node]), 1.0);
        }
    }
    counts
}

/// Returns the paper's code of the neighbourhood of a node, written out.
fn neighborhood(graph: &Graph, root: usize, radius: usize, edges: bool) -> String {
    let from_root = &lengths(graph)[root];
    let members: Vec<usize> =
        (0..graph.len()).filter(|&node| from_root[node].is_some_and(|d| d <= radius)).collect();
    let place = |node: usize| members.iter().position(|&member| member == node);
    let inside = graph.edges().filter_map(|(a, b, label)| Some((place(a)?, place(b)?, label)));
    let labels = members.iter().map(|&node| graph.labels()[node]).collect();
    let part = Graph::new(labels, &inside.collect::<Vec<_>>()).unwrap();
    let within = lengths(&part);
    let root = place(root).unwrap();
    let code = |node: usize| {
        let mut seen: Vec<_> =
            (0..part.len()).map(|other| (within[node][other], part.labels()[other])).collect();
        seen.sort();
        format!("{:?} {seen:?}", within[root][node])
    };
    let mut nodes: Vec<String> = (0..part.len()).map(code).collect();
    nodes.sort();
    let edge = |(a, b, label): (usize, usize, u64)| {
        let mut ends = [code(a), code(b)];
        ends.sort();
        format!("{ends:?} {}", if edges { label } else { 0 })
    };
    let mut edges: Vec<String> = part.edges().map(edge).collect();
    edges.sort();
    format!("{nodes:?} {edges:?}")
}

/// Returns Σ over (r, d) of the pairs of neighbourhoods, over ordered pairs of nodes as in the definition.
fn neighborhood_pairs(
    graph: &Graph,
    (radius, distance): (usize, usize),
    edges: bool,
    normalised: bool,
) -> Counted {
    let lengths = lengths(graph);
    let mut all = Counted::new();
    for r in 0..=radius {
        let codes: Vec<_> =
            (0..graph.len()).map(|node| neighborhood(graph, node, r, edges)).collect();
        for d in 0..=distance {
            let mut counts = Counted::new();
            for a in 0..graph.len() {
                for b in (0..graph.len()).filter(|&b| lengths[a][b] == Some(d)) {
                    add(&mut counts, format!("{r} {d} {} {}", codes[a], codes[b]), 1.0);
                }
            }
            let norm = if normalised { inner(&counts, &counts).sqrt() } else { 1.0 };
            counts.into_iter().for_each(|(name, value)| add(&mut all, name, value / norm));
        }
    }
    all
}

/// Checks that the kernel agrees with its definition on the pair and on both graphs with themselves.
fn agrees(
    text: &str,
    a: &Graph,
    b: &Graph,
    counted: impl Fn(&Graph) -> Counted,
) -> Result<(), TestCaseError> {
    let kernel = kernel(text);
    for (a, b) in [(a, b), (a, a), (b, b)] {
        let actual = value(&kernel, a, b);
        let expected = inner(&counted(a), &counted(b));
        let close = (actual - expected).abs() <= 1e-12 * expected.abs().max(1.0);
        prop_assert!(close, "{}: {} and not {}", text, actual, expected);
    }
    Ok(())
}

fn names(graph: &Graph) -> Vec<String> {
    graph.labels().iter().map(u64::to_string).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn histograms_count_labels(a in graphs(9), b in graphs(9)) {
        let histogram = |graph: &Graph| {
            let mut counts = Counted::new();
            names(graph).into_iter().for_each(|name| add(&mut counts, name, 1.0));
            counts
        };
        agrees(r#"{"name": "vertex-histogram"}"#, &a, &b, histogram)?;
        agrees(r#"{"name": "vertex-histogram", "edge_labels": true}"#, &a, &b, |graph| {
            let mut counts = histogram(graph);
            for (a, b, label) in graph.edges() {
                let a = graph.labels()[a];
                let b = graph.labels()[b];
                add(&mut counts, format!("{} {} {label}", a.min(b), a.max(b)), 1.0);
            }
            counts
        })?;
    }

    #[test]
    fn paths_are_those_of_floyd_and_warshall(a in graphs(9), b in graphs(9)) {
        let paths = |graph: &Graph| shortest_paths(graph, &names(graph));
        agrees(r#"{"name": "shortest-path"}"#, &a, &b, paths)?;
        agrees(r#"{"name": "shortest-path", "edge_labels": true}"#, &a, &b, labelled_paths)?;
    }

    #[test]
    fn refined_labels_are_trees(a in graphs(8), b in graphs(8)) {
        let wl = r#"{"name": "weisfeiler-lehman", "iterations": 3}"#;
        agrees(wl, &a, &b, |graph| subtrees(graph, 3, false))?;
        let wl = r#"{"name": "weisfeiler-lehman", "iterations": 3, "edge_labels": true}"#;
        agrees(wl, &a, &b, |graph| subtrees(graph, 3, true))?;
        let paths =
            r#"{"name": "weisfeiler-lehman", "iterations": 2, "base": {"name": "shortest-path"}}"#;
        agrees(paths, &a, &b, |graph| refined_paths(graph, 2))?;
    }

    #[test]
    fn cores_are_what_is_left_when_small_degrees_are_taken_away(a in graphs(10), b in graphs(10)) {
        let core = r#"{"name": "core", "base": {"name": "vertex-histogram"}}"#;
        agrees(core, &a, &b, core_histogram)?;
    }

    #[test]
    fn pairs_of_neighborhoods_are_those_of_the_definition(a in graphs(7), b in graphs(7)) {
        let raw = r#"{"name": "nspd", "radius": 2, "distance": 3, "normalised": false}"#;
        agrees(raw, &a, &b, |graph| neighborhood_pairs(graph, (2, 3), true, false))?;
        let unlabelled = r#"{"name": "nspd", "radius": 2, "distance": 2, "normalised": false,
                             "edge_labels": false}"#;
        agrees(unlabelled, &a, &b, |graph| neighborhood_pairs(graph, (2, 2), false, false))?;
        let normalised = r#"{"name": "nspd", "radius": 1, "distance": 2}"#;
        agrees(normalised, &a, &b, |graph| neighborhood_pairs(graph, (1, 2), true, true))?;
    }
}

#[test]
fn an_own_path_counts_two_and_one_between_equal_labels_four() {
    let edge = |a, b| Graph::new(vec![a, b], &[(0, 1, 1)]).unwrap();
    let paths = kernel(r#"{"name": "shortest-path"}"#);
    assert_eq!(value(&paths, &edge(6, 8), &edge(6, 8)), 2.0);
    assert_eq!(value(&paths, &edge(6, 6), &edge(6, 6)), 4.0);
}

#[test]
fn radius_zero_and_distance_zero_pair_every_node_with_itself() {
    let graph = Graph::new(vec![6, 6, 8], &[(0, 1, 1), (1, 2, 1)]).unwrap();
    let pairs = r#"{"name": "nspd", "radius": 0, "distance": 0, "normalised": false}"#;
    assert_eq!(value(&kernel(pairs), &graph, &graph), 5.0);
}

/// Two edges from any node of a hexagon lies the same as from the middle of a chain of five; that the
/// ends are closer to each other around the back is not seen from inside of the neighbourhood.
#[test]
fn neighborhoods_are_graphs_of_their_own() {
    let chain = Graph::new(vec![6; 5], &[(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 4, 1)]).unwrap();
    let ring: Vec<_> = (0..6).map(|i| (i, (i + 1) % 6, 1)).collect();
    let ring = Graph::new(vec![6; 6], &ring).unwrap();
    let pairs = r#"{"name": "nspd", "radius": 2, "distance": 0, "normalised": false}"#;
    // radius 0: all nodes; radius 1: the three inner ones of the chain; radius 2: its middle
    assert_eq!(value(&kernel(pairs), &ring, &chain), 6.0 * (5.0 + 3.0 + 1.0));
}
