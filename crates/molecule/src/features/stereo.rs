//! What is R or S, E or Z in a molecule, as feature rows.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::featurizer::HashedFeatures;
use super::morgan::{atom_codes, bond_code, combine, surroundings};
use crate::descriptors::{Descriptors, code};
use crate::molecule::Molecule;

/// Configurations with the surroundings that they stand in, as hashed features: those of [`Morgan`]
/// that hold a stereo centre or a double bond with a geometry, whose codes say R, S, E or Z.
///
/// Molecules that differ in configurations alone have the same [`Morgan`] features, and others here.
/// A centre's code is combined with 1 for R, 2 for S and 3 where its ligands are alike; a double bond's
/// with 1 for Z, 2 for E and 3. Ligands are ranked by the first two Cahn–Ingold–Prelog rules, atomic numbers
/// and masses; a few configurations need more.
///
/// ```
/// use dsokr_molecule::{Stereo, HashedFeatures, Molecule};
///
/// let codes = |smiles| Ok::<_, dsokr_molecule::Error>(
///     Stereo::default().codes(&Molecule::parse(smiles)?)
/// );
/// assert_ne!(codes("C[C@H](N)C(=O)O")?, codes("C[C@@H](N)C(=O)O")?);
/// assert!(codes("CC(N)C(=O)O")?.is_empty());
/// # Ok::<(), dsokr_molecule::Error>(())
/// ```
///
/// [`Morgan`]: crate::Morgan
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Stereo {
    /// Bonds from an atom to the rim of its surroundings.
    pub radius: usize,
    /// Number of columns.
    pub width: usize,
}

impl Default for Stereo {
    fn default() -> Self {
        Self { radius: 2, width: 2048 }
    }
}

impl HashedFeatures for Stereo {
    const NAME: &'static str = "configurations";

    fn width(&self) -> usize {
        self.width
    }

    fn codes(&self, molecule: &Molecule) -> BTreeMap<u32, u32> {
        let descriptors = Descriptors::of(molecule);
        let mut atoms = atom_codes(molecule);
        let mut bonds: Vec<u32> = molecule.bonds().iter().map(bond_code).collect();
        let mut marked = vec![false; atoms.len()];
        for (atom, right) in descriptors.centers {
            atoms[atom] = combine(atoms[atom], code(right));
            marked[atom] = true;
        }
        for (bond, together) in descriptors.geometries {
            bonds[bond] = combine(bonds[bond], code(together));
            for end in molecule.bonds()[bond].atoms {
                // so that a feature at radius 0 says it too
                atoms[end] = combine(atoms[end], bonds[bond]);
                marked[end] = true;
            }
        }
        surroundings(molecule, self.radius, atoms, &bonds, marked)
    }
}
