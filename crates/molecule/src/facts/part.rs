//! Parts of molecules.

use std::collections::BTreeMap;

use crate::Error;
use crate::molecule::{BondOrder, Element, Molecule};

/// Most atoms of a part.
const LARGEST: usize = 64;

/// Most atoms that are tried. The search for a large ring in a sheet of other rings takes time that grows
/// exponentially. The facts of the program's lexicon are all known, for all molecules of ChEBI-20.
const TRIES: usize = 1 << 20;

/// A part that molecules may have, written as a SMILES.
///
/// An atom of the part is an atom of the same element; an aromatic one is aromatic, and a charged one has the same
/// charge. `*` is any atom. A bond in a ring of the part is in a ring; a double or triple bond that is not
/// aromatic is one of the same order in the Kekulé structure, which is RDKit's canonical one and does not depend
/// on how the molecule is written; other bonds are any. So `C1CCNCC1` is piperidine and pyridine, `c1ccncc1`
/// pyridine alone, and benzene has the part `C=C`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    whole: Whole,
    steps: Vec<Step>,
}

/// A molecule with what is asked of it for each part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Whole {
    pub molecule: Molecule,
    /// Which bonds are in rings.
    ring_bonds: Vec<bool>,
    /// Number of atoms by element, without the wildcard, and by whether they are aromatic.
    atoms: BTreeMap<(Element, bool), usize>,
}

/// An atom of the part, and its bonds to atoms of earlier steps.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    atom: usize,
    /// Number of the earlier step, and the bond.
    bonds: Vec<(usize, usize)>,
}

impl Part {
    pub fn parse(smiles: &str) -> Result<Self, Error> {
        let molecule = Molecule::parse(smiles)?;
        let atoms = molecule.atoms().len();
        if !(1..=LARGEST).contains(&atoms) {
            let found = format!("{atoms} atoms; allowed: 1 to {LARGEST}");
            return Err(Error::smiles(0, found));
        }
        // few atoms are not carbon, so that few places are tried
        let rare = molecule.atoms().iter().position(|atom| atom.element != Element::C);
        let mut steps = vec![Step { atom: rare.unwrap_or(0), bonds: Vec::new() }];
        while steps.len() < atoms {
            let earlier = |atom: usize| steps.iter().position(|step| step.atom == atom);
            let next = (0..atoms).filter(|&atom| earlier(atom).is_none()).find_map(|atom| {
                let bonds = molecule.neighbors(atom).iter();
                let bonds: Vec<_> =
                    bonds.filter_map(|n| Some((earlier(n.atom)?, n.bond))).collect();
                (!bonds.is_empty()).then_some(Step { atom, bonds })
            });
            let Some(next) = next else {
                return Err(Error::smiles(0, "several components; allowed: one"));
            };
            steps.push(next);
        }
        Ok(Self { whole: Whole::of(molecule), steps })
    }

    /// Whether a molecule has the part; none if a search of [`TRIES`] does not tell.
    pub fn is_in(&self, whole: &Whole) -> Option<bool> {
        let enough = |(&(element, aromatic), &count): (&(Element, bool), &usize)| {
            let number = |aromatic| whole.atoms.get(&(element, aromatic)).copied().unwrap_or(0);
            number(true) + if aromatic { 0 } else { number(false) } >= count
        };
        if !self.whole.atoms.iter().all(enough) {
            return Some(false);
        }
        let mut tries = 0;
        match self.extend(whole, &mut Vec::with_capacity(self.steps.len()), &mut tries) {
            false if tries > TRIES => None,
            known => Some(known),
        }
    }

    /// Whether the steps that follow those of `found`, which has the atom of each, can be taken too.
    fn extend(&self, whole: &Whole, found: &mut Vec<usize>, tries: &mut usize) -> bool {
        let Some(step) = self.steps.get(found.len()) else { return true };
        let from = step.bonds.first().map(|&(earlier, _)| found[earlier]);
        let mut take = |atom: usize| {
            *tries += 1;
            *tries <= TRIES && self.fits(step, atom, whole, found) && {
                found.push(atom);
                let all = self.extend(whole, found, tries);
                found.pop();
                all
            }
        };
        match from {
            Some(from) => whole.molecule.neighbors(from).iter().any(|n| take(n.atom)),
            None => (0..whole.molecule.atoms().len()).any(take),
        }
    }

    /// Whether an atom can be that of a step, after the atoms of earlier steps.
    fn fits(&self, step: &Step, atom: usize, whole: &Whole, found: &[usize]) -> bool {
        let (own, other) = (&self.whole.molecule.atoms()[step.atom], &whole.molecule.atoms()[atom]);
        (own.element == Element::WILDCARD || own.element == other.element)
            && (other.aromatic || !own.aromatic)
            && (own.charge == 0 || own.charge == other.charge)
            && !found.contains(&atom)
            && step.bonds.iter().all(|&(earlier, bond)| {
                let neighbors = &mut whole.molecule.neighbors(atom).iter();
                neighbors.any(|n| {
                    n.atom == found[earlier]
                        && self.allows(bond, whole.molecule.bonds()[n.bond].order)
                        && (whole.ring_bonds[n.bond] || !self.whole.ring_bonds[bond])
                })
            })
    }

    /// Whether a bond of the part may have this order.
    fn allows(&self, bond: usize, order: BondOrder) -> bool {
        let own = &self.whole.molecule.bonds()[bond];
        own.aromatic || own.order.multiplicity() == 1 || own.order == order
    }
}

impl Whole {
    pub fn of(molecule: Molecule) -> Self {
        let mut ring_bonds = vec![false; molecule.bonds().len()];
        let rings = molecule.rings().iter();
        rings.flat_map(|ring| molecule.ring_bonds(ring)).for_each(|bond| ring_bonds[bond] = true);
        let mut atoms = BTreeMap::new();
        for atom in molecule.atoms().iter().filter(|atom| atom.element != Element::WILDCARD) {
            *atoms.entry((atom.element, atom.aromatic)).or_insert(0) += 1;
        }
        Self { molecule, ring_bonds, atoms }
    }
}
