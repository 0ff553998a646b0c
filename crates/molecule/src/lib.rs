//! Molecules: SMILES in, labelled graphs out, and English descriptions of them.
//!
//! [`graph::Graph`] is what graph kernels and edit distances see of a molecule, and any other
//! labelled graph; [`kernels`] makes sparse features of them, [`ged`] is
//! their edit distance. [`Molecule::parse`] reads a SMILES;
//! [`functional_groups`], [`ring_systems`] and [`longest_carbon_chain`] say what is in it;
//! [`describe`] says it in English; [`quickstart`] makes the project's own small data set from that.

mod canonical;
mod chain_features;
mod chains;
mod configurations;
mod counts;
mod depict;
mod describe;
mod descriptors;
mod error;
pub mod ged;
pub mod graph;
mod groups;
pub mod kernels;
mod molecule;
mod morgan;
pub mod quickstart;
mod refinement;
mod ring_features;
mod ring_systems;
mod smiles;
mod stereo;

pub use chain_features::Chains;
pub use chains::longest_carbon_chain;
pub use configurations::Configurations;
pub use counts::{count_columns, count_rows};
pub use depict::{svg_column, svg_pair};
pub use describe::describe;
pub use error::Error;
pub use groups::{FunctionalGroup, functional_groups};
pub use molecule::{Atom, Bond, BondOrder, Element, Molecule, Neighbor, Ring};
pub use morgan::Morgan;
pub use ring_features::Rings;
pub use ring_systems::{RingSystem, ring_systems};
pub use smiles::{MAX_ATOMS, MAX_LENGTH, MAX_NESTING, MAX_RINGS};
