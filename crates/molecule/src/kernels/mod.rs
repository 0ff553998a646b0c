//! Graph kernels as explicit sparse features.
//!
//! A kernel is the inner product of multisets of features, so it is computed as such: a graph
//! becomes a sparse row of counts ([`GraphVocabulary::rows`]), and
//! [`Kernel::Linear`](dsokr_basis::Kernel::Linear) of two rows is the kernel,
//! [`Kernel::Cosine`](dsokr_basis::Kernel::Cosine) the normalised one. Everything downstream
//! (sketches, bases, candidates) works on rows and knows no graphs.
//!
//! A feature is a 64-bit hash of what it stands for, e.g. of (level, tree below a node). The hashes
//! depend only on labels: not on the order of nodes, the other graphs, the machine or the number of
//! threads. They do not change within a major version. Two of N distinct features fall together
//! with probability about `N²/2⁶⁵`: 3 in a million for ten million of them.

mod counts;
mod nspd;
mod vocabulary;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::graph::Graph;
use counts::Counts;

pub use nspd::Nspd;
pub use vocabulary::GraphVocabulary;

/// The most refinements of a Weisfeiler–Lehman kernel.
pub const MAX_ITERATIONS: usize = 100;

/// The largest radius of a neighbourhood.
pub const MAX_RADIUS: usize = 20;

/// The largest distance of two neighbourhoods.
pub const MAX_DISTANCE: usize = 20;

/// The most kernels in a sum.
pub const MAX_SUMMANDS: usize = 16;

/// The most levels of kernels: a kernel, its base, the base of that, and so on.
pub const MAX_NESTING: usize = 4;

/// Starts every feature.
const ROOT: u64 = 0x6a09_e667_f3bc_c908;

/// A kernel of labelled graphs, each a different way to take a graph apart.
///
/// In a configuration file, a table with the kernel's `name` and its parameters. `edge_labels` says
/// whether edges (bonds) have to agree in their labels. `base` is the kernel that is applied to
/// refined labels or to cores; bases may be nested.
///
/// ```
/// use dsokr_molecule::{Molecule, graph::Graph, kernels::{GraphKernel, GraphVocabulary}};
/// use dsokr_basis::{Features, Kernel, kernel::OutputKernel};
///
/// let kernel: GraphKernel = serde_json::from_str(
///     r#"{"name": "core", "base": {"name": "weisfeiler-lehman", "iterations": 2}}"#,
/// )?;
/// let graphs = ["CCO", "OCC", "CC=O"].map(|smiles| Molecule::parse(smiles).map(|m| Graph::from(&m)));
/// let graphs = graphs.into_iter().collect::<Result<Vec<_>, _>>()?;
/// let (_, rows) = GraphVocabulary::fit_rows(kernel, &graphs)?;
/// let rows = Features::Sparse(rows);
/// let gram = Kernel::Cosine.block(&rows, &rows)?;
/// assert_eq!(gram[(0, 1)], 1.0);
/// assert_eq!(gram[(0, 2)], 1.0, "bonds are not counted here");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum GraphKernel {
    /// Counts of node labels (Sugiyama and Borgwardt 2015).
    VertexHistogram {
        /// Whether edges are counted too, as (label, edge label, label).
        #[serde(default)]
        edge_labels: bool,
    },
    /// Counts of (label, length, label) of the shortest paths between all ordered pairs of different
    /// nodes (Borgwardt and Kriegel 2005).
    ShortestPath {
        /// Whether paths also have to agree in the labels of their edges.
        #[serde(default)]
        edge_labels: bool,
    },
    /// Sum of a base kernel over refinements of the labels (Shervashidze et al. 2011); over the
    /// vertex histogram, the Weisfeiler–Lehman subtree kernel WL-VH.
    WeisfeilerLehman {
        /// h, the number of refinements, 0 to 100; the sum has h + 1 terms.
        #[serde(default = "iterations")]
        iterations: usize,
        /// Whether a refined label contains the labels of the edges to the neighbours.
        #[serde(default)]
        edge_labels: bool,
        /// The base kernel.
        #[serde(default = "vertex_histogram")]
        base: Box<GraphKernel>,
    },
    /// Sum of a base kernel over the k-cores, k from 0 to the smaller degeneracy (Nikolentzos et al.
    /// 2018); over WL-VH, CORE-WL.
    Core {
        /// The base kernel.
        #[serde(default = "weisfeiler_lehman")]
        base: Box<GraphKernel>,
    },
    /// Sum of several kernels, each normalised to `k(G, G) = 1` and of equal weight.
    Sum {
        /// The kernels, 1 to 16 of them.
        kernels: Vec<GraphKernel>,
    },
    /// Neighbourhood subgraph pairwise distance kernel (Costa and De Grave 2010): pairs of rooted
    /// neighbourhoods of radius r with roots at distance d, for all r ≤ r* and d ≤ d*.
    Nspd(Nspd),
}

