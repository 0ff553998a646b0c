use thiserror::Error;

/// Why something is not a graph. Nodes and edges are numbered from 0, in the order given.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GraphError {
    /// An edge to a node that does not exist.
    #[error("edge {edge} leads to node {node}; there are {nodes} nodes, numbered from 0")]
    NoSuchNode {
        /// The edge.
        edge: usize,
        /// The node it names.
        node: usize,
        /// Number of nodes.
        nodes: usize,
    },
    /// An edge from a node to itself.
    #[error("edge {edge} joins node {node} to itself; loops are not allowed")]
    Loop {
        /// The edge.
        edge: usize,
        /// The node.
        node: usize,
    },
    /// Two edges between the same nodes, in either direction.
    #[error("edge {edge} joins nodes {} and {} a second time", nodes[0], nodes[1])]
    DoubleEdge {
        /// The second of the two edges.
        edge: usize,
        /// The nodes.
        nodes: [usize; 2],
    },
}
