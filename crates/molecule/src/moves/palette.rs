//! The parts that moves may put into molecules.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::builder::{Builder, valences};
use super::usual;
use crate::element::Element;
use crate::molecule::{Atom, Bond, BondOrder, Molecule};
use crate::refinement::{mix, unordered};

/// The most atoms of a ring that a move closes.
pub const RING: usize = 9;

/// The most groups of a palette.
const GROUPS: usize = 32;

/// The most molecules that groups are cut from.
const CUT: usize = 2_000;

/// The parts that moves may put into a molecule, from molecules that are known.
#[derive(Clone, Debug, PartialEq)]
pub struct Palette {
    /// The elements that at least one known molecule in 1,000 has, by atomic number.
    pub elements: Vec<Element>,
    /// The number of atoms of the largest known molecule, hydrogens not counted. No neighbour has more.
    pub atoms: usize,
    /// Groups, the most frequent first.
    pub groups: Vec<Group>,
    /// The charges that protonation and deprotonation give to atoms of an element: the charges that at least one known
    /// molecule in 1,000 has.
    pub charges: BTreeSet<(Element, i8)>,
    /// The elements whose neutral atoms moves may leave a hydrogen short, as at least one known molecule in 1,000 does.
    pub radicals: BTreeSet<Element>,
    /// The environments of atoms of known molecules. A move to a molecule with more atoms in other
    /// environments is left out; where this is absent, none is.
    pub environments: Option<HashSet<u64>>,
    /// Whether configurations are turned round: at least one known molecule in 1,000 has one.
    pub stereo: bool,
    /// The most moves from one molecule, the first in the order of [`Moves`](super::Moves)' table; no limit at first.
    pub moves: usize,
}

/// A group of two to 8 atoms, which a single bond outside of rings joins to the rest of known molecules.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The canonical SMILES of the group, with a wildcard in the place of the rest of the molecule.
    pub smiles: String,
    /// How often known molecules have it.
    pub count: usize,
    /// The first of them is bound to the rest, and has a hydrogen in its place.
    pub(super) atoms: Vec<Atom>,
    pub(super) bonds: Vec<Bond>,
}

impl Palette {
    /// Creates the palette of known molecules.
    pub fn from_known(molecules: &[Molecule]) -> Self {
        let radicals = |molecule: &Molecule| {
            let builder = Builder::from_molecule(molecule);
            let radical_atoms = (0..builder.len()).filter(|&atom| builder.is_radical(atom));
            radical_atoms.map(|atom| builder.atoms[atom].element).collect()
        };
        // an element is that of an atom of any charge
        let kinds = |molecule: &Molecule| {
            let atoms = molecule.atoms().iter();
            atoms.flat_map(|atom| [(atom.element, 0), (atom.element, atom.charge)]).collect()
        };
        let configured = |molecule: &Molecule| {
            let has = !molecule.centers.is_empty() || !molecule.geometries.is_empty();
            has.then_some(()).into_iter().collect()
        };
        let kinds = usual(molecules, kinds);
        let kinds = kinds.filter(|&(element, charge)| !valences(element, charge).is_empty());
        let (elements, charges): (Vec<_>, Vec<_>) = kinds.partition(|&(_, charge)| charge == 0);
        Self {
            elements: elements.into_iter().map(|(element, _)| element).collect(),
            atoms: molecules.iter().map(|molecule| molecule.atoms().len()).max().unwrap_or(0),
            groups: groups(molecules),
            charges: charges.into_iter().collect(),
            radicals: usual(molecules, radicals).collect(),
            environments: Some(molecules.iter().flat_map(environments).collect()),
            stereo: usual(molecules, configured).next().is_some(),
            moves: usize::MAX,
        }
    }

    /// Returns the number of atoms of a molecule in environments that no known molecule has; 0 where these are not
    /// known.
    pub fn unusual(&self, molecule: &Molecule) -> usize {
        let Some(usual) = &self.environments else { return 0 };
        environments(molecule).filter(|environment| !usual.contains(environment)).count()
    }

    /// Returns whether moves change a charge: neutral atoms have no charge, and so can any.
    pub(super) fn has_charge(&self, element: Element, charge: i8) -> bool {
        charge == 0 || self.charges.contains(&(element, charge))
    }
}

/// Returns the environment of each atom: its element, charge and hydrogens, whether it is aromatic, and for each of its
/// bonds the order, or that it is aromatic, and the element at the other end. As a hash.
fn environments(molecule: &Molecule) -> impl Iterator<Item = u64> {
    (0..molecule.atoms().len()).map(|at| {
        let bond = |(other, bond): (usize, &Bond)| {
            let element = molecule.atoms()[other].element.atomic_number();
            let order = if bond.aromatic { 0 } else { 1 + bond.order as u64 };
            mix(element.into(), order)
        };
        let Atom { element, charge, hydrogens, aromatic, .. } = molecule.atoms()[at];
        let atom_values = [u64::from(charge as u8), hydrogens.into(), aromatic.into()];
        let atom_hash = atom_values.into_iter().fold(element.atomic_number().into(), mix);
        unordered(molecule.around(at).map(bond).collect(), atom_hash)
    })
}

/// Returns the most frequent groups of molecules.
fn groups(molecules: &[Molecule]) -> Vec<Group> {
    let mut counted: BTreeMap<String, Group> = BTreeMap::new();
    for molecule in molecules.iter().step_by(molecules.len().div_ceil(CUT).max(1)) {
        let builder = Builder::from_molecule(molecule);
        for bond in 0..builder.bonds.len() {
            let [a, b] = builder.bonds[bond].atoms;
            for from in [a, b] {
                if let Some(group) = cut(&builder, bond, from) {
                    counted.entry(group.smiles.clone()).or_insert(group).count += 1;
                }
            }
        }
    }
    let mut groups: Vec<Group> = counted.into_values().collect();
    groups.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.smiles.cmp(&b.smiles)));
    groups.truncate(GROUPS);
    groups
}

/// Returns the group on the side of `from` of a bond; none where it is not a group of ordinary atoms.
fn cut(builder: &Builder, bond: usize, from: usize) -> Option<Group> {
    if builder.bonds[bond].order != BondOrder::Single {
        return None;
    }
    let side = builder.side(bond, from).filter(|side| side.len() > 1)?;
    if !side.iter().all(|&atom| builder.is_plain(atom)) {
        return None;
    }
    let mut rest = builder.clone();
    rest.disconnect(bond)?;
    let place = |atom: usize| side.iter().position(|&side_atom| side_atom == atom);
    let bonds = rest.bonds.iter().filter_map(|bond| {
        let [a, b] = bond.atoms.map(place);
        Some(Bond { atoms: [a?, b?], ..*bond })
    });
    let atoms: Vec<Atom> = side.iter().map(|&atom| rest.atoms[atom]).collect();
    let bonds: Vec<Bond> = bonds.collect();
    // the wildcard is bound to the first atom
    let mut with_rest = atoms.clone();
    let mut joined = bonds.clone();
    with_rest[0].hydrogens = with_rest[0].hydrogens.checked_sub(1)?;
    with_rest.push(Atom { element: Element::WILDCARD, hydrogens: 0, charge: 0, ..atoms[0] });
    let order = BondOrder::Single;
    joined.push(Bond { atoms: [0, atoms.len()], order, aromatic: false, stereo: false });
    let text = Molecule::assemble(with_rest, joined).written();
    let smiles = Molecule::parse(&text).ok()?.canonical_smiles();
    Some(Group { smiles, count: 0, atoms, bonds })
}
