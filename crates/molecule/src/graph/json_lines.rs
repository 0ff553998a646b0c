//! Graphs as JSON lines, one graph a line.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use dsokr_core::Error;
use dsokr_core::message::{list, shorten};
use dsokr_core::store::open_input;
use serde::Serialize;
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
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
/// - Other keys are not read, which a warning says, but `directed` is refused unless it is false: edges have no direction.
/// - Blank lines are ignored.
///
/// A graph without nodes is read. Edges from a node to itself, and two edges between the same
/// nodes in either direction, are refused. A graph has at most [`MAX_NODES`] nodes and
/// [`MAX_EDGES`] edges, a line at most [`MAX_LINE`] bytes.
///
/// # Errors
/// [`Error::File`] for a file that cannot be read, and with the line for what it must not hold.
pub fn read_json_lines(path: &Path) -> Result<Vec<NamedGraph>, Error> {
    let file = open_input(path).map_err(|error| super::unread(path, error))?;
    let (graphs, others) = all(BufReader::new(file), path)?;
    if !others.is_empty() {
        let others = list(&others.into_iter().collect::<Vec<_>>());
        tracing::warn!(
            "{}: keys that are not read: {others}; a graph has \"nodes\" and \"edges\" with one label each",
            path.display()
        );
    }
    Ok(graphs)
}

/// Reads graphs like [`read_json_lines`], from any reader; `path` is the name in errors. Keys that are not read are left
/// out without a warning.
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
pub fn parse_json_lines(reader: impl BufRead, path: &Path) -> Result<Vec<NamedGraph>, Error> {
    all(reader, path).map(|(graphs, _)| graphs)
}

/// Returns the graphs of all lines, and the keys of them that are not read.
fn all(
    mut reader: impl BufRead,
    path: &Path,
) -> Result<(Vec<NamedGraph>, BTreeSet<String>), Error> {
    let mut graphs = Vec::new();
    let mut others = BTreeSet::new();
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
            let (graph, keys) = parse(&text, path, line)?;
            graphs.push(graph);
            others.extend(keys);
        }
    }
    if graphs.is_empty() {
        return Err(super::empty(path));
    }
    Ok((graphs, others))
}

/// What a line is, for those who have graphs in a format of another program.
const FORMAT: &str = r#"; a line is a graph, as {"nodes": ["C", "O"], "edges": [[0, 1, 2]]}, with edges between places of nodes, from 0; of a graph G of NetworkX, which reads most formats, Python writes it by n = list(G); json.dumps({"nodes": [G.nodes[v].get("label", 0) for v in n], "edges": [[n.index(a), n.index(b), d.get("label", 0)] for a, b, d in G.edges(data=True)]})"#;

/// Returns whether a line is that of another format, and not one with a mistake: no object, a part of one, or one with
/// other parts.
fn is_other_format(text: &[u8], message: &str) -> bool {
    let is_object = text.trim_ascii_start().starts_with(b"{");
    let starts = ["EOF", "invalid type: map", "missing field"];
    !is_object || starts.into_iter().any(|start| message.starts_with(start))
}

/// Returns a graph, and the keys of the line that are not read.
fn parse(text: &[u8], path: &Path, line: usize) -> Result<(NamedGraph, Vec<String>), Error> {
    let row: Row = serde_json::from_slice(text).map_err(|error| {
        let column = error.column();
        let reason = error.to_string();
        // serde_json counts lines from the start of this line
        let place = format!(" at line {} column {column}", error.line());
        let message = reason.strip_suffix(&place).unwrap_or(&reason);
        let remedy = if is_other_format(text, message) { FORMAT } else { "" };
        Error::at_line(path, line, format!("position {column}: {message}{remedy}"))
    })?;
    super::check_size(path, line, "nodes", row.nodes.len(), MAX_NODES)?;
    super::check_size(path, line, "edges", row.edges.len(), MAX_EDGES)?;
    let labels = row.nodes.iter().map(Label::value).collect();
    let edges: Vec<_> =
        row.edges.iter().map(|Edge(a, b, label, ())| (*a, *b, label.value())).collect();
    let graph = Graph::new(labels, &edges).map_err(|e| Error::at_line(path, line, e))?;
    let id = row.id.map_or_else(|| line.to_string(), |Id(id)| id);
    let all = row.nodes.into_iter().chain(row.edges.into_iter().map(|Edge(_, _, label, ())| label));
    let mut texts = BTreeMap::new();
    let mut negative = BTreeSet::new();
    for label in all {
        let value = label.value();
        match label {
            Label::Text(text) => {
                texts.insert(value, text);
            }
            Label::Number(number) if number < 0 => {
                negative.insert(value);
            }
            Label::Number(_) => {}
        }
    }
    Ok((NamedGraph { id, graph, class: None, texts, negative }, row.others))
}

