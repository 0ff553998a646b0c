//! Labelled graphs: what graph kernels count and edit distances compare, and the files they are
//! read from.

mod json_lines;
mod tudataset;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use dsokr_basis::features::sorted_by_place;

use crate::error::Error;
use crate::molecule::{Atom, Bond, Molecule};
use crate::refinement::{mix, sorted, unordered};

pub use json_lines::{parse_json_lines, read_json_lines};
pub use tudataset::read_tudataset;

/// The most nodes of a graph that is read from a file.
pub const MAX_NODES: usize = 100_000;

/// The most edges of a graph that is read from a file.
pub const MAX_EDGES: usize = 1_000_000;

/// The most bytes of a line of a JSON lines file.
pub const MAX_LINE: usize = 64 << 20;

/// A graph of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedGraph {
    /// The name that the file gives it, else its number.
    pub id: String,
    /// The graph.
    pub graph: Graph,
    /// The class of the graph, where the file gives one.
    pub class: Option<i64>,
    /// The labels of nodes and edges that the file writes as texts, by the hash that stands for each
    /// ([`label`]).
    pub texts: BTreeMap<u64, String>,
    /// The labels of nodes and edges that the file writes as negative numbers, modulo 2⁶⁴.
    pub negative: BTreeSet<u64>,
}

/// A step along an edge: the node it leads to and the edge's label.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arc {
    /// Index of the node that the edge leads to.
    pub node: usize,
    /// Label of the edge.
    pub label: u64,
}

/// An undirected graph whose nodes and edges have labels; no loops, at most one edge between two
/// nodes. It may have several components, and no node at all.
///
/// ```
/// use dsokr_molecule::{Molecule, graph::{Graph, label}};
///
/// let formaldehyde = Graph::new(vec![label("C"), label("O")], &[(0, 1, 2)])?;
/// assert_eq!(formaldehyde, Graph::from(&Molecule::parse("C=O")?));
/// assert_eq!(formaldehyde.edges().collect::<Vec<_>>(), [(0, 1, 2)]);
/// assert!(Graph::new(vec![0, 0], &[(1, 1, 1)]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    pub(crate) labels: Vec<u64>,
    /// Arcs of node i are `arcs[offsets[i]..offsets[i + 1]]`, by increasing node.
    offsets: Vec<usize>,
    arcs: Vec<Arc>,
}

