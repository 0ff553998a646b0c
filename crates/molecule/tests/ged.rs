//! The edit distance against NetworkX, against all mappings of small graphs, and against what makes
//! a distance.

mod data;

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::time::Duration;

use dsokr_core::random::{below, generator};
use dsokr_molecule::ged::{EditDistance, Limit, MAX_SEARCHED, edit_distance, edit_distances};
use dsokr_molecule::graph::{Graph, label};
use proptest::prelude::*;
use serde_json::Value;

use data::data;

fn states(states: u64) -> Limit {
    Limit { states: Some(states), time: None }
}

fn time(time: Duration) -> Limit {
    Limit { states: None, time: Some(time) }
}

#[test]
fn golden_pairs_have_networkx_s_distances() {
    let test = "golden_pairs_have_networkx_s_distances";
    let Some(graphs) = data(test, "golden/rdkit_graphs.jsonl") else {
        return;
    };
    let Some(pairs) = data(test, "golden/ged_networkx.json") else {
        return;
    };
    let graphs: Vec<Graph> = BufReader::new(File::open(graphs).unwrap())
        .lines()
        .take(1500)
        .map(|line| {
            let row: Value = serde_json::from_str(&line.unwrap()).unwrap();
            let atoms: Vec<String> = serde_json::from_value(row["atoms"].clone()).unwrap();
            let bonds: Vec<_> = serde_json::from_value(row["bonds"].clone()).unwrap();
            Graph::new(atoms.iter().map(|atom| label(atom)).collect(), &bonds).unwrap()
        })
        .collect();
    let golden: Vec<Value> = serde_json::from_reader(File::open(pairs).unwrap()).unwrap();
    assert_eq!(golden.len(), 120);
    let plain: Vec<Graph> = graphs.iter().cloned().map(Graph::without_edge_labels).collect();
    for (graphs, key) in [(&graphs, "ged_node_edge_labels"), (&plain, "ged_node_labels")] {
        let side = |pair: &Value, key: &str| &graphs[pair[key].as_u64().unwrap() as usize];
        let pairs: Vec<_> = golden.iter().map(|pair| (side(pair, "a"), side(pair, "b"))).collect();
        for (result, pair) in edit_distances(&pairs, &Limit::NONE).unwrap().iter().zip(&golden) {
            let actual = result.exact().map(|distance| distance as f64);
            assert_eq!(actual, pair[key].as_f64(), "{key} of {pair}");
        }
    }
}

/// Returns a graph with `nodes` nodes: labels below `labels`, each edge there with probability `percent`.
fn random_graph(seed: u64, nodes: usize, labels: u64, bonds: u64, percent: u64) -> Graph {
    let mut random = generator(seed, "test graph", nodes as u64);
    let names = (0..nodes).map(|_| below(&mut random, labels)).collect();
    let mut edges = Vec::new();
    for a in 0..nodes {
        for b in 0..a {
            if below(&mut random, 100) < percent {
                edges.push((a, b, below(&mut random, bonds)));
            }
        }
    }
    Graph::new(names, &edges).unwrap()
}

/// Returns the same graph, its nodes in another order.
fn shuffled(graph: &Graph, seed: u64) -> Graph {
    let mut random = generator(seed, "test order", 0);
    let mut place: Vec<usize> = (0..graph.len()).collect();
    for i in (1..place.len()).rev() {
        place.swap(i, below(&mut random, i as u64 + 1) as usize);
    }
    let mut labels = vec![0; graph.len()];
    place.iter().zip(graph.labels()).for_each(|(&to, &label)| labels[to] = label);
    let edges: Vec<_> = graph.edges().map(|(a, b, label)| (place[a], place[b], label)).collect();
    Graph::new(labels, &edges).unwrap()
}

/// Returns the cost of a mapping from the definition: every pair of nodes is looked at.
fn cost(a: &Graph, b: &Graph, mapping: &[Option<usize>]) -> usize {
    let edges = |graph: &Graph| -> HashMap<_, _> {
        graph.edges().flat_map(|(i, j, label)| [((i, j), label), ((j, i), label)]).collect()
    };
    let ours = edges(a);
    let theirs = edges(b);
    let mut cost = 0;
    for (i, to) in mapping.iter().enumerate() {
        cost += usize::from(to.is_none_or(|to| a.labels()[i] != b.labels()[to]));
        for (j, other) in mapping.iter().enumerate().take(i) {
            let image = to.zip(*other).and_then(|pair| theirs.get(&pair));
            cost += usize::from(ours.get(&(i, j)) != image);
        }
    }
    let images: HashSet<usize> = mapping.iter().copied().flatten().collect();
    let hit = |node: usize| images.contains(&node);
    let both = |e: &(usize, usize, u64)| hit(e.0) && hit(e.1);
    cost += (0..b.len()).filter(|&node| !hit(node)).count();
    // an inserted edge between two images has been counted with its pair
    cost + b.edges().filter(|e| !both(e)).count()
}

