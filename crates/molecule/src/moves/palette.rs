//! What moves may put into molecules.

use std::collections::{BTreeMap, BTreeSet};

use super::draft::{Draft, valences};
use crate::Molecule;
use crate::molecule::{Atom, Bond, BondOrder, Element};

/// The most atoms of a ring that a move closes.
pub const RING: usize = 9;

/// The most groups of a palette.
const GROUPS: usize = 32;

/// The most molecules that groups are cut from.
const CUT: usize = 2_000;

/// What moves may put into a molecule, from molecules that are known.
#[derive(Clone, Debug, PartialEq)]
pub struct Palette {
    /// Elements of atoms, by atomic number: those of at least one known molecule in 1,000.
    pub elements: Vec<Element>,
    /// The most atoms, hydrogens not counted: those of the largest known molecule.
    pub atoms: usize,
    /// Groups, the most frequent first.
    pub groups: Vec<Group>,
    /// Whether atoms are protonated and deprotonated: at least one known molecule in 1,000 has a charge.
    pub charges: bool,
    /// Whether configurations are turned round: at least one known molecule in 1,000 has one.
    pub stereo: bool,
    /// The most moves from one molecule, the first in the order of [`Moves`](super::Moves)' table; no limit at first.
    pub moves: usize,
}

/// A group of two to 8 atoms, which a single bond outside of rings joins to the rest of known molecules.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its canonical SMILES, with a wildcard in the place of the rest.
    pub smiles: String,
    /// How often known molecules have it.
    pub count: usize,
    /// The first of them is bound to the rest, and has a hydrogen in its place.
    pub(super) atoms: Vec<Atom>,
    pub(super) bonds: Vec<Bond>,
}

impl Palette {
    /// The palette of known molecules.
    pub fn of(known: &[Molecule]) -> Self {
        let mut elements = BTreeMap::new();
        let (mut charged, mut configured) = (0, 0);
        for molecule in known {
            let own: BTreeSet<Element> = molecule.atoms().iter().map(|atom| atom.element).collect();
            own.into_iter().for_each(|element| *elements.entry(element).or_insert(0) += 1);
            charged += usize::from(molecule.atoms().iter().any(|atom| atom.charge != 0));
            configured +=
                usize::from(!molecule.centers.is_empty() || !molecule.geometries.is_empty());
        }
        let is_usual = |count: usize| count > 0 && count * 1_000 >= known.len();
        let usual = elements.into_iter().filter(|&(_, count)| is_usual(count));
        let elements = usual.map(|(element, _)| element);
        Self {
            elements: elements.filter(|&element| !valences(element, 0).is_empty()).collect(),
            atoms: known.iter().map(|molecule| molecule.atoms().len()).max().unwrap_or(0),
            groups: groups(known),
            charges: is_usual(charged),
            stereo: is_usual(configured),
            moves: usize::MAX,
        }
    }
}

/// The most frequent groups of molecules.
fn groups(known: &[Molecule]) -> Vec<Group> {
    let mut found: BTreeMap<String, Group> = BTreeMap::new();
    for molecule in known.iter().step_by(known.len().div_ceil(CUT).max(1)) {
        let draft = Draft::of(molecule);
        for bond in 0..draft.bonds.len() {
            let [a, b] = draft.bonds[bond].atoms;
            for from in [a, b] {
                if let Some(group) = cut(&draft, bond, from) {
                    found.entry(group.smiles.clone()).or_insert(group).count += 1;
                }
            }
        }
    }
    let mut groups: Vec<Group> = found.into_values().collect();
    groups.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.smiles.cmp(&b.smiles)));
    groups.truncate(GROUPS);
    groups
}

/// The group on the side of `from` of a bond; none where it is no group of ordinary atoms.
fn cut(draft: &Draft, bond: usize, from: usize) -> Option<Group> {
    if draft.bonds[bond].order != BondOrder::Single {
        return None;
    }
    let side = draft.side(bond, from).filter(|side| side.len() > 1)?;
    if !side.iter().all(|&atom| draft.is_plain(atom)) {
        return None;
    }
    let mut rest = draft.clone();
    rest.disconnect(bond)?;
    let place = |atom: usize| side.iter().position(|&own| own == atom);
    let bonds = rest.bonds.iter().filter_map(|bond| {
        let [a, b] = bond.atoms.map(place);
        Some(Bond { atoms: [a?, b?], ..*bond })
    });
    let atoms: Vec<Atom> = side.iter().map(|&atom| rest.atoms[atom]).collect();
    let bonds: Vec<Bond> = bonds.collect();
    // the wildcard is bound to the first atom
    let (mut with_rest, mut joined) = (atoms.clone(), bonds.clone());
    with_rest[0].hydrogens = with_rest[0].hydrogens.checked_sub(1)?;
    with_rest.push(Atom { element: Element::WILDCARD, hydrogens: 0, charge: 0, ..atoms[0] });
    let order = BondOrder::Single;
    joined.push(Bond { atoms: [0, atoms.len()], order, aromatic: false, stereo: false });
    let text = Molecule::assemble(with_rest, joined).written();
    let smiles = Molecule::parse(&text).ok()?.canonical_smiles();
    Some(Group { smiles, count: 0, atoms, bonds })
}
