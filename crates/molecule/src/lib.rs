//! Molecules: SMILES in, labelled graphs and feature rows out.
//!
//! [`Molecule::parse`] reads a SMILES. [`graph::Graph`] is what graph kernels and edit distances see of a
//! molecule, and of anything else that is a labelled graph; [`kernels`] makes sparse features of graphs,
//! [`ged`] is their edit distance.

mod canonical;
mod chains;
mod configurations;
mod counts;
mod depict;
mod descriptors;
mod error;
pub mod ged;
pub mod graph;
mod groups;
pub mod kernels;
mod molecule;
mod morgan;
mod refinement;
mod ring_features;
mod ring_systems;
mod smiles;
mod stereo;

pub use chains::Chains;
pub use configurations::Configurations;
pub use counts::{count_columns, count_rows};
pub use depict::{svg_column, svg_pair};
pub use error::Error;
pub use groups::{FunctionalGroup, functional_groups};
pub use molecule::{Atom, Bond, BondOrder, Element, Molecule, Neighbor, Ring};
pub use morgan::Morgan;
pub use ring_features::Rings;
pub use ring_systems::{RingSystem, ring_systems};
pub use smiles::{MAX_ATOMS, MAX_LENGTH, MAX_NESTING, MAX_RINGS};
