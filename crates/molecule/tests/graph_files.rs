//! Files of graphs: what is read, and what is refused with which words.

mod data;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use dsokr_molecule::graph::{
    Graph, MAX_EDGES, MAX_LINE, MAX_NODES, NamedGraph, label, parse_json_lines, read_json_lines,
    read_tudataset,
};
use dsokr_molecule::{Error, Molecule};

use data::data;

fn json(text: &str) -> Result<Vec<Graph>, Error> {
    let lines = parse_json_lines(text.as_bytes(), Path::new("g.jsonl"))?;
    Ok(lines.into_iter().map(|line| line.graph).collect())
}

#[test]
fn json_lines_of_both_kinds_of_keys_and_labels_are_read() {
    let text = r#"{"id": "water", "nodes": ["O"], "edges": []}

{"atoms": ["C", "O", 3], "bonds": [[1, 0, 2], [1, 2, "x"], [2, 0]], "charges": [0, 0, 0]}
{"id": 7, "nodes": [-1, 18446744073709551615], "edges": [], "id2": {"deep": [[]]}}
{"nodes": [], "edges": [], "directed": false}"#;
    let lines = parse_json_lines(text.as_bytes(), Path::new("g.jsonl")).unwrap();
    let ids: Vec<_> = lines.iter().map(|line| line.id.as_str()).collect();
    assert_eq!(ids, ["water", "3", "7", "5"]);
    assert!(lines.iter().all(|line| line.class.is_none()));
    let expected = [
        Graph::new(vec![label("O")], &[]),
        Graph::new(vec![label("C"), label("O"), 3], &[(0, 1, 2), (1, 2, label("x")), (0, 2, 0)]),
        Graph::new(vec![u64::MAX, u64::MAX], &[]),
        Graph::new(vec![], &[]),
    ];
    for (line, expected) in lines.iter().zip(expected) {
        assert_eq!(line.graph, expected.unwrap());
        let again = parse_json_lines(line.json_line().as_bytes(), Path::new("again")).unwrap();
        assert_eq!((&again[0].graph, &again[0].texts), (&line.graph, &line.texts));
    }
    let written = r#"{"nodes":["C","O",3],"edges":[[0,1,2],[0,2,0],[1,2,"x"]]}"#;
    assert_eq!(lines[1].json_line(), written);
    assert_eq!((lines[1].written(label("O")), lines[1].written(3)), ("O".into(), "3".into()));
}

#[test]
fn negative_labels_are_written_as_they_are() {
    let text = r#"{"nodes":[-1,0,"a"],"edges":[[0,1,-2],[1,2,-9223372036854775808]]}"#;
    let graph = &parse_json_lines(text.as_bytes(), Path::new("g.jsonl")).unwrap()[0];
    assert_eq!(graph.graph.labels()[..2], [u64::MAX, 0]);
    assert_eq!(graph.json_line(), text);
    assert_eq!((graph.written(u64::MAX), graph.written(label("a"))), ("-1".into(), "a".into()));
    let large = r#"{"nodes":[18446744073709551615],"edges":[]}"#;
    let graph = &parse_json_lines(large.as_bytes(), Path::new("g.jsonl")).unwrap()[0];
    assert_eq!(graph.json_line(), large);
}

/// The golden file is read by its own keys and gives what the SMILES beside it gives: in QM9's part,
/// where the Kekulé structures agree.
#[test]
fn golden_graphs_are_read() {
    let Some(path) = data("golden_graphs_are_read", "golden/rdkit_graphs.jsonl") else { return };
    let lines = read_json_lines(&path).unwrap();
    assert_eq!(lines.len(), 3000);
    let text = std::fs::read_to_string(&path).unwrap();
    for (line, text) in lines.iter().zip(text.lines()).take(1000) {
        let row: serde_json::Value = serde_json::from_str(text).unwrap();
        let molecule = Molecule::parse(row["smiles"].as_str().unwrap()).unwrap();
        assert_eq!(line.graph, Graph::from(&molecule), "{text}");
    }
}

