//! Graphs in the text layout of the TUDataset collection (Morris et al. 2020).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Graph, MAX_EDGES, MAX_NODES, NamedGraph, check_size, empty};
use crate::Error;
use dsokr_basis::store::read_bytes;

/// Characters of an offending text that an error shows.
const SHOWN: usize = 60;

/// Reads the graphs of the data set `name` from the files `folder/name_*.txt`.
///
/// A data set DS is a folder of text files. Nodes are numbered from 1 over all graphs, graphs from 1.
///
/// | file | line i | |
/// |---|---|---|
/// | `DS_A.txt` | `a, b`: edge i joins the nodes a and b | required |
/// | `DS_graph_indicator.txt` | graph of node i | required |
/// | `DS_node_labels.txt` | label of node i | else all labels are 0 |
/// | `DS_edge_labels.txt` | label of edge i | else all labels are 0 |
/// | `DS_graph_labels.txt` | class of graph i | else no graph has a class |
///
/// Labels and classes are whole numbers from −2⁶³ to 2⁶³ − 1; a label stands for itself, a negative
/// one modulo 2⁶⁴. Files of attributes (real numbers) are ignored.
///
/// An edge may be given in one direction or in both, which is the same edge once and has to have the
/// same label. Loops, an edge given twice in the same direction, and edges between two graphs are
/// refused. Nodes of a graph need not follow each other; they keep their order. Graphs without nodes
/// need graph labels, which count the graphs. A graph has at most [`MAX_NODES`] nodes and
/// [`MAX_EDGES`] edges. Blank lines may only end a file, whose last line needs no line break.
///
/// # Errors
/// [`Error::Io`] from reading a file; [`Error::File`], with the line, for what it must not hold.
pub fn read_tudataset(folder: &Path, name: &str) -> Result<Vec<NamedGraph>, Error> {
    let files = Files { folder, name };
    let text = files.text("A")?;
    let classes = files.labels("graph_labels")?;
    let nodes = Nodes::read(&files, classes.as_ref().map(Vec::len))?;
    let edges = edges(&files, &lines(&text), &nodes)?;
    let (path, mut graphs) = (files.path("A"), Vec::with_capacity(nodes.labels_of.len()));
    let mut rest = edges.as_slice();
    for (index, labels) in nodes.labels_of.into_iter().enumerate() {
        let (own, others) = rest.split_at(rest.partition_point(|edge| edge.graph == index));
        rest = others;
        let line = own.get(MAX_EDGES).map_or(0, |edge| edge.line);
        check_size(&path, line, "edges", own.len(), MAX_EDGES)?;
        let ends = |edge: &Edge| (nodes.place[edge.low], nodes.place[edge.high], edge.label as u64);
        let list: Vec<_> = own.iter().map(ends).collect();
        // the checks of `edges` leave nothing to refuse
        let graph = Graph::new(labels, &list).map_err(|e| Error::file(&path, e.to_string()))?;
        let class = classes.as_ref().and_then(|classes| classes.get(index).copied());
        let (id, texts) = ((index + 1).to_string(), BTreeMap::new());
        graphs.push(NamedGraph { id, graph, class, texts });
    }
    Ok(graphs)
}

/// The files of a data set.
struct Files<'a> {
    folder: &'a Path,
    name: &'a str,
}

impl Files<'_> {
    fn path(&self, file: &str) -> PathBuf {
        self.folder.join(format!("{}_{file}.txt", self.name))
    }

    fn text(&self, file: &str) -> Result<String, Error> {
        let path = self.path(file);
        let text = read_bytes(&path).map_err(|error| Error::io(&path, error))?;
        String::from_utf8(text).map_err(|error| {
            let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
            Error::line(&path, line, "not UTF-8 text")
        })
    }

    /// One whole number a line; none without the file.
    fn labels(&self, file: &str) -> Result<Option<Vec<i64>>, Error> {
        let text = match self.text(file) {
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                return Ok(None);
            }
            text => text?,
        };
        let label = |(at, text)| {
            number(text).ok_or_else(|| bad_number(&self.path(file), at + 1, text, "a whole number"))
        };
        lines(&text).into_iter().enumerate().map(label).collect::<Result<_, _>>().map(Some)
    }

    /// The labels of the lines of another file, 0 without a file of labels.
    fn labels_of(&self, file: &str, labels: &str, lines: usize) -> Result<Vec<i64>, Error> {
        let found = self.labels(labels)?.unwrap_or_else(|| vec![0; lines]);
        if found.len() == lines {
            return Ok(found);
        }
        let (found, other) = (found.len(), self.path(file));
        let message = format!(
            "{found} lines, but {} has {lines}; both files must have the same number",
            other.display(),
        );
        Err(Error::file(&self.path(labels), message))
    }
}

/// The nodes of all graphs; nodes and graphs are numbered from 0 here.
struct Nodes {
    /// Graph of each node.
    graph: Vec<usize>,
    /// Place of each node in its graph.
    place: Vec<usize>,
    /// Labels of each graph's nodes.
    labels_of: Vec<Vec<u64>>,
}

