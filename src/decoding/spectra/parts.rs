//! Parts of molecules as numbers that are equal for equal parts.

use dsokr_molecule::{AtomSet, Molecule};

/// Rounds by which a part is told from others, coarse and fine.
pub(super) const ROUNDS: [usize; 2] = [0, 2];

/// Returns a number for the part of a molecule that some atoms are, for each of the [`ROUNDS`] of Weisfeiler and Lehman: of
/// elements, aromaticity and bonds within the part.
pub(super) fn codes(molecule: &Molecule, atoms: AtomSet) -> [u64; ROUNDS.len()] {
    let is_inside = |atom: usize| atoms >> atom & 1 == 1;
    let inside: Vec<usize> = (0..molecule.atoms().len()).filter(|&atom| is_inside(atom)).collect();
    let mut labels = vec![0; molecule.atoms().len()];
    for &at in &inside {
        let atom = molecule.atoms()[at];
        labels[at] = mixed(u64::from(atom.element.atomic_number()), u64::from(atom.aromatic));
    }
    let mut codes = [0; ROUNDS.len()];
    for round in 0..=ROUNDS[ROUNDS.len() - 1] {
        if let Some(at) = ROUNDS.iter().position(|&rounds| rounds == round) {
            codes[at] = inside.iter().map(|&at| labels[at]).fold(1, sum);
        }
        let next = |&at: &usize| {
            let neighbors = molecule.neighbors(at).iter().filter(|near| is_inside(near.atom));
            let around = neighbors.map(|near| {
                let bond = molecule.bonds()[near.bond];
                let order = if bond.aromatic { 5 } else { u64::from(bond.order.multiplicity()) };
                mixed(labels[near.atom], order)
            });
            mixed(labels[at], around.fold(0, sum))
        };
        let after: Vec<u64> = inside.iter().map(next).collect();
        inside.iter().zip(after).for_each(|(&at, label)| labels[at] = label);
    }
    codes
}

/// Adds a number, mixed, to those in any order.
fn sum(all: u64, label: u64) -> u64 {
    all.wrapping_add(mixed(label, 0x5bd1))
}

/// Mixes two numbers into one.
fn mixed(a: u64, b: u64) -> u64 {
    let mut mixed = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_add(0x7f4a_7c15_9e37_79b9);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
