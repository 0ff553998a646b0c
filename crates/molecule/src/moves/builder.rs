//! A Kekulé structure that is being edited.

use std::collections::BTreeSet;

use crate::element::Element;
use crate::molecule::{Atom, Bond, BondOrder, Center, Geometry, HYDROGEN, Molecule, Union};
use crate::refinement::mix;

/// The most atoms of a substituent that a move takes elsewhere or exchanges.
const SUBSTITUENT: usize = 8;

/// Atoms and bonds of a Kekulé structure. Hydrogens follow from the bonds: an atom has as many as its valence leaves.
///
/// Configurations stay where the ligands stay; a ligand that takes the place of a hydrogen takes its place in the
/// configuration too.
#[derive(Clone)]
pub(super) struct Builder {
    pub(super) atoms: Vec<Atom>,
    /// The bonds, in Kekulé form: none of them is aromatic.
    pub(super) bonds: Vec<Bond>,
    /// The valence of atoms that have none of their element's, such as radicals and metals; it does not change.
    fixed: Vec<Option<u8>>,
    pub(super) removed: Vec<bool>,
    pub(super) centers: Vec<Center>,
    pub(super) geometries: Vec<Geometry>,
    /// Number of connected components, which edits do not change.
    components: usize,
}

/// Returns the valences of an element with a charge, ascending; none for those that are not edited.
pub(crate) fn valences(element: Element, charge: i8) -> &'static [u8] {
    const SILICON: Element = Element(14);
    const SELENIUM: Element = Element(34);
    match (element, charge) {
        (Element::B, 0) => &[3],
        (Element::B, -1) | (Element::C | SILICON, 0) | (Element::N | Element::P, 1) => &[4],
        (Element::C, -1 | 1) | (Element::N, 0) | (Element::O, 1) => &[3],
        (Element::N, -1) | (Element::O, 0) => &[2],
        (Element::O | Element::S | SELENIUM, -1) => &[1],
        (Element::F | Element::CL | Element::BR | Element::I, 0) => &[1],
        (Element::P, 0) => &[3, 5],
        (Element::S | SELENIUM, 0) => &[2, 4, 6],
        (Element::S | SELENIUM, 1) => &[3],
        _ => &[],
    }
}

impl Builder {
    pub(super) fn from_molecule(molecule: &Molecule) -> Self {
        let atoms = molecule.atoms().iter();
        let bonds = molecule.bonds().iter();
        let count = molecule.atoms().len();
        let mut builder = Self {
            atoms: atoms.map(|a| Atom { aromatic: false, stereo: false, ..*a }).collect(),
            bonds: bonds.map(|b| Bond { aromatic: false, stereo: false, ..*b }).collect(),
            fixed: vec![None; count],
            removed: vec![false; count],
            centers: molecule.centers.clone(),
            geometries: molecule.geometries.clone(),
            components: molecule.components().len(),
        };
        for index in 0..count {
            let Atom { element, charge, hydrogens, .. } = builder.atoms[index];
            let used = builder.used(index);
            let odd = builder.is_odd(index);
            let total = used.saturating_add(hydrogens);
            if odd || !valences(element, charge).contains(&total) {
                builder.fixed[index] = Some(total);
            }
        }
        builder
    }

    pub(super) fn len(&self) -> usize {
        self.atoms.len()
    }

    /// Returns bonds of an atom with the atoms at their other ends.
    pub(super) fn around(&self, atom: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.bonds.iter().enumerate().filter_map(move |(bond, record)| match record.atoms {
            [a, b] if a == atom => Some((b, bond)),
            [a, b] if b == atom => Some((a, bond)),
            _ => None,
        })
    }

    pub(super) fn bond_between(&self, a: usize, b: usize) -> Option<usize> {
        self.around(a).find(|&(other, _)| other == b).map(|(_, bond)| bond)
    }

    /// Returns the valence that bonds to other atoms take.
    fn used(&self, atom: usize) -> u8 {
        self.around(atom).map(|(_, bond)| self.bonds[bond].order.multiplicity()).sum()
    }

    /// Returns whether an atom has a bond that is neither single, double nor triple.
    fn is_odd(&self, atom: usize) -> bool {
        let order = |bond: usize| self.bonds[bond].order;
        let odd = |order| matches!(order, BondOrder::Dative | BondOrder::Quadruple);
        self.around(atom).any(|(_, bond)| odd(order(bond)))
    }

    /// Returns whether the element and the charge of an atom may change.
    pub(super) fn is_plain(&self, atom: usize) -> bool {
        self.fixed[atom].is_none() && self.atoms[atom].isotope.is_none()
    }

    /// Returns whether a neutral atom has one hydrogen less than a valence leaves.
    pub(super) fn is_radical(&self, atom: usize) -> bool {
        let Atom { element, charge, isotope, .. } = self.atoms[atom];
        let short = |total: u8| valences(element, 0).contains(&total.saturating_add(1));
        let is_short = self.fixed[atom].is_some_and(short);
        charge == 0 && isotope.is_none() && is_short && !self.is_odd(atom)
    }