impl Nodes {
    fn read(files: &Files, graphs: Option<usize>) -> Result<Self, Error> {
        let indicator = files.path("graph_indicator");
        let text = files.text("graph_indicator")?;
        let lines = lines(&text);
        if lines.is_empty() {
            return Err(empty(&indicator));
        }
        let labels = files.labels_of("graph_indicator", "node_labels", lines.len())?;
        // every graph has a node, unless the graph labels say how many graphs there are
        let most = graphs.unwrap_or(lines.len());
        let allowed = || match graphs {
            Some(graphs) => {
                format!("1 to {graphs}, the lines of {}", files.path("graph_labels").display())
            }
            None => format!("1 to {most}, the number of nodes"),
        };
        let mut nodes = Self { graph: Vec::new(), place: Vec::new(), labels_of: Vec::new() };
        nodes.labels_of.resize(graphs.unwrap_or(0), Vec::new());
        for (at, (text, label)) in lines.iter().zip(labels).enumerate() {
            let number = number::<usize>(text).filter(|number| (1..=most).contains(number));
            let Some(number) = number else {
                return Err(bad_number(&indicator, at + 1, text, &allowed()));
            };
            if nodes.labels_of.len() < number {
                nodes.labels_of.resize(number, Vec::new());
            }
            let own = &mut nodes.labels_of[number - 1];
            check_size(&indicator, at + 1, "nodes", own.len() + 1, MAX_NODES)?;
            nodes.graph.push(number - 1);
            nodes.place.push(own.len());
            own.push(label as u64);
        }
        match nodes.labels_of.iter().position(Vec::is_empty) {
            Some(graph) if graphs.is_none() => {
                let message = format!(
                    "no node belongs to graph {}, but one to graph {}; only a file of graph labels can say that there are graphs without nodes",
                    graph + 1,
                    nodes.labels_of.len(),
                );
                Err(Error::file(&indicator, message))
            }
            _ => Ok(nodes),
        }
    }
}

/// An edge between two nodes, numbered from 0 over all graphs.
struct Edge {
    graph: usize,
    low: usize,
    high: usize,
    /// Whether it was given from the higher node to the lower.
    backwards: bool,
    line: usize,
    label: i64,
}

/// Every edge once, in the order of the graphs.
fn edges(files: &Files, lines: &[&str], nodes: &Nodes) -> Result<Vec<Edge>, Error> {
    let file = files.path("A");
    let labels = files.labels_of("A", "edge_labels", lines.len())?;
    let count = nodes.graph.len();
    let mut edges = Vec::with_capacity(lines.len());
    for (at, (text, label)) in lines.iter().zip(labels).enumerate() {
        let line = at + 1;
        let node = |text| number(text).filter(|node| (1..=count).contains(node));
        let ends = text.split_once(',').and_then(|(a, b)| Some((node(a)?, node(b)?)));
        let Some((a, b)) = ends else {
            let allowed = format!("two nodes from 1 to {count} with a comma between them");
            return Err(bad_number(&file, line, text, &allowed));
        };
        if a == b {
            let message = format!("an edge from node {a} to itself; loops are not allowed");
            return Err(Error::line(&file, line, message));
        }
        let graphs = [nodes.graph[a - 1], nodes.graph[b - 1]];
        if graphs[0] != graphs[1] {
            let [from, to] = graphs.map(|graph| graph + 1);
            let message =
                format!("an edge from node {a} of graph {from} to node {b} of graph {to}");
            return Err(Error::line(&file, line, message));
        }
        let (low, high) = (a.min(b) - 1, a.max(b) - 1);
        edges.push(Edge { graph: graphs[0], low, high, backwards: a > b, line, label });
    }
    edges.sort_unstable_by_key(|e| (e.graph, e.low, e.high, e.backwards, e.line));
    for pair in edges.windows(2) {
        let [first, second] = [&pair[0], &pair[1]];
        if (first.low, first.high) != (second.low, second.high) {
            continue;
        }
        if first.backwards == second.backwards {
            let mut nodes = [second.low + 1, second.high + 1];
            if second.backwards {
                nodes.reverse();
            }
            let ([from, to], first) = (nodes, first.line);
            let message =
                format!("the edge from node {from} to node {to} again, which line {first} has");
            return Err(Error::line(&file, second.line, message));
        }
        if first.label != second.label {
            let [first, second] =
                if first.line < second.line { [first, second] } else { [second, first] };
            let message = format!(
                "label {}, but line {} has label {} for the same edge in the other direction",
                second.label, first.line, first.label,
            );
            return Err(Error::line(&files.path("edge_labels"), second.line, message));
        }
    }
    edges.dedup_by_key(|edge| (edge.low, edge.high));
    Ok(edges)
}

/// The lines of a text, without the blank ones at its end.
fn lines(text: &str) -> Vec<&str> {
    text.trim_end().lines().map(str::trim).collect()
}

fn number<N: std::str::FromStr>(text: &str) -> Option<N> {
    text.trim().parse().ok()
}

fn bad_number(path: &Path, line: usize, found: &str, allowed: &str) -> Error {
    let found: String = found.chars().take(SHOWN).collect();
    Error::line(path, line, format!("{found:?}; allowed: {allowed}"))
}
