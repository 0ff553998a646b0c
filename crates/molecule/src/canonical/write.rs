//! A SMILES of one connected part, its atoms written in the order of their ranks.

use super::Structure;
use super::marks::marks;
use super::tree::Tree;
use crate::element::Element;
use crate::formula::{counted, signed};
use crate::marked::Marked;
use crate::molecule::{Atom, Bond, BondOrder, HYDROGEN, Molecule};

/// A SMILES with the order of its atoms.
pub(crate) struct Written {
    pub text: String,
    /// The atoms of the molecule in the order of the text.
    pub atoms: Vec<usize>,
}

pub(super) fn write(molecule: &Molecule, structure: &Structure, rank: &[usize]) -> Written {
    let tree = Tree::new(structure, rank);
    let marks = marks(molecule, structure, &tree, rank);
    let chirality = chirality(molecule, structure, &tree);
    let mut text = String::new();
    let mut atoms = Vec::with_capacity(structure.len());
    // the bonds whose rings are open, by their labels from 1
    let mut rings: Vec<Option<(usize, usize)>> = Vec::new();
    // an atom, and whether a parenthesis opens before it; or a closing parenthesis
    let mut stack: Vec<_> = tree.order.first().map(|&a| Some((a, false))).into_iter().collect();
    while let Some(item) = stack.pop() {
        let Some((atom, branch)) = item else {
            text.push(')');
            continue;
        };
        if branch {
            text.push('(');
        }
        let before = tree.parent[atom];
        let bond = |from: usize, to: usize, text: &mut String| match marks.get(&(from, to)) {
            Some(true) => text.push('/'),
            Some(false) => text.push('\\'),
            None => text.push_str(symbol(molecule, structure.atoms[from], structure.atoms[to])),
        };
        if before != atom {
            bond(before, atom, &mut text);
        }
        push_atom(molecule, structure.atoms[atom], chirality[atom], &mut text);
        atoms.push(structure.atoms[atom]);
        for &other in &tree.closing[atom] {
            let at = rings.iter().position(|&ring| ring == Some((other, atom)));
            push_label(at.unwrap_or(0) + 1, &mut text);
        }
        for &other in &tree.opening[atom] {
            bond(atom, other, &mut text);
            let free = rings.iter().position(Option::is_none).unwrap_or(rings.len());
            rings.resize(rings.len().max(free + 1), None);
            rings[free] = Some((atom, other));
            push_label(free + 1, &mut text);
        }
        // a label is free again behind the atom that closes its ring
        let closed = rings.iter_mut().filter(|ring| ring.is_some_and(|(_, end)| end == atom));
        closed.for_each(|ring| *ring = None);
        if let Some((&last, branches)) = tree.children[atom].split_last() {
            stack.push(Some((last, false)));
            for &child in branches.iter().rev() {
                stack.extend([None, Some((child, true))]);
            }
        }
    }
    Written { text, atoms }
}

/// Returns whether each atom is written with `@@`, or with `@`; none for one that is no centre.
fn chirality(molecule: &Molecule, structure: &Structure, tree: &Tree) -> Vec<Option<bool>> {
    let mut chirality = vec![None; structure.len()];
    for center in &structure.centers {
        let named: Vec<usize> = tree.named(center.atom).collect();
        let place = |ligand| named.iter().position(|&other| other == ligand).unwrap_or(usize::MAX);
        // The hydrogen follows the atom before the centre, without one it comes first; here it is last.
        let before = usize::from(tree.parent[center.atom] != center.atom);
        let has_hydrogen = center.ligands.contains(&HYDROGEN);
        let moved = has_hydrogen && (named.len() - before) % 2 == 1;
        let is_single = |bond: &Bond| !bond.aromatic && bond.order.multiplicity() == 1;
        let mut bonds = molecule.around(structure.atoms[center.atom]);
        let marked = Marked {
            degree: named.len(),
            has_hydrogen,
            is_saturated: bonds.all(|(_, bond)| is_single(bond)),
            is_first: before == 0,
            ring_labels: tree.closing[center.atom].len() + tree.opening[center.atom].len(),
        };
        let turned = moved ^ marked.is_turned();
        chirality[center.atom] = center.clockwise_by(place).map(|clockwise| clockwise ^ turned);
    }
    chirality
}