    /// Adds a hydrogen at a radical, and removes one at any other atom.
    pub(super) fn turn_radical(&mut self, atom: usize) -> Option<()> {
        let before = self.atoms[atom].hydrogens;
        if self.is_radical(atom) {
            self.fixed[atom] = None;
            self.settle(atom)?;
            return (self.atoms[atom].hydrogens == before + 1).then_some(());
        }
        self.atoms[atom].hydrogens = before.checked_sub(1)?;
        self.fixed[atom] = Some(self.used(atom) + before - 1);
        Some(())
    }

    /// Gives an atom the hydrogens that its valence leaves.
    fn settle(&mut self, atom: usize) -> Option<()> {
        let used = self.used(atom);
        let Atom { element, charge, .. } = self.atoms[atom];
        let total = match self.fixed[atom] {
            Some(total) => Some(total).filter(|&total| total >= used)?,
            None => {
                let all = valences(element, charge);
                let total = *all.iter().find(|&&valence| valence >= used)?;
                // sulfur and phosphorus of a higher valence have no hydrogens
                if total > all[0] && total > used {
                    return None;
                }
                total
            }
        };
        self.atoms[atom].hydrogens = total - used;
        Some(())
    }

    pub(super) fn add_atom(&mut self, element: Element) -> usize {
        let hydrogens = valences(element, 0).first().copied().unwrap_or(0);
        self.push(Atom {
            element,
            charge: 0,
            hydrogens,
            isotope: None,
            aromatic: false,
            stereo: false,
        })
    }

    fn push(&mut self, atom: Atom) -> usize {
        self.atoms.push(atom);
        self.fixed.push(None);
        self.removed.push(false);
        self.atoms.len() - 1
    }

    /// Appends atoms with the bonds between them; returns the number of the first.
    pub(super) fn append(&mut self, atoms: &[Atom], bonds: &[Bond]) -> usize {
        let start = self.len();
        for &atom in atoms {
            self.push(atom);
        }
        let bonds = bonds.iter().map(|b| Bond { atoms: b.atoms.map(|end| end + start), ..*b });
        self.bonds.extend(bonds);
        start
    }

    pub(super) fn connect(&mut self, a: usize, b: usize, order: BondOrder) -> Option<()> {
        if a == b || self.bond_between(a, b).is_some() {
            return None;
        }
        self.bonds.push(Bond { atoms: [a, b], order, aromatic: false, stereo: false });
        for (end, other) in [(a, b), (b, a)] {
            self.settle(end)?;
            self.change_ligand(end, HYDROGEN, other);
        }
        Some(())
    }

    pub(super) fn disconnect(&mut self, bond: usize) -> Option<()> {
        let [a, b] = self.bonds[bond].atoms;
        for (end, other) in [(a, b), (b, a)] {
            self.forget_reference(end, other);
        }
        self.bonds.remove(bond);
        for (end, other) in [(a, b), (b, a)] {
            self.settle(end)?;
            self.change_ligand(end, other, HYDROGEN);
        }
        Some(())
    }

    pub(super) fn set_order(&mut self, bond: usize, order: BondOrder) -> Option<()> {
        let [a, b] = self.bonds[bond].atoms;
        self.bonds[bond].order = order;
        self.settle(a)?;
        self.settle(b)
    }

    /// Exchanges single and double bonds in a cycle where they alternate, and returns whether they do.
    pub(super) fn turn(&mut self, cycle: &BTreeSet<usize>) -> bool {
        let is_double = |&bond: &usize| self.bonds[bond].order == BondOrder::Double;
        let double: BTreeSet<usize> = cycle.iter().copied().filter(is_double).collect();
        let ends: BTreeSet<usize> =
            double.iter().flat_map(|&bond| self.bonds[bond].atoms).collect();
        let alternate = [2 * double.len(), ends.len()] == [cycle.len(); 2];
        for &bond in cycle.iter().filter(|_| alternate) {
            let single = double.contains(&bond);
            self.bonds[bond].order = if single { BondOrder::Single } else { BondOrder::Double };
        }
        alternate
    }

    /// Replaces the element and the charge of an atom.
    pub(super) fn set_kind(&mut self, atom: usize, element: Element, charge: i8) -> Option<()> {
        self.atoms[atom].element = element;
        self.atoms[atom].charge = charge;
        self.settle(atom)
    }

    /// Removes an atom without bonds.
    pub(super) fn remove(&mut self, atom: usize) {
        self.removed[atom] = true;
    }

