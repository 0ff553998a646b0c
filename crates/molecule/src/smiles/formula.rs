//! The formula of a SMILES, without its structure.

use chematic_core::{BondOrder as Order, Molecule as Parsed, kekulize};

use super::{donors, graph, perceive, read};
use crate::error::Error;
use crate::formula::ElementCounts;
use crate::molecule::Molecule;

/// The formula of a molecule with its masses.
///
/// [`Formula::parse`] takes a fraction of the time of [`Molecule::parse`], because any Kekulé structure tells the
/// number of hydrogens: rings, aromaticity and configurations are not perceived.
#[derive(Debug, Clone, PartialEq)]
pub struct Formula {
    /// Number of atoms of each element, hydrogens among them; see [`Molecule::composition`].
    pub atoms: ElementCounts,
    /// The sum of the formal charges.
    pub charge: i32,
    /// Monoisotopic mass in Da; see [`Molecule::exact_mass`].
    pub exact_mass: f64,
    /// Monoisotopic mass in Da with all electrons of the atoms; see [`Molecule::neutral_mass`].
    pub neutral_mass: f64,
    /// Molar mass in g/mol; see [`Molecule::molar_mass`].
    pub molar_mass: f64,
}

impl Formula {
    /// Reads the formula of a SMILES.
    ///
    /// ```
    /// use dsokr_molecule::{Formula, Molecule};
    ///
    /// let aspirin = "CC(=O)Oc1ccccc1C(=O)O";
    /// let formula = Formula::parse(aspirin)?;
    /// assert_eq!(formula, Formula::from(&Molecule::parse(aspirin)?));
    /// assert_eq!(dsokr_molecule::formula(&formula.atoms), "C9H8O4");
    /// # Ok::<(), dsokr_molecule::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Molecule::parse`].
    pub fn parse(smiles: &str) -> Result<Self, Error> {
        read(smiles, |parsed, places| {
            let kekule = if is_regular(parsed) { kekulize(parsed).ok() } else { None };
            let donors = donors(parsed);
            let read = kekule.and_then(|kekule| graph(parsed, &donors, &kekule, places).ok());
            match read {
                Some((molecule, _)) => Ok(Self::from(&molecule)),
                // only perception tells what is wrong, if anything is
                None => Ok(Self::from(&perceive(parsed, places)?)),
            }
        })
    }
}

/// Returns whether there are no wildcards, each aromatic atom has aromatic bonds to two others, and no other atom has one:
/// perception may find that other rings are not aromatic, or cannot be.
fn is_regular(parsed: &Parsed) -> bool {
    parsed.atoms().all(|(index, atom)| {
        let bonds = parsed.neighbors(index).map(|(_, bond)| parsed.bond(bond).order);
        let aromatic = bonds.filter(|&order| order == Order::Aromatic).count();
        let fits = if atom.aromatic { aromatic >= 2 } else { aromatic == 0 };
        fits && !atom.wildcard
    })
}

impl From<&Molecule> for Formula {
    fn from(molecule: &Molecule) -> Self {
        Self {
            atoms: molecule.composition(),
            charge: molecule.charge(),
            exact_mass: molecule.exact_mass(),
            neutral_mass: molecule.neutral_mass(),
            molar_mass: molecule.molar_mass(),
        }
    }
}