impl NamedGraph {
    /// Returns a label of a node or an edge as the file writes it.
    pub fn written(&self, label: u64) -> String {
        match self.texts.get(&label) {
            Some(text) => text.clone(),
            None => self.number(label).to_string(),
        }
    }

    /// Returns the whole number that stands for a label in the file.
    fn number(&self, label: u64) -> i128 {
        if self.negative.contains(&label) { i128::from(label as i64) } else { label.into() }
    }

    /// Returns the graph as one JSON line, which [`parse_json_lines`] reads, with the labels that are texts as
    /// texts, and negative ones as they are. Id and class are left out.
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
            None => Label::Number(self.number(label)),
        };
        let edge = |(a, b, edge_label): (usize, usize, u64)| Edge(a, b, label(&edge_label), ());
        let nodes = self.graph.labels().iter().map(label).collect();
        let edges = self.graph.edges().map(edge).collect();
        let line = Row { id: None, nodes, edges, others: Vec::new() };
        // texts and numbers can always be written
        serde_json::to_string(&line).unwrap_or_default()
    }
}

/// A line.
#[derive(Serialize)]
struct Row {
    #[serde(skip)]
    id: Option<Id>,
    nodes: Vec<Label>,
    edges: Vec<Edge>,
    /// The keys that are not read.
    #[serde(skip)]
    others: Vec<String>,
}

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RowVisitor)
    }
}

struct RowVisitor;

impl<'de> Visitor<'de> for RowVisitor {
    type Value = Row;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("a graph, an object with nodes and edges")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Row, A::Error> {
        let mut id = None;
        let mut nodes = None;
        let mut edges = None;
        let mut others = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "id" if id.is_some() => return Err(de::Error::duplicate_field("id")),
                "nodes" | "atoms" if nodes.is_some() => {
                    return Err(de::Error::duplicate_field("nodes"));
                }
                "edges" | "bonds" if edges.is_some() => {
                    return Err(de::Error::duplicate_field("edges"));
                }
                "id" => id = Some(map.next_value::<Option<Id>>()?),
                "nodes" | "atoms" => nodes = Some(map.next_value()?),
                "edges" | "bonds" => edges = Some(map.next_value()?),
                "directed" => {
                    let value: Value = map.next_value()?;
                    // whatever is not plainly false, such as 1 or "true", may mean that edges have a direction
                    if ![Value::Null, Value::Bool(false), Value::from(0)].contains(&value) {
                        let message = format!(
                            "\"directed\": {}; edges have no direction here: leave the key out where that does not \
                             matter, or say it by labels of further nodes",
                            shorten(&value.to_string())
                        );
                        return Err(de::Error::custom(message));
                    }
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    others.push(key);
                }
            }
        }
        let nodes = nodes.ok_or_else(|| de::Error::missing_field("nodes"))?;
        let edges = edges.ok_or_else(|| de::Error::missing_field("edges"))?;
        Ok(Row { id: id.flatten(), nodes, edges, others })
    }
}

struct Id(String);

#[derive(Serialize)]
#[serde(untagged)]
enum Label {
    Text(String),
    Number(i128),
}

impl Label {
    /// Returns the number that stands for it.
    fn value(&self) -> u64 {
        match self {
            Self::Text(text) => label(text),
            Self::Number(number) => *number as u64,
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
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        UntaggedEnumVisitor::new()
            .expecting("a label, a text or a whole number")
            .string(|text| Ok(Self::Text(text.to_owned())))
            .i128(|number| Ok(Self::Number(number)))
            .deserialize(deserializer)
    }
}