/// Returns the least cost over all mappings, those that delete nodes included.
fn brute_force(a: &Graph, b: &Graph) -> usize {
    fn extend(a: &Graph, b: &Graph, mapping: &mut Vec<Option<usize>>, best: &mut usize) {
        if mapping.len() == a.len() {
            *best = (*best).min(cost(a, b, mapping));
            return;
        }
        let free: Vec<_> = (0..b.len()).filter(|&node| !mapping.contains(&Some(node))).collect();
        for to in free.into_iter().map(Some).chain([None]) {
            mapping.push(to);
            extend(a, b, mapping, best);
            mapping.pop();
        }
    }
    let mut best = usize::MAX;
    extend(a, b, &mut Vec::new(), &mut best);
    best
}

fn check(result: &EditDistance, a: &Graph, b: &Graph) {
    assert_eq!(cost(a, b, &result.mapping), result.upper);
    assert!(result.lower <= result.upper, "{result:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn small_graphs_have_the_least_cost_of_all_mappings(
        (seed, other) in (any::<u64>(), any::<u64>()),
        (n, m) in (0usize..=5, 0usize..=5),
        (labels, bonds, percent) in (1u64..4, 1u64..4, 0u64..=100),
        most in 0u64..6,
    ) {
        let a = random_graph(seed, n, labels, bonds, percent);
        let b = random_graph(other, m, labels, bonds, 100 - percent / 2);
        let expected = brute_force(&a, &b);
        let result = edit_distance(&a, &b, &Limit::NONE);
        prop_assert_eq!(result.exact(), Some(expected));
        check(&result, &a, &b);
        prop_assert_eq!(edit_distance(&b, &a, &Limit::NONE).exact(), Some(expected));
        let bounds = edit_distance(&a, &b, &states(most));
        check(&bounds, &a, &b);
        prop_assert!(bounds.lower <= expected && expected <= bounds.upper, "{:?}", bounds);
        prop_assert!(bounds.states <= most.max(1));
    }

    #[test]
    fn it_is_a_distance_between_classes_of_equal_graphs(
        seed in any::<u64>(),
        sizes in (0usize..=8, 0usize..=8, 0usize..=8),
        (labels, bonds, percent) in (1u64..4, 1u64..4, 0u64..=60),
    ) {
        let graph = |at: u64, nodes| {
            random_graph(seed.wrapping_add(at), nodes, labels, bonds, percent)
        };
        let a = graph(0, sizes.0);
        let b = graph(1, sizes.1);
        let c = graph(2, sizes.2);
        let distance = |a: &Graph, b: &Graph| {
            edit_distance(a, b, &Limit::NONE).exact().expect("no limit")
        };
        let ab = distance(&a, &b);
        prop_assert_eq!(ab, distance(&b, &a));
        let bounds = edit_distance(&a, &b, &states(7));
        check(&bounds, &a, &b);
        prop_assert!(bounds.lower <= ab && ab <= bounds.upper, "{:?}", bounds);
        prop_assert_eq!(ab, distance(&shuffled(&a, seed), &shuffled(&b, !seed)));
        prop_assert_eq!(0, distance(&a, &shuffled(&a, seed)));
        prop_assert!(distance(&a, &c) <= ab + distance(&b, &c));
        let plain = distance(&a.without_edge_labels(), &b.without_edge_labels());
        prop_assert!(plain <= ab);
    }
}

#[test]
fn empty_graphs_are_inserted_and_deleted_whole() {
    let empty = Graph::new(Vec::new(), &[]).unwrap();
    let parts = Graph::new(vec![1, 1, 2, 3], &[(0, 1, 1), (2, 3, 2)]).unwrap();
    for (a, b, expected) in [(&empty, &empty, 0), (&empty, &parts, 6), (&parts, &empty, 6)] {
        let result = edit_distance(a, b, &Limit::NONE);
        assert_eq!(result.exact(), Some(expected));
        assert_eq!(result.mapping, vec![None; a.len()]);
    }
    // joined with another edge: one edge inserted; its end relabelled: one more
    let joined = [(0, 1, 1), (2, 3, 2), (1, 2, 1)];
    let whole = Graph::new(vec![1, 1, 2, 2], &joined).unwrap();
    assert_eq!(edit_distance(&parts, &whole, &Limit::NONE).exact(), Some(2));
}

/// Returns sparse graphs of 30 to 60 nodes, far too many mappings to look at all.
fn large_pairs() -> Vec<(Graph, Graph)> {
    let graph = |seed, nodes| random_graph(seed, nodes, 4, 3, 250 / nodes as u64);
    (0..6).map(|i| (graph(i, 30 + 6 * i as usize), graph(100 + i, 60 - 5 * i as usize))).collect()
}

