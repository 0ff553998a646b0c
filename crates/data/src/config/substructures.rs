//! What molecules are made of, as features of outputs.

use dsokr_molecule::kernels::GraphKernel;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::outputs::KERNEL;
use crate::Error;
use crate::error::check;

/// Parts of molecules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Substructures {
    /// Surroundings of atoms, as Morgan fingerprints count them, folded into columns.
    Morgan {
        /// Bonds from an atom to the rim of its surroundings.
        #[serde(default = "two")]
        radius: usize,
        /// Number of columns.
        #[serde(default = "columns")]
        width: usize,
    },
    /// Stereo centres that are R or S and double bonds that are E or Z, with the surroundings of atoms that
    /// hold them, folded into columns.
    Configurations {
        /// Bonds from an atom to the rim of its surroundings.
        #[serde(default = "two")]
        radius: usize,
        /// Number of columns.
        #[serde(default = "columns")]
        width: usize,
    },
    /// Lengths of carbon chains and what stands where on them, folded into columns.
    Chains {
        /// Number of columns.
        #[serde(default = "columns")]
        width: usize,
    },
    /// Ring systems, whole, and what stands where on them, folded into columns.
    Rings {
        /// Number of columns.
        #[serde(default = "columns")]
        width: usize,
    },
    /// Elements, hydrogens among them, bonds by their order, functional groups, charges, rings, and
    /// configurations.
    Composition {},
    /// What a graph kernel compares.
    Graph {
        /// The kernel.
        kernel: GraphKernel,
    },
}

fn two() -> usize {
    2
}

fn columns() -> usize {
    2048
}

impl Substructures {
    /// `key` is where the configuration has them.
    pub(super) fn validate(&self, key: &str) -> Result<(), Error> {
        match self {
            Self::Graph { kernel } => {
                kernel.validate().map_err(|e| Error::value(&format!("{key}.kernel"), e, KERNEL))
            }
            Self::Morgan { width, .. }
            | Self::Configurations { width, .. }
            | Self::Chains { width }
            | Self::Rings { width } => {
                check(*width > 0, &format!("{key}.width"), width, "at least 1")
            }
            Self::Composition {} => Ok(()),
        }
    }
}
