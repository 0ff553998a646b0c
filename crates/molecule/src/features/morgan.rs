//! Morgan fingerprints: the atoms of a molecule with their surroundings, as hashed features.

use std::collections::BTreeMap;

use dsokr_basis::features::BitRows;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use super::{HashedFeatures, MoleculeFeatures};
use crate::error::Error;
use crate::molecule::{Bond, BondOrder, Molecule};

/// Morgan (extended-connectivity) fingerprints after Rogers and Hahn (2010),
/// doi:10.1021/ci100050t, with the atom invariants and the hash of RDKit's, so that two
/// fingerprints collide in the same columns.
///
/// `combine(h, v) = h ^ (v + 0x9e3779b9 + (h << 6) + (h >> 2))` in 32-bit arithmetic; a list of words
/// is combined one after the other, from 0. The code of an atom at radius 0 combines its atomic
/// number, the number of its neighbours with hydrogens, its hydrogens, its charge (two's
/// complement), its mass number (0 if none is given, where RDKit takes a difference of masses) and, if it
/// lies in a ring, 1. At radius r, r − 1 is combined with its code at r − 1 and with the sorted
/// pairs (bond, neighbour's code at r − 1), each combined from 0 first; the bond is 1 to 4 by its
/// order, 17 if dative and 12 if aromatic. The bonds within r of an atom are its surroundings;
/// surroundings that an earlier radius has seen give no feature, and of atoms with the same
/// surroundings at one radius only the smallest code does. Configurations are ignored. A
/// feature's column is its code modulo the width. These rules do not change within a major version.
///
/// ```
/// use dsokr_molecule::{HashedFeatures, Molecule, Morgan};
///
/// let molecules = [Molecule::parse("CCO")?, Molecule::parse("OCC")?];
/// let bits = Morgan::default().bits(&molecules)?;
/// assert_eq!(bits.width(), 2048);
/// assert_eq!(bits.row(0), bits.row(1));
/// // Three atoms; C–C, C–O and C–C–O.
/// assert_eq!(Morgan::default().codes(&molecules[0]).len(), 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(default, deny_unknown_fields)]
pub struct Morgan {
    /// Bonds from an atom to the rim of its surroundings.
    #[default = 2]
    pub radius: usize,
    /// Number of columns.
    #[default = 2048]
    pub width: usize,
}

impl HashedFeatures for Morgan {
    fn width(&self) -> usize {
        self.width
    }

    fn codes(&self, molecule: &Molecule) -> BTreeMap<u32, u32> {
        let bonds = molecule.bonds().iter().map(bond_code).collect::<Vec<_>>();
        let all = vec![true; molecule.atoms().len()];
        surroundings(molecule, self.radius, atom_codes(molecule), &bonds, all)
    }
}

impl Morgan {
    /// Returns a row of bits for each molecule: which columns its features fall into.
    ///
    /// # Errors
    /// The errors of [`counts`](MoleculeFeatures::counts).
    pub fn bits(&self, molecules: &[Molecule]) -> Result<BitRows, Error> {
        let counts = self.counts(molecules)?;
        let rows = (0..counts.len()).map(|row| counts.row(row).0.iter().copied());
        Ok(BitRows::from_indices(self.width, rows)?)
    }
}

/// Returns the features of the surroundings of atoms up to a radius, given the codes of atoms and bonds at radius
/// 0, and how often each is there; only of surroundings that hold a marked atom.
pub(super) fn surroundings(
    molecule: &Molecule,
    radius: usize,
    mut codes: Vec<u32>,
    bonds: &[u32],
    mut marked: Vec<bool>,
) -> BTreeMap<u32, u32> {
    let mut counts = BTreeMap::new();
    if !marked.contains(&true) {
        return counts;
    }
    let mut count = |code: u32| *counts.entry(code).or_insert(0) += 1;
    codes.iter().zip(&marked).filter(|(_, marked)| **marked).for_each(|(&code, _)| count(code));
    // the bonds of the surroundings of each atom at each radius as bits, and for each of them the code, if it is marked
    let atoms = codes.len();
    let words = bonds.len().div_ceil(64);
    let mut sets = vec![0_u64; atoms * words];
    let mut environments = vec![None; atoms];
    for radius in 1..=radius {
        let before = sets.len() - atoms * words;
        let mut next_codes = Vec::with_capacity(atoms);
        for atom in 0..atoms {
            let neighbors = molecule.neighbors(atom);
            let mut around: Vec<(u32, u32)> =
                neighbors.iter().map(|n| (bonds[n.bond], codes[n.atom])).collect();
            around.sort_unstable();
            let start = combine(radius as u32 - 1, codes[atom]);
            let pair = |&(bond, code): &(u32, u32)| combine(combine(0, bond), code);
            next_codes.push(around.iter().map(pair).fold(start, combine));

            let start = sets.len();
            sets.resize(start + words, 0);
            for n in neighbors {
                sets[start + n.bond / 64] |= 1 << (n.bond % 64);
                for word in 0..words {
                    sets[start + word] |= sets[before + n.atom * words + word];
                }
            }
        }
        if sets[before..][..atoms * words] == sets[before + atoms * words..] {
            // All further surroundings have been seen.
            break;
        }
        let reach = |atom: usize| molecule.neighbors(atom).iter().any(|n| marked[n.atom]);
        marked = (0..atoms).map(|atom| marked[atom] || reach(atom)).collect();
        codes = next_codes;
        environments
            .extend(codes.iter().zip(&marked).map(|(&code, &marked)| marked.then_some(code)));
    }
    let set = |at: &usize| &sets[at * words..][..words];
    let mut order: Vec<usize> = (atoms..environments.len()).collect();
    order.retain(|at| set(at).iter().any(|&word| word != 0));
    order.sort_unstable_by_key(|at| (set(at), at / atoms, environments[*at]));
    order.dedup_by(|next, first| set(next) == set(first));
    order.into_iter().filter_map(|at| environments[at]).for_each(count);
    counts
}

/// Returns the hash of Boost, `hash_combine`.
pub(super) fn combine(hash: u32, value: u32) -> u32 {
    hash ^ value.wrapping_add(0x9e37_79b9).wrapping_add(hash << 6).wrapping_add(hash >> 2)
}

pub(super) fn atom_codes(molecule: &Molecule) -> Vec<u32> {
    let in_ring = molecule.in_ring();
    molecule
        .atoms()
        .iter()
        .enumerate()
        .map(|(index, atom)| {
            let words = [
                u32::from(atom.element.atomic_number()),
                molecule.degree(index) as u32 + u32::from(atom.hydrogens),
                u32::from(atom.hydrogens),
                i32::from(atom.charge) as u32,
                atom.isotope.map_or(0, u32::from),
            ];
            words.into_iter().chain(in_ring[index].then_some(1)).fold(0, combine)
        })
        .collect()
}

pub(super) fn bond_code(bond: &Bond) -> u32 {
    match bond.order {
        _ if bond.aromatic => 12,
        BondOrder::Dative => 17,
        order => u32::from(order.multiplicity()),
    }
}
