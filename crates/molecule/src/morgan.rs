//! Morgan fingerprints: the atoms of a molecule with their surroundings, as hashed features.

use std::collections::{BTreeMap, BTreeSet};

use dsokr_basis::features::{BitRows, SparseRows};
use rayon::prelude::*;

use crate::molecule::{Bond, BondOrder, Molecule};
use crate::refinement::mix;

/// Morgan (extended-connectivity) fingerprints after Rogers and Hahn (2010),
/// doi:10.1021/ci100050t, with the atom invariants of RDKit and a hash of our own.
///
/// `mix(h, v)` is the SplitMix64 finaliser (variant 13 of Stafford's constants, after the addition
/// of `0x9e3779b97f4a7c15`) of `rotate_left(h, 5) ^ v`, and a list of words is hashed by folding it
/// from 0. The code of an atom at radius 0 hashes its atomic number, the number of its neighbours
/// with hydrogens, its hydrogens, its charge (two's complement), its mass number (0 if none is
/// given) and whether it lies in a ring. At radius r it hashes r, its code at r − 1, and the sorted pairs
/// (bond, neighbour's code at r − 1), where the bond is 1 to 4 by its order, 5 if dative and 12 if
/// aromatic. The bonds within r of an atom are its surroundings; surroundings that an
/// earlier radius has seen give no feature, and of atoms with the same surroundings at one radius
/// the smallest code alone does. Configurations are not looked at. A feature's column is its
/// code modulo the width. Nothing of this changes within a major version.
///
/// ```
/// use dsokr_molecule::{Molecule, Morgan};
///
/// let molecules = [Molecule::parse("CCO")?, Molecule::parse("OCC")?];
/// let bits = Morgan::default().bits(&molecules)?;
/// assert_eq!(bits.width(), 2048);
/// assert_eq!(bits.words()[..32], bits.words()[32..]);
/// // Three atoms; C–C, C–O and C–C–O.
/// assert_eq!(Morgan::default().codes(&molecules[0]).len(), 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Morgan {
    /// Bonds from an atom to the rim of its surroundings, 2 by default; 0 looks at atoms alone.
    pub radius: usize,
    /// Number of columns, 2,048 by default.
    pub width: usize,
}

impl Default for Morgan {
    fn default() -> Self {
        Self { radius: 2, width: 2048 }
    }
}

impl Morgan {
    /// The features of a molecule before they are folded into columns, and how often it has each.
    #[must_use]
    pub fn codes(&self, molecule: &Molecule) -> BTreeMap<u64, u32> {
        let mut codes = atom_codes(molecule);
        let mut counts = BTreeMap::new();
        codes.iter().for_each(|&code| *counts.entry(code).or_insert(0) += 1);
        let mut seen: BTreeSet<Vec<u32>> = BTreeSet::new();
        let mut surroundings: Vec<Vec<u32>> = vec![Vec::new(); codes.len()];
        for radius in 1..=self.radius {
            let mut grown = false;
            let mut next_codes = Vec::with_capacity(codes.len());
            let mut next_surroundings = Vec::with_capacity(codes.len());
            for atom in 0..codes.len() {
                let neighbors = molecule.neighbors(atom);
                let mut around: Vec<(u64, u64)> = neighbors
                    .iter()
                    .map(|n| (bond_code(&molecule.bonds()[n.bond]), codes[n.atom]))
                    .collect();
                around.sort_unstable();
                let start = mix(mix(0, radius as u64), codes[atom]);
                next_codes.push(around.iter().fold(start, |hash, &(b, code)| mix(mix(hash, b), code)));

                let own = neighbors.iter().map(|n| n.bond as u32);
                let theirs = neighbors.iter().flat_map(|n| surroundings[n.atom].iter().copied());
                let mut bonds: Vec<u32> = own.chain(theirs).collect();
                bonds.sort_unstable();
                bonds.dedup();
                grown |= bonds.len() > surroundings[atom].len();
                next_surroundings.push(bonds);
            }
            (codes, surroundings) = (next_codes, next_surroundings);
            if !grown {
                // All further surroundings have been seen.
                break;
            }
            let mut order: Vec<usize> =
                (0..codes.len()).filter(|&atom| !surroundings[atom].is_empty()).collect();
            order.sort_unstable_by_key(|&atom| (&surroundings[atom], codes[atom]));
            order.dedup_by_key(|atom| &surroundings[*atom]);
            for atom in order {
                if seen.insert(surroundings[atom].clone()) {
                    *counts.entry(codes[atom]).or_insert(0) += 1;
                }
            }
        }
        counts
    }

    /// A row of bits for each molecule: which columns its features fall into.
    ///
    /// # Errors
    /// [`ZeroWidth`](dsokr_basis::Error::ZeroWidth), [`TooWide`](dsokr_basis::Error::TooWide).
    pub fn bits(&self, molecules: &[Molecule]) -> Result<BitRows, dsokr_basis::Error> {
        // Refuses a width that no column can be taken modulo of.
        BitRows::from_indices(self.width, [[0; 0]; 0])?;
        let rows = molecules.par_iter().map(|molecule| {
            self.codes(molecule).into_keys().map(|code| self.column(code)).collect::<Vec<_>>()
        });
        BitRows::from_indices(self.width, rows.collect::<Vec<_>>())
    }

    /// A row of counts for each molecule: how many features fall into a column.
    ///
    /// # Errors
    /// [`ZeroWidth`](dsokr_basis::Error::ZeroWidth), [`TooWide`](dsokr_basis::Error::TooWide).
    pub fn counts(&self, molecules: &[Molecule]) -> Result<SparseRows, dsokr_basis::Error> {
        BitRows::from_indices(self.width, [[0; 0]; 0])?;
        let rows = molecules.par_iter().map(|molecule| {
            let mut row = BTreeMap::new();
            for (code, count) in self.codes(molecule) {
                *row.entry(self.column(code)).or_insert(0.0) += count as f32;
            }
            row
        });
        SparseRows::from_rows(self.width, rows.collect::<Vec<_>>())
    }

    fn column(&self, code: u64) -> u32 {
        (code % self.width as u64) as u32 // the width has been checked
    }
}

fn atom_codes(molecule: &Molecule) -> Vec<u64> {
    let mut in_ring = vec![0; molecule.atoms().len()];
    molecule.rings().iter().flat_map(|ring| &ring.atoms).for_each(|&atom| in_ring[atom] = 1);
    let atoms = molecule.atoms().iter().enumerate();
    atoms
        .map(|(index, atom)| {
            let words = [
                u64::from(atom.element.atomic_number()),
                molecule.degree(index) as u64 + u64::from(atom.hydrogens),
                u64::from(atom.hydrogens),
                i64::from(atom.charge) as u64,
                atom.isotope.map_or(0, u64::from),
                in_ring[index],
            ];
            words.into_iter().fold(0, mix)
        })
        .collect()
}

fn bond_code(bond: &Bond) -> u64 {
    match bond.order {
        _ if bond.aromatic => 12,
        BondOrder::Dative => 5,
        order => u64::from(order.multiplicity()),
    }
}
