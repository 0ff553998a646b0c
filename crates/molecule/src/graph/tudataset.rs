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
    let path = |file| file_of(folder, name, file);
    let needed = |file| read_bytes(&path(file)).map_err(|e| Error::io(&path(file), e));
    let optional = |file| match needed(file) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    };
    let (node_labels, edge_labels) = (optional("node_labels")?, optional("edge_labels")?);
    let graph_labels = optional("graph_labels")?;
    let files = TuFiles {
        edges: &needed("A")?,
        graph_indicator: &needed("graph_indicator")?,
        node_labels: node_labels.as_deref(),
        edge_labels: edge_labels.as_deref(),
        graph_labels: graph_labels.as_deref(),
    };
    files.parse(folder, name)
}

/// The contents of a data set's files.
#[derive(Debug, Clone, Copy, Default)]
pub struct TuFiles<'t> {
    /// `DS_A.txt`.
    pub edges: &'t [u8],
    /// `DS_graph_indicator.txt`.
    pub graph_indicator: &'t [u8],
    /// `DS_node_labels.txt`.
    pub node_labels: Option<&'t [u8]>,
    /// `DS_edge_labels.txt`.
    pub edge_labels: Option<&'t [u8]>,
    /// `DS_graph_labels.txt`.
    pub graph_labels: Option<&'t [u8]>,
}

impl TuFiles<'_> {
    /// As [`read_tudataset`], of contents; `folder` and `name` are what errors name.
    ///
    /// ```
    /// use std::path::Path;
    /// use dsokr_molecule::graph::{Graph, TuFiles};
    ///
    /// let files = TuFiles {
    ///     edges: b"1, 2\n2, 1\n",
    ///     graph_indicator: b"1\n1\n2\n",
    ///     node_labels: Some(b"6\n8\n6\n"),
    ///     ..TuFiles::default()
    /// };
    /// let graphs = files.parse(Path::new("."), "DS")?;
    /// assert_eq!(graphs[0].graph, Graph::new(vec![6, 8], &[(0, 1, 0)])?);
    /// assert_eq!(graphs[1].id, "2");
    /// # Ok::<(), dsokr_molecule::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`read_tudataset`].
    pub fn parse(&self, folder: &Path, name: &str) -> Result<Vec<NamedGraph>, Error> {
        let path = |file| file_of(folder, name, file);
        let classes = match self.graph_labels {
            Some(text) => Some(labels(text, &path("graph_labels"))?),
            None => None,
        };
        let nodes = Nodes::parse(self, &path, classes.as_ref().map(Vec::len))?;
        let edges = edges(self, &path, &nodes)?;
        let mut graphs = Vec::with_capacity(nodes.labels_of.len());
        let mut rest = edges.as_slice();
        for (index, labels) in nodes.labels_of.into_iter().enumerate() {
            let (own, others) = rest.split_at(rest.partition_point(|edge| edge.graph == index));
            rest = others;
            let line = own.get(MAX_EDGES).map_or(0, |edge| edge.line);
            check_size(&path("A"), line, "edges", own.len(), MAX_EDGES)?;
            let ends =
                |edge: &Edge| (nodes.place[edge.low], nodes.place[edge.high], edge.label as u64);
            let list: Vec<_> = own.iter().map(ends).collect();
            // the checks of `edges` leave nothing to refuse
            let graph =
                Graph::new(labels, &list).map_err(|e| Error::file(&path("A"), e.to_string()))?;
            let class = classes.as_ref().and_then(|classes| classes.get(index).copied());
            let (id, texts) = ((index + 1).to_string(), BTreeMap::new());
            graphs.push(NamedGraph { id, graph, class, texts });
        }
        Ok(graphs)
    }
}

fn file_of(folder: &Path, name: &str, file: &str) -> PathBuf {
    folder.join(format!("{name}_{file}.txt"))
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
    fn parse(
        files: &TuFiles,
        path: &impl Fn(&'static str) -> PathBuf,
        graphs: Option<usize>,
    ) -> Result<Self, Error> {
        let indicator = path("graph_indicator");
        let lines = lines(files.graph_indicator, &indicator)?;
        if lines.is_empty() {
            return Err(empty(&indicator));
        }
        let labels = match files.node_labels {
            Some(text) => labels(text, &path("node_labels"))?,
            None => vec![0; lines.len()],
        };
        same_length(&path("node_labels"), labels.len(), &indicator, lines.len())?;
        // every graph has a node, unless the graph labels say how many graphs there are
        let most = graphs.unwrap_or(lines.len());
        let allowed = || match graphs {
            Some(graphs) => {
                format!("1 to {graphs}, the lines of {}", path("graph_labels").display())
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
fn edges(
    files: &TuFiles,
    path: &impl Fn(&'static str) -> PathBuf,
    nodes: &Nodes,
) -> Result<Vec<Edge>, Error> {
    let file = path("A");
    let lines = lines(files.edges, &file)?;
    let labels = match files.edge_labels {
        Some(text) => labels(text, &path("edge_labels"))?,
        None => vec![0; lines.len()],
    };
    same_length(&path("edge_labels"), labels.len(), &file, lines.len())?;
    let count = nodes.graph.len();
    let mut edges = Vec::with_capacity(lines.len());
    for (at, (text, label)) in lines.into_iter().zip(labels).enumerate() {
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
            return Err(Error::line(&path("edge_labels"), second.line, message));
        }
    }
    edges.dedup_by_key(|edge| (edge.low, edge.high));
    Ok(edges)
}

/// The lines of a file, without the blank ones at its end.
fn lines<'t>(text: &'t [u8], path: &Path) -> Result<Vec<&'t str>, Error> {
    let text = std::str::from_utf8(text).map_err(|error| {
        let before = &text[..error.valid_up_to()];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        Error::line(path, line, "not UTF-8 text")
    })?;
    Ok(text.trim_end().lines().map(str::trim).collect())
}

/// One whole number a line.
fn labels(text: &[u8], path: &Path) -> Result<Vec<i64>, Error> {
    let lines = lines(text, path)?;
    let label = |(at, text): (usize, &&str)| {
        number(text).ok_or_else(|| bad_number(path, at + 1, text, "a whole number"))
    };
    lines.iter().enumerate().map(label).collect()
}

fn number<N: std::str::FromStr>(text: &str) -> Option<N> {
    text.trim().parse().ok()
}

fn bad_number(path: &Path, line: usize, found: &str, allowed: &str) -> Error {
    let found: String = found.chars().take(SHOWN).collect();
    Error::line(path, line, format!("{found:?}; allowed: {allowed}"))
}

fn same_length(path: &Path, found: usize, other: &Path, expected: usize) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    let message = format!(
        "{found} lines, but {} has {expected}; both files must have the same number",
        other.display(),
    );
    Err(Error::file(path, message))
}
