//! Feature rows of molecules, one featurizer a file.
//!
//! A featurizer is a [`MoleculeFeatures`], mostly by way of [`HashedFeatures`]. A line in the list of
//! [`Substructures`] lets configurations name it.

mod chains;
mod components;
mod composition;
mod featurizer;
mod graph;
mod morgan;
mod rings;
mod stereo;

use dsokr_basis::features::SparseRows;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Error, Molecule};

pub use chains::Chains;
pub(crate) use chains::chain_lengths;
pub use components::Components;
pub use composition::Composition;
pub use featurizer::{HashedFeatures, MoleculeFeatures};
pub use graph::GraphCounts;
pub use morgan::Morgan;
pub use rings::Rings;
pub use stereo::Stereo;

macro_rules! substructures {
    ($($(#[$what:meta])* $name:ident($features:ty),)*) => {
        /// Parts of molecules.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "name", rename_all = "kebab-case")]
        pub enum Substructures {
            $($(#[$what])* $name($features),)*
        }

        impl Substructures {
            fn features(&self) -> &dyn MoleculeFeatures {
                match self {
                    $(Self::$name(features) => features,)*
                }
            }
        }
    };
}

substructures! {
    /// Surroundings of atoms, as Morgan fingerprints count them, folded into columns.
    Morgan(Morgan),
    /// Stereo centres that are R or S and double bonds that are E or Z, with the surroundings of atoms that
    /// hold them, folded into columns.
    #[serde(rename = "configurations")]
    Stereo(Stereo),
    /// Lengths of carbon chains and what stands where on them, folded into columns.
    Chains(Chains),
    /// Ring systems, whole, and what stands where on them, folded into columns.
    Rings(Rings),
    /// What no bond joins: ions, solvents, the charge of each, and isotopes, folded into columns.
    Components(Components),
    /// Elements, hydrogens among them, bonds by their order, functional groups, charges, rings, and
    /// configurations.
    Composition(Composition),
    /// What a graph kernel compares.
    Graph(GraphCounts),
}

impl MoleculeFeatures for Substructures {
    fn validate(&self) -> Result<(), Error> {
        self.features().validate()
    }

    fn counts(&self, molecules: &[Molecule]) -> Result<SparseRows, Error> {
        self.features().counts(molecules)
    }

    fn fit(&self, molecules: &[Molecule]) -> Result<(Vec<u64>, SparseRows), Error> {
        self.features().fit(molecules)
    }

    fn counts_in(&self, columns: &[u64], molecules: &[Molecule]) -> Result<SparseRows, Error> {
        self.features().counts_in(columns, molecules)
    }
}
