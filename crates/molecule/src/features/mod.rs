//! Feature rows of molecules, one featurizer a file.
//!
//! A featurizer is a [`MoleculeFeatures`], mostly by way of [`HashedFeatures`]. A line in the list of
//! [`Substructures`] lets configurations name it.

mod chains;
mod composition;
mod morgan;
mod rings;
mod stereo;

use std::collections::BTreeMap;
use std::ops::Deref;

use dsokr_basis::features::{BitRows, SparseRows};
use dsokr_core::Cancellation;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::graph::Graph;
use crate::kernels::GraphKernel;
use crate::molecule::Molecule;

pub use chains::Chains;
pub(crate) use chains::chain_lengths;
pub use composition::Composition;
pub use morgan::Morgan;
pub use rings::{Components, RingSystem, Rings, ring_systems};
pub(crate) use stereo::Descriptors;
pub use stereo::Stereo;

/// Turns molecules into feature rows.
///
/// ```
/// use dsokr_basis::features::SparseRows;
/// use dsokr_molecule::{Error, Molecule, MoleculeFeatures};
///
/// /// The number of heavy atoms.
/// struct Size;
///
/// impl MoleculeFeatures for Size {
///     fn counts(&self, molecules: &[Molecule]) -> Result<SparseRows, Error> {
///         let row = |molecule: &Molecule| [(0, molecule.atoms().len() as f32)];
///         Ok(SparseRows::from_rows(1, molecules.iter().map(row))?)
///     }
/// }
///
/// let rows = Size.counts(&[Molecule::parse("CCO")?])?;
/// assert_eq!(rows.row(0), (&[0][..], &[3.0][..]));
/// # Ok::<(), Error>(())
/// ```
pub trait MoleculeFeatures {
    /// Checks the parameters; by default there is nothing to check.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for one that is out of range.
    fn validate(&self) -> Result<(), dsokr_core::Error> {
        Ok(())
    }

    /// Returns one row of counts a molecule.
    ///
    /// # Errors
    /// The errors of [`validate`](Self::validate), and [`Error::Core`] for rows that cannot be, such as those
    /// with more columns than can be numbered.
    fn counts(&self, molecules: &[Molecule]) -> Result<SparseRows, Error>;

    /// Returns the meaning of the columns where it depends on the molecules, and the rows. `vocabulary` has the
    /// columns of an earlier fit, if there was one. By default columns do not depend on molecules, and the list is empty.
    ///
    /// # Errors
    /// The errors of [`counts`](Self::counts); columns that are none of this featurizer.
    fn fit(
        &self,
        molecules: &[Molecule],
        vocabulary: Option<&[u64]>,
    ) -> Result<(Vec<u64>, SparseRows), Error> {
        let _ = vocabulary;
        Ok((Vec::new(), self.counts(molecules)?))
    }
}

/// Features that are 32-bit hashes of parts of a molecule, folded into columns.
///
/// The column of a feature is its code modulo the width. Each implementation is a [`MoleculeFeatures`].
pub trait HashedFeatures: Sync {
    /// Returns the number of columns, at least 1.
    fn width(&self) -> usize;

    /// Returns the features of a molecule before they are folded into columns, and how often it has each.
    fn codes(&self, molecule: &Molecule) -> BTreeMap<u32, u32>;
}

impl<F: HashedFeatures> MoleculeFeatures for F {
    fn validate(&self) -> Result<(), dsokr_core::Error> {
        dsokr_core::Error::check_count("width", self.width())
    }

    fn counts(&self, molecules: &[Molecule]) -> Result<SparseRows, Error> {
        self.validate()?;
        let width = self.width();
        // Refuses a width above that of 32-bit column numbers.
        BitRows::from_indices(width, [[0; 0]; 0])?;
        let stage = Cancellation::current().stage("features of molecules", molecules.len());
        let rows = molecules.par_iter().map(|molecule| {
            stage.advance(1)?;
            let mut row = BTreeMap::new();
            for (code, count) in self.codes(molecule) {
                *row.entry(code % width as u32).or_insert(0.0) += count as f32;
            }
            Ok(row)
        });
        Ok(SparseRows::from_rows(width, rows.collect::<Result<Vec<_>, Error>>()?)?)
    }
}

macro_rules! substructures {
    ($($(#[$what:meta])* $name:ident($features:ty),)*) => {
        /// Parts of molecules.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "name", rename_all = "kebab-case")]
        pub enum Substructures {
            $($(#[$what])* $name($features),)*
        }

        impl Deref for Substructures {
            type Target = dyn MoleculeFeatures;

            /// Returns the featurizer.
            fn deref(&self) -> &Self::Target {
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
    /// The components that no bond joins: ions, solvents, the charge of each, and isotopes, folded into columns.
    Components(Components),
    /// Elements, hydrogens among them, bonds by their order, functional groups, charges, rings, and
    /// configurations.
    Composition(Composition),
    /// The features of a graph kernel.
    Graph(GraphCounts),
}

/// The features of a graph kernel, a column for each that occurs in the molecules
/// ([`GraphVocabulary`](crate::kernels::GraphVocabulary)).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphCounts {
    /// The kernel.
    pub kernel: GraphKernel,
}

impl MoleculeFeatures for GraphCounts {
    fn validate(&self) -> Result<(), dsokr_core::Error> {
        self.kernel.validate().map_err(|error| error.of("kernel."))
    }

    fn counts(&self, molecules: &[Molecule]) -> Result<SparseRows, Error> {
        Ok(self.fit(molecules, None)?.1)
    }

    fn fit(
        &self,
        molecules: &[Molecule],
        vocabulary: Option<&[u64]>,
    ) -> Result<(Vec<u64>, SparseRows), Error> {
        self.validate()?;
        let graphs: Vec<Graph> = molecules.par_iter().map(Graph::from).collect();
        self.kernel.rows(&graphs, vocabulary)
    }
}