#[test]
fn large_graphs_under_a_limit_have_valid_bounds() {
    let pairs = large_pairs();
    let pairs: Vec<_> = pairs.iter().map(|(a, b)| (a, b)).collect();
    let few = states(10);
    let many = states(3000);
    let few = edit_distances(&pairs, &few).unwrap();
    let many = edit_distances(&pairs, &many).unwrap();
    for ((&(a, b), few), many) in pairs.iter().zip(&few).zip(&many) {
        check(few, a, b);
        check(many, a, b);
        assert!(few.states <= 10 && many.states <= 3000);
        // a longer search under the same thresholds only narrows what is known
        assert!(few.lower <= many.lower && many.upper <= few.upper, "{few:?} {many:?}");
        assert!(few.exact().is_none(), "this pair says nothing about limits");
        // both bounds of either search hold for the other
        assert!(few.lower <= many.upper && many.lower <= few.upper);
        assert_eq!(edit_distance(a, &shuffled(a, 5), &Limit::NONE).exact(), Some(0));
    }
}

#[test]
fn known_edits_bound_the_distance_of_large_graphs() {
    for seed in 0..6 {
        let a = random_graph(seed, 40, 5, 3, 6);
        let mut labels = a.labels().to_vec();
        let mut edges: Vec<_> = a.edges().collect();
        labels[7] = 90;
        labels[30] = 91;
        edges.remove(3);
        edges[5].2 = 92;
        let b = shuffled(&Graph::new(labels, &edges).unwrap(), seed);
        // labels that no other node or edge has need one edit each, the missing edge another
        let result = edit_distance(&a, &b, &states(100_000));
        assert_eq!(result.exact(), Some(4));
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let pairs = large_pairs();
    let pairs: Vec<_> = pairs.iter().map(|(a, b)| (a, b)).collect();
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| edit_distances(&pairs, &states(200)).unwrap())
    };
    let one = on(1);
    assert_eq!(one, on(3));
    assert_eq!(one[2], edit_distance(pairs[2].0, pairs[2].1, &states(200)));
}

#[test]
fn a_time_limit_ends_the_search() {
    let (a, b) = &large_pairs()[5];
    let result = edit_distance(a, b, &time(Duration::from_millis(200)));
    check(&result, a, b);
    assert!(result.exact().is_none() && result.states > 1);
    let none = edit_distance(a, b, &time(Duration::ZERO));
    check(&none, a, b);
    // whatever a clock says, both results hold
    assert!(none.lower <= result.upper && result.lower <= none.upper);
    // what comes first counts
    let both = Limit { states: Some(5), time: Some(Duration::MAX) };
    assert_eq!(edit_distance(a, b, &both).states, 5);
}

#[test]
fn graphs_too_large_to_be_searched_have_valid_bounds() {
    let nodes = MAX_SEARCHED + 1;
    let path: Vec<_> = (1..nodes).map(|node| (node - 1, node, 1)).collect();
    let labels: Vec<u64> = (0..nodes as u64).map(|node| node % 7).collect();
    let a = Graph::new(labels.clone(), &path).unwrap();
    let mut renamed = labels;
    renamed[500] = 8;
    renamed[501] = 9;
    let b = Graph::new(renamed, &path[10..]).unwrap();
    let result = edit_distance(&a, &b, &Limit::NONE);
    check(&result, &a, &b);
    assert!(result.lower <= 12 && result.upper >= 12, "{} {}", result.lower, result.upper);
    assert_eq!(result.lower, 12, "labels and edges alone tell these two apart");
    // few nodes and very many edges
    let [a, b] = [1, 2].map(|seed| random_graph(seed, 350, 3, 2, 80));
    let result = edit_distance(&a, &b, &Limit::NONE);
    check(&result, &a, &b);
    assert_eq!(result.states, 0);
    // as large as is searched, and interrupted within the first state
    let all = MAX_SEARCHED;
    let a = random_graph(1, all, 3, 2, 1);
    let b = random_graph(2, all, 3, 2, 1);
    let result = edit_distance(&a, &b, &time(Duration::ZERO));
    check(&result, &a, &b);
    assert!(result.lower > 0);
}

#[test]
fn more_edge_labels_than_are_told_apart_in_bounds() {
    // every edge of a complete graph has a label of its own: 1,035 of them
    let nodes = 46;
    let pairs = (0..nodes).flat_map(|a| (0..a).map(move |b| (a, b)));
    let edges: Vec<_> = pairs.zip(0..).map(|((a, b), label)| (a, b, label)).collect();
    let a = Graph::new(vec![0; nodes], &edges).unwrap();
    let mut edited = edges.clone();
    edited[11].2 = 5000;
    edited[700].2 = 0;
    edited.remove(300);
    let b = shuffled(&Graph::new(vec![0; nodes], &edited).unwrap(), 3);
    for (a, b) in [(&a, &b), (&b, &a)] {
        let result = edit_distance(a, b, &Limit::NONE);
        assert_eq!(result.exact(), Some(3));
        assert_eq!(cost(a, b, &result.mapping), 3);
    }
}
