//! Graphs in the text layout of the TUDataset collection (Morris et al. 2020).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dsokr_core::Error;
use dsokr_core::message::list;
use dsokr_core::store::read_bytes;

use super::{Graph, MAX_EDGES, MAX_NODES, NamedGraph, check_size, empty};

/// The files of real numbers, which are not read.
const ATTRIBUTES: [&str; 3] = ["node_attributes", "edge_attributes", "graph_attributes"];

/// The two nodes of an edge, and its label.
type LabelledEdge = (usize, usize, u64);

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
/// one modulo 2⁶⁴. Files of attributes (real numbers, such as `DS_node_attributes.txt`) are not read, which a warning
/// says.
///
/// An edge may be given in one direction or in both, and several times, which is the same edge once and has to have the
/// same label. Loops, edges from a node to itself, are left out, with a warning. Edges between two graphs are refused.
/// Nodes of a graph need not follow each other; they keep their order. Graphs without nodes need graph labels, which
/// count the graphs. A graph has at most [`MAX_NODES`] nodes and [`MAX_EDGES`] edges. Blank lines may only end a file,
/// whose last line needs no line break.
///
/// # Errors
/// [`Error::File`] for a file that cannot be read, and with the line for what it must not hold.
pub fn read_tudataset(folder: &Path, name: &str) -> Result<Vec<NamedGraph>, Error> {
    let path = |file: &str| folder.join(format!("{name}_{file}.txt"));
    let read = |file: &str| Lines::read(path(file));
    let optional = |file: &str| path(file).exists().then(|| read(file)).transpose();
    let attributes = ATTRIBUTES.into_iter().filter(|&file| path(file).exists());
    let attributes: Vec<String> = attributes.map(|file| format!("{name}_{file}.txt")).collect();
    if !attributes.is_empty() {
        tracing::warn!(
            "{}: files that are not read: {}; labels of nodes and edges are whole numbers, in {name}_node_labels.txt and \
             {name}_edge_labels.txt",
            folder.display(),
            list(&attributes)
        );
    }
    let file = read("A")?;
    let classes = optional("graph_labels")?;
    let class_of = classes.as_ref().map(Lines::numbers).transpose()?;
    let nodes = Nodes::read(&read("graph_indicator")?, optional("node_labels")?, classes.as_ref())?;
    let edges = edges(&file, optional("edge_labels")?, &nodes)?;
    let mut edges_of = vec![Vec::new(); nodes.labels_of.len()];
    for ((low, high), given) in edges {
        let graph_edges = &mut edges_of[nodes.graph[low]];
        let (line, label) = given.into_iter().flatten().next().unwrap_or_default();
        check_size(&file.path, line, "edges", graph_edges.len() + 1, MAX_EDGES)?;
        graph_edges.push((nodes.place[low], nodes.place[high], label as u64));
    }
    let graph = |(index, (labels, edges)): (usize, (Vec<u64>, Vec<LabelledEdge>))| {
        let all = labels.iter().copied().chain(edges.iter().map(|&(_, _, label)| label));
        // the files hold no number above 2⁶³ − 1
        let negative = all.filter(|&label| label > i64::MAX as u64).collect();
        NamedGraph {
            id: (index + 1).to_string(),
            graph: Graph::from_checked(labels, edges),
            class: class_of.as_ref().and_then(|classes| classes.get(index).copied()),
            texts: BTreeMap::new(),
            negative,
        }
    };
    Ok(nodes.labels_of.into_iter().zip(edges_of).enumerate().map(graph).collect())
}

/// The lines of a file, without the blank ones at its end.
struct Lines {
    path: PathBuf,
    lines: Vec<String>,
}

