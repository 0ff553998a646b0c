use std::path::{Path, PathBuf};

use thiserror::Error;

use super::GraphError;

/// Why a file of graphs was refused. Lines are counted from 1.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// There is no such file.
    #[error("{}: no such file", path.display())]
    NotFound {
        /// The file.
        path: PathBuf,
    },
    /// The operating system refused to read a file.
    #[error("{}: cannot be read: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        source: std::io::Error,
    },
    /// A file without any graph.
    #[error("{}: the file is empty; at least one graph is needed", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// Bytes that are no text.
    #[error("{}:{line}: not UTF-8 text", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
    },
    /// A line longer than [`MAX_LINE`](super::MAX_LINE).
    #[error("{}:{line}: the line has more than {limit} bytes, the most that are read", path.display())]
    LineTooLong {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// A line that is not a JSON object with nodes and edges.
    #[error("{}:{line}:{column}: {reason}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The byte of the line where reading stopped, from 1.
        column: usize,
        /// What is wrong.
        reason: String,
    },
    /// Edges that make no graph.
    #[error("{}:{line}: {source}", path.display())]
    Graph {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// What is wrong with the edges.
        source: GraphError,
    },
    /// A graph with more nodes or edges than are read.
    #[error("{}:{line}: a graph with {found} {what}; allowed: at most {limit}", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The line; in the TUDataset layout the one that is too many.
        line: usize,
        /// `nodes` or `edges`.
        what: &'static str,
        /// Their number.
        found: usize,
        /// The most allowed.
        limit: usize,
    },
    /// Something else than the numbers that a line must have.
    #[error("{}:{line}: {found:?}; allowed: {allowed}", path.display())]
    Number {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The text found, at most 60 characters of it.
        found: String,
        /// What can stand there.
        allowed: String,
    },
    /// Two files of a data set that must have as many lines.
    #[error("{}: {found} lines, but {} has {expected}; both files must have the same number", path.display(), other.display())]
    LineCount {
        /// The file.
        path: PathBuf,
        /// Its number of lines.
        found: usize,
        /// The other file.
        other: PathBuf,
        /// Its number of lines.
        expected: usize,
    },
    /// Graphs that are numbered with a gap.
    #[error("{}: no node belongs to graph {graph}, but one to graph {largest}; only a file of graph labels can say that there are graphs without nodes", path.display())]
    NoNodes {
        /// The file.
        path: PathBuf,
        /// The first graph without nodes.
        graph: usize,
        /// The largest number of a graph.
        largest: usize,
    },
    /// An edge from a node to itself.
    #[error("{}:{line}: an edge from node {node} to itself; loops are not allowed", path.display())]
    Loop {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The node, as the file numbers it.
        node: usize,
    },
    /// An edge between two graphs.
    #[error("{}:{line}: an edge from node {} of graph {} to node {} of graph {}", path.display(), nodes[0], graphs[0], nodes[1], graphs[1])]
    BetweenGraphs {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The nodes, as the file numbers them.
        nodes: [usize; 2],
        /// Their graphs.
        graphs: [usize; 2],
    },
    /// An edge that is given twice in the same direction.
    #[error("{}:{line}: the edge from node {} to node {} again, which line {first} has", path.display(), nodes[0], nodes[1])]
    DoubleEdge {
        /// The file.
        path: PathBuf,
        /// The second line.
        line: usize,
        /// The first line.
        first: usize,
        /// The nodes, as the file numbers them.
        nodes: [usize; 2],
    },
    /// The two directions of an edge have different labels.
    #[error("{}:{line}: label {found}, but line {first} has label {expected} for the same edge in the other direction", path.display())]
    EdgeLabels {
        /// The file of edge labels.
        path: PathBuf,
        /// The line of the one direction.
        line: usize,
        /// Its label.
        found: i64,
        /// The line of the other direction.
        first: usize,
        /// Its label.
        expected: i64,
    },
}

impl ReadError {
    /// What the operating system said about a file.
    pub(super) fn io(path: &Path, source: std::io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            std::io::ErrorKind::NotFound => Self::NotFound { path },
            _ => Self::Io { path, source },
        }
    }
}