dsokr_core::defaults! {
    iterations: usize = 5,
    vertex_histogram: Box<GraphKernel> = Box::new(GraphKernel::VertexHistogram { edge_labels: false }),
}

fn weisfeiler_lehman() -> Box<GraphKernel> {
    let base = vertex_histogram();
    Box::new(GraphKernel::WeisfeilerLehman { iterations: iterations(), edge_labels: false, base })
}

impl GraphKernel {
    /// Returns the name in configuration files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::VertexHistogram { .. } => "vertex-histogram",
            Self::ShortestPath { .. } => "shortest-path",
            Self::WeisfeilerLehman { .. } => "weisfeiler-lehman",
            Self::Core { .. } => "core",
            Self::Sum { .. } => "sum",
            Self::Nspd(_) => "nspd",
        }
    }

    /// Checks the parameters of the kernel and of its bases.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`], with the path of the parameter below this kernel.
    pub fn validate(&self) -> Result<(), dsokr_core::Error> {
        self.check(1)
    }

    /// Checks a kernel at this level of kernels.
    fn check(&self, level: usize) -> Result<(), dsokr_core::Error> {
        use dsokr_core::Error;
        let allowed = format!("at most {MAX_NESTING} levels of kernels");
        Error::ensure(level <= MAX_NESTING, "name", self.name(), allowed)?;
        let below = |kernel: &Self, key| kernel.check(level + 1).map_err(|error| error.of(key));
        match self {
            Self::VertexHistogram { .. } | Self::ShortestPath { .. } => Ok(()),
            Self::WeisfeilerLehman { iterations, base, .. } => {
                Error::check_range("iterations", *iterations, 0..=MAX_ITERATIONS)?;
                below(base, "base.".to_owned())
            }
            Self::Core { base } => below(base, "base.".to_owned()),
            Self::Sum { kernels } => {
                let holds = (1..=MAX_SUMMANDS).contains(&kernels.len());
                let count = kernels.len();
                let allowed = format!("1 to {MAX_SUMMANDS}");
                Error::ensure(holds, "kernels", format_args!("{count} kernels"), allowed)?;
                (0..kernels.len()).try_for_each(|at| below(&kernels[at], format!("kernels[{at}].")))
            }
            Self::Nspd(Nspd { radius, distance, .. }) => {
                Error::check_range("radius", *radius, 0..=MAX_RADIUS)?;
                Error::check_range("distance", *distance, 0..=MAX_DISTANCE)
            }
        }
    }

    /// Returns the features of a graph with their values, by increasing feature.
    ///
    /// Values are counts, with NSPD weights. A graph without nodes has no features. Time and memory
    /// for n nodes and e edges: vertex histogram O(n + e); shortest path O(n (n + e)); NSPD as much
    /// for every neighbourhood, which is little while neighbourhoods are small; Weisfeiler–Lehman and
    /// core as many times their base as there are levels.
    ///
    /// # Errors
    /// The errors of [`validate`](Self::validate).
    ///
    /// ```
    /// use dsokr_molecule::{graph::Graph, kernels::GraphKernel};
    ///
    /// let graph = Graph::new(vec![6, 6, 8], &[(0, 1, 1), (1, 2, 1)])?;
    /// let counts = GraphKernel::VertexHistogram { edge_labels: false }.features(&graph)?;
    /// let mut values: Vec<f64> = counts.iter().map(|&(_, count)| count).collect();
    /// values.sort_by(f64::total_cmp);
    /// assert_eq!(values, [1.0, 2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn features(&self, graph: &Graph) -> Result<Vec<(u64, f64)>, Error> {
        self.validate()?;
        Ok(self.counted(graph, &mut Counts::default()))
    }

    /// Returns the features of a graph; the parameters have been checked.
    fn counted(&self, graph: &Graph, counts: &mut Counts) -> Vec<(u64, f64)> {
        self.count(graph, ROOT, counts);
        counts.finish()
    }

    /// Counts the features of a graph. `prefix` is mixed into each of them.
    fn count(&self, graph: &Graph, prefix: u64, counts: &mut Counts) {
        match *self {
            Self::VertexHistogram { edge_labels } => {
                counts::vertex_histogram(graph, edge_labels, prefix, counts);
            }
            Self::ShortestPath { edge_labels } => {
                counts::shortest_path(graph, edge_labels, prefix, counts);
            }
            Self::WeisfeilerLehman { iterations, edge_labels, ref base } => {
                counts::weisfeiler_lehman(graph, iterations, edge_labels, base, prefix, counts);
            }
            Self::Core { ref base } => counts::core(graph, base, prefix, counts),
            Self::Sum { ref kernels } => counts::sum(graph, kernels, prefix, counts),
            Self::Nspd(pairs) => pairs.count(graph, prefix, counts),
        }
    }
}