impl Lines {
    fn read(path: PathBuf) -> Result<Self, Error> {
        let bytes = read_bytes(&path).map_err(|error| super::unread(&path, error))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
            Error::at_line(&path, line, "not UTF-8 text")
        })?;
        let lines = text.trim_end().lines().map(|line| line.trim().to_owned()).collect();
        Ok(Self { path, lines })
    }

    /// Returns the error about a line, counted from 0.
    fn refused(&self, at: usize, allowed: &str) -> Error {
        let shown: String = self.lines[at].chars().take(SHOWN).collect();
        Error::at_line(&self.path, at + 1, format!("{shown:?}; allowed: {allowed}"))
    }

    /// Returns one whole number a line.
    fn numbers(&self) -> Result<Vec<i64>, Error> {
        let number = |(at, line): (usize, &String)| {
            let allowed = if line.contains(',') {
                "one whole number a line: keep one of several labels, or number those that occur together"
            } else {
                "a whole number"
            };
            line.parse().map_err(|_| self.refused(at, allowed))
        };
        self.lines.iter().enumerate().map(number).collect()
    }

    /// Returns the labels of these lines, 0 without a file of labels.
    fn labels(&self, labels: Option<&Self>) -> Result<Vec<i64>, Error> {
        let lines = self.lines.len();
        let Some(labels) = labels else { return Ok(vec![0; lines]) };
        let numbers = labels.numbers()?;
        if numbers.len() == lines {
            return Ok(numbers);
        }
        let label_count = numbers.len();
        let other = self.path.display();
        let rule = "both files must have the same number";
        Err(Error::file(
            &labels.path,
            format!("{label_count} lines, but {other} has {lines}; {rule}"),
        ))
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
    fn read(file: &Lines, labels: Option<Lines>, classes: Option<&Lines>) -> Result<Self, Error> {
        if file.lines.is_empty() {
            return Err(empty(&file.path));
        }
        let labels = file.labels(labels.as_ref())?;
        // every graph has a node, unless the graph labels say how many graphs there are
        let (most, limit_from) = match classes {
            Some(classes) => {
                (classes.lines.len(), format!("the lines of {}", classes.path.display()))
            }
            None => (file.lines.len(), "the number of nodes".to_owned()),
        };
        let mut nodes = Self { graph: Vec::new(), place: Vec::new(), labels_of: Vec::new() };
        nodes.labels_of.resize(classes.map_or(0, |_| most), Vec::new());
        for (at, (text, label)) in file.lines.iter().zip(labels).enumerate() {
            let number = text.parse().ok().filter(|number| (1..=most).contains(number));
            let number =
                number.ok_or_else(|| file.refused(at, &format!("1 to {most}, {limit_from}")))?;
            if nodes.labels_of.len() < number {
                nodes.labels_of.resize(number, Vec::new());
            }
            let graph_labels = &mut nodes.labels_of[number - 1];
            check_size(&file.path, at + 1, "nodes", graph_labels.len() + 1, MAX_NODES)?;
            nodes.graph.push(number - 1);
            nodes.place.push(graph_labels.len());
            graph_labels.push(label as u64);
        }
        match nodes.labels_of.iter().position(Vec::is_empty) {
            Some(graph) if classes.is_none() => {
                let message = format!(
                    "no node belongs to graph {}, but one to graph {}; only a file of graph labels can say that there are graphs without nodes",
                    graph + 1,
                    nodes.labels_of.len(),
                );
                Err(Error::file(&file.path, message))
            }
            Some(_) | None => Ok(nodes),
        }
    }
}

/// The edges of all graphs, by the lower and the higher of their nodes, numbered from 0 over all graphs: line and label
/// in either direction, as far as they are given.
type Edges = BTreeMap<(usize, usize), [Option<(usize, i64)>; 2]>;

fn edges(file: &Lines, labels: Option<Lines>, nodes: &Nodes) -> Result<Edges, Error> {
    let count = nodes.graph.len();
    let mut edges = Edges::new();
    let mut loops = 0;
    for (at, (text, label)) in file.lines.iter().zip(file.labels(labels.as_ref())?).enumerate() {
        let line = at + 1;
        let refused = |message| Err(Error::at_line(&file.path, line, message));
        let node = |text: &str| text.trim().parse().ok().filter(|node| (1..=count).contains(node));
        let Some((a, b)) = text.split_once(',').and_then(|(a, b)| Some((node(a)?, node(b)?)))
        else {
            let allowed = format!("two nodes from 1 to {count} with a comma between them");
            return Err(file.refused(at, &allowed));
        };
        if a == b {
            loops += 1;
            continue;
        }
        let [from, to] = [a, b].map(|node| nodes.graph[node - 1] + 1);
        if from != to {
            let ends = format!("from node {a} of graph {from} to node {b} of graph {to}");
            return refused(format!("an edge {ends}"));
        }
        let given = edges.entry((a.min(b) - 1, a.max(b) - 1)).or_default();
        let direction = &mut given[usize::from(a > b)];
        match (&labels, *direction) {
            (Some(labels), Some((first, first_label))) if first_label != label => {
                let message = format!(
                    "label {label}, but line {first} has label {first_label} for the same edge"
                );
                return Err(Error::at_line(&labels.path, line, message));
            }
            (_, Some(_)) => {}
            (_, None) => *direction = Some((line, label)),
        }
    }
    if loops > 0 {
        let path = file.path.display();
        tracing::warn!("{path}: {loops} edges from a node to itself are left out");
    }
    for given in edges.values() {
        let Some(labels) = &labels else { continue };
        let [Some(forward), Some(backward)] = *given else { continue };
        let (first, first_label) = forward.min(backward);
        let (line, label) = forward.max(backward);
        if first_label != label {
            let message = format!(
                "label {label}, but line {first} has label {first_label} for the same edge in the other direction"
            );
            return Err(Error::at_line(&labels.path, line, message));
        }
    }
    Ok(edges)
}
