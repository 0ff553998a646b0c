//! Molecules: SMILES in, labelled graphs and feature rows out.
//!
//! [`Molecule::parse`] reads a SMILES. [`graph::Graph`] is what graph kernels and edit distances see of a
//! molecule, and of anything else that is a labelled graph; [`kernels`] makes sparse features of graphs,
//! [`ged`] is their edit distance.

mod canonical;
mod depict;
mod descriptors;
mod error;
mod features;
pub mod ged;
pub mod graph;
mod groups;
pub mod kernels;
mod molecule;
mod refinement;
mod ring_systems;
mod smiles;
mod stereo;

pub use depict::{svg_column, svg_pair};
pub use error::Error;
pub use features::{
    Chains, Composition, Configurations, GraphCounts, HashedFeatures, MoleculeFeatures, Morgan,
    Rings, Substructures,
};
pub use groups::{FunctionalGroup, functional_groups};
pub use molecule::{Atom, Bond, BondOrder, Element, Molecule, Neighbor, Ring};
pub use ring_systems::{RingSystem, ring_systems};
pub use smiles::{MAX_ATOMS, MAX_LENGTH, MAX_NESTING, MAX_RINGS};

/// The program of the README, which runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
