//! How many bonds an atom can have.

use crate::element::Element;
use crate::error::Error;
use crate::molecule::{Atom, BondOrder, Molecule};

/// Refuses atoms with more bonds than RDKit allows. `places` has the positions of the atoms in the text.
///
/// An atom with a charge has as many bonds as the neutral atom with as many electrons: N⁺ as carbon, O⁻ as fluorine.
/// Sulfur and phosphorus with more electrons than sulfur, and selenium and arsenic with more than selenium, have as
/// many as without their charge, less one for each negative charge. A dative bond counts at the atom that accepts it.
pub(super) fn check_valences(molecule: &Molecule, places: &[usize]) -> Result<(), Error> {
    for (index, atom) in molecule.atoms().iter().enumerate() {
        let Some(most) = most(atom) else { continue };
        let bonds = molecule.around(index).map(|(_, bond)| match bond.order {
            BondOrder::Dative => u32::from(bond.atoms[1] == index),
            order => u32::from(order.multiplicity()),
        });
        let valence = u32::from(atom.hydrogens) + bonds.sum::<u32>();
        if valence > most {
            let has_metal = molecule.around(index).any(|(other, bond)| {
                let number = molecule.atoms()[other].element.atomic_number();
                bond.order == BondOrder::Single && is_metal(number)
            });
            let remedy = if has_metal { DATIVE } else { "" };
            let symbol = atom.element.symbol();
            return Err(too_many_bonds(places[index], symbol, valence, most, remedy));
        }
    }
    Ok(())
}

/// How a bond to a metal is written that takes none of an atom's valence.
const DATIVE: &str = "; a bond by which the atom gives a metal two electrons is written `->` from it to the metal, and has type 9 in \
                      MOL files";

/// Returns the most bonds of an atom; none where there is no limit.
fn most(atom: &Atom) -> Option<u32> {
    let number = i16::from(atom.element.atomic_number());
    let neutral = most_of_neutral(number)?;
    let electrons = number - i16::from(atom.charge);
    let extends = match atom.element.atomic_number() {
        15 | 16 => electrons > 16,
        33 | 34 => electrons > 34,
        _ => false,
    };
    if extends {
        return Some(neutral.saturating_add_signed(atom.charge.into()));
    }
    if atom.element == Element::H && atom.charge == -1 {
        return Some(2);
    }
    most_of_neutral(electrons)
}

/// Returns the most bonds of the neutral atom with so many electrons, as in RDKit's periodic table; none of a metal or
/// wildcard.
fn most_of_neutral(electrons: i16) -> Option<u32> {
    match electrons {
        2 | 10 | 18 | 36 | 86 => Some(0),
        1 | 9 | 17 | 35 | 55 | 87 => Some(1),
        4 | 8 => Some(2),
        5 | 7 | 13 | 31 | 49 => Some(3),
        6 | 14 | 32 | 50 | 82 => Some(4),
        15 | 33 | 51 | 53 | 83 | 85 => Some(5),
        16 | 34 | 52 | 54 | 84 => Some(6),
        _ => None,
    }
}

/// Returns whether the element with this number is a metal that may have any number of bonds.
pub(super) fn is_metal(number: u8) -> bool {
    number > 0 && most_of_neutral(number.into()).is_none()
}

/// Returns the error for an atom with more bonds than its element can have; `remedy` stands behind it.
pub(super) fn too_many_bonds(
    position: usize,
    element: &str,
    valence: u32,
    most: u32,
    remedy: &str,
) -> Error {
    let message = format!("{element} has valence {valence}, at most {most} is possible{remedy}");
    Error::smiles(position, message)
}