    /// Returns the atoms on the side of `from` of a bond, `from` first; none where another way leads to the other end,
    /// or there are more than a substituent has.
    pub(super) fn side(&self, bond: usize, from: usize) -> Option<Vec<usize>> {
        let [a, b] = self.bonds[bond].atoms;
        let other = a + b - from;
        let mut seen = vec![false; self.len()];
        seen[from] = true;
        seen[other] = true;
        let mut side = vec![from];
        let mut next = 0;
        while let Some(&atom) = side.get(next) {
            next += 1;
            for (end, next_bond) in self.around(atom) {
                if next_bond != bond && end == other {
                    return None;
                }
                if !std::mem::replace(&mut seen[end], true) {
                    side.push(end);
                }
            }
            if side.len() > SUBSTITUENT {
                return None;
            }
        }
        Some(side)
    }

    pub(super) fn is_configured(&self) -> bool {
        !self.centers.is_empty() || !self.geometries.is_empty()
    }

    pub(super) fn color(&self, atom: usize) -> u64 {
        let Atom { element, charge, hydrogens, isotope, .. } = self.atoms[atom];
        let words = [u64::from(charge as u8), hydrogens.into(), isotope.unwrap_or(0).into()];
        words.into_iter().fold(u64::from(element.atomic_number()), mix)
    }

    /// Returns the molecule that reading its text gives; none for one that cannot be read, in more parts than the first
    /// had, and for none. The text is written only where reading it may change the structure.
    pub(super) fn read(self) -> Option<Molecule> {
        let same = self.reads_as_it_is();
        let molecule = self.molecule()?;
        if same { Some(molecule) } else { Molecule::parse(&molecule.written()).ok() }
    }

    /// Returns whether no bond can be aromatic, and no rule of RDKit changes an atom. A ring with a carbon that has
    /// single bonds only is not aromatic.
    fn reads_as_it_is(&self) -> bool {
        use Element as E;
        let usual = |atom: usize| {
            let Atom { element, charge, .. } = self.atoms[atom];
            let neutral = [E::C, E::N, E::O, E::F, E::S, E::CL, E::BR, E::I].contains(&element);
            let is_usual =
                charge == 0 && neutral || matches!((element, charge), (E::N, 1) | (E::O, -1));
            self.is_plain(atom) && is_usual
        };
        let mut open: Vec<bool> =
            self.atoms.iter().map(|atom| atom.element != E::C || atom.charge != 0).collect();
        for bond in self.bonds.iter().filter(|bond| bond.order != BondOrder::Single) {
            bond.atoms.iter().for_each(|&end| open[end] = true);
        }
        let mut sets = Union::new(self.len());
        let closes_ring = |bond: &Bond| {
            let [a, b] = bond.atoms;
            let closes = open[a] && open[b] && sets.root(a) == sets.root(b);
            if open[a] && open[b] {
                sets.merge(a, b);
            }
            closes
        };
        !self.is_configured()
            && (0..self.len()).all(|atom| self.removed[atom] || usual(atom))
            && !self.bonds.iter().any(closes_ring)
    }

    /// Returns the molecule as it would be without aromatic bonds; none for one in more parts than the first had, and
    /// for none.
    fn molecule(mut self) -> Option<Molecule> {
        let kept: Vec<usize> = (0..self.len()).filter(|&atom| !self.removed[atom]).collect();
        self.keep_possible_configurations();
        let mut place = vec![HYDROGEN; self.len()];
        kept.iter().enumerate().for_each(|(at, &atom)| place[atom] = at);
        let new_index = |atom: usize| if atom == HYDROGEN { HYDROGEN } else { place[atom] };
        let atoms: Vec<Atom> = kept.iter().map(|&atom| self.atoms[atom]).collect();
        let bonds =
            self.bonds.iter().map(|bond| Bond { atoms: bond.atoms.map(new_index), ..*bond });
        let mut molecule = Molecule::assemble(atoms, bonds.collect());
        if kept.is_empty() || molecule.components().len() > self.components {
            return None;
        }
        let center = |center: Center| {
            let ligands = center.ligands.into_iter().map(new_index).collect();
            Center { atom: new_index(center.atom), ligands, ..center }
        };
        molecule.centers = self.centers.into_iter().map(center).collect();
        let geometry = |geometry: Geometry| {
            let ends = geometry.ends.map(new_index);
            let references = geometry.references.map(new_index);
            let bond = molecule.bond_between(ends[0], ends[1])?;
            Some(Geometry { bond, ends, references, ..geometry })
        };
        molecule.geometries = self.geometries.into_iter().filter_map(geometry).collect();
        Some(molecule)
    }

    /// Returns which bonds are in rings.
    pub(super) fn ring_bonds(&self) -> Vec<bool> {
        let connected = |without: usize| {
            let mut sets = Union::new(self.len());
            let others = self.bonds.iter().enumerate().filter(|&(bond, _)| bond != without);
            others.for_each(|(_, bond)| sets.merge(bond.atoms[0], bond.atoms[1]));
            let [a, b] = self.bonds[without].atoms;
            sets.root(a) == sets.root(b)
        };
        (0..self.bonds.len()).map(connected).collect()
    }
}
