//! Graphs as JSON lines, one graph a line.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use dsokr_core::Error;
use dsokr_core::store::open_input;
use serde::Serialize;
use serde::de::{self, Deserialize, Deserializer};
use serde_untagged::UntaggedEnumVisitor;

use super::{Graph, MAX_EDGES, MAX_LINE, MAX_NODES, NamedGraph, label};

/// Reads graphs from a file of JSON lines.
///
/// A line is an object with the labels of the nodes and the edges between them, which name nodes by
/// their place in the list, from 0:
///
/// ```json
/// {"id": "formaldehyde", "nodes": ["C", "O"], "edges": [[0, 1, 2]]}
/// ```
///
/// - `nodes` (or `atoms`): labels, texts or whole numbers. A text stands for its hash
///   ([`label`]), a whole number from −2⁶³ to 2⁶⁴ − 1 for itself (a negative one modulo 2⁶⁴), so `"2"`
///   and `2` differ.
/// - `edges` (or `bonds`): `[node, node, label]`, or `[node, node]` for label 0, in any direction.
/// - `id`: a text or whole number; the number of the line where it is left out.
/// - Other keys and blank lines are ignored.
///
/// A graph without nodes is read. Edges from a node to itself, and two edges between the same
/// nodes in either direction, are refused. A graph has at most [`MAX_NODES`] nodes and
/// [`MAX_EDGES`] edges, a line at most [`MAX_LINE`] bytes.
///
/// # Errors
/// [`Error::File`] for a file that cannot be read, and with the line for what it must not hold.
pub fn read_json_lines(path: &Path) -> Result<Vec<NamedGraph>, Error> {
    let file = open_input(path).map_err(|error| super::unread(path, error))?;
    parse_json_lines(BufReader::new(file), path)
}

/// Reads graphs like [`read_json_lines`], from any reader; `path` is the name in errors.
///
/// ```
/// use std::path::Path;
/// use dsokr_molecule::graph::{Graph, label, parse_json_lines};
///
/// let text = r#"{"nodes": ["C", 8], "edges": [[1, 0, 2]]}"#;
/// let lines = parse_json_lines(text.as_bytes(), Path::new("graphs.jsonl"))?;
/// assert_eq!(lines[0].graph, Graph::new(vec![label("C"), 8], &[(0, 1, 2)])?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The errors of [`read_json_lines`].
pub fn parse_json_lines(mut reader: impl BufRead, path: &Path) -> Result<Vec<NamedGraph>, Error> {
    let mut graphs = Vec::new();
    let mut text = Vec::new();
    for line in 1.. {
        text.clear();
        // two more than allowed: a line of the largest size may end in a line break
        let mut limited = reader.by_ref().take(MAX_LINE as u64 + 2);
        let read = limited.read_until(b'\n', &mut text);
        if read.map_err(|error| super::unread(path, error))? == 0 {
            break;
        }
        if text.last() == Some(&b'\n') {
            text.pop();
        }
        if text.len() > MAX_LINE {
            let message =
                format!("the line has more than {MAX_LINE} bytes, the most that are read");
            return Err(Error::at_line(path, line, message));
        }
        if text.iter().any(|byte| !byte.is_ascii_whitespace()) {
            graphs.push(parse(&text, path, line)?);
        }
    }
    if graphs.is_empty() {
        return Err(super::empty(path));
    }
    Ok(graphs)
}

