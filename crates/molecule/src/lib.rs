//! Molecules: SMILES in, labelled graphs and feature rows out.
//!
//! [`Molecule::parse`] reads a SMILES. A [`graph::Graph`] is what graph kernels ([`kernels`]) and the edit
//! distance ([`ged`]) see of a molecule, and of anything else that is a labelled graph.
//! [`MoleculeFeatures`] turns molecules into the sparse rows that `dsokr-basis` fits kernels on.
//!
//! ```
//! use dsokr_molecule::ged::{Limit, edit_distance};
//! use dsokr_molecule::{Molecule, MoleculeFeatures, Morgan, graph::Graph, svg_pair};
//!
//! let benzene = Molecule::parse("c1ccccc1")?;
//! let pyridine = Molecule::parse("n1ccccc1")?;
//! assert_eq!(pyridine.canonical_smiles(), "c1ccncc1");
//!
//! let distance = edit_distance(&Graph::from(&benzene), &Graph::from(&pyridine), &Limit::NONE);
//! assert_eq!(distance.exact(), Some(1));
//!
//! let drawing = svg_pair((&benzene.svg(), "truth"), (&pyridine.svg(), "prediction"));
//! assert!(drawing.starts_with("<svg"));
//!
//! let rows = Morgan::default().counts(&[benzene, pyridine])?;
//! assert_eq!((rows.len(), rows.width()), (2, 2048));
//! # Ok::<(), dsokr_molecule::Error>(())
//! ```

mod canonical;
mod drawing;
mod element;
mod error;
mod facts;
mod features;
mod formula;
mod fragmenter;
pub mod ged;
pub mod graph;
mod groups;
mod isotopes;
pub mod kernels;
mod marked;
mod mol_file;
mod molecule;
mod moves;
mod refinement;
mod skeleton;
mod smiles;

pub use drawing::{svg_column, svg_pair, svg_sheet, svg_text};
pub use element::Element;
pub use error::Error;
pub use facts::Fact;
pub use features::{
    Chains, Components, Composition, GraphCounts, HashedFeatures, MoleculeFeatures, Morgan,
    RingSystem, Rings, Stereo, Substructures, ring_systems,
};
pub use formula::{
    ELECTRON, ElementCounts, IsotopeCounts, exact_mass, formula, isotope_formula, read_formula,
};
pub use fragmenter::{AtomSet, Fragmenter, MoleculePart};
pub use groups::{FunctionalGroup, functional_groups};
pub use isotopes::isotope_mass;
pub use mol_file::{smiles_of_mol_block, title_of_mol_block};
pub use molecule::{Atom, Bond, BondOrder, Molecule, Neighbor, Ring};
pub use moves::{GraphPalette, Group, Moves, Palette, SeenStructures};
pub use smiles::{Formula, MAX_ATOMS, MAX_LENGTH, MAX_NESTING, MAX_RING_WILDCARDS, MAX_RINGS};

/// The program of the README, which runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