/// Returns the label of a name: its 64-bit hash (FNV-1a), the same on every machine. Whole numbers that are
/// labels stand for themselves.
pub fn label(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

impl Graph {
    /// Creates a graph with the nodes `labels` and the edges (node, node, label), in any order and direction.
    ///
    /// # Errors
    /// [`Error::Graph`] for an edge to a node that does not exist, from a node to itself, or between nodes
    /// that an earlier edge joins.
    pub fn new(labels: Vec<u64>, edges: &[(usize, usize, u64)]) -> Result<Self, Error> {
        let nodes = labels.len();
        for (edge, &(a, b, _)) in edges.iter().enumerate() {
            let wrong = |said| Err(Error::Graph { message: format!("edge {edge} {said}") });
            if let Some(node) = [a, b].into_iter().find(|&node| node >= nodes) {
                let range = format!("there are {nodes} nodes, numbered from 0");
                return wrong(format!("leads to node {node}; {range}"));
            }
            if a == b {
                return wrong(format!("joins node {a} to itself; loops are not allowed"));
            }
        }
        let ends = |&(a, b, label): &(usize, usize, u64)| {
            [(a, Arc { node: b, label }), (b, Arc { node: a, label })]
        };
        let (offsets, mut arcs) = sorted_by_place(nodes, edges.iter().flat_map(ends));
        for node in 0..nodes {
            let node_arcs = &mut arcs[offsets[node]..offsets[node + 1]];
            node_arcs.sort_unstable();
            if let Some(twice) = node_arcs.windows(2).find(|pair| pair[0].node == pair[1].node) {
                let joins = |&(a, b, _): &(usize, usize, u64)| {
                    [(a, b), (b, a)].contains(&(node, twice[0].node))
                };
                // the second of the two is the one too many
                let edge = edges.iter().rposition(joins).unwrap_or(0);
                let ends = format!("nodes {node} and {}", twice[0].node);
                let message = format!("edge {edge} joins {ends} a second time");
                return Err(Error::Graph { message });
            }
        }
        Ok(Self { labels, offsets, arcs })
    }

    /// Creates a graph whose edges are known to be allowed.
    pub(crate) fn from_checked(
        labels: Vec<u64>,
        edges: impl IntoIterator<Item = (usize, usize, u64)>,
    ) -> Self {
        let edges: Vec<_> = edges.into_iter().collect();
        Self::new(labels, &edges).unwrap_or_else(|error| unreachable!("{error}"))
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Returns whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Returns labels of the nodes.
    pub fn labels(&self) -> &[u64] {
        &self.labels
    }

    /// Returns the number of edges.
    pub fn edge_count(&self) -> usize {
        self.arcs.len() / 2
    }

    /// Returns every edge once, as (smaller node, larger node, label), in increasing order.
    pub fn edges(&self) -> impl Iterator<Item = (usize, usize, u64)> + '_ {
        (0..self.len()).flat_map(move |node| {
            let after = self.arcs(node).iter().filter(move |arc| arc.node > node);
            after.map(move |arc| (node, arc.node, arc.label))
        })
    }

    /// Returns the edges at a node, by increasing neighbour.
    ///
    /// # Panics
    /// If `node` is not below [`len`](Self::len).
    pub fn arcs(&self, node: usize) -> &[Arc] {
        &self.arcs[self.offsets[node]..self.offsets[node + 1]]
    }

    /// Returns a hash that isomorphic graphs share: the hash of the labels after as many rounds of colour refinement
    /// (Weisfeiler and Leman) as there are nodes. Graphs that refinement distinguishes have different hashes, up to
    /// collisions of 64 bits.
    pub fn invariant(&self) -> u64 {
        unordered(self.refined(self.len()), 0)
    }

    /// Returns the colours of the nodes after rounds of refinement, at first their labels.
    pub(crate) fn refined(&self, rounds: usize) -> Vec<u64> {
        // the same memory in all rounds
        let mut colors = self.labels.clone();
        let mut refined = self.labels.clone();
        let mut words = Vec::new();
        for _ in 0..rounds {
            for (node, color) in refined.iter_mut().enumerate() {
                words.clear();
                words.extend(self.arcs(node).iter().map(|arc| mix(arc.label, colors[arc.node])));
                *color = sorted(&mut words, colors[node]);
            }
            std::mem::swap(&mut colors, &mut refined);
        }
        colors
    }

    /// Returns the subgraph that some of the nodes induce: those nodes, in increasing order, and all edges
    /// between them.
    ///
    /// `keep` says for each node whether it stays; nodes past its end do not.
    ///
    /// ```
    /// use dsokr_molecule::graph::Graph;
    ///
    /// let path = Graph::new(vec![6, 7, 8], &[(0, 1, 1), (1, 2, 2)])?;
    /// let part = path.induced(&[false, true, true]);
    /// assert_eq!(part, Graph::new(vec![7, 8], &[(0, 1, 2)])?);
    /// # Ok::<(), dsokr_molecule::Error>(())
    /// ```
    pub fn induced(&self, keep: &[bool]) -> Self {
        let stays = |node: usize| keep.get(node).copied().unwrap_or(false);
        let mut new_index = vec![0; self.len()];
        let mut labels = Vec::new();
        for node in (0..self.len()).filter(|&node| stays(node)) {
            new_index[node] = labels.len();
            labels.push(self.labels[node]);
        }
        let mut offsets = vec![0];
        let mut arcs = Vec::new();
        for node in (0..self.len()).filter(|&node| stays(node)) {
            let kept = self.arcs(node).iter().filter(|arc| stays(arc.node));
            arcs.extend(kept.map(|arc| Arc { node: new_index[arc.node], label: arc.label }));
            offsets.push(arcs.len());
        }
        Self { labels, offsets, arcs }
    }

    /// Returns the same graph with all edges labelled 0.
    pub fn without_edge_labels(self) -> Self {
        self.with_edge_labels(|_| 0)
    }

    /// Returns the same graph with a label in the place of each of an edge.
    pub(crate) fn with_edge_labels(mut self, label: impl Fn(u64) -> u64) -> Self {
        self.arcs.iter_mut().for_each(|arc| arc.label = label(arc.label));
        self
    }
}

impl From<&Molecule> for Graph {
    /// Creates atoms labelled by their element's symbol, bonds by their order in the Kekulé structure
    /// (1 to 4, a dative bond 1). Charges, hydrogens, isotopes and configurations are left out, as
    /// in the golden graphs of the papers' task.
    fn from(molecule: &Molecule) -> Self {
        molecule.graph(|bond| bond.order.multiplicity().into())
    }
}

impl Molecule {
    /// Returns atoms labelled by their element's symbol, bonds as `bond` says.
    pub(crate) fn graph(&self, bond: impl Fn(&Bond) -> u64) -> Graph {
        let symbol = |atom: &Atom| label(atom.element.symbol());
        let edges = self.bonds().iter().map(|edge| (edge.atoms[0], edge.atoms[1], bond(edge)));
        // the parser refuses loops and double bonds written as two bonds
        Graph::from_checked(self.atoms().iter().map(symbol).collect(), edges)
    }
}

/// Rounds of refinement after which nearly all molecules that are connected differently have different numbers.
const ROUNDS: usize = 4;

impl Molecule {
    /// Returns a number that molecules share whose atoms are connected alike, whatever the orders of bonds and the
    /// configurations: equal for two SMILES of one molecule, and much cheaper than the canonical SMILES.
    ///
    /// It is the hash of elements, hydrogens, charges and isotopes after four rounds of colour refinement.
    ///
    /// ```
    /// use dsokr_molecule::Molecule;
    ///
    /// let number = |smiles| Ok::<_, dsokr_molecule::Error>(Molecule::parse(smiles)?.connectivity());
    /// assert_eq!(number("Oc1ccccc1C")?, number("CC1=CC=CC=C1O")?);
    /// assert_ne!(number("Oc1ccccc1C")?, number("Oc1cccc(C)c1")?);
    /// # Ok::<(), dsokr_molecule::Error>(())
    /// ```
    pub fn connectivity(&self) -> u64 {
        let label = |atom: &Atom| {
            u64::from(atom.element.atomic_number())
                | u64::from(atom.hydrogens) << 8
                | u64::from(atom.charge.cast_unsigned()) << 16
                | u64::from(atom.isotope.unwrap_or(0)) << 24
        };
        let edges = self.bonds().iter().map(|bond| (bond.atoms[0], bond.atoms[1], 0));
        let graph = Graph::from_checked(self.atoms().iter().map(label).collect(), edges);
        unordered(graph.refined(ROUNDS), 0)
    }
}

/// The distance of a node that was not reached.
const FAR: u32 = u32::MAX;

/// Breadth-first search from one node at a time; its memory is used again.
pub(crate) struct Distances {
    distance: Vec<u32>,
    /// The nodes reached, by increasing distance.
    reached: Vec<usize>,
}

impl Distances {
    pub(crate) fn new(graph: &Graph) -> Self {
        Self { distance: vec![FAR; graph.len()], reached: Vec::with_capacity(graph.len()) }
    }

    /// Searches from `source` as far as `limit` edges, only through nodes that `allowed` admits.
    pub(crate) fn search(
        &mut self,
        graph: &Graph,
        source: usize,
        limit: usize,
        allowed: impl Fn(usize) -> bool,
    ) {
        self.reached.iter().for_each(|&node| self.distance[node] = FAR);
        self.reached.clear();
        self.reached.push(source);
        self.distance[source] = 0;
        let mut next = 0;
        while let Some(&node) = self.reached.get(next) {
            next += 1;
            let distance = self.distance[node];
            if distance as usize >= limit {
                break;
            }
            for arc in graph.arcs(node) {
                if self.distance[arc.node] == FAR && allowed(arc.node) {
                    self.distance[arc.node] = distance + 1;
                    self.reached.push(arc.node);
                }
            }
        }
    }

    /// Returns the nodes that the last search reached, by increasing distance, the source first.
    pub(crate) fn reached(&self) -> &[usize] {
        &self.reached
    }

    /// Returns the distance of a node from the source, `None` if it was not reached.
    pub(crate) fn distance_to(&self, node: usize) -> Option<usize> {
        let distance = self.distance[node];
        (distance != FAR).then_some(distance as usize)
    }
}

/// Returns the error for a file that the operating system refuses to read.
fn unread(path: &Path, source: std::io::Error) -> dsokr_core::Error {
    match source.kind() {
        std::io::ErrorKind::NotFound => dsokr_core::Error::file(path, "no such file"),
        _ => dsokr_core::Error::file(path, format_args!("cannot be read: {source}")),
    }
}

/// Returns the error for a file without any graph.
fn empty(path: &Path) -> dsokr_core::Error {
    dsokr_core::Error::file(path, "the file is empty; at least one graph is needed")
}

/// Refuses a graph with more nodes or edges than are read.
fn check_size(
    path: &Path,
    line: usize,
    what: &str,
    size: usize,
    most: usize,
) -> Result<(), dsokr_core::Error> {
    let message = || format!("a graph with {size} {what}; allowed: at most {most}");
    if size <= most { Ok(()) } else { Err(dsokr_core::Error::at_line(path, line, message())) }
}
