//! Chemistry that the grammar allows and no molecule has.

use chematic_core::BondOrder as Order;
use chematic_perception::ring_bond_flags_shared;

use super::scan::{MAX_RING_WILDCARDS, Places};
use crate::Error;
use crate::molecule::{Atom, Bond, BondOrder, Element};

/// Lower-case atoms and `:` bonds only make sense in rings; left alone, the kekulisation would give
/// them double bonds or extra hydrogens.
pub(super) fn check_aromatic_atoms(
    parsed: &chematic_core::Molecule,
    places: &Places,
) -> Result<(), Error> {
    if !has_aromatic(parsed) {
        return Ok(());
    }
    let in_ring = ring_bond_flags_shared(parsed);
    let stray = parsed.atoms().find(|&(idx, atom)| {
        let mut bonds = parsed.neighbors(idx).map(|(_, b)| b);
        if atom.aromatic {
            !bonds.any(|b| in_ring[b.0 as usize])
        } else {
            bonds.any(|b| parsed.bond(b).order == Order::Aromatic && !in_ring[b.0 as usize])
        }
    });
    if let Some((idx, _)) = stray {
        let reason = "an aromatic atom or bond lies in no ring";
        return Err(no_kekule(places.atom(idx.0 as usize), reason));
    }
    // B, C, N, O, Si, P, S, Ge, As, Se, Sb, Te.
    const CAN_BE_AROMATIC: [u8; 12] = [5, 6, 7, 8, 14, 15, 16, 32, 33, 34, 51, 52];
    let other = parsed.atoms().find(|(_, a)| {
        a.aromatic && !a.wildcard && !CAN_BE_AROMATIC.contains(&a.element.atomic_number())
    });
    match other {
        Some((idx, atom)) => {
            let reason = format!("{} cannot be aromatic", atom.element.symbol());
            Err(no_kekule(places.atom(idx.0 as usize), &reason))
        }
        None => Ok(()),
    }
}

/// Refuses more than [`MAX_RING_WILDCARDS`] wildcards in rings.
pub(super) fn check_wildcards(
    parsed: &chematic_core::Molecule,
    places: &Places,
) -> Result<(), Error> {
    let in_ring = |idx| {
        let flags = ring_bond_flags_shared(parsed);
        parsed.neighbors(idx).any(|(_, b)| flags[b.0 as usize])
    };
    let mut wildcards = parsed.atoms().filter(|&(idx, atom)| atom.wildcard && in_ring(idx));
    match wildcards.nth(MAX_RING_WILDCARDS) {
        Some((idx, _)) => {
            let message = format!(
                "more than {MAX_RING_WILDCARDS} wildcards in rings, the most that are read"
            );
            Err(Error::smiles(places.atom(idx.0 as usize), message))
        }
        None => Ok(()),
    }
}

/// Whether a text has aromatic atoms or bonds.
pub(super) fn has_aromatic(parsed: &chematic_core::Molecule) -> bool {
    parsed.atoms().any(|(_, atom)| atom.aromatic)
        || parsed.bonds().any(|(_, bond)| bond.order == Order::Aromatic)
}

/// Refuses atoms of B, C, N, O and F with more bonds than an atom with as many electrons can have:
/// 3, 4, 3, 2 and 1 when neutral. Bonds to metals coordinate and do not count; a neutral nitrogen
/// with a multiple bond may have five, the old way to write nitro groups. Other elements are not checked.
pub(super) fn check_valences(
    atoms: &[Atom],
    bonds: &[Bond],
    place: impl Fn(usize) -> usize,
) -> Result<(), Error> {
    let mut valences: Vec<u32> = atoms.iter().map(|a| u32::from(a.hydrogens)).collect();
    let mut multiple = vec![false; atoms.len()];
    for bond in bonds {
        let metal = |atom: usize| is_metal(atoms[atom].element);
        if bond.order != BondOrder::Dative && !bond.atoms.iter().any(|&a| metal(a)) {
            for atom in bond.atoms {
                valences[atom] += u32::from(bond.order.multiplicity());
                multiple[atom] |= bond.order != BondOrder::Single;
            }
        }
    }
    for (index, (atom, valence)) in atoms.iter().zip(valences).enumerate() {
        if !(Element::B..=Element::F).contains(&atom.element) {
            continue;
        }
        let electrons = i16::from(atom.element.atomic_number()) - i16::from(atom.charge);
        let allowed = match electrons {
            7 if atom.charge == 0 && multiple[index] => 5,
            3..=6 => electrons - 2,
            7..=10 => 10 - electrons,
            _ => 0,
        }
        .unsigned_abs();
        if valence > u32::from(allowed) {
            return Err(self::valence(
                place(index),
                atom.element.symbol(),
                valence,
                u32::from(allowed),
            ));
        }
    }
    Ok(())
}

/// The error for lower-case atoms that admit no alternation of single and double bonds.
pub(super) fn no_kekule(position: usize, reason: &str) -> Error {
    Error::smiles(position, format!("the aromatic atoms have no Kekulé structure: {reason}"))
}

/// The error for an atom with more bonds than its element can have.
pub(super) fn valence(position: usize, element: &str, valence: u32, allowed: u32) -> Error {
    let message = format!("{element} has valence {valence}, at most {allowed} is possible");
    Error::smiles(position, message)
}

/// Everything but hydrogen, the noble gases and B, C, N, O, F, Si, P, S, Cl, As, Se, Br, Te, I, At;
/// a wildcard counts as one, since its bonds promise nothing.
fn is_metal(element: Element) -> bool {
    !matches!(
        element.atomic_number(),
        1 | 2 | 5..=10 | 14..=18 | 33..=36 | 52..=54 | 85 | 86
    )
}
