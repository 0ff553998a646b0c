//! The components of a molecule, its ions and solvents among them, and its isotopes, as feature rows.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::HashedFeatures;
use super::rings::pattern;
use crate::molecule::{Atom, Molecule};
use crate::refinement::{code_of, mix};

/// The parts of a molecule that no bond joins, and its isotopes, as hashed features: what names of salts,
/// hydrates and labelled compounds say (hydrochloride, disodium, zwitterion, (2)H) and the surroundings of
/// atoms spread over many features.
///
/// - Of each component: its net charge, with its element where it is a single atom.
/// - Where there are several, of each: its elements and bonds, whole; and these with charges, hydrogens and
///   isotopes.
/// - The number of components.
/// - Of each atom whose SMILES gives a mass number: this and its element.
///
/// ```
/// use dsokr_molecule::{Components, HashedFeatures, Molecule};
///
/// let codes = |smiles| Ok::<_, dsokr_molecule::Error>(
///     Components::default().codes(&Molecule::parse(smiles)?)
/// );
/// // both salts have the chloride; the ammonium ions differ
/// let (first, second) = (codes("C[NH3+].[Cl-]")?, codes("CC[NH3+].[Cl-]")?);
/// assert_eq!(first.keys().filter(|code| !second.contains_key(code)).count(), 2);
/// // a single component without isotopes says its charge alone
/// assert_eq!(codes("CCO")?, codes("c1ccccc1")?);
/// # Ok::<(), dsokr_molecule::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Components {
    /// Number of columns.
    pub width: usize,
}

impl Default for Components {
    fn default() -> Self {
        // ions that occur once must not share a column with chloride
        Self { width: 1 << 16 }
    }
}

impl HashedFeatures for Components {
    const NAME: &'static str = "components";

    fn width(&self) -> usize {
        self.width
    }

    fn codes(&self, molecule: &Molecule) -> BTreeMap<u32, u32> {
        let mut counts = BTreeMap::new();
        let mut count = |words: &[u64]| *counts.entry(code_of(words)).or_insert(0) += 1;
        let components = molecule.parts();
        count(&[NUMBER, components.len() as u64]);
        let element = |atom: usize| u64::from(molecule.atoms()[atom].element.atomic_number());
        let state = |atom: usize| state(&molecule.atoms()[atom]);
        for component in &components {
            let charge: i64 =
                component.iter().map(|&atom| i64::from(molecule.atoms()[atom].charge)).sum();
            let single = if let [atom] = component[..] { 1 + element(atom) } else { 0 };
            count(&[CHARGE, charge as u64, single]);
            if components.len() > 1 {
                count(&[BARE, pattern(molecule, component, element, true)]);
                count(&[FULL, pattern(molecule, component, state, true)]);
            }
        }
        for (at, atom) in molecule.atoms().iter().enumerate() {
            if let Some(mass) = atom.isotope {
                count(&[ISOTOPE, element(at), u64::from(mass)]);
            }
        }
        counts
    }
}

const NUMBER: u64 = 0;
const CHARGE: u64 = 1;
const BARE: u64 = 2;
const FULL: u64 = 3;
const ISOTOPE: u64 = 4;

/// An atom with its charge, hydrogens and isotope.
fn state(atom: &Atom) -> u64 {
    let words = [
        u64::from(atom.element.atomic_number()),
        i64::from(atom.charge) as u64,
        u64::from(atom.hydrogens),
        atom.isotope.map_or(0, u64::from),
    ];
    words.into_iter().fold(0, mix)
}