fn parse(text: &[u8], path: &Path, line: usize) -> Result<NamedGraph, Error> {
    let row: Row = serde_json::from_slice(text).map_err(|error| {
        let column = error.column();
        let reason = error.to_string();
        // serde_json counts lines from the start of this line
        let place = format!(" at line {} column {column}", error.line());
        let message = reason.strip_suffix(&place).unwrap_or(&reason);
        Error::at_line(path, line, format!("position {column}: {message}"))
    })?;
    super::check_size(path, line, "nodes", row.nodes.len(), MAX_NODES)?;
    super::check_size(path, line, "edges", row.edges.len(), MAX_EDGES)?;
    let labels = row.nodes.iter().map(Label::value).collect();
    let edges: Vec<_> =
        row.edges.iter().map(|Edge(a, b, label, ())| (*a, *b, label.value())).collect();
    let graph = Graph::new(labels, &edges).map_err(|e| Error::at_line(path, line, e))?;
    let id = row.id.map_or_else(|| line.to_string(), |Id(id)| id);
    let text = |label| match label {
        Label::Text(text) => Some((super::label(&text), text)),
        Label::Number(_) => None,
    };
    let all = row.nodes.into_iter().chain(row.edges.into_iter().map(|Edge(_, _, label, ())| label));
    Ok(NamedGraph { id, graph, class: None, texts: all.filter_map(text).collect() })
}

impl NamedGraph {
    /// Returns a label of a node or an edge as the file writes it.
    pub fn written(&self, label: u64) -> String {
        self.texts.get(&label).cloned().unwrap_or_else(|| label.to_string())
    }

    /// Returns the graph as one JSON line, which [`parse_json_lines`] reads, with the labels that are texts as
    /// texts. Id and class are left out.
    ///
    /// ```
    /// use std::path::Path;
    /// use dsokr_molecule::graph::parse_json_lines;
    ///
    /// let text = r#"{"nodes":["red",7],"edges":[[0,1,0]]}"#;
    /// assert_eq!(parse_json_lines(text.as_bytes(), Path::new("graphs"))?[0].json_line(), text);
    /// # Ok::<(), dsokr_molecule::Error>(())
    /// ```
    pub fn json_line(&self) -> String {
        let label = |&label: &u64| match self.texts.get(&label) {
            Some(text) => Label::Text(text.clone()),
            None => Label::Number(label),
        };
        let edge = |(a, b, edge_label): (usize, usize, u64)| Edge(a, b, label(&edge_label), ());
        let nodes = self.graph.labels().iter().map(label).collect();
        let line = Row { id: None, nodes, edges: self.graph.edges().map(edge).collect() };
        // texts and numbers can always be written
        serde_json::to_string(&line).unwrap_or_default()
    }
}

/// A line.
#[derive(Serialize, serde::Deserialize)]
struct Row {
    #[serde(default, skip_serializing)]
    id: Option<Id>,
    #[serde(alias = "atoms")]
    nodes: Vec<Label>,
    #[serde(alias = "bonds")]
    edges: Vec<Edge>,
}

struct Id(String);

#[derive(Serialize)]
#[serde(untagged)]
enum Label {
    Text(String),
    Number(u64),
}

impl Label {
    /// Returns the number that stands for it.
    fn value(&self) -> u64 {
        match self {
            Self::Text(text) => label(text),
            Self::Number(number) => *number,
        }
    }
}

#[derive(Serialize, serde::Deserialize)]
#[serde(expecting = "an edge, [node, node] or [node, node, label]")]
struct Edge(
    usize,
    usize,
    #[serde(default = "unlabelled")] Label,
    #[serde(skip_serializing, default, deserialize_with = "too_long")] (),
);

dsokr_core::defaults!(unlabelled: Label = Label::Number(0));

/// Refuses what follows the label.
fn too_long<'de, D: Deserializer<'de>>(_: D) -> Result<(), D::Error> {
    Err(de::Error::invalid_length(4, &"an edge, [node, node] or [node, node, label]"))
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        UntaggedEnumVisitor::new()
            .expecting("an id, a text or a whole number")
            .string(|text| Ok(Self(text.to_owned())))
            .i128(|number| Ok(Self(number.to_string())))
            .deserialize(deserializer)
    }
}

impl<'de> Deserialize<'de> for Label {
    /// Reads a label; a negative number stands for itself modulo 2⁶⁴.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        UntaggedEnumVisitor::new()
            .expecting("a label, a text or a whole number")
            .string(|text| Ok(Self::Text(text.to_owned())))
            .i128(|number| Ok(Self::Number(number as u64)))
            .deserialize(deserializer)
    }
}