/// Writes the label of a ring.
pub(crate) fn push_label(label: usize, text: &mut String) {
    text.push_str(&match label {
        0..=9 => label.to_string(),
        10..=99 => format!("%{label}"),
        _ => format!("%({label})"),
    });
}

/// Returns the bond symbol between two atoms, read from the first; empty where the text implies it.
fn symbol(molecule: &Molecule, from: usize, to: usize) -> &'static str {
    let Some(bond) = molecule.bond_between(from, to).map(|bond| &molecule.bonds()[bond]) else {
        return "";
    };
    let [a, b] = bond.atoms.map(|atom| &molecule.atoms()[atom]);
    let wildcard = [a, b].iter().any(|atom| atom.element == Element::WILDCARD);
    let both = a.aromatic && b.aromatic;
    match bond.order {
        _ if bond.aromatic && both && !wildcard => "",
        _ if bond.aromatic => ":",
        BondOrder::Single if both || wildcard => "-",
        BondOrder::Single => "",
        BondOrder::Double => "=",
        BondOrder::Triple => "#",
        BondOrder::Quadruple => "$",
        BondOrder::Dative if bond.atoms[0] == from => "->",
        BondOrder::Dative => "<-",
    }
}

fn push_atom(molecule: &Molecule, index: usize, clockwise: Option<bool>, text: &mut String) {
    let atom = &molecule.atoms()[index];
    let bonds = molecule.around(index).map(|(_, bond)| bond);
    let element = atom.element.symbol();
    let lower = atom.aromatic && atom.element != Element::WILDCARD;
    let element = if lower { element.to_ascii_lowercase() } else { element.to_owned() };
    if clockwise.is_none() && is_implied(atom, bonds) {
        text.push_str(&element);
        return;
    }
    text.push('[');
    text.extend(atom.isotope.map(|isotope| isotope.to_string()));
    text.push_str(&element);
    text.push_str(clockwise.map_or("", |clockwise| if clockwise { "@@" } else { "@" }));
    text.push_str(&counted("H", atom.hydrogens.into()));
    text.push_str(&signed(atom.charge.into()));
    text.push(']');
}

/// Returns whether the atom without brackets has the same hydrogens: an atom of the organic subset with
/// the smallest valence that its bonds allow.
fn is_implied<'a>(atom: &Atom, bonds: impl Iterator<Item = &'a Bond>) -> bool {
    if atom.charge != 0 || atom.isotope.is_some() {
        return false;
    }
    let mut valence = 0;
    let mut degree = 0;
    let mut aromatic = 0;
    for bond in bonds {
        if matches!(bond.order, BondOrder::Dative | BondOrder::Quadruple) {
            return false;
        }
        valence += u32::from(bond.order.multiplicity());
        degree += 1;
        aromatic += u32::from(bond.aromatic);
    }
    let hydrogens = u32::from(atom.hydrogens);
    if atom.aromatic {
        return match atom.element {
            Element::C => aromatic >= 2 && degree + hydrogens == 3,
            Element::N => aromatic == 2 && hydrogens == 0 && (degree == 2 || degree == 3),
            Element::O | Element::S => aromatic == 2 && hydrogens == 0 && degree == 2,
            Element::WILDCARD => hydrogens == 0,
            _ => false,
        };
    }
    if aromatic > 0 {
        return false;
    }
    is_usual(atom.element, valence, hydrogens)
}

/// Returns whether a neutral atom with this sum of bond orders, in Kekulé structure and without hydrogens, has as many
/// hydrogens as readers of SMILES and mol blocks assume.
pub(crate) fn is_usual(element: Element, valence: u32, hydrogens: u32) -> bool {
    let total = valence + hydrogens;
    match element {
        Element::WILDCARD => hydrogens == 0,
        Element::B => total == 3,
        Element::C => total == 4,
        Element::O => total == 2,
        Element::F | Element::CL | Element::BR | Element::I => total == 1,
        Element::N | Element::P => total == 3 || total == 5 && valence > 3,
        Element::S => total == 2 || total == 4 && valence > 2 || total == 6 && valence > 4,
        _ => false,
    }
}