#[test]
fn wrong_json_lines_are_refused_with_their_place() {
    for (text, said) in [
        ("", "g.jsonl: the file is empty; at least one graph is needed"),
        ("\n \n", "g.jsonl: the file is empty"),
        ("\n{\"nodes\": [1], \"edges\": [[0", "g.jsonl:2: position 27: EOF while parsing"),
        ("{\"nodes\": [1]}", "g.jsonl:1: position 14: missing field `edges`"),
        ("{\"edges\": []}", "missing field `nodes`"),
        ("{\"nodes\": [1], \"atoms\": [1], \"edges\": []}", "duplicate field `nodes`"),
        ("{\"nodes\": [1.5], \"edges\": []}", "expected a label, a text or a whole number"),
        ("{\"nodes\": [18446744073709551616], \"edges\": []}", "expected a label"),
        ("{\"nodes\": [null], \"edges\": []}", "expected a label"),
        ("{\"nodes\": 3, \"edges\": []}", "expected a sequence"),
        ("{\"nodes\": [1, 1], \"edges\": [[0]]}", "expected an edge, [node, node] or"),
        ("{\"nodes\": [1, 1], \"edges\": [[0, 1, 2, 3]]}", "expected an edge, [node, node] or"),
        ("{\"nodes\": [1, 1], \"edges\": [[0, -1]]}", "invalid value: integer `-1`"),
        ("{\"nodes\": [1], \"edges\": [], \"id\": []}", "expected an id, a text or a whole number"),
        ("[1]", "g.jsonl:1:"),
        (
            "{\"directed\": true, \"nodes\": [1], \"edges\": []}",
            "\"directed\": true; edges have no direction here",
        ),
        ("{\"directed\": 1, \"nodes\": [1], \"edges\": []}", "\"directed\": 1; edges have no"),
        (
            "{\"directed\": \"true\", \"nodes\": [1], \"edges\": []}",
            "\"directed\": \"true\"; edges",
        ),
        ("{\"nodes\": [1], \"edges\": []} x", "trailing characters"),
        (
            "{\"nodes\": [1], \"edges\": [[0, 1]]}",
            "g.jsonl:1: edge 0 leads to node 1; there are 1 nodes, numbered from 0",
        ),
        (
            "{\"nodes\": [1, 1], \"edges\": [[0, 1], [1, 1]]}",
            "g.jsonl:1: edge 1 joins node 1 to itself; loops are not allowed",
        ),
        (
            "{\"nodes\": [1, 1], \"edges\": [[0, 1, 1], [1, 0, 1]]}",
            "g.jsonl:1: edge 1 joins nodes 0 and 1 a second time",
        ),
    ] {
        let error = json(text).unwrap_err().to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
    let bytes = b"{\"nodes\": [\"\xff\"], \"edges\": []}".as_slice();
    let error = parse_json_lines(bytes, Path::new("g.jsonl")).unwrap_err();
    assert!(error.to_string().starts_with("g.jsonl:1:"), "{error}");
    let deep = format!("{{\"nodes\": [1], \"edges\": [], \"x\": {}", "[".repeat(100_000));
    assert!(json(&deep).unwrap_err().to_string().starts_with("g.jsonl:1:"));
}

/// GraphML, GML, lists of edges, and NetworkX's node-link and adjacency data: the Python line of the message writes each that
/// NetworkX has read, as NetworkX 3.6 gives for a path of two nodes.
#[test]
fn files_of_other_tools_are_refused_with_the_format() {
    for text in [
        "<?xml version='1.0' encoding='utf-8'?>",
        "graph [",
        "0 1 {}",
        "{",
        r#"{"directed": false, "nodes": [{"id": 0}, {"id": 1}], "links": [{"source": 0, "target": 1}]}"#,
        r#"{"directed": false, "nodes": [{"id": 0}, {"id": 1}], "adjacency": [[{"id": 1}], [{"id": 0}]]}"#,
    ] {
        let error = json(text).unwrap_err().to_string();
        let said = r#"a line is a graph, as {"nodes": ["C", "O"], "edges": [[0, 1, 2]]}"#;
        assert!(
            error.contains(said) && error.contains("json.dumps({\"nodes\": "),
            "{text}: {error}"
        );
    }
    let written = r#"{"nodes": ["C", 0], "edges": [[0, 1, 0]]}"#;
    assert_eq!(json(written).unwrap()[0].len(), 2);
    let mistake = json(r#"{"nodes": [1.5], "edges": []}"#).unwrap_err().to_string();
    assert!(!mistake.contains("a line is a graph"), "{mistake}");
}

#[test]
fn json_graphs_have_a_largest_size() {
    let graph =
        |nodes: usize| format!("{{\"nodes\": [{}0], \"edges\": []}}", "0,".repeat(nodes - 1));
    assert_eq!(json(&graph(MAX_NODES)).unwrap()[0].len(), MAX_NODES);
    let error = json(&graph(MAX_NODES + 1)).unwrap_err();
    assert_eq!(error.to_string(), "g.jsonl:1: a graph with 100001 nodes; allowed: at most 100000");
    let edges = "[0,1],".repeat(MAX_EDGES);
    let error = json(&format!("{{\"nodes\": [0,0], \"edges\": [{edges}[0,1]]}}")).unwrap_err();
    let said = "g.jsonl:1: a graph with 1000001 edges; allowed: at most 1000000";
    assert_eq!(error.to_string(), said);
    let endless = std::io::BufReader::new(std::io::repeat(b' '));
    let error = parse_json_lines(endless, Path::new("g.jsonl")).unwrap_err();
    let said = format!("g.jsonl:1: the line has more than {MAX_LINE} bytes");
    assert!(error.to_string().starts_with(&said), "{error}");
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = read_json_lines(&folder.path().join("none.jsonl")).unwrap_err();
    assert!(error.to_string().ends_with("none.jsonl: no such file"), "{error}");
    let error = read_json_lines(folder.path()).unwrap_err();
    assert!(error.to_string().contains(": cannot be read: "), "{error}");
    let error = read_tudataset(folder.path(), "DS").unwrap_err();
    assert!(error.to_string().ends_with("DS_A.txt: no such file"), "{error}");
}

const WHOLE: TuFiles = TuFiles {
    edges: b"1, 2\n2, 1\n 2,3\n3, 2\n5, 4\r\n4, 5\n",
    graph_indicator: b"1\n1\n1\n2\n2\n",
    node_labels: Some(b"0\n1\n-1\n0\n7\n\n"),
    edge_labels: Some(b"3\n3\n4\n4\n5\n5"),
    graph_labels: Some(b"1\n-1\n"),
};

/// The contents of the files of a data set.
#[derive(Clone, Copy, Default)]
struct TuFiles<'t> {
    edges: &'t [u8],
    graph_indicator: &'t [u8],
    node_labels: Option<&'t [u8]>,
    edge_labels: Option<&'t [u8]>,
    graph_labels: Option<&'t [u8]>,
}

/// Returns the graphs, or an error as of files in the folder `in`.
fn tu(files: &TuFiles) -> Result<Vec<NamedGraph>, String> {
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in [
        ("A", Some(files.edges)),
        ("graph_indicator", Some(files.graph_indicator)),
        ("node_labels", files.node_labels),
        ("edge_labels", files.edge_labels),
        ("graph_labels", files.graph_labels),
    ] {
        if let Some(text) = text {
            std::fs::write(folder.path().join(format!("DS_{file}.txt")), text).unwrap();
        }
    }
    let path = folder.path().display().to_string();
    read_tudataset(folder.path(), "DS").map_err(|error| error.to_string().replace(&path, "in"))
}

#[test]
fn tu_data_sets_are_read_from_their_folder() {
    let graphs = tu(&WHOLE).unwrap();
    let first = Graph::new(vec![0, 1, u64::MAX], &[(0, 1, 3), (1, 2, 4)]).unwrap();
    let second = Graph::new(vec![0, 7], &[(0, 1, 5)]).unwrap();
    let named = |id: &str, graph, class, negative| NamedGraph {
        id: id.into(),
        graph,
        class: Some(class),
        texts: BTreeMap::new(),
        negative,
    };
    let negative = BTreeSet::from([u64::MAX]);
    let expected = [named("1", first, 1, negative), named("2", second, -1, BTreeSet::new())];
    assert_eq!(graphs, expected);
    assert_eq!(graphs[0].json_line(), r#"{"nodes":[0,1,-1],"edges":[[0,1,3],[1,2,4]]}"#);
}

#[test]
fn tu_files_that_may_be_left_out_give_zeros() {
    let plain = TuFiles { node_labels: None, edge_labels: None, graph_labels: None, ..WHOLE };
    let graphs = tu(&plain).unwrap();
    assert!(graphs.iter().all(|graph| graph.class.is_none()));
    assert_eq!(graphs[0].graph, Graph::new(vec![0; 3], &[(0, 1, 0), (1, 2, 0)]).unwrap());
    let no_edges = TuFiles { edges: b"", ..plain };
    assert_eq!(tu(&no_edges).unwrap()[1].graph, Graph::new(vec![0; 2], &[]).unwrap());
}

#[test]
fn tu_edges_may_be_given_in_one_direction() {
    let one = TuFiles { edges: b"2, 1\n2, 3\n4, 5", edge_labels: Some(b"3\n4\n5"), ..WHOLE };
    assert_eq!(tu(&one).unwrap(), tu(&WHOLE).unwrap());
}

/// Loops are left out and repeated edges are one, as PyTorch Geometric reads them.
#[test]
fn tu_loops_are_left_out_and_repeated_edges_are_one() {
    let repeated = TuFiles {
        edges: b"1, 2\n2, 1\n2, 2\n2, 3\n3, 2\n1, 2\n4, 5\n5, 4\n5, 5",
        edge_labels: Some(b"3\n3\n8\n4\n4\n3\n5\n5\n8"),
        ..WHOLE
    };
    assert_eq!(tu(&repeated).unwrap(), tu(&WHOLE).unwrap());
}

#[test]
fn tu_nodes_of_a_graph_need_not_follow_each_other() {
    let mixed = TuFiles {
        edges: b"1, 3\n4, 2\n",
        graph_indicator: b"2\n1\n2\n1\n",
        node_labels: Some(b"10\n20\n30\n40\n"),
        edge_labels: None,
        graph_labels: None,
    };
    let graphs = tu(&mixed).unwrap();
    assert_eq!(graphs[0].graph, Graph::new(vec![20, 40], &[(0, 1, 0)]).unwrap());
    assert_eq!(graphs[1].graph, Graph::new(vec![10, 30], &[(0, 1, 0)]).unwrap());
}

#[test]
fn tu_graphs_without_nodes_need_graph_labels() {
    let labelled = TuFiles { graph_labels: Some(b"1\n1\n1\n"), ..WHOLE };
    assert!(tu(&labelled).unwrap()[2].graph.is_empty());
    let gap = TuFiles { graph_indicator: b"1\n1\n1\n3\n3\n", graph_labels: None, ..WHOLE };
    let error = tu(&gap).unwrap_err();
    let said = "txt: no node belongs to graph 2, but one to graph 3; only a file of graph labels";
    assert!(error.to_string().contains(said), "{error}");
}

#[test]
fn wrong_tu_files_are_refused_with_their_place() {
    let files = |change: fn(&mut TuFiles<'static>)| {
        let mut files = WHOLE;
        change(&mut files);
        tu(&files).unwrap_err().to_string()
    };
    let two_nodes = "two nodes from 1 to 5 with a comma between them";
    for (text, said) in [
        (files(|f| f.graph_indicator = b""), "in/DS_graph_indicator.txt: the file is empty".into()),
        (
            files(|f| f.graph_indicator = b"1\n1\n1\n2\n"),
            "in/DS_node_labels.txt: 5 lines, but in/DS_graph_indicator.txt has 4".into(),
        ),
        (
            files(|f| f.graph_indicator = b"1\n1\n1\n2\n3\n"),
            "in/DS_graph_indicator.txt:5: \"3\"; allowed: 1 to 2, the lines of".into(),
        ),
        (files(|f| f.graph_indicator = b"1\n1\n0\n2\n2\n"), "txt:3: \"0\"; allowed: 1 to 2".into()),
        (
            files(|f| {
                f.graph_indicator = b"1\n1\n1\n2\n99999999999\n";
                f.graph_labels = None;
            }),
            "\"99999999999\"; allowed: 1 to 5, the number of nodes".to_owned(),
        ),
        (
            files(|f| f.node_labels = Some(b"0\n1\n\n0\n7\n")),
            "in/DS_node_labels.txt:3: \"\"; allowed: a whole number".into(),
        ),
        (
            files(|f| f.node_labels = Some(b"0\n1\n2.5\n0\n7\n")),
            "in/DS_node_labels.txt:3: \"2.5\"; allowed: a whole number".into(),
        ),
        (
            files(|f| f.node_labels = Some(b"0\n1, 2\n1\n0\n7\n")),
            "in/DS_node_labels.txt:2: \"1, 2\"; allowed: one whole number a line".into(),
        ),
        (
            files(|f| f.node_labels = Some(b"0\n\xff\n")),
            "in/DS_node_labels.txt:2: not UTF-8".into(),
        ),
        (
            files(|f| f.edge_labels = Some(b"3\n3\n4\n4\n5\n")),
            "in/DS_edge_labels.txt: 5 lines, but in/DS_A.txt has 6".into(),
        ),
        (files(|f| f.graph_labels = Some(b"x\n1\n")), "in/DS_graph_labels.txt:1: \"x\"".into()),
        (
            files(|f| f.edges = b"1, 2\n2\n3,2\n1,3\n4,5\n5,4"),
            format!("in/DS_A.txt:2: \"2\"; allowed: {two_nodes}"),
        ),
        (
            files(|f| f.edges = b"1, 2\n2,1,3\n3,2\n1,3\n4,5\n5,4"),
            format!("\"2,1,3\"; allowed: {two_nodes}"),
        ),
        (
            files(|f| f.edges = b"1, 2\n2,1\n3,2\n1,3\n4,5\n6,4"),
            format!("in/DS_A.txt:6: \"6,4\"; allowed: {two_nodes}"),
        ),
        (
            files(|f| f.edges = b"1, 2\n2,1\n3,0\n1,3\n4,5\n5,4"),
            format!("\"3,0\"; allowed: {two_nodes}"),
        ),
        (
            files(|f| f.edges = b"1, 2\n2,1\n3,4\n1,3\n4,5\n5,4"),
            "in/DS_A.txt:3: an edge from node 3 of graph 1 to node 4 of graph 2".into(),
        ),
        (
            files(|f| {
                f.edges = b"1, 2\n2,3\n3,2\n4,5\n5,4\n1,2";
                f.edge_labels = Some(b"3\n4\n4\n5\n5\n6\n");
            }),
            "in/DS_edge_labels.txt:6: label 6, but line 1 has label 3 for the same edge".into(),
        ),
        (
            files(|f| f.edge_labels = Some(b"3\n9\n4\n4\n5\n5\n")),
            "in/DS_edge_labels.txt:2: label 9, but line 1 has label 3 for the same edge".into(),
        ),
        (
            files(|f| f.edge_labels = Some(b"3\n3\n4\n4\n5\n6\n")),
            "in/DS_edge_labels.txt:6: label 6, but line 5 has label 5 for the same edge".into(),
        ),
    ] {
        assert!(text.contains(said.as_str()), "{text}: expected {said}");
    }
}

#[test]
fn tu_graphs_have_a_largest_size() {
    let lines = |line: &str, count: usize| line.repeat(count).into_bytes();
    let plain = TuFiles::default();
    let most = lines("1\n", MAX_NODES);
    let graphs = tu(&TuFiles { graph_indicator: &most, ..plain }).unwrap();
    assert_eq!(graphs[0].graph.len(), MAX_NODES);
    let more = lines("1\n", MAX_NODES + 1);
    let error = tu(&TuFiles { graph_indicator: &more, ..plain }).unwrap_err();
    let said = "txt:100001: a graph with 100001 nodes; allowed: at most 100000";
    assert!(error.to_string().ends_with(said), "{error}");
    // 1,001,000 edges among 1,416 nodes
    let edges: String =
        (2..=1416).flat_map(|b| (1..b).map(move |a| format!("{a},{b}\n"))).collect();
    let nodes = lines("1\n", 1416);
    let error = tu(&TuFiles { graph_indicator: &nodes, edges: edges.as_bytes(), ..plain });
    let error = error.unwrap_err();
    let said = "a graph with 1000001 edges; allowed: at most 1000000";
    assert!(error.to_string().ends_with(said), "{error}");
}

#[test]
fn graphs_say_what_is_wrong_with_their_edges() {
    let said = |labels, edges: &[_]| Graph::new(labels, edges).unwrap_err().to_string();
    let double = [(0, 1, 1), (1, 0, 2)];
    assert_eq!(said(vec![1, 1], &double), "edge 1 joins nodes 0 and 1 a second time");
    let looped = [(0, 0, 1)];
    assert_eq!(said(vec![1], &looped), "edge 0 joins node 0 to itself; loops are not allowed");
}

/// Returns a projective plane: points, lines, and an edge where a point is on a line.
fn projective_plane(order: usize) -> (usize, Vec<(usize, usize, u64)>) {
    let all = (0..order.pow(3)).map(|n| [n / order.pow(2), n / order % order, n % order]);
    let first_is_one = |v: &[usize; 3]| v.iter().find(|&&x| x > 0) == Some(&1);
    let points: Vec<[usize; 3]> = all.filter(first_is_one).collect();
    let count = points.len();
    let mut edges = Vec::new();
    for (at, point) in points.iter().enumerate() {
        for (line, other) in points.iter().enumerate() {
            let product: usize = point.iter().zip(other).map(|(a, b)| a * b).sum();
            if product.is_multiple_of(order) {
                edges.push((at, count + line, 1));
            }
        }
    }
    (2 * count, edges)
}

/// Returns the same edges between nodes that are numbered in another order.
fn renumbered(nodes: usize, edges: &[(usize, usize, u64)], step: usize) -> Graph {
    let moved = |node: usize| node * step % nodes;
    let edges: Vec<_> = edges.iter().map(|&(a, b, label)| (moved(a), moved(b), label)).collect();
    Graph::new(vec![1; nodes], &edges).unwrap()
}

#[test]
fn regular_graphs_have_one_canonical_form_or_an_error() {
    // the cells of a Latin square, joined in a row, in a column, and where they have the same symbol
    let cells: Vec<[usize; 2]> = (0..64).map(|cell| [cell / 8, cell % 8]).collect();
    let latin = |product: fn(usize, usize) -> usize| {
        let joined = |a: [usize; 2], b: [usize; 2]| {
            a[0] == b[0] || a[1] == b[1] || product(a[0], a[1]) == product(b[0], b[1])
        };
        let mut edges = Vec::new();
        for (b, &second) in cells.iter().enumerate() {
            let before = cells[..b].iter().enumerate();
            edges.extend(before.filter(|&(_, &a)| joined(a, second)).map(|(a, _)| (a, b, 1)));
        }
        edges
    };
    let cyclic = latin(|a, b| (a + b) % 8);
    let binary = latin(|a, b| a ^ b);
    let form = |edges: &[(usize, usize, u64)], step| renumbered(64, edges, step).canonical();
    assert_eq!(form(&cyclic, 1).unwrap(), form(&cyclic, 27).unwrap());
    assert_eq!(form(&binary, 1).unwrap(), form(&binary, 27).unwrap());
    // strongly regular graphs of the same parameters, which refinement of colours does not tell apart
    assert_eq!(renumbered(64, &cyclic, 1).invariant(), renumbered(64, &binary, 1).invariant());
    assert_ne!(form(&cyclic, 1).unwrap(), form(&binary, 1).unwrap());

    let (nodes, edges) = projective_plane(3);
    let [one, other] = [1, 5].map(|step| renumbered(nodes, &edges, step).canonical().unwrap());
    assert_eq!(one, other);
    let (nodes, edges) = projective_plane(7);
    let error = renumbered(nodes, &edges, 1).canonical().unwrap_err().to_string();
    assert!(error.starts_with("the canonical order of the 114 nodes was not found"), "{error}");
}
